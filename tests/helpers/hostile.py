"""Texts that a user can bring, each out to break something: a page, a table, a terminal, a file system."""

from pathlib import Path

import numpy as np
from PIL import Image

import made
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.data.table_files import write_table
from smallloss.noise.verdict import check
from smallloss.record.run import Accuracy, Run

NAMES = (
    "</script><b>x", "<!--<script>", "\"'><img src=x onerror=alert(1)>", "a[/b]", "$x^$", "=cmd()", "new\nline\x1b[31m",
    "\u202eשלום", "\u2028x", "x" * 200, "../../x", "..", "a/b", "a\\b", ".hidden", "dot. ", "CON", "con.txt",
    "names.csv", "ü" * 300, "Cat", "cat",
)  # fmt: skip
NAME = "</title><script>alert(1)</script>"
EACH = 10


def hostile_data(folder: Path) -> tuple[Dataset, Path]:
    """Pictures of ordinary names, under classes and ids that are none, in a table, which can hold any."""
    (folder / "pictures").mkdir(parents=True)
    labels = [name for name in NAMES for _ in range(EACH)]
    cells = [f"pictures/{k}.png" for k in range(len(labels))]
    for k, cell in enumerate(cells):
        Image.fromarray(np.full((8, 8), k % 256, np.uint8)).save(folder / cell)
    ids = [f"{label}/{k}" for k, label in enumerate(labels)]
    table = write_table(folder / "table.parquet", {"id": ids, "label": labels, "path": cells})
    return load(table), table


def hostile_run(data: Dataset) -> Run:
    """All that can stand in a run is such a text; the last three of each class are likely wrong."""
    n, c = len(data), len(data.classes)
    loss, T = np.tile(np.linspace(0, 1, EACH), c), np.full((c, c), 1 / c)
    return made.run_of(
        data, [made.part_of(data, "train", np.arange(n), loss, 0.3)], (data.labels + 1) % c, loss,
        probability=np.linspace(0.5, 1, n), evidence="[red]<i>loss</i>", verdict=check(T, data.classes),
        accuracies=[Accuracy("[bold]<u>$m^$", 0.5, 0.5, 1.0, np.ones(3, bool), "<b>[/net]\n")],
        accuracy_on="<em>[/b] test", history=[{"stage": "<script>$s^$", "epoch": 0, "test": 0.5}],
        settings={"settings": {"stage1": {"[/x]": "</dd><script>"}}, "chosen": {"<s>": "<script>"},
                  "data": {"name": NAME}},
        notes=["<script>alert(2)</script>\n[/red]"],
    )  # fmt: skip
