"""Systems that misbehave if a word on the page asks them to, and data sets of a few small pages."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blockml import extract
from blockml.datasets import Dataset, LabelledPage, TextGold
from blockml.evaluation.comparison import System, SystemOutput
from blockml.evaluation.comparison.systems import Run
from blockml.extractors import Plain


def make_hostile(source: str, parameters: Mapping[str, Any], siblings: Sequence[LabelledPage]) -> Run:  # noqa: ARG001 (makers have one signature)
    """Make a system that returns all text of a page, unless a word in it asks it to misbehave."""

    def run(html: str, url: str | None) -> SystemOutput:
        if "SLEEP" in html:
            time.sleep(60)
        if "NAP" in html:
            time.sleep(0.3)
        if "SIGNS" in html:
            return SystemOutput("… — *")
        if "RAISE" in html:
            raise ValueError(f"{source} {url} {parameters}")
        if "QUIT" in html:
            raise SystemExit(3)
        if "EXIT" in html:
            os._exit(7)
        if "KILL" in html:
            mark = html.partition("KILL ")[2].partition("<")[0]
            if not (mark and Path(mark).exists()):
                Path(mark or os.devnull).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        if "PROCESS" in html:
            return SystemOutput(f"process {os.getpid()}")
        if "ALLOCATE" in html:
            return SystemOutput(str(len(b"x" * 200_000_000)))
        if "PRINT" in html:
            os.write(1, b"noise")
            os.write(2, b"noise")
        return SystemOutput(extract(html, model=Plain()).text)

    return run


def make_broken(source: str, parameters: Mapping[str, Any], siblings: Sequence[LabelledPage]) -> Run:  # noqa: ARG001 (makers have one signature)
    """Fail to make a system: the source ``exit`` ends the process, and any other is a missing package."""
    if source == "exit":
        os._exit(1)
    raise ImportError(f"no module named {source} {parameters}")


def fake(name: str = "fake", version: str = "1", source: str = "", **parameters: object) -> System:
    """Return a system that misbehaves on request."""
    return System(name, "peer", version, make_hostile, source, tuple(parameters.items()))


def dataset(folder: Path, pages: Mapping[str, str], name: str = "made up") -> Dataset:
    """Return a data set of pages that consist of a menu and a text, which is the gold."""
    labelled = []
    for page_id, text in pages.items():
        path = folder / f"{page_id}.html"
        path.write_text(f"<html lang=en><p>Menu</p><p>{text}</p>", encoding="utf-8")
        labelled.append(LabelledPage(page_id, "example.org", path, TextGold(text), url=f"http://example.org/{page_id}"))
    return Dataset(name, folder, "corpus", tuple(labelled))
