"""The paper's figures of trainings (section 5.1 and appendix B): losses of right and wrong labels, seen in run folders.

They are made of plain trainings by appendix B's recipe: PreAct ResNet-32, rate .2 divided by 10 after a third and two
thirds of 120 epochs, weight decay 1e-4.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import gaussian_kde, rankdata

from smallloss.comparing.facts import precision_at_share
from smallloss.criterion.transition import from_spec, is_column_dominant
from smallloss.paper.figures import PAIRWISE, STRUCTURED, UNIFORM, Plot, Shown, panels
from smallloss.record.examples import SPLITS, TRAIN
from smallloss.record.run import Run

RECIPE: dict[str, Any] = {
    "stage1.lr": 0.2, "stage1.weight_decay": 1e-4, "stage1.milestones": (1 / 3, 2 / 3), "stage1.factor": 0.1,
}  # fmt: skip
KINDS = (UNIFORM, PAIRWISE, STRUCTURED)
LEVELS = ("0.3", "0.4", "0.5", "0.6")
RIGHT, WRONG = "tab:blue", "tab:red"
_POINTS = 2000  # of each kind a density is estimated from: more change no line


def recipe(how: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `clean`: appendix B's, or a preset that was asked for; losses of all epochs either way."""
    whole = {"score": "mean_loss", "window": (0.0, 1.0)}
    if "preset" in how:
        return {**how, "settings": whole}
    return {"preset": "paper", "net": "preact-resnet-32", "epochs": 120, **how, "settings": RECIPE | whole}


class Losses:
    """What a plain training recorded of its training part."""

    def __init__(self, folder: Path) -> None:
        run = Run.read(folder)
        e = run.examples
        assert e.true is not None
        assert run.ledger is not None
        self.curves, self.classes = run.ledger.curves, len(e.classes)
        trained, right = e.split == SPLITS.index(TRAIN), e.true == e.label
        self.label, self.mean, self.right = e.label[trained], e.mean_loss[trained], right[trained]
        self.every_right, self.every_wrong, self.every_label = trained & right, trained & ~right, e.label
        metrics = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        self.epochs = [row for row in map(json.loads, metrics) if row["stage"] == "stage1"]

    def auc(self) -> float:
        """How often a wrong label has a larger mean loss than a right one that reads the same."""
        above = pairs = 0.0
        for k in range(self.classes):
            mine = self.label == k
            ranks, wrong = rankdata(self.mean[mine]), ~self.right[mine]
            n, m = int(wrong.sum()), int((~wrong).sum())
            above += ranks[wrong].sum() - n * (n + 1) / 2
            pairs += n * m
        return above / max(pairs, 1)


def distributions(runs: Mapping[str, Losses]) -> Shown:
    """Fig. 2: mean losses divided by their largest, of right and wrong labels, and their density."""
    figure, axes = panels(len(LEVELS), len(KINDS), (3.2, 2.4))
    holds: list[tuple[str, float]] = []
    broken: list[tuple[str, float]] = []
    for at, kind in zip(axes, KINDS, strict=True):
        for ax, r in zip(at, LEVELS, strict=True):
            seen = runs.get(f"{kind}:{r}")
            dominant = is_column_dominant(from_spec(f"{kind}:{r}", 10))
            ax.set_title(f"{kind}, r = {r}{'' if dominant else ' (dominance broken)'}", fontsize=8)
            if seen is None:
                continue
            scaled = seen.mean / np.nanmax(seen.mean)
            bins = np.linspace(0, 1, 41)
            for of, colour, said in ((seen.right, RIGHT, "right"), (~seen.right, WRONG, "wrong")):
                ax.hist(scaled[of], bins, color=colour, alpha=0.5, label=f"{said} label")
            line = np.linspace(0, 1, 200)
            some = np.random.default_rng(0).permutation(scaled)[:_POINTS]
            ax.plot(line, gaussian_kde(some)(line) * len(scaled) / 40, "k", linewidth=1, label="density")
            auc = seen.auc()
            ax.set_xlabel(f"mean loss; wrong above right: {100 * auc:.0f} %", fontsize=7)
            (holds if dominant else broken).append((kind, auc))
    _legend(axes)
    above = all(auc > 0.5 for _, auc in holds)
    below = all(auc < 0.5 for kind, auc in broken if kind == PAIRWISE)
    found = (
        "Of two examples with the same label the wrong one has the larger mean loss in "
        f"{_range([auc for _, auc in holds])} of pairs where T is diagonally dominant, and in "
        f"{_range([auc for _, auc in broken])} where it is not."
    )
    return Shown(figure, found, above and below if holds and broken else None)


def by_class(runs: Mapping[str, Losses]) -> Shown:
    """Fig. 3: the mean of the mean losses of right and of wrong labels, class by class."""
    figure, axes = panels(len(KINDS))
    holds = None
    for ax, kind in zip(axes[0], KINDS, strict=True):
        seen = runs.get(f"{kind}:0.4")
        ax.set(title=f"{kind}, r = 0.4", xlabel="class", xticks=range(10))
        if seen is None:
            continue
        means = {}
        for of, colour, said in ((seen.right, RIGHT, "right"), (~seen.right, WRONG, "wrong")):
            groups = [seen.mean[of & (seen.label == k)] for k in range(seen.classes)]
            means[said] = np.array([group.mean() if len(group) else np.nan for group in groups])
            ax.plot(range(seen.classes), means[said], marker="o", color=colour, label=f"{said} label")
        if kind == STRUCTURED:
            holds = bool(np.nanmax(means["right"]) > np.nanmin(means["wrong"]))
    axes[0, 0].set_ylabel("mean of the mean loss")
    _legend(axes)
    return Shown(
        figure,
        "Under structured noise right labels of one class have larger losses than wrong ones of another: "
        f"{'yes' if holds else 'no' if holds is False else 'not run'}.",
        holds,
    )


def pairs(runs: Mapping[str, Losses], rows: int = 1, first: int = 0) -> Shown:
    """Fig. 4 and those added to it: the loss after each epoch, and the mean so far, of a right and a wrong label."""
    figure, axes = panels(len(KINDS), rows, (4.0, 2.8))
    ends, steps = [], []
    for column, kind in enumerate(KINDS):
        seen = runs.get(f"{kind}:0.4")
        for row in range(rows):
            ax = axes[row, column]
            ax.set_title(f"{kind}, r = 0.4", fontsize=8)
            if seen is None:
                continue
            for at, colour, said in zip(_pair(seen, first + row), (RIGHT, WRONG), ("right", "wrong"), strict=True):
                loss = np.array([epoch[at] for epoch in seen.curves.rows], np.float64)
                so_far = np.cumsum(loss) / np.arange(1, len(loss) + 1)
                ax.plot(loss, color=colour, alpha=0.35, linewidth=0.8, label=f"{said} label, each epoch")
                ax.plot(so_far, color=colour, label=f"{said} label, mean so far")
                ends.append(so_far[len(so_far) // 2 :])
                steps.append((np.abs(np.diff(loss)).sum(), np.abs(np.diff(so_far)).sum()))
            ax.set_xlabel("epoch", fontsize=7)
    _legend(axes)
    below = [bool((right < wrong).all()) for right, wrong in zip(ends[::2], ends[1::2], strict=True)]
    calmer = all(mean < single for single, mean in steps)
    found = (
        f"In the second half of the epochs the mean of the right label is below that of the wrong one throughout in "
        f"{sum(below)} of {len(below)} pairs drawn at random; it moves less than the loss of an epoch in "
        f"{'all' if calmer else 'not all'}."
    )
    return Shown(figure, found, all(below) and calmer if below else None)


def _pair(seen: Losses, number: int) -> tuple[int, int]:
    """A right and a wrong label that read the same, at random among those whose curves were kept."""
    draw, kept = np.random.default_rng(number), seen.curves.index
    wrong = draw.permutation(np.flatnonzero(seen.every_wrong[kept]))
    for at in wrong.tolist():
        same = np.flatnonzero(seen.every_right[kept] & (seen.every_label[kept] == seen.every_label[kept[at]]))
        if len(same):
            return int(draw.choice(same)), at
    return 0, 0


def sizes(runs: Mapping[str, Losses]) -> Shown:
    """Fig. 5: accuracy, mean loss of right and wrong labels, and precision, by a quarter to all of the data."""
    figure, axes = panels(4, size=(3.6, 3.0))
    gaps, precisions, names = [], [], list(runs)
    for name, seen in runs.items():
        for ax, what in zip(axes[0], ("train", "test"), strict=False):
            shown = [(row["epoch"] + 1, 100 * row[what]) for row in seen.epochs if what in row]
            if shown:
                ax.plot(*zip(*shown, strict=True), label=name)
        right, wrong = (seen.curves.mean(of) for of in (seen.every_right, seen.every_wrong))
        (line,) = axes[0, 2].plot(right, label=f"{name}, right")
        axes[0, 2].plot(wrong, color=line.get_color(), linestyle="--")
        gaps.append(float(seen.mean[~seen.right].mean() - seen.mean[seen.right].mean()))
        precisions.append(precision_at_share(seen.mean, seen.label, seen.right, seen.classes) or np.nan)
    axes[0, 3].bar(names, precisions, color="tab:gray")
    axes[0, 3].set_ylim(max(0, min(precisions, default=0) - 5), 100)
    for ax, said in zip(
        axes[0],
        ("agrees with training labels, %", "test accuracy, %", "mean loss (wrong: dashed)", "precision at 1 − η, %"),
        strict=True,
    ):
        ax.set_title(said, fontsize=9)
    _legend(axes)
    rising = bool(len(gaps) > 1 and np.all(np.diff(gaps) > 0) and np.all(np.diff(precisions) > 0))
    found = (
        f"From {names[0] if names else 'none'} to {names[-1] if names else 'none'} of the data the gap between the "
        f"losses of wrong and right labels goes {_listed(gaps, 2)}, the precision {_listed(precisions, 1)}."
    )
    return Shown(figure, found, rising if len(gaps) > 1 else None)


def _legend(axes: Any) -> None:
    """On the first plot that has something in it."""
    for ax in axes.flat:
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize=7)
            return


def _range(shares: list[float]) -> str:
    return "no run" if not shares else f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"


def _listed(values: list[float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


_ALL = tuple(f"{kind}:{r}" for kind in KINDS for r in LEVELS)
_AT_04 = tuple(f"{kind}:0.4" for kind in KINDS)
_SHARES = (0.25, 0.5, 0.75, 1.0)

PLOTS = (
    Plot("fig2", "Fig. 2: distribution of the mean loss",
         "Where T is not diagonally dominant (pairwise and structured from r = .5 on), wrong labels may have the "
         "smaller losses.", distributions, _ALL),
    Plot("fig3", "Fig. 3: mean loss, class by class",
         "Losses of different classes cannot be compared, least of all under structured noise.", by_class, _AT_04),
    Plot("fig4", "Fig. 4: the loss of each epoch, and the mean so far",
         "The loss of one epoch jumps; the mean of the right label is steadily the smaller one.", pairs, _AT_04),
    Plot("fig4_more", "Fig. 4, the five figures of the appendix", "The same for more pairs.",
         lambda runs: pairs(runs, rows=5, first=1), _AT_04),
    Plot("fig5", "Fig. 5: a quarter to all of the data, uniform noise",
         "A larger training set widens the gap between the losses, and the selection is cleaner.", sizes,
         (f"{UNIFORM}:0.4",), _SHARES),
    Plot("fig5_pairwise", "Appendix B: the same under pairwise noise", "The same.", sizes,
         (f"{PAIRWISE}:0.4",), _SHARES),
    Plot("fig5_structured", "Appendix B: the same under structured noise", "The same.", sizes,
         (f"{STRUCTURED}:0.4",), _SHARES),
)  # fmt: skip
