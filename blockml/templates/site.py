"""What was learnt of a site, as one small file: learn once, apply to each new page, update as pages come."""

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
from blockml.storage.arrays import read_arrays, write_arrays
from blockml.templates.distances import METRICS, PageSketch, distance_matrix, sketch
from blockml.templates.frequency import SiteCounts
from blockml.templates.mapping import Tree, learnt_tree, membership, page_template

__all__ = ["FORMAT", "Layout", "SiteTemplate", "loaded"]

#: Number of the format written.
FORMAT = 1

#: Distance by which layouts are told apart: as good as any, and the fastest (Gottron 2008, section 7).
METRIC = "cp"

#: Pages whose trees are laid over the one in the middle of a layout: a complete subdigraph has four (Alarte et al.
#: 2014, section 4.1).
N_MAPPED = 4

#: Pages of these that a node must be on: one odd page must not empty the tree (public implementation of Alarte et al.:
#: 2 of 3; their paper asks for all).
MIN_VOTES = 2

#: When two nodes are equal: page builders number class names, and containers differ in length (our choice).
EQUALITY = "blockml"

#: Beyond so many pages distances are not compared one by one (our choice: a matrix of 400 takes well under a second).
_MOST_COMPARED = 400

_COUNTS, _LAYOUT = "counts-", "layout-"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Pages of a site that are built alike."""

    n_pages: int
    """Number of pages it was learnt from."""
    paths: NDArray[np.uint64]
    """(n_paths,) common paths of the page in their middle, as sorted codes."""
    tree: Tree | None
    """What that page has in common with others; None if there was no other."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteTemplate:
    """What the pages of a site share: what repeats on them, and the trees of their layouts.

    Counts are over all pages of the site: what repeats is then known from more pages than a layout of a few has.

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

    name: str
    """Name of the site."""
    counts: SiteCounts
    """What repeats on its pages."""
    layouts: tuple[Layout, ...] = ()
    """Groups of its pages, the largest first."""
    parsing: tuple[str, str] | None = None
    """Back end and segmentation profile its pages were parsed with; None before the first page."""

    def __repr__(self) -> str:
        """Short: it may stand in the id of an extractor, which changes if other pages are learnt."""
        n = len(self.layouts)
        mark = hashlib.sha256(self.counts.tables.fingerprints.tobytes()).hexdigest()[:6]
        return f"SiteTemplate({self.name!r}, {self.counts.n_pages} pages, {n} layout{'' if n == 1 else 's'}, {mark})"

    @classmethod
    def count(cls, pages: Iterable[Page], *, name: str = "", **settings: bool) -> Self:
        """Learn only what repeats; pages are not kept.

        Parameters
        ----------
        pages
            Pages of one site, all parsed alike.
        name
            Name of the site.
        **settings
            Of :meth:`blockml.templates.frequency.SiteCounts.learn`.

        Raises
        ------
        UsageError
            The pages were parsed in different ways.
        """
        return cls(name, SiteCounts.learn((), **settings)).updated(pages)

    @classmethod
    def learn(cls, pages: Iterable[Page], *, name: str = "", threshold: float | None = None, **settings: bool) -> Self:
        """Learn a site: what repeats, which layouts there are, and the tree of each.

        Parameters
        ----------
        pages
            Pages of one site, all parsed alike.
        name
            Name of the site.
        threshold
            Distance of common paths up to which pages have one layout; None for the gap in their distances.
        **settings
            Of :meth:`blockml.templates.frequency.SiteCounts.learn`.

        Raises
        ------
        UsageError
            The pages were parsed in different ways, or the threshold is negative.
        """
        pages = list(pages)  # looked at twice
        counted = cls.count(pages, name=name, **settings)
        return replace(counted, layouts=_layouts(pages, threshold))

    def updated(self, pages: Iterable[Page]) -> Self:
        """Go on counting with further pages. Layouts stay as they are: :meth:`learn` them anew once many are new.

        Raises
        ------
        UsageError
            A page was parsed in another way than those before.
        """
        parsing = self.parsing

        def alike() -> Iterable[Page]:
            nonlocal parsing
            for page in pages:
                parsing = parsing or (page.backend, page.profile)
                self._check(page, parsing)
                yield page

        counts = self.counts.updated(alike())
        return replace(self, counts=counts, parsing=parsing)

    def check(self, page: Page) -> None:
        """Check that a page was parsed as those that were learnt.

        Raises
        ------
        UsageError
            It wasn't: its blocks can't be found among theirs.
        """
        if self.parsing is not None:
            self._check(page, self.parsing)

    @staticmethod
    def _check(page: Page, parsing: tuple[str, str]) -> None:
        if (page.backend, page.profile) != parsing:
            raise UsageError(
                f"a site's pages are parsed alike: by {' and '.join(parsing)}, not {page.backend} and {page.profile}; "
                "learn the site from pages parsed as the extractor wants them, or use another extractor"
            )

    def layout_of(self, page: Page) -> Layout | None:
        """The layout that is nearest to a page; None if none is known."""
        if len(self.layouts) <= 1:
            return self.layouts[0] if self.layouts else None
        metric = METRICS[METRIC]
        own = metric.prepare(sketch(page))
        return min(self.layouts, key=lambda layout: metric.compare(own, layout.paths))

    def in_tree(self, page: Page) -> NDArray[np.bool_] | None:
        """(n_nodes,) which nodes of a page belong to the tree of its layout; None if no tree is known.

        A tree was made from up to five pages. One of these may have more nodes in it than if it were new.
        """
        layout = self.layout_of(page)
        return None if layout is None or layout.tree is None else membership(page, layout.tree, EQUALITY)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which appears whole or not at all.

        Raises
        ------
        OSError
            The file can't be written.
        """
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
        header = {"format": FORMAT, "kind": "site", "name": self.name, "parsing": parsing, "layouts": layouts}
        write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read and check a file.

        Raises
        ------
        ModelFormatError
            There is no such file, it is no site template, damaged, or of a newer format.
        """
        try:
            header, arrays = read_arrays(path, "site template", FORMAT, {"kind": "site"})
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


def loaded(template: SiteTemplate | str | os.PathLike[str] | None) -> SiteTemplate | None:
    """Template itself, read from its file if need be.

    Raises
    ------
    ModelError
        The file can't be used.
    UsageError
        It is neither a template nor a path.
    """
    if template is None or isinstance(template, SiteTemplate):
        return template
    if not isinstance(template, str | os.PathLike):
        raise UsageError(f"parameter 'template' is a SiteTemplate or the path of its file, not {template!r}")
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


def _layouts(pages: Sequence[Page], threshold: float | None) -> tuple[Layout, ...]:
    sketches = [sketch(page) for page in pages]
    groups = sorted(_groups(sketches, threshold), key=len, reverse=True)
    return tuple([_learnt(pages, sketches, group) for group in groups])


def _groups(sketches: Sequence[PageSketch], threshold: float | None) -> list[list[int]]:
    from blockml.templates.clustering import auto_threshold, minhash_linkage, single_linkage  # only to learn

    if len(sketches) <= 1:
        return [[0]] if sketches else []
    first = distance_matrix(sketches[:_MOST_COMPARED], METRIC)
    limit = auto_threshold(first, METRIC).value if threshold is None else threshold
    if limit is None:
        return [list(range(len(sketches)))]
    if len(sketches) > _MOST_COMPARED:
        return minhash_linkage([METRICS[METRIC].prepare(item) for item in sketches], threshold=limit).groups()
    return single_linkage(first, threshold=limit).groups()


def _learnt(pages: Sequence[Page], sketches: Sequence[PageSketch], group: Sequence[int]) -> Layout:
    """Lay trees from near to far over the page in the middle: neighbours may share more than the template."""
    shown = group[:_MOST_COMPARED]
    distances = distance_matrix([sketches[i] for i in shown], METRIC)
    middle = int(distances.sum(axis=1).argmin())
    by_distance = [i for i in np.argsort(distances[middle], kind="stable").tolist() if i != middle]
    spread = np.unique(np.linspace(0, len(by_distance) - 1, num=min(N_MAPPED, len(by_distance)), dtype=int))
    template = page_template(
        pages[shown[middle]],
        [pages[shown[by_distance[i]]] for i in spread.tolist()],
        equality=EQUALITY,
        min_votes=MIN_VOTES,
    )
    return Layout(
        n_pages=len(group),
        paths=METRICS[METRIC].prepare(sketches[shown[middle]]),
        tree=None if template is None else learnt_tree(template),
    )
