"""Small tables and texts that come with scikit-learn or are made here, each with its true labels."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification

SHARED = "the of and a to in it was for on with as by at from is that this we they but not have will new one two"
WORDS = {
    "cooking": "oven butter flour simmer garlic recipe bake onion sauce pan stir dough taste salt boil knife",
    "sailing": "harbour mast wind anchor hull deck tide rope crew coast wave storm sail compass port knot",
    "money": "bank loan interest market share profit tax price bond fund credit debt trade invest budget rent",
    "garden": "soil seed prune leaf root bloom compost shade hedge water spade weed harvest bulb lawn frost",
    "music": "guitar chord rhythm song choir drum tune melody concert violin tempo note band singer stage bass",
    "travel": "train hotel ticket border luggage map guide museum flight village coast market stage water port note",
}


@dataclass(frozen=True)
class Demo:
    """Columns of a table, text or not, and the true class of each row."""

    name: str
    columns: dict[str, pa.Array]
    true: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.true.max()) + 1


def texts(n: int = 2400, seed: int = 0) -> Demo:
    """Sentences of 10 to 24 words: half small words that every subject shares, one in ten from another subject."""
    rng = np.random.default_rng(seed)
    shared, *subjects = [words.split() for words in (SHARED, *WORDS.values())]
    true = rng.integers(0, len(subjects), n)
    rows = []
    for k in true:
        drawn = rng.random(rng.integers(10, 25))
        other = rng.integers(0, len(subjects))
        pools = [shared if r < 0.5 else subjects[other] if r < 0.6 else subjects[k] for r in drawn]
        rows.append(" ".join(pool[rng.integers(len(pool))] for pool in pools))
    return Demo("texts", {"text": pa.array(rows)}, true)


def numbers(name: str) -> Demo:
    """A set of scikit-learn's, a column for each number."""
    data = {"wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}[name]()
    columns = {f"x{k}": pa.array(values) for k, values in enumerate(data.data.T)}
    return Demo(name, columns, np.asarray(data.target))


def mixed(n: int = 3000, seed: int = 0) -> Demo:
    """Numbers and categories, one cell in twelve missing: six of ten informative columns stay numbers, four are cut."""
    x, true = make_classification(
        n, 12, n_informative=10, n_redundant=0, n_classes=4, class_sep=2.0, flip_y=0, shuffle=False, random_state=seed
    )
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    x, true = x[order], true[order]
    missing = rng.random(x.shape) < 1 / 12
    columns = {}
    for k in range(x.shape[1]):
        if 6 <= k < 10:
            cut = np.digitize(x[:, k], np.quantile(x[:, k], (0.2, 0.4, 0.6, 0.8)))
            values = np.array(["lowest", "low", "middle", "high", "highest"])[cut].tolist()
        else:
            values = x[:, k].tolist()
        columns[f"x{k}"] = pa.array(
            [None if lost else value for value, lost in zip(values, missing[:, k], strict=True)]
        )
    return Demo("mixed columns", columns, true)


def demos() -> list[Demo]:
    return [texts(), numbers("wine"), numbers("breast_cancer"), numbers("digits"), mixed()]
