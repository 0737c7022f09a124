"""The GPU path against the plain one. Runs under pytest, or alone: python tests/engine/test_gpu.py [of a name]"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is only repeatable with a fixed workspace

import numpy as np
import torch

from smallloss import methods
from smallloss.criterion.ledger import LossLedger
from smallloss.data.dataset import Dataset
from smallloss.engine import stage as training
from smallloss.engine import stepper
from smallloss.engine.progress import Progress
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.engine.task import Check, Task
from smallloss.methods.elr import EarlyLearning
from smallloss.methods.mixmatch import MixMatchSettings, WeightedMixMatch
from smallloss.methods.settings import Settings, get_preset
from smallloss.methods.supervised import Supervised
from smallloss.models.small import SmallConvNet
from smallloss.noise.choose import select
from smallloss.noise.model import NoiseModel
from smallloss.record.folder import RunFolder

try:
    import pytest

    pytestmark = [
        pytest.mark.gpu,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
        pytest.mark.filterwarnings("default"),
    ]
except ImportError:  # the machine with the GPU may have no pytest
    pytest = None  # type: ignore[assignment]

DEVICE = torch.device("cuda")
N, TRAIN, CLASSES = 1300, 1100, 4
SGD = Recipe(epochs=2, batch=64, lr=0.05, schedule="triangular", pad=2, crop_offsets=5)  # 17 steps and a short one
MIX = replace(SGD, batch=32, ema=0.8, ema_batchnorm="recompute", padding="reflect")
HOW = MixMatchSettings(steps_per_epoch=40, lambda_u=5, ramp=0.3, mix_per="example", guess_by="average", rounds=2)


class StoppedError(Exception):
    pass


class StopAfter(Progress):
    def __init__(self, epochs: int) -> None:
        super().__init__(enabled=False)
        self.left = epochs

    def epoch(self, note: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise StoppedError


def pictures() -> Dataset:
    """Classes that differ in brightness; every fifth label is wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLASSES, N)
    light = 50 + 40 * truth[:, None, None, None] + rng.normal(0, 50, (N, 16, 16, 3))
    labels = np.where(np.arange(N) % 5 == 0, (truth + 1) % CLASSES, truth)
    return Dataset(np.clip(light, 0, 255).astype(np.uint8), labels, tuple("abcd"), true_labels=truth, flip=True)


def make_task(folder: Path | None = None, **options: Any) -> Task:
    dataset = pictures()
    held_out = np.arange(TRAIN, N)
    checks = {"validation": Check(dataset, held_out, dataset.labels[held_out])}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        options["folder"] = RunFolder(folder, {})
    return Task(dataset, np.arange(TRAIN), checks, device=DEVICE, **options)


def make_net(seed: int = 0) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SmallConvNet(CLASSES, (3, 16, 16))


def supervised(task: Task, recipe: Recipe = SGD) -> Stage:
    return Stage(task, Supervised(task, "stage", task.train, recipe, make_net()), ledger=LossLedger(N))


def mixmatch(task: Task, recipe: Recipe = MIX, how: MixMatchSettings = HOW) -> Stage:
    labels = task.dataset.labels[task.train]

    def look_again(ledger: LossLedger) -> Any:
        return select(ledger.mean_loss[task.train], labels, noise_rate=0.2, beta=0.05)

    first = select(np.random.default_rng(1).random(TRAIN), labels, noise_rate=0.2)
    objective = WeightedMixMatch(task, "stage", first.weight, recipe, SmallConvNet, how, look_again)
    return Stage(task, objective, ledger=LossLedger(N))


def fit(stage: Stage, *, capture: bool = True) -> Stage:
    stage.stepper.capture = stage.stepper.capture and capture
    stage.fit()
    return stage


def losses(stage: Stage) -> list[float]:
    return [row["loss"] for row in stage.history]


def assert_close(left: Stage, right: Stage) -> None:
    """Within bf16 rounding: two epochs of it, so the curves agree to 2 % and the examples rank alike."""
    np.testing.assert_allclose(losses(left), losses(right), rtol=2e-2)
    assert left.ledger is not None
    assert right.ledger is not None
    for name in ("mean_loss", "last_loss"):
        correlation = np.corrcoef(getattr(left.ledger, name), getattr(right.ledger, name))[0, 1]
        assert correlation > 0.999, correlation


def assert_same(left: Stage, right: Stage) -> None:
    assert left.ledger is not None
    assert right.ledger is not None
    one = {name: t.detach().cpu().numpy() for name, t in left._tensors().items()} | left.ledger.arrays()
    other = {name: t.detach().cpu().numpy() for name, t in right._tensors().items()} | right.ledger.arrays()
    assert one.keys() == other.keys()
    different = [name for name in one if one[name].tobytes() != other[name].tobytes()]
    assert not different, different


def test_a_captured_step_is_the_step() -> None:
    captured, eager = fit(supervised(make_task())), fit(supervised(make_task()), capture=False)
    assert len(captured.stepper._graphs) == 1
    assert not eager.stepper._graphs
    assert int(captured.stepper.clock) == int(eager.stepper.clock) == 2 * 18
    assert_close(captured, eager)


def test_capturing_leaves_no_trace() -> None:
    """The warm-up before a capture trains for real; all of it must be taken back."""
    recipe = replace(SGD, epochs=1)
    captured = fit(supervised(make_task(deterministic=True), recipe))
    eager = fit(supervised(make_task(deterministic=True), recipe), capture=False)
    assert len(captured.stepper._graphs) == 1
    for name, tensor in captured._tensors().items():
        torch.testing.assert_close(tensor, eager._tensors()[name], rtol=1e-3, atol=1e-4)


def test_the_gpu_agrees_with_the_cpu() -> None:
    global DEVICE
    gpu = fit(supervised(make_task()))
    on, DEVICE = DEVICE, torch.device("cpu")
    try:
        cpu = fit(supervised(make_task()))
    finally:
        DEVICE = on
    np.testing.assert_allclose(losses(gpu), losses(cpu), rtol=5e-2)
    assert gpu.ledger is not None
    assert cpu.ledger is not None
    assert np.corrcoef(gpu.ledger.mean_loss, cpu.ledger.mean_loss)[0, 1] > 0.99


def test_draws_are_the_same_on_every_device() -> None:
    gpu, cpu = make_task(), Task(pictures(), np.arange(TRAIN), {})
    index = torch.arange(1000)
    assert torch.equal(gpu.draws.bits("x", [0, 5], index).cpu(), cpu.draws.bits("x", [0, 5], index))
    assert torch.equal(gpu.draws.uniform("x", [3], index).cpu(), cpu.draws.uniform("x", [3], index))
    assert torch.equal(gpu.draws.permutations("x", [0, 1], 5000).cpu(), cpu.draws.permutations("x", [0, 1], 5000))
    weights = torch.linspace(0, 1, 5000, dtype=torch.float64).cumsum(0)
    left, right = gpu.draws.resample(weights.to(DEVICE), "x", [7], 999), cpu.draws.resample(weights, "x", [7], 999)
    assert torch.equal(left.cpu(), right)
    assert torch.equal(gpu.draws.beta(0.75, "x", [1], index).cpu(), cpu.draws.beta(0.75, "x", [1], index))


def test_streaming_agrees_with_resident() -> None:
    resident, streaming = fit(supervised(make_task(path="resident"))), fit(supervised(make_task(path="streaming")))
    assert not streaming.stepper._graphs
    assert_close(resident, streaming)


def test_mixmatch_is_captured_and_agrees_with_eager() -> None:
    captured, eager = fit(mixmatch(make_task())), fit(mixmatch(make_task()), capture=False)
    assert len(captured.stepper._graphs) == 1  # the second look changes the plan's values, not its shape
    left, right = (stage.objective.buffers()["weight"].numpy() > 0 for stage in (captured, eager))
    assert (left == right).mean() > 0.95
    np.testing.assert_allclose(losses(captured), losses(eager), rtol=5e-2)
    assert captured.history[-1]["validation"] > 0.5


@contextmanager
def never_captured() -> Iterator[None]:
    before, stepper._WARM_UP_STEPS = stepper._WARM_UP_STEPS, N
    try:
        yield
    finally:
        stepper._WARM_UP_STEPS = before


def small() -> Settings:
    """Of every recipe three epochs of 17 steps and a short one."""
    own = {"mixmatch.steps_per_epoch": 20, "mixmatch.networks": 2, "incv.rounds": 1, "jocor.agreement": 0.5}
    own |= {
        "f_correction.transition": "anchors",
        "truncated_lq.k": 0,
    }  # no T is told, and no class is pruned as a whole
    quick = {"norm_rate": 8, "label_smoothing": 0.1, "lookahead": 2, "alternate_flip": True, "cutout": 0.3}
    own |= {f"rsl_flight.{name}": value for name, value in quick.items()}
    settings = get_preset("cpu").changed(own | {"jocor.lr": 0.01})
    short = {name: replace(one, epochs=3, batch=64) for name, one in settings.recipes.items()}
    return replace(settings, recipes=short)


def test_every_method_is_captured_and_agrees_with_eager() -> None:
    """Also what its step writes: a capture trains for real, and all of that must be taken back."""
    for name in methods.names():
        found = []
        for how in (nullcontext, never_captured):
            with how():
                task = make_task(deterministic=True)
                found.append(methods.train(name, task, small(), NoiseModel(noise_rate=0.2)))
        captured, eager = ([row["loss"] for row in learned.fitted.history] for learned in found)
        np.testing.assert_allclose(captured, eager, rtol=5e-2, err_msg=name)
        assert captured[-1] < captured[0], name


def test_state_that_a_step_writes_is_put_back_after_a_capture() -> None:
    """Three steps are taken before a capture: ELR's targets, at every look nearer to what is said, must not know."""
    kept = []
    for how in (nullcontext, never_captured):
        with how():
            task = make_task(deterministic=True)
            objective = EarlyLearning(task, small())
            objective.recipe = replace(objective.recipe, epochs=1, keep_short_batch=False)
            training.fit(task, objective)
            kept.append(objective.held.t.sum(1).cpu().numpy())
    np.testing.assert_allclose(kept[0], kept[1], rtol=1e-3)
    looked_at = np.unique(kept[0].round(3))
    np.testing.assert_allclose(looked_at, [0.0, 0.3])  # 1 - beta after one look, 0 without


def with_dropout(task: Task, recipe: Recipe) -> Stage:
    """What is drawn on the GPU follows from seed and epoch, captured or not, and the capture itself draws nothing."""
    net = torch.nn.Sequential(make_net(), torch.nn.Dropout(0.2))
    return Stage(task, Supervised(task, "stage", task.train, recipe, net), ledger=LossLedger(N))


def test_a_stopped_deterministic_run_ends_bit_equal() -> None:
    for make, recipe in ((supervised, SGD), (mixmatch, MIX), (with_dropout, SGD)):
        recipe = replace(recipe, epochs=4)
        with tempfile.TemporaryDirectory() as name:
            folder, drawn = Path(name), torch.cuda.get_rng_state()
            whole = fit(make(make_task(folder / "whole", deterministic=True), recipe))
            assert torch.equal(torch.cuda.get_rng_state(), drawn)
            try:
                fit(make(make_task(folder / "cut", deterministic=True, progress=StopAfter(2)), recipe))
                raise AssertionError("the run was not stopped")
            except StoppedError:
                pass
            torch.cuda.manual_seed(7)
            resumed = fit(make(make_task(folder / "cut", deterministic=True), recipe))
            assert len(resumed.history) == 4
            assert len(whole.stepper._graphs) == 1
            assert_same(whole, resumed)


def test_the_compiled_network_agrees() -> None:
    recipe = replace(SGD, compile=True)
    compiled, plain = fit(supervised(make_task(), recipe)), fit(supervised(make_task()))
    assert compiled.networks[0]._fast is not compiled.networks[0].module
    assert_close(compiled, plain)


def test_a_compiled_mixmatch_with_fresh_statistics_runs() -> None:
    stage = fit(mixmatch(make_task(), replace(MIX, compile=True)))
    assert all(np.isfinite(losses(stage)))
    assert stage.history[-1]["validation"] > 0.5


def _main() -> int:
    if not torch.cuda.is_available():
        print("skipped: no CUDA device")
        return 0
    import traceback

    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    tests = {name: test for name, test in globals().items() if name.startswith("test_") and asked in name}
    failed = 0
    for name, test in tests.items():
        try:
            test()
            print(f"ok      {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{len(tests) - failed} of {len(tests)} ok")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(_main())
