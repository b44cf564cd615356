"""Hostile pages of two ingredients: something long that is shared, and many small things that may each read it again.

    python -m research.benchmarks.hostile.crossed --report research/robustness.md

makes each output of each pair at two sizes, in a separate process each, and prints a line of JSON for those that take
too long: the cost is the CPU time over that of the same output of an ordinary page of the same size, and the exponent
is the slope of time over size on logarithmic scales. It exits with 1 if an exponent or a cost is above its bound. The
whole product takes about 30 minutes of one processor; ``--sample N`` takes every N-th pair.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import blockml
from blockml.datasets.label_studio import label_studio_task
from blockml.extract import extract_page
from blockml.extractors import resolve
from blockml.page import Extraction, Label
from blockml.parsing import parse
from research.benchmarks.hostile.__main__ import markdown, replace_tables
from research.benchmarks.hostile.outputs import OUTPUTS, forked
from research.benchmarks.hostile.shapes import ORDINARY

#: Sizes of a page in bytes.
SIZES = (50_000, 200_000)
#: Maximum exponent, where the larger page takes at least ``_SHORT`` seconds, and maximum cost.
MAX_EXPONENT, MAX_COST = 1.3, 60.0
_SHORT = 0.1
#: Factor of the sizes at which outputs above a bound are measured again.
_FACTOR = 4
#: Seconds that an output of the smaller page may take; if it takes longer, it is not made of the larger one.
_LIMIT = 4
_START, _END = "<!-- table of pairs -->", "<!-- end of table of pairs -->"

#: Something long: what repeats in it, and the markup around that and the many small things. ``{long}`` and ``{small}``
#: are each half of the page.
LONG: Mapping[str, tuple[str, str]] = {
    "class": ("is-a ", '<div class="{long}">{small}</div>'),
    "style": ("a:b;", '<div style="{long}">{small}</div>'),
    "address": ("a", '<a href="{long}">{small}</a>'),
    "text before": ("The cat sat on the mat. ", "<p>{long}{small}</p>"),
    "text after": ("The cat sat on the mat. ", "<p>{small}{long}</p>"),
    "word": ("a", "<p>{long}{small}</p>"),
    "text of the page": ("The cat sat on the mat. ", "<p>{long}</p><div>{small}</div>"),
    "blanks": (" ", "<p>a{long}{small}</p>"),
    "line ends": ("\n", "<pre>a{long}{small}</pre>"),
    "signs": ("^[*_`", "<p>{long}{small}</p>"),
    "formula": ("x+", "<p>\\({long}x\\){small}</p>"),
    "code": ("if a: b = c ", "<pre><code>{long}{small}</code></pre>"),
    "deep nesting": ("<div>", "{long}{small}"),
    "nested links": ("<a href=b>", "{long}{small}"),
    "nested formatting": ("<b><i>", "{long}{small}"),
    "ids": ("<i id={n}></i>", "<div>{long}{small}</div>"),
    "siblings": ("<b></b>", "<div>{long}{small}</div>"),
    "items": ("<li>a", "<ul>{long}{small}</ul>"),
    "cells": ("<td>a", "<table><tr>{long}{small}</table>"),
    "style element": (".a{n}{{display:none}}", "<style>{long}</style>{small}"),
    "declared text": ("The cat sat on the mat. ", '<meta property="og:description" content="{long}">{small}'),
    "script": (
        '{{"@type":"Person","name":"Jim {n}"}},',
        '<script type="application/ld+json">[{long}0]</script>{small}',
    ),
    "heading": ("The cat sat on the mat. ", "<h1>{long}</h1>{small}"),
    "title": ("The cat sat on the mat. ", "<title>{long}</title>{small}"),
    "caption": ("The cat sat on the mat. ", "<figure>{small}<figcaption>{long}</figcaption></figure>"),
}
#: Many small things; ``{n}`` is a number.
SMALL: Mapping[str, str] = {
    "note marks": "<a href=#n{n}>1</a>",
    "raised note marks": "<sup><a href=#n>[{n}]</a></sup>",
    "notes": "<li id=n{n}>a <a href=#r>^</a>",
    "links": "<a href=x{n}>a</a> ",
    "links in blocks": "<div><a href=x>a{n}</a></div>",
    "pictures": "<img src={n}.jpg>",
    "pictures in blocks": "<div><img src={n}.jpg alt=a></div>",
    "lazy pictures": "<img data-src={n}.jpg srcset='a.jpg 2x, b.jpg 3x'>",
    "nested pictures": "<picture><img src=data:x>",
    "figures": "<figure><img src={n}.jpg><figcaption>a</figcaption></figure>",
    "formulas": "\\(x\\) a ",
    "open formulas": "\\( a $ ",
    "MathML": "<math><mi>x</mi></math>",
    "hidden paragraphs": "<p hidden>a{n} b c d e f g",
    "hidden words": "<span style=display:none>a</span>",
    "hidden copies": "<p hidden>The cat sat on the mat.",
    "brackets": "[](",
    "open brackets": "]([",
    "stars": "* _a_ ",
    "cells": "<td>a{n}",
    "rows": "<tr><td>a<td>b",
    "header cells": "<tr><th>a<td>b{n}",
    "items": "<li>a{n}",
    "lists": "<ul><li>a</ul>",
    "check boxes": "<li><input type=checkbox>a",
    "table captions": "<table><caption>a</caption><tr><td>b<td>c</table>",
    "labels": "<p><b>Label:</b> a{n}",
    "terms": "<dt>a<dd>b",
    "custom elements": "<x-a>a</x-a>",
    "shadow roots": "<x-a><template shadowrootmode=open><slot></slot></template>a</x-a>",
    "code": "<code>a</code> ",
    "code with line ends": "<code style='white-space:pre'>a\n</code>",
    "spans of code": "<span class=k>a</span>",
    "lines": "a<br>",
    "paragraphs": "<p>a{n}",
    "headings": "<h2>a</h2>b",
    "quotations": "<blockquote>a</blockquote>",
    "inline quotations": "<q>a</q>",
    "emphasis": "<b>a</b><i>b</i>",
    "crossing emphasis": "<b>a<p>b</b>",
    "ruby": "<ruby>a<rt>b</ruby>",
    "comments": "<div class=comment><b>Jim</b> 3 May 2024 <p>You a{n}</div>",
    "dates": "<time>2024-01-02</time> ",
    "bylines": "<p>By Jim Lee",
    "forms": "<form><input><button>a</button></form>",
    "leads": "<p>a{n}:<ul><li>b</ul>",
    "empty elements": "<i></i>",
    "templates": "<template>a</template>",
}


@cache
def _default() -> Any:  # noqa: ANN401 (an extractor)
    return resolve("default")


def _decided(result: Extraction) -> str:
    return extract_page(result.page, _default()).text


def _task(result: Extraction) -> str:
    labels = [Label.MAIN if is_kept else Label.OTHER for is_kept in result.kept.tolist()]
    return json.dumps(label_studio_task("a", result.page.source or "", result.page, labels, is_done=True))


#: Outputs by name, with those that only this benchmark makes: the decision, pictures, and tasks of Label Studio.
ALL_OUTPUTS: Mapping[str, Callable[[Extraction], str | Path]] = {
    **{name: make for name, make in OUTPUTS.items() if name not in ("paragraphs", "removed")},
    "decision": _decided,
    "images": lambda result: repr(result.images),
    "Label Studio": _task,
}


def page(long: str, small: str, size: int) -> bytes:
    """Return a page of about a given size with a kind of long thing and many of a small one.

    Examples
    --------
    >>> page("word", "links", 200)[60:130]
    b'<p>The cat sat on the mat and looked at the rain.</p><p>aaaaaaaaaaaaaa'
    """
    piece, around = LONG[long]
    half = size // 2
    whole = around.replace("{long}", _repeated(piece, half)).replace("{small}", _repeated(SMALL[small], half))
    text = "<p>The cat sat on the mat and looked at the rain.</p>"
    return f"<!doctype html><html><head><meta charset=utf-8></head><body>{text}{whole}{text}".encode()


def _repeated(piece: str, size: int) -> str:
    if "{" not in piece:
        return piece * (size // len(piece))
    length = len(piece.format(n=1000))
    return "".join([piece.format(n=number) for number in range(size // length)])


def seconds(long: str, small: str, size: int, outputs: Sequence[str]) -> dict[str, float]:
    """Return the CPU seconds of each output of a page; ``parse`` is everything before them.

    The page is an ordinary one if ``long`` is empty.
    """
    source = page(long, small, size) if long else ORDINARY(size)
    start = time.process_time()
    result = extract_page(parse(source, url="https://a.example/b/c"), resolve("plain"))
    found = {"parse": time.process_time() - start}
    for name in outputs:
        start = time.process_time()
        ALL_OUTPUTS[name](result)
        found[name] = time.process_time() - start
    return found


def slow(long: str, small: str, outputs: Sequence[str], sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Return a row for each output of a pair that grows too fast or costs too much.

    Those above a bound are measured again, at larger sizes, because other processes may have taken the caches, and some
    costs of parsers are bounded.
    """
    rows = _rows(long, small, outputs, sizes)
    if not rows:
        return []
    larger = [size if math.isinf(rows[0]["seconds"]) else _FACTOR * size for size in sizes]
    return _rows(long, small, [row["output"] for row in rows], larger)


def _rows(long: str, small: str, outputs: Sequence[str], sizes: Sequence[int]) -> list[dict[str, Any]]:
    names = [name for name in outputs if name != "parse"]
    first = forked(seconds, long, small, sizes[0], names)
    last = forked(seconds, long, small, sizes[1], [name for name in names if first[name] < _LIMIT])
    ordinary = _ordinary(sizes[1], tuple(ALL_OUTPUTS))
    rows = []
    for name in ["parse"] * ("parse" in outputs) + names:
        taken = last.get(name, math.inf)
        exponent = math.log(taken / max(first.get(name, 0), 1e-4)) / math.log(sizes[1] / sizes[0])
        cost = taken / ordinary[name]
        if taken > _SHORT and (exponent > MAX_EXPONENT or cost > MAX_COST):
            figures = {"seconds": taken, "exponent": exponent, "cost": cost}
            rows.append({"long": long, "small": small, "output": name, **figures})
    return rows


@cache
def _ordinary(size: int, outputs: tuple[str, ...]) -> dict[str, float]:
    return forked(seconds, "", "", size, outputs)


def main() -> int:
    """Measure the pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", nargs="+", choices=list(LONG), default=list(LONG), metavar="NAME")
    parser.add_argument("--small", nargs="+", choices=list(SMALL), default=list(SMALL), metavar="NAME")
    parser.add_argument("--outputs", nargs="+", choices=list(ALL_OUTPUTS), default=list(ALL_OUTPUTS), metavar="NAME")
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, metavar="BYTES", help="a small and a large one")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="take every N-th pair (default: all)")
    parser.add_argument("--report", type=Path, help="document whose table is replaced (default: print it)")
    arguments = parser.parse_args()
    warm = extract_page(blockml.parse(ORDINARY(20_000)), resolve("plain"))
    for make in ALL_OUTPUTS.values():
        make(warm)  # loads everything, so that no import counts
    pairs = [(long, small) for long in arguments.long for small in arguments.small][:: arguments.sample]
    rows = []
    for long, small in pairs:
        for row in slow(long, small, ["parse", *arguments.outputs], arguments.sizes):
            rows.append(row)
            print(json.dumps(row), flush=True)
    count = f"{len(pairs):,} pairs, {len(arguments.outputs) + 1} outputs each, {len(rows)} above a bound."
    table = f"{count}\n\n{markdown(rows)}" if rows else count
    if arguments.report is None:
        print(table)
    else:
        replace_tables(arguments.report, table, (_START, _END))
    return int(bool(rows))


if __name__ == "__main__":
    sys.exit(main())
