"""Adaptation of a model to a site or kind of pages, from a few labelled pages.

The model itself is not changed. A regularised logistic regression on top of its log odds learns weights of the tags,
classes and ids of the blocks' ancestors and of repeated texts. Cross-validation over the pages chooses the
regularisation, compares page F1 with that of the unchanged model, and rejects a correction that does not help.

Adaptation of a model to each site, host or template in labelled pages that gains from it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import block_tokens, ignored_text
from blockml.datasets.labelled import check_names
from blockml.datasets.validation import content_hash, filtered
from blockml.decision.decide import decide
from blockml.document.text import render_text
from blockml.errors import BlockmlError, DatasetError, UsageError, check_name, check_type
from blockml.evaluation.bootstrap import Difference, paired_difference
from blockml.evaluation.metrics import bag_scores
from blockml.evaluation.page_results import training_hashes
from blockml.extractors.matrix import page_matrix, uses_site
from blockml.extractors.routed import Route, RouteTemplate, template_features, write_routed
from blockml.features.page_matrix import PageMatrix
from blockml.model import Model, score_page
from blockml.page import Label, Page
from blockml.parsing import parse
from blockml.predictors import log_odds, sigmoid
from blockml.predictors.correction import BlockKeys, Correction, block_keys
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.storage.atomic import safe_file_name
from blockml.templates.grouping import SITE_DISTANCE, SITE_THRESHOLD, cluster_pages
from blockml.text.addresses import split_host
from blockml.text.sketches import token_sketch
from blockml.text.words import counted
from blockml.training.prepare import check_classes, check_gold, pages_with_gold, provenance
from blockml.training.splits import duplicate_groups

#: Minimum number of labelled pages: with fewer, none would be left for evaluation.
LEAST_PAGES = 4
#: Maximum number of folds; with fewer pages, each is its own fold.
_FOLDS = 10
#: Strengths of the L2 penalty from which cross-validation chooses, strongest first.
_PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3)
#: Norm of the gradient at which fitting stops: corrections then change by less than .001.
_GRADIENT = 1e-2
#: Total weight of a page in the loss, in blocks (our choice, because its hundred or so blocks are not independent).
_PAGE_WEIGHT = 50.0
#: Minimum mean gain of page F1 in cross-validation, and minimum difference for a page to count as changed (our choice).
_LEAST_GAIN, _CHANGED = 0.003, 0.01


@dataclass(frozen=True, slots=True, eq=False)
class PageForAdaptation:
    """A labelled page and the output of the model to adapt."""

    id: str
    page: Page
    matrix: PageMatrix
    text: str  #: Gold text
    ignored: str  #: Text that may be content or not
    main: NDArray[np.bool_]  #: (n_blocks,) whether each block is content
    weight: NDArray[np.float64]  #: (n_blocks,) weight in the loss; 0 for blocks without gold
    base: NDArray[np.float64]  #: (n_blocks,) log odds of the model
    keys: BlockKeys
    hash: str  #: Fingerprint of the visible words.
    sketch: frozenset[int]  #: Smallest hashes of its word shingles.


@dataclass(frozen=True, slots=True, eq=False)
class Adaptation:
    """Result of an adaptation: the outcome of cross-validation, and the model if it helps."""

    model: Model | None  #: The adapted model; None if it would not help.
    before: tuple[float, ...]  #: F1 of the unchanged model on each page.
    after: tuple[float, ...]  #: F1 on each page with a correction learnt from other pages.
    difference: Difference  #: Mean gain with the 95 % interval of a paired bootstrap over pages.
    penalty: float  #: Strength of the L2 penalty that was chosen.

    @property
    def accepted(self) -> bool:
        """Whether the correction helps; only then is there an adapted model."""
        return self.model is not None

    @property
    def is_needless(self) -> bool:
        """Whether the unchanged model is so good on these pages that no correction could gain enough."""
        return float(np.mean(self.before)) > 1 - _LEAST_GAIN

    def summary(self) -> dict[str, float]:
        """Summarise cross-validation, for the model file and its card."""
        gain = self.difference
        means = {"before": float(np.mean(self.before)), "after": float(np.mean(self.after))}
        values = {**means, "difference": gain.mean, "low": gain.low, "high": gain.high}
        return {"pages": len(self.before), **{name: round(value, 4) for name, value in values.items()}}

    def __str__(self) -> str:
        gain = self.difference
        better = sum(b > a + _CHANGED for a, b in zip(self.before, self.after, strict=True))
        worse = sum(b < a - _CHANGED for a, b in zip(self.before, self.after, strict=True))
        return (
            f"page F1 by cross-validation over {len(self.before)} pages: {np.mean(self.before):.3f} before, "
            f"{np.mean(self.after):.3f} after; difference {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}], "
            f"{counted(better, 'page')} better, {worse} worse"
        )


def adapt(
    base: Model,
    datasets: Sequence[Dataset],
    *,
    name: str = "adapted",
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
    progress: ProgressCallback = ignore_progress,
    accept_defects: bool = False,
) -> Adaptation:
    """Adapt a model to labelled pages.

    Parameters
    ----------
    base
        The model, such as ``blockml.load("default").model``.
    datasets
        Labelled pages of one site or kind; pages without gold for the whole text and pages that are flagged, have
        defective gold, or repeat others are left out.
    name
        Name of the adapted model.
    command
        Command line, for the card.
    report
        Called with lines about findings and measurements.
    progress
        Called with the name of a stage, how many of its steps are done, and how many there are.
    accept_defects
        Adapt even if more than a quarter of the finished pages of a data set have defective gold.

    Returns
    -------
    Adaptation
        Without a model if the mean gain of page F1 is below .003, or if at least as many pages lose more than .01 as
        gain that much.

    Raises
    ------
    UsageError
        Fewer than four labelled pages are left; all or none of their blocks are content; the gold of many pages is
        defective; two data sets have the same name; the model is adapted already or reads other pages of the site.
    DatasetError
        No page of a data set has gold for its whole text, or a page can't be read.
    """
    check_base(base)
    check_names(datasets)
    datasets = pages_with_gold(datasets, report, whole_text=True)
    checked = [filtered(dataset, progress=progress) for dataset in datasets]
    if not accept_defects:
        check_gold(checked, left_out=True)
    by_dataset = different_pages(base, checked)
    pages = [page for its_pages in by_dataset for page in its_pages]
    left = sum(map(len, checked)) - len(pages)
    why = f"; left out {counted(left, 'page')}: flagged, defective, or repeating others" if left else ""
    if len(pages) < LEAST_PAGES:
        raise UsageError(f"adaptation needs at least {LEAST_PAGES} labelled pages, got {len(pages)}{why}")
    check_classes(np.concatenate([page.main[page.weight > 0] for page in pages]))
    report(f"{len(pages)} pages{why}; measuring by cross-validation")
    before = _page_f1(base, pages, [page.base for page in pages])
    fold = np.arange(len(pages)) % _FOLDS
    tried = {penalty: _page_f1(base, pages, odds) for penalty, odds in _held_out(pages, fold, progress).items()}
    penalty = max(_PENALTIES, key=lambda penalty: round(float(tried[penalty].mean()), 3))  # ties: the strongest
    after = tried[penalty]
    found = Adaptation(None, tuple(before.tolist()), tuple(after.tolist()), paired_difference(after, before), penalty)
    report(str(found))
    if not _accepted(before, after):
        return found
    correction = fit_correction(pages, penalty)
    entries = [provenance(data, [page.main for page in its]) for data, its in zip(checked, by_dataset, strict=True)]
    note = (
        f"Adapted from {base.id} by {counted(len(correction.keys), 'weight')} of tags, classes, ids and repeated texts."
    )
    model = replace(
        base,
        name=name,
        correction=correction,
        training=(*base.training, *entries),
        training_hashes=None if base.training_hashes is None else base.training_hashes | training_hashes(checked),
        recipe={**base.recipe, "base": base.id, "penalty": penalty},
        metrics={"adaptation": found.summary()},
        notes=(note, *base.notes),
        command=command,
    )
    return replace(found, model=model)


def check_base(base: Model) -> None:
    """Raise UsageError for a model that can't be adapted."""
    check_type("base", base, Model, legal="a blockml.model.Model")
    if base.correction is not None:
        raise UsageError(f"model {base.name} is already adapted; adapt its base model to all pages instead")
    if uses_site(base.features):
        raise UsageError(f"model {base.name} reads other pages of the site; detect the site's template instead")


def different_pages(base: Model, datasets: Sequence[Dataset]) -> list[list[PageForAdaptation]]:
    """Prepare the pages of each data set for ``base``, except flagged ones and those that repeat an earlier page.

    A repeated page would be evaluated with a correction learnt from its copy.
    """
    pages = [
        (number, prepare_page(base, page))
        for number, dataset in enumerate(datasets)
        for page in dataset.pages
        if page.trusted
    ]
    first = {*duplicate_groups([page for _, page in pages], [str(i) for i in range(len(pages))]).tolist()}
    kept = [pair for i, pair in enumerate(pages) if i in first]
    return [[page for place, page in kept if place == number] for number in range(len(datasets))]


def prepare_page(base: Model, labelled: LabelledPage) -> PageForAdaptation:
    """Parse a labelled page and predict its blocks with a model.

    Raises
    ------
    DatasetError
        The page has no gold, or only snippets.
    """
    html, gold = labelled.load()
    main = frozenset(map(Label, base.labels))
    text = None if gold is None else gold.text(main)
    if gold is None or text is None:
        raise DatasetError(f"page {labelled.id!r} has no gold for its whole text", source=labelled.path)
    page = parse(html, url=labelled.url, charset=labelled.charset, **base.parsing.options())
    labels = gold.label(page, main)
    matrix = page_matrix(page, base.features)
    weight = np.where(labels.known, np.sqrt(matrix.amounts.words + 1), 0.0)
    return PageForAdaptation(
        id=labelled.id,
        page=page,
        matrix=matrix,
        text=text,
        ignored=ignored_text(gold),
        main=labels.main,
        weight=weight * (_PAGE_WEIGHT / max(float(weight.sum()), 1e-9)),
        base=log_odds(score_page(base, matrix).scores),
        keys=block_keys(matrix.context),
        hash=content_hash(page),
        sketch=token_sketch(block_tokens(page)[1]),
    )


def fit_correction(pages: Sequence[PageForAdaptation], penalty: float) -> Correction:
    """Fit the weights of keys by logistic regression with the model's log odds as offset.

    Keys that occur on only one page are left out, because their weights would not transfer to other pages.

    Parameters
    ----------
    pages
        Labelled pages.
    penalty
        Strength of the L2 penalty on weights, positive.
    """
    return _corrections(pages, [penalty])[penalty]


class _Loss:
    """Logistic loss of weights and bias over all blocks of some pages, with an L2 penalty."""

    def __init__(self, pages: Sequence[PageForAdaptation], keys: NDArray[np.uint64], penalty: float) -> None:
        from scipy.sparse import csr_array

        parts, rows = [], 0
        for page in pages:
            place = np.minimum(np.searchsorted(keys, page.keys.keys), max(len(keys) - 1, 0))
            known = keys[place] == page.keys.keys if len(keys) else np.zeros(len(place), dtype=bool)
            parts.append((page.keys.block[known] + rows, place[known]))
            rows += len(page.main)
        row, column = (np.concatenate(items) for items in zip(*parts, strict=True))
        self._inputs = csr_array((np.ones(len(row)), (row, column)), shape=(rows, len(keys)))
        self._columns = self._inputs.T.tocsr()
        self._sign = np.where(np.concatenate([page.main for page in pages]), 1.0, -1.0)
        self._weight = np.concatenate([page.weight for page in pages])
        self._offset = np.concatenate([page.base for page in pages])
        self._curvature = np.zeros(0), np.zeros(0)  # parameters, and the second derivative of each block's loss
        self.penalty = penalty

    def value(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient."""
        margin = self._sign * self._log_odds(parameters)
        slope = -self._sign * self._weight * np.exp(-np.logaddexp(0, margin))
        value = float(self._weight @ np.logaddexp(0, -margin) + 0.5 * self.penalty * (parameters @ parameters))
        return value, self._by_parameter(slope) + self.penalty * parameters

    def curved(self, parameters: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product of the Hessian and a step."""
        if not np.array_equal(self._curvature[0], parameters):
            likely = sigmoid(self._log_odds(parameters)).astype(np.float64)
            self._curvature = parameters.copy(), self._weight * likely * (1 - likely)
        change = self._inputs @ step[:-1] + step[-1]
        return self._by_parameter(self._curvature[1] * change) + self.penalty * step

    def _log_odds(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._offset + self._inputs @ parameters[:-1] + parameters[-1])

    def _by_parameter(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.append(self._columns @ values, values.sum())


def _corrections(pages: Sequence[PageForAdaptation], penalties: Sequence[float]) -> dict[float, Correction]:
    """Fit a correction for each penalty, starting from the weights of the previous one.

    Truncated Newton steps take a third of the time of L-BFGS for thousands of keys, and end closer to the minimum.
    """
    from scipy.optimize import minimize

    counts = Counter(key for page in pages for key in page.keys.hashes.tolist())
    keys = np.array(sorted(key for key, count in counts.items() if count > 1), dtype=np.uint64)
    loss, parameters = _Loss(pages, keys, penalties[0]), np.zeros(len(keys) + 1)
    found = {}
    for penalty in penalties:
        loss.penalty = penalty
        result = minimize(
            loss.value, parameters, jac=True, hessp=loss.curved, method="trust-ncg", options={"gtol": _GRADIENT}
        )
        parameters = result.x
        used = parameters[:-1] != 0
        found[penalty] = Correction(keys[used], parameters[:-1][used], float(parameters[-1]))
    return found


def _held_out(
    pages: Sequence[PageForAdaptation], fold: NDArray[np.int64], progress: ProgressCallback
) -> dict[float, list[NDArray[np.float64]]]:
    """Return, for each penalty, the log odds of each page with a correction learnt from the other folds."""
    numbers = np.unique(fold).tolist()
    learnt = {
        number: _corrections([page for page, own in zip(pages, fold, strict=True) if own != number], _PENALTIES)
        for number in tracked(numbers, progress, "folds by page", len(numbers))
    }
    return {
        penalty: [
            page.base + learnt[own][penalty].of_keys(page.keys) for page, own in zip(pages, fold.tolist(), strict=True)
        ]
        for penalty in _PENALTIES
    }


def _page_f1(
    base: Model, pages: Sequence[PageForAdaptation], corrected: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the bag-of-words F1 of each page, (n_pages,), decided by the model's policy from log odds."""
    values = []
    for page, odds in zip(pages, corrected, strict=True):
        prediction = score_page(base, page.matrix, odds - page.base)
        kept = decide(base.policy, page.page, prediction).kept
        values.append(bag_scores(page.text, render_text(page.page, kept), ignored=page.ignored).f1)
    return np.array(values)


def _accepted(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether a correction helps: the mean gains, and more pages gain than lose."""
    better, worse = int((after > before + _CHANGED).sum()), int((after < before - _CHANGED).sum())
    return float((after - before).mean()) >= _LEAST_GAIN and better > worse


#: Legal values of ``by``: groups of pages that get a model.
ADAPTED_BY = ("site", "template")


@dataclass(frozen=True, slots=True, eq=False)
class PageGroup:
    """Labelled pages of one site, host or template."""

    site: str
    pages: Sequence[tuple[Dataset, LabelledPage]]  #: Each page with its data set.
    host: str | None = None
    template: RouteTemplate | None = None
    part: str = ""  #: Name within the site.

    @property
    def name(self) -> str:
        """Name of the group in messages, and of its model."""
        return f"{self.site} {self.part}".strip()


@dataclass(frozen=True, slots=True, eq=False)
class GroupAdaptation:
    """Result of cross-validation on a group, or the reason why the group has no model."""

    group: PageGroup
    found: Adaptation | None  #: None if adaptation was not possible.
    reason: str = ""  #: Why the group has no model; empty if it has one.

    def __str__(self) -> str:
        return f"{self.group.name}: {self.reason or self.found}"


@dataclass(frozen=True, slots=True, eq=False)
class Adapted:
    """Models for groups of pages, and the groups without one."""

    base: Model
    groups: tuple[GroupAdaptation, ...]

    @property
    def accepted(self) -> list[GroupAdaptation]:
        """Groups with a model."""
        return [item for item in self.groups if not item.reason]

    def save(self, folder: Path) -> None:
        """Write a folder that can be loaded as a model: see :func:`blockml.extractors.routed.write_routed`."""
        routes, facts = {}, {}
        for item in self.accepted:
            if item.found is not None and item.found.model is not None:
                name = safe_file_name(item.group.name.replace(" ", "-"))
                routes[name] = Route(item.group.site, item.found.model, item.group.host, item.group.template)
                facts[name] = item.found.summary()
        refused = [{"group": item.group.name, "pages": len(item.group.pages), "reason": item.reason}
                   for item in self.groups if item.reason]  # fmt: skip
        write_routed(folder, self.base, routes, refused, facts)


def adapt_groups(
    base: Model,
    datasets: Sequence[Dataset],
    *,
    by: str = "site",
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
    accept_defects: bool = False,
) -> Adapted:
    """Adapt a model to each site, or each template of a site, that gains from it in cross-validation.

    Sites are registrable domains of the pages' URLs. If a site does not gain as a whole, each of its hosts with
    enough pages is tried. Templates are clusters of a site's labelled pages by structure.

    Parameters
    ----------
    base
        The model.
    datasets
        Labelled pages with URLs.
    by
        ``site`` or ``template``.
    command, report, accept_defects
        See :func:`blockml.training.adapt`.

    Raises
    ------
    UnknownNameError
        ``by`` has another value.
    UsageError
        The model can't be adapted, or no page has a URL.
    DatasetError
        No page of a data set has gold for its whole text, or a page can't be read.
    """
    check_name("group", by, ADAPTED_BY)
    check_base(base)
    sites: dict[str, list[tuple[Dataset, LabelledPage]]] = defaultdict(list)
    n_unknown = 0
    datasets = pages_with_gold(datasets, report, whole_text=True)
    for dataset in datasets:
        for page in dataset.pages:
            site = split_host(page.url)[0]
            if site and page.trusted:
                sites[site].append((dataset, page))
            n_unknown += page.trusted and not site
    if n_unknown:
        report(f"left out {counted(n_unknown, 'page')} without a URL, which routing needs")
    if not sites:
        raise UsageError("no finished page has a URL, which is needed to route pages to models")

    results: list[GroupAdaptation] = []

    def tried(group: PageGroup) -> bool:
        results.append(_adapt_group(base, group, command=command, accept_defects=accept_defects))
        report(str(results[-1]))
        return not results[-1].reason

    for site in sorted(sites):
        groups = [PageGroup(site, sites[site])] if by == "site" else list(_templates(base, site, sites[site]))
        accepted = [tried(group) for group in groups]
        if by == "site" and not any(accepted):
            for group in _hosts(site, sites[site]):
                tried(group)
    return Adapted(base, tuple(results))


def _adapt_group(base: Model, group: PageGroup, *, command: str, accept_defects: bool) -> GroupAdaptation:
    if len(group.pages) < LEAST_PAGES:
        pages = counted(len(group.pages), "labelled page")
        return GroupAdaptation(group, None, f"{pages}, but at least {LEAST_PAGES} are needed")
    parts = [
        replace(dataset, pages=tuple(page for other, page in group.pages if other.name == name))
        for name, dataset in {dataset.name: dataset for dataset, _ in group.pages}.items()
    ]
    try:
        found = adapt(base, parts, name=f"{base.name}-{group.name.replace(' ', '-')}", command=command,
                      accept_defects=accept_defects)  # fmt: skip
    except BlockmlError as error:
        return GroupAdaptation(group, None, str(error))
    if found.model is None:
        return GroupAdaptation(group, found, f"does not gain; {found}")
    return GroupAdaptation(group, found)


def _hosts(site: str, pages: Sequence[tuple[Dataset, LabelledPage]]) -> Iterator[PageGroup]:
    """Yield the hosts of a site that have enough pages, if the site has several hosts."""
    hosts: dict[str, list[tuple[Dataset, LabelledPage]]] = defaultdict(list)
    for pair in pages:
        hosts[split_host(pair[1].url)[1]].append(pair)
    for host, its_pages in sorted(hosts.items()) if len(hosts) > 1 else ():
        if len(its_pages) >= LEAST_PAGES:
            yield PageGroup(site, its_pages, host=host, part=host.removesuffix(site).rstrip(".") or "host")


def _templates(base: Model, site: str, pages: Sequence[tuple[Dataset, LabelledPage]]) -> Iterator[PageGroup]:
    """Yield the templates of a site, or the whole site if its labelled pages have only one."""
    if len(pages) < 2 * LEAST_PAGES:
        yield PageGroup(site, pages)
        return
    parsed = [parse(page.load()[0], url=page.url, charset=page.charset, **base.parsing.options()) for _, page in pages]
    names = [str(number) for number in range(len(pages))]
    result: Any = cluster_pages(parsed, names, distance=SITE_DISTANCE, threshold=SITE_THRESHOLD, pictures=False)
    labels = [row["cluster"] for row in result["pages"]]
    if len(set(labels)) == 1:
        yield PageGroup(site, pages)
        return
    for cluster in result["clusters"]:
        members = [number for number, label in enumerate(labels) if label == cluster["number"]]
        features = tuple(template_features(parsed[number]) for number in members)
        template = RouteTemplate(features, SITE_THRESHOLD)
        part = f"template-{cluster['number'] + 1}"
        yield PageGroup(site, [pages[number] for number in members], template=template, part=part)
