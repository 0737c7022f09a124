"""Settings under which a method trains on a tiny task in a moment, and all that a stage leaves behind."""

import json
from dataclasses import replace
from typing import Any

from smallloss.engine.progress import Progress
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.methods import co_teaching, elr, incv, jocor, rsl_flight
from smallloss.methods.mixmatch import MixMatchSettings
from smallloss.methods.settings import Settings

RECIPE = Recipe(epochs=3, batch=32, lr=0.1, schedule="triangular", pad=1, crop_offsets=3)


def settings(**changes: Any) -> Settings:
    """Small and written out: a preset may change its mind, these tests must not."""
    how = MixMatchSettings(steps_per_epoch=3, lambda_u=15, ramp=0.3, mix_per="example", guess_by="average")
    recipes = {"stage1": RECIPE, "rsl": RECIPE, "rsl_wm": replace(RECIPE, epochs=5, batch=8, ema=0.9)}
    adam = replace(RECIPE, optimiser="adam", lr=0.01, epochs=6)
    recipes |= {"jocor": adam, "elr": replace(RECIPE, epochs=6), "incv": adam, "incv_fold": replace(RECIPE, epochs=2)}
    recipes["rsl_flight"] = replace(
        RECIPE, epochs=8, lr=0.3, momentum=0.8, norm_rate=4, weight_decay=1e-3, lr_start=0.2, lr_end=0.07,
        label_smoothing=0.1, lookahead=2, alternate_flip=True, cutout=0.25, strong=True, mirror=True,
    )  # fmt: skip
    own = {"mixmatch": how, "co_teaching": co_teaching.Own(), "elr": elr.Own(), "jocor": jocor.Own(agreement=0.5),
           "incv": incv.Own(rounds=2), "rsl_flight": rsl_flight.Own(begin=0.3, look_every=2)}  # fmt: skip
    small = Settings(
        "test",
        "small-convnet",
        recipes=recipes,
        own=own,
        nets={"rsl_flight": ("quick-small:4-8", recipes["rsl_flight"])},
    )
    return small.changed(changes)


class StoppedError(Exception):
    """The process is gone."""


class StopAfter(Progress):
    """Ends the run once an epoch is committed, as a kill between two epochs would."""

    def __init__(self, epochs: int) -> None:
        super().__init__(enabled=False)
        self.left = epochs

    def epoch(self, note: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise StoppedError


def everything(stage: Stage) -> dict[str, bytes]:
    """Weights, averages, optimiser, step counter, the method's own state, ledger, and the curve but for its seconds."""
    tensors = stage._tensors() | stage.stepper.tensors() | stage.objective.buffers()
    arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    arrays |= {} if stage.ledger is None else stage.ledger.arrays()
    curve = [{name: value for name, value in row.items() if "seconds" not in name} for row in stage.history]
    return {name: array.tobytes() for name, array in arrays.items()} | {"curve": json.dumps(curve).encode()}
