"""The verdict on a dataset: Theorems 1 and 2 on an estimated T, its uncertainty carried through, and the audit.

Theorem 2's epsilon is a supremum that no network meets; what is asked here instead is for how many examples the
network is near enough, out of sample. What noisy labels alone cannot show is said, unless answers by hand show it.
"""

from typing import Any

import numpy as np
from scipy.special import logit

from smallloss.criterion.labels import encode_among
from smallloss.errors import InputError
from smallloss.noise.answers import Answers, Ranked
from smallloss.noise.data_verdict import (
    CLEARED,
    FAILS_BELOW,
    MATERIAL,
    SWAPPED,
    ClassVerdict,
    DataVerdict,
    share,
)
from smallloss.noise.estimate import Estimate
from smallloss.noise.intervals import Interval, kept_precision
from smallloss.noise.probabilities import ROW_SUM_TOLERANCE
from smallloss.noise.verdict import NAMES_SHOWN, Break, Trust
from smallloss.values import to_numpy
from smallloss.words import listed, percent, quoted

FAILING_SHARE = 0.10  # of the kept examples: more than this in failing classes turns the run red
SUPPORT = 0.25  # an audit bears the estimated precision out if its low end is no further below than this
BIN = 50  # examples that a bin has at least
LEAST = 0.02  # no label is called right or wrong with more certainty than 1 - LEAST
MIRRORED = (
    0.3  # classes that T mixes this much both ways may as well be swapped: three tenths kept their own label then
)
RULED_OUT = 1e-3  # the odds below which such a pair is taken not to be

MAJORITY_FLIP = (
    "Noisy labels alone cannot reveal a majority flip: where most examples of a class carry one wrong label, the "
    "network learns that label, and the estimate takes it for the right one. An audit by hand would show it."
)
CLASS_CONDITIONAL = "The theorems assume noise that depends only on the true class, not on the individual example."
DEPENDS = "This noise seems to depend on the individual example, which the theorems do not cover."

TOO_WEAK = (
    "the network may be too weak to tell its own mistakes from wrong labels, so the estimated noise may be far off; "
    "use a stronger network (for pictures a pretrained one, --backbone), or check 60 examples by hand (smallloss "
    "audit)."
)
WEAK_RATES = (
    "The network may be too weak for the estimated noise rates; the answers by hand vouch for the kept examples, not "
    "for those rates."
)


def judge(
    estimate: Estimate, selection: Ranked, probabilities: Any, labels: Any, *, audit: Answers | None = None
) -> DataVerdict:
    """Theorems 1 and 2 on an estimated T: may the kept examples be relied on?

    probabilities: (n, classes), the network's g(x), out of sample. audit: what a person said of a sample that
    `audit.draw` chose from this selection.
    """
    g, y = _checked(estimate, selection, probabilities, labels)
    ranked = selection.rank_in_class > 0
    bins = _bins(g, ranked)
    labelled, kept = (_counts(bins[of], y[of], g.shape[1]) for of in (ranked, selection.mask))
    precision, of_class = _precision(labelled, kept, estimate)
    swaps: dict[tuple[int, int], float] = {}
    if audit is not None:
        right = right_probability(labelled, estimate.transition)
        shares = [(of * right).sum(0) / np.maximum(of.sum(0), 1) for of in (kept, labelled - kept)]
        swaps = swap_odds(audit, np.where(audit.kept, *(share[audit.label] for share in shares)), estimate.transition)
    classes = tuple(
        _class_verdict(k, estimate, selection, g, y, of_class[k], swaps) for k in range(len(selection.classes))
    )
    audited = None if audit is None else kept_precision(audit)
    red, amber = _reasons(classes, estimate, precision, audited, audit)
    trust: Trust = "do not trust" if red else "caution" if amber else "trust"
    return DataVerdict(
        trust=trust,
        classes=classes,
        precision=precision,
        audited=audited,
        answers=(0, 0, 0) if audit is None else (*audit.counts()[1].tolist(), int((~audit.decided).sum())),
        reasons=(*red, *amber),
        limits=_limits(estimate, audit),
    )


def right_probability(labelled: np.ndarray, T: np.ndarray) -> np.ndarray:
    """P(true class = k | bin, label k) = h_k T_kk / sum_j h_j T_jk at [bin, k], by Bayes.

    `labelled` counts the labels in bins of examples that look alike to the network, out of sample. Under
    class-conditional noise their shares are T^t h (the g* of Lemma 2), h being the true classes of the bin, so h is
    solved for and moved into the simplex. Counts are calibrated where a network's own probabilities are not.
    """
    shares = labelled / np.maximum(labelled.sum(1, keepdims=True), 1)
    h = np.clip(shares @ np.linalg.pinv(T), 0, None)
    h /= np.maximum(h.sum(1, keepdims=True), 1e-12)
    total = h @ T
    return np.divide(h * T.diagonal(), total, out=np.zeros_like(h), where=total > 0)


def _bins(g: np.ndarray, ranked: np.ndarray) -> np.ndarray:
    """Examples that look alike: the same prediction, and the same tenth of its confidence, of BIN or more each."""
    bins = np.zeros(len(g), np.int64)
    predicted, confidence = g.argmax(1), g.max(1)
    for k in range(g.shape[1]):
        members = np.flatnonzero(ranked & (predicted == k))
        parts = np.clip(len(members) // BIN, 1, 10)
        order = members[np.argsort(confidence[members], kind="stable")]
        bins[order] = 10 * k + np.arange(len(order)) * parts // max(len(order), 1)
    return bins


def swap_odds(answers: Answers, right: np.ndarray, T: np.ndarray) -> dict[tuple[int, int], float]:
    """The odds that two classes are swapped, for each pair that may be, by the answers.

    `right` is P(label right) of each answered example, as estimated for its label and stratum. A majority flip
    between two classes turns P(right) into 1 - P(right) under both labels, so each answer multiplies the odds by one
    over the other. They begin even where T mixes the two MIRRORED or more both ways, and in proportion lower where
    less: labels then look nothing like a swap. Looked at are the pairs that begin even, and those that an answer
    speaks for: "wrong, it is j" of a kept example, against the estimate. Only answers on kept examples count: a dropped
    one that is right after all speaks for rates that were too high as much as for a swap.

    A pair stays open, at even odds, where its kept examples turn out wrong at least as often as right, however little
    the estimate promised; and one that began even does until its odds are below RULED_OUT: swapped classes come there
    by chance with no more than that probability.
    """
    right = np.clip(right, LEAST, 1 - LEAST)
    odds = np.where(answers.right, -1, 1) * logit(right)
    against = answers.kept & answers.wrong & (answers.true >= 0) & (odds > 0)
    begin = np.clip(np.minimum(T, T.T) / MIRRORED, 1 / SWAPPED**0.5, 1.0)
    looked_at = np.triu(begin == 1, 1)
    looked_at[answers.label[against], answers.true[against]] = True
    found = {}
    for i, j in np.argwhere(np.triu(looked_at | looked_at.T, 1)).tolist():
        among = np.isin(answers.label, (i, j)) & np.isin(answers.true, (i, j)) & answers.kept
        wrong, right_ones = (int((of & among).sum()) for of in (answers.wrong, answers.right))
        end = float(begin[i, j] * np.exp(odds[among].sum()))
        is_open = wrong >= max(2, right_ones) or (begin[i, j] == 1 and end > RULED_OUT)
        found[i, j] = max(1.0, end) if is_open else end
    return found


def _precision(
    labelled: np.ndarray, kept: np.ndarray, estimate: Estimate
) -> tuple[Interval | None, list[float | None]]:
    """The share of right labels among the kept: all, with a 90 % interval over the draws of T, and per class.

    `labelled` and `kept` count examples at [bin, label]. Within a bin the ranks may know more than the bin does: the
    estimate takes those kept for as good as the others there, the high end for the best of them.
    """
    of_class = kept.sum(0)
    if not of_class.any():
        return None, [None] * len(of_class)
    drawn = [right_probability(labelled, T) for T in (estimate.transition, *estimate.transition_draws)]
    right = [(kept * of).sum(0) for of in drawn]
    whole, best = (
        np.array([float(count.sum()) for count in counts]) / of_class.sum()
        for counts in (right, [np.minimum(kept, labelled * of) for of in drawn])
    )
    low, high = np.quantile(whole, 0.05), np.quantile(best, 0.95)
    interval = Interval(float(whole[0]), float(min(low, whole[0])), float(max(high, whole[0])))
    return interval, [float(r / n) if n else None for r, n in zip(right[0], of_class, strict=True)]


def _class_verdict(
    k: int, estimate: Estimate, selection: Ranked, g: np.ndarray, y: np.ndarray, precision: float | None,
    swaps: dict[tuple[int, int], float],
) -> ClassVerdict:  # fmt: skip
    draws, T = estimate.transition_draws, estimate.transition
    others = np.arange(len(T)) != k
    margins = draws[:, k, k] - draws[:, others, k].max(1)
    rows = draws[:, k, k] - draws[:, k, others].max(1)
    margin = float(T[k, k] - T[others, k].max())
    nearest = int(np.flatnonzero(others)[T[others, k].argmax()])
    odds, rival = max(((odds, sum(pair) - k) for pair, odds in swaps.items() if k in pair), default=(0.0, nearest))
    nearest = rival if odds > CLEARED else nearest
    of = (y == k) & (selection.rank_in_class > 0)
    near = np.abs(g[of, k] - T[g[of].argmax(1), k]) < margin / 2
    low, high = (float(q) for q in np.quantile(margins, (0.05, 0.95)))
    names = [str(name) for name in selection.classes.tolist()]
    return ClassVerdict(
        name=names[k],
        kept=int(np.count_nonzero(selection.mask & (y == k))),
        noise_rate=float(estimate.noise_rate[k]),
        precision=precision,
        ranking_certainty=float((margins > 0).mean()),
        classifier_certainty=float((rows > 0).mean()),
        margin=Interval(margin, min(low, margin), max(high, margin)),
        covered=float(near.mean()) if of.any() else None,
        pair=Break(names[nearest], names[k], float(T[nearest, k]), float(T[k, k])),
        swap_odds=odds,
    )


def _reasons(
    classes: tuple[ClassVerdict, ...], estimate: Estimate, precision: Interval | None, audited: Interval | None,
    audit: Answers | None,
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Why not to trust at all, and why to take care."""
    red, amber = [], []
    kept = [one.kept for one in classes]
    failing = share(kept, [one.fails for one in classes])
    doubtful = share(kept, [one.fails or one.doubtful for one in classes])
    errs = [one.classifier_certainty < FAILS_BELOW for one in classes]
    if precision is None:
        return ["nothing is kept, so there is nothing to rely on."], []
    if failing > FAILING_SHARE:
        red.append(f"{percent(failing)} of them carry labels whose ranking breaks ({_named(classes, 'fails')}).")
    elif failing:
        broken = f"the ranking breaks for {_named(classes, 'fails')}"
        amber.append(f"{broken}; leave these out ({percent(failing)} of the kept).")
    if not failing and doubtful > FAILING_SHARE:
        named = _named(classes, "doubtful")
        amber.append(f"{percent(doubtful)} of them carry labels whose ranking is in doubt ({named}).")
    if share(estimate.prior, errs) > FAILING_SHARE:
        wrong = [one.name for one, err in zip(classes, errs, strict=True) if err]
        amber.append(f"a classifier fitted to all labels errs on {_some(wrong)}, so its predictions mislead there.")
    if audited is None or audit is None:
        weak = [TOO_WEAK] if estimate.weak else []
        return red, weak + amber + ([f"t{DEPENDS[1:]}"] if estimate.depends_on_example else [])
    decided = int(audit.counts()[1][0])
    if audited.high < precision.low - MATERIAL:
        red.append(
            f"of {decided} kept labels checked by hand, {percent(audited.value, 0)} were right (so at most "
            f"{percent(audited.high, 0)} of all are), but the theory with the estimated noise promises "
            f"{percent(precision.value, 0)}."
        )
    elif audited.low < precision.low - SUPPORT:
        amber.append(
            f"{decided} answers on kept examples prove no more than {percent(audited.low, 0)} right labels, but the "
            f"theory with the estimated noise promises {percent(precision.value, 0)}; check more."
        )
    return red, amber


def _limits(estimate: Estimate, audit: Answers | None) -> tuple[str, ...]:
    depends = DEPENDS if estimate.depends_on_example else CLASS_CONDITIONAL
    if audit is None:
        return (MAJORITY_FLIP, depends)
    per_class = np.bincount(audit.label[audit.decided & audit.kept], minlength=len(estimate.classes))
    unseen = int(np.count_nonzero(per_class == 0))
    seen = f" For {unseen:,} of the {len(per_class):,} labels no kept example was checked." if unseen else ""
    return (
        "The answers by hand hold for the kept examples as a whole, whatever the noise depends on; "
        f"a majority flip in one class shows only if that class was checked.{seen}",
        depends,
        *([WEAK_RATES] if estimate.weak else []),
    )


def _checked(estimate: Estimate, selection: Ranked, probabilities: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    names, known = ([str(name) for name in np.asarray(x).tolist()] for x in (selection.classes, estimate.classes))
    if names != known:
        raise InputError(f"The estimate is for the classes {listed(known)}, but the selection for {listed(names)}.")
    _, y = encode_among(labels, selection.classes)
    if not np.array_equal(y, selection.class_index):
        raise InputError("These labels are not the ones that the selection was made from, or not in its order.")
    g = np.array(to_numpy(probabilities), np.float64)
    if g.shape != (len(y), len(names)):
        raise InputError(f"probabilities have shape {g.shape}: expected ({len(y)}, {len(names)}).")
    bad = ~((g >= 0).all(1) & (np.abs(g.sum(1) - 1) <= ROW_SUM_TOLERANCE)) & (selection.rank_in_class > 0)
    if bad.any():
        i = int(bad.argmax())
        raise InputError(
            f"The probabilities of index {i} are not from 0 to 1 with the sum 1 (their sum is {g[i].sum():g})."
        )
    return np.nan_to_num(g), y.astype(np.int64)


def _counts(bins: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    return np.bincount(bins * classes + y, minlength=10 * classes * classes).reshape(-1, classes)


def _named(classes: tuple[ClassVerdict, ...], what: str) -> str:
    return _some([one.name for one in classes if getattr(one, what)])


def _some(names: list[str]) -> str:
    return listed(names, NAMES_SHOWN, quoted)
