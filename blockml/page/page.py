"""A parsed page, and the result of extracting its main content: texts, paragraphs, pictures and metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page.blocks import Blocks, Label, Reason, Status
from blockml.page.lazy import Lazy
from blockml.page.nodes import Nodes
from blockml.text.addresses import read_address
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.document.nodes import Document, Table
    from blockml.rules import RuleMatches


#: Number of lines of the text that notebooks show.
_SHOWN_LINES = 50
#: Declared types that are kinds of content, unlike ``website``, and minimum probability of an article (our choice).
_DECLARED_TYPES, _LIKELY_ARTICLE = ("article", "forum", "product", "list"), 0.5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Page:
    """A parsed page: the input of every feature, extractor and report."""

    url: str | None  #: address of the page, if known
    title: str  #: text of the first ``title``, with white space normalised
    encoding: str  #: name of the encoding that the bytes were decoded with; ``utf-8`` for a ``str``
    encoding_source: str  #: the rule that determined it: see :func:`blockml.parsing.decoding.decode`
    backend: str  #: the parser that built the tree
    profile: str  #: the segmentation profile
    warnings: tuple[str, ...]  #: irregularities found while parsing
    status: Status  #: ``ok``, ``empty_page``, ``truncated`` or ``undecodable``
    nodes: Nodes  #: the tree
    blocks: Blocks  #: the text blocks, in document order
    utf8: bytes | None = None  #: the text that was parsed, in UTF-8; None for a page derived from another one

    def __repr__(self) -> str:
        return f"Page({self.status}, title={self.title!r}, {counted(len(self.blocks), 'block')}, url={self.url!r})"

    @property
    def source(self) -> str | None:
        """The text that was parsed, decoded on each access; None for a page derived from another one."""
        return None if self.utf8 is None else self.utf8.decode("utf-8")

    @property
    def base_url(self) -> str:
        """The address that relative links are resolved against: from ``base``, or else the page's; may be empty."""
        hrefs = (self.nodes.attributes[node].get("href") for node in self.nodes.indices("base").tolist())
        try:
            base: str = urljoin(self.url or "", next((read_address(href) for href in hrefs if href), ""))
        except ValueError:
            return self.url or ""
        return base


@dataclass(slots=True, eq=False)
class Deferred:
    """Values that an extraction computes on first access, functions that render it, and warnings of its outputs."""

    metadata: Lazy[Metadata] = field(default_factory=lambda: Lazy(Metadata))
    title: Lazy[str | None] = field(default_factory=lambda: Lazy(lambda: None))
    document: Lazy[Document] | None = None  #: None for an extraction that was made by hand
    paragraphs: Lazy[tuple[Paragraph, ...]] = field(default_factory=lambda: Lazy(tuple))
    removed: Lazy[tuple[Paragraph, ...]] = field(default_factory=lambda: Lazy(tuple))
    posts: Lazy[tuple[Post, ...]] = field(default_factory=lambda: Lazy(tuple))
    images: Lazy[tuple[Image, ...]] = field(default_factory=lambda: Lazy(tuple))
    warnings: dict[str, None] = field(default_factory=dict)  #: in order; see :attr:`Extraction.warnings`
    comments: Lazy[str] = field(default_factory=lambda: Lazy(str))
    render: Callable[[Extraction, str], str] | None = None  #: Returns the extraction in an output format.
    record: Callable[[Extraction], dict[str, Any]] | None = None  #: Returns the extraction as a record.
    chunks: Callable[..., tuple[Chunk, ...]] | None = None  #: Splits the extraction.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Extraction:
    """The result of an extraction: text, scores, decision and reasons."""

    status: Status  #: How the extraction ended. If the text is empty, the status explains why.
    text: str  #: The main content as plain text.
    page: Page  #: The parsed page.
    #: (n_blocks,) output of the extractor in [0, 1] before the policy: the raw probabilities of a model.
    probabilities: NDArray[np.float32]
    #: (n_blocks,) scores in [0, 1] as adjusted by the policy; the threshold applies to these.
    scores: NDArray[np.float32]
    kept: NDArray[np.bool_]  #: (n_blocks,) decision: whether each block is kept.
    reasons: Sequence[Reason]  #: (n_blocks,) reason of each decision.
    #: Expected quality in [0, 1]: the F1 that a model predicts for its own decision; for other extractors with
    #: probabilities as scores, the expected fraction of words decided correctly.
    confidence: float
    model: str  #: Name and version of the model or extractor.
    article_probability: float | None = None  #: Probability that the page is an article; None if the model has none.
    remarks: tuple[str, ...] = ()  #: Remarks by the extractor and the decision about the whole page.
    #: (n_blocks,) predicted label of each block; None if the extractor predicts only content or boilerplate.
    labels: Sequence[Label] | None = None
    rules: RuleMatches | None = None  #: What rules for the site did; None without rules.
    _deferred: Deferred = field(default_factory=Deferred)

    @property
    def metadata(self) -> Metadata:
        """Title, authors, dates and other metadata of the page, read on first access."""
        return self._deferred.metadata.value

    @property
    def language(self) -> str | None:
        """Code of the language: as declared, else as detected in the text on each access; None if that is too short.

        Raises
        ------
        MissingExtraError
            It has to be detected, and the package of the extra ``language`` isn't installed.
        """
        if declared := self.metadata.language:
            return declared.partition("-")[0].lower()
        from blockml.text.languages import detected_language  # only if somebody asks for it

        return detected_language(self.text)

    @property
    def page_type(self) -> str | None:
        """Type of the page: ``forum`` if most of the text is posts, else declared, or else predicted.

        Pages declare ``article``, ``forum``, ``product`` or ``list``. The model predicts ``article`` or ``other``; None
        if it doesn't, and no type is declared.
        """
        n_words = self.page.blocks.n_words
        in_posts = [block for post in self.posts for block in post.blocks]
        if in_posts and 2 * int(n_words[in_posts].sum()) >= int(n_words[self.kept].sum()):
            return "forum"
        declared = self.metadata.page_type
        if declared in _DECLARED_TYPES:
            return declared
        if self.article_probability is None:
            return None
        return "article" if self.article_probability >= _LIKELY_ARTICLE else "other"

    @property
    def paragraphs(self) -> tuple[Paragraph, ...]:
        """Paragraphs, headings, lists, tables and code blocks of the text, grouped on first access."""
        return self._deferred.paragraphs.value

    @property
    def removed(self) -> tuple[Paragraph, ...]:
        """Paragraphs of the removed blocks, grouped on first access."""
        return self._deferred.removed.value

    @property
    def posts(self) -> tuple[Post, ...]:
        """Posts of a thread, with the author, date and text of each, grouped on first access; empty on other pages."""
        return self._deferred.posts.value

    @property
    def document(self) -> Document:
        """The main content as a tree of headings, paragraphs, lists, tables and so on, built on first access."""
        if self._deferred.document is None:
            raise UsageError("the extraction has no document, because blockml.extract did not make it")
        return self._deferred.document.value

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of data of the document; :meth:`~blockml.document.nodes.Table.to_rows` gives their text."""
        return self.document.tables

    @property
    def images(self) -> tuple[Image, ...]:
        """Pictures of the main content, in order, found on first access: those that Markdown and HTML contain."""
        return self._deferred.images.value

    @property
    def comments(self) -> str:
        """Readers' comments that are not part of the text; empty if none are found or the model has no block labels."""
        return self._deferred.comments.value

    @property
    def markdown(self) -> str:
        """The main content as Markdown; :func:`blockml.render` has options."""
        return self._rendered("markdown")

    @property
    def html(self) -> str:
        """The main content as HTML; :func:`blockml.render` has options."""
        return self._rendered("html")

    def chunks(
        self,
        size: int,
        format: str = "text",  # noqa: A002 (same name as in blockml.render)
        *,
        overlap: int = 0,
        length: Callable[[str], int] = len,
    ) -> tuple[Chunk, ...]:
        """Split the main content into chunks for retrieval.

        A chunk ends before a heading of the same or a higher level as the one that it starts with, unless both sections
        are small and have the same heading above. Whole items, rows, lines and sentences stay together where they fit,
        and a heading never ends a chunk.

        Parameters
        ----------
        size
            Maximum size of a chunk; only a picture, formula or address that is longer makes a larger one.
        format
            ``text``, ``markdown`` or ``html``. In Markdown and HTML each part of a long table repeats its header, if
            that is short, and each part of a listing has its own fences.
        overlap
            Size of the sentences, items or rows that a chunk repeats from the one before it in the same section.
        length
            Returns the size of a text, for example the number of its tokens; by default its characters.

        Raises
        ------
        UsageError
            ``size`` is less than 1, ``overlap`` is negative or more than half of ``size``, or ``length`` is not a
            function that returns an integer.
        UnknownNameError
            The format has another name.

        Examples
        --------
        >>> import blockml
        >>> result = blockml.extract("<h2>Cats</h2><p>They sleep. They eat.</p><h2>Dogs</h2><p>Bark.", model="plain")
        >>> [(chunk.headings, chunk.text) for chunk in result.chunks(22, "markdown")]
        [((), '## Cats\\n\\nThey sleep.'), (('Cats',), 'They eat.'), ((), '## Dogs\\n\\nBark.')]
        """
        chunks = self._deferred.chunks
        if chunks is None:
            raise UsageError("the extraction has no chunks, because blockml.extract did not make it")
        return chunks(self, size, format, overlap=overlap, length=length)

    def _rendered(self, output_format: str) -> str:
        render = self._deferred.render
        return self.text if render is None else render(self, output_format)

    def to_dict(self) -> dict[str, Any]:
        """Return the extraction as JSON values: the fields of a record, ``comments`` and ``images``."""
        record = {} if self._deferred.record is None else self._deferred.record(self)
        return {**record, "comments": self.comments, "images": [asdict(image) for image in self.images]}

    @property
    def title(self) -> str | None:
        """Headline of the page from its metadata, whether or not it is part of the text."""
        return self._deferred.title.value

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the page and of outputs that left out what was too large, and remarks of the extractor."""
        return self.page.warnings + self.remarks + tuple(self._deferred.warnings)

    def add_warnings(self, warnings: Iterable[str]) -> None:
        """Add the warnings of an output that left something out."""
        self._deferred.warnings.update(dict.fromkeys(warnings))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        counts = f"{counted(len(self.text), 'character')}, {int(self.kept.sum())} of {counted(len(self.kept), 'block')}"
        return (
            f"Extraction({self.status}, title={self.title!r}, {counts}, confidence {self.confidence:.2f}, "
            f"model={self.model!r})"
        )

    def _repr_html_(self) -> str:
        """Return status, confidence, title and kept text for notebooks."""
        from html import escape  # only notebooks need it

        n_kept = int(self.kept.sum())
        head = f"{self.status} · confidence {self.confidence:.2f} · {n_kept} of {counted(len(self.kept), 'block')}"
        lines = self.text.splitlines()
        shown = "".join(f"<p>{escape(line)}</p>" for line in lines[:_SHOWN_LINES])
        if len(lines) > _SHOWN_LINES:
            shown += f"<p>… {counted(len(lines) - _SHOWN_LINES, 'more line')}</p>"
        title = escape(self.title or "(no title)")
        return f"<div><small>{head}</small><br><b>{title}</b>{shown or '<p><i>no content was kept</i></p>'}</div>"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture of the main content."""

    address: str  #: absolute if the page has an address
    alt: str  #: alternative text; empty without one
    caption: str  #: text of its caption, even if it was removed; empty without one
    width: int | None  #: in pixels, from its element; None if not given
    height: int | None  #: likewise
    block: int  #: index in ``page.blocks`` of the last kept block before it; -1 if no kept block precedes it


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a page; fields that the page does not give are None or an empty tuple.

    Examples
    --------
    >>> Metadata(title="Cats", sources={"title": "h1"}).record()["title"]
    'Cats'
    """

    title: str | None = None  #: Headline, without the name of the site.
    authors: tuple[str, ...] = ()  #: Names of persons or organisations.
    published: str | None = None  #: Date of publication: ISO 8601, a date or a date with time.
    modified: str | None = None  #: Date of the last change, in the format of ``published``.
    site_name: str | None = None  #: Name of the site.
    description: str | None = None  #: Summary that the page declares.
    #: Language in BCP 47, such as ``en`` or ``pt-br``: declared, or else that of a script in which only one is written.
    language: str | None = None
    script: str | None = None  #: Script of most letters of the page's text in ISO 15924, such as ``Latn``.
    canonical_url: str | None = None  #: Absolute address that the page declares for itself.
    image: str | None = None  #: Absolute address of the picture that represents the page.
    page_type: str | None = None  #: Declared kind: ``article``, ``forum``, ``product``, ``list`` or ``website``.
    keywords: tuple[str, ...] = ()  #: Keywords that the page declares.
    #: Products, recipes, events, jobs and similar things that the page declares in JSON-LD or microdata, each as a JSON
    #: object with its type in ``@type``.
    items: tuple[Mapping[str, Any], ...] = ()
    #: Where each of the other fields comes from: ``json-ld``, ``opengraph``, ``meta``, ``dublin core``, ``microdata``,
    #: ``html``, ``h1``, ``title``, ``url`` or ``visible`` (bylines, dates and ``time`` elements).
    sources: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()} | {
            "sources": dict(self.sources)
        }


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
