"""Clustering of pages and its summary."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.page import Page
from blockml.templates import PageSummary, cluster_pages, grouping, summarise_page
from blockml.templates.distances import distance
from tests.strategies import messy_html

#: Two layouts of pages, with texts that are unique and one that all share.
ARTICLE = "<title>{0}</title><div><h1>{0}</h1><p>All rights reserved</p><p>Text on {0}</p></div>"
LISTING = "<title>{0}</title><ul><li><a href=x>{0}</a></li><li><a href=y>more</a></li></ul><table><tr><td>1</table>"

SITES = Path(__file__).parents[2] / "data" / "sites"


def made(n_articles: int, n_listings: int) -> tuple[list[Page], list[str]]:
    """Return alternating articles and listings, as long as there are both."""
    articles = [
        (blockml.parse(ARTICLE.format(f"cat{i}"), url=f"http://a.example/{i}"), f"a{i}") for i in range(n_articles)
    ]
    listings = [(blockml.parse(LISTING.format(f"dog{i}")), f"l{i}") for i in range(n_listings)]
    mixed = [item for pair in itertools.zip_longest(articles, listings) for item in pair if item is not None]
    return [page for page, _ in mixed], [name for _, name in mixed]


def labels_of(result: dict[str, Any]) -> list[int]:
    """Return the clusters of the pages."""
    return [page["cluster"] for page in result["pages"]]


def test_result_describes_pages_and_clusters() -> None:
    """Pages and clusters are numbered by first page, and have everything that the report shows."""
    pages, ids = made(3, 2)
    result = cluster_pages(pages, ids, threshold=0.5, truth=["x", "y", None, "y", "x"])
    assert ids == ["a0", "l0", "a1", "l1", "a2"]
    assert labels_of(result) == [0, 1, 0, 1, 0]
    assert (result["distance"], result["threshold"], result["threshold_source"]) == ("cp", 0.5, "given")
    first = result["pages"][0]
    assert (first["title"], first["url"], first["finer"], first["truth"]) == ("cat0", "http://a.example/0", None, "x")
    assert (first["n_blocks"], first["n_nodes"]) == (len(pages[0].blocks), len(pages[0].nodes))
    articles, listings = result["clusters"]
    assert (articles["number"], articles["size"], articles["pages"]) == (0, 3, ["a0", "a1", "a2"])
    assert (articles["within"], articles["largest"], articles["truth"]) == (0, 0, {"x": 2})
    assert listings["truth"] == {"y": 2}
    assert len(result["merges"]) == 4
    assert result["histogram"]["counts"].sum() == 10
    assert result["map"]["points"].shape == (5, 2)


def test_repeated_words_are_those_of_texts_on_other_pages() -> None:
    """Of 'cat0', 'All rights reserved' and 'Text on cat0' only the second is on another page: 3 of 7 words."""
    pages, ids = made(2, 1)
    clusters = cluster_pages(pages, ids, threshold=0.5)["clusters"]
    assert [len(page.blocks) for page in pages] == [3, 3, 3]
    assert clusters[0]["common_words"] == pytest.approx(3 / 7)
    assert clusters[1]["common_words"] is None


def test_a_text_twice_on_one_page_is_not_repeated() -> None:
    """A text that is twice on one page but on no other is not repeated."""
    pages = [blockml.parse(f"<p>Same</p><p>Same</p><p>{name}</p>") for name in ("one", "two")]
    other = [blockml.parse(f"<p>{name} a</p><p>{name} a</p><p>{name} b</p>") for name in ("one", "two")]
    assert cluster_pages(pages, ["1", "2"], threshold=0)["clusters"][0]["common_words"] == pytest.approx(2 / 3)
    assert cluster_pages(other, ["1", "2"], threshold=0)["clusters"][0]["common_words"] == 0


@settings(max_examples=25)
@given(st.lists(messy_html, min_size=1, max_size=6), st.sampled_from(["cp", "cps", "ctss"]), st.floats(0, 1))
def test_without_a_matrix_the_clusters_are_the_same(htmls: list[str], metric: str, threshold: float) -> None:
    """Clusters without a matrix equal those with one, for any pages."""
    pages = [blockml.parse(html) for html in htmls]
    ids = [str(number) for number in range(len(pages))]
    plain = cluster_pages(pages, ids, distance=metric, threshold=threshold, pictures=False)
    minhash = cluster_pages(pages, ids, distance=metric, threshold=threshold, minhash=True)
    assert labels_of(minhash) == labels_of(plain)
    for one, other in zip(minhash["clusters"], plain["clusters"], strict=True):
        assert one == {**other, "within": pytest.approx(other["within"])}
    assert (minhash["matrix"], minhash["merges"], minhash["map"], minhash["histogram"]) == (None,) * 4


@settings(max_examples=25)
@given(st.lists(messy_html, min_size=2, max_size=6))
def test_spread_and_median_by_definition(htmls: list[str]) -> None:
    """Spread and median equal those from distances computed pair by pair."""
    pages = [blockml.parse(html) for html in htmls]
    ids = [str(number) for number in range(len(pages))]
    result = cluster_pages(pages, ids, threshold=0.6, pictures=False)
    assert sorted(itertools.chain(*(row["pages"] for row in result["clusters"]))) == ids
    for row in result["clusters"]:
        members = [pages[int(name)] for name in row["pages"]]
        pairs = [distance(a, b) for a, b in itertools.combinations(members, 2)]
        assert row["size"] == len(members)
        assert row["within"] == (pytest.approx(np.mean(pairs)) if pairs else None)
        assert row["largest"] == (pytest.approx(max(pairs)) if pairs else None)
        totals = {name: sum(distance(pages[int(name)], page) for page in members) for name in row["pages"]}
        assert totals[row["median"]] == pytest.approx(min(totals.values()))


def test_summaries_replace_their_pages() -> None:
    """Pickled summaries of pages give the same result as the pages."""
    pages, ids = made(3, 2)
    kept = [pickle.loads(pickle.dumps(summarise_page(page, subclusters=True))) for page in pages]  # noqa: S301 (our own)
    assert all(isinstance(page, PageSummary) for page in kept)
    one, other = cluster_pages(kept, ids, subclusters=True), cluster_pages(pages, ids, subclusters=True)
    assert (one["pages"], one["clusters"]) == (other["pages"], other["clusters"])
    with pytest.raises(UsageError, match="subclusters=True"):
        cluster_pages([summarise_page(page) for page in pages], ids, subclusters=True)


def test_subclusters_are_separated_by_classes() -> None:
    """Pages with equal elements but two sets of classes are one cluster with two subclusters, numbered from 0."""
    row = '<div class="{0}"><p class="{0}-a">x</p><ul class="{0}-b"><li class="{0}-c">y</ul></div>'
    pages = [blockml.parse(row.format(name)) for name in ("post", "shop", "post", "shop", "post", "shop")]
    result = cluster_pages(pages, list("abcdef"), threshold=0.5, subclusters=True)
    assert labels_of(result) == [0] * 6
    assert [page["finer"] for page in result["pages"]] == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("linkage", ["single", "average", "median"])
def test_a_number_of_clusters(linkage: str) -> None:
    """A given number of clusters is reached without a threshold, with any linkage."""
    pages, ids = made(4, 3)
    result = cluster_pages(pages, ids, k=2, linkage=linkage)
    assert labels_of(result) == [0, 1, 0, 1, 0, 1, 0]
    assert (result["threshold"], result["threshold_source"]) == (None, "k")
    assert result["settings"] == {"linkage": linkage, "k": 2}
    assert (result["merges"] is None) == (linkage == "median")


def test_automatic_thresholds_say_where_they_come_from() -> None:
    """For few pages the threshold is the published one, if there is any; for more it comes from their distances."""
    pages, ids = made(2, 1)
    assert cluster_pages(pages, ids)["threshold_source"] == "preset"
    alone = cluster_pages(pages, ids, distance="tv")
    assert (alone["threshold"], alone["threshold_source"], labels_of(alone)) == (None, "none", [0, 0, 0])
    equal, names = made(8, 8)
    assert cluster_pages(equal, names)["threshold_source"] == "silhouette"
    varied = [blockml.parse(f"{page.source}<{tag}>") for page, tag in zip(equal, itertools.cycle("bius"), strict=False)]
    apart = cluster_pages(varied, names)
    assert (apart["threshold_source"], labels_of(apart)) == ("gap", [0, 1] * 8)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("options", [{}, {"distance": "tv"}, {"subclusters": True}, {"minhash": True}])
def test_collections_of_no_or_one_page(n: int, options: dict[str, Any]) -> None:
    """Collections of no page and of one page are clustered."""
    pages, ids = made(n, 0)
    result = cluster_pages(pages, ids, **options)
    assert labels_of(result) == [0] * n
    assert [(row["median"], row["within"]) for row in result["clusters"]] == [("a0", None)] * n


def test_beyond_the_limit_it_works_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large collections are clustered without a matrix; threshold and spread come from a reproducible sample."""
    monkeypatch.setattr(grouping, "MOST_COMPARED", 20)
    monkeypatch.setattr(grouping, "SAMPLE_SIZE", 12)
    pages, ids = made(15, 15)
    result = cluster_pages(pages, ids)
    assert result["matrix"] is None
    assert (result["threshold_source"], labels_of(result)) == ("silhouette", [0, 1] * 15)
    again = cluster_pages(pages, ids)
    assert (again["threshold"], again["clusters"]) == (result["threshold"], result["clusters"])
    assert [row["size"] for row in result["clusters"]] == [15, 15]
    with pytest.raises(UsageError, match=r"more than 20 pages .* by one of cp, cps, ctss, not by rtdm"):
        cluster_pages(pages, ids, distance="rtdm")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": "cosine"}, "unknown distance 'cosine'; choose one of: cp, cps"),
        ({"settings": {"q": 3}}, "unknown setting of cp: 'q'"),
        ({"distance": "cps", "settings": {"q": 0}}, "q must be a positive integer"),
        ({"linkage": "ward"}, "unknown linkage 'ward'; choose one of: average, median, single"),
        ({"linkage": "median"}, "median clustering needs a number of clusters k"),
        ({"threshold": None}, "give a threshold"),
        ({"threshold": "low"}, "non-negative number, or \"auto\", got 'low'"),
        ({"threshold": -0.1}, "non-negative number, got -0.1"),
        ({"k": 4}, "from 1 to 3, got 4"),
        ({"k": 2, "minhash": True}, "not to a number of clusters k"),
        ({"linkage": "average", "minhash": True}, "not by average linkage"),
        ({"distance": "lcts", "minhash": True}, "by one of cp, cps, ctss, not by lcts"),
        ({"distance": "rtdm", "settings": {"max_nodes": 4}}, "^a0: a page with .* nodes is too large"),
        ({"truth": ["x"]}, "3 pages need 3 known groups, got 1"),
    ],
)
def test_wrong_calls_are_refused_with_the_legal_values(options: dict[str, Any], message: str) -> None:
    """Wrong calls are refused with the legal values, if possible before pages are compared."""
    pages, ids = made(2, 1)
    with pytest.raises(UsageError, match=message):
        cluster_pages(pages, ids, **options)


def test_ids_must_be_unique_and_as_many_as_pages() -> None:
    """Ids must be unique and as many as pages, because pages with equal ids would be lost in the output."""
    pages, _ = made(2, 0)
    for ids in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(UsageError, match="2 pages need 2 different ids"):
            cluster_pages(pages, ids)
    with pytest.raises(UnknownNameError):
        cluster_pages(pages, ["a", "b"], distance="")


def test_synthetic_sites_are_separated() -> None:
    """Markup is enough to separate the synthetic sites, and no subcluster mixes two of them."""
    files = sorted(SITES.glob("*/*/page.html"))
    pages = [summarise_page(blockml.parse(file.read_bytes()), subclusters=True) for file in files]
    sites = [json.loads((file.parent / "meta.json").read_text(encoding="utf-8"))["site"] for file in files]
    result = cluster_pages(pages, [file.parent.name for file in files], subclusters=True, truth=sites)
    assert all(len(row["truth"]) == 1 for row in result["clusters"])
    assert len(result["clusters"]) == len(set(sites))
