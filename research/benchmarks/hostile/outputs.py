"""Outputs of hostile pages: bytes, time and memory for a byte of the page, and their growth.

    python -m research.benchmarks.hostile.outputs

prints a line of JSON for each output of each shape, and a table of the worst shapes. Each output is made in its own
process, at doubled sizes. Bytes are those beside the constant that every page may have; exponents are slopes over the
size on logarithmic scales.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import blockml
from blockml.extract import extract_page
from blockml.extractors import resolve
from blockml.page import Extraction, Paragraph
from blockml.parsing import BACKENDS, parse
from blockml.rendering.bounds import SPARE
from blockml.reports.pageview import write_view
from research.benchmarks.hostile.shapes import OUTPUT_SHAPES, SHAPES
from research.benchmarks.hostile.trial import peak_memory

#: Sizes of a page in bytes.
SIZES = (125_000, 250_000)
#: Times in seconds and memory in bytes below which growth is not told.
_SHORT, _LITTLE = 0.02, 4 << 20


def _texts(paragraphs: Iterable[Paragraph]) -> str:
    return "".join([text for item in paragraphs for text in (item.text, item.xpath, *item.headings)])


def _view(result: Extraction) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return write_view(result, Path(folder) / "view.html").read_text(encoding="utf-8")


#: Functions that make an output of an extraction.
OUTPUTS: Mapping[str, Callable[[Extraction], str]] = {
    "text": lambda result: result.text,
    "metadata": lambda result: json.dumps(result.metadata.record(), ensure_ascii=False, indent=2),
    "Markdown": lambda result: blockml.render(result, "markdown"),
    "HTML": lambda result: blockml.render(result, "html"),
    "JSON": lambda result: blockml.render(result, "json"),
    "paragraphs": lambda result: _texts(result.paragraphs),
    "removed": lambda result: _texts(result.removed),
    "view": _view,
}


def extraction(shape: str, size: int, backend: str = "lxml") -> tuple[Extraction, int]:
    """Extract all blocks of a page; return the size of the page too."""
    source = (OUTPUT_SHAPES.get(shape) or SHAPES[shape])(size)
    page = parse(source, backend=backend, url="https://a.example/b/c")
    return extract_page(page, resolve("plain")), len(source)


def trial(work: tuple[str, str, str, int]) -> dict[str, float]:
    """Make an output of a page; return its bytes, seconds and memory."""
    output, shape, backend, size = work
    result, n_bytes = extraction(shape, size, backend)
    made = OUTPUTS[output]
    made(extraction("ordinary", 20_000)[0])  # loads everything
    before, start = peak_memory(anew=True), time.process_time()
    n_made = len(made(result).encode("utf-8", "replace"))
    seconds = time.process_time() - start
    return {"page": n_bytes, "bytes": n_made, "seconds": seconds, "memory": max(0, peak_memory() - before)}


def slope(found: Sequence[Mapping[str, float]], what: str, least: float) -> float | None:
    """Return the exponent of growth; None if the larger page has less than ``least``."""
    first, last = found[0], found[-1]
    if last[what] <= least or first[what] <= 0:
        return None
    return math.log(last[what] / first[what]) / math.log(last["page"] / first["page"])


def rows(outputs: Sequence[str], shapes: Sequence[str], backends: Sequence[str], sizes: Sequence[int]) -> list[Any]:
    """Return a row for each output, shape and back end."""
    lines = []
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for backend in backends:
            for shape in shapes:
                for output in outputs:
                    found = pool.map(trial, [(output, shape, backend, size) for size in sizes], chunksize=1)
                    last = found[-1]
                    line: dict[str, Any] = {"output": output, "shape": shape, "back end": backend}
                    line["bytes"] = (last["bytes"] - SPARE) / last["page"]
                    line["memory"] = last["memory"] / last["page"]
                    line["seconds"] = last["seconds"]
                    line["exponent of bytes"] = slope(found, "bytes", 2 * last["page"])
                    line["exponent of seconds"] = slope(found, "seconds", _SHORT)
                    line["exponent of memory"] = slope(found, "memory", _LITTLE)
                    lines.append(line)
                    print(json.dumps(line), flush=True)
    return lines


def summary(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the worst shape of each output, by each measure."""
    table = []
    for output in dict.fromkeys(line["output"] for line in lines):
        own = [line for line in lines if line["output"] == output]
        row: dict[str, Any] = {"output": output}
        for what in ("bytes", "memory", "exponent of bytes", "exponent of seconds", "exponent of memory"):
            worst = max((line for line in own if line[what] is not None), key=lambda line: line[what], default=None)
            row[what] = f"{worst[what]:.2f} ({worst['shape']})" if worst else ""
        table.append(row)
    return table


def main() -> None:
    """Run the trials and print the table."""
    from research.benchmarks.hostile.__main__ import markdown

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--outputs", nargs="+", choices=list(OUTPUTS), default=list(OUTPUTS), metavar="NAME")
    parser.add_argument("--shapes", nargs="+", default=[*OUTPUT_SHAPES, *SHAPES], metavar="NAME")
    parser.add_argument("--backends", nargs="+", choices=list(BACKENDS), default=["lxml"], metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="BYTES")
    arguments = parser.parse_args()
    print(markdown(summary(rows(arguments.outputs, arguments.shapes, arguments.backends, arguments.sizes))))


if __name__ == "__main__":
    main()
