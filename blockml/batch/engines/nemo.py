"""NeMo Curator: an extraction algorithm for its Common Crawl steps."""

from __future__ import annotations

from collections.abc import Collection

from blockml.batch.batch_extractor import BatchExtractor
from blockml.batch.readers.work_units import Item

__all__ = ["HtmlExtractor"]


class HtmlExtractor:
    """Extracts the lines of a page's main text.

    If NeMo Curator is installed, this is a subclass of its ``HTMLExtractorAlgorithm``: pass it to
    ``CommonCrawlHTMLExtractor(algorithm=…)``.

    Parameters
    ----------
    model
        Name of a model, or path of a model file.

    Examples
    --------
    >>> HtmlExtractor("bte").extract_text("<p>Cats rule the world.</p>", frozenset(), "ENGLISH")
    ['Cats rule the world.']
    >>> HtmlExtractor("bte").extract_text("", frozenset(), "ENGLISH")
    """

    def __init__(self, model: str = "default") -> None:
        self._extractor = BatchExtractor(model)

    def extract_text(
        self,
        html: str,
        stop_words: Collection[str],  # noqa: ARG002 (the interface's)
        language: str,  # noqa: ARG002
    ) -> list[str] | None:
        """Return the lines of the main text, or None if there is no text. Stop words and language are ignored."""
        (record,) = self._extractor.records([Item("", html=html)])
        return str(record["text"]).split("\n") if record["text"] else None


try:
    from nemo_curator.stages.text.download.html_extractors import HTMLExtractorAlgorithm
except ImportError:  # the class works without it
    pass
else:
    HTMLExtractorAlgorithm.register(HtmlExtractor)
