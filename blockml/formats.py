"""Output formats of an extraction."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from json.encoder import encode_basestring
from math import isfinite
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockml.document.text import render_text, text_places
from blockml.errors import UsageError, check_name, check_type
from blockml.page import Chunk, Extraction
from blockml.page.bounds import MAX_RATIO, Budget
from blockml.records import (
    SCHEMA_VERSION,
    chunk_record,
    each_block_record,
    image_record,
    page_record,
    paragraph_record,
    post_record,
)
from blockml.text.words import WORD, lazy_pattern, metric_tokens

if TYPE_CHECKING:
    from blockml.document.chunks import ChunkBlocks
    from blockml.document.nodes import Block, Document

__all__ = ["CHUNK_FORMATS", "FORMATS", "Format", "check_options", "find_chunks", "render", "starts_with"]

#: A line of Markdown that starts a heading, quotation, list item, table or code block.
_MARKED_LINE = lazy_pattern(r"[#>|`]|[-+*] |\d+[.)] ")
#: Metadata in the header of TEI, and in front matter.
_TEI_FIELDS = ("title", "authors", "published", "site_name", "description", "language", "keywords")
_FRONT_FIELDS = (
    "title", "authors", "published", "modified", "site_name", "description", "language", "keywords", "image",
)  # fmt: skip
#: Characters that YAML doesn't allow unescaped, or reads as line breaks.
_YAML_ESCAPED = lazy_pattern("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
#: Bytes reserved for the JSON around lists, and for warnings.
_FRAME = 1000
#: Maximum number of bytes, per byte of the page, that are written to measure nested blocks.
_MEASURED = 60
#: Maximum number of blocks in a headline; a heading around a whole page is not read.
_MAX_BLOCKS = 100
#: Functions that write what most fields hold, because an encoder is slow to start.
_SCALARS: Mapping[type, Callable[[Any], str]] = {
    str: encode_basestring, int: repr, bool: {False: "false", True: "true"}.__getitem__, NoneType: lambda _: "null",
    float: lambda number: repr(number) if isfinite(number) else json.dumps(number),
}  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def _json(extraction: Extraction, *, chunk_size: int | None, language: bool | None, **_: object) -> str:
    lists: dict[str, Iterable[dict[str, Any]]] = {
        "paragraphs": map(paragraph_record, extraction.paragraphs),
        "removed": map(paragraph_record, extraction.removed),
        "posts": map(post_record, extraction.posts),
        "images": map(image_record, extraction.images),
        "blocks": each_block_record(extraction),
    }
    if chunk_size is not None:
        lists["chunks"] = map(chunk_record, find_chunks(extraction, chunk_size))
    budget = Budget(extraction.page, MAX_RATIO)
    record = page_record(extraction) | ({"language": extraction.language} if language else {})
    budget.spend(_size(_written(record)) + _FRAME, "fields")
    fields = [piece for name, records in lists.items() for piece in _list_field(name, records, budget)]
    extraction.add_warnings(budget.warnings)
    page = _written({"schema_version": SCHEMA_VERSION, **record, "warnings": list(extraction.warnings)})
    # Joined once, because the text may be 8 times as large as the page.
    return "".join([page.removesuffix("\n}"), *fields, "\n}"])


def _list_field(name: str, records: Iterable[dict[str, Any]], budget: Budget) -> list[str]:
    """Write a JSON field that holds a list, with the comma before it, as far as the budget allows."""
    items: list[str] = []
    for record in records:
        item = _written(record, "\n    ")
        if not budget.spend(_size(item) + len(",\n    "), name):
            break
        items += (",\n    " if items else "\n    ", item)
    return [f',\n  "{name}": [', *items, "\n  ]" if items else "]"]


def _written(value: object, margin: str = "\n") -> str:
    """Write JSON like ``json.dumps`` with an indentation of 2, which is not compiled; lines start with ``margin``."""
    if (write := _SCALARS.get(type(value))) is not None:
        return write(value)
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        items = [f"{encode_basestring(name)}: {_written(item, inner)}" for name, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    if isinstance(value, list | tuple) and value:
        return f"[{inner}{f',{inner}'.join([_written(item, inner) for item in value])}{margin}]"
    return json.dumps(value, ensure_ascii=False)


def _size(text: str) -> int:
    """Return the number of bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _text(extraction: Extraction, *, with_title: bool, paragraphs: bool | None, **_: object) -> str:
    title = extraction.title if with_title else None
    text = render_text(extraction.page, extraction.kept, paragraphs=True) if paragraphs else extraction.text
    return f"{title}\n\n{text}" if title and not starts_with(extraction.text, title) else text


def _html(extraction: Extraction, *, document: Document, **_: object) -> str:
    from blockml.writers.html import write_fragment

    budget = Budget(extraction.page)
    text = write_fragment(document, budget)
    extraction.add_warnings(budget.warnings)
    return text


def _tei(extraction: Extraction, *, document: Document, **_: object) -> str:
    from blockml.writers.tei import write_tei

    budget = Budget(extraction.page)
    text = write_tei(document, budget, header=_described(extraction, _TEI_FIELDS))
    extraction.add_warnings(budget.warnings)
    return text


def _described(extraction: Extraction, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of the metadata by name, and the address of the page as ``url``."""
    metadata = extraction.metadata
    return {name: getattr(metadata, name) for name in names} | {"url": metadata.canonical_url or extraction.page.url}


def _markdown(extraction: Extraction, *, document: Document, with_title: bool, front_matter: bool, **_: object) -> str:
    from blockml.writers.markdown import write_markdown

    budget = Budget(extraction.page)
    start = _front_matter(extraction, budget) if front_matter else ""
    title = extraction.title if with_title else None
    text = write_markdown(document, budget)
    extraction.add_warnings(budget.warnings)
    return start + (_with_heading(extraction, title, text) if title else text)


def _front_matter(extraction: Extraction, budget: Budget) -> str:
    """Write the metadata as YAML between lines of hyphens; empty without any.

    Values are JSON, which is YAML too, with escapes for what YAML reads as a line break or does not allow.
    """
    lines: list[str] = []
    for name, value in _described(extraction, _FRONT_FIELDS).items():
        written = _YAML_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
        if value and budget.spend(len(name) + len(written) + 3, "front matter"):
            lines.append(f"{name}: {written}\n")
    return f"---\n{''.join(lines)}---\n\n" if lines else ""


def _with_heading(extraction: Extraction, title: str, text: str) -> str:
    """Return Markdown with the title as a heading, unless it has it already."""
    from blockml.writers.markdown import write_heading

    heading = write_heading(title)
    if not (starts_with(extraction.text, title) or _has_heading(extraction, title)):
        return f"{heading}\n\n{text}".rstrip()
    first = text.partition("\n")[0]
    is_plain = not _MARKED_LINE.match(first) and metric_tokens(first) == metric_tokens(title)
    return heading + text[len(first) :] if is_plain else text


def _has_heading(extraction: Extraction, title: str) -> bool:
    """Tell whether the main content contains a heading with the same words as a title.

    If several headings match, the one of the highest level counts, because lower ones repeat the headline above a
    section of the page, for example above the ingredients of a recipe.
    """
    nodes, blocks, kept = extraction.page.nodes, extraction.page.blocks, extraction.kept
    words = "".join(metric_tokens(title))
    most = min(len(title), _MAX_BLOCKS)
    headings = np.flatnonzero(nodes.named(_HEADINGS))
    spans = zip(blocks.node.searchsorted(headings), blocks.node.searchsorted(nodes.end[headings]), strict=True)
    found: list[tuple[str, bool]] = []  # level, whether it is removed
    for node, (first, end) in zip(headings.tolist(), spans, strict=True):
        if words and end - first <= most:
            texts = " ".join(blocks.texts[first:end])
            if len(texts.lower()) < len(words):  # most headings are shorter than a title
                continue
            shown = " ".join(compress(blocks.texts[first:end], kept[first:end]))
            is_shown = "".join(metric_tokens(shown)) == words
            if is_shown or (shown != texts and "".join(metric_tokens(texts)) == words):
                found.append((nodes.name(node), not is_shown))
    return bool(found) and not min(found)[1]


def starts_with(text: str, title: str) -> bool:
    """Tell whether a text starts with a title: one of its first three lines has the same words.

    Examples
    --------
    >>> starts_with("News\\nCats rule!\\nThey do.", "Cats rule"), starts_with("They do.", "Cats rule")
    (True, False)
    """
    words = metric_tokens(title)
    lines = "\n".join(text.split("\n", 3)[:3]).splitlines()[:3]  # not of the whole text
    return any(_may_have(line, words) and metric_tokens(line) == words for line in lines)


def _may_have(text: str, words: Sequence[str]) -> bool:
    """Tell from its first word whether a text may have exactly these words, which most don't."""
    if not text.isascii():  # it may have invisible characters
        return True
    first = WORD.search(text)
    return [first[0].lower()] == words[:1] if first else not words


def find_chunks(
    extraction: Extraction,
    size: int,
    format: str = "text",  # noqa: A002 (same name as in render)
    *,
    overlap: int = 0,
    length: Callable[[str], int] = len,
    without: Collection[str] = (),
) -> tuple[Chunk, ...]:
    """Split the main content into chunks: see :meth:`blockml.page.Extraction.chunks`.

    ``without`` are kinds of content that chunks of Markdown and HTML leave out.
    """
    from blockml.document.chunks import split_document

    check_name("format", format, CHUNK_FORMATS)
    check_type("size", size, int, legal="a positive integer")
    check_type("overlap", overlap, int, legal="an integer")
    if size < 1:
        raise UsageError(f"size must be at least 1, got {size}")
    if not 0 <= 2 * overlap <= size:
        raise UsageError(f"overlap must be between 0 and half of size, got {overlap}")
    given: object = length
    if not callable(given) or not isinstance(given(""), int | np.integer):
        raise UsageError(
            f"length must be a function that takes a text and returns an integer, such as len, not {given!r}"
        )
    page, document = extraction.page, extraction.document.without(*without)
    text, starts, ends = text_places(page, extraction.kept)
    rows = np.flatnonzero(extraction.kept).tolist()
    start_of, end_of = dict(zip(rows, starts.tolist(), strict=True)), dict(zip(rows, ends.tolist(), strict=True))

    def places(block: Block) -> tuple[int, int]:
        return start_of.get(block.first, -1), end_of.get(block.last, -1)

    def written(blocks: Sequence[Block], budget: Budget) -> str:
        return _writer(format)(replace(document, children=tuple(blocks)), budget)

    post_of = {row: post for post in extraction.posts for row in post.blocks}
    measuring, budget = Budget(page, _MEASURED), Budget(page)
    parts = split_document(
        document,
        size,
        write=None if format == "text" else lambda blocks: written(blocks, measuring),
        length=length,
        places=places,
        text=text,
        overlap=overlap,
        repeats_header=lambda n: budget.spend(n, "headers of tables in chunks"),
        posts={post.blocks[0] for post in extraction.posts},
    )
    found: list[Chunk] = []
    for part in parts:
        own = text[part.start : part.end] if format == "text" else written(part.blocks, budget)
        if own.strip():
            paid = budget.spend(sum(map(len, part.headings)), "headings above chunks")
            own_rows = _rows_of(part, rows, starts, ends)
            posts = tuple(dict.fromkeys(post_of[row] for row in own_rows if row in post_of))
            found.append(Chunk(own, part.headings if paid else (), own_rows, part.start, part.end, posts))
    extraction.add_warnings(budget.warnings)
    return tuple(found)


def _rows_of(
    part: ChunkBlocks, rows: Sequence[int], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[int, ...]:
    """Return the blocks of the page with text in a chunk.

    ``rows`` are all kept blocks; ``starts`` and ``ends`` are their places in the text.
    """
    if part.start < part.end:
        low, high = int(ends.searchsorted(part.start, "right")), int(starts.searchsorted(part.end))
    else:  # the blocks at this place
        low, high = int(ends.searchsorted(part.start)), int(starts.searchsorted(part.end, "right"))
    found: list[int] = []
    for first, last in sorted({(block.first, block.last) for block in part.blocks if block.first >= 0}):
        low = bisect_left(rows, first, low, high)
        end = bisect_right(rows, last, low, high)
        found += rows[low:end]
        low = end
    return tuple(found)


def _writer(output_format: str) -> Callable[[Document, Budget], str]:
    """Return the writer of a format of documents."""
    if output_format == "html":
        from blockml.writers.html import write_fragment

        return write_fragment
    from blockml.writers.markdown import write_markdown

    return write_markdown


@dataclass(frozen=True, slots=True)
class Format:
    """An output format."""

    write: Callable[..., str]  #: Takes the extraction and, by name, the options of :func:`render`.
    suffix: str  #: Suffix of a file with one page.
    of_document: bool = False  #: Whether it is written from the document, without what an option leaves out.


#: Output formats by name.
FORMATS: Mapping[str, Format] = {
    "text": Format(_text, ".txt"),
    "markdown": Format(_markdown, ".md", of_document=True),
    "html": Format(_html, ".html", of_document=True),
    "tei": Format(_tei, ".xml", of_document=True),
    "json": Format(_json, ".json"),
}
#: Formats of chunks.
CHUNK_FORMATS = ("text", "markdown", "html")
#: Formats in which an option has an effect.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "with_title": ("text", "markdown"),
    "paragraphs": ("text",),
    "chunk_size": ("json",),
    "language": ("json",),
    "front_matter": ("markdown",),
    **dict.fromkeys(
        ("links", "images", "tables", "formatting"), tuple(name for name, kind in FORMATS.items() if kind.of_document)
    ),
}


def render(
    extraction: Extraction,
    format: str = "text",  # noqa: A002 (same name as the command-line option)
    *,
    with_title: bool | None = None,
    paragraphs: bool | None = None,
    chunk_size: int | None = None,
    language: bool | None = None,
    front_matter: bool = False,
    links: bool = True,
    images: bool = True,
    tables: bool = True,
    formatting: bool = True,
) -> str:
    """Render an extraction in an output format, a key of :data:`FORMATS`.

    Text and Markdown start with the page's title if ``with_title`` is true (None means true for Markdown), unless the
    main content starts with it or, in Markdown, has it as a heading. HTML is only the main content, and JSON has a
    field for the title. Text has an empty line between paragraphs if ``paragraphs`` is true. JSON (see
    :func:`json_schema`) has chunks of at most ``chunk_size`` characters if that is given, and the declared or detected
    ``language`` if that is true. Markdown starts with the metadata as YAML between lines of ``---`` if ``front_matter``
    is true; all values are quoted, and unknown ones left out.

    Markdown and HTML leave out the addresses of ``links``, ``images``, ``tables`` of data with their text, or bold,
    italic and other inline ``formatting``, where these are False.

    Raises
    ------
    UnknownNameError
        The format is unknown.
    UsageError
        The format does not have this option, or an argument has the wrong type.
    MissingExtraError
        The language has to be detected, and the package of the extra ``language`` isn't installed.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import Plain
    >>> render(blockml.extract("<p>One <b>two</b></p>", model=Plain()), "html")
    '<p>One <strong>two</strong></p>'
    """
    check_type("extraction", extraction, Extraction, legal="the result of blockml.extract")
    check_name("format", format, FORMATS)
    check_type("with_title", with_title, bool, NoneType, legal="True, False or None")
    check_type("paragraphs", paragraphs, bool, NoneType, legal="True, False or None")
    check_type("language", language, bool, NoneType, legal="True, False or None")
    check_type("front_matter", front_matter, bool, legal="True or False")
    check_type("chunk_size", chunk_size, int, NoneType, legal="a positive integer or None")
    switches = {"links": links, "images": images, "tables": tables, "formatting": formatting}
    for name, value in switches.items():
        check_type(name, value, bool, legal="True or False")
    omitted = {name: False for name, value in switches.items() if not value}
    check_options(
        format, with_title=with_title, paragraphs=paragraphs, chunk_size=chunk_size, language=language,
        front_matter=front_matter or None, **omitted,
    )  # fmt: skip
    options: dict[str, Any] = {"with_title": format == "markdown" if with_title is None else with_title}
    options |= {"paragraphs": paragraphs, "chunk_size": chunk_size, "language": language, "front_matter": front_matter}
    if FORMATS[format].of_document:
        options["document"] = extraction.document.without(*omitted)
    return FORMATS[format].write(extraction, **options)


def check_options(output_format: str, **options: object) -> None:
    """Raise UsageError if an option of :func:`render` that is not None has no effect in an output format."""
    for name, value in options.items():
        if value is not None and output_format not in _OPTIONS[name]:
            raise UsageError(f"{name} only has an effect in {_joined(_OPTIONS[name])}, not in {output_format}")


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
