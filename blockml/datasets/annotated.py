"""Reader of annotated HTML: spans of classes ``x-nc-sel0`` … ``x-nc-sel5`` around texts, as in L3S-GN1.

The spans are removed from the source, so that features are computed on the original page; the labels become labelled
runs of text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from blockml.archives.kinds import page_stem
from blockml.datasets.folders import find_table, read_rows
from blockml.datasets.gold import Gold, RunGold
from blockml.datasets.labelled import Dataset, html_files, page_from_row, read_page_file
from blockml.errors import DatasetError
from blockml.page import Label
from blockml.parsing import parse

#: Labels by the digit in the class name (public evaluation code of the corpus).
CLASSES = (Label.OTHER, Label.HEADING, Label.MAIN, Label.SUPPLEMENT, Label.RELATED, Label.COMMENT)

_CLASS = re.compile(r"x-nc-sel([0-5])\b")
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"  # tags inside comments, scripts and styles are text
    r"|<(?P<raw>script|style)\b.*?(?:</(?P=raw)\s*>|\Z)"
    r"""|<(?P<close>/)?(?P<name>[a-z][a-z0-9:]*)(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""",
    re.IGNORECASE | re.DOTALL,
)
#: Private-use characters: one per class, and one that ends the innermost annotation. They mark where annotations
#: start and end in a copy of the page, whose parsed text then shows the labelled runs.
_FIRST_MARK = 0xF8F0
_END_MARK = chr(_FIRST_MARK + len(CLASSES))
_MARK = re.compile(f"([{chr(_FIRST_MARK)}-{_END_MARK}])")


def split_annotation(annotated: str) -> tuple[str, RunGold]:
    """Separate a page from its annotation.

    A text gets the label of the innermost annotated element around it. Annotated spans are removed; other elements
    with an annotation class stay.

    Returns
    -------
    page, gold
        The page without annotation spans, and the labelled runs of its text.

    Examples
    --------
    >>> page, gold = split_annotation(
    ...     "<p><span class=x-nc-sel2>Full text here <span class=x-nc-sel5>nice post</span></span></p>"
    ... )
    >>> page
    '<p>Full text here nice post</p>'
    >>> [(text.strip(), str(label)) for text, label in gold.runs]
    [('Full text here', 'main'), ('nice post', 'comment')]
    """
    annotated = _MARK.sub("\ufffd", annotated)
    clean: list[str] = []
    marked: list[str] = []
    open_tags: list[tuple[str, bool, bool]] = []  # name, whether it opened a mark, whether the tag is dropped
    position = 0

    def emit(text: str) -> None:
        clean.append(text)
        marked.append(text)

    for match in _TAG.finditer(annotated):
        emit(annotated[position : match.start()])
        position = match.end()
        name = (match["name"] or "").lower()
        if not name:
            emit(match[0])
        elif match["close"]:
            place = next((i for i in reversed(range(len(open_tags))) if open_tags[i][0] == name), None)
            _, had_mark, dropped = ("", False, False) if place is None else open_tags.pop(place)
            if had_mark:
                marked.append(_END_MARK)
            if not dropped:
                emit(match[0])
        else:
            found = _CLASS.search(match["attributes"])
            dropped = name == "span" and found is not None
            if not dropped:
                emit(match[0])
            if found:
                marked.append(chr(_FIRST_MARK + int(found[1])))
            if name == "span" or found:  # other elements open no run, so their end tags are irrelevant
                open_tags.append((name, found is not None, dropped))
    emit(annotated[position:])
    return "".join(clean), RunGold(_runs("".join(marked)))


def _runs(marked: str) -> tuple[tuple[str, Label], ...]:
    """Return the labelled runs of the visible text of a page with marks."""
    visible = "\n".join(parse(marked).blocks.texts)
    borders = [0, *(match.start() for match in _MARK.finditer(visible)), len(visible)]
    open_labels: list[Label] = []
    runs: list[tuple[str, Label]] = []
    for start, stop in pairwise(borders):
        text = visible[start:stop]
        if text[:1] == _END_MARK:
            if open_labels:
                open_labels.pop()
        elif _MARK.match(text):
            open_labels.append(CLASSES[ord(text[0]) - _FIRST_MARK])
        if run := " ".join(_MARK.sub("", text).split()):
            runs.append((run, open_labels[-1] if open_labels else Label.OTHER))
    return tuple(runs)


def is_annotated(path: Path) -> bool:
    """Return whether a file has annotations; False for a file that can't be read."""
    try:
        return _CLASS.search(read_page_file(path).decode("latin-1")) is not None
    except OSError:
        return False


def read_annotated_file(path: Path) -> tuple[bytes, Gold | None]:
    """Read page and gold from an annotated file, which is in UTF-8 even if its page declares another encoding."""
    page, gold = split_annotation(read_page_file(path).decode("utf-8", "replace"))
    return page.encode("utf-8"), gold


def read_annotated(folder: Path, name: str) -> Dataset:
    """Read a folder of annotated HTML files.

    Parameters
    ----------
    folder
        Folder of page files, such as ``ID.html``. URLs come from the table of the parent folder, if there is one; a
        page without a URL counts as its own site.
    name
        Name of the data set.
    """
    table = find_table(folder.parent)
    urls = {row["id"]: row["url"] for row in read_rows(table) if row.get("url")} if table else {}
    pages = []
    for path in html_files(folder.iterdir()):
        page_id = page_stem(path.name) or path.name
        page = page_from_row({"url": urls.get(page_id)}, page_id, path)
        pages.append(replace(page, reader=read_annotated_file, charset="utf-8"))
    if not pages:
        raise DatasetError("no HTML files", source=folder)
    return Dataset(name, folder, "annotated", tuple(pages))
