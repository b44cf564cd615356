"""TeX of MathML without an annotation: the elements of MathML Core, and some older ones."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence

from blockml.page import Nodes

__all__ = ["tex_of_mathml"]

#: Maximum depth of elements; only the text of deeper ones is written.
_MAX_LEVELS = 40
#: TeX of characters, at most 8 bytes for each. Others are written unchanged, because current TeX reads Unicode.
_CHARACTERS = str.maketrans(
    {"−": "-", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∞": r"\infty ", "×": r"\times ", "·": r"\cdot ",
     "⋅": r"\cdot ", "±": r"\pm ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "→": r"\to ",
     "∈": r"\in ", "∂": r"\partial ", "∇": r"\nabla ", "…": r"\dots ", "⋯": r"\cdots ", "⟨": r"\langle ",
     "⟩": r"\rangle ", "‖": r"\| ", "{": r"\{", "}": r"\}", "%": r"\%", "#": r"\#", "&": r"\&", "$": r"\$",
     "_": r"\_", "~": r"\sim ", "\\": "∖", "^": r"\wedge ",
     **dict.fromkeys("\u2061\u2062\u2063\u2064\u200b", "")}
)  # fmt: skip
_IN_TEXT = str.maketrans({sign: f"\\{sign}" for sign in "{}%#&$_"} | {"\\": "/", "~": " ", "^": " "})
_FUNCTIONS = frozenset("arccos arcsin arctan arg cos cosh cot csc deg det dim exp gcd inf ker lim liminf limsup ln "
                       "log max min Pr sec sin sinh sup tan tanh".split())  # fmt: skip
#: Bases whose limits are written as scripts.
_LIMITS = re.compile(r"\\(?:sum|prod|int|lim|limsup|liminf|max|min|sup|inf|gcd|det|Pr)|[⋃⋂⨁⨂∐∮⋁⋀]")
_ACCENTS = {
    "over": {"bar": "ˉ¯‾", "hat": "^ˆ", "tilde": "~˜", "vec": "→⃗", "dot": "˙.", "ddot": "¨", "overbrace": "⏞"},
    "under": {"underline": "_̲‾¯", "underbrace": "⏟"},
}
_RELATIONS = re.compile(r"[=<>:+]|-|\\(?:le|ge|ne|approx|to|in|times|cdot|pm|sim)")
_ENDS_WITH_COMMAND = re.compile(r"\\[A-Za-z]+\Z")
_SKIPPED = frozenset({"annotation", "annotation-xml", "mprescripts", "maligngroup", "malignmark"})


def tex_of_mathml(nodes: Nodes, node: int) -> str:
    """Return the TeX of a ``math`` element.

    Examples
    --------
    >>> import blockml
    >>> html = "<math><mi>y</mi><mo>=</mo><mfrac><mn>1</mn><msup><mi>x</mi><mn>2</mn></msup></mfrac></math>"
    >>> nodes = blockml.parse(html).nodes
    >>> tex_of_mathml(nodes, nodes.indices("math")[0])
    'y = \\\\frac{1}{x^{2}}'
    """
    inner = [node]
    while len(inner) == 1 and nodes.name(inner[0]) in {"math", "mrow", "mstyle", "semantics"}:
        inner = _children(nodes, inner[0])
    return _Converter(nodes).joined(inner, spaced=True)


def _children(nodes: Nodes, node: int) -> list[int]:
    """Return the child elements of an element."""
    found, item, end = [], node + 1, int(nodes.end[node])
    while item < end:
        if nodes.tag[item] != 0 and nodes.name(item) not in _SKIPPED:
            found.append(item)
        item = int(nodes.end[item]) if nodes.tag[item] != 0 else item + 1
    return found[:1] if nodes.name(node) in {"semantics", "maction"} else found


class _Converter:
    """Writes elements of MathML as TeX."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.marks = nodes.indices("mprescripts").tolist()
        self.level = 0

    def joined(self, elements: Sequence[int], *, spaced: bool = False) -> str:
        """Write elements in a row; ``spaced`` adds spaces around relations and between factors."""
        pieces: list[str] = []
        for piece in filter(None, map(self.tex, elements)):
            before = pieces[-1] if pieces else ""
            is_relation = _RELATIONS.fullmatch(piece.strip()) is not None
            is_sign = len(pieces) == 1 and before in {"+", "-"}
            is_tight = piece[0] in "(),;!|'" or not before or before[-1] in "([|" or is_sign
            needs_space = piece[0].isalpha() and _ENDS_WITH_COMMAND.search(before) is not None
            if pieces and ((spaced and (is_relation or not is_tight)) or needs_space):
                pieces.append(" ")
            pieces.append(piece)
        text = "".join(pieces)
        return " ".join(text.split()) if spaced else text.strip()

    def tex(self, node: int) -> str:
        """Write an element."""
        nodes, name = self.nodes, self.nodes.name(node)
        if name in _TOKENS or self.level >= _MAX_LEVELS:
            text = " ".join("".join(nodes.texts[node : int(nodes.end[node])]).split())
            return _TOKENS.get(name, _token)(text)
        self.level += 1
        children = _children(nodes, node)
        writer = _WRITERS.get(name)
        if writer is not None and (len(children) == _N_CHILDREN.get(name, len(children))):
            text = writer(self, node, [self.tex(child) for child in children])
        elif name in _WITH_ROWS:
            text = _WITH_ROWS[name](self, node, children)
        else:
            text = self.joined(children)
        self.level -= 1
        return text

    def table(self, _: int, rows: Sequence[int]) -> str:
        """Write a table as a matrix."""
        cells = [[self.joined(_children(self.nodes, cell)) for cell in _children(self.nodes, row)] for row in rows]
        return " ".join([r"\begin{matrix}", r" \\ ".join(map(" & ".join, cells)), r"\end{matrix}"])

    def multiscripts(self, node: int, children: Sequence[int]) -> str:
        """Write scripts on both sides of a base."""
        nodes = self.nodes
        mark = self.marks[place] if (place := bisect(self.marks, node)) < len(self.marks) else len(nodes)
        first = bisect(children, mark if mark < nodes.end[node] else len(nodes), 1) if children else 0
        after, before = children[1:first], children[first:]
        base = _group(self.tex(children[0])) if children else ""
        left, right = ("".join(map(self.pair, side[::2], [*side[1::2], -1])) for side in (before, after))
        return f"{'{}' if left else ''}{left}{base}{right}"

    def pair(self, sub: int, sup: int) -> str:
        """Write a pair of scripts, either of which may be missing."""
        texts = [self.tex(item) if item >= 0 else "" for item in (sub, sup)]
        return "".join(f"{sign}{{{text}}}" for sign, text in zip("_^", texts, strict=True) if text)

    def fenced(self, node: int, children: Sequence[int]) -> str:
        """Write an element with parentheses around it and commas between its parts."""
        held = self.nodes.attributes[node]
        separators = "".join(held.get("separators", ",").split()) or " "
        text = ""
        for place, child in enumerate(children):
            sign = separators[min(place, len(separators)) - 1] if place else ""
            text += (f"{_token(sign)} " if sign.strip() else "") + self.tex(child)
        begin, end = (_token(held.get(side, sign)) or "." for side, sign in (("open", "("), ("close", ")")))
        return rf"\left{begin}{text}\right{end}"


def _token(text: str) -> str:
    return re.sub(r" (?=$| )", "", text.translate(_CHARACTERS)) if text else ""


def _identifier(text: str) -> str:
    if len(text) < 2:
        return _token(text)
    return f"\\{text}" if text in _FUNCTIONS else rf"\mathrm{{{_token(text)}}}" if text.isalpha() else _token(text)


def _words(text: str) -> str:
    return rf"\text{{{text.translate(_IN_TEXT)}}}" if text else ""


def _group(tex: str) -> str:
    """Put braces around more than one sign, so that a script belongs to all of them."""
    return tex if len(tex) == 1 or re.fullmatch(r"\\[A-Za-z]+|[0-9]+", tex) else f"{{{tex}}}"


def _scripted(base: str, sub: str = "", sup: str = "") -> str:
    return _group(base) + (f"_{{{sub}}}" if sub else "") + (f"^{{{sup}}}" if sup else "")


def _limits(base: str, under: str = "", over: str = "") -> str:
    """Write what is below and above a base: scripts if it is a sum or the like, else accents or stacked signs."""
    if _LIMITS.fullmatch(base):
        return _scripted(base, under, over)
    for side, sign in (("under", under), ("over", over)):
        plain = sign.replace(r"\to", "→").replace(r"\sim", "~").replace(r"\wedge", "^").replace(r"\_", "_")
        command = next((name for name, signs in _ACCENTS[side].items() if len(plain) == 1 and plain in signs), "")
        command = "overline" if command == "bar" and len(base) > 1 else command
        base = rf"\{command}{{{base}}}" if command else rf"\{side}set{{{sign}}}{{{base}}}" if sign else base
    return base


def _fraction(converter: _Converter, node: int, parts: Sequence[str]) -> str:
    thickness = converter.nodes.attributes[node].get("linethickness", "")
    command = r"\genfrac{}{}{0pt}{}" if re.fullmatch(r"0[a-z%]*", thickness.strip()) else r"\frac"
    return f"{command}{{{parts[0]}}}{{{parts[1]}}}"


_Writer = Callable[["_Converter", int, list[str]], str]
_TOKENS: Mapping[str, Callable[[str], str]] = {
    "mi": _identifier, "mn": _token, "mo": _token, "mtext": _words, "ms": lambda text: _words(f'"{text}"'),
    "mspace": lambda _: r"\ ", "none": lambda _: "", "mglyph": lambda _: "",
}  # fmt: skip
#: Elements with a fixed number of children.
_N_CHILDREN = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "mroot": 2, "msubsup": 3, "munderover": 3}
_WRITERS: Mapping[str, _Writer] = {
    "mfrac": _fraction,
    "msub": lambda _, __, parts: _scripted(parts[0], parts[1]),
    "msup": lambda _, __, parts: _scripted(parts[0], "", parts[1]),
    "msubsup": lambda _, __, parts: _scripted(*parts),
    "munder": lambda _, __, parts: _limits(*parts),
    "mover": lambda _, __, parts: _limits(parts[0], "", parts[1]),
    "munderover": lambda _, __, parts: _limits(*parts),
    "mroot": lambda _, __, parts: rf"\sqrt[{parts[1]}]{{{parts[0]}}}",
}
#: Elements with a row of children.
_WITH_ROWS: Mapping[str, Callable[[_Converter, int, Sequence[int]], str]] = {
    "msqrt": lambda converter, _, children: rf"\sqrt{{{converter.joined(children)}}}",
    "mphantom": lambda converter, _, children: rf"\phantom{{{converter.joined(children)}}}",
    "menclose": lambda converter, _, children: rf"\boxed{{{converter.joined(children)}}}",
    "mtable": _Converter.table,
    "mmultiscripts": _Converter.multiscripts,
    "mfenced": _Converter.fenced,
}
