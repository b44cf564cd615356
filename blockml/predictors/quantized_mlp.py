"""Prediction by int16-quantised MLPs.

Integer sums do not depend on their order, so they are equal on every machine, with any library and any number of
threads; and processors multiply twice as many int16 as floats at once. Weights are rounded as finely as possible while
every sum fits into 32 bits, for any page (compare Jacob et al. 2018, *Quantization and Training of Neural Networks for
Efficient Integer-Arithmetic-Only Inference*, with 8 bits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.ancestor_words import AncestorWords
from blockml.features.factorize import factorize

__all__ = ["BOUND", "MAX_TERMS", "FloatArray", "QuantizedMLP", "quantize", "quantize_weights", "quantized_log_odds"]

FloatArray = NDArray[np.float32]
Int16 = NDArray[np.int16]

#: Standardised columns are clipped to ± this, so that no outlier dominates the sums (our choice).
BOUND = 4
#: The largest int16.
LARGEST = 2**15 - 1
#: Steps per unit of standardised columns. Finer steps leave fewer of a sum's 32 bits to the weights: of 2 ** 9 … 2 **
#: 13, this value came closest to floats.
INPUT_STEPS = 2**10
#: Steps per unit of activations, which are below 32; those of ``default`` reach 8 on WCXB.
UNIT_STEPS = 2**10
#: Bits by which sums of the first factor of an input layer are shifted to fit int16.
_SHIFT = 16
#: Bound of sums, with room for rounding by half a step of :data:`_SHIFT`.
_MAX_SUM = 2**31 - 2**_SHIFT
#: Maximum number of products per sum: their rounding errors must stay inside 32 bits, which twice as many would exceed.
MAX_TERMS = 2**15
#: Rows of a batch, and units of a layer that are averaged at once: both bound the memory of intermediate results.
_BATCH, _UNITS = 256, 16
#: Maximum number of words in a bag, whose vectors are summed in 32 bits.
_MAX_BAG_WORDS = 2**16


class QuantizedMLP(NamedTuple):
    """Quantised arrays of :class:`blockml.predictors.mlp.MLP`, with the same shapes and meanings."""

    center: FloatArray
    scale: FloatArray
    input_u: Int16
    input_v: Int16
    input_scale: FloatArray  #: (m · h,) value of one step of the sums of input columns.
    input_bias: FloatArray
    word_vectors: Int16
    known_words: NDArray[np.uint8]  #: (n_words,) 1 for non-zero vectors.
    word_projection: Int16
    word_scale: FloatArray  #: (m · h,) value of one step of the sums of word vectors.
    self_weights: Int16
    page_weights: Int16
    group_weights: Int16
    hidden_scale: FloatArray  #: (m, 1, k) value of one step of the sums of the hidden layer.
    hidden_bias: FloatArray
    output_weights: Int16
    output_scale: FloatArray  #: (m, 1, 1) value of one step of the sums of the output.
    output_bias: FloatArray


def quantize_weights(weights: NDArray[Any], bound: int) -> tuple[Int16, NDArray[np.float64]]:
    """Quantize weights to int16, with a power of two as the scale of each column.

    Parameters
    ----------
    weights
        (…, terms, k) values of half precision, so that their sums are exact and equal on every machine. At most
        :data:`MAX_TERMS` terms.
    bound
        Bound of the integers they are multiplied by.

    Returns
    -------
    weights, scale
        Integers (…, terms, k), and the value of one step (…, 1, k). No sum of products exceeds 32 bits.

    Examples
    --------
    >>> weights, scale = quantize_weights(np.array([[1.0], [-0.25]]), LARGEST)
    >>> weights.tolist(), (weights * scale).tolist()
    ([[16384], [-4096]], [[1.0], [-0.25]])
    """
    exact = weights.astype(np.float64)
    terms = exact.shape[-2]
    total = np.abs(exact).sum(axis=-2, keepdims=True)
    largest = np.abs(exact).max(axis=-2, keepdims=True, initial=0)
    # Rounding adds at most half a step to each term.
    room = np.minimum((_MAX_SUM / bound - terms) / np.maximum(total, 1e-30), (LARGEST - 1) / np.maximum(largest, 1e-30))
    scale = np.ldexp(1.0, -(np.frexp(room)[1] - 1).clip(-60, 60))
    return np.rint(exact / scale).astype(np.int16), scale


def quantize(arrays: Mapping[str, FloatArray]) -> QuantizedMLP:
    """Quantize the arrays of a :class:`blockml.predictors.mlp.MLP`, given by name."""
    self_weights, word_vectors, word_projection = (
        arrays[name] for name in ("self_weights", "word_vectors", "word_projection")
    )
    units = self_weights.shape[1]
    input_u, input_scale = quantize_weights(arrays["input_u"], BOUND * INPUT_STEPS)
    input_scale = input_scale[0] / INPUT_STEPS
    input_v = arrays["input_v"].astype(np.int16)
    if len(input_v):
        factor_scale = (input_scale * 2**_SHIFT)[:, None]
        input_v, input_scale = quantize_weights(arrays["input_v"] * factor_scale, LARGEST + 1)
    # Word vectors use the full range of int16 in each network; their means can't exceed it.
    members, size = word_projection.shape[:2]
    largest = np.abs(word_vectors).reshape(len(word_vectors), members, size).max(axis=(0, 2), initial=2.0**-40)
    vector_scale = np.ldexp(1.0, np.frexp(largest)[1] - 15)
    projection, word_scale = quantize_weights(word_projection * vector_scale[:, None, None], LARGEST)
    words = word_vectors / vector_scale.repeat(size).astype(np.float32)  # exact, because these are powers of two
    np.clip(np.rint(words, out=words), -LARGEST, LARGEST, out=words)
    hidden = np.concatenate([self_weights, arrays["page_weights"], arrays["group_weights"]], axis=1)
    hidden_weights, hidden_scale = quantize_weights(hidden / np.float32(UNIT_STEPS), LARGEST)
    output_weights, output_scale = quantize_weights(arrays["output_weights"] / np.float32(UNIT_STEPS), LARGEST)
    return QuantizedMLP(
        center=arrays["center"],
        scale=arrays["scale"],
        input_u=input_u,
        input_v=input_v,
        input_scale=input_scale.astype(np.float32).ravel(),
        input_bias=arrays["input_bias"],
        word_vectors=words.astype(np.int16),
        known_words=(word_vectors != 0).any(axis=1).astype(np.uint8),
        word_projection=projection,
        word_scale=word_scale.astype(np.float32).ravel(),
        self_weights=np.ascontiguousarray(hidden_weights[:, :units]),
        page_weights=np.ascontiguousarray(hidden_weights[:, units : 3 * units]),
        group_weights=np.ascontiguousarray(hidden_weights[:, 3 * units :]),
        hidden_scale=hidden_scale.astype(np.float32),
        hidden_bias=arrays["hidden_bias"],
        output_weights=output_weights,
        output_scale=output_scale.astype(np.float32),
        output_bias=arrays["output_bias"],
    )


def quantized_log_odds(
    mlp: QuantizedMLP,
    inputs: Callable[[slice], FloatArray],
    groups: Sequence[NDArray[np.integer[Any]]],
    n_words: NDArray[np.float64],
    words: AncestorWords,
) -> FloatArray:
    """Predict the log odds of the blocks of one page: the reference implementation of the compiled code.

    Integers are held in double precision, which represents all of them and their sums exactly.

    Parameters
    ----------
    mlp
        The quantised MLP.
    inputs
        Function that returns the standardised columns (r, f) of r of the n blocks; n is at least 1. Standardising all
        at once would take as much memory as the page's matrix.
    groups, n_words, words
        See :meth:`blockml.predictors.mlp.MLP.predict`.

    Returns
    -------
    NDArray[np.float32]
        (n,).

    Raises
    ------
    UsageError
        A bag has too many words.
    """
    members = len(mlp.self_weights)
    weights = np.rint(np.fmin(np.fmax(n_words, 0), 2**31 - 1))
    hidden = _input_layer(mlp, inputs, len(n_words), words)
    grouped = [factorize(numbers.astype(np.uint64)) for numbers in groups]
    log_odds = np.zeros((members, len(n_words)), dtype=np.float32)
    for member in range(members):  # one at a time, because their sums take more memory than the page
        sums = _hidden_sums(mlp, member, hidden[member], weights, grouped)
        scale, bias = mlp.hidden_scale[member], mlp.hidden_bias[member]
        for rows in _batches(len(sums)):
            last = _activation(sums[rows].astype(np.float32) * scale + bias)
            outputs = _product(last, mlp.output_weights[member])[:, 0].astype(np.float32)
            log_odds[member, rows] = outputs * mlp.output_scale[member, 0] + mlp.output_bias[member, 0]
    mean: FloatArray = np.cumsum(log_odds, axis=0)[-1] / np.float32(members)
    return mean


def _batches(n: int) -> list[slice]:
    """Return slices of at most :data:`_BATCH` of ``n`` rows, which bound the memory of intermediate results."""
    return [slice(start, start + _BATCH) for start in range(0, n, _BATCH)]


def _hidden_sums(
    mlp: QuantizedMLP,
    member: int,
    hidden: Int16,
    weights: NDArray[np.float64],
    grouped: Sequence[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]],
) -> NDArray[np.int32]:
    """Compute the sums of the hidden layer (n, k) of one network from the units of its input layer (n, h)."""
    units = hidden.shape[1]
    # Means over the page's blocks and over its words.
    totals = np.zeros(units)
    for rows in _batches(len(hidden)):
        totals += (hidden[rows].astype(np.float64) * weights[rows, None]).sum(axis=0)
    over_words = totals / max(float(weights.sum()), 1.0)
    page = np.rint(np.concatenate([hidden.mean(axis=0, dtype=np.float64), over_words]))[None]
    sums = _products(hidden, mlp.self_weights[member])
    sums += _products(page, mlp.page_weights[member])
    for number, (order, starts, group) in enumerate(grouped):
        sizes = np.diff(np.append(starts, len(order)))
        means = np.empty((len(starts), units), dtype=np.float32)
        for part in range(0, units, _UNITS):
            columns = slice(part, part + _UNITS)
            totals = np.add.reduceat(hidden[order, columns].astype(np.float64), starts, axis=0)
            means[:, columns] = _means(totals, sizes[:, None])
        contribution = _products(means, mlp.group_weights[member, number * units : (number + 1) * units])
        for rows in _batches(len(sums)):
            sums[rows] += contribution[group[rows]]
    return sums


def _input_layer(mlp: QuantizedMLP, inputs: Callable[[slice], FloatArray], n: int, words: AncestorWords) -> Int16:
    """Compute the units of the input layer, (m, n, h)."""
    members, units = mlp.self_weights.shape[:2]
    of_words = _word_sums(mlp, words) if len(mlp.word_vectors) else None
    hidden = np.empty((members, n, units), dtype=np.int16)
    for rows in _batches(n):
        sums = _product(np.rint(inputs(rows) * np.float32(INPUT_STEPS)).astype(np.float64), mlp.input_u)
        if len(mlp.input_v):
            sums = _product(np.floor((sums + 2 ** (_SHIFT - 1)) / 2**_SHIFT), mlp.input_v)
        values = sums.astype(np.float32) * mlp.input_scale + mlp.input_bias
        if of_words is not None:
            values += of_words[words.bag[rows]]
        hidden[:, rows] = _activation(values).reshape(len(values), members, units).swapaxes(0, 1)
    return hidden


def _word_sums(mlp: QuantizedMLP, words: AncestorWords) -> FloatArray:
    """Compute the contribution of each bag of words to the input layer, (n_bags, m · h)."""
    sizes, ends = np.diff(words.starts), words.starts[1:]
    if (sizes > _MAX_BAG_WORDS).any():
        raise UsageError(f"a block must have at most {_MAX_BAG_WORDS} ancestor words")
    contribution = np.empty((len(sizes), len(mlp.word_scale)), dtype=np.float32)
    for bags in _batches(len(sizes)):
        hashed_words = words.hashed_words[words.starts[bags.start] : ends[bags][-1]]
        vectors = np.concatenate([mlp.word_vectors[hashed_words], mlp.known_words[hashed_words, None]], axis=1)
        before = np.zeros((len(vectors) + 1, vectors.shape[1]))
        np.cumsum(vectors, axis=0, out=before[1:])
        last = ends[bags] - words.starts[bags.start]
        sums = before[last] - before[last - sizes[bags]]
        means = _means(sums[:, :-1], np.maximum(sums[:, -1:], 1)).reshape(len(last), len(mlp.word_projection), -1)
        projected = _product(means.swapaxes(0, 1), mlp.word_projection).swapaxes(0, 1).reshape(len(last), -1)
        contribution[bags] = projected.astype(np.float32) * mlp.word_scale
    return contribution


def _product(rows: NDArray[np.float64], weights: Int16) -> NDArray[np.float64]:
    """Multiply rows (…, n, f) with weights (…, f, k)."""
    # Uses numpy's own loops, because the libraries behind its matrix product would start threads.
    product: NDArray[np.float64] = np.einsum("...nf,...fk->...nk", rows, weights.astype(np.float64))
    return product


def _products(rows: NDArray[np.number[Any]], weights: Int16) -> NDArray[np.int32]:
    """Multiply rows (n, f) of integers with weights (f, k); no sum exceeds 32 bits."""
    product = np.empty((len(rows), weights.shape[1]), dtype=np.int32)
    for batch in _batches(len(rows)):
        product[batch] = _product(rows[batch].astype(np.float64), weights)
    return product


def _means(sums: NDArray[np.float64], counts: NDArray[np.number[Any]]) -> NDArray[np.float64]:
    """Divide in single precision, and round to integers."""
    return np.rint(sums.astype(np.float32) / counts.astype(np.float32)).astype(np.float64)


def _activation(values: FloatArray) -> NDArray[np.float64]:
    """Clip to [0, LARGEST / UNIT_STEPS] (a bounded ReLU), and round to steps."""
    bounded = np.minimum(np.maximum(values, 0), np.float32(LARGEST / UNIT_STEPS))
    return np.rint(bounded * np.float32(UNIT_STEPS)).astype(np.float64)
