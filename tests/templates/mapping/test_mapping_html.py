"""Templates as stand-alone pages: nothing active, and the same tree when parsed again."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import blockml
from blockml.page import Flag, Page
from blockml.parsing.segmentation import VOID
from blockml.templates.mapping import PageTemplate, page_template, template_html, tree_of
from tests.strategies import ATTRIBUTES, messy_html, messy_texts, visible
from tests.templates.mapping.made_trees import BIRDS, DOGS, KEY


def whole(page: Page) -> PageTemplate:
    """Return a template that is a whole page."""
    tree = tree_of(page)
    mask = np.ones(len(tree), dtype=bool)
    return PageTemplate(page=page, tree=tree, votes=mask.astype(np.int32), n_pages=1, mask=mask)


def outline(page: Page, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[object, ...]]:
    """Return depth, name, id, classes and text of the body and the nodes below it; neighbouring texts are joined."""
    nodes = page.nodes
    bodies = np.flatnonzero(nodes.named({"body"}))
    rows: list[tuple[object, ...]] = []
    for node in np.flatnonzero(inside & (np.arange(len(nodes)) >= bodies[0])).tolist():
        values = nodes.attributes[node]
        text = " ".join(nodes.texts[node].split())
        name, own_id, classes = nodes.name(node), values.get("id", "").strip(), values.get("class", "").split()
        if text and rows and rows[-1][1] == "#text":
            rows[-1] = (*rows[-1][:4], f"{rows[-1][4]} {text}")
        else:
            rows.append((int(nodes.depth[node]), name, own_id, frozenset(classes), text))
    return rows


def everything(page: Page) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of all nodes of a page."""
    return np.ones(len(page.nodes), dtype=np.bool_)


@pytest.mark.parametrize("backend", ["lxml", "html5lib"])
@pytest.mark.parametrize("min_votes", [None, 1])
def test_worked_example_is_written_and_read(backend: str, min_votes: int | None) -> None:
    """The template of the worked example has the same tree after it was written and parsed by either parser."""
    key, *others = map(blockml.parse, (KEY, DOGS, BIRDS))
    template = page_template(key, others, min_votes=min_votes)
    assert template is not None
    again = blockml.parse(template_html(template), backend=backend)
    assert outline(again, everything(again)) == outline(key, template.nodes)
    assert again.title == ""


@st.composite
def clean_html(draw: st.DrawFn) -> str:
    """Draw HTML whose elements are all closed, with all kinds of attributes and texts, which no parser repairs."""
    pieces: list[str] = []
    open_names: list[str] = []
    for _ in range(draw(st.integers(0, 25))):
        step = draw(st.integers(0, 3))
        if step == 0 and open_names:
            pieces.append(f"</{open_names.pop()}>")
        elif step == 1:
            pieces.append(re.sub("[<&]", "&amp;", draw(messy_texts)))
        elif step == 2:
            pieces.append(draw(st.sampled_from(["<br>", "<hr>", "<img alt='a&quot;b'>", "<wbr>"])))
        else:
            name = draw(st.sampled_from(("div", "section", "nav", "span", "b", "custom-tag", "article", "em")))
            pieces.append(f"<{name}{draw(st.sampled_from(ATTRIBUTES[:-1]))}>")
            open_names.append(name)
    return "<body>" + "".join(pieces) + "".join(f"</{name}>" for name in reversed(open_names))


@settings(max_examples=100)
@given(clean_html(), st.integers(0, 6))
def test_clean_pages_are_written_and_read(html: str, cut: int) -> None:
    """Any part of a well-formed page is read back with its names, nesting, ids, classes and texts."""
    page = blockml.parse(html)
    template = whole(page)
    mask = np.ones(len(template.tree), dtype=bool)
    for row in range(3, len(mask)):
        mask[row] = mask[template.tree.parent[row]] and (not cut or row % 7 != cut)
    template = PageTemplate(page, template.tree, template.votes, 1, mask)
    again = blockml.parse(template_html(template))
    assert outline(again, everything(again)) == outline(page, template.nodes)


@settings(max_examples=100)
@given(messy_html)
def test_messy_pages_are_written_and_read(html: str) -> None:
    """Any page is read back, apart from elements that the standard moves or renames."""
    page = blockml.parse(html)
    nodes = page.nodes
    assume([nodes.name(node) for node in np.flatnonzero(nodes.parent <= 0).tolist()] == ["html", "head", "body"])
    assume(not nodes.named({"xmp", "plaintext"}).any())
    assume(all(re.fullmatch(r"#text|[a-z][a-z0-9._:-]*", name) for name in nodes.names))
    template = whole(page)
    again = blockml.parse(template_html(template))
    assert outline(again, everything(again)) == outline(page, template.nodes)


@settings(max_examples=150)
@given(messy_html)
def test_messy_pages_are_written_without_anything_active(html: str) -> None:
    """A template of a messy page has all text and nothing active, and is unchanged when written again."""
    page = blockml.parse(html)
    written = template_html(whole(page))
    again = blockml.parse(written)
    nodes = again.nodes
    assert not nodes.named(frozenset("script style iframe template object embed frame".split())).any()
    assert not any(key.startswith("on") for values in nodes.attributes for key in values)
    is_text = (page.nodes.tag == 0) & ((page.nodes.flags & Flag.HEAD) == 0)
    expected = "".join(page.nodes.texts[node] for node in np.flatnonzero(is_text).tolist())
    is_text = (nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)
    assert visible("".join(nodes.texts[node] for node in np.flatnonzero(is_text).tolist())) == visible(expected)


HOSTILE = """
<html lang=en onload=a()><head><title>Shop</title><base href="https://evil.example/"><script>a()</script>
<meta http-equiv=refresh content="0;url=javascript:a()"><link rel=stylesheet href=/style.css media=print>
<link rel=stylesheet href="javascript:a()"><link rel=icon href=/i.png></head>
<body onload="a()" style="background:url(x.png)" class=b>
<a href="javascript:a()">1</a><a href=" java&#10;script:a()">2</a><a href="&#1;JavaScript:a()">3</a>
<a href="data:text/html,x">4</a><a href="vbscript:a()">5</a><a href="/ok?a=1&amp;b=2#c:d">6</a><a href="blob:x">7</a>
<img src=x onerror=a()><img src="data:image/png;base64,AA"><img src="data:image/svg+xml,x">
<form action="javascript:a()"><button formaction="javascript:a()">8</button></form>
<svg><a xlink:href="javascript:a()"><set attributeName=onmouseover to="a()"></set></a></svg>
<object data=/o classid=x>9</object><embed src=/e><frame src=/f><iframe src=/g srcdoc="x">i</iframe>
<p title='"><script>a()</script>' data-x="javascript:a()" ="x" a"b=1>&lt;script&gt;a()&lt;/script&gt;</p>
<textarea></textarea><textarea>&lt;/textarea&gt;&lt;script&gt;</textarea>
<xmp></script><b onclick=a()>raw</b></xmp><noscript><p title="</noscript><script>a()</script>">none</p></noscript>
<link rel=stylesheet href=/late.css><base href=/b><meta http-equiv=refresh content=1>
<div style="width: expression(a())">d</div><div style="color: red">e</div><x<y>odd</x<y>
</body></html>
"""


def test_hostile_pages_are_written_without_anything_active() -> None:
    """Handlers, executable addresses, redirects and scripts are removed, and tags in texts are escaped."""
    written = template_html(whole(blockml.parse(HOSTILE)))
    for backend in ("lxml", "html5lib"):
        nodes = blockml.parse(written, backend=backend).nodes
        assert not nodes.named(frozenset("script style iframe frame template".split())).any()
        pairs = [pair for values in nodes.attributes for pair in values.items()]
        names = {name for name, _ in pairs}
        assert not {"srcdoc", "http-equiv", "attributename", "formaction", "action", "data", "classid"} & names
        assert not any(name.startswith("on") for name in names)
        code = re.compile(r"script|expression|data:text|svg\+xml|blob", re.IGNORECASE)
        assert [pair for pair in pairs if code.search(pair[1]) and pair[0] != "title"] == []
        kept = {value for _, value in pairs}
        assert {"/ok?a=1&b=2#c:d", "data:image/png;base64,AA", "en", "b"} <= kept
        assert not {"/style.css", "color: red"} & kept
        assert not any(nodes.attributes[node].get("href") for node in np.flatnonzero(nodes.named({"base"})).tolist())
        text = " ".join(nodes.texts)
        assert "<script>a()</script>" in text
        assert "</textarea><script>" in text
        assert "<b onclick=a()>raw</b>" in text
    assert re.findall(r"<script|</script|<iframe|javascript:", written, re.IGNORECASE) == []


def test_heads_are_written_from_scratch() -> None:
    """The head has the common title, if any, and one charset, but no meta elements of the page."""
    pages = [
        blockml.parse(f"<html lang=de dir=ltr><head><title>{title}</title><meta charset=latin1><body><p>{text}")
        for title, text in (("A &amp; B", "1"), ("A &amp; B", "2"), ("C", "3"))
    ]
    same, other = page_template(pages[0], [pages[1]]), page_template(pages[0], [pages[2]])
    assert same is not None
    assert other is not None
    assert template_html(same) == (
        '<!DOCTYPE html>\n<html lang="de" dir="ltr"><head><meta charset="utf-8"><title>A &amp; B</title></head>\n'
        "<body><p></p></body></html>\n"
    )
    assert "<title></title>" in template_html(other)


def test_void_elements_and_line_breaks() -> None:
    """Void elements have no end tag, line breaks that parsers drop are written, and words stay separate."""
    html = "<pre>\n\ntwo</pre>a<br>b<img alt=c><input><p>x<script>1</script>y</p>"
    assert "<pre>\n\ntwo</pre>" in template_html(whole(blockml.parse(html, backend="html5lib")))
    written = template_html(whole(blockml.parse(html)))
    assert not re.search("|".join(f"</{name}>" for name in VOID), written)
    assert "<pre>\n\ntwo</pre>" in written
    assert "<p>x y</p>" in written


def test_templates_of_odd_pages_are_written() -> None:
    """Templates are written for pages without nodes or a body, with a second root, or without common nodes."""
    empty = '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title></title></head>\n<body></body></html>\n'
    assert template_html(whole(blockml.parse(""))) == empty
    frames = blockml.parse(template_html(whole(blockml.parse("<frameset><frame src=a></frameset>"))))
    assert [frames.nodes.name(node) for node in range(len(frames.nodes))][-3:] == ["body", "div", "div"]
    late = template_html(whole(blockml.parse("<html><body>a</body></html><p id=x>b")))
    assert 'a<p id="x">b</p></body></html>' in late
    nothing = page_template(blockml.parse(KEY), [blockml.parse("")])
    assert nothing is not None
    assert template_html(nothing) == empty


def test_deep_templates_are_written() -> None:
    """A template of fifty thousand nested elements is written."""
    limits = blockml.Limits(depth=60_000)
    page = blockml.parse("<div>" * 50_000 + "text", limits=limits)
    written = template_html(whole(page))
    assert written.count("<div>") == written.count("</div>") == 50_000
    again = blockml.parse(written, limits=limits)
    assert again.nodes.depth.tolist() == [0, 1, 2, 2, 1, *range(2, 50_003)]
