"""What is held beside a suspicion."""

from dataclasses import replace

import numpy as np

from made import part_of, run_of
from smallloss.data.dataset import Dataset
from smallloss.noise.model import NoiseModel
from smallloss.record.run import Run
from smallloss.report.evidence import evidence

CAT, DOG = 0, 1


def on_a_line() -> Run:
    """Cats near 0, dogs near 10, one feature each; the last of the cats lies among the dogs, as it is seen."""
    labels = np.array([CAT] * 5 + [DOG] * 5)
    place = np.array([0, 1, 2, 3, 10.5, 10, 11, 12, 13, 0.25], np.float32)
    loss = np.array([0, 1, 2, 3, 9, 0, 1, 2, 3, 9.0])
    data = Dataset(np.arange(80, dtype=np.float32).reshape(10, 8), labels, ("cat", "dog"))
    run = run_of(data, [part_of(data, "train", range(10), loss, 0.2, beta=0)], np.where(place > 5, DOG, CAT), loss)
    run.features = place[:, None].astype(np.float16)
    return run


def test_the_nearest_kept_of_both_classes() -> None:
    found = evidence(on_a_line(), np.array([4, 9]))
    assert found["given"] == [[3, 2, 1], [5, 6, 7]]
    assert found["seen"] == [[5, 6, 7], [0, 1, 2]]
    assert found["given_far"] == [7500, 9750]
    assert found["seen_far"] == [500, 250]
    assert found["percentile"] == [80, 80]
    assert "twins" not in found


def test_one_that_is_kept_is_not_held_against_itself_and_nothing_is_held_against_no_class() -> None:
    run = on_a_line()
    run.examples = replace(run.examples, predicted=np.full(10, -1))
    found = evidence(run, np.array([0]))
    assert found["given"] == [[1, 2, 3]]
    assert (found["seen"], found["seen_far"]) == ([[]], [None])


def test_probabilities_of_networks_that_did_not_learn_it() -> None:
    run = on_a_line()
    several = np.full((2, 10, 2), np.nan, np.float32)
    several[0, 4], several[1, 9] = (0.1, 0.9), (0.7, 0.3)
    several[:, 0] = (0.5, 0.5), (0.7, 0.3)
    run.noise = NoiseModel(probabilities=several)
    found = evidence(run, np.array([4, 9, 1, 0]))
    assert found["given_probability"] == [10, 30, None, 60]
    assert found["seen_probability"] == [90, 70, None, 60]


def test_the_same_under_another_label(result: Run) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (10, 12, 12, 3), np.uint8)
    pictures[8] = pictures[3] = pictures[0]
    data = replace(result.dataset, inputs=pictures, normalisation=None)
    found = evidence(replace(result, dataset=data), np.array([3, 8, 5]))
    assert found["twins"] == [[8], [0, 3], []]
    assert "given" not in found
