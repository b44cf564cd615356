"""Mutants of a module: the source with one place changed, for each place to which an operator applies."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants"]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
#: Fields of nodes that are types, decorators or default values; calls have arguments of one of these names.
_UNCHANGED = frozenset({"annotation", "returns", "decorator_list", "args", "type_params"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed module."""

    line: int  #: line of the change in the module
    before: str  #: the changed expression or statement
    after: str  #: the expression or statement after the change
    source: str  #: the module before the change
    place: int  #: number of the changed node among the nodes that may change
    changed: ast.AST  #: the node that replaces it

    def tree(self) -> ast.Module:
        """Return the changed module."""
        made = ast.parse(self.source)
        _replace(made, list(_places(made))[self.place], self.changed)
        return ast.fix_missing_locations(made)


def mutants(source: str) -> Iterator[Mutant]:
    """Yield the mutants of a module, in the order of its source.

    Comparisons, arithmetic, ``and``, ``not``, signs, numbers and truth values change, and statements that raise or are
    called for their effect are left out. Types, decorators, default values and strings stay.

    Examples
    --------
    >>> source = "def f(x: int = 2) -> int:\\n    return x + 1 if x else 0"
    >>> [(mutant.before, mutant.after) for mutant in mutants(source)]
    [('x + 1', 'x - 1'), ('1', '2'), ('0', '1')]
    """
    tree = ast.parse(source)
    for number, node in enumerate(_places(tree)):
        for changed in _changes(node):
            before = ast.unparse(node).splitlines()[0]
            yield Mutant(getattr(node, "lineno", 0), before, _written(changed), source, number, changed)


def _written(node: ast.AST) -> str:
    return "" if isinstance(node, ast.Pass) else ast.unparse(node)


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may change, without those of types, decorators and default values."""
    for name, value in ast.iter_fields(tree):
        if name in _UNCHANGED and not isinstance(tree, ast.Call):
            continue
        if isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST):
                yield node
                yield from _places(node)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the replacements of a node."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=comparators):
            yield ast.Compare(left, [_COMPARED[type(operator)]()], comparators)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COMPUTED:
            yield ast.BinOp(left, _COMPUTED[type(operator)](), right)
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in _COMPUTED:
            yield ast.AugAssign(target, _COMPUTED[type(operator)](), value)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value if value else 1.0)
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case _:
            pass


def _replace(tree: ast.AST, place: ast.AST, changed: ast.AST) -> None:
    """Replace a node by another one."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is place:
                setattr(parent, name, changed)
            elif isinstance(value, list):
                value[:] = [changed if item is place else item for item in value]
