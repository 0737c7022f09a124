import numpy as np
import pytest

from smallloss.data.table_files import write_table
from smallloss.data.told import read_rates
from smallloss.errors import InputError

CLASSES = ("cat", "dog")


def written(path, text):
    (path / "rates.csv").write_text(text)
    return path / "rates.csv"


@pytest.mark.parametrize(
    "text, rates",
    [("0.2", 0.2), ("cat=0.3,dog=0.2", {"cat": 0.3, "dog": 0.2}), (" cat =0.3, dog= 0.2", {"cat": 0.3, "dog": 0.2})],
)
def test_a_number_or_pairs(text, rates):
    assert read_rates(text, CLASSES) == (rates, None)


@pytest.mark.parametrize(
    "text", ["cat,0.3\ndog,0.2\n", "label,noise_rate\ncat,0.3\ndog,0.2\n", "name,eta\n\ncat,0.3\n , \ndog,0.2\n",
             "noise_rate,n,label\n0.3,10,cat\n0.2,20,dog\n"],
)  # fmt: skip
def test_a_table_of_labels_and_rates(tmp_path, text):
    assert read_rates(written(tmp_path, text), CLASSES) == ({"cat": 0.3, "dog": 0.2}, None)


def test_how_high_a_rate_may_be(tmp_path):
    """In the order of the classes; where nothing is said the rate is all there is."""
    path = written(tmp_path, "label,noise_rate,upper\ndog,0.2,0.4\ncat,0.3,\n")
    rates, upper = read_rates(path, CLASSES)
    assert rates == {"cat": 0.3, "dog": 0.2}
    assert upper is not None
    np.testing.assert_array_equal(upper, [0.3, 0.4])


def test_blanks_are_a_part_of_a_name_where_a_class_has_them(tmp_path):
    classes = ("cat", "cat ", " dog")
    assert read_rates("cat=0.1,cat =0.2,dog=0.3, dog=0.4", classes)[0] == {
        "cat": 0.1,
        "cat ": 0.2,
        " dog": 0.4,
        "dog": 0.3,
    }
    path = written(tmp_path, "label,noise_rate\ncat,0.1\ncat ,0.2\n dog,0.3\n")
    assert read_rates(path, classes)[0] == {"cat": 0.1, "cat ": 0.2, " dog": 0.3}


def test_names_are_understood_as_our_own_tables_spell_them(tmp_path):
    classes = ("=four", "+5", "-cat", "@x")
    path = write_table(tmp_path / "rates.csv", {"label": list(classes), "noise_rate": [0.1, 0.2, 0.3, 0.4]})
    assert "'=four" in path.read_text()
    assert read_rates(path, classes)[0] == dict(zip(classes, [0.1, 0.2, 0.3, 0.4], strict=True))
    assert read_rates("=four=0.1,'-cat=0.3", classes)[0] == {"=four": 0.1, "-cat": 0.3}


def test_a_path_may_hold_an_equals_sign(tmp_path):
    (tmp_path / "lr=0.1").mkdir()
    assert read_rates(str(written(tmp_path / "lr=0.1", "cat,0.3\ndog,0.2\n")), CLASSES)[0] == {"cat": 0.3, "dog": 0.2}


@pytest.mark.parametrize(
    "text, words",
    [
        ("cat,0.3\ndog\n", "Row 2 of .* has 1 cells"),
        ("cat,0.3,1\ndog,0.2,1\n", "Row 1 of .* has 3 cells"),
        ("cat,0.3\ndog,some\n", "noise rate of 'dog' in .* is 'some'"),
        ("cat,0.3\ncat,0.2\n", "'cat' in .* is given twice"),
        ("label,noise_rate,upper\ncat,0.3,x\n", r"The upper of 'cat' in row 2 of .*rates\.csv is 'x'"),
        ("label,noise_rate,upper\ncat,0.3,\ndog,0.2,1.0\n", r"upper of 'dog' in row 3 of .*rates\.csv is '1\.0'"),
        ("label,noise_rate,upper\ncat,0.3,nan\n", "upper of 'cat' in row 2 of .* is 'nan'; the upper end of a noise"),
        ("label,noise_rate,upper\ncat,0.3,-0.1\n", "upper of 'cat' in row 2 of .* is '-0.1'"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read_rates(written(tmp_path, text), CLASSES)


def test_what_is_nothing_of_all_this():
    with pytest.raises(InputError, match=r"'none\.csv' is neither a number, nor pairs such as"):
        read_rates("none.csv", CLASSES)
