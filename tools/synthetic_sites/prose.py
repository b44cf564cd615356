"""Seeded generation of English text from small grammars.

In the text file of a grammar, a line ``:name`` starts a rule, and each line below it is an alternative, in which

* ``{rule}`` is replaced by an alternative of that rule (or by what the writer bound to the name),
* ``{Rule}`` stands for ``{rule}`` with a capital first letter,
* ``{#3-9}`` is a number between 3 and 9, ``{,1000-9000}`` a number with a thousands separator,
* ``a(n)`` becomes *a* or *an*, and ``[words]`` marks a span the page may turn into a link or emphasis.

Alternatives are drawn like cards from a shuffled deck, so that a page repeats itself as late as possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from random import Random
from types import MappingProxyType

from blockml.errors import UnknownNameError

__all__ = ["Writer", "load_grammar", "parse_grammar", "plain"]

_SLOT = re.compile(r"\{([^{}]+)\}")
_ARTICLE = re.compile(r"\b([Aa])\(n\)(\s+\[?)(?=(\w))")
_SENTENCE_START = re.compile(r"((?:(?:^|[.?!] |\.” )“?|[:,] “)\[?)([a-z])")

Grammar = Mapping[str, tuple[str, ...]]


def parse_grammar(text: str) -> Grammar:
    r"""Parse the text of a grammar file.

    Examples
    --------
    >>> dict(parse_grammar(":greeting\nGood {time}.\n:time\nmorning\nevening\n"))
    {'greeting': ('Good {time}.',), 'time': ('morning', 'evening')}
    """
    rules: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(":"):
            name = line[1:].strip()
            rules[name] = []
        elif line.strip() and not line.startswith("#"):
            rules[name].append(line.strip())
    return MappingProxyType({rule: tuple(lines) for rule, lines in rules.items()})


@cache
def load_grammar(name: str) -> Grammar:
    """Return the grammar of a site with the rules common to all sites, which the site's own rules override."""
    folder = resources.files("tools.synthetic_sites") / "grammar"
    shared, own = ((folder / f"{stem}.txt").read_text(encoding="utf-8") for stem in ("common", name))
    return MappingProxyType({**parse_grammar(shared), **parse_grammar(own)})


def plain(text: str) -> str:
    """Drop the span marks of a text.

    Examples
    --------
    >>> plain("See [the harbour] today.")
    'See the harbour today.'
    """
    return text.replace("[", "").replace("]", "")


class Writer:
    r"""Generator of the sentences of one page.

    Parameters
    ----------
    grammar
        Rules by name.
    key
        Seed of everything random on the page; any string.

    Examples
    --------
    >>> rules = parse_grammar(":greeting\nthis is a(n) {time} for {who}.\n:time\nevening")
    >>> writer = Writer(rules, "0")
    >>> writer.bind(who="owls")
    >>> writer.say("greeting")
    'This is an evening for owls.'
    """

    def __init__(self, grammar: Grammar, key: str) -> None:
        self.rng = Random(key)  # noqa: S311 - reproducible text, nothing secret
        self._grammar = grammar
        self._decks: dict[str, list[str]] = {}
        self._bound: dict[str, str] = {}

    def bind(self, **values: str) -> None:
        """Set the texts of slots for the rest of the page."""
        self._bound.update(values)

    def pick(self, rule: str) -> str:
        """Expand one alternative of a rule without capitalising it."""
        return self.fill(f"{{{rule}}}")

    def fill(self, text: str) -> str:
        """Expand the slots of a text."""
        while slot := _SLOT.search(text):
            text = text[: slot.start()] + self._value(slot[1]) + text[slot.end() :]
        return _ARTICLE.sub(lambda m: m[1] + ("n" if m[3].lower() in "aeiou" else "") + m[2], text)

    def draw(self, rule: str) -> str:
        """Draw an alternative of a rule without expanding it."""
        if rule not in self._grammar:
            raise UnknownNameError("grammar rule", rule, self._grammar)
        deck = self._decks.setdefault(rule, [])
        if not deck:
            deck.extend(self._grammar[rule])
            self.rng.shuffle(deck)
        return deck.pop()

    def say(self, rule: str, count: int = 1) -> str:
        """Expand ``count`` alternatives of a rule as sentences, joined by a space."""
        return self.sentences(" ".join(self.pick(rule) for _ in range(count)))

    def sentences(self, text: str) -> str:
        """Expand the slots of a text and start its sentences with capital letters."""
        text = self.fill(text)
        return _SENTENCE_START.sub(lambda m: m[1] + m[2].upper(), text)

    def lines(self, rule: str, count: int) -> list[str]:
        """Expand ``count`` alternatives as separate, mark-free sentences."""
        return [plain(self.say(rule)) for _ in range(count)]

    def article(self, opening: str, middle: Sequence[str], closing: str, words: int) -> list[str]:
        """Return paragraphs of about ``words`` words: one of the opening rule, some of the middle, one of the closing.

        A text of at most 60 words is a single paragraph of two opening sentences.
        """
        paragraphs = [self.say(opening, 2)]
        if words <= 60:
            return paragraphs
        written = len(paragraphs[0].split())
        while written < words - 20:
            paragraph = self.say(self.rng.choice(middle), self.rng.choice((1, 2, 2, 3, 3, 4, 5)))
            paragraphs.append(paragraph)
            written += len(paragraph.split())
        return [*paragraphs, self.say(closing)]

    def _value(self, slot: str) -> str:
        if slot[0] in "#,":
            low, _, high = slot[1:].partition("-")
            number = self.rng.randint(int(low), int(high))
            return f"{number:,}" if slot[0] == "," else str(number)
        if slot[0].isupper():
            return _capitalised(self._value(slot[0].lower() + slot[1:]))
        if slot in self._bound:
            return self._bound[slot]
        return self.draw(slot)


def _capitalised(text: str) -> str:
    # If an alternative starts with a slot, the slot is capitalised.
    start = 1 if re.match(r"\{[a-z]", text) else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]
