"""Rows of results as data frames, and as tables for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from blockml.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pd.DataFrame


def to_frame(rows: Sequence[Mapping[str, Any]]) -> Frame:
    """Make a pandas DataFrame of rows with the same keys; raise UsageError without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError("a data frame needs pandas: pip install pandas") from error
    return pd.DataFrame(list(rows))


def html_table(rows: Sequence[Mapping[str, str]], caption: str = "") -> str:
    """Format rows with the same keys as an HTML table, for notebooks.

    Examples
    --------
    >>> html_table([{"system": "a<b", "F1": ".9"}])
    '<table><thead><tr><th>system</th><th>F1</th></tr></thead><tbody><tr><td>a&lt;b</td><td>.9</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row.values()) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
