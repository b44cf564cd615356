"""The data that travels the route of a page: nodes, blocks, page, extraction.

Everything is columns: one array or tuple per property, one entry per node or block. :class:`Block` is a view of
one row. Nothing here is changed after it was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAIN_LABELS",
    "Block",
    "Blocks",
    "Extraction",
    "Flag",
    "Joint",
    "Label",
    "Nodes",
    "Page",
    "Reason",
    "Status",
]

#: Element names that an XPath can hold.
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.-]*")


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

    SCORE_REACHES_THRESHOLD = "score_reaches_threshold"
    SCORE_BELOW_THRESHOLD = "score_below_threshold"
    KEPT_WITH_ITS_CODE = "kept_with_its_code"  #: a piece of preformatted text, whose mean score reaches the threshold
    REMOVED_WITH_ITS_CODE = "removed_with_its_code"  #: a piece of preformatted text, whose mean score doesn't
    LABEL_INCLUDED = "label_included"  #: kept for its label, though the score alone would remove it
    LABEL_EXCLUDED = "label_excluded"  #: removed for its label, though the score alone would keep it


class Flag(IntFlag):
    """Properties of a node (and, of its first text, of a block) that its ancestors or attributes give it."""

    NONE = 0
    HEAD = 1  #: inside ``head`` or a ``title``: never a block
    LINK = 2  #: inside ``a``
    HIDDEN = 4  #: ``hidden``, ``display:none`` or ``visibility:hidden`` on it or an ancestor
    NOSCRIPT = 8  #: inside ``noscript``
    PREFORMATTED = 16  #: inside ``pre``, ``textarea``, ``listing`` or ``xmp``: white space counts
    DROPPED = 32  #: a script, style or the like, kept as a childless separator without its text


class Joint(IntEnum):
    """What stands between a block's text and the text before it, as browsers lay them out by default.

    One thing differs: two inline elements side by side, both with a letter or digit at the border, are taken for two
    words. Style sheets mostly part them, as with label and value in spans.
    """

    GLUED = 0  #: nothing: the two are parts of one word
    SPACE = 1  #: white space: the same line of text goes on
    CELL = 2  #: the next cell of a table row
    LINE = 3  #: a line break, list item or table row
    PARAGRAPH = 4  #: a new paragraph


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The tree of a page in document order (pre-order): elements and text nodes, as columns.

    ``n`` is the number of nodes; node ``i`` has its descendants at ``i + 1 … end[i] - 1``. Comments and processing
    instructions are not nodes. Text that is only white space is no node either; it shows as white space at the
    start of the next text.
    """

    names: tuple[str, ...]
    """Element names; ``names[0]`` is ``#text``."""
    tag: NDArray[np.int32]
    """(n,) index into ``names``."""
    parent: NDArray[np.int32]
    """(n,) index of the parent node; -1 for a root. A page with content after ``</html>`` has several roots."""
    depth: NDArray[np.int32]
    """(n,) number of ancestors."""
    end: NDArray[np.int32]
    """(n,) index one past the node's last descendant."""
    flags: NDArray[np.uint8]
    """(n,) :class:`Flag` bits, inherited."""
    attributes: Sequence[Mapping[str, str]]
    """(n,) attributes by lower-case name; empty for text."""
    texts: Sequence[str]
    """(n,) raw text of a text node; empty for elements."""

    def __len__(self) -> int:
        return len(self.tag)

    def name(self, node: int) -> str:
        """Name of one node: an element name or ``#text``."""
        return self.names[int(self.tag[node])]

    def named(self, names: Set[str]) -> NDArray[np.bool_]:
        """(n,) whether a node is an element with one of these names.

        Examples
        --------
        >>> import blockml
        >>> blockml.parse("<p>one<br>two</p>").nodes.named({"p", "br"}).tolist()
        [False, False, False, True, False, True, False]
        """
        return np.array([name in names for name in self.names], dtype=bool)[self.tag]

    def places(self, name: str) -> NDArray[np.int64]:
        """Indices of the elements with a name, rising."""
        if name not in self.names:
            return np.zeros(0, dtype=np.int64)
        places: NDArray[np.int64] = (self.tag == self.names.index(name)).nonzero()[0].astype(np.int64, copy=False)
        return places

    def ancestors(self, node: int) -> list[int]:
        """Indices of a node's ancestors, innermost first."""
        chain = []
        while (node := int(self.parent[node])) >= 0:
            chain.append(node)
        return chain

    def xpath(self, node: int) -> str:
        """Absolute XPath of an element, or of the element that holds a text node.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<p>one</p><p>two</p>")
        >>> page.nodes.xpath(page.blocks[1].node)
        '/html/body/p[2]'
        """
        return self.xpaths([node])[0]

    def xpaths(self, nodes: Sequence[int]) -> list[str]:
        """XPaths of many nodes at once; see :meth:`xpath`."""
        # Siblings of one name lie side by side, in document order, once sorted by parent and tag.
        order = np.lexsort((self.tag, self.parent))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(self.parent[order]) != 0) | (np.diff(self.tag[order]) != 0)
        group = np.cumsum(new) - 1
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.flatnonzero(new)[group] + 1
        n_alike = np.empty(len(order), dtype=np.int64)
        n_alike[order] = np.bincount(group)[group]
        known = {-1: ""}
        plain = [_PLAIN_NAME.fullmatch(name) is not None for name in self.names]
        if not all(plain):
            place_of_any = self._places_among_elements()
        for node in nodes:
            chain = []
            climbing = int(node)
            while climbing not in known:
                chain.append(climbing)
                climbing = int(self.parent[climbing])
            for element in reversed(chain):
                parent = known[int(self.parent[element])]
                if self.tag[element] == 0:
                    known[element] = parent
                elif plain[int(self.tag[element])]:
                    number = f"[{place[element]}]" if n_alike[element] > 1 else ""
                    known[element] = f"{parent}/{self.name(element)}{number}"
                else:  # no name that XPath can write: count among all elements
                    known[element] = f"{parent}/*[{place_of_any[element]}]"
        return [known[node] for node in nodes]

    def _places_among_elements(self) -> NDArray[np.int64]:
        """(n,) number of each element among the elements with the same parent, from 1."""
        elements = np.flatnonzero(self.tag != 0)
        order = elements[np.argsort(self.parent[elements], kind="stable")]
        new = np.ones(len(order), dtype=bool)
        new[1:] = np.diff(self.parent[order]) != 0
        places = np.zeros(len(self), dtype=np.int64)
        places[order] = np.arange(len(order)) - np.flatnonzero(new)[np.cumsum(new) - 1] + 1
        return places

    def find(self, xpath: str) -> int | None:
        """Index of the element with an absolute XPath as :meth:`xpath` writes it; None if there is none.

        Examples
        --------
        >>> import blockml
        >>> nodes = blockml.parse("<p>one</p><p>two</p>").nodes
        >>> nodes.name(nodes.find("/html/body/p[2]")), nodes.find("/html/body/div")
        ('p', None)
        """
        node, last = -1, len(self)
        for step in xpath.strip("/").split("/"):
            name, _, place = step.partition("[")
            if name not in self.names and name != "*":
                return None
            window = slice(node + 1, last)
            tags = self.tag[window]
            alike = (self.parent[window] == node) & (tags != 0 if name == "*" else tags == self.names.index(name))
            children = alike.nonzero()[0]
            if not re.fullmatch(r"(\d+\])?", place):
                return None  # a step that xpath() never writes
            number = int(place.rstrip("]") or 1)
            if not 1 <= number <= len(children):
                return None
            node += 1 + int(children[number - 1])
            last = int(self.end[node])
        return node


@dataclass(frozen=True, slots=True)
class Block:
    """One text block: a view of one row of :class:`Blocks`."""

    index: int
    """Position among the page's blocks, from 0."""
    text: str
    """Text with white space normalised."""
    n_words: int
    """Number of words: white-space separated pieces of each of its texts, with a letter or digit."""
    n_linked: int
    """How many of them stand inside ``a``."""
    first_line: int
    """Line of its first text in the refined document, from 1."""
    last_line: int
    """Line of its last text."""
    parent: str
    """Name of the deepest element that holds all of its text."""
    node: int
    """Index of its first text node."""
    last_node: int
    """Index of its last text node."""
    flags: Flag
    """Flags of its first text node."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The text blocks of a page as columns; ``blocks[i]`` and iteration give :class:`Block` views.

    ``n`` is the number of blocks.
    """

    texts: tuple[str, ...]
    """(n,) text with white space normalised."""
    n_words: NDArray[np.int32]
    """(n,) words."""
    n_linked: NDArray[np.int32]
    """(n,) linked words."""
    first_line: NDArray[np.int32]
    """(n,) line of the first text, from 1."""
    last_line: NDArray[np.int32]
    """(n,) line of the last text."""
    parent: NDArray[np.int32]
    """(n,) node index of the deepest element that holds all text; -1 if there is none."""
    node: NDArray[np.int32]
    """(n,) index of the first text node."""
    last_node: NDArray[np.int32]
    """(n,) index of the last text node."""
    flags: NDArray[np.uint8]
    """(n,) :class:`Flag` bits of the first text node."""
    joints: NDArray[np.uint8]
    """(n,) :class:`Joint` to the text before."""
    word_lengths: NDArray[np.int32]
    """(sum of n_words,) length of every word in characters, block after block."""
    parents: tuple[str, ...]
    """(n,) name of the parent element; empty string if there is none."""

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Block:
        if not -len(self) <= index < len(self):
            raise IndexError(f"block {index} of a page with {len(self)} blocks")
        i = index % len(self)
        return Block(
            index=i,
            text=self.texts[i],
            n_words=int(self.n_words[i]),
            n_linked=int(self.n_linked[i]),
            first_line=int(self.first_line[i]),
            last_line=int(self.last_line[i]),
            parent=self.parents[i],
            node=int(self.node[i]),
            last_node=int(self.last_node[i]),
            flags=Flag(int(self.flags[i])),
        )

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A parsed page: what every feature, extractor and report works on."""

    url: str | None
    """Where the page came from, if known."""
    title: str
    """Text of the first ``title``, white space normalised."""
    encoding: str
    """Name of the encoding the bytes were decoded with; ``utf-8`` for a ``str``."""
    encoding_source: str
    """The rule that found it: see :func:`blockml.parsing.decoding.decode`."""
    backend: str
    """The parser that built the tree."""
    profile: str
    """The segmentation profile that cut the blocks."""
    warnings: tuple[str, ...]
    """What was odd about the page, one sentence each."""
    status: Status
    """``ok``, ``empty_page``, ``truncated`` or ``undecodable``: what parsing alone can say."""
    nodes: Nodes
    """The tree."""
    blocks: Blocks
    """The text blocks, in document order."""
    utf8: bytes | None = None
    """The text that was parsed, in UTF-8; None for a page made from another one."""

    @property
    def source(self) -> str | None:
        """The text that was parsed, made anew each time; None for a page made from another one."""
        return None if self.utf8 is None else self.utf8.decode("utf-8")


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """What was taken from one page, and why."""

    status: Status
    """How it ended. The text is empty only under a status that says why."""
    text: str
    """The main content as plain text."""
    page: Page
    """The page it came from."""
    scores: NDArray[np.float32]
    """(n_blocks,) score of each block in [0, 1], before the decision."""
    kept: NDArray[np.bool_]
    """(n_blocks,) the decision."""
    reasons: tuple[Reason, ...]
    """(n_blocks,) why."""
    confidence: float
    """How good this is likely to be, in [0, 1]: the F1 that a model expects of its own decision; of other extractors
    the share of words whose decision is right, if their scores are probabilities."""
    model: str
    """Name and version of the model or extractor."""
    remarks: tuple[str, ...] = ()
    """What the extractor says about the page as a whole, one sentence each."""
    labels: Sequence[Label] | None = None
    """(n_blocks,) what each block is; None if the extractor only tells content from the rest."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the page, and remarks of the extractor."""
        return self.page.warnings + self.remarks

    def __str__(self) -> str:
        return self.text
