"""When do small losses tell right labels from wrong ones? The theory's answer for a few matrices.

python examples/can_it_be_trusted.py
"""

import numpy as np

import smallloss as sl
from smallloss.criterion.transition import noise_rate, pairwise, uniform

ANIMALS = ["cat", "dog", "horse"]


def show(title: str, T: np.ndarray, classes: list[str] | None = None) -> None:
    print(f"\n== {title}")
    verdict = sl.check(T, classes)
    print(verdict.headline, *verdict.reasons, sep="\n")


# T[i, j] is the probability that an example of true class i carries label j. Two conditions, two consequences:
# columns decide whether the ranking can be trusted, rows whether a classifier fitted to all labels can.
show("Uniform noise, 80 %: every wrong label is rare beside the right one", uniform(0.8, 10))
show("Pairwise noise, 40 %: still more right than wrong", pairwise(0.4, 10))
show("Pairwise noise, 60 %: one of the paper's failures", pairwise(0.6, 10))

# Column failure. Rows are fine: each class carries its own label more often than any other. But 0.45 of the dogs
# are called cats, and only 0.40 of the cats, so a dog called cat loses less than a cat called cat.
columns = np.array([[0.40, 0.30, 0.30], [0.45, 0.50, 0.05], [0.05, 0.05, 0.90]])
show("Column failure: right labels do not come first", columns, ANIMALS)
pair = sl.check(columns, ANIMALS).theory.column_breaks[0]
print(f"The pair to blame: true {pair.true} -> label {pair.label}, {pair.flipped:.2f} >= {pair.kept:.2f}.")

# Row failure. Cats are called dogs more often than cats, so a network that fits the labels calls them dogs; but
# under every label the right examples still lose least, and the selection can be used.
rows = np.array([[0.45, 0.50, 0.05], [0.05, 0.90, 0.05], [0.05, 0.05, 0.90]])
show("Row failure: rank and select, but do not fit all labels", rows, ANIMALS)

# cleanlab's noise_matrix is the transpose: its columns are true classes. It is refused, unless its rows happen to
# sum to 1 as well; so turn it yourself.
cleanlab_noise_matrix = columns.T
try:
    sl.check(cleanlab_noise_matrix, ANIMALS)
except sl.InputError as error:
    print(f"\n== cleanlab's noise_matrix as it is\nRefused: {error}")
assert sl.check(cleanlab_noise_matrix.T, ANIMALS) == sl.check(columns, ANIMALS)

# The rate that the selection uses counts wrong labels among those that carry a label. It is not 1 - T[k, k].
print("\n== The share of wrong labels, per label, is not 1 - T[k, k] (here with equally frequent classes)")
for name, eta, flipped in zip(ANIMALS, noise_rate(columns), 1 - columns.diagonal(), strict=True):
    print(f"{name:5s} noise rate {eta:.2f}, 1 - T[k, k] = {flipped:.2f}")
