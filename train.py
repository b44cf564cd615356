"""Trains every released model from the labelled corpora: the same code as ``blockml train``.

Needs the folder of corpora in BLOCKML_CORPORA. Same pages, same versions and same seed give the same files.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from blockml.cli.output import note, write_output
from blockml.datasets import open_dataset
from blockml.datasets.gold_defects import filtered
from blockml.model import Model, save_model
from blockml.training.block_types import block_type_rows, fit_block_types
from blockml.training.card import render_card
from blockml.training.recipes import recipe
from blockml.training.train import train

ROOT = Path(__file__).parent
MODELS = ROOT / "models"


@dataclass(frozen=True)
class Release:
    """One released model: the recipe of its name, and the data it may be trained on."""

    name: str
    corpus: str
    licence: str
    attribution: str
    protocols: tuple[str, ...] = ("page", "site")
    filtered: bool = False
    """Whether pages whose gold our own checks find defective are left out of training too."""
    notes: tuple[str, ...] = ()
    """What the card says about areas and weaknesses; a model with notes gets areas."""

    @property
    def corpora(self) -> tuple[str, ...]:
        """Names of all corpora it learns from."""
        return (self.corpus, _MARKED) if self.notes else (self.corpus,)

    def command(self, seed: int) -> str:
        """Command line that trains it."""
        return " ".join(["python train.py", self.name, *(f"--dataset {n}=DIR" for n in self.corpora), f"--seed {seed}"])

    def train(self, folders: Mapping[str, str], seed: int, jobs: int) -> Model:
        """Train it on the folders of its corpora, by name."""
        folder = folders[self.corpus]
        dataset = replace(open_dataset(f"{self.corpus}={folder}"), licence=self.licence, attribution=self.attribution)
        data = filtered(dataset, jobs=jobs) if self.filtered else dataset
        model = train(
            [data],
            recipe(self.name),
            name=self.name,
            protocols=self.protocols,
            n_folds=5,
            seed=seed,
            jobs=jobs,
            command=self.command(seed),
            report=note,
        )
        if not self.notes:
            return model
        note("areas")
        more = [
            open_dataset(folders[_MARKED]),
            data,
            *(open_dataset(ROOT / "data" / name) for name in ("sites", "pages")),
        ]
        rows = block_type_rows(more, features=model.features, parsing=model.parsing, seed=seed, jobs=jobs)
        return replace(model, areas=fit_block_types(rows, seed=seed), notes=self.notes)


_WCXB = (
    "annotations of the Web Content eXtraction Benchmark (WCXB) 1.0 by Murrough Foley, 2026, development split, "
    "licensed CC-BY-4.0 (https://creativecommons.org/licenses/by/4.0/); pages whose gold is flagged, and pages "
    "repeated in the test split, were left out of training"
)
#: Home pages whose areas people marked (Kreuzer 2013), in the public domain.
_MARKED = "dataset-popular"
_NOTES = (
    "Areas (headings, comments, related links, navigation, advertisements, footers) are learnt from the same pages, "
    "labelled by what their markup calls its parts, from the pages in data/ and from dataset-popular (Kreuzer 2013; "
    "public domain). On pages that are no forum, comments "
    "are left out; the numbers above were measured without that rule. How good areas are: docs/areas.md.",
    "Known weaknesses: what the content of a product page or a list is, people do not agree on either; there it keeps"
    " too much more often than too little. Pages whose content comes by script give what their noscript text gives, "
    "or nothing. Headlines that stand apart from their text are often left out, lines such as 'Related Posts' at the "
    "end of an article sometimes kept; of home pages about half of the teasers are kept. Of text that stands on a "
    "page more than once one copy is kept, also where the author meant it to be read twice. Its calibration was chosen "
    "on the folds that it is measured on: docs/model-log.md has other folds.",
)
RELEASES = (
    Release("kim2013", "wcxb", "CC-BY-4.0", _WCXB),
    Release("stacking", "wcxb", "CC-BY-4.0", _WCXB),
    Release("default", "wcxb", "CC-BY-4.0", _WCXB, protocols=("site",), filtered=True, notes=_NOTES),
)


def main() -> int:
    """Train the releases that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to train (default: all)")
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME=DIR", help="folder of a corpus")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    known = {release.name for release in RELEASES}
    if unknown := set(arguments.names) - known:
        parser.error(f"no such release: {', '.join(sorted(unknown))}; choose from {', '.join(sorted(known))}")
    corpora = os.environ.get("BLOCKML_CORPORA")
    folders = dict(spec.partition("=")[::2] for spec in arguments.dataset)
    for release in RELEASES:
        if arguments.names and release.name not in arguments.names:
            continue
        known_folders = {name: str(Path(corpora) / name) for name in release.corpora} if corpora else {}
        known_folders |= folders
        if missing := [name for name in release.corpora if name not in known_folders]:
            note(f"{release.name} is trained on {' and '.join(missing)}: name folders by --dataset or BLOCKML_CORPORA")
            return 3
        model = release.train(known_folders, arguments.seed, arguments.jobs)
        path = MODELS / f"{release.name}.blockml"
        MODELS.mkdir(exist_ok=True)
        save_model(model, path)
        write_output(render_card(model), f"{path}.md")
        note(f"wrote {path.name} ({path.stat().st_size / 1000:.0f} kB) and its card")
    return 0


if __name__ == "__main__":
    sys.exit(main())
