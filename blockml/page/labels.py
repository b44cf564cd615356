"""Labels of blocks, statuses of extractions and reasons of decisions."""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """Type of a block. Binary labels are derived from it: see :data:`MAIN_LABELS`."""

    MAIN = "main"
    HEADING = "heading"
    SUPPLEMENT = "supplement"
    COMMENT = "comment"
    RELATED = "related"
    NAVIGATION = "navigation"
    ADVERTISEMENT = "advertisement"
    FOOTER = "footer"
    OTHER = "other"


#: Headline, full text and supplement: the main content in published uses of the L3S-GN1 data (Kohlschütter et al.
#: 2010).
MAIN_LABELS = frozenset({Label.MAIN, Label.HEADING, Label.SUPPLEMENT})


class Status(StrEnum):
    """Outcome of the extraction of one page. Bad input gives a status and never raises."""

    OK = "ok"  #: there is text
    NO_CONTENT = "no_content"  #: the page has blocks, but none was kept
    EMPTY_PAGE = "empty_page"  #: the page has no text block
    TRUNCATED = "truncated"  #: a limit was reached, or the archive contains only part of the page
    UNDECODABLE = "undecodable"  #: not HTML but a binary format, or in an encoding that browsers refuse


class Reason(StrEnum):
    """Why a block was kept or removed."""

    ABOVE_THRESHOLD = "above_threshold"
    KEPT_WITH_CODE = "kept_with_code"  #: part of a preformatted text whose mean score reaches the threshold
    KEPT_WITH_TABLE = "kept_with_table"  #: part of a data table whose mean score reaches the threshold
    KEPT_WITH_LIST = "kept_with_list"  #: part of a list enough of which is kept, or the line that announces a kept list
    KEPT_WITH_LEAD_IN = "kept_with_lead_in"  #: list, table or code that a kept line announces
    KEPT_WITH_LABEL = "kept_with_label"  #: value of a kept label
    KEPT_WITH_VALUE = "kept_with_value"  #: label of a kept value
    KEPT_WITH_SENTENCE = "kept_with_sentence"  #: between two kept halves of a sentence
    KEPT_WITH_MARK = "kept_with_mark"  #: footnote to which a kept mark leads
    KEPT_WITH_HEADING = "kept_with_heading"  #: text of a kept heading
    KEPT_WITH_TEXT = "kept_with_text"  #: heading of a kept text
    KEPT_WITH_POST = "kept_with_post"  #: author or date of a kept post, or a post of a thread most of which is kept
    DECLARED = "declared"  #: kept only because the page declares its text: see :mod:`blockml.decision.declared`
    ASKED_FOR = "asked_for"  #: kept only because its label is included
    KEPT_BY_RULE = "kept_by_rule"  #: kept only because of a rule for its site: see :mod:`blockml.rules`
    BELOW_THRESHOLD = "below_threshold"
    REMOVED_WITH_CODE = "removed_with_code"  #: part of a preformatted text whose mean score is below the threshold
    REMOVED_WITH_TABLE = "removed_with_table"  #: part of a data table whose mean score is below the threshold
    REMOVED_WITH_LIST = "removed_with_list"  #: part of a list too little of which reaches the threshold
    REMOVED_WITH_TEXT = "removed_with_text"  #: heading without a kept text
    REMOVED_WITH_POST = "removed_with_post"  #: profile, button or signature beside the body of a post
    NO_CONTENT = "no_content"  #: the whole page has too little content
    LINK = "link"  #: below the threshold only because it is a link next to running text
    DUPLICATE = "duplicate"  #: below the threshold only because the page contains the same text elsewhere
    SIDEBAR = "sidebar"  #: below the threshold only because the page marks its position as a sidebar
    COMMENT = "comment"  #: a reader's comment on a page that is not a forum
    HIDDEN = "hidden"  #: text that no reader sees: see :mod:`blockml.decision.hidden`
    TEMPLATE = "template"  #: part of the template of the page's site
    EXCLUDED = "excluded"  #: removed only because its label is excluded
    REMOVED_BY_RULE = "removed_by_rule"  #: removed only because of a rule for its site

    @property
    def keeps(self) -> bool:
        """Whether blocks with this reason are kept.

        Examples
        --------
        >>> Reason.KEPT_WITH_LIST.keeps, Reason.LINK.keeps
        (True, False)
        """
        return self in _KEEPING


_KEEPING = frozenset({Reason.ABOVE_THRESHOLD, Reason.DECLARED, Reason.ASKED_FOR}) | {
    reason for reason in Reason if reason.startswith("kept_")
}
