"""Effect of 16-bit integer weights of MLPs on their predictions: ``python -m research.benchmarks.rounding DATASET``.

Compares log odds and probabilities of a model's MLPs on the blocks of real pages with those of floating-point weights.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import open_dataset
from blockml.extractors import Extractor
from blockml.extractors.matrix import page_matrix
from blockml.extractors.trained_extractor import TrainedExtractor
from blockml.features.ancestor_words import AncestorWords, ancestor_words
from blockml.features.page_matrix import page_context
from blockml.predictors import log_odds
from blockml.predictors.mlp import MLP


def in_floats(
    net: MLP,
    rows: NDArray[np.float32],
    groups: Sequence[NDArray[Any]],
    n_words: NDArray[np.float64],
    words: AncestorWords,
) -> NDArray[np.float64]:
    """Compute (n,) log odds with floating-point weights."""
    members, units = net.self_weights.shape[:2]
    first = net.scaled(rows.copy()).astype(np.float64) @ net.input_u
    first = (first @ net.input_v if len(net.input_v) else first) + net.input_bias
    hidden = first.reshape(len(rows), members, units).swapaxes(0, 1)
    if net.reads_words:
        spans = zip(words.starts[:-1], words.starts[1:], strict=True)
        seen = [net.word_vectors[words.hashed_words[start:end]] for start, end in spans]
        means = np.array([held.sum(axis=0) / max(1, int((held != 0).any(axis=1).sum())) for held in seen])
        hidden = hidden + (means.reshape(len(seen), members, -1).swapaxes(0, 1) @ net.word_projection)[:, words.bag]
    hidden = np.maximum(hidden, 0)
    share = n_words / max(1.0, float(n_words.sum()))
    page = np.concatenate([hidden.mean(axis=1), (hidden * share[:, None]).sum(axis=1)], axis=1)
    second = hidden @ net.self_weights + page[:, None] @ net.page_weights + net.hidden_bias
    for way, numbers in enumerate(groups):
        which, group = np.unique(numbers, return_inverse=True)
        means = np.stack([hidden[:, group == number].mean(axis=1) for number in range(len(which))], axis=1)
        second += (means @ net.group_weights[:, way * units : (way + 1) * units])[:, group]
    odds: NDArray[np.float64] = (np.maximum(second, 0) @ net.output_weights + net.output_bias).mean(axis=0)[:, 0]
    return odds


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the differences between both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", help="name of a folder in BLOCKML_CORPORA, or a path")
    parser.add_argument("--model", default="default")
    parser.add_argument("--pages", type=int, default=200, help="the first so many (default: 200)")
    chosen = parser.parse_args(arguments)
    extractor: Extractor = blockml.load(chosen.model)
    net = extractor.model.predictors.get("mlp") if isinstance(extractor, TrainedExtractor) else None
    if not isinstance(extractor, TrainedExtractor) or not isinstance(net, MLP):
        parser.error(f"{chosen.model} has no MLP")
    folder = Path(os.environ.get("BLOCKML_CORPORA", ".")) / chosen.dataset
    found = []
    for labelled in sorted(open_dataset(folder).pages, key=lambda page: page.id)[: chosen.pages]:
        page = blockml.parse(labelled.load()[0], url=labelled.url, charset=labelled.charset)
        view = page_context(page)
        if not len(view):
            continue
        rows = page_matrix(page, extractor.model.features, None, view).values
        given = rows, view.block_groups, view.words, ancestor_words(view)
        found.append((in_floats(net, *given), net.predict(*given)))
    floats, whole = (np.concatenate(column) for column in zip(*found, strict=True))
    likely = np.abs(1 / (1 + np.exp(-floats)) - whole)
    inside = np.abs(floats) < 10  # beyond this, probabilities in single precision are too coarse
    apart = np.abs(floats - log_odds(whole))[inside]
    print(f"{len(found)} pages, {len(floats):,} blocks")
    print(f"log odds: {apart.mean():.5f} in the mean, {apart.max():.4f} at most")
    print(f"probabilities: {likely.mean():.6f} in the mean, {likely.max():.5f} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
