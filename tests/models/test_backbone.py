"""Backbones by name, with stand-ins for timm and transformers: what they are asked for, and what is said without."""

import hashlib
import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from photos_package import WEIGHTS
from smallloss.errors import InputError
from smallloss.models.backbone import load_backbone, name_of

CPU = torch.device("cpu")
PACKAGES = [("timm", "timm", "timm"), ("hf", "transformers", "hf"), ("photos", WEIGHTS, "photos")]
PICTURES = np.stack([np.full((4, 4, 3), value, np.uint8) for value in (0, 51, 255)])


class Brightness(nn.Module):
    """[b, 6]: each channel's mean, with a weight that a user may have trained, and twice that."""

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert not self.training
        mean = x.mean((2, 3)) * self.weight
        return torch.cat([mean, 2 * mean], 1)


def test_a_module_sees_pictures_from_0_to_1():
    backbone = load_backbone(Brightness(), "pictures")
    assert backbone.features(PICTURES, CPU)[:, 0].tolist() == pytest.approx([0.0, 0.2, 1.0])
    assert (backbone.size, backbone.prepared) == (None, "in 0..1, not normalised")


def test_a_function_may_see_texts():
    backbone = load_backbone(lambda texts: np.array([[len(text)] for text in texts]), "text")
    assert backbone.features(["a", "bcd"], CPU).tolist() == [[1], [3]]


@pytest.mark.parametrize("size", [96, (96, 96), [96, 96], (3, 96, 96)], ids=str)
def test_a_module_may_say_the_size_of_pictures_that_it_wants(size):
    module = Brightness()
    module.input_size = size
    assert load_backbone(module, "pictures").size == 96
    assert load_backbone(module, "text").size is None


@pytest.mark.parametrize("size", [(96, 64), 0, (), "96", 96.5], ids=str)
def test_a_size_that_is_no_square_is_refused_not_ignored(size):
    module = Brightness()
    module.input_size = size
    with pytest.raises(InputError, match=re.escape(f"has the input_size {size!r}; pictures are given as squares")):
        load_backbone(module, "pictures")


def test_other_weights_are_another_backbone():
    names = [name_of(Brightness(weight)) for weight in (1.0, 1.0, 2.0)]
    assert names[0] == names[1] != names[2]
    digest = hashlib.sha256(b"weight" + np.float32(1).tobytes()).hexdigest()
    assert names[0] == f"{__name__}:Brightness {digest[:12]}"
    assert name_of(np.mean) == "numpy:mean"
    assert name_of("timm:resnet18") == "timm:resnet18"


class Remembering(Brightness):
    def get_extra_state(self):
        return {"seen": 3}

    def set_extra_state(self, state):
        pass


def test_a_state_without_values_is_told_by_its_names():
    assert name_of(nn.LazyLinear(2)) == name_of(nn.LazyLinear(2)) != name_of(nn.LazyLinear(2, bias=False))
    assert name_of(Remembering(1.0)) != name_of(Remembering(2.0))


@pytest.mark.parametrize(
    "backbone, kind, sentence",
    [
        ("resnet18", "pictures", "'resnet18' is not a backbone; give photos, timm:NAME, hf:NAME, hf:FOLDER, or"),
        ("timm:", "pictures", "'timm:' is not a backbone"),
        (3, "pictures", "a torch module or a function, not a int"),
        ("timm:resnet18", "table", "A backbone takes pictures or texts, but the examples are a table"),
        ("no_such_module_1:make", "pictures", "there is no module 'no_such_module_1' in"),
    ],
)
def test_what_is_no_backbone(backbone, kind, sentence):
    with pytest.raises(InputError, match=sentence):
        load_backbone(backbone, kind)


# --- module:function -----------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a module of a name that no other test has into the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


def test_a_function_of_a_module_in_the_working_folder(own):
    own("own_one", "def make():\n    return lambda pictures: pictures.flatten(1)\n")
    backbone = load_backbone("own_one:make", "pictures")
    assert backbone.name == "own_one:make"
    assert tuple(backbone.features(PICTURES, CPU).shape) == (3, 48)


@pytest.mark.parametrize(
    "name, text, sentence",
    [
        ("own_two", "make = 3", "own_two:make: own_two has no function 'make'"),
        ("own_three", "def make(): return 3", "own_three:make gave a int; it must be a torch module or a function"),
        ("own_four", "import no_such_package_1", "own_four needs the package no_such_package_1"),
        ("own_five", "1 / 0", r"own_five cannot be imported \(ZeroDivisionError: division by zero\)"),
        ("own_six", "def make(): raise OSError('no weights')", r"make\(\) failed \(OSError: no weights\)"),
    ],
)
def test_a_module_of_ones_own_that_does_not_work(own, name, text, sentence):
    own(name, text)
    with pytest.raises(InputError, match=sentence):
        load_backbone(f"{name}:make", "pictures")


# --- timm ----------------------------------------------------------------------------------------------------


@pytest.fixture
def timm(monkeypatch, tmp_path):
    """A stand-in that knows `small`, whose weights may be in a cache, and remembers how it was asked."""
    asked = {}
    found = {"cached": None, "url": ""}

    def create_model(name, **options):
        asked.update(options, name=name)
        return Brightness()

    def pretrained(name):
        if name != "small":
            raise RuntimeError("Unknown model")
        return SimpleNamespace(hf_hub_id="timm/small", hf_hub_filename=None, url=found["url"])

    def cached(repository, file):
        return found["cached"] if (repository, file) == ("timm/small", "model.safetensors") else object()

    config = {"input_size": (3, 4, 4), "mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}
    package, data, hub = ModuleType("timm"), ModuleType("timm.data"), ModuleType("huggingface_hub")
    package.create_model, package.get_pretrained_cfg, package.data = create_model, pretrained, data
    data.resolve_model_data_config = lambda model: config
    hub.try_to_load_from_cache = cached
    for module in (package, data, hub):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    (tmp_path / "weights.bin").touch()
    return SimpleNamespace(asked=asked, found=found, weights=tmp_path / "weights.bin", folder=tmp_path)


def test_timm_makes_features_of_normalised_pictures_from_weights_in_its_cache(timm):
    timm.found["cached"] = str(timm.weights)
    backbone = load_backbone("timm:small", "pictures")
    assert timm.asked == {
        "name": "small", "pretrained": True, "num_classes": 0, "pretrained_cfg_overlay": {"file": str(timm.weights)},
    }  # fmt: skip
    assert backbone.features(PICTURES, CPU)[:, 0].tolist() == pytest.approx([-2.0, -1.2, 2.0])
    assert (backbone.name, backbone.size) == ("timm:small", 4)


def test_timm_takes_weights_that_torch_keeps_or_a_file(timm):
    load_backbone(f"timm:small,checkpoint={timm.weights}", "pictures")
    assert timm.asked["pretrained_cfg_overlay"] == {"file": str(timm.weights)}
    timm.found["url"] = "somewhere/small-1.pth"
    kept = timm.folder / "hub" / "checkpoints" / "small-1.pth"
    kept.parent.mkdir(parents=True)
    kept.touch()
    load_backbone("timm:small", "pictures")
    assert timm.asked["pretrained_cfg_overlay"] == {"file": str(kept)}


def test_timm_is_never_asked_to_fetch(timm):
    with pytest.raises(InputError, match="The weights of timm:small are not in the caches of timm, and nothing is"):
        load_backbone("timm:small", "pictures")
    with pytest.raises(InputError, match=r"The weights of timm:small are not in nowhere.pth"):
        load_backbone("timm:small,checkpoint=nowhere.pth", "pictures")
    with pytest.raises(InputError, match="timm:other is not a model of timm"):
        load_backbone("timm:other", "pictures")
    with pytest.raises(InputError, match="timm:small sees pictures, and the examples are texts"):
        load_backbone("timm:small", "text")
    assert not timm.asked


# --- transformers --------------------------------------------------------------------------------------------


class Tokens(dict):
    def to(self, device):
        return self


class Tokenizer:
    def __call__(self, texts, **options):
        assert options == {"padding": True, "truncation": True, "return_tensors": "pt"}
        longest = max(map(len, texts))
        ids = [[ord(c) for c in text] + [0] * (longest - len(text)) for text in texts]
        mask = [[1] * len(text) + [0] * (longest - len(text)) for text in texts]
        return Tokens(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask))


class Processor:
    def __init__(self):
        self.size = {"height": 8, "width": 8}

    def __call__(self, images, return_tensors):
        return {"pixel_values": torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float()}


class Encoder(nn.Module):
    """Hidden states are the tokens themselves, or the mean of each picture."""

    pooled = True

    def forward(self, pixel_values=None, input_ids=None, attention_mask=None):
        if pixel_values is None:
            return SimpleNamespace(
                last_hidden_state=input_ids[:, :, None].float() + (1 - attention_mask)[:, :, None] * 99
            )
        mean = pixel_values.mean((2, 3))
        pooled = mean[:, :, None, None] if self.pooled else None  # as a convolutional model pools
        return SimpleNamespace(last_hidden_state=torch.stack([mean, mean + 2], 1), pooler_output=pooled)


class TwoTowers(Encoder):
    def get_image_features(self, pixel_values):
        return pixel_values.amax((2, 3))

    def get_text_features(self, input_ids, attention_mask):
        return SimpleNamespace(pooler_output=input_ids[:, :1].float())


@pytest.fixture
def transformers(monkeypatch):
    package = ModuleType("transformers")
    package.model, package.asked = Encoder(), []

    def loader(make):
        def from_pretrained(place, **options):
            package.asked.append((place, options))
            if place == "absent/model":
                raise OSError("We couldn't connect to the hub")
            return make()

        return SimpleNamespace(from_pretrained=from_pretrained)

    package.AutoTokenizer, package.AutoImageProcessor = loader(Tokenizer), loader(Processor)
    package.AutoModel = loader(lambda: package.model)
    monkeypatch.setitem(sys.modules, "transformers", package)
    return package


def test_texts_are_the_mean_of_their_own_tokens(transformers):
    backbone = load_backbone("hf:some/model", "text")
    assert transformers.asked == [("some/model", {"local_files_only": True})] * 2
    assert backbone.features(["ac", "b"], CPU).tolist() == [[98.0], [98.0]]  # padding counts for nothing


def test_pictures_are_what_the_model_pools_or_the_mean_of_its_positions(transformers, tmp_path):
    backbone = load_backbone(f"hf:{tmp_path}", "pictures")
    assert transformers.asked[0][0] == str(tmp_path)
    assert backbone.size == 8
    assert backbone.features(PICTURES, CPU).tolist() == [[0.0] * 3, [51.0] * 3, [255.0] * 3]
    transformers.model.pooled = False
    assert backbone.features(PICTURES, CPU).tolist() == [[1.0] * 3, [52.0] * 3, [256.0] * 3]


def test_a_model_of_pictures_and_texts_has_features_of_both(transformers):
    transformers.model = TwoTowers()
    assert load_backbone("hf:clip", "pictures").features(PICTURES, CPU)[2].tolist() == [255.0] * 3
    assert load_backbone("hf:clip", "text").features(["ac", "b"], CPU).tolist() == [[97.0], [98.0]]


def test_a_model_that_is_not_on_this_machine(transformers):
    with pytest.raises(InputError, match=r"hf:absent/model cannot be loaded .* or name a folder that holds it\.$"):
        load_backbone("hf:absent/model", "pictures")


@pytest.mark.parametrize("library, package, extra", PACKAGES)
def test_a_package_that_is_not_installed(monkeypatch, library, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.data", None)
    with pytest.raises(
        InputError, match=rf"{library}:32 needs the package {package} .*pip install 'smallloss\[{extra}\]'"
    ):
        load_backbone(f"{library}:32", "pictures")
