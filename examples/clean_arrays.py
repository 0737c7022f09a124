"""Arrays with text labels in, wrong labels and a classifier out.

python examples/clean_arrays.py
"""

import numpy as np
import torch

import smallloss as sl

# Stand-in for your arrays: 8 x 8 pictures of three digits, one label in five wrong.
digits = sl.load("digits")
rows = np.flatnonzero(digits.labels < 3)
X, truth = digits.inputs[rows], np.array(["zero", "one", "two"])[digits.labels[rows]]
y = truth.copy()
rng = np.random.default_rng(0)
flipped = rng.permutation(len(y))[: len(y) // 5]
y[flipped] = [rng.choice([name for name in ("zero", "one", "two") if name != given]) for given in y[flipped]]

# noise_rate: of the examples that carry a label, how many carry it wrongly. out="runs/mine" would write everything
# to a folder, report.html included.
run = sl.clean((X, y), noise_rate=0.2, epochs=10)

table = run.selection.table()  # one row per training example; `parts` says which rows of X they are
index = run.result.parts[0].index
print("label  score  reason          truly")
for i in np.argsort(table["label_score"])[:8]:
    print(f"{table['given_label'][i]:5s}  {table['label_score'][i]:.3f}  {table['reason'][i]:14s}  {truth[index[i]]}")

wrong = y != truth
found = wrong[index][table["is_label_issue"]]
print(f"{len(found)} labels are called likely wrong; {100 * found.mean():.0f} % of them are.")

# A fifth of the rows was held out: never trained on, ranked among themselves.
held_out = run.result.parts[1]
found = wrong[held_out.index][held_out.selection.is_label_issue]
print(f"Of the rows held out, {len(found)} are called likely wrong; {100 * found.mean():.0f} % of them are.")

# Until somebody answers some questions (smallloss audit), nobody knows how many of the kept labels are right.
print(f"verdict: {run.verdict.headline}")
T = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
print(f"For a matrix T alone: {sl.check(T, ['one', 'two', 'zero']).headline}")

# The network takes inputs as it was trained on them: [n, channels, height, width], normalised.
data = run.result.dataset
x = (torch.from_numpy(X).permute(0, 3, 1, 2) / 255 - data.mean[0]) / data.std[0]
with torch.no_grad():
    predicted = np.array(data.classes)[run.network.eval()(x.float()).argmax(1).numpy()]
by_label, by_network = 100 * (y == truth).mean(), 100 * (predicted == truth).mean()
print(f"Right on all rows: the labels {by_label:.1f} %, the network {by_network:.1f} %.")
