"""The page's interval is the program's, digit for digit: both must say what one file of golden cases says."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smallloss.auditing
from smallloss.noise.blocks import Blocks, answers_needed, anytime, draw_blocks

GOLDEN = Path(__file__).parents[1] / "data_files" / "interval.json"
MODULE = Path(smallloss.auditing.__file__).parent / "interval.js"
CASES: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))


def blocks_of(case: dict[str, Any]) -> Blocks:
    return draw_blocks(np.arange(len(case["score"])), case["score"], seed=case["seed"], groups=case["groups"])


def said_of(case: dict[str, Any]) -> dict[int, bool | None]:
    return {int(row): answer for row, answer in case["answers"]}


def results(case: dict[str, Any]) -> dict[str, Any]:
    """What Python says of a case."""
    blocks, options = blocks_of(case), {name: case[name] for name in ("level", "right_known", "known")}
    needed = answers_needed(blocks, said_of(case), case["promise"], **options)
    return anytime(blocks, said_of(case), **options).to_dict() | needed._asdict()


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_python_says_what_the_golden_cases_say(case: dict[str, Any]) -> None:
    assert results(case) == pytest.approx(case["expected"], abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_what_was_left_open_for_a_later_block_counts_as_unsure(case: dict[str, Any]) -> None:
    options = {name: case[name] for name in ("level", "right_known", "known")}
    blocks, said = blocks_of(case), said_of(case)
    last = max((b for b, rows in enumerate(blocks.rows) if any(row in said for row in rows.tolist())), default=0)
    skipped = [int(row) for rows in blocks.rows[:last] for row in rows][::3]
    left_open = {row: answer for row, answer in said.items() if row not in skipped}
    unsure = said | dict.fromkeys(skipped)
    assert anytime(blocks, left_open, **options) == pytest.approx(anytime(blocks, unsure, **options), nan_ok=True)
    needed = [answers_needed(blocks, answers, case["promise"], **options) for answers in (left_open, unsure)]
    assert needed[0] == needed[1]


def test_the_page_says_the_same_digit_for_digit(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, so nothing here can run the page's script")
    inputs = [case | {"blocks": blocks_of(case).to_dict()} for case in CASES]
    (tmp_path / "interval.mjs").write_text(MODULE.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(
        """
        import { readFileSync } from "node:fs";
        import { anytime, answersNeeded } from "./interval.mjs";
        const said = JSON.parse(readFileSync(0)).map((c) => {
          const options = { level: c.level, rightKnown: c.right_known, known: c.known }, answers = new Map(c.answers);
          const { ifRight, atRate } = answersNeeded(c.blocks, answers, c.promise, options);
          return { ...anytime(c.blocks, answers, options), if_right: ifRight, at_rate: atRate };
        });
        console.log(JSON.stringify(said));
        """,
        encoding="utf-8",
    )
    ran = subprocess.run(
        [node, tmp_path / "run.mjs"], input=json.dumps(inputs), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    for case, said in zip(CASES, json.loads(ran.stdout), strict=True):
        assert said == pytest.approx(case["expected"], abs=1e-12), case["what"]
