"""Counts of a site: learning in any order and any number of steps, and a round trip through arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.frequency import SiteCounts, ibdf_rule, measure, site_counts
from blockml.templates.frequency.site_counts import contents_of
from tests.templates.frequency.strategies import PARTS, assert_same, parse_all, site_pages, texts_page

Arrays = dict[str, NDArray[Any]]


def assert_equal_arrays(one: SiteCounts, other: SiteCounts) -> None:
    """Check that the counts of two sites are equal bit for bit."""
    mine, theirs = one.arrays(), other.arrays()
    assert list(mine) == list(theirs)
    for name, values in mine.items():
        assert values.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)


def copied(site: SiteCounts) -> Arrays:
    """Return copies of a site's arrays that can be changed."""
    return {name: values.copy() for name, values in site.arrays().items()}


def different(pages: list[Page]) -> list[Page]:
    """Return the first page of each visible text."""
    return list({int(contents_of(page).counts.fingerprints[0]): page for page in reversed(pages)}.values())


@settings(max_examples=50)
@given(st.lists(site_pages, max_size=6), st.data())
def test_steps_and_order_do_not_matter(sources: list[str], data: st.DataObject) -> None:
    """Learning all at once, page by page or in combined halves, in any order, gives the same arrays."""
    pages = different(parse_all(sources))
    site = SiteCounts.learn(pages)
    mixed = data.draw(st.permutations(pages))
    stepwise = SiteCounts.learn([])
    for page in mixed:
        stepwise = stepwise.updated([page])
    assert_equal_arrays(stepwise, site)
    cut = data.draw(st.integers(0, len(pages)))
    halves = SiteCounts.learn(pages[:cut]).updated(iter(pages[cut:]))
    assert_equal_arrays(halves, site)
    assert_equal_arrays(SiteCounts.combined([SiteCounts.learn(pages[cut:]), SiteCounts.learn(pages[:cut])]), site)


def test_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts do not depend on the size of batches, even if the last one is full."""
    pages = [texts_page("Home", f"page {number}") for number in range(7)]
    whole = SiteCounts.learn(pages)
    for size in (1, 2, 7):
        monkeypatch.setattr(site_counts, "_BATCH", size)
        assert_equal_arrays(SiteCounts.learn(pages), whole)


def test_copies_count_once() -> None:
    """An identical page, the same text in other elements, and pages without visible text add nothing."""
    page, other = texts_page("Home", "Cats"), texts_page("Home", "Dogs")
    site = SiteCounts.learn([page, other])
    assert site.n_pages == 2
    again = site.updated([page, texts_page("Home", "Cats"), blockml.parse("<h1> Home</h1><div>Cats</div>")])
    assert_equal_arrays(again, site)
    assert_equal_arrays(site.updated(parse_all(["", "<title>Only a title</title>", "<img>"])), site)
    assert_equal_arrays(site.updated([]), site)
    assert site.updated([texts_page("Cats", "Home")]).n_pages == 3
    assert site.updated([texts_page("Home Cats")]).n_pages == 3  # other texts, although the words are the same
    assert site.n_pages == 2


def test_head_and_title_are_not_counted() -> None:
    """Text in head and title is not counted."""
    head = "<head><title>Cats</title><meta name=x></head>"
    assert_equal_arrays(SiteCounts.learn([blockml.parse(head + "<p>Home</p>")]), SiteCounts.learn([texts_page("Home")]))


@given(st.lists(site_pages, max_size=5), site_pages)
def test_round_trip(sources: list[str], source: str) -> None:
    """The arrays contain everything needed for measuring and further learning."""
    site = SiteCounts.learn(parse_all(sources))
    back = SiteCounts.from_arrays(site.arrays())
    assert_equal_arrays(back, site)
    page = blockml.parse(source)
    assert_same(measure(page, back), measure(page, site))
    assert_equal_arrays(back.updated([page]), site.updated([page]))


@pytest.fixture(scope="module")
def learnt() -> SiteCounts:
    """Return the counts of three pages, with every array filled."""
    return SiteCounts.learn(parse_all(["".join(PARTS), "".join(PARTS[:7]), "".join(PARTS[3:])]))


def test_arrays_are_integers(learnt: SiteCounts) -> None:
    """All arrays are integers, so that a file of them contains no pickles and no NaN."""
    for name, values in learnt.arrays().items():
        assert values.dtype.kind in "iu", name
        assert values.ndim == 1, name
        assert len(values), name


def test_missing_and_unknown_arrays(learnt: SiteCounts) -> None:
    """A missing or unknown array is refused by name."""
    for name in learnt.arrays():
        arrays = copied(learnt)
        del arrays[name]
        with pytest.raises(UsageError, match=name):
            SiteCounts.from_arrays(arrays)
    with pytest.raises(UsageError, match="more"):
        SiteCounts.from_arrays(copied(learnt) | {"more": np.zeros(1)})


@pytest.mark.parametrize("name", list(SiteCounts.learn([]).arrays()))
def test_wrong_type_shape_or_length(learnt: SiteCounts, name: str) -> None:
    """Each array is refused with another type or shape, and with other lengths."""
    values = learnt.arrays()[name]
    longer = np.append(values, values[-1:])
    for damaged in (values.astype(np.float64), values.reshape(-1, 1), values[:-1], longer):
        if name == "pages" and damaged.shape == (2,):
            continue  # fewer pages: tested below
        with pytest.raises(UsageError):
            SiteCounts.from_arrays(copied(learnt) | {name: damaged})


def test_too_few_pages_for_the_counts(learnt: SiteCounts) -> None:
    """A number of pages below the highest count is refused."""
    arrays = copied(learnt)
    arrays["pages"] = arrays["pages"][:1]
    with pytest.raises(UsageError, match="number of pages, 1"):
        SiteCounts.from_arrays(arrays)


@pytest.mark.parametrize("name", [name for name in SiteCounts.learn([]).arrays() if name.endswith(("keys", "pages"))])
def test_keys_out_of_order(learnt: SiteCounts, name: str) -> None:
    """Unsorted keys, unsorted pages of a vector and impossible counts are refused."""
    arrays = copied(learnt)
    if name == "pages" or name.endswith("keys"):
        arrays[name][:2] = arrays[name][:2][::-1].copy()
        rule = "must rise"
    elif name == "vector_pages":
        several = int(np.flatnonzero(np.diff(arrays["vector_page_starts"]) > 1)[0])
        first = int(arrays["vector_page_starts"][several])
        arrays[name][first + 1] = arrays[name][first]
        rule = "must rise in each row"
    else:
        arrays[name][0] = 0
        rule = "must lie between 1 and"
    with pytest.raises(UsageError, match=rule):
        SiteCounts.from_arrays(arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("settings", 2),
        ("path_blocks", 0),
        ("path_words", -1),
        ("path_linked", 2**40),
        ("path_linked", -1),
        ("path_text_path", 10**6),
        ("path_text_path", -1),
        ("word_total", 0),
        ("word_tf_log_tf", -1),
        ("word_tf_log_tf", 2**63 - 1),
        ("vector_starts", 1),
        ("vector_starts", -1),
        ("vector_features", -1),
        ("vector_features", 10**6),
        ("vector_counts", 0),
        ("vector_page_starts", 1),
        ("vector_pages", -1),
        ("vector_pages", 3),
    ],
)
def test_values_out_of_range(learnt: SiteCounts, name: str, value: int) -> None:
    """Indices out of range, negative sums and sums that overflow are refused."""
    arrays = copied(learnt)
    arrays[name][0] = value
    with pytest.raises(UsageError, match=name):
        SiteCounts.from_arrays(arrays)


@settings(max_examples=200)
@given(st.data())
def test_damage_is_refused_or_harmless(learnt: SiteCounts, data: st.DataObject) -> None:
    """Damaged arrays are refused or give measures in their ranges."""
    arrays = copied(learnt)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(arrays)))
        values = arrays[name]
        bounds = np.iinfo(values.dtype)
        place = data.draw(st.integers(0, len(values) - 1))
        near = st.integers(max(-3, bounds.min), 40)
        values[place] = data.draw(near | st.integers(int(bounds.min), int(bounds.max)))
    try:
        site = SiteCounts.from_arrays(arrays)
    except UsageError:
        return
    page: Page = blockml.parse("".join(PARTS))
    for found in (measure(page, site), measure(texts_page("Home", "cats cats cats"), site, include_self=False)):
        for column in ("path_share", "path_novelty", "path_links", "entropy"):
            values = getattr(found, column)
            assert ((values >= 0) & (values <= 1)).all(), column
        scores, _ = ibdf_rule(found)
        assert np.isfinite(scores).all()
    site.updated([texts_page("new"), page])
