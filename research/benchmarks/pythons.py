"""Compares the outputs of several Pythons: a patch release may match a regular expression differently without an error.

``python -m research.benchmarks.pythons record FILE`` writes a line for each page of ``data/`` and each of 2,000 random
pages: its name, and a hash of its output in each format. ``python -m research.benchmarks.pythons compare FILES``
exits with 1 and names the pages whose outputs are not equal in all files. ``make pythons`` does both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import blockml
from blockml.formats import FORMATS, render

DATA = Path(__file__).parents[2] / "data"
#: Pieces of random pages: tags and quotes that are not closed, raw text, scripts in comments, declared metadata with
#: mistakes, shadow roots, pictures with several addresses, code, lists and formulas.
PIECES = (
    "<script>", "</script>", "<!--", "-->", "<", "-", "x", "<title>", "</title>", '"', "'", " ", '<a b="', ">", "=",
    "<style>", "</style>", "<p>", "</p>", "<xmp>", "<plaintext>", "<h1>Cats rule</h1>", "</x-a>", "&amp;", "&#x2014;",
    "<x-a><template shadowrootmode=open>", "<slot name=t>", "</slot>", "</template>", "<b slot=t>", "</b>",
    '<script type="application/ld+json">{"@type":"Article","headline":"Cats",}</script>',
    '<script type="application/ld+json">{"author":"Jim "J" Lee" "datePublished":"2024-01-02",, // why\n}</script>',
    "<img srcset='a.jpg 400w, b,c.jpg 2x, {x} 3x' src=blank.gif alt=Cat>",
    "<picture><source srcset='d.webp, e.webp 2x'>",
    "<ol style='list-style-type: upper-roman'><li>", "</ol>", "<ul><li>", "</ul>",
    "<table><tr><td>", "<td>", "</table>",
    "<pre><code class=language-yaml>a:\n  b: 1\n</code></pre>", "<blockquote>", "</blockquote>", "<i>", "</i>", "<sup>",
    " Cats rule the world, and nobody has ever asked them to do so. ", "By Jim Lee, 3 May 2024", "\\(x^2\\)", "$$y$$",
    "<math><msup><mi>x</mi><mn>2</mn></msup></math>", "<div class=comment>", "</div>", "<br>", "<dl><dt>", "<dd>",
)  # fmt: skip


def pages(n_random: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and pages: those in ``data/``, then random ones, which are the same in each Python."""
    for path in sorted(DATA.glob("**/page.html")):
        yield path.parent.relative_to(DATA).as_posix(), path.read_bytes()
    source = random.Random(0)  # noqa: S311 (any numbers do)
    for number in range(n_random):
        chosen = [PIECES[int(source.random() * len(PIECES))] for _ in range(5 + int(source.random() * 60))]
        yield f"random {number}", "".join(chosen).encode()


def outputs(page: bytes) -> dict[str, str]:
    """Return a hash of each output of a page; an exception is an output too."""
    written: dict[str, str] = {}
    try:
        result = blockml.extract(page, url="https://valley.example/cats", threshold=0)
        for name in FORMATS:
            written[name] = render(result, name)
    except Exception as error:  # noqa: BLE001 (a failure of one Python is what this looks for)
        written["error"] = repr(error)
    return {name: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16] for name, text in written.items()}


def compare(files: Sequence[Path]) -> int:
    """Print the pages whose outputs differ, and return 1 if there are any."""
    first, *others = [dict(map(json.loads, path.read_text(encoding="utf-8").splitlines())) for path in files]
    differing = 0
    for path, other in zip(files[1:], others, strict=True):
        for name in sorted(first.keys() | other.keys()):
            one, two = first.get(name, {}), other.get(name, {})
            if formats := [key for key in sorted(one.keys() | two.keys()) if one.get(key) != two.get(key)]:
                differing += 1
                print(f"{files[0].stem} and {path.stem} differ: {name}: {', '.join(formats)}")
    print(f"{len(first)} pages, {len(files)} Pythons, {differing} differences")
    return int(differing > 0)


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--random", type=int, default=2000, metavar="N", help="number of random pages (default: 2000)")
    arguments = parser.parse_args()
    if arguments.action == "compare":
        return compare(arguments.files)
    lines = [json.dumps([name, outputs(page)]) + "\n" for name, page in pages(arguments.random)]
    arguments.files[0].write_text("".join(lines), encoding="utf-8")
    print(f"{sys.version.split()[0]}: {len(lines)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
