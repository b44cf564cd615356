"""Document frequency on real sites: the paper's claim holds."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.datasets import open_dataset
from blockml.evaluation import bag_scores
from blockml.page import Page
from blockml.templates.frequency import SiteCounts, kept_texts, measure, text_frequency

#: Some clusters (site and year) with ten pages each.
CLUSTERS = ("bbc-2005", "cnn-2009", "forbes-2013", "latimes-2005", "nypost-2017", "arstechnica-2009")


@pytest.mark.corpora
def test_document_frequency_keeps_the_content(corpora: Path) -> None:
    """Keeping rare texts "almost certainly finds the main content" (Gottron 2008): recall near 1, better precision."""
    clusters: defaultdict[str, list[tuple[Page, str]]] = defaultdict(list)
    for labelled in open_dataset(corpora / "ir-research-big9-chaos").pages:
        cluster = labelled.extra.get("cluster")
        if cluster in CLUSTERS:
            html, truth = labelled.load()
            text = truth.text() if truth else None
            assert text, labelled.id
            clusters[cluster].append((blockml.parse(html), text))
    assert sorted(clusters) == sorted(CLUSTERS)
    by_texts, by_blocks, plain = [], [], []
    for pages in clusters.values():
        site = SiteCounts.learn([page for page, _ in pages])
        for page, gold in pages:
            found = measure(page, site, similar=False)
            kept = " ".join(page.nodes.texts[node] for node in kept_texts(found))
            scores, _ = text_frequency(found)
            chosen = np.flatnonzero(scores >= 0.5)
            by_texts.append(bag_scores(gold, kept))
            by_blocks.append(bag_scores(gold, " ".join(page.blocks.texts[block] for block in chosen)))
            plain.append(bag_scores(gold, " ".join(page.blocks.texts)))
    for results in (by_texts, by_blocks):
        precision, recall, f1 = np.mean(results, axis=0)
        assert recall > 0.95
        assert precision > np.mean(plain, axis=0)[0] + 0.1
        assert f1 > np.mean(plain, axis=0)[2] + 0.1
