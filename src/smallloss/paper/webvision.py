"""Table 4: WebVision as the paper learns it, by its recipe or by a better one, and what a run measured on it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from smallloss.comparing.facts import percent_of
from smallloss.data.dataset import Dataset
from smallloss.data.webvision import folders_of, load_webvision, without_ilsvrc
from smallloss.errors import InputError
from smallloss.files import place
from smallloss.report.compare import REFERENCE

NOISE_RATE = 0.2  # "rough 20 %", of every class: with beta = .2, 76 % of each are kept
_ALIKE: dict[str, Any] = {  # all that learns by SGD learns alike; crops as from 320 pixels to 299
    "optimiser": "sgd", "schedule": "multistep", "factor": 0.1, "weight_decay": 5e-4, "batchnorm_momentum": 0.1,
    "pad": 10, "padding": "reflect",
}  # fmt: skip
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {"epochs": 120, "lr": 0.1, "milestones": (1 / 3, 2 / 3), "batch": 128},
    "better": {"epochs": 100, "lr": 0.01, "milestones": (0.5, 0.8), "batch": 64},
}
# RSL_WM has its own for Weighted_MixMatch, "with all the default parameters", INCV its own for folds; Co-teaching has
# that of stage 1.
_GROUPS = ("stage1", "rsl", "co_teaching_plus", "jocor", "incv", "f_correction", "mentornet", "d2l")
_COLUMNS = {
    "webvision_top1": "test", "webvision_top5": "test_top5", "ilsvrc_top1": "ilsvrc", "ilsvrc_top5": "ilsvrc_top5",
}  # fmt: skip


@dataclass(frozen=True)
class WebVision:
    """The data of every seed: nothing is drawn."""

    folder: Path | None
    name = "webvision"

    def __post_init__(self) -> None:
        if self.folder is None:
            raise InputError(
                "table4 needs WebVision 1.0: give with --data the folder that holds its info/, its Google part "
                "(google/ or google_resized_256/), its validation pictures (val_images/ or val_images_256/) and "
                "ILSVRC's (imagenet/val/SYNSET/). Nothing is fetched for you."
            )
        folders_of(place(self.folder))

    def __call__(self, seed: int) -> Dataset:
        assert self.folder is not None
        return _whole(self.folder)

    @property
    def lacks(self) -> list[str]:
        assert self.folder is not None
        return without_ilsvrc(place(self.folder))

    def told(self, off: float | None = None) -> dict[str, Any]:
        """Options of `clean`: nothing validates within the training part, and the prior is unknown."""
        return {"protocol": "full", "noise_rate": NOISE_RATE}


@lru_cache(maxsize=1)
def _whole(folder: Path) -> Dataset:
    return load_webvision(folder)


def recipe(how: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `clean`: those of a recipe of this table, the paper's unless another preset was asked for."""
    preset, base = how.get("preset", "paper"), {"net": "inception-resnet-v2", **how}
    if preset not in RECIPES:
        return base
    knobs = _ALIKE | RECIPES[preset]
    if "epochs" in how:
        del knobs["epochs"]
    settings = {f"{group}.{knob}": value for group in _GROUPS for knob, value in knobs.items()}
    return base | {"preset": "paper", "settings": settings | {"f_correction.transition": "anchors"}}


def at_best(run: Path, method: str, column: str) -> float | None:
    """In percent, after the epoch that is best on WebVision's validation set; None where nothing measures it."""
    stage = "stage1" if method == REFERENCE else method
    rows = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    best = max((row for row in rows if row["stage"] == stage), key=lambda row: (row["test"], row["epoch"]))
    return percent_of(best.get(_COLUMNS[column]))
