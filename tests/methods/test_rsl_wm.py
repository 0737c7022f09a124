"""RSL_WM without unlabeled data, without a second look, and with several networks."""

from typing import Any

import numpy as np
import pytest
import torch

from small import settings
from smallloss.engine import stage, views
from smallloss.errors import InputError
from smallloss.methods import mixmatch, rsl_wm
from smallloss.methods.rsl_wm import _told, train
from smallloss.methods.small_loss import choose
from smallloss.models.ensemble import Ensemble
from smallloss.noise.model import NoiseModel
from smallloss.run.pipeline import accuracy_of, parts_of

NOISE = NoiseModel(noise_rate=0.2)


@pytest.mark.parametrize("rounds", [1, 2])
def test_rsl_wm_tells_when_it_had_no_unlabeled_data(rounds, make_task):
    how = settings(**{"mixmatch.rounds": rounds, "mixmatch.second_beta": 0.0})
    told = {}
    for rate in (0.0, 0.2):
        notes = train(make_task(), how, NoiseModel(noise_rate=rate)).selection.notes
        told[rate] = [note for note in notes if "no unlabelled data" in note]
    assert told[0.2] == []
    (note,) = told[0.0]
    assert note.startswith("Every training example was learnt with a label: RSL_WM")


def test_rsl_wm_tells_on_which_side_of_the_second_look(make_task):
    chosen = choose(make_task(), settings(), NOISE, np.arange(96.0))
    all_of_them, some = np.ones(80), np.r_[0.0, np.ones(79)]
    assert "with a label before its second look:" in _told(chosen, all_of_them, some).notes[-1]
    assert "with a label after its second look:" in _told(chosen, some, all_of_them).notes[-1]
    assert _told(chosen, some, some) is chosen


def test_statistics_are_taken_only_for_epochs_that_are_looked_at(make_task, monkeypatch):
    """Without a second look nobody scores an epoch of RSL_WM: only accuracies are taken."""
    asked = []
    monkeypatch.setattr(stage, "recompute_batchnorm", lambda network, batches: asked.append(network))
    changes = {"rsl_wm.ema_batchnorm": "recompute", "rsl_wm.evaluate_every": 5}
    train(make_task(), settings(**changes), NOISE)
    assert len(asked) == 1


def test_rsl_wm_without_a_second_look_keeps_the_selection_of_stage_1(make_task):
    task, how = make_task(), settings()
    learned = train(task, how, NOISE)
    expected = choose(task, how, NOISE, learned.stages["stage1"].ledger.score())
    assert np.array_equal(learned.selection.weight, expected.weight)
    assert learned.ledger is learned.stages["stage1"].ledger
    assert "learning from all labels" in learned.evidence


def test_the_second_look_changes_the_weights_at_the_stated_epoch(make_task, monkeypatch):
    weights = []
    original = mixmatch.WeightedMixMatch.plan

    def spy(self: Any, epoch: int) -> Any:
        weights.append(self.weight.numpy().copy())
        return original(self, epoch)

    monkeypatch.setattr(mixmatch.WeightedMixMatch, "plan", spy)
    how = settings(**{"mixmatch.rounds": 2, "mixmatch.look_at": 0.6, "mixmatch.second_beta": 0.0})
    task = make_task()
    learned = train(task, how, NOISE)
    assert how.own["mixmatch"].look_epoch(5) == 2
    first, later = weights[:3], weights[3:]
    assert all(np.array_equal(one, first[0]) for one in first)
    assert all(np.array_equal(one, later[0]) for one in later)
    assert (later[0] > 0).sum() > (first[0] > 0).sum()  # beta 0 keeps more than beta .2
    rows = learned.fitted.history
    assert ["selected" in row for row in rows] == [False, False, True, False, False]
    assert rows[2]["selected"] == (later[0] > 0).sum()


def test_two_networks_judge_together(make_task):
    """The ensemble has their averages' very weights, its probabilities are the mean of theirs, and it is named."""
    task = make_task()
    learned = train(task, settings(**{"mixmatch.networks": 2, "mixmatch.rounds": 2}), NOISE)
    together = learned.fitted.network
    assert isinstance(together.module, Ensemble)
    assert not any(part.training for part in together.module.modules())
    first, second = together.module.members
    assert not torch.equal(next(first.parameters()), next(second.parameters()))
    x = torch.randn(5, 3, 8, 8)
    with torch.no_grad():
        mean = (first(x).softmax(1) + second(x).softmax(1)) / 2
        torch.testing.assert_close(together(x).softmax(1), mean)
    assert np.isfinite(learned.score).all()
    assert accuracy_of(task, "rsl_wm", learned).net == "2 x small-convnet"


def test_one_module_cannot_become_two_networks():
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3))
    rsl_wm.refuse(settings(net=module))
    with pytest.raises(InputError, match=r"mixmatch.networks=2 needs networks that differ: give net a function"):
        rsl_wm.refuse(settings(**{"net": module, "mixmatch.networks": 2}))


def test_an_average_that_is_not_kept_cannot_guess():
    with pytest.raises(InputError, match=r"guess_by is average, but rsl_wm.ema is none"):
        rsl_wm.refuse(settings(**{"rsl_wm.ema": None}))
    rsl_wm.refuse(settings())


def test_after_a_second_look_stage_2_is_the_evidence(make_task):
    """Of the training part and of what is held out, by the beta of that look. It comes after all 5 epochs: those from
    the second half of the way there, 2, 3 and 4, are scored."""
    look = {"mixmatch.rounds": 2, "mixmatch.second_beta": 0.05, "mixmatch.look_at": 1.0}
    task, how = make_task(), settings(**look)
    learned = train(task, how, NOISE)
    assert learned.ledger.count.tolist() == [3] * 96
    assert learned.ledger.curves.start == 2
    assert learned.ledger is learned.fitted.ledger is not learned.stages["stage1"].ledger
    assert "second look" in learned.evidence
    expected = choose(task, how, NOISE, learned.ledger.score(), beta=0.05)
    assert np.array_equal(learned.selection.mask, expected.mask)
    trained, held_out = parts_of(task, how, NOISE, learned)
    assert np.array_equal(held_out.index, task.held_out)
    np.testing.assert_allclose(held_out.selection.quota.proportion, trained.selection.quota.proportion)
    for part in (trained, held_out):
        assert np.array_equal(part.selection.score, learned.ledger.mean_loss[part.index])


def test_a_loader_reads_the_two_views_of_an_example_once(make_task, monkeypatch):
    asked = []
    load = views.Inputs.load
    monkeypatch.setattr(
        views.Inputs, "load", lambda self, rows: (asked.append([len(one) for one in rows]), load(self, rows))[1]
    )
    streamed = train(make_task(path="streaming"), settings(), NOISE)
    assert [16, 16, 16] in asked  # of batches of 8: the labelled, and the unlabelled that are seen twice
    resident = train(make_task(), settings(), NOISE)
    for one, other in zip(
        streamed.fitted.network.module.parameters(), resident.fitted.network.module.parameters(), strict=True
    ):
        assert torch.equal(one, other)
