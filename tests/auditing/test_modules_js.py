"""The modules of the page, each by itself: the tests of them, in the folder `js`, run in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

import smallloss.auditing

MODULES = Path(smallloss.auditing.__file__).parent
TESTS = sorted((Path(__file__).parent / "js").glob("*.test.js"))


@pytest.mark.parametrize("test", TESTS, ids=[path.name for path in TESTS])
def test_a_module_does_what_its_tests_say(tmp_path: Path, test: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, so nothing here can run the page's script")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    for path in (*MODULES.glob("*.js"), test):
        shutil.copy(path, tmp_path)
    ran = subprocess.run([node, "--test", test.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
