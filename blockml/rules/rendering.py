"""Writes compiled selectors as XPath 1.0 and as CSS, for other programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from blockml.errors import UsageError
from blockml.rules.css import as_tests
from blockml.rules.selectors import Attribute, Either, Has, Named, Not, Path, PathStep, Position, Selector, Test, Text

__all__ = ["to_css", "to_xpath", "xpath_condition"]

_PLAIN = re.compile(r"-?[A-Za-z_][\w-]*", re.ASCII)
_COMBINATORS = {"descendant": " ", "child": " > ", "following-sibling": " ~ ", "next": " + "}
_SIBLINGS = {"next": "following-sibling", "previous": "preceding-sibling"}


def to_xpath(selector: Selector, *, attribute: bool = False) -> str:
    """Return a selector as XPath 1.0, with ``/@name`` at the end if ``attribute`` and it names one.

    Raises
    ------
    UsageError
        XPath 1.0 can't express it.

    Examples
    --------
    >>> from blockml.rules import compile_selector
    >>> to_xpath(compile_selector("article > p.lead, #b"))
    "//article/p[contains(concat(' ', normalize-space(@class), ' '), ' lead ')] | //*[@id='b']"
    """
    end = f"/@{selector.attribute}" if attribute and selector.attribute else ""
    return " | ".join(f"{_path(path)}{end}" for path in selector.paths)


def xpath_condition(selector: Selector) -> str:
    """Return the condition, within brackets of XPath, that the elements of a selector meet."""
    if any(path.position is not None for path in selector.paths):
        raise UsageError(f"{selector.text!r} has a position on the page, which is not a condition on an element")
    return " or ".join(f"({_conditions(as_tests(path.steps))})" for path in selector.paths)


def _path(path: Path) -> str:
    text = "".join(_step(step) for step in path.steps)
    if path.position is None:
        return text
    return f"({text})[{'last()' if path.position < 0 else path.position}]"


def _step(step: PathStep) -> str:
    tests, name = step.tests, "node()" if step.texts else "*"
    axis = _SIBLINGS.get(step.axis)
    if axis is None and tests and isinstance(tests[0], Named):
        name, tests = tests[0].name, tests[1:]
    places = "[1]" if axis else ""
    conditions = "".join(f"[{_condition(test, step.tests[: number + len(step.tests) - len(tests)])}]"
                         for number, test in enumerate(tests))  # fmt: skip
    start = {"child": "/", "descendant": "//"}.get(step.axis, f"/{axis or step.axis}::")
    return f"{start}{name}{places}{conditions}"


def _conditions(tests: Sequence[Test]) -> str:
    return " and ".join(_condition(test, tests[:number]) for number, test in enumerate(tests)) or "true()"


def _condition(test: Test, before: Sequence[Test]) -> str:
    """Return a test as a condition; ``before`` are the tests of its step before it."""
    if isinstance(test, Named):
        return f"self::{test.name}"
    if isinstance(test, Attribute):
        return _attribute(test)
    if isinstance(test, Text):
        subject = "text()" if test.own else ""
        if test.operator == "exists":
            return subject
        function = {"*=": "contains", "^=": "starts-with"}.get(test.operator)
        inner = f"{function}(., {_quoted(test.value)})" if function else f".={_quoted(test.value)}"
        return f"{subject}[{inner}]" if test.own else inner
    if isinstance(test, Has):
        text = "".join(map(_step, test.steps))
        return f".{text}" if text.startswith("//") else text[1:]
    if isinstance(test, Not):
        return f"not({_conditions(test.tests)})"
    if isinstance(test, Either):
        return "(" + " or ".join(f"({_conditions(tests)})" for tests in test.groups) + ")"
    assert isinstance(test, Position)  # noqa: S101 (the last kind)
    place = "position()"
    if test.among == "tested" and test.last:
        place = "(last() - position() + 1)"
    elif test.among != "tested":
        names = [item.name for item in before if isinstance(item, Named)]
        if test.among == "name" and not names:
            raise UsageError("a position among elements of one name needs the name in XPath")
        siblings = "following-sibling" if test.last else "preceding-sibling"
        place = f"(count({siblings}::{names[0] if test.among == 'name' else '*'}) + 1)"
    if not test.step:
        return f"{place} = {test.offset}"
    beyond = f"({place} - {test.offset})"
    return f"{beyond} mod {test.step} = 0 and {beyond} div {test.step} >= 0"


def _attribute(test: Attribute) -> str:
    name, value = f"@{test.name}", _quoted(test.value)
    subject = f"normalize-space({name})" if test.normalized else name
    subject = f"concat(' ', {subject}, ' ')" if test.padded else subject
    if test.operator == "~=":
        return f"contains(concat(' ', normalize-space({name}), ' '), {_quoted(f' {test.value} ')})"
    if test.operator == "$=":
        return f"substring({name}, string-length({name}) - {len(test.value) - 1}) = {value}"
    if test.operator == "|=":
        return f"({name}={value} or starts-with({name}, {_quoted(f'{test.value}-')}))"
    functions = {"*=": f"contains({subject}, {value})", "^=": f"starts-with({subject}, {value})"}
    return functions.get(test.operator, subject if test.operator == "exists" else f"{subject}={value}")


def _quoted(value: str) -> str:
    """Return a string of XPath, which has no escapes."""
    if "'" not in value:
        return f"'{value}'"
    if '"' not in value:
        return f'"{value}"'
    return "concat(" + ', "\'", '.join(f"'{part}'" for part in value.split("'")) + ")"


def to_css(selector: Selector) -> str:
    """Return a selector as CSS.

    Raises
    ------
    UsageError
        CSS can't express it.

    Examples
    --------
    >>> from blockml.rules import compile_selector
    >>> to_css(compile_selector("//div[contains(concat(' ', @class, ' '), ' a ')]/p[2] | //*[@id='b']"))
    'div.a > p:nth-of-type(2), #b'
    """
    if not selector.is_xpath:
        return selector.text.partition("::")[0]
    try:
        return ", ".join(_css_path(path) for path in selector.paths)
    except UsageError as error:
        raise UsageError(f"CSS can't express {selector.text!r}: {error}") from None


def _css_path(path: Path) -> str:
    if path.position is not None:
        raise UsageError("a position on the page")
    parts = []
    for step in path.steps:
        if step.axis not in _COMBINATORS or step.texts:
            raise UsageError(f"the axis {step.axis}")
        name, tests = "", step.tests
        if tests and isinstance(tests[0], Named):
            name, tests = tests[0].name, tests[1:]
        inner = "".join(_css_test(test, step.tests[: step.tests.index(test)]) for test in tests)
        parts += [_COMBINATORS[step.axis], name + inner or "*"]
    is_root = path.steps[0].axis == "child"
    return "".join(parts[1:]) if not is_root or parts[1] == "html" else "html > " + "".join(parts[1:])


def _css_test(test: Test, before: Sequence[Test]) -> str:
    if isinstance(test, Attribute):
        operator, value = test.operator, test.value
        if test.padded and operator == "*=" and value == f" {value.strip()} " and len(value.split()) == 1:
            operator, value = "~=", value.strip()
        elif test.padded or test.normalized:
            raise UsageError("normalize-space()")
        if operator == "exists":
            return f"[{test.name}]"
        sign = {("id", "="): "#", ("class", "~="): "."}.get((test.name, operator))
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\a ")
        return f"{sign}{value}" if sign and _PLAIN.fullmatch(value) else f'[{test.name}{operator}"{escaped}"]'
    if isinstance(test, Position) and (not before or (len(before) == 1 and isinstance(before[0], Named))):
        kind = "of-type" if before else "child"
        place = f"{test.step}n+{test.offset}" if test.step else str(test.offset)
        return f":nth-{'last-' if test.last else ''}{kind}({place})"
    if isinstance(test, Not) and len(test.tests) == 1:
        return f":not({_css_test(test.tests[0], ())})"
    if isinstance(test, Has) and all(step.axis in _COMBINATORS for step in test.steps):
        return f":has({_css_path(Path(test.steps)) if test.steps[0].axis == 'descendant' else _css_relative(test)})"
    raise UsageError(f"{type(test).__name__.lower()} tests")


def _css_relative(test: Has) -> str:
    first = Path((PathStep("descendant", test.steps[0].tests), *test.steps[1:]))
    return _COMBINATORS[test.steps[0].axis].lstrip() + _css_path(first)
