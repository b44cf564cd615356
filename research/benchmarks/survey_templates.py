"""Measure the gain of the default model from a site's template, for each site with several pages with gold.

The template is learnt from the pages of the site, as by ``blockml predict --by-site``, and repeated texts are removed
from what the model keeps. Sites are shown by the share of the words in kept lines that repeat, which a survey reports,
and by their mean F1 without the template. A second table shows how well the confidence finds the pages whose F1 is
below .8, without and with templates::

    BLOCKML_CORPORA=DIR python -m research.benchmarks.survey_templates
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

import blockml
from blockml.cli.output import note, print_rows
from blockml.evaluation.bootstrap import paired_difference
from blockml.evaluation.calibration import rank_correlation
from blockml.extractors.site.at_site import at_site
from blockml.parsing import parse
from blockml.surveying.lines import LEAST_PAGES_OF_LINE, LEAST_SHARE
from blockml.templates.site import SiteTemplate
from research.benchmarks.survey_pages import WITH_SITES, Predicted, by_group, predict_page, predicted

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


def measure(name: str, pages: Sequence[Predicted]) -> Site:
    """Learn the template of a site from its pages and extract them with it."""
    extractor = blockml.load("default")
    options = extractor.parsing.options()
    parsed = [
        parse(item.page.load()[0], url=item.page.url, charset=item.page.charset, **options) for item in pages[:50]
    ]
    adapted = at_site(extractor, SiteTemplate.learn(parsed, name=name))
    found = [predict_page(item.collection, item.page, adapted) for item in pages]
    after = [(item.f1, item.confidence) for item in found if item is not None]
    return Site(
        name,
        pages[0].collection,
        [item.f1 for item in pages],
        [f1 for f1, _ in after],
        [item.confidence for item in pages],
        [sure for _, sure in after],
        repeated_share(pages),
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
    for name, items in by_group(pages, LEAST).items():
        sites.append(measure(name, items))
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
