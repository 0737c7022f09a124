import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from smallloss.data import Dataset, hold_out, split
from smallloss.data.protocol import conflict_note, conflict_table, conflicting_duplicates, difference_hash


def scenes(n, seed=0, size=32):
    """Smooth pictures that have nothing to do with each other."""
    coarse = np.random.default_rng(seed).integers(0, 256, (n, 6, 6, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(one).resize((size, size), Image.Resampling.BICUBIC)) for one in coarse])


def dataset(inputs, labels):
    labels = np.asarray(labels, dtype=np.int64)
    return Dataset(inputs, labels, tuple(f"class {k}" for k in range(labels.max() + 1)))


def test_equal_rows_with_different_labels():
    x = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4], [1, 2]], np.float32)
    data = dataset(x, [0, 1, 1, 0, 1, 0])
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
    found = [group.tolist() for group in conflicting_duplicates(dataset(x, labels))]
    assert found == [[7, 300], [8, 301], [9, 302]]
    (sentence,) = conflict_note(dataset(x, labels))
    assert sentence.startswith("1 group of equal examples and 2 groups of nearly equal examples carry")


def test_even_surfaces_are_not_near_duplicates_of_each_other():
    x = np.stack([np.full((32, 32, 1), level, np.uint8) for level in (0, 10, 20, 10)])
    assert [group.tolist() for group in conflicting_duplicates(dataset(x, [0, 1, 0, 0]))] == [[1, 3]]


def test_the_hash_of_a_ramp_and_of_its_mirror():
    ramp = np.tile(np.arange(0, 252, 7, dtype=np.uint8)[None, None, :, None], (1, 36, 1, 1))
    assert difference_hash(ramp).tolist() == [2**64 - 1]
    assert difference_hash(ramp[:, :, ::-1]).tolist() == [0]


def test_groups_stay_on_one_side():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    groups = rng.integers(0, 250, 600)
    data = dataset(np.zeros((600, 1), np.float32), labels)
    kept, held_out = hold_out(data, 0, groups=groups)
    assert sorted([*kept, *held_out]) == list(range(600))
    assert not set(groups[kept]) & set(groups[held_out])
    assert 60 <= len(held_out) <= 120  # a fifth is asked for; groups across classes stay
    parts = split(data, "honest", 0, groups=groups)
    assert sorted([*parts.train, *parts.validation]) == list(range(600))
    assert not set(groups[parts.train]) & set(groups[parts.validation])
    assert len(parts.validation) > 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=3, max_size=60), st.integers(0, 99))
def test_every_class_keeps_an_example_whatever_the_groups(rows, seed):
    labels, groups = np.array([*rows, (0, 10), (1, 10), (2, 10)]).T
    data = dataset(np.zeros((len(labels), 1), np.float32), labels)
    kept, held_out = hold_out(data, seed, groups=groups)
    assert set(labels[kept]) == set(labels)
    assert not set(groups[kept]) & set(groups[held_out])


def test_groups_of_one_change_nothing():
    data = dataset(np.zeros((50, 1), np.float32), np.arange(50) % 2)
    plain = hold_out(data, 3)
    alone = hold_out(data, 3, groups=np.arange(50))
    assert plain[1].tolist() == alone[1].tolist()


def test_conflicts_are_said_with_an_example_and_of_nearly_equal_ones_no_label_is_called_wrong():
    x = scenes(30)
    grain = np.random.default_rng(1).integers(-6, 7, (2, *x.shape[1:]))
    x[[8, 9]] = np.clip(x[[7, 6]].astype(int) + grain, 0, 255)
    near = dataset(x, np.arange(30) % 2)
    (sentence,) = conflict_note(near, "duplicates.csv")
    assert sentence == (
        "2 groups of nearly equal examples carry different labels, for example 6 (labelled class 0) and 9 (labelled "
        "class 1). Look at them: they may show the same thing. duplicates.csv lists them all."
    )
    x = scenes(20)
    x[5] = x[3]
    assert conflict_note(dataset(x, np.arange(20) % 2)) == []  # both are odd
    x[4] = x[3]
    (sentence,) = conflict_note(dataset(x, np.arange(20) % 2))
    assert sentence == (
        "1 group of equal examples carries different labels, for example 3 (labelled class 1) and 4 (labelled class "
        "0). Of labels on equal examples at least one is wrong, unless nothing in them tells the classes apart."
    )


def test_every_member_of_a_group_with_different_labels_is_listed():
    x = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4], [1, 2], [5, 6]], np.float32)
    data = dataset(x, [0, 1, 1, 0, 1, 0, 1])
    columns = conflict_table(data)
    assert columns == {
        "id": ["0", "2", "5", "3", "6"],
        "label": ["class 0", "class 1", "class 0", "class 0", "class 1"],
        "group": [1, 1, 1, 2, 2],
    }
