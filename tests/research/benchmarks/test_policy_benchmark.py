"""The ablation of the decision policy."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.datasets import open_dataset
from blockml.decision import DecisionPolicy
from blockml.evaluation import bag_scores
from blockml.extractors import trained
from research.benchmarks.policy import RULES, f1_of_page, page_f1s

ROOT = Path(__file__).parents[3]


def test_fields_of_the_released_policy_are_ablated() -> None:
    """Every field of the released policy that differs from its default is ablated."""
    policy = trained("default").model.policy
    changed = {field.name for field in fields(DecisionPolicy) if getattr(policy, field.name) != field.default}
    assert changed - {"rule"} <= {field for rule in RULES.values() for field in rule.without}


def test_pages_are_scored_by_the_released_policy_first() -> None:
    """The first column is the F1 of the text that ``extract`` returns."""
    found = page_f1s(ROOT / "data" / "pages", jobs=1, every=1)
    assert found.shape[1] == 1 + len(RULES)
    assert (found[:, 1:] != found[:, :1]).any()
    expected = []
    for page in open_dataset(ROOT / "data" / "pages").pages:
        html, gold = page.load()
        text = None if gold is None else gold.text()
        if text is not None:
            expected.append(bag_scores(text, blockml.extract(html, url=page.url, charset=page.charset).text).f1)
    assert found[:, 0].tolist() == pytest.approx(expected)


def test_other_probabilities_replace_those_of_the_model() -> None:
    """With probabilities near 0 for all blocks, nothing is kept and the F1 is 0."""
    page = open_dataset(ROOT / "data" / "pages").pages[0]
    n_blocks = len(blockml.parse(page.load()[0], tokenizer="cjk").blocks)
    assert f1_of_page(page, trained("default").model, (np.full(n_blocks, 1e-6, np.float32), 0.0))[0] == 0
