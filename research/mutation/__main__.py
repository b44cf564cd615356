"""Run the tests of a module against its mutants, and list those that survive.

Each mutant runs in a process forked from one that has already loaded the slow imports. It ends at the first test that
fails, or at a time limit, because some mutants don't terminate.

    python -m research.mutation --sample 60
    python -m research.mutation blockml/decision/lines.py
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import lxml.html  # noqa: F401 (loaded before the first fork, like numpy)
import numpy as np  # noqa: F401
import pytest

from research.mutation.operators import Mutant, mutants


def note(text: str) -> None:
    """Write progress to standard error."""
    print(text, file=sys.stderr, flush=True)


#: Tests of each module.
TESTS: Mapping[str, Sequence[str]] = {
    "blockml/evaluation/metrics.py": (
        "tests/evaluation/test_blocks.py",
        "tests/evaluation/test_curves.py",
        "tests/evaluation/test_words.py",
    ),
    "blockml/decision/decide.py": ("tests/decision",),
    "blockml/decision/lines.py": ("tests/decision",),
    "blockml/predictors/page_features.py": ("tests/predictors", "tests/decision"),
    "blockml/decision/policy.py": ("tests/decision",),
    "blockml/model/model_file.py": ("tests/model/test_model_file.py",),
    "blockml/storage/arrays.py": ("tests/model/test_model_file.py", "tests/storage/test_arrays.py"),
}
#: CPU seconds and wall seconds after which a mutant counts as detected, and bytes of memory that it may use.
SECONDS, WAIT, MEMORY = 120, 600, 4 << 30


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads a mutant in place of its module."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Find the module of the mutant."""
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self._path))

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutant."""
        module.__file__ = str(self._path)
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)  # noqa: S102 (that is what it is for)


def run(path: Path, tree: ast.Module, tests: Sequence[str]) -> bool:
    """Run tests in a separate process and return whether all pass."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1] == 0
    signal.alarm(WAIT)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.meta_path.insert(0, _Finder(".".join(path.with_suffix("").parts), path.resolve(), tree))
    # Plain assertions, because pytest would load the original module to rewrite its assertions.
    options = ["-x", "-q", "--exhaustive", "--assert=plain", "-p", "no:xdist", "-p", "no:cacheprovider"]
    os._exit(int(pytest.main([*options, *tests, str(path)])))


def chosen(path: Path, sample: int, seed: int) -> list[Mutant]:
    """Return the mutants of a module, or some of them."""
    found = list(mutants(path.read_text(encoding="utf-8")))
    if not 0 < sample < len(found):
        return found
    numbers = sorted(random.Random(f"{seed} {path}").sample(range(len(found)), sample))  # noqa: S311 (no secret)
    return [found[number] for number in numbers]


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", type=Path, help=f"of {', '.join(TESTS)} (default: all)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="most mutants of a module (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.environ["CI"] = "true"  # the same examples of hypothesis every time
    for path in arguments.modules or map(Path, TESTS):
        tests, start = TESTS[str(path)], time.monotonic()
        if not run(path, ast.parse(path.read_text(encoding="utf-8")), tests):
            parser.error(f"the tests of {path} fail without a mutant")
        found = chosen(path, arguments.sample, arguments.seed)
        survivors = 0
        for number, mutant in enumerate(found, start=1):
            note(f"{path}, mutant {number} of {len(found)}, {survivors} survive")
            if run(path, mutant.tree(), tests):
                survivors += 1
                print(f"{path}:{mutant.line}: {mutant.before} -> {mutant.after or 'left out'}", flush=True)
        seconds = time.monotonic() - start
        print(f"{path}: {len(found)} mutants, {survivors} survive ({seconds:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
