"""Extraction of a column of a data frame: pandas, polars, Arrow and anything else that narwhals supports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from blockml.errors import UsageError, check_name, needed
from blockml.extractors import AnyModel
from blockml.options import Options

__all__ = ["extract_column"]


def extract_column(column: Any, *, model: AnyModel = "default", **options: Any) -> Any:  # noqa: ANN401
    r"""Extract the main texts of a column of pages.

    Parameters
    ----------
    column
        A pandas or polars series, an Arrow array, or any iterable of ``str`` or ``bytes``.
    model
        A model as accepted by :func:`blockml.load`.
    **options
        Fields of :class:`blockml.options.Options`, such as ``threshold`` and ``favour``, as in :func:`blockml.extract`.
        The output format is ``format="markdown"`` or ``"html"`` instead of ``"text"``; :func:`blockml.render` calls it
        ``output_format``.

    Returns
    -------
    series, array or list
        The texts, in a column of the same kind (a list for other iterables); empty for pages that failed.

    Raises
    ------
    MissingExtraError
        The column is not a list or tuple, and narwhals isn't installed.
    UsageError
        The column is not iterable, or an option is unknown or has an invalid value.

    Examples
    --------
    >>> extract_column(["<p>One", b"<p>Two", None], model="kim2013", threshold=0.0)
    ['One', 'Two', '']
    >>> extract_column(["<h1>One</h1><p>Two"], model="kim2013", threshold=0.0, format="markdown")
    ['# One\n\nTwo']
    """
    if isinstance(column, str | bytes | bytearray | memoryview | Mapping) or not hasattr(column, "__iter__"):
        raise UsageError(f"column must be a series, an array or another iterable, got {type(column).__name__}")
    if isinstance(column, list | tuple):
        return _texts(column, model, options)
    with needed("a column of a data frame", "frames"):
        import narwhals as nw
    series = nw.from_native(column, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return _texts(column, model, options)
    texts = _texts(series.to_list(), model, options)
    made = nw.new_series(series.name, texts, nw.String(), backend=series.implementation)
    return made.to_native()


def _texts(cells: Iterable[Any], model: AnyModel, options: Mapping[str, Any]) -> list[str]:
    from blockml.batch import BatchExtractor  # extraction of one page doesn't need it

    for name in options:
        if name == "output_format":
            raise UsageError("the output format is given by format, not output_format, as in blockml.predict")
        check_name("option", name, [item.name for item in fields(Options)])
    rows = ({"html": cell} for cell in cells)
    return [record["text"] for record in BatchExtractor(model, Options(**options)).records(rows)]
