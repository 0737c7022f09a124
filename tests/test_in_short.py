"""What a notebook prints of our objects: a few lines with what matters, whatever their size."""

import numpy as np

import smallloss as sl
from smallloss.data.dataset import Dataset, Unreadable
from smallloss.noise.estimate import estimate


def test_a_selection():
    score = np.append(np.arange(2_000.0), np.nan)
    words = repr(sl.select(score, np.arange(2_001) % 2, noise_rate=0.1, beta=0.1))
    assert (
        words == "<Selection of 2,001 examples in 2 classes: 1,780 kept, 200 likely wrong, 20 set aside, 1 never seen>"
    )


def test_an_estimate():
    truth = np.arange(3_500) % 7
    labels = np.where((truth == 3) & (np.arange(3_500) % 4 == 0), 4, truth)
    found = estimate(np.eye(7)[truth] * 0.93 + 0.01, labels, classes=list(range(7)))
    words = repr(found)
    rate, low, high = (f"{100 * share[4]:.0f} %" for share in (found.noise_rate, found.low, found.high))
    noisiest = f"4 {rate} ({low} to {high}), "
    assert words.startswith(f"<Estimate of noise rates, 90 % intervals: {noisiest}")
    assert words.count(" to ") == 5
    assert ", 2 more with smaller rates" in words
    assert len(words) < 250


def test_a_ledger():
    ledger = sl.LossLedger(5_000, window=(1, None))
    assert repr(ledger) == "<LossLedger of 5,000 examples: nothing recorded, window (1, None)>"
    for _ in range(3):
        ledger.update(np.arange(4_999), np.ones(4_999))
        assert "an open epoch, window" in repr(ledger)
        ledger.end_epoch()
    assert repr(ledger) == "<LossLedger of 5,000 examples: 3 epochs of loss, window (1, None), 1 never seen>"


def test_a_dataset():
    lost = {"x.png": Unreadable("cut", "a", 0)}
    pictures, labels = np.zeros((1_200, 8, 9, 3), np.uint8), np.arange(1_200) % 4
    data = Dataset(pictures, labels, ("a", "new\nline", "c", "d"), name="photos", unreadable=lost)
    assert repr(data) == (
        "<Dataset photos (pictures): 1,200 examples of 8 x 9 x 3 pixels in 4 classes (a, new\\nline, c and 1 more), "
        "1 that cannot be read>"
    )


def test_a_run(tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 3)) + np.repeat([[0], [3]], 60, axis=0)
    run = sl.clean((X, np.repeat(["a", "b"], 60)), tmp_path / "run", transition=[[0.8, 0.2], [0.2, 0.8]], epochs=2)
    first, verdict, report = repr(run).splitlines()
    wrong, kept = (
        sum(int(getattr(part.selection, name).sum()) for part in run.result.parts)
        for name in ("is_label_issue", "mask")
    )
    assert first == f"<CleanRun of arrays: 120 examples, 24 of them held out; {wrong} likely wrong, {kept} kept"
    assert verdict == run.verdict.headline
    assert report == f"report: {tmp_path / 'run' / 'report.html'}>"
    assert repr(run.result) == f"<Run of {first.removeprefix('<CleanRun of ')}\n{verdict}>"
    assert len(repr(run.learned.selection)) < 200
