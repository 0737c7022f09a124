"""The settings on a page that is mailed: of what ran, rounded, and nothing of where the sender keeps things."""

from pathlib import Path

import pytest

from smallloss.record.run import Run
from smallloss.report.page import page
from smallloss.report.settings import shown_settings, without_folders

HOME = Path("/home/jane doe/my data").absolute()  # with blanks, and a drive where there are any


def config(method: str = "rsl") -> dict:
    recipe = {"epochs": 30, "lr": 0.1, "milestones": [0.3, 0.6], "nesterov": True}
    return {
        "data": {"name": "photos", "fingerprint": "c066fa", "source": str(HOME / "photos"), "label": None},
        "noise": {"drawn": f"human:{HOME.anchor}lab/human.npy@random1", "transition": [[1, 0], [0, 1]]},
        "method": method,
        "corrections": [],
        "settings": {
            **{"net": "small-convnet", "stage1": recipe, "rsl": recipe, "rsl_wm": recipe, "mixmatch": {"rounds": 2}},
            **{"final_net": None, "kappa": 0.35667494393873245, "half_epochs": 2 / 3},
        },
        "chosen": {"net": "small-convnet, the preset's", "noise": f"drawn from {HOME / 'photos'} and {HOME / 'T.csv'}"},
    }


@pytest.mark.parametrize(
    "method, shown, hidden",
    [
        ("rsl", {"stage1", "rsl"}, {"rsl_wm", "mixmatch"}),
        ("confident_learning", {"stage1", "rsl"}, {"rsl_wm", "mixmatch"}),
        ("rsl_wm", {"stage1", "rsl_wm", "mixmatch"}, {"rsl"}),
        ("plain_mixmatch", {"stage1", "mixmatch"}, {"rsl", "rsl_wm"}),
    ],
)
def test_only_the_groups_of_the_method_that_ran(method: str, shown: set[str], hidden: set[str]) -> None:
    groups = {name.partition(".")[0] for name, _ in shown_settings(config(method))}
    assert shown <= groups
    assert not hidden & groups


def test_values_are_for_reading_and_places_are_told_by_their_last_name() -> None:
    told = dict(shown_settings(config()))
    assert len(told) == len(shown_settings(config()))
    assert (told["kappa"], told["half_epochs"], told["stage1.milestones"]) == ("0.357", "0.667", "0.3, 0.6")
    assert (told["stage1.nesterov"], told["net"]) == ("yes", "small-convnet, the preset's")
    assert not {"final_net", "data.label", "corrections", "data.fingerprint", "noise.transition"} & set(told)
    assert (told["data.source"], told["noise.drawn"]) == ("photos", "human:human.npy@random1")
    assert told["noise"] == "drawn from photos and T.csv"


@pytest.mark.parametrize(
    "text, source, left",
    [
        ("cifar10:/data/sets/cifar", "cifar10:/data/sets/cifar", "cifar10:cifar"),
        ("timm:resnet18,checkpoint=/home/me/mine.safetensors", "digits", "timm:resnet18,checkpoint=mine.safetensors"),
        (r"C:\Users\me\photos", "", "photos"),
        ("~/photos/cats", "", "cats"),
        ("cat/dup_1.png or hf:models/all-MiniLM", "", "cat/dup_1.png or hf:models/all-MiniLM"),
        ("hf://datasets/a/b and 1/2", "", "hf://datasets/a/b and 1/2"),
    ],
)
def test_folders_are_left_out_and_other_strokes_are_not(text: str, source: str, left: str) -> None:
    assert without_folders(text, source) == left


def test_the_page_folds_them_away(result: Run) -> None:
    result.settings = config()
    text = page(result)
    assert "jane doe" not in text
    folded = text.partition("<h2>Settings</h2>")[2]
    assert folded.lstrip().startswith("<details>")  # and so closed
    assert "stage1.milestones" in folded.partition("</details>")[0]
