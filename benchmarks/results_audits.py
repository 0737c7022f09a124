"""Sections of docs/results.md on answers by hand: audits, their interval, accuracy by true labels, what is shipped."""

from collections.abc import Callable

from results_tools import latest, lines, made, table
from results_trust_tools import Row, grouped, mean, part

PROMISES = (".95", "truth + .001", "truth - .05", "truth + .10")
PERSONS = {"knows": "knows", "slips": "5 % wrong, 10 % unsure"}


def audits() -> str:
    rows = part("audits")
    if not rows:
        return ""
    body = []
    for person, called in PERSONS.items():
        for name in PROMISES:
            found = [row[person][name] for row in rows if name in row[person]]
            decided = [one["answers"] for one in found if one["answers"]]
            body.append([
                called, name, str(len(found)), *(_mean_and(found, key, worst) for key, worst in (
                    ("green", min if name == "truth - .05" else max), ("red within 200", min))),
                f"{100 * mean(one['undecided'] for one in found):.1f}",
                " / ".join(f"{mean(one[k] for one in decided):.0f}" for k in (0, 1)),
            ])  # fmt: skip
    head = ["the person", "promise", "sets", "green (worst set)", "red within 200 (least)", "undecided after 400"]
    return (
        "## Simulated audits of what is kept (`trust.jsonl`)\n\nEach of 400 a set stops at the first green or red; "
        "shares of audits (%), mean over the sets. At `truth + .001` green is a mistake (the worst set is the one with "
        "the most), at `truth - .05` it is earned (the worst has the fewest); answers until decided, median / 90 %, "
        "mean over the sets:\n\n"
        + table([*head, "answers"], body)
        + "\n" + made(rows)
    )  # fmt: skip


def _mean_and(found: list[Row], key: str, worst: Callable[..., float]) -> str:
    values = [100 * one[key] for one in found]
    return f"{mean(values):.1f} ({worst(values):.1f})"


def interval() -> str:
    rows = part("interval", "of")
    if not rows:
        return ""
    names = list(dict.fromkeys((row["name"], row["noise"]) for row in rows))
    body, shares = [], []
    for name, noise in names:
        mine = [row for row in rows if (row["name"], row["noise"]) == (name, noise)]
        whole, kept = ([row for row in mine if row["of"] == of] for of in ("all", "kept"))
        with_score, without = (mean(row[key] for row in whole) for key in ("answers", "answers without the score"))
        shares.append(with_score / without)
        body.append([
            f"{name}, {noise}", *(f"{100 * (1 - max(row['missed'] for row in some)):.1f}" if some else "–"
                                  for some in (whole, kept)),
            f"{with_score:.0f}", f"{without:.0f}", f"{shares[-1]:.2f}",
        ])  # fmt: skip
    return (
        "## The interval that holds at every look (`trust.jsonl`)\n\nHow often (%) the 95 % interval holds the truth "
        "at all looks up to 300 answers, of 2,000 audits of each real set and seed (the worst seed), on all its "
        "examples and on what is kept; answers (median) until it is .15 wide on all examples, with the label scores "
        f"and with one score for all. On the mean {mean(shares):.2f} of the answers:\n\n"
        + table(["set", "holds, all", "holds, kept", "answers", "without the score", "share"], body)
        + "\n" + made(rows)
    )  # fmt: skip


def accuracy() -> str:
    rows = part("accuracy")
    if not rows:
        return ""
    body = []
    for name, members in grouped(rows).items():
        found = [row[network] for row in members for network in ("cross_entropy", "rsl")]
        answered = [one["answered"] for one in found]
        body.append([
            name, str(len(found)), f"{100 * mean(one['holds'] for one in found):.1f}",
            f"{100 * mean(one['high'] - one['low'] for one in found):.1f}",
            f"{100 * mean(abs(one['value'] - one['truth']) for one in found):.1f}",
            f"{100 * mean(abs(one['by given labels'] - one['truth']) for one in found):.1f}",
            *(f"{100 * mean(one[key] for one in answered):.1f}" for key in ("holds", "width", "off")),
        ])  # fmt: skip
    head = ["sets", "networks", "bounds hold", "width", "point is off by", "by given labels, off by"]
    return (
        "## Accuracy by true labels (`trust.jsonl`)\n\nOf cross entropy and RSL on what is held out, in points: bounds "
        "and point without answers, then after 60 answers on held-out examples:\n\n"
        + table([*head, "60 answers: hold", "width", "off by"], body)
        + "\n" + made(rows)
    )  # fmt: skip


def shipped() -> str:
    rows = part("shipped")
    if not rows:
        return ""
    body = [
        [name, str(len(members)), *(f"{100 * value:+.2f}" for value in (
            *(mean(row["truth"][network] - row["truth"]["cross_entropy"] for row in members if network in row["truth"])
              for network in ("rsl", "rsl before")),
            mean(row["gain"] for row in members), min(row["gain"] for row in members))),
         f"{100 * mean(row['best'] for row in members):.0f}"]
        for name, members in grouped(rows).items()
    ]  # fmt: skip
    return (
        "## What is shipped (`trust.jsonl`)\n\nTrue accuracy on what is held out, in points above plain cross entropy: "
        "RSL, on what is kept now and before, what the run ships, and the set that loses most by it (of some, 30 "
        "examples are held out, and one is 3 points); how often (%) the one shipped is the truly better:\n\n"
        + table(["sets", "how many", "RSL", "RSL, before", "shipped", "worst set", "the better one"], body)
        + "\n" + made(rows) + "\n" + _on_others()
    )  # fmt: skip


def _on_others() -> str:
    rows = latest(lines("trust_shipped.jsonl"), "name", "noise", "seed")
    body = []
    for kind in ("clean", "made", "function of the input", "shuffled"):
        some = [row for row in rows if row["kind"] == kind]
        body.append([kind, str(len(some))])
        for rule in ("now", "ties to rsl", "rsl"):
            chosen = [row["chosen"].get(rule, rule) for row in some]
            gains = [row["truth"][name] - row["truth"]["cross_entropy"] for row, name in zip(some, chosen, strict=True)]
            harm = sum(gain < -0.01 for gain in gains)
            body[-1].append(f"{100 * mean(gains):+.2f} / {100 * min(gains, default=0):+.1f} / {harm}")
    return (
        "Those were chosen on the examples that judge them, and each tie went to RSL. By true labels of 300 to 2,400 "
        "examples that had no part in the choice (`trust_shipped.jsonl`), points above plain cross entropy on the mean "
        "/ of the worst set / sets more than 1 point below, as ties go now (to RSL unless cross entropy got more "
        "right), as they went, and with RSL always:\n\n"
        + table(["sets", "how many", "now", "ties to RSL", "RSL"], body)
        + "\n" + made(rows)
    )  # fmt: skip


SECTIONS = (audits, interval, accuracy, shipped)
