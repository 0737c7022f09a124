"""The command line as a user meets it: exit statuses, sentences, files; never a traceback."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import process, sentence, smallloss

GOOD = "a,b\n0.8,0.2\n0.3,0.7\n"
BAD = "a,b\n0.4,0.6\n0.6,0.4\n"


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_help_and_version():
    assert all(verb in smallloss("--help").out for verb in ("clean", "check", "corrupt", "select"))
    from smallloss import __version__

    assert process("--version") == smallloss("--version") == (f"smallloss {__version__}\n", "")


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("verb", ["clean", "check", "corrupt", "select", "audit", "export", "predict"])
def test_help_is_whole_and_has_no_twins(verb, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = smallloss(verb, "--help").out
    assert "…" not in out  # nothing is cut off
    assert "--no-" not in out


def test_the_options_of_clean_stand_under_headings():
    out = smallloss("clean", "--help").out
    panels = [line.split()[1] for line in out.splitlines() if line.startswith("╭─")]
    assert panels == ["Arguments", "Options", "Data", "Noise", "Training", "Machine"]
    from smallloss import methods
    from smallloss.models import registry

    assert all(name in out for name in (*methods.names(), *registry.names()))


# --- check ---------------------------------------------------------------------------------------------------


def test_check_says_what_the_theory_says(tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "bad.csv").write_text(BAD)
    assert smallloss("check", tmp_path / "good.csv").out.strip()
    assert smallloss("check", tmp_path / "bad.csv", status=3).out.strip()


# --- corrupt and select --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_corrupt_keeps_every_row_and_column(ending, tmp_path):
    source = tmp_path / "labels.csv"
    names = ["cat", "dog", "eel"]
    source.write_text("file,label\n" + "".join(f"{i}.png,{names[i % 3]}\n" for i in range(300)))
    out = tmp_path / f"noisy.{ending}"
    said = smallloss("corrupt", source, "--noise", "uniform:0.6", "--out", out, "--seed", 3).out
    from smallloss.data.table_files import read_table

    columns = read_table(out).to_pydict()
    assert columns["file"] == [f"{i}.png" for i in range(300)]
    assert columns["true_label"] == [names[i % 3] for i in range(300)]
    wrong = sum(a != b for a, b in zip(columns["label"], columns["true_label"], strict=True))
    assert f"300 rows; {wrong} labels" in said
    assert 80 < wrong < 160  # 40 % of 300
    first = out.read_bytes()
    smallloss("corrupt", source, "--noise", "uniform:0.6", "--out", out, "--seed", 3)
    assert out.read_bytes() == first


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_select_from_recorded_losses(ending, tmp_path):
    rng = np.random.default_rng(0)
    labels, losses = np.array(["x", "y"])[rng.integers(0, 2, 50)], rng.random(50)
    source, out = tmp_path / "losses.csv", tmp_path / f"selection.{ending}"
    rows = "".join(
        f"e{i},{label},{loss!r}\n" for i, (label, loss) in enumerate(zip(labels, losses.tolist(), strict=True))
    )
    source.write_text("id,label,mean_loss\n" + rows)
    said = smallloss("select", source, "--out", out, "--noise-rate", "0.3").out
    assert "50 rows" in said
    from smallloss import select
    from smallloss.data.table_files import read_table

    expected = select(losses, labels, noise_rate=0.3)
    columns = read_table(out).to_pydict()
    assert columns["id"] == [f"e{i}" for i in range(50)]
    assert [str(value).lower() == "true" for value in columns["selected"]] == expected.mask.tolist()
    assert [int(value) for value in columns["rank_in_class"]] == expected.rank_in_class.tolist()


# --- clean ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory) -> tuple[Path, list[str]]:
    """One short run on digits, and the command that made it."""
    out = tmp_path_factory.mktemp("clean") / "run"
    command = ["clean", "digits", "--out", str(out), "--epochs", "3", "--device", "cpu"]
    process(*command)
    return out, command


@pytest.mark.slow
def test_clean_writes_the_run_folder(cleaned):
    out, _ = cleaned
    expected = {
        "config.json", "metrics.jsonl", "ledger.npz", "examples.parquet", "examples.csv", "selection.npz",
        "model.safetensors", "checkpoint", "report.html", "duplicates.csv", "result.json", "features.npz",
    }  # fmt: skip
    assert {path.name for path in out.iterdir()} - {".lock"} == expected
    config = json.loads((out / "config.json").read_text())
    assert config["method"] == "rsl"
    assert config["noise"]["drawn"] == "structured:0.3"
    assert config["settings"]["stage1"]["epochs"] == 3
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [(row["stage"], row["epoch"]) for row in metrics] == [(s, e) for s in ("stage1", "rsl") for e in range(3)]


@pytest.mark.slow
def test_clean_gives_one_row_per_input_in_input_order(cleaned):
    out, _ = cleaned
    from smallloss.data.idx import load_digits

    truth = load_digits().labels
    rows = table(out / "examples.csv")
    assert [int(row["index"]) for row in rows] == list(range(len(truth)))
    assert [row["true_label"] for row in rows] == [str(label) for label in truth]
    assert list(rows[0])[:4] == ["is_label_issue", "label_score", "given_label", "predicted_label"]
    assert {row["split"] for row in rows} == {"train", "held out"}
    assert all(row["reason"] for row in rows)
    with np.load(out / "selection.npz") as selection:
        chosen = set(selection["index"][selection["selected"]].tolist())
    assert chosen == {int(r["index"]) for r in rows if r["split"] == "train" and r["selected"].lower() == "true"}
    with np.load(out / "ledger.npz") as ledger:
        assert len(set(ledger["count"].tolist())) == 1  # held out or not, all were scored equally often
        assert ledger["count"].shape == truth.shape
        assert ledger["count"].min() > 0


@pytest.mark.slow
def test_the_same_command_again_changes_nothing(cleaned):
    out, command = cleaned
    names = ("ledger.npz", "selection.npz", "examples.csv", "examples.parquet", "model.safetensors", "metrics.jsonl")
    before = {name: (out / name).read_bytes() for name in names}
    process(*command)
    assert [name for name in names if (out / name).read_bytes() != before[name]] == []


@pytest.mark.slow
def test_the_model_can_be_read_and_says_what_it_is(cleaned):
    """One metadata entry at most: safetensors writes several in an order that changes with every process."""
    from safetensors import safe_open

    out, _ = cleaned
    with safe_open(str(out / "model.safetensors"), framework="np") as model:
        facts = model.metadata()
        assert model.get_tensor("head.weight").shape[0] == 10
    assert len(facts) == 1
    assert "small-convnet" in str(facts)


@pytest.mark.slow
def test_another_setting_is_refused_by_name(cleaned):
    _, command = cleaned
    said = sentence(*command, "--seed", "1", "--set", "beta=0.1")
    assert "seed was 0, now 1" in said
    assert "settings.beta was 0.2, now 0.1" in said


def prepared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *options: Any) -> Any:
    """All that `clean digits` has made ready when it begins to train."""
    from smallloss.run import pipeline

    seen = []

    def stop(ready: Any, *_: Any) -> None:
        seen.append(ready)
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "_run", stop)
    smallloss("clean", "digits", "--out", tmp_path / "run", "--device", "cpu", *options, status=130)
    return seen[0]


def test_clean_puts_a_transition_with_names_in_the_order_of_the_classes(tmp_path, monkeypatch):
    """The same T with its classes written in another order is the same T."""
    from smallloss.criterion.transition import structured
    from smallloss.data.idx import load_digits

    T = structured(0.3, load_digits().class_map)
    order = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]
    lines = [",".join(map(str, order))] + [",".join(map(repr, row)) for row in T[np.ix_(order, order)].tolist()]
    (tmp_path / "T.csv").write_text("\n".join(lines))
    ready = prepared(monkeypatch, tmp_path, "--transition", tmp_path / "T.csv")
    np.testing.assert_allclose(ready.noise.transition, T)


def test_clean_hands_on_prior_path_and_workers(tmp_path, monkeypatch):
    ready = prepared(monkeypatch, tmp_path, "--prior", "uniform", "--path", "streaming", "--workers", "2")
    assert (ready.task.path, ready.task.workers) == ("streaming", 2)
    assert ready.noise.prior.tolist() == [0.1] * 10


def test_a_class_too_small_to_be_held_out_is_no_reason_to_fail(tmp_path):
    """Of a class with two examples none is held out; the held-out part then has fewer classes than T."""
    from smallloss import clean
    from smallloss.criterion.transition import uniform

    rng = np.random.default_rng(0)
    labels = np.array([0] * 40 + [1] * 40 + [2] * 2)
    x = (labels[:, None] + rng.normal(0, 0.3, (82, 4))).astype(np.float32)
    for noise in ({"transition": uniform(0.02, 3)}, {"noise_rate": [0.1, 0.1, 0.1]}):
        run = clean((x, labels), epochs=1, device="cpu", **noise)
        assert sum(len(part.index) for part in run.result.parts) == 82


def test_a_missing_option_is_exit_status_2(tmp_path):
    assert "--out" in smallloss("clean", "digits", status=2).err
