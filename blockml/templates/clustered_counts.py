"""Counts of repeated text by cluster of pages with similar structure (Gottron 2008, *Bridging the gap*, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.clustering import PRESETS, single_linkage
from blockml.templates.distances import METRICS, PageSketch, distance_matrix, sketch
from blockml.templates.site import SiteTemplate


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredCounts:
    """Pages of a site in clusters of similar structure, with the counts of each cluster.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<h1>{name}</h1><p>Home</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> pages += [blockml.parse(f"<ul><li>{name}</ul>") for name in ("sugar", "salt")]
    >>> clusters = ClusteredCounts.learn(pages, "cp", threshold=0.5)  # small pages share most paths
    >>> [template.counts.n_pages for template in clusters.templates]
    [4, 2]
    >>> clusters.template_of(blockml.parse("<ul><li>pepper</ul>")).counts.n_pages
    2
    """

    metric: str  #: Distance of pages
    sketches: tuple[PageSketch, ...]  #: (n_pages,) structure of the pages
    labels: NDArray[np.int32]  #: (n_pages,) cluster of each page
    templates: tuple[SiteTemplate, ...]  #: (n_clusters,) counts of each cluster

    @classmethod
    def learn(cls, pages: Sequence[Page], metric: str, *, threshold: float | None = None) -> Self:
        """Cluster pages by single linkage and count each cluster.

        ``threshold`` is the maximum distance at which clusters are merged, by default the one published for the metric
        (:data:`~blockml.templates.clustering.PRESETS`). Raises UsageError for a metric without one, or if pages were
        parsed with different settings.
        """
        threshold = PRESETS.get(metric) if threshold is None else threshold
        if threshold is None:
            raise UsageError(f"distance {metric!r} has no published threshold of single linkage: pass one as threshold")
        sketches = tuple([sketch(page) for page in pages])
        labels = np.zeros(0, dtype=np.int32)
        if pages:
            labels = single_linkage(distance_matrix(sketches, metric), threshold=threshold).labels
        templates = tuple(
            SiteTemplate.count([pages[place] for place in np.flatnonzero(labels == cluster).tolist()])
            for cluster in range(int(labels.max(initial=-1)) + 1)
        )
        return cls(metric, sketches, labels, templates)

    def template_of(self, page: Page) -> SiteTemplate | None:
        """Return the counts of the cluster with the page nearest in structure; None without pages."""
        if not self.sketches:
            return None
        metric = METRICS[self.metric]
        own = metric.prepare(sketch(page))
        distances = [metric.compare(own, metric.prepare(other)) for other in self.sketches]
        return self.templates[int(self.labels[int(np.argmin(distances))])]
