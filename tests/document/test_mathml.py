"""TeX of MathML, for each construct of MathML Core."""

import pytest

import blockml
from blockml.document.mathml import tex_of_mathml

X, Y, N = "<mi>x</mi>", "<mi>y</mi>", "<mn>2</mn>"


@pytest.mark.parametrize(
    ("mathml", "tex"),
    [
        (f"{X}<mo>=</mo>{Y}<mo>−</mo>{N}", "x = y - 2"),
        (f"<mrow>{X}<mo>≤</mo>{Y}</mrow>", r"x \le y"),
        ("<mi>sin</mi><mi>α</mi>", r"\sin α"),
        ("<mi>rank</mi><mo>(</mo><mi>A</mi><mo>)</mo>", r"\mathrm{rank}(A)"),
        (f"<msub>{X}{N}</msub>", "x_{2}"),
        (f"<msup>{X}{N}</msup>", "x^{2}"),
        (f"<msup><mrow><mo>(</mo>{X}<mo>+</mo>{Y}<mo>)</mo></mrow>{N}</msup>", "{(x+y)}^{2}"),
        (f"<msubsup>{X}<mi>i</mi>{N}</msubsup>", "x_{i}^{2}"),
        (f"<mfrac>{X}<mrow>{Y}<mo>+</mo>{N}</mrow></mfrac>", r"\frac{x}{y+2}"),
        (f"<mfrac linethickness=0>{X}{Y}</mfrac>", r"\genfrac{}{}{0pt}{}{x}{y}"),
        (f"<msqrt>{X}<mo>+</mo>{N}</msqrt>", r"\sqrt{x+2}"),
        (f"<mroot>{X}<mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        (f"<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>{X}",
         r"\sum_{i=1}^{n} x"),
        (f"<munder><mi>lim</mi><mrow>{X}<mo>→</mo><mn>0</mn></mrow></munder>", r"\lim_{x\to0}"),
        (f"<mover>{X}<mo>¯</mo></mover>", r"\bar{x}"),
        (f"<mover><mrow>{X}{Y}</mrow><mo>¯</mo></mover>", r"\overline{xy}"),
        (f"<mover>{X}<mo>→</mo></mover>", r"\vec{x}"),
        (f"<mover>{X}<mo>^</mo></mover>", r"\hat{x}"),
        (f"<munder>{X}<mo>⏟</mo></munder>", r"\underbrace{x}"),
        ("<mover><mo>=</mo><mtext>def</mtext></mover>", r"\overset{\text{def}}{=}"),
        (f"<munder><mi>A</mi>{X}</munder>", r"\underset{x}{A}"),
        (f"<mmultiscripts><mi>C</mi>{X}<mrow></mrow><mprescripts></mprescripts>{Y}{N}</mmultiscripts>",
         "{}_{y}^{2}C_{x}"),
        (f"<mtable><mtr><mtd>{X}</mtd><mtd>{N}</mtd></mtr><mtr><mtd>0</mtd><mtd>{Y}</mtd></mtr></mtable>".replace(
            ">0<", "><mn>0</mn><"), r"\begin{matrix} x & 2 \\ 0 & y \end{matrix}"),
        (f"<mfenced open='[' separators=';'>{X}{Y}</mfenced>", r"\left[x; y\right)"),
        (f"{X}<mtext> if 5% </mtext>{Y}", r"x \text{if 5\%} y"),
        ("<ms>a</ms>", r'\text{"a"}'),
        (f"<menclose notation=box>{X}</menclose>", r"\boxed{x}"),
        (f"<mphantom>{X}</mphantom>", r"\phantom{x}"),
        (f"<mstyle><mpadded>{X}</mpadded><merror>{Y}</merror></mstyle>", "x y"),
        (f"<semantics><mrow>{X}</mrow><annotation>copy</annotation></semantics>", "x"),
        (f"<maction>{X}{Y}</maction>", "x"),
        (f"<mi>f</mi><mo>\u2061</mo><mo>(</mo>{X}<mo>,</mo>{Y}<mo>)</mo>", "f(x, y)"),
        (f"<mo>{{</mo>{X}<mo>}}</mo><mo>$</mo>", r"\{ x \} \$"),
        (f"<msub>{X}</msub>", "x"),  # without its script
    ],
)  # fmt: skip
def test_constructs(mathml: str, tex: str) -> None:
    """Each MathML element is written as TeX."""
    nodes = blockml.parse(f"<p>a <math>{mathml}</math> b").nodes
    assert tex_of_mathml(nodes, int(nodes.indices("math")[0])) == tex


def test_deep_formulas_end() -> None:
    """A formula of thousands of nested roots keeps its text without unbounded recursion."""
    html = f"<p>a <math>{'<msqrt>' * 3000}<mi>x</mi>{'</msqrt>' * 3000}</math> b"
    nodes = blockml.parse(html).nodes
    assert "x" in tex_of_mathml(nodes, int(nodes.indices("math")[0]))
