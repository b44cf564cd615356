"""Outlines of pages, and labels of blocks from answers to them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from blockml.datasets import open_dataset
from blockml.page import Label
from blockml.parsing import parse
from tests.strategies import messy_html
from tools.outlines import groups, main, outline, run_labels

CARDS = "".join(
    f"<li class=card><h3>Item {i}</h3><p>It is the best item of all, number {i}.</p></li>" for i in range(30)
)
PAGE = f"<title>Shop</title><ul class=menu><li><a href=/>Home</a><li><a href=/b>Bags</a></ul><ul>{CARDS}</ul><p>© Shop"


def write_pages(folder: Path) -> Path:
    """Write a folder with one page."""
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "shop.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    row = {"id": "shop", "url": "https://shop.example/", "site": "shop.example", "title": "Shop", "lang": "en"}
    row |= {"encoding": "utf-8", "source": "made up", "licence": "CC0-1.0"}
    (folder / "pages.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    return folder


def test_equal_parts_of_repeated_items_are_one_group() -> None:
    """The headings of all cards are one group, and their texts another."""
    found = list(outline(parse(PAGE)))
    assert [line.split(" | ")[0] for line in found] == [
        "1 body>ul.menu b2 w2 l2", "2 li.card>h3 b30 w60", "3 li.card>p b30 w270", "4 body>p b1 w1",
    ]  # fmt: skip


@settings(max_examples=50)
@given(messy_html)
def test_every_block_is_in_one_group(html: str) -> None:
    """On any page every block is in one group, and groups are in the order of the page."""
    page = parse(html)
    found = groups(page)
    assert sorted(block for group in found for block in group.blocks) == list(range(len(page.blocks)))
    assert [group.blocks[0] for group in found] == sorted(group.blocks[0] for group in found)
    assert all(group.blocks == sorted(group.blocks) for group in found)


def test_answers_become_a_data_set(tmp_path: Path) -> None:
    """Labels contain no text of the page, and form a data set together with it."""
    folder, answers, labels = write_pages(tmp_path / "pool"), tmp_path / "answers.jsonl", tmp_path / "labels.jsonl.gz"
    assert main(["write", str(folder), "-o", str(tmp_path / "outlines.txt")]) == 0
    assert (tmp_path / "outlines.txt").read_text().startswith("=== shop | https://shop.example/ | Shop | en\n1 ")
    answers.write_text(json.dumps({"id": "shop", "kind": "collection", "content": ["2-3"], "ignore": [4]}))
    assert main(["labels", str(folder), "--answers", str(answers), "-o", str(labels)]) == 0
    assert b"Item" not in gzip.decompress(labels.read_bytes())
    assert main(["folders", str(folder), "--labels", str(labels), "-o", str(tmp_path / "set")]) == 0
    (page,) = open_dataset(tmp_path / "set").pages
    html, gold = page.load()
    assert (page.id, page.page_type, page.site) == ("shop", "collection", "shop.example")
    assert gold is not None
    found = gold.label(parse(html))
    assert found.main.tolist() == [False] * 2 + [True] * 60 + [False]
    assert found.known.tolist() == [True] * 62 + [False]


def test_groups_that_two_readers_label_differently_are_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Groups with different labels are ignored, and the agreement is counted in words."""
    folder, first, second = write_pages(tmp_path / "pool"), tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text(json.dumps({"id": "shop", "kind": "collection", "content": ["2-3"], "ignore": [4]}))
    second.write_text(json.dumps({"id": "shop", "kind": "listing", "content": ["3"], "ignore": [4]}))
    labels = tmp_path / "labels.jsonl"
    command = ["labels", str(folder), "--answers", str(first), "--second", str(second), "-o", str(labels)]
    assert main(command) == 0
    row = json.loads(labels.read_text())
    assert row["page_type"] == "collection"
    assert [(n_blocks, label) for n_blocks, label, _ in row["runs"]][:3] == [(2, "other"), (1, "ignore"), (1, "main")]
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("1 pages read twice, 0 of them with the same kind")
    assert printed[1:] == [f"{270 / 333:.4f} main, main", f"{60 / 333:.4f} main, other", f"{2 / 333:.4f} other, other",
                           f"{1 / 333:.4f} ignore, ignore"]  # fmt: skip


def test_a_table_needs_only_ids(tmp_path: Path) -> None:
    """A row without fields other than the id, or with a line separator in a string, is outlined."""
    folder = write_pages(tmp_path / "pool")
    for row, head in (({}, "=== shop |  |  | \n1 "), ({"lang": "e\u2028n"}, "=== shop |  |  | e\u2028n\n1 ")):
        table = json.dumps({"id": "shop", **row}, ensure_ascii=False)
        (folder / "pages.jsonl.gz").write_bytes(gzip.compress(table.encode()))
        assert main(["write", str(folder), "-o", str(tmp_path / "outlines.txt")]) == 0
        assert (tmp_path / "outlines.txt").read_text(encoding="utf-8").startswith(head)


def test_labels_of_another_page_are_refused() -> None:
    """Labels of a page that has changed are refused, because hashes of its texts differ."""
    page = parse("<p>One<p>Two")
    with pytest.raises(ValueError, match="blocks 0 to 1 are not those"):
        run_labels(page, [[2, "main", "0" * 12]])
    with pytest.raises(ValueError, match="0 blocks are labelled, the page has 2"):
        run_labels(page, [])
    assert run_labels(parse(""), []) == list[Label | None]()


def test_an_unknown_group_is_named(tmp_path: Path) -> None:
    """A group that the outline does not have is refused by its number."""
    folder, answers = write_pages(tmp_path / "pool"), tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"id": "shop", "kind": "collection", "content": [9]}))
    with pytest.raises(ValueError, match="shop: there is no group 9, only 1 to 4"):
        main(["labels", str(folder), "--answers", str(answers), "-o", str(tmp_path / "labels.jsonl")])
