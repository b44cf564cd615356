"""Words in attributes that outputs look for, in one pass for plain text and one more for Markdown and HTML."""

__all__ = ["IN_MARKUP", "IN_TEXT", "OF_HIGHLIGHTERS", "OF_TEX_IMAGES"]

#: Words in the classes of highlighters, and in the addresses or classes of pictures of formulas.
OF_HIGHLIGHTERS = (b"syntaxhighlighter", b"crayon-line", b"-code", b"code-line")
OF_TEX_IMAGES = (b"latex", b"tex.cgi")
#: The same, and a word in styles and classes that keep white space.
IN_TEXT = (*OF_HIGHLIGHTERS, b"white", *OF_TEX_IMAGES)
#: Captions, declared pictures, links within the page, and roles.
IN_MARKUP = (b"caption", b":image", b"href\0#", b"role\0heading\0", b"role\0list")
