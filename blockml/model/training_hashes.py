"""Short hashes of a model's training pages and their sites, to recognise pages that the model was trained on.

A page is recognised by its bytes, and by its words: the letters outside of tags, scripts and comments. The words are
found by regular expressions instead of the parser, so that hashes stay valid when the parser changes. Neither text nor
addresses can be read from the hashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelFormatError
from blockml.parsing.decoding import decode
from blockml.text.words import lazy_pattern

#: Pages with fewer words are recognised by bytes only: many pages say just "Please enable JavaScript" (our choice).
MIN_WORDS = 20

#: Markup, matched in linear time: unclosed markup extends to the end of the page.
_MARKUP = lazy_pattern(
    r"<!--.*?(?:-->|\Z)|<(script|style|template|noscript)\b.*?(?:</\1\s*>|\Z)|<[^>]*>?", re.DOTALL | re.IGNORECASE
)
#: Words without digits, so that dates and counters don't matter.
_WORD = lazy_pattern(r"[^\W\d_]+")


class PageHashes(NamedTuple):
    """Hashes of one page, each below 2**32."""

    page: int  #: Hash of its bytes.
    words: int | None  #: Hash of its words; None for fewer than :data:`MIN_WORDS`.
    site: int | None  #: Hash of the registrable domain or name of its site; None if unknown.


def hash_page(source: bytes, site: str | None = None, charset: str | None = None) -> PageHashes:
    """Hash a page.

    Parameters
    ----------
    source
        Bytes of the page.
    site
        Its site: see :func:`blockml.datasets.site_of`.
    charset
        Its encoding, if known.

    Examples
    --------
    >>> text = "The cat sat on the mat, and the dog lay beside the cat until both of them heard the bell of the house."
    >>> one, other = hash_page(f"<p>{text}".encode()), hash_page(f"<p>\\n {text} </p>".encode(), site="cat.example")
    >>> one.page == other.page, one.words == other.words, one.site
    (False, True, None)
    """
    from html import unescape  # extraction doesn't hash pages

    words = _WORD.findall(unescape(_MARKUP.sub(" ", decode(source, charset).text)).casefold())
    text = " ".join(words).encode("utf-8", "surrogatepass")
    return PageHashes(
        page=_hash(source),
        words=_hash(text) if len(words) >= MIN_WORDS else None,
        site=_hash(site.casefold().encode("utf-8", "surrogatepass")) if site else None,
    )


def _hash(data: bytes) -> int:
    from hashlib import blake2b

    return int.from_bytes(blake2b(data, digest_size=4).digest(), "little")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingHashes:
    """Hashes of all training pages of a model, each as a sorted array of distinct 32-bit numbers.

    Another page is mistaken for a training page with probability (pages + words) / 2**32: 1.3e-6 for 2,825 training
    pages, which is one in 760,000 pages.

    Examples
    --------
    >>> known = TrainingHashes.of([hash_page(b"<p>one", site="a.example")])
    >>> known.has_page(hash_page(b"<p>one")), known.has_page(hash_page(b"<p>two"))
    (True, False)
    >>> known.has_site(hash_page(b"<p>two", site="a.example"))
    True
    """

    pages: NDArray[np.uint32]
    words: NDArray[np.uint32]
    sites: NDArray[np.uint32]

    @classmethod
    def of(cls, hashes: Iterable[PageHashes]) -> Self:
        """Collect the hashes of pages."""
        rows = list(hashes)
        columns = ([row[place] for row in rows] for place in range(len(_NAMES)))
        return cls(*(_sorted([value for value in column if value is not None]) for column in columns))

    def __or__(self, other: TrainingHashes) -> TrainingHashes:
        """Return the union of both sets of hashes."""
        return TrainingHashes(*(np.union1d(getattr(self, name), getattr(other, name)) for name in _NAMES))

    def has_page(self, hashes: PageHashes) -> bool:
        """Whether a page is a training page, by its bytes or by its words."""
        return _contains(self.pages, hashes.page) or _contains(self.words, hashes.words)

    def has_site(self, hashes: PageHashes) -> bool:
        """Whether the site of a page has training pages."""
        return _contains(self.sites, hashes.site)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays of the differences of neighbouring hashes, which compress better than the hashes."""
        return {name: np.diff(getattr(self, name), prepend=np.uint32(0)) for name in _NAMES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Read the arrays of :meth:`to_arrays`.

        Raises
        ------
        ModelFormatError
            An array is missing or of another shape or type, or its hashes are not sorted.
        """
        found = []
        for name in _NAMES:
            steps = arrays.get(name)
            if steps is None or steps.dtype != np.uint32 or steps.ndim != 1:
                raise ModelFormatError(f"the training hashes of {name} must be a list of 32-bit numbers")
            if len(steps) > _MOST_HASHES:
                raise ModelFormatError(f"the training hashes of {name} must be at most {_MOST_HASHES:,}")
            hashes = np.cumsum(steps, dtype=np.uint64)
            if (steps[1:] == 0).any() or (len(hashes) and hashes[-1] >= 2**32):
                raise ModelFormatError(f"the training hashes of {name} must be sorted and below 2**32")
            found.append(hashes.astype(np.uint32))
        return cls(*found)


_NAMES = ("pages", "words", "sites")
#: Maximum hashes of each kind in a file (our choice).
_MOST_HASHES = 1 << 24


def _sorted(values: list[int]) -> NDArray[np.uint32]:
    return np.unique(np.array(values, dtype=np.uint32))


def _contains(hashes: NDArray[np.uint32], value: int | None) -> bool:
    if value is None:
        return False
    place = int(np.searchsorted(hashes, np.uint32(value)))
    return place < len(hashes) and int(hashes[place]) == value
