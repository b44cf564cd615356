"""Costs of a process: import time, peak memory, and loaded modules."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from research.benchmarks.speed.pages import Source, long_page
from research.benchmarks.speed.tables import Table

__all__ = ["blas_table", "child", "import_table", "memory_table"]

#: Modules that are large or needed only by parts of the package.
HEAVY = ("numpy", "lxml", "scipy", "sklearn", "joblib", "html5lib", "selectolax", "lightgbm", "threadpoolctl", "jinja2")
#: Last lines of every program, which report its cost. Peak memory is read from /proc, because getrusage may include
#: the parent process before exec.
_REPORT = f"""
import json, sys, time
def height():
    try:
        with open("/proc/self/status") as stream:
            return next(int(line.split()[1]) for line in stream if line.startswith("VmHWM")) / 1024
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024 ** 2)
cpu, wall = time.process_time(), time.perf_counter()
began = globals().get("began", (0.0, None))
loaded = [name for name in {HEAVY!r} if name in sys.modules]
inside = began[1] and wall - began[1]
workers = globals().get("workers", 0.0)
print(json.dumps({{"cpu": cpu - began[0], "workers": workers, "inside": inside, "height": height(), "loaded": loaded}}))
"""

#: Program that extracts pages in a loop.
_LOOP = """
import json, sys, time, blockml
pages = [html.encode() for html in json.load(open(sys.argv[1]))]
model = blockml.load({!r})
blockml.extract(pages[0], model=model)
began = time.process_time(), time.perf_counter()
for html in pages:
    blockml.extract(html, model=model)
"""
_PAGE = "import sys, blockml; blockml.extract(open(sys.argv[1], 'rb').read(), model={!r})"


def child(program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a program in a new process: CPU and wall seconds, peak memory in megabytes, modules loaded.

    If a program sets ``began`` to its CPU and wall time, CPU time is counted from then, and wall time since then is
    returned as ``inside``; ``workers`` are CPU seconds of its own processes, which it sets. Modules are read as byte
    code from the second run on, like those of an installed package.
    """
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _byte_code().name}
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", program + _REPORT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in {**os.environ, **compiled, **(environment or {})}.items() if value},
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told | {"wall": time.perf_counter() - start}


@functools.cache
def _byte_code() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for byte code, which is removed when this process ends."""
    return tempfile.TemporaryDirectory()


def import_table(models: Sequence[str], page: Source, rounds: int) -> Table:
    """Measure imports: minimum CPU and wall time over some rounds, in turns."""
    programs = {
        "Python alone": "",
        "import lxml.etree": "import lxml.etree",
        "import numpy": "import numpy",
        "import blockml": "import blockml",
        **{f"import, and a first page with {name}": _PAGE.format(name) for name in models},
        "import sklearn.tree, for comparison": "import sklearn.tree",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_bytes(page.html)
        runs = [{name: child(program, str(path)) for name, program in programs.items()} for _ in range(rounds)]
    return [
        {
            "": name,
            "CPU ms": 1000 * min(run[name]["cpu"] for run in runs),
            "wall ms": 1000 * min(run[name]["wall"] for run in runs),
            "large modules loaded": ", ".join(runs[0][name]["loaded"]),
        }
        for name in programs
    ]


def memory_table(models: Sequence[str], sources: Sequence[Source], largest: int) -> Table:
    """Measure peak memory from an import up to the largest page."""
    middle = sorted(sources, key=lambda source: len(source.html))[len(sources) // 2].html
    pages = {f"one page of {_size(len(middle))}": middle}
    for size in (largest // 50, largest):
        pages[f"one page of {_size(size)}"] = long_page(sources, size)
    rows: Table = [
        {"": name, "MB": child(program)["height"]}
        for name, program in (("Python alone", ""), ("import numpy, lxml.etree", "import numpy, lxml.etree"))
    ]
    rows.append({"": "import blockml", "MB": child("import blockml")["height"]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        for title, html in pages.items():
            path.write_bytes(html)
            tree = "import sys; from lxml import etree; etree.fromstring(open(sys.argv[1], 'rb').read(), "
            rows.append(
                {
                    "": f"{title}, lxml's tree only",
                    "MB": child(tree + "etree.HTMLParser(encoding='utf-8', huge_tree=True))", str(path))["height"],
                }
            )
            for name in models:
                rows.append({"": f"{title}, {name}", "MB": child(_PAGE.format(name), str(path))["height"]})
    return rows


def blas_table(models: Sequence[str], sources: Sequence[Source], rounds: int) -> Table:
    """Measure extractions in a loop, with numpy's default number of BLAS threads and with one."""
    least: dict[str, tuple[float, float]] = {}
    unset = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.json"
        path.write_text(json.dumps([source.text for source in sources]), encoding="utf-8")
        for _ in range(rounds):
            for name in models:
                for title, count in (("as numpy comes", ""), ("OPENBLAS_NUM_THREADS=1", "1")):
                    wanted = unset | {"OPENBLAS_NUM_THREADS": count}
                    told = child(_LOOP.format(name), str(path), environment=wanted)
                    key, new = f"{name}, {title}", (told["cpu"], told["inside"])
                    least[key] = min(least.get(key, new), new)
    each = 1000 / len(sources)
    return [{"": key, "CPU ms a page": cpu * each, "wall ms a page": wall * each} for key, (cpu, wall) in least.items()]


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 10**6:.0f} MB" if n_bytes >= 10**6 else f"{n_bytes / 1000:.0f} kB"
