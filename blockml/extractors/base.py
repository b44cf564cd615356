"""The contract of every extractor: pages in, one score per block out."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError
from blockml.modelfile import Parsing
from blockml.page import Page

__all__ = ["Extractor", "Traits"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What an extractor needs and gives."""

    needs_training: bool
    """Labels are needed before it can score."""
    needs_siblings: bool
    """Other pages of the same site are needed."""
    gives_probabilities: bool
    """Scores are estimated probabilities; else they only rank, or are 0 and 1."""
    source: str
    """Where the algorithm was published."""


class Extractor(ABC):
    """Scores the blocks of a page.

    A constructor stores its keyword arguments under their names and does nothing else, so that
    ``get_params`` and ``set_params`` work, and with them scikit-learn's ``clone`` and ``GridSearchCV``.
    """

    traits: ClassVar[Traits]
    threshold: float | None = None
    """Score from which on a block is kept; None for :attr:`default_threshold`."""

    @property
    def default_threshold(self) -> float:
        """Threshold that the method comes with."""
        return 0.5

    @property
    @abstractmethod
    def id(self) -> str:
        """Name and version, as results carry it."""

    @property
    def parsing(self) -> Parsing:
        """How it wants its pages parsed."""
        return Parsing()

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn from pages; nothing to learn unless a subclass says so."""
        return self

    @abstractmethod
    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block: (n_blocks,) in [0, 1], higher for content."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 (scikit-learn's signature)
        """Arguments of the constructor by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:  # noqa: ANN401 (scikit-learn's signature)
        """Change arguments of the constructor.

        Raises
        ------
        UnknownNameError
            No such parameter.
        """
        for name, value in parameters.items():
            if name not in self._parameter_names():
                raise UnknownNameError("parameter", name, self._parameter_names())
            setattr(self, name, value)
        return self
