"""Cluster pages by template, from a distance matrix or from sets of page features."""

from blockml.templates.clustering.linkage import (
    PRESETS,
    Clustering,
    DistanceHistogram,
    Subclusters,
    Threshold,
    auto_threshold,
    average_linkage,
    distance_histogram,
    find_subclusters,
    gap_threshold,
    silhouette_threshold,
    single_linkage,
)
from blockml.templates.clustering.medoids import MedoidRun, MedoidRuns, k_medoids, k_medoids_runs
from blockml.templates.clustering.minhash import minhash_linkage
from blockml.templates.clustering.multidimensional_scaling import Embedding, mds

__all__ = [
    "PRESETS", "Clustering", "DistanceHistogram", "Embedding", "MedoidRun", "MedoidRuns", "Subclusters",
    "Threshold", "auto_threshold", "average_linkage", "distance_histogram", "find_subclusters", "gap_threshold",
    "k_medoids", "k_medoids_runs", "mds", "minhash_linkage",
    "silhouette_threshold", "single_linkage",
]  # fmt: skip
