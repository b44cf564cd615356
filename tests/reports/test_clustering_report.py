"""The report of a clustering."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jinja2")

from lxml import html
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.reports import write_clustering
from tests.reports.pages import HOSTILE, cells_of, read_page, words_of

_IMAGE = re.compile(r'<image [^>]*href="data:image/png;base64,[A-Za-z0-9+/]+=*"/>')


def read_report(path: Path) -> tuple[html.HtmlElement, int]:
    """Parse a report and count its images, the only ones allowed in reports, because they are embedded."""
    text = path.read_text(encoding="utf-8")
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'" in text
    bare, n_images = _IMAGE.subn("", text)
    path.with_suffix(".bare.html").write_text(bare, encoding="utf-8")
    return read_page(path.with_suffix(".bare.html")), n_images


def joined(matrix: NDArray[np.float64]) -> list[list[float]]:
    """Return single linkage by definition: repeatedly join the two clusters with the closest members."""
    n = len(matrix)
    groups = {page: [page] for page in range(n)}
    rows: list[list[float]] = []
    while len(groups) > 1:
        pairs = [(matrix[np.ix_(groups[a], groups[b])].min(), a, b) for a, b in itertools.combinations(groups, 2)]
        height, a, b = min(pairs)
        groups[n + len(rows)] = groups.pop(a) + groups.pop(b)
        rows.append([a, b, float(height), len(groups[n + len(rows)])])
    return rows


def result_of(
    labels: list[int], truth: list[str] | None = None, *, seed: int = 0, merges: bool = True, **changes: Any
) -> dict[str, Any]:
    """Return a result as it is written, with small distances inside clusters and large ones between them."""
    n = len(labels)
    rng = np.random.default_rng(seed)
    alike = np.equal.outer(labels, labels)
    matrix = np.triu(np.where(alike, rng.uniform(0.05, 0.3, (n, n)), rng.uniform(0.6, 0.95, (n, n))), 1)
    matrix += matrix.T
    ids = [f"page-{i:03d}" for i in range(n)]
    rows = []
    for number in sorted(set(labels)):
        members = [i for i in range(n) if labels[i] == number]
        inside = matrix[np.ix_(members, members)]
        pairs = inside[np.triu_indices(len(members), 1)]
        rows.append(
            {
                "number": number,
                "size": len(members),
                "median": ids[members[int(inside.sum(axis=0).argmin())]],
                "within": float(pairs.mean()) if len(pairs) else None,
                "largest": float(pairs.max()) if len(pairs) else None,
                "common_words": 0.314 if len(pairs) else None,
                "pages": [ids[i] for i in members],
                "truth": Counter(truth[i] for i in members) if truth else None,
            }
        )
    counts, edges = np.histogram(matrix[np.triu_indices(n, 1)], 20, (0, 1))
    return {
        "distance": "cp",
        "settings": {"cutoff": None},
        "threshold": 0.45,
        "threshold_source": "gap",
        "command": "blockml templates cluster pages",
        "version": "1.2.3",
        "pages": [
            {
                "id": ids[i],
                "url": f"https://site.example/{i}",
                "title": f"Title {i}",
                "cluster": labels[i],
                "finer": None,
                "n_blocks": 100 + i,
                "n_nodes": 1000 + i,
                "truth": truth[i] if truth else None,
            }
            for i in range(n)
        ],
        "clusters": rows,
        "matrix": matrix.tolist(),
        "merges": joined(matrix) if merges else None,
        "map": {"points": rng.normal(size=(n, 2)).tolist(), "stress": 0.08},
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
        "indices": {"dunn": 2.125, "adjusted_rand": 0.75} if truth else {},
        "seconds": {"distances": 1.234},
        **changes,
    }


LABELS = [0, 1, 0, 2, 1, 0, 1, 0, 3, 0]
TRUTH = ["news", "shop", "news", "shop", "shop", "wiki", "shop", "news", "wiki", "news"]


@pytest.fixture(scope="module")
def given_result() -> dict[str, Any]:
    """Return a result of 10 pages in 4 clusters, two of them single pages."""
    return result_of(LABELS, TRUTH)


@pytest.fixture(scope="module")
def report(given_result: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> html.HtmlElement:
    """Return the parsed report of the result."""
    page, n_images = read_report(write_clustering(given_result, tmp_path_factory.mktemp("report") / "deep" / "r.html"))
    assert n_images == 2  # the matrix and the strip of its colours
    return page


def answers(page: html.HtmlElement) -> dict[str, str]:
    """Return the sentences at the top of the report."""
    box = page.find_class("summary")[0]
    return dict(
        zip([str(term.text) for term in box.iter("dt")], [words_of(item) for item in box.iter("dd")], strict=True)
    )


def rows_of(table: html.HtmlElement) -> dict[str, list[str]]:
    """Return the cells of each row, by its heading."""
    return {words_of(row.findall("th")[0]): cells_of(row) for row in table.findall("./tbody/tr")}


def test_the_summary_gives_the_outcome_in_words(report: html.HtmlElement, given_result: dict[str, Any]) -> None:
    """The summary gives the number of clusters, the threshold and its margin, and the agreement with known groups."""
    said = answers(report)
    matrix, alike = np.array(given_result["matrix"]), np.equal.outer(LABELS, LABELS)
    assert words_of(report.findall(".//h1")[0]).startswith("10 pages in 4 clusters")
    assert said["Clusters"] == "4 clusters; the largest has 5 pages, 50 % of all. 2 pages form clusters of their own."
    assert said["Threshold"] == (
        "The middle of the widest gap between the distances. Distances within clusters are at most "
        f"{matrix[alike].max():.3f}; distances between clusters are at least {matrix[~alike].min():.3f}."
    )
    assert said["Known groups"] == (
        "3 of 4 clusters hold pages of one group only; 2 groups are spread over several clusters. "
        "Adjusted Rand index: 0.750."
    )


def test_the_table_of_clusters_has_the_largest_first(report: html.HtmlElement, given_result: dict[str, Any]) -> None:
    """Each row has size, distances, repeated words, known groups and the most typical page."""
    table = report.get_element_by_id("clusters").find(".//table")
    assert table is not None
    found = rows_of(table)
    assert list(found) == ["0", "1", "2", "3"]
    for row in given_result["clusters"]:
        within, largest = (f"{row[name]:.3f}" if row[name] else "–" for name in ("within", "largest"))
        words = "31 %" if row["common_words"] else "–"
        groups = ", ".join(f"{name} {n}" for name, n in sorted(row["truth"].items(), key=lambda item: -item[1]))
        title = f"{row['median']} Title {int(row['median'][-3:])}"
        assert found[str(row["number"])] == [str(row["size"]), within, largest, words, groups, title]


def test_every_page_is_listed_once_in_its_cluster(report: html.HtmlElement, given_result: dict[str, Any]) -> None:
    """Each cluster lists its median page first and the others by distance to it; single pages are listed together."""
    matrix = np.array(given_result["matrix"])
    lists = {str(part.get("id")): part for part in report.get_element_by_id("pages").findall("details")}
    assert set(lists) == {"c0", "c1", "alone"}
    for number in (0, 1):
        table = lists[f"c{number}"].find(".//table")
        assert table is not None
        found = rows_of(table)
        row = given_result["clusters"][number]
        median = int(row["median"][-3:])
        assert next(iter(found)) == row["median"]
        assert sorted(found) == row["pages"]
        for name, cells in found.items():
            i = int(name[-3:])
            assert cells == [f"Title {i}", f"{matrix[median, i]:.3f}", str(100 + i), f"{1000 + i:,}", TRUTH[i]]
        distances = [float(cells[1]) for cells in found.values()]
        assert distances == sorted(distances)
    alone = lists["alone"].find(".//table")
    assert alone is not None
    assert {name: cells[1] for name, cells in rows_of(alone).items()} == {"page-003": "2", "page-008": "3"}
    links = [str(link) for link in report.xpath("//section[@id='pages']//a/@href")]
    assert sorted(links) == sorted(page["url"] for page in given_result["pages"])


def test_every_page_is_a_point_marked_by_its_cluster(report: html.HtmlElement, given_result: dict[str, Any]) -> None:
    """Points have the colour and shape of the legend; median pages are outlined and drawn last."""
    figure = next(item for item in report.iter("svg") if "framed" in str(item.get("class")))
    points = figure.findall("path")
    titles = [words_of(point) for point in points]
    shapes: dict[int, set[tuple[str, str]]] = {}
    for title, point in zip(titles, points, strict=True):
        page = next(row for row in given_result["pages"] if title.startswith(row["id"]))
        assert f"{page['title']}; cluster {page['cluster']}" in title
        central = ("its medoid" in title, "medoid" in str(point.get("class")).split())
        assert central in ((True, True), (False, False))
        shape = re.sub(r"^M[\d.]+ [\d.]+", "", str(point.get("d")))
        shapes.setdefault(page["cluster"], set()).add((str(point.get("class")).split()[1], shape))
    assert len(titles) == len(set(titles)) == 10
    assert ["its medoid" in title for title in titles] == [False] * 8 + [True] * 2
    assert all(len(found) == 1 for found in shapes.values())
    assert len(set().union(*shapes.values())) == 4
    assert "stress 0.080, which is fair" in words_of(report.get_element_by_id("pictures"))


def test_tree_and_histogram_are_drawn(report: html.HtmlElement) -> None:
    """A tree of few pages has all pages as leaves, and the threshold is a line in tree and histogram."""
    tree = report.get_element_by_id("tree-t").getparent()
    assert tree is not None
    leaves = {words_of(label) for label in tree.iter("text")}
    assert {f"page-{i:03d}" for i in range(10)} <= leaves
    pairs = report.get_element_by_id("pairs-t").getparent()
    assert pairs is not None
    assert len(tree.find_class("threshold")) == len(pairs.find_class("threshold")) == 1


def test_the_report_says_how_it_was_made(report: html.HtmlElement) -> None:
    """The report gives command, version, settings and times, and explains the indices."""
    again = report.get_element_by_id("again")
    assert words_of(again.findall("pre")[0]) == "blockml templates cluster pages"
    names, values = ([words_of(item) for item in again.iter(tag)] for tag in ("dt", "dd"))
    assert dict(zip(names, values, strict=True)) == {
        "blockml": "1.2.3",
        "distance": "cp",
        "cutoff": "None",
        "time for distances": "1.23 s",
    }
    table = report.get_element_by_id("indices").find(".//table")
    assert table is not None
    found = rows_of(table)
    assert {name: cells[0] for name, cells in found.items()} == {"Dunn index": "2.125", "adjusted Rand index": "0.750"}
    assert all(cells[1] for cells in found.values())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("gap", "widest gap"),
        ("preset", "The published threshold"),
        ("given", "As given"),
        ("k", "the number of clusters was given"),
        ("none", "None."),
    ],
)
def test_source_of_the_threshold_is_given(source: str, words: str, tmp_path: Path) -> None:
    """The report names the rule that chose the threshold."""
    result = result_of([0, 0, 1], threshold_source=source, threshold=None if source in ("k", "none") else 0.4)
    page, _ = read_report(write_clustering(result, tmp_path / "r.html"))
    assert words in answers(page)["Threshold"]
    assert bool(page.find_class("threshold")) == (result["threshold"] is not None)


def test_only_known_facts_are_shown(tmp_path: Path) -> None:
    """Figures, groups and indices that a result lacks are left out."""
    pages = [{"id": f"p{i}", "cluster": i % 2} for i in range(4)]
    clusters = [{"number": i, "size": 2, "pages": [f"p{i}", f"p{i + 2}"]} for i in range(2)]
    page, n_images = read_report(
        write_clustering({"distance": "new", "pages": pages, "clusters": clusters}, tmp_path / "r")
    )
    assert n_images == 0
    assert [part.get("id") for part in page.findall(".//section")] == ["clusters", "pages", "again"]
    assert set(answers(page)) == {"Clusters", "Threshold"}
    table = page.get_element_by_id("clusters").find(".//table")
    assert table is not None
    assert rows_of(table) == {"0": ["2", "–", "–", "p0"], "1": ["2", "–", "–", "p1"]}
    assert "distance" not in words_of(page.get_element_by_id("pages"))


def test_empty_and_single_collections_have_a_report(tmp_path: Path) -> None:
    """A report of no pages or of one page says so."""
    empty, _ = read_report(
        write_clustering({"distance": "cp", "pages": [], "clusters": [], "matrix": []}, tmp_path / "r")
    )
    assert answers(empty) == {"Clusters": "There are no pages."}
    one = result_of([0], histogram=None, threshold=None, threshold_source="none")
    page, n_images = read_report(write_clustering(one, tmp_path / "one.html"))
    assert answers(page) == {"Clusters": "The only page forms one cluster."}
    assert n_images == 0
    assert "page-000" in words_of(page.get_element_by_id("alone"))


@pytest.mark.parametrize("labels", [[0, 0], [0, 1], [0] * 60])
def test_one_cluster_and_pairs_have_a_report(labels: list[int], tmp_path: Path) -> None:
    """Collections of one cluster or of two pages have a report, even if all distances are equal."""
    n = len(labels)
    result = result_of(labels, matrix=np.zeros((n, n)).tolist(), map={"points": [[0, 0]] * n, "stress": 0})
    result |= {"threshold": None, "threshold_source": "none"}
    result["merges"] = joined(np.zeros((n, n)))
    result["clusters"][0]["median"] = result["clusters"][0]["pages"][-1]
    page, n_images = read_report(write_clustering(result, tmp_path / "r.html"))
    assert n_images == 2
    assert len(page.get_element_by_id("tree-t").getparent().findall("g")) == min(n, 40)  # type: ignore[union-attr]
    whole = {1: f"All {n} pages are in one cluster.", 2: "2 clusters; the largest has 1 page, 50 % of all."}
    assert ("the distances don't separate the pages" in answers(page)["Threshold"]) == (len(set(labels)) == 1)
    assert answers(page)["Clusters"].startswith(whole[len(set(labels))])
    first = next(page.get_element_by_id("pages").iter("tbody"))
    assert words_of(first.findall("./tr/th")[0]) == result["clusters"][0]["median"]


def test_many_clusters_stay_legible(tmp_path: Path) -> None:
    """A report of 400 pages has an image instead of cells, a tree of 40 leaves, and a table that can be unfolded."""
    labels = [0] * 120 + [1] * 81 + list(range(2, 201))
    chain = [[i, i + 1 if i == 0 else 399 + i, i / 400, i + 2] for i in range(1)]
    chain += [[i + 1, 399 + i, i / 400, i + 2] for i in range(1, 399)]
    path = write_clustering(result_of(labels, merges=False) | {"merges": chain}, tmp_path / "r.html")
    page, n_images = read_report(path)
    assert n_images == 2
    assert path.stat().st_size < 700_000
    figures = [figure for figure in page.iter("svg") if figure.get("role")]
    assert max(len(list(figure.iter("rect"))) for figure in figures) < 250
    assert [len(figure.findall("g")) for figure in figures if figure.findall("g")] == [40]
    first, second = (table for table in page.get_element_by_id("clusters").iter("table"))
    assert (len(rows_of(first)), len(rows_of(second))) == (25, 176)
    assert "183 smaller clusters" in words_of(page.find_class("legend")[0])
    assert "199 clusters of a single page" in words_of(page.get_element_by_id("alone"))


def test_large_clusters_are_leaves_of_the_tree(tmp_path: Path) -> None:
    """Each large cluster is a wedge of the tree with its size, and its pages can be unfolded."""
    page, _ = read_report(write_clustering(result_of([0] * 30 + [1] * 20 + [2]), tmp_path / "r.html"))
    tree = page.get_element_by_id("tree-t").getparent()
    assert tree is not None
    assert {words_of(leaf.find("text")) for leaf in tree.findall("g")} == {"0: 30 pages", "1: 20 pages", "page-050"}  # type: ignore[arg-type]
    assert len(tree.find_class("wedge")) == 2
    inside = page.get_element_by_id("branches-t").getparent()
    assert inside is not None
    assert len(inside.findall("g")) == 40
    assert re.search(r"0: \d+ of 30 pages", words_of(inside))


def test_subclusters_are_shown_if_a_result_has_them(tmp_path: Path) -> None:
    """The report gives the number of subclusters of a cluster, and the subcluster of each page."""
    result = result_of([0, 0, 0, 1])
    for page, finer in zip(result["pages"], [4, 5, 4, 6], strict=True):
        page["finer"] = finer
    page, _ = read_report(write_clustering(result, tmp_path / "r.html"))
    assert "Clusters are divided into 3 subclusters." in answers(page)["Clusters"]
    table = page.get_element_by_id("clusters").find(".//table")
    assert table is not None
    assert [cells[4] for cells in rows_of(table).values()] == ["2", "1"]
    pages = page.get_element_by_id("c0").find(".//table")
    assert pages is not None
    assert {name: cells[2] for name, cells in rows_of(pages).items()} == {
        "page-000": "4",
        "page-001": "5",
        "page-002": "4",
    }


def test_indices_may_be_infinite_or_undefined(tmp_path: Path) -> None:
    """Infinite and undefined indices are written as signs, and unknown indices keep their name."""
    indices = {"dunn": float("inf"), "nmi": float("nan"), "rand": None, "my<own>": 1}
    page, _ = read_report(write_clustering(result_of([0, 1], indices=indices), tmp_path / "r.html"))
    table = page.get_element_by_id("indices").find(".//table")
    assert table is not None
    assert [cells[0] for cells in rows_of(table).values()] == ["∞", "–", "–", "1.000"]
    assert "my<own>" in rows_of(table)


def test_hostile_texts_are_escaped(tmp_path: Path) -> None:
    """Hostile ids, titles, addresses, groups, settings and commands of any length remain text."""
    result = result_of([0, 0, 0, 1], [HOSTILE, HOSTILE * 9, HOSTILE, "x"], command=HOSTILE, settings={HOSTILE: HOSTILE})
    for i, row in enumerate(result["pages"]):
        row |= {
            "id": f"{'directory/' * 40}{i}{HOSTILE}",
            "title": HOSTILE * 3,
            "url": f"javascript:alert({i})//{HOSTILE}",
        }
    result["distance"] = result["version"] = HOSTILE
    result["pages"][3]["url"] = f"https://evil.example/{HOSTILE}"
    page, _ = read_report(write_clustering(result, tmp_path / "r.html"))
    assert " ".join(HOSTILE.split()) in words_of(page.findall(".//pre")[0])
    assert [str(link) for link in page.xpath("//section[@id='pages']//a/@href")] == [f"https://evil.example/{HOSTILE}"]
    points = next(item for item in page.iter("svg") if "framed" in str(item.get("class"))).findall("path")
    assert all(" ".join((HOSTILE * 3).split()) in words_of(point) for point in points)


def test_a_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    """A lone surrogate, which UTF-8 cannot encode, is replaced."""
    result = result_of([0, 0])
    result["pages"][0]["title"] = "a\ud800b"
    page, _ = read_report(write_clustering(result, tmp_path / "r.html"))
    assert "a?b" in words_of(page.get_element_by_id("c0"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"matrix": [[0.0, 1.0]]}, r"matrix must have the shape \(3, 3\)"),
        ({"merges": [[0, 1, 0.5, 2]]}, r"merges must have the shape \(2, 4\)"),
        ({"map": {"points": [[0, 0]], "stress": 0}}, r"points must have the shape \(3, 2\)"),
        ({"histogram": {"edges": [0, 1], "counts": [1, 2]}}, "2 bins need 3 increasing edges, got 2"),
        ({"histogram": {"edges": [0, 2, 1], "counts": [1, 2]}}, "2 bins need 3 increasing edges, got 3"),
        ({"clusters": [{"number": 0}]}, "cluster 1, which is not among the clusters"),
    ],
)
def test_results_that_contradict_themselves_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Results that contradict themselves are refused, and nothing is written."""
    with pytest.raises(UsageError, match=words):
        write_clustering(result_of([0, 0, 1]) | changes, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_the_same_result_makes_the_same_report(given_result: dict[str, Any], tmp_path: Path) -> None:
    """The same result gives the same report byte for byte, and is not modified."""
    before = repr(given_result)
    first, second = (write_clustering(given_result, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second
    assert repr(given_result) == before


#: Simulation of protanopia, deuteranopia and tritanopia in linear RGB (Machado, Oliveira & Fernandes 2009, severity 1).
_BLIND: tuple[ArrayLike, ...] = (
    np.eye(3),
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
)
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colours: list[str]) -> NDArray[np.float64]:
    """Return (n, 3) linear RGB of colours in hexadecimal."""
    shares = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in colours])
    values: NDArray[np.float64] = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return values


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n, 3) CIE L*a*b* of linear RGB."""
    shares = np.clip(rgb @ _TO_XYZ.T, 0, None) / (0.9505, 1, 1.089)
    f = np.where(shares > 0.008856, np.cbrt(shares), 7.787 * shares + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_of_clusters_are_distinguishable(theme: int, report: html.HtmlElement) -> None:
    """Colours have a contrast of at least 3 to the background, and differ by 15 for colour-blind readers too."""
    style = next(element.text or "" for element in report.iter("style"))
    colours = [re.findall(rf"--k{i}: (#[0-9a-f]{{6}})", style)[theme] for i in range(6)]
    ground = re.findall(r"--paper: (#[0-9a-f]{6})", style)[theme]
    light = linear([ground, *colours]) @ _TO_XYZ[1] + 0.05
    assert (np.maximum(light[1:], light[0]) / np.minimum(light[1:], light[0])).min() > 3
    for matrix in _BLIND:
        seen = lab(linear(colours) @ np.asarray(matrix).T)
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15
