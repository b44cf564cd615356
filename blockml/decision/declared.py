"""Lines that are kept because the page declares their text: parts of a recipe, and the summary before an article.

Short lines of a list are hard to tell from a menu, and a summary in an element of its own from a teaser. JSON-LD and
``meta`` elements repeat their texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.decision.lines import line_numbers
from blockml.features.page_context import PageContext
from blockml.metadata.json_ld import page_objects, text_of
from blockml.page import Page
from blockml.page.attribute_words import nodes_with_words
from blockml.text.tokens import metric_tokens

__all__ = ["recipe_lines", "summary_line"]

_PARTS_OF_RECIPES = ("recipeIngredient", "ingredients", "recipeInstructions")
_TAG = re.compile(r"<[^>]*>")
#: Nested lists and sections of steps; real recipes have three.
_MAX_DEPTH = 6
#: Minimum words of a line that is a part of a declared text, such as one step of several in one string; shorter lines
#: must be the whole text (our choice).
_MIN_PART = 4
#: Maximum characters of a recipe, and of lines that are compared with it, so that hostile pages cost little.
_MAX_CHARACTERS, _MAX_COMPARED = 50_000, 500
#: Declarations of a description.
_DESCRIPTIONS = ("og:description", "description")
#: Bounds of the words of a summary, and the lines before the text that may be it (our choices).
_SUMMARY_WORDS, _MAX_LINES = (8, 80), 13
#: Minimum characters of a description that is a part of a summary, and those of its last word, which may be cut off.
_BEGIN, _LAST_WORD = 40, 6


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
    recipe = _Texts(
        text
        for item in page_objects(page, nodes_with_words(page.nodes, (b"+json",))[b"+json"])
        for name in _PARTS_OF_RECIPES
        for text in _texts(item.get(name), 0)
    )
    parts = {number: text for number, text in islice(candidates.items(), _MAX_COMPARED) if text in recipe}
    if not parts:
        return found
    known = _Texts(_lines(page, kept).values())
    line = line_numbers(page.blocks)
    for number, text in parts.items():
        if text not in known:
            known.keys.add(_key(text))
            found |= line == number
    return found


class _Texts:
    """Texts by their words, without tags."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.keys: set[str] = set()
        n_characters = 0
        for text in texts:
            n_characters += len(text)
            if n_characters > _MAX_CHARACTERS:
                break
            self.keys.add(_key(_TAG.sub(" ", text)))
        self.keys.discard("")
        self._together = "".join(f" {key} \n" for key in sorted(self.keys))

    def __contains__(self, text: str) -> bool:
        """Tell whether a text is one of them, or a longer text a part of one."""
        key = _key(text)
        return key in self.keys or (key.count(" ") + 1 >= _MIN_PART and f" {key} " in self._together)


def _texts(value: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 (parsed JSON)
    """Iterate over the texts of ingredients or steps: strings, steps with a text or name, and sections of these."""
    if isinstance(value, str):
        yield text_of(value) or ""
    elif isinstance(value, list | dict) and depth < _MAX_DEPTH:
        parts = value if isinstance(value, list) else [value.get(key) for key in ("text", "name", "itemListElement")]
        for part in parts:
            yield from _texts(part, depth + 1)


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
    if not chosen.any():  # mostly
        return chosen
    line = line_numbers(context.blocks)
    n_words = np.bincount(line, context.words)
    near = n_words[: line[first]].nonzero()[0][-_MAX_LINES:].tolist()
    declared = [_key(text) for name in _DESCRIPTIONS if (text := context.meta.get(name))]
    for number, text in reversed(_lines(context.page, chosen).items()):
        if number in near and _SUMMARY_WORDS[0] <= n_words[number] <= _SUMMARY_WORDS[1]:
            key = _key(text)
            if any(_begins(key, description) for description in declared):
                return np.equal(line, number)
    return np.zeros_like(kept)


def _begins(summary: str, description: str) -> bool:
    """Tell whether a text is the begin of a description, or continues one that was cut off in its last word."""
    shown = description[: max(_BEGIN, len(description) - _LAST_WORD)]
    return description.startswith(summary) or (len(shown) >= _BEGIN and summary.startswith(shown))


def _key(text: str) -> str:
    """Return the words of a text, in lower case."""
    return " ".join(metric_tokens(text))


def _lines(page: Page, chosen: NDArray[np.bool_]) -> dict[int, str]:
    """Return the texts of the lines with a chosen block (n_blocks,), by number of the line."""
    line, texts = line_numbers(page.blocks), page.blocks.texts
    numbers = np.unique(line[chosen])
    starts, stops = line.searchsorted(numbers), line.searchsorted(numbers, side="right")
    return {
        number: " ".join(texts[start:stop])
        for number, start, stop in zip(numbers.tolist(), starts.tolist(), stops.tolist(), strict=True)
    }
