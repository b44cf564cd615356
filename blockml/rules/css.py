"""Reads CSS selectors."""

from __future__ import annotations

import re

from blockml.rules.selectors import AXES, Attribute, Either, Has, Named, Not, Path, PathStep, Position, Test, Text
from blockml.rules.tokens import SelectorReader

__all__ = ["as_tests", "read_css"]

_NAME = re.compile(r"(?:[\w-]|[^\x00-\x7f]|\\[0-9a-fA-F]{1,6}[ \t\n]?|\\[^\n0-9a-fA-F])+")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n]?|(.))", re.DOTALL)
_STRING = re.compile(r"\s*(?:\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)')", re.DOTALL)
_SPACE = re.compile(r"\s+")
_PLACES = re.compile(r"\s*(?:(odd|even)|([+-]?\d*)n\s*(?:([+-])\s*(\d+))?|([+-]?\d+))\s*", re.IGNORECASE)
_COMBINATORS = {">": "child", "~": "following-sibling", "+": "next"}
_OPERATORS = ("*=", "^=", "$=", "~=", "|=", "=")
#: Pseudo-classes of positions: what counts, and whether from the last sibling.
_POSITIONS = {
    "child": ("all", False), "last-child": ("all", True), "of-type": ("name", False), "last-of-type": ("name", True),
}  # fmt: skip
_PSEUDO = (
    "first-child, last-child, only-child, nth-child(), nth-last-child(), first-of-type, last-of-type, nth-of-type(), "
    "nth-last-of-type(), not(), is(), where(), has() and contains()"
)
_NOTHING = Not(())


def read_css(tokens: SelectorReader) -> tuple[tuple[Path, ...], str | None]:
    """Read a list of CSS selectors.

    Returns
    -------
    tuple of Path
        The alternatives.
    str or None
        The attribute that ``::attr()`` names.

    Raises
    ------
    UsageError
        It is not a list of selectors, or has something that is not supported; the message names the place.
    """
    paths, attribute = [], None
    while True:
        paths.append(Path(_complex(tokens)))
        if tokens.take("::"):
            name = _name(tokens)
            if name == "attr":
                tokens.expect("(")
                attribute = _name(tokens).lower()
                tokens.expect(")")
            elif name != "text":
                tokens.fail("pseudo-elements are ::text and ::attr()")
            break
        if not tokens.take(","):
            break
    if not tokens.ended():
        tokens.fail("expected a combinator, a comma or the end")
    return tuple(paths), attribute


def _complex(tokens: SelectorReader, *, relative: bool = False) -> tuple[PathStep, ...]:
    """Read compound selectors with combinators; a ``relative`` one may start with a combinator."""
    sign = tokens.take(*_COMBINATORS) if relative else ""
    axis, steps = _COMBINATORS.get(sign, "descendant"), list[PathStep]()
    while True:
        tokens.match(_SPACE)
        steps.append(tokens.count(PathStep(axis, _compound(tokens))))
        is_apart = tokens.match(_SPACE) is not None
        if sign := tokens.take(*_COMBINATORS):
            axis = _COMBINATORS[sign]
        elif is_apart and not tokens.ended() and not tokens.text.startswith((",", ")", "::"), tokens.place):
            axis = "descendant"
        else:
            return tuple(steps)


def _compound(tokens: SelectorReader) -> tuple[Test, ...]:
    """Read tests of one element."""
    start, tests = tokens.place, list[Test]()
    if tokens.match(re.compile(r"\*")) is None and (match := tokens.match(_NAME)):
        tests.append(Named(_unescaped(match[0]).lower()))
    while (sign := tokens.text[tokens.place : tokens.place + 1]) in {"#", ".", "[", ":"}:
        if tokens.text.startswith("::", tokens.place):
            break
        tokens.place += 1
        if sign == "#":
            found: Test = Attribute("id", "=", _name(tokens))
        elif sign == ".":
            found = Attribute("class", "~=", _name(tokens))
        else:
            found = _attribute(tokens) if sign == "[" else _pseudo_class(tokens)
        tests.append(tokens.count(found))
    if tokens.place == start:
        tokens.fail("expected the name of an element, *, #id, .class, [attribute] or :pseudo-class")
    return tuple(tests)


def _name(tokens: SelectorReader) -> str:
    match = tokens.match(_NAME)
    return _unescaped(match[0]) if match else tokens.fail("expected a name")


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        number = int(match[1] or "0", 16)
        return match[2] or (chr(number) if 0 < number < 0xD800 or 0xDFFF < number <= 0x10FFFF else "\ufffd")

    return _ESCAPE.sub(character, text) if "\\" in text else text


def _string(tokens: SelectorReader) -> str:
    match = tokens.match(_STRING)
    return _unescaped(match[1] or match[2] or "") if match else tokens.fail("expected a string in quotation marks")


def _attribute(tokens: SelectorReader) -> Test:
    tokens.match(_SPACE)
    name, value = _name(tokens).lower(), ""
    if operator := tokens.take(*_OPERATORS):
        tokens.match(_SPACE)
        value = _name(tokens) if _NAME.match(tokens.text, tokens.place) else _string(tokens)
    tokens.expect("]")
    if not operator:
        return Attribute(name)
    is_nothing = (operator in {"*=", "^=", "$=", "~="} and not value) or (operator == "~=" and value.split() != [value])
    return _NOTHING if is_nothing else Attribute(name, operator, value)


def _pseudo_class(tokens: SelectorReader) -> Test:
    start = tokens.place
    name = _name(tokens).lower()
    first, _, rest = name.partition("-")
    if name == "only-child":
        return Either(((Position(0, 1, "all"), Position(0, 1, "all", last=True)),))
    if first in {"first", "last"} and rest in {"child", "of-type"}:
        among, _ = _POSITIONS[rest]
        return Position(0, 1, among, last=first == "last")
    if not tokens.take("("):
        tokens.place = start
        tokens.fail(f"pseudo-classes are {_PSEUDO}")
    found: Test
    if first == "nth" and rest in _POSITIONS:
        found = Position(*_places(tokens), *_POSITIONS[rest])
    elif name == "contains":
        found = Text("*=", _string(tokens))
    elif name == "has":
        found = Either(tuple([(Has(steps),) for steps in tokens.nested(lambda: _list(tokens, relative=True))]))
    elif name in {"not", "is", "where"}:
        found = Either(tuple([as_tests(steps) for steps in tokens.nested(lambda: _list(tokens))]))
        found = Not((found,)) if name == "not" else found
    else:
        tokens.place = start
        tokens.fail(f"pseudo-classes are {_PSEUDO}")
    tokens.expect(")")
    return found


def _list(tokens: SelectorReader, *, relative: bool = False) -> list[tuple[PathStep, ...]]:
    found = [_complex(tokens, relative=relative)]
    while tokens.take(","):
        found.append(_complex(tokens, relative=relative))
    return found


def as_tests(steps: tuple[PathStep, ...]) -> tuple[Test, ...]:
    """Return the tests that the last element of a path from the root passes."""
    tests = steps[0].tests
    for step in steps[1:]:
        tests = (*step.tests, Has((PathStep(AXES[step.axis][1], tests),)))
    return tests


def _places(tokens: SelectorReader) -> tuple[int, int]:
    """Read ``an + b``."""
    match = tokens.match(_PLACES)
    if match is None:
        tokens.fail("expected odd, even, or a formula such as 2n + 1")
    word, step, sign, offset, single = match.groups()
    if word:
        return 2, int(word.lower() == "odd")
    if single:
        return 0, tokens.number(single)
    by = tokens.number(step) if step and step not in "+-" else int(f"{step}1")
    return by, tokens.number(f"{sign}{offset}") if sign else 0
