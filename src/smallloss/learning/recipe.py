"""How one network is trained: every knob of a stage, by name."""

from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

from smallloss.errors import InputError
from smallloss.learning.views import Augmentation

_CHOICES = {
    "optimiser": ("sgd", "adam"),
    "decay_on": ("all", "kernels"),
    "schedule": ("constant", "multistep", "cosine", "triangular", "trapezoid"),
    "ema_batchnorm": ("copy", "recompute"),
    "padding": ("zero", "reflect"),
    "scoring": ("plain", "augmented"),
    "ties": ("later", "earlier"),
}
_AT_LEAST = {"epochs": 1, "batch": 1, "evaluate_every": 1, "pad": 0, "warmup_steps": 0, "weight_decay": 0}


class _Derived(int):
    """A number that follows from another setting, and follows it again when `replace` changes that one."""


@dataclass(frozen=True)
class Recipe:
    """One stage. The defaults are the authors' stage 1, to the letter.

    What is wrong is said with the setting's name first: `presets.change` puts the stage before it, as `--set` does.
    """

    epochs: int = 200
    batch: int = 128
    keep_short_batch: bool = True
    optimiser: str = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 5e-4
    decay_on: str = "all"
    schedule: str = "multistep"
    milestones: tuple[float, ...] = (0.3, 0.6, 0.8)
    factor: float = 0.02
    warmup_steps: int = 0
    batchnorm_momentum: float = 0.1
    ema: float | None = None
    ema_batchnorm: str = "copy"
    ema_warmup: bool = False  # average over the last tenth of the steps until that is longer than ema's memory
    pad: int = 4
    padding: str = "zero"
    crop_offsets: int | None = None  # positions of a crop along each side; None: all there are, 2 pad + 1
    scoring: str = "plain"
    evaluate_every: int = 1
    ties: str = "later"
    compile: bool = False
    checkpoint_seconds: float = 0.0

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")
        for name, least in _AT_LEAST.items():
            if not getattr(self, name) >= least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        for name in ("lr", "factor"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0")
        for name, fits, where in (
            ("momentum", 0 <= self.momentum < 1, "[0, 1)"),
            ("batchnorm_momentum", 0 < self.batchnorm_momentum <= 1, "(0, 1]"),
            ("ema", self.ema is None or 0 <= self.ema < 1, "[0, 1)"),
        ):
            if not fits:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie in {where}")
        if self.optimiser == "sgd" and self.nesterov and not self.momentum:
            raise InputError("nesterov is true, which needs a momentum above 0; make it false, or raise momentum")
        if not all(before < after for before, after in pairwise((0, *self.milestones, 1))):
            raise InputError(
                f"milestones are {self.milestones}; they must rise between 0 and 1: they are shares of the epochs, "
                "60 of 200 is 0.3"
            )
        self._settle_crops()

    def _settle_crops(self) -> None:
        """All positions, or all but the last (MixMatch's); with fewer the middle of a picture is hardly ever seen."""
        every = 2 * self.pad + 1
        if self.crop_offsets is None or isinstance(self.crop_offsets, _Derived):
            object.__setattr__(self, "crop_offsets", _Derived(every))
        elif self.crop_offsets not in (every, every - 1) or self.crop_offsets < 1:
            fewer = f" or {every - 1}" if self.pad else ""
            raise InputError(
                f"crop_offsets is {self.crop_offsets}; with pad {self.pad} it must be {every}{fewer}, or none, which "
                "is the first"
            )

    def augmentation(self, *, flip: bool) -> Augmentation:
        assert self.crop_offsets is not None
        return Augmentation(self.pad, self.padding, self.crop_offsets, flip)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))
