"""The switches of torch that belong to the whole process are found as they were."""

import numpy as np
import pytest
import torch
from torch.backends import cudnn

import smallloss as sl
from smallloss.engine import device as backend
from smallloss.integrations.scikit_learn import RSLClassifier

CUDA = torch.device("cuda")


def switches() -> tuple[bool, ...]:
    algorithms = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    return (cudnn.benchmark, cudnn.deterministic, *algorithms, cudnn.allow_tf32)


@pytest.fixture(autouse=True)
def as_they_were():
    with backend.put_back():
        yield


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_gpu_stage_sets_them_and_a_run_puts_them_back(deterministic, exact, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    before = switches()
    with backend.put_back():
        backend.prepare(CUDA, deterministic=deterministic, exact=exact)
        assert switches() == (not deterministic, deterministic, deterministic, True, not exact)
    assert switches() == before


def test_also_after_an_error_and_what_somebody_else_had_set():
    cudnn.benchmark, cudnn.deterministic = True, True
    torch.use_deterministic_algorithms(True)
    with pytest.raises(KeyError), backend.put_back():
        backend.prepare(CUDA, deterministic=False)
        raise KeyError
    assert switches() == (True, True, True, False, True)


def test_a_cpu_needs_none():
    before = switches()
    backend.prepare(torch.device("cpu"), deterministic=True)
    assert switches() == before


def test_every_way_into_a_run_puts_them_back(monkeypatch):
    """As on a GPU, whose switches may be set here all the same."""
    prepare = backend.prepare
    seen = []

    def as_on_a_gpu(device, **how):
        prepare(CUDA, **how)
        seen.append(switches())

    monkeypatch.setattr(backend, "prepare", as_on_a_gpu)
    x = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    y = np.arange(60) % 2
    before = switches()
    sl.clean((x, y), noise_rate=0.1, epochs=1)
    assert switches() == before
    RSLClassifier(noise_rate=0.1, epochs=1).fit(x, y)
    assert switches() == before
    assert set(seen) == {(True, False, False, True, True)}
