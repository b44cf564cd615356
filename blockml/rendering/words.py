"""Words in attributes that outputs look for, in one pass for plain text and one more for Markdown and HTML."""

__all__ = ["IN_MARKUP", "IN_TEXT"]

#: Words in the classes of highlighters, and in styles and classes that keep white space.
IN_TEXT = (b"syntaxhighlighter", b"crayon-line", b"-code", b"code-line", b"white")
#: Captions, declared pictures, links within the page, and roles.
IN_MARKUP = (b"caption", b":image", b"href\0#", b"role\0heading\0", b"role\0list")
