"""Characters and words of a block's text, in any script, without stop words or thresholds of one language."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import columns_of
from blockml.features.page_context import PageContext
from blockml.text.words import ALNUM, CJK, CLAUSE, DIGIT, SENTENCE, SPACE, UPPER


def text(context: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Count characters by class and words, and tell how the text begins and ends."""
    lengths, words, kinds = context.lengths, context.words, context.kinds
    letters = np.maximum(context.characters(ALNUM), 1)
    last = context.starts + np.maximum(lengths.astype(np.intp) - 1, 0)
    sentence = context.characters(SENTENCE)
    clause = context.characters(CLAUSE)
    spaces = context.characters(SPACE) - 1  # the line break after each text is not its own
    signs = np.maximum(lengths - context.characters(ALNUM) - spaces, 0)
    return {
        "words": words,
        "chars": lengths,
        "wordlen": letters / np.maximum(words, 1),
        "linkedwords": context.linked,
        "linkshare": context.linked / np.maximum(words, 1),
        "freewords": words - context.linked,
        "digits": context.characters(DIGIT) / letters,
        # Signs count in neither number: there are circled capitals, and marks of Thai letters.
        "capitals": context.characters(UPPER | ALNUM) / letters,
        "ideographs": context.characters(CJK | ALNUM) / letters,
        "sentences": sentence,
        "clauses": clause,
        "signs": signs / np.maximum(lengths, 1),
        "clauserate": clause / np.maximum(words, 1),
        "endssentence": (kinds[last] & SENTENCE) > 0,
        "endsclause": (kinds[last] & CLAUSE) > 0,
        "startscapital": (kinds[context.starts] & UPPER) > 0,
        "startsdigit": (kinds[context.starts] & DIGIT) > 0,
        "startssign": (kinds[context.starts] & ALNUM) == 0,
        "prose": context.prose > 0,
    }


COLUMNS = columns_of(
    text,
    "text statistics after Kohlschütter et al. 2010, section 3.3, by Unicode classes",
    {
        "words": "words",
        "chars": "characters",
        "wordlen": "letters and digits / word",
        "linkedwords": "words in links",
        "linkshare": ("linked words / words", 0, 1),
        "freewords": "words outside links",
        "digits": ("digits / letters and digits", 0, 1),
        "capitals": ("capitals / letters and digits", 0, 1),
        "ideographs": ("ideographs, kana and Thai / letters and digits", 0, 1),
        "sentences": "sentence ends",
        "clauses": "commas, semicolons and colons",
        "signs": ("characters that are neither letter, digit nor space / characters", 0, 1),
        "clauserate": "commas, semicolons and colons / word",
        "endssentence": ("0 or 1", 0, 1),
        "endsclause": ("0 or 1", 0, 1),
        "startscapital": ("0 or 1", 0, 1),
        "startsdigit": ("0 or 1", 0, 1),
        "startssign": ("0 or 1", 0, 1),
        "prose": ("0 or 1", 0, 1),
    },
)
