"""Training loss of MLPs, and its gradient.

The loss of a page is one minus the F1 of its words, with each block counted by its probability, plus a share of the
cross entropy of its blocks. F1 by itself is hard to optimise; cross entropy by itself overrates blocks that hardly
matter to a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from blockml.features.ancestor_words import AncestorWords
from blockml.predictors.quantized_mlp import FloatArray
from blockml.training.group_means import RowGroups, means

Weights = dict[str, FloatArray]
"""Arrays of one network by name, as in :class:`blockml.predictors.mlp.MLP` but without the network dimension."""


class Batch(NamedTuple):
    """Inputs and labels of one step, for n blocks."""

    columns: FloatArray
    labels: FloatArray
    known: FloatArray  #: 1 for blocks with a gold label; 0 for others, which are only context.
    n_words: FloatArray
    page: RowGroups
    groups: Sequence[RowGroups]
    words: AncestorWords | None


class Masks(NamedTuple):
    """Dropout factors of one step."""

    words: FloatArray  #: (hashed_words, 1) 1 for words that count, else 0.
    hidden: FloatArray  #: (n, h) 0 for dropped units of the first layer, else slightly above 1 to compensate.
    last: FloatArray  #: (n, h) factors of the second layer, likewise.


def loss(weights: Mapping[str, FloatArray], batch: Batch, masks: Masks, cross_entropy: float) -> tuple[float, Weights]:
    """Compute the loss of one step, and its gradient by weight name."""
    w, page, h = weights, batch.page, len(weights["self_weights"])
    # Forward, as in MLP.predict.
    first = batch.columns @ w["input_u"] + w["input_bias"]
    if batch.words is not None:
        vectors = means(w["word_vectors"] * masks.words, batch.words)
        first += (vectors @ w["word_projection"])[batch.words.bag]
    hidden = np.maximum(first, 0) * masks.hidden
    share = (batch.n_words / np.maximum(page.sum(batch.n_words), 1)[page.group])[:, None]
    page_means = np.concatenate([page.mean(hidden), page.sum(hidden * share)], axis=1)
    # For each grouping: groups, their means, and their rows of the weights.
    groupings = [(rows, rows.mean(hidden), slice(k * h, (k + 1) * h)) for k, rows in enumerate(batch.groups)]
    second = hidden @ w["self_weights"] + (page_means @ w["page_weights"] + w["hidden_bias"])[page.group]
    for rows, mean, part in groupings:
        second += (mean @ w["group_weights"][part])[rows.group]
    last = np.maximum(second, 0) * masks.last
    value, d_log_odds = _page_loss((last @ w["output_weights"] + w["output_bias"])[:, 0], batch, cross_entropy)
    # Backward.
    d_log_odds = d_log_odds[:, None]
    d_second = (d_log_odds @ w["output_weights"].T) * masks.last * (second > 0)
    d_page = page.sum(d_second)
    d_hidden = d_second @ w["self_weights"].T
    d_means = d_page @ w["page_weights"].T
    d_hidden += (d_means[:, :h] / page.size)[page.group]
    d_hidden += d_means[page.group, h:] * share
    d_group_weights = np.empty_like(w["group_weights"])
    for rows, mean, part in groupings:
        d_group = rows.sum(d_second)
        d_group_weights[part] = mean.T @ d_group
        d_hidden += (d_group @ w["group_weights"][part].T / rows.size)[rows.group]
    d_first = d_hidden * masks.hidden * (first > 0)
    gradient = {
        "input_u": batch.columns.T @ d_first,
        "input_bias": d_first.sum(axis=0),
        "word_vectors": np.zeros_like(w["word_vectors"]),
        "word_projection": np.zeros_like(w["word_projection"]),
        "self_weights": hidden.T @ d_second,
        "page_weights": page_means.T @ d_page,
        "group_weights": d_group_weights,
        "hidden_bias": d_page.sum(axis=0, keepdims=True),
        "output_weights": last.T @ d_log_odds,
        "output_bias": d_log_odds.sum(axis=0, keepdims=True),
    }
    if batch.words is not None:
        d_projected = RowGroups.of(batch.words.bag).sum(d_first)
        gradient["word_projection"] = vectors.T @ d_projected
        d_vectors = d_projected @ w["word_projection"].T
        gradient["word_vectors"] = _word_vector_gradient(d_vectors, masks.words, batch.words)
    return value, gradient


def _word_vector_gradient(d_means: FloatArray, kept: FloatArray, words: AncestorWords) -> FloatArray:
    """Compute the gradient of word vectors, (hashed_words, d), from that of their means: see ``group_means.means``."""
    in_bag, by_word = RowGroups.runs(np.diff(words.starts)), RowGroups.of(words.hashed_words)
    count = np.maximum(in_bag.sum(kept[words.hashed_words]), 1)
    result = np.zeros((len(kept), d_means.shape[1]), dtype=d_means.dtype)
    first = by_word.starts if by_word.order is None else by_word.order[by_word.starts]
    result[words.hashed_words[first]] = by_word.sum(np.divide(d_means, count)[in_bag.group])
    return result * kept


def _page_loss(log_odds: FloatArray, batch: Batch, cross_entropy: float) -> tuple[float, FloatArray]:
    """Compute the mean over pages of 1 - F1 + cross entropy, and its gradient (n,) with respect to the log odds.

    The cross entropy of a page weights its blocks by the square root of their words; the weights sum to 1.
    """
    page, words, gold = batch.page, batch.n_words * batch.known, batch.labels
    n_pages = len(page.size)
    p = 0.5 + 0.5 * np.tanh(0.5 * log_odds)
    hits = 2 * page.sum(words * p * gold)
    total = page.sum(words * (p + gold)) + np.float32(1e-3)  # a page without words has an F1 of 0
    d_p = words * ((hits / total**2)[page.group] - 2 * gold / total[page.group])
    root = np.sqrt(words + 1) * batch.known
    weight = cross_entropy * root / np.maximum(page.sum(root), np.float32(1e-9))[page.group]
    entropy = np.logaddexp(np.float32(0), log_odds) - gold * log_odds
    value = 1 - float((hits / total).mean()) + float((weight * entropy).sum()) / n_pages
    return value, (d_p * p * (1 - p) + weight * (p - gold)) / n_pages
