"""RSL_WM without unlabeled data, without a second look, and with several networks."""

import numpy as np
import pytest
import torch

from small import settings
from smallloss.engine import stage, views
from smallloss.errors import InputError
from smallloss.methods import rsl_wm
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


def test_two_networks_judge_together(make_task):
    """The ensemble has their averages' very weights, and its probabilities are the mean of theirs."""
    learned = train(make_task(), settings(**{"mixmatch.networks": 2, "mixmatch.rounds": 2}), NOISE)
    together = learned.fitted.network
    assert isinstance(together.module, Ensemble)
    assert not any(part.training for part in together.module.modules())
    first, second = together.module.members
    assert not torch.equal(next(first.parameters()), next(second.parameters()))
    x = torch.randn(5, 3, 8, 8)
    with torch.no_grad():
        mean = (first(x).softmax(1) + second(x).softmax(1)) / 2
        torch.testing.assert_close(together(x).softmax(1), mean)
    assert learned.score is not None
    assert np.isfinite(learned.score).all()


def test_one_module_cannot_become_two_networks():
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3))
    rsl_wm.refuse(settings(net=module))
    with pytest.raises(InputError, match=r"mixmatch.networks=2 needs networks that differ: give net a function"):
        rsl_wm.refuse(settings(**{"net": module, "mixmatch.networks": 2}))


def test_an_average_that_is_not_kept_cannot_guess():
    with pytest.raises(InputError, match=r"guess_by is average, but rsl_wm.ema is none"):
        rsl_wm.refuse(settings(**{"rsl_wm.ema": None}))
    rsl_wm.refuse(settings())


def test_held_out_examples_are_selected_as_the_others_were(make_task):
    """After a second look, whose beta is its own, and by the ranking of stage 2."""
    how = settings(**{"mixmatch.rounds": 2, "mixmatch.second_beta": 0.05, "rsl_wm.scoring": "plain"})
    task = make_task()
    learned = train(task, how, NOISE)
    trained, held_out = parts_of(task, how, NOISE, learned)
    np.testing.assert_allclose(held_out.selection.quota.proportion, trained.selection.quota.proportion)
    np.testing.assert_array_equal(held_out.selection.score, learned.stages["rsl_wm"].ledger.score("mean_loss")[80:])


def test_networks_that_judge_together_are_counted(make_task):
    task = make_task()
    learned = train(task, settings(**{"mixmatch.networks": 2}), NOISE)
    assert accuracy_of(task, "rsl_wm", learned).net == "2 x small-convnet"


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
