"""A step of RSL_WM under the preset `paper` beside the authors' own, written out in plain torch."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from smallloss.engine.stage import Stage
from smallloss.methods.mixmatch import WeightedMixMatch, interleaved
from smallloss.methods.settings import get_preset

PAPER = get_preset("paper")
# As large as shows: at the authors' .002, .02 and .999 the place of the decay is beyond float32 in six steps.
LR, DECAY, EMA = 0.05, 4.0, 0.9
RECIPE = replace(PAPER.recipe("rsl_wm"), epochs=2, batch=8, pad=1, crop_offsets=2, lr=LR, weight_decay=DECAY, ema=EMA)
HOW = replace(PAPER.own["mixmatch"], steps_per_epoch=3)


def authors_step(net: nn.Module, average: nn.Module, adam: Any, x: Tensor, y: Tensor, u1: Tensor, u2: Tensor,
                 lam: Tensor, partner: Tensor, lambda_u: Tensor) -> None:  # fmt: skip
    """Every view and every batch by a pass of its own; the average takes the weights, and then they decay."""
    with torch.no_grad():
        p = (net(u1).softmax(1) + net(u2).softmax(1)) / 2
        q = p**2 / (p**2).sum(1, keepdim=True)
    seen, targets = torch.cat([x, u1, u2]), torch.cat([one_hot(y, 3).float(), q, q])
    inputs = lam[:, None, None, None] * seen + (1 - lam[:, None, None, None]) * seen[partner]
    t = lam[:, None] * targets + (1 - lam[:, None]) * targets[partner]
    a, b, c = inputs.split(8)  # of 8 the shares are 2, 3 and 3
    first = net(torch.cat([a[:2], b[2:5], c[5:]]))
    second = net(torch.cat([b[:2], a[2:5], b[5:]]))
    third = net(torch.cat([c[:2], c[2:5], a[5:]]))
    z_x = torch.cat([first[:2], second[2:5], third[5:]])
    z_u = torch.cat([second[:2], first[2:5], second[5:], third[:2], third[2:5], first[5:]])
    L_x = -(t[:8] * z_x.log_softmax(1)).sum(1).mean()
    L_u = ((z_u.softmax(1) - t[8:]) ** 2).mean()
    adam.zero_grad()
    (L_x + lambda_u * L_u).backward()
    adam.step()
    with torch.no_grad():
        for averaged, live in zip(average.parameters(), net.parameters(), strict=True):
            averaged.mul_(EMA).add_((1 - EMA) * live)
            live.mul_(1 - DECAY * LR)


def test_the_steps_of_the_paper_preset_are_the_authors(make_task, make_net):
    task, weight = make_task(), np.where(np.arange(80) < 50, 1.0, 0.0)
    objective: Any = WeightedMixMatch(task, "rsl_wm", weight, RECIPE, make_net(), HOW)
    stage = Stage(task, objective)
    net, average = copy.deepcopy(stage.networks[0].module), copy.deepcopy(stage.averages[0].network.module)
    adam = torch.optim.Adam(net.parameters(), lr=LR)
    net.train()
    for epoch in range(2):
        (plan,) = objective.plan(epoch)
        for step in range(3):
            rows = [plan.views[name].map(lambda table, at=step: table[at]) for name in ("labeled", "view_1", "view_2")]
            x, u1, u2 = (stage.inputs.see(row) for row in rows)
            lam, partner, lambda_u = (plan.tables[name][step] for name in ("lam", "partner", "lambda_u"))
            assert float(lambda_u) == pytest.approx(75 * (3 * epoch + step) / 6)  # it rises over the whole run
            y = task.labels[rows[0].index]
            authors_step(net, average, adam, x, y, u1, u2, lam[0], partner[0], lambda_u)

    stage.fit()
    for ours, theirs in ((stage.networks[0].module, net), (stage.averages[0].network.module, average)):
        for name, weight in theirs.named_parameters():
            torch.testing.assert_close(dict(ours.named_parameters())[name], weight, rtol=1e-4, atol=1e-6)
    for (name, ours), theirs in zip(stage.networks[0].module.named_buffers(), net.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6, msg=name)
    assert int(dict(net.named_buffers())[name]) == 2 * 3 * 5  # passes that BatchNorm took statistics in


@pytest.mark.parametrize("size", [64, 65, 66, 8, 2])
def test_interleaving_twice_changes_nothing(size):
    batches = torch.arange(3.0 * size).view(3, size)
    once = interleaved(batches)
    assert [len(batch) for batch in once] == [size] * 3
    assert {int(one) // size for one in once[0]} == ({0, 1, 2} if size > 2 else {1, 2})
    assert torch.equal(torch.stack(interleaved(once)), batches)
