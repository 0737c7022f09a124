"""Sections of docs/results.md on the paper's figures and on speed."""

import re
from statistics import stdev

from results_tools import Row, latest, lines, made, mean, table
from smallloss.methods import called

PAPER_PRECISION = {  # Table 1, "Our Method"
    "cifar10/structured/0.4": 94.96, "cifar10/uniform/0.5": 94.65, "cifar10/pairwise/0.4": 84.68,
    "cifar100/uniform/0.4": 93.70, "cifar100/pairwise/0.4": 69.69, "cifar10/human/random1": None,
    "cifar10/uniform/0.3": 97.47, "cifar10/uniform/0.7": 88.38, "cifar10/pairwise/0.2": 97.43,
    "cifar10/structured/0.2": 99.38, "cifar100/pairwise/0.2": 90.29,
}  # fmt: skip
METHODS = ("cross entropy", "RSL", "RSL_WM")
PRESET_STEPS = 35_200  # of stage 2 in `fast`
RANKS = "preact-resnet-18"  # the net of stage 1 in `fast`
PAPER_ACCURACY = {  # Tables 2 and 3, best and last
    "cifar10/uniform/0.5": {"cross_entropy": (84.85, 55.24), "rsl": (88.21, 87.93), "rsl_wm": (93.38, 93.27)},
    "cifar10/structured/0.4": {"cross_entropy": (86.57, 75.76), "rsl": (87.91, 87.85), "rsl_wm": (91.17, 90.63)},
    "cifar10/pairwise/0.4": {"cross_entropy": (83.20, 56.12), "rsl": (86.73, 86.57), "rsl_wm": (89.27, 88.85)},
    "cifar100/uniform/0.4": {"cross_entropy": (53.00, 41.96), "rsl": (67.23, 67.03), "rsl_wm": (71.51, 70.69)},
    "cifar100/pairwise/0.4": {"cross_entropy": (45.70, 44.44), "rsl": (53.62, 53.25), "rsl_wm": (54.34, 53.65)},
}

PRECISION = """## Table 1: how many of the selected labels are right

Of the (1 - η_i) n_i smallest losses of each class, as the paper counts, and of the fewer that Eq. 2 selects. Preset
`fast` (PreAct ResNet-18, 40 epochs, under a minute) for the paper's 200 epochs of WRN-28-2; their noise and split, true
rates; mean over up to three seeds. `human` is CIFAR-10N.

"""
ACCURACY = f"""## Tables 2 and 3: test accuracy

Best (by clean validation) / last, seed 0. Ours: preset `fast` (ResNet-9), {PRESET_STEPS:,} steps of MixMatch for the
paper's 512,000; at most four minutes a cell, stage 1 included. RSL had lr .1 in stage 1, all else .25.

"""
NO_GPU = """## Without a GPU

Test accuracy and seconds, stage 1 included: 10,000 noisy pictures of Fashion-MNIST, preset `cpu`, true rates, two
threads.

"""


def precision() -> str:
    ranked = [row for row in lines("table2.jsonl") if "precision" in row and row.get("stage1_net", RANKS) == RANKS]
    rows = latest([row for row in lines("table1.jsonl") + ranked if row.get("lr") == 0.25], "cell", "seed")
    cells = []
    for name, paper in PAPER_PRECISION.items():
        found = [row for row in rows if row["cell"] == name]
        ours = (f"{mean(row[key] for row in found):.2f}" for key in ("precision", "selected_precision"))
        cells.append([name, "–" if paper is None else f"{paper:.2f}", *ours])
    return (
        PRECISION + table(["cell", "paper", "ours", "of Eq. 2"], cells)
        + made("table1.jsonl`, `table2.jsonl", rows)
    )  # fmt: skip


def accuracy() -> str:
    """Stage 1 alone is cross entropy, so the lines of Table 1 are its figures too."""
    ranked = [row | {"method": "cross_entropy"} for row in lines("table1.jsonl")]
    rows = [row for row in ranked + lines("table2.jsonl") if row["seed"] == 0 and _as_the_preset(row)]
    found = {(row["cell"], row["method"]): row for row in sorted(rows, key=lambda row: row.get("lr", 0.1))}
    cells = [
        [cell, *(shown for method, paper in methods.items() for shown in _beside(paper, found.get((cell, method))))]
        for cell, methods in PAPER_ACCURACY.items()
    ]
    longest = max((row for row in lines("table2.jsonl") if row.get("steps", 0) > PRESET_STEPS), key=lambda r: r["best"])
    alpha = re.search(r"mixmatch\.alpha=(\S+)", longest["command"])
    return (
        ACCURACY + table(["cell", *(f"{name}: {whose}" for name in METHODS for whose in ("paper", "ours"))], cells)
        + f"\nRSL_WM on {longest['cell']} in {longest['seconds']:.0f} s, {longest['networks']} networks, "
        f"α {alpha[1] if alpha else .75}: {longest['best']:.2f}/{longest['last']:.2f}.\n"
        + "\n" + _paper_curve() + made("table1.jsonl`, `table2.jsonl`, `paper_curve.jsonl", list(found.values()))
    )  # fmt: skip


def _as_the_preset(row: Row) -> bool:
    return bool(row["method"] != "rsl_wm" or row.get("steps", PRESET_STEPS) == PRESET_STEPS)


def _beside(paper: tuple[float, float], row: Row | None) -> tuple[str, str]:
    ours = f"{row['best']:.2f}/{row['last']:.2f}" if row else "–"
    return f"{paper[0]:.2f}/{paper[1]:.2f}", ours


def _paper_curve() -> str:
    row = lines("paper_curve.jsonl")[-1]
    shown = [(epoch + 1, test) for _, epoch, test in row["curve"] if (epoch + 1) % 8 == 4]
    return (
        f"The preset `paper` ran {len(row['curve'])} of its 200 epochs of stage 1, killed {row['kills']} times and "
        "resumed; test accuracy after epoch "
        + ", ".join(f"{epoch}: {test:.1f}" for epoch, test in shown)
        + " (its BatchNorm statistics lag by some ten epochs).\n"
    )  # fmt: skip


def without_gpu() -> str:
    rows = latest([row for row in lines("cpu_methods.jsonl") if not row["changed"]], "cell", "method")
    methods = ("cross_entropy", "rsl", "rsl_wm")
    by_cell: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_cell.setdefault(row["cell"], {})[row["method"]] = row
    cells = [
        [cell, *(f"{found[method]['last']:.1f}, {found[method]['seconds']:.0f} s" for method in methods)]
        for cell, found in by_cell.items()
    ]  # fmt: skip
    return (
        NO_GPU + table(["cell", *METHODS], cells) + made("cpu_methods.jsonl", rows)
    )  # fmt: skip


SIDE_BY_SIDE = """## All methods, on two cores

Last accuracy, mean and standard deviation over three seeds, and how many of the kept labels are right. Digits: some
1,440 to learn from, true rates. `human`: 1,000 pictures of Fashion-MNIST with one human answer each, rates unknown:
there nothing beats plain training beyond chance. `cpu` hardly learns wrong labels by heart under uniform noise, where
plain training is hard to beat.

"""


def side_by_side() -> str:
    """Of `smallloss compare`."""
    rows = latest(lines("methods.jsonl"), "cell", "method", "seed")
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    names = sorted({row["method"] for row in rows}, key=lambda name: (name != "cross_entropy", called(name)))
    body = []
    for name in names:
        mine = [[row for row in rows if (row["method"], row["cell"]) == (name, cell)] for cell in cells]
        body.append([called(name), *(_entry(found) for found in mine)])
    return SIDE_BY_SIDE + table(["method", *cells], body) + made("methods.jsonl", rows)


def _entry(rows: list[Row]) -> str:
    if not rows:
        return "–"
    last = [row["last"] for row in rows]
    spread = f" ± {stdev(last):.1f}" if len(last) > 1 else ""
    right = [row["selected_precision"] for row in rows]
    return f"{mean(last):.1f}{spread}" + ("" if None in right else f"; {mean(right):.1f}")


def speed() -> str:
    rows = lines("speed_stage1.jsonl")
    sides = {row["side"]: row for row in rows if row["side"] != "ratios"}
    names = {
        "compiled": "step captured in a CUDA graph, compiled", "graph": "step captured (the default)",
        "eager": "plain PyTorch step", "usual": "DataLoader of 12 workers, plain step",
    }  # fmt: skip
    cells = [[names[side], f"{row['images_per_s']:,.0f}"] for side, row in sides.items()]
    return (
        "## Speed\n\nStage 1 with WRN-28-2, batch 128, bf16: augment, train, and score all after each epoch; "
        f"bookkeeping takes {100 * sides['compiled']['bookkeeping_share']:.1f} % of it.\n\n"
        + table(["how", "pictures a second"], cells)
        + made("speed_stage1.jsonl", rows)
    )  # fmt: skip


def selection_speed() -> str:
    rows = [row for row in lines("speed_selection.jsonl") if row["part"] == "select" and row["scores"] == "distinct"]
    read = lines("speed_decode.jsonl")[-1]
    said = [
        f"Selecting from {row['examples'] // 10**6} million scores in {row['classes']:,} classes takes "
        f"{row['select_seconds']:.1f} s, {row['time_ratio']:.2f} times one `np.argsort`."
        for row in rows
    ]  # fmt: skip
    side, seconds, times = read["side"], read["load_seconds"], read["times_as_fast"]
    said.append(
        f"{read['pictures']:,} png files of {side} x {side} are read in {seconds:.1f} s on two cores, {times:.1f} "
        "times as fast as by a Pillow loop."
    )
    return " ".join(said) + "\n" + made("speed_selection.jsonl`, `speed_decode.jsonl", rows)
