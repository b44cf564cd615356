"""Reads the part of XPath that can be evaluated in time linear in the page."""

from __future__ import annotations

import re
from dataclasses import replace

from blockml.rules.selectors import AXES, Attribute, Either, Has, Named, Not, Path, PathStep, Position, Test, Text
from blockml.rules.tokens import SelectorReader

__all__ = ["read_xpath"]

_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)(?!\w|::|\()")
_AXIS = re.compile(r"\s*([a-z-]+)\s*::")
_FUNCTION = re.compile(r"\s*([a-z-]+)\s*\(")
_STRING = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)')")
_NUMBER = re.compile(r"\s*(\d+)")
_WORD = re.compile(r"\s*(and|or)\b")
_ATTRIBUTE = re.compile(r"\s*@\s*([\w:.-]+)")
_POSITION = re.compile(r"\s*position\(\s*\)\s*(<=|>=|=|<|>)\s*(\d+)")
_LAST = re.compile(r"\s*last\(\s*\)(?:\s*-\s*(\d+))?")
_TEXT = re.compile(r"\s*text\(\s*\)")
_NODE = re.compile(r"\s*(?:\*|node\(\s*\))")
#: Axes of XPath; ``next`` and ``previous`` are only written as ``following-sibling::*[1]``.
_AXES = tuple(axis for axis in AXES if axis not in {"next", "previous"})
_NEXT = {"following-sibling": "next", "preceding-sibling": "previous"}
#: The step that ``//`` abbreviates.
_BELOW = PathStep("descendant-or-self", texts=True)
_LEGAL = "tests are a position, @name, contains(), starts-with(), not(), = and != of an attribute, and paths"


def read_xpath(tokens: SelectorReader) -> tuple[tuple[Path, ...], str | None]:
    """Read an XPath: a union of paths, of which all may end in the same ``/@name``, or in ``/text()``.

    Returns
    -------
    tuple of Path
        The alternatives.
    str or None
        The attribute at the end.

    Raises
    ------
    UsageError
        It is not an XPath, or has something that is not supported; the message names the place.
    """
    paths, attributes = list[Path](), set[str | None]()
    while True:
        if tokens.take("("):
            inner, attribute = _alternatives(tokens)
            tokens.expect(")")
            position = _bracketed_position(tokens) if tokens.take("[") else None
            if position is not None and len(inner) > 1:
                tokens.fail("a position after brackets needs a single path in them")
            steps, attribute = _steps(tokens, is_absolute=True, steps=[]) if tokens.take("/") else ([], attribute)
            if steps:
                tokens.fail("only @name or text() may follow brackets")
            paths += [replace(path, position=position) for path in inner]
        else:
            path, attribute = _path(tokens)
            paths.append(path)
        attributes.add(attribute)
        if not tokens.take("|"):
            break
    if not tokens.ended():
        tokens.fail("expected /, //, [, | or the end")
    if len(attributes) > 1:
        tokens.fail("all alternatives must end in the same attribute")
    return tuple(paths), attributes.pop()


def _alternatives(tokens: SelectorReader) -> tuple[list[Path], str | None]:
    """Read paths in brackets, which have no attributes."""
    found = [_path(tokens)]
    while tokens.take("|"):
        found.append(_path(tokens))
    if len({attribute for _, attribute in found}) > 1:
        tokens.fail("all alternatives must end in the same attribute")
    return [path for path, _ in found], found[0][1]


def _path(tokens: SelectorReader) -> tuple[Path, str | None]:
    """Read a path from the root."""
    tokens.take(".")
    sign = tokens.take("//", "/") or tokens.fail("a path starts with // or /")
    steps, attribute = _steps(tokens, is_absolute=True, below=sign == "//")
    return Path(tuple(steps)), attribute


def _steps(
    tokens: SelectorReader, *, is_absolute: bool = False, below: bool = False, steps: list[PathStep] | None = None
) -> tuple[list[PathStep], str | None]:
    """Read steps; ``below`` if ``//`` was read before them. Return them, and the attribute at their end."""
    steps = [] if steps is None else steps
    while True:
        if match := tokens.match(_ATTRIBUTE):
            if below:
                steps.append(_BELOW)
            return steps, match[1].lower()
        if is_absolute and tokens.match(_TEXT):
            return steps, None
        steps += _step(tokens, below=below)
        sign = tokens.take("//", "/")
        if not sign:
            return steps, None
        below = sign == "//"


def _step(tokens: SelectorReader, *, below: bool) -> list[PathStep]:
    """Read one step; after ``//`` with an axis there are two."""
    axis, may_count = "descendant" if below else "child", True
    before = list[PathStep]()
    if sign := tokens.take("..", "."):
        axis, tests = "parent" if sign == ".." else "self", list[Test]()
        return [*([_BELOW] if below else []), tokens.count(PathStep(axis))]
    if match := tokens.match(_AXIS):
        if match[1] not in _AXES:
            tokens.fail(f"axes are {', '.join(_AXES)}")
        axis, may_count = match[1], match[1] == "child"
        before = [_BELOW] if below and axis != "descendant-or-self" else []
        if before and axis == "child":
            before, axis = [], "descendant"
    tests = []
    if tokens.match(_NODE) is None:
        name = tokens.match(_NAME) or tokens.fail("expected the name of an element or *")
        tests.append(tokens.count(Named(name[1].lower())))
    while tokens.take("["):
        if not tests and axis in _NEXT and (place := tokens.place) >= 0:
            if (match := tokens.match(_NUMBER)) and match[1] == "1" and tokens.take("]"):
                axis = _NEXT[axis]
                continue
            tokens.place = place
        found = tokens.nested(lambda: _either(tokens, may_count=may_count))
        tokens.expect("]")
        tests.append(found)
    return [*before, tokens.count(PathStep(axis, tuple(tests)))]


def _either(tokens: SelectorReader, *, may_count: bool) -> Test:
    """Read tests joined by ``or`` and ``and``."""
    groups = [[_test(tokens, may_count=may_count)]]
    while match := tokens.match(_WORD):
        test = _test(tokens, may_count=False)
        if match[1] == "or":
            groups.append([test])
        else:
            groups[-1].append(test)
    if len(groups) == 1 and len(groups[0]) == 1:
        return groups[0][0]
    return Either(tuple(map(tuple, groups)))


def _test(tokens: SelectorReader, *, may_count: bool) -> Test:
    """Read one test; ``may_count`` if positions are legal."""
    if tokens.take("("):
        found = tokens.nested(lambda: _either(tokens, may_count=False))
        tokens.expect(")")
        return found
    start = tokens.place
    position = _position(tokens)
    if position is not None:
        if not may_count:
            tokens.place = start
            tokens.fail("a position must be the only test in its brackets, after a child or //")
        return tokens.count(position)
    if match := tokens.match(_FUNCTION):
        if match[1] == "not":
            inner = tokens.nested(lambda: _either(tokens, may_count=False))
            tokens.expect(")")
            return Not((inner,))
        if match[1] in {"contains", "starts-with"}:
            subject = _subject(tokens)
            tokens.expect(",")
            value = _string(tokens)
            tokens.expect(")")
            return tokens.count(replace(subject, operator="*=" if match[1] == "contains" else "^=", value=value))
        tokens.place = start
        if match[1] not in {"normalize-space", "text", "node"}:
            tokens.fail(_LEGAL)
    if tokens.text[start:].lstrip().startswith(("@", "normalize-space", "text()")):
        subject = _subject(tokens)
        return tokens.count(_compared(tokens, subject))
    below = tokens.take(".//") == ".//"
    steps, attribute = _steps(tokens, below=below)
    if attribute is not None:
        last = PathStep(steps[-1].axis, (*steps[-1].tests, _compared(tokens, Attribute(attribute))))
        steps = [*steps[:-1], last]
    elif tokens.take("!=", "="):
        tokens.fail("only attributes can be compared; use contains() for texts")
    return Has(tuple(steps))


def _compared(tokens: SelectorReader, subject: Attribute | Text) -> Test:
    """Read a comparison with a string, if there is one; a test of existence otherwise."""
    operator = tokens.take("!=", "=")
    if not operator:
        if isinstance(subject, Text):
            return replace(subject, operator="exists")
        return subject
    found = replace(subject, operator="=", value=_string(tokens))
    if operator == "=":
        return found
    if isinstance(found, Text):
        tokens.fail("!= is only legal for attributes")
    return Either(((Attribute(found.name), Not((found,))),))


def _subject(tokens: SelectorReader) -> Attribute | Text:
    """Read what a function compares: an attribute, ``.`` or ``text()``."""
    if match := tokens.match(_ATTRIBUTE):
        return Attribute(match[1].lower())
    if tokens.match(_TEXT):
        return Text("*=", "", own=True)
    if match := tokens.match(_FUNCTION):
        if match[1] == "normalize-space":
            found = _subject(tokens)
            tokens.expect(")")
            if isinstance(found, Attribute):
                return replace(found, normalized=True)
        elif match[1] == "concat":
            is_before = _string(tokens) == " "
            tokens.expect(",")
            found = _subject(tokens)
            tokens.expect(",")
            is_after = _string(tokens) == " "
            tokens.expect(")")
            if is_before and is_after and isinstance(found, Attribute):
                return replace(found, padded=True)
        tokens.fail("functions of attributes are normalize-space(@name) and concat(' ', @name, ' ')")
    if tokens.take("."):
        return Text("*=", "")
    return tokens.fail("expected @name, text() or .")


def _position(tokens: SelectorReader) -> Position | None:
    """Read a position, if there is one."""
    if match := tokens.match(_POSITION):
        number = tokens.number(match[2])
        if match[1] == "=":
            return Position(0, number)
        if match[1] in {"<", "<="}:
            return Position(-1, number - (match[1] == "<"))
        return Position(1, number + (match[1] == ">"))
    if match := tokens.match(_LAST):
        return Position(0, tokens.number(match[1] or "0") + 1, last=True)
    if match := tokens.match(_NUMBER):
        return Position(0, tokens.number(match[1]))
    return None


def _bracketed_position(tokens: SelectorReader) -> int:
    """Read a position after brackets: a number or ``last()``."""
    found = _position(tokens)
    tokens.expect("]")
    if found is None or found.step or (found.last and found.offset != 1):
        tokens.fail("the position after brackets must be a number or last()")
    return -1 if found.last else found.offset


def _string(tokens: SelectorReader) -> str:
    match = tokens.match(_STRING)
    return (match[1] or match[2] or "") if match else tokens.fail("expected a string in quotation marks")
