"""Templates of sites: learning, updating, and files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.errors import ModelFormatError, UsageError
from blockml.model import save_model
from blockml.page import Page
from blockml.templates import SiteTemplate
from blockml.templates.frequency import measure
from blockml.templates.site import loaded
from tests.models import small_model
from tests.strategies import messy_html

DATA = Path(__file__).parents[2] / "data" / "sites"


def pages_of(site: str) -> list[Page]:
    """Return the pages of one of the synthetic sites."""
    return [blockml.parse(path.read_bytes()) for path in sorted((DATA / site).glob("*/page.html"))]


def inside_of(template: SiteTemplate, page: Page) -> NDArray[np.bool_]:
    """Return the mask of nodes that are in the tree of the page's layout."""
    inside = template.in_tree(page)
    assert inside is not None
    return inside


@pytest.fixture(scope="module")
def courier() -> list[Page]:
    """Return the pages of a newspaper."""
    return pages_of("harbour-courier")


@pytest.fixture(scope="module")
def template(courier: list[Page]) -> SiteTemplate:
    """Return the template of the newspaper."""
    return SiteTemplate.learn(courier, name="courier")


def test_copies_count_once(template: SiteTemplate, courier: list[Page]) -> None:
    """Copies of a page, which a crawl may have under many addresses, count once."""
    for copied in range(0, len(courier), 4):
        again = SiteTemplate.learn([*courier, *[courier[copied]] * 20], name="courier")
        assert [layout.n_pages for layout in again.layouts] == [layout.n_pages for layout in template.layouts]
        assert [inside_of(again, page).sum() for page in courier] == [
            inside_of(template, page).sum() for page in courier
        ]


def test_pages_that_were_not_parsed_are_refused() -> None:
    """Bytes and file names, which are likely mistakes, are refused."""
    for wrong in ([b"<p>Home"], ["home.html"], "<p>Home"):
        with pytest.raises(UsageError, match=r"pages must be parsed, as by blockml\.parse, got (?:str|bytes)"):
            SiteTemplate.learn(wrong)  # type: ignore[arg-type]


def test_files_restore_what_was_learnt(template: SiteTemplate, courier: list[Page], tmp_path: Path) -> None:
    """A loaded template measures every page as before, and is saved as the same bytes."""
    file = tmp_path / "courier.template"
    template.save(file)
    again = SiteTemplate.load(file)
    again.save(tmp_path / "again.template")
    assert (tmp_path / "again.template").read_bytes() == file.read_bytes()
    assert (again.name, again.parsing, repr(again)) == (template.name, ("lxml", "anchor"), repr(template))
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []
    for page in courier:
        assert np.array_equal(inside_of(again, page), inside_of(template, page))
        one, two = measure(page, template.counts), measure(page, again.counts)
        assert np.array_equal(one.text_pages, two.text_pages)
        assert np.array_equal(one.entropy, two.entropy)
        assert one.similar is not None
        assert two.similar is not None
        assert np.array_equal(one.similar, two.similar)


def test_menu_and_footer_are_in_the_tree_and_the_article_is_not(template: SiteTemplate, courier: list[Page]) -> None:
    """On an article, the menu and the footer are in the tree and the article is not."""
    page = next(page for page in courier if page.nodes.named({"article"}).any() and len(page.blocks) > 40)
    inside, nodes = inside_of(template, page), page.nodes
    words: dict[str, list[int]] = {"header": [0, 0], "footer": [0, 0], "article": [0, 0]}
    for block in page.blocks:
        for name in {nodes.name(node) for node in nodes.ancestors(block.node)} & set(words):
            words[name][int(inside[block.node])] += block.n_words
    shares = {name: found / (found + other) for name, (other, found) in words.items()}
    assert min(shares["header"], shares["footer"]) > 0.9
    assert shares["article"] < 0.3


def test_counting_can_be_continued(courier: list[Page]) -> None:
    """Counting pages step by step in any order equals counting all at once, and updates keep the layouts."""
    whole = SiteTemplate.count(courier)
    steps = SiteTemplate.count(courier[5:]).updated(courier[:3]).updated(courier[3:5]).updated(courier[:1])
    assert steps.counts.n_pages == whole.counts.n_pages
    for name, array in whole.counts.arrays().items():
        assert np.array_equal(array, steps.counts.arrays()[name]), name
    learnt = SiteTemplate.learn(courier[:8])
    assert learnt.updated(courier[8:]).layouts == learnt.layouts


def test_layouts_are_of_all_pages(template: SiteTemplate, courier: list[Page]) -> None:
    """Each page belongs to one layout, the largest comes first, and a page finds its layout."""
    sizes = [layout.n_pages for layout in template.layouts]
    assert sum(sizes) == len(courier)
    assert sizes == sorted(sizes, reverse=True)
    assert {id(template.layout_of(page)) for page in courier} <= {id(layout) for layout in template.layouts}
    assert len(SiteTemplate.learn(courier, threshold=0).layouts) > len(SiteTemplate.learn(courier, threshold=1).layouts)


def test_pages_of_a_site_are_parsed_alike(template: SiteTemplate) -> None:
    """Pages parsed with other options are refused, because their blocks would not be found among those learnt."""
    other = blockml.parse("<p>Home</p>", profile="boilerpipe")
    with pytest.raises(UsageError, match="were parsed with"):
        template.updated([other])
    with pytest.raises(UsageError, match="were parsed with"):
        template.check(other)
    SiteTemplate.count([]).check(other)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_pages(n: int, tmp_path: Path) -> None:
    """No page gives no layout, and one page gives a layout without a tree."""
    pages = [blockml.parse(f"<p>Home</p><p>{name}") for name in ("cats", "dogs")][:n]
    learnt = SiteTemplate.learn(pages)
    assert [layout.tree is not None for layout in learnt.layouts] == ([n > 1] if n else [])
    learnt.save(tmp_path / "few")
    again = SiteTemplate.load(tmp_path / "few")
    page = blockml.parse("<p>Home</p><p>birds")
    found = learnt.in_tree(page)
    assert (found is None) == (n < 2)
    assert (again.in_tree(page) is None) == (found is None)
    assert found is None or np.array_equal(inside_of(again, page), found)


def test_pages_may_be_an_iterator(courier: list[Page], template: SiteTemplate) -> None:
    """Pages may be given as an iterator, which can be read only once."""
    assert repr(SiteTemplate.learn(iter(courier), name="courier")) == repr(template)


@settings(max_examples=25)
@given(st.lists(messy_html, max_size=5), messy_html)
def test_any_pages_can_be_learnt(sources: list[str], other: str) -> None:
    """Any pages can be learnt and looked up without an exception."""
    learnt = SiteTemplate.learn([blockml.parse(source) for source in sources])
    page = blockml.parse(other)
    inside = learnt.in_tree(page)
    assert inside is None or inside.shape == (len(page.nodes),)


def test_files_of_other_kinds_are_refused(template: SiteTemplate, tmp_path: Path) -> None:
    """Files of another kind and missing files are refused with an error that says which."""
    save_model(small_model(), tmp_path / "model")
    with pytest.raises(ModelFormatError, match="not a site template"):
        SiteTemplate.load(tmp_path / "model")
    template.save(tmp_path / "site")
    with pytest.raises(ModelFormatError, match="not a model file"):
        blockml.load(tmp_path / "site")
    with pytest.raises(ModelFormatError, match="no such site template"):
        SiteTemplate.load(tmp_path / "none")
    with pytest.raises(UsageError, match="template"):
        loaded(3)  # type: ignore[arg-type]


def test_damaged_files_are_refused(template: SiteTemplate, courier: list[Page], tmp_path: Path) -> None:
    """Truncated files, missing or replaced parts and newer formats raise ModelFormatError and no other error."""
    file = tmp_path / "site"
    template.save(file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    changes: list[dict[str, bytes]] = [{name: b""} for name in members]
    changes += [{"header.json": json.dumps({**header, key: "x"}).encode()} for key in header]
    changes += [{"header.json": json.dumps({**header, "format": 99}).encode()}]
    infinite = {**header, "layouts": [{**header["layouts"][0], "n_pages": float("inf")}, *header["layouts"][1:]]}
    changes += [{"header.json": json.dumps(infinite).encode()}]
    changes += [
        {name: members["layout-0-paths.npy"]} for name in members if name.endswith(".npy") and "paths" not in name
    ]
    accepted: list[str] = []
    for change in changes:
        with zipfile.ZipFile(tmp_path / "bad", "w") as archive:
            for name, content in {**members, **change}.items():
                archive.writestr(name, content)
        try:
            again = SiteTemplate.load(tmp_path / "bad")
        except ModelFormatError:
            continue
        accepted += change  # any name is valid, and any sorted numbers may be keys: using them does no harm
        measure(courier[0], again.counts)
        again.in_tree(courier[0])
    assert len(accepted) <= 5
    (tmp_path / "bad").write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelFormatError, match="not a site template"):
        SiteTemplate.load(tmp_path / "bad")
