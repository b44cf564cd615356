"""Site templates: learnt from the pages of a site, stored in a small file, updated, applied, and counted by cluster."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import ModelError, ModelFormatError, UsageError
from blockml.page import Page
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.storage.arrays import read_arrays, write_arrays
from blockml.templates.clustering import PRESETS, single_linkage
from blockml.templates.distances import METRICS, PageSketch, distance_matrix, sketch
from blockml.templates.frequency import SiteCounts
from blockml.templates.mapping import Tree, learnt_tree, membership, page_template
from blockml.text.words import counted

#: Version of the file format.
TEMPLATE_FORMAT = 1

#: Distance that separates layouts: as good as any other, and the fastest (Gottron 2008, section 7).
METRIC = "cp"

#: Number of pages mapped to the medoid of a layout: the size of a complete subdigraph (Alarte et al. 2014, section
#: 4.1).
N_MAPPED = 4

#: Minimum number of these pages that a node must be on, so that one unusual page doesn't empty the tree (public
#: implementation of Alarte et al.: 2 of 3; their paper requires all).
MIN_VOTES = 2

#: Equality of nodes: page builders number class names, and containers differ in length (our choice).
EQUALITY = "blockml"

#: Maximum number of pages for computing all distances (our choice: a matrix of 400 takes well under a second).
_MOST_COMPARED = 400

_COUNTS, _LAYOUT = "counts-", "layout-"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Pages of a site with similar structure."""

    n_pages: int  #: Number of learned pages
    paths: NDArray[np.uint64]  #: (n_paths,) common paths of the medoid, as sorted codes
    tree: Tree | None  #: Tree that the medoid shares with others; None for a single page


@dataclass(frozen=True, slots=True, eq=False)
class SiteTemplate:
    """Template of a site: counts of repeated text over all its pages, and the tree of each layout.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> template = SiteTemplate.learn(pages, name="animals.example")
    >>> template
    SiteTemplate('animals.example', 4 pages, 1 layout, ...)
    >>> template.in_tree(blockml.parse("<p>Home</p><p>About snails.</p>")).tolist()
    [True, True, True, True, True, True, False]
    """

    name: str  #: Name of the site
    counts: SiteCounts  #: Counts of repeated text
    layouts: tuple[Layout, ...] = ()  #: Layouts, the largest first
    #: Back end and segmentation profile of the pages; None before the first page
    parsing: tuple[str, str] | None = None

    def __repr__(self) -> str:
        """Return a short form that identifies the learned pages, for the id of an extractor."""
        n = len(self.layouts)
        mark = hashlib.sha256(self.counts.fingerprints.tobytes()).hexdigest()[:6]
        return f"SiteTemplate({self.name!r}, {counted(self.counts.n_pages, 'page')}, {counted(n, 'layout')}, {mark})"

    @classmethod
    def count(cls, pages: Iterable[Page], *, name: str = "") -> Self:
        """Learn only the counts of pages of a site, without storing the pages.

        Raises UsageError if the pages were parsed with different settings.
        """
        return cls(name, SiteCounts.learn(())).updated(pages)

    @classmethod
    def learn(
        cls,
        pages: Iterable[Page],
        *,
        name: str = "",
        threshold: float | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> Self:
        """Learn the counts and layouts of a site.

        ``threshold`` is the maximum common-path distance between pages of one layout, by default chosen automatically;
        ``progress`` is called as :mod:`blockml.progress` says. Pages with equal text count once. Raises UsageError if
        the pages were parsed with different settings or not at all, or for a negative threshold.
        """
        pages = list(pages)  # iterated twice
        counted = cls.count(tracked(pages, progress, "repeated text", len(pages)), name=name)
        # Copies count once here too: text that a page shares only with its copies is not part of the template.
        pages = list({"\n".join(page.blocks.texts) or number: page for number, page in enumerate(pages)}.values())
        sketches = [sketch(page) for page in pages]
        groups = sorted(_groups(sketches, threshold), key=len, reverse=True)
        learnt = tracked(groups, progress, "layouts", len(groups))
        return replace(counted, layouts=tuple([_learn_layout(pages, sketches, group) for group in learnt]))

    def updated(self, pages: Iterable[Page]) -> Self:
        """Return the template with counts of further pages. Layouts are unchanged; only :meth:`learn` recomputes them.

        Raises UsageError if a page was parsed with different settings.
        """
        parsing = self.parsing

        def checked() -> Iterable[Page]:
            nonlocal parsing
            for page in pages:
                if not isinstance(page, Page):
                    raise UsageError(f"pages must be parsed, as by blockml.parse, got {type(page).__name__}")
                parsing = parsing or (page.backend, page.profile)
                self._check(page, parsing)
                yield page

        counts = self.counts.updated(checked())
        return replace(self, counts=counts, parsing=parsing)

    def check(self, page: Page) -> None:
        """Raise UsageError if a page was parsed with settings other than those learned, so that blocks don't match."""
        if self.parsing is not None:
            self._check(page, self.parsing)

    @staticmethod
    def _check(page: Page, parsing: tuple[str, str]) -> None:
        if (page.backend, page.profile) != parsing:
            raise UsageError(
                f"pages of this site were parsed with {' and '.join(parsing)}, not {page.backend} and {page.profile}; "
                "learn the site from pages parsed as the extractor needs them, or use another extractor"
            )

    def layout_of(self, page: Page) -> Layout | None:
        """Return the layout nearest to a page; None without layouts."""
        if len(self.layouts) <= 1:
            return self.layouts[0] if self.layouts else None
        metric = METRICS[METRIC]
        own = metric.prepare(sketch(page))
        return min(self.layouts, key=lambda layout: metric.compare(own, layout.paths))

    def in_tree(self, page: Page) -> NDArray[np.bool_] | None:
        """Return an (n_nodes,) mask of a page's nodes in the tree of its layout; None without a tree.

        A tree is made from up to five pages; one of these may have more nodes in the tree than a new page has.
        """
        layout = self.layout_of(page)
        return None if layout is None or layout.tree is None else membership(page, layout.tree, EQUALITY)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the template to a file atomically; raise OSError if that fails."""
        arrays: dict[str, NDArray[Any]] = {_COUNTS + key: array for key, array in self.counts.arrays().items()}
        layouts = []
        for number, layout in enumerate(self.layouts):
            strings: Mapping[str, list[str]] | None = None
            arrays[f"{_LAYOUT}{number}-paths"] = layout.paths
            if layout.tree is not None:
                columns, strings = layout.tree.arrays()
                arrays |= {f"{_LAYOUT}{number}-{key}": array for key, array in columns.items()}
            layouts.append({"n_pages": layout.n_pages, "tree": strings})
        parsing = list(self.parsing) if self.parsing else None
        header = {"format": TEMPLATE_FORMAT, "kind": "site", "name": self.name, "parsing": parsing, "layouts": layouts}
        write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read and check a file; raise ModelFormatError if it is missing, damaged, of another kind or too new."""
        try:
            header, arrays = read_arrays(path, "site template", TEMPLATE_FORMAT, {"kind": "site"})
            try:
                return cls(
                    name=str(header["name"]),
                    counts=SiteCounts.from_arrays(_part(arrays, _COUNTS)),
                    layouts=tuple([_layout(arrays, item, number) for number, item in enumerate(header["layouts"])]),
                    parsing=None if header["parsing"] is None else _two(header["parsing"]),
                )
            except (KeyError, TypeError, ValueError, OverflowError) as error:  # a number may be infinite
                raise ModelFormatError(f"damaged ({type(error).__name__}: {error})") from error
        except ModelError as error:
            raise type(error)(str(error), source=os.fspath(path)) from error
        except MemoryError as error:
            raise ModelFormatError("needs more memory than is available", source=os.fspath(path)) from error


def loaded(template: SiteTemplate | str | os.PathLike[str] | None) -> SiteTemplate | None:
    """Return a template, read from its file if necessary.

    Raises ModelError for an unusable file, and UsageError for anything but a template or path.
    """
    if template is None or isinstance(template, SiteTemplate):
        return template
    if not isinstance(template, str | os.PathLike):
        raise UsageError(f"parameter 'template' must be a SiteTemplate or the path of its file, got {template!r}")
    return SiteTemplate.load(template)


def _part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def _two(values: Sequence[object]) -> tuple[str, str]:
    backend, profile = values
    return str(backend), str(profile)


def _layout(arrays: Mapping[str, NDArray[Any]], item: Mapping[str, Any], number: int) -> Layout:
    columns = _part(arrays, f"{_LAYOUT}{number}-")
    paths = columns["paths"]
    if paths.dtype != np.uint64 or paths.ndim != 1 or (paths[1:] <= paths[:-1]).any():
        raise ModelFormatError("the paths of a layout are damaged")
    tree = None if item["tree"] is None else Tree.from_arrays(columns, item["tree"])
    return Layout(int(item["n_pages"]), paths, tree)


def _groups(sketches: Sequence[PageSketch], threshold: float | None) -> list[list[int]]:
    from blockml.templates.clustering import auto_threshold, minhash_linkage, single_linkage  # only needed to learn

    if len(sketches) <= 1:
        return [[0]] if sketches else []
    first = distance_matrix(sketches[:_MOST_COMPARED], METRIC)
    limit = auto_threshold(first, METRIC).value if threshold is None else threshold
    if limit is None:
        return [list(range(len(sketches)))]
    if len(sketches) > _MOST_COMPARED:
        return minhash_linkage([METRICS[METRIC].prepare(item) for item in sketches], threshold=limit).groups()
    return single_linkage(first, threshold=limit).groups()


def _learn_layout(pages: Sequence[Page], sketches: Sequence[PageSketch], group: Sequence[int]) -> Layout:
    """Map pages to the medoid from near to far, because the nearest pages may share more than the template."""
    shown = group[:_MOST_COMPARED]
    distances = distance_matrix([sketches[i] for i in shown], METRIC)
    medoid = int(distances.sum(axis=1).argmin())
    by_distance = [i for i in np.argsort(distances[medoid], kind="stable").tolist() if i != medoid]
    spread = np.unique(np.linspace(0, len(by_distance) - 1, num=min(N_MAPPED, len(by_distance)), dtype=int))
    others = [pages[shown[by_distance[i]]] for i in spread.tolist()]
    template = page_template(pages[shown[medoid]], others, equality=EQUALITY, min_votes=MIN_VOTES)
    return Layout(
        n_pages=len(group),
        paths=METRICS[METRIC].prepare(sketches[shown[medoid]]),
        tree=None if template is None else learnt_tree(template),
    )


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
