"""Extractors that use other pages of the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import blockml
from blockml.datasets import open_dataset
from blockml.decision import predicted_f1
from blockml.errors import ModelError, UsageError
from blockml.evaluation import evaluate_extractor
from blockml.extract import extract_page
from blockml.extractors import (
    Extractor,
    Intersection,
    Majority,
    Route,
    RoutedExtractor,
    TrainedExtractor,
    Union,
    page_matrix,
    resolve,
)
from blockml.extractors.methods import SITE_METHODS
from blockml.features import FEATURE_SETS
from blockml.features.site_pages import COLUMNS, UNKNOWN
from blockml.page import Page
from blockml.sites import at_site
from blockml.sites.template_methods import BlockFrequency, TextFrequency, TreeMapping
from blockml.templates import SiteTemplate
from blockml.training import build_table, recipe, train_model
from tests.models import scores_of, small_model
from tests.strategies import messy_html

DATA = Path(__file__).parents[2] / "data" / "sites"
#: Words that occur on only one page.
NAMES = ("cats", "dogs", "birds", "fish", "snails")


def animals(names: Sequence[str] = NAMES) -> list[Page]:
    """Return pages with a menu and a text."""
    return [blockml.parse(f"<p>Home of animals</p><p>{told(name)}</p>") for name in names]


def told(name: str) -> str:
    """Return the text of a page, in words that no other page has."""
    return f"{name}1 {name}2 {name}3 {name}4 {name}5."


def from_bars(*texts: str) -> list[Page]:
    """Return pages from texts whose paragraphs are separated by bars."""
    return [blockml.parse("".join(f"<p>{part}</p>" for part in text.split("|"))) for text in texts]


@pytest.fixture(params=sorted(SITE_METHODS))
def method(request: pytest.FixtureRequest) -> Extractor:
    """Return each method with its defaults."""
    return SITE_METHODS[request.param]()


def test_example_of_document_frequency() -> None:
    """The example of the document frequency rule (ME-11.2) keeps the two texts that are on one page."""
    pages = from_bars(
        "Home|News|Breaking: cats|Cats rule.|(c) 2008",
        "Home|News|Dogs|Dogs bark.|(c) 2008",
        "Home|News|Birds|(c) 2008",
        "Home|Sports|Fish",
    )
    for include_self in (True, False):
        knowing = TextFrequency(include_self=include_self).fit(pages)
        result = extract_page(pages[0], knowing)
        assert result.text.split() == "Breaking: cats Cats rule.".split()
        assert result.warnings == ()
        assert knowing.explain(pages[0])[0].startswith("on 4 of 4" if include_self else "on 3 of 3")


def test_without_other_pages_the_fallback_is_used(method: Extractor) -> None:
    """Without other pages of the site (ME-11.5) the text is that of the fallback, and a warning says so."""
    for page in (animals()[0], blockml.parse(f"<p>{'word ' * 40}</p>"), blockml.parse("")):
        result = extract_page(page, method)
        assert result.text == extract_page(page, resolve("accb")).text
        assert result.warnings[-1] == "the template was learned from too few pages and accb was used instead"
        assert method.explain(page) == resolve("accb").explain(page)


def test_repeated_text_is_removed(method: Extractor) -> None:
    """Repeated text is removed from a known page and from a new one."""
    knowing = method.fit(animals())
    for name in ("cats", "worms"):
        page = animals((name,))[0]
        result = extract_page(page, knowing)
        assert (result.text, result.warnings) == (told(name), ())
        assert len(knowing.explain(page)) == 2


def test_the_fallback_is_used_if_a_rule_removes_all_or_nothing() -> None:
    """Copies of one page don't count, and a page that is all template or has nothing repeated uses the fallback."""
    copies = TextFrequency().fit(animals(("cats",) * 6))
    assert extract_page(animals()[0], copies).warnings == (
        "the template was learned from too few pages and accb was used instead",
    )
    knowing = TextFrequency().fit(animals())
    assert extract_page(from_bars("Home of animals")[0], knowing).warnings == (
        "the template matches almost all of this page and accb was used instead",
    )
    assert extract_page(from_bars("Nothing that anyone has said before")[0], knowing).warnings == (
        "the template matches almost nothing on this page and accb was used instead",
    )


@settings(max_examples=20)
@given(st.lists(messy_html, max_size=6), messy_html, st.sampled_from(sorted(SITE_METHODS)))
def test_scores_of_any_page(sources: list[str], other: str, name: str) -> None:
    """Scores are float32 values in [0, 1], one per block, and nothing raises."""
    knowing = SITE_METHODS[name]().fit([blockml.parse(source) for source in sources])
    for source in (other, *sources[:1]):
        page = blockml.parse(source)
        scores = knowing.score(page)
        assert scores.dtype == np.float32
        assert scores.shape == (len(page.blocks),)
        assert ((scores >= 0) & (scores <= 1)).all()
        assert len(knowing.explain(page)) == len(page.blocks)


def test_parameters(method: Extractor) -> None:
    """Clones are equal, wrong values are refused, and ids stay short."""
    knowing = clone(method).set_params(template=SiteTemplate.count(animals(), name="zoo"), fallback="lqf")
    assert clone(knowing).get_params()["fallback"] == "lqf"
    assert knowing.id == f"{method.name}(template={knowing.get_params()['template']!r}, fallback=lqf)"
    assert knowing.id.startswith(f"{method.name}(template=SiteTemplate('zoo', 5 pages, 0 layouts, ")
    for wrong in ({"min_train": 0}, {"fallback": "nothing"}, {"template": 3}):
        with pytest.raises(UsageError):
            method.set_params(**wrong)
    with pytest.raises(ModelError, match="no such site template"):
        method.set_params(template="/nowhere/at.all")


def test_a_template_file_equals_the_template(tmp_path: Path, method: Extractor) -> None:
    """A template that was saved gives the same scores for new pages."""
    site = SiteTemplate.learn(animals(), name="zoo")
    site.save(tmp_path / "zoo.template")
    page = animals(("worms",))[0]
    from_file, learnt = at_site(method, str(tmp_path / "zoo.template")), at_site(method, site)
    assert from_file.score(page).tolist() == learnt.score(page).tolist()
    assert extract_page(page, from_file).text == told("worms")


def test_other_extractors_get_the_remaining_blocks() -> None:
    """Plain keeps every block that isn't repeated, and all blocks with a warning if there are too few pages."""
    site, page = SiteTemplate.learn(animals()), animals(("worms",))[0]
    knowing = at_site(resolve("plain"), site)
    assert extract_page(page, knowing).text == told("worms")
    assert knowing.explain(page)[0].startswith("repeats: on 6 of 6 pages")
    few = extract_page(page, at_site(resolve("plain"), SiteTemplate.learn(animals()[:2])))
    assert (few.text.count("animals"), few.warnings) == (
        1,
        ("the template was learned from too few pages and was ignored",),
    )
    etdm = TreeMapping()
    assert isinstance(at_site(etdm, site), TreeMapping)
    assert etdm.template is None


def test_a_template_keeps_what_the_model_predicts() -> None:
    """With a template the confidence is that of the blocks kept then, from the model's probabilities."""
    files = sorted((DATA / "harbour-courier").glob("*/page.html"))
    pages = [blockml.parse(path.read_bytes()) for path in files]
    model = blockml.load("default")
    knowing = at_site(model, SiteTemplate.learn(pages))
    changed = 0
    for page in pages:
        alone, with_site = extract_page(page, model), extract_page(page, knowing)
        assert with_site.article_probability == alone.article_probability is not None
        assert with_site.probabilities.tolist() == alone.probabilities.tolist()
        assert with_site.labels is not None
        matrix = model.predict(page).matrix
        assert matrix is not None
        if (with_site.kept == alone.kept).all():
            assert with_site.confidence == alone.confidence
        else:
            changed += 1
            expected = predicted_f1(alone.probabilities, with_site.kept, matrix.context.words)
            assert with_site.confidence == pytest.approx(expected, abs=0.02)  # comments count as certain
            assert with_site.confidence != alone.confidence
    assert 0 < changed < len(pages)


def test_a_page_without_content_has_no_confidence_with_a_template() -> None:
    """Where nothing is kept, a template does not make the model sure."""
    pages = [blockml.parse(f"<p><a href=/>Home of {name}</a></p>") for name in NAMES]
    result = extract_page(pages[0], at_site(blockml.load("default"), SiteTemplate.learn(pages)))
    assert (result.status, result.confidence) == ("no_content", 0)


def test_a_template_keeps_the_routes_of_a_folder_of_models() -> None:
    """With a template, each page still gets the model of its site."""
    base = blockml.load("kim2013")
    assert isinstance(base, TrainedExtractor)
    routed = RoutedExtractor(base.model, routes=[Route("cats.example", replace(base.model, name="cats"))])
    knowing = at_site(routed, SiteTemplate.learn(animals()))
    page = replace(animals(("worms",))[0], url="https://cats.example/")
    assert "cats" in extract_page(page, knowing).model
    assert knowing.decide(page).kept.tolist() == extract_page(page, knowing).kept.tolist()


@pytest.mark.parametrize("kind", [Union, Intersection, Majority])
def test_votes_name_the_fallbacks_of_their_members(kind: type[Union | Intersection | Majority]) -> None:
    """The fallbacks of members give one warning, and none if a template is known."""
    page = animals(("worms",))[0]
    result = extract_page(page, kind([TextFrequency(), BlockFrequency(), "plain"]))
    assert result.warnings == ("the template was learned from too few pages and accb was used instead",)
    knowing = kind([TextFrequency().fit(animals()), BlockFrequency().fit(animals())])
    assert (extract_page(page, knowing).text, extract_page(page, knowing).warnings) == (told("worms"), ())


def test_a_template_file_is_read_once_per_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template file is read once per page, and never by a model that has no site features."""
    path = tmp_path / "zoo.template"
    SiteTemplate.learn(animals()).save(path)
    knowing = [TextFrequency(str(path)), TrainedExtractor(site_model().model, template=str(path))]
    reads: list[object] = []
    load = SiteTemplate.load

    def noted(source: str) -> SiteTemplate:
        reads.append(source)
        return load(source)

    monkeypatch.setattr(SiteTemplate, "load", noted)
    for extractor in [*knowing, TrainedExtractor(small_model(), template=str(path))]:
        extractor.score(animals(("worms",))[0])
    assert reads == [str(path)] * 2


def test_ids_of_models_name_the_template_that_they_use() -> None:
    """The template is part of the id, so that a resumed run notices another one."""
    site = SiteTemplate.count(animals(), name="zoo")
    assert at_site(site_model(), site).id == f"tiny 1.2 (template={site!r})"
    assert TrainedExtractor(small_model(), threshold=0.25, template=site).id == "tiny 1.2 (threshold=0.25)"


def site_model() -> TrainedExtractor:
    """Return a small constructed model with site features."""
    chosen = FEATURE_SETS["kim2013-site"]
    return TrainedExtractor(small_model(features=chosen.name, features_hash=chosen.hash))


def test_site_features() -> None:
    """Site features are in their ranges, and unknown without enough pages of the site."""
    site = SiteTemplate.learn(animals())
    names = [f"{column.name}_0" for column in COLUMNS]
    places = [FEATURE_SETS["kim2013-site"].columns.index(name) for name in names]
    page = animals(("worms",))[0]
    known, unknown = page_matrix(page, "kim2013-site", site).values, page_matrix(page, "kim2013-site").values
    assert (unknown[:, places] == UNKNOWN).all()
    assert (known[:, places] >= 0).all()
    assert (known[:, places] <= [column.high for column in COLUMNS]).all()
    assert np.array_equal(known[:, :140], unknown[:, :140])
    assert known[:, names.index("sitetext_0") + 140].tolist() == [1.0, pytest.approx(1 / 6)]
    few = SiteTemplate.learn(animals()[:2])
    assert np.array_equal(page_matrix(page, "kim2013-site", few).values, unknown)


def test_models_use_a_template_if_their_features_do() -> None:
    """Only a model with site features uses the template."""
    page, pages = animals(("worms",))[0], animals()
    knowing = site_model().fit(pages)
    assert (knowing.uses_site, knowing.template is None) == (True, False)
    site = SiteTemplate.learn(pages)
    assert np.array_equal(knowing.score(page), scores_of(knowing.model, page_matrix(page, "kim2013-site", site).values))
    assert np.array_equal(site_model().score(page), scores_of(knowing.model, page_matrix(page, "kim2013-site").values))
    other = TrainedExtractor(small_model()).fit(pages)
    assert (other.uses_site, other.template) == (False, None)
    assert isinstance(at_site(site_model(), SiteTemplate.count(pages)), TrainedExtractor)


def test_tables_contain_the_values_of_extraction() -> None:
    """Site features in training are learnt from all pages of the site in the data set, as in extraction."""
    whole = open_dataset(DATA)
    dataset = replace(whole, pages=whole.pages[::-9] + whole.pages[:5])
    table = build_table([dataset], recipe("kim2013-site"))
    assert [page.id for page in table.pages] == [page.id for page in dataset.pages]
    site = dataset.pages[-1].site
    of_site = [page for page in dataset.pages if page.site == site]
    parsed = [blockml.parse(page.load()[0]) for page in of_site]
    known = SiteTemplate.learn(parsed)
    rows = {page.id: page.matrix for page in table.pages}
    for labelled, page in zip(of_site, parsed, strict=True):
        assert np.array_equal(rows[labelled.id], page_matrix(page, "kim2013-site", known).values)


def test_other_pages_of_the_site_help() -> None:
    """On the generated sites, methods that use other pages score higher than plain."""
    dataset = replace(open_dataset(DATA), pages=open_dataset(DATA).pages[:30])
    mean = {}
    for name in ("plain", "df", "etdm"):
        results = evaluate_extractor(resolve(name), dataset, jobs=1)
        assert [result.id for result in results] == [page.id for page in dataset.pages]
        mean[name] = np.mean([result.bag.f1 for result in results if result.bag])
    assert min(mean["df"], mean["etdm"]) > mean["plain"] + 0.05


def test_a_model_is_neutral_without_pages_of_the_site() -> None:
    """Training also includes each page without its site, so quality without a site is about that of a plain model."""
    dataset = replace(open_dataset(DATA), pages=open_dataset(DATA).pages[::2])
    f1 = {}
    for name in ("kim2013", "kim2013-site"):
        chosen = recipe(name).but(threshold=0.5, shrinkage=100.0)
        model = train_model([dataset], chosen, protocols=(), command="a test")
        results = [extract_page(blockml.parse(page.load()[0]), TrainedExtractor(model)).kept for page in dataset.pages]
        table = build_table([dataset], recipe("kim2013"))
        f1[name] = table.page_f1(np.concatenate(results), table.pages_with_text()).mean()
    assert f1["kim2013-site"] > f1["kim2013"] - 0.03


def test_combinations_pass_the_template_to_their_members() -> None:
    """A learnt or given template is passed to copies of the members, which aren't changed themselves."""
    site, page = SiteTemplate.learn(animals()), animals(("worms",))[0]
    member = TextFrequency()
    both = resolve("intersection", {"members": [member, resolve("plain")]})
    assert both.uses_site
    assert not resolve("majority").uses_site
    for knowing in (at_site(both, site), clone(both).fit(animals())):
        assert extract_page(page, knowing).text == told("worms")
    assert member.template is None
    assert extract_page(page, both).warnings == (
        "the template was learned from too few pages and accb was used instead",
    )


def test_site_trees_are_unknown_without_layouts() -> None:
    """The feature about trees is unknown for a template that only has counts."""
    place = FEATURE_SETS["kim2013-site"].columns.index("sitetree_0")
    page = animals(("worms",))[0]
    assert (page_matrix(page, "kim2013-site", SiteTemplate.count(animals())).values[:, place] == UNKNOWN).all()
    assert page_matrix(page, "kim2013-site", SiteTemplate.learn(animals())).values[:, place].tolist() == [1, 0]


def test_a_page_is_kept_if_everything_on_it_is_repeated() -> None:
    """If every kept block is repeated, the extractor's decision is kept, with a warning."""
    shared = "word " * 30
    pages = [blockml.parse(f"<p>{shared}</p><p><a href=/>{name} {name}x</a></p>") for name in NAMES]
    result = extract_page(pages[0], at_site(resolve("lqf"), SiteTemplate.count(pages)))
    assert result.text == shared.strip()
    assert result.warnings == ("the template matches every kept block and was ignored",)


def test_pages_with_another_structure_do_not_count() -> None:
    """With a distance, texts are only counted on the pages of the nearest cluster."""
    articles = [
        blockml.parse(
            f"<div><hr><img><h1>Home of animals</h1><table><tr><td><b>{told(name)}</b></td></tr></table></div>"
        )
        for name in NAMES
    ]
    lists = [blockml.parse(f"<ul><li><a>{told(str(number))}</a></li></ul>" * 3) for number in range(12)]
    known = TextFrequency(metric="cp", fallback="plain").fit([*articles, *lists])
    alone = TextFrequency(fallback="plain").fit(articles)
    for page in articles:
        assert known.score(page).tolist() == alone.score(page).tolist() == [0, 1]
    # The heading is on less than a third of all pages.
    everything = TextFrequency(fallback="plain").fit([*articles, *lists])
    assert everything.score(articles[0]).tolist() == [1, 1]
    few = TextFrequency(metric="cp", fallback="plain").fit([*articles, *lists[:2]])
    assert extract_page(lists[0], few).warnings == ("the template was learned from too few pages and was ignored",)
    assert TextFrequency(metric="cp").fit([]).predict(articles[0]).remarks
    known.set_params(metric=None)
    assert known.score(articles[0]).tolist() == everything.score(articles[0]).tolist()


def test_distances_without_a_threshold_are_refused() -> None:
    """The error lists the distances that have a threshold."""
    with pytest.raises(UsageError, match="cp, cps, ctss"):
        TextFrequency(metric="lcts").fit(animals())


def test_the_main_container_can_be_selected() -> None:
    """With ``container=True``, ETDM only keeps the smallest element with most of the remaining words."""
    pages = [
        blockml.parse(
            f"<nav><p>Home of animals</p></nav><main><p>{told(name)}</p><p>{told(name)[::-1]}</p></main>"
            f"<aside><p>{name[0]}</p></aside>"
        )
        for name in NAMES
    ]
    plain, centred = (TreeMapping(container=container).fit(pages) for container in (False, True))
    assert (plain.score(pages[0]) >= 0.5).tolist() == [False, True, True, True]
    assert (centred.score(pages[0]) >= 0.5).tolist() == [False, True, True, False]
    assert centred.explain(pages[0])[-1] == "outside of the main container"


def test_a_template_does_not_split_sentences() -> None:
    """A repeated word inside a sentence is kept, and a repeated line is removed as a whole."""
    pages = [
        blockml.parse(f"<p>Home <b>page</b> {name}s<p>Each {name} <strong>always</strong> sleeps near a {name}.</p>")
        for name in ("cat", "dog", "bird", "fish", "cow")
    ]
    result = extract_page(pages[0], at_site(resolve("plain"), SiteTemplate.learn(pages)))
    assert result.text == "Each cat always sleeps near a cat."
