import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from made import part_of
from markup import Reader
from smallloss.criterion.ledger import LossLedger
from smallloss.noise.answers import Interval
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import Checked, judge
from smallloss.record.run import Run
from smallloss.report import page as pages
from smallloss.report.facts import table_rows
from smallloss.report.page import page, write_page
from smallloss.report.svg import loss_curves


def test_says_what_was_found(result: Run) -> None:
    said = Reader(page(result)).said
    assert "pets" in said
    assert "The ranking works for this matrix: under every label" in said
    assert "examples in 2 classes 8 likely wrong, 25.0 % 2 kept, 75.0 % 6" in said
    assert "2 of them were held out: nothing was learned from them, and they are ranked among themselves." in said
    assert "for the 6 trained on, of which 4 are kept and 2 likely wrong." in said
    assert "of the labels called likely wrong, 50.0 % are wrong" in said
    assert "Cross Entropy preact-resnet-18 50.0 % 55.0 %" in said
    assert "RSL_WM resnet-9 90.0 % 90.0 % better by 40.0 points" in said
    assert "last ten" not in said
    assert "no difference seen" in said
    assert "Drawn by hand." in said
    assert "stage1.epochs 3" in said


@pytest.mark.parametrize(
    "precision, tone, word",
    [
        (None, "amber", "Unchecked"),
        (Interval(0.97, 0.96, 0.99), "green", "Checked"),
        (Interval(0.93, 0.9, 0.97), "amber", "Checked"),
        (Interval(0.9, 0.8, 0.94), "red", "Do not trust"),
    ],
)
def test_the_verdict_has_a_colour_and_a_word(result: Run, precision, tone: str, word: str) -> None:
    answered = None if precision is None else Checked(precision, 50, 60, np.array([30, 30]))
    result.verdict = judge(result.examples.labelled("train"), checked=answered)
    text = page(result)
    assert f'<section class="verdict {tone}"' in text
    assert f'<p class="headline">{word}' in text
    assert ("<code>smallloss open RUN</code>" in text) == (tone == "amber")


def test_same_result_same_bytes(result: Run, tmp_path) -> None:
    first = write_page(result, tmp_path / "a.html").read_bytes()
    for found in result.accuracies:
        found.seconds *= 2
    for row in result.history:
        row["seconds"] = 77.7
    assert write_page(result, tmp_path / "b.html").read_bytes() == first


def test_without_a_test_part_the_curve_is_of_what_was_held_out(result: Run) -> None:
    held_out = [{"validation" if key == "test" else key: row[key] for key in row} for row in result.history]
    assert pages._curves(replace(result, history=held_out)) == pages._curves(result)
    assert "Accuracy after each epoch" in page(replace(result, history=held_out))
    both = [row | {"validation": 0.1} for row in result.history]
    assert pages._curves(replace(result, history=both)) == pages._curves(result)


def test_accessible(result: Run) -> None:
    reader = Reader(page(result))
    assert reader.named("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(later <= level + 1 for level, later in pairwise(levels))
    assert all("scope" in header for header in reader.named("th"))
    assert len(reader.named("caption")) == len(reader.named("table")) == 2
    assert all("aria-label" in svg or svg.get("aria-hidden") for svg in reader.named("svg"))
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_class_table_has_margin_cutoff_and_plot(result: Run) -> None:
    text = page(result)
    said = Reader(text).said
    # examples, noise rate, kept, set aside, likely wrong, margin, cut-off, precisions with recalls
    assert "cat 3 33.3 % 2 0 1 0.40 0.50 100.0 / 100.0 100.0 / 100.0" in said
    assert "dog 3 33.3 % 2 0 1 0.40 0.30 50.0 / 50.0 0.0 / 0.0" in said
    assert text.count('class="spark"') == 2
    result.verdict = judge(result.examples.labelled("train"))
    assert "cat 3 33.3 % 2 0 1 – 0.50" in Reader(page(result)).said


def ticks(svg: str) -> list[int]:
    """The whole numbers below the axis, which the words "epoch" end."""
    below, _, _ = svg.partition(">epoch</text>")
    return [int(number) for number in re.findall(r">(\d+)</text>", below)]


def test_mean_losses_are_drawn_where_a_ledger_has_them(result: Run) -> None:
    assert "Mean loss of the kept" not in page(result)
    ledger = LossLedger(10)
    for scale in (2.0, 1.0):
        ledger.update(np.arange(10), scale * np.nan_to_num(result.examples.mean_loss))
        ledger.end_epoch()
    result.ledger = ledger
    losses = pages._losses(result)
    assert losses is not None
    np.testing.assert_allclose(losses[0], [2 * 0.275, 0.275], rtol=1e-6)  # examples 0, 1, 5, 7
    np.testing.assert_allclose(losses[1], [5.0, 2.5], rtol=1e-6)  # examples 3 and 8
    text = page(result)
    assert "Mean loss of the kept and of the likely wrong" in text
    assert "of a random" not in text
    assert ticks(loss_curves(*losses, 0)) == [1, 2]
    ledger.curves.start = 15  # of 17 epochs the last two were recorded
    assert pages._plots(result)["losses"] == loss_curves(*losses, 15)
    assert ticks(loss_curves(*losses, 15)) == [16, 17]
    ledger.curves.index = np.arange(9)
    ledger.curves.rows = [row[:9] for row in ledger.curves.rows]
    assert "in a random sample of 9 examples" in page(result)
    result.ledger = LossLedger(10)
    assert "Mean loss of the kept" not in page(result)


def test_pages_without_much_to_say(result: Run) -> None:
    nothing = part_of(result.dataset, "train", np.arange(10), np.full(10, np.nan), 0.0)
    examples = result.examples.ranked([nothing])
    bare = replace(
        result, examples=examples, accuracies=[], history=[], settings={}, notes=list(nothing.selection.notes)
    )
    said = Reader(page(bare)).said
    assert "No label is called likely wrong." in said
    assert "How the scores fall" not in said
    assert "10 examples never seen" in said


def test_likely_wrong_ones_that_look_right_are_explained(result: Run) -> None:
    assert "above 0.5" not in page(result)
    score = np.where(result.examples.likely_wrong, 0.99, result.examples.label_score)
    result.examples = replace(result.examples, label_score=score)
    assert "2 labels of the likely wrong have label scores above 0.5: by the answers probably right" in page(result)


def test_estimates_stand_with_their_intervals(estimated: Run) -> None:
    (whole,) = table_rows(estimated)
    found = estimated.noise
    assert isinstance(found, NoiseModel)
    _, low, high = found.overall
    assert whole.interval == (low, high)
    assert low < whole.noise_rate < high
    said = Reader(page(estimated)).said
    figure = f"{100 * low:.0f} % to {100 * high:.0f} % (90 % interval) {100 * whole.noise_rate:.1f} %"
    assert f"of the labels are wrong, by an estimate: {figure}" in said
    assert f"{100 * found.low[0]:.0f}–{100 * found.high[0]:.0f}" in said
