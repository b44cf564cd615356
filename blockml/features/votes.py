"""Scores of heuristics as columns, for stacking.

Only their names are here, because extractors depend on features: :func:`blockml.extractors.matrix.page_matrix` computes
them.
"""

from __future__ import annotations

from collections.abc import Mapping

from blockml.features.column import Column

#: Extractors whose scores are columns, with their papers: fast heuristics that use different properties of a page.
_PAPERS: Mapping[str, str] = {
    "accb": "Gottron 2008",
    "tccb": "Gottron 2008",
    "dsc": "Pinto et al. 2002; Gottron 2007",
    "bte": "Finn et al. 2001",
    "lqf": "Gottron 2008, after Mantratzis et al. 2005",
    "crunch": "Gupta et al. 2003",
    "numwords": "Kohlschütter et al. 2010",
    "density": "Kohlschütter et al. 2010",
    "cetr-tm": "Weninger et al. 2010",
    "fe": "Debnath et al. 2005",
}

#: Public name of the extractor behind each column.
VOTERS: Mapping[str, str] = {f"vote{name.replace('-', '')}": name for name in _PAPERS}


COLUMNS = tuple(Column(column, f"score of {name}", 0, 1, 0, _PAPERS[name], None) for column, name in VOTERS.items())
