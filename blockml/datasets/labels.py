"""Names of labels in labelled data."""

from __future__ import annotations

from collections.abc import Mapping

from blockml.errors import DatasetError
from blockml.page import Label

__all__ = ["IGNORE", "as_label"]

#: Label of text that may be content or not.
IGNORE = "ignore"

#: Other names for labels.
_SYNONYMS: Mapping[str, Label] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "content", "main_content", "article", "good"), Label.MAIN),
    **dict.fromkeys(("0", "0.0", "false", "no", "boilerplate", "not_content", "non_content", "bad"), Label.OTHER),
    **dict.fromkeys(("title", "headline"), Label.HEADING),
    "comments": Label.COMMENT,
    "menu": Label.NAVIGATION,
    "ad": Label.ADVERTISEMENT,
}


def as_label(name: object, source: object) -> Label | None:
    """Return the label for a name or synonym, such as 1, 0, content and boilerplate; None for ``ignore``.

    Raises
    ------
    DatasetError
        The label is unknown.

    Examples
    --------
    >>> str(as_label("Navigation", None)), str(as_label(1, None)), as_label("ignore", None)
    ('navigation', 'main', None)
    """
    if name is None:
        raise DatasetError(f"has no label; {IGNORE!r} marks text that may be content or not", source=source)
    plain = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    if plain == IGNORE:
        return None
    if plain in _SYNONYMS:
        return _SYNONYMS[plain]
    if plain not in [*Label]:
        legal = ", ".join(sorted([*map(str, Label), IGNORE]))
        raise DatasetError(f"unknown label {name!r}; choose one of: {legal}", source=source)
    return Label(plain)
