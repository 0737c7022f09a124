"""What the paper prints: each table as rows (a method and its settings) over cells, with the paper's own figures."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import log
from pathlib import Path
from typing import Any

Printed = Mapping[str, Mapping[str, Mapping[str, float]]]  # measure -> row -> cell -> percent


@dataclass(frozen=True)
class Row:
    """One line of a table. ranked: the precision of a selection of the share 1 - eta by what this run ranked by."""

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    off: float | None = None  # the rates told are wrong by so much
    ranked: str = ""  # over "all" classes, "class" by class, or over all by the "last" epoch's loss

    @property
    def variant(self) -> str:
        """The folder of its runs: rows that train the same share them."""
        told = {name: value if isinstance(value, str) else f"{value:.4g}" for name, value in self.settings.items()}
        said = [f"{name}-{value}" for name, value in told.items()]
        said += [] if self.off is None else [f"rates{self.off:+g}"]
        return "_".join(said) or "as it is"


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    claim: str
    rows: tuple[Row, ...]
    more_cells: tuple[str, ...] = ()  # where the paper prints no figure
    measured_on: str = ""  # the one set of data, where the cells are what is measured on it

    @property
    def printed(self) -> Printed:
        return printed().get(self.name, {})

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.printed) or ("best", "last")

    @property
    def cells(self) -> tuple[str, ...]:
        found = (cell for rows in self.printed.values() for cells in rows.values() for cell in cells)
        return tuple(dict.fromkeys([*found, *self.more_cells]))


@cache
def printed() -> dict[str, Printed]:
    """The figures of the paper, in percent: item -> measure -> row -> cell."""
    return dict(json.loads((Path(__file__).parent / "printed.json").read_text(encoding="utf-8")))


_CE, _RSL, _RSL_WM = Row("Cross Entropy", "cross_entropy"), Row("RSL", "rsl"), Row("RSL_WM", "rsl_wm")
_CO_TEACHING = Row("Co-teaching", "co_teaching")
_SELECTING = (
    _CO_TEACHING,
    Row("Co-teaching+", "co_teaching_plus"),
    Row("INCV", "incv"),
    Row("JoCoR", "jocor"),
)  # fmt: skip
_KAPPAS = {"0": 0.0} | {f"-log({least})": -log(least) for least in (0.9, 0.7, 0.5)}  # as the paper writes them


def _varied(name: str, values: Mapping[str, Any], usual: str) -> tuple[Row, ...]:
    return tuple(Row(said, "rsl_wm", {} if said == usual else {name: value}) for said, value in values.items())


TABLES = {
    one.name: one
    for one in (
        Table(
            "table1", "Table 1: precision of the selection (%)",
            "Mean loss beats the loss of one epoch, and ranking class by class beats ranking all together, most of all "
            "on structured noise.",
            (
                Row("Co-teaching", "co_teaching", ranked="last"), Row("JoCoR", "jocor", ranked="last"),
                Row("Only Mean Loss", "cross_entropy", ranked="all"),
                Row("Our Method", "cross_entropy", ranked="class"),
            ),
        ),
        Table(
            "table2", "Table 2: accuracy on CIFAR-10 (%)",
            "RSL_WM is best in every cell; RSL, which learns from fewer examples than the others, beats most of them.",
            (_CE, Row("L_DMI", "l_dmi"), *_SELECTING, _RSL, _RSL_WM),
        ),
        Table(
            "table3", "Table 3: accuracy on CIFAR-100 (%)",
            "RSL_WM is best, but for pairwise noise at 0.4, where JoCoR selects more.",
            (_CE, Row("Truncated Lq", "truncated_lq"), *_SELECTING, _RSL, _RSL_WM),
        ),
        Table(
            "table4", "Table 4: accuracy on WebVision, 50 classes (%)",
            "RSL_WM is best in every column, and RSL better than the other methods. All at the best epoch.",
            (
                _CE, Row("F-correction", "f_correction"), _CO_TEACHING, Row("MentorNet", "mentornet"),
                Row("D2L", "d2l"), *_SELECTING[1:], _RSL, _RSL_WM,
            ),
            measured_on="webvision",
        ),
        Table(
            "beta", "How much less is kept (beta): accuracy of RSL_WM (%)",
            "Keeping less but cleaner data helps, the more the harder right labels are told from wrong ones.",
            _varied("beta", {said: float(said) for said in ("0", "0.1", "0.2", "0.3")}, "0.2"),
        ),
        Table(
            "gamma", "How far classes may depart from the prior (gamma): accuracy of RSL_WM (%)",
            "Balancing helps; where data abounds, gamma_0 is as good as the middle.",
            _varied("gamma", {"gamma0": 1.0, "middle": "middle", "gamma1": "none"}, "middle"),
        ),
        Table(
            "kappa", "How much uncertain examples weigh less (kappa): accuracy of RSL_WM (%)",
            "Weights above kappa 0 help, larger ones where the selection is less clean.",
            _varied("kappa", _KAPPAS, "-log(0.7)"),
        ),
        Table(
            "rates", "Noise rates that are wrong by so much: accuracy of RSL (%)",
            "Rates that are somewhat wrong hurt little: beta and gamma leave room (the paper argues it, and prints no "
            "figures).",
            tuple(Row(f"{off:+g}", "rsl", off=off or None) for off in (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2)),
            ("cifar10/uniform/0.5",),
        ),
    )
}  # fmt: skip
