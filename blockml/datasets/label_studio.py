"""Label Studio: reader of JSON exports with HyperText labels, and writer of tasks.

A region has the XPaths of its first and last text node below the page's ``body``, offsets in them, and its text. The
reader searches for the text at the path, because offsets count white space, which differs between parsers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import lxml.etree
import lxml.html
import numpy as np

from blockml.datasets.gold import IGNORE, LABELS, BlockLabels, RunGold, as_label
from blockml.datasets.sources import TableRow
from blockml.errors import DatasetError
from blockml.page import MAIN_LABELS, Flag, Label, Nodes, Page

#: Labelling configuration of a Label Studio project with these labels.
LABELLING_CONFIG = (
    '<View><HyperTextLabels name="label" toName="html">'
    + "".join(f'<Label value="{name}"/>' for name in [*map(str, LABELS), IGNORE])
    + '</HyperTextLabels><HyperText name="html" value="$html"/></View>'
)
#: XPaths in exports start below the body, or at the root.
_PREFIXES = ("/html/body", "")
#: Maximum characters of the XPath of an element in a region, before it is numbered among all elements of the page.
_MAX_PATH = 500


@dataclass(frozen=True, slots=True)
class SpanGold:
    """Labelled spans of a page: XPaths of their start and end, text, and label; other text is ``other``."""

    spans: tuple[tuple[str, str, str, Label | None], ...]

    def text(self, main: Set[Label] = MAIN_LABELS) -> str | None:
        """Join the texts of the spans whose label is in ``main``."""
        return "\n".join(text for _, _, text, label in self.spans if label in main)

    def label(self, page: Page, main: Set[Label] = MAIN_LABELS) -> BlockLabels:
        """Label each block by the majority of its words; a span inside another overrides it.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p>Home</p><p>Cats rule.</p>")
        >>> gold = SpanGold((("/p[2]/text()[1]", "/p[2]/text()[1]", "Cats rule.", Label.MAIN),))
        >>> gold.label(page).main.tolist()
        [False, True]
        """
        characters = ["".join(text.split()) for text in page.blocks.texts]
        codes = np.zeros(sum(map(len, characters)), dtype=np.int64)
        choices: list[Label | None] = [Label.OTHER, *[label for *_, label in self.spans]]
        places = enumerate(self._places(page), start=1)
        for number, (start, stop) in sorted(places, key=lambda item: item[1][0] - item[1][1]):  # longest first
            codes[start:stop] = number
        joined = "".join(characters)
        borders = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(joined)]
        pairs = pairwise(borders)
        runs = tuple((joined[start:stop], choices[codes[start]]) for start, stop in pairs if start < stop)
        return RunGold(runs).label(page, main)

    def missing(self, page: Page) -> list[str]:
        """Return the start XPaths of spans whose text is not on the page."""
        places = self._places(page)
        return [span[0] for span, (start, stop) in zip(self.spans, places, strict=True) if start == stop]

    def _places(self, page: Page) -> list[tuple[int, int]]:
        """Return start and end of each span in the page's text without white space; both are equal if it is missing."""
        characters = ["".join(text.split()) for text in page.blocks.texts]
        joined, first = "".join(characters), np.cumsum([0, *map(len, characters)])
        places = []
        for start_path, end_path, text, _ in self.spans:
            wanted = "".join(text.split())
            start, end = _find(page.nodes, start_path), _find(page.nodes, end_path)
            place = -1
            if start is not None and end is not None:
                block = max(0, int(np.searchsorted(page.blocks.node, start, side="right")) - 1)
                after = int(np.searchsorted(page.blocks.node, page.nodes.end[end], side="left"))
                place = joined.find(wanted, int(first[block]), int(first[after]))
            place = joined.find(wanted) if place < 0 else place
            places.append((place, place + len(wanted)) if place >= 0 else (0, 0))
        return places


def _find(nodes: Nodes, xpath: str) -> int | None:
    element = xpath.partition("/text()")[0].partition("text()")[0].strip("/")
    paths = (f"{prefix}/{element}".rstrip("/") for prefix in _PREFIXES)
    return next((node for path in paths if path and (node := nodes.find(path)) is not None), None)


def is_export(data: object) -> bool:
    """Tell whether the content of a JSON file is an export of Label Studio."""
    return isinstance(data, list) and bool(data) and all(isinstance(x, dict) and "data" in x for x in data[:1]) and (
        "annotations" in data[0] or "predictions" in data[0]
    )  # fmt: skip


def label_studio_rows(tasks: Iterable[Mapping[str, Any]], source: Path) -> Iterator[TableRow]:
    """Yield the data of each task with its ``gold``: the first annotation that was not cancelled, or None.

    Raises
    ------
    DatasetError
        A task or a region lacks a field, or a label is unknown.
    """
    for number, task in enumerate(tasks, start=1):
        try:
            done = [item for item in task.get("annotations") or () if not item.get("was_cancelled")]
            spans = [_span(region, f"{source}, task {number}") for item in done[:1] for region in item["result"]]
            data = task["data"]
            html = data.get("html") or next((x for x in data.values() if isinstance(x, str) and "<" in x), None)
            page_id = data.get("page_id") or task.get("id")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, DatasetError):
                raise
            raise DatasetError(f"task {number} is not a Label Studio task ({error!r})", source=source) from None
        gold = SpanGold(tuple(span for span in spans if span)) if done else None
        yield {"id": page_id, "html": html, "url": data.get("url"), "gold": gold}


def _span(region: Mapping[str, Any], source: str) -> tuple[str, str, str, Label | None] | None:
    """Return the span of a region; None for regions of other kinds, such as ratings."""
    if region.get("type") not in ("hypertextlabels", "labels"):
        return None
    value = region["value"]
    (name, *_) = value.get("hypertextlabels") or value["labels"]
    start, end, text = (value[key] for key in ("start", "end", "text"))
    if not (isinstance(start, str) and isinstance(end, str) and isinstance(text, str)):
        raise TypeError("start, end and text of a region must be texts")
    return start, end, text.replace("\\n", "\n"), as_label(name, source)  # exports escape line ends


class _TextPlaces:
    """Where a browser finds the text nodes of a page.

    A browser also has nodes for white space between tags, so its numbering differs from that of ``nodes``. Children of
    an element are numbered once, so that the work is linear in the page.

    Parameters
    ----------
    tree
        The page as lxml parses it, whose text nodes are those of a browser.
    nodes
        The page as blockml parses it.
    """

    def __init__(self, tree: Any, nodes: Nodes) -> None:  # noqa: ANN401 (lxml's types)
        self._nodes = nodes
        self._elements = _elements_of(tree, nodes)
        self._texts: dict[int, tuple[list[str], list[int]]] = {}
        (texts,) = np.nonzero(nodes.tag == 0)
        order = texts[np.argsort(nodes.parent[texts], kind="stable")]
        starts = np.searchsorted(nodes.parent[order], nodes.parent[order])
        self._number = dict(zip(order.tolist(), (np.arange(len(order)) - starts).tolist(), strict=True))
        self._n_before = (nodes.tag != 0).cumsum()

    def place(self, node: int, path: str) -> tuple[str, int, int] | None:
        """Return the XPath of a text node relative to the body, and where its words start and end.

        ``path`` is the XPath of its parent.
        """
        parent, number = int(self._nodes.parent[node]), self._number[node]
        texts, worded = self._texts_of(parent)
        if number >= len(worded) or texts[worded[number]].split() != self._nodes.texts[node].split():
            return None
        if len(path) > _MAX_PATH:  # or regions would be far longer than the page
            path = f"/descendant::*[{self._n_before[parent]}]"
        text = texts[worded[number]]
        name = f"{path.removeprefix('/html/body')}/text()[{worded[number] + 1}]"
        return name, len(text) - len(text.lstrip()), len(text.rstrip())

    def _texts_of(self, parent: int) -> tuple[list[str], list[int]]:
        """Return the texts directly inside of an element, and the numbers of those with words."""
        if parent not in self._texts:
            found = self._elements[parent]
            texts = [] if found is None else [text for text in (found.text, *[c.tail for c in found]) if text]
            self._texts[parent] = texts, [number for number, text in enumerate(texts) if text.strip()]
        return self._texts[parent]


def _elements_of(tree: Any, nodes: Nodes) -> list[Any]:  # noqa: ANN401 (lxml's types)
    """Return, for each node, the element with its place among those of its name in the same parent, or None."""
    places: dict[tuple[Any, str, int], Any] = {}
    counts: Counter[tuple[Any, Any]] = Counter()
    for element in tree.iter(lxml.etree.Element):
        counts[element.getparent(), element.tag] += 1
        places[element.getparent(), element.tag, counts[element.getparent(), element.tag]] = element
    found: list[Any] = []
    for parent, tag in zip(nodes.parent.tolist(), nodes.tag.tolist(), strict=True):
        counts[parent, tag] += 1
        outer = found[parent] if parent >= 0 else None
        is_root = parent < 0 or outer is not None
        found.append(places.get((outer, nodes.names[tag], counts[parent, tag])) if is_root else None)
    return found


def label_studio_task(
    page_id: str, html: str, page: Page, labels: Sequence[Label | None], *, is_done: bool, url: str | None = None
) -> dict[str, Any]:
    """Return a task for import into Label Studio: an annotation if the page ``is_done``, else a prediction.

    Parameters
    ----------
    page_id, html, page
        Id, source and blocks of the page.
    labels
        Label of each block, None for ``ignore``. Blocks with ``other`` get no region, nor do the rare blocks whose
        text a browser would place elsewhere.
    """
    # Bytes, because lxml takes no text with a declaration of an encoding; a page without blocks may be no document.
    parser = lxml.html.HTMLParser(encoding="utf-8")
    content = html.encode("utf-8", "replace") if len(page.blocks) else b"<p>"
    tree = lxml.html.document_fromstring(content, parser=parser).getroottree()
    regions = []
    ends = [*page.blocks.node.tolist()[1:], len(page.nodes)] if len(page.blocks) else []
    texts = (page.nodes.tag == 0) & (page.nodes.flags & (Flag.HEAD | Flag.DROPPED) == 0)
    firsts = page.blocks.node.tolist()
    lasts = [first + int(np.flatnonzero(texts[first:end])[-1]) for first, end in zip(firsts, ends, strict=True)]
    paths = page.nodes.xpaths([*firsts, *lasts])
    places = _TextPlaces(tree, page.nodes)
    starts, stops = (
        [places.place(node, path) for node, path in zip(nodes, of_nodes, strict=True)]
        for nodes, of_nodes in ((firsts, paths[: len(firsts)]), (lasts, paths[len(firsts) :]))
    )
    for number, (start, stop, text, label) in enumerate(zip(starts, stops, page.blocks.texts, labels, strict=True)):
        if label is Label.OTHER or start is None or stop is None:
            continue
        value = {"start": start[0], "end": stop[0], "startOffset": start[1], "endOffset": stop[2], "text": text}
        regions.append(
            {
                "id": f"b{number}",
                "from_name": "label",
                "to_name": "html",
                "type": "hypertextlabels",
                "value": value | {"hypertextlabels": [str(label or IGNORE)]},
            }
        )
    data = {"page_id": page_id, "html": html} | ({"url": url} if url else {})
    return {"data": data, "annotations" if is_done else "predictions": [{"result": regions}]}
