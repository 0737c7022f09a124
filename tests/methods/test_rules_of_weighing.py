"""Learning by disagreement, by MentorNet's curricula, and from a labelled subset: their rules, worked out by hand."""

from typing import Any

import numpy as np
import pytest
import torch

from small import StopAfter, StoppedError, everything, settings
from smallloss import methods
from smallloss.criterion.ledger import LossLedger
from smallloss.engine.networks import Network
from smallloss.engine.stage import Stage
from smallloss.engine.task import Task
from smallloss.errors import InputError, TooFewError
from smallloss.methods.co_teaching_plus import CoTeachingPlus
from smallloss.methods.decoupling import Decoupling
from smallloss.methods.mentor import Mentor
from smallloss.methods.mentornet import Mentored
from smallloss.methods.plain_mixmatch import keep, refuse
from smallloss.noise.answers import NONE
from smallloss.noise.model import NoiseModel
from tables import networks, six, touched

NOISE = NoiseModel(noise_rate=0.2)


def losses(said: list[np.ndarray], labels: np.ndarray) -> list[np.ndarray]:
    return [-log_p[np.arange(len(labels)), labels] for log_p in said]


def sums(objective: Any, task: Task, seeds: tuple[int, int], **tables: Any) -> tuple[float, list[Any], list[Any]]:
    """The loss of a step, the networks, and each one's losses."""
    batch, labels = six(task, **tables)
    nets, said = networks(*seeds)
    loss = objective.loss(nets, batch)
    loss.backward()
    return loss.item(), nets, [said, losses(said, labels)]


# --- disagreement --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeds", [(1, 6), (1, 7), (0, 7)])
def test_decoupling_learns_what_the_networks_call_differently(seeds, make_task):
    task = make_task()
    loss, nets, (said, (first, second)) = sums(Decoupling(task, settings()), task, seeds, apart=True)
    apart = np.flatnonzero(said[0].argmax(1) != said[1].argmax(1))
    assert 2 <= len(apart) < 6
    assert loss == pytest.approx((first + second)[apart].sum() / len(apart), rel=1e-5)
    assert [touched(net) for net in nets] == [apart.tolist()] * 2


def test_until_then_decoupling_learns_everything(make_task):
    task = make_task()
    objective = Decoupling(task, settings(**{"decoupling.together": 0.4}))  # of three epochs
    assert [next(iter(objective.plan(epoch))).tables["apart"].tolist() for epoch in (0, 1, 2)] == [
        [False] * 2, [False] * 2, [True] * 2
    ]  # fmt: skip
    loss, nets, (_, (first, second)) = sums(objective, task, (1, 7), apart=False)
    assert loss == pytest.approx((first + second).mean(), rel=1e-5)
    assert touched(nets[0]) == list(range(6))


@pytest.mark.parametrize("kind", ["decoupling", "co_teaching_plus"])
def test_networks_that_agree_on_everything_learn_nothing(kind, make_task):
    task = make_task()
    plus = CoTeachingPlus(task, "co_teaching_plus", task.train, settings(), 0.5)
    objective = Decoupling(task, settings()) if kind == "decoupling" else plus
    loss, nets, _ = sums(objective, task, (3, 3), apart=True, kept=[1, 1, 1, 2, 2, 3, 3])
    assert loss == 0
    assert [touched(net) for net in nets] == [[], []]


def test_co_teaching_plus_keeps_a_share_of_those_they_disagree_on(make_task):
    """(1 - R(t)) of 0, 1, 2, ... of them, at least one; R is 0, .225, .45 with T_k = 3."""
    task = make_task()
    how = settings(**{"co_teaching_plus.ramp_epochs": 3, "co_teaching_plus.together": 0.5})
    objective = CoTeachingPlus(task, "co_teaching_plus", task.train, how, 0.45)
    for epoch, share in enumerate([1, 0.775, 0.55]):
        for plan in objective.plan(epoch):
            expected = [max(1, int(share * some)) for some in range(plan.size + 1)]
            assert plan.tables["kept"].tolist() == [expected] * plan.steps
            assert plan.tables["apart"].tolist() == [epoch >= 2] * plan.steps


@pytest.mark.parametrize("seeds, apart", [((1, 6), True), ((1, 7), True), ((2, 4), True), ((1, 7), False)])
def test_each_network_learns_from_the_picks_of_the_other_among_them(seeds, apart, make_task):
    task = make_task()
    objective = CoTeachingPlus(task, "co_teaching_plus", task.train, settings(), 0.5)
    loss, nets, (said, each) = sums(objective, task, seeds, apart=apart, kept=[1, 1, 1, 2, 2, 3, 3])
    among = np.flatnonzero((said[0].argmax(1) != said[1].argmax(1)) | (not apart))
    k = {3: 2, 4: 2, 6: 3}[len(among)]
    picks = [among[np.argsort(one[among])[:k]] for one in each]
    assert set(picks[0]) != set(picks[1])
    assert [touched(net) for net in nets] == [sorted(picks[1]), sorted(picks[0])]
    assert loss == pytest.approx(each[0][picks[1]].mean() + each[1][picks[0]].mean(), rel=1e-5)


# --- MentorNet -----------------------------------------------------------------------------------------------


def mentored(task: Task, rate: float = 0.5, **changes: Any) -> Mentored:
    return Mentored(task, settings(**{f"mentornet.{name}": value for name, value in changes.items()}), rate)


def answers(task: Task, right: int, wrong: int) -> dict[int, int]:
    labels = task.dataset.labels
    rows = task.train[: right + wrong].tolist()
    return {row: int(labels[row] + (at >= right)) % task.classes for at, row in enumerate(rows)}


@pytest.mark.parametrize("t, weights", [(0.5, [1, 1, 0, 0]), (0.89, [1, 1, 0, 0]), (0.9, [1, 1, 0.75, 0])])
def test_the_predefined_curriculum(t, weights, make_task):
    """1 up to the percentile m, else 0; at the end falling from 1 there to 0 at m + 1."""
    loss, m = torch.tensor([0.0, 0.5, 0.75, 3.0]), torch.tensor(0.5)
    (net,), _ = networks(0)
    assert mentored(make_task()).weigh([net], loss, m, torch.tensor(t)).tolist() == weights


@pytest.mark.parametrize("burns", [True, False])
def test_a_step_of_mentornet_by_hand(burns, make_task):
    """m follows the percentile by halves; what is left out weighs nothing, but counts in the mean."""
    task = make_task()
    objective = mentored(task, percentile=0.4)
    left_in = [True, True, False, True, True, True]
    batch, labels = six(task, kept=left_in, burns=burns, t=0.5)
    (net,), said = networks(2)
    (loss,) = losses(said, labels)
    m = 0.0
    for _ in range(3):
        m = (m + np.quantile(loss, 0.4)) / 2
        v = np.array(left_in) * (burns or loss <= m)
        assert objective.loss([net], batch).item() == pytest.approx((v * loss).mean(), rel=1e-5)
    assert objective.m.item() == pytest.approx(m, rel=1e-6)
    assert burns or 0 < v.sum() < 5


def test_half_is_left_out_while_nothing_is_weighed_and_then_a_twentieth(make_task):
    """For `burn_in` epochs, but at most half of the six."""
    for burn_in, epochs in ((18, 3), (2, 2), (0, 0)):
        objective = mentored(make_task(), burn_in=burn_in)
        for epoch in range(6):
            plan = next(iter(objective.plan(epoch)))
            assert plan.tables["burns"].tolist() == [epoch < epochs] * 2
            left_in = plan.tables["kept"].float().mean()
            assert 0.2 < left_in < 0.8 if epoch < epochs else left_in > 0.8


@pytest.mark.parametrize("rate, percentile, expected", [(0.3, None, 0.7), (0.3, 0.75, 0.75)])
def test_the_percentile_is_that_of_right_labels_unless_one_is_given(rate, percentile, expected, make_task):
    assert mentored(make_task(), rate, percentile=percentile).percentile == expected


def test_a_mentor_learns_from_the_answered_alone_and_teaches_the_network_the_others(make_task):
    """Four examples to learn, and two answered beside them: one right, one wrong."""
    task = make_task()
    rows = task.train[[4, 5]].tolist()
    labels = task.dataset.labels
    task = make_task(pins={rows[0]: int(labels[rows[0]]), rows[1]: int(labels[rows[1]] + 1) % 3})
    objective = mentored(task)
    batch, labels = six(task, kept=[True] * 4, burns=False, t=0.5)
    (net,), said = networks(2)
    torch.manual_seed(0)
    mentor = Network(Mentor(), torch.device("cpu"))
    (each,) = losses(said, labels)
    loss = objective.loss([net, mentor], batch)
    loss.backward()
    m = np.quantile(each[:4], 0.5) / 2
    told = torch.tensor(np.stack([each, each - m, np.full(6, 0.5)], 1), dtype=torch.float32)
    right = mentor.module(told).sigmoid().detach().numpy().astype(float)
    expected = (right[:4] * each[:4]).mean() - (np.log(right[4]) + np.log(1 - right[5])) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert touched(net) == [0, 1, 2, 3]
    assert all(parameter.grad.abs().sum() > 0 for parameter in mentor.module.parameters())


def test_answered_examples_stand_at_the_end_of_each_step(make_task):
    task = make_task()
    task = make_task(pins=answers(task, 3, 4) | {int(task.held_out[0]): 0})
    for plan in mentored(task).plan(0):
        beside = plan.views["labeled"].index[:, plan.tables["kept"].shape[1] :]
        assert beside.shape[1] == plan.tables["kept"].shape[1] // 4
        assert set(beside.flatten().tolist()) <= set(task.train[:7].tolist())


@pytest.mark.parametrize("right, wrong, learnt", [(3, 4, True), (3, 0, False), (0, 3, False), (0, 0, False)])
def test_a_curriculum_is_learnt_where_some_labels_are_right_and_some_wrong(right, wrong, learnt, make_task):
    task = make_task(pins=answers(make_task(), right, wrong))
    assert [type(one) is Mentor for one in mentored(task).modules()] == [False, True][: 1 + learnt]
    assert len(mentored(task, curriculum="predefined").modules()) == 1
    if not learnt:
        with pytest.raises(TooFewError, match=rf"{right} are answered right and {wrong} wrong\. Answer more"):
            mentored(task, curriculum="learnt")


def test_a_stage_with_a_mentor_goes_on_where_it_stopped_and_streams(make_task, tmp_path):
    """Its weights, its optimiser, m, and what was weighed so far."""
    pins = answers(make_task(), 5, 5)

    def stage(**how: Any) -> Stage:
        task = make_task(pins=pins, **how)
        return Stage(task, mentored(task), ledger=LossLedger(len(task.dataset)), record=range(2, 6))

    whole, streamed = stage(), stage(path="streaming")
    whole.fit()
    streamed.fit()
    with pytest.raises(StoppedError):
        stage(folder=tmp_path, progress=StopAfter(4)).fit()
    resumed = stage(folder=tmp_path)
    resumed.fit()
    assert everything(whole) == everything(resumed) == everything(streamed)
    assert whole.objective.weighed == 4
    assert {"optimiser", "mentor"} == whole.stepper.optimisers.keys()


@pytest.mark.parametrize("percentile", [0.6, 0.02])
def test_what_weighed_is_selected_even_if_a_class_has_nothing(percentile, make_task):
    """Scored in the last epoch alone, where t is 5/6: a weight is 1 up to the percentile of the losses."""
    how = settings(window=(1.0, 1.0), **{"mentornet.percentile": percentile})
    task = make_task()
    learned = methods.train("mentornet", task, how, NOISE)
    loss, labels = learned.ledger.mean_loss[task.train], task.dataset.labels[task.train]
    weighed = loss <= np.float32(np.quantile(loss, percentile))
    empty = np.setdiff1d(labels, labels[weighed])
    assert (len(empty) > 0) == (percentile < 0.1)
    chosen = np.isin(labels, empty) | learned.selection.mask == np.isin(labels, empty) | weighed
    assert chosen.all()
    assert all(learned.selection.mask[labels == k].sum() == 1 for k in empty)
    order = np.argsort(learned.score[task.train], kind="stable")
    assert np.array_equal(order, np.argsort(loss, kind="stable"))
    assert learned.evidence.endswith("by a curriculum set beforehand")


# --- MixMatch on a labelled subset ---------------------------------------------------------------------------


def kept_of(task: Task, share: float | None) -> np.ndarray:
    return keep(task, share).astype(bool)


@pytest.mark.parametrize("share", [0.01, 0.25, 1.0])
def test_a_share_of_each_class_keeps_its_labels(share, make_task):
    task = make_task()
    labels = task.dataset.labels[task.train]
    kept = kept_of(task, share)
    assert np.bincount(labels[kept]).tolist() == np.ceil(share * np.bincount(labels)).tolist()
    assert np.array_equal(kept, kept_of(make_task(), share))
    assert share == 1 or not np.array_equal(kept, kept_of(make_task(seed=1), share))


def test_what_was_answered_keeps_or_loses_its_label(make_task):
    plain = make_task()
    pins = answers(plain, 2, 2) | {int(plain.train[4]): NONE}
    before, after = kept_of(plain, 0.5), kept_of(make_task(pins=pins), 0.5)
    assert after[:5].tolist() == [True] * 4 + [False]
    assert np.array_equal(before[5:], after[5:])


def test_answers_alone_are_labelled_where_every_class_has_some(make_task):
    plain = make_task()
    every = make_task(pins=answers(plain, 9, 0))
    assert np.flatnonzero(kept_of(every, None)).tolist() == list(range(9))
    assert np.array_equal(kept_of(plain, None), kept_of(plain, 0.5))
    some = make_task(pins=answers(plain, 1, 0))  # of class b
    assert kept_of(some, None).sum() >= kept_of(plain, 0.5).sum()
    with pytest.raises(
        TooFewError, match=r"labelled is 0, so that only .* are labelled, but of 'a', 'c' there is none"
    ):
        keep(some, 0.0)


def test_mixmatch_needs_an_average_to_guess_by():
    refuse(settings())
    with pytest.raises(InputError, match=r"guess_by is average, but plain_mixmatch.ema is none"):
        refuse(settings(**{"plain_mixmatch.ema": None}))
