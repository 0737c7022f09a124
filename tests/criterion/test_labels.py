import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smallloss.criterion.labels import CHUNK, alike_note, encode, encode_labels
from smallloss.errors import InputError


@pytest.mark.parametrize(
    "values, codes, classes",
    [
        (["dog", "cat", "dog"], [1, 0, 1], ("cat", "dog")),
        ([7, -1, 100, 7], [1, 0, 2, 1], ("-1", "7", "100")),
        (["10", "2", "-3"], [2, 1, 0], ("-3", "2", "10")),
        (["10", "2", "x"], [0, 1, 2], ("10", "2", "x")),
        ([2.0, 0.0], [1, 0], ("0", "2")),
        ([True, False], [1, 0], ("False", "True")),
        (np.array([[3], [1]], dtype=np.uint8), [1, 0], ("1", "3")),
        (np.array([b"b", b"a"]), [1, 0], ("a", "b")),
        (np.array([1, 2.0, "a"], dtype=object), [0, 1, 2], ("1", "2", "a")),
    ],
)
def test_any_kind_of_label(values, codes, classes):
    got, names = encode_labels(values)
    assert got.dtype == np.int64
    assert got.tolist() == codes
    assert names == classes


@pytest.mark.parametrize("low", [-70_000, -3, 0, 5, 2**40])
@pytest.mark.parametrize("span", [1, 3, 1 << 16, 1 << 20])
def test_whole_numbers_keep_their_order_wherever_they_begin(low, span):
    """Near one another they are counted in a table, far apart they are sorted: it makes no difference."""
    rng = np.random.default_rng(0)
    values = low + span * rng.integers(0, 5, CHUNK + 10 if span == 3 else 50)
    classes, codes = encode(values)
    assert classes.tolist() == sorted(set(values.tolist()))
    assert classes[codes].tolist() == values.tolist()
    assert codes.dtype == np.uint8
    largest = np.array([2**64 - 1, 2**64 - 1 - span, 2**64 - 1], dtype=np.uint64)
    classes, codes = encode(largest)
    assert (classes.tolist(), codes.tolist()) == ([2**64 - 1 - span, 2**64 - 1], [1, 0, 1])


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1))
def test_text_and_number_give_the_same_codes(values):
    codes, classes = encode_labels(values)
    text_codes, text_classes = encode_labels([str(value) for value in values])
    assert classes == text_classes
    assert codes.tolist() == text_codes.tolist()
    assert [int(classes[code]) for code in codes] == values


def test_known_classes_keep_their_order_and_are_all_there_are():
    codes, classes = encode_labels(["b", "a"], classes=("b", "c", "a"))
    assert codes.tolist() == [0, 2]
    assert classes == ("b", "c", "a")
    with pytest.raises(InputError, match="'z' at index 2 is not one of the 2 classes 'a', 'b'"):
        encode_labels(["a", "b", "z"], classes=("a", "b"))


@pytest.mark.parametrize(
    "values, sentence",
    [
        ([1.0, np.nan], "label at index 1 is missing"),
        ([1.0, 0.5], "label at index 1 is 0.5"),
        ([1.0, np.inf], "label at index 1 is inf"),
        (["a", None], "label at index 1 is None"),
        (["a", " "], "label at index 1 is ' '"),
        (np.array(["a", float("nan")], dtype=object), "label at index 1 is nan"),
        ([[1, 0], [0, 1]], r"shape \(2, 2\)"),
        ([], "no labels"),
    ],
)
def test_bad_labels_are_named(values, sentence):
    with pytest.raises(InputError, match=sentence):
        encode_labels(values)


@pytest.mark.parametrize(
    "classes, named",
    [
        (("cat", "cat "), "'cat' and 'cat '"),
        (("Cat", "cat", "dog"), "'Cat' and 'cat'"),
        (("1", "1.0", "2"), "'1' and '1.0'"),
        (("new  york", "new york"), "'new  york' and 'new york'"),
        (("a", "A", "b", "B"), "'a' and 'A'; 'b' and 'B'"),
        *((differ, None) for differ in (("cat", "cats"), ("1", "10", "-1"), ("1_0", "10"), ("a b", "ab"), ("x",))),
    ],
)
def test_labels_that_are_nearly_equal_are_named_and_stay_apart(classes, named):
    notes = alike_note(classes)
    assert len(notes) == (named is not None)
    assert not named or named in notes[0]
    assert sorted(encode_labels(list(classes))[1]) == sorted(classes)
