"""The files that a finished run leaves in its folder."""

import hashlib
import re
from typing import Any

import torch
from torch import nn

from smallloss.data.dataset import Dataset
from smallloss.data.new_examples import Seen
from smallloss.data.protocol import conflict_table
from smallloss.data.table_files import write_table
from smallloss.engine.classifier import MODEL, Classifier
from smallloss.methods.settings import NETS, Settings, groups_of
from smallloss.methods.small_loss import Learned
from smallloss.models import build
from smallloss.models.registry import weights_digest
from smallloss.record.folder import RunFolder
from smallloss.record.run import Run
from smallloss.report.page import write_page

DUPLICATES = "duplicates.csv"
_DIGITS = 16  # of a digest: enough to tell the networks of one user apart


def write_run(folder: RunFolder, run: Run, classifier: Classifier) -> None:
    """Everything but config.json, duplicates.csv, metrics.jsonl and the checkpoints, which were there before."""
    run.write(folder.path)
    classifier.save(folder / MODEL)
    lost = run.examples.unreadable
    if lost:
        columns = {"id": list(lost), "given_label": [one.label for one in lost.values()]}
        write_table(folder / "unreadable.csv", columns | {"reason": [one.reason for one in lost.values()]})
    write_page(run, folder / "report.html")


def classifier_of(learned: Learned, dataset: Dataset, backbone: Any) -> Classifier:
    """What a method learnt, as a classifier of examples like those of the dataset."""
    net = net_name(learned.net)
    assert net is not None
    return Classifier(learned.fitted.network, Seen.of(dataset), net, backbone)


def write_duplicates(folder: RunFolder, dataset: Dataset) -> None:
    """Equal and nearly equal examples under different labels, to look at; no file where there are none."""
    columns = conflict_table(dataset)
    if columns["id"]:
        write_table(folder / DUPLICATES, columns)


def plain_settings(settings: Settings, method: str, dataset: Dataset) -> dict[str, Any]:
    """Settings as JSON can say them, with the method's own; a network of the user's own by its class and digests."""
    nets = {name: getattr(settings, name) for name in NETS}
    groups: dict[str, dict[str, Any]] = {}
    for name, one in [*settings.recipes.items(), *settings.own.items()]:
        if name in groups_of(method):
            groups[name] = groups.get(name, {}) | one.to_dict()
    own = {} if method in settings.recipes else {method: groups.pop(method)} if method in groups else {}
    alone = {"final_net": net_name(settings.final_net_of(method)), **settings.criterion.to_dict()}
    plain = {"preset": settings.preset, "net": net_name(settings.net), **groups, **alone, **own}
    told = {name: _digests(net, dataset) for name, net in nets.items() if net_name(net) != net}
    return plain | ({"own_nets": told} if told else {})


def _digests(net: Any, dataset: Dataset) -> dict[str, str]:
    """What tells one network of the user's own from another: its layers and, of a module, the weights it starts from.

    A function is called once for its layers alone; its weights are drawn anew for each stage.
    """
    if isinstance(net, nn.Module):
        return {"layers": _layers(net), "weights": weights_digest(net)[:_DIGITS]}
    with torch.random.fork_rng(devices=[]):
        return {"layers": _layers(build(net, classes=len(dataset.classes), in_shape=dataset.in_shape))}


def _layers(module: nn.Module) -> str:
    words = re.sub(r" at 0x[0-9a-f]+", "", repr(module))  # an object without words says where it lies in memory
    return hashlib.sha256(words.encode()).hexdigest()[:_DIGITS]


def net_name(net: Any) -> str | None:
    return net if net is None or isinstance(net, str) else getattr(net, "__qualname__", type(net).__qualname__)
