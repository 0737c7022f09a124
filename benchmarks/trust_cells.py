"""Cells: what the networks of a run say of one set under one noise, kept, so that rules need no training again.

    python benchmarks/trust_cells.py --out FOLDER --fashion IDX --cifar FOLDER --people NPZ --cifar-n NPZ --comments CSV

Several processes may work on one folder. With --networks FOLDER the networks of cells made before are taken from there:
only RSL is trained, on what the estimate and the selection as they are now keep. A file per (set, noise, seed); what is
there already is left alone. Of n examples, 20 % are held out, their labels as noisy as the others'. In each file:
`facts` (JSON: family, name, noise, kind, seed, seconds, what was estimated), labels, true, train, held_out; A0, A1, B0,
B1: [n, c], predictions of the half networks of two splits (of whole sets one), NaN where a network had learnt; score
(high is suspicious) and stage1 [n, c], of stage 1; kept and issue (likely wrong); rsl [n, c], of the network that
learnt what was kept; features and seen: components of stage 1's last hidden layer, and of its inputs.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from common import commit
from smallloss.data.dataset import Dataset
from smallloss.data.protocol import hold_out
from smallloss.engine.networks import Network
from smallloss.engine.scoring import outputs
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.errors import TooFewError
from smallloss.methods.cross import Fold
from smallloss.methods.settings import Settings, settings_for
from smallloss.methods.small_loss import Learned, choose, retrain, warm_up
from smallloss.noise.estimate import estimate
from smallloss.noise.model import NoiseModel
from smallloss.run.pipeline import parts_of
from trust_sets import FEATURES, FEATURES_N, MADE, Labelled, Noisy, Places, components, real, seen_inputs, sources

_AT_THE_END = {f"{stage}.evaluate_every": 1000 for stage in ("stage1", "rsl")}
NETWORKS = ("A0", "A1", "B0", "B1", "score", "stage1", "seconds", "features", "seen")
PEOPLE = ("one person", "majority of three", "majority of all")
QUICK = ("texts", "texts, 400", "wine", "breast cancer", "mixed columns", "made up", "digits, table", "digits, 300")
ONLY_PAIRWISE = ("breast cancer",)  # of two classes: structured noise is the same
DEAR = ("uniform:0.4", "hard:0.2", "none")  # where a cell takes minutes


def plan() -> Iterator[tuple[str, str, int]]:
    """(set, noise, seed), those first that say the most for their time."""
    yield from (("YouTube comments", "", seed) for seed in range(3))
    yield from ((name, noise, 0) for name in (*QUICK, "digits") for noise in made(name))
    yield from (("Fashion-MNIST, 600", noise, 0) for noise in MADE)
    yield from ((name, "", 0) for name in (*PEOPLE, FEATURES_N, "CIFAR-10N"))
    yield from ((FEATURES, noise, 0) for noise in MADE)
    yield from ((name, noise, seed) for seed in (1, 2) for name in QUICK for noise in made(name))
    for seed in (1, 2):
        yield from ((name, "", seed) for name in (*PEOPLE, FEATURES_N, "CIFAR-10N"))
        yield from ((FEATURES, noise, seed) for noise in MADE)
        yield from (("digits", noise, seed) for noise in MADE)
        yield from (("Fashion-MNIST, 600", noise, seed) for noise in DEAR)
    yield from (("Fashion-MNIST, 3,000", noise, 0) for noise in MADE)
    yield from (("CIFAR-10, 3,000", noise, 0) for noise in DEAR)


def whole() -> Iterator[tuple[str, str, int]]:
    """The same of whole sets, by a GPU."""
    yield "CIFAR-10N, 50,000", "", 0
    yield from (("CIFAR-10, 50,000", noise, 0) for noise in ("uniform:0.5", "structured:0.4"))
    yield "CIFAR-100, 50,000", "uniform:0.4", 0


def made(name: str) -> Iterator[str]:
    yield from (noise for noise in MADE if not (name in ONLY_PAIRWISE and noise.startswith("structured")))


def halves(task: Task, split: int) -> np.ndarray:
    """As the run halves its training rows (split 0), and a second time apart from it (split 1)."""
    labels = task.dataset.labels[task.train]
    shuffled = task.draws.permutations("halves", [split], len(labels))[0].cpu().numpy()
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    half = np.empty(len(labels), dtype=np.int64)
    half[order] = np.arange(len(labels)) % 2
    _, first, member = np.unique(task.dataset.groups[task.train], return_index=True, return_inverse=True)
    return half[first[member]]


def half_networks(task: Task, settings: Settings, split: int) -> list[np.ndarray]:
    """Of each half of a split, the predictions for everything its network had not learnt; NaN elsewhere."""
    recipe = settings.recipe("stage1")
    recipe = replace(recipe, epochs=max(2, round(settings.criterion.half_epochs * recipe.epochs)))
    recipe = replace(recipe, evaluate_every=recipe.epochs)
    half, found = halves(task, split), []
    for which in (0, 1):
        name = f"half{which}" if split == 0 else f"half{which} of {split}"
        others = np.concatenate([task.train[half != which], task.held_out])
        objective = Fold(task, name, task.train[half == which], others, recipe, settings.net)
        fit(task, objective, record=settings.criterion.scored_epochs(recipe.epochs))
        P = np.full((len(task.dataset), task.classes), np.nan, np.float32)
        P[others] = objective.prediction()
        found.append(P)
    return found


def last_hidden(task: Task, network: Network) -> np.ndarray:
    """What the last layer is given of every example."""
    *_, head = (part for part in network.module.modules() if isinstance(part, nn.Linear))
    given: list[torch.Tensor] = []
    hook = head.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0].detach().clone()))
    try:
        for start in range(0, len(task.dataset), 500):  # one chunk at a time, so that no row comes twice
            rows = np.arange(start, min(start + 500, len(task.dataset)))
            outputs(task, network, task.dataset, rows)
    finally:
        hook.remove()
    return torch.cat(given).float().cpu().numpy()


def divided(data: Dataset, seed: int) -> np.ndarray:
    train, held_out = hold_out(data, seed, groups=data.groups)
    return train if len(held_out) else hold_out(data, seed)[0]


def networks(task: Task, settings: Settings) -> dict[str, Any]:
    """What stage 1 and the half networks of two splits say, before anything is estimated."""
    seconds, begun = {}, time.perf_counter()

    def lap(name: str) -> None:
        nonlocal begun
        seconds[name] = time.perf_counter() - begun
        begun = time.perf_counter()

    stage1 = warm_up(task, settings)
    assert stage1.ledger is not None
    lap("stage1")
    A0, A1 = half_networks(task, settings, 0)
    lap("halves")
    second = {}
    if task.device.type == "cpu":  # a second split is there to be looked at; whole sets do without it
        second = dict(zip(("B0", "B1"), half_networks(task, settings, 1), strict=True))
        lap("halves again")
    g = outputs(task, stage1.network, task.dataset, np.arange(len(task.dataset)))
    return {
        "A0": A0, "A1": A1, **second, "score": stage1.ledger.score(settings.criterion.score),
        "stage1": g.astype(np.float32), "seconds": seconds,
        "features": components(last_hidden(task, stage1.network)).astype(np.float16),
        "seen": components(seen_inputs(task.dataset)).astype(np.float16),
    }  # fmt: skip


def make(one: Labelled, seed: int, device: str, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything of a cell, by the path that a run takes. known: a cell whose networks are taken as they are."""
    data = one.data
    assert data.true_labels is not None
    task = Task(data, divided(data, seed), {}, seed=seed, device=torch.device(device))
    settings = settings_for(None, device, data, changes=_AT_THE_END)
    said = networks(task, settings) if known is None else {name: known[name] for name in NETWORKS if name in known}
    found, noise = as_it_estimates(data, np.stack([said["A0"], said["A1"]]))
    begun = time.perf_counter()
    said |= learn(task, settings, noise, said)
    said["seconds"]["rsl"] = time.perf_counter() - begun
    facts = {
        "family": one.family, "name": one.name, "noise": one.noise, "kind": one.kind, "seed": seed, "n": len(data),
        "classes": list(data.classes), "commit": commit(), "seconds": said.pop("seconds"), "found": found,
    }  # fmt: skip
    return said | {
        "facts": np.array(json.dumps(facts)), "labels": data.labels, "true": data.true_labels, "train": task.train,
        "held_out": task.held_out,
    }  # fmt: skip


def as_it_estimates(data: Dataset, probabilities: np.ndarray) -> tuple[dict[str, Any], NoiseModel]:
    """The rates that the code which makes the cell finds, as a run does."""
    found = estimate(probabilities, data.labels, classes=range(len(data.classes)))
    upper = found.upper
    facts = {name: getattr(found, name).tolist() for name in ("noise_rate", "low", "high", "prior")}
    facts |= {"upper": upper.tolist(), "overall": list(found.overall), "evidence": found.evidence}
    return facts, NoiseModel(noise_rate=found.noise_rate, prior=found.prior, upper=upper)


def learn(task: Task, settings: Settings, noise: NoiseModel, said: dict[str, Any]) -> dict[str, Any]:
    """What RSL keeps, and learns from that; plain cross entropy where that is too little, as in a run."""
    data, g = task.dataset, said["stage1"]
    selection = choose(task, settings, noise, said["score"])
    try:
        network = retrain(task, settings, task.train[selection.mask]).network
        g = outputs(task, network, data, np.arange(len(data))).astype(np.float32)
    except TooFewError:
        pass
    kept, issue = (np.zeros(len(data), bool) for _ in range(2))
    evidence = Learned("rsl", None, selection, said["score"])  # type: ignore[arg-type]
    for part in parts_of(task, settings, noise, evidence):
        kept[part.index], issue[part.index] = part.selection.mask, part.selection.is_label_issue
    return {"rsl": g, "kept": kept, "issue": issue}


def read(path: Path) -> dict[str, Any] | None:
    """A cell made before; None where there is none."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        cell = dict(file)
    return cell | {"seconds": json.loads(str(cell["facts"]))["seconds"]}


def write(path: Path, arrays: dict[str, Any]) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)


def claimed(path: Path) -> bool:
    """Several processes may fill one folder: the first to ask makes the cell. A claim left behind is to be deleted."""
    try:
        path.with_suffix(".claim").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--networks", type=Path, help="cells whose networks are taken as they are")
    for field in fields(Places):
        options.add_argument(f"--{field.name.replace('_', '-')}", type=Path)
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: whole sets instead of small")
    asked = options.parse_args()
    places = Places(**{field.name: getattr(asked, field.name) for field in fields(Places)})
    every = sources(places)
    asked.out.mkdir(parents=True, exist_ok=True)

    @lru_cache(maxsize=4)
    def noisy(name: str, seed: int) -> Noisy:
        family, pick = every[name]
        return Noisy(family, name, pick(seed), seed)

    torch.set_num_threads(1)
    for name, noise, seed in plan() if asked.device == "cpu" else whole():
        path = asked.out / f"{name} {noise} {seed}.npz".replace(", ", " ").replace(":", "").replace(" ", "-")
        if not path.exists() and claimed(path):
            one = noisy(name, seed).labelled(noise) if noise else real(places, name, seed)
            begun = time.process_time()
            known = None if asked.networks is None else read(asked.networks / path.name)
            write(path, make(one, seed, asked.device, known))
            path.with_suffix(".claim").unlink()
            wrong = float((one.data.labels != one.data.true_labels).mean())
            print(f"{path.stem}: {wrong:.3f} wrong, {time.process_time() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
