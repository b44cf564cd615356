"""The contract of every extractor: pages in, one score per block out."""

from __future__ import annotations

import inspect
import numbers
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Decision, Prediction, decide
from blockml.decision.policy import DecisionPolicy
from blockml.errors import UnknownNameError, UsageError
from blockml.page import Page
from blockml.parsing.options import ParsingOptions

__all__ = ["Between", "Extractor", "Prediction", "Traits"]


@dataclass(frozen=True, slots=True)
class Between:
    """Legal values of a numeric parameter, both ends included."""

    low: float
    high: float
    whole: bool = False
    """Whether it must be a whole number."""
    optional: bool = False
    """Whether None is legal too."""

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if self.whole else numbers.Real):
            return False
        return self.low <= float(value) <= self.high

    def __str__(self) -> str:
        kind = f"{'None or ' if self.optional else ''}a {'whole ' if self.whole else ''}number"
        return f"{kind} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Traits:
    """What an extractor needs and gives."""

    needs_training: bool
    """Labels are needed before it can score."""
    uses_siblings: bool
    """It learns from other pages of the same site (:meth:`Extractor.fit`), and does without where there are none."""
    gives_probabilities: bool
    """Scores are estimated probabilities; else they only rank, or are 0 and 1."""
    source: str
    """Where the algorithm was published."""


class Extractor(ABC):
    """Scores the blocks of a page.

    A constructor stores its keyword arguments under their names and does nothing else, so that
    ``get_params`` and ``set_params`` work, and with them scikit-learn's ``clone`` and ``GridSearchCV``.
    """

    name: ClassVar[str]
    """Public name."""
    traits: ClassVar[Traits]
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = {}
    """Legal values of the constructor's arguments: a range, or all there are."""
    threshold: float | None = None
    """Score from which on a block is kept; None for :attr:`default_threshold`."""

    @property
    def default_threshold(self) -> float:
        """Threshold that the method comes with."""
        return 0.5

    @property
    def effective_threshold(self) -> float:
        """:attr:`threshold`, or :attr:`default_threshold` where that is None."""
        return self.default_threshold if self.threshold is None else self.threshold

    @property
    def uses_siblings(self) -> bool:
        """Whether :meth:`fit` on other pages of the site changes anything."""
        return self.traits.uses_siblings

    @property
    def gives_labels(self) -> bool:
        """Whether :meth:`judge` tells labels of blocks."""
        return False

    @property
    def id(self) -> str:
        """Name, and arguments that are not the default, as results carry it."""
        defaults = {name: item.default for name, item in inspect.signature(type(self)).parameters.items()}
        changed = [f"{name}={value}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    @property
    def parsing(self) -> ParsingOptions:
        """How it wants its pages parsed."""
        return ParsingOptions()

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn from pages; nothing to learn unless a subclass says so."""
        return self

    @abstractmethod
    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block: (n_blocks,) in [0, 1], higher for content.

        Raises
        ------
        UsageError
            An argument of the constructor is no legal value.
        """

    def explain(self, page: Page) -> tuple[str, ...]:
        """Tell for each block why it scores so, where the score alone doesn't tell; else empty texts."""
        return ("",) * len(page.blocks)

    def predict(self, page: Page) -> Prediction:
        """Score each block, and tell what is odd about it.

        Raises
        ------
        UsageError
            An argument of the constructor is no legal value.
        """
        return Prediction(self.score(page))

    @property
    def policy(self) -> DecisionPolicy:
        """How its predictions become decisions: by :attr:`effective_threshold`, unless a subclass says otherwise."""
        return DecisionPolicy(threshold=self.effective_threshold)

    def decide(self, page: Page, prediction: Prediction | None = None) -> Decision:
        """Decide which blocks of a page are kept.

        Parameters
        ----------
        page
            The parsed page.
        prediction
            What :meth:`predict` gave for it, if it is there already.
        """
        return decide(self.policy, page, self.predict(page) if prediction is None else prediction)

    def check(self) -> None:
        """Check the arguments of the constructor, which only stores them.

        Raises
        ------
        UsageError
            One is no legal value.
        """
        for name, legal in self.legal.items():
            value = getattr(self, name)
            if isinstance(legal, Between):
                fits = value in legal
            else:  # 1 is not True here
                fits = any(type(value) is type(item) and value == item for item in legal)
            if not fits:
                wanted = legal if isinstance(legal, Between) else "one of " + ", ".join(str(item) for item in legal)
                raise UsageError(f"parameter {name!r} of {self.name} is {wanted}, not {reprlib.repr(value)}")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn's)
        """What scikit-learn's model selection asks for."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

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
        UsageError
            No such value of it.
        """
        for name in parameters:
            if name not in self._parameter_names():
                raise UnknownNameError("parameter", name, self._parameter_names())
        before = {name: getattr(self, name) for name in parameters}
        try:
            self._set(parameters)
            self.check()
        except UsageError:
            self._set(before)
            raise
        return self

    def _set(self, parameters: Mapping[str, Any]) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)
