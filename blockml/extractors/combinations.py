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
from blockml.decision.prediction import Prediction
from blockml.errors import UsageError, check_name
from blockml.extractors.extractor import Between, Extractor, Traits
from blockml.extractors.methods import METHODS
from blockml.model import Model
from blockml.page import Page, Status
from blockml.page.subtrees import block_of_texts
from blockml.parsing.limits import ParsingOptions
from blockml.parsing.segmentation import document_lines

#: An extractor, or the name of a method: a key of :data:`blockml.extractors.methods.METHODS`.
Member = str | Extractor

#: Smallest threshold of a chain, and smallest score of the remaining blocks: blocks that an earlier member removed
#: score 0 and stay removed, even if the last member keeps everything.
LEAST_SCORE = 1e-6


def remaining_scores(decision: Decision, member: Extractor) -> NDArray[np.float32]:
    """Return the (n_blocks,) scores of a member for the decision of a chain: 0 for blocks that its policy removed.

    The remaining blocks score above 0 even if the member's threshold is 0.
    """
    scores = np.where(decision.overruled, np.float32(0), decision.scores)
    return np.maximum(scores, np.float32(LEAST_SCORE)) if member.effective_threshold < LEAST_SCORE else scores


class Combination(Extractor):
    """Base class of extractors that combine the decisions of others, their members.

    All members score the page as the combination parses it, regardless of their own parsing options. Extractors that
    learn have to be fitted first.
    """

    traits: ClassVar[Traits] = Traits("Gottron 2008 (CombinE)")
    members: Sequence[Member]  #: Names of methods, or extractors, including combinations and models.

    def check(self) -> None:
        """Check the members, and the members of members.

        Raises
        ------
        UsageError
            They are not a list of names and extractors, or a combination contains itself.
        UnknownNameError
            The name of a member is unknown.
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

    def used_models(self) -> list[Model]:
        """Return the models of the members."""
        return [model for member in self.extractors() for model in member.used_models()]

    def extractors(self) -> list[Extractor]:
        """Return the members as extractors.

        Raises
        ------
        UsageError
            They are not a list of names and extractors.
        UnknownNameError
            The name of a member is unknown.
        """
        members = self.members
        is_list = isinstance(members, list | tuple) and len(members) > 0
        if not is_list or not all(isinstance(member, str | Extractor) for member in members):
            raise UsageError(
                f"parameter 'members' of {self.name} must be a list of one or more names or extractors, got {members!r}"
            )
        for member in members:
            if isinstance(member, str):
                check_name("member", member, METHODS)
        return [METHODS[member]() if isinstance(member, str) else member for member in members]

    @property
    def uses_site(self) -> bool:
        """Whether a member uses other pages of the site."""
        return any(member.uses_site for member in self.extractors())

    def with_members(self, change: Callable[[Extractor], Extractor]) -> Self:
        """Return a copy with changed members."""
        return copy(self).set_params(members=[change(member) for member in self.extractors()])

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:
        """Fit copies of the members to pages of a site."""
        if self.uses_site:
            learnt = list(pages)
            self.members = self.with_members(lambda member: copy(member).fit(learnt, labels)).members
        return self

    @property
    def id(self) -> str:
        """Name, with the parameters that differ from their defaults, and members by their ids."""
        self.check()  # otherwise the ids of members that contain each other would never end
        shown, defaults = ({**item.get_params(), "members": _joined(item.members)} for item in (self, type(self)()))
        changed = [f"{name}={value}" for name, value in shown.items() if value != defaults[name]]
        return f"{self.name}({', '.join(changed)})" if changed else self.name


def _joined(members: Sequence[Member]) -> str:
    return "+".join(member if isinstance(member, str) else member.id for member in members)


#: Legal weights of a member's vote.
_WEIGHTS = Between(0, 1_000_000)

# Default members are fast extractors that performed well together on half of the sites of WCXB.


class _Vote(Combination):
    """Base class of combinations by voting."""

    def score(self, page: Page) -> NDArray[np.float32]:
        """Count the members' decisions."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Count the members' decisions and collect their remarks."""
        self.check()
        found = [(member, member.predict(page)) for member in self.extractors()]
        votes = np.array([member.decide(page, prediction).kept for member, prediction in found])
        remarks = dict.fromkeys(remark for _, prediction in found for remark in prediction.remarks)
        return Prediction(self.count(votes).astype(np.float32), tuple(remarks))

    def votes(self, page: Page) -> NDArray[np.bool_]:
        """Return an (n_members, n_blocks) mask of the blocks that each member keeps."""
        return np.array([member.decide(page).kept for member in self.extractors()])

    @abstractmethod
    def count(self, votes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Turn votes into scores, (n_members, n_blocks) into (n_blocks,)."""

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the members that keep each block."""
        ids = np.array([member.id for member in self.extractors()], dtype=object)
        return tuple([", ".join(ids[column]) for column in self.votes(page).T])


@dataclass(eq=False, repr=False)
class Union(_Vote):
    """Keeps the blocks that any member keeps.

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
        """Score blocks that any member keeps 1, others 0."""
        return np.where(votes.any(axis=0), 1.0, 0.0)


@dataclass(eq=False, repr=False)
class Intersection(_Vote):
    """Keeps the blocks that all members keep.

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
        """Score blocks that all members keep 1, others 0."""
        return np.where(votes.all(axis=0), 1.0, 0.0)


@dataclass(eq=False, repr=False)
class Majority(_Vote):
    """Keeps the blocks that members with at least half of the total weight keep.

    Parameters
    ----------
    members
        Names or extractors.
    weights
        Weight of each member's vote, 0 or more; None for equal weights.

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
            The weights are not one non-negative number per member with at least one positive.
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
        """Score each block by the share of the weight of the members that keep it."""
        weights = np.ones(len(votes)) if self.weights is None else np.array(self.weights, dtype=np.float64)
        share: NDArray[np.float64] = weights @ votes / weights.sum()
        return share


@dataclass(eq=False, repr=False)
class Serial(Combination):
    """Applies each member to the blocks kept by the members before it.

    Scores, threshold and parsing options are those of the last member; blocks that an earlier member removes score 0.

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
        """Parsing options of the last member: pages of a model have to be parsed as in training."""
        return self.extractors()[-1].parsing

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score the remaining blocks by the last member."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score the remaining blocks by the last member and collect the members' remarks."""
        self.check()
        *_, last = self.extractors()
        stages, remarks = self._stages(page)
        scores = np.zeros(len(page.blocks), dtype=np.float32)
        rest = without_blocks(page, ~stages[-1])
        left = last.predict(rest)
        scores[stages[-1]] = remaining_scores(last.decide(rest, left), last)
        return Prediction(scores, (*remarks, *left.remarks))

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the earlier member that removes each block."""
        notes = np.full(len(page.blocks), "", dtype=object)
        stages, _ = self._stages(page)
        for member, before, after in zip(self.extractors(), stages, stages[1:], strict=False):
            notes[before & ~after] = f"removed by {member.id}"
        return tuple(notes.tolist())

    def _stages(self, page: Page) -> tuple[list[NDArray[np.bool_]], list[str]]:
        """Return (n_blocks,) the blocks that each member is applied to, and remarks of all members but the last."""
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
    """Return a page without some of its blocks: their texts are removed, all elements stay.

    The remaining blocks are not segmented again; their line numbers are recomputed.

    Parameters
    ----------
    page
        The page.
    removed
        (n_blocks,) the blocks to remove.

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
    stays = ~np.append(removed, False)[block_of_texts(nodes, blocks)]
    number = (np.cumsum(stays) - stays).astype(np.int32)  # index of a node among those that stay
    left, rest = nodes.only(stays), blocks.only(~removed)
    lines, node, last_node = document_lines(left), number[rest.node], number[rest.last_node]
    rest = replace(
        rest,
        first_line=lines[node],
        last_line=lines[last_node],
        parent=np.where(rest.parent < 0, np.int32(-1), number[rest.parent]),
        node=node,
        last_node=last_node,
    )
    status = Status.EMPTY_PAGE if page.status is Status.OK and removed.all() else page.status
    return replace(page, nodes=left, blocks=rest, utf8=None, status=status)
