"""What a block's text is made of, in any script: no stop words, no thresholds in one language's words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import columns_of
from blockml.features.page_context import PageContext
from blockml.text.characters import ALNUM, CJK, CLAUSE, DIGIT, SENTENCE, SPACE, UPPER

__all__ = ["COLUMNS", "text"]


def text(view: PageContext) -> Mapping[str, NDArray[np.generic]]:
    """Characters by class, words, and how the text begins and ends."""
    lengths, words, kinds = view.lengths, view.words, view.kinds
    letters = np.maximum(view.characters(ALNUM), 1)
    last = view.starts + np.maximum(lengths.astype(np.intp) - 1, 0)
    sentence = view.characters(SENTENCE)
    clause = view.characters(CLAUSE)
    spaces = view.characters(SPACE) - 1  # the line break after each text is none of its own
    signs = np.maximum(lengths - view.characters(ALNUM) - spaces, 0)
    return {
        "words": words,
        "chars": lengths,
        "wordlen": letters / np.maximum(words, 1),
        "linkedwords": view.linked,
        "linkshare": view.linked / np.maximum(words, 1),
        "freewords": words - view.linked,
        "digits": view.characters(DIGIT) / letters,
        # Signs count neither way: there are capitals in circles, and marks that Thai letters carry.
        "capitals": view.characters(UPPER | ALNUM) / letters,
        "ideographs": view.characters(CJK | ALNUM) / letters,
        "sentences": sentence,
        "clauses": clause,
        "signs": signs / np.maximum(lengths, 1),
        "clauserate": clause / np.maximum(words, 1),
        "endssentence": (kinds[last] & SENTENCE) > 0,
        "endsclause": (kinds[last] & CLAUSE) > 0,
        "startscapital": (kinds[view.starts] & UPPER) > 0,
        "startsdigit": (kinds[view.starts] & DIGIT) > 0,
        "startssign": (kinds[view.starts] & ALNUM) == 0,
        "prose": view.prose > 0,
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
