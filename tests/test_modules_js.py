"""The modules of the pages, each by itself: the tests of them, in the folders `js`, run in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

import smallloss.auditing
from smallloss.report.script import SHARED

MODULES = (Path(smallloss.auditing.__file__).parent, SHARED)
TESTS = sorted(Path(__file__).parent.glob("*/js/*.test.js"))


@pytest.mark.parametrize("test", TESTS, ids=[path.name for path in TESTS])
def test_a_module_does_what_its_tests_say(tmp_path: Path, test: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, so nothing here can run the page's script")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    for path in (*(path for folder in MODULES for path in folder.glob("*.js")), test):
        shutil.copy(path, tmp_path)
    ran = subprocess.run([node, "--test", test.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_modules_are_short_and_no_name_stands_for_two() -> None:
    paths = [path for folder in MODULES for path in folder.glob("*.js")]
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in paths) <= 300
    assert len({path.name for path in paths}) == len(paths)
