"""The loss that nets are trained with, and its gradient.

It is one minus the F1 that a page's words would have if each block counted with its probability, plus a share of the
cross entropy of its blocks. F1 alone trains badly; cross entropy alone cares for blocks that hardly matter to a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.features.ancestor_words import Bags
from blockml.training.group_means import RowGroups, means

__all__ = ["Batch", "Masks", "Weights", "loss"]

FloatArray = NDArray[np.float32]
Weights = dict[str, FloatArray]
"""Arrays of one net by name, as in :class:`blockml.predictors.mlp.MLP` but without the dimension of its members."""


class Batch(NamedTuple):
    """What is put in at one step."""

    columns: FloatArray
    labels: FloatArray
    n_words: FloatArray
    page: RowGroups
    alike: Sequence[RowGroups]
    bags: Bags | None


class Masks(NamedTuple):
    """What is left out at one step, as factors."""

    words: FloatArray
    """(buckets, 1) 1 for words that count, else 0."""
    first: FloatArray
    """(n, h) 0, or a little more than 1 to make up for the zeros."""
    second: FloatArray
    """(n, h) the same."""


def loss(weights: Mapping[str, FloatArray], batch: Batch, masks: Masks, cross_entropy: float) -> tuple[float, Weights]:
    """Loss of one step, and its gradient by name of the weights."""
    w, page, h = weights, batch.page, len(weights["self_weights"])
    # Forward, as MLP.predict goes.
    first = batch.columns @ w["input_u"] + w["input_bias"]
    if batch.bags is not None:
        vectors = means(w["word_vectors"] * masks.words, batch.bags)
        first += (vectors @ w["word_projection"])[batch.bags.bag]
    hidden = np.maximum(first, 0) * masks.first
    share = (batch.n_words / np.maximum(page.sum(batch.n_words), 1)[page.group])[:, None]
    pooled = np.concatenate([page.mean(hidden), page.sum(hidden * share)], axis=1)
    # For each way to be alike: its groups, their means, its rows of the weights.
    ways = [(pool, pool.mean(hidden), slice(k * h, (k + 1) * h)) for k, pool in enumerate(batch.alike)]
    second = hidden @ w["self_weights"] + (pooled @ w["page_weights"] + w["hidden_bias"])[page.group]
    for pool, mean, part in ways:
        second += (mean @ w["group_weights"][part])[pool.group]
    last = np.maximum(second, 0) * masks.second
    value, d_odds = _page_loss((last @ w["output_weights"] + w["output_bias"])[:, 0], batch, cross_entropy)
    # And backward.
    d_odds = d_odds[:, None]
    d_second = (d_odds @ w["output_weights"].T) * masks.second * (second > 0)
    d_page = page.sum(d_second)
    d_hidden = d_second @ w["self_weights"].T
    d_pooled = d_page @ w["page_weights"].T
    d_hidden += (d_pooled[:, :h] / page.size)[page.group]
    d_hidden += d_pooled[page.group, h:] * share
    d_alike = np.empty_like(w["group_weights"])
    for pool, mean, part in ways:
        d_group = pool.sum(d_second)
        d_alike[part] = mean.T @ d_group
        d_hidden += (d_group @ w["group_weights"][part].T / pool.size)[pool.group]
    d_first = d_hidden * masks.first * (first > 0)
    gradient = {
        "input_u": batch.columns.T @ d_first,
        "input_bias": d_first.sum(axis=0),
        "word_vectors": np.zeros_like(w["word_vectors"]),
        "word_projection": np.zeros_like(w["word_projection"]),
        "self_weights": hidden.T @ d_second,
        "page_weights": pooled.T @ d_page,
        "group_weights": d_alike,
        "hidden_bias": d_page.sum(axis=0, keepdims=True),
        "output_weights": last.T @ d_odds,
        "output_bias": d_odds.sum(axis=0, keepdims=True),
    }
    if batch.bags is not None:
        d_lifted = RowGroups.of(batch.bags.bag).sum(d_first)
        gradient["word_projection"] = vectors.T @ d_lifted
        gradient["word_vectors"] = _spread(d_lifted @ w["word_projection"].T, masks.words, batch.bags)
    return value, gradient


def _spread(d_vectors: FloatArray, kept: FloatArray, bags: Bags) -> FloatArray:
    """(buckets, d) gradient of word vectors from that of the mean vectors of bags: see ``group_means.means``."""
    in_bag, by_word = RowGroups.runs(np.diff(bags.starts)), RowGroups.of(bags.buckets)
    count = np.maximum(in_bag.sum(kept[bags.buckets]), 1)
    result = np.zeros((len(kept), d_vectors.shape[1]), dtype=d_vectors.dtype)
    result[np.unique(bags.buckets)] = by_word.sum(np.divide(d_vectors, count)[in_bag.group])
    return result * kept


def _page_loss(odds: FloatArray, batch: Batch, cross_entropy: float) -> tuple[float, FloatArray]:
    """Mean over pages of 1 - F1 + cross entropy, and its gradient (n,) by the log odds.

    The cross entropy of a page weights its blocks by the root of their words; its weights sum to 1.
    """
    page, words, gold = batch.page, batch.n_words, batch.labels
    n_pages = len(page.size)
    p = 0.5 + 0.5 * np.tanh(0.5 * odds)
    hits = 2 * page.sum(words * p * gold)
    total = page.sum(words * (p + gold)) + np.float32(1e-3)  # a page without words has an F1 of 0
    d_p = words * ((hits / total**2)[page.group] - 2 * gold / total[page.group])
    root = np.sqrt(words + 1)
    weight = cross_entropy * root / page.sum(root)[page.group]
    surprise = np.logaddexp(np.float32(0), odds) - gold * odds
    value = 1 - float((hits / total).mean()) + float((weight * surprise).sum()) / n_pages
    return value, (d_p * p * (1 - p) + weight * (p - gold)) / n_pages
