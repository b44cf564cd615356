"""Extractors that choose by a page's address: models of sites, and rules of sites without a model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Decision
from blockml.decision.prediction import Prediction
from blockml.errors import ModelError, ModelFormatError, UsageError
from blockml.extractors.extractor import Extractor, Traits
from blockml.extractors.trained_extractor import TrainedExtractor
from blockml.model import Model, load_model, save_model
from blockml.page import Page
from blockml.rules import ANY_SITE, AnyRules, page_matches, read_rules
from blockml.rules.applying import PageMatches
from blockml.storage.arrays import read_arrays, write_arrays
from blockml.storage.atomic import atomic_write
from blockml.text.addresses import split_host

if TYPE_CHECKING:
    from blockml.templates.distances import Metric

#: Names of the routing table, the base model, the templates and the rules in a folder of models.
ROUTES, _BASE, _TEMPLATES, RULES = "routes.json", "base.blockml", "templates.arrays", "rules.toml"
_FORMAT, _TEMPLATES_FORMAT = 1, 1
_MOST_ROUTES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class RouteTemplate:
    """Structure of the labelled pages of a template: a page has the template if it is near one of them."""

    pages: tuple[
        NDArray[np.uint64], ...
    ]  #: Features of the pages, for the distance :data:`blockml.templates.grouping.SITE_DISTANCE`.
    threshold: float  #: Maximum distance of a page to one of them.

    def distance(self, features: NDArray[np.uint64]) -> float:
        """Return the minimum distance of a page's features to those of the pages."""
        return min(_metric().compare(features, page) for page in self.pages)


def template_features(page: Page) -> NDArray[np.uint64]:
    """Return the features of a page that :class:`RouteTemplate` compares."""
    from blockml.templates.distances import sketch

    return np.asarray(_metric().prepare(sketch(page)), dtype=np.uint64)


def _metric() -> Metric[Any]:
    from blockml.templates.distances import METRICS  # only models of templates need the modules
    from blockml.templates.grouping import SITE_DISTANCE

    return METRICS[SITE_DISTANCE]


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """The pages that a model is used for."""

    site: str  #: Registrable domain.
    model: Model
    host: str | None = None  #: Host, if the model is for one of several hosts of the site.
    template: RouteTemplate | None = None  #: Template, if the model is for one of several templates.


@dataclass(eq=False, repr=False)
class RoutedExtractor(TrainedExtractor):
    """Extracts each page with the first model found for its template, host or site, or else with the base.

    Before that, pages that rules of their site match are extracted by these, if the folder has some. ``model`` is the
    base. Sites are registrable domains of the pages' URLs; a page without a URL gets the base. The extraction of a page
    names the model that was used.

    Examples
    --------
    >>> import blockml
    >>> base = blockml.load("kim2013").model
    >>> routed = RoutedExtractor(base, routes=[Route("cats.example", replace(base, name="cats"))])
    >>> urls = "https://www.cats.example/1", "https://dogs.example/", None
    >>> [blockml.extract("<p>Cats", url=url, model=routed).model for url in urls]
    ['cats 0.1.0', 'kim2013 0.1.0', 'kim2013 0.1.0']
    """

    routes: Sequence[Route] = field(default_factory=tuple)
    by_rules: RulesExtractor | None = None  #: Extracts the pages that its rules match, before any model.

    def __post_init__(self) -> None:
        self._by_site: dict[str, list[Route]] = {}
        for route in self.routes:
            self._by_site.setdefault(route.site, []).append(route)

    @property
    def id(self) -> str:
        """Name and version of the base, and the number of its routes."""
        rules = "" if self.by_rules is None else f" and {self.by_rules.id}"
        return f"{super().id} and {len(self.routes)} adapted to sites{rules}"

    def used_models(self) -> tuple[Model, ...]:
        """Return the base and the models of all routes."""
        return (self.model, *(route.model for route in self.routes))

    def at_page(self, page: Page) -> Extractor:
        """Return the extractor that a page is routed to: the rules, or one of a model."""
        if self.by_rules is not None and self.by_rules.matches(page):
            return self.by_rules
        site, host = split_host(page.url)
        routes = self._by_site.get(site, ())
        of_host = [route for route in routes if route.host in (None, host)]
        model = _of_template(page, of_host)
        if model is None:
            whole = [route for route in of_host if route.template is None]
            model = min(whole, key=lambda route: route.host is None).model if whole else self.model
        return TrainedExtractor(model, self.threshold, self.template)

    def predict(self, page: Page) -> Prediction:
        """Predict with the model that the page is routed to."""
        return self.at_page(page).predict(page)

    def decide(self, page: Page, prediction: Prediction | None = None) -> Decision:
        """Decide with the model that the page is routed to."""
        return self.at_page(page).decide(page, prediction)


def _of_template(page: Page, routes: Sequence[Route]) -> Model | None:
    """Return the model of the nearest template that a page has, if any; templates of the same host come first."""
    if not any(route.template for route in routes):
        return None
    features = template_features(page)
    found = [
        (route.host is None, distance, number)
        for number, route in enumerate(routes)
        if route.template is not None and (distance := route.template.distance(features)) <= route.template.threshold
    ]
    return routes[min(found)[2]].model if found else None


def is_routed(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a folder of models."""
    try:
        return Path(path, ROUTES).is_file()
    except (OSError, ValueError):  # not a possible name
        return False


def write_routed(
    folder: Path,
    base: Model,
    routes: Mapping[str, Route],
    refused: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
) -> None:
    """Write a folder of models: the base, one file per route, and the routing table.

    Parameters
    ----------
    folder
        The folder; it is created if it is missing.
    base
        Model for all other pages.
    routes
        Route of each model by the name of its file, without suffix.
    refused
        Groups without a model and the reasons, for people who read the table.
    facts
        Facts about each route by the same name, also for people.

    Raises
    ------
    OSError
        A file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_model(base, folder / _BASE)
    rows: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[np.uint64]] = {}
    for name, route in routes.items():
        save_model(route.model, folder / f"{name}.blockml")
        row: dict[str, Any] = {"site": route.site, "host": route.host, "model": f"{name}.blockml"}
        if route.template is not None:
            row |= {"template_threshold": route.template.threshold, "template_pages": len(route.template.pages)}
            arrays |= {f"{name}.{number}": page for number, page in enumerate(route.template.pages)}
        rows.append(row | {"about": facts[name]})
    if arrays:
        write_arrays(folder / _TEMPLATES, {"format": _TEMPLATES_FORMAT}, arrays)
    table = {"format": _FORMAT, "base": _BASE, "routes": rows, "refused": list(refused)}
    with atomic_write(folder / ROUTES) as stream:  # last, because without it the folder is not a model
        stream.write(json.dumps(table, ensure_ascii=False, indent=1).encode("utf-8", "replace"))


def read_routed(folder: str | os.PathLike[str]) -> RoutedExtractor:
    """Read a folder of models.

    Raises
    ------
    ModelError
        The routing table or a model can't be used, or a model was adapted from another base.
    """
    place = Path(folder)
    table = place / ROUTES
    try:
        content = json.loads(table.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ModelFormatError(f"has the format {content['format']!r}, not {_FORMAT}", source=table)
        rows = [(str(row["site"]), row.get("host"), _file_name(row["model"]), row) for row in content["routes"]]
        base = load_model(place / _file_name(content["base"]))
        if len(rows) > _MOST_ROUTES:
            raise ModelFormatError(f"has more than {_MOST_ROUTES:,} routes", source=table)
        read = partial(read_arrays, place / _TEMPLATES, "file of templates", _TEMPLATES_FORMAT)
        arrays = read()[1] if any("template_pages" in row for *_, row in rows) else {}
        routes = [
            Route(site, _adapted(base, place / name), None if host is None else str(host), _template(row, name, arrays))
            for site, host, name, row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelFormatError(f"not a routing table ({type(error).__name__}: {error})", source=table) from error
    return RoutedExtractor(base, routes=routes, by_rules=_by_rules(place / RULES))


def _by_rules(path: Path) -> RulesExtractor | None:
    """Read the rules of a folder of models, if it has some; those of a site must choose blocks to route its pages."""
    if not os.path.lexists(path):
        return None
    if not path.is_file():
        raise ModelFormatError("is not a regular file, but has the name of the folder's rules", source=path)
    from blockml.rules import ANY_SITE, read_rules

    rules = read_rules(path)
    for site, layouts in rules.by_site.items():
        if not any(layout.decides for layout in layouts):
            raise UsageError(f"the rules of {site} only read metadata, which routes no page to them", source=path)
    if rules.by_site.keys() == {ANY_SITE}:
        raise UsageError("has only rules for *, which route no page; give the file by --rules instead", source=path)
    return RulesExtractor(rules)


def _file_name(name: Any) -> str:  # noqa: ANN401 (a parsed JSON value)
    """Check the name of a model file in the folder; a path that leads elsewhere is refused."""
    if not isinstance(name, str) or Path(name).name != name or not name.endswith(".blockml"):
        raise ModelFormatError(f"{name!r} is not the name of a model file in this folder")
    return name


def _adapted(base: Model, path: Path) -> Model:
    """Read a model; it shares the predictors of the base, from which it was adapted."""
    model = load_model(path)
    if model.correction is None or model.recipe.get("base") != base.id or model.features != base.features:
        raise ModelError(f"was not adapted from {base.id}, the base of the folder", source=path)
    shared = {name: getattr(base, name) for name in ("predictors", "weights", "policy", "article", "block_types")}
    return replace(model, **shared)


def _template(row: Mapping[str, Any], name: str, arrays: Mapping[str, NDArray[Any]]) -> RouteTemplate | None:
    if "template_pages" not in row:
        return None
    stem = name.removesuffix(".blockml")
    pages = tuple(np.asarray(arrays[f"{stem}.{number}"], dtype=np.uint64) for number in range(row["template_pages"]))
    if not pages or any(page.ndim != 1 for page in pages):
        raise ModelFormatError(f"the template of {name} has no pages")
    return RouteTemplate(pages, float(row["template_threshold"]))


#: Fields whose elements have the content, if a site has rules with one of them.
_CONTAINERS = frozenset({"within", "keep"})


@dataclass(eq=False, repr=False)
class RulesExtractor(Extractor):
    """Keeps blocks by the rules of a page's site only.

    A block is kept if the innermost rule around it is ``within`` or ``keep``; if the rules of the site have neither,
    all blocks are kept that no ``drop`` removes. A page has no content if its site has no rules, or if none of its
    layouts matches the page.

    Parameters
    ----------
    rules
        A file of rules or a mapping: see :func:`blockml.rules.read_rules`.

    Examples
    --------
    >>> import blockml
    >>> by_rules = RulesExtractor({"cats.example": {"within": "article", "drop": ".ad"}})
    >>> html = "<nav>Home</nav><article><p>Cats rule.<p class=ad>Buy one.</article>"
    >>> [blockml.extract(html, url=f"https://{site}.example/", model=by_rules).text for site in ("cats", "dogs")]
    ['Cats rule.', '']
    """

    name: ClassVar[str] = "rules"
    traits: ClassVar[Traits] = Traits("hand-written or learnt selectors")

    rules: AnyRules

    def __post_init__(self) -> None:
        self.rules = rules = read_rules(self.rules)
        self._id = f"rules:{Path(rules.source or 'given').name} {rules.digest}"

    @property
    def id(self) -> str:
        """Name of the file, with a digest of the rules."""
        return self._id

    def matches(self, page: Page) -> bool:
        """Tell whether a page's site has rules, and the page a layout of theirs."""
        own = [match for match in self._matches(page).found if match.site != ANY_SITE]
        needed = {match.kind for match in own} & _CONTAINERS
        return any(match.mask.any() for match in own if match.kind in needed or (not needed and match.kind == "drop"))

    def _matches(self, page: Page) -> PageMatches:
        return page_matches(read_rules(self.rules), page)

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score blocks that are kept by 1, others by 0."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score blocks, with a remark if no rule applies to the page."""
        matches = self._matches(page)
        rule, action = matches.by_block
        kinds = {match.kind for match in matches.found}
        if _CONTAINERS.isdisjoint(kinds):
            kept = (action != "drop") & ("drop" in kinds)
        else:
            kept = (action == "keep") | ((action == "") & (rule >= 0))
        remark = () if kept.any() or matches.has(*kinds) else (f"no rule of {self.id} matches the page",)
        return Prediction(kept.astype(np.float32), remarks=remark)

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the rule that decides about each block."""
        matches = self._matches(page)
        return tuple(matches.found[rule].name if rule >= 0 else "" for rule in matches.by_block[0].tolist())
