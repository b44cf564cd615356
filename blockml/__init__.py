"""blockml extracts the main content of web pages (boilerplate removal) with a trained text-block classifier.

>>> import blockml
>>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world.</p>")
>>> [block.text for block in page.blocks]
['Cats', 'Cats rule the world.']
"""

import typing

from blockml.columns import extract_column
from blockml.extract import extract
from blockml.extractors.registry import load
from blockml.model.model_file import save_model as save
from blockml.page import Block, Extraction, Label, Page, Status
from blockml.parsing import Limits, parse
from blockml.rendering import render

if typing.TYPE_CHECKING:
    from blockml.comparing import compare
    from blockml.evaluation.evaluate import evaluate

__version__ = "0.1.0"

__all__ = [
    "Block", "Extraction", "Label", "Limits", "Page", "Status", "compare", "evaluate", "extract", "extract_column",
    "load", "parse", "render", "save",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names, without the modules of the package."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


#: Modules of the names that an extraction doesn't need.
_LATER = {"compare": "blockml.comparing", "evaluate": "blockml.evaluation.evaluate"}


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 (any public name)
    """Import a name of :data:`_LATER` when it is first used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LATER[name]), name)
