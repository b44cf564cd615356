"""The posts of a thread: the element, author, date and body of each, and the post that it answers.

A post is an element that is named or typed as one, such as ``<li class="message" data-author="Ann">`` or an
``itemscope`` of schema.org's ``Comment``, and has an author or a date. This depends on the page only, not on what is
kept.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, compress, islice
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes, Page
from blockml.page.element_names import OF_BODIES, OF_POSTS
from blockml.page.lazy import cached_property

__all__ = ["ThreadPost", "find_posts"]

#: Words in the attributes of authors, dates and quotations.
_MARK_WORDS = (b"author", b"user", b"creator", b"member", b"profile", b"nick", b"date", b"time", b"post", b"publish",
               b"quote", b"message", b"signature", b"/~", b"/u/")  # fmt: skip
#: Classes, ids and types of posts. The type of a thread may be on its first post.
_POST_CLASS = re.compile(
    r"(?<!\S)(?:c?post|postbit(?:legacy|im)?|postcontainer|post_block|blockpost|(?:user|thread|crawler|forum|topic)-post|tpost"
    r"|message|msg|(?:ips|js-|item)?comment|comments_subtree|reply|answer|question|discussionboard-content)(?!\S)",
    re.IGNORECASE,
)
_POST_ID = re.compile(
    r"(?:p|pid|post|msg|message|comment|elcomment|reply|answer|question|tree)[-_]?\d+\Z", re.IGNORECASE
)
_POST_TYPE = re.compile(r"schema\.org/(?:User)?(?:Comments?|Answer|Question|DiscussionForumPosting)\b")
_THREAD_TYPE = re.compile(r"schema\.org/(?:Question|DiscussionForumPosting)\b")
_IS_QUESTION, _IS_ANSWER = (re.compile(rf"(?<![^\s/]){name}(?!\S)", re.IGNORECASE) for name in ("question", "answer"))
#: Elements that are never posts: parts of a line, headings, forms and the whole page.
_NO_POSTS = frozenset(
    "a abbr b body button em form h1 h2 h3 h4 h5 h6 html i img input label meta p span strong".split()
)
#: Classes of authors' names, best first, and addresses of their profiles.
_AUTHOR_CLASSES = (
    re.compile(
        r"(?<![^\s_-])(?:(?:big|xb|poster|comment|ips)?user(?:[-_]info_)?[-_]?name|(?:message|postuser|member)-name"
        r"|nick(?:name)?|hnuser|comment-user|author[-_](?:name|information))(?![^\s_-])",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<!\S)(?:(?:(?:comment|message|post|topic)[-_]?)?author(?:name)?|poster|creator|commenter|user)(?!\S)",
        re.IGNORECASE,
    ),
)
#: Texts of links beside an author, which are not names.
_NO_NAME = re.compile(
    r"(?:sign|log)\s?(?:up|in|out)|logged.*|find|quote.*|reply.*|report.*|share|follow|view .*|send .*|e-?mail"
    r"|profile.*|members?|website|www|private message|(?:.* is )?o(?:ff|n)line|guests?|top|edit.*|\d+|author|moderator",
    re.IGNORECASE,
)
_PROFILE = re.compile(r"member\.php|memberlist|/members?/|/users?/|/u/|/profile|action=profile|/~", re.IGNORECASE)
_DATE_CLASS = re.compile(
    r"(?<![^\s_-])(?:(?:post|comment|message|live|relative|u)?[-_]?(?:dates?|dt|datetime|timestamp|timeago|time)"
    r"|posted|published|posthead|postdetails|posted[-_]info|datepermalink)(?![^\s_-])",
    re.IGNORECASE,
)
_DATE_PROPERTIES = frozenset({"dateCreated", "datePublished", "commentTime"})
#: Quotations and signatures, whose authors and dates are not those of the post.
_QUOTED = re.compile(
    r"(?<![^\s_-])(?:quote(?:header|author|[-_]author)?|bbcodeblock\w*|ipsquote\w*)(?![^\s_-])", re.IGNORECASE
)
_SIGNATURE = re.compile(r"(?<!\S)(?:post)?signature(?!\S)", re.IGNORECASE)
#: The line that names the author of a quotation.
_WROTE = re.compile(r"\s*(.{1,50}?)\s+(?:wrote|said|posted|schrieb|a écrit|escribió|dijo|ha scritto|написал|писал)")
#: Words before a name, and a line that says when something was written.
_BY = re.compile(r"(?:(?:posted |written )?by|author|from|von|par|de)\b:?\s+|@", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:today|yesterday|(?:an?|\d+)\s?(?:sec|min|hour|hr|day|week|month|year|[hdwmy])[a-z]*\s+ago)\b|\b\d\d?:\d\d",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\W*(?:join|regist|member since|inscri|mitglied|dabei|регистр|posts\b)", re.IGNORECASE)
_NUMBERS = re.compile(r"\b\d\d?[-./]\d\d?[-./]\d\d(?:\d\d)?\b")
#: Maximum characters of an element's classes, because what they say is kept for other pages.
_MAX_CLASSES = 1000
#: Maximum number of candidates; of words and characters of a name, and of words of a line with author or date; of
#: blocks of an element that is read as a name or date; and nodes of an author or quotation that are searched.
_MOST, _NAME_WORDS, _NAME_LENGTH, _LINE_WORDS, _FEW_BLOCKS, _FEW_NODES = 4000, 5, 50, 16, 4, 40
#: Rank of an author whose address is that of a profile.
_BY_ADDRESS = 4
#: Minimum share of the words of an element that its main part has, and an element that is named as a body in another
#: one; and of the posts of a kind whose bodies are alike.
_MAIN_PART, _NAMED_PART, _ALIKE = 0.6, 0.3, 0.6
#: Classes and ids of bodies, and elements that bodies without such a name may be.
_BODY_CLASS = re.compile(
    r"(?<![^\s_-])(?:post[-_]?(?:content|body|text|msg|message)|postbody|(?:message|msg|comment|usertext)[-_]?"
    r"(?:body|content|text|copy|usercontent|formatted)|commentbody|bbwrapper|entry-content|vbeditorcontent)(?![^\s_-])"
    r"|(?<!\S)(?:inner|content|cooked|md|message)(?!\S)",
    re.IGNORECASE,
)
#: Words in the attributes of bodies, besides those of posts.
_BODY_WORDS = (b"pid", b"usertext", b"bbwrapper", b"content", b"inner", b"cooked", b"md", b"itemprop")
_FORUM_BODY = re.compile(r"(?<!\S)(?:postbody|postmsg|post_message|messagetext)(?!\S)", re.IGNORECASE)
_BODY_ID = re.compile(r"(?:post_?message|post_?content|pid|msg|comment_?body)[-_]?\d+\Z", re.IGNORECASE)
_BODIES = frozenset("article blockquote dd div section td".split())
#: Elements of titles, and the start of those of answers.
_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_REPLY = re.compile(r"(?:re|aw|antw|odp|sv|vs|答复)\s*[:：]", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")

_Rows = Sequence[int]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class ThreadPost:
    """A post of a thread."""

    node: int  #: its element
    body_node: int  #: the element of its body; the same if the body has none
    author: str | None
    date: str | None  #: ISO 8601 if it can be read, else as the page writes it, such as ``2 hours ago``
    answers: int | None  #: number of the post that it answers; None if the page doesn't say
    is_remark: bool  #: whether it is named as a comment, on a page with posts of other names
    header: tuple[int, ...]  #: blocks with the author and the date above the body
    body: tuple[int, ...]  #: blocks of the body
    blocks: tuple[int, ...]  #: all blocks, without those of posts inside it


def find_posts(page: Page, chosen: NDArray[np.bool_] | None = None) -> tuple[ThreadPost, ...]:
    """Find the posts of a thread, in order; none unless there are two.

    Parameters
    ----------
    page
        The page.
    chosen
        (n_blocks,) blocks of which two posts must have some, to pass over articles whose comments are left out.

    Examples
    --------
    >>> import blockml
    >>> post = "<div class=post><b class=author>{}</b> <time>2026-01-0{}</time><p>{}</p>{}</div>"
    >>> reply = post.format("Bo", 3, "Rye, of course.", "")
    >>> page = blockml.parse(post.format("Ann", 2, "Which flour do you use?", reply))
    >>> [(post.author, post.date, post.answers, post.header, post.body) for post in find_posts(page)]
    [('Ann', '2026-01-02', None, (0, 1), (2,)), ('Bo', '2026-01-03', 0, (3, 4), (5,))]
    """
    candidates = _candidates(page, chosen) if len(page.blocks) else []
    finder = _Finder(page, candidates) if len(candidates) > 1 else None
    if finder is None or len(finder.elements) < 2:
        return ()
    rows = finder.rows()
    return () if _are_teasers(page, rows) else tuple(finder.posts(rows))


def _are_teasers(page: Page, posts: Sequence[_Rows]) -> bool:
    """Tell whether most posts (their blocks) have linked titles of their own: a list of articles is not a thread."""
    nodes, blocks = page.nodes, page.blocks
    headings = np.flatnonzero(nodes.named(_HEADINGS))
    in_heading = nodes.innermost(headings, blocks.node) >= 0
    linked = (in_heading & (blocks.n_linked > 0) & (blocks.n_linked == blocks.n_words)).tolist()
    titles = {next((blocks.texts[row] for row in post if linked[row]), "") for post in posts}
    own = [title for title in titles if title and not _REPLY.match(title)]
    return 2 * len(own) > len(posts)


def _of_sets(nodes: Nodes, elements: Sequence[int], own: Callable[[Mapping[str, str]], _T]) -> list[_T]:
    """Return (n_elements,) what a function says about the attributes of elements, many of which share them."""
    sets, places = nodes.attribute_sets(elements)
    found = list(map(own, sets))
    return [found[place] for place in places]


def _candidates(page: Page, chosen: NDArray[np.bool_] | None) -> list[int]:
    """Return the elements that are named or typed as posts, or those around bodies of posts.

    None unless two of them have chosen blocks (n_blocks,).
    """
    nodes, posts = page.nodes, list[int]()
    found = np.array(nodes.with_any(OF_POSTS, any_case=True))
    if chosen is not None and len(found):
        places = page.blocks.node[chosen]
        is_around = places.searchsorted(found) < places.searchsorted(nodes.end[found])
        posts, found = _named(nodes, found[is_around].tolist()), found[~is_around]
        if len(posts) < 2 and len(nodes.with_any(OF_BODIES, any_case=True)) < 2:  # the usual case
            return []
    posts = sorted(posts + _named(nodes, found.tolist()))[:_MOST]
    if len(posts) < 2:
        posts = _around_bodies(nodes)
    if chosen is not None and len({*nodes.innermost(np.array(posts), places).tolist()} - {-1}) < 2:
        return []
    return posts


def _named(nodes: Nodes, found: Sequence[int]) -> list[int]:
    """Return those of some elements that are named or typed as posts."""
    own = [node for node in found if nodes.name(node) not in _NO_POSTS]
    return list(islice(compress(own, _of_sets(nodes, own, _is_named)), _MOST))


def _around_bodies(nodes: Nodes) -> list[int]:
    """Return the largest element around each body of a forum's post that has no other body, such as a table's row."""
    found = nodes.with_any(OF_BODIES, any_case=True)
    is_body = _of_sets(nodes, found, lambda own: _FORUM_BODY.search(own.get("class", "")))
    bodies = np.array(list(islice(compress(found, is_body), _MOST)))
    posts: list[int] = []
    for node in bodies.tolist() if len(bodies) > 1 else ():
        post, outer = node, nodes.parent.item(node)
        for _ in range(_FEW_NODES):
            if outer < 0 or np.diff(bodies.searchsorted((outer, nodes.end.item(outer)))) > 1:
                break
            post, outer = outer, nodes.parent.item(outer)
        posts += [post] if post not in posts[-1:] else []
    return posts


def _is_named(attributes: Mapping[str, str]) -> bool:
    return bool(
        _POST_ID.match(attributes.get("id", ""))
        or _post_class(_classes(attributes))
        or _POST_TYPE.search(attributes.get("itemtype", ""))
    )


def _classes(attributes: Mapping[str, str]) -> str:
    return attributes.get("class", "")[:_MAX_CLASSES]


_post_class, _body_class = lru_cache(2048)(_POST_CLASS.search), lru_cache(2048)(_BODY_CLASS.search)  # posts repeat them


class _Mark(NamedTuple):
    """An element that gives an author or a date."""

    rank: int  #: 0 is best
    node: int
    text: str


class _MarkKind(NamedTuple):
    """Role of an element in a post, according to its attributes."""

    is_quoted: bool
    is_signature: bool
    author: int  #: rank of the element as the author, the lowest is best; 0 if it doesn't name one
    is_date: bool


def _mark_kind(attributes: Mapping[str, str]) -> _MarkKind:
    names, prop = _classes(attributes), attributes.get("itemprop")
    is_quoted, is_signature, rank, is_date = _kind_of_class(names)
    if prop == "author":
        rank = 1
    elif not rank and _PROFILE.search(attributes.get("href", "")):
        rank = _BY_ADDRESS
    if "mention" in names:
        rank = 0
    elif "data-author" in attributes:
        rank = rank or _BY_ADDRESS
    return _MarkKind(is_quoted, is_signature, rank, is_date or prop in _DATE_PROPERTIES)


@lru_cache(2048)
def _kind_of_class(names: str) -> _MarkKind:
    """Return the role of an element in a post, according to its classes."""
    rank = next((rank for rank, classes in enumerate(_AUTHOR_CLASSES, start=2) if classes.search(names)), 0)
    is_quoted, is_signature, is_date = (p.search(names) is not None for p in (_QUOTED, _SIGNATURE, _DATE_CLASS))
    return _MarkKind(is_quoted, is_signature, rank, is_date)


class _Finder:
    """Finds posts: candidates, whose classes name posts, that have an author or a date."""

    def __init__(self, page: Page, candidates: Sequence[int]) -> None:
        self.page, self.nodes, self.blocks = page, page.nodes, page.blocks
        # Lists: a search in one of a few hundred numbers is faster than in an array.
        self.links, self.places = page.nodes.indices("a").tolist(), page.blocks.node.tolist()
        self.line: list[int] = page.blocks.line_numbers().tolist()
        self.n_words: list[int] = page.blocks.n_words.tolist()
        self.authors, self.dates, self.quotations = list[_Mark](), list[_Mark](), list[int]()
        self._read_marks(np.array(candidates))
        self.elements = self._with_marks(candidates)
        self.skipped = {*self.elements, *self.quotations}

    def _read_marks(self, candidates: NDArray[np.int64]) -> None:
        """Find authors and dates in the candidates, and quotations, whose authors are not those of the post."""
        nodes = self.nodes
        found = {*nodes.indices("time").tolist(), *nodes.with_any(_MARK_WORDS, any_case=True)}
        named = np.array(sorted(found), dtype=np.int64)
        named = named[nodes.innermost(candidates, named) >= 0]
        marks = _of_sets(nodes, named.tolist(), _mark_kind)
        after = 0
        for node, kind in zip(named.tolist(), marks, strict=True):
            if node < after or not (any(kind) or nodes.name(node) == "time"):
                continue
            if kind.is_quoted:
                self.quotations.append(node)
            if kind.is_quoted or kind.is_signature:
                after = nodes.end.item(node)
                continue
            attributes = nodes.attributes[node]
            if (author := self._author(node, attributes, kind.author)) is not None:
                self.authors.append(author)
            if (kind.is_date or nodes.name(node) == "time") and (date := self._date(node, attributes)) is not None:
                self.dates.append(date)

    def _author(self, node: int, attributes: Mapping[str, str], rank: int) -> _Mark | None:
        """Return the author that an element names, or None; ``rank`` is that of its attributes."""
        if "data-author" in attributes and (name := _name(attributes["data-author"])):
            return _Mark(0, node, name)
        if not rank or (rank == _BY_ADDRESS and self.nodes.name(node) != "a"):
            return None
        first, last = self._range(self.links, node)
        links = self.links[first : min(last, first + _FEW_BLOCKS)]
        texts = chain((attributes.get("content", ""),), map(self._text, (*links, node)))
        name = next(filter(None, map(_name, texts)), "")
        return _Mark(rank, node, name) if name else None

    def _date(self, node: int, attributes: Mapping[str, str]) -> _Mark | None:
        """Return the date that an element for dates gives, or None."""
        from blockml.metadata.dates import iso_date  # slow to import, and only threads need it

        for key in ("datetime", "content", "title"):
            if date := iso_date(attributes.get(key)):
                return _Mark(0, node, date)
        text = self._text(node)
        date = None if _JOINED.match(text) else _date_in(text)
        if not date:
            return None
        return _Mark(1 if any(map(str.isdigit, text)) and not _WHEN.fullmatch(text) else 2, node, date)

    def _range(self, places: Sequence[int], element: int) -> tuple[int, int]:
        """Return the first of some places in document order that is in an element, and one past the last."""
        return bisect_left(places, element), bisect_left(places, self.nodes.end.item(element))

    def _text(self, node: int) -> str:
        """Return the text of an element of few blocks, or of a part of a short one; else an empty text."""
        end = self.nodes.end.item(node)
        first, last = self._range(self.places, node)
        if first < last:
            return " ".join(self.blocks.texts[first:last]) if last - first <= _FEW_BLOCKS else ""
        is_short = first and end - node <= _FEW_NODES and self.n_words[first - 1] <= _LINE_WORDS
        return " ".join(" ".join(self.nodes.texts[node:end]).split()) if is_short else ""

    def _with_marks(self, candidates: Sequence[int]) -> list[int]:
        """Return the candidates that are posts.

        A candidate with an author or a date is a post. But inside of another one it is a part of that, unless both
        have an author, or both have a date, or there are several alike.
        """
        nodes, own = self.nodes, np.array(candidates)
        kinds: dict[int, set[str]] = {node: set() for node in (-1, *candidates)}
        for kind, marks in (("author", self.authors), ("date", self.dates)):
            for node in nodes.innermost(own, np.array([mark.node for mark in marks], dtype=np.int64)).tolist():
                kinds[node].add(kind)
        outers = dict(zip(candidates, nodes.innermost(own, nodes.parent[own]).tolist(), strict=True))
        within: dict[int, list[int]] = {node: [] for node in (-1, *candidates)}  # posts directly inside
        counts = {node: Counter[str]() for node in within}  # of the kinds of these, which move up many levels with them
        types = {node: nodes.attributes[node].get("itemtype", "") for node in candidates}
        firsts = {node for node, type_ in types.items() if not _POST_TYPE.search(type_)}  # the others may be answers
        for node in reversed(candidates):
            posts, own_kinds, outer = within[node], kinds[node], outers[node]
            single = {kind for kind, n_posts in counts[node].items() if n_posts == 1} - own_kinds
            parts = {post for post in posts if kinds[post] <= single} if single and own_kinds else set()
            if parts:
                posts = [post for post in posts if post not in parts]
                posts += [post for part in within[node] if part in parts for post in within[part]]
                own_kinds.update(kind for part in parts for kind in kinds[part])
                within[node], counts[node] = posts, Counter(kind for post in posts for kind in kinds[post])
            is_wrapper = _THREAD_TYPE.search(types[node]) is not None and not firsts.isdisjoint(posts)
            is_post = bool(own_kinds) and not is_wrapper
            within[outer] += [node] if is_post else posts
            counts[outer].update(own_kinds if is_post else counts[node])
        found, left = list[int](), within[-1]
        while left:
            found.append(left.pop())
            left += within[found[-1]]
        return sorted(found)

    def rows(self) -> list[_Rows]:
        """Return the blocks of each post, in order, without those of posts inside it."""
        elements = np.array(self.elements)
        owner = self.nodes.innermost(elements, self.blocks.node)
        order = owner.argsort(kind="stable")
        first, after = (owner[order].searchsorted(elements, side=side).tolist() for side in ("left", "right"))
        rows = order.tolist()
        return [rows[begin:end] for begin, end in zip(first, after, strict=True)]

    def posts(self, rows: Sequence[_Rows]) -> Iterator[ThreadPost]:
        """Iterate over the posts in order, given their blocks."""
        nodes, elements = self.nodes, np.array(self.elements)
        bodies = self._bodies([self._main_parts(*post) for post in zip(self.elements, rows, strict=True)])
        authors, dates = self._by_post(elements, self.authors), self._by_post(elements, self.dates)
        place_of = {post: place for place, post in enumerate(self.elements)}
        outer = nodes.innermost(elements, nodes.parent[elements]).tolist()
        quoted = self._quoted(elements)
        is_comment = [*map(self._is_comment, self.elements)]
        has_others = not all(is_comment)
        by_author: dict[str, int] = {}  # the last post of each
        for place, (post, own, body) in enumerate(zip(self.elements, rows, bodies, strict=True)):
            marks = authors.get(place, []), dates.get(place, [])
            start = body if body != post else self._after_header(own, [mark.node for mark in chain(*marks)])
            # The blocks of a post are in order.
            end = nodes.end.item(body)
            first, last = (bisect_left(own, place, key=self.places.__getitem__) for place in (start, end))
            above = own[:first]
            author, date = (_chosen(found, start, end) for found in marks)
            lines = self._header_lines(above, author, date)
            if date is None and (date := self._dated_line(above)) is not None:
                lines.add(self.line[date.node])
            header = (row for row in above if self.line[row] in lines)
            answers = place_of.get(outer[place], quoted.get(place))
            if isinstance(answers, str):
                answers = by_author.get(answers)
            if answers is None and place and self._answers_first(post):
                answers = 0
            name = None if author is None else author.text
            if name is not None:
                by_author[name] = place
            parts = tuple(header), tuple(own[first:last]), tuple(own)
            is_remark = has_others and is_comment[place]
            yield ThreadPost(post, body, name, None if date is None else date.text, answers, is_remark, *parts)

    def _main_parts(self, post: int, rows: _Rows) -> list[int]:
        """Return the element that is named as the body, else the post and the elements with most of its words.

        The innermost one is last.
        """
        nodes, places = self.nodes, [self.places[row] for row in rows]
        sums = [0, *accumulate(self.n_words[row] for row in rows)]

        def n_words(node: int) -> int:
            first, last = self._range(places, node)
            return sums[last] - sums[first]

        path = [post]
        for inner in filter(self._is_body, self._named.get(post, ())):
            if inner >= nodes.end.item(path[-1]):
                break
            if path[-1] != post and n_words(inner) < _NAMED_PART * n_words(path[-1]):
                break
            path = [inner]
        total = n_words(post)
        while path[0] == post:
            child, end = path[-1] + 1, nodes.end.item(path[-1])
            while child < end:
                if nodes.tag.item(child) and child not in self.skipped and n_words(child) >= max(1, _MAIN_PART * total):
                    break
                child = nodes.end.item(child)
            if child >= end:
                break
            path.append(child)
        return path

    def _is_body(self, node: int) -> bool:
        """Tell whether an element is named as the body of a post."""
        attributes = self.nodes.attributes[node]
        named = _body_class(_classes(attributes)) or _BODY_ID.match(attributes.get("id", ""))
        return named is not None or attributes.get("itemprop") in ("text", "commentText", "articleBody")

    def _bodies(self, paths: Sequence[Sequence[int]]) -> list[int]:
        """Return the element of the body of each post, given its main parts.

        It is the innermost element like those of most posts of its kind: a short post may have less text than its
        author's profile.
        """
        keys = [
            {key: node for node in reversed(path) if node != post and (key := self._key(node))}
            for post, path in zip(self.elements, paths, strict=True)
        ]
        kinds = [self._kind(post) for post in self.elements]
        best: dict[str, str] = {}
        for kind, n_posts in Counter(kinds).items():
            own = [list(found) for found, other in zip(keys, kinds, strict=True) if other == kind]
            counts = Counter(key for found in own for key in found)
            # The names of a path are listed from the innermost.
            shared = [key for found in own for key in found if counts[key] >= max(2.0, _ALIKE * n_posts)]
            best.update({kind: shared[0]} if shared else {})
        found: list[int] = []
        for post, path, own_keys, kind in zip(self.elements, paths, keys, kinds, strict=True):
            names = [best[kind]] if kind in best else list(dict.fromkeys(best.values()))
            body = next((own_keys[name] for name in names if name in own_keys), -1)
            if body < 0 and path[0] == post:
                body = next((node for node in self._unnamed.get(post, ()) if self._key(node) in names), -1)
            found.append(body if body >= 0 else path[-1])
        return found

    def _kind(self, post: int) -> str:
        """Return the name and the classes or id of a post, without digits."""
        attributes = self.nodes.attributes[post]
        return f"{self.nodes.name(post)} {_DIGITS.sub('', attributes.get('class') or attributes.get('id', ''))}"

    def _key(self, node: int) -> str:
        """Return the name and classes of an element that may be a body, without digits; else an empty text."""
        name = self.nodes.name(node)
        return f"{name} {_DIGITS.sub('', self.nodes.attributes[node].get('class', ''))}" if name in _BODIES else ""

    @cached_property
    def _named(self) -> dict[int, list[int]]:
        """By post, the elements in it whose attributes have a word of bodies."""
        searches = (self.nodes.with_any(words, any_case=True) for words in (OF_POSTS, _BODY_WORDS))
        return self._inside(np.array(sorted(set().union(*searches))))

    @cached_property
    def _unnamed(self) -> dict[int, list[int]]:
        """By post, the elements in it that may be bodies without such a word."""
        return self._inside(np.flatnonzero(self.nodes.named(_BODIES)))

    def _inside(self, found: NDArray[np.integer]) -> dict[int, list[int]]:
        """Return, by post, those of some elements that are directly in it and not in a quotation."""
        owner = self.nodes.innermost(np.array(sorted(self.skipped)), found)
        inside: dict[int, list[int]] = {}
        for post, node in zip(owner.tolist(), found.tolist(), strict=True):
            if node != post:
                inside.setdefault(post, []).append(node)
        return inside

    def _by_post(self, elements: NDArray[np.int64], marks: Sequence[_Mark]) -> dict[int, list[_Mark]]:
        """Return the marks of each post, by its number."""
        found: dict[int, list[_Mark]] = {}
        owner = self.nodes.innermost(elements, np.array([mark.node for mark in marks], dtype=np.int64))
        for place, mark in zip(elements.searchsorted(owner).tolist(), marks, strict=True):
            found.setdefault(place, []).append(mark)
        return found

    def _after_header(self, rows: _Rows, marks: Sequence[int]) -> int:
        """Return the node after the last of the short first lines of a post with an author or a date."""
        line, after = self.line, 0
        marked = {line[min(bisect_left(self.places, node), len(line) - 1)] for node in marks}
        for number in dict.fromkeys(line[row] for row in rows):
            _, n_words, _ = self._line(number)
            if n_words > _LINE_WORDS:
                break
            if number in marked:
                after = bisect(line, number)
        return self.places[after] if 0 < after < len(line) else -1

    def _header_lines(self, above: _Rows, *marks: _Mark | None) -> set[int]:
        """Return the numbers of the short lines above a body that have its author or date."""
        found, of_above = set[int](), {self.line[row] for row in above}
        for mark in marks:
            if mark is not None:
                first, last = self._range(self.places, mark.node)
                first = first if first < last else max(0, first - 1)  # it is a part of a block
                numbers = of_above.intersection(self.line[first : max(last, first + 1)])
                lines = {number: self._line(number) for number in numbers}
                short = [number for number, (_, n_words, _) in lines.items() if n_words <= _LINE_WORDS]
                found.update([number for number in short if mark.text in lines[number][2]] or short)
        return found

    def _dated_line(self, above: _Rows) -> _Mark | None:
        """Return the last short line above a body that has a date; its first block instead of a node."""
        for number in dict.fromkeys(self.line[row] for row in reversed(above)):
            first, n_words, text = self._line(number)
            if n_words <= _LINE_WORDS and not _JOINED.match(text) and (date := _date_in(text)):
                return _Mark(1, first, date)
        return None

    def _line(self, number: int) -> tuple[int, int, str]:
        """Return the first block of a line, the number of its words, and its text if it is short."""
        first, last = bisect_left(self.line, number), bisect(self.line, number)
        n_words = sum(self.n_words[first:last])
        return first, n_words, " ".join(self.blocks.texts[first:last]) if n_words <= _LINE_WORDS else ""

    def _quoted(self, elements: NDArray[np.int64]) -> dict[int, int | str]:
        """Return by number of a post the number, or the author, of the first post that it quotes."""
        nodes, found = self.nodes, dict[int, int | str]()
        ids = {id_: place for place, post in enumerate(self.elements) if (id_ := nodes.attributes[post].get("id"))}
        places = elements.searchsorted(nodes.innermost(elements, np.array(self.quotations, dtype=np.int64)))
        for place, node in zip(places.tolist(), self.quotations, strict=True):
            if place in found:
                continue
            for inner in range(node, min(node + _FEW_NODES, nodes.end.item(node))):
                target = nodes.attributes[inner].get("href", "").rpartition("#")[2] if nodes.tag.item(inner) else ""
                if ids.get(target, place) < place:
                    found[place] = ids[target]
                    break
            else:
                first = bisect_left(self.places, node)
                text = " ".join(self.blocks.texts[first : first + _FEW_BLOCKS])[: 2 * _NAME_LENGTH]
                if match := _WROTE.match(text):
                    found[place] = _name(match[1])
        return found

    def _is_comment(self, post: int) -> bool:
        """Tell whether a post is named as a comment and nothing else."""
        attributes = self.nodes.attributes[post]
        names = (attributes.get("class", ""), attributes.get("id", ""))
        found = [name for pattern in (_POST_CLASS, _POST_ID) for text in names for name in pattern.findall(text)]
        return bool(found) and all("comment" in name.lower() for name in found)

    def _answers_first(self, post: int) -> bool:
        """Tell whether the first post is a question, and this one an answer."""
        first, own = (self.nodes.attributes[node] for node in (self.elements[0], post))
        return all(
            pattern.search(f"{attributes.get('class', '')} {attributes.get('itemtype', '')}")
            for pattern, attributes in ((_IS_QUESTION, first), (_IS_ANSWER, own))
        )


def _chosen(marks: Sequence[_Mark], start: int, end: int) -> _Mark | None:
    """Choose the mark of a post whose body is the nodes from ``start`` to before ``end``; None without marks.

    Marks above the body are preferred to marks below it, and those to marks inside. Of the marks with the best rank,
    the nearest above or below the body is chosen, or the last one inside.
    """
    if not marks:
        return None
    above = [mark for mark in marks if mark.node < start]
    below = [mark for mark in marks if mark.node >= end]
    found = above or below or marks
    best = min(mark.rank for mark in found)
    chosen = [mark for mark in found if mark.rank == best]
    return chosen[0] if below and not above else chosen[-1]


def _name(text: str) -> str:
    """Return the name in a text, without words such as "by"; empty if the text isn't a name."""
    name = " ".join(text.split())
    if by := _BY.match(name):
        name = name[by.end() :]
    name = name.strip(" :,»·-")
    is_name = (
        0 < len(name) <= _NAME_LENGTH
        and len(name.split()) <= _NAME_WORDS
        and any(map(str.isalnum, name))
        and "/" not in name
    )
    return name if is_name and not (_WHEN.search(name) or _NO_NAME.fullmatch(name)) else ""


def _date_in(text: str) -> str | None:
    """Return the date in a short text, in ISO 8601 if it can be read, or the words for it; None without one."""
    if len(text) > 4 * _NAME_LENGTH or not text:
        return None
    from blockml.metadata.dates import dates_in  # slow to import, and only threads need it

    if found := dates_in(text):
        return found[-1][2]
    return text if len(text) <= _NAME_LENGTH and (_WHEN.search(text) or _NUMBERS.search(text)) else None
