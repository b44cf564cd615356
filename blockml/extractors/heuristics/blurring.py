"""Gaussian blurring of long vectors, repeated until it changes little (Gottron 2008).

One round replaces each entry by the weighted mean of its neighbourhood. Weights beyond the ends of the vector are left
out and the others normalised, so that constant vectors are unchanged.

Many rounds are computed at once: away from the ends a round is a convolution, so ``n`` rounds are one product with the
``n``-th power of the kernel's spectrum. Because a round is an average, the largest change never grows from one round to
the next, so the last round is found by bisection. The result equals that of single rounds, at a tenth of the cost for
long vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

#: Number of rounds computed at once.
_STRIDE = 32

#: Minimum length, in widths of an end, for which computing many rounds at once is faster (measured).
_LONG = 12

#: Fraction of a kernel's weight that may be ignored: far below the rounding error of 64-bit sums of order 1.
_IGNORED = 1e-14

_Floats = NDArray[np.float64]


def kernel(radius: int, sigma: float) -> _Floats:
    """Weights of a neighbourhood: a Gauss distribution cut off at ``radius`` (Gottron 2008).

    Parameters
    ----------
    radius
        Neighbours on either side, in entries, at least 1.
    sigma
        Standard deviation of the distribution, in entries, above 0.

    Returns
    -------
    ndarray
        (2 * radius + 1,) weights with the sum 1, the middle one for the entry itself.

    Examples
    --------
    >>> kernel(2, 1.0).round(6).tolist()
    [0.054489, 0.244201, 0.40262, 0.244201, 0.054489]
    """
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    result: _Floats = weights / weights.sum()
    return result


def blur(values: _Floats, radius: int, sigma: float, eps: float, max_iter: int) -> tuple[_Floats, int]:
    """Blur until no entry changes by ``eps`` or more.

    Parameters
    ----------
    values
        (n,) in [0, 1].
    radius, sigma
        See :func:`kernel`.
    eps
        Blurring continues while an entry changes by at least this in a round; at least 1e-6. Without it, blurring would
        go on until all entries are the same. Ends after at most about ``0.25 / eps`` rounds.
    max_iter
        Maximum number of rounds.

    Returns
    -------
    values, rounds
        (n,) blurred values, and the number of rounds.

    Examples
    --------
    >>> blurred, rounds = blur(np.repeat([0.0, 1.0, 0.0], 100), 40, 13.3, 0.01, 100)
    >>> rounds, blurred[[0, 50, 100, 150]].round(3).tolist()
    (24, [0.133, 0.226, 0.444, 0.563])
    """
    values = np.asarray(values, dtype=np.float64)
    weights = kernel(radius, sigma)
    # With values in [0, 1], round n changes an entry by at most half the sum of |g_n - g_(n-1)|, g_n the kernel of n
    # rounds. With Gaussians that is 0.242 / n.
    stride = min(_STRIDE, math.ceil(0.25 / eps) + 1)
    advance = _leap if len(values) > _LONG * (_reach(weights, stride) + radius) else _walk
    rounds, settled = 0, not len(values)
    while rounds < max_iter and not settled:
        values, made, settled = advance(values, weights, min(stride, max_iter - rounds), eps)
        rounds += made
    return values, rounds


def _weighted(values: _Floats, weights: _Floats) -> _Floats:
    """Compute the weighted sum of each entry's neighbourhood."""
    radius = len(weights) // 2
    return np.convolve(values, weights)[radius : radius + len(values)]


def _walk(values: _Floats, weights: _Floats, most: int, eps: float) -> tuple[_Floats, int, bool]:
    """Blur in single rounds; return values, number of rounds, and whether the last one changed less than ``eps``."""
    scale = _weighted(np.ones(len(values)), weights)
    for made in range(1, most + 1):
        before, values = values, _weighted(values, weights) / scale
        if np.abs(values - before).max() < eps:
            return values, made, True
    return values, most, False


def _leap(values: _Floats, weights: _Floats, most: int, eps: float) -> tuple[_Floats, int, bool]:
    """Blur like :func:`_walk`, but faster for vectors that are long in comparison with ``most`` rounds."""
    reach = _reach(weights, most)
    # Entries further inside than this do not depend on the ends. The ends are blurred in single rounds, together with
    # as many entries again, so that cutting them off has no effect.
    margin = reach + len(weights) // 2
    head = _rounds(values[: 2 * margin], weights, most)[:, :margin]
    tail = _rounds(values[: -2 * margin - 1 : -1], weights, most)[:, :margin]
    inside = _Inside(values, weights, most, reach, margin)
    changes = np.maximum(np.abs(np.diff(head, axis=0)).max(axis=1), np.abs(np.diff(tail, axis=0)).max(axis=1))
    places = [lambda made: float(changes[made - 1]), *inside.changes()]
    last = _first_calm(places, most, eps)
    made = min(last, most)
    return np.concatenate([head[made], *inside.after(made), tail[made][::-1]]), made, last <= most


def _reach(weights: _Floats, rounds: int) -> int:
    """Return the distance that an entry spreads in some rounds, except for :data:`_IGNORED` of its weight.

    It is the distance of a random walk with steps drawn by the weights. By Doob's inequality, Chernoff's bound on its
    end holds for the whole walk.
    """
    radius = len(weights) // 2
    slopes = 2 ** np.arange(-3, 7, 0.25) / radius
    moments = np.cosh(np.outer(slopes, np.arange(-radius, radius + 1))) @ weights
    bound = ((rounds * np.log(moments) + math.log(2 / _IGNORED)) / slopes).min()
    return min(rounds * radius, math.ceil(float(bound)))


def _rounds(values: _Floats, weights: _Floats, most: int) -> _Floats:
    """Return (most + 1, n) values after each number of rounds."""
    scale = _weighted(np.ones(len(values)), weights)
    result = np.empty((most + 1, len(values)))
    result[0] = values
    for made in range(most):
        result[made + 1] = _weighted(result[made], weights) / scale
    return result


class _Inside:
    """The vector away from its ends, as overlapping rows that include everything blurred in from their neighbours."""

    def __init__(self, values: _Floats, weights: _Floats, most: int, reach: int, margin: int) -> None:
        radius = len(weights) // 2
        self.length = 1 << (8 * reach - 1).bit_length()  # so that at most a quarter is overlap
        self.reach = reach
        own = self.length - 2 * reach
        starts = range(margin, len(values) - margin, own)
        self.sizes = [min(own, len(values) - margin - start) for start in starts]
        self.spectra = [
            np.fft.rfft(values[start - reach : start - reach + self.length], self.length) for start in starts
        ]
        centred = np.zeros(self.length)
        centred[: radius + 1] = weights[radius:]
        centred[-radius:] = weights[:radius]
        spectrum = np.fft.rfft(centred).real  # the kernel is symmetric
        self.powers = np.ones((most + 1, len(spectrum)))
        for made in range(most):
            np.multiply(self.powers[made], spectrum, out=self.powers[made + 1])

    def _back(self, row: int, factors: _Floats) -> _Floats:
        """Return the entries of a row without overlap, from a product of spectra."""
        blurred = np.fft.irfft(self.spectra[row] * factors, self.length)
        return blurred[self.reach : self.reach + self.sizes[row]]

    def after(self, made: int) -> list[_Floats]:
        """Entries of all rows after some rounds."""
        return [self._back(row, self.powers[made]) for row in range(len(self.sizes))]

    def changes(self) -> list[Callable[[int], float]]:
        """Largest change in each row that a round makes."""

        def change_in(row: int) -> Callable[[int], float]:
            return lambda made: float(np.abs(self._back(row, self.powers[made] - self.powers[made - 1])).max())

        return [change_in(row) for row in range(len(self.sizes))]


def _first_calm(places: Sequence[Callable[[int], float]], most: int, eps: float) -> int:
    """First round that changes less than ``eps`` in all places; ``most + 1`` if none does."""
    stormy = 0  # a round that changes more somewhere; so does each before it
    place = calm = 0
    while calm < len(places) and stormy < most:
        change = places[place]
        if change(stormy + 1) < eps:
            place, calm = (place + 1) % len(places), calm + 1
            continue
        # The change could temporarily grow again here, carried in from elsewhere, so a calm round proves nothing.
        stormy, limit, calm = stormy + 1, most + 1, 0
        while stormy + 1 < limit:
            middle = (stormy + limit) // 2
            if change(middle) < eps:
                limit = middle
            else:
                stormy = middle
    return stormy + 1
