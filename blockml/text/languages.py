"""Language of a text, by the package of the extra ``language``."""

from __future__ import annotations

from blockml.errors import needed

#: Maximum and minimum number of words that are used (our choice).
_MOST_WORDS, _LEAST_WORDS = 200, 5


def detected_language(text: str) -> str | None:
    """Return the code of a text's language, such as ``en``; None if the text is too short to tell.

    Raises
    ------
    MissingExtraError
        The package of the extra ``language`` isn't installed.
    """
    words = text.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]
    if len(words) < _LEAST_WORDS:
        return None
    with needed("detecting the language of pages that declare none", "language"):
        import py3langid
    return str(py3langid.classify(" ".join(words))[0])
