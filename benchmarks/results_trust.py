"""Sections of docs/results.md on what is said of labels whose noise nobody knows, from the lines of trust.py."""

from collections.abc import Iterable
from typing import Any

from results_tools import latest, lines, made, table

RULES = (
    "now", "now, two splits", "before", "cleanlab", "prediction is not the label",
    "the true shares",
)  # fmt: skip
NOT_COUNTED = ("shuffled", "function of the input")  # in the coverage of intervals: nothing can be known of them

Row = dict[str, Any]


def part(name: str) -> list[Row]:
    rows = [row for row in lines("trust.jsonl") if row["part"] == name]
    return latest(rows, "name", "noise", "seed")


def trust() -> str:
    sections = [section() for section in (_estimate,)]
    return "\n".join(section for section in sections if section)


def _estimate() -> str:
    rows = part("estimate")
    if not rows:
        return ""
    groups = _groups(rows)
    head = ["rule", *(f"{name} ({len(members)})" for name, members in groups.items())]
    body = [
        [rule, *(_three(members, rule, shows_f1="clean" not in name) for name, members in groups.items())]
        for rule in RULES
    ]
    counted = [row for row in rows if row["kind"] not in NOT_COUNTED]
    intervals = [
        [rule, *(f"{_mean(counted, rule, key):.3f}" for key in ("covered", "width", "covered_per_label",
                                                                "width_per_label"))]
        for rule in RULES[:3]
    ]  # fmt: skip
    return (
        "## The estimate on the cells (`trust.jsonl`)\n\nSets with real and made wrong labels (`trust_sets.py`), the "
        "networks of a run and what they say of examples they have not seen. Mean error of the rate per label / of "
        "the overall rate / F1 of what is called likely wrong (on clean labels, the share flagged). `before`: the "
        "estimate that this one replaced, on the same networks; able: they err on at most 15 %:\n\n"
        + table(head, body)
        + "\nBy family of sets; `chosen on the others`: of six rules on the same counts the one with the least error "
        "on all other families, so that no family chose what it is judged by:\n\n"
        + table(["family", "now", *RULES[2:5], "chosen on the others", "which"], list(_families(rows)))
        + "\nThe 90 % interval of the overall rate, and those of the labels, over the "
        f"{len(counted)} sets whose labels were not shuffled and not made by a rule of the input:\n\n"
        + table(["estimate", "covers the overall rate", "width", "covers a label's rate", "width"], intervals)
        + "\nWhat is kept, as many beside before, and how many of them are right (%):\n\n"
        + table(["sets", "kept, now : before", "precision, now", "before"], list(_kept(groups)))
        + "\n" + made(rows)
    )  # fmt: skip


def _groups(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["kind"] in NOT_COUNTED, row["group"])):
        found.setdefault(row["group"], []).append(row)
    return found


def _mean(rows: list[Row], rule: str, key: str) -> float:
    values = [_value(row["rules"][rule], key) for row in rows]
    return sum(values) / len(values)


def _value(found: Row, key: str) -> float:
    return float(found["high"] - found["low"] if key == "width" else found[key])


def _three(rows: list[Row], rule: str, *, shows_f1: bool) -> str:
    last = "f1" if shows_f1 else "flagged"
    return " / ".join(f"{_mean(rows, rule, key):.3f}" for key in ("mae", "off", last))


def _families(rows: list[Row]) -> Iterable[list[str]]:
    counted = [row for row in rows if row["kind"] != "shuffled"]
    candidates = [name for name in counted[0]["rules"] if name.startswith("rule: ")]
    for family in sorted({row["family"] for row in counted}):
        mine = [row for row in counted if row["family"] == family]
        others = [row for row in counted if row["family"] != family]
        chosen = min(candidates, key=lambda rule: _mean(others, rule, "mae"))
        yield [
            f"{family} ({len(mine)})",
            *(_three(mine, rule, shows_f1=True) for rule in ("now", *RULES[2:5], chosen)),
            chosen.removeprefix("rule: "),
        ]


def _kept(groups: dict[str, list[Row]]) -> Iterable[list[str]]:
    for name, rows in groups.items():
        ratios = [row["rules"]["now"]["kept"] / max(row["rules"]["before"]["kept"], 1) for row in rows]
        precision = []
        for rule in ("now", "before"):
            known = [row["rules"][rule]["precision"] for row in rows if row["rules"][rule]["precision"] is not None]
            precision.append(f"{100 * sum(known) / len(known):.2f}")
        yield [f"{name} ({len(rows)})", f"{sum(ratios) / len(ratios):.3f}", *precision]
