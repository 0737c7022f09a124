"""The rule of each method that is not the paper's, on batches computed by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from small import RECIPE, settings
from smallloss import methods
from smallloss.criterion.transition import uniform
from smallloss.engine.objective import Plan
from smallloss.engine.task import Task
from smallloss.methods import co_teaching, incv
from smallloss.methods.co_teaching import CoTeaching
from smallloss.methods.cross import Fold, out_of_sample
from smallloss.methods.elr import EarlyLearning
from smallloss.methods.incv import OnSelected, rate_of
from smallloss.methods.jocor import JoCoR
from smallloss.noise.confident import label_issues
from smallloss.noise.model import NoiseModel
from tables import networks, six, touched


def kept(objective: CoTeaching, epoch: int) -> list[int]:
    return [plan.tables["kept"].unique().item() for plan in objective.plan(epoch)]


# --- Co-teaching ---------------------------------------------------------------------------------------------


def by(task: Task, rate: float, ramp: int = 10, **changes: Any) -> CoTeaching:
    how = replace(settings(**{"co_teaching.ramp_epochs": ramp}), recipes={"stage1": replace(RECIPE, **changes)})
    return CoTeaching(task, "co_teaching", np.arange(80), how, rate)


def test_co_teaching_keeps_what_the_ramp_says(make_task):
    """R(t) rises linearly from 0 in epoch 0 to τ in epoch 9 (Han et al. 2018, their code); at least one is kept."""
    objective = by(make_task(), 0.45, batch=40)
    assert [kept(objective, epoch) for epoch in (0, 1, 5, 9, 10, 150)] == [[40], [38], [30], [22], [22], [22]]
    assert [kept(by(make_task(), 0.45, 2, batch=40), epoch) for epoch in (0, 1, 5)] == [[40], [22], [22]]
    assert kept(by(make_task(), 0.99, batch=2), 9) == [1]


@pytest.mark.parametrize("kind", [CoTeaching, JoCoR])
def test_two_networks_start_apart(kind, make_task):
    """From equal weights neither would teach the other anything."""
    task = make_task()
    first, second = kind(task, "jocor", task.train, settings(), 0.2).modules()
    assert not torch.equal(next(first.parameters()), next(second.parameters()))


def test_each_network_learns_from_the_picks_of_the_other_alone(make_task):
    batch, labels = six(make_task(), kept=2)
    nets, said = networks(0, 1)
    loss = by(make_task(), 0.5).loss(nets, batch)
    loss.backward()
    losses = [-one[np.arange(6), labels] for one in said]
    picks = [np.argsort(one)[:2] for one in losses]
    assert set(picks[0]) != set(picks[1])
    assert [touched(net) for net in nets] == [sorted(picks[1]), sorted(picks[0])]
    assert loss.item() == pytest.approx(losses[0][picks[1]].mean() + losses[1][picks[0]].mean(), rel=1e-5)


@pytest.mark.parametrize("noise", [NoiseModel(transition=uniform(0.3, 3)), NoiseModel(noise_rate=[0.2, 0.2, 0.2])])
def test_co_teaching_leaves_out_the_overall_rate(noise, make_task, monkeypatch):
    made: list[CoTeaching] = []
    fit = co_teaching.fit
    monkeypatch.setattr(co_teaching, "fit", lambda task, one, **how: made.append(one) or fit(task, one, **how))
    methods.train("co_teaching", make_task(), settings(), noise)
    assert made[0].rate == pytest.approx(0.2)


def test_what_the_networks_lose_least_on_is_selected(make_task):
    """Of each label as many as are right, by the rates told, and no safety margin beside it."""
    task = make_task()
    learned = methods.train("co_teaching", task, settings(), NoiseModel(noise_rate=0.25))
    labels = task.dataset.labels[task.train]
    kept = np.bincount(labels[learned.selection.mask], minlength=3)
    assert kept.tolist() == [int(0.75 * n) for n in np.bincount(labels, minlength=3)]
    rows = task.train[labels == 0]
    score, chosen = learned.score[rows], learned.selection.mask[labels == 0]
    assert score[chosen].max() <= score[~chosen].min()


# --- JoCoR ---------------------------------------------------------------------------------------------------


def test_jocor_descends_the_smallest_joint_losses_of_both(make_task):
    """(1 - λ)(CE_1 + CE_2) + λ (KL both ways), λ = .65; both networks learn the same two examples."""
    task = make_task()
    batch, labels = six(task, kept=2)
    nets, (p, q) = networks(0, 1)
    objective = JoCoR(task, "jocor", task.train, settings(**{"jocor.agreement": 0.65}), 0.5)
    loss = objective.loss(nets, batch)
    loss.backward()
    labelled = -p[np.arange(6), labels] - q[np.arange(6), labels]
    apart = (np.exp(p) * (p - q)).sum(1) + (np.exp(q) * (q - p)).sum(1)
    joint = 0.35 * labelled + 0.65 * apart
    picks = np.argsort(joint)[:2]
    assert loss.item() == pytest.approx(joint[picks].mean(), rel=1e-5)
    assert [touched(net) for net in nets] == [sorted(picks)] * 2


def test_jocor_has_one_adam_over_both_networks_which_judge_together(make_task):
    learned = methods.train("jocor", make_task(), settings(), NoiseModel(noise_rate=0.2))
    assert len(learned.fitted.network.module.members) == 2
    assert learned.fitted.recipe.optimiser == "adam"
    assert learned.fitted.last["steps"] == 3


# --- ELR -----------------------------------------------------------------------------------------------------


def test_elr_by_hand(make_task):
    """CE + λ mean ln(1 - <t, p>), after t ← β t + (1 - β) p; twice, and the targets of other rows stay 0."""
    task = make_task()
    batch, labels = six(task)
    nets, (log_p,) = networks(3)
    objective = EarlyLearning(task, settings(**{"elr.beta": 0.6, "elr.strength": 2.0}))
    p, t = np.clip(np.exp(log_p), 1e-4, 1 - 1e-4), np.zeros((6, 3))
    for _ in range(2):
        t = 0.6 * t + 0.4 * p / p.sum(1, keepdims=True)
        expected = -log_p[np.arange(6), labels].mean() + 2 * np.log(1 - (t * p).sum(1)).mean()
        assert objective.loss(nets, batch).item() == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(objective.buffers()["t"][:6], t, rtol=1e-5)
    assert not objective.held.t[6:].any()


def test_elr_passes_no_gradient_through_its_targets(make_task):
    """d/dp of ln(1 - <t, p>) is -t / (1 - <t, p>), t as a constant."""
    task = make_task()
    batch, _ = six(task)
    how = settings(**{"elr.strength": 1.0})
    with_targets, plain = (EarlyLearning(task, one) for one in (how, settings(**{"elr.strength": 0})))
    (net,), (other,) = networks(3)[0], networks(3)[0]
    with_targets.loss([net], batch).backward()
    plain.loss([other], batch).backward()
    z = net.module.logits.detach().double().requires_grad_()
    p = z.softmax(1)
    (1 - (with_targets.held.t[:6].double() * p).sum(1)).log().mean().backward()
    left = net.module.logits.grad - other.module.logits.grad
    torch.testing.assert_close(left, z.grad.float(), rtol=1e-4, atol=1e-6)


# --- INCV ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.4])
def test_the_rate_is_that_whose_agreement_was_seen(rate, classes):
    assert rate_of((1 - rate) ** 2 + rate**2 / (classes - 1), classes) == pytest.approx(rate, abs=1e-9)


def test_the_rounds_of_incv_by_sets(make_task, monkeypatch):
    """Each half, judged by the other's network: agreeing rows join S; the hardest, twice as many at most, leave C."""
    task, rounds = make_task(), []
    labels = task.dataset.labels
    rng = np.random.default_rng(0)

    def predicted(task: Task, settings: Any, rows: np.ndarray, folds: np.ndarray, **more: Any) -> np.ndarray:
        g = np.full((2, len(labels), 3), np.nan, np.float32)
        for which in (0, 1):
            judged = np.concatenate([rows[folds != which], task.held_out])
            g[which, judged] = rng.dirichlet(np.ones(3), len(judged)) + 0.5 * np.eye(3)[labels[judged]]
        rounds.append((g, set(more["always"].tolist()), more["pick"], set(rows.tolist())))
        return g

    made: list[OnSelected] = []
    monkeypatch.setattr(incv, "cross_predict", predicted)
    monkeypatch.setattr(incv, "fit", lambda task, objective: made.append(objective))
    learned = methods.train("incv", task, settings(**{"incv.rounds": 3}), NoiseModel())
    S: set[int] = set()
    C, rate = set(task.train.tolist()), None
    for r, (g, always, pick, rows) in enumerate(rounds):
        assert (always, rows) == (S, C)
        assert pick == ("best" if rate is None or r < (1 if rate > 0.6 else 2 if rate > 0.3 else 4) else "last")
        for half in g:
            judged = [row for row in sorted(C) if not np.isnan(half[row, 0])]
            agrees = [row for row in judged if half[row].argmax() == labels[row]]
            rate = rate_of(len(agrees) / len(judged), 3) if rate is None else rate
            hardest = sorted(judged, key=lambda row, half=half: half[row, labels[row]])
            gone = hardest[: int(min(2, rate / (1 - rate)) * len(agrees))]
            S, C = S | set(agrees), C - set(agrees) - set(gone)
    (objective,) = made
    assert objective.rate == pytest.approx(rate**2 / (rate**2 + 2 * (1 - rate) ** 2))
    assert (set(objective.examples.tolist()), set(objective.candidates.tolist())) == (S, C)
    assert set(task.train[learned.selection.mask].tolist()) == S
    assert len(rounds) == 3


def test_candidates_join_late_and_no_more_is_kept_than_before(make_task):
    """|S| = 40, |C| = 20, batches of 16: 8 candidates beside each of the full ones, none twice in an epoch."""
    task = make_task()
    how = settings(**{"incv.epochs": 10, "incv.join": 0.3, "incv.batch": 16, "incv.ramp_epochs": 5})
    objective = OnSelected(task, np.arange(40), np.arange(40, 60), how, 0.5)
    assert objective.rate == pytest.approx(0.25 / (0.25 + 2 * 0.25))
    for epoch in (0, 2, 3, 9):
        plans = list(objective.plan(epoch))
        assert [plan.size for plan in plans] == ([16, 8] if epoch < 3 else [24, 8])
        left = 1 - min(epoch / 5, 1) / 3
        assert kept(objective, epoch) == [round(16 * left), round(8 * left)]
        seen = torch.cat([plan.views["labeled"].index.flatten() for plan in plans]).tolist()
        assert len(seen) == len(set(seen)) == (40 if epoch < 3 else 56)
    assert OnSelected(task, np.arange(40), np.arange(40, 60), how, 0.7).joined == 6
    assert [plan.size for plan in OnSelected(task, np.arange(40), np.array([], int), how, 0.7).plan(9)] == [16, 8]


def test_the_best_epoch_of_a_fold_is_the_one_that_agrees_best_with_the_labels(make_task):
    task = make_task()
    fold = Fold(task, "fold", task.train[:40], np.arange(90, 96), RECIPE, None, best=True)

    class Said:
        record = range(3)

        def __init__(self, agreeing: int) -> None:
            wrong = np.where(np.arange(6) < agreeing, 0, 1)
            self.said = torch.eye(3)[(task.dataset.labels[90:] + wrong) % 3]

        def probabilities(self, rows: np.ndarray) -> torch.Tensor:
            return self.said

    said = [Said(agreeing) for agreeing in (3, 5, 5, 6)]
    for epoch, one in enumerate(said):  # the last is not recorded
        fold.after_epoch(one, epoch)  # type: ignore[arg-type]
    assert np.array_equal(fold.prediction(), said[1].said.numpy())


# --- Confident learning -------------------------------------------------------------------------------------


def test_confident_learning_keeps_exactly_what_the_rule_leaves(make_task):
    task, how = make_task(), settings()
    learned = methods.train("confident_learning", task, how, NoiseModel(noise_rate=0.9))
    probabilities = np.nanmean(out_of_sample(make_task(), how), axis=0, dtype=np.float64)
    issue = label_issues(probabilities[task.train], task.dataset.labels[task.train])
    assert np.array_equal(learned.selection.mask, ~issue)
    assert np.array_equal(learned.selection.is_label_issue, issue)
    assert 0 < issue.sum() < 40
    assert set(learned.stages) == {"half0", "half1", "confident_learning"}  # what it costs: no stage 1


# --- plans ---------------------------------------------------------------------------------------------------


def test_a_plan_has_tables_beside_it_and_examples_joined_to_it(make_task):
    task = make_task()
    objective = by(task, 0.0, batch=40)
    plan: Plan = next(iter(objective.plan(0)))
    more = objective.seen(0, torch.arange(6).view(2, 3))
    joined = plan.joined(more).beside(weight=torch.tensor([1.0, 2.0]), k=3)
    assert (plan.steps, plan.size, joined.steps, joined.size) == (2, 40, 2, 43)
    assert joined.views["labeled"].index[:, 40:].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert joined.tables["weight"].tolist() == [1, 2]
    assert joined.tables["k"].tolist() == [3, 3]
    assert plan.tables.keys() == {"kept"}
