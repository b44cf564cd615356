"""blockml extracts the main content of web pages (boilerplate removal) with a trained text-block classifier.

>>> import blockml
>>> page = blockml.parse("<h1>Cats</h1><p>Cats rule the world.</p>")
>>> [block.text for block in page.blocks]
['Cats', 'Cats rule the world.']
"""

from typing import Any

from blockml.extract import extract
from blockml.extractors.registry import load
from blockml.model.model_file import save_model as save
from blockml.page import Block, Extraction, Label, Page, Status
from blockml.parsing import Limits, parse
from blockml.rendering import render

__version__ = "0.1.0"

__all__ = [
    "Block", "Extraction", "Label", "Limits", "Page", "Status", "extract", "extract_column", "load", "parse", "render",
    "save",
]  # fmt: skip


def extract_column(column: Any, *, model: str = "default", **options: Any) -> Any:  # noqa: ANN401 (of any data frame)
    """Extract the main texts of a column of pages; see :func:`blockml.batch.columns.extract_column`.

    Examples
    --------
    >>> extract_column(["<p>One", b"<p>Two", None], model="kim2013", threshold=0.0)
    ['One', 'Two', '']
    """
    from blockml.batch.columns import extract_column as extract_cells  # slow to import, and one page doesn't need it

    return extract_cells(column, model=model, **options)
