"""A chain of filters over the elements of a page, after Crunch (Gupta et al. 2003, 2005).

A re-creation of the published idea; the original program has settings for each site. Each filter removes elements from
the output of the filter before; the remaining text is content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.extractors.extractor import Between, Extractor, Traits, parameter
from blockml.page import Flag, Nodes, Page
from blockml.page.subtrees import in_blocks, nearest, nearest_above, subtree_sums
from blockml.text.words import find_words

#: Elements without prose: code, embedded pages and programs, form controls.
_PROSELESS = frozenset("script style iframe object embed applet button select input textarea".split())

#: Elements without prose, unless they contain the whole page.
_WRAPPERS = frozenset({"form", "noscript"})

#: Words of ``class`` and ``id`` of advertisements; hyphens and underscores separate words.
_AD_WORD = re.compile(
    r"(?<![a-z0-9])(?:ad|ads|advert|advertisement|banner|sponsor|promo|doubleclick)(?![a-z0-9])", re.IGNORECASE
)

#: Hosts of advertisements; Crunch used a public list of the same kind (Gupta et al. 2003). Sub-domains count too.
AD_HOSTS = (
    "2mdn.net", "adnxs.com", "advertising.com", "amazon-adsystem.com", "atdmt.com", "criteo.com", "doubleclick.net",
    "googleadservices.com", "googlesyndication.com", "outbrain.com", "taboola.com", "zedo.com",
)  # fmt: skip

#: Elements that may contain a list of links, or be left empty. Crunch looked at table cells (Gupta et al. 2003).
_CONTAINERS = frozenset("ul ol table td div p".split())

_HOST = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#@]*@)?([^/?#:\s]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """A page after some filters."""

    nodes: Nodes
    words: NDArray[np.int64]  #: (n_nodes,) words of each text.
    left: NDArray[np.bool_]  #: (n_nodes,) whether the node is still there.


#: Returns (n_nodes,) the elements to be removed with their subtrees.
_Filter = Callable[[_Rest], NDArray[np.bool_]]


def _elements(rest: _Rest) -> NDArray[np.bool_]:
    """Find elements without prose, forms, and ``noscript`` elements."""
    proseless = rest.nodes.named(_PROSELESS)
    outside = rest.left & (nearest(rest.nodes, proseless) < 0)
    return proseless | (rest.nodes.named(_WRAPPERS) & _is_part(replace(rest, left=outside)))


def _is_part(rest: _Rest) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of nodes with at most half of the remaining words (our choice).

    Larger ones count as the page itself. Some frameworks put a whole page into one form or one ``noscript``, and some
    pages have a class about advertisements on their body.
    """
    words = rest.words * rest.left
    part: NDArray[np.bool_] = 2 * subtree_sums(rest.nodes, words) <= words.sum()
    return part


def _adverts(rest: _Rest, hosts: frozenset[str]) -> NDArray[np.bool_]:
    """Find elements whose class or id names an advertisement, or whose address is on an advertiser's host."""
    struck = np.zeros(len(rest.nodes), dtype=bool)
    for node, attributes in enumerate(rest.nodes.attributes):
        if attributes:
            names = f"{attributes.get('class', '')} {attributes.get('id', '')}"
            address = attributes.get("src") or attributes.get("href") or ""
            struck[node] = _AD_WORD.search(names) is not None or ("//" in address and _is_on(address, hosts))
    return struck & _is_part(rest)


def _is_on(address: str, hosts: frozenset[str]) -> bool:
    """Return whether an absolute address is on one of the hosts, or below one."""
    match = _HOST.match(address)
    labels = match[1].lower().split(".") if match else []
    return not hosts.isdisjoint(".".join(labels[start:]) for start in range(len(labels)))


def _link_lists(rest: _Rest, ratio: float) -> NDArray[np.bool_]:
    """Find containers with at least two links and more than ``ratio`` links per unlinked word."""
    nodes = rest.nodes
    unlinked = rest.words * ((nodes.flags & Flag.LINK) == 0)

    def goes(links: int, words: int) -> bool:
        return links >= 2 and (words == 0 or links / words > ratio)

    return _innermost_first(rest, _CONTAINERS, nodes.named({"a"}), unlinked, goes)


def _text_lists(rest: _Rest) -> NDArray[np.bool_]:
    """Find lists whose items have fewer than three words on average."""

    def goes(items: int, words: int) -> bool:
        return words < 3 * items

    return _innermost_first(rest, {"ul", "ol"}, rest.nodes.named({"li"}), rest.words, goes)


def _empty(rest: _Rest) -> NDArray[np.bool_]:
    """Find containers without remaining words, such as separators between removed links."""
    wordless: NDArray[np.bool_] = subtree_sums(rest.nodes, rest.words * rest.left) == 0
    return wordless & rest.nodes.named(_CONTAINERS)


def _innermost_first(
    rest: _Rest,
    names: Set[str],
    first: NDArray[np.integer[Any]] | NDArray[np.bool_],
    second: NDArray[np.integer[Any]] | NDArray[np.bool_],
    goes: Callable[[int, int], bool],
) -> NDArray[np.bool_]:
    """Remove elements by two sums over their subtrees, inner elements before outer ones.

    Subtrees that were removed do not count for outer elements.

    Parameters
    ----------
    rest
        The remaining page.
    names
        Names of the elements that may be removed.
    first, second
        (n_nodes,) the counts of single nodes.
    goes
        Returns whether an element with these two sums is removed.
    """
    nodes = rest.nodes
    candidates = rest.left & nodes.named(names)
    sums = [subtree_sums(nodes, values * rest.left).tolist() for values in (first, second)]
    outer = nearest_above(nodes, candidates).tolist()
    lost = [[0] * (len(nodes) + 1) for _ in sums]  # the last entry is for texts without a candidate above
    struck = np.zeros(len(nodes), dtype=bool)
    for node in np.flatnonzero(candidates)[::-1].tolist():
        struck[node] = goes(sums[0][node] - lost[0][node], sums[1][node] - lost[1][node])
        for total, gone in zip(sums, lost, strict=True):
            gone[outer[node]] += total[node] if struck[node] else gone[node]
    return struck


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """Effect of each filter on a page."""

    shares: Sequence[NDArray[np.float32]]
    """(n_blocks,) share of each block's words that remains, before the first filter and after each."""
    taken: Mapping[str, NDArray[np.int64]]
    """For each filter, the (n_nodes,) element with which it removed a node; -1 for nodes that it kept."""


@dataclass(eq=False, repr=False)
class Crunch(Extractor):
    """Removes boilerplate by a chain of filters.

    Each filter can be switched off; they run in the order of the parameters.

    Parameters
    ----------
    ratio
        Maximum links per unlinked word of a container that is not a link list.
    elements
        Remove scripts, embedded objects and controls, and forms and ``noscript`` without most of the page's words.
    adverts
        Remove elements with a ``class`` or ``id`` of advertisements, or with an address on a host of ``ad_hosts``,
        unless they have most of the page's words.
    link_lists
        Remove lists, tables, cells, divisions and paragraphs with at least two links and more than ``ratio`` links
        per unlinked word, inner ones first.
    text_lists
        Remove lists whose items have fewer than three words on average.
    empty
        Remove lists, tables, cells, divisions and paragraphs without remaining words.
    retain_links
        Keep the linked text of removed link lists. Crunch appends these links to the page; here they stay in place.
    ad_hosts
        Hosts of advertisements, with their sub-domains.

    Examples
    --------
    >>> import blockml
    >>> page = "<ul><li><a>Home</a><li><a>News</a></ul><p>See <a>this</a> and many other words.</p>"
    >>> blockml.extract(page, model=Crunch()).text
    'See this and many other words.'
    """

    name: ClassVar[str] = "crunch"
    traits: ClassVar[Traits] = Traits("Gupta et al. 2003, 2005 (re-created)")

    ratio: float = parameter(0.25, Between(0, 100))  # our choice; the original has a ratio of this kind
    _: KW_ONLY
    elements: bool = parameter(default=True)
    adverts: bool = parameter(default=True)
    link_lists: bool = parameter(default=True)
    text_lists: bool = parameter(default=False)
    empty: bool = parameter(default=True)
    retain_links: bool = parameter(default=False)
    ad_hosts: tuple[str, ...] = AD_HOSTS

    def check(self) -> None:
        """Check the arguments of the constructor."""
        super().check()
        hosts: object = self.ad_hosts
        if not isinstance(hosts, (tuple, list)) or not all(isinstance(host, str) for host in hosts):
            raise UsageError(f"parameter 'ad_hosts' of {self.name} must be a tuple of host names, got {hosts!r}")

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score each block by the share of its words that remain after all filters."""
        return self._trace(page).shares[-1]

    def filters(self, page: Page) -> dict[str, NDArray[np.bool_]]:
        """Return (n_blocks,) masks of the blocks that each filter removed, by name of the filter, in order.

        If several filters removed words of a block, the one after which less than half of them remained counts. Each
        block below the default threshold was thus removed by exactly one filter.

        Examples
        --------
        >>> import blockml
        >>> page = blockml.parse("<ul><li><a>Home</a><li><a>News</a></ul><p>And some text</p>")
        >>> Crunch().filters(page)["link_lists"].tolist()
        [True, True, False]
        """
        trace = self._trace(page)
        kept = [shares >= self.default_threshold for shares in trace.shares]
        return {name: before & ~after for name, (before, after) in zip(trace.taken, pairwise(kept), strict=True)}

    def explain(self, page: Page) -> tuple[str, ...]:
        """Return the filter that removed a block and the XPath of the removed element; empty for kept blocks."""
        notes = [""] * len(page.blocks)
        taken = self._trace(page).taken
        for name, removed in self.filters(page).items():
            blocks = np.flatnonzero(removed)
            spans = [taken[name][page.blocks.node[block] : page.blocks.last_node[block] + 1] for block in blocks]
            paths = page.nodes.xpaths([int(span[span >= 0][0]) for span in spans])
            for block, path in zip(blocks.tolist(), paths, strict=True):
                notes[block] = f"{name}: {path}"
        return tuple(notes)

    def _trace(self, page: Page) -> _Trace:
        """Run the filters."""
        self.check()
        chain: dict[str, _Filter] = {
            "elements": _elements,
            "adverts": partial(_adverts, hosts=frozenset(host.lower() for host in self.ad_hosts)),
            "link_lists": partial(_link_lists, ratio=self.ratio),
            "text_lists": _text_lists,
            "empty": _empty,
        }
        nodes = page.nodes
        # Scripts without spaces are counted by character; otherwise a Chinese sentence would be one word.
        words = np.bincount(find_words(nodes.texts, "cjk")[0], minlength=len(nodes)) * ((nodes.flags & Flag.HEAD) == 0)
        left, retained = np.ones(len(nodes), dtype=bool), np.zeros(len(nodes), dtype=bool)
        shares, taken = [_share(page, words, left)], {}
        for name, strikes in chain.items():
            struck = left & strikes(_Rest(nodes, words, left)) if getattr(self, name) else np.zeros_like(left)
            taken[name] = np.where(left, nearest(nodes, struck), -1)
            left = left & (taken[name] < 0)
            if self.retain_links and name == "link_lists":
                retained = (taken[name] >= 0) & ((nodes.flags & Flag.LINK) > 0)
            shares.append(_share(page, words, left | retained))
        return _Trace(shares, taken)


def _share(page: Page, words: NDArray[np.int64], left: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return (n_blocks,) share of each block's words that remain, or of its texts if it has no words."""
    is_text = page.nodes.tag == 0
    total = in_blocks(page.blocks, words)
    by_words = in_blocks(page.blocks, words * left) / np.maximum(total, 1)
    by_texts = in_blocks(page.blocks, is_text & left) / in_blocks(page.blocks, is_text)
    return np.where(total > 0, by_words, by_texts).astype(np.float32)
