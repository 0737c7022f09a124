"""EfficientNet-lite0: its shape, its margins, and its weights as they come from a file."""

import numpy as np
import pytest
import torch

from photos_package import install
from smallloss.errors import InputError
from smallloss.models.backbone import load_backbone
from smallloss.models.photos import convolved, network

CPU = torch.device("cpu")


def test_it_has_the_weights_of_the_published_network():
    """4,652,008 with the 1,281,000 of its head (Tan, Le 2019, the TPU repository's table: 4.7 M)."""
    assert sum(weight.numel() for weight in network().parameters()) == 4_652_008 - 1_281_000


@pytest.mark.parametrize("kernel, first", [(3, 0), (5, 1)])
def test_an_odd_margin_is_larger_below_and_to_the_right(kernel, first):
    """TensorFlow's `same`: at stride 2 an even side has the margin kernel - 2, half of it, rounded down, before."""
    conv = convolved(1, 1, kernel, stride=2)[:-2]
    weight = torch.zeros(kernel, kernel)
    weight[first, first] = 1  # looks at the pixel itself
    conv[-1].weight.data = weight[None, None]
    x = torch.arange(36.0).reshape(1, 1, 6, 6)
    assert torch.equal(conv(x), x[:, :, ::2, ::2])


def test_features_are_those_of_the_weights_folded_or_not(monkeypatch, tmp_path):
    net = install(monkeypatch, tmp_path / "weights.pth")
    backbone = load_backbone("photos:64", "pictures")
    pictures = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3), np.uint8)
    with torch.no_grad():
        features = backbone.features(pictures, CPU)
        want = net((torch.from_numpy(pictures).permute(0, 3, 1, 2).float() - 127) / 128)
    assert features.shape == (3, 1280)
    assert want.std() > 0.01
    assert torch.allclose(features, want, atol=1e-4)
    assert (backbone.name, backbone.size) == ("photos:64", 64)


@pytest.mark.parametrize("size", ["0", "100", "-32", "large"])
def test_a_size_that_cannot_be_halved_five_times_is_refused(size):
    with pytest.raises(InputError, match=f"photos:{size} is not a size that it can see: give a multiple of 32"):
        load_backbone(f"photos:{size}", "pictures")


def test_it_sees_pictures_only():
    with pytest.raises(InputError, match="photos:128 sees pictures, and the examples are texts"):
        load_backbone("photos:128", "text")


@pytest.mark.parametrize("damage", [b"", b"no weights", None], ids=["empty", "other", "cut short"])
def test_damaged_weights_are_a_sentence(damage, monkeypatch, tmp_path):
    file = tmp_path / "weights.pth"
    install(monkeypatch, file)
    file.write_bytes(file.read_bytes()[:-5000] if damage is None else damage)
    with pytest.raises(InputError, match=r"weights.pth cannot be read \(.*\): install smallloss\[photos\] anew"):
        load_backbone("photos:32", "pictures")


def test_what_is_no_weights_but_a_pickle_is_not_run(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path / "weights.pth")
    torch.save({"stem": print}, tmp_path / "weights.pth")
    with pytest.raises(InputError, match=r"cannot be read .*UnpicklingError"):
        load_backbone("photos:32", "pictures")
