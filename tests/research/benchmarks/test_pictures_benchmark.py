"""The gold of pictures and its comparison with an output."""

import gzip
import json

import pytest

from research.benchmarks.pictures import GOLD, Counts, counts_of, rows


def test_gold_has_the_counts_that_its_description_names() -> None:
    """The gold has as many pages and pictures of each answer as its description says."""
    with gzip.open(GOLD, "rt", encoding="utf-8") as lines:
        pages = [json.loads(line) for line in lines]
    sums = [sum(len(page[kind]) for page in pages) for kind in ("content", "unsure")]
    assert (len(pages), *sums, sum(page["n_other"] for page in pages)) == (173, 502, 192, 3283)
    assert all(addresses for page in pages for addresses in page["content"])


@pytest.mark.parametrize(
    ("addresses", "counts"),
    [
        ([], Counts(2, 0, 0, 0)),
        (["http://a.example/b.png", "/c.png", "/c.png"], Counts(2, 2, 2, 0)),
        (["/d.png", "/e.png"], Counts(2, 0, 0, 1)),
    ],
)
def test_addresses_are_compared_with_the_gold(addresses: list[str], counts: Counts) -> None:
    """Any address of a picture in the gold counts, and those of unsure pictures are ignored."""
    gold = {"content": [["a.png", "/b.png"], ["c.png"]], "unsure": [["d.png"]]}
    assert counts_of(gold, addresses, "https://a.example/") == counts


def test_rows_sum_over_pages() -> None:
    """Recall and precision are computed from the sums over pages."""
    first = next(iter(rows({"Markdown": {"a": Counts(3, 1, 1, 1), "b": Counts(1, 1, 2, 0)}})))
    assert str(first["recall"]).startswith("0.500")
    assert str(first["precision"]).startswith("0.750")
