"""What speaks against a label in a row and in a text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from made import part_of, run_of
from markup import unpacked
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.record.run import Run
from smallloss.report.cells import CELLS_SHOWN, Cells, Words
from smallloss.report.workbench import workbench


def of_table(folder: Path) -> Run:
    """Twenty cats of 4 to 5 kg and as many dogs of about 30; the last cat weighs as a dog does and lives in Oslo."""
    cats = [f"{4 + k / 20},Rome,cat,{k}" for k in range(19)] + ["31,Oslo,cat,"]
    dogs = [f"{30 + k / 20},Oslo,dog,{k}" for k in range(20)]
    (folder / "t.csv").write_text("\n".join(["weight,city,label,noise", *cats, *dogs]))
    data = load(folder / "t.csv")
    loss = np.where(np.arange(40) == 19, 9, 0.1)
    return run_of(data, [part_of(data, "train", range(40), loss, [0.05, 0.0], beta=0)], data.labels, loss)


def test_cells_that_the_class_rarely_has_come_first(tmp_path: Path) -> None:
    cells = Cells(of_table(tmp_path))
    weight, city, noise = (cells.names.index(name) for name in ("weight", "city", "noise"))
    assert cells.of(19) == [(weight, "31", "↑"), (city, "Oslo", "!"), (noise, "missing", "")]
    assert {odd for _, _, odd in cells.of(5)} == {""}


def test_a_row_is_held_against_others_in_the_cells_that_are_odd_of_it(tmp_path: Path) -> None:
    run = of_table(tmp_path)
    run.features = np.arange(40, dtype=np.float16)[:, None]
    facts = unpacked(workbench(run).data)
    place = facts["shown"]["rows"].index(19)
    columns = [column for column, *_ in facts["shown"]["cells"][place]]
    beside = facts["shown"]["beside"][place]
    assert set(beside) == {str(row) for name in ("given", "seen") for row in facts["evidence"][name][0]}
    for row, texts in beside.items():
        whole = Cells(run).texts(int(row))
        assert texts == [whole[column] for column in columns]
    assert facts["shown"]["beside"][facts["shown"]["rows"].index(5)] == {}


def test_features_are_named_by_their_number() -> None:
    x = np.random.default_rng(0).normal(size=(40, 12)).astype(np.float32)
    x[:, 7] = np.where(np.arange(40) == 3, -50, x[:, 7])
    x[:, 2] = 1  # of a constant nothing is odd
    data = Dataset(x, np.arange(40) % 2, ("cat", "dog"))
    loss = np.linspace(0, 1, 40)
    cells = Cells(run_of(data, [part_of(data, "train", range(40), loss, 0.0, beta=0)], data.labels, loss))
    found = cells.of(3)
    assert len(found) == CELLS_SHOWN
    assert found[0] == (7, "-50", "↓")
    assert cells.names[7] == "feature 7"
    assert 2 not in [column for column, *_ in found]


@pytest.mark.parametrize("other, words", [(1, ["bark"]), (0, []), (-1, [])])
def test_words_that_speak_for_the_other_class(result: Run, other: int, words: list[str]) -> None:
    e = replace(result.examples, reason=np.zeros(10, np.int8))
    assert e.kept.all()
    texts = ["the dogs Bark. bark!" if label else "the cats purr" for label in e.label.tolist()]
    texts[2] = "only once"
    assert Words(replace(result, examples=e), texts).of("They BARK, the once", 0, other) == words
