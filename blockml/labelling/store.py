"""Pages to label, from files, tables and records, and their labels on disk."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import webencodings

from blockml.archives.kinds import PAGES, is_page_of_folder, name_text, page_stem, split_compression
from blockml.batch import find_inputs, read_items
from blockml.batch.readers.work_units import Item
from blockml.datasets import open_dataset
from blockml.datasets.folders import find_table, has_unfinished_labels, read_labels, write_labels
from blockml.datasets.labelled import UNFINISHED_FLAG, Dataset, LabelledPage, html_files, page_from_row, read_page_file
from blockml.datasets.labelled_tables import read_table
from blockml.datasets.published import PUBLISHED
from blockml.datasets.sources import is_table, parse_record
from blockml.decision.decide import Decision
from blockml.errors import BlockmlError, InputError, UsageError
from blockml.extractors import Extractor
from blockml.page import Label, Page
from blockml.parsing import Limits, parse
from blockml.parsing.decoding import decode
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.storage.atomic import atomic_write, safe_file_name
from blockml.storage.spool import Spool

__all__ = [
    "LabelConflictError",
    "LabelStore",
    "PageToLabel",
    "has_page_folders",
    "in_own_folders",
    "labelled_pages",
    "labels_folder",
    "page_of_item",
    "pages_to_label",
]


class LabelConflictError(UsageError):
    """The labels of a page have changed since they were read."""


@dataclass(slots=True)
class PageToLabel:
    """A page of the folder, and the state of its labels."""

    id: str  #: Path below the folder, without suffix.
    #: Page file; page of a data set; or a temporary file and the place of the page's bytes in it.
    source: Path | LabelledPage | tuple[Spool, tuple[int, int]]
    meta: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    confidence: float = 0.0  #: Predicted quality of the model's proposal, in [0, 1].
    state: str = "open"  #: ``open``, ``unfinished`` or ``done``.
    note: str = ""  #: Why it was chosen, such as ``2 of 5 from cats.example``.
    order: int = 0  #: Pages with a lower order are shown first, whatever their confidence.


class LabelStore:
    """Reads pages from a folder and writes labelled ones as page folders to another.

    Every change is written at once. Labels and their state are one file, which is replaced as a whole, so that a page
    has what was saved last or before that, even if the process is killed. Files in ``folder`` are never changed, unless
    it is a folder of page folders and is also ``output``.

    Parameters
    ----------
    folder
        Page files or page folders, at any depth; or the pages to label, whose ids are paths below ``output``.
    output
        Folder of the labelled pages; labels that are already in it are shown.
    extractor
        Proposes the labels.

    Raises
    ------
    InputError
        The folder is missing or has no pages.
    UsageError
        Two pages would have the same page folder, or ``output`` is ``folder`` itself and contains page files, whose
        layout page folders would destroy.
    """

    def __init__(self, folder: Path | Sequence[PageToLabel], output: Path, extractor: Extractor) -> None:
        self.extractor = extractor
        self.output = output
        self._lock = threading.Lock()
        found = _pages_below(folder, output) if isinstance(folder, Path) else folder
        self.pages = {page.id: page for page in found}
        if len(self.pages) < len(found):
            twice = next(page_id for page_id, count in Counter(page.id for page in found).items() if count > 1)
            raise UsageError(f"two pages have the id {twice!r}")
        for page in found:
            page.state = self._state(page)

    def rank(self, progress: ProgressCallback = ignore_progress) -> None:
        """Predict every page, and sort the pages: most uncertain first, then pages without text, then done ones."""
        empty = set()
        for page in tracked(self.pages.values(), progress, "predicting pages", len(self.pages)):
            try:
                parsed, decision = self.propose(page)
            except BlockmlError:  # reported when the page is opened
                empty.add(page.id)
                continue
            page.title, page.confidence = parsed.title, decision.confidence
            if not len(parsed.blocks):
                empty.add(page.id)
        order = sorted(
            self.pages.values(), key=lambda page: (page.state == "done", page.id in empty, page.order, page.confidence)
        )
        self.pages = {page.id: page for page in order}

    def propose(self, page: PageToLabel) -> tuple[Page, Decision]:
        """Parse a page and let the extractor decide its blocks; raises DatasetError as :meth:`parse` does."""
        parsed = self.parse(page)
        return parsed, self.extractor.decide(parsed)

    def parse(self, page: PageToLabel) -> Page:
        """Parse a page.

        Raises
        ------
        DatasetError
            The file can't be read, or the encoding that ``meta.json`` gives is unknown.
        """
        labelled, html = self._source(page)
        options = self.extractor.parsing.options()
        return parse(html, url=labelled.url, charset=labelled.charset, **options)

    def html(self, page: PageToLabel) -> str:
        """Return the decoded source of a page; raises DatasetError as :meth:`parse` does."""
        labelled, html = self._source(page)
        return decode(html, labelled.charset).utf8.decode()

    def _source(self, page: PageToLabel) -> tuple[LabelledPage, bytes]:
        """Return a page with its record and its bytes."""
        place = page.source if isinstance(page.source, Path) else self._place(page)
        return page_from_row(page.meta, page.id, place), _read(page.source)

    def labels(self, page: PageToLabel, parsed: Page, decision: Decision) -> list[Label | None]:
        """Return the stored labels of a page's blocks, None for ignored ones; without stored labels, the proposal."""
        place = self._place(page) / "labels.jsonl"
        if place.is_file():
            stored = read_labels(place).label(parsed)
            return [label if known else None for label, known in zip(stored.labels or (), stored.known, strict=True)]
        guessed = decision.labels or [Label.MAIN] * len(decision.kept)
        content = (Label.MAIN, Label.HEADING, Label.SUPPLEMENT)
        return [
            (label if label in content else Label.MAIN) if kept else (Label.OTHER if label in content else label)
            for kept, label in zip(decision.kept.tolist(), guessed, strict=True)
        ]

    def version(self, page: PageToLabel) -> str:
        """Return a hash of the labels of a page and their state on disk; empty without labels."""
        place = self._place(page)
        try:
            files = [(place / name).read_bytes() for name in ("labels.jsonl", "meta.json")]
        except FileNotFoundError:
            return ""
        return hashlib.sha256(b"\0".join(files)).hexdigest()[:16]

    def save(
        self, page: PageToLabel, parsed: Page, labels: Sequence[Label | None], *, done: bool, version: str | None = None
    ) -> str:
        """Write a page folder with the labels of all blocks; None for blocks that are ignored.

        Parameters
        ----------
        page, parsed
            The page, and its blocks.
        labels
            Label of each block.
        done
            Whether they are confirmed.
        version
            Version of the labels that these replace; None for any.

        Returns
        -------
        str
            The new version.

        Raises
        ------
        LabelConflictError
            The labels on disk are of another version: another tab or an editor has changed them.
        UsageError
            The numbers of labels and blocks differ.
        OSError
            A file can't be written.
        """
        if len(labels) != len(parsed.blocks):
            raise UsageError(f"the page has {len(parsed.blocks)} blocks, got {len(labels)} labels")
        flags = [flag for flag in page.meta.get("flags") or () if flag != UNFINISHED_FLAG]
        # A page without blocks has no line of labels that could tell its state.
        flags += [UNFINISHED_FLAG] if not done and not labels else []
        meta = {**page.meta, "id": name_text(page.id), "flags": flags}
        with self._lock:
            if version is not None and version != self.version(page):
                raise LabelConflictError("the labels were changed elsewhere since they were loaded")
            place = self._place(page)
            place.mkdir(parents=True, exist_ok=True)
            _copy_page(self._source(page)[1], place)
            if UNFINISHED_FLAG not in (_meta(place).get("flags") or ()):  # else it goes after the labels are in place
                _write_meta(place, meta)
            write_labels(place / "labels.jsonl", parsed.blocks.texts, labels, is_unfinished=not done)
            _write_meta(place, meta)
            page.state = "done" if done else UNFINISHED_FLAG
            return self.version(page)

    def _place(self, page: PageToLabel) -> Path:
        return self.output / page.id

    def refresh(self, page: PageToLabel) -> None:
        """Read the state of a page again, which an editor may have changed."""
        page.state = self._state(page)

    def _state(self, page: PageToLabel) -> str:
        place = self._place(page)
        if not (place / "labels.jsonl").is_file():
            return "open"
        return UNFINISHED_FLAG if _is_unfinished(place) else "done"


def _is_unfinished(place: Path) -> bool:
    return has_unfinished_labels(place) or UNFINISHED_FLAG in (_meta(place).get("flags") or ())


def _pages_below(folder: Path, output: Path) -> list[PageToLabel]:
    """Return the pages of a folder; raises the errors of :class:`LabelStore`."""
    files = _files(folder, output)
    found = [_page(path, folder) for path in files]
    if not found:
        raise InputError(f"no pages: there are no {' or '.join(PAGES)} files", source=folder)
    own = [path.parent == output / page.id for path, page in zip(files, found, strict=True)]
    if output.resolve() == folder.resolve() and not all(own):
        raise UsageError("contains page files; give another folder for the labels with -o", source=folder)
    return found


def _files(folder: Path, output: Path) -> list[Path]:
    """List the page files of a folder, except copies in the folder of labelled pages inside it."""
    if not folder.is_dir():
        raise InputError("not a folder" if folder.exists() else "no such folder", source=folder)
    inside = output.resolve() != folder.resolve()
    return [
        path for path in html_files(folder.rglob("*")) if not (inside and output.resolve() in path.resolve().parents)
    ]


def has_page_folders(folder: Path) -> bool:
    """Return whether a folder has page folders, at any depth."""
    return any(is_page_of_folder(path.name) for path in folder.rglob("*"))


def labelled_pages(output: Path) -> list[tuple[str, str]]:
    """Return the site and record id of each surveyed page that is labelled in a folder."""
    found = []
    for path in sorted(output.rglob("labels.jsonl")) if output.is_dir() else ():
        meta = _meta(path.parent)
        if meta.get("record") and not _is_unfinished(path.parent):
            found.append((str(meta.get("site") or ""), str(meta["record"])))
    return found


def _read(source: Path | LabelledPage | tuple[Spool, tuple[int, int]]) -> bytes:
    """Read the bytes of a page; raise DatasetError if that fails."""
    if isinstance(source, tuple):
        return cast("bytes", source[0].read(source[1]))
    if isinstance(source, LabelledPage):
        return source.load()[0]
    return LabelledPage("", "", source).load()[0]


def _copy_page(content: bytes, place: Path) -> None:
    """Write a page to a page folder unless the bytes are the same; a source may change after its first labels."""
    found = html_files(path for path in place.iterdir() if is_page_of_folder(path.name))
    if [read_page_file(path) for path in found] == [content]:
        return
    with atomic_write(place / "page.html") as stream:
        stream.write(content)
    for path in found:
        if path.name != "page.html":
            path.unlink()


def _page(path: Path, folder: Path) -> PageToLabel:
    """Return the page of a file, named after its page folder or the file."""
    below = path.relative_to(folder)
    if is_page_of_folder(path.name) and below.parent.parts:
        return PageToLabel(below.parent.as_posix(), path, _meta(path.parent))
    return PageToLabel(page_stem(below.as_posix()) or path.name, path)


def _meta(folder: Path) -> dict[str, Any]:
    """Read ``meta.json`` of a page folder; empty if it is missing or damaged."""
    path = folder / "meta.json"
    try:
        return parse_record(path.read_text(encoding="utf-8-sig"), "the file", path)
    except (OSError, ValueError):
        return {}


def _write_meta(folder: Path, meta: dict[str, Any]) -> None:
    """Write ``meta.json`` of a page folder, unless it is the same."""
    if _meta(folder) == meta:
        return
    with atomic_write(folder / "meta.json") as stream:
        stream.write(json.dumps(meta, ensure_ascii=False, indent=1).encode("utf-8", "replace"))


#: Files of a page folder, beside that of the page.
_FILES = frozenset({"labels.jsonl", "meta.json"})
#: Maximum characters of the path of a page folder.
_MAX_PATH = 1_000


def labels_folder(source: Path) -> Path:
    """Return the default folder of labels for an input: its name without suffixes and with ``-labelled``.

    Examples
    --------
    >>> labels_folder(Path("crawl/pages.jsonl.gz")).as_posix(), labels_folder(Path("data/pages")).as_posix()
    ('crawl/pages-labelled', 'data/pages-labelled')
    """
    if set("*?[") & set(source.name) and not source.exists():
        raise UsageError("a glob pattern is not a folder; give the folder of the labels with -o", source=source)
    source = source if source.name not in ("", "..") else source.resolve()
    name = source.name if source.is_dir() else Path(split_compression(source.name)[0]).stem
    return source.with_name(f"{name}-labelled")


def pages_to_label(names: Sequence[str], *, outside_files: bool = False) -> Path | list[PageToLabel]:
    """Return the pages of inputs; a folder of page files or page folders is returned as it is.

    Parameters
    ----------
    names
        A folder; a table of pages with or without gold; or files, globs and archives as ``blockml predict`` reads them.
    outside_files
        Whether a table may name files outside of its folder.

    Raises
    ------
    DatasetError
        A table can't be read or has no column of pages.
    InputError
        There are no pages.
    UsageError
        A table or data set is one of several inputs.
    """
    path = Path(names[0])
    found = _data_set(path, outside_files=outside_files)
    if found is not None:
        if len(names) > 1:
            raise UsageError("give one table or data set, or several files and archives of pages", source=path)
        return in_own_folders([_page_of_row(page) for page in found.pages])
    if len(names) == 1 and path.is_dir() and html_files(path.rglob("*")):
        return path
    with Spool() as spool:
        items = read_items(find_inputs(names))
        pages = [page for item in items if (page := page_of_item(item, _folder_at(item.id), spool)) is not None]
    if not pages:
        raise InputError("no page could be read", source=", ".join(names))
    return in_own_folders(pages)


def _data_set(path: Path, *, outside_files: bool) -> Dataset | None:
    """Open a table, a corpus folder or a published layout; None for anything else."""
    if path.is_file() and is_table(path):
        return read_table(path, path.stem, needs_gold=False, outside_files=outside_files)
    is_corpus = find_table(path) and (path / "pages").is_dir()
    is_layout = path.is_dir() and (is_corpus or any(layout.files(path) for layout in PUBLISHED.values()))
    return open_dataset(path) if is_layout else None


def _page_of_row(page: LabelledPage) -> PageToLabel:
    meta = {"url": page.url, "site": page.site if page.site_known else None, "page_type": page.page_type}
    meta |= {"encoding": page.charset, "record": page.id}
    return PageToLabel(_folder_at(page.id), page, {name: value for name, value in meta.items() if value})


def _folder_at(page_id: str) -> str:
    """Return the page folder of an id, in which no folder has the name of a file of page folders.

    Examples
    --------
    >>> _folder_at("cats/1"), len(_folder_at("cats/" * 3000)) < 100  # no path may be longer than some 4,000 bytes
    ('cats/1', True)
    """
    steps = [f"{step}/" if is_page_of_folder(step) or step in _FILES else step for step in page_id.split("/") if step]
    path = "/".join(map(safe_file_name, steps))
    return path if 0 < len(path) <= _MAX_PATH else safe_file_name(page_id)


def in_own_folders(pages: Sequence[PageToLabel]) -> list[PageToLabel]:
    """Give each page its own folder: a crawl may repeat ids, and different ids may have equal file names.

    Examples
    --------
    >>> [page.id for page in in_own_folders([PageToLabel(name, Path(name)) for name in ("a", "b", "a", "a-2")])]
    ['a', 'b', 'a-2', 'a-2-2']
    """
    counts: Counter[str] = Counter()
    taken: set[str] = set()
    for page in pages:
        name = page.id
        while page.id in taken:
            counts[name] += 1
            page.id = f"{name}-{counts[name] + 1}"
        taken.add(page.id)
    return list(pages)


def page_of_item(item: Item, page_id: str, spool: Spool, **meta: Any) -> PageToLabel | None:  # noqa: ANN401 (JSON)
    """Return a page whose bytes are kept in a temporary file; None if it can't be read.

    ``meta`` are further fields of the labelled page.
    """
    try:
        html = item.read(Limits().bytes + 1)
    except OSError:
        return None
    charset = "utf-8" if isinstance(html, str) else item.charset
    known = charset if charset and webencodings.lookup(charset) else None
    place = spool.write(html.encode("utf-8", "replace") if isinstance(html, str) else html)
    fields = {"url": item.url, "record": item.id, **meta, "encoding": known}
    return PageToLabel(page_id, (spool, place), {name: value for name, value in fields.items() if value})
