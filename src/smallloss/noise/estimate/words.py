"""The estimate's evidence and its doubts, as sentences."""

from typing import Any

import numpy as np

from smallloss.noise.estimate.ability import Ability
from smallloss.noise.estimate.contradiction import Contradicted
from smallloss.noise.estimate.counting import LEAST, Counts
from smallloss.noise.estimate.dependence import Slope
from smallloss.noise.estimate.inputs import Vector
from smallloss.words import counted, listed, percent

_ALL = 0.95  # of what was counted: from here on nothing need be said of the rest
SMALL = 100  # examples of a label below which its own counts say little

_HIDDEN = (
    "Noisy labels alone cannot reveal a class most of whose examples carry another class's label; checking by hand can."
)
_MISLED = (
    "Even among the surest predictions, the less sure the network is, the more labels differ from them, and in the way "
    "it expects; the mistakes of a weak network look like that. So the rates are those among the surest, and it cannot "
    "be told whether the noise depends on the class alone or on the individual example."
)


def evidence(found: Slope, able: Ability, n: int, against: Contradicted | None) -> str:
    """Which evidence was used, and what kind of noise it looks like."""
    parts = [f"Labels were counted among the most confident out-of-sample predictions of {n:,} examples."]
    if against is not None and against.weight > 0.5 and not able.is_misled:
        parts.append(f"Training on everything contradicts {percent(against.count.sum() / n, 0)} of all labels.")
    parts.append(_MISLED if able.is_misled else _kind(found))
    return " ".join(parts)


def notes(names: list[Any], counts: Vector, table: Counts, able: Ability, unseen: int) -> tuple[str, ...]:
    """What the reader should know before believing the numbers."""
    said = [_too_weak(able)] if able.doubted else []
    said.append(_HIDDEN)
    absent = [names[k] for k in np.flatnonzero(counts == 0)]
    small = [names[k] for k in np.flatnonzero((counts > 0) & (counts < SMALL))]
    predicted = table.labels[-1].sum(axis=1)
    unpredicted = [names[k] for k in np.flatnonzero((predicted < LEAST) & (counts >= SMALL))]
    if absent:
        said.append(f"No example is labelled {listed(absent)}.")
    if small:
        said.append(
            f"Labels with too few examples (under {SMALL}) for a rate of their own, so that it is drawn towards the "
            f"rate of all labels: {listed(small)}."
        )
    if unpredicted:
        said.append(
            "Labels that the network hardly ever predicts, so that their rate is drawn towards the rate of all labels: "
            f"{listed(unpredicted)}."
        )
    if unseen:
        said.append(f"Left out: {counted(unseen, 'example')} without out-of-sample probabilities.")
    return tuple(said)


def _too_weak(able: Ability) -> str:
    taken = (
        "anything from none to all of what it counts may be wrong, and the rates are "
        f"{percent(able.believed, 0)} of that"
        if able.believed < _ALL
        else "the noise rates may be far too high, so their intervals reach far down"
    )
    return (
        "The network may be too weak to tell its own mistakes from wrong labels: its predictions agree with "
        f"{percent(able.surest, 0)} of the labels where it is surest, and with {percent(able.overall, 0)} of all. So "
        f"{taken}; a stronger network, or checking some examples by hand, would tell."
    )


def _kind(found: Slope) -> str:
    if found.depends_on_example is None:
        return "Too few examples to tell whether the noise depends on the class alone or on the individual example."
    if not found.depends_on_example:
        return (
            "The share of wrong labels hardly grows from the most to the less confident predictions: the noise seems "
            "to depend on the class alone."
        )
    if found.risen:
        return (
            "Wrong labels are more frequent among the harder examples: the noise seems to depend on the individual "
            "example."
        )
    if found.blend > 0.25:
        return (
            f"The share of wrong labels grows by {percent(found.climb, 0)} even among the most confident predictions: "
            "the noise seems to depend on the individual example, so less confident predictions were counted too."
        )
    return (
        "Even where the network is confident, labels follow its probabilities from example to example: the noise seems "
        "to depend on the individual example (or the network confuses classes where it is confident)."
    )
