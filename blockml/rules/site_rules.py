"""Rules of sites: reading, writing, and which of them a page has."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from blockml.errors import InputError, UsageError, check_name, check_type
from blockml.rules.selectors import Selector
from blockml.rules.xpath import compile_selector
from blockml.storage.atomic import atomic_write
from blockml.text.addresses import ascii_host, split_host
from blockml.text.sketches import stable_hash64

__all__ = ["EXAMPLE", "AnyRules", "Rules", "SiteRules", "read_rules"]

#: Fields of the rules of a site: those that decide about blocks, and those of metadata.
DECIDING, DESCRIBING = ("within", "keep", "drop"), ("title", "authors", "published")
_LEARNT = "learnt"
#: Name of the rules for pages of all sites.
ANY_SITE = "*"
#: Maximum bytes of a file, layouts of a site, and selectors of a layout.
_MOST_BYTES, _MOST_LAYOUTS, _MOST_SELECTORS = 64 << 20, 20, 200
#: Maximum names joined by dots in a key, whose square is the time of tomllib; a string with so many is refused, too.
_MOST_NAMES = 100
_LONG_KEY = re.compile(
    rf"""(?:(?<![\w-])[\w-]+|(?<!\\)"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
    rf"""(?:[ \t]*\.[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')){{{_MOST_NAMES}}}"""
)
#: Names that TOML writes without quotation marks.
_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: The smallest file of rules, for help texts.
EXAMPLE = '["cats.example"]\ndrop = ".newsletter"\n'
_SMALLEST = f"the smallest one has two lines, {' and '.join(EXAMPLE.splitlines())}"

#: Accepted by every function that takes rules; see :func:`read_rules`.
AnyRules: TypeAlias = "Rules | str | os.PathLike[str] | Mapping[str, Any]"


@dataclass(frozen=True, slots=True, eq=False)
class SiteRules:
    """Rules of a site, or of one layout of its pages."""

    site: str  #: Registrable domain, host, or ``*`` for all pages.
    selectors: Mapping[str, tuple[Selector, ...]]  #: By field: :data:`DECIDING` and :data:`DESCRIBING`.
    learnt: Mapping[str, Any] = field(default_factory=dict)  #: How rules that were learnt were measured.

    @property
    def decides(self) -> bool:
        """Whether the rules decide about blocks."""
        return not self.selectors.keys().isdisjoint(DECIDING)

    def named(self) -> Iterator[tuple[str, str, Selector]]:
        """Yield the name, the field and the selector of each rule."""
        for kind, selectors in self.selectors.items():
            for selector in selectors:
                yield f"{self.site} {kind} {selector.text}", kind, selector

    def record(self) -> dict[str, Any]:
        """Return the rules as they are written in a file."""
        found: dict[str, Any] = {
            kind: [selector.text for selector in selectors] if len(selectors) > 1 else selectors[0].text
            for kind, selectors in self.selectors.items()
        }
        return found | ({_LEARNT: dict(self.learnt)} if self.learnt else {})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rules:
    """Rules of sites, as read by :func:`read_rules`.

    Examples
    --------
    >>> rules = read_rules({"*": {"drop": "nav"}, "cats.example": {"within": ["article", "//div[@id='facts']"]}})
    >>> rules, [item.site for item in rules.at("https://www.cats.example/1")], len(rules.at(None))
    (Rules(3 of 2 sites), ['cats.example', '*'], 1)
    """

    by_site: Mapping[str, tuple[SiteRules, ...]]
    source: str | None = None  #: File that they were read from.

    def __repr__(self) -> str:
        return f"Rules({len(self.names())} of {len(self.by_site)} site{'' if len(self.by_site) == 1 else 's'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return read_rules, (self.record(),)

    def at(self, url: str | None) -> tuple[SiteRules, ...]:
        """Return the rules of a page: those of its host, or of the nearest domain above it, then those of any site."""
        site, host = split_host(url)
        name = host
        while name and name not in self.by_site:
            name = "" if name == site else name.partition(".")[2]
        return (*self.by_site.get(name, ()), *self.by_site.get(ANY_SITE, ()))

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that change with the rules."""
        return f"{stable_hash64([self.to_toml()])[0]:016x}"[:8]

    def names(self) -> list[str]:
        """Return the names of all rules."""
        return list(dict.fromkeys(name for item in self for name, *_ in item.named()))

    def __iter__(self) -> Iterator[SiteRules]:
        for items in self.by_site.values():
            yield from items

    def record(self) -> dict[str, Any]:
        """Return the rules as nested tables, as :func:`read_rules` accepts them."""
        tables = {site: [item.record() for item in items] for site, items in self.by_site.items()}
        return {site: items[0] if len(items) == 1 else items for site, items in tables.items()}

    def to_toml(self) -> str:
        """Return the rules as TOML."""
        return "\n".join(_toml(site, [item.record() for item in items]) for site, items in self.by_site.items())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules to a file, atomically; raises UsageError if it can't be written."""
        try:
            with atomic_write(Path(path)) as stream:
                stream.write(self.to_toml().encode())
        except (OSError, UnicodeEncodeError) as error:
            raise UsageError(f"can't be written ({error})", source=path) from error


def read_rules(rules: AnyRules) -> Rules:
    """Read rules of sites.

    Parameters
    ----------
    rules
        A TOML file, or the same tables as a mapping: by name of a site (registrable domain or host, or ``*``), the
        fields ``within``, ``keep``, ``drop``, ``title``, ``authors`` and ``published``, each a CSS selector, an XPath,
        or a list of them. The value of a site may be a list of tables, one for each layout of its pages. Rules that
        were read already are returned unchanged.

    Raises
    ------
    InputError
        The file can't be read.
    UsageError
        The file is not TOML, a field or a selector is not legal, or ``rules`` has another type.

    Examples
    --------
    >>> read_rules({"cats.example": {"drops": ".ad"}})
    Traceback (most recent call last):
    blockml.errors.UnknownNameError: cats.example: unknown field 'drops'; did you mean 'drop'? Or choose one of: ...
    """
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, Mapping):
        return _read(rules, None)
    check_type("rules", rules, str, os.PathLike, legal="a file, a mapping or blockml.rules.Rules")
    path = Path(rules)
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(getattr(error, "strerror", None) or str(error), source=path) from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"rules may have at most {_MOST_BYTES >> 20} MB", source=path)
    try:
        text = content.decode("utf-8")
        if _LONG_KEY.search(text):
            raise UsageError(f"at most {_MOST_NAMES} names may be joined by dots", source=path)
        return _read(tomllib.loads(text), str(path))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"not a TOML file of rules ({error}); {_SMALLEST}", source=path) from error


def _read(tables: Mapping[str, Any], source: str | None) -> Rules:
    by_site: dict[str, tuple[SiteRules, ...]] = {}
    for name, value in tables.items():
        site = name if name == ANY_SITE else ascii_host(str(name)).strip()
        place = f"{source}: {name}" if source else name
        if not site or "/" in site or " " in site:
            raise UsageError("the name of a table must be a site, such as cats.example, or *", source=place)
        items: Sequence[Any] = value if isinstance(value, list) else [value]
        before = by_site.get(site, ())  # under the same name in another spelling
        if len(before) + len(items) > _MOST_LAYOUTS or any(_n_selectors(item) > _MOST_SELECTORS for item in items):
            limits = f"{_MOST_LAYOUTS} layouts, each with at most {_MOST_SELECTORS} selectors"
            raise UsageError(f"a site may have at most {limits}", source=place)
        by_site[site] = (*before, *(_read_site(site, item, place) for item in items))
    return Rules(MappingProxyType(by_site), source)


def _n_selectors(table: object) -> int:
    """Return the number of selectors in a table, before any is compiled."""
    values = [value for kind, value in table.items() if kind != _LEARNT] if isinstance(table, Mapping) else []
    return sum(len(value) if isinstance(value, list | tuple) else 1 for value in values)


def _read_site(site: str, table: object, place: str) -> SiteRules:
    """Read the rules of a site; ``place`` starts the messages of errors."""
    if not isinstance(table, Mapping):
        raise UsageError(f"must be a table of {', '.join((*DECIDING, *DESCRIBING))}; {_SMALLEST}", source=place)
    selectors: dict[str, tuple[Selector, ...]] = {}
    for kind, value in table.items():
        check_name("field", kind, (*DECIDING, *DESCRIBING, _LEARNT), source=place)
        if kind == _LEARNT:
            continue
        texts = value if isinstance(value, list | tuple) else [value]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"{kind} must be a selector or a list of selectors, got {value!r}", source=place)
        try:
            selectors[kind] = tuple(compile_selector(text) for text in dict.fromkeys(texts))
        except UsageError as error:
            raise UsageError(f"{kind}: {error}", source=place) from None
        if kind in DECIDING and any(selector.attribute for selector in selectors[kind]):
            raise UsageError(f"{kind} chooses elements, not attributes", source=place)
    learnt = table.get(_LEARNT, {})
    legal = "a table of numbers and texts with names of letters, digits, - and _"
    check_type(f"{place}: {_LEARNT}", learnt, Mapping, legal=legal)
    if not all(_BARE.fullmatch(str(name)) and isinstance(item, str | int | float) for name, item in learnt.items()):
        raise UsageError(f"{_LEARNT} must be {legal}", source=place)
    return SiteRules(site, MappingProxyType(selectors), learnt)


def _toml(site: str, tables: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables of a site as TOML, whose strings, lists and numbers are written like those of JSON."""
    lines = []
    for table in tables:
        name = f"[{json.dumps(site, ensure_ascii=False)}]"
        lines.append(name if len(tables) == 1 else f"[{name}]")
        for key, value in table.items():
            if isinstance(value, Mapping):
                inner = ", ".join(f"{name} = {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
                lines.append(f"{key} = {{ {inner} }}")
            elif isinstance(value, list):
                lines += [f"{key} = [", *(f"  {json.dumps(item, ensure_ascii=False)}," for item in value), "]"]
            else:
                lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join([*lines, ""]).replace("\x7f", "\\u007f")
