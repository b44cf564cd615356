"""Chunks of documents: sizes, boundaries, headings, places and overlap."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import blockml
from blockml.batch import BatchExtractor, Item, Options, predict_items
from blockml.errors import UnknownNameError, UsageError
from blockml.extractors import resolve
from blockml.page import Extraction

DATA = sorted((Path(__file__).parents[2] / "data" / "pages").glob("*/page.html"))
WORDS = "The cat sat on the mat. It looked at the rain. It fell for an hour. "


#: Blocks that are much larger than a chunk, made of about ``n`` characters.
LARGE = {
    "a word": lambda n: f"<p>{'a' * n}",
    "words": lambda n: f"<p>{'ab c ' * (n // 5)}",
    "sentences in a link": lambda n: f"<p><a href=/b>{'The cat sat. ' * (n // 13)}</a>",
    "sentences in a link with a long address": lambda n: f"<p><a href=/{'b' * n}>{'The cat sat. ' * (n // 13)}</a>",
    "nested marks": lambda n: f"<p><b><i><del>{'The cat sat. ' * (n // 13)}</del></i></b>",
    "line breaks": lambda n: f"<p>{'ab<br>' * (n // 4)}",
    "a heading": lambda n: f"<h1>{'The cat sat. ' * (n // 13)}</h1><p>a",
    "headings without text": lambda n: f"<h1>a</h1>{'<h2>ab</h2>' * (n // 6)}",
    "empty lines": lambda n: f"<pre>a\n\n{chr(10) * n}b</pre>",
    "a line of code": lambda n: f"<pre>{'a' * n}</pre>",
    "lines of code in items": lambda n: f"<ul><li><ul><li><pre>{('ab c' + chr(10)) * (n // 5)}b</pre></ul></ul>",
    "items": lambda n: f"<ul>{'<li>ab cd' * (n // 6)}</ul>",
    "paragraphs in quotations": lambda n: f"{'<blockquote>' * 12}{'<p>The cat' * (n // 8)}",
    "terms": lambda n: f"<dl>{'<dt>ab<dd>cd' * (n // 4)}",
    "a term": lambda n: f"<dl><dt>{'The cat sat. ' * (n // 13)}<dd>a",
    "a description": lambda n: f"<dl><dt>a<dd>{'The cat sat. ' * (n // 13)}",
    "a note": lambda n: f"<p>a<a href=#b>1</a><ol><li id=b>{'The cat sat. ' * (n // 13)}</ol>",
    "a caption": lambda n: f"<figure><img src=a.jpg><figcaption>{'The cat sat. ' * (n // 13)}</figcaption></figure>",
    "a caption of a table": lambda n: f"<table><caption>{'The cat. ' * (n // 9)}<tr><td>a<td>b<tr><td>c<td>d</table>",
    "a cell": lambda n: f"<table><tr><td>a<td>b<tr><td>c<td>{'The cat sat. ' * (n // 13)}</table>",
    "rows": lambda n: f"<table><tr><th>a<th>b{'<tr><td>ab<td>cd' * (n // 6)}</table>",
    "a row": lambda n: f"<table><tr><td>a<td>b<tr>{'<td>ab' * (n // 3)}</table>",
    "formulas": lambda n: f"<p>{chr(92)}(x{chr(92)}) {f'a {chr(92)}(x{chr(92)}) ' * (n // 8)}",
    "pictures": lambda n: f"<p>a{'<img src=b.jpg alt=c>' * (n // 8)}",
}


def extracted(html: str) -> Extraction:
    """Extract a page with all of its blocks."""
    return blockml.extract(html, model="plain")


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("size", [60, 500])
def test_chunks_contain_the_text(path: Path, size: int) -> None:
    """Chunks of text are at most as long as requested, are slices of the text, and have all of its letters in order."""
    result = blockml.extract(path)
    chunks = result.chunks(size)
    assert all(len(chunk.text) <= size and chunk.text == result.text[chunk.start : chunk.end] for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(result.text.split())


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.parent.name)
def test_chunks_of_markdown_have_the_words_and_places(path: Path) -> None:
    """Chunks of Markdown have the words of the whole, and each word of a chunk is at its place in the text."""
    result = blockml.extract(path)
    whole = blockml.render(result, "markdown", with_title=False)
    chunks = result.chunks(400, "markdown")
    words = re.findall(r"\w+", whole)
    found = [word for chunk in chunks for word in re.findall(r"\w+", chunk.text)]
    assert set(words) == set(found)
    for chunk in chunks:
        if not re.search(r"[\[|`$]", chunk.text):
            own = set(re.findall(r"\w+", re.sub(r"^\d+\. ", "", chunk.text, flags=re.MULTILINE)))
            assert own <= set(re.findall(r"\w+", result.text[chunk.start : chunk.end]))


def test_chunks_end_before_headings() -> None:
    """A chunk has one section, or lower ones that fit, or small neighbours below one heading."""
    html = f"<h1>A</h1><p>{WORDS}<h2>B</h2><p>{WORDS * 2}<h3>C</h3><p>c<h2>D</h2><p>d<h2>E</h2><p>e<h1>F</h1><p>f"
    chunks = extracted(html).chunks(160, "markdown")
    assert [(chunk.headings, re.findall("# (.)", chunk.text)) for chunk in chunks] == [
        ((), ["A"]),
        (("A",), ["B", "C"]),
        (("A",), ["D", "E"]),
        ((), ["F"]),
    ]


def test_a_heading_ends_no_chunk() -> None:
    """A heading is in the chunk of the text below it, also if that is cut."""
    chunks = extracted(f"<p>{WORDS}<h2>Cats</h2><p>{WORDS * 3}").chunks(100)
    assert chunks[1].text == f"Cats\n{WORDS}The cat sat on the mat."
    assert [chunk.headings for chunk in chunks] == [(), (), *[("Cats",)] * (len(chunks) - 2)]


@pytest.mark.parametrize("length", [20, 32, 40, 45])
@pytest.mark.parametrize("kind", ["text", "markdown"])
def test_a_line_that_announces_a_cut_paragraph_ends_no_chunk(length: int, kind: str) -> None:
    """The room that its first part leaves for the line above it is used for that, up to half of a chunk."""
    line = "a" * length + ":"
    chunks = extracted(f"<h1>A</h1><p>{'ab ' * 12}<p>{line}<p>{WORDS * 12}").chunks(100, kind)
    (chunk,) = [chunk.text for chunk in chunks if line in chunk.text]
    assert "The cat sat" in chunk.partition(line)[2]


def test_parts_of_tables_repeat_the_header() -> None:
    """Rows stay whole, and a short header is above each part in Markdown and HTML, but not in text."""
    rows = "".join(f"<tr><td>{n}<td>value {n}" for n in range(40))
    result = extracted(f"<table><tr><th>a<th>b{rows}</table>")
    for kind, header, row in (
        ("markdown", "| a | b |\n| --- | --- |\n", r"^\| \d+ \| value \d+ \|$"),
        ("html", "<th>a</th>", ""),
    ):
        chunks = result.chunks(300, kind)
        assert len(chunks) > 2
        assert all(header in chunk.text and len(chunk.text) <= 300 for chunk in chunks)
        assert sum(len(re.findall(row, chunk.text, re.MULTILINE)) for chunk in chunks if row) in (0, 40)
    assert sum(chunk.text.count("a\tb") for chunk in result.chunks(300)) == 1


def test_parts_of_listings_have_fences() -> None:
    """Lines of code stay whole between fences with the language, and their place is in the text."""
    lines = [f"line_{n} = {n}" for n in range(30)]
    result = extracted(f"<pre><code class=language-py>{chr(10).join(lines)}</code></pre>")
    chunks = result.chunks(100, "markdown")
    assert all(chunk.text.startswith("```py\n") and chunk.text.endswith("\n```") for chunk in chunks)
    assert [line for chunk in chunks for line in chunk.text.split("\n")[1:-1]] == lines
    assert [line for chunk in chunks for line in result.text[chunk.start : chunk.end].split("\n")] == lines


def test_items_stay_whole_and_keep_their_numbers() -> None:
    """Items stay whole where they fit, and a longer one is cut after a sentence."""
    html = f"<ol start=7><li>one item<li>two items<li>{WORDS}<li>four</ol>"
    chunks = extracted(html).chunks(40, "markdown")
    assert [chunk.text for chunk in chunks] == [
        "7. one item\n8. two items",
        "9. The cat sat on the mat.",
        "9. It looked at the rain.",
        "9. It fell for an hour.\n10. four",
    ]


def test_long_words_and_marks_are_cut() -> None:
    """A word without an end of a sentence is cut, and so is the text of a link, which stays one."""
    chunks = extracted(f"<p>{'a' * 100}<p><a href=/b>{WORDS * 3}</a>").chunks(50, "markdown")
    assert "".join(chunk.text for chunk in chunks[:2]) == "a" * 100
    assert all(chunk.text.endswith("](/b)") and len(chunk.text) <= 50 for chunk in chunks[2:])


def test_sizes_are_what_a_function_counts() -> None:
    """Sizes may be numbers of words."""
    chunks = extracted(f"<p>{WORDS * 10}").chunks(20, length=lambda text: len(text.split()))
    assert max(len(chunk.text.split()) for chunk in chunks) in range(12, 21)


def test_overlap() -> None:
    """A chunk repeats whole sentences or items of the one before it in the same section."""
    chunks = extracted(f"<h2>A</h2><p>{WORDS * 3}<h2>B</h2><p>{WORDS}").chunks(100, overlap=30)
    for before, after in itertools.pairwise(chunks[:-1]):
        last = re.split(r"(?<=\.)\s", before.text)[-1]
        assert after.text.startswith(last)
        assert after.start < before.end
    assert chunks[-1].text.startswith("B\n")
    result = extracted("<ul>" + "".join(f"<li>item number {n}" for n in range(9)) + "</ul>")
    texts = [chunk.text for chunk in result.chunks(60, "markdown", overlap=20)]
    assert all(after.startswith(before.split("\n")[-1]) for before, after in itertools.pairwise(texts))


def test_wrong_arguments_are_errors() -> None:
    """Sizes, overlaps and formats that make no sense are refused."""
    result = extracted("<p>a")
    for arguments, message in (
        ((0,), "size must be at least 1"),
        ((9, "text", 5), "overlap must be between 0 and half"),
    ):
        with pytest.raises(UsageError, match=message):
            result.chunks(*arguments[:2], overlap=(*arguments, 0, 0)[2])
    with pytest.raises(UnknownNameError, match="markdown"):
        result.chunks(9, "json")
    for length in ("words", lambda _: "one"):
        with pytest.raises(UsageError, match="length must be a function that takes a text and returns an integer"):
            result.chunks(9, length=length)  # type: ignore[arg-type]
    for options, message in (
        ({"fields": ("id", "number")}, "only records of chunks"),
        ({"chunks": 9, "deduplicate": True}, "can't be combined"),
        ({"chunks": 9, "format": "tei"}, "chunks must have one of the formats"),
        ({"chunks": 0}, "chunks must be at least 1"),
    ):
        with pytest.raises(UsageError, match=message):
            Options(**options)
    with pytest.raises(UsageError, match="keep and chunks"):
        BatchExtractor(options=Options(chunks=9), keep=("id",))


def test_batches_of_chunks() -> None:
    """A batch has a record for each chunk, and pages that fail have none."""
    html = f"<title>T</title><h1>A</h1><p>{WORDS}<h2>B</h2><p>{WORDS}".encode()
    items = [Item("x", html=html), Item("y", html=b""), Item("z", html=html)]
    options = Options(
        chunks=100, format="markdown", fields=("id", "number", "text", "headings", "title", "start", "end")
    )
    records = list(predict_items(items, resolve("plain"), options, isolation="none"))
    assert [(record["id"], record["number"], record["headings"]) for record in records] == [
        ("x", 0, []), ("x", 1, ["A"]), ("z", 0, []), ("z", 1, ["A"]),
    ]  # fmt: skip
    assert records[1]["text"].startswith("## B\n\nThe cat")
    assert records[1]["title"] == "A"
    pyarrow = pytest.importorskip("pyarrow")
    table = BatchExtractor("plain", options=Options(chunks=100))(pyarrow.table({"html": [html, html]}))
    assert (table.num_rows, table.column_names) == (4, ["id", "number", "headings", "text", "start", "end"])


def test_chunks_are_bounded() -> None:
    """Tiny chunks of long tables and deep headings stay below the bound on outputs."""
    header = "".join(f"<th>{'h' * 20}{n}" for n in range(20))
    html = f"<h1>{'t' * 400}</h1><table><tr>{header}{'<tr><td>1' * 2000}</table>"
    for kind in ("markdown", "html"):
        chunks = extracted(html).chunks(3000, kind)
        assert sum(len(chunk.text) + sum(map(len, chunk.headings)) for chunk in chunks) <= 8 * len(html) + 65_536


@pytest.mark.parametrize(
    "html", ["<pre>supercalifragilistic<td>word two", "<h2><pre>x  y\n z</pre></h2>", f"<h2><pre>a{' ' * 40}b c</h2>"]
)
@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_white_space_of_the_text_counts(html: str, size: int) -> None:
    """Listings that the text has with more white space than the document are cut by what the text has."""
    result = extracted(html)
    chunks = result.chunks(size)
    assert all(len(chunk.text) <= size for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(result.text.split())


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>word two<tr><td>word two</table>",
        "<p>three four five x  y z",
        "<p>The cat sat. It ate. It slept.",
    ],
)
@pytest.mark.parametrize(("size", "overlap"), [(6, 3), (10, 5), (14, 7), (20, 10), (27, 13)])
def test_what_is_repeated_fits(html: str, size: int, overlap: int) -> None:
    """A chunk with what it repeats, and what is between, has at most the size; else it repeats nothing."""
    assert all(len(chunk.text) <= size for chunk in extracted(html).chunks(size, overlap=overlap))


def test_sentences_are_repeated() -> None:
    """A chunk repeats the last sentence of the chunk before it."""
    sentences = extracted("<p>The cat sat. It ate. It slept. It ran.").chunks(27, overlap=13)
    assert [chunk.text for chunk in sentences] == [
        "The cat sat.", "The cat sat. It ate.", "It ate. It slept.", "It slept. It ran.",
    ]  # fmt: skip


@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("size", [30, 200])
def test_parts_of_large_blocks_are_slices_of_the_text(shape: str, size: int) -> None:
    """Blocks larger than a chunk are split into slices of the text of at most the size, without loss or repetition."""
    result = extracted(LARGE[shape](3000))
    chunks = result.chunks(size)
    assert all(len(chunk.text) <= size and chunk.text == result.text[chunk.start : chunk.end] for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(result.text.split())
    assert sum(len(chunk.text) > size // 3 for chunk in chunks[:-1]) >= len(chunks[:-1]) - 2


@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("kind", ["text", "markdown", "html"])
def test_splitting_writes_in_proportion_to_the_page(shape: str, kind: str) -> None:
    """What is written to find the parts, and the blocks of the page that chunks name, grow as the page does."""
    work = []
    for n in (4000, 16_000):
        result = extracted(LARGE[shape](n))
        measured = []

        def length(text: str) -> int:
            measured.append(len(text))  # noqa: B023 (called before the next turn)
            return len(text)

        chunks = result.chunks(100, kind, length=length)
        counts = (sum(measured), len(measured), sum(len(chunk.blocks) for chunk in chunks))
        work.append(counts)
        assert counts[1] <= 12 * n
        assert counts[2] <= len(result.page.blocks) + 2 * len(chunks)
    for smaller, larger in zip(*work, strict=True):
        assert larger <= 6 * smaller + 1000  # a square would be 16


def test_parts_of_a_link_are_one_link() -> None:
    """Sentences of a link that are in one chunk are in one link, and so is marked text."""
    result = extracted(f"<p>See <a href=/b><b>{WORDS * 4}</b></a> now.")
    chunks = result.chunks(130, "markdown")
    assert [chunk.text.count("](/b)") for chunk in chunks] == [1] * len(chunks)
    assert chunks[0].text == f"See [**{WORDS}The cat sat on the mat. It looked at the rain.**](/b)"


def test_chunks_name_the_blocks_of_their_text_only() -> None:
    """A chunk of a long paragraph or table names its own blocks of the page, not all those of the paragraph."""
    result = extracted("<p>" + "".join(f"<b>word {n}</b> and " for n in range(40)))
    for kind in ("text", "markdown"):
        chunks = result.chunks(60, kind)
        for chunk in chunks:
            own = "".join("".join(result.page.blocks.texts[row] for row in chunk.blocks).split())
            assert "".join(result.text[chunk.start : chunk.end].split()) in own
        assert sum(len(chunk.blocks) for chunk in chunks) <= len(result.page.blocks) + len(chunks)


def test_text_is_not_repeated_around_blocks_in_another_order() -> None:
    """A chunk of text is one slice of it, also if the document has its blocks in another order."""
    result = extracted("<table><tr><td>a<td>b" + "<tr><td>ab<td>cd" * 3000 + "</table>")
    chunks = result.chunks(200)
    assert max(len(chunk.text) for chunk in chunks) <= 200
    assert sum(len(chunk.text) for chunk in chunks) <= len(result.text)


@pytest.mark.parametrize("lead_in", ["You need these:", "Tools and materials", "**You need:**"])
@pytest.mark.parametrize("n_items", [4, 40])
def test_a_line_that_announces_a_list_is_in_its_chunk(lead_in: str, n_items: int) -> None:
    """A line that ends in a colon goes on with the list, table or code below it, and the label of a short list too."""
    text, item = "This is a sentence of the text above. " * 7, "<li>An item of seven words in all"
    line = f"<b>{lead_in.strip('*')}</b>" if lead_in.startswith("*") else lead_in
    result = blockml.extract(f"<p>{text}</p><p>{line}</p><ul>{item * n_items}</ul>", model="plain")
    (chunk,) = [chunk for chunk in result.chunks(400, "markdown") if lead_in in chunk.text]
    assert "- An item" in chunk.text or (n_items == 40 and ":" not in lead_in)
    assert all(len(chunk.text) <= 400 for chunk in result.chunks(400, "markdown"))


def test_a_listing_in_a_heading_is_in_its_chunk() -> None:
    """Code of several lines in a heading has its place in the text, so that no chunk leaves it out."""
    result = extracted("<h3>The cat sat on the mat. <pre><code>x\n\ny z</code></pre></h3><p>b")
    assert [chunk.text for chunk in result.chunks(12)] == ["The cat sat", "on the mat.", "x\n\ny z\nb"]
    assert (result.document.children[0].first, result.document.children[0].last) == (0, 1)


@pytest.mark.parametrize("label", ["Run this:", "Warning"])
@pytest.mark.parametrize(
    "around", ["{}", "<ol><li>{}</li><li>Next step is here.</li></ol>", "<blockquote>{}</blockquote>"]
)
@pytest.mark.parametrize("n_lines", [1, 4, 16, 40])
def test_no_chunk_ends_with_what_announces_the_next_one(label: str, around: str, n_lines: int) -> None:
    """A line that announces code and a label such as "Warning" are in the chunk of what follows, also in an item."""
    code = f"<p>{label}</p><pre>{('run one step' + chr(10)) * n_lines}</pre>"
    for n_before in range(20, 320, 50):
        text = ("The mill above the weir was rebuilt. " * 9)[:n_before]
        result = extracted(f"<h1>Mills</h1><p>{text}</p>{around.format(code)}<p>After that, all is well.")
        for form in ("text", "markdown"):
            chunks = result.chunks(300, format=form)
            assert all(len(chunk.text) <= 300 for chunk in chunks)
            assert not any(chunk.text.rstrip().endswith(label) for chunk in chunks)


def test_a_heading_without_text_is_with_the_section_below_it() -> None:
    """It is not the end of the chunk before, but for one that is the end of the page."""
    text = f"<p>{WORDS * 3}"
    result = extracted(f"<h1>All</h1>{text}<h2>One</h2>{text}<h2>Two</h2><h2>Three</h2>{text}<h2>Four</h2>")
    chunks = [chunk.text for chunk in result.chunks(300, format="markdown")]
    assert [text for text in chunks if text.endswith("## Two")] == []
    assert any("## Two\n\n## Three" in text for text in chunks)


def test_a_last_heading_goes_with_the_text_before_it() -> None:
    """A heading without text below it is not a chunk by itself if the chunk before it has room."""
    html = f"<h2>Cats</h2><p>{'They purr. ' * 12}</p><h2>See also</h2>"
    for output in ("text", "markdown"):
        found = blockml.extract(html, model="plain").chunks(200, output)
        assert [chunk.text.split("\n")[-1].lstrip("# ") for chunk in found] == ["See also"]
    assert len(blockml.extract(html, model="plain").chunks(140, "markdown")) == 2  # no room


@pytest.mark.parametrize("picture", ["<img src=/{}.jpg alt='Cat {}'>", "<a href=/{}><img src=/{}.jpg></a>"])
def test_a_run_of_pictures_is_split(picture: str) -> None:
    """Pictures of one paragraph are in several chunks, each picture whole and once."""
    pictures = " ".join(picture.format(number, number) for number in range(12))
    html = f"<p>Before.<p>{pictures}<p>After."
    found = blockml.extract(html, url="https://a.example/", model="plain").chunks(120, "markdown")
    assert len(found) > 2
    assert max(len(chunk.text) for chunk in found) <= 120
    whole = " ".join(chunk.text for chunk in found)
    assert [whole.count(f"/{number}.jpg") for number in range(12)] == [1] * 12


def test_rows_of_a_chunk_keep_their_columns() -> None:
    """A cell that extends into rows of the next chunks is an empty cell there."""
    rows = "".join(
        f"<tr>{'<td rowspan=9>West' if not i else ''}<td>Port {i} of the coast<td>{1000 + i}" for i in range(9)
    )
    html = f"<table><tr><th>Region<th>Port<th>Ships{rows}<tr><td>East<td>Port 9 of the coast<td>1009</table>"
    chunks = blockml.extract(html, model="plain").chunks(220, "markdown")
    lines = [line for chunk in chunks for line in chunk.text.splitlines() if "Port " in line and "coast" in line]
    assert len(chunks) > 2
    assert lines == [
        f"| {'West' if not i else 'East' if i == 9 else ''} | Port {i} of the coast | {1000 + i} |" for i in range(10)
    ]
