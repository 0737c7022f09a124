"""What a person at a terminal meets: examples, completion, whole words, the command that goes on."""

import os
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer

from smallloss.cli import app, main
from smallloss.run import pipeline

VERBS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_examples_that_are_commands(verb, monkeypatch, capsys):
    """Every option in them exists; each stands on a line of its own, to be copied."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        app([verb, "--help"], prog_name="smallloss")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    examples = [line for line in lines if line.startswith("smallloss ")]
    assert examples == list(filter(None, (VERBS[verb].epilog or "").split("\n\n")))
    assert examples or verb not in ("clean", "audit", "export")
    for example in examples:
        assert example.split()[1] == verb
        options = {name for one in VERBS[verb].params for name in one.opts}
        assert {word for word in example.split() if word.startswith("--")} <= options


@pytest.mark.parametrize("words, completed", [("smallloss pre", "predict"), ("smallloss audit --ans", "--answers")])
def test_a_shell_completes_verbs_and_options(words, completed):
    place = str(len(words.split()) - 1)
    asked = {"_SMALLLOSS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    script = "import sys; sys.argv = ['smallloss']; from smallloss.cli import main; main()"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [completed]


def stopped(monkeypatch, *arguments):
    """The exit status of a command."""
    monkeypatch.setattr(sys, "argv", ["smallloss", *map(str, arguments)])
    with pytest.raises(SystemExit) as found:
        main()
    return found.value.code


@pytest.mark.parametrize("watched", [True, False])
def test_on_a_terminal_no_word_is_broken_and_in_a_file_a_sentence_is_a_line(watched, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched, raising=False)
    monkeypatch.setenv("COLUMNS", "50")
    assert stopped(monkeypatch, "clean", "flowers", "--out", "run") == 2
    lines = capsys.readouterr().err.splitlines()
    assert (max(map(len, lines)) <= 50) == (len(lines) > 1) == watched
    assert " ".join(lines).startswith("smallloss: There is no file or folder here named flowers; DATA is one of:")


@pytest.mark.parametrize("verb", ["clean", "compare"])
def test_an_interruption_names_the_command_that_goes_on(verb, tmp_path, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "_run", interrupt)
    out = tmp_path / "a run"
    assert stopped(monkeypatch, verb, "digits", "--out", out, "--epochs", 2, "--device", "cpu") == 130
    said = capsys.readouterr().err.splitlines()[-2:]
    assert said[0] == "smallloss: Stopped. What was saved is kept; this goes on from there:"
    assert said[1] == f"smallloss {verb} digits --out {shlex.quote(str(out))} --epochs 2 --device cpu"
