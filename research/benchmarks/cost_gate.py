"""Cost gate: text, metadata, Markdown and start may not take more instructions than pinned.

Instructions, unlike times, are equal from run to run, so that small steps are seen. valgrind counts them on twenty
pages of ``data/``; each process makes one more pass over the pages, and ends like one that makes none. They depend on
the interpreter, the libraries and the compiler, so ``cost_gate.json`` names those that its numbers were counted with;
elsewhere nothing is compared, and the gate says so. A number that rises by more than 2 % needs a new pin in the same
commit, with its reason:

    python research/benchmarks/cost_gate.py --pin --reason "tables are kept whole"
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from blockml.cli.output import note, print_rows
from blockml.datasets import open_dataset
from blockml.storage.atomic import atomic_write

ROOT = Path(__file__).resolve().parents[2]
PINS = Path(__file__).with_name("cost_gate.json")
#: Share by which a number may rise without a new pin.
TOLERANCE = 0.02
N_PAGES = 20

#: What each process does in its last pass; metadata and Markdown follow the text.
_PASSES = {"none": "", "text": "", "metadata": "result.metadata", "markdown": "result.markdown"}
_PROGRAM = """
import gc, sys
from pathlib import Path
import blockml
pages = [path.read_bytes() for path in sorted(Path(sys.argv[1]).iterdir())]
model = blockml.load("default")
for page in pages:
    result = blockml.extract(page, model=model)
    result.text, result.metadata, result.markdown
gc.collect()
gc.disable()
for page in pages if {number} else ():
    result = blockml.extract(page, model=model)
    result.text
    {last}
"""
_START = "import blockml; blockml.extract('<p>One page.').text"


def environment() -> dict[str, str]:
    """Return what instructions depend on, besides this repository."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)  # noqa: S607 (on the path)
    return {
        "machine": platform.machine(),
        "Python": f"{platform.python_version()}, {platform.python_compiler()}",
        "numpy": np.__version__,
        "lxml": ".".join(map(str, etree.LXML_VERSION)),
        "libxml2": ".".join(map(str, etree.LIBXML_VERSION)),
        "compiler": compiler.stdout.partition("\n")[0],
    }


def differences(here: Mapping[str, str], pinned: Mapping[str, str]) -> str:
    """Return what differs from the pinned environment, with both values; empty if nothing does.

    Examples
    --------
    >>> differences({"numpy": "2.4", "lxml": "6.1"}, {"numpy": "2.3", "lxml": "6.1"})
    'numpy 2.3, here 2.4'
    """
    return "; ".join(
        f"{name} {pinned.get(name)}, here {value}" for name, value in here.items() if pinned.get(name) != value
    )


def count(program: str, *arguments: str, bytecode: str) -> int:
    """Count the instructions of a Python program whose modules were compiled before, into the folder ``bytecode``.

    Raises
    ------
    RuntimeError
        The program failed.
    """
    command = [sys.executable, "-P", "-c", program, *arguments]
    env = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": bytecode}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, env=env, capture_output=True, check=False)  # noqa: S603 (this Python, and a program of this module)
    run = subprocess.run(  # noqa: S603 (as above)
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command],  # noqa: S607 (on the path)
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)
    if run.returncode or found is None:
        raise RuntimeError(run.stderr[-1000:])
    return int(found[1].replace(",", ""))


def measure(jobs: int) -> dict[str, int]:
    """Count thousand instructions of a start, of the text of a page, and of what outputs take over the text."""
    pages = sorted(open_dataset(ROOT / "data" / "pages").pages, key=lambda page: page.id)[:N_PAGES]
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as bytecode,
        ThreadPoolExecutor(jobs) as pool,
    ):
        for number, page in enumerate(pages):
            (Path(folder) / f"{number:02}.html").write_bytes(page.load()[0])
        programs = [_PROGRAM.format(number=number, last=last) for number, last in enumerate(_PASSES.values())]
        start = count(_START, bytecode=bytecode)
        counts = dict(zip(_PASSES, pool.map(lambda own: count(own, folder, bytecode=bytecode), programs), strict=True))
    of_text = counts["text"] - counts["none"]
    of_page = {"text": of_text, **{name: counts[name] - counts["none"] - of_text for name in ("metadata", "markdown")}}
    return {"start": start // 1000} | {name: number // (1000 * len(pages)) for name, number in of_page.items()}


def increases(measured: Mapping[str, int], pinned: Mapping[str, int]) -> list[str]:
    """List what takes more instructions than pinned, or is not pinned.

    Examples
    --------
    >>> increases({"text": 5100, "start": 100_000}, {"text": 5000, "start": 90_000})
    ['start: 100,000 thousand instructions, more than 2 % above the pinned 90,000']
    """
    return [
        f"{name}: {number:,} thousand instructions, more than {TOLERANCE:.0%} above the pinned {pinned.get(name, 0):,}"
        for name, number in measured.items()
        if number > (1 + TOLERANCE) * pinned.get(name, 0)
    ]


def main() -> int:
    """Check or pin; return 1 if something became dearer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pin", action="store_true", help="write what was counted as new pins")
    parser.add_argument("--reason", help="why a number rises")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        note("instructions were not counted: valgrind is not installed")
        return int(arguments.pin)
    known: dict[str, Any] = json.loads(PINS.read_text(encoding="utf-8")) if PINS.is_file() else {}
    here = environment()
    other = differences(here, known.get("environment", {}))
    if other and not arguments.pin:
        note(f"instructions were not counted: they are pinned with {other}; to pin them here: --pin")
        return 0
    measured = measure(arguments.jobs)
    pinned: dict[str, int] = known.get("thousand instructions", {})
    rows = [{"": name, "thousand": number, "pinned": pinned.get(name)} for name, number in measured.items()]
    print_rows(rows, "table")
    problems = increases(measured, pinned)
    if not arguments.pin:
        for problem in problems:
            note(problem)
        return 1 if problems else 0
    if problems and pinned and not arguments.reason:
        note(f"what became dearer needs a --reason: {'; '.join(problems)}")
        return 1
    record = {"environment": here, "thousand instructions": measured, "reason": arguments.reason or known.get("reason")}
    with atomic_write(PINS) as stream:
        stream.write((json.dumps(record, indent=2) + "\n").encode())
    note(f"pinned {', '.join(measured)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
