"""Explanatory figures of the documentation, drawn from the code and the pages in ``data/``.

``python -m tools.explanations`` writes ``docs/NAME.svg`` for each name in :data:`PICTURES`. Colours follow the reader's
preference for a light or dark page.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import read_labels
from blockml.evaluation import bag_scores
from blockml.extract import extract_page
from blockml.extractors import resolve, trained
from blockml.features import feature_set
from blockml.page import Page
from blockml.parsing import parse

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "data" / "sites" / "harbour-courier" / "courier-article-03"
TEMPLATE_PAGES = ("courier-article-03", "courier-article-01", "courier-article-06", "courier-about")
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
#: Colours of a light and a dark page, by class: those of blocks are ``c0`` to ``c7``.
COLORS = {
    "paper": ("#fff", "#161b22"), "ink": ("#1a1f26", "#e6edf3"), "line": ("#59636e", "#9da7b3"),
    "card": ("#f1f4f7", "#242c36"), "kept": ("#1d7a46", "#3fb668"), "lost": ("#b9c2cb", "#56616d"),
    "accent": ("#0072b2", "#58a6e0"), "alarm": ("#bf2f24", "#ff7b72"),
    "c0": ("#cfe3f5", "#1f4263"), "c1": ("#fbe3c0", "#62451a"), "c2": ("#d8efcf", "#29502f"),
    "c3": ("#f4d3df", "#63304a"),
    "c4": ("#e3d9f3", "#463768"), "c5": ("#fdf3b5", "#5a5217"), "c6": ("#d3eeee", "#1d5154"),
    "c7": ("#e8e0d5", "#4b4236"),
}  # fmt: skip


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return a drawing that follows the light or dark scheme of the page around it."""
    light, dark = ("".join(f".{name}{{fill:{pair[dark]}}}" for name, pair in COLORS.items()) for dark in (0, 1))
    style = (
        "text{font:13px sans-serif}.code{font:13px monospace;white-space:pre}.small{font-size:11px}"
        f".stroke{{fill:none;stroke:#7d8894;stroke-width:1.5}}{light}@media(prefers-color-scheme:dark){{{dark}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"><title>{escape(title)}'
        f'</title><style>{style}</style><rect width="{width}" height="{height}" class="paper"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def text(x: float, y: float, content: str, *, kind: str = "ink", anchor: str = "start") -> str:
    """Return one line of text; ``kind`` names its colour and size."""
    kind = kind if set(kind.split()) & COLORS.keys() else f"ink {kind}"
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a rectangle in a colour of :data:`COLORS`."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'


def arrow(x: float, y: float, length: float) -> str:
    """Return an arrow to the right."""
    return f'<path d="M{x:.1f} {y:.1f}h{length:.1f}m-6 -5l6 5l-6 5" class="stroke"/>'


def route_picture() -> str:
    """Draw the packages that a page passes through, with the numbers of one page."""
    source = (PAGE / "page.html").read_bytes()
    result = blockml.extract(source)
    n_blocks, n_kept = len(result.page.blocks), int(result.kept.sum())
    columns = len(feature_set(trained("default").model.features).columns)
    stations = (
        ("bytes", "", f"{len(source):,} bytes"),
        ("Page", "parsing", f"{n_blocks} blocks"),
        ("PageMatrix", "features", f"{columns} columns"),
        ("Prediction", "model", "probability of each"),
        ("Decision", "decision", f"{n_kept} blocks kept"),
        ("Extraction", "rendering", f"{len(result.text.split())} words"),
    )
    parts = [text(500, 24, f"blockml.extract of {PAGE.name}", anchor="middle")]
    for number, (name, package, detail) in enumerate(stations):
        x = 15 + 167 * number
        parts += [
            box(x, 60, 125, 54, "card"),
            text(x + 62, 82, name, anchor="middle"),
            text(x + 62, 102, detail, kind="line small", anchor="middle"),
        ]
        if package:
            parts += [arrow(x - 38, 87, 34), text(x - 21, 50, package, kind="accent small", anchor="middle")]
    return svg(1000, 130, "The route of a page", parts)


def decision_picture() -> str:
    """Draw the probabilities and scores of one page's blocks, and the reasons of the decision."""
    result = blockml.extract(PAGE / "page.html")
    edges = _edges(result.page, 110, 960)
    parts = [text(110, 20, "blocks of the page from start to end; wider with more words", kind="small")]
    for y, name, values in ((34, "probability", result.probabilities), (130, "score", result.scores)):
        parts += [text(100, y + 48, name, anchor="end"), *_bars(edges, values.astype(float), result.kept, y, 80)]
    parts.append('<path d="M110 170H960" stroke="#d0473c" stroke-dasharray="5 4"/>')
    parts.append(text(964, 174, "0.5", kind="alarm small"))
    reasons = list(dict.fromkeys(str(reason) for reason in result.reasons))
    parts.append(text(100, 242, "reason", anchor="end"))
    for number, reason in enumerate(map(str, result.reasons)):
        width = max(1.0, edges[number + 1] - edges[number] - 1)
        parts.append(box(edges[number], 226, width, 22, f"c{reasons.index(reason) % 8}"))
    x = 110.0
    for number, reason in enumerate(reasons):
        parts += [box(x, 262, 14, 14, f"c{number % 8}"), text(x + 20, 274, reason.replace("_", " "), kind="small")]
        x += 40 + 6.2 * len(reason)
    parts.append(text(960, 274, "green bars: kept", kind="kept small", anchor="end"))
    return svg(1000, 288, "From probabilities to a decision", parts)


def template_picture() -> str:
    """Draw four pages of a site, the texts that they share, and one of the pages without these."""
    pages = [parse((PAGE.parent / name / "page.html").read_bytes()) for name in TEMPLATE_PAGES]
    counts = Counter(content for page in pages for content in set(page.blocks.texts))
    heads = [*(name.removeprefix("courier-") for name in TEMPLATE_PAGES), "the template", "page 1 without it"]
    columns = [*pages, pages[0], pages[0]]
    parts, lowest = [], 0.0
    for number, (page, head) in enumerate(zip(columns, heads, strict=True)):
        x, y = 15 + 166 * number, 36.0
        parts.append(text(x, 22, head))
        for content, words in zip(page.blocks.texts, page.blocks.n_words.tolist(), strict=True):
            shared = counts[content] > 1
            wide, high = min(150, 14 + 7 * words), 3 + 2 * (words // 20)
            if (number < 4) or (shared == (number == 4)):
                parts.append(box(x, y, wide, high, "lost" if shared else "kept"))
            y += high + 1.5
        lowest = max(lowest, y)
    parts.append(
        text(15, lowest + 18, "gray: texts of more than one of the four pages; green: texts of one page", kind="small")
    )
    return svg(1000, int(lowest + 30), "Pages of a site and their template", parts)


def survey_picture() -> str:
    """Draw the confidence of the pages of each site in data/, and those that a survey asks to be labelled first."""
    fields = ("id", "url", "status", "text", "confidence")
    rows = list(blockml.predict(str(ROOT / "data" / "sites"), fields=fields))
    left, right = 250.0, 820.0
    parts = [
        text(15, 20, "site"),
        text(left, 20, "confidence of its pages"),
        text(985, 20, "pages × (1 − confidence)", anchor="end"),
    ]
    y = 50.0
    for site in blockml.survey(rows).tables["sites"]:
        found = sorted(row["confidence"] for row in rows if site["site"] in row["url"])
        parts += [text(15, y + 4, site["site"]), box(left, y, right - left, 1, "lost")]
        for rank, confidence in enumerate(found):
            kind, radius = ("alarm", 5) if rank < 3 else ("accent", 4)
            x = left + (confidence - 0.5) / 0.5 * (right - left)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{kind}" opacity=".75"/>')
        parts += [box(985 - 60 * site["expected_loss"], y - 7, 60 * site["expected_loss"], 14, "c1")]
        parts.append(text(980, y + 4, f"{site['expected_loss']:.2f}", kind="small", anchor="end"))
        y += 34
    marks = [
        text(left + share * (right - left), y, f"{0.5 + share / 2:.2f}", kind="line small", anchor="middle")
        for share in (0, 0.5, 1)
    ]
    parts += [*marks, text(15, y, "red: least certain, label these first", kind="alarm small")]
    return svg(1000, int(y + 14), "A survey of six sites", parts)


def blocks_picture() -> str:
    """Draw a piece of HTML and its blocks."""
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
            box(20 + letter * column, y - 14, letter + 0.3, 19, f"c{number % 8}")
            for column, number in enumerate(owner[start : start + len(line)].tolist())
            if number >= 0
        ]
        parts.append(
            f'<text x="20" y="{y}" class="ink code" textLength="{letter * len(line):.1f}" xml:space="preserve">'
            f"{escape(line)}</text>"
        )
        start += len(line) + 1
    for number, content in enumerate(blocks.texts):
        y = 54 + number * line_height
        parts += [
            box(516, y - 15, 460, 21, f"c{number % 8}"),
            text(520, y, f"{number + 1}  {content}"),
            text(795, y, str(int(blocks.n_words[number])), anchor="end"),
            text(890, y, str(int(blocks.n_linked[number])), anchor="end"),
        ]
    height = 54 + line_height * max(len(SNIPPET.split("\n")), len(blocks)) + 6
    return svg(1000, height, "A piece of HTML and its blocks", parts)


def methods_picture() -> str:
    """Draw the scores of one page's blocks by several methods, and the blocks that they keep."""
    source = (PAGE / "page.html").read_bytes()
    page = parse(source)
    gold = read_labels(PAGE / "labels.jsonl")
    left, right, height = 110.0, 930.0, 44.0
    edges = _edges(page, left, right)
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
        parts.append(f'<path d="M{left} {threshold:.1f}H{right}" stroke="#d0473c" stroke-dasharray="5 4"/>')
        parts.append(text(right + 8, y + height - 12, f"{f1:.2f}"))
        y += height + 10
    parts.append(text(left, y + 12, "bar: score; green: kept; dashed: threshold", kind="small"))
    return svg(1000, int(y + 24), "One page through seven methods", parts)


def _edges(page: Page, left: float, right: float) -> NDArray[np.float64]:
    """Return the left edge of each block and the right edge of the last; blocks with more words are wider."""
    wide = np.sqrt(np.maximum(1, page.blocks.n_words))
    return np.asarray(left + np.concatenate(([0], np.cumsum(wide))) / wide.sum() * (right - left), np.float64)


def _bars(
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    kept: Sequence[bool] | NDArray[np.bool_],
    y: float,
    height: float,
) -> list[str]:
    """Return a bar for each block, with a base line so that a score of 0 is visible."""
    parts = [box(edges[0], y + height, edges[-1] - edges[0], 1, "line")]
    for number, value in enumerate(values.tolist()):
        tall = max(1.5, height * value)
        width = max(1.0, edges[number + 1] - edges[number] - 1)
        parts.append(box(edges[number], y + height - tall, width, tall, "kept" if kept[number] else "lost"))
    return parts


def folds_picture() -> str:
    """Draw block F1 of two feature sets, by the unit that the folds of cross-validation keep together."""
    parts = []
    left, scale = 170.0, 720.0
    for row, (name, six, more, gain) in enumerate(FOLDS):
        y = 30 + 64 * row
        parts.append(text(left - 12, y + 22, f"folds over {name}", anchor="end"))
        for step, (value, fill, label) in enumerate(
            ((six, "lost", "six attributes"), (more, "accent", "25 attributes"))
        ):
            wide = value * scale
            parts += [
                box(left, y + 21 * step, wide, 18, fill),
                text(left + wide + 8, y + 21 * step + 14, f"{value:.3f}  {label}", kind="small"),
            ]
        parts.append(text(900, y + 26, f"gain {gain}"))
    parts.append(text(left, 30 + 64 * len(FOLDS) + 4, "block F1 on WCXB", kind="small"))
    return svg(1000, 30 + 64 * len(FOLDS) + 14, "Gain of 25 attributes over six, by the kind of folds", parts)


#: Pictures by the names of their files in ``docs/``.
PICTURES = {
    "route": route_picture,
    "blocks": blocks_picture,
    "decision": decision_picture,
    "methods": methods_picture,
    "folds": folds_picture,
    "template": template_picture,
    "survey": survey_picture,
}


def main() -> int:
    """Write the pictures."""
    for name, draw in PICTURES.items():
        (ROOT / "docs" / f"{name}.svg").write_text(draw(), encoding="utf-8")
        print(f"wrote docs/{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
