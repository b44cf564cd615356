"""Several extractors as one: unions, intersections, votes and chains.

Gottron 2008, *Combining content extraction heuristics: the CombinE system*, and the future work of his *Content code
blurring*.
"""

from __future__ import annotations

import reprlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Decision
from blockml.errors import UnknownNameError, UsageError
from blockml.extractors.base import Between, Extractor, Prediction, Traits
from blockml.extractors.methods import METHODS
from blockml.page import Blocks, Nodes, Page, Separator, Status
from blockml.parsing.lines import line_numbers
from blockml.parsing.options import ParsingOptions

__all__ = [
    "LEAST_SCORE",
    "Combination",
    "Intersection",
    "Majority",
    "Member",
    "Serial",
    "Union",
    "remaining_scores",
    "without_blocks",
]

#: An extractor, or the name of a method: a key of :data:`blockml.extractors.methods.METHODS`.
Member = str | Extractor

#: Least threshold of a chain, and with it least score of what is left where the last member keeps all: what earlier
#: members removed scores 0 and stays removed.
LEAST_SCORE = 1e-6


def remaining_scores(decision: Decision, member: Extractor) -> NDArray[np.float32]:
    """(n_blocks,) scores of a member by which another one can decide: 0 for what was removed whatever it scores.

    What is left scores more than 0 even where the member keeps all.
    """
    scores = np.where(decision.overruled, np.float32(0), decision.scores)
    return np.maximum(scores, np.float32(LEAST_SCORE)) if member.effective_threshold < LEAST_SCORE else scores


class Combination(Extractor):
    """Decides by what its members decide.

    All members see the page as the combination parses it, whatever parsing they would choose for themselves.
    Extractors that have to learn are given as objects that have learnt.
    """

    traits: ClassVar[Traits] = Traits("Gottron 2008 (CombinE)")
    members: Sequence[Member]
    """Names of methods, or extractors: combinations and models may be among them."""

    def check(self) -> None:
        """Check the members, and the members of members.

        Raises
        ------
        UsageError
            They are no list of names and extractors, or one of them holds itself.
        UnknownNameError
            No method has such a name.
        """
        super().check()
        waiting: list[tuple[Combination, tuple[int, ...]]] = [(self, ())]
        while waiting:
            combination, above = waiting.pop()
            if id(combination) in above:
                raise UsageError(f"{combination.name} can't be a member of itself")
            for member in combination.extractors():
                if isinstance(member, Combination):
                    waiting.append((member, (*above, id(combination))))
                else:
                    member.check()

    def extractors(self) -> list[Extractor]:
        """Members as extractors.

        Raises
        ------
        UsageError
            They are no list of names and extractors.
        UnknownNameError
            No method has such a name.
        """
        members = self.members
        is_list = isinstance(members, list | tuple) and len(members) > 0
        if not is_list or not all(isinstance(member, str | Extractor) for member in members):
            raise UsageError(
                f"parameter 'members' of {self.name} must be a list of one or more names or extractors, got {members!r}"
            )
        for member in members:
            if isinstance(member, str) and member not in METHODS:
                raise UnknownNameError("member", member, METHODS)
        return [METHODS[member]() if isinstance(member, str) else member for member in members]

    @property
    def uses_siblings(self) -> bool:
        """Whether a member does."""
        return any(member.uses_siblings for member in self.extractors())

    def with_members(self, change: Callable[[Extractor], Extractor]) -> Self:
        """Make the same combination of changed members."""
        return copy(self).set_params(members=[change(member) for member in self.extractors()])

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:
        """Let each member learn from pages; the ones given stay as they are."""
        learnt = list(pages) if self.uses_siblings else []
        if self.uses_siblings:
            self.members = self.with_members(lambda member: copy(member).fit(learnt, labels)).members
        return self

    @property
    def id(self) -> str:
        """Name, and arguments that are not the default, members by their ids."""
        self.check()  # ids of members that hold each other would never end
        shown, defaults = ({**item.get_params(), "members": _joined(item.members)} for item in (self, type(self)()))
        changed = [f"{name}={value}" for name, value in shown.items() if value != defaults[name]]
        return f"{self.name}({', '.join(changed)})" if changed else self.name


def _joined(members: Sequence[Member]) -> str:
    return "+".join(member if isinstance(member, str) else member.id for member in members)


#: Legal weights of a member's vote.
_WEIGHTS = Between(0, 1_000_000)

# The default members of each are cheap ones that did well together on pages of WCXB, from one half of its sites.


class _Vote(Combination):
    """A combination in which each member decides for itself."""

    def score(self, page: Page) -> NDArray[np.float32]:
        """Count the members' decisions."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Count the members' decisions, and pass on what the members remark."""
        self.check()
        members = self.extractors()
        found = [member.predict(page) for member in members]
        votes = [member.decide(page, prediction).kept for member, prediction in zip(members, found, strict=True)]
        remarks = dict.fromkeys(remark for prediction in found for remark in prediction.remarks)
        return Prediction(self.count(np.array(votes)).astype(np.float32), tuple(remarks))

    def votes(self, page: Page) -> NDArray[np.bool_]:
        """Tell what each member decides: (n_members, n_blocks)."""
        return np.array([member.decide(page).kept for member in self.extractors()])

    @abstractmethod
    def count(self, votes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Turn votes into scores, (n_members, n_blocks) into (n_blocks,)."""

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the members that keep a block."""
        ids = np.array([member.id for member in self.extractors()], dtype=object)
        return tuple([", ".join(ids[column]) for column in self.votes(page).T])


@dataclass(eq=False, repr=False)
class Union(_Vote):
    """Keeps what any member keeps.

    Parameters
    ----------
    members
        Names or extractors.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p>Home</p><p>{'word ' * 60}</p>")
    >>> Union(["numwords", "density"]).score(page).tolist(), Union(["density"]).score(page).tolist()
    ([1.0, 1.0], [1.0, 0.0])
    """

    name: ClassVar[str] = "union"
    members: Sequence[Member] = ("bte", "numwords")

    def count(self, votes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give 1 to a block that any member keeps; what lies between is the score of :class:`Majority`."""
        return np.where(votes.any(axis=0), 1.0, 0.0)


@dataclass(eq=False, repr=False)
class Intersection(_Vote):
    """Keeps what every member keeps.

    Parameters
    ----------
    members
        Names or extractors.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p>Home</p><p>{'word ' * 60}</p>")
    >>> Intersection(["numwords", "density"]).score(page).tolist()
    [1.0, 0.0]
    """

    name: ClassVar[str] = "intersection"
    members: Sequence[Member] = ("lqf", "crunch")

    def count(self, votes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give 1 to a block that every member keeps; what lies between is the score of :class:`Majority`."""
        return np.where(votes.all(axis=0), 1.0, 0.0)


@dataclass(eq=False, repr=False)
class Majority(_Vote):
    """Keeps what members with at least half of all weight keep.

    Parameters
    ----------
    members
        Names or extractors.
    weights
        Weight of each member's vote, 0 or more; all alike if None.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p>Home</p><p>{'word ' * 60}</p>")
    >>> Majority(["numwords", "density", "plain"], weights=[1, 2, 1]).score(page).tolist()
    [1.0, 0.5]
    """

    name: ClassVar[str] = "majority"
    members: Sequence[Member] = ("bte", "lqf", "crunch", "kfe", "numwords")
    weights: Sequence[float] | None = None

    def check(self) -> None:
        """Check members and weights.

        Raises
        ------
        UsageError
            The weights are no numbers from 0 on, one for each member, some of them positive.
        """
        super().check()
        weights = self.weights
        if weights is None:
            return
        is_list = isinstance(weights, list | tuple) and len(weights) == len(self.members)
        if not is_list or not all(weight in _WEIGHTS for weight in weights) or not any(weights):
            raise UsageError(
                f"parameter 'weights' of {self.name} must be a list of {_WEIGHTS} for each of the "
                f"{len(self.members)} members, not all 0; got {reprlib.repr(weights)}"
            )

    def count(self, votes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give each block the share of the weight of those who keep it."""
        weights = np.ones(len(votes)) if self.weights is None else np.array(self.weights, dtype=np.float64)
        share: NDArray[np.float64] = weights @ votes / weights.sum()
        return share


@dataclass(eq=False, repr=False)
class Serial(Combination):
    """Lets each member work on the page that the members before it have left.

    Scores, threshold and parsing are the last member's; what an earlier member removes scores 0.

    Parameters
    ----------
    members
        Names or extractors, in order.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse(f"<p><a href=/>Home</a></p><p>{'word ' * 20}</p><p>Last words</p>")
    >>> Serial(["numwords"]).score(page).tolist(), Serial(["lqf", "numwords"]).score(page).tolist()
    ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    """

    name: ClassVar[str] = "serial"
    members: Sequence[Member] = ("crunch", "bte")

    @property
    def default_threshold(self) -> float:
        """Threshold of the last member."""
        last = self.extractors()[-1]
        return max(last.effective_threshold, LEAST_SCORE)

    @property
    def parsing(self) -> ParsingOptions:
        """Parsing of the last member: a model's pages have to be cut as in training."""
        return self.extractors()[-1].parsing

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score what is left with the last member."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score what is left with the last member, and pass on what the members remark."""
        self.check()
        *_, last = self.extractors()
        stages, remarks = self._stages(page)
        scores = np.zeros(len(page.blocks), dtype=np.float32)
        rest = without_blocks(page, ~stages[-1])
        left = last.predict(rest)
        scores[stages[-1]] = remaining_scores(last.decide(rest, left), last)
        return Prediction(scores, (*remarks, *left.remarks))

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the earlier member that removes a block."""
        notes = np.full(len(page.blocks), "", dtype=object)
        stages, _ = self._stages(page)
        for member, before, after in zip(self.extractors(), stages, stages[1:], strict=False):
            notes[before & ~after] = f"removed by {member.id}"
        return tuple(notes.tolist())

    def _stages(self, page: Page) -> tuple[list[NDArray[np.bool_]], list[str]]:
        """Which blocks each member finds, (n_blocks,) for every one; and what those before the last remark."""
        stages, remarks = [np.ones(len(page.blocks), dtype=bool)], list[str]()
        for member in self.extractors()[:-1]:
            left = stages[-1].copy()
            found = without_blocks(page, ~left)
            prediction = member.predict(found)
            left[left] = member.decide(found, prediction).kept
            remarks += prediction.remarks
            stages.append(left)
        return stages, remarks


def without_blocks(page: Page, removed: NDArray[np.bool_]) -> Page:
    """Make the page that is left when blocks are removed: their texts are gone, all elements stay.

    Blocks are not cut anew: what is left are the other blocks, in order. Lines are counted anew.

    Parameters
    ----------
    page
        The page.
    removed
        (n_blocks,) which blocks.

    Examples
    --------
    >>> import blockml
    >>> page = without_blocks(blockml.parse("<h1>Head</h1><p>Text"), np.array([True, False]))
    >>> page.blocks.texts, page.nodes.xpath(page.blocks[0].node), page.source
    (('Text',), '/html/body/p', None)
    """
    if not removed.any():
        return page
    blocks, nodes = page.blocks, page.nodes
    borders = np.zeros(len(nodes) + 1, dtype=np.int32)
    borders[blocks.node[removed]] += 1
    borders[blocks.last_node[removed] + 1] -= 1
    stays = (nodes.tag != 0) | (np.cumsum(borders)[:-1] == 0)
    number = np.append(np.cumsum(stays) - stays, stays.sum()).astype(np.int32)  # of a node, among those that stay
    left = _nodes_left(nodes, stays, number)
    status = Status.EMPTY_PAGE if page.status is Status.OK and removed.all() else page.status
    return replace(page, nodes=left, blocks=_blocks_left(blocks, ~removed, number, left), utf8=None, status=status)


def _nodes_left(nodes: Nodes, stays: NDArray[np.bool_], number: NDArray[np.int32]) -> Nodes:
    rows = np.flatnonzero(stays).tolist()
    return Nodes(
        names=nodes.names,
        tag=nodes.tag[stays],
        parent=_renumbered(nodes.parent[stays], number),
        depth=nodes.depth[stays],
        end=number[nodes.end[stays]],
        flags=nodes.flags[stays],
        attributes=[nodes.attributes[row] for row in rows],
        texts=[nodes.texts[row] for row in rows],
    )


def _blocks_left(blocks: Blocks, stays: NDArray[np.bool_], number: NDArray[np.int32], left: Nodes) -> Blocks:
    rows = np.flatnonzero(stays)
    lines = line_numbers(left)
    separators = blocks.separators[rows]
    if len(rows):
        # What is left out before a block parts it from the block before all the same.
        starts = np.append(0, rows[:-1] + 1)
        separators = np.maximum.reduceat(blocks.separators[: rows[-1] + 1], starts)
        separators[rows > starts] = np.maximum(separators[rows > starts], Separator.SPACE)
    node, last_node = number[blocks.node[rows]], number[blocks.last_node[rows]]
    return Blocks(
        texts=tuple([blocks.texts[row] for row in rows.tolist()]),
        n_words=blocks.n_words[rows],
        n_linked=blocks.n_linked[rows],
        first_line=lines[node],
        last_line=lines[last_node],
        parent=_renumbered(blocks.parent[rows], number),
        node=node,
        last_node=last_node,
        flags=blocks.flags[rows],
        separators=separators,
        word_lengths=blocks.word_lengths[np.repeat(stays, blocks.n_words)],
        parents=tuple([blocks.parents[row] for row in rows.tolist()]),
    )


def _renumbered(parent: NDArray[np.int32], number: NDArray[np.int32]) -> NDArray[np.int32]:
    """Numbers of parents among the nodes that stay; -1 for none stays -1."""
    return np.where(parent < 0, np.int32(-1), number[parent])
