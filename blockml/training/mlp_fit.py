"""Training of MLPs in pure numpy, on batches of pages: loss, gradient and optimiser.

The loss of a page is one minus the expected F1 of its words (each block counts by its probability), plus the weighted
cross entropy of its blocks. F1 by itself is hard to optimise; cross entropy by itself gives too much weight to blocks
with few words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.features.page_context import factorize
from blockml.predictors.mlp import MLP, FloatArray, signed_logarithms

#: Mean and deviation of columns are computed on every 7th row.
_EVERY = 7
#: Decay of the moments of Adam (Kingma and Ba 2015) with decoupled weight decay (Loshchilov and Hutter 2019). The
#: second decays faster than usual, because there are only a few hundred steps.
_MOMENTS = (0.9, 0.99)
#: Steps of linear warm-up, and the share of the learning rate that is left at the end of the cosine decay.
_WARM_UP, _FINAL_RATE = 50, 0.02


@dataclass(frozen=True, slots=True)
class MLPOptions:
    """Architecture and training of an MLP. Defaults: our choice, by cross-validation by site on 1,357 pages."""

    units: int = 64  #: Units of each layer.
    vector: int = 16  #: Components of word vectors.
    epochs: int = 9  #: Passes over the pages.
    pages: int = 12  #: Pages per batch.
    most_blocks: int = 400  #: Maximum number of blocks per page in a batch, redrawn for each batch.
    rate: float = 0.003  #: Maximum learning rate.
    decay: float = 0.5  #: Weight decay, in units of the learning rate.
    dropout: float = 0.3  #: Share of units, and of words, dropped in each step (Srivastava et al. 2014).
    column_dropout: float = 0.1  #: Share of columns dropped in each step.
    cross_entropy: float = 0.5  #: Weight of the cross entropy in the loss.
    min_pages: int = 5  #: Words on fewer training pages are ignored.


_DEFAULTS = MLPOptions()


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPages:
    """Stacked pages: page ``i`` has the rows ``starts[i] … starts[i + 1] - 1``."""

    matrix: FloatArray  #: (n_rows, n_columns) finite numbers.
    #: (n_rows,) share of each block that is content, in [0, 1], or whether it is content.
    labels: NDArray[np.number[Any] | np.bool_]
    n_words: NDArray[np.number[Any]]  #: (n_rows,) number of words of each block's text.
    starts: NDArray[np.integer[Any]]  #: (n_pages + 1,).
    #: (n_rows,) number of the block's group within its page, for each grouping.
    groups: Sequence[NDArray[np.integer[Any]]]
    words: AncestorWords | None = None  #: Ancestor words of each block; None for an MLP that reads none.
    known: NDArray[np.bool_] | None = None  #: (n_rows,) whether there is a gold label; None if all blocks have one.

    def rows_of(self, page: int) -> NDArray[np.intp]:
        """Return the row numbers of a page."""
        return np.arange(self.starts[page], self.starts[page + 1])


def fit_mlp(
    pages: TrainingPages,
    chosen: NDArray[np.integer[Any]] | None = None,
    *,
    typical: NDArray[np.integer[Any]] | None = None,
    skip: Sequence[int] = (),
    seed: int = 0,
    options: MLPOptions = _DEFAULTS,
) -> MLP:
    """Train one network.

    Runs in one thread; on one machine, equal input and seed give equal networks. Weights are in half precision. Log
    odds are about 1.7 times too large on unseen pages, because of the loss: :meth:`MLP.calibrated` scales them.

    Parameters
    ----------
    pages
        Pages with labels.
    chosen
        Ascending indices of the pages to train on; None for all.
    typical
        Ascending indices of the pages whose columns have mean 0 and deviation 1 in the input; None for ``chosen``.
        Networks can be joined if it is equal.
    skip
        Columns to ignore, such as those that hold codes rather than quantities.
    seed
        Seed of initial weights, order of pages and dropout.
    options
        Architecture and training.

    Raises
    ------
    UsageError
        There is no block to train on, or arrays have different lengths.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> matrix, starts = rng.normal(size=(400, 2)).astype(np.float32), np.arange(0, 401, 20)
    >>> pages = TrainingPages(matrix, matrix[:, 0] > 0, np.ones(400), starts, [np.zeros(400, int)])
    >>> mlp = fit_mlp(pages, options=MLPOptions(epochs=40, units=8))
    >>> mlp.predict(np.array([[2, 0], [-2, 0]], np.float32), [np.zeros(2, int)], np.ones(2)).round().tolist()
    [1.0, 0.0]
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn brings it

    n = len(pages.matrix)
    lengths = [len(pages.labels), len(pages.n_words), int(pages.starts[-1]), *map(len, pages.groups)]
    if any(length != n for length in lengths) or (pages.words is not None and len(pages.words.bag) != n):
        raise UsageError(f"all columns of the pages must have one entry for each of the {n} rows")
    sizes = np.diff(pages.starts)
    used = np.flatnonzero(sizes) if chosen is None else chosen[sizes[chosen] > 0]
    if not len(used):
        raise UsageError("there is no block to train on")
    rng = np.random.default_rng(seed)
    mlp = _standardisation(pages, used if typical is None else typical, skip)
    known = _known_words(pages, used, options.min_pages)
    weights = _initial_weights(rng, pages, known, options)
    with threadpool_limits(1, user_api="blas"):
        _train(weights, mlp, pages, used, known, rng, options)
    flat = ("input_u", "input_bias", "word_vectors")
    arrays: dict[str, Any] = {name: value if name in flat else value[None] for name, value in weights.items()}
    return replace(mlp, **arrays).rounded()


def factorize_input(mlp: MLP, matrix: FloatArray, rank: int) -> MLP:
    """Replace the input weights by two factors of low rank (at least 1), for fewer multiplications.

    Keeps the principal components of the input layer's sums (Eckart and Young 1936) on at least two typical rows (n,
    f). Join networks first, because their units are correlated too. An MLP is returned unchanged if the rank saves no
    multiplications; one that already has factors raises UsageError.
    """
    from threadpoolctl import threadpool_limits  # as above

    if len(mlp.input_v) or len(matrix) < 2:
        raise UsageError("factorize_input needs an MLP without factors, and at least two rows")
    columns, units = mlp.input_u.shape
    if rank * (columns + units) >= columns * units:
        return mlp
    with threadpool_limits(1, user_api="blas"):
        sums = mlp.scaled(matrix).astype(np.float64) @ mlp.input_u
        center = sums.mean(axis=0)
        sums -= center
        _, vectors = np.linalg.eigh(sums.T @ sums)  # by ascending eigenvalue
        kept = vectors[:, : -rank - 1 : -1]
        factors = {
            "input_u": mlp.input_u @ kept,
            "input_v": kept.T,
            "input_bias": mlp.input_bias + center - (center @ kept) @ kept.T,
        }
    contiguous = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in factors.items()}
    return replace(mlp, **contiguous).rounded()


def _standardisation(pages: TrainingPages, used: NDArray[np.integer[Any]], skip: Sequence[int]) -> MLP:
    """Build an MLP with the center and scale of the columns, and empty weights."""
    rows = np.concatenate([pages.rows_of(page) for page in used.tolist()])[::_EVERY]
    values = signed_logarithms(pages.matrix[rows])
    deviation = values.std(axis=0, dtype=np.float64)
    scale = np.where(deviation > 0, 1 / (deviation + 1e-3), 0)
    scale[list(skip)] = 0
    empty = {item.name: np.zeros(0, dtype=np.float32) for item in fields(MLP) if item.name != "input_v"}
    columns = {"center": values.mean(axis=0, dtype=np.float64), "scale": scale}
    return MLP(**empty | {name: column.astype(np.float32) for name, column in columns.items()})


def _known_words(pages: TrainingPages, used: NDArray[np.integer[Any]], min_pages: int) -> FloatArray:
    """Return 1 for words on enough pages and 0 for others, (N_HASHED_WORDS,); (0,) if there are no words."""
    if pages.words is None:
        return np.zeros(0, dtype=np.float32)
    counts = np.zeros(N_HASHED_WORDS, dtype=np.intp)
    for page in used.tolist():
        counts[np.unique(pages.words.take(pages.rows_of(page)).hashed_words)] += 1
    return (counts >= min_pages).astype(np.float32)


def _initial_weights(rng: np.random.Generator, pages: TrainingPages, known: FloatArray, options: MLPOptions) -> Weights:
    """Draw weights that preserve variance from layer to layer (He et al. 2015), with smaller ones for means."""
    f, h, d = pages.matrix.shape[1], options.units, options.vector if len(known) else 0

    def normal(spread: float, *shape: int) -> FloatArray:
        return rng.normal(0, spread, shape).astype(np.float32)

    return {
        "input_u": normal(0.7 * np.sqrt(2 / f), f, h),
        "word_vectors": normal(0.3, len(known), d) * known[:, None],
        "word_projection": normal(1 / np.sqrt(max(d, 1)), d, h),
        "self_weights": normal(1 / np.sqrt(h), h, h),
        "page_weights": normal(0.5 / np.sqrt(h), 2 * h, h),
        "group_weights": normal(0.7 / np.sqrt(h), len(pages.groups) * h, h),
        "output_weights": normal(1 / np.sqrt(h), h, 1),
        "input_bias": np.zeros(h, dtype=np.float32),
        "hidden_bias": np.zeros((1, h), dtype=np.float32),
        "output_bias": np.full((1, 1), -1, dtype=np.float32),
    }


def _train(
    weights: Weights,
    mlp: MLP,
    pages: TrainingPages,
    used: NDArray[np.integer[Any]],
    known: FloatArray,
    rng: np.random.Generator,
    options: MLPOptions,
) -> None:
    """Minimise the loss with Adam, changing the weights in place."""
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in weights.items()}
    slow, slower = _MOMENTS
    in_epoch = -(-len(used) // options.pages)
    for step in range(options.epochs * in_epoch):
        place = step % in_epoch
        if not place:
            order = rng.permutation(used)
        batch = _batch(pages, mlp, order[place * options.pages : (place + 1) * options.pages], rng, options)
        masks = Masks(
            known[:, None] * (rng.random((len(known), 1)) >= options.dropout),
            _dropout_mask(rng, (len(batch.columns), options.units), options.dropout),
            _dropout_mask(rng, (len(batch.columns), options.units), options.dropout),
        )
        _, gradients = loss(weights, batch, masks, options.cross_entropy)
        cosine = 0.5 * (1 + np.cos(np.pi * step / (options.epochs * in_epoch)))
        rate = options.rate * min(1, (step + 1) / _WARM_UP) * (_FINAL_RATE + (1 - _FINAL_RATE) * cosine)
        for name in weights:
            gradient, (mean, square) = gradients[name], moments[name]
            change = gradient - mean  # in place from here on, because new arrays would take most of the time
            change *= np.float32(1 - slow)
            mean += change
            gradient *= gradient
            gradient -= square
            gradient *= np.float32(1 - slower)
            square += gradient
            size = np.multiply(square, np.float32(1 / (1 - slower ** (step + 1))), out=gradient)
            np.sqrt(size, out=size)
            size += np.float32(1e-8)
            np.multiply(mean, np.float32(rate / (1 - slow ** (step + 1))), out=change)
            change /= size
            weights[name] *= np.float32(1 - rate * (0 if name.endswith("bias") else options.decay))
            weights[name] -= change


def _dropout_mask(rng: np.random.Generator, shape: tuple[int, ...], dropout: float) -> FloatArray:
    return (rng.random(shape, dtype=np.float32) >= dropout) * np.float32(1 / (1 - dropout))


def _batch(
    pages: TrainingPages, mlp: MLP, chosen: NDArray[np.integer[Any]], rng: np.random.Generator, options: MLPOptions
) -> Batch:
    """Gather the blocks of some pages, in order; of long pages, only a random part."""
    parts = [pages.rows_of(page) for page in chosen.tolist()]
    most = options.most_blocks
    parts = [rows if len(rows) <= most else np.sort(rng.permutation(rows)[:most]) for rows in parts]
    rows = np.concatenate(parts)
    page = RowGroups.runs(np.array([len(part) for part in parts]))
    columns = mlp.scaled(pages.matrix[rows])
    columns *= _dropout_mask(rng, (columns.shape[1],), options.column_dropout)
    return Batch(
        columns,
        pages.labels[rows].astype(np.float32),
        (np.ones(len(rows), dtype=bool) if pages.known is None else pages.known[rows]).astype(np.float32),
        pages.n_words[rows].astype(np.float32),
        page,
        # The same number on different pages means different groups.
        [
            RowGroups.of(page.group * (int(numbers.max()) + 1) + numbers)
            for numbers in (grouping[rows] for grouping in pages.groups)
        ],
        None if pages.words is None else pages.words.take(rows),
    )


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


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """Rows in groups."""

    order: NDArray[np.intp] | None  #: (n,) order of the rows by group; None if they are sorted already.
    starts: NDArray[np.intp]  #: (n_groups,) start of each group in this order; no group is empty.
    group: NDArray[np.intp]  #: (n,) group of each row.
    size: FloatArray = field(init=False)  #: (n_groups, 1) number of rows in each group.

    def __post_init__(self) -> None:
        size = np.diff(self.starts, append=len(self.group)).astype(np.float32)[:, None]
        object.__setattr__(self, "size", size)

    @classmethod
    def of(cls, numbers: NDArray[np.integer[Any]]) -> RowGroups:
        """Group rows by number.

        Examples
        --------
        >>> groups = RowGroups.of(np.array([7, 3, 7]))
        >>> groups.mean(np.array([[1], [2], [3]], np.float32)).tolist(), groups.group.tolist()
        ([[2.0], [2.0]], [1, 0, 1])
        """
        return cls(*factorize(numbers.astype(np.uint64)))

    @classmethod
    def runs(cls, lengths: NDArray[np.integer[Any]]) -> RowGroups:
        """Group consecutive rows, given the lengths of the groups, each at least 1."""
        return cls(None, np.cumsum(lengths) - lengths, np.repeat(np.arange(len(lengths)), lengths))

    def sum(self, rows: FloatArray) -> FloatArray:
        """Sum the rows (n, k) of each group, (n_groups, k)."""
        return np.add.reduceat(rows if self.order is None else rows[self.order], self.starts, axis=0)

    def mean(self, rows: FloatArray) -> FloatArray:
        """Average the rows (n, k) of each group, (n_groups, k)."""
        return np.divide(self.sum(rows), self.size)


def means(vectors: FloatArray, words: AncestorWords) -> FloatArray:
    """Average the vectors (hashed_words, k) of the words of each bag, (n_bags, k), ignoring words with vector 0.

    Examples
    --------
    >>> words = AncestorWords(starts=np.array([0, 3, 4]), hashed_words=np.array([2, 1, 0, 0]), bag=np.array([0, 1]))
    >>> means(np.array([[0], [1], [3]], np.float32), words).tolist()
    [[2.0], [0.0]]
    """
    found = vectors[words.hashed_words]
    bags = RowGroups.runs(np.diff(words.starts))
    counts = bags.sum((found != 0).any(axis=1)[:, None].astype(np.float32))
    return np.divide(bags.sum(found), np.maximum(counts, 1))
