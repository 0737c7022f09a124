from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from smallloss.data.table_files import EXPORTED, defuse, read_table, write_table
from smallloss.errors import InputError

COLUMNS = {
    "id": ["=SUM(A1)", "-1", "+4e3", "-x", "@home", 'ü, "quoted"\nline', "", "plain"],
    "given_label": np.array(list("abcdefgh")),
    "score": np.array([0.1, np.nan, -2.5, 1e-300, 3, 4, 5, 6]),
    "rank_in_class": np.arange(8),
    "selected": np.arange(8) % 2 == 0,
}


def test_parquet_is_exact(tmp_path):
    write_table(tmp_path / "t.parquet", COLUMNS)
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table.column("id").to_pylist() == COLUMNS["id"]
    np.testing.assert_array_equal(table.column("score").to_numpy(), COLUMNS["score"])
    assert table.column("rank_in_class").type == pa.int64()
    assert table.column("selected").to_pylist() == [True, False] * 4


def test_csv_round_trip_with_formulas_defused_and_numbers_kept(tmp_path):
    write_table(tmp_path / "t.csv", COLUMNS)
    table = read_table(tmp_path / "t.csv")
    expected = ["'=SUM(A1)", "-1", "+4e3", "'-x", "'@home", 'ü, "quoted"\nline', None, "plain"]
    assert table.column("id").to_pylist() == expected
    scores = [None if cell is None else float(cell) for cell in table.column("score").to_pylist()]
    assert scores == [0.1, None, -2.5, 1e-300, 3, 4, 5, 6]
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_as_text_survive(value):
    assert defuse(repr(value)) == repr(value)
    assert defuse(f"+{abs(value)!r}") == f"+{abs(value)!r}"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-1+2", "@x", "\t=1", "--1", "-", "'=1", "''@x"])
def test_formulas_do_not_survive(text):
    assert defuse(text) == f"'{text}"


def test_texts_of_other_tools(tmp_path):
    """A UUID, and texts in the layout that some tools write, are texts in csv."""
    uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef", None], pa.binary(16)))
    table = pa.table({"key": uuid, "text": pa.array(["=a", "b"], pa.string_view())})
    parquet.write_table(table, tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    write_table(tmp_path / "t.csv", {name: read.column(name).take([1, 0]) for name in read.column_names})
    cells = read_table(tmp_path / "t.csv").to_pydict()
    assert cells == {"key": [None, "30313233-3435-3637-3839-616263646566"], "text": ["b", "'=a"]}


def test_lists_are_no_cells(tmp_path):
    with pytest.raises(
        InputError, match=r"The column 'tags' holds list<item: string>, which a csv cannot hold; write a"
    ):
        write_table(tmp_path / "t.csv", {"tags": [["a", "b"]]})
    assert not list(tmp_path.iterdir())


@given(st.lists(st.text("'=+-@\t\r\nx1,\"", min_size=1, max_size=4), min_size=1, max_size=8, unique=True))
@settings(max_examples=50)
def test_an_export_reads_back_as_it_was(texts):
    """Whatever its texts and the names of its columns begin with; two texts never become one."""
    names = [name for name in texts if name == name.strip()]
    with TemporaryDirectory() as folder:
        path = write_table(Path(folder) / "t.csv", dict.fromkeys((*EXPORTED, *names), texts))
        table = read_table(path)
    assert table.column_names == [*EXPORTED, *names]
    assert all(column.to_pylist() == texts for column in table.columns)


@pytest.mark.parametrize("lacking", EXPORTED)
def test_a_table_that_is_no_export_keeps_its_apostrophes(tmp_path, lacking):
    write_table(tmp_path / "t.csv", {name: ["=x", "'=x", "'tis"] for name in EXPORTED if name != lacking})
    for column in read_table(tmp_path / "t.csv").columns:
        assert column.to_pylist() == ["'=x", "''=x", "'tis"]


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"neither \.csv nor \.parquet"):
        write_table(tmp_path / "t.xlsx", COLUMNS)
