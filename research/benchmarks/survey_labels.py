"""Page F1 by the number of labelled pages, with models adapted to the sites that a survey, chance or an oracle chooses.

For each site, or site and year, with at least ten pages with gold, the five least certain pages are labelled block by
block, as by clicks. If ``blockml train --by site`` accepts a model, it extracts the other pages of the site. A choice
of sites gives mean F1 over the other pages of all sites. Intervals are 95 % of a bootstrap over sites::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.survey_labels
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note, print_rows
from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.evaluation.bootstrap import paired_difference
from blockml.extractors import TrainedExtractor, trained
from blockml.model import Model
from blockml.training import adapt
from research.benchmarks.adaptation import click
from research.benchmarks.survey_pages import WITH_SITES, Predicted, by_group, predict_page, predicted

LABELLED, LEAST = 5, 10
BUDGETS = (0, 10, 20, 50, 100)
_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Measured:
    """Page F1 on the pages of a site that are not labelled, before and after adaptation."""

    group: str
    collection: str
    n_pages: int
    confidence: float
    accepted: bool
    before: list[float]
    after: list[float]

    @property
    def gain(self) -> float:
        """Sum of the gains of its pages."""
        return float(np.sum(self.after) - np.sum(self.before))


def measure(base: Model, name: str, pages: Sequence[Predicted]) -> Measured:
    """Adapt to the five least certain pages of a site, and measure on the others."""
    order = sorted(pages, key=lambda item: item.confidence)
    labelled, others = order[:LABELLED], order[LABELLED:]
    with tempfile.TemporaryDirectory() as folder:
        for number, item in enumerate(labelled):
            click(item.page, Path(folder, "clicked", str(number)), base)
        try:
            model = adapt(base, [open_dataset(Path(folder, "clicked"))], accept_defects=True).model
        except UsageError as error:
            note(f"{name}: {error}")
            model = None
    before = [item.f1 for item in others]
    after = before
    if model is not None:
        adapted = TrainedExtractor(model)
        found = [predict_page(item.collection, item.page, adapted) for item in others]
        after = [item.f1 for item in found if item is not None]
    mean = float(np.mean([item.confidence for item in pages]))
    return Measured(name, pages[0].collection, len(pages), mean, model is not None, before, after)


def mean_f1(sites: Sequence[Measured], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the F1 of each page, with adapted models on the chosen sites."""
    return np.concatenate([site.after if one else site.before for site, one in zip(sites, chosen, strict=True)])


def curves(sites: Sequence[Measured], name: str) -> list[dict[str, object]]:
    """Return a row for each budget: F1 with sites chosen by the survey, at random, and by an oracle."""
    rng = np.random.default_rng(0)
    weight = np.array([-site.n_pages * (1 - site.confidence) for site in sites])
    gains = np.array([-site.gain for site in sites])
    groups = np.repeat(np.arange(len(sites)), [len(site.before) for site in sites])
    rows = []
    for budget in BUDGETS:
        n = min(budget // LABELLED, len(sites))
        by_survey, by_oracle = (
            np.isin(np.arange(len(sites)), np.argsort(key, kind="stable")[:n]) for key in (weight, gains)
        )
        drawn = [np.isin(np.arange(len(sites)), rng.permutation(len(sites))[:n]) for _ in range(_DRAWS)]
        random = np.array([mean_f1(sites, one).mean() for one in drawn])
        chosen, plain = mean_f1(sites, by_survey), mean_f1(sites, np.zeros(len(sites), dtype=bool))
        gain = paired_difference(chosen, plain, groups=groups.tolist())
        rows.append(
            {
                "pages of": name,
                "sites": len(sites),
                "labelled": n * LABELLED,
                "by survey": f"{chosen.mean():.4f}",
                "gain": f"{gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]",
                "random (95 % of draws)": _interval(random),
                "better than random draws": f"{(chosen.mean() > random).mean():.0%}",
                "oracle": f"{mean_f1(sites, by_oracle).mean():.4f}",
            }
        )  # fmt: skip
    return rows


def _interval(draws: NDArray[np.float64]) -> str:
    return "{:.4f} [{:.4f}, {:.4f}]".format(draws.mean(), *np.quantile(draws, (0.025, 0.975)))


def by_site(sites: Sequence[Measured]) -> list[dict[str, object]]:
    """Return a row for each collection: models accepted, and sites that are significantly better or worse."""
    rows = []
    for collection in [*dict.fromkeys(site.collection for site in sites), "all"]:
        chosen = [site for site in sites if collection in (site.collection, "all")]
        tested = [paired_difference(site.after, site.before) for site in chosen if site.accepted]
        gain = paired_difference(
            np.concatenate([site.after for site in chosen]),
            np.concatenate([site.before for site in chosen]),
            groups=[site.group for site in chosen for _ in site.before],
        )
        rows.append(
            {
                "collection": collection,
                "sites": len(chosen),
                "models": len(tested),
                "F1 before": f"{np.mean([value for site in chosen for value in site.before]):.4f}",
                "gain": f"{gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]",
                "better": sum(found.significant and found.mean > 0 for found in tested),
                "worse": sum(found.significant and found.mean < 0 for found in tested),
            }
        )
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all sites and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the measurements as JSON lines")
    parser.add_argument("--sites", type=int, default=100, metavar="N", help="sites of each collection, drawn by hash")
    arguments = parser.parse_args(argv)
    return run(predicted(WITH_SITES), arguments.output, arguments.sites)


def drawn_groups(pages: Sequence[Predicted], n_sites: int) -> dict[str, list[Predicted]]:
    """Return the groups with enough pages, at most ``n_sites`` of each collection, drawn by the hash of their names."""
    groups = by_group(pages, LEAST)
    by_hash = sorted(groups, key=lambda name: zlib.crc32(name.encode()))
    kept = [
        name
        for collection in dict.fromkeys(items[0].collection for items in groups.values())
        for name in [name for name in by_hash if groups[name][0].collection == collection][:n_sites]
    ]
    return {name: groups[name] for name in kept}


def run(pages: Sequence[Predicted], output: str | None, n_sites: int = 100) -> int:
    """Measure the sites of predicted pages and print the tables."""
    base = trained("default").model
    sites = []
    for name, items in drawn_groups(pages, n_sites).items():
        sites.append(measure(base, name, items))
        note(f"{name}: {len(items)} pages, accepted {sites[-1].accepted}, gain {sites[-1].gain:+.3f}")
        if output:
            with Path(output).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(sites[-1])) + "\n")
    show(sites)
    return 0


def show(sites: Sequence[Measured]) -> None:
    """Print the tables."""
    print_rows(by_site(sites), "table")
    print()
    for collection in [*dict.fromkeys(site.collection for site in sites), "mixture"]:
        chosen = [site for site in sites if collection in (site.collection, "mixture")]
        print_rows(curves(chosen, collection), "table")
        print()


if __name__ == "__main__":
    sys.exit(main())
