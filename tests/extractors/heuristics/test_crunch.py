"""Crunch's filters: each separately, their order, and link lists compared with a slow reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.crunch import Crunch
from blockml.page import Page, Status
from tests.strategies import content_nodes, messy_html, path_of, slow_words

MENU = "<ul><li><a>Home</a></li><li><a>News</a></li></ul>"
PROSE = "<p>See <a>this</a> and <a>that</a> for nine more plain words here.</p>"
CONTAINERS = {"ul", "ol", "table", "td", "div", "p"}
FILTERS = ["elements", "adverts", "link_lists", "text_lists", "empty"]

#: A paragraph that is long enough for the page not to be only an advertisement or a form.
LONG = "<p>" + "There is more to read here than in all the rest of the page together. " * 3 + "</p>"


def only(*names: str, **parameters: Any) -> Crunch:
    """Return a chain with only these filters."""
    parameters |= {name: name in names for name in FILTERS}
    return Crunch(**parameters)


def text(html: str, crunch: Crunch) -> str:
    """Return the text that the filters keep, on one line."""
    return " ".join(blockml.extract(html, model=crunch).text.split())


def removed(html: str, crunch: Crunch) -> dict[str, list[str]]:
    """Return the texts of removed blocks by filter."""
    page = blockml.parse(html)
    blocks = crunch.filters(page)
    assert list(blocks) == FILTERS
    return {
        name: [page.blocks.texts[block] for block in np.flatnonzero(mask)]
        for name, mask in blocks.items()
        if mask.any()
    }


def test_link_lists_are_removed() -> None:
    """Two links without other words are a link list, but two links with eight other words aren't."""
    assert text(MENU, Crunch()) == ""
    assert text(PROSE, Crunch()) == "See this and that for nine more plain words here."
    assert text(PROSE, Crunch(ratio=0.24)) == ""


def test_inner_link_lists_are_removed_first() -> None:
    """A container is kept if it has few links after the menus inside it have been removed."""
    words = "<span>one two three four five six seven eight</span>"
    assert text(f"<div>{MENU}{words}{MENU}</div>", Crunch()) == "one two three four five six seven eight"
    assert text(f"<div>{words}{'<a>go</a>' * 4}</div>", Crunch()) == ""


def test_outer_containers_are_decided_after_inner_ones() -> None:
    """Two paragraphs with one link each are kept, but the division around both is a link list."""
    html = "<div><p><a>Home</a></p><p><a>News</a></p></div>"
    page = blockml.parse(html)
    assert Crunch().explain(page) == ("link_lists: /html/body/div",) * 2


def test_a_single_link_is_not_a_list() -> None:
    """A single link is kept even without other text."""
    assert text("<p><a>A title that links to itself</a></p>", Crunch()) == "A title that links to itself"


@pytest.mark.parametrize("name", ["button", "select", "textarea", "noscript", "form"])
def test_elements_without_prose_are_removed(name: str) -> None:
    """Controls and similar elements are removed with their content, unless the filter is off."""
    html = f"<{name}>Some <option>words</{name}>{LONG}"
    assert "words" not in text(html, Crunch())
    assert "words" in text(html, Crunch(elements=False))


@pytest.mark.parametrize("name", ["form", "noscript"])
def test_wrappers_around_the_page_are_kept(name: str) -> None:
    """An element with most of the page's words is kept, where words of controls in it don't count."""
    controls = "<select>" + "<option>Some country" * 99 + "</select>"
    assert text(f"<p>Head</p><{name}>{LONG}{controls}</{name}>", Crunch()) == text(f"<p>Head</p>{LONG}", Crunch())
    assert text(f"<{name}>Search{controls}</{name}>{LONG}", Crunch()) == text(LONG, Crunch())


@pytest.mark.parametrize(
    "advert",
    [
        "<div class=ad>{}</div>",
        "<div class='box top-ad'>{}</div>",
        "<section id=Sponsor_1>{}</section>",
        "<a href=https://ad.doubleclick.net/x>{}</a>",
        "<a href='//DoubleClick.net:80/x?y'>{}</a>",
        "<a href='http://user@zedo.com'>{}</a>",
    ],
)
def test_advertisements_are_removed(advert: str) -> None:
    """Advertisements are recognised by a word in a class or id, or by the host of a link."""
    html = advert.format("Buy this") + LONG
    assert "Buy this" not in text(html, Crunch())
    assert "Buy this" in text(html, Crunch(adverts=False))


@pytest.mark.parametrize(
    "harmless",
    [
        "<div class=adventure>{}</div>",
        "<a href=https://notdoubleclick.net/>{}</a>",
        "<a href=/doubleclick.net/>{}</a>",
        "<a href='https://example.com//doubleclick.net'>{}</a>",
        "<a href='https://doubleclick.net.example.com'>{}</a>",
        "<a href='http://['>{}</a>",
    ],
)
def test_similar_names_and_hosts_are_kept(harmless: str) -> None:
    """Names and hosts that only contain those of an advertisement are kept."""
    assert "Read this" in text(harmless.format("Read this") + LONG, Crunch())


def test_hosts_of_advertisements_can_be_chosen() -> None:
    """A custom list of hosts replaces the default one."""
    html = "<a href=https://cdn.ads.example/>Mine</a><p><a href=https://doubleclick.net>Theirs</a></p>" + LONG
    assert text(html, Crunch(ad_hosts=("Ads.Example",))) == "Theirs " + text(LONG, Crunch())


def test_a_page_marked_as_an_advertisement_is_kept() -> None:
    """A name on the body, or on a division around all text, doesn't make the page an advertisement."""
    assert text(f"<body class='ad'><div id=banner>{LONG}</div>", Crunch()) == text(LONG, Crunch())


def test_lists_of_short_items_are_removed_if_requested() -> None:
    """Lists with fewer than three words per item are removed if requested, starting with inner ones."""
    short = "<ul><li>two words<li>and four words more</ul>"
    assert text(short, Crunch(text_lists=True)) == "two words and four words more"
    short = "<ul><li>two words<li>one</ul>"
    assert text(short, Crunch()) == "two words one"
    assert text(short, Crunch(text_lists=True)) == ""
    nested = f"<ol><li>An item of five words {short}<li>and one</ol>"
    assert text(nested, Crunch(text_lists=True)) == "An item of five words and one"
    assert text("<ul>No item at all</ul>", Crunch(text_lists=True)) == "No item at all"


def test_empty_remains_are_removed() -> None:
    """Separators between removed links are removed, but those inside a sentence are kept."""
    html = f"<div><p><a>One</a> | <a>Two</a></p>|<b>*</b></div><p>a<b>|</b>b</p>{LONG}"
    assert removed(html, Crunch()) == {"link_lists": ["One | Two"], "empty": ["|", "*"]}
    assert removed(html, Crunch(empty=False)) == {"link_lists": ["One | Two"]}


def test_filters_see_the_result_of_earlier_ones() -> None:
    """Links of a removed advertisement don't count for link lists."""
    words = "four words of text"
    html = f"<div>{words} <span class=ad><a>x</a><a>y</a></span></div>{LONG}"
    assert removed(html, Crunch()) == {"adverts": ["x y"]}
    assert removed(html, Crunch(adverts=False)) == {"link_lists": [words, "x y"]}


def test_links_of_removed_lists_can_be_kept() -> None:
    """Linked words of removed lists are kept in place, without other text or text that other filters removed."""
    html = f"<ul><li>More:<li><a>Home</a><li><a>News</a></ul><button><a>Buy</a></button>{LONG}"
    assert text(html, Crunch(retain_links=True)) == "Home News " + text(LONG, Crunch())
    assert text(html, Crunch()) == text(LONG, Crunch())


def test_blocks_score_the_share_of_their_remaining_words() -> None:
    """A block is kept if at least half of its words remain."""
    advert = "<a href=//zedo.com/>{}</a>"
    html = f"<p>three words and {advert.format('an advertisement')}</p><p>half {advert.format('gone')}</p>"
    html += f"<p>less {advert.format('than half')}</p><p>- {advert.format('-')}</p>{LONG}"
    page = blockml.parse(html)
    assert Crunch().score(page).tolist()[:4] == pytest.approx([0.6, 0.5, 1 / 3, 0])
    assert removed(html, Crunch(empty=False)) == {"adverts": ["less than half"]}
    assert Crunch().explain(page)[:3] == ("", "", "adverts: /html/body/p[3]/a")


def test_scripts_without_spaces_have_words() -> None:
    """A Chinese sentence with two links isn't a link list."""
    html = "<p>这是一个很长的句子<a>链接</a>里面有两个<a>链接</a>但是还有很多别的字</p>"
    assert Crunch().score(blockml.parse(html)).tolist() == [1]


def test_edge_cases() -> None:
    """Pages without links keep everything, pages of links nothing, and pages without text have no scores."""
    assert text("<h1>Title</h1>plain text", Crunch()) == "Title plain text"
    assert blockml.extract(f"<div>{MENU}</div>{MENU}", model=Crunch()).status is Status.NO_CONTENT
    assert blockml.extract("", model=Crunch()).status is Status.EMPTY_PAGE
    assert Crunch().score(blockml.parse("<div><img></div>")).shape == (0,)
    deep = blockml.parse("<div><a>" * 3000 + "text")
    assert Crunch(text_lists=True).score(deep).shape == (len(deep.blocks),)


def slow_lists(page: Page, *, ratio: float, short: bool) -> set[int]:
    """Return the texts in removed link lists or lists of short items, where descendants are decided first."""
    nodes = page.nodes
    gone: set[int] = set()

    def below(node: int) -> set[int]:
        return {other for other in range(len(nodes)) if node in path_of(nodes, other)} - gone

    def words(found: set[int], *, unlinked: bool) -> int:
        content = [
            node
            for node in found & set(content_nodes(nodes))
            if not (unlinked and "a" in [nodes.name(above) for above in path_of(nodes, node)])
        ]
        return sum(len(slow_words(nodes.texts[node], "cjk")) for node in content)

    def remove_lists(node: int) -> None:
        for child in np.flatnonzero(nodes.parent == node).tolist():
            remove_lists(child)
        left = below(node)
        names = [nodes.name(other) for other in left]
        if short and nodes.name(node) in {"ul", "ol"} and "li" in names:
            bad = words(left, unlinked=False) / names.count("li") < 3
        elif not short and nodes.name(node) in CONTAINERS and names.count("a") >= 2:
            n_words = words(left, unlinked=True)
            bad = n_words == 0 or names.count("a") / n_words > ratio
        else:
            bad = False
        if bad:
            gone.update(left)

    for root in np.flatnonzero(nodes.parent < 0).tolist():
        remove_lists(root)
    return gone


@settings(max_examples=40)
@given(messy_html, st.sampled_from([0, 0.1, 0.25, 1.0, 3]), st.booleans())
def test_lists_equal_a_slow_reference(html: str, ratio: float, short: bool) -> None:  # noqa: FBT001
    """Removed lists equal those of a slow reference, and blocks score their share of words outside of lists."""
    page = blockml.parse(html)
    gone = slow_lists(page, ratio=ratio, short=short)
    scores = only("text_lists" if short else "link_lists", ratio=ratio).score(page)
    for block in page.blocks:
        texts = [node for node in content_nodes(page.nodes) if block.node <= node <= block.last_node]
        weights = [len(slow_words(page.nodes.texts[node], "cjk")) for node in texts]
        weights = weights if sum(weights) else [1] * len(texts)
        left = sum(weight for node, weight in zip(texts, weights, strict=True) if node not in gone)
        assert scores[block.index] == pytest.approx(left / sum(weights))


@settings(max_examples=40)
@given(messy_html, st.fixed_dictionaries({name: st.booleans() for name in [*FILTERS, "retain_links"]}))
def test_each_removed_block_has_one_filter_and_one_element(html: str, flags: dict[str, Any]) -> None:
    """Filters that are off remove nothing, and each removed block has one filter and an element around it."""
    page = blockml.parse(html)
    crunch = Crunch(**flags)
    scores, blocks, notes = crunch.score(page), crunch.filters(page), crunch.explain(page)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    assert all(flags[name] or not mask.any() for name, mask in blocks.items())
    assert np.array_equal(sum(mask.astype(int) for mask in blocks.values()), scores < 0.5)
    for block, note in zip(page.blocks, notes, strict=True):
        name, _, path = note.partition(": ")
        assert bool(note) == (scores[block.index] < 0.5)
        if note:
            assert blocks[name][block.index]
            texts = range(block.node, block.last_node + 1)
            assert any(page.nodes.find(path) in path_of(page.nodes, node) for node in texts)


@settings(max_examples=40)
@given(messy_html)
def test_without_filters_everything_is_kept(html: str) -> None:
    """No filter keeps everything, and retaining links keeps at least as much as removing them."""
    page = blockml.parse(html)
    assert (only().score(page) == 1).all()
    assert (Crunch(retain_links=True).score(page) >= Crunch().score(page)).all()


@pytest.mark.parametrize(
    ("parameters", "legal"),
    [
        ({"ratio": -1}, "a number from 0 to 100"),
        ({"ratio": "much"}, "a number from 0 to 100"),
        ({"elements": "yes"}, "one of True, False"),
        ({"retain_links": 2}, "one of True, False"),
        ({"ad_hosts": "doubleclick.net"}, "a tuple of host names"),
        ({"ad_hosts": (1,)}, "a tuple of host names"),
    ],
)
def test_illegal_parameters(parameters: dict[str, Any], legal: str) -> None:
    """The error lists the legal values."""
    with pytest.raises(UsageError, match=legal):
        Crunch(**parameters).score(blockml.parse("<p>text"))
