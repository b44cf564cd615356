"""Trained block classifiers as extractors, and extractors whose pages are parsed by another HTML parser."""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import with_threshold
from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.errors import UsageError, check_name
from blockml.extractors.extractor import Between, Extractor, Traits, parameter
from blockml.extractors.matrix import page_matrix, uses_site
from blockml.model import Model, score_page
from blockml.page import Page
from blockml.parsing import BACKENDS
from blockml.parsing.limits import ParsingOptions

if TYPE_CHECKING:
    from blockml.templates.site import SiteTemplate


@dataclass(eq=False, repr=False)
class TrainedExtractor(Extractor):
    """Scores blocks with a model.

    Parameters
    ----------
    model
        The model.
    threshold
        Replaces the model's own threshold, if given.
    template
        Template of the page's site, or the path of its file: used if the model has features of site pages.
    """

    name: ClassVar[str] = "supervised"
    traits: ClassVar[Traits] = Traits("Kim et al. 2013", needs_training=True, gives_probabilities=True)

    model: Model
    threshold: float | None = parameter(None, Between(0, 1, optional=True))
    template: SiteTemplate | str | os.PathLike[str] | None = None
    #: Measurements from :func:`blockml.train` if it adapted the model: a :class:`blockml.training.Adaptation`, or
    #: None.
    adaptation: Any = field(default=None, init=False)

    def used_models(self) -> tuple[Model, ...]:
        """Return the model."""
        return (self.model,)

    @property
    def gives_labels(self) -> bool:
        """Whether the model predicts block types."""
        return self.model.block_types is not None

    @property
    def uses_site(self) -> bool:
        """Whether the model has features of other pages of the site."""
        return uses_site(self.model.features)

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the template of a site from its pages, if the model has site features; the model does not change."""
        if self.uses_site:
            from blockml.templates.site import SiteTemplate

            self.template = SiteTemplate.learn(list(pages))
        return self

    @property
    def default_threshold(self) -> float:
        """Threshold of the model."""
        return self.model.policy.threshold

    @property
    def policy(self) -> DecisionPolicy:
        """Policy of the model, with :attr:`threshold` if that is given."""
        return self.model.policy if self.threshold is None else with_threshold(self.model.policy, self.threshold)

    def check(self) -> None:
        """Check model, threshold and template.

        Raises
        ------
        UsageError
            A value is not legal.
        """
        self._site()
        self._check_rest()

    def _site(self) -> SiteTemplate | None:
        """Return the template of the site, read from its file if necessary."""
        if self.template is None:
            return None
        from blockml.templates.site import loaded

        return loaded(self.template)

    def _check_rest(self) -> None:
        """Check model and threshold."""
        super().check()
        if not isinstance(self.model, Model):
            raise UsageError(f"parameter 'model' of {self.name} must be a loaded model, got {self.model!r}")

    @property
    def id(self) -> str:
        """Name and version of the model, with the threshold that replaces the model's, and the template in use."""
        settings = [] if self.threshold is None else [f"threshold={self.threshold:g}"]
        settings += [f"template={self.template}"] if self.template is not None and self.uses_site else []
        return f"{self.model.id} ({', '.join(settings)})" if settings else self.model.id

    @property
    def parsing(self) -> ParsingOptions:
        """Parsing options of the model's training pages."""
        return self.model.parsing

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the policy, (n_blocks,), with the page's own threshold at 0.5."""
        return self.decide(page).scores

    def predict(self, page: Page) -> Prediction:
        """Predict probabilities and block types; add a remark if too few pages of the site are known."""
        self._check_rest()
        template = self._site() if self.uses_site else None  # once: a file takes as long to read as a page
        prediction = score_page(self.model, page_matrix(page, self.model.features, template))
        if template is not None:
            from blockml.templates.frequency import FallbackReason, too_few

            template.check(page)
            if too_few(template.counts):
                return replace(prediction, remarks=(f"without site features: {FallbackReason.TOO_FEW_PAGES}",))
        return prediction


def _of_extractor(name: str) -> Any:  # noqa: ANN401 (stands for a method or property)
    """Return a property with the value, or the method, of the wrapped extractor."""
    return property(lambda wrapper: getattr(wrapper.extractor, name))


class ParsedBy(Extractor):
    """Extractor that gets pages from a different parser; everything else is delegated to the wrapped extractor.

    Parameters
    ----------
    extractor
        The extractor. A model predicts best on pages parsed like its training pages.
    backend
        Name of a parser: see :data:`blockml.parsing.BACKENDS`.

    Raises
    ------
    UnknownNameError
        There is no such parser.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import resolve
    >>> extractor = ParsedBy(resolve("plain"), "html5lib")
    >>> extractor.id, extractor.parsing.backend
    ('plain, parsed by html5lib', 'html5lib')
    """

    name: ClassVar[str] = "parsed-by"
    traits: ClassVar[Traits] = Traits("the extractor's")

    def __init__(self, extractor: Extractor, backend: str) -> None:
        check_name("backend", backend, BACKENDS)
        self.extractor = extractor
        self.rules = extractor.rules
        self.backend = backend

    @property
    def id(self) -> str:
        """Identifier of the extractor, with the parser."""
        return f"{self.extractor.id}, parsed by {self.backend}"

    @property
    def parsing(self) -> ParsingOptions:
        """Parsing options of the extractor, with the parser."""
        return replace(self.extractor.parsing, backend=self.backend)

    def at_page(self, page: Page) -> Extractor:
        """Return the extractor that the wrapped one uses for a page, with the parser."""
        chosen = self.extractor.at_page(page)
        return self if chosen is self.extractor else ParsedBy(chosen, self.backend)

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:
        """Return a wrapper around a copy of the extractor that has learned from pages of a site."""
        self.extractor = copy(self.extractor).fit(pages, labels)
        return self

    default_threshold = _of_extractor("effective_threshold")
    policy = _of_extractor("policy")
    uses_site = _of_extractor("uses_site")
    gives_labels = _of_extractor("gives_labels")
    used_models = _of_extractor("used_models")
    score = _of_extractor("score")
    predict = _of_extractor("predict")
    explain = _of_extractor("explain")
    curve = _of_extractor("curve")
