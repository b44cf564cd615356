"""NeMo Curator: the algorithm that its steps for Common Crawl take."""

from __future__ import annotations

from collections.abc import Collection

from blockml.batch.extractor import BatchExtractor
from blockml.batch.items import Item

__all__ = ["HtmlExtractor"]


class HtmlExtractor:
    """Extracts the lines of a page's main text.

    Where NeMo Curator is installed, it is one of its ``HTMLExtractorAlgorithm``: pass it to
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
        """Return the lines of the main text, None without text. Stop words and language aren't needed."""
        (record,) = self._extractor.records([Item("", html=html)])
        return str(record["text"]).split("\n") if record["text"] else None


try:
    from nemo_curator.stages.text.download.html_extractors import HTMLExtractorAlgorithm
except ImportError:  # the class does without it
    pass
else:
    HTMLExtractorAlgorithm.register(HtmlExtractor)
