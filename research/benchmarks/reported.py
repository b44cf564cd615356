"""Small pages modelled on public bug reports: which of them have the outputs that their readers expect.

Beside each page, ``NAME.expected.txt`` has what must be true, in lines such as ``TEXT has: "…"`` and ``METADATA title:
…``, and ``MARKDOWN`` or ``PLAIN TEXT`` before a whole output. Where it is described in words, :data:`FACTS` has it.

    python -m research.benchmarks.reported tests/reported_pages
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import blockml
from blockml.cli.output import write_output

#: Facts of pages whose expectation is described in words: texts that an output has, or with a "-" before it has not.
FACTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "20-ruby": {"text": ("春から、山", "4月1日に、小さなおまつりがあります。")},
    "28-code-line-numbers": {"markdown": tuple(
        f'\ndef {name}(pool):\n    """Return the {name} in cm."""\n    return pool.'
        for name in ("depth", "width", "slope", "flow", "noise", "shade")
    )},
    "29-wikipedia": {"markdown": ("-## See also\n\n#", "-edit", "1. Holm, Astrid (1988)", "-^")},
    "32-pipermail": {"markdown": ("-Previous message", "-Messages sorted by")},
    "54-phpbb": {"markdown": ("-Posts:", "-Joined:", "-Quote", "-Pike are people")},
    "201-picture-cells": {"markdown": ("-|  |",)},
    "202-cell-picture-link": {"markdown": ("a.pdf",)},
    "203-link-list": {"text": ("access to the database:\nNorthwing\nand\nSouthwing\n",)},
    "204-price-duplicate": {"text": ("Club price:", "$3.42", "(Save 14%)")},
    "205-quoted-post": {"text": ("The ferry left the harbour", "Quote by Lark\nI am curious")},
    "206-hidden-list": {"text": ("-y_2022", "-loc_en_AE", "screens in the game")},
    "207-hidden-division": {"text": ("-http://shop.example", "screens in the game")},
    "208-hidden-eight-ways": {"text": (
        *(f"-HIDDEN{letter}" for letter in "ABCDEH"), "The tomatoes were planted", "In August the beans followed",
    )},
    "209-streamed": {"text": ("Agents read code in windows", "A module that says")},
    "210-content-in-scripts": {"warnings": ("script",)},
    "212-thread": {"text": ("annlee\nJan 2, 2026\nI", "bobray\nJan 2, 2026\nUse", "annlee\nJan 3, 2026\nThank")},
    "211-product": {"text": ("Reviews\n", "Boils fast, but the cable is short.", "-Add to cart")},
    "213-hidden-copy": {"text": ("- name: Update mills\n  hosts: valley",)},
    "214-line-numbers-inline": {"markdown": ("# Required\nversion: 2\n\n# Set the system and the tools\nbuild:\n",)},
}  # fmt: skip
#: Pages whose captions may be text or not: lines that are not expected are allowed.
CAPTIONED = frozenset({"09-lazy-images", "27-substack", "80-lead-and-captions"})
#: Address of the pages from this number on.
_FIRST_WITH_ADDRESS, _ADDRESS = 101, "https://valley.example/mill"
_FACT = re.compile(r'(TEXT|MARKDOWN) (has|has not): (".*")')
_FIELD = re.compile(r"METADATA (\w+): (.*)")
_WHOLE = re.compile(r"^(MARKDOWN|PLAIN TEXT)(?: \((?:captions|readings).*)?$", re.MULTILINE)


def wrong_facts(path: Path) -> list[str] | None:
    """Return what is wrong in the outputs of a page; None if nothing could be checked."""
    expected = path.with_suffix(".expected.txt").read_text("utf-8")
    number = int(path.name.partition("-")[0])
    url = _ADDRESS if number >= _FIRST_WITH_ADDRESS else None
    result = blockml.extract(path.read_bytes(), url=url)
    outputs = {
        "text": result.text,
        "markdown": blockml.render(result, "markdown"),
        "warnings": "\n".join(result.warnings),
    }
    if path.stem in FACTS:
        facts = [(name, text.removeprefix("-"), text[:1] != "-" or text[:2] == "- ")
                 for name, texts in FACTS[path.stem].items() for text in texts]  # fmt: skip
    else:
        facts = [(name.lower(), json.loads(text), has == "has") for name, has, text in _FACT.findall(expected)]
    wrong = [
        f"{name} {'lacks' if has else 'has'} {text!r}"
        for name, text, has in facts
        if (text in outputs[name]) is not has
    ]
    n_checked = len(facts)
    for name, value in _FIELD.findall(expected):
        n_checked += 1
        found = getattr(result.metadata, name)
        if not _is_value(found, value):
            wrong.append(f"{name} is {found!r}, not {value}")
    if path.stem not in FACTS and (whole := _WHOLE.search(expected)):
        n_checked += 1
        name = "markdown" if whole[1] == "MARKDOWN" else "text"
        wanted, lines = expected[whole.end() :].strip().split("\n"), outputs[name].strip().split("\n")
        rest = iter(lines)
        if not (all(line in rest for line in wanted) if path.stem in CAPTIONED else lines == wanted):
            wrong.append(f"{name} differs")
    return wrong if n_checked else None


def _is_value(found: Any, value: str) -> bool:  # noqa: ANN401 (any field)
    """Tell whether a field of the metadata has an expected value, in JSON or as it is."""
    value = re.sub(r"\s+\((?:\*|meta|or).*\Z", "", value.strip())
    if value.endswith('*"'):
        return str(found).startswith(json.loads(value)[:-1])
    try:
        wanted = json.loads(value)
    except ValueError:
        wanted = value
    return bool((list(found) if isinstance(found, tuple) else found) == wanted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong, and how many pages are right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of pages with their expected outputs")
    options = parser.parse_args(arguments)
    results = {path.stem: wrong_facts(path) for path in sorted(options.folder.glob("*.html"))}
    for name, wrong in results.items():
        if wrong:
            write_output(f"{name}: {'; '.join(wrong)}\n", None)
    checked = [wrong for wrong in results.values() if wrong is not None]
    unchecked = ", ".join(name for name, wrong in results.items() if wrong is None) or "none"
    n_right = sum(not wrong for wrong in checked)
    write_output(f"{n_right} of {len(checked)} pages are right; not checked: {unchecked}\n", None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
