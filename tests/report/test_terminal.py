import io
from dataclasses import replace

import numpy as np
from rich.console import Console

from made import part_of, run_of
from markup import Reader
from smallloss.data.dataset import Dataset
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.record.run import Run, Shipped
from smallloss.report.page import page
from smallloss.report.terminal import render


def shown(result: Run, width: int = 80, **options) -> str:
    file = io.StringIO()
    render(result, Console(file=file, width=width, **options), "runs/[pets]")
    return file.getvalue()


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_says_what_was_found(result: Run) -> None:
    text = shown(result)
    assert " ".join(text.split()).startswith("The ranking works for this matrix: under every label")
    said = lines(text)
    assert ["Cross", "Entropy", "preact-resnet-18", "50.0", "%", "55.0", "%", "2"] in said
    assert "RSL_WM         resnet-9          90.0 %  90.0 %    1,235  better by 40.0 points" in shown(result, width=90)
    assert "mean of" not in text
    assert "no difference seen" in text
    assert ["cat", "3", "33.3", "%", "2", "1", "0", "100.0", "/", "100.0", "100.0", "/", "100.0"] in said
    assert ["dog", "3", "33.3", "%", "2", "1", "0", "50.0", "/", "50.0", "0.0", "/", "0.0"] in said
    assert ["trained", "on", "6", "33.3", "%", "4", "2", "0", "75.0", "/", "75.0", "50.0", "/", "50.0"] in said
    assert ["held", "out", "2", "33.3", "%", "2", "0", "0", "100.0", "/", "100.0", "–", "/", "–"] in said
    assert ["all", "8", "33.3", "%", "6", "2", "0", "83.3", "/", "83.3", "50.0", "/", "50.0"] in said
    assert "Note: Drawn by hand." in text
    assert "runs/[pets]/report.html" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    coloured = shown(result, force_terminal=True, color_system="standard", no_color=False)
    assert "\x1b[1;33mThe ranking" in coloured


def test_a_part_alone_is_all_and_what_the_choices_said_is_not_said_again(result: Run) -> None:
    result.examples = result.examples.ranked(result.parts[:1])
    result.notes += ["The labels are in the column 'pet'.", "Changed on the way: lr, from 1 to 2."]
    sight = "4 x 4 in colour. The labels are in the column 'pet'."
    result.settings["chosen"] = {"input": sight, "changed": "on the way: lr, from 1 to 2."}
    text = shown(result)
    assert ["all", "6", "33.3", "%", "4", "2", "0", "75.0", "/", "75.0", "50.0", "/", "50.0"] in lines(text)
    assert not [line for line in lines(text) if line[:1] == ["trained"]]
    assert [line for line in text.splitlines() if line.startswith("Note:")] == ["Note: Drawn by hand."]


def test_many_classes_show_the_noisiest() -> None:
    labels, score = np.repeat(np.arange(30), 10), np.linspace(0, 1, 300)
    data = Dataset(np.zeros((300, 1), np.float32), labels, tuple(f"class-{k}" for k in range(30)))
    part = part_of(data, "train", np.arange(300), score, np.arange(30) / 100)
    text = shown(run_of(data, [part], labels, score))
    assert "10 more classes, with smaller noise rates, are in report.html." in text
    assert "class-10 " in text
    assert "class-9 " not in text


def test_where_labels_are_likely_wrong_the_next_command_is_said(result: Run) -> None:
    command = "smallloss audit 'runs/[pets]' --suspicious 100  (to correct the worst)"
    assert command in shown(result)
    assert command not in shown(replace(result, examples=result.examples.answered({3: 0, 8: 1})))


def test_no_number_is_cut_at_80_columns(estimated: Run) -> None:
    """Where rates have intervals and the truth is known there are the most columns: a long name gives way to them."""
    text = shown(estimated)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    (row,) = [line for line in lines(text) if line[:1] == ["all"]]
    assert [row[1], row[5]] == ["40,000", f"{int(estimated.parts[0].selection.mask.sum()):,}"]


# --- where the page says the same -----------------------------------------------------------------------------


def test_the_mean_of_the_last_ten_where_there_is_one(result: Run) -> None:
    assert "after the last epoch and after the best one." in Reader(page(result)).said
    result.accuracies[2].mean_of_last_ten = 0.8765
    for found in result.accuracies:
        found.best = None
    said = Reader(page(result)).said
    assert "after the last epoch and as the mean of the last ten. The 95 % interval" in said
    assert "method, net last mean of last 10 compared with" in said
    assert "RSL resnet-9 50.0 % – no difference" in said
    assert "RSL_WM resnet-9 90.0 % 87.6 % better" in said
    rows = lines(shown(result))
    assert ["method", "net", "last", "last", "10", "seconds"] in [line[:6] for line in rows]
    assert ["Cross", "Entropy", "preact-resnet-18", "50.0", "%", "–", "2"] in rows
    assert ["RSL_WM", "resnet-9", "90.0", "%", "87.6", "%", "1,235"] in [line[:7] for line in rows]


def test_accuracy_by_true_labels_stands_before_that_by_given_ones(result: Run) -> None:
    assert "first by true labels, with bounds" not in page(result)
    result.accuracies[2].net = "a-network-of-ones-own"
    for found, value in zip(result.accuracies, (0.7, 0.8, 1.0), strict=True):
        found.true = TrueAccuracy(value, value - 0.1, value)
    result.shipped = Shipped("rsl", "no difference seen")
    text, of_page = shown(result), Reader(page(result)).said
    for said in (" ".join(text.split()), of_page):
        assert "RSL is shipped: no difference seen. Its accuracy is about 80 % by true labels (70 to 80 %), by" in said
    assert "method, net true labels last best compared with" in of_page
    assert "RSL_WM a-network-of-ones-own 100 (90–100) % 90.0 % 90.0 % better" in of_page
    assert max(map(len, text.splitlines())) <= 80
    assert ["Cross", "Entropy", "preact-resnet-18", "70", "(60–70)", "%", "50.0", "%", "2"] in lines(text)
    assert ["100", "(90–100)", "%", "90.0", "%", "1,235"] in [line[2:8] for line in lines(text)]
    assert "by the given labels, some of which may be wrong, it is 50.0 %." in " ".join(text.split())
