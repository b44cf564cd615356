"""Mutants: where a module is changed, and whether tests detect it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from research.mutation.__main__ import TESTS, chosen
from research.mutation.operators import mutants

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A docstring."""
LIMIT: int = 5

@decorated(7)
def f(x: int = 3, *, by: bool = True) -> int:
    """Another one."""
    if not x and x < 4 or by is None:
        raise ValueError("x" + "y")
    total = 0
    for item in range(-x):
        total += item
        print(total)
    return total / 2.5
'''


def test_mutated_expressions_and_statements() -> None:
    """Expressions and statements are mutated, but not texts, types, decorators and default values."""
    found = {(mutant.line, mutant.before, mutant.after) for mutant in mutants(SOURCE)}
    assert found == {
        (2, "5", "6"),
        (7, "not x and x < 4 or by is None", "(not x and x < 4) and by is None"),
        (7, "not x and x < 4", "not x or x < 4"),
        (7, "not x", "x"),
        (7, "x < 4", "x <= 4"),
        (7, "4", "5"),
        (7, "by is None", "by is not None"),
        (8, "raise ValueError('x' + 'y')", ""),
        (8, "'x' + 'y'", "'x' - 'y'"),
        (9, "0", "1"),
        (10, "-x", "x"),
        (11, "total += item", "total -= item"),
        (12, "print(total)", ""),
        (13, "total / 2.5", "total * 2.5"),
        (13, "2.5", "5.0"),
    }
    for mutant in mutants(SOURCE):
        compile(mutant.tree(), "x", "exec")
        assert ast.unparse(mutant.tree()) != ast.unparse(ast.parse(SOURCE))


def test_samples_are_reproducible() -> None:
    """A sample has the requested size in order of lines, or all mutants for 0, and is the same every time."""
    for name, tests in TESTS.items():
        assert all((ROOT / test).exists() for test in tests)
        whole = [mutant.line for mutant in chosen(ROOT / name, 0, 0)]
        some = [mutant.line for mutant in chosen(ROOT / name, 5, 0)]
        assert whole == [mutant.line for mutant in mutants((ROOT / name).read_text(encoding="utf-8"))]
        assert (len(some), sorted(some)) == (5, some)
        assert some == [mutant.line for mutant in chosen(ROOT / name, 5, 0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_tests_see_the_mutant() -> None:
    """The tests see the mutant: they fail with a mutated module and pass with the original."""
    code = """
import ast
from pathlib import Path
from research.mutation.__main__ import run
path, tests = Path("blockml/evaluation/metrics.py"), ["tests/evaluation/test_blocks.py"]
source = path.read_text()
print(run(path, ast.parse(source), tests), run(path, ast.parse(source.replace("self.fp + self.fn", "self.fp")), tests))
"""
    done = subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout.split() == ["True", "False"], done.stderr
