"""Content that the decision rules remove in the labelled collections, which are not in the repository."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from blockml.datasets import open_dataset
from blockml.decision.decide import decide
from blockml.document.text import render_text
from blockml.evaluation import bag_scores
from blockml.extractors import page_matrix, trained
from blockml.model import score_page
from blockml.parsing import parse

CORPORA = os.environ.get("BLOCKML_CORPORA")
COLLECTIONS = (
    "wcxb l3s-gn1 cleaneval cleanportaleval ir-research-big9-chaos fundus magic-html mercury chinese-web-content "
    "dragnet-2012 forums outline-annotated ftr-articles recipes".split()
)
#: Only every n-th page is measured, so that the test takes half a minute.
EVERY = 5


@pytest.mark.skipif(not CORPORA, reason="needs labelled corpora: set BLOCKML_CORPORA to their folder")
def test_rules_rarely_remove_half_of_the_content() -> None:
    """At most 1 page in 400 loses half of its content as comments, and at most 1 in 1000 by all other rules."""
    model = trained("default").model
    without_comments = replace(model.policy, comment_probability=1.0, named_comment_probability=1.0)
    bare = replace(without_comments, sidebar_probability=0.0, duplicate_penalty=0.0)
    n_pages, by_comments, by_others = 0, [], []
    for name in COLLECTIONS:
        for labelled in open_dataset(Path(CORPORA or "") / name).pages[::EVERY]:
            html, gold = labelled.load()
            text = None if gold is None else gold.text()
            page = parse(html, url=labelled.url, charset=labelled.charset, **model.parsing.options())
            if not text or not len(page.blocks):
                continue
            n_pages += 1
            prediction = score_page(model, page_matrix(page, model.features))
            kept = [decide(policy, page, prediction).kept for policy in (model.policy, without_comments, bare)]
            if (kept[2] & ~kept[0]).any():
                recall = [bag_scores(text, render_text(page, some)).recall for some in kept]
                by_comments += [labelled.id] if recall[1] - recall[0] > 0.5 else []
                by_others += [labelled.id] if recall[2] - recall[1] > 0.5 else []
    assert len(by_comments) <= n_pages / 400, by_comments
    assert len(by_others) <= n_pages / 1000, by_others
