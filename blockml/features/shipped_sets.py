"""Feature sets of the released models and recipes, with every column written down.

A column that a family gains is in none of these sets, so no released model changes. To use it in a model, add a set
with a new name and train on that one. Names of columns are explained in :mod:`blockml.features.feature_sets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

#: Names of the columns of large sets, one per line.
_COLUMNS = Path(__file__).with_name("columns")

#: The parent tag as a code, or as a 0/1 column for each of these values.
_CODE = ("",)
_ONE_HOT = tuple(
    f"={tag}"
    for tag in "a b blockquote br dd dl dt font h1 h2 h3 h4 h5 h6 img li ol p pre q table ul other none".split()
)


def _kim2013(density: str, parents: tuple[str, ...]) -> str:
    """Write the paper's attributes of a block and two neighbours on each side, with a column of word density."""
    return " ".join(
        f"{density}_{where} ld_{where} {' '.join(f'parent_{where}{value}' for value in parents)} distprev_{where} "
        f"distnext_{where}"
        for where in ("m2", "m1", "0", "p1", "p2")
    )


#: Name, version, source and columns of each set, as fields of :class:`~blockml.features.feature_sets.FeatureSet`.
SHIPPED_SETS: tuple[tuple[str, int, str, str], ...] = (
    ("kim2013", 1, "Kim et al. 2013, section 3.3", _kim2013("wd", _CODE)),
    ("kim2013-onehot", 1, "Kim et al. 2013, section 3.3, parent tags one-hot encoded", _kim2013("wd", _ONE_HOT)),
    ("kim2013-80w", 1, "Kim et al. 2013, section 3.3, word density read literally", _kim2013("wd80w", _CODE)),
    (
        "kim2013-80w-onehot",
        1,
        "Kim et al. 2013, section 3.3, word density read literally, one-hot",
        _kim2013("wd80w", _ONE_HOT),
    ),
    ("kim2013-sentence", 1, "Kim et al. 2013, section 3.3, word density per sentence", _kim2013("wdsent", _CODE)),
    (
        "kim2013-sentence-onehot",
        1,
        "Kim et al. 2013, section 3.3, word density per sentence, one-hot",
        _kim2013("wdsent", _ONE_HOT),
    ),
    (
        "boilerpipe6",
        1,
        "Kim et al. 2013, section 2.2: boilerpipe's six attributes",
        "wd_m1 ld_m1 wd_0 ld_0 wd_p1 ld_p1",
    ),
    (
        "kim2013-site",
        1,
        "Kim et al. 2013, section 3.3, parent tags one-hot encoded; and columns from other pages of the site",
        _kim2013("wd", _ONE_HOT)
        + " sitepages_0 sitetext_0 siteblock_0 siteentropy_0 sitetree_0 siteibdf_0 sitepath_0 sitenovel_0 sitewords_0"
        + " sitelinks_0",
    ),
    (
        "page",
        2,
        "text, kim2013, tree, vocabulary, repetition and metadata of a whole page",
        _COLUMNS.joinpath("page.txt").read_text("ascii"),
    ),
    ("votes", 1, "Wolpert 1992: stacking; scores of ten extractors", _COLUMNS.joinpath("votes.txt").read_text("ascii")),
)

#: :attr:`~blockml.features.feature_sets.FeatureSet.hash` of each set. Computing it would load OpenSSL for every model,
#: which takes 4 MB.
SHIPPED_HASHES: Mapping[str, str] = {
    "kim2013": "3bc2ca1b4019a0fa",
    "kim2013-onehot": "a0dafb0249b21d20",
    "kim2013-80w": "97326a650f9a347a",
    "kim2013-80w-onehot": "8671e4c11cbec333",
    "kim2013-sentence": "2e73a096864a2d69",
    "kim2013-sentence-onehot": "d7b4d0a6c74ab3f5",
    "boilerpipe6": "0d05c172bbcbd881",
    "kim2013-site": "d617b91435216f5c",
    "page": "dbaf6eb6faefb430",
    "votes": "c9d1bc3d273b4ab8",
}
