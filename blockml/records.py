"""Records of an extraction: one table per kind of record defines records, JSON Schema, Arrow types and documentation.

A field of a page's record is one entry of :data:`PAGE`, and a row of the table in ``docs/batch.md``, which a test
compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from blockml.page import Chunk, Extraction, Image, Label, Metadata, Paragraph, ParagraphKind, Post, Status
from blockml.parsing.hiding import hiding_names
from blockml.parsing.style_rules import Hiding

__all__ = [
    "CHUNK_FIELDS",
    "CRASHED",
    "FAILURES",
    "OPTIONAL",
    "RECORD",
    "RECORD_FIELDS",
    "SCHEMA_VERSION",
    "TIMEOUT",
    "UNREADABLE",
    "UNSURE",
    "Field",
    "FieldType",
    "block_records",
]
__all__ += [
    "chunk_record",
    "each_block_record",
    "image_record",
    "json_schema",
    "page_record",
    "paragraph_record",
    "post_record",
]

#: Incremented when a field is removed or changes its meaning.
SCHEMA_VERSION = 1

#: Statuses of failed pages of a batch, in addition to those of :class:`blockml.page.Status`.
TIMEOUT = "timeout"  #: the page took longer than the time limit
CRASHED = "crashed"  #: the extractor raised, its process died, or the page needed more memory than the limit
UNREADABLE = "unreadable"  #: the file, line or record of the page is damaged or missing
FAILURES = (TIMEOUT, CRASHED, UNREADABLE)
#: Status of a page of a batch whose confidence is below the requested minimum; its text is still given.
UNSURE = "unsure"

_Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldType:
    """Type of a field."""

    name: str  #: Name in the documentation.
    schema: _Schema  #: JSON Schema of its values.
    arrow: Callable[[Any], Any]  #: Returns its Arrow type, given the module ``pyarrow``.
    empty: Callable[[], Any] = lambda: None  #: Returns its value in the record of a page that failed.
    failed: _Schema | None = None  #: JSON Schema in records of a batch, if it differs because a page may fail.

    def or_null(self) -> FieldType:
        """Return the same type with null allowed."""
        return FieldType(f"{self.name} or null", {**self.schema, "type": [self.schema["type"], "null"]}, self.arrow)


_STRING: _Schema = {"type": "string"}
TEXT = FieldType("text", _STRING, lambda pa: pa.string(), str)
TEXTS = FieldType("list of texts", {"type": "array", "items": _STRING}, lambda pa: pa.list_(pa.string()), list)
COUNT = FieldType("count", {"type": "integer", "minimum": 0}, lambda pa: pa.int32(), int)
COUNTS = FieldType("list of counts", {"type": "array", "items": COUNT.schema}, lambda pa: pa.list_(pa.int32()), list)
PLACE = FieldType("integer", {"type": "integer"}, lambda pa: pa.int32()).or_null()
FLAG = FieldType("true or false", {"type": "boolean"}, lambda pa: pa.bool_())
_RANGE: _Schema = {"minimum": 0, "maximum": 1}
_NULLABLE: _Schema = {"type": ["number", "null"], **_RANGE}
SHARE = FieldType("0 to 1", {"type": "number", **_RANGE}, lambda pa: pa.float64(), failed=_NULLABLE)
STATUS = FieldType(
    "name", {"enum": [*map(str, Status)]}, lambda pa: pa.string(), str, {"enum": [*map(str, Status), *FAILURES, UNSURE]}
)
LABEL_NAME = FieldType("name or null", {"enum": [*map(str, Label), None]}, lambda pa: pa.string())
HIDING_NAME = FieldType("name or null", {"enum": [*(way.label for way in Hiding)]}, lambda pa: pa.string())
PARAGRAPH_KIND = FieldType("name", {"enum": [*map(str, ParagraphKind)]}, lambda pa: pa.string())
SOURCES = FieldType(
    "names by field",
    {"type": "object", "additionalProperties": _STRING},
    lambda pa: pa.list_(pa.struct([("field", pa.string()), ("source", pa.string())])),
)
ITEMS = FieldType(
    "list of objects",
    {"type": "array", "items": {"type": "object", "additionalProperties": {}}},
    lambda pa: pa.list_(pa.string()),
    list,
)
POSTS = FieldType(
    "list of objects",
    {"type": "array", "items": {"$ref": "#/$defs/chunk_post"}},
    lambda pa: pa.list_(pa.struct([(field.name, field.kind.arrow(pa)) for field in _CHUNK_POST])),
    list,
)
_METADATA_REFERENCE: _Schema = {"$ref": "#/$defs/metadata"}
METADATA = FieldType(
    "object",
    _METADATA_REFERENCE,
    lambda pa: pa.struct([(field.name, field.kind.arrow(pa)) for field in _METADATA]),
    failed={"anyOf": [_METADATA_REFERENCE, {"type": "null"}]},
)


@dataclass(frozen=True, slots=True)
class Field:
    """Field of a record."""

    name: str
    kind: FieldType
    description: str = ""
    #: Returns the value; by default the attribute with the field's name. For blocks, returns the values of all blocks.
    value: Callable[[Any], Any] | None = None
    of_metadata: bool = False  #: Whether it is null if metadata is not read.

    def of(self, source: object) -> Any:  # noqa: ANN401 (depends on its kind)
        """Return the value of the field for an object."""
        return self.value(source) if self.value else getattr(source, self.name)

    def schema(self, *, in_batch: bool = False) -> _Schema:
        """Return the JSON Schema of the field, for records of one page or of a batch."""
        failed = self.kind.failed if in_batch else None
        text = self.description
        if failed is not None and self.kind is SHARE:
            text = f"{text[:-1]}; null for a page that failed."
        return {**(failed or self.kind.schema), **({"description": text} if text else {})}


def _label(value: Label | None) -> str | None:
    return None if value is None else str(value)


#: Record of a page.
PAGE = (
    Field("url", TEXT.or_null(), "Address of the page, as given.", lambda found: found.page.url),
    Field("status", STATUS, "How the extraction ended.", lambda found: str(found.status)),
    Field("title", TEXT.or_null(), "Headline of the page.", of_metadata=True),
    Field("text", TEXT, "Main content."),
    Field("confidence", SHARE, "Predicted quality of the decision.", lambda found: round(found.confidence, 4)),
    Field(
        "article_probability",
        SHARE.or_null(),
        "Probability that the page is an article; null if the model has none.",
        lambda found: None if found.article_probability is None else round(found.article_probability, 4),
    ),
    Field(
        "page_type",
        TEXT.or_null(),
        "Type of the page by its posts, declared or predicted: `article`, `forum`, `product`, `list` or `other`; null "
        "if unknown.",
        of_metadata=True,
    ),
    Field("n_blocks", COUNT, "Number of text blocks.", lambda found: len(found.kept)),
    Field("n_kept_blocks", COUNT, "Number of text blocks that were kept.", lambda found: int(found.kept.sum())),
    Field("model", TEXT, "Name and version of the extractor."),
    Field("warnings", TEXTS, "Remarks about the page.", lambda found: list(found.warnings)),
    Field(
        "metadata",
        METADATA,
        "Metadata that the page declares or shows.",
        lambda found: found.metadata.record(),
        of_metadata=True,
    ),
)
#: Record of a page of a batch.
RECORD = (Field("id", TEXT, "Id of the page."), *PAGE, Field("error", TEXT.or_null(), "Reason why the page failed."))
#: Fields of a page of a batch that cost more, and are only in its record on request.
OPTIONAL = (
    Field("comments", TEXT, "Readers' comments that are not part of the text."),
    Field("language", TEXT.or_null(), "Language code such as `en`: declared, or else detected; null if unknown."),
    Field(
        "duplicate_of", TEXT.or_null(), "Id of the first page of the run with nearly the same text; null if this is it."
    ),
    Field("rules", TEXTS, "Rules for the site that matched, such as `cats.example drop .ad`."),
)
_ABOUT_LABEL = "Predicted label; null if the extractor has no labels."
_BLOCK = (
    Field("index", COUNT, value=lambda found: range(len(found.kept))),
    Field("text", TEXT, value=lambda found: found.page.blocks.texts),
    Field("score", SHARE, value=lambda found: [round(score, 4) for score in found.scores.tolist()]),
    Field("kept", FLAG, value=lambda found: found.kept.tolist()),
    Field("reason", TEXT, value=lambda found: map(str, found.reasons)),
    Field("xpath", TEXT, value=lambda found: found.page.nodes.xpaths(found.page.blocks.parent.tolist())),
    Field(
        "selector",
        TEXT,
        "CSS selector of the same element; empty for a very deep one.",
        lambda found: found.page.nodes.selectors(found.page.blocks.parent.tolist()),
    ),
    Field(
        "element_id",
        TEXT.or_null(),
        "`id` of the element, or of the nearest one around it; null if there is none.",
        lambda found: found.page.nodes.nearest_ids(found.page.blocks.parent.tolist()),
    ),
    Field(
        "rule",
        TEXT.or_null(),
        "Rule for the site that decided about the block; null without one.",
        lambda found: [name or None for name in found.rules.by_block] if found.rules else [None] * len(found.kept),
    ),
    Field(
        "label",
        LABEL_NAME,
        _ABOUT_LABEL,
        lambda found: map(_label, [None] * len(found.kept) if found.labels is None else found.labels),
    ),
    Field(
        "hidden",
        HIDING_NAME,
        "How the page hides the block from readers; null if it doesn't.",
        lambda found: hiding_names(found.page),
    ),
)
_PARAGRAPH = (
    Field("kind", PARAGRAPH_KIND, value=lambda paragraph: str(paragraph.kind)),
    Field("text", TEXT),
    Field("start", PLACE, "Index of the first character in `text`; null for a removed paragraph."),
    Field("end", PLACE, "Index after the last character."),
    Field("headings", TEXTS, "Headings above it, outermost first.", lambda paragraph: list(paragraph.headings)),
    Field("xpath", TEXT),
    Field("blocks", COUNTS, "Indices of its blocks.", lambda paragraph: list(paragraph.blocks)),
    Field("score", SHARE),
    Field("label", LABEL_NAME, _ABOUT_LABEL, lambda paragraph: _label(paragraph.label)),
)
_CHUNK_POST: tuple[Field, ...] = (
    Field("number", COUNT, "Number of the post in its page, from 0."),
    Field("author", TEXT.or_null()),
    Field("date", TEXT.or_null(), "ISO 8601 if it can be read, else as the page writes it."),
    Field("answers", PLACE, "Number of the post that it answers; null if unknown."),
)
_POST = (
    *_CHUNK_POST,
    Field("text", TEXT, "Text without author and date."),
    Field("start", COUNT, "Index of the first character, of its author or date too, in `text` of the page."),
    Field("end", COUNT, "Index after the last character."),
    Field("xpath", TEXT),
    Field("blocks", COUNTS, "Indices of its kept blocks.", lambda post: list(post.blocks)),
)
_CHUNK = (
    Field("text", TEXT),
    Field("headings", TEXTS, "Headings above its first block, outermost first.", lambda chunk: list(chunk.headings)),
    Field("blocks", COUNTS, "Indices of its blocks.", lambda chunk: list(chunk.blocks)),
    Field("start", COUNT, "Index of its first character in `text` of the page."),
    Field("end", COUNT, "Index after its last character."),
    Field(
        "posts",
        POSTS,
        "Posts of a thread with text in it, with `number`, `author`, `date` and `answers`.",
        lambda chunk: [{field.name: field.of(post) for field in _CHUNK_POST} for post in chunk.posts],
    ),
)
_IMAGE = (
    Field("address", TEXT, "Absolute if the page has an address."),
    Field("alt", TEXT, "Alternative text of the picture."),
    Field("caption", TEXT, "Text of its caption, even if it was removed."),
    Field("width", PLACE, "In pixels, from its element; null if not given."),
    Field("height", PLACE),
    Field("block", PLACE, "Index of the last kept block before it; -1 if no kept block precedes it."),
)
#: Descriptions of metadata fields whose names don't explain themselves.
_DATE = "ISO 8601: a date, or a date with time."
_METADATA_DESCRIPTIONS = {"published": _DATE, "modified": _DATE, "language": "BCP 47.", "script": "ISO 15924."}
_METADATA_DESCRIPTIONS["sources"] = "Where each of the other fields comes from."
_METADATA_DESCRIPTIONS["items"] = (
    "Products, recipes, events, jobs and similar things that the page declares; in Parquet JSON texts."
)
#: Types of the metadata fields by annotation.
_ANNOTATED = {"str | None": TEXT.or_null(), "tuple[str, ...]": TEXTS, "Mapping[str, str]": SOURCES,
              "tuple[Mapping[str, Any], ...]": ITEMS}  # fmt: skip
_METADATA: tuple[Field, ...] = tuple(
    Field(item.name, _ANNOTATED[str(item.type)], _METADATA_DESCRIPTIONS.get(item.name, "")) for item in fields(Metadata)
)
#: Fields of a chunk of a page of a batch, besides its text and those of the page.
CHUNK_FIELDS = (Field("number", COUNT, "Number of the chunk in its page, from 0."), _CHUNK[1], *_CHUNK[3:])
#: All fields of a page of a batch by name, with metadata fields as ``metadata.NAME``.
RECORD_FIELDS: Mapping[str, Field] = {item.name: item for item in (*RECORD, *OPTIONAL, *CHUNK_FIELDS)} | {
    f"metadata.{item.name}": item for item in _METADATA
}


def page_record(extraction: Extraction, *, metadata: bool = True) -> dict[str, Any]:
    """Return the record of a page, with the fields :data:`PAGE`.

    Parameters
    ----------
    extraction
        The extraction.
    metadata
        Whether title and metadata are read, which takes about a quarter to a half of a parse; otherwise they are None.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import Plain
    >>> record = page_record(blockml.extract("<p>One</p>", model=Plain()))
    >>> record["status"], record["text"], record["n_kept_blocks"]
    ('ok', 'One', 1)
    """
    if metadata:
        _ = extraction.metadata  # first, because the title is read by itself otherwise
    return {field.name: None if field.of_metadata and not metadata else field.of(extraction) for field in PAGE}


def block_records(extraction: Extraction) -> list[dict[str, Any]]:
    """Return one record per block: its fields; the label is None without block labels."""
    return list(each_block_record(extraction))


def each_block_record(extraction: Extraction) -> Iterator[dict[str, Any]]:
    """Iterate over the records of :func:`block_records`, because all at once may take more memory than their JSON."""
    names = [field.name for field in _BLOCK]
    for row in zip(*(field.of(extraction) for field in _BLOCK), strict=True):
        yield dict(zip(names, row, strict=True))


def paragraph_record(paragraph: Paragraph) -> dict[str, Any]:
    """Return the record of a paragraph: its fields; ``start`` and ``end`` are None for a removed one."""
    return {field.name: field.of(paragraph) for field in _PARAGRAPH}


def post_record(post: Post) -> dict[str, Any]:
    """Return the record of a post: its fields."""
    return {field.name: field.of(post) for field in _POST}


def image_record(image: Image) -> dict[str, Any]:
    """Return the record of a picture: its fields."""
    return {field.name: field.of(image) for field in _IMAGE}


def chunk_record(chunk: Chunk) -> dict[str, Any]:
    """Return the record of a chunk: its fields."""
    return {field.name: field.of(chunk) for field in _CHUNK}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output format ``json``, in the version :data:`SCHEMA_VERSION`.

    Its ``$defs`` have the schemas of the parts: ``page``, ``record`` (a line of ``blockml predict``), ``block``,
    ``paragraph``, ``post``, ``image``, ``chunk`` and ``metadata``.

    Examples
    --------
    >>> json_schema()["properties"]["schema_version"]
    {'const': 1}
    """
    lists = {
        name: {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}, **({"description": text} if text else {})}
        for name, kind, text in (
            ("paragraphs", "paragraph", "Paragraphs of the text, in its order."),
            ("removed", "paragraph", "Paragraphs of the removed blocks."),
            ("posts", "post", "Posts of a thread."),
            ("images", "image", "Pictures of the main content."),
            ("blocks", "block", ""),
            ("chunks", "chunk", "Only with --chunk-size."),
        )
    }
    page = {field.name: {"$ref": f"#/$defs/page/properties/{field.name}"} for field in PAGE}
    language = {"language": {"$ref": "#/$defs/record/properties/language"}}
    about_metadata = "Metadata that the page declares or shows. Null in records of `blockml predict` without metadata."
    about_record = (
        "A record of `blockml predict`. Title and metadata are null for pages that failed, and if they are not read."
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"blockml extraction, version {SCHEMA_VERSION}",
        "description": "Output of `blockml extract --format json`. The version changes when a field is removed or "
        "changes its meaning; fields may be added in a version.",
        "type": "object",
        "properties": {"schema_version": {"const": SCHEMA_VERSION}, **page, **language, **lists},
        "required": ["schema_version", *page, *(name for name in lists if name != "chunks")],
        "$defs": {
            "page": _object("A page.", PAGE),
            "metadata": {**_object(about_metadata, _METADATA), "type": ["object", "null"]},
            "block": _object("A text block.", _BLOCK),
            "paragraph": _object("A paragraph, heading, list, table or code block.", _PARAGRAPH),
            "post": _object("A post of a thread.", _POST),
            "chunk_post": _object("A post in a chunk.", _CHUNK_POST),
            "image": _object("A picture.", _IMAGE),
            "chunk": _object("Consecutive blocks that belong together, or a part of a long one.", _CHUNK),
            "record": _object(about_record, RECORD, in_batch=True, optional=OPTIONAL),
        },
    }


def _object(
    description: str, table: Sequence[Field], *, in_batch: bool = False, optional: Sequence[Field] = ()
) -> Mapping[str, Any]:
    return {
        "description": description,
        "type": "object",
        "properties": {field.name: field.schema(in_batch=in_batch) for field in (*table, *optional)},
        "required": [field.name for field in table],
    }
