"""Every example runs as a user would run it, stays short, and prints what it claims."""

import csv
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
LONGEST = 79  # lines


@cache
def run(name: str, *arguments: str) -> str:
    """What the example prints; a warning fails it, as it would annoy its reader."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, f"{pattern!r} is not in:\n{text}"
    return float(found[1])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_is_short_and_says_how_to_run_it(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert f"python examples/{path.name}" in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_has_a_test_of_its_claim(path):
    assert f"test_{path.stem}" in globals()


def test_your_own_loop():
    out = run("your_own_loop.py")
    assert out.count("truly") == 10
    assert number(r"(\d+) of 1797 labels are wrong", out) == 269
    assert number(r"Likely wrong: \d+, of which (\d+) % are wrong", out) > 75  # 15 by chance
    assert number(r"of which ([\d.]+) % are right", out) > 97  # 85 by chance


def test_losses_from_elsewhere(tmp_path):
    path = tmp_path / "labels.csv"
    out = run("losses_from_elsewhere.py", str(path))
    assert "torch was never loaded" in out
    assert number(r"(\d+) % by the mean loss", out) > number(r"(\d+) % by one epoch's", out) + 20
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["index"]) for row in rows] == list(range(600))
    assert [row["given_label"] for row in rows[:4]] == ["cat", "dog", "horse", "cat"]
    assert sum(row["is_label_issue"] == "True" for row in rows) == 60
    assert all(row["reason"] == "kept" for row in rows if row["selected"] == "True")


def test_clean_arrays():
    out = run("clean_arrays.py")
    assert number(r"labels are called likely wrong; (\d+) % of them are", out) > 80  # 20 by chance
    assert number(r"rows held out, \d+ are called likely wrong; (\d+) % of them are", out) > 50
    assert "verdict: Unchecked" in out
    assert "For a matrix T alone: The ranking works for this matrix:" in out
    assert number(r"the network ([\d.]+) %", out) > number(r"the labels ([\d.]+) %", out) + 10


def test_your_own_network():
    out = run("your_own_network.py")
    assert "Patches with 4,138 weights" in out
    assert number(r"Kept: \d+ examples, ([\d.]+) % rightly", out) > 95  # 85 by chance
    assert number(r"rsl +([\d.]+) %", out) > 90
    assert "Refused: The network given returns the shape (1, 7)" in out


def test_can_it_be_trusted():
    sections = dict(part.strip().split("\n", 1) for part in run("can_it_be_trusted.py").split("\n== ") if part)
    verdicts = {title.split(":")[0].removeprefix("== "): text for title, text in sections.items()}
    assert verdicts["Uniform noise, 80 %"].startswith("The ranking works for this matrix:")
    assert verdicts["Pairwise noise, 40 %"].startswith("The ranking works for this matrix:")
    assert verdicts["Pairwise noise, 60 %"].startswith("Do not trust the ranking: under 10 of 10 labels")
    assert verdicts["Column failure"].startswith("Do not trust the ranking: under 1 of 3 labels ('cat')")
    assert "true dog -> label cat, 0.45 >= 0.40" in verdicts["Column failure"]
    assert "A classifier fitted to all labels errs on" in verdicts["Row failure"]
    assert "pass T.T" in verdicts["cleanlab's noise_matrix as it is"]
    assert "horse noise rate 0.28, 1 - T[k, k] = 0.10" in run("can_it_be_trusted.py")


def test_algorithm_1():
    out = run("algorithm_1.py")
    assert number(r"([\d.]+) % of the \d+ selected", out) > number(r"([\d.]+) % of all", out) + 20
    assert number(r"Trained on the selected: ([\d.]+) %", out) > number(r"Trained on all labels: ([\d.]+) %", out)


def test_the_notebook_runs_from_top_to_bottom(capsys):
    import matplotlib

    matplotlib.use("Agg")
    known: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs"), "save it without what it printed"
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), known)
    known["plt"].close("all")
    out = capsys.readouterr().out
    assert number(r"called likely wrong, (\d+)% of them are", out) > 75  # 20 by chance
    assert number(r"(\d+)% of the wrong ones were found", out) > 75
