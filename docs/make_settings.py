"""Write docs/reference/settings.md. Its lists come from the code: each setting is declared in its field, by `knob`.

python docs/make_settings.py
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

from smallloss import methods
from smallloss.criterion.settings import Criterion
from smallloss.engine.recipe import Recipe
from smallloss.knobs import Knob
from smallloss.methods.settings import NETS, Settings, get_preset, preset_names
from smallloss.models.registry import names as network_names

PAGE = Path(__file__).parent / "reference" / "settings.md"
PRESETS = [get_preset(name) for name in preset_names()]
STAGES = {
    "stage1": "How the network that ranks is trained; `cross_entropy` and `co_teaching` use it too.",
    "rsl": "How `rsl` learns from what is selected.",
    "rsl_wm": "How `rsl_wm` learns from what is selected and, unlabeled, from the rest.",
}
ALONE = ("net", "score", "window", "final_net")  # first; then the rest of the criterion


def page() -> str:
    alone = NETS | Criterion.about()
    alone = {name: alone[name] for name in (*ALONE, *alone)}
    parts = [
        BEGINNING,
        "## The network and the criterion",
        table(alone, Criterion, lambda name: [vars(one if name in NETS else one.criterion)[name] for one in PRESETS]),
        CRITERION.format(networks=", ".join(f"`{name}`" for name in network_names())),
        "## `stage1`, `rsl`, `rsl_wm`: how a network is trained",
        "\n".join(f"- `{stage}`: {words}" for stage, words in STAGES.items()),
        STAGE,
        table(Recipe.about(), Recipe, lambda name: [by_stage(one, name) for one in PRESETS]),
        TRAINING,
        "## `mixmatch`: how `rsl_wm` uses the rest",
        own("mixmatch"),
        *of_methods(),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def of_methods() -> Iterator[str]:
    """The settings of methods that have their own."""
    for name in methods.names():
        if name in PRESETS[0].own:
            yield f"## `{name}`: what only {methods.called(name)} has"
            yield own(name)


def own(group: str) -> str:
    kind = type(PRESETS[0].own[group])
    return table(kind.about(), kind, lambda name: [getattr(one.own[group], name) for one in PRESETS])


def table(about: dict[str, Knob], kind: type[Any], values: Callable[[str], list[Any]]) -> str:
    """A line for each setting: what it does, the values it takes, and those that the presets have."""
    kinds, said = get_type_hints(kind), []
    for name, one in about.items():
        each = [shown(value) for value in values(name)]
        of = {value: ", ".join(n for n, v in zip(preset_names(), each, strict=True) if v == value) for value in each}
        usual = f"**{each[0]}**" if len(of) == 1 else "; ".join(f"{some} **{value}**" for value, some in of.items())
        said.append(f"- `{name}` ({one.in_words(kinds.get(name))}): {one.help} {usual}")
    return "\n".join(said)


def by_stage(settings: Settings, name: str) -> str:
    """One value where the stages agree, else one for each."""
    each = [shown(getattr(settings.recipe(stage), name)) for stage in STAGES]
    return each[0] if len(set(each)) == 1 else "/".join(each)


def shown(value: Any) -> str:
    """A value as `--set` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


BEGINNING = """# Settings

<!-- Made by docs/make_settings.py. Edit that, or the settings in the code, and run it again. -->

Change any setting with `--set`, as often as you like, or with `settings=` in Python:

```
smallloss clean photos.npz --out runs/quick --noise-rate 0.15 --epochs 10 --set stage1.lr=0.05 --set beta=0.1
```

```python
sl.clean("photos.npz", "runs/quick", noise_rate=0.15, epochs=10, settings={"stage1.lr": 0.05, "beta": 0.1})
```

`--epochs` sets the epochs of every stage. If you mistype a name or a value, the error lists what is allowed. Below,
bold is the value in all presets, or in each.

## Presets

- `paper`: the authors' settings.
- `fast`: ours for pictures on a GPU.
- `cpu`: a small network for two cores, and for features on any machine.

If you name none with `--preset`, the hardware decides, and the number of pictures: with few, batches and learning
rates are smaller; above 40,000 on a CPU, there are fewer epochs. Settings that you give yourself are never changed.
[Why they are what they are](../decisions/presets.md).

Features (arrays `[n, d]`, tables, texts, `--features`, `--backbone`) train the network `mlp` with a `weight_decay` of
0.02 · 40 d / n, between 0.02 and 0.1, d counted up to 256.
"""

CRITERION = """
The networks are {networks}. Of each label, the share max(1 - (1 + `beta`) η, (1 - `beta`)(1 - η)) is kept, where η is
its noise rate. `gamma` 1 balances the classes fully, `none` not at all, `middle` half-way; it needs a known prior.
The margin of an example is how far the output for its label is above the others. Epochs outside `window` are not
scored.
"""

STAGE = """
Put the stage in front: `--set rsl_wm.lr=0.1`. Where stages differ, their values stand as `stage1`/`rsl`/`rsl_wm`.
"""

TRAINING = """
`cosine` is half a cosine down to 0. `triangular` rises over the first 20 %, then falls to 0. `trapezoid` rises over
the first 5 %, stays level until 70 %, then falls to 0. Accuracy is always measured after the last epoch.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
