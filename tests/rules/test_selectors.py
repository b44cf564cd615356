"""Selectors choose the elements that lxml and cssselect choose, with bounded work."""

from __future__ import annotations

import random
from collections.abc import Iterator

import lxml.etree
import numpy as np
import pytest

import blockml
from blockml.errors import UsageError
from blockml.page import Nodes
from blockml.rules import compile_selector
from blockml.rules.selectors import SelectorTree

CSS = (
    "div", "div p", "div > p", ".a", "p.a", "div ~ p", "span + b", "#i", ".a.b", "[class]", "[class=a]", "[class^=b]",
    "[class$=x]", "[class*='a']", "[class|=a]", "[class~=b]", "p:first-child", "p:last-child", "b:nth-child(2)",
    "b:nth-child(2n+1)", "b:nth-child(-n+2)", "b:nth-of-type(2)", "b:nth-last-of-type(1)", "b:nth-last-child(odd)",
    "span:first-of-type", "*:not(.a)", "div:not([class])", "div:has(b)", "div:has(> b)", "div:is(.a)", "p, b",
    "div:contains('one')", "div .a > span ~ b", "*", "div *", "b:nth-child(3n+2)",
)  # fmt: skip
XPATHS = (
    "//div", "//div/p", "//div//p", "//*[@class='a']", "//div[@class]", "//p[1]", "//p[last()]", "//p[2]",
    "//div[contains(@class,'a')][2]", "//p/..", "//b/ancestor::div", "//b/ancestor-or-self::*", "//b/parent::p",
    "//p/following-sibling::*", "//p/preceding-sibling::b", "//p/following-sibling::*[1]",
    "//p/preceding-sibling::*[1]", "//div[p]", "//div[.//b]", "//div[not(p)]", "//div[p and b]", "//div[p or not(b)]",
    "//div[p and b or span]", "//div[contains(.,'one')]", "//p[starts-with(.,'two')]", "//p[text()='two']",
    "//b[@class!='a']", "//div[contains(concat(' ',normalize-space(@class),' '),' a ')]", "//div[../p]",
    "//div[contains(concat(' ',@class,' '),' a ')]", "//*[normalize-space(@title)='a b']", "//div | //p",
    "//div[p/b[@class='a']]", "//div/self::*", "//body//div/descendant::b", "//div[p/@class='a']", "//p[text()]",
    "//div[ancestor::section]", "//div[following-sibling::p]", "//div[(p or b) and not(@class)]", "//*[@id='i']/*[2]",
    "//div/child::p[1]", "//section//following-sibling::b", ".//p", "//p[contains(text(), 'tw')]",
)  # fmt: skip


def as_lxml(nodes: Nodes) -> tuple[lxml.etree._Element, dict[lxml.etree._Element, int]]:
    """Return the nodes as an lxml tree, and the node of each of its elements."""
    root = lxml.etree.Element("root")
    elements, nodes_of = {-1: root}, dict[lxml.etree._Element, int]()
    for node in range(len(nodes)):
        parent = elements[int(nodes.parent[node])]
        if nodes.tag[node]:
            elements[node] = lxml.etree.SubElement(parent, nodes.name(node), dict(nodes.attributes[node]))
            nodes_of[elements[node]] = node
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + nodes.texts[node]
        else:
            parent.text = (parent.text or "") + nodes.texts[node]
    return root, nodes_of


def pages(n: int) -> Iterator[str]:
    """Yield random nested pages."""
    drawn = random.Random(3)  # noqa: S311 (test data)

    def part(depth: int) -> str:
        if depth > 4 or drawn.random() < 0.25:
            return drawn.choice(["one ", "two", "x y "])
        name = drawn.choice(["div", "p", "span", "section", "b"])
        kinds = ["", ' class="a"', ' class="a b"', " id=i", ' class="bc a-x"', ' title="a  b"']
        inner = "".join(part(depth + 1) for _ in range(drawn.randint(0, 4)))
        return f"<{name}{drawn.choice(kinds)}>{inner}</{name}>"

    for _ in range(n):
        yield "<body>" + "".join(part(0) for _ in range(4))


@pytest.mark.parametrize("text", [*CSS, *XPATHS])
def test_a_selector_chooses_what_others_choose(text: str) -> None:
    """CSS chooses what cssselect's XPath does in lxml, and XPath what lxml does; so do the forms for export."""
    cssselect = pytest.importorskip("cssselect")
    xpath = cssselect.GenericTranslator().css_to_xpath(text) if text in CSS else text
    selector = compile_selector(text)
    n_found = 0
    for html in pages(40):
        nodes = blockml.parse(html).nodes
        root, nodes_of = as_lxml(nodes)
        found = selector.select(SelectorTree(nodes)).nonzero()[0].tolist()
        for other in (xpath, selector.xpath):
            chosen = root.xpath(other)
            assert isinstance(chosen, list)
            assert sorted(nodes_of[item] for item in chosen if item in nodes_of) == found, other
        n_found += len(found)
    assert n_found


@pytest.mark.parametrize("text", ["p", "//p[@class]"])
def test_nodes_without_compact_attributes(text: str) -> None:
    """Nodes whose attributes are a plain list give the same elements."""
    nodes = blockml.parse("<p class=a>One<p>Two<p class=b>Three").nodes
    plain = nodes.only(np.ones(len(nodes), dtype=bool))
    one, other = (compile_selector(text).select(SelectorTree(item)) for item in (nodes, plain))
    assert one.any()
    assert (one == other).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("p" * 1001, "at most 1,000 characters"),
        ("p:hover", "the selector 'p:hover' can't be read"),
        ("p:empty", "tests are a position"),
        ("p::before", "pseudo-elements are ::text and ::attr()"),
        ("p >", "can't be read as CSS: Expected selector"),
        ("p & q", "can't be read as CSS"),
        ("[a", "can't be read as CSS"),
        (":\ud800", "can't be read as CSS"),
        ("div:is(.a", "can't be read as CSS: it ends within brackets"),
        ("(//p)[1]", "can't be read as CSS"),
        ("//p[", "expected the name of an element"),
        ("//p[substring-after(., 'a')]", "tests are a position, @name, contains()"),
        ("//p/following::a", "axes are self, child"),
        ("//p/ancestor::a[1]", "a position, which must be the only test"),
        ("//p[. = 'a']", "use contains() for other texts"),
        ("//p[1000000000000]", "tests are a position"),
        ("//p" + "[a" * 9 + "]" * 9, "nested 8 deep"),
        ("//*" * 80, "at most 64 steps and tests"),
        ("/" + "/*[*]" * 70, "at most 64 steps and tests"),
        ("//a/@href | //b", "same attribute"),
        ("//p[count(preceding-sibling::*) mod 0 = 1]", "a positive number after mod"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    """An error gives the place and what is legal there."""
    with pytest.raises(UsageError) as raised:
        compile_selector(text)
    assert message in str(raised.value)


def test_work_is_bounded_by_selector_and_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step looks at each node once: the number of passes over the columns does not depend on the page."""
    counts = []
    for depth in (10, 1000):
        passes = 0
        original = SelectorTree.named

        def named(tree: SelectorTree, name: str, original=original) -> object:  # type: ignore[no-untyped-def]  # noqa: ANN001
            nonlocal passes
            passes += 1
            return original(tree, name)

        monkeypatch.setattr(SelectorTree, "named", named)
        html = "<div>" * depth + "x" + "</div>" * depth
        compile_selector("//div" * 20 + "[.//div[.//div]]").select(SelectorTree(blockml.parse(html).nodes))
        monkeypatch.setattr(SelectorTree, "named", original)
        counts.append(passes)
    assert counts[0] == counts[1]
