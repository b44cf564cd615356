"""Views of single pages."""

from __future__ import annotations

import html as markup
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jinja2")

from lxml import html
from numpy.typing import NDArray

import blockml
from blockml.cli import main
from blockml.datasets import Gold, LabelledPage, TextGold
from blockml.errors import UsageError
from blockml.evaluation import bag_scores, block_scores
from blockml.extractors import Plain, TrainedExtractor
from blockml.page.bounds import MAX_RATIO
from blockml.reports import PagePredictions, view_name, write_page_views, write_view
from blockml.reports.pageview import VIEW_SPARE
from research.benchmarks.hostile.shapes import OUTPUT_SHAPES, SHAPES
from tests.models import small_model
from tests.reports.pages import HOSTILE, cells_of, read_page, words_of

STORY = "This sentence is long enough to be kept by the small model of the tests. " * 2
PAGE = (
    "<title>A story</title><nav><a href=/>Home</a></nav>"
    f"<main><h1>Heading</h1><p>{STORY}</p><p>{STORY} More.</p></main><footer>Imprint</footer>"
)


def view(path: Path, page: str = PAGE, gold: Gold | None = None) -> tuple[blockml.page.Extraction, html.HtmlElement]:
    """Extract a page and return the extraction and its parsed view."""
    result = blockml.extract(page, model=TrainedExtractor(small_model()), url="http://news.example/1")
    return result, read_page(write_view(result, path, gold=gold, threshold=0.5))


def blocks(page: html.HtmlElement) -> list[html.HtmlElement]:
    """Return the blocks of a view."""
    return page.find_class("block")


def test_every_block_is_listed(tmp_path: Path) -> None:
    """Blocks are in document order, with text, decision, score, reason, parent, words, link density and path."""
    result, page = view(tmp_path / "deep" / "view.html")
    lines = blocks(page)
    assert len(lines) == len(result.kept) == 5
    for i, line in enumerate(lines):
        block, text = result.page.blocks[i], words_of(line)
        assert block.text in text
        assert ("kept" if result.kept[i] else "dropped") in str(line.get("class")).split()
        assert f"{result.scores[i]:.3f}" in text
        assert str(result.reasons[i]).replace("_", " ") in text
        assert f"<{block.parent}>" in text
        assert f"{block.n_words} word" in text
        assert result.page.nodes.xpath(block.node) in text
        bar = line.find(".//i")
        assert bar is not None
        assert bar.get("style") == f"width:{100 * result.scores[i]:.1f}%"
    assert "link density 1.00" in words_of(lines[0])
    assert "link density 0.00" in words_of(lines[1])


def test_long_pages_list_their_first_blocks(tmp_path: Path) -> None:
    """A view of a long page has the whole text and page, lists the first blocks, and counts the others."""
    source = "".join(f"<p>The cat {number} sat." for number in range(1_200))
    model = TrainedExtractor(small_model())
    result = blockml.extract(source, model=model, threshold=0.0)
    path = write_view(result, tmp_path / "view.html", threshold=0.0, extractor=model)
    view = path.read_text(encoding="utf-8")
    n_listed = view.count('<li class="block')
    assert 800 < n_listed < 1_100
    assert f"{1_200 - n_listed} more blocks are not listed" in view
    assert "some blocks are left out" in view
    assert view.count("The cat 1199 sat.") == 2
    assert 'id="threshold"' not in view
    assert "<details" not in view


@pytest.mark.parametrize(
    "shape",
    ["angle brackets", "ampersands of text", "custom elements", "short links", "one long title", "deep paragraphs",
     "quotation marks", "words and empty elements", "long headings", "list items"],
)  # fmt: skip
@pytest.mark.parametrize("size", [20_000, 300_000])
def test_views_are_bounded(tmp_path: Path, shape: str, size: int) -> None:
    """A view takes at most 8 bytes per byte of its page plus a megabyte, for any shape of page."""
    source = {**SHAPES, **OUTPUT_SHAPES}[shape](size)
    model = blockml.load("kim2013")
    result = blockml.extract(source, model=model)
    notes = model.explain(result.page)
    path = write_view(result, tmp_path / "view.html", threshold=0.5, extractor=model, explain=notes)
    assert path.stat().st_size <= MAX_RATIO * len(source) + VIEW_SPARE
    assert str(result.page.nodes.texts[-1])[-1:] in path.read_text(encoding="utf-8")


def test_facts_of_the_page_are_given(tmp_path: Path) -> None:
    """The view has the page's URL, title, status, encoding, model, threshold, counts and text."""
    result, page = view(tmp_path / "view.html")
    facts = words_of(page.find_class("facts")[0])
    for fact in ("http://news.example/1", "A story", "ok", "utf-8", result.page.encoding_source, "tiny 1.2", "0.500"):
        assert fact in facts
    assert f"{int(result.kept.sum())} of 5 blocks" in facts
    assert words_of(page.find_class("extract")[0]) == " ".join(result.text.split())
    assert page.find_class("scores") == []
    assert "missed" not in {str(line.get("class")) for line in blocks(page)}


def test_gold_marks_right_and_wrong_blocks(tmp_path: Path) -> None:
    """With gold, blocks are marked right or wrong, and the scores are those of the evaluation."""
    gold = TextGold(f"Home {STORY}")
    result, page = view(tmp_path / "view.html", gold=gold)
    truth = gold.label(result.page).main
    marks = [set(str(line.get("class")).split()) & {"right", "missed", "superfluous"} for line in blocks(page)]
    wanted = {(True, True): "right", (False, False): "right", (True, False): "missed", (False, True): "superfluous"}
    assert marks == [{wanted[pair]} for pair in zip(truth.tolist(), result.kept.tolist(), strict=True)]
    assert {"missed"} in marks
    assert {"superfluous"} in marks
    shown = re.findall(r"[\d.]+", words_of(page.find_class("scores")[0]).replace("F1", ""))
    words, counts = bag_scores(gold.content, result.text), block_scores(truth, result.kept)
    values = [words.precision, words.recall, words.f1, counts.precision, counts.recall, counts.f1]
    assert shown == [f"{value:.3f}" for value in values] + [str(counts.fn), str(counts.fp)]


def test_notes_of_the_extractor_are_shown(tmp_path: Path) -> None:
    """The extractor's notes are shown, one for each block; another number of notes raises an error."""
    result = blockml.extract("<p>one</p><p>two</p>", model=Plain())
    page = read_page(write_view(result, tmp_path / "view.html", explain=("rule 7: <b>long</b>", "")))
    assert [[words_of(note) for note in line.find_class("note")] for line in blocks(page)] == [
        ["rule 7: <b>long</b>"],
        [],
    ]
    assert words_of(page.findall(".//h1")[0]).startswith("A page")
    with pytest.raises(UsageError, match="2 blocks but 1 notes"):
        write_view(result, tmp_path / "other.html", explain=("one",))
    assert not (tmp_path / "other.html").exists()


@pytest.mark.parametrize("source", ["", "<title>nothing</title>", "<p>short"])
def test_pages_without_text_have_a_view(source: str, tmp_path: Path) -> None:
    """The view of a page without text gives its status."""
    result, page = view(tmp_path / "view.html", source, TextGold("gold"))
    assert result.text == ""
    assert str(result.status).replace("_", " ") in words_of(page)
    assert len(blocks(page)) == len(result.kept)


def test_a_page_cannot_break_out(tmp_path: Path) -> None:
    """Text, title, address and attributes of a hostile page remain text in the view."""
    escaped = markup.escape(HOSTILE)
    source = f"<title>{escaped}</title><p class='{escaped}'>{escaped} {STORY}</p><x<script>y</x<script>>"
    result = blockml.extract(source, model=Plain(), url=f"javascript:alert(4)//{HOSTILE}")
    notes = [HOSTILE] * len(result.kept)
    page = read_page(write_view(result, tmp_path / "view.html", explain=notes, gold=TextGold(HOSTILE)))
    text = " ".join(HOSTILE.split())
    assert text in words_of(page.findall(".//h1")[0])
    assert text in words_of(blocks(page)[0].find_class("text")[0])
    assert [words_of(note) for note in page.find_class("note")] == [text] * len(notes)


@given(st.text(max_size=300))
def test_any_text_is_shown_unchanged(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any text is shown unchanged, except for characters that HTML can't represent."""
    result = blockml.extract(f"<p>{markup.escape(text)}</p>", model=Plain())
    page = read_page(write_view(result, tmp_path_factory.mktemp("view") / "view.html"))
    shown = [words_of(line.find_class("text")[0]) for line in blocks(page)]
    assert shown == [" ".join(line.split()) for line in result.page.blocks.texts]


def labelled(folder: Path, page_id: str, gold: Gold | None, source: str = PAGE) -> LabelledPage:
    """Return a labelled page on disk."""
    path = folder / "source.html"
    path.write_text(source, encoding="utf-8")
    return LabelledPage(page_id, "news.example", path, gold, url="http://news.example/1", page_type="article")


def columns(page: html.HtmlElement) -> dict[str, list[str]]:
    """Return the cells of each column of the table, without the line of scores."""
    table = page.findall(".//table")[0]
    names = [words_of(head) for head in table.findall("./thead/tr/th")][1:]
    rows = [cells_of(row) for row in table.findall("./tbody/tr")]
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def test_systems_are_side_by_side(tmp_path: Path) -> None:
    """Systems are listed with the best first, next to gold; a text's decisions are the blocks that it contains."""
    gold = TextGold(f"Heading {STORY}")
    page = labelled(tmp_path, "p1", gold)
    right = np.array([False, True, True, False, False])
    systems: dict[str, list[int] | NDArray[np.bool_] | str] = {
        "all": [0, 1, 2, 3, 4],
        "right": right,
        "none": "",
        "text": f"Heading\n{STORY}\n{STORY} More.",
    }
    paths = write_page_views([PagePredictions("news", page, systems)], tmp_path / "out")
    assert paths == [tmp_path / "out" / "pages" / "news" / "p1.html"]
    read = read_page(paths[0])
    assert columns(read) == {
        "gold": ["", "·", "■", "■", "·", "·"],
        "right": ["1.00", "·", "■", "■", "·", "·"],
        "text": [".67", "·", "■", "■", "×", "·"],
        "all": [".65", "×", "■", "■", "×", "×"],
        "none": [".00", "·", "○", "○", "·", "·"],
    }
    assert "news, p1 (article)" in words_of(read)


def test_titles_have_their_own_direction(tmp_path: Path) -> None:
    """A right-to-left title with Latin words keeps its direction on an English page."""
    title = "حافلات كهربائية وبها أجهزة GPS.. صور"
    source = f"<title>{title}</title><p>{STORY}".encode()
    view = read_page(write_view(blockml.extract(source, model=Plain()), tmp_path / "view.html"))
    assert [words_of(found) for found in view.findall(".//bdi")] == [title, title]
    (tmp_path / "a.html").write_bytes(source)
    [path] = write_page_views([PagePredictions("news", LabelledPage("a", "a", tmp_path / "a.html"), {})], tmp_path)
    assert [words_of(found) for found in read_page(path).findall(".//bdi")] == [title]


def test_views_without_gold_show_decisions_only(tmp_path: Path) -> None:
    """Without gold the views show decisions but no mistakes."""
    page = labelled(tmp_path, "p1", None)
    paths = write_page_views([PagePredictions("news", page, {"a": "Home", "b": np.ones(5, dtype=bool)})], tmp_path)
    assert columns(read_page(paths[0])) == {"a": ["■", "·", "·", "·", "·"], "b": ["■"] * 5}


def test_hostile_names_stay_inside_the_folder(tmp_path: Path) -> None:
    """Names of data sets, pages and systems with any characters give paths inside the folder."""
    page = labelled(tmp_path, f"../../{HOSTILE}", TextGold(HOSTILE), f"<p>{markup.escape(HOSTILE)}</p>")
    [path] = write_page_views([PagePredictions("../..", page, {HOSTILE: HOSTILE})], tmp_path / "out")
    assert (tmp_path / "out" / "pages") in path.resolve().parents
    assert len(path.relative_to(tmp_path / "out").parts) == 3
    assert " ".join(HOSTILE.split()) in words_of(read_page(path))


def test_decisions_on_another_page_are_refused(tmp_path: Path) -> None:
    """Decisions for another number of blocks are refused with the system's name and both numbers."""
    page = labelled(tmp_path, "p1", None)
    with pytest.raises(UsageError, match="odd has predictions for 2 blocks, but the page has 5"):
        write_page_views([PagePredictions("news", page, {"odd": np.ones(2, dtype=bool)})], tmp_path)


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)


@given(names, names, names)
def test_view_names_are_safe_and_unique(dataset: str, a: str, b: str) -> None:
    """A view's name has three parts that any file system accepts and no link must quote, and is unique."""
    name = view_name(dataset, a)
    assert re.fullmatch(r"pages/[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*\.html", name)
    assert max(map(len, name.split("/"))) < 100
    assert (view_name(dataset, b) == name) == (a == b)


def test_command_writes_a_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes a view of a page, with a gold text and a threshold if given."""
    page, gold, out = tmp_path / "page.html", tmp_path / "gold.txt", tmp_path / "deep" / "view.html"
    page.write_text(PAGE, encoding="utf-8")
    gold.write_text(f"\ufeffHeading {STORY}", encoding="utf-8")
    options = ["--model", "plain", "--threshold", "0.75", "--gold", str(gold), "--url", "http://x.example/"]
    assert main(["view", str(page), "-o", str(out), *options]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"wrote {out}: 5 of 5 blocks kept\n"
    read = read_page(out)
    assert "0.750" in words_of(read)
    assert "http://x.example/" in words_of(read)
    assert len(read.find_class("superfluous")) == 3 + 1  # blocks, and the group of the profile


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["none.html", "-o", "view.html"], 3, "none.html: No such file"),
        (["PAGE", "-o", "view.html", "--gold", "none.txt"], 3, "none.txt: No such file"),
        (["PAGE", "-o", "view.html", "--gold", "PAGE-16.txt"], 3, "page.html-16.txt: not UTF-8"),
        (["PAGE", "-o", "view.html", "--curve", "PAGE.svg"], 2, "blockml: default "),
        (["PAGE", "-o", "PAGE/view.html"], 2, "can't be written"),
        (["PAGE", "-o", "view.html", "--model", "plain", "--set", "width=3"], 2, "unknown parameter 'width'"),
        (["PAGE", "-o", "view.html", "--model", "none"], 2, "unknown extractor or model 'none'"),
    ],
)
def test_command_says_what_is_wrong(
    arguments: list[str], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong arguments give the usual exit codes and a message that names the mistake."""
    page = tmp_path / "page.html"
    page.write_text(PAGE, encoding="utf-8")
    Path(f"{page}-16.txt").write_text("A text.", encoding="utf-16")
    filled = [argument.replace("PAGE", str(page)).replace("view.html", str(tmp_path / "view.html"), 1)
              if not argument.startswith("PAGE/") else f"{page}/view.html" for argument in arguments]  # fmt: skip
    assert main(["view", *filled]) == code
    assert words in capsys.readouterr().err
    assert not (tmp_path / "view.html").exists()


def test_remarks_about_the_page_are_shown(tmp_path: Path) -> None:
    """Remarks of the extraction, such as that scripts have the content, are among the warnings of a view."""
    data = '{"body": "' + "Cats rule the world. " * 20 + '"}'
    result = blockml.extract(f"<p>Loading<script id=__NEXT_DATA__>{data}</script>")
    page = write_view(result, tmp_path / "view.html").read_text(encoding="utf-8")
    assert "the content is in scripts (__NEXT_DATA__)" in page
