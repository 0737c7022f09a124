"""No harm: what a run leaves behind is the classifier that is best on the held-out part."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import smallloss as sl
from command import smallloss
from smallloss.data import from_arrays
from smallloss.record.examples import Examples
from smallloss.record.run import Run
from smallloss.report.page import page

SPOILT = {"rsl.lr": 1e-9}  # RSL's network stays as it was drawn


def blobs(n: int = 400, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three classes far apart; every label may be wrong."""
    rng = np.random.default_rng(0)
    true = np.arange(n) % 3
    x = rng.normal(size=(n, 3)).astype(np.float32)
    x[np.arange(n), true] += 6
    return x, np.where(rng.random(n) < noise, (true + 1) % 3, true), true


def predictions(folder: Path) -> np.ndarray:
    return Run.read(folder).examples.table()["predicted_label"].astype(int)


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> sl.CleanRun:
    x, y, _ = blobs()
    return sl.clean((x, y), tmp_path_factory.mktemp("spoilt") / "run", noise_rate=0.2, epochs=8, settings=SPOILT)


def test_a_method_that_is_clearly_worse_is_not_shipped(spoilt):
    run, (x, _, true) = spoilt, blobs()
    assert run.result.shipped.method == "cross_entropy"
    assert run.result.shipped.why.startswith("RSL is worse by ")
    assert run.shipped.method == "cross_entropy"
    assert run.learned.method == "rsl"  # what selects is the method's all the same
    assert (run.predict(x) == true).mean() > 0.9
    # Every place says the same: the table, the model file, the page, config.json.
    assert np.array_equal(predictions(run.folder), run.predict(x))
    assert np.array_equal(sl.load_classifier(run.folder).predict(x).astype(int), run.predict(x))
    said = json.loads((run.folder / "config.json").read_text())["shipped"]
    assert said == run.result.shipped._asdict()
    assert f"Cross Entropy is shipped: {said['why']}." in (run.folder / "report.html").read_text()


def test_a_page_read_back_is_the_same_where_the_method_is_not_shipped(spoilt):
    again = Run.read(spoilt.folder).shown_with(spoilt.result.dataset)
    assert page(again, "run") == (spoilt.folder / "report.html").read_text()


def test_the_method_can_be_forced_and_a_finished_run_is_shipped_anew(tmp_path):
    """Nothing is trained again for that."""
    x, y, true = blobs(200)
    np.savez(tmp_path / "data.npz", x=x, y=y)
    command = ["clean", tmp_path / "data.npz", "--out", tmp_path / "run", "--noise-rate", 0.2]
    command += ["--epochs", 8, "--set", "rsl.lr=1e-9"]
    files = []
    for more in ([], ["--ship", "method"], []):
        said = smallloss(*command, *more).out
        files.append({name: (tmp_path / "run" / name).read_bytes() for name in ("model.safetensors", "examples.csv")})
        config = json.loads((tmp_path / "run" / "config.json").read_text())
        assert config["shipped"]["method"] == ("rsl" if more else "cross_entropy")
        assert ("--ship" in config["options"]) == bool(more)
        shipped = f"{'RSL' if more else 'Cross Entropy'} is shipped: "
        assert shipped in " ".join(said.split())
    assert files[0] == files[2] != files[1]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == len({(json.loads(line)["stage"], json.loads(line)["epoch"]) for line in lines}) == 16
    assert (predictions(tmp_path / "run") == true).mean() > 0.9


def test_suggestions_come_from_the_network_that_did_not_learn_the_wrong_labels(tmp_path):
    """Plain cross entropy, long enough, says again what it has learnt."""
    x, y, true = blobs(200)
    rsl = sl.clean((x, y), tmp_path / "forced", noise_rate=0.2, epochs=8, ship="method")
    shown, before = rsl.result, rsl.result.examples
    table = Examples.of(
        shown.dataset, shown.parts, y, before.mean_loss, before.probability, seen_instead=before.predicted
    ).table()  # fmt: skip
    flagged = table["is_label_issue"]
    assert np.array_equal(table["predicted_label"].astype(int), y)
    named = np.array([name is not None for name in table["suggested_label"]])
    assert named[flagged].mean() > 0.9
    assert (table["suggested_label"][named].astype(int) == true[named]).mean() > 0.9


def test_a_tie_ships_the_method_and_relabelled_data_is_a_third_candidate(tmp_path):
    x, y, _ = blobs()
    run = sl.clean((x, y), tmp_path / "run", noise_rate=0.2, epochs=8, relabel=True, settings={"rsl.epochs": 9})
    assert [one.method for one in run.result.accuracies] == ["cross_entropy", "rsl", "relabelled"]
    assert run.result.shipped.method == "rsl"
    assert "no difference seen" in run.result.shipped.why
    assert run.result.shipped.why.endswith(
        "by the given labels of 80 held-out examples, and it is the method asked for"
    )
    assert run.shipped is run.learned
    assert "--relabel" in json.loads((tmp_path / "run" / "config.json").read_text())["options"]
    assert {row["stage"] for row in run.result.history} == {"stage1", "rsl", "relabelled"}
    assert abs(run.result.accuracies[2].last - run.result.accuracies[1].last) < 0.1


def test_what_answers_said_is_not_relabelled(tmp_path):
    x, y, true = blobs(200)
    wrong = np.flatnonzero(y != true)
    answers = "".join(f"{row},wrong,{true[row]}\n" for row in wrong)
    (tmp_path / "c.csv").write_text(f"id,answer,true_label\n{answers}")
    run = sl.clean((x, y), noise_rate=0.2, epochs=2, relabel=True, corrections=tmp_path / "c.csv", ship="method")
    assert run.result.shipped.why.endswith(", as asked")


def test_alone_plain_cross_entropy_needs_no_words():
    x, y, _ = blobs(100)
    assert sl.clean((x, y), noise_rate=0.2, epochs=1, method="cross_entropy").result.shipped is None


def test_where_nothing_is_held_out_the_method_is_shipped():
    x, y, _ = blobs(120)
    data = from_arrays(x[:90], y[:90], test=(x[90:], y[90:]))
    run = sl.clean(data, noise_rate=0.2, epochs=1, protocol="full", settings=SPOILT)
    assert run.result.shipped == ("rsl", "nothing is held out to choose by, and it is the method asked for")


def test_a_benchmarks_truth_chooses_nothing(tmp_path):
    """By the labels as they are both classifiers are alike, whatever the true ones say."""
    x, y, true = blobs(300, 0.0)
    data = replace(from_arrays(x, y), true_labels=(true + 1) % 3)
    run = sl.clean(data, noise_rate=0.1, epochs=8)
    by_label, by_truth = run.result.accuracies[1].agrees, run.result.accuracies[1].right
    assert by_label.mean() > 0.9
    assert by_truth.mean() < 0.1
    assert "no difference seen" in run.result.shipped.why
    assert run.result.accuracies[1].true is None  # the truth is known, nothing is estimated


def test_accuracy_by_true_labels_stands_first(tmp_path, capsys):
    """A third of the labels is wrong, the network is not."""
    x, y, true = blobs(900, 1 / 3)
    np.savez(tmp_path / "data.npz", x=x, y=y)
    run = sl.clean(tmp_path / "data.npz", tmp_path / "run", noise_rate=1 / 3, epochs=8)
    one = run.result.accuracies[1]
    held_out = run.result.parts[1].index
    share = (run.predict(x)[held_out] == true[held_out]).mean()
    assert one.last < 0.75 < 0.9 < share
    assert one.true.low - 1e-9 <= share <= one.true.high + 1e-9
    assert one.true.value == pytest.approx(share, abs=0.07)
    text = (tmp_path / "run" / "report.html").read_text()
    assert text.index("by true labels (") < text.index("by the given labels, some of which may be wrong, it is")
    assert "has not learnt the mistakes" in text
