"""`smallloss report`: the page of a run anew, or table, verdict and page of losses recorded in anybody's loop."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from smallloss.errors import InputError
from smallloss.knobs import Arg, Opt
from smallloss.noise.answers import PROMISE
from smallloss.run.clean import LABEL, LABELS, PRIOR, PROMISED, RATES, TRANSITION

if TYPE_CHECKING:
    from smallloss.record.run import Run

RECORDED = "A run folder, or the .npz that LossLedger.save wrote."
OF = "What the losses were recorded of; of a run folder, its DATA, if that has moved."
PROBABILITIES = (
    "An .npy of probabilities out of sample, (n, classes) or (networks, n, classes), from which the rates are "
    "estimated."
)


def report(
    recorded: Annotated[str | Path, Arg("RUN", RECORDED)],
    out: Annotated[str | Path | None, Opt("FOLDER", "The run folder to write, for a ledger.")] = None,
    *,
    data: Annotated[Any, Opt("DATA", OF)] = None,
    label: Annotated[str | None, Opt("NAME", LABEL)] = None,
    labels: Annotated[str | Path | None, Opt("FILE", LABELS)] = None,
    probabilities: Annotated[str | Path | None, Opt("FILE", PROBABILITIES)] = None,
    noise_rate: Annotated[Any, Opt("RATE", f"{RATES} If left out, it is estimated.")] = None,
    transition: Annotated[Any, Opt("FILE", TRANSITION, kind=Path)] = None,
    prior: Annotated[Any, Opt("NAME", PRIOR)] = None,
    promise: Annotated[float | None, Opt("SHARE", f"{PROMISED} {PROMISE}, if left out.")] = None,
) -> "Run":  # fmt: skip
    """Write the page of a run anew; or a run folder of losses that were recorded in a training loop of your own."""
    asked = dict(locals())
    from smallloss.run.recorded import of_ledger, page_anew

    if Path(recorded).is_dir():
        for name in ("out", "probabilities", "noise_rate", "transition", "prior", "promise"):
            if asked[name] is not None:
                option = name.replace("_", "-")
                raise InputError(f"--{option} goes with a ledger; {recorded} is a run, whose page is written anew.")
        return page_anew(Path(recorded), data, label, labels)
    if data is None or out is None:
        raise InputError(
            f"{recorded} is no run folder. If it is a ledger, say what its losses were recorded of and where to write: "
            "--data DATA --out RUN."
        )
    return of_ledger(asked | {"promise": PROMISE if promise is None else promise})
