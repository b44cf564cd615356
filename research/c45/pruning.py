"""Pruning of C4.5 trees: collapsing, pessimistic pruning and sub-tree raising.

Works on the nodes of the learner, which hold their training rows and can therefore be raised.

Sources: Quinlan 1993, *C4.5: Programs for Machine Learning*, chapter 4, as in J48 of WEKA, the learner of Kim et al.
2013, section 4.3.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from blockml.errors import UsageError
from blockml.training import FlatTree
from research.c45.growing import SLACK

if TYPE_CHECKING:
    from research.c45.growing import Node, Rows, Sample

# Sub-trees that save fewer training errors are collapsed (C4.5).
COLLAPSE_SLACK = 1e-3
# Maximum number of additional estimated errors of a smaller tree (C4.5).
PRUNE_SLACK = 0.1


def added_errors(n: float, errors: float, confidence: float) -> float:
    """Compute the number of errors to add to a leaf's training errors to get an upper confidence limit.

    Parameters
    ----------
    n
        Training weight of the leaf, > 0.
    errors
        Training weight that it misclassifies, 0 … n.
    confidence
        Probability that the true error exceeds the estimate, in (0, 1]: the smaller, the more is added. Above 0.5,
        nothing is added, so the 0.70 of Kim et al. 2013 compares plain training errors.

    Raises
    ------
    UsageError
        ``n`` is not positive, or ``confidence`` is outside (0, 1].

    Notes
    -----
    Uses the exact binomial limit for no error, the normal approximation with continuity correction for one or more
    errors, and linear interpolation in between (Quinlan 1993, chapter 4; WEKA's ``Stats.addErrs``).

    Examples
    --------
    >>> round(added_errors(10, 0, 0.25), 6), round(added_errors(100, 10, 0.25), 6), added_errors(10, 0, 0.70)
    (1.294494, 2.749611, 0.0)
    """
    if not n > 0.0:
        raise UsageError(f"n must be a training weight > 0, got {n!r}")
    check_confidence(confidence)
    if confidence > 0.5:
        return 0.0
    if errors < 1.0:
        base = float(n * (1.0 - confidence ** (1.0 / n)))
        return base if errors <= 0.0 else base + errors * (added_errors(n, 1.0, confidence) - base)
    if errors + 0.5 >= n:
        return max(n - errors, 0.0)
    z = NormalDist().inv_cdf(1.0 - confidence)
    share = (errors + 0.5) / n
    spread = z * math.sqrt(share / n - share * share / n + z * z / (4.0 * n * n))
    return (share + z * z / (2.0 * n) + spread) / (1.0 + z * z / n) * n - errors


def check_confidence(confidence: float) -> None:
    """Check that a confidence is in (0, 1]; raises UsageError."""
    if not 0.0 < confidence <= 1.0:
        raise UsageError(f"confidence must be in (0, 1], got {confidence!r}")


def estimated_errors(n: float, errors: float, confidence: float) -> float:
    """Estimate the pessimistic errors of a leaf; 0 without training weight."""
    return errors + added_errors(n, errors, confidence) if n > SLACK else 0.0


def collapse(root: Node) -> None:
    """Turn every sub-tree that saves no training error into a leaf, in place.

    Examples
    --------
    >>> from research.c45.growing import Node
    >>> sons = (Node(np.array([0]), (1.0, 0.0)), Node(np.array([1]), (1.0, 0.0)))
    >>> root = Node(np.array([0, 1]), (2.0, 0.0), feature=0, threshold=0.5, children=sons)
    >>> collapse(root)
    >>> root.children
    ()
    """
    nodes = root.preorder()
    errors: dict[Node, float] = {}
    for node in reversed(nodes):
        errors[node] = sum(errors[child] for child in node.children) if node.children else node.errors
    for node in nodes:
        if errors[node] >= node.errors - COLLAPSE_SLACK:
            node.children = ()


def prune(root: Node, sample: Sample, confidence: float, *, subtree_raising: bool) -> None:
    """Prune a grown tree bottom-up by its pessimistic error estimate, in place.

    A node becomes a leaf if that costs at most 0.1 estimated errors against both its sub-tree and its largest branch;
    else the largest branch takes its place if that costs at most 0.1 against the sub-tree. A raised branch receives
    the rows of its former siblings and is pruned again.

    The nodes must hold their rows of ``sample``. For ``confidence`` and the UsageError, see :func:`added_errors`.
    """
    check_confidence(confidence)
    stack = [(root, False)]
    while stack:
        node, children_done = stack.pop()
        if not math.isnan(node.estimate):
            continue
        as_leaf = estimated_errors(node.weight, node.errors, confidence)
        if not node.children:
            node.estimate = as_leaf
        elif not children_done:
            stack.append((node, True))
            stack.extend((child, False) for child in node.children)
        else:
            as_tree = sum(child.estimate for child in node.children)
            # The last of equally large branches, as in WEKA.
            largest = max(reversed(node.children), key=lambda child: child.weight)
            others = np.concatenate([child.rows for child in node.children if child is not largest])
            as_branch = _errors_with(largest, others, sample, confidence) if subtree_raising else math.inf
            if as_leaf <= min(as_tree, as_branch) + PRUNE_SLACK + SLACK:
                node.children, node.estimate = (), as_leaf
            elif as_branch <= as_tree + PRUNE_SLACK + SLACK:
                _add_rows(largest, others, sample)
                node.feature, node.threshold, node.children = largest.feature, largest.threshold, largest.children
                stack.append((node, False))
            else:
                node.estimate = as_tree


def _errors_with(root: Node, rows: Rows, sample: Sample, confidence: float) -> float:
    """Estimate the errors of a pruned sub-tree with additional rows."""
    total = 0.0
    stack = [(root, rows)]
    while stack:
        node, extra = stack.pop()
        if not extra.size:
            total += node.estimate
        elif node.children:
            stack.extend(zip(node.children, node.branches(sample, extra), strict=True))
        else:
            negative, positive = sample.counts(extra)
            counts = (node.counts[0] + negative, node.counts[1] + positive)
            total += estimated_errors(sum(counts), min(counts), confidence)
    return total


def _add_rows(root: Node, rows: Rows, sample: Sample) -> None:
    """Send rows down a sub-tree, and reset the estimates that change."""
    stack = [(root, rows)]
    while stack:
        node, extra = stack.pop()
        if not extra.size:
            continue
        if node.children:
            stack.extend(zip(node.children, node.branches(sample, extra), strict=True))
        negative, positive = sample.counts(extra)
        node.counts = (node.counts[0] + negative, node.counts[1] + positive)
        node.rows = np.concatenate([node.rows, extra])
        node.estimate = math.nan


def pessimistic_prune(tree: FlatTree, confidence: float = 0.25) -> FlatTree:
    """Replace sub-trees by leaves where the pessimistic error estimate grows by at most 0.1.

    For ``confidence`` see :func:`added_errors`: 0.25 is J48's default; the 0.70 of Kim et al.
    2013 removes only splits that save no training error.

    Raises
    ------
    UsageError
        ``confidence`` is outside (0, 1].

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> noise = DecisionTreeClassifier(random_state=0).fit([[i] for i in range(20)], [0] * 12 + [1] + [0] * 7)
    >>> tree = FlatTree.from_sklearn(noise)
    >>> tree.value.size, pessimistic_prune(tree, 0.25).value.size, pessimistic_prune(tree, 0.70).value.size
    (5, 1, 5)
    """
    check_confidence(confidence)
    errors = tree.weight * np.minimum(tree.value, 1.0 - tree.value)
    leaf = tree.left < 0
    estimate = [estimated_errors(n, e, confidence) for n, e in zip(tree.weight.tolist(), errors.tolist(), strict=True)]
    for node in reversed(range(leaf.size)):
        if not leaf[node]:
            as_tree = estimate[tree.left[node]] + estimate[tree.right[node]]
            leaf[node] = estimate[node] <= as_tree + PRUNE_SLACK + SLACK
            estimate[node] = estimate[node] if leaf[node] else as_tree
    kept = np.zeros(leaf.size, dtype=np.bool_)
    kept[0] = True
    for node in range(leaf.size):
        if kept[node] and not leaf[node]:
            kept[[tree.left[node], tree.right[node]]] = True
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    is_leaf, none = leaf[kept], np.int32(-1)
    return FlatTree(
        feature=np.where(is_leaf, none, tree.feature[kept]),
        threshold=np.where(is_leaf, 0.0, tree.threshold[kept]),
        left=np.where(is_leaf, none, number[tree.left[kept]]),
        right=np.where(is_leaf, none, number[tree.right[kept]]),
        value=tree.value[kept],
        weight=tree.weight[kept],
    )
