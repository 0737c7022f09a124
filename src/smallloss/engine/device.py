"""The device that a run trains on: which one, torch's switches for it, and what to say when it is too small."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.backends import cudnn

from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError
from smallloss.record.folder import trained_by
from smallloss.words import stage_words

_OUT_OF_MEMORY = ("CUDA error: out of memory", "ALLOC_FAILED")  # torch has no type for what its libraries lack


def pick_device(name: str = "auto") -> torch.device:
    """The GPU if there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"There is no device named {name!r}; choose auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda was asked for, but torch sees no GPU; leave --device at auto")
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def prepare(device: torch.device, *, deterministic: bool, exact: bool = False) -> None:
    """cuDNN may try which kernels are fastest, or must repeat itself; `exact`: fp32 is not shortened to TF32."""
    if device.type != "cuda":
        return
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS repeats itself only with a fixed one
    cudnn.benchmark = not deterministic
    cudnn.deterministic = deterministic
    cudnn.allow_tf32 = not exact
    torch.use_deterministic_algorithms(deterministic, warn_only=True)


@contextmanager
def put_back() -> Iterator[None]:
    """Whoever calls us finds torch's switches as they were, however the run ends."""
    before = cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32
    algorithms, only_warn = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32 = before
        torch.use_deterministic_algorithms(algorithms, warn_only=only_warn)


@contextmanager
def room(doing: str, advice: str) -> Iterator[None]:
    """`with room("while stage rsl was scored", advice):` a GPU that runs out of memory inside is an InputError."""
    try:
        yield
    except RuntimeError as error:
        if not _is_out_of_memory(error):
            raise
        raise InputError(f"The GPU ran out of memory {doing}. {advice}") from error


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Also as the reason of another error: the end of a capture that failed raises one of its own."""
    while error is not None:
        if isinstance(error, torch.cuda.OutOfMemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def less_data(*, resident: bool) -> str:
    """What helps where no batch is to be made smaller."""
    if not resident:
        return "Choose a smaller net."
    return 'Keep the data off it with --path streaming (Python: path="streaming"), or choose a smaller net.'


@dataclass(frozen=True)
class StepLimits:
    """What can go wrong in the steps of a stage, in words. `settings` is the name of its recipe, as in stage1.lr."""

    stage: str
    settings: str
    recipe: Recipe
    run: Path | None  # its folder, which takes a new setting until a stage that is trained by it has saved something

    @contextmanager
    def steps(self, examples: int) -> Iterator[None]:
        """Around the steps: a batch may be too large for the GPU, or too small for BatchNorm."""
        batch = min(self.recipe.batch, examples)
        less = self._change("Lower", "batch", batch // 2) if batch > 1 else "Choose a smaller net."
        try:
            with room(f"in a step of {stage_words(self.stage)}", less):
                yield
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            more = self._change("Raise", "batch", 2)
            raise InputError(
                f"BatchNorm cannot take statistics of one example in {stage_words(self.stage)}. {more}"
            ) from error

    def require_finite(self, what: str, value: float, epoch: int) -> None:
        if not math.isfinite(value):
            less = self._change("Lower", "lr", self.recipe.lr / 2)
            raise InputError(f"The {what} turned {value} in epoch {epoch + 1} of {stage_words(self.stage)}. {less}")

    def _change(self, verb: str, knob: str, value: float) -> str:
        """Which setting to change, as one would type it, and what becomes of the run."""
        name, now = f"{self.settings}.{knob}", f"{getattr(self.recipe, knob):g}"
        typed = f'--set {name}={value:g} (Python: settings={{"{name}": {value:g}}})'
        said = f"{verb} {knob} (it is {now}): {typed}."
        if self.run is None:
            return said
        trained = trained_by(self.run, [f"settings.{name}"])
        what = "says what to delete to resume, or needs another --out" if trained else "resumes from what is finished"
        return f"{said} The same command with that {what}."
