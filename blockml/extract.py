"""The pipeline of a page: parse, predict, decide, render.

``bytes → parse → Page → features.matrix → model.score_page → decide → Decision → render``
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import partial

from blockml.archives.suffixes import PAGE_FILES, pattern
from blockml.decision.decide import Decision, decide, with_threshold
from blockml.errors import UsageError
from blockml.extractors import Extractor
from blockml.extractors.base import HasExtractor
from blockml.extractors.registry import as_extractor
from blockml.metadata import page_metadata
from blockml.options import Options
from blockml.page import Extraction, Image, Page, Paragraph, Status
from blockml.page.lazy import Lazy
from blockml.page.page import Deferred
from blockml.parsing import Limits, parse
from blockml.parsing.decoding import Detector
from blockml.parsing.trees import ParserTree, is_tree, tree_bytes
from blockml.rendering.text import render_text

__all__ = ["extract", "extract_page", "extract_with"]

#: A ``str`` that is an address or the name of a page file, and no page.
_NO_PAGE = re.compile(rf"(https?://\S+)|[^<>\s]+{pattern(PAGE_FILES)}", re.IGNORECASE)


def extract(
    html: bytes | str | ParserTree,
    *,
    url: str | None = None,
    charset: str | None = None,
    model: str | os.PathLike[str] | Extractor | HasExtractor = "default",
    threshold: float | None = None,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    limits: Limits = Limits(),
    detector: Detector | None = None,
    backend: str | None = None,
) -> Extraction:
    """Extract the main content of a page.

    A bad page never raises; ``Extraction.status`` says how it ended.

    Parameters
    ----------
    html
        The page as bytes (best: the encoding is then found) or str; or a tree of lxml or a selector of parsel, which is
        written as HTML and parsed again: see :mod:`blockml.parsing.trees` on what is lost.
    url
        Where it came from; kept, not fetched.
    charset
        Encoding label of the transport (HTTP's Content-Type), if there is one.
    model
        Name of a released model or untrained method, path of a model file, ``module:Class`` of an extractor of one's
        own, any extractor, or a fitted :class:`blockml.estimators.BlockClassifier`. Load once with
        :func:`blockml.load` and pass the result when a model *file* is used for many pages.
    threshold
        Score from which on a block is kept, instead of the model's own: lower for recall, higher for precision.
    include
        Names of labels (:class:`~blockml.page.Label`) whose blocks are kept whatever they score.
    exclude
        Names of labels whose blocks are left out whatever they score.
    limits
        Bounds on bytes, nodes, blocks and depth.
    detector
        Guesses the encoding of bytes that declare none and are not UTF-8, instead of the detector of blockml.
    backend
        HTML parser (``lxml``, ``lexbor`` or ``html5lib``), instead of the one of the model's training pages.

    Raises
    ------
    UsageError
        ``html`` is neither bytes nor str nor a tree, or is an address or the name of a file; an option has no such
        value; or ``include`` or ``exclude`` is given and the extractor tells no labels.
    ModelError
        The model can't be used.

    Examples
    --------
    >>> import blockml
    >>> result = blockml.extract("<p>Nothing but one short line.</p>", model="kim2013")
    >>> result.status, len(result.scores), 0 <= result.confidence <= 1
    (<Status.NO_CONTENT: 'no_content'>, 1, True)
    """
    options = Options(
        threshold=threshold, include=include, exclude=exclude, limits=limits, backend=backend, detector=detector
    )
    return extract_with(options, options.adapted(as_extractor(model)), html, url=url, charset=charset)


def extract_with(
    options: Options, extractor: Extractor, html: bytes | str | ParserTree, *, url: str | None, charset: str | None
) -> Extraction:
    """Extract the main content of a page with an extractor that the options have adapted; see :func:`extract`."""
    if isinstance(html, str) and (match := _NO_PAGE.fullmatch(html)):
        what = "an address; fetch the page and pass its bytes" if match[1] else "the name of a file; pass its bytes"
        raise UsageError(f"html must be a page, but {html!r} is {what}")
    if not isinstance(html, bytes | bytearray | memoryview | str):
        if not is_tree(html):
            raise UsageError(f"html must be bytes, str, a tree of lxml or a selector, got {type(html).__name__}")
        html, charset = tree_bytes(html), "utf-8"
    parsing = extractor.parsing.options()
    page = parse(html, url=url, charset=charset, limits=options.limits, detector=options.detector, **parsing)
    return extract_page(page, extractor, options)


def extract_page(page: Page, extractor: Extractor, options: Options = Options()) -> Extraction:  # noqa: B008 (frozen)
    """Extract the main content of a page that is parsed already, by the options that concern the decision."""
    extractor = extractor.at_page(page)
    included, excluded = options.labels(extractor)
    policy = with_threshold(extractor.policy, options.threshold)
    prediction = extractor.predict(page)
    decision = decide(policy, page, prediction, include=included, exclude=excluded)
    status = page.status
    if status is Status.OK and not decision.kept.any():
        status = Status.NO_CONTENT
    deferred = Deferred(metadata=Lazy(partial(page_metadata, page)))
    deferred.paragraphs = Lazy(partial(_paragraphs, page, decision, deferred.warnings, removed=False))
    deferred.removed = Lazy(partial(_paragraphs, page, decision, deferred.warnings, removed=True))
    deferred.images = Lazy(partial(_images, page, decision, deferred.warnings))
    return Extraction(
        status=status,
        text=render_text(page, decision.kept),
        page=page,
        probabilities=decision.probabilities,
        scores=decision.scores,
        kept=decision.kept,
        reasons=decision.reasons,
        confidence=decision.confidence,
        model=extractor.id,
        article_probability=prediction.p_article,
        remarks=prediction.remarks,
        labels=decision.labels,
        _deferred=deferred,
    )


def _paragraphs(page: Page, decision: Decision, warnings: dict[str, None], *, removed: bool) -> tuple[Paragraph, ...]:
    """Group the kept or the removed blocks into paragraphs; the modules are imported when somebody asks for it."""
    from blockml.rendering.bounds import Budget
    from blockml.rendering.paragraphs import find_paragraphs

    budget = Budget(page)
    found = find_paragraphs(page, decision.kept, decision.scores, decision.labels, removed=removed, budget=budget)
    warnings.update(dict.fromkeys(budget.warnings))
    return found


def _images(page: Page, decision: Decision, warnings: dict[str, None]) -> tuple[Image, ...]:
    """Find the pictures of the content; the modules are imported when somebody asks for it."""
    from blockml.rendering.bounds import Budget
    from blockml.rendering.pictures import find_images

    budget = Budget(page)
    found = find_images(page, decision.kept, budget=budget)
    warnings.update(dict.fromkeys(budget.warnings))
    return found
