"""Write docs/reference/settings.md. Its tables come from the code: the HELP beside each class, and the presets.

python docs/make_settings.py
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from smallloss import methods
from smallloss.engine import recipe
from smallloss.methods import mixmatch, presets
from smallloss.methods.presets import Settings
from smallloss.models.registry import names as network_names

PAGE = Path(__file__).parent / "reference" / "settings.md"
STAGES = ("stage1", "rsl", "rsl_wm")
ALONE = [item.name for item in fields(Settings) if item.name not in ("preset", "own", "mixmatch", *STAGES)]
Help = Mapping[str, tuple[str, str]]


def page() -> str:
    all_presets = [presets.get(name) for name in presets.names()]
    parts = [
        BEGINNING,
        "## The network and the criterion",
        table(presets.HELP, ALONE, lambda name: [shown(getattr(one, name)) for one in all_presets]),
        CRITERION.format(networks=", ".join(f"`{name}`" for name in network_names())),
        "## `stage1`, `rsl`, `rsl_wm`: how a network is trained",
        "\n".join(f"- `{stage}`: {presets.HELP[stage][0]}" for stage in STAGES),
        STAGE,
        table(recipe.HELP, recipe.HELP, lambda name: [by_stage(one, name) for one in all_presets]),
        TRAINING,
        "## `mixmatch`: how `rsl_wm` uses the rest",
        table(mixmatch.HELP, mixmatch.HELP, lambda name: [shown(getattr(one.mixmatch, name)) for one in all_presets]),
        *of_methods(all_presets),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def of_methods(all_presets: Sequence[Settings]) -> Iterator[str]:
    """The settings of methods that have their own."""
    for name in methods.names():
        kind, module = methods.knobs(name), methods.get(name)
        if kind is not None:
            knobs = [one.knobs(kind) for one in all_presets]
            yield f"## `{name}`: what only {methods.called(name)} has"
            yield table(module.HELP, module.HELP, lambda field, knobs=knobs: [shown(getattr(k, field)) for k in knobs])


def table(about: Help, names: Any, values: Any) -> str:
    rows = [("setting", "what it does", "values", *presets.names()), ("---",) * (3 + len(presets.names()))]
    rows += [(f"`{name}`", *about[name], *values(name)) for name in names]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def by_stage(settings: Settings, name: str) -> str:
    """One value where the stages agree, else one for each."""
    each = [shown(getattr(getattr(settings, stage), name)) for stage in STAGES]
    return each[0] if len(set(each)) == 1 else " / ".join(each)


def shown(value: Any) -> str:
    """A value as `--set` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


BEGINNING = """# Settings

<!-- Made by docs/make_settings.py. Edit that, or HELP beside the settings in the code, and run it again. -->

Change any setting with `--set`, as often as you like, or with `settings=` in Python:

```
smallloss clean photos.npz --out runs/quick --noise-rate 0.15 --epochs 10 --set stage1.lr=0.05 --set beta=0.1
```

```python
sl.clean("photos.npz", "runs/quick", noise_rate=0.15, epochs=10, settings={"stage1.lr": 0.05, "beta": 0.1})
```

`--epochs` sets the epochs of every stage at once. If you mistype a name or a value, the error lists what is allowed.
`config.json` in the run folder holds every value that a run used.

## Presets

A preset is a complete set of settings. Choose one with `--preset`.

- `paper`: the authors' settings.
- `fast`: ours for a GPU. The default for pictures on a GPU.
- `cpu`: a small network for two cores. The default without a GPU, and for features on any machine.

If you name no preset, the default is fitted to the number of pictures:

- **Few pictures.** Below 16 batches an epoch, `stage1` and `rsl` take smaller batches, down to 8. The learning rate
  shrinks with the square root of the batch, and the average of the weights gets a shorter memory.
- **Very many, on a CPU.** Above 40,000 pictures there are fewer epochs, but never fewer than 10.

Settings that you give yourself are never fitted. [Why the presets are what they are](../decisions/presets.md) has the
measurements.

**Features** (arrays `[n, d]`, tables, texts, `--features`, `--backbone`) train the network `mlp`, with a `weight_decay`
in every stage of 0.02 · 40 d / n, but at least 0.02 and at most 0.1. Here n is the number of examples, and d the number
of features, counted up to 256.
"""

CRITERION = """
- The networks are {networks}.
  In Python, `net=` also takes [a network of your own](../guide/your-loop.md#use-your-own-network).
- Of each label, the share max(1 - (1 + `beta`) η, (1 - `beta`)(1 - η)) is kept, where η is its noise rate.
- `gamma` 1 balances the classes fully, `none` not at all, and `middle` half-way. All of it needs a known prior.
- Epochs outside `window` are not scored at all.
"""

STAGE = """
Put the stage in front: `--set rsl_wm.lr=0.1`. Where the stages of a preset differ, their values stand in the order
`stage1` / `rsl` / `rsl_wm`.
"""

TRAINING = """
- `cosine` is half a cosine down to 0. `triangular` rises over the first 20 %, then falls to 0. `trapezoid` rises over
  the first 5 %, stays level until 70 %, then falls to 0.
- Accuracy is always measured after the last epoch. With `--protocol full`, where nothing validates, it is measured
  after each of the last ten.
- `compile` is worth 29 % on WRN-28-2 at batch 128, but takes half a minute first. It pays off in long runs only.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
