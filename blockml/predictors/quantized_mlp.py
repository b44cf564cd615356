"""Nets as they predict: weights and what goes through them are whole numbers of sixteen bits.

Sums of whole numbers are the same in any order, and so on every machine, with any library and any number of threads;
and processors multiply twice as many at once as floats. No sum needs more than 32 bits, whatever the page: weights are
rounded just so finely that it doesn't (compare Jacob et al. 2018, *Quantization and Training of Neural Networks for
Efficient Integer-Arithmetic-Only Inference*, with half as many bits). What that costs is in docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.features.ancestor_words import Bags
from blockml.features.factorize import factorize

__all__ = [
    "BOUND",
    "INPUT_STEPS",
    "LARGEST",
    "MOST_TERMS",
    "UNIT_STEPS",
    "QuantizedMLP",
    "quantize",
    "quantize_weights",
    "quantized_log_odds",
]

FloatArray = NDArray[np.float32]
Whole = NDArray[np.int16]

#: Standardised columns are held between ± this: a page unlike all of training must not drown the rest (our choice).
BOUND = 4
#: The largest of the whole numbers.
LARGEST = 2**15 - 1
#: Steps in which standardised columns are counted. Finer ones leave weights less of the 32 bits of a sum: of 2 ** 9 …
#: 2 ** 13 these came nearest to floats.
INPUT_STEPS = 2**10
#: Steps in which units are counted. So a unit is below 32; those of ``default`` reach 8 on WCXB.
UNIT_STEPS = 2**10
#: Bits by which sums of the first factor of a first layer are cut to be whole numbers of sixteen bits.
_CUT = 16
#: What sums stay below, so that half a step of :data:`_CUT` can be added to each.
_MOST = 2**31 - 2**_CUT
#: Products that a sum has at most: rounding of each takes room, of more than twice as many all that a sum has.
MOST_TERMS = 2**15
#: Words that a bag has at most, so that sums of their vectors fit.
_MOST_IN_BAG = 2**16


class QuantizedMLP(NamedTuple):
    """What :class:`blockml.predictors.mlp.MLP` is, in whole numbers; ``m``, ``f``, ``d``, ``h`` and ``k`` as there."""

    center: FloatArray
    """(f,)."""
    scale: FloatArray
    """(f,)."""
    input_u: Whole
    """(f, m · h), or (f, r)."""
    input_v: Whole
    """(r, m · h)."""
    input_scale: FloatArray
    """(m · h,) what one step of a sum that leads to units of the first layer is worth."""
    input_bias: FloatArray
    """(m · h,)."""
    word_vectors: Whole
    """(n_words, m · d)."""
    known_words: NDArray[np.uint8]
    """(n_words,) 1 for words whose vector isn't 0."""
    word_projection: Whole
    """(m, d, h)."""
    word_scale: FloatArray
    """(m · h,) as ``first_scale``, of sums over words."""
    self_weights: Whole
    """(m, h, k)."""
    page_weights: Whole
    """(m, 2 · h, k)."""
    group_weights: Whole
    """(m, ways · h, k)."""
    hidden_scale: FloatArray
    """(m, 1, k) as ``first_scale``."""
    hidden_bias: FloatArray
    """(m, 1, k)."""
    output_weights: Whole
    """(m, k, 1)."""
    output_scale: FloatArray
    """(m, 1, 1)."""
    output_bias: FloatArray
    """(m, 1, 1)."""


def quantize_weights(weights: NDArray[Any], most: int) -> tuple[Whole, NDArray[np.float64]]:
    """Round weights to whole numbers, a power of two for each column.

    Parameters
    ----------
    weights
        (…, terms, k) of half precision, in arrays of whatever type: their sums are exact, and so the same everywhere.
        No more terms than :data:`MOST_TERMS`.
    most
        What a whole number that is multiplied with them is at most.

    Returns
    -------
    weights, scale
        Whole numbers of the same shape, and what one of them is worth (…, 1, k). No sum of products is beyond 32 bits.

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
    # Rounding adds half a step to each term at most.
    room = np.minimum((_MOST / most - terms) / np.maximum(total, 1e-30), (LARGEST - 1) / np.maximum(largest, 1e-30))
    scale = np.ldexp(1.0, -(np.frexp(room)[1] - 1).clip(-60, 60))
    return np.rint(exact / scale).astype(np.int16), scale


def quantize(
    *,
    center: FloatArray,
    scale: FloatArray,
    input_u: FloatArray,
    input_bias: FloatArray,
    word_vectors: FloatArray,
    word_projection: FloatArray,
    self_weights: FloatArray,
    page_weights: FloatArray,
    group_weights: FloatArray,
    hidden_bias: FloatArray,
    output_weights: FloatArray,
    output_bias: FloatArray,
    input_v: FloatArray,
) -> QuantizedMLP:
    """Quantize the arrays of a :class:`blockml.predictors.mlp.MLP`."""
    units = self_weights.shape[1]
    whole_first, first_scale = quantize_weights(input_u, BOUND * INPUT_STEPS)
    first_scale = first_scale[0] / INPUT_STEPS
    whole_mix = input_v.astype(np.int16)
    if len(input_v):
        whole_mix, first_scale = quantize_weights(input_v * (first_scale * 2**_CUT)[:, None], LARGEST + 1)
    # Vectors of words are as large as can be, of each net; no more than the largest of them comes out of a mean.
    members, width = word_projection.shape[:2]
    largest = np.abs(word_vectors).reshape(len(word_vectors), members, width).max(axis=(0, 2), initial=2.0**-40)
    word_scale = np.ldexp(1.0, np.frexp(largest)[1] - 15)
    whole_lift, lift_scale = quantize_weights(word_projection * word_scale[:, None, None], LARGEST)
    second = np.concatenate([self_weights, page_weights, group_weights], axis=1) / np.float32(UNIT_STEPS)
    whole_second, second_scale = quantize_weights(second, LARGEST)
    whole_out, out_scale = quantize_weights(output_weights / np.float32(UNIT_STEPS), LARGEST)
    return QuantizedMLP(
        center=center,
        scale=scale,
        input_u=whole_first,
        input_v=whole_mix,
        input_scale=first_scale.astype(np.float32).ravel(),
        input_bias=input_bias,
        word_vectors=np.clip(np.rint(word_vectors / word_scale.repeat(width)), -LARGEST, LARGEST).astype(np.int16),
        known_words=(word_vectors != 0).any(axis=1).astype(np.uint8),
        word_projection=whole_lift,
        word_scale=lift_scale.astype(np.float32).ravel(),
        self_weights=np.ascontiguousarray(whole_second[:, :units]),
        page_weights=np.ascontiguousarray(whole_second[:, units : 3 * units]),
        group_weights=np.ascontiguousarray(whole_second[:, 3 * units :]),
        hidden_scale=second_scale.astype(np.float32),
        hidden_bias=hidden_bias,
        output_weights=whole_out,
        output_scale=out_scale.astype(np.float32),
        output_bias=output_bias,
    )


def quantized_log_odds(
    net: QuantizedMLP,
    inputs: FloatArray,
    groups: Sequence[NDArray[np.integer[Any]]],
    n_words: NDArray[np.float64],
    bags: Bags,
) -> FloatArray:
    """Log odds of the blocks of one page: the twin of what the compiled kernel does.

    Matrices hold whole numbers as floats of double precision, in which all of them, and their sums, are exact.

    Parameters
    ----------
    net
        The net.
    inputs
        (n, f) standardised columns, one block or more.
    groups, n_words, bags
        As :meth:`blockml.predictors.mlp.MLP.predict` takes them.

    Returns
    -------
    NDArray[np.float32]
        (n,).

    Raises
    ------
    UsageError
        A bag has too many words.
    """
    members, units = net.self_weights.shape[:2]
    hidden = _first_layer(net, inputs, bags)
    sums = _product(hidden, net.self_weights) + _product(_of_page(hidden, n_words), net.page_weights)
    for way, group in enumerate(groups):
        sums += _of_groups(hidden, group, net.group_weights[:, way * units : (way + 1) * units])
    second = _steps(sums.astype(np.float32) * net.hidden_scale + net.hidden_bias)
    odds = (
        _product(second, net.output_weights)[..., 0].astype(np.float32) * net.output_scale[:, 0] + net.output_bias[:, 0]
    )
    mean: FloatArray = np.cumsum(odds, axis=0)[-1] / np.float32(members)
    return mean


def _first_layer(net: QuantizedMLP, inputs: FloatArray, bags: Bags) -> NDArray[np.float64]:
    """(m, n, h) units of the first layer."""
    members, units = net.self_weights.shape[:2]
    sums = _product(np.rint(inputs * np.float32(INPUT_STEPS)).astype(np.float64), net.input_u)
    if len(net.input_v):
        sums = _product(np.floor((sums + 2 ** (_CUT - 1)) / 2**_CUT), net.input_v)
    first = sums.astype(np.float32) * net.input_scale + net.input_bias
    if len(net.word_vectors):
        first += _of_words(net, bags)[bags.bag]
    return np.ascontiguousarray(_steps(first).reshape(len(inputs), members, units).swapaxes(0, 1))


def _of_words(net: QuantizedMLP, bags: Bags) -> FloatArray:
    """(n_bags, m · h) what the words of each bag add to the first layer."""
    sizes, ends = np.diff(bags.starts), bags.starts[1:]
    if (sizes > _MOST_IN_BAG).any():
        raise UsageError(f"a bag has at most {_MOST_IN_BAG} words")
    vectors = np.concatenate([net.word_vectors[bags.buckets], net.known_words[bags.buckets, None]], axis=1)
    before = np.zeros((len(vectors) + 1, vectors.shape[1]))
    np.cumsum(vectors, axis=0, out=before[1:])
    sums = before[ends] - before[ends - sizes]
    means = _means(sums[:, :-1], np.maximum(sums[:, -1:], 1)).reshape(len(sizes), len(net.word_projection), -1)
    lifted = _product(means.swapaxes(0, 1), net.word_projection).swapaxes(0, 1).reshape(len(sizes), -1)
    rows: FloatArray = lifted.astype(np.float32) * net.word_scale
    return rows


def _of_page(hidden: NDArray[np.float64], n_words: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m, 1, 2 · h) means of units over the page's blocks and over its words."""
    words = np.rint(n_words)
    over_words = (hidden * words[:, None]).sum(axis=1) / max(float(words.sum()), 1.0)
    both: NDArray[np.float64] = np.rint(np.concatenate([hidden.mean(axis=1), over_words], axis=1))[:, None]
    return both


def _of_groups(hidden: NDArray[np.float64], numbers: NDArray[np.integer[Any]], weights: Whole) -> NDArray[np.float64]:
    """(m, n, k) what the means over the group of each block add to the second layer."""
    order, starts, group = factorize(numbers.astype(np.uint64))
    sizes = np.diff(np.append(starts, len(order)))
    means = _means(np.add.reduceat(hidden[:, order], starts, axis=1), sizes[:, None])
    return _product(means, weights).take(group, axis=1)


def _product(rows: NDArray[np.float64], weights: Whole) -> NDArray[np.float64]:
    """(…, n, k) matrix product of rows (…, n, f) with weights (…, f, k)."""
    # By numpy's own loops: the libraries behind its matrix product would start threads.
    found: NDArray[np.float64] = np.einsum("...nf,...fk->...nk", rows, weights.astype(np.float64))
    return found


def _means(sums: NDArray[np.float64], counts: NDArray[np.number[Any]]) -> NDArray[np.float64]:
    """Whole numbers nearest to quotients of floats of single precision."""
    return np.rint(sums.astype(np.float32) / counts.astype(np.float32)).astype(np.float64)


def _steps(units: FloatArray) -> NDArray[np.float64]:
    """Steps of units: of none that is negative, and no more than :data:`LARGEST`."""
    bounded = np.minimum(np.maximum(units, 0), np.float32(LARGEST / UNIT_STEPS))
    return np.rint(bounded * np.float32(UNIT_STEPS)).astype(np.float64)
