"""Rules of sites: selectors that decide about blocks, and read metadata, beside an extractor or instead of one.

In come rules (TOML or a mapping), a page and a decision about it; out come the changed decision and what matched.
Every package that extracts may import it; it imports pages, metadata and the decision, and knows no extractor.
"""

from blockml.rules.applying import (
    RuleMatches,
    apply_rules,
    block_rules,
    has_match,
    matching,
    metadata_by_rules,
    tally_notes,
)
from blockml.rules.compiling import compile_selector
from blockml.rules.rules import EXAMPLE, AnyRules, Rules, SiteRules, read_rules

__all__ = [
    "EXAMPLE",
    "AnyRules",
    "RuleMatches",
    "Rules",
    "SiteRules",
    "apply_rules",
    "block_rules",
    "compile_selector",
    "has_match",
    "matching",
    "metadata_by_rules",
    "read_rules",
    "tally_notes",
]
