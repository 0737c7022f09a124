"""A run as a value, and as a folder: what is written is what is read."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.ledger import LossLedger
from smallloss.data import source
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell
from smallloss.errors import InputError
from smallloss.files import read_npz, write_json, write_npz
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import Judgement, judge
from smallloss.record.examples import HELD_OUT, TRAIN, Examples, Part
from smallloss.record.folder import read_config
from smallloss.words import counted, one_line, quoted

EXAMPLES, SELECTION, FEATURES, RESULT = "examples.parquet", "selection.npz", "features.npz", "result.json"
_OUT_OF_SAMPLE = "out_of_sample.npz"
_ESTIMATE, _LEDGER, _METRICS = "estimate.json", "ledger.npz", "metrics.jsonl"
_PLAIN = ("evidence", "accuracy_on", "notes", "by_hand", "rates")
_TIMES = ("seconds",)  # the same run gives the same bytes: times stand in metrics.jsonl alone
RELABELLED = "relabelled"  # what learnt from all labels once more, the likely wrong ones as suggested
_MANY = ("right", "agrees")  # a yes or no for each example


@dataclass
class Accuracy:
    """One method's accuracy on the test check, in shares; `right` says which test examples it got right."""

    method: str
    best: float | None  # of the epoch that validated best; None where nothing validates
    last: float
    seconds: float
    right: np.ndarray
    net: str = ""  # what it was taken of: methods may train different ones
    mean_of_last_ten: float | None = None  # epochs; where nothing validates, and so none is the best
    agrees: np.ndarray | None = None  # with which labels of the held-out part: what is shipped is chosen by them
    true: TrueAccuracy | None = None  # where the labels it was taken by may be wrong
    called: str = ""  # the method as its paper writes it

    def __post_init__(self) -> None:
        self.called = self.called or self.method


class Shipped(NamedTuple):
    """The method whose classifier the run leaves behind, and why that one."""

    method: str
    why: str


@dataclass
class Run:
    """Everything a reader is shown."""

    examples: Examples
    noise_rate: np.ndarray  # per class, of what was trained on
    evidence: str  # what the ranking stands on, in words
    verdict: Judgement
    settings: dict[str, Any]
    accuracies: list[Accuracy] = field(default_factory=list)
    accuracy_on: str = ""  # what they were taken on, in words
    history: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noise: NoiseModel = field(default_factory=NoiseModel)  # as it was known before anybody answered
    ledger: LossLedger | None = None  # of the evidence: its curves are drawn
    shipped: Shipped | None = None  # where there was a choice
    dataset: Dataset | None = None  # what can be shown of the examples; None where the data is gone
    by_hand: str = ""  # what answers have changed since, in words
    rates: Mapping[str, Any] | None = None  # after answers: low and high of each label, overall
    parts: Sequence[Part] = ()  # as they were selected; none where the run was read back
    features: np.ndarray | None = None  # what tells the examples apart, and what answers teach by
    key: str = ""  # says in answers which run they belong to; written or read, it has one

    @property
    def name(self) -> str:
        return str(self.settings["data"]["name"]) if self.dataset is None else self.dataset.name

    @property
    def estimate(self) -> NoiseModel | None:
        """Of the noise rates, where nobody knew them."""
        return self.noise if self.noise.is_estimated else None

    @property
    def intervals(self) -> Mapping[str, Any] | None:
        """Of the noise rates: low and high of each label, and overall (rate, low, high)."""
        return self.rates if self.rates is not None or self.estimate is None else vars(self.estimate)

    @property
    def in_short(self) -> str:
        """What became of the examples of all parts, and the verdict."""
        e = self.examples
        ranked, held_out = sum(len(e.rows(split)) for split in e.splits), len(e.rows(HELD_OUT))
        apart = f", {held_out:,} of them held out" if held_out else ""
        wrong, kept = int(e.likely_wrong.sum()), int(e.kept.sum())
        became = f"{wrong:,} likely wrong, {kept:,} kept"
        return f"{one_line(self.name)}: {ranked:,} examples{apart}; {became}\n{self.verdict.headline}"

    def __repr__(self) -> str:
        return f"<Run of {self.in_short}>"

    def write(self, folder: Path) -> None:
        """All that is neither config.json, which is there before, nor a page nor a network."""
        chosen = self.parts[0].selection
        if self.ledger is not None:
            self.ledger.save(folder / _LEDGER)
        facts = {
            "index": self.parts[0].index, "selected": chosen.mask, "weight": chosen.weight,
            "is_label_issue": chosen.is_label_issue, "rank_in_class": chosen.rank_in_class,
            "label_score": chosen.label_score, "classes": np.array(self.examples.classes),
            "quota": chosen.quota.num, "noise_rate": self.noise_rate,
        }  # fmt: skip
        write_npz(folder / SELECTION, facts)
        if self.estimate is not None:
            write_json(folder / _ESTIMATE, self.estimate.to_dict())
        self.key = _key(folder, read_config(folder))
        if self.noise.probabilities is not None:
            write_npz(folder / _OUT_OF_SAMPLE, {"probabilities": self.noise.probabilities.astype(np.float16)})
        if self.features is not None:  # and what an audit writes anew elsewhere
            before = {"label_score": self.examples.label_score, "selected": self.examples.kept}
            write_npz(folder / FEATURES, before | {"features": self.features})
        self.write_again(folder)

    def write_again(self, folder: Path) -> None:
        """What an audit changes: the table, and all that is said of it."""
        self.examples.write(folder)
        plain = {name: getattr(self, name) for name in _PLAIN}
        stages = list(dict.fromkeys(row["stage"] for row in self.history))
        first = 0 if self.ledger is None else self.ledger.curves.start
        accuracies = [_packed(found) for found in self.accuracies]
        facts = {"stages": stages, "recorded_from": first, "accuracies": accuracies, "shipped": self.shipped}
        facts["verdict"] = self.verdict.to_dict()
        facts |= {} if self.examples.values is None else {"values": self.examples.values}
        write_json(folder / RESULT, plain | facts)

    def shown_with(self, dataset: Dataset) -> "Run":
        """With the originals of its examples, which `require` took for the same; labels and truths stay the run's."""
        return replace(self, dataset=dataset.with_labels(self._labels_in(dataset)))

    def _labels_in(self, dataset: Dataset) -> np.ndarray:
        """The labels of the run as codes of the dataset; -1 where that has no such class."""
        code = {as_cell(name): k for k, name in enumerate(dataset.classes)}
        return np.array([code.get(name, -1) for name in self.examples.classes], np.int64)[self.examples.label]

    def require(self, dataset: Dataset, folder: Path) -> None:
        """Refuse data that the run was not made from.

        The labels are taken from the run: those of a benchmark were corrupted after it was loaded.
        """
        labels, ids = self._labels_in(dataset), self.examples.ids
        same = [as_cell(name) for name in dataset.ids] == list(ids) and (labels >= 0).all()
        if not same or dataset.with_labels(labels).fingerprint() != self.settings["data"]["fingerprint"]:
            raise InputError(
                f"{dataset.name} is not the data that {folder} was made from: {_difference(dataset, ids)}. Put it "
                "back as it was, or name that data with --data."
            )

    @classmethod
    def read(cls, folder: Path, dataset: Dataset | None = None) -> "Run":
        """What `write` wrote, and what an audit has made of it since; a run of before left no result.json."""
        config = read_config(folder)
        for name in (EXAMPLES, SELECTION):
            if not (folder / name).is_file():
                raise InputError(
                    f"{folder} has no {name}: the run did not finish; give the command that began it again."
                )
        selected = read_npz(folder / SELECTION)
        classes = selected["classes"].tolist()
        found, ledger = _json(folder / _ESTIMATE), None
        saved = _json(folder / RESULT) or {"stages": [], "accuracies": [], "shipped": None, "recorded_from": 0}
        if (folder / _LEDGER).is_file():
            ledger = LossLedger.load(folder / _LEDGER)
            ledger.curves.start = saved["recorded_from"]
        metrics = folder / _METRICS
        epochs = [json.loads(one) for one in metrics.read_text("utf-8").splitlines()] if metrics.is_file() else []
        examples = replace(Examples.read(folder / EXAMPLES, classes), values=saved.get("values"))
        noise = NoiseModel.read(config.get("noise", {}), found if found and "overall" in found else None, classes)
        if (folder / _OUT_OF_SAMPLE).is_file():
            noise = replace(noise, probabilities=read_npz(folder / _OUT_OF_SAMPLE)["probabilities"])
        if "verdict" in saved:
            verdict = Judgement.from_saved(saved["verdict"], noise.transition, classes)
        else:
            verdict = judge(examples.labelled(TRAIN), noise)
        return cls(
            examples, selected["noise_rate"], saved.get("evidence", ""), verdict, config,
            accuracies=[_unpacked(one) for one in saved["accuracies"]],
            accuracy_on=saved.get("accuracy_on", ""),
            history=[row for stage in saved["stages"] for row in epochs if row["stage"] == stage],
            notes=saved.get("notes", []), noise=noise, ledger=ledger,
            shipped=saved["shipped"] and Shipped(*saved["shipped"]),
            dataset=dataset, by_hand=saved.get("by_hand", ""), rates=saved.get("rates"), key=_key(folder, config),
            features=read_npz(folder / FEATURES)["features"] if (folder / FEATURES).is_file() else None,
        )  # fmt: skip


def data_of_run(folder: Path) -> Dataset | None:
    """What a run was made from, if it lies where the run found it; nothing is fetched and nothing is guessed."""
    try:
        facts = json.loads((folder / "config.json").read_text(encoding="utf-8"))["data"]
        if facts["source"] is not None and source.is_here(facts["source"]):
            return source.load(facts["source"], label=facts["label"])
    except (OSError, ValueError, KeyError, InputError):
        pass
    return None


def _difference(dataset: Dataset, ids: Sequence[str]) -> str:
    """The first thing in which it differs, with an example."""
    before, now = dict.fromkeys(ids), dict.fromkeys(as_cell(name) for name in dataset.ids)
    lost, new = ([name for name in one if name not in other] for one, other in ((before, now), (now, before)))
    said = [f"{counted(len(lost), 'example')} not there any more ({quoted(lost[0])})"] if lost else []
    said += [f"{counted(len(new), 'example')} new ({quoted(new[0])})"] if new else []
    return " and ".join(said) or "some inputs, labels or their order changed"


def _key(folder: Path, config: Mapping[str, Any]) -> str:
    content = (folder / SELECTION).read_bytes() + config["data"]["fingerprint"].encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _packed(found: Accuracy) -> dict[str, Any]:
    """As JSON can say it; eight yes or no are a byte, written as text."""
    plain = {name: value for name, value in vars(found).items() if name not in _TIMES}
    for name in _MANY:
        if plain[name] is not None:
            bits = np.packbits(np.asarray(plain[name], bool)).tobytes()
            plain[name] = {"of": len(plain[name]), "base64": base64.b64encode(bits).decode("ascii")}
    return plain


def _unpacked(saved: Mapping[str, Any]) -> Accuracy:
    more = {"true": saved["true"] and TrueAccuracy(*saved["true"]), "seconds": float("nan")}
    for name in _MANY:
        if (packed := saved[name]) is not None:
            bits = np.frombuffer(base64.b64decode(packed["base64"]), np.uint8)
            more[name] = np.unpackbits(bits, count=packed["of"]).astype(bool)
    return Accuracy(**dict(saved) | more)
