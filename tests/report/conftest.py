from dataclasses import replace

import numpy as np
import pytest

from made import part_of, run_of
from smallloss.data.dataset import Dataset
from smallloss.noise.estimate import estimate
from smallloss.noise.verdict import check, judge
from smallloss.record.run import Accuracy, Run


@pytest.fixture
def result() -> Run:
    """Ten examples, by hand: six trained on (given out of order), two held out, two in neither part.

    Trained on, by rank: cat 1, 0, 3 and dog 5, 7, 8; of each class the last one is likely wrong.
    The labels of 3 (truly a dog) and 5 (truly a cat) are wrong.
    """
    CAT, DOG = 0, 1
    labels = np.array([CAT, CAT, DOG, CAT, CAT, DOG, CAT, DOG, DOG, DOG])
    truth = labels.copy()
    truth[[3, 5]] = [DOG, CAT]
    loss = np.array([0.5, 0.1, 0.7, 2.0, 0.6, 0.2, np.nan, 0.3, 3.0, np.nan])
    pixels = np.arange(10 * 4 * 4 * 3, dtype=np.uint8).reshape(10, 4, 4, 3)
    data = Dataset(pixels, labels, ("cat", "dog"), name="pets", ids=[f"{k}.png" for k in range(10)], true_labels=truth)
    parts = [
        part_of(data, "train", [8, 1, 0, 3, 7, 5], loss, 1 / 3, beta=0),
        part_of(data, "held out", [4, 2], loss, 0.0, beta=0),
    ]
    right = np.arange(40) < 20
    accuracies = [
        Accuracy("cross_entropy", 0.55, 0.5, 1.5, right, "preact-resnet-18", called="Cross Entropy"),
        Accuracy("rsl", 0.5, 0.5, 2.0, right[::-1], "resnet-9", called="RSL"),
        Accuracy("rsl_wm", 0.9, 0.9, 1234.6, np.arange(40) < 36, "resnet-9", called="RSL_WM"),
    ]
    history = [
        {"stage": stage, "epoch": epoch, "loss": 1.0, "seconds": 0.123456, **test}
        for stage in ("stage1", "rsl_wm")
        for epoch, test in enumerate(({}, {"test": 0.5}, {"test": 0.9}))
    ]
    return run_of(
        data,
        parts,
        [0, 0, 1, 1, 0, 1, -1, 1, 0, -1],
        loss,
        evidence="mean_loss over stage 1",
        verdict=check([[0.7, 0.3], [0.3, 0.7]], data.classes),
        accuracies=accuracies,
        accuracy_on="40 test examples",
        history=history,
        settings={"method": "rsl", "settings": {"preset": "cpu", "stage1": {"epochs": 3, "lr": 0.1}}},
        notes=["Drawn by hand."],
    )


@pytest.fixture(scope="session")
def estimated() -> Run:
    """One in five of 40,000 labels is wrong; the rates come from what a good network says."""
    rng = np.random.default_rng(0)
    truth = np.arange(40_000) % 2
    labels = np.where(rng.random(len(truth)) < 0.2, 1 - truth, truth)
    g = np.where(truth == 1, 0.95, 0.05) + rng.uniform(-0.04, 0.04, len(truth))
    found = estimate(np.column_stack([1 - g, g]), labels, classes=[0, 1])
    names = ("a rather long name of a class", "dog")
    data = Dataset(np.zeros((len(truth), 1), np.float32), labels, names, true_labels=truth)
    run = run_of(data, [part_of(data, "train", np.arange(len(truth)), 1 - g, found.noise_rate)], truth, 1 - g)
    return replace(run, noise=found, verdict=judge(run.examples.labelled("train"), found))
