"""Single linkage of thousands of pages without a matrix of all distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, needed
from blockml.templates.clustering.linkage import Clustering, as_threshold, numbered
from blockml.templates.distances.page_sketch import mix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Share of the leaders exactly at the threshold that the index should find; nearer ones are found far more often, missed
# ones later by exact comparison. On synthetic sites 0.99 took two to three times as long, 0.2 about as long as 0.5.
_RECALL = 0.5

# Leaders with the most similar signatures that a set is compared with. Our choice.
_TRIES = 8

# Entries of a product of matrices held in memory at once, about 50 MB.
_CHUNK = 4_000_000


def least_jaccard(threshold: float) -> float:
    """Return the minimum Jaccard similarity of two sets whose distance is at most ``threshold``, in [0, 1].

    With m the greater size and c shared elements, the distance 1 - c/m <= t gives c >= (1 - t) m. The union has at most
    2 m - c elements, so the Jaccard similarity is at least c / (2 m - c) >= (1 - t) / (1 + t).

    Examples
    --------
    >>> least_jaccard(0.6)
    0.25
    """
    return (1.0 - threshold) / (1.0 + threshold)


def minhash_linkage(
    sets: Sequence[NDArray[np.uint64]], *, threshold: float, n_permutations: int = 128, random_state: int = 0
) -> Clustering:
    """Cluster sets by single linkage of the distance 1 - |A ∩ B| / max(|A|, |B|).

    Gives the result of :func:`single_linkage` of all distances, for any random state: MinHash signatures (Broder 1997)
    only propose candidates, every decision counts elements. Equal sets are clustered once. Each set queries an index
    for similar leaders and joins those within the threshold, or becomes a leader. Finally, clusters are joined if any
    members are within the threshold; a set is compared with the members of another cluster only if it shares enough
    elements with their union. The result does not list merges. Each set holds hashed features (paths or shingles of
    tags), (m,) non-negative integers in any order. Clusters up to the distance ``threshold``, inclusive, are merged.
    ``n_permutations``, the length of the signatures, and ``random_state``, their seed, affect only the running time.
    Raises UsageError on invalid sets or arguments, and MissingExtraError without the package datasketch.

    Examples
    --------
    >>> sets = [np.array([1, 2, 3], dtype=np.uint64), np.array([7], dtype=np.uint64), np.array([1, 2], dtype=np.uint64)]
    >>> minhash_linkage(sets, threshold=0.5).labels.tolist()
    [0, 1, 0]
    """
    threshold = as_threshold(threshold)
    if n_permutations < 2 or not 0 <= random_state < 2**32:
        raise UsageError(
            "n_permutations must be at least 2 and random_state between 0 and 2**32 - 1, "
            f"got {n_permutations} and {random_state}"
        )
    distinct: dict[bytes, int] = {}
    different: list[NDArray[np.uint64]] = []
    kinds = np.empty(len(sets), dtype=np.int64)
    for i, values in enumerate(sets):
        elements = np.asarray(values)
        if elements.ndim != 1 or (elements.size and (elements.dtype.kind not in "iu" or elements.min() < 0)):
            raise UsageError("a set must be a one-dimensional array of non-negative integers")
        elements = np.unique(elements.astype(np.uint64))
        kinds[i] = distinct.setdefault(elements.tobytes(), len(distinct))
        if kinds[i] == len(different):
            different.append(elements)
    if threshold >= 1:  # the greatest distance is 1
        return Clustering(numbered(np.zeros(len(sets))), threshold=threshold)
    collection = _Collection.of(different, threshold)
    components = _join(collection, _lead(collection, n_permutations, random_state))
    return Clustering(numbered(components[kinds]), threshold=threshold)


@dataclass(frozen=True, slots=True, eq=False)
class _Collection:
    """Distinct sets and the threshold within which two are neighbours."""

    values: Sequence[NDArray[np.uint64]]  #: Elements of each set
    elements: NDArray[np.int64]  #: Elements of all sets, concatenated and numbered from 0
    starts: NDArray[np.int64]  #: (n + 1,) start of each set in ``elements``
    threshold: float

    @classmethod
    def of(cls, values: Sequence[NDArray[np.uint64]], threshold: float) -> _Collection:
        joined = np.concatenate([*values, np.zeros(0, dtype=np.uint64)])
        elements = np.unique(joined, return_inverse=True)[1].reshape(-1)
        return cls(values, elements, np.cumsum([0, *map(len, values)]), threshold)

    def __len__(self) -> int:
        return len(self.values)

    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def members(self, i: int) -> NDArray[np.int64]:
        return self.elements[self.starts[i] : self.starts[i + 1]]

    def near(self, shared: NDArray[Any], size: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which sets are within the threshold, given the shared elements and the greater size of each pair.

        Computes the distance by its definition, so that pairs exactly at the threshold are decided as in a matrix.
        """
        close: NDArray[np.bool_] = 1 - shared / np.maximum(size, 1) <= self.threshold
        return close


def _lead(collection: _Collection, n_permutations: int, random_state: int) -> NDArray[np.int64]:
    """Return (n,) components after each set has joined the leaders within the threshold that the index proposed."""
    with needed("Clustering of thousands of pages", "scale"):
        from datasketch import MinHash, MinHashLSH
    index = MinHashLSH(num_perm=n_permutations, params=_bands(n_permutations, least_jaccard(collection.threshold)))
    signatures = MinHash.generator(
        # spread over the 32-bit range of the signatures
        ((mix(np.ones_like(values), values) >> np.uint64(32)).tolist() for values in collection.values),
        num_perm=n_permutations,
        seed=int(random_state),
        hashfunc=int,
    )
    sizes = collection.sizes()
    components = np.arange(len(collection))
    sketches = np.empty((len(collection), n_permutations), dtype=np.uint32)
    marked = np.zeros(int(collection.elements.max(initial=-1)) + 1, dtype=bool)
    for i, signature in enumerate(signatures):
        if not sizes[i]:
            continue  # the empty set has no neighbours
        sketches[i] = signature.hashvalues
        leaders = np.sort(np.array(index.query(signature), dtype=np.int64))
        if len(leaders) > _TRIES:
            similarity = (sketches[leaders] == sketches[i]).sum(axis=1)
            leaders = leaders[np.argsort(-similarity, kind="stable")[:_TRIES]]
        marked[collection.members(i)] = True
        near = leaders[_near_marked(collection, leaders, marked, int(sizes[i]))]
        marked[collection.members(i)] = False
        if not len(near):
            index.insert(i, signature)
            continue
        met = np.unique(components[near])
        components[i] = met[0]
        if len(met) > 1:
            components[np.isin(components, met[1:])] = met[0]
    return components


def _bands(n_permutations: int, similarity: float) -> tuple[int, int]:
    """Return bands and rows of an index: the most rows that reach the recall at this similarity."""
    candidates = range(1, n_permutations // 2 + 1)
    found = (rows for rows in candidates if 1 - (1 - similarity**rows) ** (n_permutations // rows) >= _RECALL)
    rows = max(found, default=1)
    return n_permutations // rows, rows


def _near_marked(
    collection: _Collection, others: NDArray[np.int64], marked: NDArray[np.bool_], size: int
) -> NDArray[np.bool_]:
    """Return which of the non-empty sets ``others`` are within the threshold of the set of marked elements."""
    if not len(others):
        return np.zeros(0, dtype=bool)
    members = [collection.members(int(other)) for other in others]
    sizes = np.array([len(elements) for elements in members])
    hits = marked[np.concatenate(members)]
    shared = np.add.reduceat(hits, np.cumsum(sizes) - sizes, dtype=np.int64)
    return collection.near(shared, np.maximum(sizes, size))


def _join(collection: _Collection, components: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n,) components after joining all components with members within the threshold of each other.

    Let U be the union of a component's members and l the size of its smallest one. A set A shares at most |A ∩ U|
    elements with a member, and the greater of both has at least max(|A|, l). So if 1 - |A ∩ U| / max(|A|, l) exceeds
    the threshold, A needs no comparison with any member.
    """
    from scipy.sparse import csr_array

    n = len(collection)
    if not n:
        return components
    sizes = collection.sizes()
    shape = (n, int(collection.elements.max(initial=-1)) + 1)
    rows = csr_array((np.ones(len(collection.elements), dtype=np.int32), collection.elements, collection.starts), shape)
    # Larger components first: comparing sets of the larger with the union of the smaller gives the tighter bound.
    found, inverse, counts = np.unique(components, return_inverse=True, return_counts=True)
    rank = np.empty(len(found), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(found))
    part = rank[inverse.reshape(-1)]
    by_part = np.argsort(part, kind="stable")
    bounds = np.cumsum([0, *np.bincount(part)])
    least = np.minimum.reduceat(sizes[by_part], bounds[:-1])
    joined = csr_array((np.ones(n, dtype=np.int32), (part, np.arange(n))), shape=(len(found), n)) @ rows
    joined.data[:] = 1

    roots = np.arange(len(found))
    for items, other in _worth_comparing(collection, rows, joined, part, least):
        left = items[roots[part[items]] != roots[other]]
        members = by_part[bounds[other] : bounds[other + 1]]
        step = max(_CHUNK // len(members), 1)
        for first in range(0, len(left), step):
            chunk = left[first : first + step]
            shared = (rows[chunk] @ rows[members].T).tocoo()
            near = collection.near(shared.data, np.maximum(sizes[chunk][shared.row], sizes[members][shared.col]))
            met = np.unique(roots[part[chunk[shared.row[near]]]])
            if len(met):
                roots[np.isin(roots, met)] = roots[other]
    return roots[part]


def _worth_comparing(
    collection: _Collection, rows: csr_array, joined: csr_array, part: NDArray[np.int64], least: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield (sets, component) pairs: sets of larger components that may be within the threshold of a member."""
    sizes = collection.sizes()
    step = max(_CHUNK // len(sizes), 1)
    for first in range(0, len(least), step):
        shared = (rows @ joined[first : first + step].T).tocoo()
        other = shared.col.astype(np.int64) + first
        worth = collection.near(shared.data, np.maximum(sizes[shared.row], least[other])) & (part[shared.row] < other)
        items, others = shared.row[worth].astype(np.int64), other[worth]
        order = np.argsort(others, kind="stable")
        different, starts = np.unique(others[order], return_index=True)
        yield from zip(np.split(items[order], starts[1:]), different.tolist(), strict=False)
