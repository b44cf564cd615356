"""Extractors that know the page's site."""

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
from blockml.errors import ModelError, UsageError
from blockml.evaluation.run import evaluate_extractor
from blockml.extract import extract_page
from blockml.extractors import Extractor, TrainedExtractor, resolve
from blockml.extractors.combinations import Intersection, Majority, Union
from blockml.extractors.matrix import page_matrix
from blockml.extractors.methods import SITE_METHODS
from blockml.extractors.site.at_site import at_site
from blockml.extractors.site.methods import BlockFrequency, TextFrequency, TreeMapping
from blockml.features import FEATURE_SETS
from blockml.features.site_pages import COLUMNS, UNKNOWN
from blockml.page import Page
from blockml.templates.site import SiteTemplate
from blockml.training.recipes import recipe
from blockml.training.table import build_table
from blockml.training.train import train_model
from tests.models import scores_of, small_model
from tests.strategies import messy_html

DATA = Path(__file__).parents[2] / "data" / "sites"
#: Words that only one page has.
NAMES = ("cats", "dogs", "birds", "fish", "snails")


def animals(names: Sequence[str] = NAMES) -> list[Page]:
    """Pages with a menu and a text each."""
    return [blockml.parse(f"<p>Home of animals</p><p>{told(name)}</p>") for name in names]


def told(name: str) -> str:
    """Text of a page, of words that no other page has."""
    return f"{name}1 {name}2 {name}3 {name}4 {name}5."


def from_bars(*texts: str) -> list[Page]:
    """Pages from texts parted by bars."""
    return [blockml.parse("".join(f"<p>{part}</p>" for part in text.split("|"))) for text in texts]


@pytest.fixture(params=sorted(SITE_METHODS))
def method(request: pytest.FixtureRequest) -> Extractor:
    """Each method with its defaults."""
    return SITE_METHODS[request.param]()


def test_me_11_2() -> None:
    """The example of the document frequency rule."""
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


def test_me_11_5(method: Extractor) -> None:
    """Without other pages of the site the text is that of the fallback, which a remark names."""
    for page in (animals()[0], blockml.parse(f"<p>{'word ' * 40}</p>"), blockml.parse("")):
        result = extract_page(page, method)
        assert result.text == extract_page(page, resolve("accb")).text
        assert result.warnings[-1] == "the template was learned from too few pages and accb was used instead"
        assert method.explain(page) == resolve("accb").explain(page)


def test_what_repeats_goes(method: Extractor) -> None:
    """A page that was learnt, and a new one."""
    knowing = method.fit(animals())
    for name in ("cats", "worms"):
        page = animals((name,))[0]
        result = extract_page(page, knowing)
        assert (result.text, result.warnings) == (told(name), ())
        assert len(knowing.explain(page)) == 2


def test_where_a_rule_takes_all_or_nothing_the_fallback_steps_in() -> None:
    """Copies of the page teach nothing; a page of nothing but template, or of nothing that repeats, is doubtful."""
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
    """One in [0, 1] a block, and never an error."""
    knowing = SITE_METHODS[name]().fit([blockml.parse(source) for source in sources])
    for source in (other, *sources[:1]):
        page = blockml.parse(source)
        scores = knowing.score(page)
        assert scores.dtype == np.float32
        assert scores.shape == (len(page.blocks),)
        assert ((scores >= 0) & (scores <= 1)).all()
        assert len(knowing.explain(page)) == len(page.blocks)


def test_parameters(method: Extractor) -> None:
    """Clones are equal, wrong values name the legal ones, ids stay short."""
    knowing = clone(method).set_params(template=SiteTemplate.count(animals(), name="zoo"), fallback="lqf")
    assert clone(knowing).get_params()["fallback"] == "lqf"
    assert knowing.id == f"{method.name}(template={knowing.get_params()['template']!r}, fallback=lqf)"
    assert knowing.id.startswith(f"{method.name}(template=SiteTemplate('zoo', 5 pages, 0 layouts, ")
    for wrong in ({"min_train": 0}, {"fallback": "nothing"}, {"template": 3}):
        with pytest.raises(UsageError):
            method.set_params(**wrong)
    with pytest.raises(ModelError, match="no such site template"):
        method.set_params(template="/nowhere/at.all")


def test_a_file_is_as_good_as_what_was_learnt(tmp_path: Path, method: Extractor) -> None:
    """Learnt once, applied to new pages."""
    site = SiteTemplate.learn(animals(), name="zoo")
    site.save(tmp_path / "zoo.template")
    page = animals(("worms",))[0]
    from_file, learnt = at_site(method, str(tmp_path / "zoo.template")), at_site(method, site)
    assert from_file.score(page).tolist() == learnt.score(page).tolist()
    assert extract_page(page, from_file).text == told("worms")


def test_other_extractors_get_what_is_left() -> None:
    """Plain keeps every block that does not repeat; with too few pages it is unchanged, with a remark."""
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


@pytest.mark.parametrize("kind", [Union, Intersection, Majority])
def test_votes_name_the_fallbacks_of_their_members(kind: type[Union | Intersection | Majority]) -> None:
    """Each remark is given once."""
    page = animals(("worms",))[0]
    result = extract_page(page, kind([TextFrequency(), BlockFrequency(), "plain"]))
    assert result.warnings == ("the template was learned from too few pages and accb was used instead",)
    knowing = kind([TextFrequency().fit(animals()), BlockFrequency().fit(animals())])
    assert (extract_page(page, knowing).text, extract_page(page, knowing).warnings) == (told("worms"), ())


def test_a_file_is_read_once_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it takes as long as parsing a page; a model of other features never reads it."""
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


def test_ids_of_models_name_the_template_they_use() -> None:
    """A resumed run can thus tell which pages were extracted with the template."""
    site = SiteTemplate.count(animals(), name="zoo")
    assert at_site(site_model(), site).id == f"tiny 1.2 (template={site!r})"
    assert TrainedExtractor(small_model(), threshold=0.25, template=site).id == "tiny 1.2 (threshold=0.25)"


def site_model() -> TrainedExtractor:
    """A model on the columns about siblings, made by hand."""
    chosen = FEATURE_SETS["kim2013-site"]
    return TrainedExtractor(small_model(features=chosen.name, features_hash=chosen.hash))


def test_columns_about_siblings() -> None:
    """Values are in their ranges with pages of the site, and unknown without."""
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


def test_models_use_siblings_if_their_features_do() -> None:
    """A model of other features stays as it is."""
    page, pages = animals(("worms",))[0], animals()
    knowing = site_model().fit(pages)
    assert (knowing.uses_site, knowing.template is None) == (True, False)
    site = SiteTemplate.learn(pages)
    assert np.array_equal(knowing.score(page), scores_of(knowing.model, page_matrix(page, "kim2013-site", site).values))
    assert np.array_equal(site_model().score(page), scores_of(knowing.model, page_matrix(page, "kim2013-site").values))
    other = TrainedExtractor(small_model()).fit(pages)
    assert (other.uses_site, other.template) == (False, None)
    assert isinstance(at_site(site_model(), SiteTemplate.count(pages)), TrainedExtractor)


def test_tables_hold_what_extraction_will_see() -> None:
    """Columns about siblings are learnt from all pages of a site in the data set, in the order of the pages."""
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


def test_siblings_help() -> None:
    """The boilerplate of the generated sites repeats; evaluation learns it without gold."""
    dataset = replace(open_dataset(DATA), pages=open_dataset(DATA).pages[:30])
    mean = {}
    for name in ("plain", "df", "etdm"):
        results = evaluate_extractor(resolve(name), dataset, jobs=1)
        assert [result.id for result in results] == [page.id for page in dataset.pages]
        mean[name] = np.mean([result.bag.f1 for result in results if result.bag])
    assert min(mean["df"], mean["etdm"]) > mean["plain"] + 0.05


def test_a_model_is_neutral_where_no_siblings_are_known() -> None:
    """Training includes every page without its site too, so without a site quality is about that of a plain model."""
    dataset = replace(open_dataset(DATA), pages=open_dataset(DATA).pages[::2])
    f1 = {}
    for name in ("kim2013", "kim2013-site"):
        chosen = recipe(name).but(threshold=0.5, shrinkage=100.0)
        model = train_model([dataset], chosen, protocols=(), command="a test")
        results = [extract_page(blockml.parse(page.load()[0]), TrainedExtractor(model)).kept for page in dataset.pages]
        table = build_table([dataset], recipe("kim2013"))
        f1[name] = table.page_f1(np.concatenate(results), table.pages_with_text()).mean()
    assert f1["kim2013-site"] > f1["kim2013"] - 0.03


def test_combinations_hand_what_is_known_to_their_members() -> None:
    """Learnt or given; the members that were given stay as they are."""
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


def test_layouts_without_a_tree_are_unknown() -> None:
    """Counts tell nothing about trees."""
    place = FEATURE_SETS["kim2013-site"].columns.index("sitetree_0")
    page = animals(("worms",))[0]
    assert (page_matrix(page, "kim2013-site", SiteTemplate.count(animals())).values[:, place] == UNKNOWN).all()
    assert page_matrix(page, "kim2013-site", SiteTemplate.learn(animals())).values[:, place].tolist() == [1, 0]


def test_a_page_is_not_lost_to_what_repeats() -> None:
    """If every kept block repeats, the extractor's own decision is kept, with a remark."""
    shared = "word " * 30
    pages = [blockml.parse(f"<p>{shared}</p><p><a href=/>{name} {name}x</a></p>") for name in NAMES]
    result = extract_page(pages[0], at_site(resolve("lqf"), SiteTemplate.count(pages)))
    assert result.text == shared.strip()
    assert result.warnings == ("the template matches every kept block and was ignored",)


def test_pages_of_other_structure_do_not_count() -> None:
    """With a distance, texts are counted on the pages of the nearest cluster, as without the other pages."""
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
    """The message names the legal ones."""
    with pytest.raises(UsageError, match="cp, cps, ctss"):
        TextFrequency(metric="lcts").fit(animals())


def test_the_main_container_can_be_asked_for() -> None:
    """ETDM then keeps, of the remaining elements, only the smallest element with most of the words."""
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


def test_a_template_splits_no_sentence() -> None:
    """A word that is emphasised on all pages stays in its sentence; a repeated line goes as a whole."""
    pages = [
        blockml.parse(f"<p>Home <b>page</b> {name}s<p>Each {name} <strong>always</strong> sleeps near a {name}.</p>")
        for name in ("cat", "dog", "bird", "fish", "cow")
    ]
    result = extract_page(pages[0], at_site(resolve("plain"), SiteTemplate.learn(pages)))
    assert result.text == "Each cat always sleeps near a cat."
