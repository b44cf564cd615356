"""Trains every released model from the labelled corpora: the same code as ``blockml train``.

Needs the folder of corpora in BLOCKML_CORPORA. Same pages, same versions and same seed give the same files.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from blockml.cli.output import note, write_output
from blockml.datasets import open_dataset
from blockml.learning.card import render_card
from blockml.learning.recipes import recipe
from blockml.learning.training import train
from blockml.modelfile import save_model

MODELS = Path(__file__).parent / "models"


@dataclass(frozen=True)
class Release:
    """One released model: the recipe of its name, and the data it may be trained on."""

    name: str
    corpus: str
    licence: str
    attribution: str


_WCXB = (
    "annotations of the Web Content eXtraction Benchmark (WCXB) 1.0 by Murrough Foley, 2026, development split, "
    "licensed CC-BY-4.0 (https://creativecommons.org/licenses/by/4.0/); pages whose gold is flagged, and pages "
    "repeated in the test split, were left out of training"
)
RELEASES = tuple(Release(name, "wcxb", "CC-BY-4.0", _WCXB) for name in ("kim2013", "stacking"))


def main() -> int:
    """Train the releases that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to train (default: all)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    known = {release.name for release in RELEASES}
    if unknown := set(arguments.names) - known:
        parser.error(f"no such release: {', '.join(sorted(unknown))}; choose from {', '.join(sorted(known))}")
    corpora = os.environ.get("BLOCKML_CORPORA")
    if not corpora:
        note("BLOCKML_CORPORA names no folder of corpora: the released models can't be trained")
        return 3
    for release in RELEASES:
        if arguments.names and release.name not in arguments.names:
            continue
        dataset = open_dataset(f"{release.corpus}={Path(corpora) / release.corpus}")
        model = train(
            [replace(dataset, licence=release.licence, attribution=release.attribution)],
            recipe(release.name),
            name=release.name,
            protocols=("page", "site"),
            n_folds=5,
            seed=arguments.seed,
            jobs=arguments.jobs,
            command="python train.py",
            report=note,
        )
        path = MODELS / f"{release.name}.blockml"
        MODELS.mkdir(exist_ok=True)
        save_model(model, path)
        write_output(render_card(model), f"{path}.md")
        note(f"wrote {path.name} ({path.stat().st_size / 1000:.0f} kB) and its card")
    return 0


if __name__ == "__main__":
    sys.exit(main())
