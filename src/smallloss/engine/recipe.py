"""How one network is trained: every knob of a stage, by name."""

from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

from smallloss.engine.views import Augmentation
from smallloss.errors import InputError

_CHOICES = {
    "optimiser": ("sgd", "adam"),
    "decay_on": ("all", "kernels"),
    "precision": ("bf16", "fp32"),
    "schedule": ("constant", "multistep", "cosine", "triangular", "trapezoid", "linear"),
    "ema_batchnorm": ("copy", "recompute"),
    "padding": ("zero", "reflect"),
    "scoring": ("plain", "augmented"),
    "ties": ("later", "earlier"),
}
_AT_LEAST = {"epochs": 1, "batch": 1, "evaluate_every": 1, "pad": 0, "warmup_steps": 0, "weight_decay": 0}
# What each setting does and the values it takes. docs/make_settings.py makes docs/reference/settings.md from this.
HELP = {
    "epochs": ("Number of epochs.", "a whole number from 1"),
    "batch": ("Examples per step; `rsl_wm` adds as many unlabeled ones.", "a whole number from 1"),
    "keep_short_batch": ("Also train on the last, smaller batch of an epoch; `rsl_wm` has none.", "`true`, `false`"),
    "optimiser": ("The optimiser; `adam` decouples weight decay, as AdamW does.", "`sgd`, `adam`"),
    "lr": ("Peak learning rate.", "above 0"),
    "momentum": ("Momentum of SGD.", "in [0, 1)"),
    "nesterov": ("Nesterov momentum; SGD only, with a momentum above 0.", "`true`, `false`"),
    "weight_decay": ("Weight decay; features have a rule of their own (see Presets).", "from 0"),
    "decay_on": ("What decays: every parameter, or weights only (no biases, no norms).", "`all`, `kernels`"),
    "decay_last": (
        "Weights decay at the end of a step, when the average has taken them, as in the authors' MixMatch.",
        "`true`, `false`",
    ),
    "schedule": (
        "Shape of the learning rate over the stage.",
        "`constant`, `multistep`, `cosine`, `triangular`, `trapezoid`, `linear`",
    ),
    "milestones": (
        "Where `multistep` lowers the learning rate, as shares of the stage; `linear` falls from the first on.",
        "rising, between 0 and 1",
    ),
    "factor": ("What `multistep` multiplies the learning rate by at each milestone.", "above 0"),
    "warmup_steps": ("Steps over which the learning rate first rises from 0.", "a whole number from 0"),
    "batchnorm_momentum": ("BatchNorm momentum, for layers that still have PyTorch's default of 0.1.", "in (0, 1]"),
    "ema": ("Decay of the moving average of the weights, which then scores and predicts.", "in [0, 1), or `none`"),
    "ema_batchnorm": (
        "BatchNorm statistics of that average: copied from the network, or recomputed.",
        "`copy`, `recompute`",
    ),
    "ema_warmup": (
        "Average over the last tenth of the steps so far, until that is longer than the memory of `ema`.",
        "`true`, `false`",
    ),
    "pad": ("Pixels of padding around a picture before a random crop.", "a whole number from 0"),
    "padding": ("Kind of padding.", "`zero`, `reflect`"),
    "crop_offsets": (
        "Crop positions along each side: all of them, or all but the last as in the authors' MixMatch.",
        "2 `pad` + 1 or 2 `pad`; `none` is the first",
    ),
    "scoring": ("The view that is scored: the plain picture, or one random crop and flip.", "`plain`, `augmented`"),
    "evaluate_every": ("Epochs between two measurements of accuracy.", "a whole number from 1"),
    "ties": ("Which epoch is the best when several validate equally well.", "`later`, `earlier`"),
    "precision": ("The network's arithmetic on a GPU; on a CPU it is fp32.", "`bf16`, `fp32`"),
    "compile": ("Compile the network first with `torch.compile`; GPU only.", "`true`, `false`"),
    "checkpoint_seconds": ("Least time between two checkpoints; 0 saves after every epoch.", "seconds"),
}


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
    decay_last: bool = False
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
    precision: str = "bf16"
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
