"""The files that a finished run leaves in its folder."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from smallloss.data.tables import write_table
from smallloss.files import write_bytes, write_json, write_npz
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned
from smallloss.methods.unknown_noise import NoiseFound
from smallloss.report.examples import write_examples
from smallloss.report.page import write_page
from smallloss.report.result import Result
from smallloss.run_folder import RunFolder


def write_run(folder: RunFolder, result: Result, learned: Learned, evidence: Learned, found: NoiseFound | None) -> None:
    """Everything but config.json, metrics.jsonl and the checkpoints, which were there before."""
    from safetensors.torch import save

    assert evidence.ledger is not None
    evidence.ledger.save(folder / "ledger.npz")
    selection = result.parts[0].selection
    write_npz(
        folder / "selection.npz",
        {
            "index": result.parts[0].index,
            "selected": selection.mask,
            "weight": selection.weight,
            "is_label_issue": selection.is_label_issue,
            "rank_in_class": selection.rank_in_class,
            "label_score": selection.label_score,
            "classes": np.array(result.dataset.classes),
            "quota": selection.quota.num,
            "noise_rate": np.asarray(selection.quota.noise_rate, dtype=np.float64),
        },
    )
    weights = {name: t.detach().cpu().contiguous() for name, t in learned.fitted.network.module.state_dict().items()}
    facts = {"net": net_name(learned.net), "classes": result.dataset.classes}
    # One entry only: safetensors writes several in an order that changes from process to process.
    write_bytes(folder / "model.safetensors", save(weights, metadata={"smallloss": json.dumps(facts)}))
    if result.dataset.unreadable:
        lost = result.dataset.unreadable
        columns = {"id": list(lost), "given_label": [one.label for one in lost.values()]}
        write_table(folder / "unreadable.csv", columns | {"reason": [one.reason for one in lost.values()]})
    if found is not None:
        write_json(folder / "estimate.json", found.estimate.to_dict())
        seen = {"probabilities": found.probabilities[result.parts[0].index].astype(np.float32)}
        write_npz(folder / "out_of_sample.npz", seen | found.estimate.arrays)
    write_examples(result, folder.path)
    write_page(result, folder / "report.html")


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Settings as JSON can say them; a module of the user's own by its class."""
    values = dict(vars(settings)) | {"net": net_name(settings.net), "final_net": net_name(settings.final_net)}
    return {name: asdict(value) if hasattr(value, "__dataclass_fields__") else value for name, value in values.items()}


def net_name(net: Any) -> str | None:
    return net if net is None or isinstance(net, str) else getattr(net, "__qualname__", type(net).__qualname__)
