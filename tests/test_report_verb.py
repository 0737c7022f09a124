"""`smallloss report`: losses that somebody recorded become a run folder, and a run's page is written anew."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import smallloss as sl
from smallloss.record.run import Run

N = 90
TRUE = np.arange(N) % 3


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rows.csv, whose labels are wrong now and then, and what a loop has recorded of them."""
    folder, rng = tmp_path_factory.mktemp("recorded"), np.random.default_rng(0)
    labels = np.where(rng.random(N) < 0.2, (TRUE + 1) % 3, TRUE)
    with (folder / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("id", "a", "label"), *((f"r{i}", TRUE[i], "xyz"[k]) for i, k in enumerate(labels))]
        )
    ledger = sl.LossLedger(N)
    for _ in range(3):
        z = rng.normal(size=(N, 3)) + 4 * np.eye(3)[TRUE]
        ledger.update(np.arange(N), logits=z, label=labels)
        ledger.end_epoch()
    ledger.save(folder / "ledger.npz")
    shuffled = rng.permutation(N)
    arrays = {k: v[..., shuffled] if k not in ("window", "epochs") else v for k, v in ledger.arrays().items()}
    np.savez(folder / "named.npz", **arrays, ids=np.array([f"r{i}" for i in shuffled]))
    np.savez(folder / "strange.npz", **arrays, ids=np.array([f"s{i}" for i in shuffled]))
    np.save(folder / "P.npy", np.exp(z) / np.exp(z).sum(1, keepdims=True))
    np.save(folder / "narrow.npy", np.full((N, 2), 0.5))
    short = sl.LossLedger(7)
    short.save(folder / "short.npz")
    sl.LossLedger(N).save(folder / "empty.npz")
    (folder / "unlabelled.csv").write_text("a,b\n1,2\n")
    return folder


def asked(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, which never loads torch."""
    code = (
        "import sys; from smallloss.cli import main; sys.argv[0] = 'smallloss'\n"
        "try:\n main()\nfinally:\n assert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", code, "report", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_ledger_becomes_a_run_folder_with_table_verdict_and_page(recorded):
    done = asked(recorded, "ledger.npz", "--data", "rows.csv", "--out", "run", "--probabilities", "P.npy")
    assert done.returncode == 0, done.stderr
    assert "Unchecked: nobody has looked" in done.stdout
    run = Run.read(recorded / "run")
    data = sl.load(recorded / "rows.csv")
    run.require(data, recorded / "run")
    P = np.load(recorded / "P.npy")
    chosen = sl.select(sl.LossLedger.load(recorded / "ledger.npz"), data.labels, probabilities=P, classes=[0, 1, 2])
    assert np.array_equal(run.examples.kept, chosen.mask)
    assert np.array_equal(run.examples.likely_wrong, chosen.is_label_issue)
    assert np.array_equal(run.examples.predicted, P.argmax(1))
    assert run.estimate is not None
    assert "likely wrong" in (recorded / "run" / "report.html").read_text()
    assert len(Path(sl.export(recorded / "run", recorded / "clean.csv", "csv").path).read_text().splitlines()) > 60
    assert sl.audit(recorded / "run", kept=5, dataset=data)[1].is_file()


def test_the_page_of_a_run_is_written_anew(recorded, tmp_path):
    asked(recorded, "ledger.npz", "--data", "rows.csv", "--out", str(tmp_path / "run"), "--noise-rate", "0.2")
    page = tmp_path / "run" / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert asked(recorded, str(tmp_path / "run")).returncode == 0
    assert page.read_bytes() == before
    away = shutil.move(recorded / "rows.csv", tmp_path / "moved.csv")
    try:
        assert asked(recorded, str(tmp_path / "run"), "--data", str(away)).returncode == 0
    finally:
        shutil.move(away, recorded / "rows.csv")


def test_ids_in_the_file_put_the_losses_in_order(recorded, tmp_path):
    for name in ("ledger", "named"):
        done = asked(recorded, f"{name}.npz", "--data", "rows.csv", "--out", str(tmp_path / name), "--noise-rate", ".2")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "named" / "examples.csv").read_bytes() == (tmp_path / "ledger" / "examples.csv").read_bytes()


OF = ("--data", "rows.csv", "--out", "refused")


@pytest.mark.parametrize(
    "words, said",
    [
        (("short.npz", *OF, "--noise-rate", "0.2"), "short.npz is a ledger of 7 examples, but rows.csv has 90"),
        (("strange.npz", *OF, "--noise-rate", "0.2"), "strange.npz has no losses of 'r0' of rows.csv"),
        (("empty.npz", *OF, "--noise-rate", "0.2"), "no epoch was closed"),
        (("ledger.npz", *OF), "give --noise-rate"),
        (("ledger.npz", *OF, "--probabilities", "narrow.npy"), "has the shape (90, 2); for 90 examples in 3 classes"),
        (("ledger.npz", "--data", "unlabelled.csv", "--out", "refused", "--noise-rate", "0.2"), "label"),
        (("P.npy", *OF, "--noise-rate", "0.2"), "cannot be read as an npz file"),
        (("ledger.npz",), "--data DATA --out RUN"),
        ((".", "--out", "there"), "--out goes with a ledger"),
    ],
)
def test_bad_input_is_told_in_a_sentence(words, said, recorded):
    done = asked(recorded, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (recorded / "refused").exists()
