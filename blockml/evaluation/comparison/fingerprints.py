"""Fingerprints of code and models: stored results are recomputed when the code behind them has changed.

Version numbers are not enough, because code and models change between versions.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path, PurePath

import blockml
from blockml.errors import UsageError
from blockml.model import Model, model_digest

# C sources count as code, but only an sdist or a checkout has them; wheels of different code differ in version.
_SUFFIXES = frozenset({".py", ".c", ".h"})

# Packages that extraction does not use, except to fit extractors to a site.
_NOT_EXTRACTING = frozenset(
    "archives batch cli columns.py comparing.py datasets estimators evaluation labelling progress.py reports "
    "surveying training".split()
)
_FITTING = "evaluation/site_pages.py"

# Packages and modules that page scores depend on: parsing, blocks, tokens, gold and metrics.
_SCORING_PACKAGES = frozenset({"_kernel", "page", "parsing", "text"})
_SCORING_MODULES = frozenset(
    {"datasets/gold.py", "evaluation/blocks.py", "evaluation/comparison/reference.py", "evaluation/words.py"}
)


def runs_in_extraction(module: PurePath) -> bool:
    """Return whether an extraction depends on a source file, given relative to the package."""
    return module.parts[0] not in _NOT_EXTRACTING or module.as_posix() == _FITTING


def runs_in_scoring(module: PurePath) -> bool:
    """Return whether page scores depend on a source file, given relative to the package."""
    return module.parts[0] in _SCORING_PACKAGES or module.as_posix() in _SCORING_MODULES


def source_fingerprint(selected: Callable[[PurePath], bool]) -> str:
    """Return eight hexadecimal digits that change with the selected source files, given relative to the package."""
    digest = hashlib.sha256()
    package = Path(blockml.__file__).parent
    for path in sorted(path for path in package.rglob("*") if path.suffix in _SUFFIXES):
        if selected(path.relative_to(package)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def extraction_fingerprint() -> str:
    """Return the fingerprint of the code that an extraction depends on."""
    return source_fingerprint(runs_in_extraction)


def scoring_fingerprint() -> str:
    """Return the fingerprint of the code that page scores depend on."""
    return source_fingerprint(runs_in_scoring)


def class_fingerprint(kind: type) -> str:
    """Return eight hexadecimal digits that change with the code of an extraction or of an extractor's class.

    For a class of another package, this covers every Python file of its top-level package, or its module.

    Raises
    ------
    UsageError
        The code is not in a file, for example because it was defined in a notebook.
    """
    top = sys.modules[kind.__module__.partition(".")[0]]
    if top is blockml:
        return extraction_fingerprint()
    digest = hashlib.sha256(extraction_fingerprint().encode())
    files = [path for folder in getattr(top, "__path__", ()) for path in sorted(Path(folder).rglob("*.py"))]
    try:
        for path in files or [Path(getattr(top, "__file__", None) or "")]:
            digest.update(path.read_bytes())
    except OSError as error:
        raise UsageError(f"the class {kind.__name__} must be defined in a file, so that changes are noticed") from error
    return digest.hexdigest()[:8]


def model_fingerprint(model: Model) -> str:
    """Return eight hexadecimal digits that change with a model's file or with the code of an extraction."""
    return hashlib.sha256(f"{extraction_fingerprint()} {model_digest(model)}".encode()).hexdigest()[:8]
