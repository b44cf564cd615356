"""Training sets from the links of a page."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.page import Page
from blockml.templates.clustering import auto_threshold
from blockml.templates.distances import distance_matrix
from blockml.templates.linked import Lack, PageSource, TrainingSet, training_set

HOST = "http://site.example/"

#: Two layouts: pages whose name starts with ``t`` are tables, all others are articles.
ARTICLE = "<div><h1>{0}</h1><p>Text of <b>{0}</b></p><ul><li>{1}</ul></div>"
TABLE = "<table><tr><th>{0}<td>{0}<td><i>more</i></table><dl><dt>{0}<dd>{1}</dl>"


def make(name: str, targets: str = "", url: str | None = None) -> Page:
    """Return a page of one of the layouts, with links."""
    linked = "".join(f"<a href='{target}'>{target}</a>" for target in targets.split())
    layout = TABLE if name.startswith("t") else ARTICLE
    extra = "<pre>an article with more</pre>" if name.startswith("b") else ""
    return blockml.parse(layout.format(name, linked) + extra, url=HOST + name if url is None else url)


class Site(PageSource):
    """A source in which every page exists except ``gone…``; ``copy…`` are copies of the page ``key``."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, url: str) -> Page | None:
        """Return the page of a URL, or None."""
        name = url.removeprefix(HOST)
        self.asked.append(name)
        if name.startswith("gone"):
            return None
        if name.startswith("copy"):
            return make("key", COPIED, url)
        if name.startswith("moved"):
            return make("a9")
        return make(name, "key", url)


#: Links of the key page that its copies share.
COPIED = "a1 copy1"


def names_of(found: TrainingSet, *, loaded: bool = False) -> list[str]:
    """Return the names of pages."""
    return [str(page.url).removeprefix(HOST) for page in (found.loaded if loaded else found.pages)]


def test_pages_of_the_same_layout() -> None:
    """The pages are the cluster of the key page in loading order, without failures and other layouts."""
    key = make("key", "a1 t1 gone1 a2 t2 gone2 a3")
    found = training_set(key, Site())
    assert names_of(found) == ["key", "a1", "a2", "a3"]
    assert found.pages[0] is key
    assert names_of(found, loaded=True) == ["key", "a1", "t1", "a2", "t2", "a3"]
    assert found.labels.tolist() == [0, 0, 1, 0, 1, 0]
    assert found.labels.dtype == np.int32
    assert (found.n_links, found.n_loaded, found.reason) == (7, 6, None)
    assert found.failed == (f"{HOST}gone1", f"{HOST}gone2")


def test_threshold_given_or_found() -> None:
    """The threshold is computed from the distances unless it is given."""
    key = make("key", " ".join(f"a{i} b{i} t{i}" for i in range(4)))
    found = training_set(key, Site())
    assert (found.threshold, found.how) == tuple(auto_threshold(distance_matrix(found.loaded, "cp"), "cp"))
    assert found.how == "gap"
    assert len(found.pages) == 9
    assert training_set(make("key", "a1 t1"), Site()).how == "preset"
    given = training_set(key, Site(), threshold=1.0)
    assert (given.threshold, given.how, len(given.pages)) == (1.0, "given", 13)
    alone = training_set(make("t0", "a1 a2 a3 a4"), Site(), threshold=0.0)
    assert (names_of(alone), alone.reason) == (["t0"], Lack.TOO_FEW_PAGES)


def test_without_a_threshold_all_pages_are_one_group() -> None:
    """Without a threshold all pages are one group."""
    found = training_set(make("key", "a1 a2 t1"), Site(), metric="tv")
    assert (found.threshold, found.how) == (None, "none")
    assert len(found.pages) == 4
    assert found.labels.tolist() == [0, 0, 0, 0]


def test_reasons() -> None:
    """Sets too small to learn from give the reason, and contain the key page."""

    def reason_of(targets: str, **options: int) -> str | None:
        found = training_set(make("key", targets), Site(), **options)  # type: ignore[arg-type]
        assert names_of(found)[0] == "key"
        return found.reason

    assert reason_of("") == "no_links"
    assert reason_of("key #top mailto:x http://other.example/") == "no_links"
    assert reason_of("gone1 gone2") == "nothing_loaded"
    assert reason_of("a1 a2", max_pages=0) == "nothing_loaded"
    assert reason_of("a1 a2") == "too_few_pages"
    assert reason_of("a1 a2", min_train=3) is None
    assert reason_of("a1 a2 t1 t2 t3") == "too_few_pages"
    assert reason_of("a1 a2 a3") is None
    assert reason_of("", min_train=1) is None
    found = training_set(make("key"), Site())
    assert (found.labels.tolist(), found.threshold, found.how, found.n_loaded) == ([0], None, "none", 1)


def test_copies_of_the_key_page_are_dropped() -> None:
    """Copies of the key page, which would make the whole page template, are dropped but count as loaded."""
    found = training_set(make("key", COPIED), Site(), min_train=2)
    assert names_of(found, loaded=True) == ["key", "a1"]
    assert (found.n_loaded, found.reason) == (3, None)


def test_repeated_pages_are_dropped() -> None:
    """A page that is loaded again through a redirect is dropped."""
    source = Site()
    found = training_set(make("key", "moved1 moved2 a9 a1"), source)
    assert names_of(found) == ["key", "a9", "a1"]
    assert source.asked == ["moved1", "moved2", "a1"]
    assert found.n_loaded == 4


def test_limit_and_order() -> None:
    """Links are loaded in the given order up to the limit."""
    menu = "<nav><ul><li><a href=a1>1</a><li><a href=a2>2</a></ul></nav>"
    text = "<p>A long text with a link, <a href=t1>here</a>, and some more words around it.</p>"
    key = blockml.parse(f"{text}{menu}", url=HOST)
    source = Site()
    training_set(key, source, max_pages=2)
    assert source.asked == ["t1", "a1"]
    source = Site()
    assert training_set(key, source, max_pages=2, order="menu").n_loaded == 3
    assert source.asked == ["a1", "a2"]


def test_links_are_selected_by_options() -> None:
    """Other sites and links that don't look like pages are included or not by option."""
    key = make("key", "a1 image.jpg http://other.example/a2")
    source = Site()
    training_set(key, source)
    assert source.asked == ["a1", "image.jpg"]
    source = Site()
    training_set(key, source, pages_only=True, same_site=False)
    assert source.asked == ["a1", "http://other.example/a2"]


def test_wrong_training_calls_are_refused() -> None:
    """Wrong settings are refused with the legal values before anything is loaded."""
    key, source = make("key", "a1"), Site()
    with pytest.raises(UsageError, match="max_pages"):
        training_set(key, source, max_pages=-1)
    with pytest.raises(UsageError, match="min_train"):
        training_set(key, source, min_train=0)
    for threshold in (-0.1, float("nan")):
        with pytest.raises(UsageError, match="threshold"):
            training_set(key, source, threshold=threshold)
    with pytest.raises(UnknownNameError, match="cp"):
        training_set(key, source, metric="x")
    with pytest.raises(UnknownNameError, match="hierarchy"):
        training_set(key, source, order="x")
    assert source.asked == []
