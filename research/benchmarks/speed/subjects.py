"""Subjects that process whole pages: parsers, models, extractors, other tools."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from lxml import etree

import blockml
from blockml import _kernel
from blockml.evaluation.comparison.systems import PEERS, Adapter
from blockml.extractors import EXTRACTORS, Extractor, TrainedExtractor, model_names, resolve
from blockml.parsing import BACKENDS
from research.benchmarks.speed.clock import FLOOR, WHOLE, Laps, Subject
from research.benchmarks.speed.pages import Source

__all__ = ["LEXBOR", "backends", "extracting", "extractors", "floor", "models", "on_backend", "parse_only", "peers"]

LEXBOR = "lexbor's parse"
#: Back ends that are measured on fewer pages: html5lib takes about fifty times as long as lxml.
_SLOW_BACKENDS = ("html5lib",)


def parse_only(source: bytes) -> object:
    """Parse to lxml's tree, which is the floor."""
    return etree.fromstring(source, etree.HTMLParser(encoding="utf-8", huge_tree=True))


def floor() -> list[Subject]:
    """Return the parsers."""
    found = [Subject(FLOOR, lambda laps, source: laps(WHOLE, lambda: parse_only(source.html)))]
    if find_spec("selectolax"):
        lexbor: Any = importlib.import_module("selectolax.lexbor")

        def parse(laps: Laps, source: Source) -> None:
            text = source.text
            laps(WHOLE, lambda: lexbor.LexborHTMLParser(text))

        found.append(Subject(LEXBOR, parse))
    return found


def backends() -> list[str]:
    """Return the names of the installed back ends, the default first."""
    needs = {"lexbor": "selectolax"}
    return [name for name in BACKENDS if find_spec(needs.get(name, "blockml"))]


def on_backend(model: str, backend: str) -> Extractor:
    """Return a released model with another back end than that of its training."""
    extractor = resolve(model)
    if not isinstance(extractor, TrainedExtractor):
        return extractor
    changed = replace(extractor.model, parsing=replace(extractor.parsing, backend=backend))
    return TrainedExtractor(changed)


def extracting(name: str, extractor: Extractor, *, most: int | None = None, compiled: bool = True) -> Subject:
    """Return a subject for whole extractions, from bytes to text."""

    def run(laps: Laps, source: Source) -> None:
        laps(WHOLE, lambda: blockml.extract(source.html, url=source.url, charset=source.charset, model=extractor))

    return Subject(name, run, most, compiled)


def models(few: int) -> list[Subject]:
    """Return each released model on each back end, compiled and in Python; slow back ends run on ``few`` / 4 pages."""
    found = []
    for name in model_names():
        for backend in backends():
            extractor = on_backend(name, backend)
            most = max(1, few // 4) if backend in _SLOW_BACKENDS else None
            found.append(extracting(f"{name}, {backend}", extractor, most=most))
            if _kernel.compiled is not None and backend not in _SLOW_BACKENDS:
                found.append(extracting(f"{name}, {backend}, in Python", extractor, compiled=False))
    return found


def extractors(few: int) -> list[Subject]:
    """Return all untrained extractors."""
    return [extracting(name, resolve(name), most=few) for name in EXTRACTORS]


def peers(few: int) -> list[Subject]:
    """Return the other installed tools, which are given decoded pages."""
    return [
        Subject(name, functools.partial(_by_peer, peer.adapter), few, may_fail=True)
        for name, peer in PEERS.items()
        if peer.version is not None
    ]


def _by_peer(adapter: Adapter, laps: Laps, source: Source) -> None:
    text = source.text
    laps(WHOLE, lambda: adapter(text, source.url))


#: Function that returns the subjects of each section, given the number of pages for slow ones.
SECTIONS: dict[str, Callable[[int], Sequence[Subject]]] = {"models": models, "extractors": extractors, "peers": peers}
