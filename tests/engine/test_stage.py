"""The one training loop: both paths agree, a stopped run ends like one never stopped, failures speak."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from small import StopAfter, StoppedError, everything
from smallloss.criterion.ledger import LossLedger
from smallloss.engine.recipe import Recipe
from smallloss.engine.scoring import score
from smallloss.engine.stage import Stage, fit
from smallloss.engine.views import draw_views
from smallloss.errors import InputError
from smallloss.methods.mixmatch import MixMatchSettings, WeightedMixMatch
from smallloss.methods.supervised import Supervised
from smallloss.noise.choose import select

SGD = Recipe(epochs=4, batch=32, lr=0.1, schedule="triangular", pad=1, crop_offsets=3)
ADAM = replace(SGD, optimiser="adam", lr=0.01, weight_decay=0.02, ema=0.9, ema_batchnorm="recompute")
MIXMATCH = replace(SGD, epochs=6, batch=8, lr=0.05, ema=0.9, ema_batchnorm="copy")
HOW = MixMatchSettings(
    steps_per_epoch=3, lambda_u=5, ramp=0.5, mix_per="example", guess_by="average", rounds=2, look_at=0.5
)
RECIPES = {"sgd": SGD, "adam": ADAM, "mixmatch": MIXMATCH}


class StopWithin(Supervised):
    """Ends the run before an epoch is committed: its steps are done, its checkpoint is not written."""

    stop_at = 2

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        if epoch == self.stop_at:
            raise StoppedError
        return {}


def build_stage(task: Any, kind: str, net: Any, recipe: Recipe | None = None) -> Stage:
    recipe = recipe or RECIPES[kind]
    ledger = LossLedger(len(task.dataset))
    if kind != "mixmatch":
        return Stage(task, Supervised(task, "stage", task.train, recipe, net), ledger=ledger)
    labels = task.dataset.labels[task.train]

    def look_again(ledger: LossLedger) -> Any:
        return select(ledger.mean_loss[task.train], labels, noise_rate=0.3, beta=0.05)

    first = select(np.random.default_rng(1).random(len(labels)), labels, noise_rate=0.3)
    return Stage(task, WeightedMixMatch(task, "stage", first.weight, recipe, net, HOW, look_again), ledger=ledger)


def assert_same(left: Stage, right: Stage) -> None:
    one, other = everything(left), everything(right)
    assert one.keys() == other.keys()
    assert not [name for name in one if one[name] != other[name]]


@pytest.mark.parametrize("kind, stop", [("sgd", 1), ("adam", 2), ("mixmatch", 2), ("mixmatch", 5)])
def test_a_stopped_stage_ends_byte_equal_to_one_never_stopped(kind, stop, tmp_path, make_task, make_net):
    """MixMatch's second look comes after epoch 2: the weights of the first selection must not come back."""
    whole = build_stage(make_task(folder=tmp_path / "whole"), kind, make_net())
    whole.fit()

    task = make_task(folder=tmp_path / "stopped", progress=StopAfter(stop))
    with pytest.raises(StoppedError):
        build_stage(task, kind, make_net()).fit()
    # Another initial net: everything that matters must come out of the checkpoint.
    resumed = build_stage(make_task(folder=tmp_path / "stopped"), kind, make_net(seed=7))
    resumed.fit()

    assert_same(whole, resumed)
    rows = [json.loads(line) for line in (tmp_path / "stopped" / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == list(range(RECIPES[kind].epochs))


def test_an_epoch_that_was_not_committed_is_trained_again(tmp_path, make_task, make_net):
    whole = build_stage(make_task(folder=tmp_path / "whole"), "sgd", make_net())
    whole.fit()
    task = make_task(folder=tmp_path / "cut")
    cut = Stage(task, StopWithin(task, "stage", task.train, SGD, make_net()), ledger=LossLedger(96))
    with pytest.raises(StoppedError):
        cut.fit()
    resumed = build_stage(make_task(folder=tmp_path / "cut"), "sgd", make_net())
    resumed.fit()
    assert_same(whole, resumed)


def test_a_finished_stage_is_not_trained_again(tmp_path, make_task, make_net):
    first = build_stage(make_task(folder=tmp_path), "sgd", make_net())
    history = first.fit().history
    again = build_stage(make_task(folder=tmp_path), "sgd", make_net(seed=7))
    again.stepper.run = None  # type: ignore[method-assign, assignment]
    assert again.fit().history == history
    assert_same(first, again)


def test_features_are_trained_on_as_well(make_task):
    from smallloss.data.dataset import Dataset
    from smallloss.models import build

    rng = np.random.default_rng(0)
    labels = np.arange(96, dtype=np.int64) % 3
    x = (1000 + 5 * labels[:, None] + rng.normal(0, 1, (96, 6))).astype(np.float32)
    dataset = Dataset(x, labels, ("a", "b", "c"))
    task = make_task(dataset=dataset)
    torch.manual_seed(0)
    net, recipe = build("mlp", classes=3, in_shape=(6,)), replace(SGD, epochs=12)
    fitted = fit(task, Supervised(task, "stage", task.train, recipe, net))
    assert fitted.last["validation"] > 0.9


@pytest.mark.parametrize("recipe", [SGD, ADAM], ids=["live", "average"])
@pytest.mark.parametrize("scoring", ["plain", "augmented"])
def test_the_ledger_holds_eval_mode_losses_of_the_asked_view(scoring, recipe, make_task, make_net):
    """Algorithm 1, lines 3-4, for all examples, those held out too: by the weight average where there is one."""
    recipe = replace(recipe, epochs=1, scoring=scoring)
    task = make_task()
    stage = build_stage(task, "sgd", make_net(), recipe)
    stage.fit()
    rows = torch.arange(96)
    views = stage.inputs.plain(rows)
    if scoring == "augmented":
        views = draw_views(task.draws, stage.objective.augmentation, "stage/scoring", [0], rows, rows)
        assert len(set(views.dy.tolist())) == 3
        assert views.flip.any()
    stage.network.module.eval()
    with torch.no_grad():
        judge = stage.averages[0].network if stage.averages else stage.networks[0]
        logits = judge.module(stage.inputs.see(views))
        losses = torch.nn.functional.cross_entropy(logits, task.labels, reduction="none")
    np.testing.assert_allclose(stage.ledger.last_loss, losses.numpy(), rtol=1e-4, atol=1e-6)
    assert np.array_equal(stage.ledger.predicted, logits.argmax(1).numpy())


def test_inputs_held_out_change_nothing_of_what_is_learnt(make_task, make_net, tiny):
    """Not even the BatchNorm statistics of the weight average, which are taken afresh."""
    other = replace(tiny, inputs=np.concatenate([tiny.inputs[:80], 255 - tiny.inputs[80:]]), normalisation=tiny)
    stages = [build_stage(make_task(dataset=dataset), "adam", make_net()) for dataset in (tiny, other)]
    for stage in stages:
        stage.fit()
    left, right = (stage._tensors() for stage in stages)
    assert not [name for name in left if not torch.equal(left[name], right[name])]


def test_the_ledger_knows_which_epochs_it_recorded(make_task, make_net, tmp_path):
    """Also where the stage goes on after a stop, with the ledger that its checkpoint holds."""
    for _ in range(2):
        task = make_task(folder=tmp_path)
        objective = Supervised(task, "stage", task.train, SGD, make_net())
        curves = fit(task, objective, ledger=LossLedger(96), record=range(2, 4)).ledger.curves
        assert (curves.start, len(curves.rows)) == (2, 2)


def test_chunks_of_scoring_do_not_matter(make_task, make_net, monkeypatch):
    from smallloss.engine import scoring

    stage = build_stage(make_task(), "sgd", make_net())
    views = stage.inputs.plain(np.arange(96))
    whole = score(stage.network, stage.inputs, views, stage.task.labels)
    monkeypatch.setattr(scoring, "_CHUNK_VALUES", 7 * 8 * 8 * 3)
    for path in ("resident", "streaming"):
        stage.inputs.resident = path == "resident"
        parts = score(stage.network, stage.inputs, views, stage.task.labels)
        assert parts.loss.shape == (96,)
        torch.testing.assert_close(parts.loss, whole.loss)
        torch.testing.assert_close(parts.margin, whole.margin)
        assert torch.equal(parts.predicted, whole.predicted)


def test_scores_by_hand_leave_the_network_in_the_mode_they_found(make_task, make_net):
    """The margin is that to the best other class, the probability that of the label."""
    stage = build_stage(make_task(), "sgd", make_net())
    stage.network.module.eval()
    views = stage.inputs.plain(np.arange(96))
    logits = stage.network(stage.inputs.see(views)).detach()
    stage.network.module.train()
    scores = score(stage.network, stage.inputs, views, stage.task.labels)
    margin = scores.margin
    assert stage.network.module.training
    assert torch.allclose(scores.probability, (-scores.loss).exp())
    for i in range(0, 96, 7):
        given = int(stage.task.labels[i])
        others = max(float(logits[i, k]) for k in range(3) if k != given)
        assert float(margin[i]) == pytest.approx(float(logits[i, given]) - others, abs=1e-5)


def test_a_loss_that_is_no_number_ends_the_stage_with_a_sentence(tmp_path, make_task, make_net):
    class Breaks(Supervised):
        broken = False

        def plan(self, epoch: int) -> Any:
            self.broken = epoch == 2
            return super().plan(epoch)

        def loss(self, *args: Any) -> Any:
            return super().loss(*args) * (float("nan") if self.broken else 1)

    task = make_task(folder=tmp_path)
    stage = Stage(task, Breaks(task, "stage", task.train, SGD, make_net()))
    words = r"nan in epoch 3 of stage stage\. Lower lr \(it is 0\.1\): --set stage1\.lr=0\.05 "
    with pytest.raises(InputError, match=words + r'\(Python: settings=\{"stage1\.lr": 0\.05\}\)'):
        stage.fit()
    kept = build_stage(make_task(folder=tmp_path), "sgd", make_net(seed=7))
    kept.ledger = None
    assert kept._resume() == 2
    assert all(bool(tensor.isfinite().all()) for tensor in kept._tensors().values())


def test_mixmatch_never_sees_a_held_out_row(make_task, make_net):
    stage = build_stage(make_task(), "mixmatch", make_net())
    for epoch in range(20):
        for views in stage.objective.plan(epoch)[0].views.values():
            assert int(views.index.max()) < 80


@pytest.mark.parametrize("kind, width", [("adam", 4), ("sgd", 8)])
def test_a_checkpoint_of_another_recipe_or_width_is_refused(kind, width, tmp_path, make_task, make_net):
    build_stage(make_task(folder=tmp_path), kind, make_net(width=width)).fit()
    with pytest.raises(InputError, match="belongs to another network or recipe"):
        build_stage(make_task(folder=tmp_path), "sgd", make_net()).fit()


@pytest.mark.parametrize("keep", [0, 4, 100, -10])
def test_a_cut_checkpoint_is_a_sentence(keep, tmp_path, make_task, make_net):
    build_stage(make_task(folder=tmp_path), "sgd", make_net()).fit()
    path = tmp_path / "checkpoint" / "stage.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"not a whole checkpoint.*delete it"):
        build_stage(make_task(folder=tmp_path), "sgd", make_net()).fit()


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path, make_task, make_net, monkeypatch):
    from smallloss.engine import checkpoint

    task = make_task(folder=tmp_path)
    stage = build_stage(task, "sgd", make_net(), replace(SGD, epochs=2))
    written: list[Path] = []

    def full_disk(path: Path, data: bytes) -> Path:
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)
        return path.write_bytes(data) and path

    monkeypatch.setattr(checkpoint, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space"):
        stage.fit()
    monkeypatch.undo()
    assert build_stage(make_task(folder=tmp_path), "sgd", make_net(), replace(SGD, epochs=2))._resume() == 1


def test_checkpoints_are_spaced_by_time_but_the_last_epoch_is_always_saved(tmp_path, make_task, make_net):
    recipe = replace(SGD, checkpoint_seconds=3600)
    with pytest.raises(StoppedError):
        build_stage(make_task(folder=tmp_path, progress=StopAfter(3)), "sgd", make_net(), recipe).fit()
    assert not (tmp_path / "checkpoint").exists()
    build_stage(make_task(folder=tmp_path), "sgd", make_net(), recipe).fit()
    assert build_stage(make_task(folder=tmp_path), "sgd", make_net(), recipe)._resume() == recipe.epochs


def test_evaluation_is_spaced_and_always_comes_last(make_task, make_net):
    history = build_stage(make_task(), "sgd", make_net(), replace(SGD, epochs=5, evaluate_every=2)).fit().history
    assert ["validation" in row for row in history] == [False, True, False, True, True]


def test_where_nothing_validates_the_last_ten_epochs_are_evaluated_one_by_one(make_task, make_net):
    task = make_task()
    task.checks = {"test": task.checks["validation"]}
    fitted = build_stage(task, "sgd", make_net(), replace(SGD, epochs=13, evaluate_every=2)).fit()
    assert [row["epoch"] for row in fitted.history if "test" in row] == [1, *range(3, 13)]
    assert fitted.mean_of_last_ten("test") == pytest.approx(np.mean([row["test"] for row in fitted.history[3:]]))
    assert fitted.best is fitted.history[12]
    del fitted.history[5]["test"]
    assert fitted.mean_of_last_ten("test") is None
    assert build_stage(task, "sgd", make_net(), replace(SGD, epochs=9)).fit().mean_of_last_ten("test") is None
    unasked = build_stage(task, "sgd", make_net(), replace(SGD, epochs=13, evaluate_every=13)).fit()
    assert ["test" in row for row in unasked.history] == [False] * 12 + [True]


@pytest.mark.parametrize("ties, epoch", [("later", 2), ("earlier", 1)])
def test_the_best_epoch_is_chosen_on_validation(ties, epoch, make_task, make_net):
    fitted = build_stage(make_task(), "sgd", make_net(), replace(SGD, epochs=1, ties=ties)).fit()
    fitted.history = [
        {"epoch": 0, "validation": 0.2, "test": 0.9},
        {"epoch": 1, "validation": 0.5, "test": 0.3},
        {"epoch": 2, "validation": 0.5, "test": 0.4},
        {"epoch": 3, "test": 1.0},
    ]
    assert fitted.best["epoch"] == epoch
    assert fitted.last["epoch"] == 3


def test_a_read_only_array_is_no_reason_to_complain(make_task, make_net, tiny):
    """Arrays out of frombuffer or a memory map cannot be written to; warnings are errors here."""
    tiny.inputs.setflags(write=False)
    torch.set_warn_always(True)  # torch says it once a process, which another test may have used up
    try:
        build_stage(make_task(dataset=tiny), "sgd", make_net(), replace(SGD, epochs=1)).fit()
    finally:
        torch.set_warn_always(False)
