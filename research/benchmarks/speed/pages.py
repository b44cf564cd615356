"""Pages to measure on: a sample of real pages, and synthetic pages of a given size, number of blocks or depth."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import blockml
from blockml.datasets import open_dataset
from blockml.parsing.decoding import decode

__all__ = ["Source", "blocks", "long_page", "nested", "sample"]

_BODY = re.compile(r"<body\b[^>]*>(.*)</body>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """Input of extractors for one page."""

    html: bytes
    url: str | None = None
    charset: str | None = None

    @property
    def text(self) -> str:
        """Decoded page, the input of other tools."""
        return decode(self.html, self.charset).text


def sample(folder: Path, count: int, kilobytes: tuple[float, float] = (0, 10**6)) -> list[Source]:
    """Draw a fixed sample of pages with blocks.

    Parameters
    ----------
    folder
        A data set.
    count
        Number of pages, or fewer if the data set has fewer.
    kilobytes
        Smallest and largest size of a page.
    """
    pages = sorted(open_dataset(folder).pages, key=lambda page: page.id)
    random.Random(0).shuffle(pages)  # noqa: S311 (a sample, no secret)
    low, high = (1000 * size for size in kilobytes)
    found = (Source(page.load()[0], page.url, page.charset) for page in pages)
    fitting = (item for item in found if low <= len(item.html) <= high and len(blockml.parse(item.html).blocks))
    return list(itertools.islice(fitting, count))


def long_page(sources: Sequence[Source], size: int) -> bytes:
    """Make a page of a given number of bytes by repeating the body of a real page.

    The page is the one with the median share of text in its bytes: pages differ in it tenfold, and a mixture would
    be different at each size.
    """
    bodies = [match[1] for source in sources if (match := _BODY.search(source.text))]
    bodies.sort(key=lambda body: sum(map(len, blockml.parse(body).blocks.texts)) / max(1, len(body)))
    text = bodies[len(bodies) // 2].encode() if bodies else b"<p>No body.</p>"
    whole = text * (size // max(1, len(text)) + 1)
    return b"<html><body>" + whole[:size]


#: A typical block: some words and a link.
_BLOCK = (
    '<div class="item entry-{}"><p>The ferry leaves the harbour at noon, says <a href="/time">the table</a>.</p></div>'
)


def blocks(count: int) -> bytes:
    """Make a page of about ``count`` blocks, each in a container with one of ten classes."""
    return "<html><body>{}</body></html>".format("".join(_BLOCK.format(i % 10) for i in range(count))).encode()


def nested(levels: int) -> bytes:
    """Make a page of nested elements, each with different words."""
    return b"<html><body>" + b"<div>of words " * levels + b"</div>" * levels + b"</body></html>"
