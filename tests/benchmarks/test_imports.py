"""Benchmarks are run by hand, and seldom: what they take from the package must be there all the same."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for folder in ("benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_script_takes_from_the_package_is_there(script):
    taken = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "smallloss"
        for alias in node.names
    ]
    missing = [f"{name} of {module}" for module, name in taken if not _there(module, name)]
    assert not missing, f"{script.name} takes what is not there: {', '.join(missing)}"


def _there(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name) or bool(import_module(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False
