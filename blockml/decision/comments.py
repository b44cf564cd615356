"""Readers' comments and posts of threads: which are removed, and what is added to a thread."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockml.decision.lines import any_in
from blockml.decision.prediction import Draft
from blockml.features.page_matrix import PageMatrix
from blockml.features.structure import FAR
from blockml.outline import UnitKind
from blockml.page import Blocks, Flag, Label, Page, Reason
from blockml.page.element_names import COMMENTS, OF_POSTS, blocks_in
from blockml.text.words import counted, lazy_pattern

if TYPE_CHECKING:
    from blockml.posts import ThreadPost

__all__ = [
    "choose_labels",
    "comments_remark",
    "complete_threads",
    "consistent_labels",
    "is_forum",
    "readers_comments",
    "remove_comments",
    "thread_changes",
]


_PREFORMATTED = int(Flag.PREFORMATTED)
_CONTENT = (Label.MAIN, Label.HEADING)
#: With fewer other words of running text of this probability, the comments are what the page is about, if they have
#: this mean probability, or this share of running text (our choices).
_MIN_LEFT, _MIN_PROBABILITY, _MIN_MEAN, _MIN_PROSE = 20, 0.4, 0.5, 0.75
#: Probability of certain text, and of an article that doesn't begin with a comment (our choices).
_CERTAIN, _LIKELY_ARTICLE = 0.9, 0.45
#: Times, years and words beside comments.
_BESIDE_COMMENTS = lazy_pattern(
    r"\b[0-9]{1,2}[:.][0-9]{2}\b|\b(?:19|20)[0-9]{2}\b"
    r"|\b(?:ago|repl(?:y|ies)|says?|said|wrote|antworten|vor|répondre|responder|hace|rispondi|ответить)\b|返信|回复",
    re.IGNORECASE,
)
#: Maximum words of lines with these, minimum number of these lines, blocks before and after comments where they are
#: looked for, and minimum words of comments for which they are (our choices).
_SHORT, _MIN_LINES, _AROUND, _LONG = 11, 2, 3, 80
#: Words that are left out as comments beyond which a page says so: a number, and a share of all words that scores keep.
_MANY, _LARGE_SHARE = 100, 1 / 3
#: Share of the words of a forum that are in messages (our choice).
_FORUM_SHARE = 0.5
_FORUM_COLUMNS = ("urlforum_0", "isarticle_0", "urlnews_0", "clsthread_0")


def remove_comments(page: Draft) -> None:
    """Remove readers' comments, and the headings below which nothing else is kept."""
    found = readers_comments(page)
    if found is not None:
        heading, section = page.outline.unit(UnitKind.HEADING), page.outline.section
        if heading is not None:
            text = page.kept & (heading < 0)
            is_left, is_found = (any_in(section + 1, text & part) for part in (~found, found))
            found = found | (page.kept & (heading >= 0) & is_found & ~is_left)
        page.override(found, Reason.COMMENT, kept=False)
        remark = comments_remark(page.page, page.by_score, found)
        page.remarks += [remark] if remark else []


def is_forum(page: PageMatrix) -> bool:
    """Tell whether a page is a forum, where what readers write is the content.

    Its address says so; or more than half of its words are in elements whose class names a thread or message, on a page
    that is not declared an article. On WCXB's page types: precision .80, recall .84 (research/studies/block-types.md).
    False without the columns.
    """
    if not len(page.values) or not all(name in page.places for name in _FORUM_COLUMNS):
        return False
    address, article, news, thread = (page.values[:, page.places[name]] for name in _FORUM_COLUMNS)
    if address[0] > 0 or article[0] or news[0]:
        return bool(address[0] > 0)
    words = page.context.words
    return float(words[thread < FAR].sum()) / max(1.0, float(words.sum())) > _FORUM_SHARE


def readers_comments(scored: Draft) -> NDArray[np.bool_] | None:
    """Return (n_blocks,) which kept blocks are readers' comments.

    None without comments, on forums, and if hardly any running text besides is kept, although the comments are
    probable: they are then what the page is about. Comments in code, and those in the body of the page, are not
    readers' comments, and neither is long text in elements of other names without dates, authors or replies around it.
    """
    types, page = scored.prediction.block_types, scored.prediction.matrix
    if types is None or page is None:
        return None
    among = scored.by_score | scored.by_model
    if scored.page.blocks.any_flag(_PREFORMATTED):
        among &= (scored.page.blocks.flags & _PREFORMATTED) == 0
    if not np.count_nonzero(among):
        return None
    named = blocks_in(scored.page, COMMENTS)
    least = _limits(scored, page, named)
    found = types.comment_probabilities(page.values, among, least) >= least
    if not np.count_nonzero(found) or is_forum(page):
        return None
    found = _by_readers(scored, page, found, named)
    return found & scored.by_score if found.any() and not _is_subject(scored, page, found) else None


def _by_readers(
    scored: Draft, page: PageMatrix, found: NDArray[np.bool_], named: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return comments (n_blocks,) without the body of the page, and without long ones that have no authors.

    Those in elements that are ``named`` (n_blocks,) for comments need none.
    """
    found = _without_body(scored, page, found)
    if page.context.words[found & ~named].sum() >= _LONG and not _has_authors(scored.page, found):
        return found & named
    return found


def _has_authors(page: Page, found: NDArray[np.bool_]) -> bool:
    """Tell whether short lines among comments (n_blocks,) and around them have dates, authors or replies."""
    rows = found.nonzero()[0]
    around = slice(max(0, int(rows[0]) - _AROUND), int(rows[-1]) + _AROUND + 1)
    lines = zip(page.blocks.texts[around], page.blocks.n_words[around].tolist(), strict=True)
    n_lines = sum(n_words <= _SHORT and _BESIDE_COMMENTS.search(text) is not None for text, n_words in lines)
    return int(n_lines) >= _MIN_LINES


def comments_remark(page: Page, kept: NDArray[np.bool_], removed: NDArray[np.bool_]) -> str | None:
    """Return a remark if many words (n_blocks,) of those that scores keep are left out as comments; else None.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p>{'text ' * 90}<p>{'comment ' * 60}")
    >>> comments_remark(page, np.array([True, True]), np.array([False, True]))
    "60 words were left out as readers' comments"
    """
    words = page.blocks.n_words
    n_removed = int(words[removed].sum())
    if n_removed <= min(_MANY, _LARGE_SHARE * float(words[kept].sum())):
        return None
    return f"{counted(n_removed, 'word')} were left out as readers' comments"


def _is_subject(scored: Draft, page: PageMatrix, found: NDArray[np.bool_]) -> bool:
    """Tell whether comments (n_blocks,) are what the page is about.

    They are probable, or running text rather than short remarks, and hardly any probable text is left besides.
    """
    probabilities = scored.prediction.scores
    others = scored.by_model & ~found & (probabilities >= np.float32(_MIN_PROBABILITY))
    if page.context.prose[others].sum() >= _MIN_LEFT:
        return False
    comments = scored.by_model & found
    words = page.context.words[comments]
    is_probable = (words * probabilities[comments]).sum() >= _MIN_MEAN * words.sum()
    return bool(is_probable or page.context.prose[comments].sum() >= _MIN_PROSE * words.sum())


def _without_body(scored: Draft, page: PageMatrix, found: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return comments (n_blocks,) without those in the body of the page, which is not written by readers.

    It is the lines of the element whose paragraphs have most of the certain running text, if they don't begin with a
    comment; and the whole page if it is likely an article, and its first certain text and most of it are comments.
    """
    words = np.where(scored.by_model & (scored.prediction.scores >= np.float32(_CERTAIN)), page.context.prose, 0.0)
    if not found.any() or not words.any():
        return found
    is_most = found[(words > 0).argmax()] and 2 * words[found].sum() > words.sum()
    if is_most and (scored.prediction.p_article or 0.0) >= _LIKELY_ARTICLE:
        return np.zeros_like(found)
    nodes, blocks = scored.page.nodes, scored.page.blocks
    holder = nodes.parent[blocks.parent]
    inside = holder == np.bincount(holder + 1, words).argmax() - 1
    if found[(inside & (words > 0)).argmax()]:
        return found
    line = page.context.outline.line
    return found & ~any_in(line, inside)


def _limits(scored: Draft, page: PageMatrix, named: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the minimum probability of a comment, one number or (n_blocks,).

    It is lower in elements that are ``named`` (n_blocks,) for comments, if words outside of them are kept; otherwise
    the page is a discussion, or its author named something else so.
    """
    of_all, of_named = scored.policy.comment_probability, scored.policy.named_comment_probability
    if (
        of_named >= of_all
        or not np.count_nonzero(named)  # the usual case
        or not page.context.words[scored.by_model & ~named].any()
        or is_forum(page)
    ):
        return np.array(of_all, np.float32)
    return np.where(named, np.float32(of_named), np.float32(of_all))


def consistent_labels(scored: Draft) -> tuple[Label, ...]:
    """Return (n_blocks,) the most probable labels that agree with what the model keeps; none without block types.

    Blocks that may be comments are comments, but for the body of the page. Other kept blocks are content, and other
    removed ones are not; but the page's headline is a heading if it is removed and has no other label: it often looks
    like part of the site's header, apart from its text.
    """
    types, page = scored.prediction.block_types, scored.prediction.matrix
    if types is None or page is None:
        return ()
    from blockml.metadata.headline import headline_blocks  # only labels need it

    probabilities = types.predict(page.values)
    is_content = np.isin(types.labels, _CONTENT)
    content = np.where(is_content, probabilities, -1.0).argmax(axis=1)
    others = np.where(is_content, -1.0, probabilities).argmax(axis=1)
    chosen = np.where(scored.by_model, content, others)
    if Label.COMMENT in types.labels:
        comment = types.labels.index(Label.COMMENT)
        named = blocks_in(scored.page, COMMENTS)
        found = probabilities[:, comment] >= _limits(scored, page, named)
        chosen[np.where(scored.by_model, _by_readers(scored, page, found, named), found)] = comment
    is_headline = headline_blocks(scored.page).tolist()
    return tuple(
        Label.HEADING if headline and types.labels[number] is Label.OTHER else types.labels[number]
        for number, headline in zip(chosen.tolist(), is_headline, strict=True)
    )


def choose_labels(page: Draft) -> None:
    """Keep and remove the blocks with labels that a caller includes and excludes."""
    if (page.include or page.exclude) and page.labels is not None:
        asked_for, excluded = (
            np.array([label in chosen for label in page.labels], dtype=bool) for chosen in (page.include, page.exclude)
        )
        page.override(asked_for, Reason.ASKED_FOR, kept=True)
        page.override(excluded, Reason.EXCLUDED, kept=False)


#: Probability of an article that isn't searched for posts, and elements with names of posts on other pages; share of
#: the threshold that a post of a kept thread needs; and minimum posts whose bodies are kept, for a page to be a thread.
_CERTAIN_ARTICLE, _MIN_NAMED, _LIKELY_POST, _MIN_KEPT = 0.9, 2, np.float32(0.8), 2
#: Headings that may be the title of a thread in its first post.
_TITLES = frozenset({"h1", "h2"})


def complete_threads(page: Draft) -> None:
    """Find the posts of a page that is probably not an article, and complete its thread."""
    p_article = page.prediction.p_article
    if p_article is None or p_article >= _CERTAIN_ARTICLE:
        return
    if len(page.page.nodes.with_any(OF_POSTS, any_case=True)) < _MIN_NAMED:
        return
    from blockml.posts import find_posts  # only pages with names of posts need it

    by_default = page.by_model & (page.kept | ~page.by_score)
    page.posts = find_posts(page.page, page.kept | by_default)
    if page.posts:
        likely = page.by_score | (page.scores >= _LIKELY_POST * np.float32(page.threshold))
        added, beside = thread_changes(page.posts, page.page.blocks, page.kept, likely, by_default)
        page.override(added, Reason.KEPT_WITH_POST, kept=True)
        page.override(beside, Reason.REMOVED_WITH_POST, kept=False)


def thread_changes(
    posts: Sequence[ThreadPost],
    blocks: Blocks,
    kept: NDArray[np.bool_],
    likely: NDArray[np.bool_],
    by_model: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what is added to the kept blocks of a thread, and what is removed, (n_blocks,) each.

    If two bodies are kept, the authors and dates above them are added, and, if most posts are kept, the likely blocks
    of all bodies. If the model keeps two bodies, what else is in these posts is removed (profiles, buttons and
    signatures), unless no author is known: the names are then among it.

    Parameters
    ----------
    posts
        The posts of the page, at least one.
    blocks
        The blocks of the page.
    kept, likely, by_model
        (n_blocks,) blocks that are kept, that may be, and that the model keeps at the default threshold; more of the
        first two never means that less is added or more is removed.

    Examples
    --------
    >>> import blockml
    >>> from blockml.posts import find_posts
    >>> post = "<div class=post><b class=author>{}</b> 2026-01-02<p>It is a flour of rye.</p><a>Quote</a></div>"
    >>> page = blockml.parse(post.format("Ann") + post.format("Bo"))
    >>> kept = np.array([False, False, True, True, False, False, True, False])
    >>> added, removed = thread_changes(find_posts(page), page.blocks, kept, kept, kept)
    >>> added.nonzero()[0].tolist(), removed.nonzero()[0].tolist()
    ([0, 1, 4, 5], [3])
    """
    body, header, rest = np.full((3, len(blocks)), -1, dtype=np.intp)  # number of the post of each block
    for numbers, parts in (
        (rest, [post.blocks for post in posts]),
        (body, [post.body for post in posts]),
        (header, [post.header for post in posts]),
    ):
        rows = np.fromiter(chain.from_iterable(parts), dtype=np.intp)
        numbers[rows] = np.repeat(np.arange(len(posts)), [*map(len, parts)])
    rest[(body >= 0) | (header >= 0)] = -1
    rest[[row for row in posts[0].blocks if blocks.parents[row] in _TITLES]] = -1

    def n_words(part: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return (n_posts,) the words of the chosen blocks of a part of each post."""
        rows = ((part >= 0) & chosen).nonzero()[0]
        return np.bincount(part[rows], blocks.n_words[rows], len(posts)).astype(np.intp)

    total = n_words(body, body >= 0)
    is_kept, is_default, is_likely = (2 * n_words(body, rows) > total for rows in (kept, by_model, kept | likely))
    # One kept post is an article with comments, for instance.
    n_kept = np.count_nonzero(is_kept)
    may_add = n_kept >= _MIN_KEPT
    may_remove = np.count_nonzero(is_default) >= _MIN_KEPT and any(post.author is not None for post in posts)
    is_thread = may_add and 2 * n_kept >= len(posts)
    is_likely &= is_thread & ~np.array([post.is_remark for post in posts])
    is_cut = may_remove & is_default & (n_words(rest, by_model) < n_words(body, by_model))
    added = _in_posts(body, is_likely) & likely | _in_posts(header, may_add & (is_kept | is_likely))
    return added & ~kept, _in_posts(rest, is_cut) & kept


def _in_posts(part: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether the post of each block is chosen (n_posts,), given its number or -1."""
    return (part >= 0) & chosen[part]
