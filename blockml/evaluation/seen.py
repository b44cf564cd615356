"""Pages of a data set that a model was trained on, and sites of which it has seen other pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blockml.datasets import Dataset, LabelledPage, site_of
from blockml.extractors import Extractor
from blockml.model.training_hashes import PageHashes, TrainingHashes, hash_page
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.text.plurals import counted


@dataclass(frozen=True, slots=True)
class Seen:
    """Pages and sites of a data set that a system has seen in training.

    Examples
    --------
    >>> print(Seen(("a",), n_pages=30, sites=2, n_sites=12))
    1 of 30 pages, 2 of 12 sites seen in training
    >>> print(Seen(None, n_pages=30))
    unknown whether pages were seen in training
    """

    pages: tuple[str, ...] | None  #: Ids of the seen pages; None if unknown
    n_pages: int  #: Number of pages in the data set
    sites: int = 0  #: Number of sites with pages that were seen
    n_sites: int = 0  #: Number of known sites in the data set

    def __str__(self) -> str:
        if self.pages is None:
            return "unknown whether pages were seen in training"
        pages = f"{len(self.pages):,} of {counted(self.n_pages, 'page')}"
        sites = f", {self.sites:,} of {counted(self.n_sites, 'site')}" if self.n_sites else ""
        return f"{pages}{sites} seen in training"

    @property
    def worth_telling(self) -> bool:
        """Whether a page or a site was seen, or this is unknown."""
        return self.pages is None or bool(self.pages) or self.sites > 0

    @property
    def share(self) -> float:
        """Share of the pages that were seen; 0 if unknown."""
        return len(self.pages or ()) / self.n_pages


def page_hashes(dataset: Dataset, progress: ProgressCallback = ignore_progress) -> dict[str, PageHashes]:
    """Hash every page of a data set, by id; ``progress`` is called as :mod:`blockml.progress` says.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    found = {}
    for page in tracked(dataset.pages, progress, f"hashes of {dataset.name}", len(dataset)):
        found[page.id] = hash_labelled(page, page.load()[0])
    return found


def hash_labelled(page: LabelledPage, html: bytes) -> PageHashes:
    """Hash a labelled page, given its source."""
    site = site_of(page.url, "") or (page.site if page.site_known else None)
    return hash_page(html, site, page.charset)


def training_hashes(datasets: Iterable[Dataset]) -> TrainingHashes:
    """Collect the hashes of all pages of data sets, for the model that is trained on them."""
    return TrainingHashes.of(hashes for dataset in datasets for hashes in page_hashes(dataset).values())


class Trained(NamedTuple):
    """Training data of a model."""

    checksums: frozenset[str]  #: Checksums of the data sets
    hashes: TrainingHashes | None  #: Hashes of the pages; None if unknown


def training_records(extractor: Extractor) -> tuple[Trained, ...]:
    """Return the training data of each model of an extractor; empty for an extractor without a model."""
    return tuple(
        [
            Trained(frozenset(str(entry.get("checksum")) for entry in model.training), model.training_hashes)
            for model in extractor.used_models()
        ]
    )


def find_seen(training: Sequence[Trained], dataset: Dataset, checksum: str, hashes: Mapping[str, PageHashes]) -> Seen:
    """Find the pages and sites of a data set that models were trained on.

    Parameters
    ----------
    training
        Result of :func:`training_records`.
    dataset, checksum
        The pages, and the checksum of their data set, by which a model without hashes recognises it as a whole.
    hashes
        Result of :func:`page_hashes`, which may include other pages; not needed if there are no models.
    """
    if any(item.hashes is None and checksum not in item.checksums for item in training):
        return Seen(None, len(dataset))
    own = {page.id: hashes[page.id] for page in dataset.pages} if training else {}
    sites = {item.site: item for item in own.values() if item.site is not None}
    seen, seen_sites = set[str](), set[int]()
    for item in training:
        if item.hashes is None:
            seen |= own.keys()
            seen_sites |= sites.keys()
        else:
            seen |= {page_id for page_id, page in own.items() if item.hashes.has_page(page)}
            seen_sites |= {site for site, page in sites.items() if item.hashes.has_site(page)}
    return Seen(tuple(sorted(seen)), len(dataset), len(seen_sites), len(sites))
