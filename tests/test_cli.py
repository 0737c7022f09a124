"""The command line as a user meets it: exit statuses, sentences, files; never a traceback."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COMMAND = [sys.executable, "-c", "from smallloss.cli import main; main()"]
GOOD = "a,b\n0.8,0.2\n0.3,0.7\n"
BAD = "a,b\n0.4,0.6\n0.6,0.4\n"


def run(*arguments: Any, status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}
    environment.pop("SMALLLOSS_DEBUG", None)
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def sentence(*arguments: Any, status: int = 2) -> str:
    """What is said when something is refused: one line, on stderr."""
    done = run(*arguments, status=status)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("smallloss: ")
    return lines[0]


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """`sentence` without a new process: torch takes seconds to import."""
    from smallloss.cli import main

    monkeypatch.setattr(sys, "argv", ["smallloss", *map(str, arguments)])
    monkeypatch.delenv("SMALLLOSS_DEBUG", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr().err
    assert stopped.value.code == 2, said
    assert said.startswith("smallloss: ")
    assert said.count("\n") == 1
    return said


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_help_and_version():
    out = run("--help").stdout
    assert all(verb in out for verb in ("clean", "check", "corrupt", "select"))
    from smallloss import __version__

    assert run("--version").stdout.strip() == f"smallloss {__version__}"
    module = subprocess.run(
        [sys.executable, "-m", "smallloss", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout == run("--version").stdout


def shown_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int, *verb: str) -> str:
    from smallloss.cli import app

    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        app([*verb, "--help"], prog_name="smallloss")
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("verb", ["clean", "check", "corrupt", "select", "audit", "export", "predict"])
def test_help_is_whole_and_has_no_twins(verb, columns, monkeypatch, capsys):
    out = shown_help(monkeypatch, capsys, columns, verb)
    assert "…" not in out  # nothing is cut off
    assert "--no-" not in out


def test_the_options_of_clean_stand_under_headings(monkeypatch, capsys):
    out = shown_help(monkeypatch, capsys, 80, "clean")
    panels = [line.split()[1] for line in out.splitlines() if line.startswith("╭─")]
    assert panels == ["Arguments", "Options", "Data", "Noise", "Training", "Machine"]
    from smallloss import methods
    from smallloss.models import registry

    assert all(name in out for name in (*methods.names(), *registry.names()))


# --- check ---------------------------------------------------------------------------------------------------


def test_check_says_what_the_theory_says(tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "bad.csv").write_text(BAD)
    assert run("check", tmp_path / "good.csv").stdout.strip()
    assert run("check", tmp_path / "bad.csv", status=3).stdout.strip()


@pytest.mark.parametrize("text, words", [("0.8,0.2\n0.3,cat\n", "'cat'"), ("0.8,0.1\n0.3,0.7\n", "sum"), ("", "empty")])
def test_check_refuses_what_is_no_matrix(text, words, tmp_path):
    path = tmp_path / "T.csv"
    path.write_text(text)
    assert words in sentence("check", path)


def test_check_of_a_file_that_is_not_there(tmp_path):
    assert "nowhere.csv" in sentence("check", tmp_path / "nowhere.csv")


# --- corrupt and select --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_corrupt_keeps_every_row_and_column(ending, tmp_path):
    source = tmp_path / "labels.csv"
    names = ["cat", "dog", "eel"]
    source.write_text("file,label\n" + "".join(f"{i}.png,{names[i % 3]}\n" for i in range(300)))
    out = tmp_path / f"noisy.{ending}"
    said = run("corrupt", source, "--noise", "uniform:0.6", "--out", out, "--seed", 3).stdout
    from smallloss.data.table_files import read_table

    columns = read_table(out).to_pydict()
    assert columns["file"] == [f"{i}.png" for i in range(300)]
    assert columns["true_label"] == [names[i % 3] for i in range(300)]
    wrong = sum(a != b for a, b in zip(columns["label"], columns["true_label"], strict=True))
    assert f"300 rows; {wrong} labels" in said
    assert 80 < wrong < 160  # 40 % of 300
    first = out.read_bytes()
    run("corrupt", source, "--noise", "uniform:0.6", "--out", out, "--seed", 3)
    assert out.read_bytes() == first


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--noise", "uniform:2"], "2"),
        (["--noise", "fog:0.2"], "fog"),
        (["--noise", "uniform:0.2", "--column", "kind"], "'kind'"),
        (["--noise", "structured:0.2", "--map", "cat:bird"], "'cat:bird'"),
    ],
)
def test_corrupt_refuses_in_a_sentence(arguments, words, tmp_path):
    source = tmp_path / "labels.csv"
    source.write_text("label\ncat\ndog\n")
    assert words in sentence("corrupt", source, "--out", tmp_path / "x.csv", *arguments)
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_select_from_recorded_losses(ending, tmp_path):
    rng = np.random.default_rng(0)
    labels, losses = np.array(["x", "y"])[rng.integers(0, 2, 50)], rng.random(50)
    source, out = tmp_path / "losses.csv", tmp_path / f"selection.{ending}"
    rows = "".join(
        f"e{i},{label},{loss!r}\n" for i, (label, loss) in enumerate(zip(labels, losses.tolist(), strict=True))
    )
    source.write_text("id,label,mean_loss\n" + rows)
    said = run("select", source, "--out", out, "--noise-rate", "0.3").stdout
    assert "50 rows" in said
    from smallloss import select
    from smallloss.data.table_files import read_table

    expected = select(losses, labels, noise_rate=0.3)
    columns = read_table(out).to_pydict()
    assert columns["id"] == [f"e{i}" for i in range(50)]
    assert [str(value).lower() == "true" for value in columns["selected"]] == expected.mask.tolist()
    assert [int(value) for value in columns["rank_in_class"]] == expected.rank_in_class.tolist()


def test_select_without_a_rate_is_a_sentence(tmp_path):
    (tmp_path / "losses.csv").write_text("label,loss\na,1\nb,2\n")
    assert "noise" in sentence("select", tmp_path / "losses.csv", "--out", tmp_path / "out.csv")


# --- clean ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory) -> tuple[Path, list[str]]:
    """One short run on digits, and the command that made it."""
    out = tmp_path_factory.mktemp("clean") / "run"
    command = ["clean", "digits", "--out", str(out), "--epochs", "3", "--device", "cpu"]
    run(*command)
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
    run(*command)
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


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--method", "magic"], "no method named 'magic'"),
        (["--preset", "best"], "no preset named 'best'"),
        (["--set", "stage1.speed=9"], "no setting named 'speed' in stage1"),
        (["--set", "beta"], "--set beta is not a setting"),
        (["--set", "beta=much"], "beta is 'much'"),
        (["--noise", "fog:0.2"], "fog"),
        (["--noise-rate", "1.5"], "1.5"),
        (["--noise-rate", "3=0.1"], "0"),
        (["--method", "co_teaching", "--noise-rate", "none.csv"], "none.csv"),
        (["--epochs", "0"], "epochs is 0"),
        (["--protocol", "loose"], "'loose'"),
        (["--device", "abacus"], "abacus"),
        (["--path", "scenic"], "no path named 'scenic'"),
        (["--prior", "flat"], "prior is 'flat'"),
        pytest.param(
            ["--device", "cuda"],
            "torch sees no GPU",
            marks=[pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")],
        ),
        (["--net", "brain"], "no network named 'brain'"),
    ],
)
def test_clean_refuses_in_a_sentence_before_it_trains(arguments, words, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    small = ["--epochs", "1", "--device", "cpu"]
    assert words in refused(monkeypatch, capsys, "clean", "digits", "--out", out, *small, *arguments)
    assert not (out / "metrics.jsonl").exists() or not (out / "metrics.jsonl").read_text()


def test_clean_refuses_a_transition_of_another_size_before_it_trains(tmp_path, monkeypatch, capsys):
    (tmp_path / "T.csv").write_text("0.8,0.2\n0.3,0.7\n")
    out = tmp_path / "run"
    arguments = ["--out", out, "--epochs", "1", "--device", "cpu", "--transition", tmp_path / "T.csv"]
    assert "10" in refused(monkeypatch, capsys, "clean", "digits", *arguments)
    assert not (out / "metrics.jsonl").exists() or not (out / "metrics.jsonl").read_text()


def test_clean_puts_a_transition_with_names_in_the_order_of_the_classes(tmp_path, monkeypatch):
    """The same T with its classes written in another order is the same T."""
    from smallloss.cli import main
    from smallloss.criterion.transition import structured
    from smallloss.data.idx import load_digits
    from smallloss.run import pipeline as cleaning

    T = structured(0.3, load_digits().class_map)
    order = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]
    lines = [",".join(map(str, order))] + [",".join(map(repr, row)) for row in T[np.ix_(order, order)].tolist()]
    (tmp_path / "T.csv").write_text("\n".join(lines))
    given = []

    def spy(*_: Any, **options: Any) -> None:
        given.append(options["transition"])
        raise KeyboardInterrupt

    monkeypatch.setattr(cleaning, "_run", lambda ready, *_, **__: spy(transition=ready.noise.transition))
    arguments = ["clean", "digits", "--out", tmp_path / "run", "--transition", tmp_path / "T.csv", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", ["smallloss", *map(str, arguments)])
    with pytest.raises(SystemExit):
        main()
    np.testing.assert_allclose(given[0], T)


def test_clean_hands_on_prior_path_and_workers(tmp_path, monkeypatch):
    from smallloss.cli import main
    from smallloss.run import pipeline as cleaning

    tasks: list[Any] = []
    priors: list[Any] = []

    def stop(ready: Any, *_: Any) -> None:
        tasks.append(ready.task)
        priors.append(ready.noise.prior)
        raise KeyboardInterrupt

    monkeypatch.setattr(cleaning, "_run", stop)
    options = ["--prior", "uniform", "--path", "streaming", "--workers", "2", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", ["smallloss", "clean", "digits", "--out", str(tmp_path / "run"), *options])
    with pytest.raises(SystemExit):
        main()
    assert (tasks[0].path, tasks[0].workers) == ("streaming", 2)
    assert priors[0].tolist() == [0.1] * 10


def test_clean_refuses_a_folder_of_somebody_else(tmp_path, monkeypatch, capsys):
    (tmp_path / "thesis.tex").write_text("mine")
    arguments = ["clean", "digits", "--out", tmp_path, "--device", "cpu"]
    assert "'thesis.tex'" in refused(monkeypatch, capsys, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_clean_refuses_data_that_is_not_there(tmp_path, monkeypatch, capsys):
    arguments = ["clean", tmp_path / "nowhere.npz", "--out", tmp_path / "run", "--noise-rate", "0.1"]
    assert "nowhere" in refused(monkeypatch, capsys, *arguments)
    assert not (tmp_path / "run").exists()


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
    assert "--out" in run("clean", "digits", status=2).stderr
