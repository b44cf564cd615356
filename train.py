"""Trains every released model from the labelled corpora, by the code of ``blockml train``.

The environment variable BLOCKML_CORPORA names the folder of corpora; without it models are trained on the pages in
data/, as a check that training works, and written to out/models. Equal pages, versions and seed give equal files.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from blockml.cli.output import note, write_output
from blockml.datasets import Dataset, open_dataset
from blockml.model import save_model
from blockml.training.card import render_card
from blockml.training.recipes import recipe
from blockml.training.train import train

ROOT = Path(__file__).parent
#: Pages of data/ with labelled blocks, for block types.
OWN = ("sites", "pages")
#: Fingerprint of the development split of WCXB 1.0: only its pages get the licence of WCXB in their card.
WCXB_CHECKSUM = "97ef152cdfeec3fbbbfee8f37e37a121d0386b658f25588937c0e4aa4611a2fe"
WCXB_ATTRIBUTION = (
    "annotations of the Web Content eXtraction Benchmark (WCXB) 1.0 by Murrough Foley, 2026, development split, "
    "licensed CC-BY-4.0 (https://creativecommons.org/licenses/by/4.0/); pages whose gold is flagged, and pages "
    "repeated in the test split, were left out of training"
)


@dataclass(frozen=True)
class Release:
    """A released model: the data for the recipe of its name."""

    name: str
    main_corpora: tuple[str, ...] = ("wcxb",)
    """Corpora whose labels may be used for a released model: see their licences in the card."""
    type_corpora: tuple[str, ...] = ()
    """Corpora in the public domain with labelled blocks, for block types."""

    @property
    def corpora(self) -> tuple[str, ...]:
        """Names of all its corpora."""
        return (*self.main_corpora, *self.type_corpora)


#: Collections of articles, forums, shops, services and lists beside WCXB, with labels under MIT, Apache 2.0 or CC0.
OTHERS = ("fundus", "magic-html", "mercury", "chinese-web-content", "forums", "outline-annotated")
RELEASES = (
    Release("kim2013"),
    Release("stacking"),
    Release("default", ("wcxb", *OTHERS), type_corpora=("dataset-popular",)),
)


def with_terms(dataset: Dataset) -> Dataset:
    """Add licence and attribution of WCXB to a data set of its pages."""
    if dataset.checksum() != WCXB_CHECKSUM:
        return dataset
    return replace(dataset, licence="CC-BY-4.0", attribution=WCXB_ATTRIBUTION)


def main() -> int:
    """Train the releases named in the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to train (default: all)")
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME=DIR", help="folder of a corpus")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    known = {release.name for release in RELEASES}
    if unknown := set(arguments.names) - known:
        parser.error(f"no such release: {', '.join(sorted(unknown))}; choose from {', '.join(sorted(known))}")
    folders: dict[str, str] = dict(spec.partition("=")[::2] for spec in arguments.dataset)
    if corpora := os.environ.get("BLOCKML_CORPORA"):
        wanted = {name for release in RELEASES for name in release.corpora}
        folders = {name: str(Path(corpora) / name) for name in wanted} | folders
    for release in RELEASES:
        if not arguments.names or release.name in arguments.names:
            write(release, folders, arguments.seed, arguments.jobs)
    return 0


def write(release: Release, folders: Mapping[str, str], seed: int, jobs: int) -> None:
    """Train a release and write its file and card."""
    own = [open_dataset(ROOT / "data" / name) for name in OWN]
    is_complete = all(name in folders for name in release.corpora)
    target = ROOT / "models" if is_complete else ROOT / "out" / "models"
    if is_complete:
        datasets = [with_terms(open_dataset(f"{name}={folders[name]}")) for name in release.main_corpora]
        type_datasets = [*(open_dataset(f"{name}={folders[name]}") for name in release.type_corpora), *own]
    else:
        note(f"no {' and '.join(release.corpora)}: {release.name} is trained on data/, as a check only")
        datasets, type_datasets = own, []
    command = [
        "python train.py",
        release.name,
        *(f"--dataset {name}=DIR" for name in release.corpora),
        f"--seed {seed}",
    ]
    chosen = recipe(release.name)
    model = train(
        datasets, chosen, type_datasets=type_datasets, protocols=chosen.protocols, n_folds=chosen.n_folds, seed=seed,
        jobs=jobs, command=" ".join(command), report=note,
    )  # fmt: skip
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{release.name}.blockml"
    save_model(model, path)
    write_output(render_card(model), f"{path}.md")
    note(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB) and its card")


if __name__ == "__main__":
    sys.exit(main())
