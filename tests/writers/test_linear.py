"""Many small things that could each read something long again: outputs take time in proportion to the page."""

from __future__ import annotations

import time

import pytest

import blockml

pytestmark = pytest.mark.exhaustive

BEFORE = "<p>The cat sat on the mat and looked at the rain that fell.</p>"
AFTER = "<p>The dog lay in the sun and looked at the moon that rose.</p>"
SIZE = 100_000
#: Pages of about 100 kB; before they were mended, each took between 5 and 60 seconds.
PAGES = {
    "brackets of a formula": "<p>word \\(" + "[" * (SIZE // 2) + "\\) word " + "](" * (SIZE // 4) + "</p>",
    "marks of notes after carets": f"{BEFORE}<p>{'^' * (SIZE // 2)}x{'<a href=#n>1</a>' * (SIZE // 32)}</p>",
    "marks of notes after blanks": f"{BEFORE}<p>{' ' * (SIZE // 2)}x{'<a href=#n>1</a>' * (SIZE // 32)}</p>",
    "pictures in a link": f"{BEFORE}<a href='{'a' * SIZE}'>"
    + "".join(f"<div><img src={n}.jpg></div>" for n in range(SIZE // 30))
    + f"</a>{AFTER}",
    "pictures in a class": f"{BEFORE}<div class='{'is-' * (SIZE // 3)}'>"
    + "".join(f"<div><img src={n}.jpg></div>" for n in range(SIZE // 30))
    + f"</div>{AFTER}",
    "nested pictures": f"{BEFORE}{'<picture><img src=data:x>' * 1900}{'<i></i>' * (SIZE // 14)}{AFTER}",
    "pictures of persons among bylines": "<p>By Ann Lee</p>" * (SIZE // 40)
    + "<img src=/i.jpg alt='Ann Lee'>" * (SIZE // 64)
    + BEFORE,
    "terms without ends": "<dl>" + "<dt>a" * (SIZE // 10) + "</dl>",
    "lists directly in lists": "<ul><li>a" * (SIZE // 10),
    "marks in one paragraph": "<p>" + "a<b>b</b>c<i>d</i>" * (SIZE // 18),
}


@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_linear(name: str) -> None:
    """All outputs of the page are made in a few seconds."""
    result = blockml.extract(PAGES[name], threshold=0.0)
    start = time.process_time()
    assert result.images is not None
    for kind in ("markdown", "html", "tei"):
        assert blockml.render(result, kind)
    assert result.chunks(1000, "markdown")
    assert time.process_time() - start < 5
