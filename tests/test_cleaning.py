"""`clean` on data that is hardly enough."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import smallloss as sl
from smallloss.auditing.session import audit, read_back
from smallloss.data import from_arrays, load
from smallloss.errors import InputError
from smallloss.report.facts import notes
from smallloss.run.prepare import divide


def test_a_dark_picture_is_as_dark_alone_as_beside_others():
    x = np.random.default_rng(0).integers(0, 256, (40, 8, 8)).astype(np.float32)
    run = sl.clean((x, np.arange(40) % 2), noise_rate=0.1, epochs=1, progress=False)
    dark = np.ones((1, 8, 8), np.float32)
    together = run.classifier.predict_proba(np.concatenate([dark, x]))[:1]
    assert run.classifier.predict_proba(dark) == pytest.approx(together, abs=1e-5)


def test_labels_that_are_numbers_stay_numbers():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2 * 10 - 5
    x = rng.normal(size=(80, 4)) + y[:, None]
    run = sl.clean((x, y), noise_rate={-5.0: 0.1, 5.0: 0.1}, epochs=5)
    assert (run.predict(x) == y).mean() > 0.9
    assert run.predict_proba(x).shape == (80, 2)
    table = run.table()
    assert table["given_label"] == y.tolist()
    assert len(table["is_label_issue"]) == 80  # held-out ones too, in input order
    assert set(table["predicted_label"]) == {-5, 5}
    words = sl.clean((x, np.where(y > 0, "a", "b")), noise_rate=0.1, epochs=1)
    assert set(words.table()["given_label"]) == {"a", "b"} == set(words.predict(x))


def test_labels_beside_the_data_are_told_where_they_belong():
    with pytest.raises(InputError, match=r"out is a ndarray; .* Give data and labels as a pair: \(X, y\)"):
        sl.clean(np.eye(4), np.arange(4))


def test_nearly_equal_labels_are_told_with_the_choices_and_in_the_notes(tmp_path):
    y = np.arange(40) % 2
    names = np.where(np.arange(40) % 8 == 0, "cat ", np.where(y == 0, "cat", "dog"))
    x = np.random.default_rng(0).normal(size=(40, 3))
    run = sl.clean((x, names), tmp_path / "run", noise_rate=0.1, epochs=1, device="cpu")
    assert any("'cat' and 'cat '" in note for note in run.result.notes)
    assert "'cat' and 'cat '" in json.loads((tmp_path / "run" / "config.json").read_text())["chosen"]["labels"]


@pytest.mark.parametrize("tested", [False, True])
def test_duplicates_stay_on_one_side(tested):
    """With an official test part too, where a tenth of the rest validates."""
    x = np.random.default_rng(0).integers(0, 256, (100, 8, 8), dtype=np.uint8)
    data = from_arrays(np.concatenate([x, x]), np.arange(200) % 2, test=(x[:4], np.arange(4) % 2) if tested else None)
    train, checks, _, protocol = divide(data, None, 0, data.groups)
    held_out = checks["validation"].index
    assert protocol == ("honest" if tested else "hold out")
    assert len(held_out) >= 16
    assert not set(train % 100) & set(held_out % 100)


def test_a_prior_is_given_by_label_and_nothing_to_predict_gives_nothing():
    x = np.random.default_rng(0).normal(size=(30, 2))
    y, prior = np.array(["cat", "dog", "eel"])[np.arange(30) % 3], {"cat": 0.5, "dog": 0.25, "eel": 0.25}
    run = sl.clean((x, y), noise_rate=0.1, prior=prior, epochs=1)
    assert run.selection.quota.prior.tolist() == [0.5, 0.25, 0.25]
    for nothing in (x[:0], []):
        assert run.predict(nothing).tolist() == []
    assert set(run.predict(x)) <= {"cat", "dog", "eel"}


def test_a_few_rows_repeated_over_and_over_are_held_out_from_all_the_same():
    x = np.tile(np.eye(3, dtype=np.float32), (20, 1))
    run = sl.clean((x, np.arange(60) % 3), noise_rate=0.1, epochs=1)
    assert [len(part.index) for part in run.result.parts] == [48, 12]


def test_data_of_which_nothing_can_be_held_out_is_refused():
    x = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InputError, match="Nothing of arrays can be held out"):
        sl.clean((x, np.arange(6) % 3), noise_rate=0.1, epochs=1)


def test_every_picture_is_judged_or_listed_and_an_audit_knows_which(tmp_path):
    """Rows of the examples table are those of the folder, also where some of its pictures are broken."""
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for i in range(8):
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(tmp_path / "pets" / name / f"{i}.png")
    broken = ["cat/0.png", "cat/5.png", "dog/7.png"]
    for name in broken:
        (tmp_path / "pets" / name).write_bytes(b"no picture")
    run = sl.clean(tmp_path / "pets", tmp_path / "run", noise_rate=0.2, epochs=1)
    with (tmp_path / "run" / "examples.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"{name}/{i}.png" for name in ("cat", "dog") for i in range(8)]
    assert [row["id"] for row in rows if row["reason"] == "unreadable"] == broken
    assert any("3 of the 16 pictures of pets cannot be read" in note for note in run.result.notes)
    table, _ = audit(tmp_path / "run", dataset=load(tmp_path / "pets"))
    with table.open(newline="") as file:
        asked = list(csv.DictReader(file))
    row_of = {row["id"]: row for row in rows}
    assert all(row_of[row["id"]]["given_label"] == row["given_label"] for row in asked)
    assert all(row_of[row["id"]]["index"] == row["index"] for row in asked)
    assert not {row["id"] for row in asked} & set(broken)
    for row in asked:
        row["answer"] = "right"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, asked[0])
        writer.writeheader()
        writer.writerows(asked)
    assert len(read_back(tmp_path / "run").pins) == len(asked) == 11


@pytest.mark.parametrize("method", ["rsl", "rsl_wm"])
def test_where_nothing_is_selected_every_example_is_judged_all_the_same(method):
    """Of three examples at a rate of 90 % none is safe to learn from."""
    x = np.random.default_rng(0).normal(size=(12, 2))
    run = sl.clean((x, np.arange(12) % 3), method=method, noise_rate=0.9, epochs=1)
    assert not run.selection.mask.any()
    assert run.selection.is_label_issue.all()
    assert any("The model is that of plain cross entropy" in note for note in run.result.notes)
    assert [one.method for one in run.result.accuracies] == ["cross_entropy"]
    assert run.predict(x).shape == (12,)


def test_every_accuracy_names_its_net():
    x = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8)
    settings = {"net": "small-convnet", "final_net": "mlp"}
    run = sl.clean((x, np.arange(40) % 2), noise_rate=0.1, epochs=1, settings=settings)
    nets = {one.method: one.net for one in run.result.accuracies}
    assert nets == {"cross_entropy": "small-convnet", "rsl": "mlp"}


@pytest.mark.parametrize("protocol, evaluated", [("full", 10), ("honest", 3)])
def test_where_nothing_validates_the_mean_of_the_last_ten_is_reported(protocol, evaluated):
    x = np.random.default_rng(0).normal(size=(80, 4)).astype(np.float32)
    y = np.arange(80) % 2
    data = from_arrays(x[:60], y[:60], test=(x[60:], y[60:]))
    settings = {"stage1.evaluate_every": 4, "rsl.evaluate_every": 4}
    run = sl.clean(data, noise_rate=0.1, epochs=12, protocol=protocol, settings=settings)
    for one, stage in zip(run.result.accuracies, ("stage1", "rsl"), strict=True):
        shares = [row["test"] for row in run.result.history if row["stage"] == stage and "test" in row]
        assert len(shares) == evaluated
        assert one.mean_of_last_ten == (pytest.approx(np.mean(shares)) if protocol == "full" else None)
        assert (one.best is None) == (protocol == "full")  # without a validation part no epoch can be told to be it


def test_answers_by_hand_are_called_what_they_are(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    y = np.arange(60) % 3
    x[np.arange(60), y] += 3
    answers = "".join(f"{i},{'right,' if i % 2 else 'wrong,' + str((y[i] + 1) % 3)}\n" for i in range(6))
    (tmp_path / "c.csv").write_text(f"id,answer,true_label\n{answers}6,none,\n")
    run = sl.clean((x, y), noise_rate=0.1, epochs=1, corrections=tmp_path / "c.csv")
    said = " ".join(notes(run.result))
    assert "7 answers by hand respected: 3 right" in said
    assert "Unchecked: 7 answers chose what is kept, so none judges it." in str(run.verdict)
    assert (
        "3 wrong (ranked last, but learnt with the class that was named) and 1 in none of the classes (ranked last)"
        in said
    )
    assert "never seen" not in said
    assert "never seen" not in run.result.examples.table()["reason"][:7]


def test_a_file_of_rates_holds_the_quota_back_by_their_upper_ends(tmp_path):
    x = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    labels = np.array(["=a", "b ", "c"])[np.arange(90) % 3]
    kept = {}
    for name, rates in (("known", ("0.1,", "0.1,")), ("estimated", ("0.1,0.6", "0.1,"))):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"label,noise_rate,upper\n'=a,{rates[0]}\nb ,{rates[1]}\nc,0.1,\n")
        kept[name] = sl.clean((x, labels), noise_rate=path, epochs=1).selection.quota.proportion
    assert kept["known"] == pytest.approx([0.88] * 3)
    assert kept["estimated"] == pytest.approx([0.4, 0.88, 0.88])


def test_equal_examples_under_different_labels_are_all_listed(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    x[[10, 21]] = x[[3, 4]]
    data = from_arrays(x, np.array(["=cat", "dog"])[np.arange(40) % 2], ids=[f"r{i}" for i in range(40)])
    run = sl.clean(data, tmp_path / "run", noise_rate=0.1, epochs=1)
    assert any("carry different labels" in note and "duplicates.csv" in note for note in run.result.notes)
    with (tmp_path / "run" / "duplicates.csv").open(newline="") as file:
        rows = [(row["id"], row["label"], row["group"]) for row in csv.DictReader(file)]
    assert rows == [("r3", "dog", "1"), ("r10", "'=cat", "1"), ("r4", "'=cat", "2"), ("r21", "dog", "2")]
    assert not any("duplicates.csv" in note for note in sl.clean(data, noise_rate=0.1, epochs=1).result.notes)


def three_blobs():
    """120 examples of three classes; every fourth label is wrong."""
    x = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    truth = np.arange(120) % 3
    x[np.arange(120), truth] += 6
    return x, np.where(np.arange(120) % 4 == 0, (truth + 1) % 3, truth), truth


def test_held_out_labels_that_were_corrected_are_what_accuracy_is_taken_by(tmp_path):
    x, y, truth = three_blobs()
    before = sl.clean((x, y), noise_rate=0.25, epochs=10)
    held_out = before.result.parts[1].index
    wrong = [row for row in held_out.tolist() if y[row] != truth[row]]
    assert len(wrong) > 2
    answers = "".join(f"{row},wrong,{truth[row]}\n" for row in wrong[1:])
    (tmp_path / "c.csv").write_text(f"id,answer,true_label\n{answers}{wrong[0]},none,\n")
    run = sl.clean((x, y), noise_rate=0.25, epochs=10, corrections=tmp_path / "c.csv")
    said = f"counts as right; {len(wrong) - 1} labels corrected by hand, 1 in none of the classes left out)"
    assert run.result.accuracy_on.endswith(said)
    rows = held_out[held_out != wrong[0]]
    known = np.where(np.isin(rows, wrong[1:]), truth[rows], y[rows])
    predicted = np.array(run.table()["predicted_label"])[rows].astype(int)
    assert np.array_equal(run.result.accuracies[1].right, predicted == known)
    assert run.result.accuracies[1].last > before.result.accuracies[1].last


def test_nobody_corrects_labels_that_are_known_to_be_true(tmp_path):
    """Those of a benchmark, which accuracy is taken by."""
    x, y, truth = three_blobs()
    data = replace(from_arrays(x, y), true_labels=truth)
    answers = "".join(f"{row},wrong,{(y[row] + 1) % 3}\n" for row in range(120) if y[row] == truth[row])
    (tmp_path / "c.csv").write_text(f"id,answer,true_label\n{answers}")
    run = sl.clean(data, noise_rate=0.25, epochs=2, method="cross_entropy", corrections=tmp_path / "c.csv")
    held_out = run.result.parts[1].index
    predicted = np.array(run.table()["predicted_label"])[held_out].astype(int)
    assert run.result.accuracy_on.endswith("(by their true labels)")
    assert np.array_equal(run.result.accuracies[0].right, predicted == truth[held_out])


def test_a_setting_of_another_method_is_said_to_change_nothing():
    x, y, _ = three_blobs()
    run = sl.clean((x, y), noise_rate=0.25, epochs=1, settings={"mixmatch.alpha": 4, "beta": 0.1})
    assert [note for note in run.result.notes if "changes nothing here" in note] == [
        "The setting mixmatch.alpha changes nothing here: it belongs to --method rsl_wm, and this is rsl."
    ]


def test_where_nothing_held_out_belongs_to_a_class_it_is_measured_on_all_the_same(tmp_path):
    x, y, _ = three_blobs()
    held_out = sl.clean((x, y), noise_rate=0.25, epochs=1, method="cross_entropy").result.parts[1].index
    answers = "".join(f"{row},none,\n" for row in held_out)
    (tmp_path / "c.csv").write_text(f"id,answer,true_label\n{answers}")
    options = {"noise_rate": 0.25, "epochs": 1, "method": "cross_entropy", "corrections": tmp_path / "c.csv"}
    run = sl.clean((x, y), **options)
    assert len(run.result.accuracies[0].right) == len(held_out)
