"""A column, a source and an option are written in one place, and are everywhere. (A method: test_contributing.)"""

import inspect
import sys
from typing import Annotated, Any

import numpy as np

import smallloss as sl
from command import smallloss
from made import part_of, rows_of, run_of, write_run
from smallloss import cli
from smallloss import data as package
from smallloss.data import source
from smallloss.data.arrays import from_arrays
from smallloss.knobs import Opt, said_again, usual
from smallloss.record import examples
from smallloss.record.run import Run
from smallloss.run.clean import clean

SOURCE = """
import numpy as np
from smallloss.data.arrays import from_arrays
from smallloss.data.source import Source

SOURCE = Source("a file of lines", lambda path: from_arrays(np.eye(4), path.read_text().split()), endings=(".lines",))
"""


def test_a_new_column_is_one_line(tmp_path, monkeypatch):
    column = examples.Column("is_short", lambda e: np.array([len(name) < 2 for name in e.ids]), False, "a short id")
    monkeypatch.setattr(examples, "COLUMNS", (*examples.COLUMNS, column))
    data = from_arrays(np.eye(12), np.arange(12) % 2)
    run = run_of(data, [part_of(data, "train", range(12), np.arange(12), 0.2)], data.labels, np.arange(12.0))
    folder = write_run(tmp_path / "run", run)
    expected = [True] * 10 + [False] * 2
    assert run.examples.table()["is_short"].tolist() == expected
    assert [row["is_short"] == "true" for row in rows_of(folder / "examples.csv")] == expected
    assert Run.read(folder).examples.table()["is_short"].tolist() == expected


def test_a_new_source_is_one_file(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "lines.py").write_text(SOURCE)
    (tmp_path / "pets.lines").write_text("cat\ndog\ncat\ncat\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / "package")])
    source.sources.cache_clear()
    try:
        assert sl.load(tmp_path / "pets.lines").classes == ("cat", "dog")
        assert "a file of lines" in source.known()
    finally:
        sys.modules.pop("smallloss.data.lines", None)
        source.sources.cache_clear()


def test_a_new_option_is_one_line(monkeypatch):
    """Beside those of clean: help, a value of its own type, the default, the next command."""
    new = inspect.Parameter(
        "colour", inspect.Parameter.KEYWORD_ONLY, default=3, annotation=Annotated[int, Opt("N", "How blue.", least=1)]
    )

    def dye(**values: Any) -> dict[str, Any]:
        """As clean, in colour."""
        return values

    dye.__signature__ = inspect.Signature([*inspect.signature(clean).parameters.values(), new])  # type: ignore[attr-defined]
    monkeypatch.setattr(cli.app, "registered_commands", list(cli.app.registered_commands))
    cli._verb(dye)(lambda values: print(values["colour"] + 1, said_again(dye, values)))
    assert "How blue." in smallloss("dye", "--help").out
    assert smallloss("dye", "digits", "--out", "x", "--colour", 7).out == "8 ['--colour', '7']\n"
    assert "'--colour'" in smallloss("dye", "digits", "--out", "x", "--colour", 0, status=2).err
    assert usual(dye) == usual(clean) | {"colour": 3}
