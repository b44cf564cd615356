"""Pages to label, and their labels on disk."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from blockml.archives.suffixes import PAGES, is_page_of_folder, name_text, page_stem
from blockml.datasets.base import UNFINISHED_FLAG, LabelledPage, html_files, page_from_row, read_page_file
from blockml.datasets.folders import has_unfinished_labels, read_labels, write_labels
from blockml.datasets.records import parse_record
from blockml.decision.decide import Decision
from blockml.errors import BlockmlError, InputError, UsageError
from blockml.extractors import Extractor
from blockml.page import Label, Page
from blockml.parsing import parse
from blockml.parsing.decoding import decode
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.storage.atomic import atomic_write
from blockml.storage.spool import Spool


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
        return _place(page, self.output)

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


def _place(page: PageToLabel, output: Path) -> Path:
    return output / page.id


def _pages_below(folder: Path, output: Path) -> list[PageToLabel]:
    """Return the pages of a folder; raises the errors of :class:`LabelStore`."""
    found = [_page(path, folder) for path in _files(folder, output)]
    if not found:
        raise InputError(f"no pages: there are no {' or '.join(PAGES)} files", source=folder)
    if output.resolve() == folder.resolve() and any(_folder_of(page) != _place(page, output) for page in found):
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


def _folder_of(page: PageToLabel) -> Path | None:
    return page.source.parent if isinstance(page.source, Path) else None


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
