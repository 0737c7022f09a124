import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.data import Dataset, hold_out, split
from smallloss.errors import InputError


def dataset(labels, true_labels=None, classes=None):
    labels = np.asarray(labels, dtype=np.int64)
    c = int(labels.max()) + 1 if classes is None else classes
    truth = None if true_labels is None else np.asarray(true_labels, dtype=np.int64)
    names = tuple(f"class {k}" for k in range(c))
    return Dataset(np.zeros((len(labels), 1), np.float32), labels, names, name="toy", true_labels=truth)


def test_paper_takes_a_tenth_of_each_true_class_with_clean_labels():
    true = np.repeat(np.arange(4), 50)
    noisy = np.random.default_rng(0).permutation(true)
    got = split(dataset(noisy, true), "paper", seed=3)
    assert np.bincount(true[got.validation]).tolist() == [5, 5, 5, 5]
    assert got.labels.tolist() == true[got.validation].tolist()
    assert len(got.train) == 180


def test_honest_takes_a_tenth_of_each_observed_class_with_noisy_labels():
    labels = np.repeat([0, 1, 2], [100, 50, 4])
    truth = np.random.default_rng(0).permutation(labels)  # known or not, nothing follows from it
    for data in (dataset(labels), dataset(labels, truth)):
        got = split(data, "honest", seed=3)
        assert np.bincount(labels[got.validation], minlength=3).tolist() == [10, 5, 0]
        assert got.labels.tolist() == labels[got.validation].tolist()


def test_full_keeps_everything():
    got = split(dataset([0, 1, 1]), "full", seed=0)
    assert got.train.tolist() == [0, 1, 2]
    assert got.validation.tolist() == []


LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=80).map(
    lambda values: np.concatenate([values, np.arange(max(values) + 1)])
)


@settings(max_examples=60, deadline=None)
@given(labels=LABELS, seed=st.integers(0, 2**31))
def test_parts_are_disjoint_stratified_and_leave_every_class(labels, seed):
    data = dataset(labels)
    kept, held_out = hold_out(data, seed)
    got = split(data, "honest", seed)
    for rest, drawn, part in ((kept, held_out, 0.2), (got.train, got.validation, 0.1)):
        assert sorted([*rest, *drawn]) == list(range(len(labels)))
        for k, n in enumerate(np.bincount(labels)):
            assert int((labels[drawn] == k).sum()) == min(int(np.floor(part * n + 0.5)), n - 1)
            assert (labels[rest] == k).any()


@settings(max_examples=30, deadline=None)
@given(labels=LABELS, seed=st.integers(0, 2**31))
def test_the_draw_depends_on_seed_and_index_only(labels, seed):
    first, second = hold_out(dataset(labels), seed), hold_out(dataset(labels), seed)
    assert first[1].tolist() == second[1].tolist()
    # Examples of a new class at the end move nothing in the others.
    longer = hold_out(dataset(np.concatenate([labels, np.full(7, labels.max() + 1)])), seed)[1]
    assert longer[longer < len(labels)].tolist() == first[1].tolist()


def test_seeds_and_purposes_draw_differently():
    data = dataset(np.zeros(200), np.zeros(200))
    validation, *held_out = split(data, "honest", 0).validation, hold_out(data, 0)[1], hold_out(data, 1)[1]
    assert held_out[0].tolist() != held_out[1].tolist()
    assert not set(validation) <= set(held_out[0])


@pytest.mark.parametrize(
    "protocol, sentence",
    [
        ("paper", "those of toy are not known; use honest or full"),
        ("usual", "no protocol 'usual'; the known ones are paper, full, honest"),
    ],
)
def test_bad_use(protocol, sentence):
    with pytest.raises(InputError, match=sentence):
        split(dataset([0, 1, 0, 1]), protocol, 0)


def test_a_class_without_training_examples_is_named():
    with pytest.raises(InputError, match=r"No training example of toy carries the label 'class 1'"):
        split(dataset([0, 2, 0, 2]), "full", seed=0)
    # Stratified by truth, the only carrier of an observed label may be drawn.
    labels, true = np.zeros(10, np.int64), np.zeros(10, np.int64)
    drawn = split(dataset(labels, true), "paper", seed=0).validation[0]
    labels[drawn] = 1
    with pytest.raises(InputError, match="'class 1'"):
        split(dataset(labels, true, classes=2), "paper", seed=0)
