"""What settings say reaches the methods: the score, the nets, the recipes, the windows, the knobs of the selection."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from small import settings
from smallloss import methods
from smallloss.methods import rsl_wm
from smallloss.methods.small_loss import choose
from smallloss.noise.choose import select
from smallloss.noise.model import NoiseModel

NOISE = NoiseModel(noise_rate=0.2)


class Flat(nn.Module):
    """Another net than the one that ranks."""

    def __init__(self, classes: int, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.head = nn.Linear(int(np.prod(in_shape)), classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x.flatten(1))


# --- what ranks, and what learns -----------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["mean_loss", "mean_margin", "last_loss"])
def test_rsl_ranks_by_the_score_that_is_set(score, make_task):
    task, how = make_task(), settings(score=score)
    learned = methods.get("rsl").train(task, how, NOISE)
    scores = {name: learned.ledger.score(name) for name in ("mean_loss", "mean_margin", "last_loss")}
    assert [name for name, values in scores.items() if np.array_equal(values, learned.score)] == [score]
    assert np.array_equal(learned.selection.score, scores[score][task.train])


@pytest.mark.parametrize("method", ["rsl", "rsl_wm"])
def test_the_final_net_learns_from_the_selection_and_the_other_one_ranks(method, make_task):
    learned = methods.get(method).train(make_task(), settings(final_net=Flat), NOISE)
    assert isinstance(learned.fitted.network.module, Flat)
    assert learned.net is Flat
    assert not isinstance(learned.stages["stage1"].network.module, Flat)


def test_rsl_retrains_by_its_own_recipe(make_task):
    """Of 80 examples 59 are kept: 4 batches of 16, not 2 of 32."""
    how = settings(**{"rsl.epochs": 2, "rsl.batch": 16, "rsl.lr": 0.05})
    learned = methods.get("rsl").train(make_task(), how, NOISE)
    assert learned.selection.mask.sum() == 59
    assert learned.fitted.recipe is how.recipe("rsl")
    assert [row["steps"] for row in learned.fitted.history] == [4, 4]
    assert [row["steps"] for row in learned.stages["stage1"].history] == [3, 3, 3]


# --- the selection -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "knob, value",
    [
        ("beta", 0.5),
        ("gamma", 1.0),
        ("kappa", 2.0),
        ("weight_max", "class"),
        ("rounding", "raw"),
        ("class_size", "nominal"),
    ],
)
def test_every_knob_of_the_selection_counts(knob, value, make_task):
    """Rates and a prior under which each changes something: 12 of the first class are 11.999... in floats."""
    task, how = make_task(), settings(**{knob: value})
    task.train = _of_each_class(task.dataset.labels, (20, 30, 15))
    labels, score = task.dataset.labels[task.train], np.random.default_rng(0).random(96)
    noise = NoiseModel(noise_rate=[0.2, 0.1, 0.1], prior=[0.2, 0.5, 0.3])
    known: dict[str, Any] = {"noise_rate": noise.noise_rate, "prior": noise.prior, "classes": [0, 1, 2]}
    plain, asked = (select(score[task.train], labels, **known, **own) for own in ({}, {knob: value}))
    assert not np.array_equal(plain.weight, asked.weight)
    chosen = choose(task, how, noise, score)
    assert chosen.quota.num.tolist() == asked.quota.num.tolist()
    assert np.array_equal(chosen.weight, asked.weight)


def _of_each_class(labels: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    return np.sort(np.concatenate([np.flatnonzero(labels == k)[:count] for k, count in enumerate(counts)]))


# --- the second look -----------------------------------------------------------------------------------------


def test_the_second_look_does_not_count_the_first_epochs(make_task):
    """It comes after all 5: those from the second half of the way there, epochs 2, 3 and 4, are scored."""
    how = settings(**{"mixmatch.rounds": 2, "mixmatch.look_at": 1.0})
    ledger = methods.get("rsl_wm").train(make_task(), how, NOISE).ledger
    assert ledger.count.tolist() == [3] * 96
    assert ledger.curves.start == 2


def test_every_step_mixes_other_partners(make_task):
    task, how = make_task(), settings()
    chosen = choose(task, how, NOISE, np.arange(96.0))
    mix, own = how.recipe("rsl_wm"), how.own["mixmatch"]
    objective = rsl_wm.WeightedMixMatch(task, "rsl_wm", chosen, mix, None, own, lambda ledger: chosen)
    partners = torch.cat([objective.plan(epoch)[0].tables["partner"][:, 0] for epoch in (0, 1)])
    assert len({tuple(row) for row in partners.tolist()}) == 6
