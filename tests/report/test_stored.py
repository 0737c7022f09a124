"""A page written anew from its run folder is the page that was written."""

from pathlib import Path

import numpy as np

import smallloss as sl
from smallloss.data.idx import load_digits
from smallloss.record.run import Run
from smallloss.report.page import page


def test_the_page_of_a_run_read_back_is_the_same_to_the_byte(tmp_path: Path) -> None:
    run = sl.clean(load_digits().take(np.arange(200)), tmp_path / "run", epochs=1, device="cpu")
    again = Run.read(tmp_path / "run").shown_with(run.result.dataset)
    assert page(again, "run") == (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
