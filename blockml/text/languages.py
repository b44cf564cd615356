"""Language and script of a text."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Mapping

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


#: First code point and script of ranges of letters (Unicode, Blocks.txt).
_RANGES = (
    (0x0000, "Latn"), (0x0370, "Grek"), (0x0400, "Cyrl"), (0x0530, "Armn"), (0x0590, "Hebr"), (0x0600, "Arab"),
    (0x0700, None), (0x0750, "Arab"), (0x0780, None), (0x08A0, "Arab"), (0x0900, "Deva"), (0x0980, "Beng"),
    (0x0A00, "Guru"), (0x0A80, "Gujr"), (0x0B00, "Orya"), (0x0B80, "Taml"), (0x0C00, "Telu"), (0x0C80, "Knda"),
    (0x0D00, "Mlym"), (0x0D80, "Sinh"), (0x0E00, "Thai"), (0x0E80, "Laoo"), (0x0F00, "Tibt"), (0x1000, "Mymr"),
    (0x10A0, "Geor"), (0x1100, "Kore"), (0x1200, "Ethi"), (0x13A0, None), (0x1780, "Khmr"), (0x1800, "Mong"),
    (0x18B0, None), (0x1C90, "Geor"), (0x1CC0, None), (0x1D00, "Latn"), (0x1F00, "Grek"), (0x2000, None),
    (0x2C60, "Latn"), (0x2C80, None), (0x2DE0, "Cyrl"), (0x2E00, None), (0x3040, "Jpan"), (0x3100, "Hani"),
    (0x3130, "Kore"), (0x3190, "Hani"), (0x31F0, "Jpan"), (0x3200, None), (0x3400, "Hani"), (0xA000, None),
    (0xA640, "Cyrl"), (0xA6A0, None), (0xA720, "Latn"), (0xA800, None), (0xAC00, "Kore"), (0xD7B0, None),
    (0xF900, "Hani"), (0xFB00, "Latn"), (0xFB13, "Armn"), (0xFB1D, "Hebr"), (0xFB50, "Arab"), (0xFE00, None),
    (0xFE70, "Arab"), (0xFF00, "Latn"), (0xFF66, "Jpan"), (0xFFA0, "Kore"), (0xFFE0, None), (0x20000, "Hani"),
    (0x33480, None),
)  # fmt: skip
#: Languages of scripts in which (nearly) all pages are in one language.
LANGUAGES: Mapping[str, str] = {
    "Armn": "hy", "Geor": "ka", "Grek": "el", "Gujr": "gu", "Guru": "pa", "Hani": "zh", "Hebr": "he", "Jpan": "ja",
    "Khmr": "km", "Knda": "kn", "Kore": "ko", "Laoo": "lo", "Mlym": "ml", "Mymr": "my", "Orya": "or", "Sinh": "si",
    "Taml": "ta", "Telu": "te", "Thai": "th",
}  # fmt: skip
_STARTS = [start for start, _ in _RANGES]
#: Number of letters that are inspected.
_SAMPLE = 100
#: Latin letters and non-letters that occur with them: the most frequent texts.
_LATIN = re.compile(r"[\0-\u02af\u2000-\u206f]*")


def main_script(text: str) -> str | None:
    """Return the code of the script of most letters at the start of a text; None without letters.

    A text is Japanese instead of Chinese if at least one letter in twenty is kana.

    Examples
    --------
    >>> main_script("Cats rule"), main_script("Кошки"), main_script("猫が好きです"), main_script("12")
    ('Latn', 'Cyrl', 'Jpan', None)
    """
    sample = text[: 2 * _SAMPLE]
    if _LATIN.fullmatch(sample):
        return "Latn" if any(map(str.isalpha, sample)) else None
    letters = "".join(filter(str.isalpha, sample))[:_SAMPLE]
    if not letters:
        return None
    first, last = bisect(_STARTS, ord(min(letters))), bisect(_STARTS, ord(max(letters)))
    if first == last:
        return _RANGES[first - 1][1]
    counts = Counter[str | None]()
    for letter, count in Counter(letters).items():
        counts[_RANGES[bisect(_STARTS, ord(letter)) - 1][1]] += count
    counts.pop(None, None)
    if counts["Jpan"] * 20 >= sum(counts.values()) > 0:
        return "Jpan"
    return counts.most_common(1)[0][0] if +counts else None
