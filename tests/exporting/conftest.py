from pathlib import Path

import pytest

from exported import write_pictures, write_run
from smallloss.data.source import load


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(run, pictures): 10 of each class, of which the last two are likely wrong."""
    place = tmp_path_factory.mktemp("made")
    pictures = write_pictures(place / "pictures", ["bird", "cat", "dog"])
    return write_run(place / "run", load(pictures)), pictures
