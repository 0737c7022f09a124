"""How one network is trained: every knob of a stage, by name."""

from dataclasses import asdict, dataclass, fields
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


@dataclass(frozen=True)
class Recipe:
    """One stage. The defaults are the authors' stage 1, to the letter."""

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
    crop_offsets: int = 9
    scoring: str = "plain"
    evaluate_every: int = 1
    ties: str = "later"
    compile: bool = False
    checkpoint_seconds: float = 0.0

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")
        for name in ("epochs", "batch", "evaluate_every", "crop_offsets"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.crop_offsets > 2 * self.pad + 1:
            raise InputError(f"crop_offsets is {self.crop_offsets}; with pad {self.pad} there are {2 * self.pad + 1}")
        if not self.lr > 0:
            raise InputError(f"lr is {self.lr}; it must be above 0")
        for name in ("momentum", "weight_decay"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 0")
        if self.ema is not None and not 0 <= self.ema < 1:
            raise InputError(f"ema is {self.ema}; it must lie in [0, 1)")

    def augmentation(self, *, flip: bool) -> Augmentation:
        return Augmentation(self.pad, self.padding, self.crop_offsets, flip)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))
