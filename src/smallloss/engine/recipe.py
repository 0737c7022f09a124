"""How one network is trained: every knob of a stage, by name."""

from dataclasses import dataclass
from itertools import pairwise

from smallloss.engine.views import Augmentation
from smallloss.errors import InputError
from smallloss.knobs import Knobs, knob


class _Derived(int):
    """A number that follows from another setting, and follows it again when `replace` changes that one."""


@dataclass(frozen=True)
class Recipe(Knobs):
    """One stage. The defaults are the authors' stage 1, to the letter."""

    epochs: int = knob(200, "Number of epochs.", least=1)
    batch: int = knob(128, "Examples per step; `rsl_wm` adds as many unlabeled ones.", least=1)
    keep_short_batch: bool = knob(True, "Also train on the last, smaller batch of an epoch; `rsl_wm` has none.")
    optimiser: str = knob(
        "sgd", "The optimiser; `adam` decouples weight decay, as AdamW does.", choices=("sgd", "adam")
    )
    lr: float = knob(0.1, "Peak learning rate.", above=0)
    momentum: float = knob(0.9, "Momentum of SGD.", least=0, below=1)
    nesterov: bool = knob(False, "Nesterov momentum; SGD only, with a momentum above 0.")
    weight_decay: float = knob(5e-4, "Weight decay; features have a rule of their own (see Presets).", least=0)
    decay_on: str = knob(
        "all", "What decays: every parameter, or weights only (no biases, no norms).", choices=("all", "kernels")
    )
    decay_last: bool = knob(
        False, "Weights decay at the end of a step, when the average has taken them, as in the authors' MixMatch."
    )
    schedule: str = knob(
        "multistep",
        "Shape of the learning rate over the stage.",
        choices=("constant", "multistep", "cosine", "triangular", "trapezoid", "linear"),
    )
    milestones: tuple[float, ...] = knob(
        (0.3, 0.6, 0.8),
        "Where `multistep` lowers the learning rate, as shares of the stage; `linear` falls from the first on.",
        values="rising, between 0 and 1",
    )
    factor: float = knob(0.02, "What `multistep` multiplies the learning rate by at each milestone.", above=0)
    warmup_steps: int = knob(0, "Steps over which the learning rate first rises from 0.", least=0)
    batchnorm_momentum: float = knob(
        0.1, "BatchNorm momentum, for layers that still have PyTorch's default of 0.1.", above=0, most=1
    )
    ema: float | None = knob(
        None, "Decay of the moving average of the weights, which then scores and predicts.", least=0, below=1
    )
    ema_batchnorm: str = knob(
        "copy",
        "BatchNorm statistics of that average: copied from the network, or recomputed.",
        choices=("copy", "recompute"),
    )
    ema_warmup: bool = knob(
        False, "Average over the last tenth of the steps so far, until that is longer than the memory of `ema`."
    )
    pad: int = knob(4, "Pixels of padding around a picture before a random crop.", least=0)
    padding: str = knob("zero", "Kind of padding.", choices=("zero", "reflect"))
    crop_offsets: int | None = knob(
        None,
        "Crop positions along each side: all of them, or all but the last as in the authors' MixMatch.",
        values="2 `pad` + 1 or 2 `pad`; `none` is the first",
    )
    scoring: str = knob(
        "plain",
        "The view that is scored: the plain picture, or one random crop and flip.",
        choices=("plain", "augmented"),
    )
    evaluate_every: int = knob(1, "Epochs between two measurements of accuracy.", least=1)
    ties: str = knob(
        "later", "Which epoch is the best when several validate equally well.", choices=("later", "earlier")
    )
    precision: str = knob("bf16", "The network's arithmetic on a GPU; on a CPU it is fp32.", choices=("bf16", "fp32"))
    compile: bool = knob(False, "Compile the network first with `torch.compile`; GPU only.")
    checkpoint_seconds: float = knob(
        0.0, "Least time between two checkpoints; 0 saves after every epoch.", values="seconds"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
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
