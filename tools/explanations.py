"""Pictures of the documentation that explain: what a block is, how methods decide, why folds are over sites.

``python -m tools.explanations`` writes ``docs/blocks.svg``, ``docs/methods.svg`` and ``docs/folds.svg``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.datasets.folders import read_labels
from blockml.evaluation.words import bag_scores
from blockml.extract import extract_page
from blockml.extractors import resolve
from blockml.parsing import parse

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "data" / "sites" / "harbour-courier" / "courier-article-03"
METHODS = ("default", "kim2013", "dccb", "dsc", "lqf", "bte", "numwords")
SNIPPET = """<div id="page">
 <ul class="menu"><li><a href="/">Home</a></li>
  <li><a href="/news">News</a></li></ul>
 <h1>Cats rule the world</h1>
 <p>Nobody has asked them to. They <em>simply</em> do,
  says <a href="/lee">Ann Lee</a>, and nobody objects.</p>
 <div>Read on:<br><a href="/dogs">Dogs disagree</a></div>
</div>"""
#: Block F1 by folds on WCXB, six and 25 attributes, and the gain: research/papers.md, "Table 3, right half".
FOLDS = (("blocks", 0.666, 0.819, "+.153"), ("pages", 0.647, 0.710, "+.063"), ("sites", 0.643, 0.694, "+.050"))
COLORS = ("#cfe3f5", "#fbe3c0", "#d8efcf", "#f4d3df", "#e3d9f3", "#fdf3b5", "#d3eeee", "#e8e0d5")
KEPT, LOST, GRAY = "#1d7a46", "#b9c2cb", "#59636e"


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return a drawing on white."""
    style = "text{font:13px sans-serif;fill:#1a1f26}.code{font:13px monospace;white-space:pre}.small{font-size:11px}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"><title>{escape(title)}'
        f'</title><style>{style}</style><rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def text(x: float, y: float, content: str, *, kind: str = "", anchor: str = "start", fill: str = "") -> str:
    """Return one line of text."""
    color = f' style="fill:{fill}"' if fill else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{color}>{escape(content)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def blocks_picture() -> str:
    """Draw a piece of HTML, and the blocks that it is cut into."""
    page = parse(SNIPPET)
    blocks, nodes = page.blocks, page.nodes
    parts = [text(20, 24, "HTML"), text(520, 24, "blocks"), text(760, 24, "words"), text(820, 24, "linked words")]
    letter, line_height, place = 7.83, 24, 0
    owner = np.full(len(SNIPPET), -1)
    for number, (first, last) in enumerate(zip(blocks.node.tolist(), blocks.last_node.tolist(), strict=True)):
        for raw in nodes.texts[first : last + 1]:
            if raw.strip():
                place = SNIPPET.index(raw.strip(), place)
                owner[place : place + len(raw.strip())] = number
                place += len(raw.strip())
    start = 0
    for row, line in enumerate(SNIPPET.split("\n")):
        y = 54 + row * line_height
        parts += [
            box(20 + letter * column, y - 14, letter + 0.3, 19, COLORS[number % len(COLORS)])
            for column, number in enumerate(owner[start : start + len(line)].tolist())
            if number >= 0
        ]
        parts.append(
            f'<text x="20" y="{y}" class="code" textLength="{letter * len(line):.1f}" xml:space="preserve">'
            f"{escape(line)}</text>"
        )
        start += len(line) + 1
    for number, content in enumerate(blocks.texts):
        y = 54 + number * line_height
        parts += [
            box(516, y - 15, 460, 21, COLORS[number % len(COLORS)]),
            text(520, y, f"{number + 1}  {content}"),
            text(795, y, str(int(blocks.n_words[number])), anchor="end"),
            text(890, y, str(int(blocks.n_linked[number])), anchor="end"),
        ]
    height = 54 + line_height * max(len(SNIPPET.split("\n")), len(blocks)) + 6
    return svg(1000, height, "A piece of HTML and its blocks", parts)


def methods_picture() -> str:
    """Draw the scores that methods give to the blocks of one page, and what they keep."""
    source = (PAGE / "page.html").read_bytes()
    page = parse(source)
    gold = read_labels(PAGE / "labels.jsonl")
    wide = np.sqrt(np.maximum(1, page.blocks.n_words))
    left, right, height = 110.0, 930.0, 44.0
    edges = left + np.concatenate(([0], np.cumsum(wide))) / wide.sum() * (right - left)
    parts = [text(left, 20, "blocks of the page, from its beginning to its end; wider with more words", kind="small")]
    parts.append(text(right + 8, 20, "F1", kind="small"))
    is_content = gold.label(page).main
    y = 34.0
    parts.append(text(left - 10, y + 16, "gold", anchor="end"))
    parts += _bars(edges, np.ones(len(is_content)), is_content, y, 20)
    y += 34
    for name in METHODS:
        extractor = resolve(name)
        result = extract_page(parse(source, **extractor.parsing.options()), extractor)
        f1 = bag_scores(gold.text() or "", result.text).f1
        parts.append(text(left - 10, y + height - 12, name, anchor="end"))
        parts += _bars(edges, result.scores.astype(float), result.kept, y, height)
        threshold = y + height * (1 - extractor.default_threshold)
        parts.append(f'<path d="M{left} {threshold:.1f}H{right}" stroke="#bf2f24" stroke-dasharray="5 4"/>')
        parts.append(text(right + 8, y + height - 12, f"{f1:.2f}"))
        y += height + 10
    parts.append(text(left, y + 12, "bar: score; green: kept; dashed: threshold", kind="small"))
    return svg(1000, int(y + 24), "One page through seven methods", parts)


def _bars(
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    kept: Sequence[bool] | NDArray[np.bool_],
    y: float,
    height: float,
) -> list[str]:
    """Return a bar for each block, with a base line so that a score of 0 is visible."""
    parts = [box(edges[0], y + height, edges[-1] - edges[0], 1, GRAY)]
    for number, value in enumerate(values.tolist()):
        tall = max(1.5, height * value)
        width = max(1.0, edges[number + 1] - edges[number] - 1)
        parts.append(box(edges[number], y + height - tall, width, tall, KEPT if kept[number] else LOST))
    return parts


def folds_picture() -> str:
    """Draw block F1 of two feature sets, by what the folds of cross-validation keep together."""
    parts = []
    left, scale = 170.0, 720.0
    for row, (name, six, more, gain) in enumerate(FOLDS):
        y = 30 + 64 * row
        parts.append(text(left - 12, y + 22, f"folds over {name}", anchor="end"))
        for step, (value, fill, label) in enumerate(
            ((six, LOST, "six attributes"), (more, "#0072b2", "25 attributes"))
        ):
            wide = value * scale
            parts += [
                box(left, y + 21 * step, wide, 18, fill),
                text(left + wide + 8, y + 21 * step + 14, f"{value:.3f}  {label}", kind="small"),
            ]
        parts.append(text(900, y + 26, f"gain {gain}"))
    parts.append(text(left, 30 + 64 * len(FOLDS) + 4, "block F1 on WCXB", kind="small"))
    return svg(1000, 30 + 64 * len(FOLDS) + 14, "Gain of 25 attributes over six, by the kind of folds", parts)


def main() -> int:
    """Write the pictures."""
    for name, drawn in (("blocks", blocks_picture()), ("methods", methods_picture()), ("folds", folds_picture())):
        (ROOT / "docs" / f"{name}.svg").write_text(drawn, encoding="utf-8")
    print("wrote blocks.svg, methods.svg and folds.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
