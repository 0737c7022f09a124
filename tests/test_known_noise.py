"""What a run knows of its noise: the rates and the prior it selects by, and which labels it takes for the truth."""

import csv
import struct
from pathlib import Path

import numpy as np
import pytest

import smallloss as sl
from smallloss.criterion.transition import CIFAR10_MAP, from_spec, noise_rate, structured
from smallloss.data.dataset import Dataset
from smallloss.noise.model import NoiseModel
from smallloss.report.page import page
from smallloss.run.known_noise import drawn_noise, given_noise, of_rows


def labelled(c: int, each: int, class_map: tuple[int, ...] | None = None) -> Dataset:
    truth = np.repeat(np.arange(c), each)
    names = tuple(map(str, range(c)))
    return Dataset(np.zeros((c * each, 1), np.float32), truth, names, true_labels=truth, class_map=class_map)


@pytest.mark.parametrize("c, each, spec, most", [(10, 4500, "structured:0.4", 0.02), (100, 450, "pairwise:0.4", 0.08)])
def test_rates_of_drawn_noise_are_close_to_what_was_drawn(c, each, spec, most):
    """A prior by T from noisy counts, instead of the true one, puts some of them off by .041 and .123."""
    dataset, noise, _ = drawn_noise(labelled(c, each, CIFAR10_MAP), spec, NoiseModel(), 0)
    found = of_rows(noise, dataset, np.arange(len(dataset))).of(dataset.labels).noise_rate
    drawn = [(dataset.true_labels[dataset.labels == k] != k).mean() for k in range(c)]
    assert np.abs(found - drawn).max() < most


def test_the_prior_is_that_of_the_rows_learnt_from():
    dataset, noise, _ = drawn_noise(labelled(10, 20, CIFAR10_MAP), "structured:0.4", NoiseModel(), 0)
    rows = np.flatnonzero(dataset.true_labels != 3)[5:]
    expected = np.bincount(dataset.true_labels[rows], minlength=10) / len(rows)
    np.testing.assert_array_equal(of_rows(noise, dataset, rows).prior, expected)


@pytest.mark.parametrize(
    "given",
    [{"prior": "uniform"}, {"transition": structured(0.3, CIFAR10_MAP)}, {"noise_rate": 0.2}],
    ids=lambda given: next(iter(given)),
)
def test_what_the_user_says_stays_as_it_is(given):
    said = given_noise(given.get("noise_rate"), given.get("transition"), given.get("prior"), tuple("0123456789"))
    dataset, noise, _ = drawn_noise(labelled(10, 20, CIFAR10_MAP), "structured:0.4", said, 0)
    noise = of_rows(noise, dataset, np.arange(50))
    assert noise.prior is None if said.prior is None else np.array_equal(noise.prior, said.prior)
    for name, value in given.items():
        assert np.array_equal(noise.as_told()[name], value)


def test_a_run_selects_by_it_and_says_so(tiny, tmp_path):
    run = sl.clean(tiny, tmp_path / "run", noise="pairwise:0.2", epochs=1)
    rows = run.result.parts[0].index
    prior = np.bincount(tiny.true_labels[rows], minlength=3) / len(rows)
    np.testing.assert_allclose(run.selection.quota.prior, prior)
    rates = noise_rate(from_spec("pairwise:0.2", 3), prior)
    np.testing.assert_allclose(run.selection.quota.noise_rate, rates)
    words = "made on purpose (pairwise:0.2), so the rates are known, from its T and the true class counts"
    assert run.result.settings["chosen"]["noise"] == words
    np.testing.assert_allclose(run.result.settings["noise"]["prior"], prior)


def idx_folder(folder: Path, tiny: Dataset) -> str:
    """Labels as they are, and an official test set beside them: a benchmark that nobody corrupted."""
    folder.mkdir()
    for part, rows in (("train", slice(None, 72)), ("t10k", slice(72, None))):
        for stem, array in (("images-idx3", tiny.inputs[rows, :, :, 0]), ("labels-idx1", tiny.labels[rows])):
            head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            (folder / f"{part}-{stem}-ubyte").write_bytes(head + array.astype(np.uint8).tobytes())
    return f"idx:{folder}"


def test_official_labels_are_no_truth_to_be_measured_by(tiny, tmp_path):
    data = idx_folder(tmp_path / "set", tiny)
    run = sl.clean(data, tmp_path / "run", noise_rate=0.2, epochs=1)
    with (tmp_path / "run" / "examples.csv").open(newline="") as file:
        assert "true_label" not in next(csv.reader(file))
    assert "The true labels are known here" not in page(run.result)
    assert run.result.accuracy_on == "the official test set (24 examples)"
    drawn = sl.clean(data, tmp_path / "drawn", noise="uniform:0.2", epochs=1)
    with (tmp_path / "drawn" / "examples.csv").open(newline="") as file:
        assert "true_label" in next(csv.reader(file))
    assert "The true labels are known here" in page(drawn.result)


@pytest.mark.parametrize("protocol", [None, "paper", "full", "honest"])
def test_official_labels_still_divide_the_data(protocol, tiny, tmp_path):
    data = idx_folder(tmp_path / "set", tiny)
    run = sl.clean(data, noise_rate=0.2, epochs=1, method="cross_entropy", protocol=protocol)
    assert len(run.result.parts[0].index) == (72 if protocol == "full" else 66)
    assert run.result.dataset.true_labels is None


def test_held_out_official_labels_are_called_given(tiny):
    told = sl.clean("digits", noise_rate=0.1, epochs=1, method="cross_entropy").result.accuracy_on
    assert "by their given labels" in told
    known = sl.clean(tiny, noise_rate=0.2, epochs=1, method="cross_entropy").result  # every fifth label is wrong
    assert "true labels" in known.accuracy_on
    assert known.dataset.true_labels is not None
