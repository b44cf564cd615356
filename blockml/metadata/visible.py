"""Visible authors and dates of a page: bylines, links to authors, and lines with dates near the headline."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blockml.metadata.dates import DIGITS, dates_in, iso_date
from blockml.metadata.headline import MAX_ELEMENTS, element_text
from blockml.metadata.names import byline_in, byline_names, bylines, first_names, person_names, starts_byline, unjoined
from blockml.page import Nodes, Page, Separator
from blockml.page.attributes import searched_together
from blockml.page.lazy import cached_property

__all__ = ["VisibleMetadata", "elements_within"]

#: Parts of the names of elements with other authors, and names of elements that contain only names.
_OTHERS = ("comment", "review", "-rev_", "testimonial", "quote", "authoriz", "authoris")
#: Names of elements with texts of readers, quotations, or dates of events and deadlines.
_OF_OTHERS = re.compile(
    r"(?<!date-)comment|testimonial|(?<![\w-])(?:reviews?\b|quote|event|deadline|expir|today|current-?date)",
    re.IGNORECASE,
)
_OTHER_PARTS = frozenset({"blockquote", "nav"})
_OF_NAMES = re.compile(r"name|\Aauthor\b")
#: Maximum elements in an author element that are tried as its name (our choice: the name is among the first).
_MAX_INNER = 20
#: Attribute words that mark a visible author or date.
_OF_AUTHORS = searched_together((b"uthor", b"yline"), of_outputs=True)
_OF_DATES = searched_together((b"date", b"Date", b"publish", b"time"), of_outputs=True)
#: Maximum blocks before and after the headline that are searched for lines with names and dates, and lines before it;
#: words of a line of text, and how many of these lines end the search; maximum words of a line with a name or date, and
#: of one with a date of unknown kind (our choices).
_BEFORE, _AFTER, _LINES_BEFORE, _TEXT_WORDS, _MAX_TEXTS, _MAX_LINE, _MAX_UNNAMED = 8, 40, 6, 40, 2, 24, 8
#: Maximum levels above a line that are inspected, nodes from the first name to the last, names of a page, words of a
#: byline, and characters of a label (our choices).
_MAX_UP, _MAX_NAMED, _MAX_NAMES, _MAX_BYLINE, _MAX_LABEL_LENGTH = 6, 64, 8, 12, 24
#: Maximum nodes and characters read for a name or date, which bound the cost of hostile pages.
_MAX_SPAN, _MAX_TEXT = 256, 300
#: Elements whose authors are those of a picture.
_PICTURES = frozenset(("figure", "figcaption", "picture"))
#: Minimum characters of a heading that is a part of the title (our choice).
_MIN_PART = 15
#: Number of lines at the end of a page that may say when it was changed, and of blocks at the start and end of the
#: kept text that may have a byline; first characters of a byline that others begin with (our choice).
_LAST_LINES, _KEPT_LINES, _ALIKE = 12, 8, 9
#: Addresses in lower case of pages about an author.
_AUTHOR_PAGE = re.compile(
    r"/(?:authors?|autor(?:en|es|a|e|i|zy|ka)?|auteurs?|autrice|yazar(?:lar)?|writers?|journalists?|journalistes?"
    r"|reporters?|contributors?|columnists?|staff|people|persons?|profiles?|team|meet-the-team|by)[/-]+[^/?#]"
)
#: Starts of words that say what a date means, by kind, in English, German, French, Spanish, Italian, Portuguese, Dutch,
#: Polish, Russian, Ukrainian, Turkish, Czech, Scandinavian languages, Indonesian, Finnish, Hungarian, Greek, Vietnamese
#: and Arabic.
_STARTS: Mapping[str, tuple[str, ...]] = {
    "modified": tuple(
        "updat modif edited changed revised aktualisier geändert änderung bearbeitet überarbeitet akt.: jour màj"
        " actuali editado aggiorna atuali bijgewerkt gewijzigd aangepast zaktuali aktuali zmieni zmodyf"
        " обновл измен отредакт"
        " оновл змін güncelle değiştir düzenle uppdater opdater oppdater ändrad endret ændret upraven změn diperbarui"
        " diubah päivit muokat frissít módosít ενημερ ενημέρ cập تحديث التحديث".split()
    ),
    "published": tuple(
        "publi posted issued released created submitted written veröffentlich erschien erstellt geschrieben paru ligne"
        " créé posté creado escrito pubbl creato scritto criado postado gepubliceerd geplaatst aangemaakt opublik dodan"
        " utworzon опублик размещ добавлен создан опубл yayın oluştur eklenme giriş udgivet skapad opprettet oprettet"
        " zveřejn vydán diterbit dibuat julkais megjelen közzétéve δημοσ đăng نشر النشر".split()
    ),
    "other": tuple(
        "joined registered member visit login copyright © expir deadline apply closing closes accessed retrieved valid"
        " born start ends reviewed due beigetreten registriert mitglied dabei abgerufen geboren gültig inscrit membre"
        " consult né registrado"
        " miembro iscritto membro acessado lid geregistreerd geraadpleegd dołączył zarejestr dostęp"
        " зарегистр регистрац обращения зареєстр katılım kayıt üyelik erişim registr medlem bergabung".split()
    ),
}
#: Kinds with their starts, by first character.
_BY_LETTER: Mapping[str, list[tuple[str, tuple[str, ...]]]] = {
    letter: [(kind, tuple(start for start in starts if start[0] == letter)) for kind, starts in _STARTS.items()]
    for letter in {start[0] for starts in _STARTS.values() for start in starts}
}
#: Such words in Japanese, Chinese and Korean, which have no spaces between words.
_WITHIN: Mapping[str, tuple[str, ...]] = {
    "modified": ("更新", "修正", "修改", "编辑", "編集", "수정", "업데이트"),
    "published": ("公開", "掲載", "投稿", "配信", "作成", "发布", "发表", "發布", "發佈", "發表", "刊登", "时间",
                  "時間", "日期", "입력", "등록", "게시", "발행", "작성"),
    "other": ("登録", "会員", "閲覧", "注册", "註冊", "加入", "访问", "가입"),
}  # fmt: skip
#: The time of day after a date, which in Japanese and Chinese precedes the word for its kind.
_CLOCK = re.compile(r"[\s\d:：日일時时분시分秒()（）]*")
#: A year, or numbers with points, in a line that may have a date, starting with a set of characters, which is searched
#: fastest; maximum words of a line that only labels a date.
_MAYBE_DATE, _MAX_LABEL = (
    re.compile(
        rf"[{DIGITS}元](?:(?:(?<=1)9|(?<=2)[05])\d\d|(?<![0-9元])\d{{3}}|(?<!元)(?:[./]\s?\d\d?[./]|\s?年)|(?<=元)年)"
    ),
    4,
)
#: A label with a colon at the start of a byline.
_LABEL = re.compile(r"\s*\w{1,12}\s?[:：]")
#: Classes of ``time`` elements that say what the date is.
_KINDS = ("published", "updated", "modified")
#: Signs before a word, and number of lines read after the first one with a date (our choice).
_MARKS, _MAX_MORE = "([（【*•|-–—", 8
_WORD = re.compile(r"[^\W\d_]{2,}")
_SPACE = int(Separator.SPACE)


#: A line: its text, its first text node, and one past the last one.
_Line = tuple[str, int, int]


class VisibleMetadata:
    """Reader of the visible authors and dates of a page, given its headline.

    ``other_dates`` are days as ISO 8601 that are not those of the page, such as the day of an event.
    """

    def __init__(
        self, page: Page, title: str | None, *, day_first: bool | None, other_dates: Set[str] = frozenset()
    ) -> None:
        self.page, self.title, self.day_first, self.other_dates = page, title, day_first, other_dates

    @cached_property
    def headline(self) -> int | None:
        """Node of the headline, or of a heading with a part of it; None if the page shows neither."""
        nodes, blocks, title = self.page.nodes, self.page.blocks, self.title or ""
        similar: int | None = None
        for name in ("h1", "h2", "h3"):
            for node in map(int, nodes.indices(name)[:MAX_ELEMENTS]):
                text = element_text(self.page, node)
                if text == title:
                    return node
                if similar is None and text and (name == "h1" or (len(text) > _MIN_PART and text in title)):
                    similar = node
        return int(blocks.node[blocks.texts.index(title)]) if title in blocks.texts else similar

    def lines(self, first: int, last: int) -> list[_Line]:
        """Return the lines of a range of blocks."""
        blocks = self.page.blocks
        starts, ends = blocks.node[first:last].tolist(), (blocks.last_node[first:last] + 1).tolist()
        texts = blocks.texts[first:last]
        begins = (blocks.separators[first:last] > _SPACE).nonzero()[0].tolist()
        if len(begins) == len(texts):
            return list(zip(texts, starts, ends, strict=True))
        begins = [0, *begins[begins[:1] == [0] :], len(texts)] if texts else []
        return [
            (texts[k] if stop == k + 1 else " ".join(texts[k:stop]), starts[k], ends[stop - 1])
            for k, stop in pairwise(begins)
        ]

    @cached_property
    def nearby(self) -> tuple[list[_Line], list[_Line]]:
        """Lines from the headline to the start of the text, and lines before the headline with the nearest first."""
        if self.headline is None:
            return [], []
        place = int(self.page.blocks.node.searchsorted(self.headline))
        after = self.lines(place, place + _AFTER)
        texts = [k for k, line in enumerate(after) if line[0].count(" ") >= _TEXT_WORDS]
        if len(texts) >= _MAX_TEXTS:
            del after[texts[_MAX_TEXTS - 1] :]
        return after, self.lines(max(0, place - _BEFORE), place)[: -_LINES_BEFORE - 1 : -1]

    def dates(self) -> dict[str, str]:
        """Return the dates in lines near the headline by kind: ``published``, ``modified``, or empty for others."""
        after, before = self.nearby
        found = self.dated(after + before)
        if "modified" not in found:
            n_blocks = len(self.page.blocks)
            if _MAYBE_DATE.search("\n".join(self.page.blocks.texts[-_LAST_LINES:])):
                last = self.lines(max(0, n_blocks - _LAST_LINES), n_blocks)
                dated = [line for line in last if _MAYBE_DATE.search(line[0])]
                found |= self.dated([line for line in dated if _kind(line[0]) == "modified"])
        return found

    def dated(self, lines: list[_Line]) -> dict[str, str]:
        """Return the first date of each kind in the given lines; the kind is empty if unknown."""
        found: dict[str, str] = {}
        elements = self.time_elements
        if not elements:
            short = [text for text, *_ in lines if len(text) <= _MAX_TEXT and text.count(" ") <= _MAX_LINE]
            if not _MAYBE_DATE.search("\n".join(short)):
                return found
        label, n_more = "", _MAX_MORE  # the previous line, and the number of lines still read after the first date
        for text, start, end in lines:
            times = elements and elements[bisect_left(elements, start - _MAX_UP) : bisect_left(elements, end)]
            if times:
                text = self.with_times(text, times)  # noqa: PLW2901
            if len(text) <= _MAX_TEXT and text.count(" ") <= _MAX_LINE and (times or _MAYBE_DATE.search(text)):
                dates = [found for found in dates_in(text, day_first=self.day_first) if not self.is_other(found[2])]
                if dates and self.is_of_others(start):
                    continue
                is_short = dates and len(_WORD.findall(_without(text, dates))) <= _MAX_UNNAMED
                for kind, value in _kinds(text, dates, label if label.count(" ") < _MAX_LABEL else ""):
                    if kind or is_short:
                        found.setdefault(kind, value)
            label = text
            n_more -= bool(found)
            if not n_more:
                break
        return found

    def with_times(self, text: str, times: list[int]) -> str:
        """Return the text of a line, with its ``time`` elements replaced by the dates and kinds that they declare."""
        held = [self.page.nodes.attributes[node] for node in times]
        kinds = [next((kind for kind in _KINDS if kind in (item.get("class") or "").split()), "") for item in held]
        are_named = "published" in kinds and len(set(kinds)) > 1  # some sites call every date updated
        for node, item, kind in zip(times, held, kinds, strict=True):
            declared = item.get("datetime") or ""
            if iso_date(declared) and (shown := element_text(self.page, node)):
                text = text.replace(shown, f"{kind} {declared}" if are_named else declared, 1)
        return text

    @cached_property
    def time_elements(self) -> list[int]:
        """The ``time`` elements of the page, in order."""
        found: list[int] = self.page.nodes.indices("time")[:MAX_ELEMENTS].tolist()
        return found

    def first_time(self) -> str | None:
        """Return the date of the first ``time`` element that has one."""
        for node in self.time_elements[:20]:
            declared = self.page.nodes.attributes[node].get("datetime")
            value = iso_date(declared or element_text(self.page, node), day_first=self.day_first)
            if value and not (self.is_other(value) or self.is_of_others(node)):
                return value
        return None

    def named_date(self, *, but: str | None) -> str | None:
        """Return the first date, other than the given one, in a short element whose names mention dates."""
        nodes = self.page.nodes
        naming = nodes.with_words(_OF_DATES)
        for part in _OF_DATES:
            word = part.decode()
            places = np.array(naming[part][:40], dtype=np.int64)
            for node in places[nodes.end[places] > places + 1].tolist():  # most are links, pictures and scripts
                attributes = nodes.attributes[node]
                label = " ".join([attributes.get(key) or "" for key in ("class", "id", "data-testid")])
                if word in label and nodes.name(node) not in ("meta", "link", "body", "html", "script"):
                    text = element_text(self.page, node)
                    value = iso_date(text, day_first=self.day_first) if len(text) <= 80 else None
                    if value not in (None, but) and not (self.is_other(value) or self.is_of_others(node)):
                        return value
        return None

    def authors(self) -> tuple[str, ...]:
        """Return the names near the headline, or else those of the first byline with names."""
        ends = self.page.nodes.end
        for start, end in self.places():
            if names := self.names_between(start, end):
                return names
        for node in filter(self.author_label, self.named_elements):
            names = self.names_between(node, int(ends[node])) or byline_names(self.byline_text(node))
            if names and not self.is_of_picture(node):
                return names
        return ()

    def places(self) -> Iterator[tuple[int, int]]:
        """Iterate over ranges of nodes near the headline that may start with names, most likely first."""
        nodes = self.page.nodes
        links = nodes.indices("a")
        for lines in self.nearby:
            if not lines:
                continue
            starts = [start for _, start, _ in lines]
            first, last = min(starts[0], starts[-1]), max(lines[0][2], lines[-1][2])
            found = [
                (node, max(int(nodes.end[node]), node + _MAX_NAMED * (nodes.name(node) == "a")))
                for node in self.named_elements
                if first - _MAX_UP <= node < last and self.author_label(node) and not self.is_of_picture(node)
            ]
            found += self.author_links(
                links[slice(*links.searchsorted((first - _MAX_UP, last)))][:MAX_ELEMENTS], starts
            )
            found += self.bylines_in(lines, first, last)
            yield from sorted(found)

    def bylines_in(self, lines: list[_Line], first: int, last: int) -> Iterator[tuple[int, int]]:
        """Iterate over the ranges of nodes that start with a byline, among lines from the first node to the last."""
        nodes = self.page.nodes
        for place, byline in bylines(nodes.texts[first:last]):
            node = first + place
            line, start, _ = next((item for item in lines if item[1] <= node < item[2]), ("", node, 0))
            is_short = node == start or len(nodes.texts[node]) <= _MAX_LABEL_LENGTH
            is_only = node > start and not _LABEL.match(byline)
            is_byline = line.count(" ") <= _MAX_LINE and is_short and starts_byline(byline, only=is_only)
            if line and is_byline and not self.is_of_others(node):
                yield node, node + _MAX_NAMED

    def authors_in(self, kept: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return the names of the first byline in the first or last lines of the kept text (n_blocks,).

        If several last lines begin alike, they are those of readers.
        """
        rows, owner, texts = kept.nonzero()[0], self.page.blocks.node, self.page.blocks.texts
        for place in (rows[:_KEPT_LINES], rows[-_KEPT_LINES:])[: 1 + (len(rows) > _KEPT_LINES)]:
            lines, after = self.lines(place[0], place[-1] + 1) if len(place) else [], 0
            for start, end in self.bylines_in(lines, lines[0][1], lines[-1][2]) if lines else ():
                text, first, last = next(line for line in lines if line[1] <= start < line[2])
                if start < after or not kept[owner.searchsorted(first)]:
                    continue
                if names := self.names_between(start, min(end, last)):
                    if sum(texts[row].startswith(text[:_ALIKE]) for row in rows.tolist()) == 1:
                        return names
                    after = last  # the other bylines of a line don't count
        return ()

    def author_links(self, links: NDArray[np.int64], starts: list[int]) -> Iterator[tuple[int, int]]:
        """Iterate over the ranges of links to pages about authors, and from a start to a link to their mail."""
        for node in links.tolist():
            attributes = self.page.nodes.attributes[node]
            address = attributes.get("href", "")
            if attributes.get("rel") == "author" or _AUTHOR_PAGE.search(address.lower()):
                yield node, node + _MAX_NAMED
            elif address.startswith("mailto:"):  # after the name
                yield max((start for start in starts if start < node), default=node), node

    def names_between(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names at the start of a range of nodes, or after a word such as "By" in it.

        Names are texts that are joined by commas or words, or are in elements with equal names.
        """
        nodes = self.page.nodes
        found: list[str] = []
        is_begin = is_joined = True
        is_after_label = False
        like = None
        for node in range(start, min(end, start + _MAX_SPAN, len(nodes))):
            if not (text := nodes.texts[node][:_MAX_TEXT].strip()):
                continue
            text, starts, ends = unjoined(text)
            if node == start:
                text = byline_in(text) or text
            is_byline = starts_byline(text)
            is_label = is_byline and starts_byline(text, only=True)
            is_begin |= is_label
            if not text or is_label:
                is_joined |= starts
                is_after_label |= is_label
                continue
            parent = int(nodes.parent[node])
            kind = nodes.name(parent), nodes.attributes[parent].get("class")
            names = person_names(text) if is_begin or is_byline else ()
            is_last = not names and (is_byline or is_after_label)
            names = first_names(text) if is_last else names
            if found and not (names and (is_joined or starts or kind == like)):
                break
            found += names
            if found and is_last:
                break
            is_after_label = False
            is_begin, is_joined, like = bool(names), ends, kind
        return tuple(dict.fromkeys(found))[:_MAX_NAMES]

    @cached_property
    def named_elements(self) -> list[int]:
        """Elements whose attributes contain words for authors; those after the headline come first."""
        naming = self.page.nodes.with_words(_OF_AUTHORS)
        found = sorted({node for part in _OF_AUTHORS for node in naming[part][:MAX_ELEMENTS]})
        place = bisect_left(found, self.headline or 0)
        return found[place:] + found[:place]

    def is_of_picture(self, node: int) -> bool:
        """Tell whether an element is, or is within, a picture or its caption."""
        nodes = self.page.nodes
        if _PICTURES.isdisjoint(nodes.names):
            return False
        return any(nodes.name(each) in _PICTURES for each in (node, *nodes.ancestors(node, _MAX_UP)))

    def is_other(self, value: str) -> bool:
        """Tell whether a date is not that of the page, because of what JSON-LD says of its day."""
        return value[:10] in self.other_dates

    def is_of_others(self, node: int) -> bool:
        """Tell whether a node is in a quotation, or in an element whose names say that it has another text.

        An element with the headline has the text of the page.
        """
        nodes, headline = self.page.nodes, self.headline
        for each in (node, *nodes.ancestors(node, _MAX_UP)):
            name, held = nodes.name(each), nodes.attributes[each]
            if name == "body" or (headline is not None and each <= headline < nodes.end[each]):
                return False
            if name in _OTHER_PARTS or _OF_OTHERS.search(f"{held.get('class')} {held.get('id')}"):
                return True
        return False

    def byline_text(self, node: int) -> str:
        """Return the text of a short byline, or the texts of the elements in it that are marked as names."""
        text = element_text(self.page, node)
        if len(text.split()) > _MAX_BYLINE:
            return ""
        inner = elements_within(self.page.nodes, self.named_elements, node)
        named = [each for each in inner if _OF_NAMES.search(self.author_label(each))]
        return self.innermost_texts(named) or text

    def innermost_texts(self, places: list[int]) -> str:
        """Return the texts of the elements that don't contain another of them."""
        ends = self.page.nodes.end
        found = [element_text(self.page, node) for node, after in pairwise([*places, len(ends)]) if ends[node] <= after]
        return "; ".join(filter(None, found))

    def author_label(self, node: int) -> str:
        """Return the attribute text of an element if it marks an author of the page; otherwise an empty text."""
        nodes = self.page.nodes
        attributes = nodes.attributes[node]
        label = " ".join([attributes.get(key) or "" for key in ("rel", "class", "id", "data-testid")]).lower()
        is_named = ("author" in label or "byline" in label) and not any(map(label.__contains__, _OTHERS))
        return label if is_named and nodes.name(node) not in ("meta", "link", "body", "html", "img") else ""


def elements_within(nodes: Nodes, places: list[int], node: int) -> list[int]:
    """Return the elements at the start of a sorted list that are within an element of it."""
    end = int(nodes.end[node])
    first = places.index(node) + 1
    return [inner for inner in places[first : first + _MAX_INNER] if node < inner < end]


def _kind(text: str) -> str:
    """Return the kind of date given by the last word of a text that names a kind; empty if no word does."""
    found = ""
    for word in text.lower().split():
        start = word.lstrip(_MARKS)
        for kind, starts in _BY_LETTER.get(start[:1], ()):
            if start.startswith(starts):
                found = kind
    if not found and not text.isascii():
        found = next((kind for kind, parts in _WITHIN.items() if any(part in text for part in parts)), "")
    return found


def _kinds(text: str, dates: list[tuple[int, int, str]], label: str) -> Iterator[tuple[str, str]]:
    """Iterate over the kinds and values of the dates of a line, given the previous line; an unknown kind is empty."""
    after = 0
    for start, end, value in dates:
        kind, after = _kind(text[after:start]), end
        if not kind and not text.isascii() and (clock := _CLOCK.match(text, end)):
            after = clock.end() + 2
            kind = _kind(text[clock.end() : after])
        if not kind and start == dates[0][0] and not _MAYBE_DATE.search(label):
            kind = _kind(label)
        yield kind, value


def _without(text: str, dates: list[tuple[int, int, str]]) -> str:
    """Return a text without the dates in it."""
    for start, end, _ in reversed(dates):
        text = text[:start] + text[end:]
    return text
