"""Presets: `paper` (the authors' settings), `fast` (ours), `cpu` (two cores). One setting for all data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import log
from typing import Any, Literal, TypeVar, get_type_hints

from smallloss import methods
from smallloss.criterion.quota import ClassSize, Gamma, Rounding
from smallloss.data.dataset import HIDDEN, Dataset
from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError
from smallloss.methods.mixmatch import MixMatchSettings
from smallloss.values import converted

_GROUPS = ("stage1", "rsl", "rsl_wm", "mixmatch")  # groups of settings, besides those of a method's own
_Knobs = TypeVar("_Knobs")
# What each setting does and the values it takes. docs/make_settings.py makes docs/reference/settings.md from this.
HELP = {
    "stage1": ("How the network that ranks is trained; `cross_entropy` and `co_teaching` use it too.", "a group"),
    "rsl": ("How `rsl` trains on the selected examples.", "a group"),
    "rsl_wm": ("How `rsl_wm` trains on the selected examples and, unlabeled, on the rest.", "a group"),
    "mixmatch": ("What only `rsl_wm` has: its MixMatch.", "a group"),
    "net": ("The network; setting it also drops the preset's `final_net`.", "a name; in Python also your own"),
    "final_net": ("The network that learns from the selection; `none` is the same as `net`.", "as `net`, or `none`"),
    "score": ("What examples are ranked by.", "`mean_loss`, `mean_margin`, `last_loss`"),
    "window": ("The part of the stage that the score is a mean over, as two shares.", "rising, in [0, 1]"),
    "half_epochs": ("Length of the half-trainings that estimate noise rates, as a share of stage 1.", "above 0"),
    "beta": ("Safety: how much less than 1 - noise rate of each label is kept.", "in [0, 1]"),
    "gamma": ("Balance: how far what is kept may depart from the prior.", "`middle`, `none`, or a number from 1"),
    "kappa": ("The least certain kept example of a label has the weight exp(-kappa).", "from 0"),
    "weight_max": ("Where that weight is reached: at the last one kept, or at the last of all.", "`selected`, `class`"),
    "rounding": ("How quotas become whole: forgiving float error, or cut as the authors do.", "`safe`, `raw`"),
    "class_size": (
        "The class sizes that quotas are shares of: as they are, or n / c, as the authors do under some noise.",
        "`observed`, `nominal`",
    ),
}


@dataclass(frozen=True)
class Settings:
    """Every knob of a run. Recipes are named after the stage or method they train."""

    preset: str
    net: Any
    stage1: Recipe
    rsl: Recipe
    rsl_wm: Recipe
    mixmatch: MixMatchSettings = field(default_factory=MixMatchSettings)
    score: str = "mean_loss"
    window: tuple[float, float] = (0.0, 1.0)  # shares of the epochs that the score is a mean over
    final_net: Any = None  # learns from the selection, where another net than the one that ranks does it better
    half_epochs: float = 2 / 3  # length of the half-trainings that noise rates are estimated by, in stage 1's
    beta: float = 0.2
    gamma: Gamma = "middle"
    kappa: float = -log(0.7)
    weight_max: Literal["selected", "class"] = "selected"
    rounding: Rounding = "safe"
    class_size: ClassSize = "observed"
    own: Mapping[str, Any] = field(default_factory=dict)  # method -> its `Knobs`, where they are not the default ones

    def __post_init__(self) -> None:
        if self.score not in ("mean_loss", "mean_margin", "last_loss"):
            raise InputError(f"score is {self.score!r}; it must be mean_loss, mean_margin or last_loss")
        if len(self.window) != 2 or not 0 <= self.window[0] <= self.window[1] <= 1:
            raise InputError(f"window is {self.window}; it must be two shares of the epochs, like 0.25,1")
        if not self.half_epochs > 0:
            raise InputError(f"half_epochs is {self.half_epochs}; it must be above 0")

    @property
    def score_in_words(self) -> str:
        """What examples are ranked by, where high is suspicious."""
        return {"mean_margin": "negative mean margin"}.get(self.score, self.score.replace("_", " "))

    @property
    def last_net(self) -> Any:
        """The net that learns from the selection."""
        return self.net if self.final_net is None else self.final_net

    def knobs(self, kind: type[_Knobs]) -> _Knobs:
        """A method's own settings: the `Knobs` of its module."""
        return next((one for one in self.own.values() if isinstance(one, kind)), kind())

    def scored_epochs(self, epochs: int) -> range:
        """The window in epochs; never empty."""
        start, stop = (int(share * epochs + 0.5) for share in self.window)
        start = min(start, epochs - 1)
        return range(start, max(stop, start + 1))


def _paper() -> Settings:
    """The authors' settings, to the letter: BatchNorm momentum .001, factor .02, raw truncation."""
    stage1 = Recipe(batchnorm_momentum=0.001, scoring="augmented", precision="fp32", checkpoint_seconds=30)
    rsl_wm = replace(
        stage1, epochs=500, batch=64, optimiser="adam", lr=0.002, weight_decay=0.02, decay_last=True,
        schedule="constant", ema=0.999, ema_batchnorm="copy", padding="reflect", crop_offsets=8, ties="earlier",
    )  # fmt: skip
    return Settings("paper", "wrn-28-2", stage1, stage1, rsl_wm, rounding="raw")


def _fast() -> Settings:
    """Ours for a GPU, in minutes. Three things carry it (docs/decisions/presets.md has the trials): a net that ranks
    well, scored by the average of its weights, which forgets wrong labels; and a smaller one that learns quickly after.
    """
    common = Recipe(
        epochs=40,
        batch=256,
        keep_short_batch=False,
        nesterov=True,
        schedule="trapezoid",
        ema=0.998,
        ema_batchnorm="recompute",
        evaluate_every=5,
        checkpoint_seconds=30,
    )
    stage1 = replace(common, lr=0.25)
    rsl_wm = replace(
        common,
        epochs=44,
        batch=128,
        lr=0.15,
        schedule="cosine",
        warmup_steps=500,
        ema=0.999,
        padding="reflect",
    )
    how = MixMatchSettings(passes="joined", steps_per_epoch=800, lambda_u=15, ramp=0.3, mix_per="example", rounds=2)
    return Settings(
        "fast", "preact-resnet-18", stage1, common, rsl_wm, how,
        score="mean_margin", window=(0.5, 1.0), final_net="resnet-9",
    )  # fmt: skip


def _cpu() -> Settings:
    """`fast` for two cores: a small net, small crops."""
    stage1 = Recipe(
        epochs=30,
        batch=64,
        nesterov=True,
        schedule="trapezoid",
        ema=0.98,
        ema_batchnorm="recompute",
        ema_warmup=True,
        pad=1,
    )
    rsl_wm = replace(stage1, epochs=20, lr=0.15, schedule="cosine", ema=0.99)
    # A small net has no room to spare for mixed pictures: α is small, and most are hardly mixed.
    how = MixMatchSettings(
        passes="joined",
        steps_per_epoch=None,
        alpha=0.2,
        lambda_u=15,
        ramp=0.3,
        mix_per="example",
        guess_by="average",
        rounds=2,
    )
    return Settings("cpu", "small-convnet", stage1, stage1, rsl_wm, how, score="mean_margin", window=(0.5, 1.0))


_ENOUGH_FOR_A_FEATURE = 40  # examples; docs/decisions/features.md has the trials

_PRESETS = {"paper": _paper, "fast": _fast, "cpu": _cpu}


def names() -> tuple[str, ...]:
    return tuple(_PRESETS)


def get(name: str) -> Settings:
    """A preset by name."""
    if name not in _PRESETS:
        raise InputError(f"There is no preset named {name!r}; the known ones are {', '.join(_PRESETS)}.")
    return _PRESETS[name]()


def choose(
    preset: str | None,
    device: str,
    dataset: Dataset | None,
    *,
    net: Any = None,
    epochs: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """A preset by the hardware unless one is named, a net by the data unless one is given, then single changes.

    Without a dataset, as long as it was not read: the preset's net is then that of pictures. Features take `cpu` on a
    GPU too: their net is as small there, and the batches of `fast` would be a few steps an epoch.
    """
    named: dict[str, Any] = {}
    if epochs is not None:
        named |= {"stage1.epochs": epochs, "rsl.epochs": epochs, "rsl_wm.epochs": epochs}
    features = dataset is not None and not dataset.is_image
    if dataset is not None and features:
        decay = _features_decay(len(dataset), dataset.in_shape[0])
        named |= {"net": "mlp", **{f"{stage}.weight_decay": decay for stage in ("stage1", "rsl", "rsl_wm")}}
    if net is not None:
        named["net"] = net
    by_hardware = "fast" if device == "cuda" and not features else "cpu"
    return change(get(preset or by_hardware), named | dict(changes or {}))


def _features_decay(n: int, d: int) -> float:
    """Features cannot be cropped or mirrored: without more decay a net soon knows their wrong labels by heart, and the
    sooner, the fewer examples there are for each feature; those beyond the width of its hidden layer do not count."""
    return 0.02 * min(max(_ENOUGH_FOR_A_FEATURE * min(d, HIDDEN) / n, 1.0), 5.0)


def change(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings with some knobs changed, named as they are written: {"stage1.epochs": 20, "beta": 0.1}."""
    inside: dict[str, dict[str, Any]] = {}
    kinds = get_type_hints(Settings)
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        group = _group(settings, head)
        if group is not None:
            inside.setdefault(head, {})[rest] = _inside(group, head, rest, value)
        elif head not in _single():
            known = ", ".join([*_single(), *_all_groups()])
            raise InputError(f"There is no setting named {name!r}; the known ones are {known}.")
        elif rest:
            raise InputError(f"There is no setting named {name!r}; {head} is a setting, not a group of them.")
        elif head == "final_net" and str(value).lower() == "none":
            settings = replace(settings, final_net=None)
        else:
            settings = replace(settings, **{head: converted(value, kinds[head], name, like=getattr(settings, head))})
    if "net" in changes and "final_net" not in changes:
        settings = replace(settings, final_net=None)  # who names a net means it for all that is trained
    # Together: a pad and the crop positions that fit it may only be right as a pair.
    for head, new in inside.items():
        settings = _with_group(settings, head, new)
    return settings


def idle(changes: Mapping[str, Any], method: str) -> list[str]:
    """A sentence for each setting that belongs to another method, and so changes nothing in a run of this one."""
    owner = {name: name for name in methods.names()} | {"mixmatch": "rsl_wm"}
    owners = {name: owner.get(name.partition(".")[0], method) for name in changes}
    return [
        f"The setting {name} changes nothing here: it belongs to --method {other}, and this is {method}."
        for name, other in owners.items()
        if other != method
    ]


def _single() -> list[str]:
    """The settings that stand alone."""
    return [item.name for item in fields(Settings) if item.name not in ("preset", "own", *_GROUPS)]


def _all_groups() -> list[str]:
    """Those that hold others: the recipes, and methods with knobs of their own."""
    return [*_GROUPS, *(name for name in methods.names() if methods.knobs(name) is not None)]


def _group(settings: Settings, head: str) -> Any:
    """The group of that name as it is now; None where there is none."""
    if head in _GROUPS:
        return getattr(settings, head)
    kind = methods.knobs(head)
    return None if kind is None else settings.knobs(kind)


def _inside(group: Any, head: str, rest: str, value: Any) -> Any:
    """One value of a group, as the group keeps it."""
    known = [item.name for item in fields(group)]
    if not rest:
        raise InputError(f"{head!r} is a group of settings; name one of them, as in {head}.{known[0]}.")
    if rest not in known:
        raise InputError(f"There is no setting named {rest!r} in {head}; there are {', '.join(known)}.")
    return converted(value, get_type_hints(type(group))[rest], f"{head}.{rest}", like=getattr(group, rest))


def _with_group(settings: Settings, head: str, new: dict[str, Any]) -> Settings:
    try:
        changed = replace(_group(settings, head), **new)
    except InputError as error:  # which begins with the name of the setting: here it is known of which group
        raise InputError(f"{head}.{error}") from None
    if head in _GROUPS:
        return replace(settings, **{head: changed})
    return replace(settings, own={**settings.own, head: changed})
