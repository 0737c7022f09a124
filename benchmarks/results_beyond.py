"""Sections of docs/results.md on what the paper leaves open: noise rates nobody knows, and people's own data."""

from collections import defaultdict
from typing import Any

from results_tools import latest, lines, made, table

CLEANLAB = "cleanlab prune_by_noise_rate"  # find_label_issues as it is when nothing is chosen


def by_cell(rows: list[dict[str, Any]], name: str) -> dict[str, dict[str, list[dict[str, Any]]]]:
    found: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["cell"]][row[name]].append(row)
    return found


def each(rows: list[dict[str, Any]], key: str, digits: int) -> str:
    """One figure per seed."""
    ordered = sorted(rows, key=lambda row: row["seed"])
    return " / ".join(f"{row[key]:.{digits}f}" for row in ordered) or "–"


def estimation() -> str:
    on_gpu, on_cpu = (
        latest([{"evidence": "mean margin"} | row for row in lines(name)], "cell", "estimator", "seed", "evidence")
        for name in ("estimation.jsonl", "estimation_cpu.jsonl")
    )
    head = ["cell", "error, ours", "before", "confident joint", "coverage of 90 %", "before", "width", "before"]
    head += ["F1, ours", "before", "cleanlab"]
    kept = [
        [name, *(each(rows[when], key, digits) for key, digits in
                 (("selected", 0), ("selected_precision", 3)) for when in ("now", "before"))]
        for name, rows in _by_time(on_gpu + on_cpu).items()
    ]  # fmt: skip
    return (
        "## Estimated noise rates (`estimation.jsonl`, `estimation_cpu.jsonl`)\n\nMean absolute error of the rate per "
        "observed class, truth being the realised share; the intervals' coverage of the classes and mean width; F1 of "
        "`is_label_issue` beside cleanlab's `find_label_issues` on the same probabilities; `before`: by the estimate "
        "that this one replaced. On a GPU, stage 1 and two half-trainings of `fast`:\n\n"
        + table(head, _estimates(on_gpu))
        + "\n" + made(on_gpu)
        + "\nFashion-MNIST, 45,000 examples, two-fold small networks (76-89 % accurate), a figure per seed; "
        "`instance`, `hard` and `soft` noise depends on the example:\n\n"
        + table(head, _estimates(on_cpu))
        + "\nHow many are kept with the estimated rates, and the share of them that is right:\n\n"
        + table(["cell", "kept", "before", "precision", "before"], kept)
        + "\n" + made(on_cpu)
    )  # fmt: skip


def _by_time(rows: list[dict[str, Any]]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Of each cell what our estimate gave: now, and the last of those before it."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        if row["estimator"] == "ours":
            times = found.setdefault(row["cell"], {"now": [], "before": []})
            times["now" if row["evidence"] == "counts" else "before"].append(row)
    for times in found.values():
        times["before"] = latest(times["before"], "seed")
    return found


def _estimates(rows: list[dict[str, Any]]) -> list[list[str]]:
    peers, figures = by_cell(rows, "estimator"), (("mae", 3), ("coverage", 1), ("width", 2), ("f1", 2))
    body = []
    for name, ours in _by_time(rows).items():
        line = [[each(ours[when], key, digits) for when in ("now", "before")] for key, digits in figures]
        line[0].append(each(latest(peers[name]["confident joint"], "seed"), "mae", 3))
        line[3].append(each(latest(peers[name][CLEANLAB], "seed"), "f1", 2))
        body.append([name, *(cell for group in line for cell in group)])
    return body


def weak_networks() -> str:
    everything = lines("weak_networks.jsonl")
    before = {row["cell"]: row for row in everything if "believed" in row}
    now = {row["cell"]: row for row in everything if "believed" not in row}
    cells = [
        [name, f"{row['n']:,}", f"{row['true']:.2f}", f"{row['estimated']:.2f} ({row['low']:.2f} to {row['high']:.2f})",
         f"{old['estimated']:.2f} ({old['low']:.2f} to {old['high']:.2f})",
         *(f"{_share(one, 'precision')} / {_share(one, 'recall')}" for one in (row, old)),
         *(f"{one['kept']:,}" for one in (row, old)), *(f"{100 * one['kept_precision']:.1f}" for one in (row, old)),
         *(f"{one['test']:.1f}" if "test" in one else "–" for one in (row, old))]
        for name, row, old in ((name, row, before[name]) for name, row in now.items() if name in before)
    ]  # fmt: skip
    head = ["cell", "n", "true rate", "estimated", "before", "likely wrong", "before", "kept", "before"]
    return (
        "## Weak networks (`weak_networks.jsonl`)\n\nFew pictures, or features that hardly tell the classes apart, "
        "rates unknown: the rate over all labels with its 90 % interval; precision / recall (%) of the likely wrong; "
        "how many are kept, and how many of these are right (%); RSL's test accuracy (%). "
        "`before`: by the estimate that this one replaced. Mean error of the rate "
        f"{_error(list(now.values()), 'estimated')}, before {_error(list(before.values()), 'estimated')}.\n\n"
        + table([*head, "precision", "before", "test", "before"], cells)
        + "\n" + made(list(now.values()))
    )  # fmt: skip


def _error(rows: list[dict[str, Any]], key: str) -> str:
    return f"{sum(abs(row[key] - row['true']) for row in rows) / max(len(rows), 1):.3f}"


def _share(row: dict[str, Any], key: str) -> str:
    return "–" if row[key] is None else f"{100 * row[key]:.0f}"


def folders() -> str:
    rows = latest(lines("folder.jsonl"), "set", "known", "seed")
    cells = [
        [f"{row['files']:,} {row['set']} png", row["known"], f"{row['kept_precision']:.2f}", f"{row['kept']:,}",
         f"{row['issue_precision']:.1f} / {row['issue_recall']:.1f}", f"{row['seconds']:.0f}", str(row["threads"]),
         f"{row['load_before']:.1f}"]
        for row in rows
    ]  # fmt: skip
    head = ["folder", "known of the noise", "kept precision", "kept", "likely wrong: precision / recall", "seconds"]
    return (
        "## A folder of pictures, as a new user would (`folder.jsonl`)\n\n`smallloss clean FOLDER --out run`, "
        "structured noise at .3.\n\n"
        + table([*head, "threads", "load before"], cells) + "\n" + made(rows)
    )  # fmt: skip


def frozen() -> str:
    everything = lines("frozen_features.jsonl")
    rows = latest([row for row in everything if "all_epochs" in row], "cell", "view")
    runs = latest([row for row in everything if "known" in row], "cell", "view", "known")
    cells = [
        [row["cell"], row["view"], f"{row['features']:,}", row["net"],
         *(f"{row[window][score]:.2f}" for window in ("all_epochs", "second_half")
           for score in ("mean_loss", "mean_margin")), f"{row['test']:.1f}"]
        for row in rows
    ]  # fmt: skip
    cleaned = [
        [row["view"], row["known"], f"{row['kept_precision']:.2f}", f"{row['kept']:,}", f"{row['seconds']:.0f}",
         f"{row['seconds_embedding']:.0f}"]
        for row in runs
    ]  # fmt: skip
    head = ["cell", "the net sees", "inputs", "net", "mean loss", "mean margin", "mean loss, second half"]
    return (
        "## Does the criterion hold on frozen features? (`frozen_features.jsonl`)\n\n20,000 CIFAR-10 pictures, preset "
        "`cpu`: precision (%) at the share 1 - η_i, class by class, and the accuracy of the net on the test set.\n\n"
        + table([*head, "mean margin, second half", "test"], cells)
        + "\n`smallloss clean FOLDER --features FILE --out run` on the 20,000 png files, structured .3, two cores:\n\n"
        + table(["features", "known of the noise", "kept precision", "kept", "seconds", "of embedding before"], cleaned)
        + "\n" + made(rows + runs)
    )  # fmt: skip


def demos() -> str:
    rows = latest(lines("tables_and_texts.jsonl"), "cell", "method", "seed")
    ways = list(dict.fromkeys(row["method"] for row in rows))
    cells = []
    for name, found in by_cell(rows, "method").items():
        mean = [
            [sum(row[key] for row in found[way]) / len(found[way]) for key in ("issue_precision", "issue_recall")]
            for way in ways
        ]
        cells.append([name, *(f"{100 * precision:.0f} / {100 * recall:.0f}" for precision, recall in mean)])
    return (
        "## Texts and tables (`tables_and_texts.jsonl`)\n\nPrecision / recall (%) of the injected wrong labels among "
        "`is_label_issue`, rates unknown, mean of three seeds; cleanlab's `find_label_issues` on the same features "
        "with cross-validated predictions.\n\n"
        + table(["demo / noise", *ways], cells) + "\n" + made(rows)
    )  # fmt: skip
