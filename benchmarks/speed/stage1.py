"""Stage 1 (augment, train, score every example after each epoch) against what a user would do instead.

    python benchmarks/speed/stage1.py

All sides in one run, on one card, WRN-28-2, batch 128, bf16, channels_last, fused SGD:
(a) the usual loop done well: a DataLoader with workers, pinned memory, per-image transforms, scoring by the same
    loader; (b) the same eager step with the data resident on the GPU; ours.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, record
from smallloss.criterion.ledger import LossLedger
from smallloss.data.dataset import Dataset
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.engine.task import Task
from smallloss.engine.views import Augmentation, Inputs, draw_views
from smallloss.methods.supervised import Supervised
from smallloss.models import build

MEAN, STD = (0.491, 0.482, 0.447), (0.247, 0.243, 0.262)


def pictures(n: int) -> Dataset:
    """Speed does not depend on what the pictures show; random ones never hide work the way zeros do."""
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, n)
    return Dataset(inputs, labels, tuple("0123456789"), normalisation=(MEAN, STD), flip=True)


def rate(n: int, epochs: int, run: Callable[[], None]) -> float:
    """Images trained on per second, scoring included."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(epochs):
        run()
    torch.cuda.synchronize()
    return n * epochs / (time.perf_counter() - start)


def ours(data: Dataset, net: str, batch: int, epochs: int, *, compiled: bool) -> dict[str, float]:
    task = Task(data, np.arange(len(data)), {}, device=torch.device("cuda"))
    recipe = Recipe(epochs=epochs + 2, batch=batch, compile=compiled, schedule="constant")
    ledger = LossLedger(len(data))
    stage = Stage(task, Supervised(task, "stage1", task.train, recipe, net), ledger=ledger)
    start = time.perf_counter()
    stage._epoch(0)
    stage._epoch(1)
    warm = time.perf_counter() - start
    epoch = iter(range(2, epochs + 2))
    speed = rate(len(data), epochs, lambda: stage._epoch(next(epoch)))
    rows = stage.history[2:]
    books = _bookkeeping(stage)
    return {
        "images_per_s": speed,
        "train_seconds": float(np.mean([row["train_seconds"] for row in rows])),
        "score_seconds": float(np.mean([row["score_seconds"] for row in rows])),
        "bookkeeping_share": books / (len(data) / speed),
        "warm_up_seconds": warm,
    }


def _bookkeeping(stage: Stage) -> float:
    """Seconds an epoch spends on the plan and the ledger, alone."""
    every = np.arange(len(stage.task.dataset))
    values = torch.rand(len(every), device="cuda")
    ledger = LossLedger(len(every))
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(3):
        stage.objective.plan(0)
        ledger.update(every, values, margin=values, probability=values, predicted=values.long())
        ledger.end_epoch()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / 3


def eager(data: Dataset, net: str, batch: int, epochs: int) -> float:
    """(b): everything resident, one eager step after another."""
    device, n = torch.device("cuda"), len(data)
    task = Task(data, np.arange(n), {}, device=device)
    how = Augmentation()
    inputs = Inputs(data, device, how, resident=True)
    module, optimiser = _network(net)

    def epoch() -> None:
        order = torch.randperm(n, device=device)
        views = draw_views(task.draws, how, "eager", [0], order, order)
        module.train()
        for start in range(0, n - batch + 1, batch):
            part = views.map(lambda table, s=start: table[s : s + batch])
            _step(module, optimiser, inputs.see(part), task.labels[part.index])
        module.eval()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            losses = []
            for rows in torch.arange(n, device=device).split(2048):
                logits = module(inputs.see(inputs.plain(rows)))
                losses.append(cross_entropy(logits.float(), task.labels[rows], reduction="none"))
            torch.cat(losses).cpu()

    epoch()
    return rate(n, epochs, epoch)


def usual(data: Dataset, net: str, batch: int, epochs: int, workers: int) -> float:
    """(a): the loop of most training code, done well."""
    device, n = torch.device("cuda"), len(data)
    train = torch.utils.data.DataLoader(
        _Transformed(data, augment=True), batch, shuffle=True, drop_last=True, num_workers=workers,
        pin_memory=True, persistent_workers=True,
    )  # fmt: skip
    plain = torch.utils.data.DataLoader(
        _Transformed(data, augment=False), 1024, num_workers=workers, pin_memory=True, persistent_workers=True
    )
    module, optimiser = _network(net)

    def epoch() -> None:
        module.train()
        for x, y in train:
            x = x.to(device, non_blocking=True, memory_format=torch.channels_last)
            _step(module, optimiser, x, y.to(device, non_blocking=True))
        module.eval()
        losses = []
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            for x, y in plain:
                logits = module(x.to(device, non_blocking=True, memory_format=torch.channels_last))
                losses.append(cross_entropy(logits.float(), y.to(device), reduction="none"))
        torch.cat(losses).cpu()

    epoch()
    return rate(n, epochs, epoch)


class _Transformed(torch.utils.data.Dataset):
    """One picture at a time: pad, crop, flip, normalise, as torchvision's transforms do it on tensors."""

    def __init__(self, data: Dataset, *, augment: bool) -> None:
        self.data, self.augment = data, augment
        self.mean, self.std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        x = torch.from_numpy(self.data.inputs[index]).permute(2, 0, 1)
        if self.augment:
            x = torch.nn.functional.pad(x, (4, 4, 4, 4))
            top, left, flip = (int(v) for v in torch.randint(0, 9, (3,)))
            x = x[:, top : top + 32, left : left + 32]
            x = x.flip(2) if flip % 2 else x
        return (x.float() / 255 - self.mean) / self.std, int(self.data.labels[index])


def _network(net: str) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    module = build(net, classes=10, in_shape=(3, 32, 32)).to("cuda", memory_format=torch.channels_last)
    return module, torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, fused=True)


def _step(module: torch.nn.Module, optimiser: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> None:
    with torch.autocast("cuda", torch.bfloat16):
        loss = cross_entropy(module(x), y)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, default=RESULTS / "speed_stage1.jsonl")
    options.add_argument("--net", default="wrn-28-2")
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--examples", type=int, default=45_000)
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--workers", type=int, default=12)
    options.add_argument("--sides", default="compiled,graph,eager,usual")
    asked = options.parse_args()
    torch.backends.cudnn.benchmark = True
    data = pictures(asked.examples)
    facts = {"benchmark": "stage1", "net": asked.net, "batch": asked.batch, "examples": asked.examples, "seed": 0}
    speeds: dict[str, float] = {}
    for side in asked.sides.split(","):
        start = time.perf_counter()
        if side in ("compiled", "graph"):
            found = ours(data, asked.net, asked.batch, asked.epochs, compiled=side == "compiled")
        elif side == "eager":
            found = {"images_per_s": eager(data, asked.net, asked.batch, max(1, asked.epochs // 2))}
        else:
            found = {"images_per_s": usual(data, asked.net, asked.batch, 1, asked.workers)}
        speeds[side] = found["images_per_s"]
        print(f"{asked.net} batch {asked.batch} {side:9s}", {k: round(v, 4) for k, v in found.items()}, flush=True)
        record(asked.out, facts | {"side": side, "seconds": time.perf_counter() - start} | found)
    best = max(speeds.get("compiled", 0), speeds.get("graph", 0))
    ratios = {f"ratio_to_{side}": best / speeds[side] for side in ("usual", "eager") if side in speeds}
    if best and ratios:
        print({name: round(value, 2) for name, value in ratios.items()}, flush=True)
        record(asked.out, facts | {"side": "ratios", "ours": best} | ratios | speeds)


if __name__ == "__main__":
    main()
