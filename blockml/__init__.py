"""blockml extracts the main content of web pages (boilerplate removal) with a trained text-block classifier.

>>> import blockml
>>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world.</p>")
>>> [block.text for block in page.blocks]
['Cats', 'Cats rule the world.']
"""

import typing

from blockml.extract import extract
from blockml.extractors.registry import load, save
from blockml.formats import render
from blockml.page import Block, Extraction, Label, Page, Status
from blockml.page.lazy import imported_later as _imported_later
from blockml.parsing import Limits, parse

if typing.TYPE_CHECKING:
    from blockml.batch.batch_extractor import extract_column
    from blockml.batch.predict import predict
    from blockml.comparing import compare
    from blockml.datasets import open_dataset
    from blockml.evaluation.evaluate import evaluate
    from blockml.rules import read_rules
    from blockml.surveying import survey
    from blockml.training.rule_learning import learn_rules
    from blockml.training.train import train

__version__ = "0.1.0"

__all__ = [
    "Block", "Extraction", "Label", "Limits", "Page", "Status", "compare", "evaluate", "extract", "extract_column",
    "learn_rules", "load", "open_dataset", "parse", "predict", "read_rules", "render", "save", "survey", "train",
]  # fmt: skip

#: Modules of the names that are imported on first use, because extracting a page doesn't need them.
_LATER = {
    "compare": "blockml.comparing",
    "evaluate": "blockml.evaluation.evaluate",
    "extract_column": "blockml.batch.batch_extractor",
    "learn_rules": "blockml.training.rule_learning",
    "open_dataset": "blockml.datasets",
    "predict": "blockml.batch.predict",
    "read_rules": "blockml.rules",
    "survey": "blockml.surveying",
    "train": "blockml.training.train",
}


def __dir__() -> list[str]:
    """Return the public names only, without the modules of the package."""
    return __all__


if not typing.TYPE_CHECKING:  # type checkers would take any name for granted
    __getattr__ = _imported_later(__name__, _LATER)
