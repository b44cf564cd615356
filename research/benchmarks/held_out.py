"""The released model on collections that it was not trained on: F1 compared with other tools, and its confidence.

Words of scripts without spaces are counted by letters (see ``benchmarks.languages``). A page has teasers in its text
if at least :data:`TEASERS` words are in kept link blocks (at least half of whose words are linked) that are not
content according to the gold text. Pages on which these are at least :data:`TEASER_SHARE` of the kept words are also
counted separately.

    BLOCKML_CORPORA=DIR python -m research.benchmarks.held_out --systems trafilatura readability-lxml resiliparse

``--train-without`` first trains the release without some of its collections, which are then held out too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
import train
from blockml.cli.output import note, write_output
from blockml.datasets import LabelledPage, open_dataset
from blockml.evaluation.bootstrap import bootstrap_mean, paired_difference
from blockml.evaluation.calibration import routing
from blockml.evaluation.comparison.systems import System, choose
from blockml.extractors import Extractor, TrainedExtractor
from blockml.features.page_context import PageContext
from blockml.text.languages import main_script
from research.benchmarks.default import markdown
from research.benchmarks.default_study import Table
from research.benchmarks.languages import by, f1, text_by

#: Collections that no released model was trained on.
COLLECTIONS = "l3s-gn1 ir-research-big9-chaos dragnet-2012 cleaneval cleanportaleval recipes ftr-articles".split()
#: Minimum number of words of kept link blocks outside the content for a page to have teasers in its text (our choice).
TEASERS = 20
#: Minimum share of the kept words for teasers to be more than a detail of a long text (our choice).
TEASER_SHARE = 0.05
#: Confidence above which a page is called certain.
CERTAIN = 0.9
MODEL = "default"


class Scored(NamedTuple):
    """Measures of one page."""

    language: str
    script: str
    f1: list[float]  #: F1 of our text, then of the texts of the other systems.
    confidence: float
    is_empty: bool  #: Whether our text has no word, although the gold text has.
    teasers: int  #: Words of kept link blocks that are not content.
    teaser_share: float  #: Their share of the kept words, in [0, 1].


def trained_without(names: Sequence[str], corpora: Path, jobs: int) -> TrainedExtractor:
    """Train the release on its collections without some of them."""
    release = next(item for item in train.RELEASES if item.name == MODEL)
    left = replace(release, main_corpora=tuple(name for name in release.main_corpora if name not in names))
    return TrainedExtractor(train.trained(left, {name: str(corpora / name) for name in left.corpora}, 0, jobs))


def scored(page: LabelledPage, systems: Sequence[System], model: str | Extractor = MODEL) -> Scored | None:
    """Extract a page by all systems; None without words in the gold text."""
    html, gold = page.load()
    text = None if gold is None else gold.text()
    if gold is None or not text or not text.strip():
        return None
    found = blockml.extract(html, url=page.url, charset=page.charset, model=model)
    source = str(found.page.source or "")
    texts = [found.text, *(text_by(system, source, page.url) for system in systems)]
    context = PageContext(found.page)
    kept = np.zeros(len(context), dtype=bool)
    kept[list(found.kept)] = True
    links = kept & (context.linked > 0) & (2 * context.linked >= context.words)
    labels = gold.label(found.page)
    teasers = context.words[links & labels.known & ~labels.main].sum()
    return Scored(
        str(page.extra.get("lang") or "unknown"), main_script(text) or "none", [f1(text, other) for other in texts],
        float(found.confidence), not found.text.strip(), int(teasers),
        float(teasers / max(1, context.words[kept].sum())),
    )  # fmt: skip


def beside_others(results: dict[str, list[Scored]], names: Sequence[str]) -> Table:
    """Return mean scores of each collection, and our difference from the best of the other systems."""
    rows: Table = []
    for collection, pages in results.items():
        scores = np.array([page.f1 for page in pages])
        row: dict[str, object] = {"collection": collection, "pages": len(pages), MODEL: bootstrap_mean(scores[:, 0])}
        row |= dict(zip(names[1:], scores[:, 1:].mean(axis=0).tolist(), strict=True))
        if len(names) > 1:
            best = 1 + int(scores[:, 1:].mean(axis=0).argmax())
            row |= {"best other": names[best], "difference": paired_difference(scores[:, 0], scores[:, best])}
        rows.append(row)
    return rows


def trust(results: dict[str, list[Scored]]) -> Table:
    """Return how reliable the confidence is in each collection."""
    rows: Table = []
    for collection, pages in results.items():
        said: NDArray[np.float64] = np.array([page.confidence for page in pages])
        actual = np.array([page.f1[0] for page in pages])
        routed = routing(said, actual)
        wrong = [page.teaser_share for page in pages if page.confidence > CERTAIN and page.teasers >= TEASERS]
        n_large = sum(share >= TEASER_SHARE for share in wrong)
        rows.append({
            "collection": collection, "pages": len(pages), "rank correlation": routed.correlation,
            "confidence less F1": bootstrap_mean(said - actual), "F1": float(actual.mean()),
            "F1 of the least sure tenth": routed.worst, "F1 of the others": routed.others,
            "certain": f"{np.mean(said > CERTAIN):.1%}", "certain, with teasers": f"{len(wrong) / len(pages):.1%}",
            f"teasers {TEASER_SHARE:.0%} of the text": f"{n_large / len(pages):.1%}",
            "without text": sum(page.is_empty for page in pages),
        })  # fmt: skip
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, default=os.environ.get("BLOCKML_CORPORA"), help="folder of collections")
    parser.add_argument("--collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--systems", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--train-without", nargs="*", default=[], choices=train.OTHERS, metavar="NAME")
    options = parser.parse_args(arguments)
    if options.corpora is None:
        parser.error("--corpora or BLOCKML_CORPORA must name the folder of collections")
    chosen = choose(options.systems)
    for name, install in chosen.missing.items():
        note(f"{name} is not installed: {install}")
    names = [MODEL, *(system.name for system in chosen.systems)]
    model = trained_without(options.train_without, options.corpora, options.jobs) if options.train_without else MODEL
    results: dict[str, list[Scored]] = {}
    for name in options.collections:
        pages = open_dataset(f"{name}={Path(options.corpora) / name}").pages
        score = joblib.delayed(scored)
        said = joblib.Parallel(n_jobs=options.jobs)(score(page, chosen.systems, model) for page in pages)
        results[name] = [item for item in said if item is not None]
        note(f"{name}: {len(results[name])} pages")
    every = [page for pages in results.values() for page in pages]
    scores = np.array([page.f1 for page in every])
    for title, rows in (
        ("By collection", beside_others(results, names)),
        ("By language", by([page.language for page in every], scores, names, "language")),
        ("By script", by([page.script for page in every], scores, names, "script")),
        ("Confidence", trust(results)),
    ):
        if rows:
            write_output(f"### {title}\n\n{markdown(rows)}\n\n", None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
