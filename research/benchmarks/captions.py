"""Captions below their pictures in Markdown, and formulas written once, on pages of the collections.

Needs BLOCKML_CORPORA; trafilatura is compared if it is installed. A figure is an innermost ``figure`` or element of a
caption class with a picture and a caption of three words or more, whose texts before and after it the system keeps.
Its caption is below the picture if its first words are among the next words of the Markdown. A formula is the TeX of
KaTeX, MathML, a MathJax script or a picture of Wikipedia, WordPress or CodeCogs, in a paragraph that the system keeps
or between two of them; only TeX with a sign that words don't have is counted. MathML without TeX has that of blockml's
converter. A formula is missing if an output has it less often than the kept text of the page, and repeated if the
output has it more often, or has the characters of its MathML too.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import LabelledPage, TextGold, open_dataset
from blockml.document.mathml import tex_of_mathml
from blockml.page import Page
from research.benchmarks.default import markdown
from research.benchmarks.pictures import IN_MARKDOWN, compared

COLLECTIONS = (
    "chinese-web-content",
    "cleaneval",
    "cleanportaleval",
    "dataset-popular",
    "dragnet-2012",
    "forums",
    "ftr-articles",
    "fundus",
    "ir-research-big9-chaos",
    "l3s-gn1",
    "magic-html",
    "mercury",
    "outline-annotated",
    "pool",
    "pool2",
    "recipes",
    "sites",
    "wcxb",
)
_FIGURE_CLASSES = frozenset({"wp-caption", "captioned-image-container", "image-with-caption", "photo-with-caption"})
_CAPTION_CLASSES = frozenset({"wp-caption-text", "caption", "image-caption", "photo-caption"})
_MAY_HAVE_CAPTIONS = re.compile(rb"<figcaption|wp-caption|with-caption|captioned-image")
_MAY_HAVE_FORMULAS = re.compile(
    rb"<math\b|math/tex|codecogs|class=[\"'][^\"'>]*\b(?:tex|latex|mwe-math-fallback\S*)[\"' ]"
)
_SCRIPT = re.compile(r"<script[^>]*math/tex[^>]*>(.*?)</script", re.DOTALL | re.IGNORECASE)
#: Classes of pictures of formulas, whose ``alt`` is TeX, and of elements around a formula and its copies.
_PICTURES = frozenset({"tex", "latex", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"})
_SHOWS = frozenset({"katex", "katex-display", "mwe-math-element", "MathJax", "MathJax_Display"})
_WORD = re.compile(r"\w+")
_TARGET = re.compile(r"\]\([^()]*(?:\([^()]*\)[^()]*)*\)")
#: Attributes with the addresses of a picture.
_ADDRESSES = re.compile(r"src|data-(?!alt|caption|title|desc)")
_NUMBER = re.compile(r"\(\w?\.?\d{1,3}\)")
_SIGN = re.compile(r"[\\^_{]")
_BREAK = re.compile(r"<br\s*/?>")
_DISPLAY = re.compile(r"\{\\(?:display|text)style (?P<inner>.*)\}", re.DOTALL)
#: Words compared of a caption, and words before it that may be a title or credit.
_N_WORDS, _N_BEFORE = 8, 12


class Output(NamedTuple):
    """What a system writes of a page, and its kept blocks."""

    text: str
    markdown: str
    kept: NDArray[np.bool_]


class Figure(NamedTuple):
    """A captioned figure: its element, the addresses of its pictures, and its caption."""

    node: int
    addresses: frozenset[str]
    caption: str


class Formula(NamedTuple):
    """A formula: its element, its TeX, and its characters in MathML, both without white space."""

    node: int
    tex: str
    characters: str


def by_blockml(html: bytes, labelled: LabelledPage, _: Page) -> Output:
    """Extract with the default model."""
    result = blockml.extract(html, url=labelled.url, charset=labelled.charset)
    return Output(result.text, blockml.render(result, "markdown"), result.kept)


def by_trafilatura(html: bytes, labelled: LabelledPage, page: Page) -> Output:
    """Extract with trafilatura; the kept blocks are those whose words are in its text."""
    import trafilatura

    text = trafilatura.extract(html, url=labelled.url) or ""
    options = {"include_links": True, "include_images": True, "include_formatting": True, "include_tables": True}
    written = trafilatura.extract(html, url=labelled.url, output_format="markdown", **options) or ""
    kept = TextGold(text).label(page).main if text else np.zeros(len(page.blocks), dtype=bool)
    return Output(text, written, kept)


def systems() -> dict[str, Callable[[bytes, LabelledPage, Page], Output]]:
    """Return the compared systems by name."""
    return {"blockml": by_blockml} | ({"trafilatura": by_trafilatura} if find_spec("trafilatura") else {})


def _text(page: Page, node: int) -> str:
    texts = page.nodes.texts[node : page.nodes.end[node]]
    return " ".join(" ".join(texts).split())


def _with_class(page: Page, classes: frozenset[str]) -> list[int]:
    held = page.nodes.attributes
    return [node for node, found in enumerate(held) if found and not classes.isdisjoint(found.get("class", "").split())]


def figures(page: Page) -> list[Figure]:
    """Return the captioned figures of a page.

    Examples
    --------
    >>> page = blockml.parse("<figure><img src=a.png><figcaption>Two cats and a dog</figcaption></figure>")
    >>> [(sorted(figure.addresses), figure.caption) for figure in figures(page)]
    [(['a.png'], 'Two cats and a dog')]
    """
    nodes, found = page.nodes, []
    outer = sorted({*nodes.indices("figure").tolist(), *_with_class(page, _FIGURE_CLASSES)})
    captions = sorted({*nodes.indices("figcaption").tolist(), *_with_class(page, _CAPTION_CLASSES)})
    images = np.flatnonzero(nodes.named({"img", "source"})).tolist()
    base = page.base_url
    for node, following in pairwise([*outer, len(nodes)]):
        end = int(nodes.end[node])
        if following < end:
            continue  # another figure is inside
        held = [_text(page, caption) for caption in captions if node < caption < end]
        addresses = {
            compared(address, base)
            for image in images
            if node < image < end
            for name, value in nodes.attributes[image].items()
            if _ADDRESSES.match(name)
            for address in re.split(r",?\s+", value)
            if re.search(r"[./]", address) and not address.startswith("data:")
        }
        if held and addresses and len(_WORD.findall(held[0])) >= 3:
            found.append(Figure(node, frozenset(addresses), held[0]))
    return found


def formulas(page: Page) -> list[Formula]:
    """Return the formulas of a page whose TeX is known, each once.

    Examples
    --------
    >>> page = blockml.parse("<p>So <math alttext='x^2'><mi>x</mi><mn>2</mn></math>.</p>")
    >>> [(formula.tex, formula.characters) for formula in formulas(page)]
    [('x^2', 'x2')]
    """
    nodes, held = page.nodes, page.nodes.attributes
    found: list[Formula] = []
    scripts = [item for item in nodes.indices("script").tolist() if "math/tex" in held[item].get("type", "")]
    texts = _SCRIPT.findall(page.source or "")  # the text of scripts is not in the tree
    found += [Formula(node, _tex(unescape(tex)), "") for node, tex in zip(scripts, texts, strict=False)]
    annotations = [item for item in nodes.indices("annotation").tolist() if "tex" in held[item].get("encoding", "")]
    for node in nodes.indices("math").tolist() if not scripts else ():
        inner = [item for item in annotations if node < item < nodes.end[node]]
        tex = _text(page, inner[0]) if inner else held[node].get("alttext", "") or tex_of_mathml(nodes, node)
        stop = inner[0] if inner else int(nodes.end[node])
        found.append(Formula(node, _tex(tex), "".join("".join(nodes.texts[node:stop]).split())))
    if not found:
        for node in nodes.indices("img").tolist():
            if not _PICTURES.isdisjoint(held[node].get("class", "").split()) or "codecogs" in held[node].get("src", ""):
                found.append(Formula(node, _tex(held[node].get("alt", "")), ""))
    return sorted(
        formula._replace(node=_with_copies(page, formula.node)) for formula in found if _SIGN.search(formula.tex)
    )


def _with_copies(page: Page, node: int) -> int:
    """Return the element around a formula and its copies."""
    around = [node, *page.nodes.ancestors(node, 5)]
    return [
        item for item in around if item == node or _SHOWS & {*page.nodes.attributes[item].get("class", "").split()}
    ][-1]


def _tex(text: str) -> str:
    """Return TeX without the style that Wikipedia puts around it, line breaks of forums, and white space."""
    match = _DISPLAY.fullmatch(text := _BREAK.sub("", text).strip())
    return "".join((match["inner"] if match else text).split())


def blocks_of(page: Page, node: int) -> tuple[int, int]:
    """Return the first block around or inside of an element, and the first one after it."""
    return int(np.searchsorted(page.blocks.last_node, node)), int(
        np.searchsorted(page.blocks.node, page.nodes.end[node])
    )


def is_between(page: Page, kept: NDArray[np.bool_], node: int) -> bool:
    """Tell whether the texts before and after an element are kept, without removed numbers of formulas."""
    texts, (before, after) = page.blocks.texts, blocks_of(page, node)
    before -= before > 1 and not kept[before - 1] and _NUMBER.fullmatch(texts[before - 1]) is not None
    after += after + 1 < len(kept) and not kept[after] and _NUMBER.fullmatch(texts[after]) is not None
    return bool(before > 0 and after < len(kept) and kept[before - 1] and kept[after])


def is_in_text(page: Page, kept: NDArray[np.bool_], node: int) -> bool:
    """Tell whether a block around an element or inside of it is kept, or the texts before and after it."""
    return bool(kept[slice(*blocks_of(page, node))].any()) or is_between(page, kept, node)


def count_captions(page: Page, output: Output) -> Counter[str]:
    """Count the figures between kept texts, those whose picture is written, and those with the caption below it."""
    counts: Counter[str] = Counter()
    base = page.base_url
    places = {compared(match[1], base): match.end() for match in IN_MARKDOWN.finditer(output.markdown)}
    for figure in figures(page):
        if not is_between(page, output.kept, figure.node):
            continue
        counts["figures"] += 1
        written = [places[address] for address in figure.addresses if address in places]
        counts["pictures"] += bool(written)
        counts["captions"] += any(is_below(figure.caption, output.markdown[place:]) for place in written)
    return counts


def is_below(caption: str, text: str) -> bool:
    """Tell whether the first words of a caption are among the next words of a Markdown text.

    Examples
    --------
    >>> is_below("Two cats by Jo", ")](a.html)\\n\\n*Two [cats](b.html)* by Jo")
    True
    >>> is_below("Two cats by Jo", ")\\n\\nA dog.")
    False
    """
    wanted = _WORD.findall(caption)[:_N_WORDS]
    near = text[: 20 * (len(caption) + 200)]
    words = _WORD.findall(_TARGET.sub("]", near.partition(")")[2]))[: len(wanted) + _N_BEFORE]
    return any(words[place : place + len(wanted)] == wanted for place in range(len(words)))


def count_formulas(page: Page, output: Output) -> Counter[str]:
    """Count the formulas in kept text, and for each output those that are missing or repeated."""
    every = formulas(page)
    found = [formula for formula in every if is_in_text(page, output.kept, formula.node)]
    counts: Counter[str] = Counter(formulas=len(found))
    for name, text in (("text", output.text), ("Markdown", output.markdown)):
        joined = "".join(text.split())
        for tex in {formula.tex for formula in found}:
            alike = [formula for formula in found if formula.tex == tex]
            shown = {formula.characters for formula in alike if len(formula.characters) > 4} - {tex}
            n_missing = sum(formula.tex.count(tex) for formula in found) - joined.count(tex)
            n_more = [joined.count(copy) - sum(item.tex.count(copy) for item in every) for copy in (tex, *shown)]
            counts[f"{name} missing"] += min(len(alike), max(0, n_missing))
            counts[f"{name} repeated"] += min(len(alike), max(0, *n_more))
    return counts


def count_page(labelled: LabelledPage, html: bytes) -> dict[str, Counter[str]]:
    """Count captions and formulas of one page, for each system that has any of them in its kept text."""
    page = blockml.parse(html, url=labelled.url, charset=labelled.charset)
    if not figures(page) and not formulas(page):
        return {}
    counts = {}
    for name, extract in systems().items():
        output = extract(html, labelled, page)
        counts[name] = count_captions(page, output) + count_formulas(page, output)
        for what in ("figures", "formulas"):
            counts[name][f"pages with {what}"] += counts[name][what] > 0
    return counts


def pages_of(corpora: Path, collections: Sequence[str], every: int) -> Iterator[tuple[LabelledPage, bytes]]:
    """Iterate over the pages with formulas, and every Nth of those with captions."""
    n_captioned = 0
    for name in collections:
        for labelled in open_dataset(corpora / name).pages:
            html, _ = labelled.load()
            has_captions = bool(_MAY_HAVE_CAPTIONS.search(html))
            n_captioned += has_captions
            if (has_captions and n_captioned % every == 0) or _MAY_HAVE_FORMULAS.search(html):
                yield labelled, html


def rows(totals: Mapping[str, Counter[str]]) -> Iterator[dict[str, object]]:
    """Iterate over the rows of the table, one for each system."""
    for name, total in totals.items():
        row: dict[str, object] = {"system": name}
        row["captioned figures between kept texts (pages)"] = f"{total['figures']:,} ({total['pages with figures']})"
        row["picture written"] = f"{total['pictures'] / max(1, total['figures']):.3f}"
        row["caption below a written picture"] = f"{total['captions'] / max(1, total['pictures']):.3f}"
        row["formulas in kept text (pages)"] = f"{total['formulas']:,} ({total['pages with formulas']})"
        for output in ("text", "Markdown"):
            n_missing, n_repeated = total[f"{output} missing"], total[f"{output} repeated"]
            once = 1 - (n_missing + n_repeated) / max(1, total["formulas"])
            row[f"once in {output} (missing, repeated)"] = f"{once:.3f} ({n_missing}, {n_repeated})"
        yield row


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"))
    parser.add_argument("--collections", nargs="+", default=list(COLLECTIONS))
    parser.add_argument("--every", type=int, default=1, help="measure every Nth page with captions")
    arguments = parser.parse_args(argv)
    if not arguments.corpora:
        parser.error("--corpora or BLOCKML_CORPORA has to name the folder of the collections")
    totals: dict[str, Counter[str]] = {}
    for labelled, html in pages_of(arguments.corpora, arguments.collections, arguments.every):
        for name, counts in count_page(labelled, html).items():
            totals.setdefault(name, Counter()).update(counts)
    print(markdown(list(rows(totals))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
