"""Headline of a page: its ``h1``, the title in its metadata, or ``<title>`` without the name of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page, Separator
from blockml.text.addresses import registrable_domain
from blockml.text.words import GLUED_SIGNS, WORD, is_permalink_sign, metric_tokens

_SEPARATOR = re.compile(r"\s+[|\-–—:·•»«›‹/~]+\s+|\s*[|»«›‹｜–—]\s*|::|：|_(?=[^_\s]+\Z)")
#: Labels that phpBB writes before the title of a topic, in its languages.
_TOPIC = re.compile(
    r"(?:.*(?:•|::|\s-)\s*)?(?:view (?:topic|forum)|thema anzeigen|(?:voir|afficher|consulter) le sujet|ver tema"
    r"|exibir tópico|leggi argomento|bekijk onderwerp|vis(?:a ämne| emne)|zobacz temat|zobrazit téma|просмотр темы) - ",
    re.IGNORECASE,
)
#: Separators, and signs that may also occur within a headline; the lines of the page decide.
_ANY_SEPARATOR = re.compile(
    r"\s*(?:[|»«›‹｜–—：_]|--+|::)\s*|(?<=\S)[:-]\s+|\s+[-:·•~/,<>]+\s+|-(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])-"
)
#: Minimum words of a headline found as a line, or characters of one without spaces; maximum parts and characters of a
#: title, and lines of a page, that are tried (our choices).
_MIN_WORDS, _MIN_CHARACTERS, _MAX_PARTS, _MAX_TITLE, _MAX_LINES = 3, 6, 16, 1000, 2000
_UNSEEN = int(Flag.HEAD)
_FIRST_IDEOGRAPH, _SPACE = "\u2e80", int(Separator.SPACE)
#: Signs before the name of the site at the end of a title.
_SIGNS = tuple("|-–—:·•»«›‹~｜：_")
#: Maximum characters of a text per character of the name it is compared with; signs and blanks count (our choice).
_LONGER = 3
#: Number of spaces that site names rarely reach, elements that may contain a part of a title, and addresses of start
#: pages.
_LONG_NAME = 4
_HEADINGS = ("h1", "h2", "h3")
_HOME = re.compile(r"(?:https?://[^/]+)?/?(?:index\.\w+|\.)?")
#: Maximum words of a headline, and minimum share of words that an ``h1`` and a title must have in common.
_MAX_WORDS, _COMMON = 50, 0.5


#: Maximum nodes of an element that is read as a headline, name or date, and maximum elements that are tried. Elements
#: may be nested, so that the time without a limit would grow with the square of the page (our choice: real headlines
#: have a few nodes, and pages a few headlines).
_MAX_NODES, MAX_ELEMENTS = 256, 100


def element_text(page: Page, node: int) -> str:
    """Return the visible text of an element, with white space normalised and without permalink signs.

    Empty for an element that is too large for a headline, a name or a date.
    """
    nodes = page.nodes
    end = nodes.end.item(node)
    if end - node > _MAX_NODES:
        return ""
    flags = nodes.flags[node:end].tolist()
    unseen = _UNSEEN & ~flags[0]  # the title of a drawing
    texts = [
        text
        for text, flag in zip(nodes.texts[node:end], flags, strict=True)
        if text and not flag & unseen and (text[0].isalnum() or not is_permalink_sign(text))
    ]
    return " ".join(" ".join(texts).split()).rstrip(GLUED_SIGNS)


def without_site(title: str, site_name: str | None, host: str = "") -> str:
    """Return a title without the name of the site before or after it.

    Parts of the title that repeat the name of the site, or its host, are removed; if there is no such part, the longest
    part is returned if it has most of the words. The title of a forum topic is the text after its software's label.

    Examples
    --------
    >>> without_site("Cats rule | The Daily Cat", "The Daily Cat"), without_site("Cats rule the world - Example", None)
    ('Cats rule', 'Cats rule the world')
    """
    topic = _TOPIC.match(title)
    if topic and topic.end() < len(title):
        return title[topic.end() :].strip()
    borders = [(0, 0), *(match.span() for match in _SEPARATOR.finditer(title)), (len(title), len(title))]
    parts = [title[start:end].strip() for (_, start), (end, _) in pairwise(borders)]
    if len(parts) < 2:
        return title.strip()
    known = {_key(name) for name in (site_name, host) if name}
    ends = [0, len(parts)]
    while ends[1] - ends[0] > 1 and _is_site(parts[ends[1] - 1], known):
        ends[1] -= 1
    while ends[1] - ends[0] > 1 and _is_site(parts[ends[0]], known):
        ends[0] += 1
    if ends == [0, len(parts)]:  # the site's name is unknown: a short last part is probably that name
        n_words = [len(metric_tokens(part)) for part in parts]
        if n_words[-1] <= 4 and sum(n_words[:-1]) > n_words[-1]:
            ends[1] -= 1
    first, last = borders[ends[0]][1], borders[ends[1]][0]
    return title[first:last].strip() or title.strip()


def name_in_title(names: Sequence[str], title: str) -> str | None:
    """Return the first site name that ends the title, or else the first name; None without names.

    Publishers are often companies or platforms with many sites.

    Examples
    --------
    >>> name_in_title(["Cat Media Ltd", "The Daily Cat"], "Cats rule | The Daily Cat")
    'The Daily Cat'
    """
    ending = title.lower()
    for name in names if len(names) > 1 else ():
        if ending.endswith(name.lower()) and ending[: -len(name)].rstrip().endswith(_SIGNS):
            return name
    return names[0] if names else None


def _key(name: str) -> str:
    return "".join(metric_tokens(name))


def _same(text: str, name: str) -> bool:
    """Tell whether a text equals a name; most texts are ruled out by their length."""
    return len(text) <= _LONGER * len(name) and _key(text) == _key(name)


def _is_site(part: str, known: set[str]) -> bool:
    return _is_site_key(_key(part), known)


def _is_site_key(key: str, known: set[str]) -> bool:
    return bool(key) and any(key == name or (len(key) >= 4 and (key in name or name in key)) for name in known if name)


def _overlap(left: set[str], right: set[str]) -> float:
    """Return the F1 of the words of two texts."""
    return 2 * len(left & right) / max(1, len(left) + len(right))


def _runs(title: str) -> Iterator[tuple[str, int, int]]:
    """Iterate over the runs of parts of a title: text, index of the first part, and index after the last part."""
    borders = [(0, 0), *(match.span() for match in _ANY_SEPARATOR.finditer(title)), (len(title), len(title))]
    is_short = len(borders) <= _MAX_PARTS and len(title) <= _MAX_TITLE
    for first, last in combinations(range(len(borders)), 2) if is_short else ():
        if text := title[borders[first][1] : borders[last][0]].strip():
            yield text, first, last


def _heading_in_title(page: Page, found: str, names: Sequence[str]) -> str:
    """Return the page's own heading if several parts of ``<title>`` are headings before the text.

    A heading replaces earlier ones, such as those of the site, the forum or the book, if it precedes them in
    ``<title>``, or follows them there and is longer. Names of the site and links to its start page are skipped.
    ``found`` is returned if it is not a part of ``<title>``, if it is a long part at its start, or if no heading
    qualifies.
    """
    is_main = page.title.startswith(found) and 2 * len(found) > len(page.title) and found.count(" ") >= _LONG_NAME
    if is_main or not _ANY_SEPARATOR.search(page.title) or not len(page.blocks):
        return found
    nodes, title = page.nodes, _key(page.title)
    longest = int(page.blocks.node[page.blocks.n_words.argmax()])
    headings = [node for name in _HEADINGS for node in nodes.indices(name)[:MAX_ELEMENTS].tolist() if node < longest]
    if len(headings) < 2:
        return found
    likely = [node for node in sorted(headings) if _may_start_in(page, node, title)]
    texts = ((node, element_text(page, node)) for node in likely)
    keyed = [(node, text, key) for node, text in texts if (key := _key(text)) in title]
    if len(keyed) < 2:
        return found
    runs = {_key(text): (first, last) for text, first, last in _runs(page.title)}
    if _key(found) not in runs:
        return found
    known, best, n_headings = set(map(_key, names)), None, 0
    for node, text, key in keyed:
        if key not in runs:
            continue
        n_headings += 1
        first, last = runs[key]
        if _is_site(text, known) or _is_home_link(page, node):
            continue
        if best is None or last <= best[1] or (first >= best[2] and len(key) > len(_key(best[0]))):
            best = text, first, last
    own_first, own_last = runs[_key(found)]
    return best[0] if best and n_headings > 1 and (best[2] <= own_first or own_last <= best[1]) else found


def _may_start_in(page: Page, node: int, key: str) -> bool:
    """Tell whether the first word of an element may be in the key of a title; true for one whose text is empty.

    This rules out most headings in a fraction of the time of reading them.
    """
    nodes, end = page.nodes, page.nodes.end.item(node)
    for text in nodes.texts[node:end] if end - node <= _MAX_NODES else ():
        if text and (word := WORD.search(text)):
            return not word[0].isascii() or word[0].lower() in key
    return True


def _is_home_link(page: Page, heading: int) -> bool:
    """Tell whether a heading is in, or starts with, a link to the start page of its site."""
    nodes = page.nodes
    for node in (*nodes.ancestors(heading, 2), *range(heading + 1, min(heading + 4, int(nodes.end[heading])))):
        if nodes.name(node) == "a":
            return _HOME.fullmatch(nodes.attributes[node].get("href") or "#") is not None
    return False


def _line_in_title(page: Page, title: str, names: Sequence[str], *, after: int = 0) -> str | None:
    """Return the longest part of a title that is a line of the page, and not the name of the site; None without one.

    Parts are separated by separators. Lines of links are skipped, because the names of the site and its sections are
    links. ``after`` is the first node that such a line may start at.
    """
    runs: dict[str, str] = {}
    known = set(map(_key, names))
    for text, *_ in _runs(title):
        words = metric_tokens(text)
        has_long = any(len(word) >= _MIN_CHARACTERS and word[0] >= _FIRST_IDEOGRAPH for word in words)
        if (has_long or len(words) >= _MIN_WORDS) and not _is_site_key(key := "".join(words), known):
            runs.setdefault(key, text)
    blocks, texts = page.blocks, page.blocks.texts
    begins = ((blocks.separators > _SPACE) & (blocks.node >= after)).nonzero()[0]
    if not runs or not len(begins):
        return None
    n_unlinked = np.add.reduceat(blocks.n_words - 2 * blocks.n_linked, begins)
    lengths, found = range(min(map(len, runs)), _LONGER * max(map(len, runs.values())) + 1), set[str]()
    first_characters = {key[0] for key in runs}
    places = (n_unlinked > 0).nonzero()[0][:_MAX_LINES]
    starts, stops = begins[places].tolist(), np.append(begins[1:], len(blocks))[places].tolist()
    for start, stop in zip(starts, stops, strict=True):
        first = texts[start][0]
        if first.lower() in first_characters or not first.isalnum():
            line = texts[start] if stop == start + 1 else " ".join(texts[start:stop])
            if len(line) in lengths:
                found.add("".join(metric_tokens(line)))
    known_lines = (run for key, run in runs.items() if key in found)  # in order, because two may be equally long
    return max(known_lines, key=lambda run: (run.count(" "), len(run)), default=None)


def headline(page: Page, declared: Sequence[str], site_name: str | None, host: str = "") -> tuple[str | None, str]:
    """Return the headline and its source: ``h1``, ``declared``, ``title``, or empty.

    Parameters
    ----------
    page
        The page.
    declared
        Non-empty titles that the page declares in metadata, best first.
    site_name, host
        Name and host of the site, if known.
    """
    labels = host.rstrip(".").split(".")
    domain = labels[-min(len(labels), 1 + registrable_domain(host).count("."))] if len(labels) > 1 else ""
    known = [name for name in (site_name, domain) if name]
    found, source = _declared_headline(page, declared, site_name, domain, known)
    heading = _heading_in_title(page, found, [*known, host]) if found else found
    return (found, source) if heading == found else (heading, "title")


def _declared_headline(
    page: Page, declared: Sequence[str], site_name: str | None, domain: str, known: Sequence[str]
) -> tuple[str | None, str]:
    """Find the headline and its source from the ``h1`` elements, the declared titles and ``<title>``."""
    candidates: dict[str, int] = {}
    for node in page.nodes.indices("h1").tolist()[:MAX_ELEMENTS]:
        text = element_text(page, node)
        if text and len(text.split()) <= _MAX_WORDS:
            candidates.setdefault(text, node)
    own = list(candidates)
    if candidates and (declared or page.title):
        own = [
            text
            for text, node in candidates.items()
            if not any(_same(text, name) for name in known)
            or (text != site_name and _is_before_site(page, text, node, known))
        ]
    if len(own) == len(candidates) == 1:
        (only,) = own
        if page.title.startswith(only) or set(metric_tokens(only)) & set(metric_tokens(page.title)):
            return only, "h1"
        part = _line_in_title(page, page.title, known, after=candidates[only])  # the h1 may be the name of a section
        return (part, "title") if part else (only, "h1")
    if site_name:
        declared = [without_site(text, site_name, domain) if site_name in text else text for text in declared]
    title = without_site(page.title, site_name, domain)
    wanted = [text for text in (*declared, title) if text]
    if own and wanted:
        others = [set(metric_tokens(text)) for text in wanted]
        words = [set(metric_tokens(text)) for text in own]
        likeness = [max(_overlap(of_one, other) for other in others) for of_one in words]
        best = likeness.index(max(likeness))
        if likeness[best] >= _COMMON or (len(own) == 1 and likeness[best] > 0):
            return own[best], "h1"
    if part := _line_in_title(page, declared[0] if declared else page.title, known):
        return part, "title"
    if declared:
        return declared[0], "declared"
    if title:
        return _heading_within(page, title) or title, "title"
    return (own[0], "h1") if own else (None, "")


def _heading_within(page: Page, title: str) -> str | None:
    """Return the first heading that is most of a title, whose other words are then the name of the site."""
    words = " ".join(title.split()).lower()
    for name in _HEADINGS[1:]:
        for node in page.nodes.indices(name)[:MAX_ELEMENTS].tolist():
            text = element_text(page, node)
            if text.lower() in words and 2 * len(text) > len(words) and text.count(" ") >= _MIN_WORDS - 1:
                return text
    return None


def _is_before_site(page: Page, text: str, node: int, known: Sequence[str]) -> bool:
    """Tell whether an ``h1`` with the name of the host is the headline, as in "Cats - The Daily" at cats.example.

    It is not a link to the start page, and a short text follows it in ``<title>`` that is not a line of the page.
    """
    rest = page.title.removeprefix(text)
    separator = _SEPARATOR.match(rest)
    if rest == page.title or not separator or len(metric_tokens(rest)) > _LONG_NAME or _is_home_link(page, node):
        return False
    lines = {_key(line) for line in page.blocks.texts[:_MAX_LINES]}
    return _key(rest) not in lines or any(_same(rest[separator.end() :], name) for name in known)


def headline_blocks(page: Page) -> NDArray[np.bool_]:
    """Return (n_blocks,) the blocks in ``h1`` elements that share most of their words with the page's title."""
    nodes, blocks = page.nodes, page.blocks
    found = np.zeros(len(blocks), dtype=bool)
    title = set(metric_tokens(page.title))
    for node in nodes.indices("h1").tolist()[:MAX_ELEMENTS]:
        words = set(metric_tokens(element_text(page, node)))
        if words and len(words & title) >= _COMMON * len(words):
            found |= (blocks.node >= node) & (blocks.node < nodes.end[node])
    return found
