"""A training loop of your own: three more lines in it say which labels are wrong.

python examples/your_own_loop.py
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import smallloss as sl
from smallloss.criterion.transition import structured

# Stand-in for your data: written digits, some labels replaced by those of a digit that looks alike.
digits = sl.load("digits")
T = structured(0.3, digits.class_map)
truth = digits.labels
labels = sl.corrupt(truth, T, seed=0)

torch.manual_seed(0)
x = torch.from_numpy(digits.inputs).reshape(len(digits), -1) / 255
y = torch.from_numpy(labels)
index = torch.arange(len(y))  # the ledger must know which example a loss belongs to
loader = DataLoader(TensorDataset(x, y, index), batch_size=64, shuffle=True)

network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)

ledger = sl.LossLedger(len(y))  # 1
for _ in range(20):
    for inputs, given, rows in loader:
        logits = network(inputs)
        loss = nn.functional.cross_entropy(logits, given)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        ledger.update(rows, logits=logits, label=given)  # 2: nothing is computed twice
    ledger.end_epoch()  # 3

selection = sl.select(ledger, labels, transition=T)

print("The ten most suspicious labels:")
for i in np.argsort(selection.label_score)[:10]:
    print(f"  index {i:4d}  labelled {labels[i]}, truly {truth[i]}")

wrong = labels != truth
issue, kept = selection.is_label_issue, selection.mask
print(f"{wrong.sum()} of {len(y)} labels are wrong.")
print(f"Likely wrong: {issue.sum()}, of which {100 * wrong[issue].mean():.0f} % are wrong.")
print(f"Kept to learn from: {kept.sum()}, of which {100 * (~wrong[kept]).mean():.1f} % are right.")
