"""The content of a paragraph: texts, line breaks, marked spans, pictures and formulas."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

__all__ = ["BREAK", "Formula", "Inline", "Mark", "Picture", "Span"]


class Mark(StrEnum):
    """Kinds of marked parts of a text; the values are names of elements."""

    STRONG = "strong"
    EMPHASIS = "em"
    DELETED = "del"
    SUBSCRIPT = "sub"
    SUPERSCRIPT = "sup"
    CODE = "code"
    LINK = "a"


@dataclass(slots=True, eq=False)
class Span:
    """A marked part of a text and its content."""

    mark: Mark
    address: str = ""  #: address of a link, as written
    content: list[Inline] = field(default_factory=list)


class Picture(NamedTuple):
    """A picture."""

    alt: str
    address: str  #: as it is written


class Formula(NamedTuple):
    """A formula in TeX between dollar signs."""

    tex: str


#: A line break. Other texts have only single spaces as white space.
BREAK = "\n"
Inline: TypeAlias = str | Span | Picture | Formula
