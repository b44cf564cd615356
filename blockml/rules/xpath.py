"""Reads the part of XPath that can be evaluated in linear time, and CSS, which is translated to it."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import Any, NoReturn

from blockml.errors import UsageError, needed
from blockml.rules.selectors import (
    AXES,
    Attribute,
    Count,
    Either,
    Has,
    Named,
    Not,
    PathStep,
    Position,
    Selector,
    Test,
    Text,
)

__all__ = ["MOST_CHARACTERS", "compile_selector", "read_xpath"]


#: Maximum characters of a selector, levels of brackets in it, and steps and tests.
MOST_CHARACTERS, _MOST_NESTED, _MOST_TESTS = 1_000, 8, 64
_STRING = r"(?:\"([^\"]*)\"|'([^']*)')"
_PATTERNS = {
    "axis": r"([a-z-]+)\s*::",
    "name": r"(?:([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)(?![\w.(-]|::)|\*|node\(\s*\))",
    "attribute": r"@\s*([\w:.-]+)",
    "text": r"text\(\s*\)",
    "string": _STRING,
    "word": r"(and|or)\b",
    "position": r"(?:position\(\s*\)\s*=\s*)?([1-9]\d{0,5})(?=\s*\])|last\(\s*\)(?=\s*\])",
    "count": (
        r"(\()?count\(\s*(preceding|following)-sibling::(\*|[\w-]+)\s*\)\s*(?:\+\s*(\d{1,6})\s*)?(?(1)\))\s*"
        r"(?:mod\s*(\d{1,6})\s*)?(=|<=|>=)\s*(\d{1,6})"
    ),
    "end": rf"substring\(\s*@([\w:.-]+),\s*string-length\(\s*@\1\s*\)\s*-\s*\d+\s*\)\s*=\s*{_STRING}",
    "call": r"(?!(?:text|node|normalize-space)\()[\w-]+\(",
    "function": r"(contains|starts-with|not)\(",
    "normalized": r"normalize-space\(\s*@([\w:.-]+)\s*\)",
    "padded": r"concat\(\s*' '\s*,\s*(normalize-space\(\s*)?@([\w:.-]+)\s*(?(1)\)\s*),\s*' '\s*\)",
}
_READ = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
#: Axes of XPath; ``next`` and ``previous`` are only written as ``following-sibling::*[1]``.
_AXES = tuple(axis for axis in AXES if axis not in {"next", "previous"})
_NEXT = {"following-sibling": "next", "preceding-sibling": "previous"}
#: The step that ``//`` abbreviates.
_BELOW = PathStep("descendant-or-self", texts=True)
_LEGAL = (
    "tests are a position, @name, contains(), starts-with(), not(), = and != of an attribute, = of text(), paths, and "
    "count() of siblings"
)


def read_xpath(text: str) -> tuple[tuple[tuple[PathStep, ...], ...], str | None]:
    """Parse a union of paths. All of them may end in the same ``/@name``, or in ``/text()``.

    Returns
    -------
    tuple of tuple of PathStep
        The steps of each path.
    str or None
        The attribute at the end.

    Raises
    ------
    UsageError
        The text is not an XPath, or uses syntax that is not supported.
    """
    reader = _Reader(text)
    paths, attributes = list[tuple[PathStep, ...]](), set[str | None]()
    while True:
        reader.take(".")
        sign = reader.take("//", "/") or reader.fail("a path starts with // or /")
        steps, attribute = reader.steps(is_absolute=True, below=sign == "//")
        paths.append(tuple(steps))
        attributes.add(attribute)
        if not reader.take("|"):
            break
    if reader.rest:
        reader.fail("expected /, //, [, | or the end")
    if len(attributes) > 1:
        reader.fail("all alternatives must end in the same attribute")
    return tuple(paths), attributes.pop()


class _Reader:
    """The part of an XPath that was not read yet, without white space at its start."""

    def __init__(self, text: str) -> None:
        self.rest = text.lstrip()
        self._level = self._n_tests = 0

    def match(self, name: str) -> re.Match[str] | None:
        """Read the text that a pattern matches here; None if it does not match."""
        found = _READ[name].match(self.rest)
        if found:
            self.rest = self.rest[found.end() :].lstrip()
        return found

    def take(self, *signs: str) -> str:
        """Read the first of the signs that the rest starts with; empty if there is none."""
        sign = next(filter(self.rest.startswith, signs), "")
        self.rest = self.rest[len(sign) :].lstrip()
        return sign

    def expect(self, sign: str) -> None:
        """Read a sign; raise UsageError if it is not here."""
        if not self.take(sign):
            self.fail(f"expected {sign!r}")

    def fail(self, message: str) -> NoReturn:
        """Raise UsageError with the place."""
        raise UsageError(f"at {self.rest[:20] or 'its end'!r}: {message}")

    def _count(self) -> None:
        self._n_tests += 1
        if self._n_tests > _MOST_TESTS:
            self.fail(f"a selector may have at most {_MOST_TESTS} steps and tests")

    def string(self) -> str:
        """Read a string."""
        found = self.match("string")
        return (found[1] or found[2] or "") if found else self.fail("expected a string in quotation marks")

    def steps(self, *, is_absolute: bool = False, below: bool = False) -> tuple[list[PathStep], str | None]:
        """Read steps, ``below`` if ``//`` was read before; return them, and the attribute at their end."""
        found = list[PathStep]()
        while True:
            if attribute := self.match("attribute"):
                return [*found, *([_BELOW] if below else [])], attribute[1].lower()
            if is_absolute and self.match("text"):
                return found, None
            found += self._step(below=below)
            sign = self.take("//", "/")
            if not sign:
                return found, None
            below = sign == "//"

    def _step(self, *, below: bool) -> list[PathStep]:
        self._count()
        if sign := self.take("..", "."):
            return [*([_BELOW] if below else []), PathStep("parent" if sign == ".." else "self")]
        given = self.match("axis")
        axis = given[1] if given else "child"
        if axis not in _AXES:
            self.fail(f"axes are {', '.join(_AXES)}")
        may_count = axis == "child"
        before = [_BELOW] if below and not may_count else []
        axis = "descendant" if below and may_count else axis
        name = self.match("name") or self.fail("expected the name of an element or *")
        tests: list[Test] = [Named(name[1].lower())] if name[1] else []
        while self.take("["):
            if not tests and axis in _NEXT and self.take("1]"):
                axis = _NEXT[axis]
                continue
            tests.append(self._either(may_count=may_count))
            self.expect("]")
        return [*before, PathStep(axis, tuple(tests))]

    def _either(self, *, may_count: bool = False) -> Test:
        """Read tests joined by ``or`` and ``and``."""
        self._level += 1
        if self._level > _MOST_NESTED:
            self.fail(f"brackets may be nested {_MOST_NESTED} deep")
        groups = [[self._test(may_count=may_count)]]
        while word := self.match("word"):
            if word[1] == "or":
                groups.append([])
            groups[-1].append(self._test(may_count=False))
        self._level -= 1
        return groups[0][0] if len(groups) == len(groups[0]) == 1 else Either(tuple(map(tuple, groups)))

    def _test(self, *, may_count: bool) -> Test:
        self._count()
        if count := self.match("count"):
            _, side, name, shift, modulo, operator, number = count.groups()
            if modulo is not None and not int(modulo):
                self.fail("expected a positive number after mod")
            return Count(side == "following", name.lower(), int(shift or 0), int(modulo or 0), operator, int(number))
        if self.take("("):
            found = self._either()
            self.expect(")")
            return found
        if position := self.match("position"):
            if not may_count:
                self.fail("before it is a position, which must be the only test in its brackets, after a child or //")
            return Position(int(position[1] or 1), last=position[1] is None)
        if end := self.match("end"):
            return Attribute(end[1].lower(), "$=", end[2] or end[3] or "")
        if function := self.match("function"):
            found = self._function(function[1])
            self.expect(")")
            return found
        if self.rest[:1].isdigit() or self.match("call"):
            self.fail(f"before it is what is not supported or never matches; {_LEGAL}")
        if self.rest.startswith(("@", "normalize-space", "text()")):
            return self._compared(self._subject())
        steps, attribute = self.steps(below=self.take(".//", "./") == ".//")
        if attribute is not None:
            last = steps.pop() if steps else PathStep("self")
            steps.append(replace(last, tests=(*last.tests, self._compared(Attribute(attribute)))))
        elif self.take("!=", "="):
            self.fail("only attributes and text() can be compared; use contains() for other texts")
        return Has(tuple(steps))

    def _function(self, name: str) -> Test:
        """Read the arguments of a function."""
        if name == "not":
            return Not(self._either())
        subject = self._subject()
        self.expect(",")
        return replace(subject, operator="*=" if name == "contains" else "^=", value=self.string())

    def _subject(self) -> Attribute | Text:
        """Read the left side of a comparison: an attribute, ``.`` or ``text()``."""
        if found := self.match("attribute"):
            return Attribute(found[1].lower())
        if found := self.match("normalized"):
            return Attribute(found[1].lower(), normalized=True)
        if found := self.match("padded"):
            return Attribute(found[2].lower(), normalized=found[1] is not None, padded=True)
        if self.match("text"):
            return Text("exists", "", own=True)
        return Text("*=", "") if self.take(".") else self.fail("expected @name, normalize-space(@name), text() or .")

    def _compared(self, subject: Attribute | Text) -> Test:
        """Read a comparison with a string, if there is one; the attribute or text must exist otherwise."""
        operator = self.take("!=", "=")
        if not operator:
            return subject
        found = replace(subject, operator="=", value=self.string())
        if operator == "=":
            return found
        if isinstance(found, Text):
            self.fail("before it is != of a text, which is only legal for attributes")
        return Either(((Attribute(found.name), Not(found)),))


@functools.lru_cache(maxsize=4096)
def compile_selector(text: str) -> Selector:
    """Compile a CSS selector, or an XPath, which starts with ``/`` or ``./``.

    Raises
    ------
    UsageError
        It can't be read, or has something whose time would not be linear in the page; the message names the place.
    MissingExtraError
        It is CSS, and cssselect isn't installed.

    Examples
    --------
    >>> import blockml
    >>> from blockml.rules.selectors import SelectorTree
    >>> tree = SelectorTree(blockml.parse("<div class='a b'><p>One</p><p>Two</p></div>").nodes)
    >>> for text in (".a > p:last-child", "//div[contains(@class, 'a')]/p[2]", "//p[contains(., 'Two')]"):
    ...     compile_selector(text).select(tree).nonzero()[0].tolist()
    [6]
    [6]
    [6]
    >>> compile_selector("time::attr(datetime)").xpath
    '//time/@datetime'
    """
    if not text.strip():
        raise UsageError("a selector is empty")
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"a selector may have at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    is_xpath = text.lstrip().startswith(("/", "./"))
    xpath = text.strip() if is_xpath else _translated(text)
    try:
        paths, attribute = read_xpath(xpath)
    except UsageError as error:
        raise UsageError(f"the selector {text!r} can't be read {error}") from None
    return Selector(text, xpath, not is_xpath, paths, attribute)


def _translated(text: str) -> str:
    """Translate CSS to XPath."""
    with needed("CSS selectors in rules", "rules"):
        import cssselect
    try:
        return " | ".join(_translator().selector_to_xpath(item, prefix="//") + _end(item, text)
                          for item in cssselect.parse(text))  # fmt: skip
    except (cssselect.SelectorError, RecursionError, UnicodeEncodeError) as error:
        raise UsageError(f"the selector {text!r} can't be read as CSS: {error}") from None
    except RuntimeError:  # of cssselect, after a StopIteration
        raise UsageError(f"the selector {text!r} can't be read as CSS: it ends within brackets") from None


def _end(item: Any, text: str) -> str:  # noqa: ANN401 (a class of cssselect)
    """Return the end of the XPath of a pseudo-element: ``::attr(name)`` or ``::text``."""
    pseudo = item.pseudo_element
    if pseudo is None or pseudo == "text":
        return ""
    if getattr(pseudo, "name", "") != "attr" or len(pseudo.arguments) != 1:
        raise UsageError(f"the selector {text!r} can't be read as CSS: pseudo-elements are ::text and ::attr()")
    return f"/@{pseudo.arguments[0].value}"


@functools.cache
def _translator() -> Any:  # noqa: ANN401 (a class of cssselect)
    from cssselect.xpath import GenericTranslator, XPathExpr

    class Translator(GenericTranslator):
        """Writes XPath in the short forms that are supported."""

        def xpath_descendant_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
            return left.join("//", right)

        def xpath_direct_adjacent_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
            return left.join("/following-sibling::*[1]/self::", right)

        def xpath_attrib_includes(self, xpath: XPathExpr, name: str, value: str | None) -> XPathExpr:
            word = self.xpath_literal(f" {value} ")
            is_word = value and value.split() == [value]
            test = f"contains(concat(' ', normalize-space({name}), ' '), {word})"
            return xpath.add_condition(test if is_word else "0")

    return Translator()
