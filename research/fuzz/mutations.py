"""Damage to bytes: pieces cut out, repeated, moved, replaced by tokens, and flipped bits."""

from __future__ import annotations

import random
from collections.abc import Sequence

__all__ = ["HTML_TOKENS", "mutated"]

#: Pieces of markup at which parsers change their state.
HTML_TOKENS = tuple(
    piece.encode()
    for piece in (
        "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml ", "<!doctype html>", "&#x110000;", "&#0;",
        "&amp", "<script>", "</script>", "<style>", "<title>", "</title>", "<textarea>", "<template>", "</template>",
        "<svg>", "<math>", "<table>", "<tr><td>", "</table>", "<p>", "</p>", "<a href=x>", "</a>", "<b>", "</i>",
        "<li>", "<pre>\n", "<select><option>", "<frameset>", "<body onload=x>", "<plaintext>", "<noscript>",
        "<base href='http://['>", "<a href='\n\x01 http://['>", "<img src='//['>",
        "<meta charset=utf-16>", "<meta charset=x-user-defined>", "<br>", "<h1>", "<time datetime='9999-99-99'>",
        "<script type='application/ld+json'>{\"@type\":[", "hidden style='display:none'", " class='a b c' ", "\x00",
        "😀", "\u202e", "\xad", "$$", "\\(", "`" * 9, "<img src=x>", "<picture><source srcset='x 1w, y 2x,'>",
        " data-src=/x.png ", "<figure><figcaption>", "<template shadowrootmode=open>", "<slot name=x>", " slot=x ",
        "<math><mfrac><mi>x</mi>", "<msubsup>", "<mtable><mtr><mtd>", "<annotation encoding='application/x-tex'>",
        " role=heading aria-level=2 ", "<td colspan=9 rowspan=9>", "<dl><dt>", "<ol reversed start=9>", "<a href=#fn1>",
        " aria-hidden=true ", "<details><summary>", " white-space:pre-line ",
    )
)  # fmt: skip


def mutated(source: bytes, chance: random.Random, tokens: Sequence[bytes] = (), most: int = 8) -> bytes:
    """Return bytes with up to ``most`` changes.

    Examples
    --------
    >>> mutated(b"abc" * 9, random.Random(1)) != b"abc" * 9
    True
    """
    made = bytearray(source)
    for _ in range(chance.randint(1, most)):
        start = chance.randrange(len(made) + 1)
        end = min(len(made), start + int(chance.expovariate(1 / 40)))
        kind = chance.randrange(6)
        if kind == 0:
            del made[start:end]
        elif kind == 1:
            made[start:start] = bytes(made[start:end]) * chance.randint(1, 30)
        elif kind == 2 and tokens:
            made[start:start] = chance.choice(tokens) * chance.choice((1, 1, 1, 50))
        elif kind == 3:
            made[start:end] = chance.randbytes(end - start)
        elif kind == 4:
            place = chance.randrange(len(made) + 1)
            made[place:place] = bytes(made[start:end])
        elif start < len(made):
            made[start] ^= 1 << chance.randrange(8)
    return bytes(made)
