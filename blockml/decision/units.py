"""Units of meaning: what readers read as a whole is kept or removed as a whole.

Scores are those of blocks, but a price without its product and a heading without its text mislead a reader. Units of
three kinds follow from the outline of a page:

- *pooled* units have one score, the mean of their blocks weighted by words: lines, code and data tables;
- *voting* units are kept if the scores keep enough of their words, and otherwise removed: plain lists;
- *dependent* parts need each other: a line that ends in a colon and the list below it, a label and its value, a heading
  and its text, the halves of a sentence and what is between them.

Each rule keeps more if more is kept before, so a lower threshold never keeps less. The numbers are our choices: on
pages of which no model was trained, the completed words are more often content than not
(``python -m research.benchmarks.whole``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.decision.prediction import Draft
from blockml.decision.remarks import notes_of_marks, torn_lists
from blockml.outline import Outline, UnitKind
from blockml.page import Flag, Reason

__all__ = [
    "compared_units",
    "complete_captions",
    "complete_headings",
    "complete_lines",
    "complete_lists",
    "complete_notes",
    "complete_sentences",
    "complete_tables",
    "in_quotations",
    "mean_over_units",
    "pooled_units",
]

#: Minimum share of the words of a plain list that is kept, for all of it to be kept, and minimum mean score of a list
#: that is not mostly links, as a share of the threshold.
_MIN_SHARE, _MIN_MEAN = 0.4, 0.9
#: Minimum score, as a share of the threshold, of what a kept part needs: the text below a heading, a list below a line
#: that announces it, the value of a label or the middle of a sentence, and the heading above a text.
_MIN_TEXT, _MIN_LIST, _MIN_LINE, _MIN_HEADING = 0.8, 0.2, 0.6, 0.1
#: Maximum words of a label, and lines, words and blocks between the halves of a sentence.
_LABEL_WORDS, _MAX_BETWEEN, _FEW_WORDS, _MAX_BLOCKS = 6, 3, 12, 8
#: Maximum linked words beside a heading that are not its text.
_TOOL_WORDS = 3
#: Minimum words of a heading that is text itself: with 15 and more, 18 of 25 headings without text below them are in
#: the gold text of WCXB, CleanEval, magic-html and dragnet-2012 (measured on what the rule removed).
_LONG_HEADING = 15
#: The default threshold.
_DEFAULT = 0.5
#: Last characters of a line that announces the next one, and of a sentence.
_ANNOUNCES, _ENDS_SENTENCE = (":", "：", "…", "..."), '.!?:;…。！？"”»)'
#: Maximum blocks of one word, or hidden ones, between a line and what it announces.
_PASSED = 3
_HIDDEN = int(Flag.HIDDEN)

_Mask = NDArray[np.bool_]


def pooled_units(outline: Outline) -> NDArray[np.intp]:
    """Return (n_blocks,) number of the unit that each block is scored in, from 0 without gaps.

    All blocks of a data table or of code are one unit, and the other blocks of each line.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>It is <b>so</b>.<table><tr><th>a<th>b<tr><td>c<td>d</table><pre>e <b>f</b></pre>g")
    >>> pooled_units(Outline(page)).tolist()
    [0, 0, 0, 1, 1, 1, 1, 2, 2, 3]
    """
    return _merged(outline.line, outline.code, outline.data_table)


def mean_over_units(scores: NDArray[np.float32], outline: Outline, *, tables: bool = True) -> NDArray[np.float32]:
    """Return the scores, where the blocks of code, and of data tables with ``tables``, have their mean by words.

    For policies that don't score units, and for scores that were changed afterwards.

    Examples
    --------
    >>> import blockml
    >>> outline = Outline(blockml.parse("<pre>a <b>b c</b></pre>d"))
    >>> mean_over_units(np.array([.9, .3, .2], np.float32), outline).round(2).tolist()
    [0.5, 0.5, 0.20000000298023224]
    """
    for elements in (outline.code, outline.data_table if tables else None):
        if elements is None:
            continue
        inside = (elements >= 0).nonzero()[0]
        _, number = np.unique(elements[inside], return_inverse=True)
        # Highlighted brackets and commas are blocks without words: they count only if the element has no words.
        weight = outline.page.blocks.n_words[inside].astype(np.float64)
        weight[np.bincount(number, weight)[number] == 0] = 1.0
        means = np.bincount(number, weight * scores[inside]) / np.bincount(number, weight)
        scores = scores.copy()
        scores[inside] = means[number]
    return scores


def compared_units(outline: Outline, unit: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return (n_blocks,) number of what each block is compared with other texts as a part of, from 0 without gaps.

    It is the pooled unit, or the plain list around the block: items of two lists, or of one, may have equal texts.

    Examples
    --------
    >>> import blockml
    >>> outline = Outline(blockml.parse("<p>One<ul><li>Two<li>Three</ul><p>Four"))
    >>> compared_units(outline, pooled_units(outline)).tolist()
    [0, 1, 1, 2]
    """
    return _merged(unit, outline.plain_list)


def _merged(number: NDArray[np.intp], *elements: NDArray[np.int32] | None) -> NDArray[np.intp]:
    """Number runs of blocks in the same element, the last one of ``elements`` (n_blocks,) that is not -1, or unit."""
    around: NDArray[np.int32] | None = None
    for element in elements:
        if element is not None:
            around = element if around is None else np.where(element >= 0, element, around)
    if around is None or not len(number):
        return number
    begins = np.zeros(len(number), dtype=bool)
    is_new = (number[1:] != number[:-1]) & (around[1:] < 0)
    begins[1:] = is_new | (around[1:] != around[:-1])
    return begins.cumsum()


def in_quotations(outline: Outline) -> _Mask | None:
    """Return (n_blocks,) which blocks are in quotations; None without any."""
    unit = outline.unit(UnitKind.QUOTATION)
    return None if unit is None else unit >= 0


def complete_tables(page: Draft) -> None:
    """Keep data tables below the threshold if the probabilities of half of their words reach it."""
    table = page.outline.data_table
    if table is None:
        return
    rows = (table >= 0).nonzero()[0]
    number = page.outline.elements(UnitKind.TABLE).searchsorted(table[rows])
    words = page.words[rows]
    is_likely = page.probabilities[rows] >= np.float32(page.threshold)
    total, likely = np.bincount(number, words), np.bincount(number, words * is_likely)
    page.keep(rows[((2 * likely >= total) & (likely > 0))[number]], Reason.KEPT_WITH_TABLE)


def complete_lists(page: Draft) -> None:
    """Keep all of a plain list or none of it, unless it has most of the text of the page."""
    plain = page.outline.plain_list
    if plain is None:
        return
    elements = torn_lists(plain, page.kept)
    if not elements:
        return
    # By the default threshold, so that a lower one doesn't keep less.
    by_default = page.words * (page.scores >= np.float32(_DEFAULT))
    for first, after in map(page.outline.range_in, elements):
        words, n_linked = page.words[first:after], np.add.reduce(page.outline.page.blocks.n_linked[first:after])
        n_words = np.add.reduce(words)
        is_close = 2 * n_linked < n_words and page.is_likely(first, after, _MIN_MEAN)
        if is_close or np.add.reduce(words * page.kept[first:after]) >= _MIN_SHARE * n_words:
            page.keep_range(first, after, Reason.KEPT_WITH_LIST)
        elif 2 * np.add.reduce(by_default[first:after]) <= np.add.reduce(by_default):
            page.remove_range(first, after, Reason.REMOVED_WITH_LIST)


def complete_lines(page: Draft) -> None:
    """Keep lines that announce something kept, and the lists, tables, code and values that kept lines announce."""
    outline = page.outline
    texts, line, words = outline.page.blocks.texts, outline.line, page.words
    kept, rows = page.kept[words > 0], words.nonzero()[0].tolist()
    places = (kept[:-1] | kept[1:]).nonzero()[0].tolist()
    for place in [place for place in places if texts[rows[place]].endswith(_ANNOUNCES)]:
        before, after = rows[place], rows[place + 1]
        if line.item(before) == line.item(after):
            continue
        first, next_number = int(line.searchsorted(line.item(before))), line.item(after)
        announced, reason, minimum = _announced(outline, before, after), Reason.KEPT_WITH_LEAD_IN, _MIN_LIST
        if announced is None:
            if np.add.reduce(words[first : before + 1]) > _LABEL_WORDS:
                continue
            announced = int(line.searchsorted(next_number)), int(line.searchsorted(next_number, side="right"))
            reason, minimum = Reason.KEPT_WITH_LABEL, _MIN_LINE
        is_list = minimum == _MIN_LIST
        if page.kept.item(after):
            page.keep_range(first, before + 1, Reason.KEPT_WITH_LIST if is_list else Reason.KEPT_WITH_VALUE)
        is_torn = page.kept.item(before) and not page.is_kept(*announced)
        if is_torn and page.is_likely(*announced, minimum, announced=is_list):
            page.keep_range(*announced, reason)


def _announced(outline: Outline, before: int, after: int) -> tuple[int, int] | None:
    """Return the first block of the plain list, code or data table after a line, and one past the last; else None.

    Buttons before it, and hidden copies of it, are passed over.
    """
    blocks = outline.page.blocks
    units = [unit for unit in (outline.data_table, outline.plain_list, outline.code) if unit is not None]
    for block in range(after, min(after + _PASSED + 1, len(blocks)) if units else after):
        if blocks.flags.item(block) & _HIDDEN:
            continue
        for unit in units:
            element = unit.item(block)
            if element >= 0 and element != unit.item(before):
                return None if outline.has_fields(element) else outline.range_in(element)
        if blocks.n_words.item(block) > 1:
            break
    return None


def complete_captions(page: Draft) -> None:
    """Keep the captions of figures with other text, such as a table, a listing or a quotation, that is mostly kept."""
    figure = page.outline.unit(UnitKind.FIGURE)
    if figure is None:
        return
    captions = page.outline.page.nodes.indices("figcaption")
    if not len(captions):
        return
    n_words, n_kept = _before(page.words), _before(page.words * page.kept)  # a figure may have thousands of captions
    for first, after in zip(*(bounds.tolist() for bounds in page.outline.blocks_in(captions)), strict=True):
        if first < after and figure[first] >= 0 and not page.is_kept(first, after):
            start, end = page.outline.range_in(figure.item(first))
            own, kept = n_words[after] - n_words[first], n_kept[after] - n_kept[first]
            if 2 * (n_kept[end] - n_kept[start] - kept) > n_words[end] - n_words[start] - own:
                page.keep_range(first, after, Reason.KEPT_WITH_VALUE)


def complete_sentences(page: Draft) -> None:
    """Keep a few words between two kept halves of a sentence, also if others between them are kept already."""
    kept, words, texts = page.kept.copy(), page.words.tolist(), page.outline.page.blocks.texts
    for missing in (kept[1:] > kept[:-1]).nonzero()[0].tolist():  # followed by a kept block
        n_words = words[missing]
        for end in range(missing + 1, min(missing + _MAX_BLOCKS + 1, len(words))):
            if not kept.item(end) or n_words > _FEW_WORDS:
                break
            if texts[end][:1].islower():
                _complete_sentence(page, end)
            n_words += words[end]


def _complete_sentence(page: Draft, end: int) -> None:
    """Keep a few words before a block that is the second half of a sentence."""
    first, texts, n_words = max(end - _MAX_BLOCKS, 0), page.outline.page.blocks.texts, 0
    kept, words = page.kept[first:end], page.words[first:end]
    lines, own, is_kept = page.outline.line[first : end + 1].tolist(), words.tolist(), kept.tolist()
    for place in range(end - first - 1, -1, -1):
        if n_words > _FEW_WORDS or lines[-1] - lines[place] - 1 > _MAX_BETWEEN:
            return
        if own[place] and is_kept[place] and texts[first + place][-1:] not in _ENDS_SENTENCE:
            likely = page.scores[first + place + 1 : end] >= _MIN_LINE * page.threshold
            stays = kept[place + 1 :] | likely | (words[place + 1 :] == 0)
            if np.count_nonzero(stays) == len(stays):
                page.keep_range(first + place + 1, end, Reason.KEPT_WITH_SENTENCE)
        n_words += own[place]


def complete_notes(page: Draft) -> None:
    """Keep the footnotes to which kept marks lead; if they are most of a list or table, all of it."""
    notes = [np.arange(first, after) for first, after in notes_of_marks(page.outline, page.kept)]
    if not notes:
        return
    found, whole = np.zeros(len(page.kept), dtype=bool), page.outline.whole
    found[np.concatenate(notes)] = True
    for element in () if whole is None else np.unique(whole[found & (whole >= 0)]).tolist():
        first, after = page.outline.range_in(element)
        words = page.words[first:after]
        found[first:after] = 2 * np.add.reduce(words * found[first:after]) > np.add.reduce(words)
    page.keep(found.nonzero()[0], Reason.KEPT_WITH_MARK)


def complete_headings(page: Draft) -> None:
    """Keep headings above kept text, and likely text below kept headings; remove headings without text.

    The first heading may be left out: it is the title. A heading without text stays if it is a link, whose text is
    elsewhere, a title, or as long as a text.
    """
    heading, starts, threshold = page.outline.unit(UnitKind.HEADING), page.outline.section_starts, page.threshold
    if heading is None or not len(starts):
        return
    ends = [*starts[1:].tolist(), len(heading)]
    of_text = page.words * (heading < 0)
    texts = of_text, of_text * page.kept, of_text * (page.scores >= np.float32(_DEFAULT))  # all, kept, kept by default
    n_words, n_kept, n_default = (np.add.reduceat(own, starts).tolist() for own in texts)
    kept = page.kept.copy()
    for number in _open_headings(page, heading[starts], starts, (n_words, n_kept, n_default)):
        start, end = starts.item(number), ends[number]
        first, after = _text_below(page.outline, heading, start, end)
        if 2 * n_kept[number] > n_words[number]:
            below = of_text[first:after]
            is_most = 2 * np.add.reduce(below * kept[first:after]) > np.add.reduce(below)
            if is_most and page.is_likely(start, first, _MIN_HEADING):
                page.keep_range(start, first, Reason.KEPT_WITH_TEXT)
        elif _is_empty(n_kept[number], n_default[number], threshold) and page.is_likely(first, after, _MIN_TEXT):
            page.keep_range(first, after, Reason.KEPT_WITH_HEADING)
        elif not n_kept[number] and not _may_be_alone(page, heading, starts[number:], n_kept[number:]):
            page.remove_range(start, first, Reason.REMOVED_WITH_TEXT)


def _is_empty(n_kept: int, n_default: int, threshold: float) -> bool:
    """Tell whether a section has no text that is kept, given its kept words and those by the default threshold.

    Where the default threshold keeps text, a higher one doesn't complete it, so that a lower one never keeps less.
    """
    return not n_default and (threshold < _DEFAULT or not n_kept)


def _open_headings(
    page: Draft, headings: NDArray[np.int32], starts: NDArray[np.intp], words: Sequence[Sequence[int]]
) -> list[int]:
    """Return the headings whose section may change: text without all of its heading, or a heading without text.

    ``words`` are those of the text of each section: all, those kept, and those kept by the default threshold.
    """
    nodes, owner = page.outline.page.nodes, page.outline.page.blocks.node
    after = owner.searchsorted(nodes.end[headings])
    n_kept = _before(page.kept.view(np.int8))
    of_heading, sizes = (n_kept[after] - n_kept[starts]).tolist(), (after - starts).tolist()
    first_kept, threshold = int(page.kept.argmax()), page.threshold
    return [
        number
        for number, (start, own, size, total, kept, default) in enumerate(
            zip(starts.tolist(), of_heading, sizes, *words, strict=True)
        )
        if total
        and (own or start > first_kept)
        and (own < size if 2 * kept > total else own and (not kept or _is_empty(kept, default, threshold)))
    ]


def _before(values: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return (n_blocks + 1,) the sum of the values (n_blocks,) before each block."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    values.cumsum(out=sums[1:])
    return sums


def _may_be_alone(page: Draft, heading: NDArray[np.int32], starts: NDArray[np.intp], of_kept: Sequence[int]) -> bool:
    """Tell whether the first of some headings is a link, a title or as long as a text, or has kept text in its section.

    Its section ends at the next heading of its level. ``of_kept`` (n_headings,) are the words of kept text below each.
    """
    nodes, blocks, start = page.outline.page.nodes, page.outline.page.blocks, int(starts[0])
    name = nodes.name(heading.item(start))
    n_words = blocks.n_words.item(start)
    if name == "h1" or n_words >= _LONG_HEADING or 2 * blocks.n_linked[start] >= n_words:
        return True
    for other, n_below in zip(starts[1:].tolist(), of_kept[1:], strict=True):
        if n_below or nodes.name(heading.item(other)) <= name:
            return nodes.name(heading.item(other)) > name
    return False


def _text_below(outline: Outline, heading: NDArray[np.int32], start: int, end: int) -> tuple[int, int]:
    """Return the first block below a heading, and one past the last in the innermost element around both.

    They are in its section. A few linked words beside the heading, such as "edit", are passed over.
    """
    nodes, blocks = outline.page.nodes, outline.page.blocks
    node, first, after = heading.item(start), start, end
    while heading.item(first) == node:
        first += 1
    while node >= 0:
        while node >= 0 and nodes.end.item(node) <= blocks.node.item(first):
            node = nodes.parent.item(node)
        after = end if node < 0 else min(end, int(blocks.node.searchsorted(nodes.end.item(node))))
        n_words = int(np.add.reduce(blocks.n_words[first:after]))
        if after == end or n_words > _TOOL_WORDS or n_words > np.add.reduce(blocks.n_linked[first:after]):
            break
        first = after
    return first, after
