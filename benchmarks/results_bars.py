"""What was asked of the estimate, the verdict and the answers, and what the lines of trust.py say: met or missed.

    python benchmarks/results_bars.py [FILE of lines]

Of every bar: what was found on all sets it speaks of, whether that is enough, and the sets that miss it most.
"""

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from results_tools import NOT_COUNTED, Row, made, mean, part

FILE = "trust.jsonl"
SHOWN = 3
SAFE = ("green", "red", "interval")  # what a verdict rests on
FORMER = "the former"  # estimate, which had fitted constants

ASKED = """## What was asked of that, and what was found

Mean over the sets, and the worst of them; in brackets, how many miss it (`benchmarks/results_bars.py` names them).
Audits are simulated, 400 a set, each until its first green (*checked*) or red (*do not trust*); a clumsy person errs in
5 % of the answers and is unsure in 10 %. AP is the average precision of the ranking of what was not answered; *gain*
that above the better of no answers and answers alone.
"""


class Bar(NamedTuple):
    asked: str
    found: str
    met: bool
    worst: str = ""  # sets that miss it, the farthest first
    missed: str = ""  # how many do


def bars(file: str = FILE) -> list[Bar]:
    found = []
    for name, of in PARTS.items():
        rows = part(name, *(["of"] if name == "interval" else []), file=file)
        found += of(rows) if rows else []
    return found


def section() -> str:
    """All that is missed; of what is met, what a verdict rests on; of the replaced estimate a number."""
    own = [bar for bar in bars() if FORMER not in bar.asked]
    history = [bar for bar in bars() if FORMER in bar.asked]
    missed = [f"- {bar.asked}: *{f'{bar.found} {bar.missed}'.strip()}*" for bar in own if not bar.met]
    met = [f"- {bar.asked}: *{bar.found}*" for bar in own if bar.met and any(word in bar.asked for word in SAFE)]
    others = sum(bar.met for bar in own) - len(met)
    behind = sum(not bar.met for bar in history)
    return (
        "\n".join([f"{ASKED}\nMissed:\n", *missed, "\nMet:\n", *met])
        + f"\n- and {others} more\n\nOf {len(history)} bars beside an estimate with fitted constants {behind} are "
        "missed: [why it went all the same](decisions/estimating.md).\n"
        + made("trust.jsonl", part("estimate"))
    )  # fmt: skip


def called(row: Row) -> str:
    return ", ".join(filter(None, [row["name"], row["noise"].replace(":", " "), str(row["seed"])]))


def each(
    asked: str, rows: Iterable[Row], value: Callable[[Row], float], enough: Callable[[float], bool],
    *, least: bool, shown: str = "{:.1%}",
) -> Bar:  # fmt: skip
    """A bar that every set must meet; `least`: the smallest value is the worst."""
    values = sorted(((value(row), called(row)) for row in rows), key=lambda pair: pair[0] if least else -pair[0])
    if not values:
        return Bar(asked, "no set", True)
    missed = [pair for pair in values if not enough(pair[0])]
    some = "; ".join(f"{name}: {shown.format(one)}" for one, name in missed[:SHOWN])
    middle = mean(one for one, _ in values)
    found = f"{shown.format(middle)}, worst {shown.format(values[0][0])}"
    return Bar(asked, found, not missed, some, f"({len(missed)} of {len(values)})" if missed else "")


def _estimate(rows: list[Row]) -> Iterable[Bar]:
    counted = [row for row in rows if row["kind"] not in NOT_COUNTED]
    now, before = ([row["rules"][rule] for row in counted] for rule in ("now", "before"))
    held, width, earlier = (
        mean(one["covered"] for one in now), *(mean(one["high"] - one["low"] for one in some) for some in (now, before))
    )  # fmt: skip
    outside = [called(row) for row in counted if not row["rules"]["now"]["covered"]]
    yield Bar(
        "the interval of the overall rate holds it in 95 %",
        f"{held:.1%} of {len(counted)}", held >= 0.95, "; ".join(outside),
    )  # fmt: skip
    yield Bar("and is no wider than that of the former", f"{width:.3f} : {earlier:.3f}", width <= earlier)
    for kind, slack in (("real", 0.0), ("made", 0.01)):
        some = [row["rules"] for row in rows if row["kind"] == kind]
        for key, sign in (("mae", 1), ("f1", -1)):
            values = {rule: mean(one[rule][key] for one in some) for rule in ("now", "before", "cleanlab")}
            beside = ("before", "cleanlab") if kind == "real" else ("before",)
            what = "error per label" if key == "mae" else "F1 of the flags"
            asked = "better than the former and cleanlab" if kind == "real" else "near the former"
            yield Bar(
                f"{what}, {kind} noise, now, before, cleanlab: {asked}",
                " : ".join(f"{value:.3f}" for value in values.values()),
                all(sign * (values["now"] - values[rule]) <= slack for rule in beside),
            )
    yield from _kept(rows)
    for name, most in (("clean, able", lambda row: 0.05), ("clean, weak", _excused)):
        what = "5 %" if name == "clean, able" else "what the interval excuses"
        yield each(
            f"{name}, none flagged beyond {what}", [row for row in rows if row["group"] == name],
            lambda row, most=most: row["rules"]["now"]["flagged"] - most(row), lambda x: x <= 1e-9, least=False,
            shown="{:+.1%}",
        )  # fmt: skip


def _excused(row: Row) -> float:
    """What a weak network may flag on clean data: as much as before, or all if the interval reaches down to 0."""
    before = row["rules"].get("before", {}).get("flagged", 0.0)
    return float(1.0 if row["rules"]["now"]["low"] <= 0.005 else max(0.05, before))


def _kept(rows: list[Row]) -> Iterable[Bar]:
    counted = [row for row in rows if row["kind"] not in NOT_COUNTED and "before" in row["rules"]]
    yield each(
        "kept: 95 % of the former", counted,
        lambda row: row["rules"]["now"]["kept"] / max(row["rules"]["before"]["kept"], 1), lambda x: x >= 0.95,
        least=True,
    )  # fmt: skip
    both = [row for row in counted if None not in (row["rules"][rule]["precision"] for rule in ("now", "before"))]
    yield each(
        "at no lower precision than of the former", both,
        lambda row: row["rules"]["now"]["precision"] - row["rules"]["before"]["precision"], lambda x: x >= -1e-9,
        least=True, shown="{:+.2%}",
    )  # fmt: skip


def _verdict(rows: list[Row]) -> Iterable[Bar]:
    checked = [called(row) for row in rows if row["word"] == "checked"]
    yield Bar("without answers, none is green", f"{len(checked)} of {len(rows)}", not checked, "; ".join(checked))
    shuffled = [row for row in rows if row["kind"] == "shuffled"]
    missed = [called(row) for row in shuffled if row["tone"] != "red"]
    yield Bar(
        "shuffled labels are red", f"{len(shuffled) - len(missed)} of {len(shuffled)}", not missed, "; ".join(missed)
    )
    right = [row for row in rows if row["precision"] is not None and row["precision"] >= 0.95]
    red = [called(row) for row in right if row["tone"] == "red"]
    yield Bar("where 95 % of the kept are right, none is red", f"{len(red)} of {len(right)}", not red, "; ".join(red))


def _audits(rows: list[Row]) -> Iterable[Bar]:
    for person, who in (("knows", "audit"), ("slips", "clumsy audit")):
        for name, key, enough, least, words in (
            ("truth + .001", "green", lambda x: x <= 0.05, False, ".1 point above the truth, green in at most 5 %"),
            ("truth - .05", "green", lambda x: x >= 0.75, True, "5 points below, green in 75 %"),
            ("truth + .10", "red within 200", lambda x: x >= 0.8, True, "10 above, red within 200 answers in 80 %"),
        ):
            some = [row for row in rows if name in row[person]]
            yield each(
                f"{who}, promise {words}", some,
                lambda row, person=person, name=name, key=key: row[person][name][key], enough, least=least,
            )  # fmt: skip


def _interval(rows: list[Row]) -> Iterable[Bar]:
    yield each(
        "an interval looked at after each answer misses at most 5 %", rows, lambda row: row["missed"],
        lambda x: x <= 0.05, least=False,
    )  # fmt: skip
    whole = [row for row in rows if row["of"] == "all"]
    share = mean(_saved(row) for row in whole)
    yield Bar("asking by strata takes .85 of the answers", f"{share:.2f}", share <= 0.85)
    yield each("and never above 1.1", whole, _saved, lambda x: x <= 1.1, least=False, shown="{:.2f}")


def _saved(row: Row) -> float:
    return float(row["answers"] / row["answers without the score"])


def _rates(rows: list[Row]) -> Iterable[Bar]:
    """Of all seeds of a set together."""
    sets: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        sets.setdefault((row["name"], row["noise"]), []).append(row)
    for way in ("60", "60 + 200 suspicious"):
        yield each(
            f"the rate after {way} answers holds in 88 %",
            [some[0] | {"seed": "", "holds": mean(row[way]["holds"] for row in some)} for some in sets.values()],
            lambda row: row["holds"], lambda x: x >= 0.88, least=True,
        )  # fmt: skip


def _teach(rows: list[Row]) -> Iterable[Bar]:
    for way, goal in (("60", 0.77), ("200", 0.80)):
        comments = [row for row in rows if row["family"] == "YouTube comments"]
        yield each(
            f"AP on YouTube comments after {way} answers at least {goal}", comments,
            lambda row, way=way: _ap(row, way, "taught"), lambda x, goal=goal: x >= goal, least=True, shown="{:.3f}",
        )  # fmt: skip
    for way in ("60", "200", "60 + 200 suspicious", "200 suspicious"):
        yield each(
            f"gain by {way} answers at least -.01",
            [row for row in rows if way in row],
            lambda row, way=way: _ap(row, way, "taught")
            - max(_ap(row, way, "untaught"), _ap(row, way, "answers alone")),
            lambda x: x >= -0.01, least=True, shown="{:+.3f}",
        )  # fmt: skip
    yield each(
        "rounds of teaching, promise a point above the truth, green in at most 5 %",
        [row for row in rows if "rounds" in row], lambda row: max(row["rounds"]), lambda x: x <= 0.05, least=False,
    )  # fmt: skip


def _ap(row: Row, way: str, which: str) -> float:
    return mean(one[which] for one in row[way])


def _accuracy(rows: list[Row]) -> Iterable[Bar]:
    for some, who in ((rows, "all sets"), ([r for r in rows if r["kind"] not in NOT_COUNTED], "no rule or shuffling")):
        found = [row[network] for row in some for network in ("cross_entropy", "rsl")]
        held, off = mean(one["holds"] for one in found), mean(abs(one["value"] - one["truth"]) for one in found)
        yield Bar(f"accuracy without answers, {who}, bounds hold in 90 %", f"{held:.1%}", held >= 0.9)
        yield Bar(f"accuracy without answers, {who}, off by at most 3", f"{100 * off:.1f}", off <= 0.03)
    able = [row[network] for row in rows if row["error"] <= 0.15 for network in ("cross_entropy", "rsl")]
    width = mean(one["high"] - one["low"] for one in able)
    yield Bar("accuracy without answers, able, bounds .12 wide", f"{width:.3f}", width <= 0.12)
    answered = [row[network]["answered"] for row in rows for network in ("cross_entropy", "rsl")]
    width, held = (mean(one[key] for one in answered) for key in ("width", "holds"))
    yield Bar("accuracy after 60 answers, bounds .15 wide", f"{width:.3f}, hold in {held:.1%}", width <= 0.15)


def _shipped(rows: list[Row]) -> Iterable[Bar]:
    gain, best = mean(row["gain"] for row in rows), mean(row["best"] for row in rows)
    yield Bar(
        "shipped, on the mean at most .3 below cross entropy",
        f"{100 * gain:+.2f}; the better one in {best:.0%}", gain >= -0.003,
    )  # fmt: skip
    yield each(
        "shipped, never more than 1 below cross entropy", rows,
        lambda row: row["gain"], lambda x: x >= -0.01, least=True, shown="{:+.1%}",
    )  # fmt: skip
    some = [row for row in rows if "rsl before" in row["truth"]]
    less = mean(row["truth"]["rsl"] - row["truth"]["rsl before"] for row in some)
    yield Bar("RSL: at most .3 below RSL by the former", f"{100 * less:+.2f}", less >= -0.003)


PARTS: dict[str, Callable[[list[Row]], Iterable[Bar]]] = {
    "verdict": _verdict, "estimate": _estimate, "audits": _audits, "interval": _interval, "rates": _rates,
    "teach": _teach, "accuracy": _accuracy, "shipped": _shipped,
}  # fmt: skip


if __name__ == "__main__":
    for bar in bars(*sys.argv[1:2]):
        print(f"{'met   ' if bar.met else 'MISSED'}  {bar.asked}: {bar.found}{f'  [{bar.worst}]' if bar.worst else ''}")
