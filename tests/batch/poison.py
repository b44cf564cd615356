"""Extractor that fails in every way that a page can make a process fail."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors import Extractor, Plain, Traits
from blockml.page import Page


class Poison(Extractor):
    """Keeps everything; a page whose text begins with a poison has its effect.

    ``kill FILE`` kills the process once: not if the file exists, which it makes.
    """

    name: ClassVar[str] = "poison"
    traits: ClassVar[Traits] = Plain.traits

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score 1, or fail."""
        word, *rest = page.blocks.texts[0].split() if len(page.blocks) else [""]
        if word == "raise":
            raise ZeroDivisionError("as asked")
        while word == "loop":
            pass
        if word == "hog":
            _ = [bytes(1 << 26) for _ in range(1000)]
        if word == "segfault":
            ctypes.string_at(0)
        if word == "exit":
            os._exit(9)
        if word == "kill" and not (marker := Path(rest[0])).exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.ones(len(page.blocks), dtype=np.float32)
