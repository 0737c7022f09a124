"""A preset that nobody asked for is fitted to the number of pictures; what was asked for stays."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from smallloss.data.dataset import Dataset
from smallloss.engine.recipe import Recipe
from smallloss.methods import presets
from smallloss.methods.presets import Settings

_STEPS = 16  # an epoch has at least as many, or there are too few to learn anything
_SMALLEST_BATCH = 8
_MEMORIES = 3  # steps, in those that an average of the weights remembers; with fewer it never leaves its beginning
_VIEWS = 1_200_000  # pictures seen in a stage on a CPU: some five minutes on two free cores at 32 x 32
_FEWEST_EPOCHS = 10


def choose(
    preset: str | None,
    device: str,
    dataset: Dataset,
    *,
    net: Any = None,
    epochs: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a run: `presets.choose`, then fitted to the pictures where no preset was named.

    Few pictures: smaller batches, smaller steps and an average with a shorter memory. Very many on a CPU: fewer epochs.
    """
    settings = presets.choose(preset, device, dataset, net=net, epochs=epochs, changes=changes)
    if preset is not None or not dataset.is_image:
        return settings
    n, asked = len(dataset), {*(changes or {})}
    if epochs is not None or device != "cpu":
        asked |= {"stage1.epochs", "rsl.epochs", "rsl_wm.epochs"}
    tried = presets.get(settings.preset)
    rsl_wm = settings.rsl_wm
    if settings.mixmatch.steps_per_epoch is None:  # its epochs are passes over the data, too
        rsl_wm = replace(rsl_wm, epochs=_epochs("rsl_wm", rsl_wm, n, asked))
    return replace(
        settings,
        stage1=_fit("stage1", settings.stage1, tried.stage1.batch, n, asked),
        rsl=_fit("rsl", settings.rsl, tried.rsl.batch, n, asked),
        rsl_wm=rsl_wm,
    )


def _epochs(stage: str, recipe: Recipe, n: int, asked: Collection[str]) -> int:
    return recipe.epochs if f"{stage}.epochs" in asked else min(recipe.epochs, max(_FEWEST_EPOCHS, _VIEWS // n))


def _fit(stage: str, recipe: Recipe, tried: int, n: int, asked: Collection[str]) -> Recipe:
    """One recipe for n pictures; `asked` are the knobs to leave alone, as "stage1.lr". `tried`: the preset's batch."""
    batch, lr, warmup = recipe.batch, recipe.lr, recipe.ema_warmup
    epochs = _epochs(stage, recipe, n, asked)
    if f"{stage}.batch" not in asked:
        batch = min(batch, max(_SMALLEST_BATCH, _power_of_two(n // _STEPS)))
    if f"{stage}.lr" not in asked:
        # The noise of a step goes with its square over the batch: it stays what the preset was tried with.
        lr *= min(1.0, batch / tried) ** 0.5
    if f"{stage}.ema_warmup" not in asked and recipe.ema is not None:
        warmup |= epochs * n / batch < _MEMORIES / (1 - recipe.ema)
    return replace(recipe, epochs=epochs, batch=batch, lr=lr, ema_warmup=warmup)


def _power_of_two(n: int) -> int:
    """The largest that is not above n."""
    return 1 << max(0, n.bit_length() - 1)
