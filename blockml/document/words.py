"""Words in attributes that outputs look for: those of plain text with others, and in one more pass those of markup."""

from __future__ import annotations

from blockml.page import Page
from blockml.page.attribute_words import searched_together

__all__ = ["IN_MARKUP", "IN_TEXT", "OF_CODE", "OF_SPACES", "OF_TEX_IMAGES", "TEX_SCRIPT", "may_have_formulas"]

#: Occurs in the type of scripts with formulas.
TEX_SCRIPT = b"math/tex"
#: Words in the classes of highlighters, in styles and classes that keep white space, and in the addresses or classes of
#: pictures of formulas.
OF_CODE = (b"syntaxhighlighter", b"crayon-line", b"-code", b"code-line")
OF_SPACES = (b"white-space", b"whitespace-")
OF_TEX_IMAGES = (b"latex", b"LaTeX", b"tex.cgi", b"codecogs", b"math/render/", b"class\0tex\0")
IN_TEXT = searched_together((*OF_CODE, *OF_SPACES, *OF_TEX_IMAGES, TEX_SCRIPT))
#: Captions, declared pictures, links within the page, and roles.
IN_MARKUP = (b"caption", b":image", b"href\0#", b"role\0heading\0", b"role\0list")


def may_have_formulas(page: Page) -> bool:
    """Tell whether a page has MathML or scripts of TeX."""
    return "math" in page.nodes.names or len(page.nodes.with_words(IN_TEXT)[TEX_SCRIPT]) > 0
