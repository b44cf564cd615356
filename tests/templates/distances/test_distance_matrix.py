"""Matrices: processes, progress, duplicates, sizes, and pages of real sites."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.errors import UsageError
from blockml.templates.distances import METRICS, distance, distance_matrix, sketch


def _pages(n: int) -> list[blockml.Page]:
    """Return different pages of three kinds."""
    kinds = ("<div><p>a<b>c</b></p></div>", "<ul><li>x<li>y</ul><hr>", "<table><tr><td>1<td>2</table>")
    return [blockml.parse(kinds[k % 3] * (1 + k // 3) + "<h2>end</h2>" * (k % 5)) for k in range(n)]


@pytest.mark.parametrize("metric", METRICS)
def test_processes_change_nothing(metric: str) -> None:
    """One process and two give the same matrix, whose values are those of single pairs, across the edges of tiles."""
    pages = [sketch(page) for page in _pages(70)]
    matrix = distance_matrix(pages, metric)
    assert matrix.dtype == np.float64
    assert matrix.shape == (70, 70)
    assert (distance_matrix(pages, metric, jobs=2) == matrix).all()
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, 70, (60, 2)).tolist():
        assert matrix[i, j] == distance(pages[i], pages[j], metric)


@pytest.mark.parametrize("metric", METRICS)
def test_duplicates_are_at_distance_zero(metric: str) -> None:
    """Copies of a page are at distance zero, and each keeps its position."""
    pages = _pages(5)
    copies = [3, 0, 0, 2, 3, 1, 4]
    matrix = distance_matrix(pages, metric)
    assert (distance_matrix([pages[k] for k in copies], metric) == matrix[np.ix_(copies, copies)]).all()


@pytest.mark.parametrize("metric", METRICS)
def test_few_pages(metric: str) -> None:
    """No page, one page, and only empty pages have a matrix."""
    assert distance_matrix([], metric).shape == (0, 0)
    assert distance_matrix(_pages(1), metric).tolist() == [[0.0]]
    assert distance_matrix([blockml.parse("")] * 3, metric).tolist() == [[0.0] * 3] * 3


def test_pages_and_sketches_can_be_mixed() -> None:
    """Pages and sketches can be mixed, because a page is sketched when needed."""
    pages = _pages(6)
    mixed = [sketch(page) if k % 2 else page for k, page in enumerate(pages)]
    assert (distance_matrix(mixed, "cps") == distance_matrix(pages, "cps")).all()
    with pytest.raises(UsageError, match="with classes"):
        distance_matrix([sketch(pages[0], classes=True), pages[1]])


@pytest.mark.parametrize("metric", METRICS)
def test_progress_sees_every_piece(metric: str) -> None:
    """The callback is called at the start and after each piece."""
    calls: list[tuple[str, int, int | None]] = []
    pages = _pages(70)
    shown = distance_matrix(pages, metric, progress=lambda *call: calls.append(call))
    assert (shown == distance_matrix(pages, metric)).all()
    n_pieces = 6 if metric in ("rtdm", "lcts") else 1
    assert calls == [("distances", done, n_pieces) for done in range(n_pieces + 1)]


def test_many_pages_of_a_set_metric() -> None:
    """More pages than the rows computed at a time have correct distances."""
    pages = [sketch(page) for page in _pages(600)]
    matrix = distance_matrix(pages, "ctss")
    sets = [set(METRICS["ctss"].prepare(page).tolist()) for page in pages]
    for i, j in ((0, 599), (255, 256), (300, 511), (511, 512)):
        assert matrix[i, j] == 1 - len(sets[i] & sets[j]) / max(len(sets[i]), len(sets[j]))


def test_zero_processes_are_refused() -> None:
    """Zero processes are refused for all metrics."""
    with pytest.raises(UsageError, match="jobs"):
        distance_matrix(_pages(3), "cp", jobs=0)


@pytest.mark.corpora
def test_pages_of_a_site_are_closer_to_each_other(corpora: Path) -> None:
    """The nearest page is of the same site for far more pages than chance would give."""
    folder = corpora / "sites" / "pages"
    files = [file for file in sorted(folder.glob("*.html.gz")) if file.name.split("--")[1][:3] in ("003", "010")]
    pages = [sketch(blockml.parse(gzip.decompress(file.read_bytes()))) for file in files]
    sites = np.array([file.name.split("--")[0] for file in files])
    assert len(set(sites)) >= 10
    for metric in METRICS:
        matrix = distance_matrix(pages, metric)
        np.fill_diagonal(matrix, np.inf)
        hits = (sites[matrix.argmin(axis=1)] == sites).mean()
        assert hits > {"lcts": 0.4, "tv": 0.25}.get(metric, 0.7), metric
