"""One line of progress for all stages, with the time left over them."""

import pytest

from smallloss.engine.progress import Progress

PLAN = {"stage 1": 10, "stage rsl": 30.0}


def shown(capsys, *stages, plan=PLAN):
    """What a terminal is left with after these stages: (name, epochs, epochs done before, epochs done now)."""
    with Progress(enabled=True) as progress:
        progress.plan(plan)
        for name, epochs, done, now in stages:
            progress.stage(name, epochs, done)
            for epoch in range(now):
                progress.epoch(f"loss {epoch}")
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    "stages, words",
    [
        ([("stage 1", 5, 0, 0)], ["stage 1 0/5", "0%"]),
        ([("stage 1", 5, 0, 2)], ["stage 1 2/5", "10%", "loss 1"]),
        ([("stage 1", 5, 0, 5), ("stage rsl", 15, 0, 5)], ["stage rsl 5/15", "50%", "loss 4"]),
        ([("stage 1", 5, 0, 5), ("stage rsl", 15, 0, 15)], ["stage rsl 15/15", "100%", "0:00:00"]),
        ([("stage 1", 5, 5, 0), ("stage rsl", 15, 10, 0)], ["stage rsl 10/15", "75%"]),  # of a run that goes on
        ([("stage rsl", 15, 0, 1)], ["stage rsl 1/15", "30%"]),  # nothing was left to do before
    ],
)
def test_stages_share_one_line(stages, words, capsys):
    (line,) = shown(capsys, *stages)
    assert all(word in line for word in words)
    assert len(line.rstrip()) <= 80


def test_what_was_not_planned_has_a_line_of_its_own(capsys):
    lines = shown(capsys, ("embedding", 4, 0, 4), ("stage 1", 5, 0, 1))
    assert [line.split()[0] for line in lines] == ["embedding", "stage"]
    assert "100%" in lines[0]
    assert "5%" in lines[1]


def test_nobody_is_told_where_nobody_watches(capsys):
    with Progress() as progress:  # not a terminal
        progress.stage("stage 1", 5, 0)
        progress.epoch("loss 1")
    assert capsys.readouterr().err == ""
