"""What is too small, too high or too few is a sentence with what to type; torch's switches are found as they were."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.backends import cudnn

import smallloss as sl
from small import settings
from smallloss.criterion.ledger import LossLedger
from smallloss.data.new_examples import Seen
from smallloss.engine import device, scoring
from smallloss.engine import stage as stages
from smallloss.engine import task as tasks
from smallloss.engine.classifier import Classifier
from smallloss.engine.device import StepLimits, room
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.engine.stepper import Stepper
from smallloss.errors import InputError
from smallloss.integrations.scikit_learn import RSLClassifier
from smallloss.methods.co_teaching import CoTeaching
from smallloss.methods.cross import Fold
from smallloss.methods.supervised import Supervised

RECIPE = Recipe(epochs=2, batch=32, lr=0.1, schedule="constant", pad=1, crop_offsets=3)
STREAM = r'Keep the data off it with --path streaming \(Python: path="streaming"\), or choose a smaller net\.'


def full(*_: Any, **__: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")


def full_in_a_capture(*_: Any, **__: Any) -> Any:
    """The end of a capture that failed raises an error of its own, over the one that was the reason."""
    try:
        full()
    finally:
        raise RuntimeError("operation failed due to a previous error during capture")


def stage(task: Any, net: Any, recipe: Recipe = RECIPE, name: str = "stage1") -> Stage:
    return Stage(task, Supervised(task, name, task.train, recipe, net, recipe_name=name), ledger=LossLedger(96))


def full_in_other_words(*_: Any, **__: Any) -> Any:
    raise torch.OutOfMemoryError("no words for it")


@pytest.mark.parametrize("failure", [full, full_in_a_capture, full_in_other_words])
def test_a_step_that_does_not_fit_names_a_smaller_batch(failure, make_task, make_net, monkeypatch, tmp_path):
    monkeypatch.setattr(Stepper, "_step", failure)
    words = (
        r"out of memory in a step of stage 1 \(all labels\)\. Lower batch \(it is 32\): --set stage1\.batch=16 "
        r'\(Python: settings=\{"stage1\.batch": 16\}\)\.'
    )
    with pytest.raises(InputError, match=words + "$"):
        stage(make_task(), make_net()).fit()
    with pytest.raises(InputError, match=words + " The same command with that resumes from what is finished"):
        stage(make_task(folder=tmp_path), make_net()).fit()
    with pytest.raises(InputError, match=r"batch \(it is 1000\): --set rsl\.batch=40 "):  # of 80 examples
        stage(make_task(), make_net(), replace(RECIPE, batch=1000), "rsl").fit()
    with pytest.raises(InputError, match=r"a step of stage 1 \(all labels\)\. Choose a smaller net"):
        stage(make_task(), make_net(), replace(RECIPE, batch=1)).fit()


@pytest.mark.parametrize("path, words", [("resident", STREAM), ("streaming", r"Choose a smaller net\.")])
def test_data_and_scoring_that_do_not_fit_name_what_helps(path, words, make_task, make_net, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "Inputs", full)
        with pytest.raises(InputError, match=rf"holding the data and the network of stage 1 \(all labels\)\. {words}"):
            stage(make_task(path=path), make_net())
    for scored_by in ("score", "predict", "recompute_batchnorm"):
        with monkeypatch.context() as patch:
            patch.setattr(stages, scored_by, full)
            recipe = replace(RECIPE, ema=0.9, ema_batchnorm="recompute")
            with pytest.raises(InputError, match=rf"out of memory while stage 1 \(all labels\) was scored\. {words}"):
                stage(make_task(path=path), make_net(), recipe).fit()


def test_predictions_that_do_not_fit_are_sentences(make_task, make_net, monkeypatch):
    task = make_task()
    network = stage(task, make_net()).network
    monkeypatch.setattr(scoring, "_logits", full)
    with pytest.raises(InputError, match=f"predicting with the final network. {STREAM}"):
        scoring.outputs(task, network, task.dataset, np.arange(3))
    with pytest.raises(InputError, match=r"predicting 5 new examples\. Give fewer of them at a time\."):
        Classifier(network, Seen.of(task.dataset), "net").predict_proba(task.dataset.inputs[:5])


def test_any_other_failure_stays_what_it_is():
    with pytest.raises(RuntimeError, match="mine"), room("here", "Do something."):
        raise RuntimeError("mine")
    with pytest.raises(InputError, match=r"out of memory here\. Do something\."), room("here", "Do something."):
        full_in_a_capture()
    for words in ("CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"):
        with pytest.raises(InputError, match=r"out of memory here\."), room("here", "Do something."):
            raise RuntimeError(words)


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda task: Supervised(task, "stage1", task.train, RECIPE, None), "stage1"),
        (lambda task: Supervised(task, "rsl", task.train, RECIPE, None, recipe_name="rsl"), "rsl"),
        (lambda task: Fold(task, "half1", task.train, task.held_out, RECIPE, None), "stage1"),
        (lambda task: CoTeaching(task, "co_teaching", task.train, settings(), 0.1), "stage1"),
    ],
)
def test_every_objective_knows_the_name_of_its_settings(make, name, make_task):
    assert make(make_task()).recipe_name == name


@pytest.mark.parametrize(
    "name, group, saved, words",
    [
        ("stage1", "stage1", [], "that resumes from what is finished"),
        ("rsl_wm", "rsl_wm", ["stage1", "half0"], "that resumes from what is finished"),
        ("rsl_wm", "rsl_wm", ["stage1", "rsl_wm"], "that says what to delete to resume, or needs another --out"),
        ("half0", "stage1", ["stage1"], "that says what to delete to resume"),
        ("incv", "incv", ["stage1", "incv_0_0"], "that says what to delete to resume"),
    ],
)
def test_what_a_changed_setting_leads_to_is_told_as_the_run_folder_has_it(name, group, saved, words, tmp_path):
    """It takes a new setting until a stage that is trained by it has saved something."""
    (tmp_path / "checkpoint").mkdir()
    for stage in saved:
        (tmp_path / f"checkpoint/{stage}.safetensors").touch()
    with pytest.raises(InputError, match=words):
        StepLimits(name, group, RECIPE, tmp_path).require_finite("loss", float("inf"), 3)


def test_batchnorm_of_one_example_is_a_sentence(make_task):
    flat = nn.Sequential(nn.Flatten(), nn.Linear(192, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    words = r"statistics of one example in stage 1 \(all labels\)\. Raise batch \(it is 1\): --set stage1\.batch=2 "
    with pytest.raises(InputError, match=words):
        stage(make_task(), flat, replace(RECIPE, batch=1)).fit()
    plain = nn.Sequential(nn.Flatten(), nn.Linear(192, 3))
    assert stage(make_task(), plain, replace(RECIPE, batch=1, lr=0.001)).fit().last["steps"] == 80


def test_a_step_that_ruins_the_weights_is_seen_though_its_loss_was_fine(make_task, make_net, tmp_path):
    """The loss is taken before the step: the last one of an epoch would be saved, and the model would be worthless."""
    ruinous = replace(RECIPE, lr=1e38, batch=80, epochs=1)
    with pytest.raises(
        InputError, match=r"The size of the weights turned (nan|inf) in epoch 1 of stage 1 \(all labels\)"
    ):
        stage(make_task(folder=tmp_path), make_net(), ruinous).fit()
    assert not (tmp_path / "checkpoint").exists()


# --- the switches of torch that belong to the whole process --------------------------------------------------

CUDA = torch.device("cuda")


def switches() -> tuple[bool, ...]:
    algorithms = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    return (cudnn.benchmark, cudnn.deterministic, *algorithms, cudnn.allow_tf32)


@pytest.fixture(autouse=True)
def as_they_were():
    with device.put_back():
        yield


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_gpu_stage_sets_them_and_a_run_puts_them_back(deterministic, exact, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    before = switches()
    with device.put_back():
        device.prepare(CUDA, deterministic=deterministic, exact=exact)
        assert switches() == (not deterministic, deterministic, deterministic, True, not exact)
    assert switches() == before


def test_also_after_an_error_and_what_somebody_else_had_set():
    cudnn.benchmark, cudnn.deterministic = True, True
    torch.use_deterministic_algorithms(True)
    with pytest.raises(KeyError), device.put_back():
        device.prepare(CUDA, deterministic=False)
        raise KeyError
    assert switches() == (True, True, True, False, True)


def test_a_cpu_needs_none():
    before = switches()
    device.prepare(torch.device("cpu"), deterministic=True)
    assert switches() == before


def test_every_way_into_a_run_puts_them_back(monkeypatch):
    """As on a GPU, whose switches may be set here all the same."""
    prepare = device.prepare
    seen = []

    def as_on_a_gpu(_, **how):
        prepare(CUDA, **how)
        seen.append(switches())

    monkeypatch.setattr(device, "prepare", as_on_a_gpu)
    x = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    y = np.arange(60) % 2
    before = switches()
    sl.clean((x, y), noise_rate=0.1, epochs=1)
    assert switches() == before
    RSLClassifier(noise_rate=0.1, epochs=1).fit(x, y)
    assert switches() == before
    assert set(seen) == {(True, False, False, True, True)}
