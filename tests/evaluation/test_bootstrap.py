"""Bootstrap intervals and means per site."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.evaluation import (
    Difference,
    bootstrap,
    bootstrap_mean,
    bootstrap_systems,
    mean_of_means,
    means_by,
    paired_difference,
)

scores = st.lists(st.floats(0, 1), min_size=1, max_size=20)

#: Rows of four systems each.
tables = st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=12)


def pooled_f1(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the F1 of summed true positives, false positives and false negatives, of which at least one is not 0."""
    return 2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


@given(scores, st.integers(0, 5))
def test_interval_is_repeatable_and_lies_within_the_values(values: list[float], seed: int) -> None:
    """Equal seeds give equal intervals, whose ends lie between the smallest and the largest value."""
    interval = bootstrap_mean(values, seed=seed, resamples=50)
    assert interval == bootstrap_mean(values, seed=seed, resamples=50)
    assert interval.mean == pytest.approx(np.mean(values))
    assert min(values) - 1e-12 <= interval.low <= interval.high <= max(values) + 1e-12


def test_seed_and_level_matter() -> None:
    """Another seed changes the ends a little, and a lower level gives a narrower interval."""
    values = np.random.default_rng(1).random(50)
    interval = bootstrap_mean(values)
    assert bootstrap_mean(values, seed=1) != interval
    narrow = bootstrap_mean(values, level=0.5)
    assert interval.low < narrow.low < interval.mean < narrow.high < interval.high


def test_the_interval_covers_the_true_mean_as_often_as_promised() -> None:
    """Over 300 samples of 40 uniform values, the 95 % interval contains the true mean in 90 to 98 % of them."""
    rng = np.random.default_rng(2)
    intervals = [bootstrap_mean(rng.random(40), resamples=200, seed=k) for k in range(300)]
    assert 0.90 <= np.mean([low <= 0.5 <= high for _, low, high in intervals]) <= 0.98


def test_interval_matches_the_normal_approximation() -> None:
    """For many values the ends are 1.96 standard errors from the mean."""
    values = np.random.default_rng(3).random(400)
    interval = bootstrap_mean(values, resamples=4000)
    error = 1.96 * values.std() / 20
    assert (interval.low, interval.high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.003)


def test_chunks_do_not_change_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing indices in smaller chunks doesn't change the result."""
    values = np.random.default_rng(4).random(30)
    whole = bootstrap_mean(values, resamples=100)
    monkeypatch.setattr(bootstrap, "_CHUNK", 70)
    assert bootstrap_mean(values, resamples=100) == whole


@given(scores)
def test_a_method_does_not_differ_from_itself(values: list[float]) -> None:
    """The paired difference of a method with itself is 0, with an interval of width 0."""
    assert paired_difference(values, values, resamples=20) == Difference(0, 0, 0, significant=False)


def test_paired_difference_uses_the_pairs() -> None:
    """A small constant gain over widely varying documents is significant, and its sign follows the order."""
    b = np.random.default_rng(5).random(30)
    gain = paired_difference(b + 0.01, b)
    assert gain == pytest.approx((0.01, 0.01, 0.01, True))
    assert paired_difference(b, b + 0.01).high == pytest.approx(-0.01)
    assert paired_difference(b, b + 0.01).significant


def test_difference_that_changes_sign_is_not_significant() -> None:
    """A difference whose interval contains 0 isn't significant."""
    difference = paired_difference([0.9, 0.1, 0.8, 0.3], [0.1, 0.9, 0.5, 0.5])
    assert difference.low < 0 < difference.high
    assert not difference.significant


def test_difference_resamples_like_the_mean_of_differences() -> None:
    """The interval of a difference is that of the mean of the differences by document."""
    rng = np.random.default_rng(6)
    a, b = rng.random(25), rng.random(25)
    assert paired_difference(a, b, seed=3)[:3] == bootstrap_mean(a - b, seed=3)


def test_groups_are_drawn_as_a_whole() -> None:
    """If pages of a site agree, drawing whole sites gives a much wider interval than drawing pages."""
    values = np.repeat(np.random.default_rng(7).random(8), 20)
    sites = [f"site{k}" for k in range(8) for _ in range(20)]
    pages, whole_sites = bootstrap_mean(values), bootstrap_mean(values, groups=sites)
    assert whole_sites.mean == pages.mean
    assert whole_sites.high - whole_sites.low > 3 * (pages.high - pages.low)


def test_drawn_groups_are_weighted_by_their_pages() -> None:
    """A bootstrap sample averages over the pages of the drawn sites and not over the sites' means."""
    values, sites = [1.0, 0.0, 0.0, 0.0], ["a", "b", "b", "b"]
    interval = bootstrap_mean(values, groups=sites, level=0.2)
    # Half of the samples contain both sites, and one of their four pages has the value 1.
    assert interval == pytest.approx((0.25, 0.25, 0.25))


def test_one_page_per_group_is_the_plain_bootstrap() -> None:
    """Groups of one page each give the plain bootstrap."""
    values = np.random.default_rng(8).random(12)
    assert bootstrap_mean(values, groups=range(12)) == bootstrap_mean(values)
    assert paired_difference(values, 0 * values, groups=range(12)) == paired_difference(values, 0 * values)


def test_means_per_site() -> None:
    """Each site has its mean and number of pages in order of first occurrence, and sites count equally."""
    values, sites = [0.5, 1.0, 0.0, 0.2], ["b", "a", "b", "b"]
    means = means_by(values, sites)
    assert list(means) == ["b", "a"]
    assert means["b"] == pytest.approx((0.7 / 3, 3))
    assert means["a"] == (1.0, 1)
    assert mean_of_means(means) == pytest.approx((0.7 / 3 + 1) / 2)


@pytest.mark.parametrize("values", [[], [[0.5]], [0.5, float("nan")]])
def test_unusable_values_are_refused(values: Any) -> None:
    """Empty, two-dimensional and missing values are refused by all functions."""
    with pytest.raises(UsageError, match="values must be a one-dimensional array of at least one number"):
        bootstrap_mean(values)
    with pytest.raises(UsageError, match="values must be"):
        means_by(values, ["a"])
    with pytest.raises(UsageError, match="a must be"):
        paired_difference(values, [0.5])


def test_a_mean_of_means_needs_a_mean() -> None:
    """The mean over no sites is an error."""
    with pytest.raises(UsageError, match="at least one mean"):
        mean_of_means({})


def test_unequal_lengths_are_refused() -> None:
    """Paired scores must have equal lengths, and every document needs a key."""
    with pytest.raises(UsageError, match="a has 2 scores but b has 1"):
        paired_difference([0.1, 0.2], [0.1])
    with pytest.raises(UsageError, match="2 scores but 1 keys"):
        bootstrap_mean([0.1, 0.2], groups=["a"])
    with pytest.raises(UsageError, match="2 scores but 3 keys"):
        means_by([0.1, 0.2], ["a", "b", "c"])


@pytest.mark.parametrize("options", [{"resamples": 0}, {"level": 0.0}, {"level": 1.0}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    """The number of samples must be at least 1, and the level strictly between 0 and 1."""
    with pytest.raises(UsageError, match=next(iter(options))):
        bootstrap_mean([0.5], **options)


@given(tables, st.integers(0, 5), st.sampled_from([0.5, 0.95]))
def test_many_systems_are_resampled_like_single_ones(table: list[list[float]], seed: int, level: float) -> None:
    """Intervals and differences equal those of the functions for one system or one pair."""
    values = np.array(table)
    result = bootstrap_systems(values, resamples=30, seed=seed)
    for column, interval in zip(values.T, result.intervals(level), strict=True):
        assert interval == pytest.approx(bootstrap_mean(column, resamples=30, seed=seed, level=level), abs=1e-12)
    found = result.differences(level)
    assert list(found) == list(combinations(range(4), 2))
    for (a, b), difference in found.items():
        alone = paired_difference(values[:, a], values[:, b], resamples=30, seed=seed, level=level)
        assert difference[:3] == pytest.approx(alone[:3], abs=1e-12)
        assert difference.significant == alone.significant


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=2),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 3),
)
def test_pooled_scores_are_ratios_of_sums_over_the_drawn_pages(counts: list[list[tuple[int, ...]]], seed: int) -> None:
    """Every sample adds the counts of its pages and computes the scores of both systems from the sums."""
    result = bootstrap_systems(counts, pooled_f1, resamples=15, seed=seed)
    table = np.array(counts)
    drawn = np.random.default_rng(seed).integers(len(counts), size=(15, len(counts)))
    for system in range(2):
        tp, fp, fn = table[:, system].sum(axis=0)
        assert result.estimates[system] == pytest.approx(2 * tp / (2 * tp + fp + fn))
        for row, pages in zip(result.samples, drawn, strict=True):
            tp, fp, fn = sum(table[page, system] for page in pages)
            assert row[system] == pytest.approx(2 * tp / (2 * tp + fp + fn))
    ahead = result.samples[:, 0] - result.samples[:, 1]
    low, high = np.quantile(ahead, [0.025, 0.975])
    assert result.differences()[0, 1][1:3] == pytest.approx((low, high), abs=1e-12)


def test_pooled_scores_weight_pages_by_their_blocks() -> None:
    """A page with many blocks counts more than one with few, unlike in a mean over pages."""
    result = bootstrap_systems([[[90, 10, 0]], [[0, 0, 10]]], pooled_f1)
    assert result.estimates.tolist() == [180 / 200]
    ((mean, low, high),) = result.intervals()
    assert (mean, low, high) == (0.9, 0.0, 180 / 190)


def test_rounding_errors_are_never_significant() -> None:
    """Scores that differ only in the last bit aren't significantly different."""
    a = np.array([0.1 + 0.2, 0.7])
    b = np.array([0.3, 0.7])
    assert (a > b).any()
    assert not paired_difference(a, b, level=0.1).significant
    assert not bootstrap_systems(np.stack([a, b], axis=1)).differences(0.1)[0, 1].significant


def test_chunks_do_not_change_many_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing indices in smaller chunks doesn't change the samples."""
    values = np.random.default_rng(9).random((30, 3))
    whole = bootstrap_systems(values, resamples=100)
    monkeypatch.setattr(bootstrap, "_CHUNK", 70)
    assert bootstrap_systems(values, resamples=100).samples == pytest.approx(whole.samples, abs=1e-12)


def test_one_system_has_an_interval_and_no_difference() -> None:
    """One system has no difference, and one page gives an interval of width 0."""
    result = bootstrap_systems([[0.25]])
    assert result.intervals() == [(0.25, 0.25, 0.25)]
    assert result.differences() == {}


@pytest.mark.parametrize("values", [[], [0.5, 0.5], [[0.5], [float("nan")]], np.empty((3, 0))])
def test_unusable_tables_are_refused(values: Any) -> None:
    """Tables without values, with a single dimension or with missing values are refused."""
    with pytest.raises(UsageError, match="values must be an array"):
        bootstrap_systems(values)


def test_options_of_many_systems_are_checked() -> None:
    """The number of samples must be at least 1, and the level strictly between 0 and 1."""
    with pytest.raises(UsageError, match="resamples"):
        bootstrap_systems([[0.5]], resamples=0)
    with pytest.raises(UsageError, match="level"):
        bootstrap_systems([[0.5]]).intervals(1)
    with pytest.raises(UsageError, match="level"):
        bootstrap_systems([[0.5, 0.5]]).differences(0)
