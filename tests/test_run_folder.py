"""A run folder is ours, is used by one process at a time, and keeps its settings."""

import json
import subprocess
import sys

import pytest

from smallloss.errors import InputError, SmallLossError
from smallloss.files import place
from smallloss.record.folder import RunFolder, read_config

CONFIG = {"seed": 0, "settings": {"beta": 0.2, "window": (0.0, 1.0)}, "versions": {"torch": "2.13.0"}}
HOLD = """
import sys
from smallloss.record.folder import RunFolder
with RunFolder(sys.argv[1], {}):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_new_run_begins_with_its_marker(tmp_path):
    with RunFolder(tmp_path / "a" / "run", CONFIG) as folder:
        assert folder / "x" == tmp_path / "a" / "run" / "x"
        assert json.loads((folder / "config.json").read_text())["seed"] == 0
    assert read_config(tmp_path / "a" / "run")["settings"]["window"] == [0.0, 1.0]


def test_the_same_settings_go_on(tmp_path):
    for _ in range(2):
        with RunFolder(tmp_path, CONFIG):
            pass


def test_other_settings_are_refused_by_name(tmp_path):
    with RunFolder(tmp_path, CONFIG):
        pass
    other = {**CONFIG, "seed": 1, "settings": {"beta": 0.1, "window": (0.0, 1.0)}}
    with pytest.raises(InputError, match=r"seed was 0, now 1; settings\.beta was 0\.2, now 0\.1.*another --out"):
        RunFolder(tmp_path, other).__enter__()
    with RunFolder(tmp_path, CONFIG):  # the refusal let go of the lock
        pass


def test_a_run_of_before_there_was_a_setting_did_what_its_default_does(tmp_path):
    def config(**new):
        return {"settings": {"stage1": {"epochs": 3, **new}}}

    with RunFolder(tmp_path, config()):
        pass
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "stage1.safetensors").touch()
    with pytest.raises(InputError, match=r"precision was 'bf16', now 'fp32'"):
        RunFolder(tmp_path, config(precision="fp32", decay_last=False)).__enter__()
    with RunFolder(tmp_path, config(precision="bf16", decay_last=False)) as folder:
        assert not folder.changed


def test_versions_of_libraries_do_not_end_a_run(tmp_path):
    with RunFolder(tmp_path, CONFIG):
        pass
    with RunFolder(tmp_path, {**CONFIG, "versions": {"torch": "2.14.0"}}):
        pass


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"not a smallloss run \(it holds 'thesis.tex'\)"):
        RunFolder(tmp_path, CONFIG).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_welcome(tmp_path):
    with RunFolder(tmp_path, CONFIG):
        assert (tmp_path / "config.json").exists()


def test_a_file_is_refused(tmp_path):
    path = tmp_path / "run"
    path.write_text("")
    with pytest.raises(InputError, match="is a file; name a folder"):
        RunFolder(path, CONFIG).__enter__()


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "cannot be read"),
        ("[]", "not written by smallloss"),
        ('{"name": "package"}', "not written by smallloss"),
    ],
)
def test_a_marker_of_somebody_else_is_refused(text, words, tmp_path):
    (tmp_path / "config.json").write_text(text)
    (tmp_path / ".notes.tmp").write_text("mine")
    with pytest.raises(InputError, match=words):
        RunFolder(tmp_path, CONFIG).__enter__()
    assert (tmp_path / "config.json").read_text() == text
    assert (tmp_path / ".notes.tmp").read_text() == "mine"


def test_no_run_to_read(tmp_path):
    with pytest.raises(InputError, match="is not a run folder"):
        read_config(tmp_path)


KILLED = """
import os, sys
from pathlib import Path
from smallloss.files import replacing
from smallloss.exporting.formats import _all_or_nothing
place = Path(sys.argv[1])
with replacing(place / "config.json") as file:
    file.write(b"half")
    file.flush()
    if sys.argv[2:]:
        (place / "checkpoint").mkdir()
        with replacing(place / "checkpoint" / "stage1.safetensors"), _all_or_nothing(place / "cleaned") as new:
            (new / "cat").mkdir()
            (new / "cat" / "link").symlink_to(sys.argv[2])
            os._exit(9)
    os._exit(9)
"""


def test_a_run_killed_while_its_marker_was_written_can_be_started_again(tmp_path):
    """Files are written beside their target and renamed: a kill in between leaves such a file behind."""
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False).returncode == 9
    (tmp_path / ".lock").touch()
    assert len(list(tmp_path.iterdir())) == 2
    with RunFolder(tmp_path, CONFIG):
        assert read_config(tmp_path)["seed"] == 0


def test_what_killed_writes_left_behind_is_swept_up_and_nothing_else(tmp_path):
    """Half a file, half an export into the run folder; not what somebody else keeps there, nor what a link leads to."""
    run, originals = tmp_path / "run", tmp_path / "originals"
    with RunFolder(run, CONFIG):
        pass
    originals.mkdir()
    (originals / "1.png").touch()
    mine = [".notes.tmp", ".draft.k1ll3d_x.tmp", ".smallloss-my-notes.tmp", ".smallloss-abcdefgh.txt", "x.tmp"]
    for name in mine:
        (run / name).write_text("mine")
    before = {path.name for path in run.iterdir()}
    assert subprocess.run([sys.executable, "-c", KILLED, str(run), str(originals)], check=False).returncode == 9
    assert len(list(run.rglob(".smallloss-*.tmp"))) == 3 + 1  # three of ours, one of mine
    with RunFolder(run, CONFIG):
        assert {path.name for path in run.iterdir()} == before | {"checkpoint"}
        assert not list((run / "checkpoint").iterdir())
    assert (originals / "1.png").exists()


def test_metrics_are_laid_down_and_added_to(tmp_path):
    with RunFolder(tmp_path, CONFIG) as folder:
        folder.add_metrics({"epoch": 7})  # of an epoch that no checkpoint knows
        folder.start_metrics([{"epoch": 0}, {"epoch": 1}])
        folder.add_metrics({"epoch": 2})
    rows = [json.loads(line)["epoch"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert rows == [0, 1, 2]


def test_two_processes_cannot_use_one_run_and_a_kill_frees_it(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SmallLossError, match="in use by another process"):
            RunFolder(tmp_path, {}).__enter__()
    finally:
        holder.kill()
        holder.communicate()
    with RunFolder(tmp_path, {}):
        pass


def test_a_place_has_no_way_back_in_it(tmp_path, monkeypatch):
    """Links and runs outlive the folder that a command was typed in."""
    (tmp_path / "gone" / "on").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "gone" / "on")
    assert place("../../data/x.png") == tmp_path.resolve() / "data" / "x.png"
    assert place("here") == tmp_path / "gone" / "on" / "here"
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert place(tmp_path / "link" / "x") == tmp_path / "link" / "x"
    assert place("../../link") == tmp_path.resolve() / "link"
    assert place("../..") == tmp_path.resolve()
