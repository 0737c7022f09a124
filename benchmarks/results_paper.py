"""Sections of docs/results.md that have a figure of the paper, or of the prototype, beside them."""

import re
from collections import defaultdict
from typing import Any

from results_tools import latest, lines, made, table

PAPER_PRECISION = {  # Table 1, "Our Method"
    "cifar10/structured/0.4": 94.96, "cifar10/uniform/0.5": 94.65, "cifar10/pairwise/0.4": 84.68,
    "cifar100/uniform/0.4": 93.70, "cifar100/pairwise/0.4": 69.69, "cifar10/human/random1": None,
    "cifar10/uniform/0.3": 97.47, "cifar10/uniform/0.7": 88.38, "cifar10/pairwise/0.2": 97.43,
    "cifar10/structured/0.2": 99.38, "cifar100/pairwise/0.2": 90.29,
}  # fmt: skip
PRESET_STEPS = 35_200  # of stage 2 in `fast`
RANKS = "preact-resnet-18"  # the net of stage 1 in `fast`
PAPER_ACCURACY = {  # Tables 2 and 3, best and last
    "cifar10/uniform/0.5": {"cross_entropy": (84.85, 55.24), "rsl": (88.21, 87.93), "rsl_wm": (93.38, 93.27)},
    "cifar10/structured/0.4": {"cross_entropy": (86.57, 75.76), "rsl": (87.91, 87.85), "rsl_wm": (91.17, 90.63)},
    "cifar10/pairwise/0.4": {"cross_entropy": (83.20, 56.12), "rsl": (86.73, 86.57), "rsl_wm": (89.27, 88.85)},
    "cifar100/uniform/0.4": {"cross_entropy": (53.00, 41.96), "rsl": (67.23, 67.03), "rsl_wm": (71.51, 70.69)},
    "cifar100/pairwise/0.4": {"cross_entropy": (45.70, 44.44), "rsl": (53.62, 53.25), "rsl_wm": (54.34, 53.65)},
}


def speed() -> str:
    rows = lines("speed_stage1.jsonl")
    sides = {row["side"]: row for row in rows if row["side"] != "ratios"}
    names = {
        "compiled": "ours: resident, whole step captured, compiled", "graph": "ours: resident, whole step captured",
        "eager": "(b) resident, eager step", "usual": "(a) DataLoader with 12 workers, eager step",
    }  # fmt: skip
    ours = sides["compiled"]["images_per_s"]
    cells = [[names[s], f"{r['images_per_s']:,.0f}", f"{ours / r['images_per_s']:.2f}"] for s, r in sides.items()]
    share = 100 * sides["compiled"]["bookkeeping_share"]
    return (
        "## Speed of stage 1 (`speed_stage1.jsonl`)\n\nWRN-28-2, batch 128, bf16: augment, train, and score every "
        "example after each epoch. One run, one card, 45,000 pictures.\n\n"
        + table(["side", "images/s", "ours is faster by"], cells)
        + f"\nPlan and ledger take {share:.1f} % of an epoch. The aim of 55,000 images/s was not reached.\n\n"
        + made(rows)
        + _beside()
    )


def _beside() -> str:
    """This version beside the one before its engine moved, epoch by epoch in turn."""
    rows = latest(lines("speed_beside.jsonl"), "stage")
    said = [f"{row['stage']} {row['ratio']:.2f} ({row['least']:.2f} to {row['most']:.2f})" for row in rows]
    if not rows:
        return ""
    return (
        "\nBeside the version before the engine moved, epoch by epoch in turn (`speed_beside.jsonl`), times as "
        f"fast, median and range of {len(rows[0]['seconds']['now'])}: {', '.join(said)}.\n\n{made(rows)}"
    )


def selection_speed() -> str:
    rows = lines("speed_selection.jsonl")
    chosen = [
        [f"select from {row['examples']:,} in {row['classes']:,} classes, {row['scores']} scores",
         f"{row['select_seconds']:.2f} s", f"{row['time_ratio']:.2f} x np.argsort", f"{row['memory_ratio']:.1f}"]
        for row in rows if row["part"] == "select"
    ]  # fmt: skip
    ledger = [
        [f"ledger update of {row['batch']:,} {row['given']}", f"{1e6 * row['update_seconds']:.0f} µs",
         f"{100 * row['time_ratio']:.1f} % of a step", "–"]
        for row in rows if row["part"] == "ledger"
    ]  # fmt: skip
    read = lines("speed_decode.jsonl")[-1]
    files = f"{read['pictures']:,} PNG files of {read['side']} x {read['side']}"
    decode = [
        [f"{verb} {files}, at most {read['peak_memory_mib'][what]:.0f} MiB", f"{read[seconds]:.2f} s",
         f"{read[ratio]:.2f} x as fast as a Pillow loop", "–"]
        for verb, what, seconds, ratio in (
            ("read", "load", "load_seconds", "times_as_fast"),
            ("read and cache", "cached", "cached_seconds", "cached_times_as_fast"),
        )
    ]  # fmt: skip
    head = ["what", "time", "beside", "peak memory / score vector"]
    title = "## Speed of the selection and of reading pictures (`speed_selection.jsonl`, `speed_decode.jsonl`)"
    return f"{title}\n\n{table(head, chosen + ledger + decode)}\n{made(rows)}"


def precision() -> str:
    ranked = [row for row in lines("table2.jsonl") if "precision" in row]
    rows = lines("table1.jsonl") + [row for row in ranked if row.get("stage1_net", RANKS) == RANKS]
    rows = latest([{"lr": 0.1} | row for row in rows], "cell", "seed", "lr")  # lines without it are older
    found: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["seed"]):
        found[row["cell"], row["lr"]].append(row)
    cells = [
        [name, "–" if paper is None else f"{paper:.2f}", *_precision(found[name, 0.25]), *_precision(found[name, 0.1])]
        for name, paper in PAPER_PRECISION.items()
    ]
    head = ["cell", "paper", "ours, by seed", "of the Eq. 2 quota", "seconds, at most"]
    return (
        "## Table 1: precision of the selection (`table1.jsonl`, `table2.jsonl`)\n\nPrecision (%) at the share "
        "1 - η_i, η from T, class by class: `fast` (PreAct ResNet-18, 40 epochs), and as it was with lr .1. The "
        "authors' own noise and split; one figure per seed. The human labels are CIFAR-10N's, all 50,000.\n\n"
        + table([*head, *(f"lr .1: {of}" for of in head[2:])], cells)
        + "\n" + made(rows)
    )  # fmt: skip


def _precision(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["–"] * 3
    each, chosen = (", ".join(f"{row[key]:.2f}" for row in rows) for key in ("precision", "selected_precision"))
    return [each, chosen, f"{max(row.get('stage_seconds', {}).get('stage1', row['seconds']) for row in rows):.0f}"]


def accuracy() -> str:
    """Stage 1 alone is cross entropy, so the lines of Table 1 are its figures too."""
    ranked = [row | {"method": "cross_entropy"} for row in lines("table1.jsonl")]
    rows = [row for row in ranked + lines("table2.jsonl") if row["seed"] == 0 and row["cell"] in PAPER_ACCURACY]
    rows = sorted([{"lr": 0.1, "but": _but(row)} | row for row in rows], key=lambda row: row["lr"])
    order = [(cell, method) for cell, methods in PAPER_ACCURACY.items() for method in methods]
    # RSL_WM is shown with both: the lr of stage 1 tells in it.
    ranked_at = [row | {"ranked_at": row["lr"] if row["method"] == "rsl_wm" else None} for row in rows]
    rows = latest(ranked_at, "cell", "method", "but", "ranked_at")
    rows = sorted(rows, key=lambda row: (order.index((row["cell"], row["method"])), row.get("steps", 0)))
    cells = []
    for row in rows:
        best, last = PAPER_ACCURACY[row["cell"]][row["method"]]
        cells.append([
            row["cell"], row["method"] + row["but"], row["net"],
            f"{row['lr']:g}", f"{best:.2f} / {last:.2f}", f"{row['best']:.2f} / {row['last']:.2f}",
            f"{row['seconds']:.0f}",
        ])  # fmt: skip
    looks = [
        [row["cell"], row["net"], f"{row['precision']:.2f}", f"{row['second_precision']:.2f}",
         f"{row['second_selected_precision']:.2f}", f"{row['second_used_share']:.1f}"]
        for row in rows if "second_precision" in row
    ]  # fmt: skip
    return (
        "## Table 2: test accuracy (`table2.jsonl`, `table1.jsonl`)\n\nBest (by clean validation) and last, in "
        "percent, seed 0; seconds include stage 1, which ranks by a PreAct ResNet-18. Preset `fast`; the paper's "
        f"figures are WRN-28-2 after 200 epochs (and 512,000 MixMatch steps; ours has {PRESET_STEPS:,}). Lines of "
        "more steps are tries at ten minutes. The line of WRN-28-2 has that net in both stages, in four.\n\n"
        + table(["cell", "method", "net", "lr of stage 1", "paper", "ours", "seconds"], cells)
        + "\nThe second look (`rounds=2`): precision at the share 1 - η_i by the first ranking and by the last; of "
        "what is then used, and the share of the right labels that is.\n\n"
        + table(["cell", "net", "first ranking", "last ranking", "used: precision", "right labels used"], looks)
        + "\n" + made(rows)
    )  # fmt: skip


def _but(row: dict[str, Any]) -> str:
    """What is not as in the preset: the tries at ten minutes, the paper's own net."""
    steps, networks = row.get("steps", PRESET_STEPS), row.get("networks", 1)
    if row["method"] != "rsl_wm" or "steps" not in row or steps == PRESET_STEPS:
        return ""
    alpha = re.search(r"mixmatch\.alpha=(\S+)", row["command"])
    told = [f"{steps:,} steps" + (f" of {networks} networks" if networks > 1 else "")]
    return "".join(f", {one}" for one in told + ([f"α {alpha[1]}"] if alpha else []))


def without_gpu() -> str:
    rows = latest(
        [row | {"before": bool(row["changed"])} for row in lines("cpu_methods.jsonl")], "cell", "method", "before"
    )
    cells = [
        [row["cell"], row["method"] + (", before" if row["before"] else ""), f"{row['last']:.2f}", f"{row['steps']:,}",
         f"{row['seconds']:.0f}"]
        for row in sorted(rows, key=lambda row: (row["cell"], row["method"], row["before"]))
    ]  # fmt: skip
    return (
        "## Without a GPU (`cpu_methods.jsonl`)\n\nTest accuracy (%) after the last epoch on 10,000 noisy pictures of "
        "Fashion-MNIST, preset `cpu` (a small convnet), true rates, seed 0, two threads; seconds include stage 1. "
        "Before: RSL_WM as the preset had it, 1,000 steps for any data, lr .05, α .75.\n\n"
        + table(["cell", "method", "last", "steps", "seconds"], cells)
        + "\n" + made(rows)
    )  # fmt: skip


def paper_curve() -> str:
    row = lines("paper_curve.jsonl")[-1]
    curve = [(epoch + 1, test) for _, epoch, test in row["curve"]]
    shown = [(epoch, test) for epoch, test in curve if epoch % 4 == 0 or epoch == 1]
    return (
        "## The `paper` preset, as far as time allowed (`paper_curve.jsonl`)\n\n"
        f"{row['cell']}, {row['net']}, killed {row['kills']} times (SIGKILL) in {row['seconds']:.0f} s and resumed: "
        f"{len(curve)} of the 200 epochs of stage 1, {row['train_seconds']:.0f} s of training. "
        "The authors' BatchNorm statistics lag some ten epochs behind: no accuracy means anything before.\n\n"
        + table(["after epoch", *(str(epoch) for epoch, _ in shown)],
                [["test accuracy (%)", *(f"{test:.1f}" for _, test in shown)]])
        + "\n" + made([row])
    )  # fmt: skip


def trials() -> str:
    rows = [row for row in lines("trials.jsonl") if row["method"] == "rsl_wm"]
    short, whole = (
        [row for row in rows if (row.get("steps") == PRESET_STEPS) is is_whole] for is_whole in (False, True)
    )
    head = ["change", "net", "stage 1 by", "best", "last", "seconds of stage 2"]
    return (
        "## Trials of stage 2 (`trials.jsonl`)\n\nUniform .5, seed 0, short runs on the selection of one stage 1: "
        "7,000 steps of PreAct ResNet-18, 12,000 of ResNet-9 (2,000 where compiled, of which nearly all the time is "
        "compiling). The base is the earlier preset.\n\n"
        + table(head, _trials(short))
        + f"\nThe preset as it is, all {PRESET_STEPS:,} steps, stage 1 at lr .25 (another for the first line). "
        "`strong=cutout` cuts a square out of the pictures trained on. `@35` begins after 35 of 44 epochs, and "
        "`mix_until=0.8` mixes nothing from there on; only the commits of these lines can do the two.\n\n"
        + table(head, _trials(whole))
        + "\n" + made(rows)
    )  # fmt: skip


def _trials(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [", ".join(f"`{one}`" for one in row["trial"].split(",")), row["net"],
         row["all"].get("net", RANKS), f"{row['best']:.2f}", f"{row['last']:.2f}",
         f"{row['stage_seconds']['rsl_wm']:.0f}"]
        for row in rows
    ]  # fmt: skip
