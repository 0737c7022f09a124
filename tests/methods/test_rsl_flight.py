"""RSL in flight: what is learnt, of whom, and when that changes."""

import numpy as np
import pytest
import torch
from torch import nn

import smallloss as sl
from small import settings
from smallloss import methods
from smallloss.data.arrays import from_arrays
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.task import Task
from smallloss.methods import rsl_flight
from smallloss.methods.rsl_flight import InFlight
from smallloss.methods.settings import get_preset, settings_for
from smallloss.methods.small_loss import choose
from smallloss.noise.model import NoiseModel

NOISE = NoiseModel(noise_rate=0.2)


class Says(nn.Module):
    """Fixed logits, whatever is seen."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits


def flight(task: Task, score: np.ndarray | None = None, **changes: float) -> InFlight:
    how = settings(**changes)
    score = np.arange(96.0) if score is None else score
    return InFlight(task, how, choose(task, how, NOISE, score), lambda score: choose(task, how, NOISE, score, beta=0.0))


def loss_of(objective: InFlight, rows: list[int], logits: torch.Tensor) -> torch.Tensor:
    index = torch.tensor(rows)
    batch = Batch({"x": index}, {"x": torch.zeros(len(rows), 1)}, {}, objective.targets)
    return objective.loss([Network(Says(logits), torch.device("cpu"))], batch)


def test_targets_by_hand(make_task):
    """Kept: the label. Else (.6, .3, .1) sharpened by T = .5 to (36, 9, 1) / 46, weight .36. Both smoothed by .1."""
    objective = flight(make_task(), **{"rsl_flight.label_smoothing": 0.1})
    assert objective.own.temperature == 0.5
    logits = torch.tensor([[1.0, 0.0, -1.0], [0.5, 0.2, 0.0]])
    log_p = logits.log_softmax(1)
    kept, rest = 1, 2
    objective.kept[:] = torch.arange(96) == kept
    objective.mean[rest] = torch.tensor([0.6, 0.3, 0.1])
    label = torch.eye(3)[objective.targets[kept]]
    guess = torch.tensor([36, 9, 1]) / 46
    smooth = [0.9 * target + 0.1 / 3 for target in (label, guess)]
    expected = (-(smooth[0] * log_p[0]).sum() - 0.36 * (smooth[1] * log_p[1]).sum()) / 2
    torch.testing.assert_close(loss_of(objective, [kept, rest], logits), expected)


def test_until_there_is_a_guess_the_others_weigh_nothing(make_task):
    objective = flight(make_task())
    logits = torch.randn(2, 3, requires_grad=True)
    rest = torch.nonzero(~objective.kept)[:2, 0].tolist()
    loss = loss_of(objective, rest, logits)
    loss.backward()
    assert float(loss.detach()) == 0
    assert not logits.grad.any()


def test_guesses_are_a_running_mean_and_the_selection_follows_them(make_task):
    """.8 old + .2 new; two epochs after the first the best of each class by it are kept, not those of before."""
    task = make_task()
    objective = flight(task, **{"rsl_flight.epochs": 10})  # from the third on, and every second a look
    assert objective.looks == range(2, 10)
    before = objective.kept.clone()
    said = torch.rand(3, 96, 3).softmax(2)

    class Stage:
        turn = iter(said)

        def probabilities(self, index, *, mirror):
            assert mirror
            return next(self.turn)

    stage = Stage()
    assert objective.after_epoch(stage, 1) == {}
    objective.after_epoch(stage, 2)
    assert torch.equal(objective.mean, said[0])
    objective.after_epoch(stage, 3)
    torch.testing.assert_close(objective.mean, 0.8 * said[0] + 0.2 * said[1])
    assert torch.equal(objective.kept, before)
    row = objective.after_epoch(stage, 4)
    labels = task.dataset.labels
    given = objective.mean[torch.arange(96), torch.from_numpy(labels)]
    np.testing.assert_allclose(objective.score(), -given.double().log().numpy())
    assert row == {"selected": float(objective.kept.sum())}
    for k in range(3):
        mine = [row for row in range(80) if labels[row] == k]
        assert float(given[mine][objective.kept[mine]].min()) > float(given[mine][~objective.kept[mine]].max())
    assert not objective.kept[80:].any()


def test_a_label_corrected_by_hand_is_learnt_whatever_is_said_of_it(make_task):
    task = make_task(pins={5: 0, 7: 2})
    objective = flight(task, np.where(np.isin(np.arange(96), [5, 7]), 1e9, np.arange(96.0)))
    corrected = task.train[task.corrected]
    assert len(corrected)
    assert objective.kept[torch.from_numpy(corrected)].all()


@pytest.mark.parametrize("begin, epochs, first", [(0.1, 92, 8), (0.1, 3, 0), (0.0, 3, 0), (1.0, 4, 3)])
def test_there_is_always_an_epoch_to_guess_after(begin, epochs, first):
    assert rsl_flight.Own(begin=begin).looks(epochs) == range(first, epochs)


def test_a_run_says_what_was_used_and_its_model_is_read_again(tiny, tmp_path):
    """Under a name with widths, and judging mirror images."""
    run = sl.clean(
        tiny, tmp_path / "run", method="rsl_flight", noise_rate=0.2, epochs=2, net="quick-small:4-8", progress=False,
        settings={"rsl_flight.mirror": True}, ship="method",
    )  # fmt: skip
    assert "training examples were learnt with the label given, the others with" in " ".join(run.result.notes)
    again = sl.load_classifier(tmp_path / "run")
    np.testing.assert_allclose(again.predict_proba(tiny.inputs), run.classifier.predict_proba(tiny.inputs), atol=1e-6)
    np.testing.assert_allclose(
        again.predict_proba(tiny.inputs[:, :, ::-1]), again.predict_proba(tiny.inputs), atol=1e-5
    )


def test_features_are_learnt_without_strong_views():
    x = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    data = from_arrays(x, np.arange(90) % 3)
    how = settings(net="mlp")
    assert how.net_of("rsl_flight") == "mlp"
    learned = methods.train("rsl_flight", Task(data, np.arange(90), {}), how, NOISE)
    assert np.isfinite([row["loss"] for row in learned.fitted.history]).all()


def test_under_fast_it_ends_with_a_net_of_its_own_unless_one_is_named():
    """And with a recipe that only this net stands: any other is trained as others are."""
    fast = get_preset("fast")
    own, others = fast.recipe("rsl_flight"), fast.changed({"net": "resnet-9"}).recipe("rsl_flight")
    assert (own.lr > 1, own.norm_rate, others.lr, others.norm_rate) == (True, 64, 0.1, 1)
    features = settings_for("fast", "cuda", from_arrays(np.zeros((9, 2), np.float32), np.arange(9) % 3), epochs=7)
    assert (features.recipe("rsl_flight").lr, features.recipe("rsl_flight").epochs) == (0.1, 7)
    assert (fast.net_of("rsl_flight"), fast.net_of("rsl")) == ("quick-convnet:192-512-768", "resnet-9")
    assert fast.changed({"net": "resnet-9"}).net_of("rsl_flight") == "resnet-9"
    assert fast.changed({"final_net": "wrn-28-2"}).net_of("rsl_flight") == "wrn-28-2"
    assert fast.changed({"rsl_flight.lr": 1}).net_of("rsl_flight") == "quick-convnet:192-512-768"
