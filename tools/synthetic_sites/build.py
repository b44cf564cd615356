"""Generation of the data set, and comparison of a folder with it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from blockml.errors import DatasetError
from tools.synthetic_sites.annotate import LABELS, LabelledText, annotate, link_targets
from tools.synthetic_sites.handwritten import read_handwritten
from tools.synthetic_sites.html import SourcePage
from tools.synthetic_sites.sites import bench, courier, crumb, fernway, millbrook, quillbase

__all__ = ["SITES", "build", "check", "counts_table", "site_pages", "write"]

SITES = (courier, crumb, fernway, quillbase, bench, millbrook)

_LICENCE = "CC0-1.0"
_FILES = ("page.html", "labels.jsonl", "meta.json")
_CARD = "README.md"
_COUNTS_BEGIN, _COUNTS_END = "<!-- counts: begin -->\n", "<!-- counts: end -->"


def site_pages(seed: int) -> list[SourcePage]:
    """Return the annotated pages of all templated sites.

    Parameters
    ----------
    seed
        Any integer. The pages depend on the seed only, not on the machine.
    """
    return [page for site in SITES for page in site.pages(seed)]


def build(folder: Path, seed: int) -> dict[str, bytes]:
    """Return the contents of the files of the data set by path below the folder.

    Parameters
    ----------
    folder
        Folder of the data set, with the sources ``handwritten/*.html`` and optionally its card.
    seed
        Seed of the templated sites.

    Raises
    ------
    DatasetError
        Two pages share an id or a URL, or a hand-written page is badly annotated.
    """
    pages = site_pages(seed) + read_handwritten(folder / "handwritten")
    ids = {page.url: page.id for page in pages}
    if len(ids) < len(pages) or len(set(ids.values())) < len(pages):
        raise DatasetError("two pages share an id or a URL", source=folder)
    result: dict[str, bytes] = {}
    labelled = []
    for page in pages:
        html, runs = annotate(page.html)
        labelled.append((page, runs))
        place = f"sites/{page.site}/{page.id}" if page.origin == "synthetic" else f"pages/{page.id}"
        lines = [json.dumps({"text": run.text, "label": run.label}, ensure_ascii=False) + "\n" for run in runs]
        result[f"{place}/page.html"] = html.encode()
        result[f"{place}/labels.jsonl"] = "".join(lines).encode()
        result[f"{place}/meta.json"] = _meta(page, html, ids)
    card = folder / _CARD
    if card.is_file():
        result[_CARD] = _with_counts(card.read_text(encoding="utf-8"), counts_table(labelled)).encode()
    return result


def write(folder: Path, seed: int) -> int:
    """Write the data set to a folder, delete pages that are no longer part of it, and return the number of files."""
    files = build(folder, seed)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_bytes(content)
        os.replace(temporary, path)  # noqa: PTH105 - Path.replace would hide that the move is atomic
    for path in _built_files(folder):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
    return len(files)


def check(folder: Path, seed: int) -> list[str]:
    """Return the paths below the folder whose content is not what :func:`write` would leave there, sorted."""
    files = build(folder, seed)
    wrong = {name for name, content in files.items() if not _holds(folder / name, content)}
    wrong.update(name for path in _built_files(folder) if (name := path.relative_to(folder).as_posix()) not in files)
    return sorted(wrong)


def counts_table(labelled: Iterable[tuple[SourcePage, Sequence[LabelledText]]]) -> str:
    """Return the tables of the card in Markdown: pages by site and type, words by site and label."""
    pages: dict[str, Counter[str]] = {}
    words: dict[str, Counter[str]] = {}
    for page, runs in labelled:
        group = page.site if page.origin == "synthetic" else "hand-written"
        pages.setdefault(group, Counter())[page.page_type] += 1
        counter = words.setdefault(group, Counter())
        for run in runs:
            counter[run.label] += len(run.text.split())
    types = sorted({name for counter in pages.values() for name in counter})
    return f"{_table('Pages', pages, types)}\n{_table('Words', words, LABELS)}"


def _table(title: str, groups: dict[str, Counter[str]], columns: Sequence[str]) -> str:
    total: Counter[str] = sum(groups.values(), Counter())
    rows = [f"| {title} | {' | '.join(columns)} | all |", "|---" * (len(columns) + 2) + "|"]
    for name, counter in (*groups.items(), ("all", total)):
        cells = " | ".join(str(counter[column]) for column in columns)
        rows.append(f"| {name} | {cells} | {counter.total()} |")
    return "\n".join(rows) + "\n"


def _meta(page: SourcePage, html: str, ids: dict[str, str]) -> bytes:
    targets = [ids[url] for url in link_targets(html, page.url) if url in ids]
    meta = {
        "id": page.id,
        "url": page.url,
        "site": page.site,
        "page_type": page.page_type,
        "language": page.language,
        "template": page.template,
        "title": page.title,
        "links": [target for target in dict.fromkeys(targets) if target != page.id],
        "origin": page.origin,
        "licence": _LICENCE,
    }
    return (json.dumps(meta, ensure_ascii=False, indent=2) + "\n").encode()


def _with_counts(card: str, table: str) -> str:
    before, begin, rest = card.partition(_COUNTS_BEGIN)
    _, end, after = rest.partition(_COUNTS_END)
    return before + begin + table + end + after if end else card


def _built_files(folder: Path) -> list[Path]:
    folders = [*folder.glob("sites/*/*"), *folder.glob("pages/*")]
    return [path / name for path in folders for name in _FILES if (path / name).is_file()]


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
