"""What an extraction tears: tables, lists and sentences of which a part is kept, and lines without what they need.

Word F1 hardly sees these errors, and readers are misled by them. A unit counts if a part of it is kept. It is torn if
another part with words is removed; where there is gold, it is torn wrongly if at least half of the removed words are
content. Text that the page hides does not count. The other columns are the lines that something kept needs:

- ``lead-ins``: kept lines that end in a colon, directly before a list, a table or code that is removed;
- ``headings``: kept headings without a kept body; ``sections`` leaves out those that have no body on the page either;
- ``terms``: kept terms or descriptions without the other;
- ``sentences``: pairs of kept halves of a sentence with something removed between them;
- ``duplicates``: removed blocks in tables and lists whose text is kept elsewhere; wrong if they are content.

Writes the counts and word F1 of each page with ``-o``; ``--before`` compares with such a file, paired by page.

    BLOCKML_CORPORA=DIR python -m research.benchmarks.whole --collections pool2 --every 4 -o after.json --before b.json
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.cli.output import note, write_output
from blockml.datasets import LabelledPage, TextGold, open_dataset
from blockml.evaluation import paired_difference
from blockml.evaluation.comparison.systems import PEERS
from blockml.evaluation.metrics import bag_scores
from blockml.outline import Outline, UnitKind
from blockml.page import Page
from blockml.parsing.decoding import decode
from blockml.parsing.hiding import hiding_names
from research.benchmarks.default import markdown
from tools.outlines import labelled

#: Collections that the released models were not trained on, and tables of labels for those without their own.
COLLECTIONS = (
    "pool2", "pool-held-out", "l3s-gn1", "cleaneval", "cleanportaleval", "ir-research-big9-chaos", "dragnet-2012",
    "recipes", "ftr-articles",
)  # fmt: skip
LABELS = {"pool2": ("pool2", "pool2"), "pool-held-out": ("pool", "pool-held-out")}
KINDS = (
    "tables", "rows", "lists", "definitions", "lead-ins", "headings", "sections", "terms", "sentences", "duplicates",
)  # fmt: skip
OURS = "blockml"
#: Signs at the end of a line that announce what follows, and of a sentence.
_LEADS, _ENDS = (":", "：", "…", "..."), '.!?:;…。！？"”»)'

Kept = NDArray[np.bool_]
#: Numbers of units, of torn ones and of wrongly torn ones by kind.
Counts = Counter[tuple[str, str]]


class Structure:
    """Counts the torn units of a page."""

    def __init__(self, page: Page, kept: Kept, content: Kept | None) -> None:
        self.page, self.kept, self.content = page, kept, content
        self.outline, self.counts = Outline(page), Counter[tuple[str, str]]()
        is_shown = np.array([way is None for way in hiding_names(page)], dtype=bool)
        self.words = page.blocks.n_words * is_shown
        self.texts, self.n = page.blocks.texts, len(page.blocks)

    def count(self) -> Counts:
        """Return the counts of all kinds."""
        outline = self.outline
        self.units("tables", UnitKind.TABLE, ~outline.layout)
        self.units("rows", UnitKind.ROW, ~outline.layout)
        self.units("lists", UnitKind.LIST)
        self.units("definitions", UnitKind.DEFINITIONS)
        self.lead_ins()
        self.headings()
        self.terms()
        self.sentences()
        self.duplicates()
        return self.counts

    def add(self, kind: str, *, torn: bool, removed: Kept | None = None) -> None:
        """Count a unit; ``removed`` are the blocks that it lacks."""
        self.counts[kind, "units"] += 1
        self.counts[kind, "torn"] += torn
        if torn and removed is not None and self.content is not None:
            words = self.words[removed]
            self.counts[kind, "wrong"] += bool(2 * words[self.content[removed]].sum() >= words.sum())

    def units(self, name: str, kind: UnitKind, among: Kept | None = None) -> None:
        """Count the units of a kind, of which a part is kept."""
        unit = self.outline.unit(kind)
        if unit is None:
            return
        for element in np.unique(unit[self.kept & (self.words > 0) & (unit >= 0)]).tolist():
            inside = (unit == element) & (self.words > 0)
            if np.count_nonzero(inside) > 1 and (among is None or among[inside].all()):
                removed = inside & ~self.kept
                self.add(name, torn=bool(removed.any()), removed=removed)

    def lead_ins(self) -> None:
        """Count kept lines that end in a colon before a list, table or code."""
        units = [unit for kind in (UnitKind.LIST, UnitKind.TABLE, UnitKind.CODE)
                 if (unit := self.outline.unit(kind)) is not None]  # fmt: skip
        for block in np.flatnonzero(self.kept[:-1]).tolist():
            if self.texts[block].rstrip().endswith(_LEADS):
                around = [unit[block + 1] for unit in units if unit[block + 1] >= 0 and unit[block] != unit[block + 1]]
                if around:
                    first, after = self.outline.blocks_in(np.array([max(around)]))
                    inside = np.zeros(self.n, dtype=bool)
                    inside[first[0] : after[0]] = self.words[first[0] : after[0]] > 0
                    if inside.any():
                        torn = not (inside & self.kept).any()
                        self.add("lead-ins", torn=torn, removed=inside)

    def headings(self) -> None:
        """Count kept headings, and those without a kept body before the next heading of at least their level."""
        heading = self.outline.unit(UnitKind.HEADING)
        if heading is None:
            return
        shown = self.kept & (self.words > 0)
        level = np.full(self.n, 9)
        level[heading >= 0] = [int(self.page.nodes.name(node)[1]) for node in heading[heading >= 0].tolist()]
        starts = np.flatnonzero((heading >= 0) & (np.append(-1, heading[:-1]) != heading))
        body = shown & (heading < 0)
        for start in starts[shown[starts]].tolist():
            later = starts[(starts > start) & (level[starts] <= level[start]) & (heading[starts] != heading[start])]
            end = int(later[0]) if len(later) else self.n
            removed = np.zeros(self.n, dtype=bool)
            removed[start:end] = (self.words[start:end] > 0) & (heading[start:end] < 0)
            self.add("headings", torn=not body[start:end].any(), removed=removed)
            if removed.any():
                self.add("sections", torn=not body[start:end].any(), removed=removed)

    def terms(self) -> None:
        """Count neighbouring terms and descriptions, of which one is kept."""
        term, description = self.outline.unit(UnitKind.TERM), self.outline.unit(UnitKind.DESCRIPTION)
        if term is None or description is None:
            return
        for block in np.flatnonzero((term[:-1] >= 0) & (description[1:] >= 0) & (term[1:] < 0)).tolist():
            pair = np.zeros(self.n, dtype=bool)
            pair[block : block + 2] = self.words[block : block + 2] > 0
            if pair.sum() == 2 and (pair & self.kept).any():
                self.add("terms", torn=not self.kept[pair].all(), removed=pair & ~self.kept)

    def sentences(self) -> None:
        """Count neighbouring kept lines of which the second goes on in lower case; torn if something is removed."""
        rows = np.flatnonzero(self.kept & (self.words > 0))
        for before, after in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True):
            left, right = self.texts[before].rstrip(), self.texts[after].lstrip()
            if right[:1].islower() and left[-1:] not in _ENDS and after - before <= 4:
                removed = np.zeros(self.n, dtype=bool)
                removed[before + 1 : after] = self.words[before + 1 : after] > 0
                self.add("sentences", torn=bool(removed.any()), removed=removed)

    def duplicates(self) -> None:
        """Count blocks in kept tables and lists whose text is kept elsewhere."""
        inside = np.zeros(self.n, dtype=bool)
        for kind in (UnitKind.TABLE, UnitKind.LIST):
            if (unit := self.outline.unit(kind)) is not None:
                has_kept = np.isin(unit, np.unique(unit[self.kept & (unit >= 0)])) & (unit >= 0)
                inside |= has_kept & ((kind is not UnitKind.TABLE) | ~self.outline.layout)
        known = Counter(self.texts[block] for block in np.flatnonzero(self.kept).tolist())
        for block in np.flatnonzero(inside & (self.words > 0)).tolist():
            if known[self.texts[block]] - int(self.kept[block]) > 0:
                own = np.zeros(self.n, dtype=bool)
                own[block] = True
                self.add("duplicates", torn=not self.kept[block], removed=own)


def measured(page: LabelledPage, systems: Sequence[str], model: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """Return counts by system and word F1 of a page; None for a page without blocks."""
    html, gold = page.load()
    found = blockml.extract(html, url=page.url, charset=page.charset, model=model)
    if not len(found.page.blocks):
        return None
    text = None if gold is None else gold.text()
    content = None
    if gold is not None:
        labels = gold.label(found.page)
        content = labels.main & labels.known
    kept = {OURS: found.kept}
    texts = {OURS: found.text}
    for name in systems:
        try:
            texts[name] = PEERS[name].adapter(decode(html, page.charset).text, page.url)
        except Exception:  # noqa: BLE001 (a page on which a system fails has no text)
            texts[name] = ""
        kept[name] = TextGold(texts[name]).label(found.page).main
    row: dict[str, Any] = {"id": page.id}
    for name, own in kept.items():
        counts = Structure(found.page, own, content).count()
        row[name] = {"|".join(key): value for key, value in counts.items()}
        row[name]["f1"] = bag_scores(text, texts[name]).f1 if text and text.strip() else None
    return row


def pages_of(name: str, corpora: Path) -> tuple[LabelledPage, ...]:
    """Return the pages of a collection, with the project's labels if it has none of its own."""
    if name in LABELS:
        folder, table = LABELS[name]
        return labelled(corpora / folder, Path("data/labels") / f"{table}.jsonl.gz").pages
    return open_dataset(f"{Path(name).name}={corpora / name}").pages


def summary(name: str, system: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return the row of a collection: torn units, those torn wrongly, of all."""
    total = Counter[str]()
    for row in rows:
        total.update({key: value for key, value in row[system].items() if key != "f1"})
    scores = [row[system]["f1"] for row in rows if row[system]["f1"] is not None]
    table: dict[str, object] = {"collection": f"{name} ({len(rows)})", "system": system}
    for kind in KINDS:
        torn, wrong, units = (total[f"{kind}|{what}"] for what in ("torn", "wrong", "units"))
        table[kind] = f"{torn} ({wrong}) of {units}" if units else ""
    return table | {"F1": f"{np.mean(scores):.4f}" if scores else ""}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"), help="folder of collections")
    parser.add_argument("--collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--every", type=int, default=1, help="measure one page of so many")
    parser.add_argument("--systems", nargs="*", default=[], choices=sorted(PEERS))
    parser.add_argument("--model", default="default")
    parser.add_argument("--before", type=Path, help="file written by -o, to compare with")
    parser.add_argument("-o", "--output", type=Path, help="file for the counts of each page")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.corpora is None:
        parser.error("--corpora or BLOCKML_CORPORA must name the folder of collections")
    measure = joblib.delayed(partial(measured, systems=options.systems, model=options.model))
    table: list[dict[str, object]] = []
    differences: list[dict[str, object]] = []
    before = json.loads(options.before.read_text("utf-8")) if options.before else {}
    results: dict[str, list[dict[str, Any]]] = {}
    compared: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for name in options.collections:
        chosen = pages_of(name, options.corpora)[:: options.every]
        found = joblib.Parallel(n_jobs=options.jobs, batch_size=8)(measure(page) for page in chosen)
        results[name] = rows = [row for row in found if row is not None]
        old = {row["id"]: row for row in before.get(name, ())}
        pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [(row, old[row["id"]]) for row in rows if row["id"] in old]
        if pairs:
            table.append(summary(name, OURS, [past for _, past in pairs]) | {"system": "before"})
            compared += pairs
            scores = [(new[OURS]["f1"], past[OURS]["f1"]) for new, past in pairs if new[OURS]["f1"] is not None]
            if scores:
                after, first = np.array(scores).T
                differences.append({
                    "collection": name, "pages": len(scores), "difference in F1": paired_difference(after, first),
                    "better": int((after > first + 1e-9).sum()), "worse": int((after < first - 1e-9).sum()),
                })  # fmt: skip
        table += [summary(name, system, rows) for system in (OURS, *options.systems)]
        note(f"{name}: {len(rows)} pages")
    every = [row for rows in results.values() for row in rows]
    if compared:
        table.append(summary("all", OURS, [past for _, past in compared]) | {"system": "before"})
    table += [summary("all", system, every) for system in (OURS, *options.systems)]
    write_output(f"torn (wrongly) of all with a kept part\n\n{markdown(table)}\n", None)
    if differences:
        write_output(f"\n{markdown(differences)}\n", None)
    if options.output:
        options.output.write_text(json.dumps(results), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
