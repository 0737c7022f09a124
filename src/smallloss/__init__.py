"""smallloss: wrong labels from the losses of an ordinary training run, and a good classifier in spite of them.

Nothing heavy is imported until it is used: `import smallloss` never loads torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "LossLedger": "smallloss.criterion.ledger",
    "Selection": "smallloss.criterion.selection",
    "select": "smallloss.noise.choose",
    "estimate": "smallloss.noise.estimate",  # noise rates that nobody knows
    "check": "smallloss.noise.verdict",
    "Judgement": "smallloss.noise.verdict",
    "corrupt": "smallloss.criterion.corrupt",
    "transition": "smallloss.criterion.transition",  # the module: transition.uniform(0.5, 10), ...
    "losses": "smallloss.engine.losses",  # the module: losses.forward(logits, labels, T), ...
    "Dataset": "smallloss.data.dataset",
    "load": "smallloss.data.source",
    "clean": "smallloss.run.clean",
    "CleanRun": "smallloss.run.clean",
    "load_run": "smallloss.run.clean",
    "Classifier": "smallloss.engine.classifier",
    "load_classifier": "smallloss.engine.classifier",
    "predict": "smallloss.run.predict",
    "audit": "smallloss.auditing.session",
    "read_back": "smallloss.auditing.session",
    "export": "smallloss.exporting.export",
    "RSLClassifier": "smallloss.integrations.scikit_learn",
    "InputError": "smallloss.errors",
    "SmallLossError": "smallloss.errors",
}
__all__ = [*_HOMES, "__version__"]

if TYPE_CHECKING:
    from smallloss.auditing.session import audit as audit
    from smallloss.auditing.session import read_back as read_back
    from smallloss.criterion import transition as transition
    from smallloss.criterion.corrupt import corrupt as corrupt
    from smallloss.criterion.ledger import LossLedger as LossLedger
    from smallloss.criterion.selection import Selection as Selection
    from smallloss.data.dataset import Dataset as Dataset
    from smallloss.data.source import load as load
    from smallloss.engine import losses as losses
    from smallloss.engine.classifier import Classifier as Classifier
    from smallloss.engine.classifier import load_classifier as load_classifier
    from smallloss.errors import InputError as InputError
    from smallloss.errors import SmallLossError as SmallLossError
    from smallloss.exporting.export import export as export
    from smallloss.integrations.scikit_learn import RSLClassifier as RSLClassifier
    from smallloss.noise.choose import select as select
    from smallloss.noise.estimate import estimate as estimate
    from smallloss.noise.verdict import Judgement as Judgement
    from smallloss.noise.verdict import check as check
    from smallloss.run.clean import CleanRun as CleanRun
    from smallloss.run.clean import clean as clean
    from smallloss.run.clean import load_run as load_run
    from smallloss.run.predict import predict as predict


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'smallloss' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = getattr(home, name, home)  # a module is its own home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
