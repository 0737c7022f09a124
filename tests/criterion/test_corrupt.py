import hashlib
from pathlib import Path

import numpy as np
import pytest

from smallloss.criterion import transition as tr
from smallloss.criterion.corrupt import authors_noise, authors_split, corrupt, instance_dependent
from smallloss.errors import InputError

LABELS = Path(__file__).parents[1] / "data_files" / "cifar_labels.npz"


def cifar(classes: int) -> np.ndarray:
    with np.load(LABELS) as file:
        return file[f"cifar{classes}"]


# --- the authors' generator ---


@pytest.mark.parametrize(
    "classes, kind, r, seed, sha1, eta, n_obs",
    [
        (10, "uniform", 0.5, 0, "cdc9834894b9", 0.44953, "4438 4465 4452 4503 4587 4558 4512 4507 4466 4512"),
        (10, "uniform", 0.9, 0, "8c06114a4f68", 0.81167, None),
        (10, "pairwise", 0.4, 0, "265a140949ea", 0.40000, "4522 4519 4460 4529 4456 4512 4536 4511 4528 4427"),
        (10, "structured", 0.4, 0, "f9cca847baac", 0.20222, "6322 6323 2678 4532 2663 4468 4500 6337 4500 2677"),
        (100, "uniform", 0.4, 10, "1bda8da637d3", 0.40053, None),
        (100, "pairwise", 0.4, 20, "bedd770e001f", 0.39564, None),
    ],
)
def test_the_authors_noise_to_the_digit(classes, kind, r, seed, sha1, eta, n_obs):
    labels = cifar(classes)
    noisy = authors_noise(labels, kind, r, seed, classes)
    assert hashlib.sha1(noisy.astype("<i8").tobytes()).hexdigest().startswith(sha1)
    train, validation = authors_split(labels, kind, r, seed, classes)
    assert round(float(np.mean(noisy[train] != labels[train])), 5) == eta
    if n_obs is not None:
        assert np.bincount(noisy[train]).tolist() == [int(n) for n in n_obs.split()]
    assert np.array_equal(np.sort(np.concatenate([train, validation])), np.arange(50_000))
    assert set(np.bincount(labels[validation]).tolist()) == {5_000 // classes}


# --- corrupt ---


def test_frequencies_follow_t():
    T = np.array([[0.5, 0.2, 0.3], [0.0, 1.0, 0.0], [0.1, 0.9, 0.0]])
    true = np.tile(np.arange(3), 20_000)
    noisy = corrupt(true, T, seed=3)
    share = np.array([np.bincount(noisy[true == y], minlength=3) for y in range(3)]) / 20_000
    np.testing.assert_allclose(share, T, atol=5 * np.sqrt(0.25 / 20_000))
    assert (share[T == 0] == 0).all()


def test_a_draw_depends_on_seed_and_index_only():
    true = np.random.default_rng(0).integers(0, 10, size=500)
    T = tr.uniform(0.5, 10)
    noisy = corrupt(true, T, seed=1)
    np.testing.assert_array_equal(corrupt(true[:200], T, seed=1), noisy[:200])
    other = true.copy()
    other[::2] = 0
    np.testing.assert_array_equal(corrupt(other, T, seed=1)[1::2], noisy[1::2])
    assert (corrupt(true, T, seed=2) != noisy).mean() > 0.2
    pinned = corrupt(np.arange(10), tr.uniform(0.9, 10), seed=0)
    assert (pinned.dtype, pinned.tolist()) == (np.int64, [6, 0, 3, 8, 2, 2, 3, 9, 4, 9])


def test_no_noise_changes_nothing_and_the_input_is_left_alone():
    true = np.arange(5, dtype=np.uint8)
    np.testing.assert_array_equal(corrupt(true, np.eye(5), seed=0), true)
    corrupt(true, tr.pairwise(1.0, 5), seed=0, exact=True)
    assert true.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "n, row, counts",
    [
        (10, [0.55, 0.25, 0.2], [6, 2, 2]),  # 5.5, 2.5 and 2: one left over, the tie goes to the lower class
        (7, [1 / 3, 1 / 3, 1 / 3], [3, 2, 2]),
        (4, [0, 1, 0], [0, 4, 0]),
        # 3.6, 0.6 and 1.8, two left over: the larger remainder first, then of the two .6 the lower class. In floats
        # 6 * 0.6 leaves a little less than .6 and 6 * 0.1 a little more.
        (6, [0.6, 0.1, 0.3], [4, 0, 2]),
    ],
)
def test_exact_counts_by_largest_remainder(n, row, counts):
    noisy = corrupt(np.zeros(n, dtype=int), [row, [0, 1, 0], [0, 0, 1]], seed=0, exact=True)
    assert np.bincount(noisy, minlength=3).tolist() == counts


def test_exact_counts_are_assigned_at_random():
    true = np.zeros(1000, dtype=int)
    first, second = (corrupt(true, tr.pairwise(0.4, 2), seed=s, exact=True) for s in (0, 1))
    assert first.sum() == second.sum() == 400
    assert 0.3 < (first[:500].mean() + second[:500].mean()) / 2 < 0.5
    assert (first != second).any()


# --- instance-dependent noise ---


@pytest.fixture
def features():
    return np.random.default_rng(5).standard_normal((6000, 4, 3))


def test_instance_dependent_rates(features):
    true = np.tile(np.arange(5), 1200)
    noisy, q = instance_dependent(features, true, rate=0.3, seed=0, classes=5)
    assert q.min() >= 0
    assert q.max() <= 1
    assert q.mean() == pytest.approx(0.3, abs=0.01)
    assert q.std() == pytest.approx(0.1, abs=0.01)
    wrong = noisy != true
    assert wrong.mean() == pytest.approx(q.mean(), abs=0.03)
    # An example's own q decides whether it is flipped.
    assert wrong[q > 0.4].mean() > wrong[q < 0.2].mean() + 0.15


def wrong_label_counts(x: np.ndarray, n: int, seed: int) -> np.ndarray:
    """The wrong labels 1 to 4 counted, over n copies of x (row 0) and n of -x (row 1), all truly class 0."""
    noisy, _ = instance_dependent(np.stack([x, -x] * n), np.zeros(2 * n, dtype=int), 0.4, seed, classes=5)
    return np.array([np.bincount(kind, minlength=5)[1:] for kind in (noisy[::2], noisy[1::2])])


@pytest.mark.parametrize("seed", range(5))
def test_instance_dependent_noise_is_beyond_any_matrix(features, seed):
    """Under a matrix T two kinds of example of one true class would share out their wrong labels alike."""
    counts = wrong_label_counts(10 * features[0], 3000, seed)
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert np.abs(shares[0] - shares[1]).sum() / 2 > 0.5


@pytest.mark.parametrize("seed", range(5))
def test_instance_dependent_wrong_class_is_a_softmax_of_a_linear_map(features, seed):
    """So the log-odds between two wrong classes at -x are the opposite of those at x."""
    counts = wrong_label_counts(0.3 * features[0], 10_000, seed)
    log_odds = np.log(counts[:, 1:] / counts[:, :1])
    standard_error = np.sqrt((1 / counts[:, 1:] + 1 / counts[:, :1]).sum(axis=0))
    assert (np.abs(log_odds[0] - log_odds[1]) / standard_error).max() > 5  # x does matter
    assert (np.abs(log_odds[0] + log_odds[1]) / standard_error).max() < 5


def test_instance_dependent_is_seeded(features):
    true = np.tile(np.arange(5), 1200)
    a, b, c = (instance_dependent(features, true, 0.3, seed, 5)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    np.testing.assert_array_equal(instance_dependent(features[:50], true[:50], 0.3, 0, 5)[0], a[:50])


# --- what is refused ---

THREE, X = tr.uniform(0.1, 3), np.ones((8, 2))


@pytest.mark.parametrize(
    "draw, arguments, sentence",
    [
        (corrupt, ([0, 1, 3], THREE, 0), "label at index 2 is 3; with 3 classes the codes are 0 to 2"),
        (corrupt, ([0, -1, 1], THREE, 0), "label at index 1 is -1"),
        (corrupt, ([0.0, 1.0], THREE, 0), "integer class codes"),
        (corrupt, (["a", "b"], THREE, 0), "integer class codes"),
        (corrupt, ([[0, 1]], THREE, 0), r"shape \(1, 2\)"),
        (corrupt, ([0, 1], THREE, -1), "seed is -1; it must be at least 0"),
        (corrupt, ([0, 1], THREE, None), "seed is None; it must be a whole number"),
        (authors_noise, (range(10), "odd", 0.1, 0, 10), "uniform, pairwise, structured; it was 'odd'"),
        (authors_noise, (range(10), "structured", 0.1, 0, 11), "10 classes; there are 11"),
        (authors_noise, (range(10), "uniform", 1.1, 0, 10), "it was 1.1"),
        (authors_noise, (range(10), "uniform", 0.1, -1, 10), "it was -1"),
        (instance_dependent, (X, np.zeros(7, int), 0.3, 0, 2), "one row for each of the 7 labels"),
        (instance_dependent, (X, np.zeros(8, int), 1.3, 0, 2), "rate is a probability"),
        (instance_dependent, (X * [1, np.nan], np.zeros(8, int), 0.3, 0, 2), "index 0 are not finite"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        draw(*arguments)
