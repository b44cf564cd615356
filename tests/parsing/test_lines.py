"""The refined document: one tag or text per line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import blockml
from blockml.parsing import BACKENDS
from blockml.parsing.segmentation import VOID, document_lines
from tests.refined import Line, refined_lines
from tests.strategies import is_dropped, messy_html

EXAMPLE = (
    '<html><body>\n<ul><li><a href="/">Home</a></li><li><a href="/n">News</a></li></ul>\n<h1>Big title</h1>\n'
    '<p>First <a href="x">linked</a> paragraph text here.</p>\n<p>Second line<br>after break.</p>\n</body></html>'
)
EXAMPLE_LINES = [
    "<html>", "<head>", "</head>", "<body>", "<ul>", "<li>", "<a>", "Home", "</a>", "</li>", "<li>", "<a>",
    "News", "</a>",
    "</li>", "</ul>", "<h1>", "Big title", "</h1>", "<p>", "First", "<a>", "linked", "</a>",
    "paragraph text here.", "</p>",
    "<p>", "Second line", "<br>", "after break.", "</p>", "</body>", "</html>",
]  # fmt: skip


def written(line: Line) -> str:
    """Return one line as the paper prints it."""
    return {"start": f"<{line.value}>", "end": f"</{line.value}>", "text": line.value}[line.kind]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_lines_of_the_worked_example(backend: str) -> None:
    """The worked example has these 33 lines by every back end."""
    lines = refined_lines(blockml.parse(EXAMPLE, backend=backend).nodes)
    assert [written(line) for line in lines] == EXAMPLE_LINES
    assert [line.number for line in lines] == list(range(1, 34))


def test_void_elements_have_one_line() -> None:
    """An element without an end tag takes one line; other empty elements take two."""
    lines = [written(line) for line in refined_lines(blockml.parse("<body><img><hr><b></b><input>x<wbr>").nodes)]
    assert lines[3:] == ["<body>", "<img>", "<hr>", "<b>", "</b>", "<input>", "x", "<wbr>", "</body>", "</html>"]


def test_code_and_comments_have_no_lines() -> None:
    """Scripts, styles, templates and comments are pruned and have no lines."""
    html = "<body>a<script>x</script><style>y</style><!-- z --><template><p>t</p></template>b"
    assert [written(line) for line in refined_lines(blockml.parse(html).nodes)][3:] == [
        "<body>",
        "a",
        "b",
        "</body>",
        "</html>",
    ]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@settings(max_examples=60)
@given(html=messy_html)
def test_numbers_are_those_of_the_lines_written_out(backend: str, html: str) -> None:
    """The line numbers that are computed at once equal those of the document written out line by line."""
    nodes = blockml.parse(html, backend=backend).nodes
    lines = refined_lines(nodes)
    numbers = document_lines(nodes)
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    first = {line.node: line.number for line in reversed(lines)}
    assert all(numbers[node] == number for node, number in first.items())
    assert sorted(first) == [node for node in range(len(nodes)) if not is_dropped(nodes, node)]
    open_nodes: list[int] = []
    for line in lines:
        if line.kind == "start" and line.value not in VOID:
            open_nodes.append(line.node)
        elif line.kind == "end":
            assert open_nodes.pop() == line.node
        elif line.kind == "text":
            assert line.value == " ".join(nodes.texts[line.node].split())
    assert open_nodes == []
