"""Declarative shadow roots and streamed parts: trees against a recursive composition, and whole pages."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.page import Flag
from blockml.parsing import build
from blockml.parsing.builder import NodesBuilder
from blockml.parsing.composition import composed

pytestmark = pytest.mark.exhaustive

BACKENDS = ["lxml", "html5lib", *(["lexbor"] if find_spec("selectolax") else [])]
NAMES = st.sampled_from(["", "a", "b"])

#: A text, or an element: name, name of its slot or the slot that it is in, shadow tree, children.
NODES = st.recursive(
    st.sampled_from(["one", "two", "three", " "]),
    lambda inner: st.one_of(
        st.tuples(st.just("x-a"), NAMES, st.none() | st.lists(inner, max_size=4), st.lists(inner, max_size=4)),
        st.tuples(st.sampled_from(["b", "slot", "template"]), NAMES, st.none(), st.lists(inner, max_size=4)),
    ),
    max_leaves=25,
)


def start_tag(node: Any) -> str:
    """Return the start tag of an element."""
    name, slot, *_ = node
    return f"<{name}{f' name={slot}' if name == 'slot' else f' slot={slot}' if slot else ''}>"


def written(node: Any) -> str:
    """Return the HTML of a node."""
    if isinstance(node, str):
        return node
    name, _, shadow, children = node
    root = "" if shadow is None else f"<template shadowrootmode=open>{''.join(map(written, shadow))}</template>"
    return f"{start_tag(node)}{root}{''.join(map(written, children))}</{name}>"


def first_slots(nodes: Any, found: dict[str, int]) -> dict[str, int]:
    """Return the ids of the first slot of each name in a shadow tree; slots of other trees don't count."""
    for node in nodes:
        if not isinstance(node, str) and node[0] != "template":
            if node[0] == "slot":
                found.setdefault(node[1], id(node))
            first_slots(node[3], found)
    return found


def shown(nodes: Any, slots: dict[str, int], assigned: dict[str, str]) -> str:
    """Return the HTML of nodes, with the content assigned to their slots."""
    parts = []
    for node in nodes:
        if isinstance(node, str) or node[0] == "template":
            parts.append(written(node))
            continue
        name, slot, shadow, children = node
        if name == "slot" and slots.get(slot) == id(node):
            parts.append(assigned[slot] if slot in assigned else shown(children, slots, assigned))
            continue
        content = shown(children, slots, assigned)
        if shadow is not None:
            content = in_slots(shadow, children, slots, assigned)
        parts.append(f"{start_tag(node)}{content}</{name}>")
    return "".join(parts)


def in_slots(shadow: Any, children: Any, slots: dict[str, int], assigned: dict[str, str]) -> str:
    """Return the content of a host: its shadow tree, then the children that no slot takes."""
    runs: list[tuple[str, list[Any]]] = []
    for child in children:
        slot = "" if isinstance(child, str) or child[0] in ("slot", "template") else child[1]
        if slot or not runs or runs[-1][0]:
            runs.append((slot, []))
        runs[-1][1].append(child)
    own = first_slots(shadow, {})
    taken: dict[str, str] = {}
    rest = ""
    for slot, run in runs:
        content = shown(run, slots, assigned)
        if not "".join(map(written, run)).strip():
            rest += content
        elif slot in own:
            taken[slot] = taken.get(slot, "") + content
        else:
            rest += f"<span hidden>{content}</span>"
    return shown(shadow, own, taken) + rest


def distinct(node: Any) -> Any:
    """Return a copy without shared nodes, whose templates are not assigned to slots."""
    if isinstance(node, str):
        return node
    name, slot, shadow, children = node
    copied = None if shadow is None else [distinct(child) for child in shadow]
    return [name, "" if name == "template" else slot, copied, [distinct(child) for child in children]]


@given(st.lists(NODES, max_size=4).map(lambda nodes: [distinct(node) for node in nodes]))
def test_trees_are_composed_as_by_recursion(nodes: Any) -> None:
    """Named, default and forwarding slots, unslotted content and inert templates are composed as by recursion."""
    html = "<!-- shadowroot -->" + "".join(map(written, nodes))
    assert composed(html.encode()).decode() == "<!-- shadowroot -->" + shown(nodes, {}, {})


@pytest.mark.parametrize(
    "html",
    [
        "<p>No template, but shadowrootmode</p>",
        "<p>a<template>b</template>c",
        "<!-- <x-a><template shadowrootmode=open>a</template></x-a> -->b",
        "<script>'<x-a><template shadowrootmode=open>a</template></x-a>'</script>b",
        "<p title='<x-a><template shadowrootmode=open>'>b</p>",
        "<x-a><template shadowrootmode=none>a</template>b</x-a>",
        "<x-a><template data-shadowrootmode=open>a</template>b</x-a>",
        "<td><template shadowrootmode=open>a</template>b",  # a cell can't have a shadow root
        "<x-a><b><i><template><x-b><template shadowrootmode=open>a</template></x-b></template></i></b></x-a>",
    ],
)
def test_pages_without_shadow_roots_are_unchanged(html: str) -> None:
    """Comments, scripts, attributes, other templates and elements that can't be hosts are not changed."""
    source = html.encode()
    assert composed(source) is source


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<X-A><TEMPLATE ShadowRootMode='Closed'>a<SLOT></SLOT>c</TEMPLATE>b</X-A>", "<X-A>abc</X-A>"),
        ("<x-a><template shadowroot=open>a</template></x-a>", "<x-a>a</x-a>"),
        ("<x-a><template shadowrootmode=open>a</template><template shadowrootmode=open>b</template></x-a>",
         "<x-a>a<span hidden><template shadowrootmode=open>b</template></span></x-a>"),
        ("<x-a><template shadowrootmode=open><slot name=t>", "<x-a>"),
        ("<x-a><template shadowrootmode=open><b></x-a><slot></slot></template>c</x-a>", "<x-a><b></x-a>c</x-a>"),
        ("<x-a><p slot=b>2<p slot=a>1</p><img slot=b><template shadowrootmode=open><slot name=a></slot>"
         "<slot name=b></slot></template></x-a>", "<x-a><p slot=a>1</p><p slot=b>2<img slot=b></x-a>"),
    ],
)  # fmt: skip
def test_markup_that_is_not_well_formed(html: str, expected: str) -> None:
    """Upper case, the older attribute, second roots, and missing or stray end tags are handled as by browsers."""
    assert composed(html.encode()).decode() == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_blocks_of_a_shadow_tree(backend: str) -> None:
    """Slotted content is inside the element of its slot, and content that no slot takes is hidden."""
    page = blockml.parse(
        "<!DOCTYPE html><body><x-a><template shadowrootmode=open><h1><slot name=t></slot></h1><slot></slot></template>"
        "<p>Text</p><b slot=t>Title</b><i slot=u>Nowhere</i></x-a>",
        backend=backend,
    )
    assert page.blocks.texts == ("Title", "Text", "Nowhere")
    assert (page.blocks.flags & Flag.HIDDEN > 0).tolist() == [False, False, True]
    assert "h1" in page.nodes.xpath(int(page.blocks.node[0]))
    assert page.utf8 is not None
    assert b"template" not in page.utf8


@pytest.mark.parametrize(
    "piece", ["<x-a><template shadowrootmode=open>", "<x-a slot=s>", "<slot name=s>", "</template>"]
)
def test_many_tags_stay_cheap(piece: str) -> None:
    """The output is not longer than the page, for a hundred thousand tags."""
    source = b"<x-a><template shadowrootmode=open>" + piece.encode() * 100_000
    assert len(composed(source)) <= len(source)


def test_costly_pages_are_parsed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are, and then with their shadow roots and without their deepest tags."""
    sizes: list[int] = []

    def counted(source: bytes, backend: str, limits: blockml.Limits) -> NodesBuilder:
        sizes.append(len(source))
        return build(source, backend, limits)

    monkeypatch.setattr("blockml.parsing.build", counted)
    root = b"<x-a><template shadowrootmode=open>cats</template></x-a>"
    page = blockml.parse(root + b"<div>" * 4_500 + b"</i>x" * 50_000)
    assert page.status == blockml.Status.TRUNCATED
    assert len(sizes) == 2
    assert sizes == sorted(sizes, reverse=True)
    assert page.blocks.texts[0] == "cats"
    sizes.clear()
    blockml.parse(root + b"<p>dogs")
    assert len(sizes) == 2


#: A placeholder with what is shown until its part arrives, and the calls that show parts.
PLACE = "<!--$?--><template id=B:0></template>wait<!--/$-->"
CALLS = "<script>$RC('B:0','S:0');$RR('B:1','S:1',[]);$RS('S:2','P:2')</script>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"<ul>{PLACE}</ul><p hidden id=S:0><li>a</p>", "<ul><!--$?--><li>a<!--/$--></ul><p hidden id=S:0></p>"),
        (f"{PLACE}<table hidden id=S:0><table></table><td>a</table>",
         "<!--$?--><table></table><td>a<!--/$--><table hidden id=S:0></table>"),
        ("<!--$?--><template id=B:1></template><!--$-->wait<!--/$-->more<!--/$-->end<b hidden id=S:1>a</b>",
         "<!--$?-->a<!--/$-->end<b hidden id=S:1></b>"),
        ("a<template id=P:2></template>stays<p id=S:2>b</p>", "abstays<p id=S:2></p>"),
        (f"{PLACE}<p id=S:0>a<template id=P:2></template>c</p><p id=S:2>b</p>",
         "<!--$?-->abc<!--/$--><p id=S:0></p><p id=S:2></p>"),
        ("<template id=B:0></template>stays<p id=S:0>a</p><!--/$-->", "astays<p id=S:0></p><!--/$-->"),
        ("<!--$?--><template id=B:0></template>stays<p id=S:0>a<!--/$--></p>",
         "<!--$?-->a<!--/$-->stays<p id=S:0></p>"),
        ("<!--$?--><template id=B:0></template><p id=S:0>a</p><!--/$-->", "<!--$?-->a<p id=S:0></p><!--/$-->"),
        ("<!--$?--><template id=B:0></template><p><!--$?--><template id=B:1></template>x<!--/$--></p><!--/$-->"
         "<p id=S:1>b</p><p id=S:0>a</p>", "<!--$?-->a<!--/$--><p id=S:1>b</p><p id=S:0></p>"),
        ("<p id=S:0>a</p>" + PLACE, "<p id=S:0>a</p>" + PLACE),
        ("<p id=S:0><template id=B:0></template>a</p>", "<p id=S:0><template id=B:0></template>a</p>"),
        (PLACE + "<p id=S:0>not closed", PLACE + "<p id=S:0>not closed"),
        (PLACE + "<p id=S:9>another</p>", PLACE + "<p id=S:9>another</p>"),
        ("<template id=B:0>content</template><p id=S:0>a</p>", "<template id=B:0>content</template><p id=S:0>a</p>"),
    ],
)  # fmt: skip
def test_streamed_parts(html: str, expected: str) -> None:
    """Parts replace their placeholders; a part without a place stays where it is, and nothing is lost."""
    assert composed((html + CALLS).encode()).decode() == expected + CALLS


def test_calls_in_texts_move_nothing() -> None:
    """Only scripts show parts; a text about them doesn't."""
    source = f"{PLACE}<p id=S:0>a</p><pre>{CALLS.replace('script', 'code')}</pre>".encode()
    assert composed(source) == source


def test_a_page_of_streamed_parts() -> None:
    """The parts are content in their order, and what is shown until they arrive is not."""
    parts = "".join(
        f"<div hidden id=S:{i}><h2>Section {i}</h2><p>Text of section {i}.</div><script>$RC('B:{i}','S:{i}')</script>"
        for i in (1, 0)
    )
    boundaries = "".join(f"<!--$?--><template id=B:{i}></template><p>Loading<!--/$-->" for i in (0, 1))
    result = blockml.extract(f"<main><h1>Cats</h1>{boundaries}<p>The end of the page.</main>{parts}", model="plain")
    assert result.text.split("\n") == [
        "Cats", "Section 0", "Text of section 0.", "Section 1", "Text of section 1.", "The end of the page.",
    ]  # fmt: skip
