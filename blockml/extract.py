"""The route of a page: parse, score, decide, render."""

from __future__ import annotations

import os
from dataclasses import asdict

import numpy as np

from blockml.decision import confidence, decide
from blockml.extractors import Extractor, resolve
from blockml.page import Extraction, Page, Status
from blockml.parsing import Limits, parse
from blockml.parsing.decoding import Detector
from blockml.rendering.text import render_text

__all__ = ["extract", "extract_page"]


def extract(
    html: bytes | str,
    *,
    url: str | None = None,
    charset: str | None = None,
    model: str | os.PathLike[str] | Extractor = "default",
    threshold: float | None = None,
    limits: Limits = Limits(),
    detector: Detector | None = None,
) -> Extraction:
    """Extract the main content of a page.

    A bad page never raises; ``Extraction.status`` says how it ended.

    Parameters
    ----------
    html
        The page as bytes (best: the encoding is then found) or str.
    url
        Where it came from; kept, not fetched.
    charset
        Encoding label of the transport (HTTP's Content-Type), if there is one.
    model
        Name of a released model or untrained method, path of a model file, or any extractor. Load once with
        :func:`blockml.load`
        and pass the result when a model *file* is used for many pages.
    threshold
        Score from which on a block is kept, instead of the model's own: lower for recall, higher for precision.
    limits
        Bounds on bytes, nodes and depth.
    detector
        Guesses the encoding of bytes that declare none and are no UTF-8.

    Raises
    ------
    UsageError
        ``html`` is neither bytes nor str, or an option has no such value.
    ModelError
        The model can't be used.

    Examples
    --------
    >>> import blockml
    >>> result = blockml.extract("<p>Nothing but one short line.</p>", model="kim2013")
    >>> result.status, len(result.scores), 0 <= result.confidence <= 1
    (<Status.NO_CONTENT: 'no_content'>, 1, True)
    """
    extractor = model if isinstance(model, Extractor) else resolve(model)
    options = asdict(extractor.parsing)
    page = parse(html, url=url, charset=charset, limits=limits, detector=detector, **options)
    return extract_page(page, extractor, threshold=threshold)


def extract_page(page: Page, extractor: Extractor, *, threshold: float | None = None) -> Extraction:
    """Extract the main content of a page that is parsed already."""
    judgement = extractor.judge(page)
    scores = judgement.scores
    if threshold is None:
        threshold = extractor.effective_threshold
    decision = decide(scores, threshold, page)
    status = page.status
    if status is Status.OK and not np.any(decision.kept):
        status = Status.NO_CONTENT
    return Extraction(
        status=status,
        text=render_text(page, decision.kept),
        page=page,
        scores=scores,
        kept=decision.kept,
        reasons=decision.reasons,
        confidence=confidence(scores, decision.kept, page.blocks.n_words),
        model=extractor.id,
        remarks=judgement.remarks,
    )
