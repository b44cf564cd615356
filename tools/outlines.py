"""Labels of whole pages from outlines: groups of blocks with the same place in the markup, labelled as content or not.

``python -m tools.outlines write PAGES -o FILE`` writes the outlines of some pages as text,
``... labels PAGES --answers FILE -o LABELS`` turns a reader's answers into labels of blocks, without their text; with
``--second FILE`` groups that a second reader answered differently are ignored, and the agreement is printed.
``... folders PAGES --labels LABELS -o DIR`` joins labels and pages to a data set that ``blockml train`` reads.
``PAGES`` is a folder with the pages ``pages/ID.html.gz`` and a table ``pages.jsonl.gz`` of their ``id``, and ``url``,
``encoding``, ``title`` and ``lang`` where they are known. An outline numbers the groups of a page and gives their path,
blocks (``b``), words (``w``), linked words (``l``) and some of their texts. An answer is a JSON line with the numbers
of groups; the others are not content::

    {"id": "24.kg", "kind": "article", "content": ["14-15"], "ignore": ["11-13"]}

``docs/labelling-guide.md`` says what counts as content.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import heapq
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from blockml.datasets import Dataset, RunGold, write_labels
from blockml.datasets.gold import IGNORE
from blockml.datasets.labelled import page_from_row
from blockml.errors import DatasetError
from blockml.page import Label, Page
from blockml.parsing import parse
from blockml.storage.atomic import atomic_write

#: Maximum number of groups in an outline, and of words in a group that is not divided further (our choice: a page is
#: read in a minute).
MAX_GROUPS, FEW_WORDS = 60, 12
#: Minimum number of equal siblings that form one group.
REPEATED = 3
#: Elements distinguished by their position among their siblings, such as the columns of a table.
BY_COLUMN = frozenset({"td", "th"})
#: Maximum number of characters of a text in an outline.
WIDTH = 70


@dataclass(slots=True)
class Place:
    """A place in the markup: elements with equal names, classes and ancestors."""

    path: tuple[str, ...] = ()
    blocks: list[int] = field(default_factory=list)
    below: dict[str, Place] = field(default_factory=dict)

    def parts(self) -> list[Place]:
        """Return the places inside, with a separate place for text outside all of them."""
        inside = {block for place in self.below.values() for block in place.blocks}
        own = [block for block in self.blocks if block not in inside]
        return [*self.below.values(), *([Place((*self.path, "text"), own)] if own else [])]


def groups(page: Page) -> list[Place]:
    """Divide the blocks of a page into groups, the largest ones first, up to the maximum number.

    Examples
    --------
    >>> page = parse("<ul><li>One<li>Two<li>Three</ul><p>Nobody has ever asked the cats whether they like it at all.")
    >>> [(group.path[-1], group.blocks) for group in groups(page)]
    [('ul', [0, 1, 2]), ('p', [3])]
    """
    words = page.blocks.n_words.tolist()

    def entry(place: Place) -> tuple[int, int, Place]:
        return -sum(words[block] for block in place.blocks), place.blocks[0], place

    if not len(page.blocks):
        return []
    waiting, done = [entry(_places(page))], list[Place]()
    while waiting and len(waiting) + len(done) < MAX_GROUPS:
        negative, _, place = heapq.heappop(waiting)
        if -negative < FEW_WORDS or not place.below:
            done.append(place)
            continue
        for part in place.parts():
            heapq.heappush(waiting, entry(part))
    found = sorted([*done, *(place for *_, place in waiting)], key=lambda place: place.blocks[0])
    return _without_crumbs(found, words)


def _without_crumbs(found: list[Place], words: Sequence[int]) -> list[Place]:
    """Join consecutive groups of a few words that are in the same element."""

    def key(item: tuple[int, Place]) -> tuple[int, ...] | tuple[str, ...]:
        number, place = item
        return place.path[:-1] if sum(words[block] for block in place.blocks) < FEW_WORDS / 3 else (number,)

    joined = []
    for _, items in groupby(enumerate(found), key):
        places = [place for _, place in items]
        blocks = sorted(block for place in places for block in place.blocks)
        joined.append(Place(places[0].path, blocks))
    return joined


def _places(page: Page) -> Place:
    """Return the root of the tree of places of all blocks."""
    nodes, root = page.nodes, Place()
    steps: dict[int, str] = {}
    parents = {ancestor for parent in page.blocks.parent.tolist() for ancestor in (parent, *nodes.ancestors(parent))}
    by_parent: dict[int, list[int]] = {}
    for node in sorted(parents):
        by_parent.setdefault(int(nodes.parent[node]), []).append(node)
    for siblings in by_parent.values():
        names = [_name(page, node) for node in siblings]
        number, total = Counter[str](), Counter(names)
        for node, name in zip(siblings, names, strict=True):
            number[name] += 1
            told_apart = nodes.name(node) in BY_COLUMN or total[name] < REPEATED
            steps[node] = f"{name}[{number[name]}]" if told_apart and total[name] > 1 else name
    for block, parent in enumerate(page.blocks.parent.tolist()):
        place = root
        place.blocks.append(block)
        for node in (*reversed(nodes.ancestors(parent)), parent):
            step = steps[node]
            place = place.below.setdefault(step, Place((*place.path, step)))
            place.blocks.append(block)
    return root


def _name(page: Page, node: int) -> str:
    """Return the tag of an element with its first class, else its id."""
    attributes = page.nodes.attributes[node]
    classes = (attributes.get("class") or "").split()
    mark = f".{classes[0]}" if classes else f"#{attributes['id']}" if attributes.get("id") else ""
    return f"{page.nodes.name(node)}{mark}"[:32]


def outline(page: Page) -> Iterator[str]:
    """Yield the lines of an outline: number, path, blocks, words, linked words, and texts of some blocks."""
    for number, group in enumerate(groups(page), start=1):
        texts = [page.blocks.texts[block] for block in group.blocks]
        shown = texts if len(texts) < 5 else [*texts[:3], "…", texts[-1]]
        words, linked = (int(column[group.blocks].sum()) for column in (page.blocks.n_words, page.blocks.n_linked))
        place = ">".join(group.path[-2:])
        sizes = f"b{len(texts)} w{words}" + (f" l{linked}" if linked else "")
        yield f"{number} {place} {sizes} | " + " | ".join(map(_short, shown))


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH * 2 // 3]}…{text[-WIDTH // 3 :]}"


def block_labels(page: Page, answer: Mapping[str, Any]) -> list[str]:
    """Return the label of each block by the numbers of groups in a reader's answer; the rest is ``other``."""
    labels = [str(Label.OTHER)] * len(page.blocks)
    found = groups(page)
    for key, label in (("content", str(Label.MAIN)), (IGNORE, IGNORE)):
        for number in numbers(answer.get(key, ())):
            if not 1 <= number <= len(found):
                raise ValueError(f"{answer['id']}: there is no group {number}, only 1 to {len(found)}")
            for block in found[number - 1].blocks:
                labels[block] = label
    return labels


def common(page: Page, first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[dict[str, Any], Counter[str]]:
    """Join two answers to one page: groups with different labels are ignored.

    Returns
    -------
    dict, Counter
        The joined answer, of the first answer's kind; and words by their two labels in alphabetical order, such as
        ``ignore, main``.
    """
    labels: list[dict[int, str]] = []
    for answer in (first, second):
        named = {number: str(Label.MAIN) for number in numbers(answer["content"])}
        labels.append(named | dict.fromkeys(numbers(answer["ignore"]), IGNORE))
    words = Counter[str]()
    joined: dict[str, Any] = {**first, "content": [], "ignore": []}
    for number, group in enumerate(groups(page), start=1):
        one, other = (named.get(number, str(Label.OTHER)) for named in labels)
        words[", ".join(sorted((one, other)))] += int(page.blocks.n_words[group.blocks].sum())
        label = one if one == other else IGNORE
        if label != Label.OTHER:
            joined["ignore" if label == IGNORE else "content"].append(number)
    return joined, words


def numbers(given: Iterable[int | str]) -> list[int]:
    """Read numbers and ranges.

    Examples
    --------
    >>> numbers([1, "3-5", "7"])
    [1, 3, 4, 5, 7]
    """
    found: list[int] = []
    for item in given:
        first, _, last = str(item).partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def table_row(row: Mapping[str, Any], html: bytes, page: Page, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the labels of a page without its text: runs of blocks with equal labels, and a hash of each run."""
    runs, start = [], 0
    for label, items in groupby(block_labels(page, answer)):
        n_blocks = len(list(items))
        runs.append([n_blocks, label, _digest(page.blocks.texts[start : start + n_blocks])])
        start += n_blocks
    return {
        **{key: row.get(key) for key in ("id", "url", "site", "lang", "encoding", "source", "licence")},
        "page_type": answer["kind"],
        "sha256": hashlib.sha256(html).hexdigest(),
        "runs": runs,
    }


def run_labels(page: Page, runs: Iterable[Sequence[Any]]) -> list[Label | None]:
    """Return the label of each block of a page, checked against the hashes of a table row; None is ``ignore``.

    Raises
    ------
    ValueError
        The page has other blocks than the labelled one.
    """
    labels: list[Label | None] = []
    for n_blocks, label, digest in runs:
        if _digest(page.blocks.texts[len(labels) : len(labels) + n_blocks]) != digest:
            raise ValueError(f"blocks {len(labels)} to {len(labels) + n_blocks - 1} are not those that were labelled")
        labels += [None if label == IGNORE else Label(label)] * n_blocks
    if len(labels) != len(page.blocks):
        raise ValueError(f"{len(labels)} blocks are labelled, the page has {len(page.blocks)}")
    return labels


def labelled(folder: Path, table: Path) -> Dataset:
    """Return the data set of the pages of a folder that have labels in a table.

    Reading a page raises DatasetError if it is not the one that was labelled.
    """
    rows = list(lines(table))
    read = [
        replace(
            page_from_row(
                {key: value for key, value in row.items() if key not in ("runs", "sha256")},
                row["id"],
                folder / "pages" / f"{row['id']}.html.gz",
            ),
            reader=partial(_read, row),
        )
        for row in rows
    ]
    return Dataset(folder.name, folder, "block labels", tuple(read))


def _read(row: Mapping[str, Any], path: Path) -> tuple[bytes, RunGold]:
    """Return a page and its labels."""
    html = gzip.decompress(path.read_bytes())
    page = parse(html, url=row["url"], charset=row["encoding"])
    try:
        return html, RunGold(tuple(zip(page.blocks.texts, run_labels(page, row["runs"]), strict=True)))
    except ValueError as error:
        raise DatasetError(str(error), source=path) from error


def _digest(texts: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(texts).encode("utf-8", "replace"), digest_size=6).hexdigest()


def pages(folder: Path, ids: Iterable[str] | None = None) -> Iterator[tuple[dict[str, Any], bytes, Page]]:
    """Iterate over rows, bytes and parsed pages of a folder: all, or those with the given ids in their order."""
    rows = {row["id"]: row for row in lines(folder / "pages.jsonl.gz")}
    for page_id in rows if ids is None else ids:
        html = gzip.decompress((folder / "pages" / f"{page_id}.html.gz").read_bytes())
        yield rows[page_id], html, parse(html, url=rows[page_id].get("url"), charset=rows[page_id].get("encoding"))


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Iterate over JSON lines, gzipped or not."""
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig").split("\n"):
        if line.strip():
            yield json.loads(line)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("step", choices=("write", "labels", "folders"))
    parser.add_argument("folder", type=Path, metavar="PAGES")
    parser.add_argument("--id", action="append", metavar="ID", help="write: only this page; may be repeated")
    parser.add_argument("--answers", type=Path, metavar="FILE", help='JSON lines {"id", "kind", "content", "ignore"}')
    parser.add_argument("--second", type=Path, metavar="FILE", help="labels: answers of a second reader to some pages")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="labels of blocks")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    if given.step == "write":
        with atomic_write(given.output) as stream:
            for row, _, page in pages(given.folder, given.id):
                head = " | ".join(str(row.get(key) or "") for key in ("id", "url", "title", "lang"))
                stream.write("\n".join([f"=== {head}", *outline(page), "", ""]).encode("utf-8", "replace"))
        return 0
    wanted = given.answers if given.step == "labels" else given.labels
    if wanted is None:
        parser.error(f"{given.step} needs {'--answers' if given.step == 'labels' else '--labels'}")
    if given.step == "labels":
        answers = {row["id"]: row for row in lines(wanted)}
        again = {} if given.second is None else {row["id"]: row for row in lines(given.second)}
        rows, words = [], Counter[str]()
        for row, html, page in pages(given.folder, answers):
            answer = answers[row["id"]]
            if row["id"] in again:
                answer, found = common(page, answer, again[row["id"]])
                words += found
            rows.append(json.dumps(table_row(row, html, page, answer)))
        if again:
            kinds = sum(answers[name]["kind"] == again[name]["kind"] for name in again)
            print(f"{len(again)} pages read twice, {kinds} of them with the same kind; words by both labels:")
            print(*(f"{share / words.total():.4f} {pair}" for pair, share in words.most_common()), sep="\n")
        data = "".join(f"{row}\n" for row in sorted(rows)).encode()
        with atomic_write(given.output) as stream:
            stream.write(gzip.compress(data, mtime=0) if given.output.suffix == ".gz" else data)
        return 0
    for item in labelled(given.folder, wanted).pages:
        html, gold = item.load()
        folder = given.output / item.id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "page.html").write_bytes(html)
        meta = {"id": item.id, "url": item.url, "site": item.site, "page_type": item.page_type, **item.extra}
        (folder / "meta.json").write_text(json.dumps({**meta, "encoding": item.charset}), encoding="utf-8")
        runs = gold.runs if isinstance(gold, RunGold) else ()
        write_labels(folder / "labels.jsonl", [text for text, _ in runs], [label for _, label in runs])
    return 0


if __name__ == "__main__":
    sys.exit(main())
