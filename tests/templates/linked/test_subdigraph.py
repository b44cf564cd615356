"""Mutually linked pages, compared with the definition and the published example."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.page import Page
from blockml.templates.linked import Subdigraph, find_subdigraph
from tests.templates.linked.sites import HOST, DictSource, page_with_links

#: The links between pages of the worked example with the key page K; X is not a page.
LINKS = {"K": "ABCDE", "A": "BCKAX", "B": "AC", "C": "ABE", "D": "A", "E": "CAB"}


def search(
    targets: Mapping[str, str | list[str]],
    key: str = "K",
    redirects: Mapping[str, str] | None = None,
    **options: int | str | bool,
) -> tuple[list[str], DictSource, Subdigraph]:
    """Search from a key page and return the names found, the source and the result."""
    source = DictSource(targets, redirects)
    page = page_with_links(key, targets[key])
    found = find_subdigraph(page, source, **options)  # type: ignore[arg-type]
    return [url.removeprefix(HOST) for url in found.urls], source, found


@pytest.mark.parametrize(
    ("changes", "n", "expected", "loads"),
    [
        ({}, 2, "AB", 3),
        ({}, 3, "ABC", 4),
        ({}, 4, "ABC", 6),
        ({"A": "BCKAXE", "B": "ACE"}, 4, "ABCE", 6),
        ({"K": ""}, 4, "", 1),
        ({"K": "AB", "A": "", "B": ""}, 4, "A", 3),
    ],
)
def test_me_12_2(changes: Mapping[str, str], n: int, expected: str, loads: int) -> None:
    """In all variants of the micro-example the expected pages are found and loaded."""
    names, source, found = search({**LINKS, **changes}, n=n)
    assert names == list(expected)
    assert [page.url for page in found.pages] == list(found.urls) == [HOST + name for name in expected]
    assert found.n_loaded == loads == 1 + len(source.asked)
    assert found.complete is (len(expected) == n)
    assert found.failed == ()


def test_portal_with_menu_and_submenu() -> None:
    """The published example 4.1: black pages of the main menu, grey ones of a submenu, white ones inside.

    All pages link to all black ones. The grey pages of a section, its black page and its white pages link to all grey
    ones of that section. From any page, the first four pages of a menu form the subdigraph, and no unneeded page is
    loaded.
    """
    black = [f"black{i}" for i in range(5)]
    grey = {section: [f"grey{section}{i}" for i in range(4)] for section in range(5)}
    site = {f"black{section}": black + grey[section] for section in range(5)}
    site |= {name: black + grey[section] for section in range(5) for name in grey[section]}
    site |= {f"white{section}": black + grey[section] for section in range(5)}
    for key in site:
        names, _, found = search(site, key)
        assert names == [name for name in black if name != key][:4]
        assert (found.complete, found.n_loaded, found.n_links) == (True, 5, 9 if key.startswith("white") else 8)
    # Grey before black: the submenu is found first.
    names, _, found = search({**site, "white2": [*grey[2], *black]}, "white2")
    assert names == grey[2]
    # No nine pages link to each other: the five black ones do, and a black one with its four grey ones.
    names, _, found = search(site, "white2", n=9)
    assert (names, found.complete, found.n_loaded) == (black, False, 10)


def brute_force(targets: Mapping[str, str], n: int) -> tuple[str, int]:
    """Return the result of the published algorithm: all subsets of the pages so far that contain the newest one."""
    reach = [name for name in dict.fromkeys(targets["K"]) if name != "K"]
    processed: list[str] = []
    best: tuple[str, ...] = ()
    for new in reach:
        processed.append(new)
        largest: tuple[str, ...] = ()
        for size in range(1, len(processed) + 1):
            for some in combinations(processed, size):
                linked = all(b in targets[a] for a in some for b in some if a != b)
                if new in some and linked and len(some) > len(largest):
                    largest = some
        if len(largest) > len(best):
            best = largest
        if len(largest) == n:
            break
    return "".join(best), 1 + len(processed)


NAMES = "ABCDEFG"


@given(
    st.fixed_dictionaries({name: st.sets(st.sampled_from(f"K{NAMES}")).map(sorted).map("".join) for name in NAMES}),
    st.lists(st.sampled_from(f"K{NAMES}"), max_size=9).map("".join),
    st.integers(1, 6),
)
def test_random_digraphs(targets: Mapping[str, str], of_key: str, n: int) -> None:
    """Trying all subsets gives the same pages after the same number of loads."""
    site = {**targets, "K": of_key}
    names, _, found = search(site, n=n)
    assert ("".join(names), found.n_loaded) == brute_force(site, n)


@given(
    st.fixed_dictionaries({name: st.sets(st.sampled_from(NAMES)).map(sorted).map("".join) for name in NAMES}),
    st.sets(st.sampled_from(NAMES)),
    st.integers(1, 5),
    st.integers(0, 8),
    st.sampled_from(["document", "hierarchy", "menu"]),
)
def test_failing_loads(targets: Mapping[str, str], broken: set[str], n: int, max_loads: int, order: str) -> None:
    """With broken links and a limit, the pages found are mutually linked, and no unneeded page is loaded."""
    site = {name: names for name, names in targets.items() if name not in broken} | {"K": NAMES}
    names, source, found = search(site, n=n, max_loads=max_loads, order=order)
    assert all(b in site[a] for a in names for b in names if a != b)
    assert {url.removeprefix(HOST) for url in found.failed} == broken & set(source.asked)
    assert found.n_loaded == 1 + len(source.asked) - len(found.failed)
    assert len(source.asked) == len(set(source.asked)) <= max_loads
    assert bool(names) is bool(set(source.asked) - broken)
    if order == "document":
        seen = [name for name in NAMES[:max_loads] if name not in broken]
        # A digraph without the pages that couldn't be loaded gives the same.
        alone = {a: "".join(b for b in site[a] if b in seen) for a in seen} | {"K": "".join(seen)}
        assert "".join(names) == brute_force(alone, n)[0]


def test_cycles_are_not_enough() -> None:
    """A cycle is not enough, because links in both directions are needed."""
    names, _, found = search({"K": "ABC", "A": "B", "B": "C", "C": "A"})
    assert (names, found.complete, found.n_loaded) == (["A"], False, 4)


def test_copies_of_the_key_page_are_skipped() -> None:
    """Copies of the key page, which would make the whole page template, are skipped, but copies of others are not."""
    text = page_with_links("K", "ABC").blocks.texts

    class Duplicates(DictSource):
        def get(self, url: str) -> Page | None:
            page = super().get(url)
            if not url.endswith("/A") or page is None:
                return page
            return page_with_links("A", "ABC", text="K")

    source = Duplicates({"A": "", "B": "AC", "C": "AB"})
    assert page_with_links("A", "ABC", text="K").blocks.texts == text
    found = find_subdigraph(page_with_links("K", "ABC"), source, n=2)
    assert [url[-1] for url in found.urls] == ["B", "C"]
    assert found.n_loaded == 4


def test_pages_without_text_are_not_copies() -> None:
    """Pages without text, such as framesets, are not copies of each other."""

    class Frames(DictSource):
        def get(self, url: str) -> Page | None:
            return blockml.parse("<frameset><frame src=A><frame src=B></frameset>", url=url)

    key = blockml.parse("<frameset><frame src=A><frame src=B></frameset>", url=f"{HOST}K")
    assert find_subdigraph(key, Frames({}), n=2).complete


def test_redirect_to_a_page_that_is_linked_too() -> None:
    """A page linked directly and through a redirect is loaded once, and links to either URL count."""
    site = {"K": ["old", "B", "new", "C"], "new": ["B", "C"], "B": ["old"], "C": ["new", "B"]}
    names, source, found = search(site, redirects={"old": "new"})
    assert source.asked == ["old", "B", "C"]
    assert names == ["old", "B"]
    assert found.pages[0].url == f"{HOST}new"


def test_redirect_to_a_page_that_was_loaded_before() -> None:
    """Links to the old URL of a page count once its redirect is known."""
    site = {"K": ["new", "B", "old"], "new": ["B"], "B": ["old"]}
    names, source, found = search(site, n=2, redirects={"old": "new"})
    assert source.asked == ["new", "B", "old"]
    assert (names, found.complete, found.n_loaded) == (["new", "B"], True, 4)
    assert search(site, n=2, redirects={"old": "new"}, max_loads=2)[0] == ["new"]


def test_redirect_to_the_key_page_or_another_site() -> None:
    """A redirect to the key page or to another site does not become a page of the subdigraph."""
    site = {"K": ["me", "A", "gone"], "A": ["me", "gone"]}
    names, _, found = search(site, n=2, redirects={"me": "K"})
    assert (names, found.failed) == (["A"], (f"{HOST}gone",))

    class Leaving(DictSource):
        def get(self, url: str) -> Page | None:
            page = super().get(url)
            return page if url.endswith("A") else blockml.parse("<a href=A>x</a>", url="http://other.example/")

    key = page_with_links("K", ["X", "A"])
    assert [url[-1] for url in find_subdigraph(key, Leaving({"A": "X"})).urls] == ["A"]


def test_many_mutual_links_without_a_set_of_the_size() -> None:
    """The search is bounded, because a set can grow by only one page with each page loaded."""
    names = [f"p{i}" for i in range(45)]
    groups = {name: [other for j, other in enumerate(names) if j % 3 != i % 3] for i, name in enumerate(names)}
    found, _, result = search({"K": names, **groups})
    assert (found, result.complete, result.n_loaded) == (["p0", "p1", "p2"], False, 46)


def test_wrong_calls() -> None:
    """Wrong settings are refused with the legal values."""
    with pytest.raises(UsageError, match="at least 1"):
        search(LINKS, n=0)
    with pytest.raises(UsageError, match="at least 0"):
        search(LINKS, max_loads=-1)
    with pytest.raises(UnknownNameError, match="document"):
        search(LINKS, order="x")
    assert search(LINKS, max_loads=0)[2].n_loaded == 1
