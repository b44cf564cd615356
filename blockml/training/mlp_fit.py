"""Pages in, a net out: training of :class:`blockml.predictors.mlp.MLP` with numpy alone.

The loss is that of :mod:`blockml.training.mlp_loss`, over some pages at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.predictors.mlp import MLP, signed_logarithms
from blockml.training.group_means import RowGroups
from blockml.training.mlp_loss import Batch, Masks, Weights, loss

__all__ = ["NetOptions", "NetPages", "calibration", "factorize_input", "fit_net"]

FloatArray = NDArray[np.float32]

#: Every so many rows suffice for mean and deviation of the columns.
_EVERY = 7
#: Adam (Kingma and Ba 2015) with decay beside it (Loshchilov and Hutter 2019): how slowly the two moments move. The
#: second moves faster than usual, for there are only a few hundred steps.
_MOMENTS = (0.9, 0.99)
#: Steps until the full rate, and the share of it that is left at the end of the cosine in between.
_WARM_UP, _LEFT = 50, 0.02


@dataclass(frozen=True, slots=True)
class NetOptions:
    """How a net is built and trained. Defaults: our choice, by cross-validation by site on 1,357 pages."""

    units: int = 64
    """Units of each of the two layers."""
    vector: int = 16
    """Numbers that each word of tags and classes is given."""
    epochs: int = 9
    """How often each page is seen."""
    pages: int = 12
    """Pages in a step."""
    most_blocks: int = 400
    """Blocks of a page that are looked at in a step, drawn anew each time."""
    rate: float = 0.003
    """Largest step of a weight."""
    decay: float = 0.5
    """How fast weights shrink, in units of the rate."""
    dropout: float = 0.3
    """Share of units left out in each step (Srivastava et al. 2014), and of words."""
    column_dropout: float = 0.1
    """Share of columns left out in each step."""
    cross_entropy: float = 0.5
    """Weight of the cross entropy in the loss."""
    min_pages: int = 5
    """Words on fewer training pages are ignored."""


_DEFAULTS = NetOptions()


@dataclass(frozen=True, slots=True, eq=False)
class NetPages:
    """Pages to learn from, one after the other: page ``i`` has the rows ``starts[i] … starts[i + 1] - 1``."""

    matrix: FloatArray
    """(n_rows, n_columns) finite numbers."""
    labels: NDArray[np.number[Any] | np.bool_]
    """(n_rows,) share of each block that is content, in [0, 1], or whether it is."""
    n_words: NDArray[np.number[Any]]
    """(n_rows,) words of each block's text, from 0."""
    starts: NDArray[np.integer[Any]]
    """(n_pages + 1,)."""
    groups: Sequence[NDArray[np.integer[Any]]]
    """For each way to be alike: (n_rows,) number of the block's group within its page."""
    bags: AncestorWords | None = None
    """Words of tags and classes above each block; None: the net does without."""


def fit_net(
    pages: NetPages,
    chosen: NDArray[np.integer[Any]] | None = None,
    *,
    skip: Sequence[int] = (),
    seed: int = 0,
    options: NetOptions = _DEFAULTS,
) -> MLP:
    """Train one net.

    Runs in one thread; on one machine the same input and seed give the same net.

    Parameters
    ----------
    pages
        Pages with labels.
    chosen
        Numbers of the pages to learn from, in ascending order; None: all of them.
    skip
        Columns that aren't used, such as those that hold codes instead of amounts.
    seed
        Decides weights to begin with, order, and what is left out.
    options
        How it is trained.

    Returns
    -------
    Net
        Checked, with weights in half precision. Its log odds are about 1.7 times too large on unseen pages: see
        :func:`calibration`.

    Raises
    ------
    UsageError
        There is no block to learn from, or arrays differ in length.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> matrix, starts = rng.normal(size=(400, 2)).astype(np.float32), np.arange(0, 401, 20)
    >>> pages = NetPages(matrix, matrix[:, 0] > 0, np.ones(400), starts, [np.zeros(400, int)])
    >>> net = fit_net(pages, options=NetOptions(epochs=40, units=8))
    >>> net.predict(np.array([[2, 0], [-2, 0]], np.float32), [np.zeros(2, int)], np.ones(2)).round().tolist()
    [1.0, 0.0]
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn brings it

    _check(pages)
    sizes = np.diff(pages.starts)
    used = np.flatnonzero(sizes) if chosen is None else chosen[sizes[chosen] > 0]
    if not len(used):
        raise UsageError("there is no block to learn from")
    rng = np.random.default_rng(seed)
    net = _untrained(pages, used, skip)
    known = _known(pages, used, options.min_pages)
    weights = _drawn(rng, pages, known, options)
    with threadpool_limits(1, user_api="blas"):
        _train(weights, net, pages, used, known, rng, options)
    flat = ("input_u", "input_bias", "word_vectors")
    held: dict[str, Any] = {name: value if name in flat else value[None] for name, value in weights.items()}
    trained = replace(net, **held).rounded()
    trained.check(pages.matrix.shape[1])
    return trained


def factorize_input(net: MLP, matrix: FloatArray, rank: int) -> MLP:
    """The net with the weights of its first layer in two factors, so that there is less to multiply.

    Of what the columns add up to for the layer's units, the principal components are kept (Eckart and Young 1936).

    Parameters
    ----------
    net
        A net without factors; nets are joined before, for their units are alike too.
    matrix
        (n, f) rows like those that it will see.
    rank
        Components that are kept, from 1. With so many that nothing would be saved the net stays as it is.

    Raises
    ------
    UsageError
        It has factors already, or there are fewer than two rows.
    """
    from threadpoolctl import threadpool_limits  # as above

    if len(net.input_v) or len(matrix) < 2:
        raise UsageError("factors are found for a net that has none, and from two rows or more")
    columns, units = net.input_u.shape
    if rank * (columns + units) >= columns * units:
        return net
    with threadpool_limits(1, user_api="blas"):
        sums = net.scaled(matrix).astype(np.float64) @ net.input_u
        centre = sums.mean(axis=0)
        sums -= centre
        _, vectors = np.linalg.eigh(sums.T @ sums)  # by rising eigenvalue
        kept = vectors[:, : -rank - 1 : -1]
        held = {
            "input_u": net.input_u @ kept,
            "input_v": kept.T,
            "input_bias": net.input_bias + centre - (centre @ kept) @ kept.T,
        }
    whole = replace(net, **{name: np.ascontiguousarray(value, dtype=np.float32) for name, value in held.items()})
    return whole.rounded()


def _check(pages: NetPages) -> None:
    n = len(pages.matrix)
    lengths = [len(pages.labels), len(pages.n_words), int(pages.starts[-1]), *map(len, pages.groups)]
    if any(length != n for length in lengths) or (pages.bags is not None and len(pages.bags.bag) != n):
        raise UsageError(f"all columns of the pages have one entry for each of the {n} rows")


def _untrained(pages: NetPages, used: NDArray[np.integer[Any]], skip: Sequence[int]) -> MLP:
    """A net that knows how columns are scaled and nothing else."""
    rows = np.concatenate([np.arange(pages.starts[page], pages.starts[page + 1]) for page in used.tolist()])[::_EVERY]
    values = signed_logarithms(pages.matrix[rows])
    deviation = values.std(axis=0, dtype=np.float64)
    scale = np.where(deviation > 0, 1 / (deviation + 1e-3), 0)
    scale[list(skip)] = 0
    zeros = {item.name: np.zeros(0, dtype=np.float32) for item in fields(MLP)}
    zeros["input_v"] = np.zeros((0, 0), dtype=np.float32)
    columns = {"center": values.mean(axis=0, dtype=np.float64), "scale": scale}
    return MLP(**zeros | {name: column.astype(np.float32) for name, column in columns.items()})


def _known(pages: NetPages, used: NDArray[np.integer[Any]], min_pages: int) -> FloatArray:
    """(N_HASHED_WORDS,) 1 for words on enough of the pages, else 0; (0,) without words."""
    if pages.bags is None:
        return np.zeros(0, dtype=np.float32)
    counts = np.zeros(N_HASHED_WORDS, dtype=np.intp)
    for page in used.tolist():
        rows = np.arange(pages.starts[page], pages.starts[page + 1])
        counts[np.unique(pages.bags.take(rows).hashed_words)] += 1
    return (counts >= min_pages).astype(np.float32)


def _drawn(rng: np.random.Generator, pages: NetPages, known: FloatArray, options: NetOptions) -> Weights:
    """Weights to begin with: as large as keeps the spread from layer to layer (He et al. 2015), less for the means."""
    f, h, d = pages.matrix.shape[1], options.units, options.vector if len(known) else 0

    def normal(spread: float, *shape: int) -> FloatArray:
        return rng.normal(0, spread, shape).astype(np.float32)

    weights = {
        "input_u": normal(0.7 * np.sqrt(2 / f), f, h),
        "word_vectors": normal(0.3, len(known), d) * known[:, None],
        "word_projection": normal(1 / np.sqrt(max(d, 1)), d, h),
        "self_weights": normal(1 / np.sqrt(h), h, h),
        "page_weights": normal(0.5 / np.sqrt(h), 2 * h, h),
        "group_weights": normal(0.7 / np.sqrt(h), len(pages.groups) * h, h),
        "output_weights": normal(1 / np.sqrt(h), h, 1),
    }
    return weights | {
        "input_bias": np.zeros(h, dtype=np.float32),
        "hidden_bias": np.zeros((1, h), dtype=np.float32),
        "output_bias": np.full((1, 1), -1, dtype=np.float32),
    }


def _train(
    weights: Weights,
    net: MLP,
    pages: NetPages,
    used: NDArray[np.integer[Any]],
    known: FloatArray,
    rng: np.random.Generator,
    options: NetOptions,
) -> None:
    """Change the weights step by step."""
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in weights.items()}
    in_epoch = -(-len(used) // options.pages)
    for step in range(options.epochs * in_epoch):
        place = step % in_epoch
        if not place:
            order = rng.permutation(used)
        batch = _batch(pages, net, order[place * options.pages : (place + 1) * options.pages], rng, options)
        masks = Masks(
            known[:, None] * (rng.random((len(known), 1)) >= options.dropout),
            _kept(rng, (len(batch.columns), options.units), options.dropout),
            _kept(rng, (len(batch.columns), options.units), options.dropout),
        )
        _, gradient = loss(weights, batch, masks, options.cross_entropy)
        cosine = 0.5 * (1 + np.cos(np.pi * step / (options.epochs * in_epoch)))
        rate = options.rate * min(1, (step + 1) / _WARM_UP) * (_LEFT + (1 - _LEFT) * cosine)
        for name, value in weights.items():
            _move(value, gradient[name], moments[name], step + 1, rate, 0 if name.endswith("bias") else options.decay)


def _move(
    value: FloatArray,
    gradient: FloatArray,
    moments: tuple[FloatArray, FloatArray],
    step: int,
    rate: float,
    decay: float,
) -> None:
    """One step of Adam, in place."""
    (mean, square), (slow, slower) = moments, _MOMENTS
    mean += np.float32(1 - slow) * (gradient - mean)
    square += np.float32(1 - slower) * (gradient * gradient - square)
    size = np.sqrt(square * np.float32(1 / (1 - slower**step)))
    size += np.float32(1e-8)
    value *= np.float32(1 - rate * decay)
    value -= np.float32(rate / (1 - slow**step)) * mean / size


def _kept(rng: np.random.Generator, shape: tuple[int, ...], dropout: float) -> FloatArray:
    kept: FloatArray = (rng.random(shape, dtype=np.float32) >= dropout) * np.float32(1 / (1 - dropout))
    return kept


def _batch(
    pages: NetPages, net: MLP, chosen: NDArray[np.integer[Any]], rng: np.random.Generator, options: NetOptions
) -> Batch:
    """Blocks of some pages; of long pages some of the blocks, in order."""
    parts = []
    for page in chosen.tolist():
        rows = np.arange(pages.starts[page], pages.starts[page + 1])
        parts.append(
            rows if len(rows) <= options.most_blocks else np.sort(rng.permutation(rows)[: options.most_blocks])
        )
    rows, lengths = np.concatenate(parts), np.array([len(part) for part in parts])
    page = RowGroups.runs(lengths)
    columns = net.scaled(pages.matrix[rows])
    columns *= _kept(rng, (columns.shape[1],), options.column_dropout)
    return Batch(
        columns,
        pages.labels[rows].astype(np.float32),
        pages.n_words[rows].astype(np.float32),
        page,
        # The same number on two pages is two groups.
        [
            RowGroups.of(page.group * (int(numbers.max()) + 1) + numbers)
            for numbers in (way[rows] for way in pages.groups)
        ],
        None if pages.bags is None else pages.bags.take(rows),
    )


def calibration(
    odds: NDArray[np.floating[Any]],
    labels: NDArray[np.number[Any] | np.bool_],
    weight: NDArray[np.floating[Any]] | None = None,
) -> tuple[float, float]:
    """Slope and offset that make log odds of unseen pages fit their labels best (Platt 1999).

    Parameters
    ----------
    odds
        (n,) log odds of blocks that weren't trained on.
    labels
        (n,) in [0, 1].
    weight
        (n,) how much each block counts; None: all the same.

    Returns
    -------
    slope, offset
        For :meth:`blockml.predictors.mlp.MLP.calibrated`.

    Examples
    --------
    >>> odds = np.array([-4., -4, -4, -4, 4, 4, 4, 4])
    >>> slope, offset = calibration(odds, np.array([1, 0, 0, 0, 0, 1, 1, 1]))
    >>> round(slope * 4, 3), round(abs(offset), 3)
    (1.099, 0.0)
    """
    from scipy.optimize import minimize

    share = np.full(len(odds), 1 / len(odds)) if weight is None else weight / weight.sum()

    def misfit(line: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        moved = line[0] * odds + line[1]
        error = share * (0.5 + 0.5 * np.tanh(0.5 * moved) - labels)
        return float(share @ (np.logaddexp(0, moved) - labels * moved)), np.array([error @ odds, error.sum()])

    slope, offset = minimize(misfit, np.array([1.0, 0.0]), jac=True, method="BFGS").x.tolist()
    return slope, offset
