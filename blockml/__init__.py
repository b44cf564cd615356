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
    from blockml.datasets import open_dataset

__version__ = "0.1.0"

__all__ = [
    "Block", "Extraction", "Label", "Limits", "Page", "Status", "extract", "extract_column", "load",
    "open_dataset", "parse", "render", "save",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names, without the modules of the package."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401
    """Import a name when it is first used, because extracting a page doesn't need it."""
    if name == "open_dataset":
        from blockml.datasets import open_dataset

        globals()[name] = open_dataset
        return open_dataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
