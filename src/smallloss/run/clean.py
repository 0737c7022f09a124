"""`sl.clean`: its signature declares every option, for Python, the command line, the docs and the next command."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from smallloss import methods
from smallloss.errors import InputError
from smallloss.knobs import Arg, Opt, pairs
from smallloss.models import registry as nets
from smallloss.noise.answers import PROMISE

if TYPE_CHECKING:
    import numpy as np
    import torch

    from smallloss.auditing.result import AuditResult
    from smallloss.criterion.selection import Selection
    from smallloss.data.dataset import Dataset
    from smallloss.engine.classifier import Classifier
    from smallloss.noise.verdict import Judgement
    from smallloss.record.run import Run

DATA = (
    "A folder of pictures with one subfolder per class; a .csv or .parquet of picture paths, texts or columns; an .npz "
    "of arrays; an .npy of features with --labels; idx:FOLDER; cifar10:PATH; cifar100:PATH; webvision:PATH; hf:NAME; "
    "or digits, a demo."
)
LABEL = "Column of labels, if not called label, target, class, category or y."
LABELS = "File of labels, if DATA is an .npy."
RATES = "Share of wrong labels: 0.2 or 20%, or cat=0.3,dog=0.1, or a .csv with the columns label and noise_rate."
PRIOR = (
    "How frequent the true classes are: uniform. If left out, T or an estimate says it; else classes are not balanced."
)
TRANSITION = "File that holds the transition matrix T; its rows are true classes."
PROMISED = "Share of the kept labels that must be right for the verdict to be green."
KINDS = "uniform:0.5, pairwise:0.4, structured:0.4"


@dataclass
class CleanRun:
    """A finished run, as `clean` or `load_run` gives it: the result, the classifier, and where the files are."""

    result: "Run"
    learned: Any  # the `Learned` of the method; None of a run that was read back, as the next
    shipped: Any  # that of the method, or another that is better on the held-out part
    folder: Path | None
    backbone: Any = None  # as it was given: what makes the features that the network sees
    answered: "AuditResult | None" = None  # what answers say that this very run has had before

    def __repr__(self) -> str:
        report = "" if self.folder is None else f"\nreport: {self.folder / 'report.html'}"
        return f"<CleanRun of {self.result.in_short}{report}>"

    @property
    def selection(self) -> "Selection":
        """The selection of the training part, where it was made in this process."""
        if not self.result.parts:
            raise InputError("A run that was read back has no selection: table() says what became of each example.")
        return self.result.parts[0].selection

    @property
    def verdict(self) -> "Judgement":
        return self.result.verdict

    @property
    def network(self) -> "torch.nn.Module":
        return self.classifier.network

    @cached_property
    def classifier(self) -> "Classifier":
        """What `sl.load_classifier` makes of the run folder, later and elsewhere."""
        from smallloss.engine.classifier import load_classifier
        from smallloss.run.files import classifier_of

        if self.shipped is None and self.folder is not None:
            return load_classifier(self.folder, backbone=self.backbone)
        assert self.result.dataset is not None
        return classifier_of(self.shipped, self.result.dataset, self.backbone)

    def table(self) -> Any:
        """What became of every example, held-out ones included, in input order: the columns of examples.csv.

        A frame where a frame came in, else a dict. Labels are as they came: numbers where they were numbers.
        """
        return self._framed(self.result.examples.as_they_came())

    def issues(self) -> Any:
        """Those rows of the table whose label is likely wrong, the worst first; `index` is their place in the data."""
        worst = self.result.examples.worst.tolist()
        return self._framed({
            name: column[worst] if hasattr(column, "dtype") else [column[row] for row in worst]
            for name, column in self.result.examples.as_they_came().items()
        })  # fmt: skip

    def _framed(self, columns: dict[str, Any]) -> Any:
        from smallloss.data.memory import as_frame

        return as_frame(columns, self.result.settings["data"].get("frame"))

    def report(self) -> Path:
        """The page, to open in a browser."""
        if self.folder is None:
            raise InputError("The run was written nowhere, so it has no page: name a folder, sl.clean(data, out=...).")
        return self.folder / "report.html"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from smallloss.report.notebook import cell

        return cell(self.result, None if self.folder is None else self.report())

    def predict(self, X: Any) -> "np.ndarray":
        """The class of each new example, as the labels came; inputs are prepared as those of the run were.

        Of a run on texts or columns, X are texts, or a frame or dict of such columns; where it has a backbone, pictures
        or texts, or features that it made of them.
        """
        return self.classifier.predict(self._prepared(X))

    def predict_proba(self, X: Any) -> "np.ndarray":
        """g(x) of each new example: [n, c], the columns in the order of `classifier.classes`."""
        return self.classifier.predict_proba(self._prepared(X))

    def _prepared(self, X: Any) -> Any:
        from smallloss.record.run import data_of_run
        from smallloss.run.predict import as_features

        def dataset() -> "Dataset | None":
            known = self.result.dataset
            return data_of_run(self.folder) if known is None and self.folder is not None else known

        return as_features(self.classifier, X, dataset)


def load_run(run: str | Path) -> CleanRun:
    """A finished run, by its folder; what an audit made of it since is in it."""
    from smallloss.record.run import Run

    return CleanRun(Run.read(Path(run)), None, None, Path(run))


def clean(
    data: Annotated[Any, Arg("DATA", DATA)],
    out: Annotated[str | Path | None, Opt("FOLDER", "The run folder. The same command resumes a stopped run.",
        required=True, again=False)] = None,
    *,
    promise: Annotated[float, Opt("SHARE", PROMISED)] = PROMISE,
    label: Annotated[str | None, Opt("NAME", LABEL, "Data",
        again=False)] = None,
    labels: Annotated[str | Path | None, Opt("FILE", LABELS, "Data")] = None,
    features: Annotated[Any, Opt("FILE", "Features for the network to see instead of DATA: an .npy in its order, or an "
        ".npz or .parquet with ids.", "Data", Path)] = None,
    backbone: Annotated[Any, Opt("NAME", "Pretrained model that makes such features: photos, timm:NAME, hf:NAME, "
        "hf:FOLDER or module:function. If left out, photos where it is installed and pictures in files are large; or "
        "none.", "Data")] = None,
    corrections: Annotated[str | Path | None, Opt("FILE", "Answers by hand: the corrections.csv of an audit.", "Data",
        again=False)] = None,
    protocol: Annotated[str | None, Opt("NAME", "What validates in a benchmark: paper (a tenth, by true labels), "
        "honest (a tenth, by the labels as they are) or full (nothing).", "Data")] = None,
    noise_rate: Annotated[Any, Opt("RATE", f"{RATES} If left out, it is estimated.", "Noise", again=False)] = None,
    transition: Annotated[Any, Opt("FILE", TRANSITION, "Noise", Path, again=False)] = None,
    prior: Annotated[Any, Opt("NAME", PRIOR, "Noise")] = None,
    estimate: Annotated[bool, Opt("", "Estimate the noise rates even where they are known.", "Noise",
        again=False)] = False,
    noise: Annotated[str | None, Opt("KIND", f"Make labels wrong on purpose: {KINDS}, "
        "human:FILE@random1.", "Noise")] = None,
    method: Annotated[str, Opt("NAME", f"How to learn in spite of wrong labels: {', '.join(methods.names())}.",
        "Training")] = "rsl",
    loss: Annotated[str | None, Opt("NAME", "What stage 1 and the retraining on what is kept descend in place of cross "
        "entropy: mae, lq, forward, backward or elr.", "Training")] = None,
    ship: Annotated[str, Opt("WHICH", "Which classifier to leave behind: best (on the held-out part; a tie is the "
        "method's, if it got as many right as plain cross entropy) or method.", "Training")] = "best",
    relabel: Annotated[bool, Opt("", "Train on all labels once more, the likely wrong ones as suggested; shipped if "
        "best.", "Training")] = False,
    preset: Annotated[str | None, Opt("NAME", "Settings to start from: paper, fast (GPU) or cpu. If left out, by the "
        "hardware.", "Training")] = None,
    net: Annotated[Any, Opt("NAME", f"Network to train: {', '.join(nets.names())}. If left out, the preset's for "
        "pictures, mlp for anything else.", "Training")] = None,
    epochs: Annotated[int | None, Opt("N", "Epochs of every stage, instead of the preset's.", "Training")] = None,
    settings: Annotated[Mapping[str, Any] | None, Opt("NAME=VALUE", "Any other setting, such as stage1.lr=0.05 or "
        "beta=0.1; may be repeated.", "Training", list[str], flag="--set", read=pairs)] = None,
    seed: Annotated[int, Opt("N", "Seed of every random draw.", "Training", least=0)] = 0,
    device: Annotated[str, Opt("NAME", "auto, cpu or cuda.", "Machine")] = "auto",
    path: Annotated[str, Opt("NAME", "Where inputs are kept: resident (on the device), streaming (read batch by batch) "
        "or auto (by size).", "Machine")] = "auto",
    workers: Annotated[int, Opt("N", "Processes that read the batches of a streaming run.", "Machine", least=0)] = 0,
    deterministic: Annotated[bool, Opt("", "Repeatable bit for bit on a GPU; slower.", "Machine")] = False,
    progress: bool | None = False,
) -> CleanRun:  # fmt: skip
    """Train on the data, find the labels that are likely wrong, learn a classifier in spite of them, write a report.

    Beside what the command takes, in Python: data, whatever `sl.load` takes. features, an array. backbone and net, a
    torch module or a function that makes one. noise_rate, a number, {label: rate} or a vector in class order;
    transition, an array; prior, an array or {label: share}. settings, {"stage1.epochs": 20}. progress: None shows it on
    a terminal, True always.

    Where nothing is known of the noise, or with estimate=True, it is estimated. Corrections: what was answered wrong is
    never selected, but learnt with the true label that was given. Everything is written to `out`, and the same call
    goes on after an interruption.
    """
    asked = dict(locals())
    from smallloss.run.pipeline import start

    return start(asked)
