"""Extractor whose pages can make a process fail in every possible way."""

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
    """Keeps everything, unless the first word of a page asks it to fail.

    ``kill FILE`` creates the file and kills the process, but only if the file doesn't exist yet.
    """

    name: ClassVar[str] = "poison"
    traits: ClassVar[Traits] = Plain.traits

    def score(self, page: Page) -> NDArray[np.float32]:
        """Return 1 for every block, or fail as the page asks."""
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
