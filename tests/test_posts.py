"""Posts of threads: found by names and types of elements, with the author, date and body of each."""

import gc
import json
import tracemalloc
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml import posts
from blockml.posts import find_posts
from tests.reported import reported

SENTENCE = "The gauge sends zeros after midnight, and nobody knows why it does so on some days. "
#: A thread as forum software writes it: the markup of a post, with places for a number, author, date and text.
SOFTWARE = {
    "phpbb": (
        '<div id="p{n}" class="post bg1"><dl class="postprofile"><dt><a class="username">{author}</a></dt>'
        "<dd>Posts: 211</dd></dl><div class=postbody><p class=author>by <a class=username>{author}</a> » "
        "{date}</p><div class=content>{text}</div><div class=signature>Never trust a gauge.</div></div></div>"
    ),
    "xenforo": (
        '<article class="message message--post" data-author="{author}" id="js-post-{n}"><section class="message-user">'
        '<h4 class="message-name">{author}</h4><h5>Senior Member</h5></section><header><time datetime="{date}">{date}'
        '</time></header><article class="message-body">{text}</article><footer>Like Reply</footer></article>'
    ),
    "vbulletin": (
        '<li class="postbitlegacy postcontainer" id="post_{n}"><span class="date">{date}</span>'
        '<a class="username" href="/members/{n}">{author}</a><ul><li>Join Date 2004</li></ul>'
        '<blockquote class="postcontent">{text}</blockquote><a href="#">Reply With Quote</a></li>'
    ),
    "schema": (
        '<div itemprop="comment" itemtype="https://schema.org/Comment"><span itemprop="author">{author}</span>'
        ' <meta itemprop="datePublished" content="{date}"><div itemprop="text">{text}</div><a>Report</a></div>'
    ),
}
DATES, AUTHORS = ("2026-01-02", "2026-01-03", "2026-01-04"), ("Ann Lee", "bobray", "Ann Lee")


def thread(software: str, text: str = f"<p>{SENTENCE * 2}</p><p>{SENTENCE}</p>") -> bytes:
    """Return a page with three posts."""
    posts = [
        SOFTWARE[software].format(n=n, author=author, date=date, text=text.format(n=n))
        for n, (author, date) in enumerate(zip(AUTHORS, DATES, strict=True), start=1)
    ]
    around = ("<ol>", "</ol>") if software == "vbulletin" else ("<div>", "</div>")
    return f"<title>Zeros</title><h1>Zeros after midnight</h1>{around[0]}{''.join(posts)}{around[1]}".encode()


@pytest.mark.parametrize("software", SOFTWARE)
def test_posts_have_author_date_and_body(software: str) -> None:
    """Profiles, buttons and signatures are not part of the body."""
    page = blockml.parse(thread(software))
    posts = find_posts(page)
    assert tuple(post.author for post in posts) == AUTHORS
    assert tuple(post.date for post in posts) == DATES
    for post in posts:
        assert "".join(page.blocks.texts[row] for row in post.body) == (SENTENCE * 2).strip() + SENTENCE.strip()
        assert any(str(post.author) in page.blocks.texts[row] for row in post.header)


@pytest.mark.parametrize("software", SOFTWARE)
def test_a_kept_thread_has_all_of_its_posts(software: str) -> None:
    """Each post is kept below its author, without what is beside it, and posts in a list are not items."""
    result = blockml.extract(thread(software))
    assert [post.author for post in result.posts] == list(AUTHORS)
    assert [post.text for post in result.posts] == [f"{SENTENCE * 2}".strip() + "\n" + SENTENCE.strip()] * 3
    for post in result.posts:
        assert str(post.author) in result.text[post.start : post.end]
    assert not {"Senior Member", "Never trust a gauge.", "Reply With Quote", "Like Reply", "Report"} & {
        line.strip() for line in result.text.splitlines()
    }
    assert not any(line.startswith(("1. ", "- ", "> ")) for line in result.markdown.splitlines())


def test_a_reply_inside_of_a_post() -> None:
    """A nested reply is kept, below its author and date, and answers the post around it."""
    html, _ = reported("212")
    result = blockml.extract(html)
    assert [(post.author, post.date, post.answers) for post in result.posts] == [
        ("annlee", "2026-01-02T10:00:00", None),
        ("bobray", "2026-01-02T11:00:00", None),
        ("annlee", "2026-01-03T09:00:00", 1),
    ]
    for post, day in zip(result.posts, (2, 2, 3), strict=True):
        assert f"**{post.author}**\n\nJan {day}, 2026\n\n{post.text}" in result.markdown
    records = json.loads(blockml.render(result, "json", chunk_size=200))
    assert [record["text"] for record in records["posts"]] == [post.text for post in result.posts]
    assert {post["number"] for chunk in records["chunks"] for post in chunk["posts"]} == {0, 1, 2}


def test_quotations_name_the_post_that_is_answered() -> None:
    """By the address of the post, or by its author."""
    text = "<div class=quote><a href='#js-post-1'>Ann Lee said:</a> Zeros.</div><p>{n} " + SENTENCE + "</p>"
    assert [post.answers for post in find_posts(blockml.parse(thread("xenforo", text)))] == [None, 0, 0]
    text = "<div class=quote>bobray wrote:<p>Zeros.</div><p>{n} " + SENTENCE + "</p>"
    assert [post.answers for post in find_posts(blockml.parse(thread("phpbb", text)))] == [None, None, 1]


def test_comments_below_an_article_are_posts_only_if_they_are_kept() -> None:
    """Comments that are asked for have authors and dates too."""
    comments = "".join(
        f'<li class="comment" id="comment-{n}"><cite class="comment-author">Ann</cite> <time>2026-01-0{n}</time>'
        f'<div class="comment-body"><p>I like mills, and the {n} sails of ours turn in the wind all day.</p></div></li>'
        for n in range(1, 4)
    )
    html = f"<h1>Mills</h1><article><p>{SENTENCE * 9}</p><p>{SENTENCE * 9}</p></article><ol id=comments>{comments}</ol>"
    assert not blockml.extract(html).posts
    kept = blockml.extract(html, include="comment").posts
    assert [post.date for post in kept] == ["2026-01-01", "2026-01-02", "2026-01-03"]


TAGS = st.sampled_from(
    ['<div class="post">', '<li class="comment" id="comment-1">', "<b class=author>Ann</b>", "<time>2026-01-02</time>",
     "<div class=content>", "<blockquote class=quote>", "</div>", "</li>", "</blockquote>", "<p>Some words here.</p>",
     '<div itemtype="https://schema.org/Question">', '<div itemprop="text">', "<a href='#comment-1'>Ann wrote:</a>"]
)  # fmt: skip


@given(st.lists(TAGS, max_size=40))
def test_any_markup_of_posts(tags: list[str]) -> None:
    """Blocks belong to one post at most, and a post answers an earlier one."""
    page = blockml.parse("".join(tags))
    posts = find_posts(page)
    rows = [row for post in posts for row in post.blocks]
    assert len(rows) == len(set(rows))
    for number, post in enumerate(posts):
        assert {*post.header, *post.body} <= {*post.blocks}
        assert not {*post.header} & {*post.body}
        assert post.answers is None or 0 <= post.answers < number
        assert post.author or post.date


def test_posts_without_text() -> None:
    """A page without blocks has no posts, whatever its attributes name."""
    html = '<div class="post"><b data-author="Ann"></b></div>' * 2
    assert find_posts(blockml.parse(html)) == ()
    assert blockml.extract(html).posts == ()


def test_chunks_end_before_posts() -> None:
    """A post is like a section: it has its own chunk unless it is small, and a long one is split."""
    result = blockml.extract(thread("phpbb"))
    chunks = result.chunks(400, "markdown")
    assert [[post.number for post in chunk.posts] for chunk in chunks] == [[0], [1], [2]]
    assert all(chunk.text.startswith("by ") for chunk in chunks)
    assert [chunk.posts for chunk in result.chunks(4000)] == [result.posts]
    split = [chunk.posts[0].number for chunk in result.chunks(150)]
    assert split == sorted(split)
    assert len(split) > 3


def test_a_page_of_posts_is_a_forum() -> None:
    """Whatever it declares, because many forums declare articles; an article with comments stays one."""
    declared = b'<meta property="og:type" content="article">'
    assert blockml.extract(declared + thread("xenforo")).page_type == "forum"
    article = declared + f"<article><h1>Mills</h1><p>{SENTENCE * 20}</p></article>".encode()
    assert blockml.extract(article).page_type == "article"


def test_lists_of_articles_are_not_threads() -> None:
    """Posts with linked titles of their own are teasers; answers repeat the title of the thread."""
    post = (
        "<div class=post><h2><a href=/{0}>{1}</a></h2><b class=author>Ann</b> <time>2026-01-0{0}</time><p>Flour.</div>"
    )
    teasers = "".join(post.format(number, f"Rye of year {number}") for number in (1, 2, 3))
    answers = "".join(post.format(number, "Re: Rye") for number in (1, 2, 3))
    assert find_posts(blockml.parse(teasers)) == ()
    assert len(find_posts(blockml.parse(answers))) == 3


def test_posts_of_old_forums_are_found_by_their_bodies() -> None:
    """Rows of a table that have no name are posts if each has one body, and a date of joining is not that of a post."""
    row = (
        "<tr><td><b class=postauthor>{author}</b><br><span class=postdetails>Joined: Jun 1, 2004</span></td>"
        "<td><span class=postdetails>Posted: {date}</span><hr><span class=postbody>{text}</span></td></tr>"
    )
    rows = "".join(
        row.format(author=author, date=date, text=SENTENCE * 3) for author, date in zip(AUTHORS, DATES, strict=True)
    )
    page = blockml.parse(f"<table>{rows}</table>")
    assert [(post.author, post.date) for post in find_posts(page)] == list(zip(AUTHORS, DATES, strict=True))
    markdown = blockml.extract(f"<h1>Zeros</h1><table>{rows}</table>", model="plain").markdown
    assert markdown.count(SENTENCE.strip()) == 9


def test_posts_in_a_table_are_not_a_table() -> None:
    """Tables around the bodies of posts are layout, whatever their rows look like."""
    post = (
        '<table class=post id="post{n}"><tr><td><b class=author>{author}</b></td><td class=postbody>{text}'
        "</td></tr><tr><td class=postdate>{date}</td><td>Profile Quote</td></tr></table>"
    )
    page = "".join(
        post.format(n=n, author=author, date=date, text=SENTENCE * 4)
        for n, (author, date) in enumerate(zip(AUTHORS, DATES, strict=True))
    )
    result = blockml.extract(f"<h1>Zeros after midnight</h1>{page}")
    assert len(result.posts) == 3
    assert not result.tables


def test_posts_in_many_elements_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Posts move up through hundreds of elements around them, and what they have is counted once."""
    counted = list[int]()

    class Counting(Counter[str]):
        def update(self, kinds: Any = None, /) -> None:  # type: ignore[override]
            found = list(kinds or ())
            counted.append(len(found))
            super().update(kinds)

    monkeypatch.setattr(posts, "Counter", Counting)
    post = "<div class=post><b class=author>{}</b> <time>2026-01-02</time><p>It is a flour of rye.</div>"
    around = "<div itemscope itemtype='http://schema.org/Question'>" * 100
    page = blockml.parse(around + "".join(map(post.format, ["Ann", "Bo", "Cy"] * 30)))
    assert [found.author for found in find_posts(page)] == ["Ann", "Bo", "Cy"] * 30
    assert 0 < sum(counted) < 1000


def test_long_classes_are_not_kept() -> None:
    """What classes say is kept for other pages, so long ones of many pages must not fill the memory."""
    post = (
        "<div class='post {0}'><b class='author {0}'>Ann</b> <time>2026-01-02</time><p class='text {0}'>Rye.</p></div>"
    )

    def read(number: int) -> int:
        return len(find_posts(blockml.parse(post.format(f"{number}-{'x' * 50_000}") * 2)))

    assert read(0) == 2
    gc.collect()
    tracemalloc.start()
    try:
        assert all(read(number) == 2 for number in range(1, 21))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 500_000  # of 3 million characters
