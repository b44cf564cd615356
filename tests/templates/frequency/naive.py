"""The measures page by page and text by text, with strings, dictionaries and fractions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from blockml.page import Flag, Page
from tests.strategies import content_nodes, path_of

#: One step of a path: element name, class tokens, id.
Step = tuple[str, frozenset[str], str]


@dataclass(frozen=True)
class Sight:
    """The data counted on a page."""

    texts: list[str]
    text_words: list[list[str]]
    text_blocks: list[int]
    block_texts: list[str]
    block_words: list[list[str]]
    block_links: list[tuple[int, int]]
    paths: list[tuple[Step, ...]]
    vectors: list[Counter[str]]

    @property
    def structure(self) -> tuple[list[str], list[tuple[Step, ...]]]:
        """Return the counts that may differ on another page with the same text."""
        return self.block_texts, self.paths


def form(text: str) -> str:
    """Return a text in the form in which it is counted."""
    return " ".join(text.split())


def see(page: Page) -> Sight:
    """Return the data of a page."""
    nodes = page.nodes
    text_nodes = content_nodes(nodes)
    texts = [form(nodes.texts[node]) for node in text_nodes]
    words = [[word for word in text.split() if any(char.isalnum() for char in word)] for text in texts]
    blocks = [
        next((block.index for block in page.blocks if block.node <= node <= block.last_node), -1) for node in text_nodes
    ]
    vectors = [
        Counter(word for of, some in zip(blocks, words, strict=True) if of == block.index for word in some)
        for block in page.blocks
    ]
    owner = dict(zip(text_nodes, blocks, strict=True))
    waiting: Counter[str] = Counter()
    for node in range(len(nodes)):
        if nodes.name(node) in {"img", "a", "script", "li", "table"} and not nodes.flags[node] & Flag.HEAD:
            waiting["<" + nodes.name(node) + ">"] += 1
        elif owner.get(node, -1) >= 0:
            vectors[owner[node]] += waiting
            waiting = Counter()
    return Sight(
        texts=texts,
        text_words=words,
        text_blocks=blocks,
        block_texts=[form(block.text) for block in page.blocks],
        block_words=[
            [word for of, some in zip(blocks, words, strict=True) if of == block.index for word in some]
            for block in page.blocks
        ],
        block_links=[(block.n_words, block.n_linked) for block in page.blocks],
        paths=[path(page, int(parent)) for parent in page.blocks.parent],
        vectors=vectors,
    )


def path(page: Page, element: int) -> tuple[Step, ...]:
    """Return the steps from the root to an element."""
    steps = []
    for node in path_of(page.nodes, element):
        attributes = page.nodes.attributes[node]
        classes = frozenset(re.sub(r"\d+", "0", attributes.get("class", "")).split())
        steps.append((page.nodes.name(node), classes, re.sub(r"\d+", "0", attributes.get("id", ""))))
    return tuple(steps)


def different(pages: Sequence[Sight]) -> list[Sight]:
    """Return the first page of each visible text."""
    chosen: dict[tuple[str, ...], Sight] = {}
    for page in pages:
        if page.texts:
            chosen.setdefault(tuple(page.texts), page)
    return list(chosen.values())


def share(part: int, whole: int) -> float:
    """Return a share, or 0 of nothing."""
    return float(Fraction(part, whole)) if whole else 0.0


def entropy(word: str, pages: Sequence[Sight]) -> float:
    """Return the entropy of a word over pages, as Lin & Ho (2002) define it."""
    times = [sum(words.count(word) for words in page.text_words) for page in pages]
    total = sum(times)
    if len(pages) < 2 or not total:
        return 0.0
    weights = [number / total for number in times if number]
    return -sum(weight * math.log(weight, len(pages)) for weight in weights)


def alike(one: Counter[str], other: Counter[str]) -> bool:
    """Return whether the cosine of two vectors is at least .9, or they are equal."""
    dot = sum(count * other[name] for name, count in one.items())
    squares = [sum(count * count for count in vector.values()) for vector in (one, other)]
    return one == other or (dot > 0 and 100 * dot * dot >= 81 * squares[0] * squares[1])


def mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def measures(own: Sight, learnt: Sequence[Sight], *, include_self: bool = True) -> dict[str, list[float]]:
    """Return every column of Measures."""
    others = [page for page in different(learnt) if page.texts != own.texts]
    counted = [*others, own] if include_self else others
    result: dict[str, list[float]] = {
        "text_pages": [sum(text in page.texts for page in counted) for text in own.texts],
        "text_words": [len(words) for words in own.text_words],
        "text_blocks": list(own.text_blocks),
        "block_pages": [sum(text in page.block_texts for page in counted) for text in own.block_texts],
        "path_share": [share(sum(path in page.paths for page in others), len(others)) for path in own.paths],
        "entropy": [mean([entropy(word, counted) for word in words]) for words in own.block_words],
        "similar": [sum(any(alike(vector, b) for b in page.vectors) for page in others) for vector in own.vectors],
    }
    result["ibdf"] = [1 / (number + 1) for number in result["similar"]]
    result["block_share"] = [share(int(pages), len(counted)) for pages in result["block_pages"]]
    result["text_share"] = []
    for block in range(len(own.block_texts)):
        parts = [i for i, of in enumerate(own.text_blocks) if of == block]
        weights = [len(own.text_words[i]) for i in parts]
        if not any(weights):
            weights = [1] * len(parts)
        pages = sum(weight * int(result["text_pages"][i]) for i, weight in zip(parts, weights, strict=True))
        result["text_share"].append(share(pages, sum(weights) * len(counted)))
    for name in ("path_novelty", "path_words", "path_links"):
        result[name] = []
    for wanted in own.paths:
        there = [
            (text, words, linked, number)
            for number, page in enumerate(others)
            for text, (words, linked), at in zip(page.block_texts, page.block_links, page.paths, strict=True)
            if at == wanted
        ]
        pages_of = Counter(text for text, _ in {(text, number) for text, _, _, number in there})
        once = sum(number == 1 for number in pages_of.values())
        result["path_novelty"].append(share(once, len(pages_of)) if pages_of else 1.0)
        result["path_words"].append(share(sum(row[1] for row in there), len(there)))
        result["path_links"].append(share(sum(row[2] for row in there), sum(row[1] for row in there)))
    return result
