"""Sections of docs/results.md on what is said of labels whose noise nobody knows, from the lines of trust.py."""

from collections.abc import Iterable

import results_audits
from results_tools import made, table
from results_trust_tools import NOT_COUNTED, Row, grouped, part

RULES = (
    "now", "now, two splits", "before", "cleanlab", "prediction is not the label",
    "the true shares",
)  # fmt: skip
WORDS = ("unchecked", "checked", "do not trust")


def trust() -> str:
    sections = [section() for section in (_estimate, _verdict, _whole, *results_audits.SECTIONS)]
    return "\n".join(section for section in sections if section)


def _estimate() -> str:
    rows = part("estimate")
    if not rows:
        return ""
    groups = grouped(rows)
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
        + f"\nTraining for the estimate, beside plain training: {_cost(rows):.2f} times as long on the mean.\n"
        + "\n" + made(rows)
    )  # fmt: skip


def _verdict() -> str:
    rows = part("verdict")
    if not rows:
        return ""
    body = [
        [name, str(len(members)), *(str(sum(row["word"] == word for row in members)) for word in WORDS),
         *(f"{100 * one(row['precision'] for row in members if row['precision'] is not None):.1f}"
           for one in (min, max))]
        for name, members in grouped(rows).items()
    ]  # fmt: skip
    right = [row for row in rows if row["precision"] is not None and row["precision"] >= 0.95]
    return (
        "## The verdict without answers (`trust.jsonl`)\n\nHow many sets it is said of, and the share (%) of right "
        "ones among what is kept, from the worst set to the best. Of the "
        f"{len(right)} sets of whose kept labels 95 % or more are right, "
        f"{sum(row['tone'] == 'red' for row in right)} are red:\n\n"
        + table(["sets", "how many", *WORDS, "right, least", "most"], body)
        + "\n" + made(rows)
    )  # fmt: skip


def _whole() -> str:
    found = {name: part(name, file="trust_gpu.jsonl") for name in ("estimate", "verdict", "shipped")}
    if not found["estimate"]:
        return ""
    body = []
    for said, verdict, shipped in zip(*(sorted(rows, key=lambda row: row["name"] + row["noise"])
                                        for rows in found.values()), strict=True):  # fmt: skip
        now, truth = said["rules"]["now"], shipped["truth"]
        f1 = (f"{said['rules'][rule]['f1']:.3f}" for rule in ("now", *RULES[3:5]))
        body.append([
            f"{said['name']}, {said['noise']}", f"{100 * said['wrong']:.1f}",
            f"{100 * now['overall']:.1f} ({100 * now['low']:.0f} to {100 * now['high']:.0f})", f"{now['mae']:.3f}",
            " / ".join(f1), f"{verdict['kept']:,}, {100 * verdict['precision']:.1f}", verdict["word"],
            f"{100 * truth['cross_entropy']:.1f} / {100 * truth['rsl']:.1f}, {shipped['shipped']}",
        ])  # fmt: skip
    head = [
        "set", "wrong, %", "found, with its interval", "mean error per label", "F1, ours / cleanlab / not predicted",
        "kept, right (%)", "verdict", "true accuracy, cross entropy / RSL, shipped",
    ]  # fmt: skip
    return "## Whole sets on a GPU (`trust_gpu.jsonl`)\n\n" + table(head, body) + "\n" + made(found["estimate"])


def _mean(rows: list[Row], rule: str, key: str) -> float:
    values = [_value(row["rules"][rule], key) for row in rows]
    return sum(values) / len(values)


def _value(found: Row, key: str) -> float:
    return float(found["high"] - found["low"] if key == "width" else found[key])


def _three(rows: list[Row], rule: str, *, shows_f1: bool) -> str:
    last = "f1" if shows_f1 else "flagged"
    return " / ".join(f"{_mean(rows, rule, key):.3f}" for key in ("mae", "off", last))


def _cost(rows: list[Row]) -> float:
    """Seconds of stage 1 and the two halves for each second of stage 1."""
    times = [row["seconds"] for row in rows if "seconds" in row]
    return sum(1 + one["halves"] / one["stage1"] for one in times) / len(times)


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
