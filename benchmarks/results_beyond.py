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
    on_gpu = [{"evidence": "mean margin"} | row for row in lines("estimation.jsonl")]
    on_gpu = latest(on_gpu, "cell", "estimator", "seed", "evidence")
    now = [row for row in on_gpu if row["evidence"] == "last predictions"]
    before = [row for row in on_gpu if row["cell"] not in {one["cell"] for one in now}]
    on_cpu = latest(lines("estimation_cpu.jsonl"), "cell", "estimator", "seed")
    head = ["cell", "error, ours", "error, confident joint", "coverage of 90 %", "width", "F1, ours", "F1, cleanlab"]
    kept = [
        [row["cell"], f"{100 * row['selected_precision']:.2f}",
         f"{100 * row['selected_precision_with_true_rates']:.2f}", f"{row['selected']:,}",
         f"{row['selected_with_true_rates']:,}", f"{row['cost']:.2f}"]
        for row in now + before if row["estimator"] == "ours"
    ]  # fmt: skip
    return (
        "## Estimated noise rates (`estimation.jsonl`, `estimation_cpu.jsonl`)\n\nMean absolute error of the rate per "
        "observed class, truth being the realised share; the intervals' coverage of the classes and mean width; F1 of "
        "`is_label_issue` beside cleanlab's `find_label_issues` on the same probabilities. Stage 1 and two "
        "half-trainings of `fast`. On CIFAR-100, whose half-trainings are right for 48 to 61 % of the examples, the "
        "network is called too weak, and the intervals reach down to 0:\n\n"
        + table(head, _estimates(now))
        + "\nMeasured before, with the mean margin of stage 1 as evidence in place of its last predictions:\n\n"
        + table(head, _estimates(before))
        + "\nPrecision of what is kept, with the estimated rates and with the true ones, how many that are, and what "
        "stage 1 with the half-trainings costs beside stage 1 alone:\n\n"
        + table(["cell", "precision, estimated", "with true rates", "kept, estimated", "with true rates", "cost"], kept)
        + "\n" + made(now + before)
        + "\nFashion-MNIST, 45,000 examples, two-fold small networks (76-89 % accurate), seeds 2 / 3; `instance`, "
        "`hard` and `soft` noise depends on the example:\n\n"
        + table(head, _estimates(on_cpu))
        + "\n" + made(on_cpu)
    )  # fmt: skip


def weak_networks() -> str:
    rows = latest(lines("weak_networks.jsonl"), "cell", "seed")
    doubted, sure = ([row for row in rows if row["weak"] is weak] for weak in (True, False))
    cells = [
        [row["cell"], f"{row['n']:,}", f"{row['true']:.2f}", f"{row['counted']:.2f}", f"{row['estimated']:.2f}",
         *(f"{_share(row, key + 'precision')} / {_share(row, key + 'recall')}" for key in ("counted_", "")),
         *(f"{row[key]:.1f}" if key in row else "–" for key in ("counted_test", "test"))]
        for row in doubted
    ]  # fmt: skip
    head = ["cell", "n", "true rate", "counted", "believed", "likely wrong: counted", "likely wrong: believed"]
    return (
        "## Weak networks (`weak_networks.jsonl`)\n\nFew pictures, or features that hardly tell the classes apart, "
        "rates unknown, preset `cpu`, one thread: the rate over all labels as it is counted, and as it is believed "
        "where the network contradicts labels that are surely right; precision / recall (%) of what is then called "
        "likely wrong; and RSL's test accuracy (%) after either. Shown are the cells in which the network is called "
        f"too weak; mean error of the rate there: counted {_error(doubted, 'counted')}, believed "
        f"{_error(doubted, 'estimated')}. In the other {len(sure)} cells nothing changes, and it is "
        f"{_error(sure, 'estimated')}.\n\n"
        + table([*head, "test: counted", "test: believed"], cells)
        + "\n" + made(rows)
    )  # fmt: skip


def _error(rows: list[dict[str, Any]], key: str) -> str:
    return f"{sum(abs(row[key] - row['true']) for row in rows) / len(rows):.3f}"


def _share(row: dict[str, Any], key: str) -> str:
    return "–" if row[key] is None else f"{100 * row[key]:.0f}"


def _estimates(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [name, each(found["ours"], "mae", 3), each(found["confident joint"], "mae", 3),
         each(found["ours"], "coverage", 1), each(found["ours"], "width", 2), each(found["ours"], "f1", 2),
         each(found[CLEANLAB], "f1", 2)]
        for name, found in by_cell(rows, "estimator").items()
    ]  # fmt: skip


def verdicts() -> str:
    rows = latest(lines("verdicts.jsonl"), "cell", "seed")
    cells = [
        [row["cell"], str(row["seed"]), str(row["audits"]), f"{100 * row['kept_precision']:.1f}",
         row["without_answers"], *(f"{100 * row[key]:.2f}" for key in ("trust", "caution", "do_not_trust"))]
        for row in rows
    ]  # fmt: skip
    head = ["cell", "seed", "audits", "kept precision", "without answers", "trust", "caution", "do not trust"]
    return (
        "## The verdict with a 60-answer audit (`verdicts.jsonl`)\n\nShare (%) of simulated audits, each 40 kept "
        "and 20 dropped examples answered by the truth, that end in each verdict; before them the true precision of "
        "what is kept and the verdict without answers. CIFAR-10 uniform .3 and .7, pairwise and structured .2 rest on "
        "the earlier evidence (above).\n\n"
        + table(head, cells)
        + "\n" + made(rows)
    )  # fmt: skip


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
        "structured noise at .3; the load is that of the machine when the run began.\n\n"
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
