import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from smallloss.data import Dataset, hold_out, split
from smallloss.data.protocol import conflict_note, conflict_table, conflicting_duplicates, difference_hash
from smallloss.errors import InputError


def dataset(labels, true_labels=None, classes=None, inputs=None):
    labels = np.asarray(labels, dtype=np.int64)
    truth = None if true_labels is None else np.asarray(true_labels, dtype=np.int64)
    names = tuple(f"class {k}" for k in range(classes or int(labels.max()) + 1))
    inputs = np.zeros((len(labels), 1), np.float32) if inputs is None else inputs
    return Dataset(inputs, labels, names, name="toy", true_labels=truth)


def test_what_each_protocol_validates_with():
    """A tenth of each true class by its true labels, of each observed class by those observed, or nothing."""
    true = np.repeat(np.arange(4), 50)
    noisy = np.random.default_rng(0).permutation(true)
    got = split(dataset(noisy, true), "paper", seed=3)
    assert np.bincount(true[got.validation]).tolist() == [5, 5, 5, 5]
    assert got.labels.tolist() == true[got.validation].tolist()
    assert len(got.train) == 180
    labels = np.repeat([0, 1, 2], [100, 50, 4])
    for data in (dataset(labels), dataset(labels, np.random.default_rng(0).permutation(labels))):
        got = split(data, "honest", seed=3)
        assert np.bincount(labels[got.validation], minlength=3).tolist() == [10, 5, 0]
        assert got.labels.tolist() == labels[got.validation].tolist()
    got = split(dataset([0, 1, 1]), "full", seed=0)
    assert (got.train.tolist(), got.validation.tolist()) == ([0, 1, 2], [])


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


# Duplicates


def scenes(n, seed=0, size=32):
    """Smooth pictures that have nothing to do with each other."""
    coarse = np.random.default_rng(seed).integers(0, 256, (n, 6, 6, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(one).resize((size, size), Image.Resampling.BICUBIC)) for one in coarse])


def test_equal_rows_with_different_labels():
    x = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4], [1, 2]], np.float32)
    data = dataset([0, 1, 1, 0, 1, 0], inputs=x)
    assert [group.tolist() for group in conflicting_duplicates(data)] == [[0, 2, 5]]
    groups = data.groups
    assert data.groups is groups  # hashed once
    assert groups[0] == groups[2] == groups[5]
    assert groups[1] == groups[4]
    assert len(set(groups.tolist())) == 3


def test_near_duplicates_are_found_and_strangers_are_not():
    x = scenes(300)
    rng = np.random.default_rng(1)
    grain = np.clip(x[7].astype(int) + rng.integers(-6, 7, x[7].shape), 0, 255)
    brighter = np.clip(x[8] * 0.9 + 20, 0, 255)
    x = np.concatenate([x, np.stack([grain, brighter, x[9]]).astype(np.uint8)])
    labels = np.arange(len(x)) % 7
    labels[300:] = (labels[7:10] + 1) % 7
    found = [group.tolist() for group in conflicting_duplicates(dataset(labels, inputs=x))]
    assert found == [[7, 300], [8, 301], [9, 302]]
    (sentence,) = conflict_note(dataset(labels, inputs=x))
    assert sentence.startswith("1 group of equal examples and 2 groups of nearly equal examples carry")


def test_even_surfaces_are_not_near_duplicates_of_each_other():
    x = np.stack([np.full((32, 32, 1), level, np.uint8) for level in (0, 10, 20, 10)])
    assert [group.tolist() for group in conflicting_duplicates(dataset([0, 1, 0, 0], inputs=x))] == [[1, 3]]


def test_the_hash_of_a_ramp_and_of_its_mirror():
    ramp = np.tile(np.arange(0, 252, 7, dtype=np.uint8)[None, None, :, None], (1, 36, 1, 1))
    assert difference_hash(ramp).tolist() == [2**64 - 1]
    assert difference_hash(ramp[:, :, ::-1]).tolist() == [0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=3, max_size=60), st.integers(0, 99))
def test_groups_stay_on_one_side_and_every_class_keeps_an_example(rows, seed):
    labels, groups = np.array([*rows, (0, 10), (1, 10), (2, 10)]).T
    data = dataset(labels)
    kept, held_out = hold_out(data, seed, groups=groups)
    parts = split(data, "honest", seed, groups=groups)
    for rest, drawn in ((kept, held_out), (parts.train, parts.validation)):
        assert sorted([*rest, *drawn]) == list(range(len(labels)))
        assert set(labels[rest]) == set(labels)
        assert not set(groups[rest]) & set(groups[drawn])


def test_of_large_groups_about_a_fifth_is_held_out():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 250, 600)
    assert 60 <= len(hold_out(dataset(rng.integers(0, 3, 600)), 0, groups=groups)[1]) <= 120  # those cut stay


def test_conflicts_are_said_with_an_example_and_of_nearly_equal_ones_no_label_is_called_wrong():
    x = scenes(30)
    grain = np.random.default_rng(1).integers(-6, 7, (2, *x.shape[1:]))
    x[[8, 9]] = np.clip(x[[7, 6]].astype(int) + grain, 0, 255)
    near = dataset(np.arange(30) % 2, inputs=x)
    (sentence,) = conflict_note(near, "duplicates.csv")
    assert sentence == (
        "2 groups of nearly equal examples carry different labels, for example 6 (labelled class 0) and 9 (labelled "
        "class 1). Look at them: they may show the same thing. duplicates.csv lists them all."
    )
    x = scenes(20)
    x[5] = x[3]
    assert conflict_note(dataset(np.arange(20) % 2, inputs=x)) == []  # both are odd
    x[4] = x[3]
    (sentence,) = conflict_note(dataset(np.arange(20) % 2, inputs=x))
    assert sentence == (
        "1 group of equal examples carries different labels, for example 3 (labelled class 1) and 4 (labelled class "
        "0). Of labels on equal examples at least one is wrong, unless nothing in them tells the classes apart."
    )


def test_every_member_of_a_group_with_different_labels_is_listed():
    x = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4], [1, 2], [5, 6]], np.float32)
    data = dataset([0, 1, 1, 0, 1, 0, 1], inputs=x)
    columns = conflict_table(data)
    assert columns == {
        "id": ["0", "2", "5", "3", "6"],
        "label": ["class 0", "class 1", "class 0", "class 0", "class 1"],
        "group": [1, 1, 1, 2, 2],
    }
