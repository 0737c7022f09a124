"""The settings of a run: a preset by the hardware, fitted to the data, with single changes by name.

`paper` (the authors' settings), `fast` (ours), `cpu` (two cores). The recipe of stage 1 is here; those of a method, and
the knobs that only it has, are declared in its file.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from smallloss import methods
from smallloss.criterion.settings import Criterion
from smallloss.data.dataset import HIDDEN, Dataset
from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError
from smallloss.knobs import Knob, Knobs, whole

STAGE1 = "stage1"
NETS = {
    "net": Knob("The network; naming one drops the preset's `final_net`.", values="a name; in Python also your own"),
    "final_net": Knob("The one that learns from the selection; `none` is `net`.", values="as `net`, or `none`"),
}
ALONE = NETS | Criterion.about()  # the settings that belong to no group

# The authors' settings, to the letter: BatchNorm momentum .001, factor .02.
PAPER = Recipe(batchnorm_momentum=0.001, scoring="augmented", precision="fp32", checkpoint_seconds=30)
# Ours for a GPU, in minutes. Three things carry it (docs/decisions/presets.md has the trials): a net that ranks well,
# scored by the average of its weights, which forgets wrong labels; and a smaller one that learns quickly after.
FAST = Recipe(
    epochs=40, batch=256, keep_short_batch=False, nesterov=True, schedule="trapezoid", ema=0.998,
    ema_batchnorm="recompute", evaluate_every=5, checkpoint_seconds=30,
)  # fmt: skip
# quick-convnet's own (Jordan 2024), whose rate and decay go with the sum of a batch's losses; these, with its mean.
QUICK = Recipe(
    epochs=30, batch=1024, keep_short_batch=False, lr=9 / (1 + 1 / 0.15), momentum=0.85, nesterov=True, norm_rate=64,
    weight_decay=0.012 / 9, schedule="triangular", lr_start=0.2, lr_end=0.07, label_smoothing=0.2, lookahead=5,
    batchnorm_momentum=0.4, padding="reflect", alternate_flip=True, cutout=0.375, evaluate_every=5,
    checkpoint_seconds=30,
)  # fmt: skip
# `fast` for two cores: a small net, small crops.
CPU = Recipe(
    epochs=30, batch=64, nesterov=True, schedule="trapezoid", ema=0.98, ema_batchnorm="recompute", ema_warmup=True,
    pad=1,
)  # fmt: skip

_ENOUGH_FOR_A_FEATURE = 40  # examples; docs/decisions/features.md has the trials
_STEPS = 16  # an epoch has at least as many, or there are too few to learn anything
_SMALLEST_BATCH = 8
_MEMORIES = 3  # steps, in those that an average of the weights remembers; with fewer it never leaves its beginning
_VIEWS = 1_200_000  # pictures seen in a stage on a CPU: some five minutes on two free cores at 32 x 32
_FEWEST_EPOCHS = 10
_FITTED = ("epochs", "batch", "lr", "ema_warmup")  # what follows the number of pictures


@dataclass(frozen=True)
class Settings:
    """Every knob of a run. Recipes are named after the stage or method they train."""

    preset: str
    net: Any
    final_net: Any = None  # learns from the selection, where another net than the one that ranks does it better
    criterion: Criterion = field(default_factory=Criterion)
    recipes: Mapping[str, Recipe] = field(default_factory=lambda: {STAGE1: Recipe()})
    own: Mapping[str, Any] = field(default_factory=dict)  # method -> its own `Knobs`
    # method -> the net it ends with as long as nobody names one, and its recipe for any other
    nets: Mapping[str, tuple[str, Recipe]] = field(default_factory=dict)

    def recipe(self, stage: str) -> Recipe:
        """What a stage is trained by."""
        return self.recipes[self.group(stage)]

    def group(self, stage: str) -> str:
        """The name of its recipe: that of stage 1, where a method declares none."""
        return stage if stage in self.recipes else STAGE1

    @property
    def last_net(self) -> Any:
        """The net that learns from the selection."""
        return self.net if self.final_net is None else self.final_net

    def final_net_of(self, method: str) -> Any:
        """The net that a method ends with; None where that is the one that ranks."""
        return self.nets[method][0] if method in self.nets else self.final_net

    def net_of(self, method: str) -> Any:
        """The net that a method ends with."""
        return self.nets[method][0] if method in self.nets else self.last_net

    def groups(self) -> dict[str, dict[str, Knob]]:
        """The names that `--set` takes before a dot, with those that it takes after it."""
        found = {name: one.about() for name, one in self.recipes.items()}
        for name, one in self.own.items():
            found[name] = found.get(name, {}) | one.about()
        return found

    def changed(self, changes: Mapping[str, Any]) -> "Settings":
        """With some knobs changed, named as they are written: {"stage1.epochs": 20, "beta": 0.1}."""
        settings, groups = self, self.groups()
        inside: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            head, _, rest = name.partition(".")
            if head in groups:
                _require_inside(head, rest, groups[head])
                inside.setdefault(head, {})[rest] = value
            elif head not in ALONE:
                raise InputError(
                    f"There is no setting named {name!r}; the known ones are {', '.join([*ALONE, *groups])}."
                )
            elif rest:
                raise InputError(f"There is no setting named {name!r}; {head} is a setting, not a group of them.")
            elif head not in NETS:
                settings = replace(settings, criterion=settings.criterion.changed({head: value}))
            elif head == "final_net" and str(value).lower() == "none":
                settings = replace(settings, final_net=None)
            else:
                settings = replace(settings, **{head: value})
        if "net" in changes and "final_net" not in changes:
            settings = replace(settings, final_net=None)  # who names a net means it for all that is trained
        if NETS.keys() & changes.keys():  # the recipe of another net is not for it
            for_any = {method: recipe for method, (_, recipe) in settings.nets.items()}
            settings = replace(settings, nets={}, recipes={**settings.recipes, **for_any})
        return replace(settings, recipes=_with(settings.recipes, inside), own=_with(settings.own, inside))


_PRESETS = {
    "paper": Settings("paper", "wrn-28-2", None, Criterion(rounding="raw"), {STAGE1: PAPER}),
    "fast": Settings(
        "fast", "preact-resnet-18", "resnet-9", Criterion(score="mean_margin", window=(0.5, 1.0)),
        {STAGE1: replace(FAST, lr=0.25)},
    ),
    "cpu": Settings("cpu", "small-convnet", None, Criterion(score="mean_margin", window=(0.5, 1.0)), {STAGE1: CPU}),
}  # fmt: skip


def preset_names() -> tuple[str, ...]:
    return tuple(_PRESETS)


def get_preset(name: str) -> Settings:
    """A preset by name, with what every method declares for it."""
    if name not in _PRESETS:
        raise InputError(f"There is no preset named {name!r}; the known ones are {', '.join(_PRESETS)}.")
    begun = _PRESETS[name]
    recipes, own, nets = dict(begun.recipes), dict(begun.own), dict(begun.nets)
    for method, module in methods.sound().items():
        its_recipes, its_own = _declared(method, name)
        recipes |= its_recipes
        own |= its_own
        if name in getattr(module, "NETS", {}):
            net, with_it = module.NETS[name]
            nets[method], recipes[method] = (net, recipes[method]), with_it
    return replace(begun, recipes=recipes, own=own, nets=nets)


def _declared(method: str, preset: str) -> tuple[dict[str, Recipe], dict[str, Knobs]]:
    """The recipes and the knobs of a method's file, by group: its `RECIPES` under a preset, and its `Own`."""
    module = methods.get(method)
    said = getattr(module, "RECIPES", {}).get(preset, {})
    said = {method: said} if isinstance(said, Recipe) else said
    own = {method: getattr(module, "OWN", {}).get(preset) or module.Own()} if hasattr(module, "Own") else {}
    own |= {name: one for name, one in said.items() if not isinstance(one, Recipe)}
    return {name: one for name, one in said.items() if isinstance(one, Recipe)}, own


def groups_of(method: str) -> set[str]:
    """The groups of settings that a run of a method uses; retraining on corrected labels goes by the recipe of RSL."""
    return {STAGE1, "rsl"} | _groups(method)


def _groups(method: str) -> set[str]:
    """Those that its file declares."""
    return {name for part in _declared(method, "cpu") for name in part}


def settings_for(
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
    features = dataset is not None and not dataset.is_image
    settings = get_preset(preset or ("fast" if device == "cuda" and not features else "cpu"))
    named: dict[str, Any] = {}
    if epochs is not None:
        named |= dict.fromkeys([f"{stage}.epochs" for stage in settings.recipes], whole(epochs, "epochs", least=1))
    if dataset is not None and features:
        decay = _features_decay(len(dataset), dataset.in_shape[0])
        named |= {"net": "mlp"} | {f"{stage}.weight_decay": decay for stage in settings.recipes}
    if net is not None:
        named["net"] = net
    asked_for = named | dict(changes or {})
    settings = settings.changed({name: asked_for[name] for name in NETS if name in asked_for})
    changed = settings.changed({name: value for name, value in asked_for.items() if name not in NETS})
    if preset is not None or dataset is None or features:
        return changed
    asked = {*(changes or {})}
    if epochs is not None or device != "cpu":
        asked |= {f"{stage}.epochs" for stage in settings.recipes}
    return _fitted(changed, settings, len(dataset), asked)


def _features_decay(n: int, d: int) -> float:
    """Features cannot be cropped or mirrored: without more decay a net soon knows their wrong labels by heart, and the
    sooner, the fewer examples there are for each feature; those beyond the width of its hidden layer do not count."""
    return 0.02 * min(max(_ENOUGH_FOR_A_FEATURE * min(d, HIDDEN) / n, 1.0), 5.0)


def _fitted(settings: Settings, tried: Settings, n: int, asked: Collection[str]) -> Settings:
    """A preset that nobody asked for, fitted to n pictures; `asked` are the settings to leave alone, as "stage1.lr".

    Few pictures: smaller batches, smaller steps and an average with a shorter memory. Very many on a CPU: fewer epochs.
    """
    recipes, sound = dict(settings.recipes), methods.sound()
    for stage, recipe in recipes.items():
        follows = getattr(sound.get(stage), "follows", lambda _: _FITTED)(settings)
        free = {name for name in follows if f"{stage}.{name}" not in asked}
        recipes[stage] = replace(recipe, **_fit(recipe, tried.recipe(stage).batch, n, free))
    return replace(settings, recipes=recipes)


def _fit(recipe: Recipe, tried: int, n: int, free: Collection[str]) -> dict[str, Any]:
    """What changes of a recipe for n pictures, of the settings that may. `tried`: the preset's batch."""
    new: dict[str, Any] = {}
    epochs, batch = recipe.epochs, recipe.batch
    if "epochs" in free:
        new["epochs"] = epochs = min(epochs, max(_FEWEST_EPOCHS, _VIEWS // n))
    if "batch" in free:
        new["batch"] = batch = min(batch, max(_SMALLEST_BATCH, _power_of_two(n // _STEPS)))
    if "lr" in free:  # the noise of a step goes with its square over the batch: it stays what the preset was tried with
        new["lr"] = recipe.lr * min(1.0, batch / tried) ** 0.5
    if "ema_warmup" in free and recipe.ema is not None:
        new["ema_warmup"] = recipe.ema_warmup or epochs * n / batch < _MEMORIES / (1 - recipe.ema)
    return new


def _power_of_two(n: int) -> int:
    """The largest that is not above n."""
    return 1 << max(0, n.bit_length() - 1)


def _with(before: Mapping[str, Any], inside: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Groups with what was changed inside them; what is no setting of a group is one of its method's other half."""
    after = dict(before)
    for group in before.keys() & inside.keys():
        mine = {name: value for name, value in inside[group].items() if name in before[group].about()}
        after[group] = before[group].changed(mine, group)
    return after


def _require_inside(head: str, rest: str, known: Collection[str]) -> None:
    if not rest:
        raise InputError(f"{head!r} is a group of settings; name one of them, as in {head}.{next(iter(known))}.")
    if rest not in known:
        raise InputError(f"There is no setting named {rest!r} in {head}; there are {', '.join(known)}.")


def idle(changes: Mapping[str, Any], method: str) -> list[str]:
    """A sentence for each setting that belongs to another method, and so changes nothing in a run of this one."""
    said = []
    for name in changes:
        owners = [one for one in methods.sound() if name.partition(".")[0] in _groups(one)]
        if owners and method not in owners:
            owner = sorted(owners, key=name.startswith)[-1]
            said.append(
                f"The setting {name} changes nothing here: it belongs to --method {owner}, and this is {method}."
            )
    return said
