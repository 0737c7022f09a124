"""The default: counting among the confident, then what the training on everything contradicts, with an interval."""

from dataclasses import replace
from typing import Any

import numpy as np

from smallloss.noise.estimate import belief, words
from smallloss.noise.estimate.ability import ability
from smallloss.noise.estimate.contradiction import contradictions
from smallloss.noise.estimate.counting import count
from smallloss.noise.estimate.dependence import slope
from smallloss.noise.estimate.inputs import checked, label_counts, per_example, true_or_false
from smallloss.noise.estimate.result import Estimate, interval
from smallloss.values import whole


def estimate(
    probabilities: Any,
    labels: Any,
    *,
    classes: Any = None,
    margin: Any = None,
    contradicted: Any = None,
    level: float = 0.9,
    seed: int = 0,
) -> Estimate:
    """T by counting (measured), p near the label counts, η by the bridge (Bayes' rule), and how sure each is.

    `probabilities` are out of sample, (n, c); a row of NaN was never seen. `labels` are codes, or names, the columns
    being in their sorted order or in that of `classes`. `margin` ranks the predictions where given (the logits' does
    not saturate). `contradicted`, whether a training that saw the label predicts another class at its end, tells of the
    examples that no prediction is confident of.
    """
    P, given, names = checked(probabilities, labels, classes)
    seen = np.flatnonzero(~np.isnan(P[:, 0]))
    total, c = P.shape
    margins = per_example("margin", margin, seen, total)
    in_sample = true_or_false("contradicted", contradicted, seen, total)
    P, codes = P[seen], given[seen]

    counts = label_counts(codes, c)
    table = count(P, codes, c, margins)
    found = slope(P, codes, c, table)
    rng = np.random.default_rng(whole(seed, "seed"))
    believed = belief.from_counts(table, counts, found, rng)
    against = None if in_sample is None else contradictions(in_sample, codes, table)
    able = ability(table, codes, found, against)
    if against is not None and against.weight > 0:
        believed = belief.with_contradictions(believed, against, able, table, counts, rng)
        if against.weight > 0.5:
            found = replace(found, rise=against.rise, rise_error=against.rise_error)
    if able.doubted:
        believed = belief.with_doubt(believed, table, counts, able)

    low, high = interval(believed.rate, believed.draws, level)
    return Estimate(
        classes=names,
        noise_rate=believed.rate,
        low=low,
        high=high,
        transition=believed.transition,
        prior=believed.prior,
        evidence=words.evidence(found, able, len(codes), against),
        depends_on_example=None if able.is_misled else found.depends_on_example,
        slope=found,
        notes=words.notes(names, counts, table, able, total - len(seen)),
        level=level,
        draws=believed.draws,
        transition_draws=believed.transition_draws.astype(np.float32),
        weak=able.doubted,
        believed=able.believed if able.doubted else 1.0,
    )
