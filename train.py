"""Trains every released model from the labelled corpora, by the code of ``blockml train``.

The environment variable BLOCKML_CORPORA names the folder of corpora; without it models are trained on the pages in
data/, as a check that training works, and written to out/models. Equal pages, versions and seed give equal files.

With the corpora, the importance of the columns is measured on collections that no release is trained on;
``--importances`` only measures that of the models in models/, and adds it to their files and cards.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from blockml.cli.output import note, write_output
from blockml.datasets import Dataset, Gold, LabelledPage, TextGold, open_dataset
from blockml.evaluation.importance import measured_importance
from blockml.evaluation.page_results import hash_labelled
from blockml.model import Model, load_model, render_card, save_model
from blockml.parsing import parse
from blockml.text.words import metric_tokens
from blockml.training import recipe, train_model
from tools.outlines import labelled

ROOT = Path(__file__).parent
#: Pages of data/ with labelled blocks, for block types.
OWN = ("sites", "pages")


@dataclass(frozen=True)
class Terms:
    """Licence and attribution of labels."""

    licence: str
    attribution: str


#: Terms by fingerprint: only the pages that they were stated for get them in a card, whatever a folder is called.
TERMS: Mapping[str, Terms] = {
    "97ef152cdfeec3fbbbfee8f37e37a121d0386b658f25588937c0e4aa4611a2fe": Terms(
        "CC-BY-4.0",
        "annotations of the Web Content eXtraction Benchmark (WCXB) 1.0 by Murrough Foley, 2026, development split, "
        "licensed CC-BY-4.0 (https://creativecommons.org/licenses/by/4.0/); pages whose gold is flagged, and pages "
        "repeated in the test split, were left out of training",
    ),
    "3db881f31d6459c6efced5ce834a7ecb0a7d13045bd994fb6078661ddc685fbc": Terms(
        "MIT", "test data of flairNLP/fundus at 18da6e5: article bodies by hand-written parsers of publishers"
    ),
    "a22af54311c0725831477e02345e94169fb3b258d34cf04ef49107deb05f7a2a": Terms(
        "Apache-2.0", "benchmark of opendatalab/magic-html at 47d4a7f: articles and forums, text by hand"
    ),
    "ebdc0580e18ad2f8db4592f52f6008869634f9853907b8376d63ca66497e1af7": Terms(
        "MIT OR Apache-2.0", "fixtures and selectors of postlight/parser at e8ba7ec: article bodies"
    ),
    "e896fa480448b4d7004f259dfa033003899cc0bf3f6a512862e1b71522f772f4": Terms(
        "MIT", "immortal-autumn/Chinese-Web-Content-Extraction-Dataset at 99d0ef0: text by hand"
    ),
    "cbf547b774c92140bc99fc86421f9c0683f6037f1299a6f567003be06b3384b8": Terms(
        "MIT", "threads in the test data of autopager, Formasaurus, llm-webkit and Awful.app: posts by forum software"
    ),
    "39447d6c3bf8925fcc0c45995290aeeaf0460626738611ad75e1cbf8362236e9": Terms(
        "CC0-1.0", "groups of blocks marked by a language model on product, service, collection and listing pages"
    ),
    "4fefcd8a7e74d15b3a3c31204b36e4d8b77f76b8de29c733bcf4277629cf2b0c": Terms(
        "CC0-1.0", "data/labels/pool.jsonl.gz: blocks of pages of all kinds, marked by a language model from outlines"
    ),
    "a6ef2d053ecdf34afde71bc129ee891246fecf467b1f5836ca9f0a0ad45adddd": Terms(
        "CC0-1.0",
        "data/labels/pool2.jsonl.gz: more of them, on which two extractors agree least; pages of the sites in "
        "data/labels/pool-held-out.jsonl.gz were left out of training",
    ),
}


@dataclass(frozen=True)
class Release:
    """A released model: the data for the recipe of its name."""

    name: str
    main_corpora: tuple[str, ...] = ("wcxb",)
    """Corpora whose labels may be used for a released model: see their licences in the card."""
    supplementary_corpora: tuple[str, ...] = ()
    """Corpora of unusual pages, likewise, on which not all MLPs are trained."""
    type_corpora: tuple[str, ...] = ()
    """Corpora in the public domain with labelled blocks, for block types."""

    @property
    def corpora(self) -> tuple[str, ...]:
        """Names of all its corpora."""
        return (*self.main_corpora, *self.supplementary_corpora, *self.type_corpora)


#: Collections of articles, forums, shops, services and lists beside WCXB, with labels under MIT, Apache 2.0 or CC0.
OTHERS = ("fundus", "magic-html", "mercury", "chinese-web-content", "forums", "outline-annotated", "pool")
#: Labels of collections that have none of their own: see data/labels/README.md.
LABELS: Mapping[str, Path] = {name: ROOT / "data" / "labels" / f"{name}.jsonl.gz" for name in ("pool", "pool2")}
#: Labels of pages on whose sites no model is trained.
HELD_OUT_LABELS = ROOT / "data" / "labels" / "pool-held-out.jsonl.gz"
RELEASES = (
    Release("kim2013"),
    Release("stacking"),
    Release("default", ("wcxb", *OTHERS), ("pool2",), type_corpora=("dataset-popular",)),
)


#: Collections that no release is trained on, and about how many pages of each importances are measured on.
HELD_OUT, HELD_OUT_PAGES = ("cleaneval", "cleanportaleval", "dragnet-2012", "ir-research-big9-chaos", "l3s-gn1"), 40


#: Collections whose gold of forum pages leaves out what stands between posts: names, dates and counters. WCXB has them.
WITHOUT_NAMES = ("magic-html",)
#: Tokens of a block up to which it may be such a line (our choice).
SHORT = 8


def opened(name: str, folder: str) -> Dataset:
    """Open a collection, with our labels if it has none of its own, and add its terms."""
    dataset = with_our_labels(name, folder) if name in LABELS else open_dataset(f"{name}={folder}")
    return judged(with_terms(dataset))


def with_our_labels(name: str, folder: str) -> Dataset:
    """Open a collection with our labels, without pages of the sites that are held out."""
    dataset, held_out = labelled(Path(folder), LABELS[name]), labelled(Path(folder), HELD_OUT_LABELS)
    sites = {page.site for page in held_out.pages if page.site_known}
    return replace(dataset, pages=tuple(page for page in dataset.pages if page.site not in sites))


def judged(dataset: Dataset) -> Dataset:
    """Leave short lines between the posts of forum pages out of training, where the gold leaves them out."""
    if dataset.name not in WITHOUT_NAMES:
        return dataset
    pages = [
        replace(page, gold=None, reader=partial(without_names, page))
        if page.page_type == "forum" and isinstance(page.gold, TextGold)
        else page
        for page in dataset.pages
    ]
    return replace(dataset, pages=tuple(pages))


def without_names(labelled: LabelledPage, _: Path) -> tuple[bytes, Gold | None]:
    """Return a page and its gold, in which short blocks between the first and the last block of content are ignored."""
    html, gold = labelled.load()
    if not isinstance(gold, TextGold):
        return html, gold
    page = parse(html, url=labelled.url, charset=labelled.charset)
    places = np.flatnonzero(gold.label(page).main)
    if not len(places):
        return html, gold
    between = range(places[0], places[-1])
    lines = [text for text in (page.blocks.texts[block] for block in between) if len(metric_tokens(text)) <= SHORT]
    return html, replace(gold, ignored=(*gold.ignored, *lines))


def with_terms(dataset: Dataset) -> Dataset:
    """Add licence and attribution of a collection to a data set of its pages."""
    terms = TERMS.get(dataset.checksum())
    return dataset if terms is None else replace(dataset, licence=terms.licence, attribution=terms.attribution)


def main() -> int:
    """Train the releases named in the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to train (default: all)")
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME=DIR", help="folder of a corpus")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--importances", action="store_true", help="train nothing; measure importances of the models")
    arguments = parser.parse_args()
    known = {release.name for release in RELEASES}
    if unknown := set(arguments.names) - known:
        parser.error(f"no such release: {', '.join(sorted(unknown))}; choose from {', '.join(sorted(known))}")
    folders: dict[str, str] = dict(spec.partition("=")[::2] for spec in arguments.dataset)
    if corpora := os.environ.get("BLOCKML_CORPORA"):
        wanted = {*HELD_OUT, *(name for release in RELEASES for name in release.corpora)}
        folders = {name: str(Path(corpora) / name) for name in wanted} | folders
    for release in RELEASES:
        if arguments.names and release.name not in arguments.names:
            continue
        if arguments.importances:
            path = ROOT / "models" / f"{release.name}.blockml"
            save(measured(load_model(path), folders), path)
        else:
            write(release, folders, arguments.seed, arguments.jobs)
    return 0


def write(release: Release, folders: Mapping[str, str], seed: int, jobs: int) -> None:
    """Train a release and write its file and card."""
    is_complete = all(name in folders for name in release.corpora)
    target = ROOT / "models" if is_complete else ROOT / "out" / "models"
    if not is_complete:
        note(f"no {' and '.join(release.corpora)}: {release.name} is trained on data/, as a check only")
    model = trained(release, folders if is_complete else None, seed, jobs)
    target.mkdir(parents=True, exist_ok=True)
    save(measured(model, folders) if is_complete else model, target / f"{release.name}.blockml")


def save(model: Model, path: Path) -> None:
    """Write a model and its card."""
    save_model(model, path)
    write_output(render_card(model), f"{path}.md")
    note(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB) and its card")


def measured(model: Model, folders: Mapping[str, str]) -> Model:
    """Return a model with the importance of its columns on pages that it has not seen."""
    found = []
    for name in HELD_OUT:
        if name not in folders:
            note(f"no {name}: the importance of the columns of {model.name} is measured without it")
            continue
        dataset = open_dataset(f"{name}={folders[name]}")
        pages = dataset.pages[:: max(1, len(dataset) // HELD_OUT_PAGES)]
        hashes = model.training_hashes
        unseen = [
            page for page in pages if hashes is not None and not hashes.has_page(hash_labelled(page, page.load()[0]))
        ]
        found.append(replace(dataset, pages=tuple(unseen)))
    if not found:
        return model
    return replace(model, metrics={**model.metrics, "importance": measured_importance(model, found)})


def trained(release: Release, folders: Mapping[str, str] | None, seed: int, jobs: int) -> Model:
    """Train a release on its corpora, whose folders are given by name, or on ``data/`` without them."""
    own = [open_dataset(ROOT / "data" / name) for name in OWN]
    if folders is None:
        datasets, block_type_datasets = own, []
    else:
        datasets = [opened(name, folders[name]) for name in release.main_corpora]
        more = [opened(name, folders[name]) for name in release.supplementary_corpora]
        datasets += [replace(dataset, supplementary=True) for dataset in more]
        block_type_datasets = [*(open_dataset(f"{name}={folders[name]}") for name in release.type_corpora), *own]
    command = [
        "python train.py",
        release.name,
        *(f"--dataset {name}=DIR" for name in release.corpora),
        f"--seed {seed}",
    ]
    chosen = recipe(release.name)
    return train_model(
        datasets, chosen, block_type_datasets=block_type_datasets, protocols=chosen.protocols, n_folds=chosen.n_folds,
        seed=seed, jobs=jobs, command=" ".join(command), report=note,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
