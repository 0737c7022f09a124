"""A network of the user's own in a run folder: told from others, written and read back."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

import smallloss as sl
from smallloss.data.arrays import from_arrays
from smallloss.errors import InputError
from smallloss.methods.settings import settings_for
from smallloss.run.files import plain_settings

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 4)).astype(np.float32), np.arange(60) % 2
DATA = from_arrays(X, Y)


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.b.weight = self.a.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.b(torch.relu(self.a(x)))))


class Dropping(nn.Sequential):
    def __init__(self, share: float = 0.5) -> None:
        super().__init__(nn.Linear(4, 8), nn.Dropout(share), nn.Linear(8, 2))


class Applied(nn.Module):
    """Prints an object without words of its own, as a layer made of a function does."""

    def __init__(self) -> None:
        super().__init__()
        self.made, self.layer = object(), nn.Linear(4, 2)

    def extra_repr(self) -> str:
        return repr(self.made)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def made(share: float = 0.5, seed: int = 0) -> Dropping:
    torch.manual_seed(seed)
    return Dropping(share)


def run(out: Any, net: Any) -> Any:
    return sl.clean((X, Y), out, noise_rate=0.1, net=net, epochs=1, device="cpu")


def digests(net: Any) -> Any:
    return plain_settings(settings_for("cpu", "cpu", DATA, net=net), "rsl", DATA)["own_nets"]["net"]


def test_weights_that_a_module_uses_twice_are_written_and_read_back(tmp_path):
    found = run(tmp_path, Tied())
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        assert json.loads(file.metadata()["smallloss"])["net"] == "Tied"
    assert torch.equal(stored["a.weight"], stored["b.weight"])
    again = Tied()
    again.load_state_dict(stored)
    assert torch.equal(again(torch.from_numpy(X)), found.network(torch.from_numpy(X)))


def test_a_folder_tells_one_network_of_the_users_own_from_another(tmp_path):
    run(tmp_path, made(0.5))
    run(tmp_path, made(0.5))
    with pytest.raises(InputError, match=r"settings\.own_nets\.net\.layers was '\w{16}', now '\w{16}'\)"):
        run(tmp_path, made(0.0))
    with pytest.raises(InputError, match=r"settings\.own_nets\.net\.weights was '\w{16}', now '\w{16}'\)"):
        run(tmp_path, made(0.5, seed=1))
    with pytest.raises(InputError, match=r"settings\.own_nets\.net\.weights"):  # drawn for each stage from now on
        run(tmp_path, Dropping)


def test_of_a_function_only_the_layers_count():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = digests(Dropping)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert first == digests(lambda: Dropping()) == {"layers": digests(made())["layers"]}
    assert first != digests(lambda: Dropping(0.0))
    assert first != digests(lambda classes, in_shape: nn.Linear(*in_shape, classes))


def test_where_an_object_lies_in_memory_does_not_count():
    assert digests(Applied) == digests(Applied)


@pytest.mark.parametrize("net", [nn.LazyLinear(2), nn.Linear(4, 2).to(torch.bfloat16), nn.Flatten()], ids=repr)
def test_weights_of_any_kind_can_be_told(net):
    assert len(digests(net)["weights"]) == 16


def test_a_network_by_its_name_needs_no_digest(tmp_path):
    settings = settings_for("cpu", "cpu", DATA)
    assert "own_nets" not in plain_settings(settings, "rsl", DATA)
    last = settings.changed({"final_net": made()})
    assert plain_settings(last, "rsl", DATA)["own_nets"].keys() == {"final_net"}
