"""Sanitised pages: nothing runs or loads, and each block keeps its text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import blockml
from blockml.datasets import open_dataset
from tests.hostile import HOSTILE

pytest.importorskip("nh3")
from blockml.labelling.sanitised import sanitised

DATA = Path(__file__).parents[2] / "data"
TAG = re.compile(r"<[a-z][^>]*>")
SPAN = re.compile(r'<span data-block="(\d+)">([^<]*)</span>')


def test_only_listed_markup_is_left() -> None:
    """Every tag of a hostile page is a plain one, without any attribute but ours."""
    found = sanitised(blockml.parse(HOSTILE))
    for tag in TAG.findall(found):
        assert re.fullmatch(r'<[a-z][a-z0-9]*( (data-block="\d+"|data-alt="[^"]*"|dir="[^"]*"))*>', tag), tag
    assert not re.search(
        r"<(script|style|img|svg|iframe|form|button|base|meta|link|object|video|details|dialog)", found
    )
    assert "elsewhere.invalid" not in found
    assert "Hidden text that stays readable" in found


def test_every_block_is_there() -> None:
    """The spans of a block hold its text, on synthetic pages and on a hostile one."""
    pages: list[str | bytes] = [page.load()[0] for page in open_dataset(DATA / "sites").pages[::5]]
    for content in [*pages, HOSTILE]:
        page = blockml.parse(content)
        texts: dict[int, str] = {}
        for number, text in SPAN.findall(sanitised(page)):
            texts[int(number)] = texts.get(int(number), "") + text
        plain = {number: blockml.parse(f"<pre>{text}").blocks.texts[0] for number, text in texts.items()}
        for number, text in enumerate(page.blocks.texts):
            assert "".join(plain[number].split()) == "".join(text.split())


def test_deep_and_empty_pages() -> None:
    """A page of thousands of levels keeps its text, and a page without text gives no block."""
    assert SPAN.findall(sanitised(blockml.parse("<div>" * 5000 + "deep"))) == [("0", "deep")]
    assert SPAN.findall(sanitised(blockml.parse(""))) == []
