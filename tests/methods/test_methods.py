"""The stages of the paper on a task of 96 pictures: what is learnt from what, and how the settings reach it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from small import settings
from smallloss import methods
from smallloss.engine.objective import new_network
from smallloss.errors import InputError
from smallloss.methods.small_loss import choose, try_nets, warm_up
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


def test_rsl_selects_exactly_what_the_criterion_selects_from_the_ledger(make_task):
    task, how = make_task(), settings()
    learned = methods.get("rsl").train(task, how, NOISE)
    expected = select(learned.ledger.mean_loss[task.train], task.dataset.labels[task.train], noise_rate=0.2)
    assert np.array_equal(learned.selection.mask, expected.mask)
    assert np.array_equal(learned.selection.weight, expected.weight)
    assert np.array_equal(learned.score, learned.ledger.mean_loss)
    assert 0 < expected.mask.sum() < 80


def test_the_ledger_covers_the_window_of_epochs_and_all_examples(make_task):
    fitted = warm_up(make_task(), settings(window="0.34,1"))
    assert fitted.ledger.count.tolist() == [2] * 96  # epochs 1 and 2 of 3
    plain = warm_up(make_task(), settings(window="0,1"))
    assert plain.ledger.count.tolist() == [3] * 96
    assert np.array_equal(plain.ledger.last_loss, fitted.ledger.last_loss)
    assert not np.array_equal(plain.ledger.mean_loss, fitted.ledger.mean_loss)


def test_cross_entropy_and_rsl_share_stage_1(make_task):
    task, how = make_task(), settings()
    baseline = methods.get("cross_entropy").train(task, how, NOISE)
    learned = methods.get("rsl").train(task, how, NOISE)
    assert learned.stages["stage1"] is baseline.fitted
    assert learned.fitted.network is not baseline.fitted.network


def test_every_stage_starts_from_fresh_weights_that_the_seed_decides(make_task):
    task, how = make_task(), settings()
    weights = [
        torch.cat([p.flatten() for p in new_network(make_task(seed=seed), how.net, purpose).parameters()])
        for seed, purpose in [(0, "stage1"), (0, "stage1"), (0, "rsl"), (1, "stage1")]
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[3])
    state = torch.get_rng_state()
    new_network(task, how.net, "stage1")
    assert torch.equal(torch.get_rng_state(), state)


def test_a_module_of_the_users_own_is_not_shared_between_stages(make_task, make_net):
    """Stage 2 must not train on from stage 1, nor change what stage 1 left behind."""
    task, how = make_task(), replace(settings(), net=make_net())
    learned = methods.get("rsl").train(task, how, NOISE)
    stage1, final = learned.stages["stage1"].network.module, learned.fitted.network.module
    assert stage1 is not final
    assert not torch.equal(stage1.head.weight, final.head.weight)


def test_both_networks_are_tried_before_anything_is_trained(make_task, make_net):
    for wrong in ({"net": torch.nn.Flatten()}, {"final_net": torch.nn.Flatten()}, {"final_net": torch.nn.Flatten}):
        with pytest.raises(InputError, match=r"returns the shape \(1, 192\)"):
            try_nets(make_task(), replace(settings(), **wrong), "rsl")
    net = make_net()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    try_nets(make_task(), replace(settings(), final_net=net), "rsl")
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_the_score_is_one_choice_for_the_whole_run(make_task, monkeypatch):
    from smallloss.criterion.ledger import LossLedger

    asked = []
    original = LossLedger.score

    def spy(self: LossLedger, name: str = "mean_loss", window: Any = None) -> np.ndarray:
        asked.append(name)
        return original(self, name, window)

    monkeypatch.setattr(LossLedger, "score", spy)
    methods.get("rsl_wm").train(make_task(), settings(score="mean_margin", **{"mixmatch.rounds": 2}), NOISE)
    assert len(asked) >= 3  # first selection, second look, final judgement
    assert set(asked) == {"mean_margin"}


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
