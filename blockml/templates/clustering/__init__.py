"""Groups of pages made from the same template, from distances between them or from sets of what they hold.

====================  ==========================================================================================
:mod:`~.linkage`      hierarchical clustering: single and average linkage
:mod:`~.thresholds`   where to stop merging: gaps in the distances, published thresholds
:mod:`~.medians`      k-median
:mod:`~.scaling`      non-metric scaling to the plane
:mod:`~.finer`        groups inside a cluster
:mod:`~.many`         single linkage of thousands of pages, without a matrix
====================  ==========================================================================================
"""

from blockml.templates.clustering.k_medoids import MedianRun, MedianRuns, k_median, k_median_runs
from blockml.templates.clustering.linkage import (
    PRESETS,
    Clustering,
    Merge,
    average_linkage,
    merge_list,
    single_linkage,
)
from blockml.templates.clustering.mds import Map, mds
from blockml.templates.clustering.minhash_linkage import cluster_many
from blockml.templates.clustering.subclusters import Finer, finer_clusters, two_level_labels
from blockml.templates.clustering.thresholds import (
    DistanceHistogram,
    Threshold,
    auto_threshold,
    distance_histogram,
    gap_threshold,
    histogram_threshold,
    silhouette_threshold,
)

__all__ = [
    "PRESETS",
    "Clustering",
    "DistanceHistogram",
    "Finer",
    "Map",
    "MedianRun",
    "MedianRuns",
    "Merge",
    "Threshold",
    "auto_threshold",
    "average_linkage",
    "cluster_many",
    "distance_histogram",
    "finer_clusters",
    "gap_threshold",
    "histogram_threshold",
    "k_median",
    "k_median_runs",
    "mds",
    "merge_list",
    "silhouette_threshold",
    "single_linkage",
    "two_level_labels",
]
