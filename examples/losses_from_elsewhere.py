"""Losses that another program recorded: numpy arrays in, a csv out. No torch is loaded.

python examples/losses_from_elsewhere.py [labels.csv]
"""

import csv
import sys
from pathlib import Path

import numpy as np

import smallloss as sl

# Stand-in for your losses [n, epochs]: every tenth label is wrong, a wrong label loses more on average, and no
# single epoch can be relied on. NaN: the example was not seen in that epoch.
rng = np.random.default_rng(0)
labels = np.array(["cat", "dog", "horse"])[np.arange(600) % 3]
is_wrong = np.arange(600) % 10 == 0
losses = rng.gamma(2.0, np.where(is_wrong, 1.5, 0.5)[:, None], size=(600, 15))
losses[rng.random(losses.shape) < 0.1] = np.nan

selection = sl.select(np.nanmean(losses, axis=1), labels, noise_rate=0.1)

classes = selection.class_table()
for k, label in enumerate(classes["label"]):
    n, kept, issues, aside = (classes[name][k] for name in ("n", "kept", "likely_wrong", "set_aside"))
    print(f"{label:6s} {n} examples: {kept} kept, {issues} likely wrong, {aside} set aside")
for note in selection.notes:
    print(f"Note: {note}")

out = Path(sys.argv[1] if len(sys.argv) > 1 else "labels.csv")
with out.open("w", newline="", encoding="utf-8") as file:
    table = selection.table()
    writer = csv.writer(file)
    writer.writerow(["index", *table])
    writer.writerows(zip(range(len(labels)), *(column.tolist() for column in table.values()), strict=True))

by_mean = is_wrong[selection.is_label_issue].mean()
one_epoch = sl.select(losses[:, -1], labels, noise_rate=0.1)
by_last = is_wrong[one_epoch.is_label_issue].mean()
print(f"Wrong among the likely wrong: {100 * by_mean:.0f} % by the mean loss, {100 * by_last:.0f} % by one epoch's.")
print(f"{out}: {len(labels)} rows, columns {', '.join(table)}")
print(f"torch was {'loaded' if 'torch' in sys.modules else 'never loaded'}.")
