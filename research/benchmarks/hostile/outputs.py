"""Outputs of hostile pages: bytes, time and memory per byte of the page, and their growth.

    python -m research.benchmarks.hostile.outputs --backends lxml lexbor html5lib --report research/robustness.md

prints a line of JSON for each output of each shape and back end, and writes tables of the worst shapes. Three back ends
take 20 minutes of one processor; to measure them in separate processes, redirect the lines of each to a file and give
the files as ``--measured``, in which a later row of a shape replaces an earlier one. A page is extracted in a separate
process, which is forked for each output. Bytes are those above the constant that every page may have; exponents are
slopes over the size on logarithmic scales. An exponent above the bound is measured again at four times the sizes, where
steps of small pages no longer count, and the lowest CPU time of several counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import blockml
from blockml.extract import extract_page
from blockml.extractors import Extractor, resolve
from blockml.page import Extraction, Paragraph
from blockml.page.bounds import MAX_RATIO, SPARE
from blockml.parsing import BACKENDS, parse
from blockml.reports.pageview import VIEW_SPARE, write_view
from research.benchmarks.hostile.__main__ import markdown, replace_tables
from research.benchmarks.hostile.shapes import OUTPUT_SHAPES, SHAPES
from research.benchmarks.hostile.trial import peak_memory

#: Sizes of a page in bytes.
SIZES = (60_000, 240_000)
#: Maximum exponent, and maximum bytes of memory per byte of a page.
MAX_EXPONENT, MAX_MEMORY = 1.2, 100
#: Seconds below which growth is not computed.
_SHORT = 0.02
#: How often outputs that grow too fast are made again, and the factor of the sizes.
_AGAIN, _FACTOR = 3, 4
#: Number of rows in the table of those that come nearest to a bound.
_NEAREST = 10
BOUNDS: Mapping[str, float] = {
    "bytes": MAX_RATIO, "memory": MAX_MEMORY, "exponent of bytes": MAX_EXPONENT, "exponent of time": MAX_EXPONENT
}  # fmt: skip
#: Format of each measure in tables.
_FORMS: Mapping[str, str] = {
    "bytes": ".1f", "memory": ".0f", "exponent of bytes": ".2f", "exponent of time": ".2f"
}  # fmt: skip
#: Shapes of both lists.
ALL_SHAPES: Mapping[str, Callable[[int], bytes]] = {**OUTPUT_SHAPES, **SHAPES}
_FOLDER = tempfile.TemporaryDirectory()
_START, _END = "<!-- table of outputs -->", "<!-- end of table of outputs -->"


def _texts(paragraphs: Iterable[Paragraph]) -> str:
    return "".join([text for item in paragraphs for text in (item.text, item.xpath, *item.headings)])


@cache
def _default() -> Extractor:
    return resolve("default")


def _view(result: Extraction) -> Path:
    return write_view(result, Path(_FOLDER.name) / "view.html", threshold=0.5, extractor=_default())


#: Functions that return an output of an extraction, or the path of its file.
OUTPUTS: Mapping[str, Callable[[Extraction], str | Path]] = {
    "text": lambda result: blockml.render(result, "text", with_title=True, paragraphs=True),
    "metadata": lambda result: json.dumps(result.metadata.record(), ensure_ascii=False, indent=2),
    "Markdown": lambda result: blockml.render(result, "markdown"),
    "HTML": lambda result: blockml.render(result, "html"),
    "TEI": lambda result: blockml.render(result, "tei"),
    "chunks": lambda result: "".join("".join((*item.headings, item.text)) for item in result.chunks(200, "markdown")),
    "JSON": lambda result: blockml.render(result, "json"),
    "paragraphs": lambda result: _texts(result.paragraphs),
    "removed": lambda result: _texts(result.removed),
    "view": _view,
}
#: Bytes of an output in addition to those in proportion to the page.
SPARES: Mapping[str, int] = dict.fromkeys(OUTPUTS, SPARE) | {"view": VIEW_SPARE}


def extraction(shape: str, size: int, backend: str = "lxml") -> tuple[Extraction, int]:
    """Extract all blocks of a page; return the size of the page too."""
    source = ALL_SHAPES[shape](size)
    page = parse(source, backend=backend, url="https://a.example/b/c")
    return extract_page(page, resolve("plain")), len(source)


def trial(shape: str, backend: str, size: int, outputs: Sequence[str], times: int = 1) -> dict[str, dict[str, float]]:
    """Make outputs of a page, each in a separate process; return their bytes, seconds and memory by name.

    Memory is the increase of the process since before the page was parsed.
    """
    before = peak_memory(anew=True)
    result, n_bytes = extraction(shape, size, backend)
    made = {output: forked(_made, result, output, times) for output in outputs}
    for found in made.values():
        found |= {"page": n_bytes, "memory": max(0, found["memory"] - before)}
    return made


def _made(result: Extraction, output: str, times: int) -> dict[str, float]:
    """Make an output of an extraction, and of new ones; return its bytes, the lowest seconds, and peak memory."""
    seconds = math.inf
    for _ in range(times):
        start = time.process_time()
        written = OUTPUTS[output](result)
        seconds = min(seconds, time.process_time() - start)
        result = extract_page(result.page, resolve("plain")) if times > 1 else result
    memory = peak_memory()  # before the output is read or encoded, which is not part of blockml's cost
    size = written.stat().st_size if isinstance(written, Path) else len(written.encode("utf-8", "replace"))
    return {"bytes": size, "seconds": seconds, "memory": memory}


def forked(function: Callable[..., dict[str, Any]], *arguments: object) -> dict[str, Any]:
    """Call a function in a forked process; raise RuntimeError if that ends without a result."""
    reader, writer = os.pipe()
    if pid := os.fork():
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            answer = stream.read()
        if os.waitpid(pid, 0)[1] or not answer:
            raise RuntimeError(f"no result of {function.__name__}{arguments}")
        return dict(json.loads(answer))
    try:
        os.write(writer, json.dumps(function(*arguments)).encode())
        os._exit(0)
    except BaseException:  # noqa: BLE001 (whatever it is, the process may not go on as if it were the first one)
        traceback.print_exc()
        os._exit(1)


def line_of(output: str, small: Mapping[str, float], large: Mapping[str, float]) -> dict[str, float | None]:
    """Return bytes and memory per byte of the larger page, and the exponents from the smaller page to it."""
    spare, ratio = SPARES[output], large["page"] / small["page"]

    def exponent(what: str, *, is_told: bool) -> float | None:
        return math.log(large[what] / small[what]) / math.log(ratio) if is_told and small[what] > 0 else None

    return {
        "bytes": max(0, large["bytes"] - spare) / large["page"],
        "memory": large["memory"] / large["page"],
        "seconds": large["seconds"],
        "exponent of bytes": exponent("bytes", is_told=large["bytes"] > spare),
        "exponent of time": exponent("seconds", is_told=large["seconds"] > _SHORT),
    }


def rows(outputs: Sequence[str], shapes: Sequence[str], backends: Sequence[str], sizes: Sequence[int]) -> list[Any]:
    """Return a row for each output, shape and back end."""
    for backend in backends:
        warm = extraction("ordinary", 20_000, backend)[0]
        for output in outputs:
            OUTPUTS[output](warm)  # loads everything, so that no module counts as memory of a page
    lines = []
    for backend in backends:
        for shape in shapes:
            small, large = (forked(trial, shape, backend, size, outputs) for size in sizes)
            for output in outputs:
                line = line_of(output, small[output], large[output])
                if max(line["exponent of time"] or 0, line["exponent of bytes"] or 0) > MAX_EXPONENT:
                    again = [forked(trial, shape, backend, _FACTOR * size, (output,), _AGAIN) for size in sizes]
                    exponents = line_of(output, again[0][output], again[1][output])
                    line |= {name: value for name, value in exponents.items() if name.startswith("exponent")}
                lines.append({"output": output, "shape": shape, "back end": backend, **line})
                print(json.dumps(lines[-1]), flush=True)
    return lines


def measured(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the rows that earlier runs printed to files; a later row replaces that of the same shape."""
    printed = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [json.loads(line) for line in printed if line.startswith("{")]
    return list({(line["output"], line["shape"], line["back end"]): line for line in lines}.values())


def summary(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the worst shape of each output and back end, by each measure."""
    table = []
    for output, backend in dict.fromkeys((line["output"], line["back end"]) for line in lines):
        row: dict[str, Any] = {"output": output, "back end": backend}
        own = [line for line in lines if (line["output"], line["back end"]) == (output, backend)]
        for what, form in _FORMS.items():
            told = [line for line in own if line[what] is not None]
            worst = max(told, key=lambda line: line[what], default=None)
            row[what] = f"{worst[what]:{form}} ({worst['shape']})" if worst and worst[what] else ""
        table.append(row)
    return table


def nearest(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the shapes that come nearest to the bound of memory or an exponent, each with its worst output.

    Bytes don't count, because a budget stops many shapes of JSON at the bound.
    """
    bounds = {what: most for what, most in BOUNDS.items() if what != "bytes"}

    def share(line: Mapping[str, Any]) -> float:
        return float(max((line[what] or 0) / most for what, most in bounds.items()))

    worst = {line["shape"]: line for line in sorted(lines, key=share)}
    chosen = sorted(worst.values(), key=share, reverse=True)[:_NEAREST]
    cells = {what: form for what, form in _FORMS.items() if what in bounds}
    return [
        {name: line[name] for name in ("shape", "output", "back end")}
        | {what: f"{line[what]:{form}}" if line[what] else "" for what, form in cells.items()}
        for line in chosen
    ]


def report(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of shapes and of rows above a bound, and two tables."""
    n_shapes, n_beyond = len({line["shape"] for line in lines}), len(beyond(lines))
    at_bound = {line["shape"] for line in lines if line["output"] == "JSON" and line["bytes"] > MAX_RATIO - 0.05}
    counts = f"{len(lines):,} rows of {n_shapes} shapes, {n_beyond} above a bound. "
    counts += f"JSON of {len(at_bound)} shapes reaches 8 bytes, where its budget stops it."
    return "\n\n".join((counts, markdown(summary(lines)), markdown(nearest(lines))))


def beyond(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows above a bound."""
    return [line for line in lines if any((line[what] or 0) > most for what, most in BOUNDS.items())]


def main() -> None:
    """Run the trials and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--outputs", nargs="+", choices=list(OUTPUTS), default=list(OUTPUTS), metavar="NAME")
    parser.add_argument("--shapes", nargs="+", choices=list(ALL_SHAPES), default=list(ALL_SHAPES), metavar="NAME")
    parser.add_argument("--backends", nargs="+", choices=list(BACKENDS), default=["lxml"], metavar="NAME")
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, metavar="BYTES", help="a small and a large one")
    parser.add_argument("--report", type=Path, help="document whose tables are replaced (default: print them)")
    parser.add_argument("--measured", nargs="+", type=Path, metavar="FILE", help="lines of earlier runs, not a new one")
    arguments = parser.parse_args()
    if arguments.measured:
        lines = measured(arguments.measured)
    else:
        lines = rows(arguments.outputs, arguments.shapes, arguments.backends, arguments.sizes)
    for line in beyond(lines):
        print("above a bound:", json.dumps(line))
    if arguments.report is None:
        print(report(lines))
    else:
        replace_tables(arguments.report, report(lines), (_START, _END))


if __name__ == "__main__":
    main()
