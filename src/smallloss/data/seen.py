"""How the examples of a run became what its network sees: all that new ones need, to be made alike."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from smallloss.data.dataset import Dataset


@dataclass(frozen=True)
class Seen:
    """The facts of a dataset that its model file carries.

    `in_shape` is what the network takes. `featured`: that is features which somebody gave, or a backbone made; `came`
    is one example before that, (channels, height, width) of a picture. `notes` say how it became what is seen.
    """

    classes: tuple[str, ...]
    kind: str
    in_shape: tuple[int, ...]
    came: tuple[int, ...]
    featured: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    white: float | None = None
    values: tuple[Any, ...] | None = None  # the classes as the labels came, where those were no texts
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: Dataset) -> "Seen":
        _, *shape = dataset.as_they_came.shape
        return cls(
            classes=dataset.classes,
            kind=dataset.kind,
            in_shape=dataset.in_shape,
            came=(shape[2], shape[0], shape[1]) if dataset.as_they_came.ndim == 4 else tuple(shape),
            featured=dataset.original is not None,
            mean=tuple(dataset.mean.tolist()),
            std=tuple(dataset.std.tolist()),
            white=dataset.white,
            values=dataset.values,
            notes=dataset.notes if dataset.original is None else dataset.notes[-1:],
        )

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> "Seen":
        """Take back what `to_dict` gave, through JSON."""
        given = ((item.name, facts[item.name]) for item in fields(cls))
        known: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in given}
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_image(self) -> bool:
        return len(self.in_shape) == 3

    def are_features(self, X: np.ndarray) -> bool:
        """Is it what the network takes, where that is features?"""
        return not self.is_image and X.dtype.kind in "buif" and X.shape[1:] == self.in_shape
