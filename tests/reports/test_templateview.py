"""The view that shows which parts of a page are template."""

from __future__ import annotations

import html as markup
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jinja2")

from lxml import html

import blockml
from blockml.errors import UsageError
from blockml.page import Page
from blockml.reports import siteviews
from blockml.reports.siteviews import write_template_view
from tests.reports.pages import HOSTILE, read_page, words_of

_FRAME = re.compile(r'<iframe sandbox="" referrerpolicy="no-referrer" title="[^"]*" srcdoc="([^"]*)"></iframe>')
SOURCE = "<nav><a href=/>Home</a></nav><p>Hello <a href=/b>big</a> world</p><footer>Imprint</footer>"


def view_of(
    path: Path, page: Page, in_template: Any, template: str = "", **options: Any
) -> tuple[html.HtmlElement, str]:
    """Write a view and return it without its frame, and the HTML that the frame shows."""
    options = {"page_title": "A page", "page_html_label": "a.html", **options}
    written = write_template_view(path, template_html=template, page=page, in_template=in_template, **options)
    text = written.read_text(encoding="utf-8")
    frames = _FRAME.findall(text)
    assert len(frames) == text.count("<iframe") <= 1
    bare = path.with_suffix(".bare.html")
    bare.write_text(_FRAME.sub("", text), encoding="utf-8")
    shown = markup.unescape(frames[0]) if frames else ""
    assert shown.startswith("<!DOCTYPE html><style>svg {") == bool(frames)
    return read_page(bare), shown.partition("</style>")[2]


def within(page: Page, *names: str) -> Any:
    """Return the mask of nodes that are, or are inside, elements with one of these names."""
    mask = page.nodes.named(set(names))
    for node in range(len(mask)):
        mask[node] |= bool(page.nodes.parent[node] >= 0 and mask[page.nodes.parent[node]])
    return mask


def test_blocks_are_shaded_by_their_share(tmp_path: Path) -> None:
    """Blocks are shaded by the share of their words in the template, and count as template if it is at least a half."""
    page = blockml.parse(SOURCE, url="http://site.example/a")
    view, frame = view_of(tmp_path / "deep" / "v.html", page, within(page, "a"), "<nav>Home</nav>", info={"n_pages": 7})
    lines = view.find_class("block")
    assert [words_of(line.find_class("text")[0]) for line in lines] == list(page.blocks.texts)
    # "big" is one of three words.
    assert [line.get("style") for line in lines] == ["--h:1.0", "--h:0.333", "--h:0.0"]
    assert [str(line.get("class")) for line in lines] == ["block template", "block own", "block own"]
    assert [words_of(line.find_class("share")[0]) for line in lines] == ["100 %", "33 %", "0 %"]
    assert [words_of(line.findall("code")[0]) for line in lines] == page.nodes.xpaths(page.blocks.parent.tolist())
    assert frame == "<nav>Home</nav>"
    facts = words_of(view.find_class("facts")[0])
    assert "1 of 3 blocks, 2 of 5 words, 4 of 13 nodes" in facts
    for fact in ("a.html", "http://site.example/a", "n pages7"):
        assert fact in facts


def test_pages_without_blocks_have_a_template_view(tmp_path: Path) -> None:
    """The view of a page without blocks says so, and is titled with its label if it has no title."""
    page = blockml.parse("")
    view, _ = view_of(tmp_path / "v.html", page, np.ones(len(page.nodes), dtype=bool), page_title="")
    assert "no text block" in words_of(view)
    assert words_of(view.findall(".//h1")[0]).startswith("a.html")


def test_views_of_another_page_are_refused(tmp_path: Path) -> None:
    """Nodes of another page are refused, and nothing is written."""
    with pytest.raises(UsageError, match="one entry per node"):
        view_of(tmp_path / "v.html", blockml.parse(SOURCE), np.zeros(3, dtype=bool))
    assert list(tmp_path.iterdir()) == []


def test_a_template_cannot_leave_its_frame(tmp_path: Path) -> None:
    """Quotes and tags of a template cannot end the frame's attribute, and titles, labels and facts are escaped."""
    page = blockml.parse(f"<p>{markup.escape(HOSTILE)}</p>", url=f"javascript:alert(1)//{HOSTILE}")
    mask = np.zeros(len(page.nodes), dtype=bool)
    template = f'"></iframe><script>alert(1)</script>{HOSTILE}'
    texts = {"page_title": HOSTILE, "page_html_label": HOSTILE, "info": {HOSTILE: HOSTILE}}
    view, frame = view_of(tmp_path / "v.html", page, mask, template, **texts)
    assert frame == template
    assert " ".join(HOSTILE.split()) in words_of(view.findall(".//h1")[0])


@pytest.mark.parametrize(
    "tag",
    [
        '<link rel=preconnect href="http://evil.example">',
        "<LINK/rel=dns-prefetch/href=//evil.example>",
        '<meta http-equiv=refresh content="0;url=http://evil.example">',
        "<base href=http://evil.example>",
        "<iframe src=http://evil.example>",
        "<frame src=http://evil.example>",
        "<li<link>nk rel=preconnect href=http://evil.example>",
        "<link rel=preconnect href=http://evil.example",
    ],
)
def test_tags_that_open_connections_are_left_out(tag: str, tmp_path: Path) -> None:
    """Tags for which a browser opens connections before it checks the policy are left out."""
    page = blockml.parse(SOURCE)
    _, frame = view_of(tmp_path / "v.html", page, np.zeros(len(page.nodes), dtype=bool), f"<p>a</p>{tag}")
    assert frame.startswith("<p>a</p>")
    assert not re.search(r"<(link|meta|base|i?frame)", frame, re.IGNORECASE)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=200))
def test_any_template_is_shown_unchanged(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A template is shown unchanged, apart from tags that could escape and white space around it."""
    page = blockml.parse("<p>one")
    template = f"<p>{text}</p>"
    _, frame = view_of(tmp_path_factory.mktemp("v") / "v.html", page, np.zeros(len(page.nodes), dtype=bool), template)
    assert frame == template


def test_shares_can_be_read_on_the_darkest_block() -> None:
    """Text on the darkest block has a contrast of at least 4.5 (WCAG 2.2, criterion 1.4.3), in light and dark."""
    folder = Path(siteviews.__file__).parent / "templates"
    mixed = re.search(r"var\(--h\) \* (\d+)%", (folder / "template_view.html.jinja").read_text(encoding="utf-8"))
    style = (folder / "style.css").read_text(encoding="utf-8")
    papers, inks = (re.findall(rf"--{name}: #([0-9a-f]{{6}});", style)[:2] for name in ("paper", "peer"))
    assert mixed is not None
    for paper, ink in zip(papers, inks, strict=True):
        text, below = (np.frombuffer(bytes.fromhex(colour), np.uint8) / 255 for colour in (ink, paper))
        share = int(mixed[1]) / 100
        mixture = text * share + below * (1 - share)
        linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in (text, mixture)]
        darker, lighter = sorted(float(c @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in linear)
        assert lighter / darker >= 4.5
