"""blockml extracts the main content of web pages (boilerplate removal) with a trained text-block classifier.

>>> import blockml
>>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world.</p>")
>>> [block.text for block in page.blocks]
['Cats', 'Cats rule the world.']
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from blockml.columns import extract_column
from blockml.extract import extract
from blockml.extractors.registry import load
from blockml.model.model_file import save_model as save
from blockml.page import Block, Extraction, Label, Page, Status
from blockml.parsing import Limits, parse
from blockml.rendering import render

if _TYPE_CHECKING:
    from blockml.surveying import survey

__version__ = "0.1.0"

__all__ = [
    "Block", "Extraction", "Label", "Limits", "Page", "Status", "extract", "extract_column", "load", "parse", "render",
    "save", "survey",
]  # fmt: skip

#: Names that are imported when they are first used, and their modules.
_IMPORTED_LATER = {"survey": "blockml.surveying"}


def __getattr__(name: str) -> _Any:  # noqa: ANN401 (any public name)
    """Import a public name that few programs use."""
    if name not in _IMPORTED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(_import_module(_IMPORTED_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names, without the modules of the package."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
