"""What is refused, in which words: one table for all commands. Nothing is printed before, and nothing written."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

import smallloss as sl
from command import process, sentence
from smallloss.errors import InputError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2

EARLY = "clean nowhere.npz --out run"  # there is no data: whoever reads it first speaks of that
CLEAN = "clean digits --out run --epochs 1 --device cpu"
SENTENCES = [
    (f"{EARLY}", "nowhere.npz"),
    (f"{EARLY} --net mpl", "no network named 'mpl'"),
    (f"{EARLY} --set net=mpl", "no network named 'mpl'"),
    (f"{EARLY} --set final_net=mpl", "no network named 'mpl'"),
    (f"{EARLY} --method magic", "no method named 'magic'"),
    (f"{EARLY} --preset fats", "no preset named 'fats'"),
    (f"{EARLY} --device tpu", "no device named 'tpu'"),
    (f"{EARLY} --set stage1.lrr=1", "There is no setting named 'lrr' in stage1"),
    (f"{EARLY} --set beta", "--set beta is not a setting"),
    (f"{EARLY} --set beta=much", "beta is 'much'"),
    (f"{EARLY} --epochs 0", "smallloss: epochs is 0; it must be at least 1"),
    (f"{EARLY} --transition T.csv", "--transition T.csv: there is no such file"),
    (f"{EARLY} --corrections mine.csv", "--corrections mine.csv: there is no such file"),
    ("clean nowhere.npz --out notes.txt", "notes.txt is a file"),
    ("clean nowhere.npz --out notes.txt/run", "notes.txt is a file"),
    ("clean nowhere.npz --out /proc/1/run", "nothing can be written in /proc/1"),
    ("clean digits --out . --device cpu", "not empty and not a smallloss run (it holds "),
    (f"{CLEAN} --method co_teaching --noise-rate none.csv", "none.csv"),
    (f"{CLEAN} --noise fog:0.2", "fog"),
    (f"{CLEAN} --noise-rate 1.5", "1.5"),
    (f"{CLEAN} --noise-rate 3=0.1", "0"),
    (f"{CLEAN} --protocol loose", "'loose'"),
    (f"{CLEAN} --path scenic", "no path named 'scenic'"),
    (f"{CLEAN} --prior flat", "prior is 'flat'"),
    (f"{CLEAN} --transition two.csv", "10"),
    ("check words.csv", "'cat'"),
    ("check sums.csv", "sum"),
    ("check empty.csv", "empty"),
    ("check nowhere.csv", "nowhere.csv"),
    ("corrupt labels.csv --out x.csv --noise uniform:2", "2"),
    ("corrupt labels.csv --out x.csv --noise fog:0.2", "fog"),
    ("corrupt labels.csv --out x.csv --noise uniform:0.2 --column kind", "'kind'"),
    ("corrupt labels.csv --out x.csv --noise structured:0.2 --map cat:bird", "'cat:bird'"),
    ("select losses.csv --out x.csv", "noise"),
]
FILES = {
    "notes.txt": "mine", "labels.csv": "label\ncat\ndog\n", "losses.csv": "label,loss\na,1\nb,2\n",
    "two.csv": "0.8,0.2\n0.3,0.7\n", "words.csv": "0.8,0.2\n0.3,cat\n", "sums.csv": "0.8,0.1\n0.3,0.7\n",
    "empty.csv": "",
}  # fmt: skip


@pytest.mark.parametrize("command, words", SENTENCES)
def test_it_is_said_in_one_sentence(command, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert words in sentence(*command.split())
    assert {path.name for path in tmp_path.iterdir()} == FILES.keys()


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path):
    assert "torch sees no GPU" in sentence("clean", "digits", "--out", tmp_path / "run", "--device", "cuda")


def test_no_data_at_all_is_not_this_folder(monkeypatch, tmp_path):
    """An unset variable: smallloss clean "$DATA"."""
    monkeypatch.chdir(tmp_path)
    assert "DATA is empty; it is one of: a folder" in sentence("clean", "", "--out", "run")


def test_a_run_of_other_settings_or_a_wrong_net_is_refused_before_choices_are_told(tmp_path):
    data, out = tmp_path / "data.npz", tmp_path / "run"
    np.savez(data, x=X, y=Y)
    command = ["clean", data, "--out", out, "--noise-rate", "0.1", "--epochs", "1", "--device", "cpu"]
    assert "small-convnet needs pictures" in sentence(*command, "--net", "small-convnet")
    out.mkdir()
    (out / "config.json").write_text(json.dumps({"smallloss_run": 1, "seed": 7}))
    assert "holds a run with other settings" in sentence(*command)


def test_a_run_is_not_put_among_the_pictures(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("photos/a", "photos/b", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    for out in ("photos/run", "elsewhere/../photos/run", "photos"):
        said = sentence("clean", "photos", "--out", out)
        assert "lies inside the data, photos; name a place outside of it" in said
    assert sorted(path.name for path in (tmp_path / "photos").iterdir()) == ["a", "b"]


def test_a_full_disk_names_the_file_and_is_not_the_users_fault(tmp_path):
    """A limit on the size of files stands for the end of the disk."""
    table, out = tmp_path / "t.csv", tmp_path / "noisy.csv"
    table.write_text("label\n" + "cat\ndog\n" * 2000)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.dont_write_bytecode = True; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); from smallloss.cli import main; main()"
    )
    program = [sys.executable, "-c", code]
    said = process("corrupt", table, "--noise", "uniform:0.2", "--out", out, status=1, program=program)
    assert f"{out} could not be written: File too large" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_rates_and_t_together_are_refused():
    T = np.array([[0.9, 0.1], [0.1, 0.9]])
    for ask in (lambda **known: sl.clean((X, Y), epochs=1, **known), lambda **known: sl.select(X[:, 0], Y, **known)):
        with pytest.raises(InputError, match="noise_rate and transition both say how many"):
            ask(noise_rate=0.3, transition=T)


NOISE = RNG.integers(0, 9, (40, 8, 8))
ALIKE = "tells one example from another: there is nothing to learn"
SMALL = RNG.integers(0, 256, (40, 4, 4), dtype=np.uint8)
REFLECTED = {"rsl_wm.padding": "reflect", "rsl_wm.pad": 4}


@pytest.mark.parametrize(
    "x, asked, words",
    [
        (np.ones((40, 3)), {}, f"Nothing in arrays {ALIKE}"),
        (np.full((40, 8, 8), 7, np.uint8), {}, f"Nothing in arrays {ALIKE}"),
        (np.uint8(np.arange(0, 160, 20) + NOISE), {}, f"Nothing in arrays {ALIKE}"),
        (X, {"features": np.ones((40, 2))}, "features of the array given are the same for every example"),
        (X, {"settings": {"beta": 5}}, "beta is 5"),
        (X, {"method": "co_teaching", "net": nn.Linear(3, 2)}, "co_teaching needs two networks that differ"),
        (X, {"ship": "last"}, "There is no ship='last'; choose best or method"),
        (X, {"noise_rate": -0.1}, "The noise rate of class '0' is -0.1"),
        (X, {"noise_rate": [0.1, 0.2, 0.3]}, "but there are 2 classes: give one per class"),
        (SMALL, {"method": "rsl_wm", "noise_rate": 0.1, "settings": REFLECTED},
         "rsl_wm.pad is 4, but pictures of 4 x 4 can be reflected by at most 3"),
    ],
)  # fmt: skip
def test_wishes_and_arrays_from_python(x: Any, asked: dict[str, Any], words: str, tmp_path):
    with pytest.raises(InputError, match=re.escape(words)):
        sl.clean((x, Y), tmp_path / "run", epochs=1, device="cpu", **asked)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("rows", ["n,label\n" + "1,a\n1,b\n" * 20, "text,label\n" + "hello,a\nhello,b\n" * 20])
def test_rows_that_are_all_the_same_are_refused(rows, tmp_path):
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(InputError, match=rf"Nothing in t\.csv {ALIKE}"):
        sl.clean(tmp_path / "t.csv", tmp_path / "run", epochs=1)
