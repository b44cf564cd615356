"""Measure the gain of the default model from a site's template, for each site with several pages with gold.

The pages are one crawl of ``blockml predict --by-site``, which learns a template of each site and removes repeated
texts from what the model keeps. Sites are shown by the share of the words in kept lines that repeat, which a survey
reports, and by their mean F1 without the template. A second table shows how well the confidence finds the pages whose
F1 is below .8, without and with templates::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.survey_templates
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from sklearn.metrics import roc_auc_score

import blockml
from blockml.batch import Item
from blockml.cli.output import note, print_rows
from blockml.evaluation import bag_scores
from blockml.evaluation.bootstrap import paired_difference
from blockml.evaluation.calibration import rank_correlation
from blockml.surveying.repeats import LEAST_PAGES_OF_LINE, LEAST_SHARE
from research.benchmarks.survey_pages import WITH_SITES, Predicted, by_group, predicted

LEAST = 7
#: Pages with a lower F1 are those that the confidence should find.
GOOD_F1 = 0.8


@dataclass(frozen=True, slots=True)
class Site:
    """Page F1 and confidence of a site without and with its template."""

    name: str
    collection: str
    before: list[float]
    after: list[float]
    sure_before: list[float]
    sure_after: list[float]
    repeated: float  #: Share of the kept words that are in repeated lines.


def repeated_share(pages: Sequence[Predicted]) -> float:
    """Return the share of the kept words that are in lines that a survey would report."""
    counts = Counter(line for item in pages for line in {line.strip() for line in item.text.split("\n")} if line)
    least = max(LEAST_PAGES_OF_LINE, LEAST_SHARE * len(pages))
    lines = [line.strip() for item in pages for line in item.text.split("\n")]
    words = [(len(line.split()), counts[line] >= least) for line in lines]
    return sum(n for n, repeats in words if repeats) / max(sum(n for n, _ in words), 1)


def crawled(pages: Sequence[Predicted]) -> list[Predicted]:
    """Extract the pages as one crawl by ``blockml.predict(by_site=True)``, which learns the template of each site."""
    items = [
        Item(str(number), html=item.page.load()[0], url=item.page.url, charset=item.page.charset, site=item.group)
        for number, item in enumerate(pages)
    ]
    records = blockml.predict(items, by_site=True, fields=("text", "confidence"))
    return [
        replace(item, text=found["text"], confidence=found["confidence"], f1=bag_scores(item.gold, found["text"]).f1)
        for item, found in zip(pages, records, strict=True)
    ]


def site_of(name: str, before: Sequence[Predicted], after: Sequence[Predicted]) -> Site:
    """Return the scores of the pages of a site without and with its template."""
    return Site(
        name,
        before[0].collection,
        [item.f1 for item in before],
        [item.f1 for item in after],
        [item.confidence for item in before],
        [item.confidence for item in after],
        repeated_share(before),
    )


def row(kind: str, sites: Sequence[Site]) -> dict[str, object]:
    """Summarise some sites."""
    tested = [paired_difference(site.after, site.before) for site in sites]
    gain = paired_difference(
        np.concatenate([site.after for site in sites]),
        np.concatenate([site.before for site in sites]),
        groups=[site.name for site in sites for _ in site.before],
    )
    return {
        "sites": kind,
        "n": len(sites),
        "pages": sum(len(site.before) for site in sites),
        "F1 before": f"{np.mean([value for site in sites for value in site.before]):.4f}",
        "with template": f"{gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]",
        "better": sum(found.significant and found.mean > 0 for found in tested),
        "worse": sum(found.significant and found.mean < 0 for found in tested),
    }


def confidence_row(kind: str, sites: Sequence[Site]) -> dict[str, object]:
    """Return how well the confidence ranks the pages of some sites, without and with templates."""
    shown: dict[str, object] = {"sites": kind, "pages": sum(len(site.before) for site in sites)}
    for when, of_f1, of_sure in (("without", "before", "sure_before"), ("with", "after", "sure_after")):
        f1, sure = (np.concatenate([getattr(site, field) for site in sites]) for field in (of_f1, of_sure))
        bad = f1 < GOOD_F1
        shown[f"{when}: F1 < {GOOD_F1:g}"] = int(bad.sum())
        shown[f"{when}: AUROC"] = f"{roc_auc_score(bad, -sure):.3f}" if 0 < bad.sum() < len(bad) else "-"
        shown[f"{when}: rank correlation"] = f"{rank_correlation(f1, sure):.3f}"
    return shown


def run(pages: Sequence[Predicted]) -> int:
    """Measure the sites of predicted pages and print the tables."""
    sites = []
    groups = by_group(pages, LEAST)
    after = iter(crawled([item for items in groups.values() for item in items]))
    for name, items in groups.items():
        sites.append(site_of(name, items, list(islice(after, len(items)))))
        gain = float(np.mean(sites[-1].after) - np.mean(sites[-1].before))
        note(
            f"{name}: {len(items)} pages, F1 {np.mean(sites[-1].before):.3f} {gain:+.3f}, "
            f"repeated {sites[-1].repeated:.3f}"
        )
    kinds = {
        name: [site for site in sites if site.collection == name]
        for name in dict.fromkeys(site.collection for site in sites)
    }
    kinds |= {
        "all": sites,
        "no repeated kept line": [site for site in sites if not site.repeated],
        "repeated lines below 2 % of the words": [site for site in sites if 0 < site.repeated < 0.02],
        "repeated lines 2 % of the words or more": [site for site in sites if site.repeated >= 0.02],
        "mean F1 below .9": [site for site in sites if np.mean(site.before) < 0.9],
        "mean F1 .9 or more": [site for site in sites if np.mean(site.before) >= 0.9],
    }  # fmt: skip
    print_rows([row(kind, chosen) for kind, chosen in kinds.items() if chosen], "table")
    collections = dict.fromkeys((*(site.collection for site in sites), "all"))
    print_rows([confidence_row(kind, kinds[kind]) for kind in collections], "table")
    return 0


if __name__ == "__main__":
    sys.exit(run(predicted(WITH_SITES)))
