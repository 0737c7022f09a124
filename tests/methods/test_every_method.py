"""What holds for every method there is: the paths agree, and a run that was killed ends like one that was not."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import smallloss as sl
from small import StopAfter, StoppedError, settings
from smallloss import methods
from smallloss.errors import InputError
from smallloss.methods.small_loss import Learned
from smallloss.noise.model import NoiseModel

NOISE = NoiseModel(noise_rate=0.2)


def outcome(learned: Learned) -> dict[str, np.ndarray]:
    """The weights that every stage ended with, and what was selected."""
    found = {
        f"{stage.name}.{name}": tensor.detach().numpy()
        for stage in learned.stages.values()
        for name, tensor in stage.network.state().items()
    }
    chosen = {} if learned.selection is None else {"weight": learned.selection.weight, "score": learned.score}
    return found | chosen


def assert_equal(one: Learned, other: Learned) -> None:
    left, right = outcome(one), outcome(other)
    assert left.keys() == right.keys()
    assert [name for name in left if left[name].tobytes() != right[name].tobytes()] == []


@pytest.mark.parametrize("name", methods.names())
def test_it_learns_the_very_same_however_it_is_run_and_other_things_by_another_seed(name, make_task, tmp_path):
    """Streaming, and stopped after every third epoch, within stages and between them."""

    def learned(**how: Any) -> Learned:
        return methods.train(name, make_task(**how), settings(), NOISE)

    whole = learned()
    assert whole.fitted.last["validation"] > 0.5
    planned = {"stage1"} if name == "cross_entropy" else methods.work(name, settings()).keys()
    assert whole.stages.keys() - planned <= {"stage1"} >= planned - whole.stages.keys()  # for the time left
    assert_equal(whole, learned(path="streaming"))
    assert learned(seed=1).fitted.last["loss"] != whole.fitted.last["loss"]
    for _ in range(40):
        try:
            resumed = learned(folder=tmp_path, progress=StopAfter(3))
            break
        except StoppedError:
            continue
    assert_equal(whole, resumed)
    times = {"seconds", "train_seconds", "score_seconds"}
    for one, other in zip(whole.stages.values(), resumed.stages.values(), strict=True):
        curves = [[{k: v for k, v in row.items() if k not in times} for row in stage.history] for stage in (one, other)]
        assert curves[0] == curves[1]


def test_the_list_says_what_each_needs_and_costs():
    ours = {"co_teaching": "Co-teaching", "cross_entropy": "Cross Entropy", "rsl": "RSL", "rsl_wm": "RSL_WM"}
    found = {one.name: one for one in methods.described()}
    assert {name: found[name].called for name in ours} == ours
    assert all(one.says and one.costs for one in found.values())
    assert {one.needs for one in found.values()} == {"noise rate", "matrix", None}
    assert all(a < b for a, b in pairwise(found))


@pytest.mark.parametrize("name", ["aum", "elr", "incv", "mentornet", "plain_mixmatch", "ssr"])
def test_a_run_of_it_is_written_and_read_as_any_other(name, tiny, tmp_path):
    changes = {} if name != "incv" else {"incv.rounds": 1}
    run = sl.clean(
        tiny, tmp_path / "run", method=name, noise_rate=0.2, epochs=2, net="mlp", settings=changes, progress=False
    )
    assert run.learned.method == name
    assert run.predict(tiny.inputs[:5]).shape == (5,)
    assert sl.load_classifier(tmp_path / "run").predict(tiny.inputs).tolist() == run.predict(tiny.inputs).tolist()
    said = json.loads((tmp_path / "run" / "config.json").read_text())["settings"]
    assert said[name].items() >= {"epochs": 2}.items()
    assert (tmp_path / "run" / "checkpoint" / f"{name}.safetensors").is_file()
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert methods.called(name) in page


@pytest.mark.parametrize("name", ["rsl", "co_teaching", "co_teaching_plus", "jocor", "mentornet"])
def test_a_method_that_needs_a_rate_says_so(name, make_task):
    with pytest.raises(InputError, match=r"needs a noise rate: give noise_rate, or a transition matrix"):
        methods.train(name, make_task(), settings(), NoiseModel())


@pytest.mark.parametrize("name", ["co_teaching", "co_teaching_plus", "decoupling", "dividemix", "jocor", "incv"])
def test_two_networks_are_not_made_of_one_module(name, make_task, make_net):
    with pytest.raises(InputError, match=rf"{name} needs two networks that differ: give net a function"):
        methods.train(name, make_task(), settings(net=make_net()), NOISE)


@pytest.mark.parametrize("name", ["mixmatch", "cross", "RSL", "", "os"])
def test_anything_else_is_no_method(name: Any):
    with pytest.raises(InputError, match=f"no method named {name!r}; the known ones are aum, "):
        methods.get(name)
