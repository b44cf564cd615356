"""An extractor whose pages are parsed by a different HTML parser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.errors import check_name
from blockml.extractors.base import Extractor, Traits
from blockml.extractors.page_curve import PageCurve
from blockml.model import Model
from blockml.page import Page
from blockml.parsing import BACKENDS
from blockml.parsing.options import ParsingOptions


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

    def used_models(self) -> Sequence[Model]:
        """Return the models of the extractor."""
        return self.extractor.used_models()

    def at_page(self, page: Page) -> Extractor:
        """Return the extractor that the wrapped one uses for a page, with the parser."""
        chosen = self.extractor.at_page(page)
        return self if chosen is self.extractor else ParsedBy(chosen, self.backend)

    @property
    def default_threshold(self) -> float:
        """Threshold of the extractor."""
        return self.extractor.effective_threshold

    @property
    def policy(self) -> DecisionPolicy:
        """Policy of the extractor."""
        return self.extractor.policy

    @property
    def uses_site(self) -> bool:
        """Whether the extractor learns from pages of the site."""
        return self.extractor.uses_site

    @property
    def gives_labels(self) -> bool:
        """Whether the extractor has labels."""
        return self.extractor.gives_labels

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:
        """Return a wrapper around a copy of the extractor that has learned from pages of a site."""
        self.extractor = copy(self.extractor).fit(pages, labels)
        return self

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score with the wrapped extractor."""
        return self.extractor.score(page)

    def predict(self, page: Page) -> Prediction:
        """Predict with the wrapped extractor."""
        return self.extractor.predict(page)

    def explain(self, page: Page) -> tuple[str, ...]:
        """Return the explanation of the extractor."""
        return self.extractor.explain(page)

    def curve(self, page: Page) -> PageCurve | None:
        """Return the curve of the extractor."""
        return self.extractor.curve(page)
