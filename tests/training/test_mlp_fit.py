"""Training of MLPs: gradient, generalisation and determinism."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blockml.errors import UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.predictors import MLP
from blockml.predictors.mlp import join_mlps
from blockml.training.mlp_fit import Batch, Masks, MLPOptions, RowGroups, TrainingPages, fit_mlp, loss

QUICK = MLPOptions(units=16, vector=4, epochs=30, pages=5, min_pages=2)


def made_up(seed: int = 0, n_pages: int = 40, *, with_bags: bool = False) -> TrainingPages:
    """Return pages on which no block's columns show whether it is content.

    It is if the mean of column 0 over its group is above that over its page; words of its bag, if any, show the same.
    Column 1 is a meaningless code.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 30, n_pages)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n = int(starts[-1])
    page = np.repeat(np.arange(n_pages), sizes)
    group = rng.integers(0, 3, n)
    level = rng.normal(size=(n_pages, 3))
    matrix = np.stack([level[page, group] + rng.normal(size=n), rng.integers(0, 90, n)], axis=1).astype(np.float32)
    main = level[page, group] > level[page].mean(axis=1)
    bags = None
    if with_bags:
        hashed_words = np.stack([rng.integers(0, 50, n), 100 + main], axis=1).astype(np.int32)
        bags = AncestorWords(np.arange(0, 2 * n + 1, 2), hashed_words.ravel(), np.arange(n))
    return TrainingPages(matrix, main, rng.integers(0, 20, n), starts, [group], bags)


def scores_of(net: MLP, pages: TrainingPages) -> Any:
    """Return predictions page by page."""
    parts = []
    for first, last in zip(pages.starts[:-1].tolist(), pages.starts[1:].tolist(), strict=True):
        rows = slice(first, last)
        bags = None if pages.words is None else pages.words.take(np.arange(first, last))
        parts.append(net.predict(pages.matrix[rows], [way[rows] for way in pages.groups], pages.n_words[rows], bags))
    return np.concatenate(parts)


def double(array: Any) -> Any:
    """Convert to double precision, for differences that single precision cannot resolve."""
    return array.astype(np.float64)


def test_the_gradient_equals_that_of_small_steps() -> None:
    """The gradient of each weight array equals the difference of small steps in a random direction."""
    rng = np.random.default_rng(3)
    n, f, h, d = 14, 4, 5, 3
    known = (rng.random(N_HASHED_WORDS) < 0.7).astype(float)
    shapes = {
        "input_u": (f, h), "input_bias": (h,), "word_vectors": (N_HASHED_WORDS, d), "word_projection": (d, h),
        "self_weights": (h, h), "page_weights": (2 * h, h),
        "group_weights": (2 * h, h), "hidden_bias": (1, h), "output_weights": (h, 1), "output_bias": (1, 1),
    }  # fmt: skip
    weights: dict[str, Any] = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    bags = AncestorWords(np.array([0, 3, 4, 9]), rng.integers(0, N_HASHED_WORDS, 9).astype(np.int32), np.arange(n) % 3)
    pools = [RowGroups.of(rng.integers(0, 4, n)), RowGroups.of(np.arange(n))]
    columns, labels, n_words = (
        double(array) for array in (rng.normal(size=(n, f)), rng.random(n), rng.integers(0, 9, n))
    )
    labelled = double(rng.random(n) < 0.8)
    batch = Batch(columns, labels, labelled, n_words, RowGroups.runs(np.array([6, 1, 7])), pools, bags)
    masks = Masks(*(double(array) for array in (known[:, None], rng.random((n, h)), rng.random((n, h)))))
    weights["word_vectors"] *= known[:, None]
    _, gradient = loss(weights, batch, masks, 0.5)
    for name, shape in shapes.items():
        step = 1e-6 * rng.normal(size=shape)
        there, back = (loss(weights | {name: weights[name] + sign * step}, batch, masks, 0.5)[0] for sign in (1, -1))
        assert gradient[name].shape == shape
        assert (there - back) / 2 == pytest.approx(float((gradient[name] * step).sum()), rel=1e-4, abs=1e-12), name
        assert np.abs(gradient[name]).max() > 1e-6


@pytest.mark.parametrize("with_bags", [True, False])
def test_it_learns_from_the_page_context(with_bags: bool) -> None:  # noqa: FBT001
    """On unseen pages an MLP is far better than any threshold on a block's column."""
    net = fit_mlp(made_up(0, 120, with_bags=with_bags), skip=[1], options=QUICK)
    net.check(2)
    assert net.reads_words == with_bags
    other = made_up(1, 60, with_bags=with_bags)
    right = ((scores_of(net, other) >= 0.5) == other.labels).mean()
    alone = max(((other.matrix[:, 0] >= cut) == other.labels).mean() for cut in np.linspace(-2, 2, 41))
    assert alone < 0.75
    assert right > (0.95 if with_bags else 0.83)


def test_labels_of_blocks_without_gold_do_not_count() -> None:
    """Neither labels of blocks without gold nor a page without any gold affect training."""
    pages = made_up(0, 40)
    known = np.random.default_rng(5).random(len(pages.matrix)) < 0.7
    known[: pages.starts[1]] = False
    wrong = np.where(known, pages.labels, ~pages.labels.astype(bool))
    options = MLPOptions(units=8, epochs=2, most_blocks=10)
    right, other = (
        fit_mlp(replace(pages, known=known, labels=labels), options=options) for labels in (pages.labels, wrong)
    )
    assert np.array_equal(scores_of(right, pages), scores_of(other, pages))
    assert np.isfinite(scores_of(right, pages)).all()


def test_the_same_seed_gives_the_same_mlp() -> None:
    """The same seed gives the same MLP, another seed one that can be joined with it; skipped columns do not matter."""
    pages = made_up(0, with_bags=True)
    options = MLPOptions(units=8, epochs=2, most_blocks=10)
    one, again, other = (fit_mlp(pages, skip=[1], seed=seed, options=options) for seed in (4, 4, 5))
    scores = scores_of(one, pages)
    assert np.array_equal(scores, scores_of(again, pages))
    assert not np.array_equal(scores, scores_of(other, pages))
    assert join_mlps([one, other]).self_weights.shape[0] == 2
    changed = TrainingPages(pages.matrix * np.array([1, -5], np.float32), *(getattr(pages, name) for name in
                       ("labels", "n_words", "starts", "groups", "words")))  # fmt: skip
    assert np.array_equal(scores, scores_of(one, changed))


def test_pages_that_are_not_chosen_do_not_count() -> None:
    """Labels of excluded pages do not matter."""
    pages = made_up(0)
    chosen = np.arange(0, 40, 2)
    flipped = np.where(np.repeat(np.arange(40) % 2, np.diff(pages.starts)) > 0, pages.labels == 0, pages.labels)
    options = MLPOptions(units=8, epochs=2)
    one = fit_mlp(pages, chosen, options=options)
    two = fit_mlp(
        TrainingPages(pages.matrix, flipped, pages.n_words, pages.starts, pages.groups), chosen, options=options
    )
    assert np.array_equal(one.input_u, two.input_u)
    assert not np.array_equal(one.input_u, fit_mlp(pages, options=options).input_u)


def test_rare_words_have_no_vector() -> None:
    """A word on fewer pages than the minimum gets no vector."""
    pages = made_up(0, with_bags=True)
    assert pages.words is not None
    pages.words.hashed_words[0] = 7000
    net = fit_mlp(pages, options=MLPOptions(units=8, epochs=1, min_pages=2))
    assert not net.word_vectors[7000].any()
    assert net.word_vectors[101].any()


def test_nothing_to_learn_from_is_refused() -> None:
    """Training without blocks, and with columns of different lengths, is refused."""
    pages = made_up(0)
    with pytest.raises(UsageError, match="no block"):
        fit_mlp(pages, np.zeros(0, dtype=np.intp))
    with pytest.raises(UsageError, match="one entry for each"):
        fit_mlp(TrainingPages(pages.matrix, pages.labels[1:], pages.n_words, pages.starts, pages.groups))
