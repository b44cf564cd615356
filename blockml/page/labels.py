"""Labels of blocks, and how an extraction can end."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["MAIN_LABELS", "Label", "Reason", "Status"]


class Label(StrEnum):
    """What a block is. Binary main content is a view of these: see :data:`MAIN_LABELS`."""

    MAIN = "main"
    HEADING = "heading"
    SUPPLEMENT = "supplement"
    COMMENT = "comment"
    RELATED = "related"
    NAVIGATION = "navigation"
    ADVERTISEMENT = "advertisement"
    FOOTER = "footer"
    OTHER = "other"


#: Headline, full text and supplement: the reading of "main content" that the readers of the L3S-GN1 data share
#: (Kohlschütter et al. 2010).
MAIN_LABELS = frozenset({Label.MAIN, Label.HEADING, Label.SUPPLEMENT})


class Status(StrEnum):
    """How the extraction of one page ended; a page never raises."""

    OK = "ok"  #: there is text
    NO_CONTENT = "no_content"  #: the page has blocks, and none was kept
    EMPTY_PAGE = "empty_page"  #: the page has no text block at all
    TRUNCATED = "truncated"  #: a limit was hit: the result covers a part of the page
    UNDECODABLE = "undecodable"  #: the bytes are not text


class Reason(StrEnum):
    """Why a block was kept or removed."""

    ABOVE_THRESHOLD = "above_threshold"
    KEPT_WITH_CODE = "kept_with_code"  #: a piece of preformatted text whose mean score reaches the threshold
    ASKED_FOR = "asked_for"  #: kept for its label, though it would be removed without
    BELOW_THRESHOLD = "below_threshold"
    REMOVED_WITH_CODE = "removed_with_code"  #: a piece of preformatted text whose mean score is below the threshold
    NO_CONTENT = "no_content"  #: the page as a whole has too little content
    LINK = "link"  #: below the threshold only because it is a link beside a body of running text
    DUPLICATE = "duplicate"  #: below the threshold only because its text stands on the page already
    COMMENT = "comment"  #: a reader's comment on a page that is no forum
    TEMPLATE = "template"  #: part of the template of the page's site
    EXCLUDED = "excluded"  #: removed for its label, though it would be kept without
