"""Rules of sites: selectors that decide about blocks, and read metadata, beside an extractor or instead of one.

In come rules (TOML or a mapping), a page and a decision about it; out come the changed decision and what matched.
Every package that extracts may import it; it imports pages, metadata and the decision, and knows no extractor.
"""

from blockml.rules.applying import (
    RuleMatches,
    apply_rules,
    metadata_by_rules,
    page_matches,
    tally_notes,
    title_by_rules,
)
from blockml.rules.site_rules import ANY_SITE, EXAMPLE, AnyRules, Rules, SiteRules, read_rules
from blockml.rules.xpath import compile_selector

__all__ = [
    "ANY_SITE",
    "EXAMPLE",
    "AnyRules",
    "RuleMatches",
    "Rules",
    "SiteRules",
    "apply_rules",
    "compile_selector",
    "metadata_by_rules",
    "page_matches",
    "read_rules",
    "tally_notes",
    "title_by_rules",
]
