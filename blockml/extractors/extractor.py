"""Base class of extractors, the curve of methods that read from start to end, and the extractor of all text."""

from __future__ import annotations

import functools
import inspect
import numbers
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Decision, decide
from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.errors import UsageError, check_name
from blockml.model import Model
from blockml.page import Page
from blockml.parsing.limits import ParsingOptions

if TYPE_CHECKING:
    from blockml.rules import AnyRules


@dataclass(frozen=True, slots=True)
class Between:
    """Range of legal values of a numeric parameter, including both ends."""

    low: float
    high: float
    whole: bool = False  #: Whether it must be a whole number.
    optional: bool = False  #: Whether None is legal too.

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if self.whole else numbers.Real):
            return False
        return bool(value <= self.high) and not value < self.low  # no float, because it could be too large for one

    def __str__(self) -> str:
        kind = f"{'None or ' if self.optional else ''}a {'whole ' if self.whole else ''}number"
        return f"{kind} from {self.low:g} to {self.high:g}"


#: Legal values of a parameter: a range, or a tuple of all of them.
Legal: TypeAlias = Between | tuple[object, ...]


def parameter(default: Any, legal: Legal | None = None) -> Any:  # noqa: ANN401 (any parameter)
    """Declare a parameter of an extractor, a field of a dataclass: its default, and its legal values if limited."""
    if isinstance(default, bool):
        legal = (True, False)
    return field(default=default, metadata={} if legal is None else {"legal": legal})


@functools.cache
def _defaults(kind: type) -> Mapping[str, Any]:
    """Return the defaults of the parameters of a class by name."""
    return {name: item.default for name, item in inspect.signature(kind).parameters.items()}


@functools.cache
def _legal_values(kind: type) -> Mapping[str, Legal]:
    """Return the legal values of the parameters of a dataclass by name."""
    declared = fields(kind) if is_dataclass(kind) else ()
    return {item.name: item.metadata["legal"] for item in declared if "legal" in item.metadata}


@dataclass(frozen=True, slots=True)
class Traits:
    """Requirements and kind of output of an extractor."""

    source: str  #: Publication of the algorithm.
    needs_training: bool = False  #: Labelled pages are needed before it can score.
    #: Learns from other pages of the same site (:meth:`Extractor.fit`), and has a fallback without them.
    uses_site: bool = False
    #: Scores are estimated probabilities; otherwise they only rank blocks, or are 0 and 1.
    gives_probabilities: bool = False


class Extractor(ABC):
    """Scores the blocks of a page.

    A subclass has a class attribute ``name`` and defines :meth:`score`; all other methods have a default. One that
    learns from pages of a site defines :meth:`fit` too, and :meth:`explain` says why a block has its score. A subclass
    is a dataclass whose fields are its parameters (see :func:`parameter`), or has a constructor that only stores its
    arguments under their names. This makes ``get_params`` and ``set_params`` work, and scikit-learn's ``clone`` and
    ``GridSearchCV`` with them.

    Examples
    --------
    >>> import blockml
    >>> class LongBlocks(Extractor):
    ...     name = "long-blocks"
    ...     def score(self, page):
    ...         return (page.blocks.n_words > 2).astype(np.float32)
    >>> blockml.extract("<a href=/>Home</a><p>Cats rule the world.</p>", model=LongBlocks()).text.strip()
    'Cats rule the world.'
    """

    name: ClassVar[str]  #: Public name.
    traits: ClassVar[Traits] = Traits(source="")
    rules: AnyRules | None = None  #: Rules by site that every extraction applies.
    threshold: float | None = None  #: Minimum score to keep a block; None for :attr:`default_threshold`.

    @property
    def legal(self) -> Mapping[str, Legal]:
        """Legal values of parameters by name; others are checked by :meth:`check`, or can have any value."""
        return _legal_values(type(self))

    @property
    def default_threshold(self) -> float:
        """Default threshold of the method."""
        return 0.5

    @property
    def effective_threshold(self) -> float:
        """:attr:`threshold`, or :attr:`default_threshold` if that is None."""
        return self.default_threshold if self.threshold is None else self.threshold

    @property
    def uses_site(self) -> bool:
        """Whether :meth:`fit` on other pages of the site changes anything."""
        return self.traits.uses_site

    @property
    def gives_labels(self) -> bool:
        """Whether predictions have block labels."""
        return False

    @property
    def id(self) -> str:
        """Name, with the parameters that differ from their defaults; part of results."""
        defaults = _defaults(type(self))
        changed = [f"{name}={value}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    @property
    def parsing(self) -> ParsingOptions:
        """Options that pages have to be parsed with."""
        return ParsingOptions()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def used_models(self) -> Sequence[Model]:
        """Return the models that the extractor uses; they may be retrained under the same name."""
        return ()

    def at_page(self, page: Page) -> Extractor:  # noqa: ARG002 (for extractors that choose another one by page)
        """Return the extractor to use for a page; the extraction has its id. It is this one, unless it routes pages."""
        return self

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the interface's signature)
        """Learn from pages of a site. Extractors that cannot learn ignore them."""
        return self

    @abstractmethod
    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block: (n_blocks,) in [0, 1], higher for content.

        Raises
        ------
        UsageError
            The value of a parameter is not legal.
        """

    def explain(self, page: Page) -> tuple[str, ...]:
        """Explain the score of each block that needs an explanation; texts of the others are empty."""
        return ("",) * len(page.blocks)

    def predict(self, page: Page) -> Prediction:
        """Score each block, with remarks about the page.

        Raises
        ------
        UsageError
            The value of a parameter is not legal.
        """
        return Prediction(self.score(page))

    @property
    def policy(self) -> DecisionPolicy:
        """Policy that turns predictions into decisions: by default, one with :attr:`effective_threshold`."""
        return DecisionPolicy(threshold=self.effective_threshold)

    def decide(self, page: Page, prediction: Prediction | None = None) -> Decision:
        """Decide which blocks of a page are kept.

        Parameters
        ----------
        page
            The parsed page.
        prediction
            Result of :meth:`predict` for it, if already computed.
        """
        return decide(self.policy, page, self.predict(page) if prediction is None else prediction)

    def curve(self, page: Page) -> PageCurve | None:  # noqa: ARG002 (for methods that read a page from start to end)
        """Return the curve along the page that the decision is based on, for plots; None for methods without one."""
        return None

    def check(self) -> None:
        """Check the parameters.

        Raises
        ------
        UsageError
            A value is not legal.
        """
        for name, legal in self.legal.items():
            value = getattr(self, name)
            if isinstance(legal, Between):
                fits = value in legal
            else:  # 1 is not True here
                fits = any(type(value) is type(item) and value == item for item in legal)
            if not fits:
                wanted = legal if isinstance(legal, Between) else "one of " + ", ".join(str(item) for item in legal)
                raise UsageError(f"parameter {name!r} of {self.name} must be {wanted}, got {reprlib.repr(value)}")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 (scikit-learn's)
        """Return the tags that scikit-learn's model selection reads."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(_defaults(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 (scikit-learn's signature)
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:  # noqa: ANN401 (scikit-learn's signature)
        """Change parameters; none is changed if one is not legal.

        Raises
        ------
        UnknownNameError
            There is no parameter with that name.
        UsageError
            A value is not legal.
        """
        for name in parameters:
            check_name("parameter", name, self._parameter_names())
        before = {name: getattr(self, name) for name in parameters}
        vars(self).update(parameters)
        try:
            self.check()
        except UsageError:
            vars(self).update(before)
            raise
        return self


@runtime_checkable
class HasExtractor(Protocol):
    """A fitted estimator that holds an extractor, such as :class:`blockml.estimators.BlockClassifier`."""

    extractor_: Extractor


class Plain(Extractor):
    """Keeps every block.

    Examples
    --------
    >>> import blockml
    >>> blockml.extract("<p>One</p><p>Two</p>", model=Plain()).text.split()
    ['One', 'Two']
    """

    name: ClassVar[str] = "plain"
    traits: ClassVar[Traits] = Traits("Gottron 2008")

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block 1."""
        return np.ones(len(page.blocks), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PageCurve:
    """A page as ``n`` entries (characters or tokens), with the curve that the decision is based on."""

    unit: str  #: Plural name of the entries
    is_content: NDArray[np.bool_]  #: (n,) whether an entry is content; else it is code
    name: str  #: Name of the curve
    values: NDArray[np.float64]  #: (n,) the curve, in [0, 1]
    threshold: float  #: Threshold of the curve
    keeps_above: bool  #: Whether text at or above the threshold is kept; else at or below
    block: NDArray[np.int32]  #: (n,) block of an entry; −1 for code and for text outside of blocks
    facts: Mapping[str, str] = field(default_factory=dict)  #: Parameters and results in words
    #: (n,) non-decreasing curve, such as the document slope curve, as a share of its last value; None without one
    total: NDArray[np.float64] | None = None
    total_name: str = ""  #: Name of that curve
