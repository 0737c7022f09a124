"""What a user's own network has and ours have not: dropout, buffers of its own; and how it is handed back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import smallloss as sl
from small import StopAfter, StoppedError, everything
from smallloss.criterion.ledger import LossLedger
from smallloss.engine import scoring, views
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage, fit
from smallloss.methods.supervised import Supervised

RECIPE = Recipe(epochs=3, batch=32, lr=0.05, schedule="constant", ema=0.9, ema_batchnorm="recompute", pad=1,
                crop_offsets=3)  # fmt: skip


class Own(nn.Module):
    """A running mean of its own, and dropout."""

    def __init__(self, *, persistent: bool = True) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.layers = nn.Sequential(nn.Linear(192, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
        self.register_buffer("mean", torch.zeros(192), persistent=persistent)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        if self.training:
            self.mean.lerp_(x.detach().mean(0) + 5, 0.1)
        return self.layers(x - self.mean)


def stage(task: Any, recipe: Recipe = RECIPE, *, persistent: bool = True) -> Stage:
    objective = Supervised(task, "stage1", task.train, recipe, Own(persistent=persistent))
    return Stage(task, objective, ledger=LossLedger(96))


@pytest.mark.parametrize("path", ["resident", "streaming"])
def test_dropout_is_decided_by_the_seed_and_leaves_torchs_generator_alone(path, make_task):
    runs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        generator = torch.random.get_rng_state()
        one = stage(make_task(path=path))
        one.fit()
        assert torch.equal(torch.random.get_rng_state(), generator)
        runs.append(one)
    assert everything(runs[0]) == everything(runs[1])
    other = stage(make_task(path=path, seed=1))
    other.fit()
    assert everything(other) != everything(runs[0])


def test_dropout_differs_from_epoch_to_epoch(make_task):
    drawn = []

    class Watched(Supervised):
        def loss(self, *args: Any) -> Tensor:
            drawn.append(tuple(torch.rand(3).tolist()))
            return super().loss(*args)

    task = make_task()
    Stage(task, Watched(task, "stage1", task.train, RECIPE, Own())).fit()
    assert len(set(drawn)) == len(drawn) == 9


@pytest.mark.parametrize("persistent", [True, False])
def test_a_stopped_run_with_dropout_ends_byte_equal(persistent, make_task, tmp_path):
    """Also where a buffer that changes as it learns is no part of its state_dict."""
    whole = stage(make_task(folder=tmp_path / "whole"), persistent=persistent)
    whole.fit()
    with pytest.raises(StoppedError):
        stage(make_task(folder=tmp_path / "cut", progress=StopAfter(2)), persistent=persistent).fit()
    torch.manual_seed(7)
    resumed = stage(make_task(folder=tmp_path / "cut"), persistent=persistent)
    resumed.fit()
    assert everything(whole) == everything(resumed)
    assert "network0.mean" in everything(whole)


@pytest.mark.parametrize("how", ["copy", "recompute"])
def test_the_judged_network_has_the_buffers_of_the_trained_one(how, make_task):
    fitted = stage(make_task(), replace(RECIPE, ema_batchnorm=how))
    fitted.fit()
    live = fitted.networks[0].module.mean
    assert live.mean() > 2
    assert torch.equal(fitted.network.module.mean, live)


def test_networks_are_handed_back_as_they_predict(make_task, tmp_path):
    """Also where a finished stage is only read."""
    for _ in range(2):
        fitted = stage(make_task(folder=tmp_path))
        fitted.fit()
        modules = [fitted.network.module, fitted.networks[0].module]
        assert not any(part.training for module in modules for part in module.modules())


def test_the_network_of_a_run_says_what_predict_says(tiny):
    """train mode would give other logits at every call, and move the statistics of BatchNorm."""
    run = sl.clean(tiny, noise_rate=0.2, epochs=1, device="cpu", method="cross_entropy")
    before = {name: value.clone() for name, value in run.network.state_dict().items()}
    x = torch.from_numpy((tiny.inputs / 255 - tiny.mean) / tiny.std).float().permute(0, 3, 1, 2)
    logits = run.network(x).detach().numpy()
    assert np.array_equal(np.array(tiny.classes)[logits.argmax(1)], run.predict(tiny.inputs))
    assert all(torch.equal(value, before[name]) for name, value in run.network.state_dict().items())


def test_workers_read_whatever_is_read(make_task, monkeypatch):
    """Steps, fresh statistics, scores and accuracies, and the predictions at the end."""
    asked = []
    loader = views.DataLoader

    def watched(*args: Any, num_workers: int, **options: Any) -> Any:
        asked.append(num_workers)
        return loader(*args, **options)  # no process is needed to see that one was asked for

    monkeypatch.setattr(views, "DataLoader", watched)
    task = make_task(path="streaming", workers=1)
    norm = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(192), nn.Linear(192, 3))
    recipe = replace(RECIPE, epochs=1)
    fitted = fit(task, Supervised(task, "stage1", task.train, recipe, norm), ledger=LossLedger(96))
    scoring.outputs(task, fitted.network, task.dataset, np.arange(96))
    assert asked == [1] * 6  # two plans of steps, statistics, scores, one check, the end


class Counting(nn.Linear):
    """Saves more than tensors."""

    def get_extra_state(self) -> dict[str, int]:
        return {"seen": 3}

    def set_extra_state(self, state: dict[str, int]) -> None:
        pass


def test_what_a_module_saves_beside_tensors_is_its_own_affair(tiny, tmp_path):
    net = nn.Sequential(nn.Flatten(), Counting(192, 3))
    run = sl.clean((tiny.inputs, tiny.labels), tmp_path / "run", net=net, noise_rate=0.2, epochs=2, progress=False)
    assert run.predict(tiny.inputs[:5]).shape == (5,)
