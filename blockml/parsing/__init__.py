"""Parse bytes or text into a :class:`~blockml.page.Page`.

``decode`` (bytes to text) → ``build`` (parser events to nodes; a second time after ``composed`` if there are shadow
roots or streamed parts) → ``segment`` (nodes to blocks).
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import compress
from types import NoneType

import numpy as np

from blockml.errors import UsageError, check_name, check_type
from blockml.page import Blocks, Nodes, Page, Status
from blockml.parsing.backends import BACKENDS, build
from blockml.parsing.builder import NodesBuilder, flattened, join_rest
from blockml.parsing.composition import composed
from blockml.parsing.decoding import Detector, decode
from blockml.parsing.displayed import as_displayed, as_laid_out
from blockml.parsing.limits import Limits
from blockml.parsing.segmentation import PROFILES, segment
from blockml.text.words import TOKENIZERS, lazy_pattern

__all__ = ["BACKENDS", "PROFILES", "Limits", "build", "parse", "segment"]

_NO_MARKUP = lazy_pattern(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\b|\Z)", re.DOTALL | re.IGNORECASE)
_TITLE = lazy_pattern(r"<title\b[^<>]*>[^<]*", re.IGNORECASE)
_TITLE_END = lazy_pattern(r"</title\b", re.IGNORECASE)


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
    """Parse a page and segment it into text blocks.

    A bad page never raises: see ``Page.status`` and ``Page.warnings``.

    Parameters
    ----------
    html
        The page. Bytes are decoded by :func:`blockml.parsing.decoding.decode`.
    url
        Address of the page; it is stored, not fetched.
    charset
        Encoding label from the transport (HTTP's Content-Type), if known.
    backend
        ``lxml`` (default), ``lexbor`` (the HTML standard's tree; optional package) or ``html5lib`` (the same tree from
        the reference implementation, about thirty times slower). See research/studies/backends.md.
    profile
        ``anchor``: every tag except ``<a>`` ends a block (Kim et al. 2013). ``boilerpipe``: inline tags don't.
    keep_wordless
        Keep blocks without a letter or digit.
    tokenizer
        Definition of words: ``space``, ``boilerpipe`` or ``cjk``.
    limits
        Bounds on bytes, nodes, blocks and depth.
    detector
        Guesses the encoding of bytes that are not UTF-8 and don't declare an encoding; by default
        :func:`blockml.parsing.decoding.detected`.

    Raises
    ------
    UsageError
        ``html`` is neither bytes nor str, or an option has the wrong type or an unknown value.
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
    check_type("html", html, bytes, str, legal="bytes or str")
    check_type("url", url, str, NoneType, legal="str or None")
    check_type("charset", charset, str, NoneType, legal="str or None")
    check_type("keep_wordless", keep_wordless, bool, legal="True or False")
    check_type("limits", limits, Limits, legal="blockml.Limits")
    check_name("backend", backend, BACKENDS)
    check_name("profile", profile, PROFILES)
    check_name("tokenizer", tokenizer, TOKENIZERS)
    if detector is not None and not callable(detector):
        raise UsageError(f"detector must be a function of bytes or None, got {type(detector).__name__}")
    cut = len(html) > limits.bytes
    decoded = decode(html[: limits.bytes], charset, detector)
    warnings = list(decoded.warnings)
    if cut:
        unit = "characters" if isinstance(html, str) else "bytes"
        warnings.append(f"only the first {limits.bytes} {unit} were parsed")
    utf8, source, builder, nodes = _built(decoded.utf8, backend, limits)
    title, has_markup = _title(nodes)
    if has_markup and (closed := _close_title(source.decode())) is not None:
        warnings.append("unclosed <title> closed")
        builder = build(closed.encode(), backend, limits)
        nodes = builder.nodes()
        title, _ = _title(nodes)
    warnings.extend(builder.warnings)
    too_deep, too_many, too_costly = builder.limits_hit()
    too_deep |= source is not utf8
    if too_many:
        warnings.append(f"only the first {limits.nodes} nodes were kept")
    if too_deep:
        warnings.append(f"elements nested deeper than {limits.depth} levels were flattened")
    if too_costly:
        warnings.append("only the start of the page was parsed: too many elements are open at too many tags")
    nodes = as_displayed(nodes)
    blocks = _blocks(nodes, profile, tokenizer, keep_wordless=keep_wordless)
    most_blocks = limits.blocks_of(len(source))
    if too_small := len(blocks) > most_blocks:
        warnings.append(f"only the first {most_blocks - 1} blocks were separated; the text after them is one block")
        nodes, blocks = join_rest(nodes, blocks, most_blocks)
    if not decoded.is_text:
        status = Status.UNDECODABLE
    elif cut or too_many or too_deep or too_costly or too_small:
        status = Status.TRUNCATED
    else:
        status = Status.OK if len(blocks) else Status.EMPTY_PAGE
    return Page(
        url=url,
        title=title,
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        backend=backend,
        profile=profile,
        warnings=tuple(warnings),
        status=status,
        nodes=nodes,
        blocks=blocks,
        utf8=utf8,
    )


def _built(utf8: bytes, backend: str, limits: Limits) -> tuple[bytes, bytes, NodesBuilder, Nodes]:
    """Parse a page; again as it is composed if parts of it move, and without its deepest tags if it costs too much.

    Returns
    -------
    tuple
        The page as it is composed, the same without its deepest tags, and the builder and nodes of the latter.
    """
    builder = build(utf8, backend, limits)
    nodes = builder.nodes()
    parsed = source = utf8
    if "template" in nodes.names:
        source = utf8 = composed(utf8)
    for _ in range(2):  # a page may cost too much only as it is composed
        *_, too_costly = builder.limits_hit()
        flat, is_flat = flattened(source, limits.depth) if too_costly else (source, False)
        source = flat if is_flat else source
        if source is parsed:
            break
        del builder, nodes  # two builders at a time would double the memory
        builder, parsed = build(source, backend, limits), source
        nodes = builder.nodes()
    return utf8, source, builder, nodes


def _blocks(nodes: Nodes, profile: str, tokenizer: str, *, keep_wordless: bool) -> Blocks:
    """Segment the nodes; elements begin lines as their styles say."""
    blocks = segment(nodes, profile=profile, keep_wordless=keep_wordless, tokenizer=tokenizer)
    if (laid_out := as_laid_out(nodes)) is None:
        return blocks
    others = segment(laid_out, profile=profile, keep_wordless=keep_wordless, tokenizer=tokenizer)
    is_same = others.node.tolist() == blocks.node.tolist()  # not where a span does not end a block
    return replace(blocks, separators=others.separators) if is_same else blocks


def _title(nodes: Nodes) -> tuple[str, bool]:
    """Return the text of the first ``title`` outside ``svg``, and whether any title contains markup."""
    if "title" not in nodes.names:
        return "", False
    titles = nodes.indices("title")
    texts = [" ".join(nodes.texts[node + 1 : nodes.end.item(node)]) for node in titles.tolist()]
    has_markup = "<" in "".join(texts)
    if "svg" in nodes.names and any(nodes.name(node) == "svg" for node in nodes.ancestors(int(titles[0]))):
        drawings = nodes.indices("svg")
        last = np.maximum.accumulate(nodes.end[drawings])  # drawings may be nested
        n_before = np.searchsorted(drawings, titles)
        texts = list(compress(texts, (n_before == 0) | (last[n_before - 1] <= titles)))
    return " ".join(texts[0].split()) if texts else "", has_markup


def _close_title(text: str) -> str | None:
    """Return the source with its unclosed ``title`` closed; None if all titles are closed.

    By the HTML standard the rest of the page would be the title, which is never intended.
    """
    # Only the last title can be unclosed; comments and scripts contain no elements.
    masked = _NO_MARKUP.sub(lambda match: " " * len(match[0]), text)
    last_end = max((match.end() for match in _TITLE_END.finditer(masked)), default=0)
    opened = _TITLE.search(masked, last_end)
    return text[: opened.end()] + "</title>" + text[opened.end() :] if opened else None
