"""What is wrong with a command is said before its data is read, and before anything is printed or written."""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import smallloss as sl
from smallloss.errors import InputError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    from smallloss.cli import main

    monkeypatch.setattr(sys, "argv", ["smallloss", *map(str, arguments)])
    monkeypatch.delenv("SMALLLOSS_DEBUG", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr()
    assert stopped.value.code == 2, said
    assert not said.out  # no choices are told for a run that will not be
    assert said.err.startswith("smallloss: ")
    return said.err


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--net", "mpl"], "no network named 'mpl'"),
        (["--set", "net=mpl"], "no network named 'mpl'"),
        (["--set", "final_net=mpl"], "no network named 'mpl'"),
        (["--preset", "fats"], "no preset named 'fats'"),
        (["--device", "tpu"], "no device named 'tpu'"),
        (["--set", "stage1.lrr=1"], "There is no setting named 'lrr' in stage1"),
        (["--epochs", "0"], "epochs is 0; it must be at least 1"),
        (["--transition", "T.csv"], "--transition T.csv: there is no such file"),
        (["--corrections", "mine.csv"], "--corrections mine.csv: there is no such file"),
        (["--out", "notes.txt"], "notes.txt is a file"),
        (["--out", "notes.txt/run"], "notes.txt is a file"),
        (["--out", "/proc/1/run"], "nothing can be written in /proc/1"),
    ],
)
def test_a_wrong_option_is_said_before_the_data_is_read(arguments, words, tmp_path, monkeypatch, capsys):
    """There is no data: whoever reads it first speaks of that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    assert words in refused(monkeypatch, capsys, "clean", "nowhere.npz", "--out", "run", *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_run_of_other_settings_or_a_wrong_net_is_refused_before_choices_are_told(tmp_path, monkeypatch, capsys):
    data, out = tmp_path / "data.npz", tmp_path / "run"
    np.savez(data, x=X, y=Y)
    command = ["clean", data, "--out", out, "--noise-rate", "0.1", "--epochs", "1", "--device", "cpu"]
    assert "small-convnet needs pictures" in refused(monkeypatch, capsys, *command, "--net", "small-convnet")
    out.mkdir()
    (out / "config.json").write_text(json.dumps({"smallloss_run": 1, "seed": 7}))
    assert "holds a run with other settings" in refused(monkeypatch, capsys, *command)


def test_rates_and_t_together_are_refused():
    T = np.array([[0.9, 0.1], [0.1, 0.9]])
    for ask in (lambda **known: sl.clean((X, Y), epochs=1, **known), lambda **known: sl.select(X[:, 0], Y, **known)):
        with pytest.raises(InputError, match="noise_rate and transition both say how many"):
            ask(noise_rate=0.3, transition=T)


def test_nearly_equal_labels_are_told_with_the_choices_and_in_the_notes(tmp_path):
    names = np.where(np.arange(40) % 8 == 0, "cat ", np.where(Y == 0, "cat", "dog"))
    run = sl.clean((X, names), tmp_path / "run", noise_rate=0.1, epochs=1, device="cpu")
    assert any("'cat' and 'cat '" in note for note in run.result.notes)
    assert "'cat' and 'cat '" in json.loads((tmp_path / "run" / "config.json").read_text())["chosen"]["labels"]


def test_a_full_disk_names_the_file_and_is_not_the_users_fault(tmp_path):
    """A limit on the size of files stands for the end of the disk."""
    table, out = tmp_path / "t.csv", tmp_path / "noisy.csv"
    table.write_text("label\n" + "cat\ndog\n" * 2000)
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); from smallloss.cli import main; main()"
    )
    arguments = ["corrupt", table, "--noise", "uniform:0.2", "--out", out]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert f"{out} could not be written: File too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_no_data_at_all_is_not_this_folder(monkeypatch, capsys, tmp_path):
    """An unset variable: smallloss clean "$DATA"."""
    monkeypatch.chdir(tmp_path)
    assert "DATA is empty; it is one of: a folder" in refused(monkeypatch, capsys, "clean", "", "--out", "run")


def test_a_run_is_not_put_among_the_pictures(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("photos/a", "photos/b", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    for out in ("photos/run", "elsewhere/../photos/run", "photos"):
        said = refused(monkeypatch, capsys, "clean", "photos", "--out", out)
        assert "lies inside the data, photos; name a place outside of it" in said
    assert sorted(path.name for path in (tmp_path / "photos").iterdir()) == ["a", "b"]


def test_pictures_too_small_to_be_reflected_are_refused_before_stage_1(tmp_path):
    x = RNG.integers(0, 256, (40, 4, 4), dtype=np.uint8)
    settings = {"rsl_wm.padding": "reflect", "rsl_wm.pad": 4}
    with pytest.raises(InputError, match=r"rsl_wm.pad is 4, but pictures of 4 x 4 can be reflected by at most 3"):
        sl.clean((x, Y), tmp_path / "run", method="rsl_wm", noise_rate=0.1, settings=settings, epochs=1)
    assert not (tmp_path / "run").exists()


NOISE = RNG.integers(0, 9, (40, 8, 8))
ALIKE = [np.ones((40, 3)), np.full((40, 8, 8), 7, np.uint8), np.uint8(np.arange(0, 160, 20) + NOISE)]


@pytest.mark.parametrize("x", ALIKE, ids=["features", "pictures", "nearly"])
def test_examples_that_are_all_the_same_are_refused_whatever_they_are(x, tmp_path):
    with pytest.raises(InputError, match="Nothing in arrays tells one example from another: there is nothing to learn"):
        sl.clean((x, Y), tmp_path / "run", epochs=1)


@pytest.mark.parametrize("rows", ["n,label\n1,a\n1,b\n", "text,label\nhello,a\nhello,b\n"])
def test_rows_and_features_that_are_all_the_same_are_refused(rows, tmp_path):
    (tmp_path / "t.csv").write_text(rows + "1,a\n1,b\n" * 20 if rows[0] == "n" else rows + "hello,a\n" * 20)
    with pytest.raises(InputError, match=r"Nothing in t\.csv tells one example from another"):
        sl.clean(tmp_path / "t.csv", tmp_path / "run", epochs=1)
    with pytest.raises(InputError, match="features of the array given are the same for every example"):
        sl.clean((X, Y), tmp_path / "run", features=np.ones((40, 2)), epochs=1)
