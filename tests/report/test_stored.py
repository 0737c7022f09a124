"""A page written anew from its run folder is the page that was written."""

from pathlib import Path

import numpy as np
from smallloss.finished import read_finished
from smallloss.report.stored import read_result

import smallloss as sl
from smallloss.report.page import page


def test_the_page_of_a_run_read_back_is_the_same_to_the_byte(tmp_path: Path) -> None:
    run = sl.clean("digits", tmp_path / "run", epochs=2, device="cpu")
    config, table = read_finished(tmp_path / "run")
    examples = {name: np.asarray(table.column(name)) for name in table.column_names}
    result = run.result
    again = read_result(tmp_path / "run", config, result.dataset, examples, result.parts, result.verdict)
    assert page(again) == (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
