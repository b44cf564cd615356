"""Bytes or text of a page in, :class:`~blockml.page.Page` out.

``decode`` → ``build`` (the parser's events become nodes) → ``segment`` (nodes become blocks).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.errors import UsageError
from blockml.page import Nodes, Page, Status
from blockml.parsing.backends import BACKENDS, build
from blockml.parsing.decoding import Decoded, Detector, decode
from blockml.parsing.limits import Limits
from blockml.parsing.segmentation import PROFILES, segment

__all__ = ["BACKENDS", "PROFILES", "Limits", "build", "parse", "segment"]

_NO_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\b|\Z)", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*>[^<]*", re.IGNORECASE)
_TITLE_END = re.compile(r"</title\b", re.IGNORECASE)


def parse(
    html: bytes | str,
    *,
    url: str | None = None,
    charset: str | None = None,
    backend: str = "lxml",
    profile: str = "anchor",
    keep_wordless: bool = True,
    tokenizer: str = "space",
    limits: Limits = Limits(),
    detector: Detector | None = None,
) -> Page:
    """Parse a page and cut it into text blocks.

    A bad page never raises: ``Page.status`` and ``Page.warnings`` say what happened to it.

    Parameters
    ----------
    html
        The page. Bytes are decoded by :func:`blockml.parsing.decoding.decode`.
    url
        Where it came from; kept, not fetched.
    charset
        Encoding label of the transport (HTTP's Content-Type), if there is one.
    backend
        ``lxml`` (default), ``lexbor`` (the HTML standard's tree; an optional package) or ``html5lib`` (the same tree by
        the referee, some thirty times slower). See docs/backends.md.
    profile
        ``anchor``: every tag but ``<a>`` ends a block (Kim et al. 2013). ``boilerpipe``: inline tags don't.
    keep_wordless
        Keep blocks that hold only signs.
    tokenizer
        ``space``, ``boilerpipe`` or ``cjk``: what is a word.
    limits
        Bounds on bytes, nodes and depth.
    detector
        Guesses the encoding of bytes that declare none and are no UTF-8.

    Raises
    ------
    UsageError
        ``html`` is neither bytes nor str, or an option has no such value.
    MissingExtraError
        The back end is an optional package that is not installed.

    Examples
    --------
    >>> page = parse(b"<title>Cats</title><h1>Cats</h1><p>Cats <a href='/'>rule</a> the world.</p>")
    >>> page.title, page.encoding_source, [block.text for block in page.blocks]
    ('Cats', 'valid utf-8', ['Cats', 'Cats rule the world.'])
    >>> page.blocks[1].n_words, page.blocks[1].n_linked, page.blocks[1].parent
    (4, 1, 'p')
    """
    if isinstance(html, bytearray | memoryview):
        html = bytes(html)
    if not isinstance(html, bytes | str):
        raise UsageError(f"a page is bytes or str, not {type(html).__name__}")
    cut = len(html) > limits.bytes
    decoded = decode(html[: limits.bytes], charset, detector)
    warnings = list(decoded.warnings)
    if cut:
        unit = "characters" if isinstance(html, str) else "bytes"
        warnings.append(f"only the first {limits.bytes} {unit} were parsed")
    builder = build(decoded.utf8, backend, limits)
    nodes = builder.nodes()
    title, swallows = _title(nodes)
    if swallows and (mended := _close_title(decoded.text)) is not None:
        warnings.append("a title without an end tag was closed")
        builder = build(mended.encode(), backend, limits)
        nodes = builder.nodes()
        title, _ = _title(nodes)
    warnings.extend(builder.remarks)
    if builder.too_many:
        warnings.append(f"only the first {limits.nodes} nodes were kept")
    if builder.too_deep:
        warnings.append(f"elements nested deeper than {limits.depth} levels were flattened")
    blocks = segment(nodes, profile=profile, keep_wordless=keep_wordless, tokenizer=tokenizer)
    truncated = cut or builder.too_many or builder.too_deep
    return Page(
        url=url,
        title=title,
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        backend=backend,
        profile=profile,
        warnings=tuple(warnings),
        status=_status(decoded, truncated=truncated, n_blocks=len(blocks)),
        nodes=nodes,
        blocks=blocks,
        utf8=decoded.utf8,
    )


def _status(decoded: Decoded, *, truncated: bool, n_blocks: int) -> Status:
    if not decoded.is_text:
        return Status.UNDECODABLE
    if truncated:
        return Status.TRUNCATED
    return Status.OK if n_blocks else Status.EMPTY_PAGE


def _title(nodes: Nodes) -> tuple[str, bool]:
    """Text of the first ``title`` that is no part of a drawing, and whether one holds markup: it may be unclosed."""
    if _kernel.compiled is not None and isinstance(nodes.texts, list):
        node, swallows = _kernel.compiled.page_title(nodes.names, nodes.tag, nodes.parent, nodes.end, nodes.texts)
    else:
        titles = nodes.indices("title")
        node, swallows = _first(nodes, titles), _swallows(nodes, titles)
    return " ".join(" ".join(nodes.texts[node + 1 : nodes.end[node]]).split()) if node >= 0 else "", swallows


def _first(nodes: Nodes, titles: NDArray[np.int64]) -> int:
    """The first of them that is no part of a drawing; -1 without one."""
    if not len(titles):
        return -1
    if any(nodes.name(node) == "svg" for node in nodes.ancestors(int(titles[0]))):
        drawings = nodes.indices("svg")
        covered = np.maximum.accumulate(nodes.end[drawings])  # to where the drawings so far reach
        before = np.searchsorted(drawings, titles)
        titles = titles[(before == 0) | (covered[before - 1] <= titles)]
        if not len(titles):
            return -1
    return int(titles[0])


def _swallows(nodes: Nodes, titles: NDArray[np.int64]) -> bool:
    """Whether one of them holds markup."""
    return any("<" in text for node in titles.tolist() for text in nodes.texts[node + 1 : nodes.end[node]])


def _close_title(text: str) -> str | None:
    """Source with its ``title`` closed, if an unclosed one has swallowed the rest of the page; else None.

    The HTML standard reads all up to the end of the file as the title. People who save pages don't.
    """
    # Nothing but the last title can be unclosed, and none stands in a comment or script.
    masked = _NO_MARKUP.sub(lambda match: " " * len(match[0]), text)
    last_end = max((match.end() for match in _TITLE_END.finditer(masked)), default=0)
    opened = _TITLE.search(masked, last_end)
    return text[: opened.end()] + "</title>" + text[opened.end() :] if opened else None
