"""Pages that share parts, like those of a site."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import strategies as st

import blockml
from blockml.page import Page
from blockml.templates.frequency import Measures
from tests.strategies import messy_html

#: Parts of pages: menus, numbered ids and classes, links in text, pictures, signs, texts that differ in case or digits.
PARTS = (
    "<ul><li class=m1><a href=/>Home</a><li class='m2 on'><a href=/n>News</a></ul>",
    "<ul><li class=m7><a href=/>Home</a></ul>",
    "<div id=post-12><p>Cats rule the world, and the world knows it.</p></div>",
    "<div id=post-9><p>Cats rule the world, and the world knows it not.</p></div>",
    "<div class='b a'><p>Dogs bark.</p></div>",
    "<div class='a b'><p>dogs bark.</p></div>",
    "<p>See <a href=x>cats</a> and <a href=y>dogs</a> too.</p>",
    "<p>See <a href=x>cats</a> and <a href=y>birds</a> too.</p>",
    "<p>9 comments</p>",
    "<p>12 comments</p>",
    "<p>|</p>",
    "<p>—</p>",
    "<img><img><p>cats cats cats</p>",
    "<img><script>x</script><p>cats cats cats cats</p>",
    "<table><tr><td>cats<td>dogs</table>",
    "<title>Cats</title>",
)

#: A page of a site; some have nothing in common with the others.
site_pages = st.one_of(
    st.lists(st.sampled_from(PARTS), max_size=6).map("".join),
    st.tuples(st.sampled_from(PARTS), messy_html).map("".join),
)

#: The columns of measures for each text and each block.
COLUMNS = tuple(
    field.name for field in fields(Measures) if field.name not in {"n_others", "include_self", "text_nodes"}
)


def parse_all(sources: list[str]) -> list[Page]:
    """Parse pages from their sources."""
    return [blockml.parse(source) for source in sources]


def texts_page(*texts: str) -> Page:
    """Return a page with one paragraph for each text."""
    return blockml.parse("".join(f"<p>{text}</p>" for text in texts))


def assert_same(one: Measures, other: Measures) -> None:
    """Check that two measures are equal bit for bit."""
    assert (one.n_others, one.n_pages, one.include_self) == (other.n_others, other.n_pages, other.include_self)
    for name in ("text_nodes", *COLUMNS):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
