"""The four methods, on a task of 96 pictures."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from small import settings
from smallloss import methods
from smallloss.engine.objective import new_network
from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError
from smallloss.methods.small_loss import try_nets, warm_up
from smallloss.noise.choose import select
from smallloss.noise.model import NoiseModel

NOISE = NoiseModel(noise_rate=0.2)


# --- Algorithm 1 ---------------------------------------------------------------------------------------------


def test_rsl_selects_exactly_what_the_criterion_selects_from_the_ledger(make_task):
    task, how = make_task(), settings()
    learned = methods.get("rsl").train(task, how, NOISE)
    expected = select(learned.ledger.mean_loss[task.train], task.dataset.labels[task.train], noise_rate=0.2)
    assert np.array_equal(learned.selection.mask, expected.mask)
    assert np.array_equal(learned.selection.weight, expected.weight)
    assert np.array_equal(learned.score, learned.ledger.mean_loss)
    assert 0 < expected.mask.sum() < 80


def test_rsl_learns_from_the_selected_alone(make_task, monkeypatch):
    from smallloss.methods import small_loss

    seen = {}
    fresh = small_loss.Supervised

    def spy(task: Any, name: str, examples: np.ndarray, recipe: Recipe, net: Any, **named: str) -> Any:
        seen[name] = examples
        assert named == ({} if name == "stage1" else {"recipe_name": "rsl"})
        return fresh(task, name, examples, recipe, net, **named)

    monkeypatch.setattr(small_loss, "Supervised", spy)
    task = make_task()
    learned = methods.get("rsl").train(task, settings(), NOISE)
    assert np.array_equal(seen["stage1"], task.train)
    assert np.array_equal(seen["rsl"], task.train[learned.selection.mask])


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
            try_nets(make_task(), replace(settings(), **wrong))
    net = make_net()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    try_nets(make_task(), replace(settings(), final_net=net))
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
