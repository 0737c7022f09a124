"""Write docs/reference/settings.md. Its lists come from the code: each setting is declared in its field, by `knob`.

python docs/make_settings.py
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

from smallloss import methods
from smallloss.criterion.settings import Criterion
from smallloss.engine.recipe import Recipe
from smallloss.knobs import Knob
from smallloss.methods.settings import NETS, Settings, get_preset, preset_names

PAGE = Path(__file__).parent / "reference" / "settings.md"
PRESETS = [get_preset(name) for name in preset_names()]
STAGES = ("stage1", "rsl", "rsl_wm")
HEAD = "\n".join(["|setting|" + "|".join(["", *preset_names()]) + "|", "|---" * (2 + len(PRESETS)) + "|"])
ALONE = ("net", "score", "window", "final_net")  # first; then the rest of the criterion


def page() -> str:
    alone = NETS | Criterion.about()
    alone = {name: alone[name] for name in (*ALONE, *alone)}
    parts = [
        BEGINNING,
        "## The network and the criterion",
        table(alone, Criterion, lambda name: [vars(one if name in NETS else one.criterion)[name] for one in PRESETS]),
        CRITERION,
        "## `stage1`, `rsl`, `rsl_wm`: how a network is trained",
        STAGE,
        table(Recipe.about(), Recipe, lambda name: [by_stage(one, name) for one in PRESETS]),
        TRAINING,
        "## `mixmatch`: how `rsl_wm` and `plain_mixmatch` use the rest",
        own("mixmatch"),
        "## Of one method alone",
        of_methods(),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def of_methods() -> str:
    """The settings of methods that have their own; what several have alike, once."""
    named: dict[str, str] = {}
    for method in methods.names():
        if method in PRESETS[0].own:
            for line in own(method).splitlines()[2:]:
                name, words = line.removeprefix("|`").split("`", 1)
                named[words] = ", ".join(filter(None, [named.get(words), f"`{method}.{name}`"]))
    return "\n".join([HEAD, *(f"|{names}{words}" for words, names in named.items())])


def own(group: str) -> str:
    kind = type(PRESETS[0].own[group])
    return table(kind.about(), kind, lambda name: [getattr(one.own[group], name) for one in PRESETS])


def table(about: dict[str, Knob], kind: type[Any], values: Callable[[str], list[Any]]) -> str:
    """A row for each setting: the words it may be, what it does, and the values that the presets have."""
    kinds, said = get_type_hints(kind), [HEAD]
    for name, one in about.items():
        words = one.in_words(kinds.get(name))
        words = (
            "or `none`" if words.endswith(", or `none`") and not one.values else words
        )  # the bounds: errors tell them
        named = f" ({words})" if one.choices or ("`" in words and kinds.get(name) is not bool) else ""
        said.append(f"|`{name}`{named}|{one.help}|{'|'.join(map(shown, values(name)))}|")
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

Change any of them with `--set`, or with `settings=` in Python:

```
smallloss clean photos.npz --out runs/quick --epochs 10 --set stage1.lr=0.05 --set beta=0.1
```

```python
sl.clean("photos.npz", "runs/quick", epochs=10, settings={"stage1.lr": 0.05, "beta": 0.1})
```

A wrong name or value is answered with what is allowed.

## Presets

`paper` has the authors' settings, `fast` ours for pictures on a GPU, `cpu` a small network for two cores, and for
features anywhere. Without `--preset` hardware and number of pictures decide: few mean smaller batches and learning
rates, more than 40,000 on a CPU fewer epochs. What you set is never changed. [Why](../decisions/presets.md).

Features (arrays `[n, d]`, tables, texts, `--features`, `--backbone`) train the network `mlp` with a `weight_decay` of
0.02 · 40 d / n, between 0.02 and 0.1, d counted up to 256.
"""

CRITERION = """
`beta` and `gamma` are those of [Eq. 2](../paper-to-code.md#section-4-how-many-to-select): `gamma` 1 balances the
classes fully, `none` not at all, `middle` half-way; it needs a known prior. A margin is how far the output for the
label lies above the others.
"""

STAGE = """
`stage1` is the network that ranks, and those of most methods; `rsl` learns from what is selected, `rsl_wm` also,
unlabeled, from the rest. Put the stage in front: `--set rsl_wm.lr=0.1`. Where they differ, values stand as
`stage1`/`rsl`/`rsl_wm`.
"""

TRAINING = """
`triangular` rises over the first 20 %, `trapezoid` over the first 5 % and is level until 70 %. Both then fall to 0, as
`cosine` does from the start.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
