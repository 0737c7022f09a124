"""Settings under which a method trains on a tiny task in a moment, and all that a stage leaves behind."""

import json
from dataclasses import replace
from typing import Any

from smallloss.engine.progress import Progress
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.methods import (
    aum,
    co_teaching,
    co_teaching_plus,
    d2l,
    decoupling,
    dividemix,
    elr,
    f_correction,
    incv,
    jocor,
    mentornet,
    plain_mixmatch,
    rsl_flight,
    ssr,
    truncated_lq,
)  # fmt: skip
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
    recipes |= {"f_correction": RECIPE, "l_dmi": replace(RECIPE, lr=1e-3), "truncated_lq": replace(RECIPE, epochs=8)}
    recipes |= {"d2l": replace(RECIPE, epochs=8, batch=16, lr=0.2, schedule="constant")}
    own |= {"d2l": d2l.Own(begin=0.0, window=2, neighbours=5), "f_correction": f_correction.Own(transition="anchors"),
            "truncated_lq": truncated_lq.Own(k=0.3, start=0.75, every=1)}  # fmt: skip
    recipes |= {"plain_mixmatch": replace(RECIPE, epochs=5, ema=0.9), "mentornet": replace(RECIPE, epochs=6)}
    own |= {"co_teaching_plus": co_teaching_plus.Own(), "decoupling": decoupling.Own(), "mentornet": mentornet.Own(),
            "plain_mixmatch": plain_mixmatch.Own()}  # fmt: skip
    recipes |= dict.fromkeys(["aum", "aum_margins", "dividemix", "ssr"], replace(RECIPE, epochs=4))
    own |= {"aum": aum.Own(), "dividemix": dividemix.Own(warm_up=2), "ssr": ssr.Own()}
    nets = {"rsl_flight": ("quick-small:4-8", recipes["rsl_flight"])}
    small = Settings("test", "small-convnet", recipes=recipes, own=own, nets=nets)
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
