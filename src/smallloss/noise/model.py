"""`NoiseModel`: what is known of the noise, told by the user, drawn on purpose, estimated or answered for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from smallloss.criterion.labels import by_class
from smallloss.criterion.transition import noise_rate as rates_from_transition
from smallloss.criterion.transition import prior_from_labels, validate
from smallloss.errors import InputError
from smallloss.noise.answers import Interval
from smallloss.words import one_line, percent

Source = Literal["unknown", "given", "drawn", "estimated", "audited"]
SHOWN = 5
_DIGITS = 12  # of a noise rate
_TOLD = ("noise_rate", "transition", "prior", "upper")  # what a user may say, as config.json repeats it


@dataclass(frozen=True, eq=False, kw_only=True)
class NoiseModel:
    """noise_rate[k], the share of wrong ones among the examples labelled k; transition, of which rows are true classes.

    Vectors are in the order of the classes, and None where nobody knows them; a single number is that of every class.
    An estimate has all of them, and they agree through the bridge η_k = 1 - p_k T_kk / sum_i p_i T_ik.
    """

    classes: Sequence[Any] = ()
    noise_rate: Any = None
    low: Any = None  # ends of the `level` interval
    high: Any = None
    upper: Any = None  # of the best guess and its sampling error alone (80 %): what a selection stays below
    transition: Any = None
    prior: Any = None  # the true class distribution
    contradicted: Any = None  # M_k of an estimate
    differ: Any = None  # d_k; None where no example was predicted twice
    sure: Any = None  # s_k
    overall: Interval | None = None  # the rate of all labels together
    tells_nothing: bool = False  # the predictions agree with the labels no more than chance would
    evidence: str = ""
    notes: Sequence[str] = ()
    level: float = 0.9
    source: Source = "unknown"
    sampled: int = 0  # answers at random, after an audit
    drawn: str | None = None  # "structured:0.3", where labels were made wrong on purpose
    towards: Any = None  # the prior that was given beside an estimate: classes are balanced towards it
    probabilities: np.ndarray | None = None  # out of sample (networks, n, classes), where a run has estimated by them
    told: Mapping[str, Any] = field(default_factory=dict)  # in the user's own words: labels are names

    @classmethod
    def given(
        cls, classes: Sequence[Any], noise_rate: Any = None, transition: Any = None, prior: Any = None,
        upper: Any = None,
    ) -> "NoiseModel":  # fmt: skip
        """As a user says it: a rate for all, {label: rate} or a vector; T; a prior, {label: share} or "uniform"."""
        if noise_rate is not None and transition is not None:
            raise InputError("noise_rate and transition both say how many labels are wrong: give one of them.")
        names, notes = list(classes), list[str]()
        told = dict(zip(_TOLD, (noise_rate, transition, prior, upper), strict=True))
        if transition is not None:
            transition = validate(transition)
            if len(transition) != len(names):
                raise InputError(f"transition is for {len(transition)} classes, but the labels have {len(names)}.")
        return cls(
            classes=names,
            prior=_prior(prior, names, notes),
            noise_rate=by_class("noise_rate", noise_rate, names, notes),
            upper=by_class("upper", upper, names, notes),
            transition=transition,
            notes=notes,
            source="unknown" if noise_rate is None and transition is None else "given",
            told=told,
        )

    @classmethod
    def read(cls, told: Mapping[str, Any], estimate: Mapping[str, Any] | None, classes: Sequence[Any]) -> "NoiseModel":
        """What config.json says of the noise, and estimate.json, where there is one."""
        said = cls.given(classes, **{name: told.get(name) for name in _TOLD})
        if estimate is None:
            return replace(said, drawn=told.get("drawn"), source="drawn" if told.get("drawn") else said.source)
        vectors = {k: np.array(v) for k, v in estimate.items() if isinstance(v, list) and k not in ("classes", "notes")}
        more: dict[str, Any] = {
            "classes": list(classes),
            "overall": Interval(*estimate["overall"]),
            "source": "estimated",
        }
        return cls(**dict(estimate) | vectors | more, towards=said.prior, drawn=told.get("drawn"), told=said.told)

    @property
    def is_known(self) -> bool:
        return self.noise_rate is not None or self.transition is not None

    @property
    def is_estimated(self) -> bool:
        return self.source == "estimated"

    def without_rates(self) -> "NoiseModel":
        """What is left of it where rates are to be estimated."""
        told = {"prior": self.told.get("prior")}
        return NoiseModel(classes=self.classes, prior=self.prior, notes=self.notes, drawn=self.drawn, told=told)

    def beside(self, found: "NoiseModel") -> "NoiseModel":
        """An estimate, and what is told beside it: classes are balanced towards a prior given."""
        return replace(found, towards=self.prior, notes=[*found.notes, *self.notes], drawn=self.drawn, told=self.told)

    def of(self, codes: np.ndarray) -> "NoiseModel":
        """The same of examples that carry these labels: where only T was said, the rates and the prior by it."""
        notes, rate, T = list(self.notes), self.noise_rate, self.transition
        prior = self.prior if self.towards is None else self.towards
        if rate is None and T is None:
            raise InputError(
                "The noise rate is not known: give noise_rate= (share of wrong labels), transition=, or out-of-sample "
                "probabilities=, from which it is estimated."
            )
        if prior is None and T is not None:
            prior = prior_from_labels(T, np.bincount(codes, minlength=len(T)))
        elif prior is None:
            notes.append("The prior is unknown (how frequent the true classes are), so the classes are not balanced.")
        if rate is None:
            # A class that T and the counts leave without a right label has rate 1: nothing of it is kept, and that is
            # said, but it must not end the run. Sums of T leave an error in the last digit, which truncation shows:
            # the authors' counts come out without it.
            rate = np.minimum(np.round(rates_from_transition(T, prior), _DIGITS), np.nextafter(1.0, 0.0))
        return replace(self, noise_rate=rate, prior=prior, notes=notes)

    def joint(self, prior: np.ndarray | None = None) -> np.ndarray | None:
        """P(true i, label k); None where no T is known."""
        p = self.prior if prior is None else prior
        return None if self.transition is None or p is None else p[:, None] * self.transition

    def as_told(self) -> dict[str, Any]:
        """As config.json says it: names, numbers and mappings stay what they are, arrays become lists."""
        said = {name: self.told.get(name) for name in _TOLD}
        return {"drawn": self.drawn} | {
            name: value if isinstance(value, str | Mapping | None) else np.asarray(value).tolist()
            for name, value in said.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """All of an estimate, ready for JSON."""
        return {name: one.tolist() if isinstance(one := getattr(self, name), np.ndarray) else one for name in _SAVED}

    def __repr__(self) -> str:
        if not self.is_estimated:
            what = "T" if self.transition is not None else "rates" if self.is_known else "nothing"
            return f"<NoiseModel of {len(self.classes):,} classes: {what} {self.source}>"
        noisiest = np.argsort(-self.noise_rate, kind="stable")[:SHOWN]
        ends = [[percent(one[k], 0) for one in (self.noise_rate, self.low, self.high)] for k in noisiest]
        said = [
            f"{one_line(str(self.classes[k]))} {a} ({b} to {c})" for k, (a, b, c) in zip(noisiest, ends, strict=True)
        ]
        rest = [f"{len(self.classes) - SHOWN:,} more with smaller rates"] if len(self.classes) > SHOWN else []
        return f"<Estimate of noise rates, {percent(self.level, 0)} intervals: {', '.join(said + rest)}>"


_SAVED = [item.name for item in fields(NoiseModel)][: [item.name for item in fields(NoiseModel)].index("source")]


def _prior(prior: Any, names: list[Any], notes: list[str]) -> np.ndarray | None:
    """p of each class; Eq. 2 only knows ratios: the share of a class that no example carries goes to the others."""
    if prior is None:
        return None
    if isinstance(prior, str):
        if prior != "uniform":
            raise InputError(f'prior is {prior!r}: the only word for it is "uniform".')
        return np.full(len(names), 1 / len(names))
    shares = np.asarray(by_class("prior", prior, names, notes), np.float64)
    if hasattr(prior, "items") and shares.sum() > 0:
        shares *= sum(share for _, share in prior.items()) / shares.sum()
    return shares
