"""A tiny noisy picture task that every stage and method can be trained on in well under a second."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers with two threads each are several times slower

import numpy as np
import pytest

N, TRAIN, CLASSES = 96, 80, 3


def tiny_pictures(seed: int = 0, *, channels: int = 3, flip: bool = True) -> Any:
    """96 pictures of 8 x 8 whose classes differ in brightness, every fifth label wrong."""
    from smallloss.data.dataset import Dataset

    rng = np.random.default_rng(seed)
    truth = np.arange(N, dtype=np.int64) % CLASSES
    light = 60 + 60 * truth[:, None, None, None] + rng.normal(0, 40, (N, 8, 8, channels))
    labels = np.where(np.arange(N) % 5 == 0, (truth + 1) % CLASSES, truth)
    pictures = np.clip(light, 0, 255).astype(np.uint8)
    return Dataset(pictures, labels, ("a", "b", "c"), name="tiny", true_labels=truth, flip=flip)


@pytest.fixture
def tiny() -> Any:
    return tiny_pictures()


@pytest.fixture
def make_task() -> Callable[..., Any]:
    """`make_task(folder=path)`: the first 80 pictures train, the other 16 are held out."""

    def make(*, dataset: Any = None, folder: Path | None = None, **options: Any) -> Any:
        from smallloss.engine.task import Check, Task
        from smallloss.record.folder import RunFolder

        dataset = tiny_pictures() if dataset is None else dataset
        train, held_out = np.arange(TRAIN), np.arange(TRAIN, len(dataset))
        checks = {"validation": Check(dataset, held_out, dataset.labels[held_out])}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            options["folder"] = RunFolder(folder, {})
        return Task(dataset, train, checks, **options)

    return make


@pytest.fixture
def make_net() -> Callable[..., Any]:
    """The same small net every time it is asked for."""

    def make(width: int = 4, seed: int = 0) -> Any:
        import torch

        from smallloss.models.small import SmallConvNet

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return SmallConvNet(CLASSES, (3, 8, 8), width)

    return make
