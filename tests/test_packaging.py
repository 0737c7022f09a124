"""What is shipped: every import declared, an sdist with all of the repository, a wheel of it that works."""

import ast
import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

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


# --- built, and installed where nothing of the repository is ----------------------------------------------------


def call(*words: Any, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of what the sdist holds, as an installer makes it that is given the sdist."""
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=ROOT)
    (sdist,) = out.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(out, filter="data")
    unpacked = out / sdist.name.removesuffix(".tar.gz")
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=unpacked)
    (made,) = out.glob("*.whl")
    return made


@pytest.mark.slow
def test_a_wheel_holds_the_package_and_nothing_else(wheel):
    files = {path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {path.relative_to(ROOT / "src").as_posix() for path in files}


@pytest.mark.slow
def test_the_description_renders_where_no_file_of_ours_is(wheel):
    """A package index has the text alone: what it would link to or show must lie at an address of its own."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(name))
    assert about["Description-Content-Type"] == "text/markdown"
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(about.get_payload())
    assert page.startswith("<h1>smallloss</h1>")
    assert "pip install" in page
    assert not [place for place in re.findall(r'(?:href|src)="([^"]*)"', page) if not place.startswith("https://")]


@pytest.fixture
def clean_environment(wheel: Path, tmp_path: Path) -> Path:
    """With the wheel in it; the tested packages it needs are lent, this repository is not."""
    call(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    call(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=tmp_path)
    where = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    lent = sysconfig.get_path("purelib")  # in a .pth, so that an editable install in there is not followed
    Path(where, "lent.pth").write_text(lent, encoding="utf-8")
    return tmp_path / "env"


@pytest.mark.slow
def test_the_wheel_draws_a_figure_of_the_paper(clean_environment, tmp_path):
    python, program = (clean_environment / "bin" / name for name in ("python", "smallloss"))
    place = call(python, "-c", "import smallloss; print(smallloss.__file__)", cwd=tmp_path)
    assert Path(place).is_relative_to(clean_environment)
    call(program, "reproduce", "fig1", "--out", "paper", cwd=tmp_path)
    assert (tmp_path / "paper" / "figures" / "fig1.svg").read_text(encoding="utf-8").count("<svg") == 1
    assert "Fig. 1" in next((tmp_path / "paper").glob("*.html")).read_text(encoding="utf-8")
