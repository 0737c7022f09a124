"""Table 4 on a made folder: what is kept, what is learnt by which recipe, and what is measured at the best epoch."""

import json
import math

import numpy as np
import pytest
from torch import nn

import webvision
from smallloss.data import webvision as source
from smallloss.errors import InputError
from smallloss.methods.settings import settings_for
from smallloss.paper.items import TABLES
from smallloss.paper.reproduce import reproduce
from smallloss.paper.webvision import at_best, recipe
from smallloss.record.run import Run


class MeanColours(nn.Sequential):
    def __init__(self, classes: int = 50) -> None:
        super().__init__(nn.AvgPool2d(32), nn.Flatten(), nn.Linear(12, classes))


def lines_of(out):
    return {(one["row"], one["cell"]): one for one in map(json.loads, (out / "table4.jsonl").read_text().splitlines())}


def test_ten_rows_and_four_columns_as_printed():
    table = TABLES["table4"]
    assert [row.name for row in table.rows] == list(table.printed["best"])
    assert table.cells == ("webvision_top1", "webvision_top5", "ilsvrc_top1", "ilsvrc_top5")


def test_what_was_run_stands_in_all_columns_and_76_percent_of_each_class_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "SIZE", 64)
    data, out, said = webvision.make(tmp_path / "web", each=4), tmp_path / "out", []
    how = {"net": MeanColours, "epochs": 1, "device": "cpu", "say": said.append}
    found = reproduce("table4", out, data=data, methods="rsl", **how)
    lines = lines_of(out)
    assert {row for row, _ in lines} == {"Cross Entropy", "RSL"}
    for row, run in (("Cross Entropy", "cross_entropy-0"), ("RSL", "rsl-0")):
        folder = out / "cells" / "webvision" / "as-it-is" / "runs" / run
        (last,) = [
            one for one in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
            if one["stage"] == ("stage1" if row == "Cross Entropy" else "rsl")
        ]  # fmt: skip
        assert lines[row, "webvision_top1"]["best"] == pytest.approx(100 * last["test"])
        assert lines[row, "ilsvrc_top5"]["best"] == pytest.approx(100 * last["ilsvrc_top5"])
        assert last["ilsvrc_top5"] >= last["ilsvrc"]
    chosen = Run.read(folder).examples
    kept = np.bincount(chosen.label[chosen.kept], minlength=50)
    assert set(kept.tolist()) == {3}  # of 4: 3.04
    assert f"RSL best, webvision_top5: {lines['RSL', 'webvision_top5']['best']:.2f} (paper 85.72)" in found.words
    said.clear()
    (data / "imagenet").rename(tmp_path / "away")
    reproduce("table4", out, data=data, methods="rsl", **how)
    assert said[0].startswith("ILSVRC's validation pictures are not there")
    assert said[1:] == ["2 runs, 2 of them done.", "webvision: rsl"]


def test_the_best_epoch_is_that_of_webvision_and_a_tie_is_the_later(tmp_path):
    rows = [
        {"stage": "stage1", "epoch": 0, "test": 0.5, "test_top5": 0.8, "ilsvrc": 0.9},
        {"stage": "rsl", "epoch": 0, "test": 0.6, "test_top5": 0.9, "ilsvrc": 0.5},
        {"stage": "rsl", "epoch": 1, "test": 0.6, "test_top5": 0.7, "ilsvrc": 0.4},
        {"stage": "rsl", "epoch": 2, "test": 0.3, "test_top5": 1.0, "ilsvrc": 1.0},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    columns = TABLES["table4"].cells
    assert [at_best(tmp_path, "rsl", column) for column in columns] == [60, 70, 40, None]
    assert at_best(tmp_path, "cross_entropy", "ilsvrc_top1") == 90


@pytest.mark.parametrize("preset, epochs, lr, drops", [("paper", 120, 0.1, (40, 80)), ("better", 100, 0.01, (50, 80))])
def test_the_recipes(preset, epochs, lr, drops):
    asked = recipe({"preset": preset})
    settings = settings_for(asked["preset"], "cpu", None, net=asked["net"], changes=asked["settings"])
    for group in ("stage1", "rsl", "co_teaching_plus", "jocor", "incv", "d2l"):
        how = settings.recipe(group)
        assert (how.epochs, how.lr, how.optimiser, how.factor) == (epochs, lr, "sgd", 0.1)
        assert tuple(math.floor(share * how.epochs + 0.5) for share in how.milestones) == drops
    assert settings.recipe("rsl_wm").lr == 0.002
    assert settings.net == "inception-resnet-v2"
    assert "stage1.epochs" not in recipe({"epochs": 3})["settings"]
    assert "settings" not in recipe({"preset": "fast"})


@pytest.mark.parametrize("how, sentence", [
    ({}, r"table4 needs WebVision 1.0: give with --data .* Nothing is fetched"),
    ({"data": "."}, r"lacks info/train_filelist_google.txt, info/val_filelist.txt, google/"),
    ({"cells": "webvision_top1"}, "table4 has no cells to choose"),
])  # fmt: skip
def test_what_is_missing_is_said_before_anything_is_written(how, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        reproduce("table4", tmp_path / "out", **({"data": tmp_path} if how.get("data") == "." else how))
    assert not list(tmp_path.iterdir())
