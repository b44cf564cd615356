"""Paragraphs and posts of an extraction, and chunks of several of them: units for retrieval and citation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from blockml.page.labels import Label


class ParagraphKind(StrEnum):
    """Kind of paragraph."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST = "list"  #: a list, with its sublists
    TABLE = "table"  #: a data table
    CODE = "code"
    QUOTATION = "quotation"  #: a paragraph within ``blockquote``


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, heading, list, table or code block of a page."""

    kind: ParagraphKind
    text: str  #: Text, joined across inline tags; items and rows are lines.
    start: int | None  #: Index of its first character in ``Extraction.text``; None for a removed one.
    end: int | None  #: Index after its last character; None for a removed one.
    headings: tuple[str, ...]  #: Texts of the headings above it, outermost first; at most 500 characters.
    xpath: str  #: XPath of the deepest element that contains all of it.
    blocks: tuple[int, ...]  #: Indices of its blocks.
    score: float  #: Mean score of its blocks, weighted by words.
    label: Label | None  #: Label with the most words in it; None if the extractor has no labels.


@dataclass(frozen=True, slots=True)
class Post:
    """A post of a thread, or a reader's comment, of which text is kept."""

    number: int  #: Place among the posts of the extraction, from 0.
    author: str | None
    date: str | None  #: ISO 8601 if it can be read, else as the page writes it, such as ``2 hours ago``.
    answers: int | None  #: Number of the post that it answers; None if the page doesn't say, or left it out.
    text: str  #: Text without author and date.
    start: int  #: Index of its first character in ``Extraction.text``, which may be that of its author or date.
    end: int  #: Index after its last character.
    xpath: str  #: XPath of its element.
    blocks: tuple[int, ...]  #: Indices of its kept blocks.


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive blocks of a document of at most a given size, or a part of a longer one."""

    text: str  #: In the format that was asked for.
    headings: tuple[str, ...]  #: Texts of the headings above its first block; at most 500 characters.
    blocks: tuple[int, ...]  #: Indices of its blocks of the page.
    start: (
        int  #: Index of its first character in ``Extraction.text``, so that chunks of other formats can be cited too.
    )
    end: int  #: Index after its last character.
    posts: tuple[Post, ...] = ()  #: Posts of a thread with text in it.
