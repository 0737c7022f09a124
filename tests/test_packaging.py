"""What is shipped: every import declared, and an sdist that holds all the repository holds."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CALLED = {"sklearn": "scikit-learn", "PIL": "pillow"}  # imported by another name than they are installed by


def imported() -> set[str]:
    """The packages that src imports, wherever in a file, without Python's own and ours."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"smallloss"}


def test_every_import_is_declared():
    """Not left to come along with another package, which may stop needing it."""
    project = PROJECT["project"]
    declared = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[<>=~! ]", one)[0] for some in declared for one in some}
    assert {CALLED.get(name, name) for name in imported()} <= names


def test_the_tested_set_names_every_requirement():
    held = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    assert {re.split(r"[<>=~! ]", one)[0] for one in PROJECT["project"]["dependencies"]} <= held


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="the tree has no history to compare with"
)
def test_an_sdist_holds_all_that_is_tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {line.partition("/")[0] for line in listed.splitlines()}
    included = {name.strip("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert tracked - {"pyproject.toml", ".gitignore"} <= included  # those two go in by themselves
    assert all((ROOT / name).exists() for name in included)
