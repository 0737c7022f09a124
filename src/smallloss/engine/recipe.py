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
    keep_short_batch: bool = knob(True, "Also learn from the last, smaller batch of an epoch; `rsl_wm` has none.")
    optimiser: str = knob("sgd", "`adam` decouples weight decay, as AdamW does.", choices=("sgd", "adam"))
    lr: float = knob(0.1, "Peak learning rate.", above=0)
    momentum: float = knob(0.9, "Momentum of SGD.", least=0, below=1)
    nesterov: bool = knob(False, "Nesterov momentum, of SGD.")
    norm_rate: float = knob(
        1.0, "Times `lr`, for the biases of BatchNorm, which decay as fast as the rest all the same.", above=0
    )
    weight_decay: float = knob(5e-4, "Weight decay; features have a rule of their own (see Presets).", least=0)
    decay_on: str = knob("all", "What decays: every parameter, or no biases and norms.", choices=("all", "kernels"))
    decay_last: bool = knob(
        False, "Decay at the end of a step, when the average has taken the weights, as in the authors' MixMatch."
    )
    schedule: str = knob(
        "multistep",
        "Shape of the learning rate.",
        choices=("constant", "multistep", "cosine", "triangular", "trapezoid", "linear"),
    )
    milestones: tuple[float, ...] = knob(
        (0.3, 0.6, 0.8),
        "Shares of the stage where `multistep` lowers the rate; `linear` falls from the first on.",
        values="rising, between 0 and 1",
    )
    factor: float = knob(0.02, "What `multistep` multiplies it by at each.", above=0)
    lr_start: float = knob(0.0, "Share of `lr` that `triangular` begins with.", least=0, most=1)
    lr_end: float = knob(0.0, "Share of `lr` that `triangular` ends with.", least=0, most=1)
    warmup_steps: int = knob(0, "Steps over which it first rises from 0.", least=0)
    label_smoothing: float = knob(
        0.0, "Share of a label that all classes get alike, in plain cross entropy.", least=0, below=1
    )
    batchnorm_momentum: float = knob(0.1, "For layers that still have PyTorch's default of 0.1.", above=0, most=1)
    ema: float | None = knob(
        None, "Decay of an average of the weights, which then scores and predicts.", least=0, below=1
    )
    ema_batchnorm: str = knob("copy", "BatchNorm statistics of that average.", choices=("copy", "recompute"))
    ema_warmup: bool = knob(
        False, "Average over the last tenth of the steps, while that is shorter than the memory of `ema`."
    )
    lookahead: int | None = knob(None, "Steps between two at which the weights become their running average.", least=1)
    pad: int = knob(4, "Pixels around a picture before a random crop.", least=0)
    padding: str = knob("zero", "What these pixels hold.", choices=("zero", "reflect"))
    crop_offsets: int | None = knob(
        None,
        "Crop positions along a side: all, or all but the last as in the authors' MixMatch.",
        values="2 `pad` + 1 or 2 `pad`; `none` is the first",
    )
    alternate_flip: bool = knob(False, "Mirror each picture in every other epoch, not by a draw.")
    cutout: float = knob(
        0.0, "Side of a square left out of what is trained on, as a share of the picture's.", least=0, below=1
    )
    strong: bool = knob(False, "Also turn, scale, shear, shift and recolour what is trained on.")
    mirror: bool = knob(False, "Judge by the picture and its mirror image, where pictures are mirrored.")
    scoring: str = knob(
        "plain", "What is scored: the plain picture, or one random crop and flip.", choices=("plain", "augmented")
    )
    evaluate_every: int = knob(1, "Epochs between two measurements of accuracy.", least=1)
    ties: str = knob("later", "Which of equally good epochs is the best.", choices=("later", "earlier"))
    precision: str = knob("bf16", "Arithmetic on a GPU; on a CPU it is fp32.", choices=("bf16", "fp32"))
    compile: bool = knob(False, "`torch.compile` the network first; GPU only.")
    checkpoint_seconds: float = knob(
        0.0, "Least seconds between two checkpoints; 0 saves after every epoch.", values="seconds"
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
        return Augmentation(
            self.pad, self.padding, self.crop_offsets, flip, self.alternate_flip, self.cutout, self.strong
        )
