"""Units of meaning: what readers read as a whole is kept or removed as a whole.

Scores are those of blocks, but a price without its product and a heading without its text mislead a reader. Units of
three kinds follow from the outline of a page:

- *pooled* units have one score, the mean of their blocks weighted by words: lines, code and data tables;
- *completed* units are kept whole if most of them is: plain lists and their items;
- *dependent* parts need each other: a line that ends in a colon and the list below it, a label and its value, a heading
  and its text, the halves of a sentence and what is between them.

Each rule keeps more if more is kept before, so a lower threshold never keeps less. The numbers are our choices: on
pages of which no model was trained, the completed words are more often content than not
(``python -m research.benchmarks.whole``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockml.outline import Outline, UnitKind
from blockml.page import Flag, Reason

__all__ = ["Completed", "compared_units", "complete", "in_quotations", "mean_over_units", "pooled_units"]

#: Minimum share of the words of a plain list or item that is kept, for all of it to be kept.
_MIN_SHARE = 0.6
#: Minimum score, as a share of the threshold, of what a kept part needs: the text below a heading, a list below a line
#: that announces it, the value of a label or the middle of a sentence, and the heading above a text.
_MIN_TEXT, _MIN_LIST, _MIN_LINE, _MIN_HEADING = 0.8, 0.2, 0.6, 0.1
#: Maximum words of a label, and lines, words and blocks between the halves of a sentence.
_LABEL_WORDS, _MAX_BETWEEN, _FEW_WORDS, _MAX_BLOCKS = 6, 3, 12, 8
#: The default threshold.
_DEFAULT = 0.5
#: Last characters of a line that announces the next one, and of a sentence.
_ANNOUNCES, _ENDS_SENTENCE = (":", "：", "…", "..."), '.!?:;…。！？"”»)'

_FIELDS = frozenset({"input", "select", "textarea"})
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


@dataclass(slots=True, eq=False)
class Completed:
    """The kept blocks of a page after the completion of its units, and why some were added or removed."""

    outline: Outline
    scores: NDArray[np.float32]  #: (n_blocks,)
    probabilities: NDArray[np.float32]  #: (n_blocks,)
    threshold: float  #: The threshold that they were compared with.
    kept: _Mask  #: (n_blocks,)
    reasons: list[tuple[Reason, NDArray[np.intp]]] = field(default_factory=list)  #: Changed blocks, in order.

    @property
    def words(self) -> NDArray[np.int32]:
        """(n_blocks,) words."""
        return self.outline.page.blocks.n_words

    def is_likely(self, rows: slice, minimum: float, *, announced: bool = False) -> bool:
        """Tell whether the mean score of some blocks, weighted by words, is at least this share of the threshold.

        For ``announced`` blocks their probability also counts: on certain pages scores are much lower.
        """
        words, scores = self.words[rows], self.scores[rows]
        if announced:
            scores = np.maximum(scores, self.probabilities[rows])
        return float((words * scores).sum()) >= minimum * self.threshold * float(words.sum())

    def keep(self, rows: NDArray[np.intp], reason: Reason) -> None:
        """Keep some blocks."""
        self._set(rows, reason, value=True)

    def remove(self, rows: NDArray[np.intp], reason: Reason) -> None:
        """Remove some blocks."""
        self._set(rows, reason, value=False)

    def _set(self, rows: NDArray[np.intp], reason: Reason, *, value: bool) -> None:
        table = self.outline.data_table
        if table is not None and (around := table[rows]).max(initial=-1) >= 0:  # a table is never torn
            rows = rows[(around < 0) | (np.bincount(around + 1)[around + 1] == np.bincount(table + 1)[around + 1])]
        changed = rows[self.kept[rows] != value]
        if len(changed):
            self.kept[changed] = value
            self.reasons.append((reason, changed))


def complete(
    outline: Outline, scores: NDArray[np.float32], probabilities: NDArray[np.float32], threshold: float, kept: _Mask
) -> Completed:
    """Complete the units of a page.

    Parameters
    ----------
    outline
        The outline of the page.
    scores, probabilities
        (n_blocks,) scores, and probabilities before the policy.
    threshold
        The threshold that scores were compared with.
    kept
        (n_blocks,) blocks that the scores keep.

    Examples
    --------
    >>> import blockml
    >>> outline = Outline(blockml.parse("<p>We need:<ul><li>flour<li>water and salt<li>yeast</ul><p>Imprint"))
    >>> scores = np.array([.9, .3, .8, .2, .1], np.float32)
    >>> found = complete(outline, scores, scores, 0.5, scores >= 0.5)
    >>> found.kept.tolist(), [str(reason) for reason, _ in found.reasons]
    ([True, True, True, True, False], ['kept_with_list'])
    """
    page = Completed(outline, scores, probabilities, threshold, kept.copy())
    n_kept = np.count_nonzero(kept)
    if n_kept and n_kept < len(kept):
        if outline.data_table is not None:
            _complete_tables(page, outline.data_table)
        if outline.plain_list is not None:
            _complete_lists(page, outline.plain_list)
        _complete_lines(page)
        _complete_sentences(page)
        heading = outline.unit(UnitKind.HEADING)
        if heading is not None:
            _complete_headings(page, heading)
    return page


def _complete_tables(page: Completed, table: NDArray[np.int32]) -> None:
    """Keep data tables below the threshold if the probabilities of half of their words reach it."""
    rows = (table >= 0).nonzero()[0]
    _, number = np.unique(table[rows], return_inverse=True)
    words = page.words[rows]
    is_likely = page.probabilities[rows] >= np.float32(page.threshold)
    total, likely = np.bincount(number, words), np.bincount(number, words * is_likely)
    page.keep(rows[((2 * likely >= total) & (likely > 0))[number]], Reason.KEPT_WITH_TABLE)


def _complete_lists(page: Completed, plain: NDArray[np.int32]) -> None:
    """Keep all of a plain list, or of one of its items, of which most is kept."""
    is_torn = (page.kept[1:] != page.kept[:-1]) & (plain[1:] == plain[:-1]) & (plain[1:] >= 0)
    item = page.outline.unit(UnitKind.ITEM)
    for element in {*plain[1:][is_torn].tolist()}:
        rows = _rows(_blocks_of(page.outline, element))
        if item is not None:
            _, number = np.unique(item[rows], return_inverse=True)
            page.keep(rows[_most_kept(page, rows, number)], Reason.KEPT_WITH_ITEM)
        page.keep(rows[_most_kept(page, rows, np.zeros_like(rows))], Reason.KEPT_WITH_LIST)


def _most_kept(page: Completed, rows: NDArray[np.intp], number: NDArray[np.intp]) -> _Mask:
    """Return (n_rows,) whether most words of the blocks with the same number are kept."""
    words = page.words[rows]
    total, of_kept = np.bincount(number, words), np.bincount(number, words * page.kept[rows])
    found: _Mask = ((of_kept >= _MIN_SHARE * total) & (of_kept > 0))[number]
    return found


def _complete_lines(page: Completed) -> None:
    """Keep lines that announce something kept, and the lists, tables, code and values that kept lines announce."""
    texts, line = page.outline.page.blocks.texts, page.outline.line
    rows = page.words.nonzero()[0]
    is_kept = page.kept[rows]
    places = (is_kept[:-1] | is_kept[1:]).nonzero()[0]
    for before, after in zip(rows[places].tolist(), rows[places + 1].tolist(), strict=True):
        if not texts[before].endswith(_ANNOUNCES) or line[before] == line[after]:
            continue
        first, last = (int(line.searchsorted(line[block])) for block in (before, after))
        lead, announced = slice(first, before + 1), _announced(page.outline, before, after)
        reason, minimum = Reason.KEPT_WITH_LEAD_IN, _MIN_LIST
        if announced is None:
            if page.words[lead].sum() > _LABEL_WORDS:
                continue
            announced = slice(last, int(line.searchsorted(line[after], side="right")))
            reason, minimum = Reason.KEPT_WITH_LABEL, _MIN_LINE
        if page.kept[after]:
            page.keep(_rows(lead), Reason.KEPT_WITH_LIST if minimum == _MIN_LIST else Reason.KEPT_WITH_VALUE)
        if page.kept[before] and page.is_likely(announced, minimum, announced=minimum == _MIN_LIST):
            page.keep(_rows(announced), reason)


def _rows(blocks: slice) -> NDArray[np.intp]:
    """Return the indices of a range of blocks."""
    return np.arange(blocks.start, blocks.stop)


def _announced(outline: Outline, before: int, after: int) -> slice | None:
    """Return the blocks of the plain list, code or data table that begins after a line; None without one.

    Buttons before it, and hidden copies of it, are passed over.
    """
    blocks = outline.page.blocks
    for block in range(after, min(after + _PASSED + 1, len(blocks))):
        if blocks.flags[block] & _HIDDEN:
            continue
        for unit in (outline.data_table, outline.plain_list, outline.code):
            if unit is not None and unit[block] >= 0 and unit[block] != unit[before]:
                return None if _has_fields(outline, int(unit[block])) else _blocks_of(outline, int(unit[block]))
        if blocks.n_words[block] > 1:
            break
    return None


def _blocks_of(outline: Outline, element: int) -> slice:
    """Return the blocks of an element."""
    first, after = outline.blocks_in(np.array([element]))
    return slice(int(first[0]), int(after[0]))


def _has_fields(outline: Outline, element: int) -> bool:
    """Tell whether an element has fields of a form."""
    nodes = outline.page.nodes
    tags = [tag for tag, name in enumerate(nodes.names) if name in _FIELDS]
    return bool(np.isin(nodes.tag[element : nodes.end[element]], tags).any())


def _complete_sentences(page: Completed) -> None:
    """Keep a few words between two kept halves of a sentence, also if others between them are kept already."""
    line, texts, words = page.outline.line, page.outline.page.blocks.texts, page.words
    is_missing = _before((~page.kept).view(np.int8))
    ends = (page.kept & (words > 0)).nonzero()[0]
    ends = ends[is_missing[ends] > is_missing[np.maximum(ends - _MAX_BLOCKS, 0)]]
    for end in ends.tolist():
        if not texts[end][:1].islower():
            continue
        n_words = 0
        for start in range(end - 1, max(end - _MAX_BLOCKS, 0) - 1, -1):
            if n_words > _FEW_WORDS or line[end] - line[start] - 1 > _MAX_BETWEEN:
                break
            between = slice(start + 1, end)
            is_half = page.kept[start] and words[start] and texts[start][-1:] not in _ENDS_SENTENCE
            likely = page.scores[between] >= _MIN_LINE * page.threshold
            if is_half and not page.kept[between].all() and (likely | page.kept[between] | (words[between] == 0)).all():
                page.keep(_rows(between), Reason.KEPT_WITH_SENTENCE)
            n_words += words.item(start)


def _complete_headings(page: Completed, heading: NDArray[np.int32]) -> None:
    """Keep headings above kept text, and likely text below kept headings; remove headings without text.

    The first heading may be left out: it is the title. A heading without text stays if it is a link, whose text is
    elsewhere, or a title.
    """
    outline = page.outline
    section = outline.section
    starts = (section == np.arange(len(section))).nonzero()[0]
    ends = np.append(starts[1:], len(section))
    of_text = page.words * (heading < 0)
    text, of_kept = _before(of_text), _before(of_text * page.kept)
    has_text, in_section = text[ends] > text[starts], of_kept[ends] - of_kept[starts]
    first = int(page.kept.argmax())
    of_headings = _before(page.kept.view(np.int8))
    changes = np.append((heading[1:] != heading[:-1]).nonzero()[0] + 1, len(heading))
    after = changes[changes.searchsorted(starts, side="right")]
    n_kept = of_headings[after] - of_headings[starts]
    is_whole, has_kept = n_kept == after - starts, n_kept > 0
    # Where the default threshold keeps text, a higher one doesn't complete it, so that a lower one never keeps less.
    by_default = _before(of_text * (page.scores >= np.float32(_DEFAULT)))
    is_empty = (by_default[ends] == by_default[starts]) & ((in_section == 0) | (page.threshold < _DEFAULT))
    is_open = np.where(2 * in_section > text[ends] - text[starts], ~is_whole, has_kept & ((in_section == 0) | is_empty))
    for number in (has_text & is_open & ((starts > first) | has_kept)).nonzero()[0].tolist():
        start, end = starts.item(number), ends.item(number)
        below = _text_below(outline, heading, start, end)
        if 2 * in_section[number] > text[end] - text[start]:
            n_words, n_kept = (sums.item(below.stop) - sums.item(below.start) for sums in (text, of_kept))
            if 2 * n_kept > n_words and page.is_likely(slice(start, below.start), _MIN_HEADING):
                page.keep(_rows(slice(start, below.start)), Reason.KEPT_WITH_TEXT)
        elif is_empty[number] and page.is_likely(below, _MIN_TEXT):
            page.keep(_rows(below), Reason.KEPT_WITH_HEADING)
        elif not in_section[number] and not _may_be_alone(page, heading, starts[number:], in_section[number:]):
            page.remove(_rows(slice(start, below.start)), Reason.REMOVED_WITH_TEXT)


def _before(values: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return (n_blocks + 1,) the sum of the values (n_blocks,) before each block."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    values.cumsum(out=sums[1:])
    return sums


def _may_be_alone(
    page: Completed, heading: NDArray[np.int32], starts: NDArray[np.intp], of_kept: NDArray[np.int64]
) -> bool:
    """Tell whether the first of some headings is a link or a title, or has kept text before the next one of its level.

    ``of_kept`` (n_headings,) are the words of kept text in the section of each.
    """
    nodes, blocks, start = page.outline.page.nodes, page.outline.page.blocks, int(starts[0])
    name = nodes.name(heading.item(start))
    if name == "h1" or 2 * blocks.n_linked[start] >= blocks.n_words[start]:
        return True
    for other, n_words in zip(starts[1:].tolist(), of_kept[1:].tolist(), strict=True):
        if n_words or nodes.name(heading.item(other)) <= name:
            return nodes.name(heading.item(other)) > name
    return False


def _text_below(outline: Outline, heading: NDArray[np.int32], start: int, end: int) -> slice:
    """Return the blocks below a heading in the innermost element around it that has some, in its section."""
    nodes, owner = outline.page.nodes, outline.page.blocks.node
    node, first = heading.item(start), start
    while heading.item(first) == node:
        first += 1
    while node >= 0 and nodes.end.item(node) <= owner.item(first):
        node = nodes.parent.item(node)
    return slice(first, end if node < 0 else min(end, int(owner.searchsorted(nodes.end.item(node)))))
