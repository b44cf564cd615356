"""Marks of code: a stored result is made anew when what made it has changed, whether or not a version has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import blockml

__all__ = ["code_mark", "extraction_mark", "scoring_mark"]

# Rooms that no extraction runs through.
_ELSEWHERE = frozenset({"batch", "cli", "comparison", "datasets", "evaluation", "learning", "reports"})

# What page scores are made with, beside parsing: the gold's reading, tokens and metrics.
_SCORING = frozenset({"comparison/reference.py", "datasets/gold.py", "evaluation/words.py", "evaluation/blocks.py"})


def code_mark(chosen: Callable[[Path], bool]) -> str:
    """A few digits that change with the chosen modules of blockml.

    Parameters
    ----------
    chosen
        Tells for the path of a module, below the package, whether it counts.

    Examples
    --------
    >>> len(code_mark(lambda module: module.name == "page.py"))
    8
    """
    digest = hashlib.sha256()
    package = Path(blockml.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if chosen(path.relative_to(package)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def extraction_mark() -> str:
    """Mark of all that an extraction runs through."""
    return code_mark(lambda module: module.parts[0] not in _ELSEWHERE)


def scoring_mark() -> str:
    """Mark of all that page scores are made with."""
    return code_mark(
        lambda module: module.parts[0] in ("parsing", "tokens.py", "lcs.py", "page.py") or module.as_posix() in _SCORING
    )
