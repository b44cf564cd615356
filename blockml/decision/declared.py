"""Declared articles, lines whose text a page declares, such as parts of a recipe, and forms.

Short lines of a list are hard to tell from a menu, and a summary in a separate element from a teaser. JSON-LD and
``meta`` elements repeat their texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockml.decision.prediction import HALF, Prediction
from blockml.features.page_context import PageContext
from blockml.features.page_matrix import PageMatrix
from blockml.page import Page
from blockml.text.words import lazy_pattern, token_lists

if TYPE_CHECKING:
    from blockml.decision.policy import Scoring

__all__ = ["declares_article", "has_running_text", "is_form", "keep_declared_lines", "recipe_lines", "summary_line"]


_PARTS_OF_RECIPES = ("recipeIngredient", "ingredients", "recipeInstructions")
_TAG = lazy_pattern(r"<[^>]*>")
#: Minimum words of a line that is a part of a declared text, such as one step of several in one string; shorter lines
#: must be the whole text (our choice).
_MIN_PART = 4
#: Maximum characters of a recipe, and of lines that are compared with it, so that hostile pages cost little.
_MAX_CHARACTERS, _MAX_COMPARED = 50_000, 500
#: Minimum probability of being an article for the summary before a text to be looked for (our choice).
_MIN_P_ARTICLE = 0.5
#: Declarations of a description.
_DESCRIPTIONS = ("og:description", "description")
#: Bounds of the words of a summary, and the lines before the text that may be it (our choices).
_SUMMARY_WORDS, _MAX_LINES = (8, 80), 13
#: Minimum words and probability of running text on a page that declares an article, for it to have content (our
#: choices).
_MIN_TEXT, _MIN_PROBABILITY = 20, 0.1
#: Minimum characters of a description that is a part of a summary, and those of its last word, which may be cut off.
_BEGIN, _LAST_WORD = 40, 6


def keep_declared_lines(page: Scoring) -> None:
    """Give the probable lines that a page declares and the kept blocks lack a score of 0.5."""
    prediction, kept, least = page.prediction, page.scores >= HALF, page.policy.declared_probability
    if least >= 1 or prediction.matrix is None or not np.count_nonzero(kept):
        return
    likely = (prediction.scores >= np.float32(least)) & ~kept
    if prediction.removed is not None:
        likely &= ~prediction.removed
    if not np.count_nonzero(likely):
        return
    found = np.zeros(len(kept), dtype=bool)
    if prediction.p_article is not None and prediction.p_article >= _MIN_P_ARTICLE:
        found |= summary_line(prediction.matrix.context, likely, kept)
    if _declares_manual(prediction.matrix):
        found |= recipe_lines(prediction.matrix.context.page, likely, kept)
    if np.count_nonzero(found):
        page.declared = found & (page.scores < np.float32(page.policy.threshold))
        page.scores = np.where(found, np.maximum(page.scores, HALF), page.scores)


def _declares_manual(page: PageMatrix) -> bool:
    """Tell whether a page declares a manual, recipe or course by a type of schema.org; False without the column."""
    return _first(page, "ismanual_0") >= 2


def _first(page: PageMatrix, column: str) -> float:
    """Return the value of a page-level column, equal for all blocks; 0 if the set lacks it or the page has no block."""
    return float(page.values[0, page.places[column]]) if len(page.values) and column in page.places else 0.0


def declares_article(prediction: Prediction) -> bool:
    """Tell whether a page declares an article; False without the columns.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.matrix import page_matrix
    >>> page = blockml.parse("<meta property=og:type content=article><p>Cats")
    >>> declares_article(Prediction(np.array([.2], np.float32), matrix=page_matrix(page, "page")))
    True
    """
    return prediction.matrix is not None and _first(prediction.matrix, "isarticle_0") > 0


def has_running_text(prediction: Prediction) -> bool:
    """Tell whether a page has running text that may be the start of an article; False without the features.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors.matrix import page_matrix
    >>> page = blockml.parse("<p>" + "word " * 30)
    >>> has_running_text(Prediction(np.array([.2], np.float32), matrix=page_matrix(page, "page")))
    True
    """
    if prediction.matrix is None:
        return False
    is_text = prediction.matrix.context.prose >= _MIN_TEXT
    return bool((prediction.scores[is_text] >= np.float32(_MIN_PROBABILITY)).any())


def recipe_lines(page: Page, among: NDArray[np.bool_], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) the lines ``among`` the blocks that are ingredients or steps of a recipe in JSON-LD.

    Lines whose text is ``kept`` (n_blocks,) already are left out.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(
    ...     '<script type="application/ld+json">{"@type": "Recipe", "recipeIngredient": ["2 eggs"]}</script>'
    ...     "<p>Menu<li>2 eggs<li>3 eggs"
    ... )
    >>> recipe_lines(page, np.ones(3, bool), np.zeros(3, bool)).tolist()
    [False, True, False]
    """
    found = np.zeros(len(kept), dtype=bool)
    candidates = _lines(page, among & ~kept)
    if not candidates:
        return found
    from blockml.metadata.json_ld import field_texts  # few pages declare recipes

    declared = [_TAG.sub(" ", text) for text in field_texts(page, _PARTS_OF_RECIPES, _MAX_CHARACTERS)]
    keys = _keys([*declared, *islice(candidates.values(), _MAX_COMPARED)])
    recipe = _Texts(keys[: len(declared)])
    parts = {number: key for number, key in zip(candidates, keys[len(declared) :], strict=False) if key in recipe}
    if not parts:
        return found
    texts = list(_lines(page, kept).values())
    n_texts = int((np.cumsum([*map(len, texts)]) <= _MAX_CHARACTERS).sum())
    known = _Texts(_keys([_TAG.sub(" ", text) for text in texts[:n_texts]]))
    line = page.blocks.line_numbers()
    for number, key in parts.items():
        if key not in known:
            known.keys.add(key)
            found |= line == number
    return found


class _Texts:
    """Set of normalised texts; ``in`` finds whole texts and long parts of them."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = {*keys} - {""}
        self._together = "".join(f" {key} \n" for key in sorted(self.keys))

    def __contains__(self, key: str) -> bool:
        """Tell whether a text is one of them, or part of one and not too short."""
        return key in self.keys or (key.count(" ") + 1 >= _MIN_PART and f" {key} " in self._together)


def summary_line(context: PageContext, among: NDArray[np.bool_], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) the last line ``among`` the blocks before the kept ones that the page declares as description.

    Examples
    --------
    >>> import blockml
    >>> summary = "Cats rule the world, and nobody has ever asked them."
    >>> page = blockml.parse(f"<meta name=description content='{summary}'><h1>Cats</h1><div>{summary}</div><p>They do.")
    >>> kept = np.array([False, False, True])
    >>> summary_line(PageContext(page), ~kept, kept).tolist()
    [False, True, False]
    """
    first, chosen = int(kept.argmax()), np.zeros_like(kept)
    chosen[:first] = among[:first] & (2 * context.linked[:first] < context.words[:first])
    if not np.count_nonzero(chosen):  # the usual case
        return chosen
    declared = [text for name in _DESCRIPTIONS if (text := context.meta.get(name))]
    if not declared:
        return np.zeros_like(kept)
    line = context.blocks.line_numbers()
    n_words = np.bincount(line, context.words)
    near = n_words[: line[first]].nonzero()[0][-_MAX_LINES:].tolist()
    texts = {
        number: text
        for number, text in reversed(_lines(context.page, chosen).items())
        if number in near and _SUMMARY_WORDS[0] <= n_words[number] <= _SUMMARY_WORDS[1]
    }
    if texts:
        keys = _keys([*declared, *texts.values()])
        for number, key in zip(texts, keys[len(declared) :], strict=True):
            if any(_begins(key, description) for description in keys[: len(declared)]):
                return np.equal(line, number)
    return np.zeros_like(kept)


def _begins(summary: str, description: str) -> bool:
    """Tell whether a text is the start of a description, or continues one that was cut off in its last word."""
    shown = description[: max(_BEGIN, len(description) - _LAST_WORD)]
    return description.startswith(summary) or (len(shown) >= _BEGIN and summary.startswith(shown))


def _keys(texts: list[str]) -> list[str]:
    """Return the words of texts, in lower case."""
    return list(map(" ".join, token_lists(texts)))


def _lines(page: Page, chosen: NDArray[np.bool_]) -> dict[int, str]:
    """Return the texts of the lines with a chosen block (n_blocks,), by number of the line."""
    line, texts = page.blocks.line_numbers(), page.blocks.texts
    numbers = np.flatnonzero(np.bincount(line[chosen]))
    starts, stops = line.searchsorted(numbers), line.searchsorted(numbers, side="right")
    return {
        number: " ".join(texts[start:stop])
        for number, start, stop in zip(numbers.tolist(), starts.tolist(), stops.tolist(), strict=True)
    }


#: Types of fields that people write into.
_WRITTEN = frozenset({"text", "email", "tel", ""})
#: Minimum fields to write into, and fields and buttons altogether (our choices: comments below a post need fewer);
#: fields that are looked at, so that hostile pages cost little.
_MIN_WRITTEN, _MIN_FIELDS, _MOST = 3, 8, 1000


def is_form(page: Page) -> bool:
    """Tell whether a page asks for a password, or for several pieces of text.

    Examples
    --------
    >>> import blockml
    >>> is_form(blockml.parse("<form><input name=name><input type=password></form>"))
    True
    >>> is_form(blockml.parse("<form><input type=search><button>Go</button></form>"))
    False
    """
    nodes = page.nodes
    fields = nodes.indices("input")
    types = [(nodes.attributes[node].get("type") or "").lower() for node in fields[:_MOST].tolist()]
    if "password" in types:
        return True
    n_written = sum(kind in _WRITTEN for kind in types) + len(nodes.indices("textarea"))
    return n_written >= _MIN_WRITTEN and len(fields) + len(nodes.indices("button")) >= _MIN_FIELDS
