"""The page's interval is the program's, digit for digit: both must say what one file of golden cases says."""

import json
import shutil
import subprocess
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smallloss.auditing
from smallloss.noise.blocks import Blocks, answers_needed, anytime, draw_blocks

GOLDEN = Path(__file__).parents[1] / "data_files" / "interval.json"
MODULES = Path(smallloss.auditing.__file__).parent
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
    assert (needed[0].if_right or 0) <= (needed[1].if_right or len(case["score"]))  # it may still be answered


def test_the_page_says_the_same_digit_for_digit(tmp_path: Path) -> None:
    script = """
        const { ifRight, atRate } = answersNeeded(blocks, said, check.promise, options);
        return { ...anytime(blocks, said, options), if_right: ifRight, at_rate: atRate };
    """
    found = in_node(tmp_path, script)
    for case, said in zip(CASES, found, strict=True):
        assert said == pytest.approx(case["expected"], abs=1e-12), case["what"]


def test_its_words_have_these_numbers(tmp_path: Path) -> None:
    """Half of the answers are from before; a low end is rounded down, a high end up."""
    half = "{ ...check, answered: [...said].slice(0, 20) }"
    found = in_node(tmp_path, f"return inWords(proved({half}, new Map([...said].slice(20))), check);")
    assert len(found) == len(CASES)
    for case, words in zip(CASES, found, strict=True):
        low, high, if_right = (case["expected"][name] for name in ("low", "high", "if_right"))
        line = words["lines"][-1]
        if (low, high) == (0, 1):
            assert words["headline"] == "Nothing is proved yet."
        else:
            ends = (floor(1000 * low) / 10, ceil(1000 * high) / 10)
            assert words["headline"] == f"{ends[0]:.1f} % to {ends[1]:.1f} % of the kept labels are right."
        assert ("that is proved" in line) == (low >= case["promise"]), case["what"]
        assert ("fewer are right" in line) == (high < case["promise"]), case["what"]
        if low < case["promise"] <= high:
            best = "Even if all" if if_right is None else f"If all are right, {if_right} more answers prove it."
            assert best in line, case["what"]


def in_node(tmp_path: Path, script: str) -> list[dict[str, Any]]:
    """What the lines of a script return of each case."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, so nothing here can run the page's script")
    for name in ("interval.js", "proved.js"):
        shutil.copy(MODULES / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "run.js").write_text(
        """
        import { readFileSync } from "node:fs";
        import { anytime, answersNeeded } from "./interval.js";
        import { inWords, proved } from "./proved.js";
        const results = JSON.parse(readFileSync(0)).map((check) => {
          const { blocks } = check, said = new Map(check.answers);
          const options = { level: check.level, rightKnown: check.right_known, known: check.known };
        """
        + script
        + "}); console.log(JSON.stringify(results));",
        encoding="utf-8",
    )
    inputs = json.dumps([case | {"blocks": blocks_of(case).to_dict()} for case in CASES])
    ran = subprocess.run([node, "run.js"], input=inputs, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
