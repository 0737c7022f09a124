"""A run folder that an earlier version wrote is read, reported, audited and exported: nobody trains again for it."""

import csv
import shutil
from pathlib import Path

import pytest

import smallloss as sl
from smallloss.record.run import Run
from smallloss.run.report import report

FILES = Path(__file__).parent / "data_files"
DATA = FILES / "rows_of_before.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """It has no result.json, no features, and an estimate of another kind."""
    return Path(shutil.copytree(FILES / "run_of_before", tmp_path / "run"))


def test_it_is_read(folder):
    run = Run.read(folder)
    assert (len(run.examples), run.examples.likely_wrong.sum(), run.examples.kept.sum()) == (160, 33, 115)
    assert run.noise.source == "unknown"
    assert run.verdict.word == "unchecked"


def test_it_is_reported(folder):
    report(folder, data=str(DATA))
    page = (folder / "report.html").read_text()
    assert all(words in page for words in ("Unchecked", "likely wrong"))


def test_it_is_audited_and_exported_with_the_answers(folder, tmp_path):
    table, page = sl.audit(folder, suspicious=4, dataset=sl.load(DATA))
    assert page.is_file()
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {"answer": "none"}
    with table.open("w", newline="") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows(rows)
    result = sl.read_back(folder, table, dataset=sl.load(DATA))
    assert set(result.pins.values()) == {-1}
    done = sl.export(folder, tmp_path / "clean.csv", "csv", data=str(DATA))
    with done.path.open(newline="") as file:
        left = {row["id"] for row in csv.DictReader(file)}
    assert len(left) == done.written
    assert not left & {row["id"] for row in rows}


def test_a_run_that_an_earlier_version_began_goes_on(tmp_path):
    """Of the settings that have come since, it had what they are if nobody names them."""
    (tmp_path / "run").mkdir()
    shutil.copy(FILES / "config_of_before.json", tmp_path / "run" / "config.json")
    assert sl.clean("digits", tmp_path / "run", epochs=3).verdict.word == "unchecked"
    with pytest.raises(sl.InputError, match=r"settings\.stage1\.cutout was 0\.0, now 0\.5"):
        sl.clean("digits", tmp_path / "run", epochs=3, settings={"stage1.cutout": 0.5})
