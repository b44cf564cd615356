"""Cost of an extraction, as a multiple of lxml's parse of the same page.

Needs the folder of labelled corpora. CPU time of one process with one thread. Subjects that are measured on pages take
turns on each page, and the minimum of several rounds counts, so that ratios hold on a busy machine.

``floor``       parsing to a tree by lxml and lexbor
``stages``      stages of the given models: compiled, without the C extension, and with lexbor
``models``      whole extractions of each released model on each back end, compiled and without the C extension
``extractors``  each untrained extractor
``peers``       other installed tools, on decoded pages
``memory``      import time, BLAS threads, peak memory, large modules loaded
``growth``      growth with size, blocks and depth of a page, pages, threads and processes, with a figure
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import lxml.etree
import numpy as np

from blockml import _kernel
from blockml.cli.output import TerminalProgress, note, write_output
from research.benchmarks.speed import subjects
from research.benchmarks.speed.chart import picture
from research.benchmarks.speed.clock import Subject, measured
from research.benchmarks.speed.concurrency import growths
from research.benchmarks.speed.pages import Source, sample
from research.benchmarks.speed.processes import blas_table, import_table, memory_table
from research.benchmarks.speed.stages import routes
from research.benchmarks.speed.tables import Table, failed, markdown, stage_table, whole_table

SECTIONS = ("floor", "stages", "models", "extractors", "peers", "memory", "growth")

Tables = dict[str, Table]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the selected sections."""
    options = _arguments(argv)
    if not options.corpora:
        note("BLOCKML_CORPORA names no folder of corpora")
        return 3
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn brings it

    logging.disable(logging.CRITICAL)  # other tools log many errors on real pages
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _run(options, options.sections or list(SECTIONS))
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m research.benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA", ""))
    parser.add_argument("--dataset", default="wcxb", help="folder of the data set within it (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=60, help="drawn at random (default: %(default)s)")
    parser.add_argument(
        "--few",
        type=int,
        default=20,
        help="pages for extractors and peers; html5lib gets a quarter (default: %(default)s)",
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the minimum counts (default: %(default)s)")
    parser.add_argument(
        "--kilobytes", type=float, nargs=2, default=(0, 10**6), metavar=("FROM", "TO"), help="page sizes"
    )
    parser.add_argument("--model", nargs="+", default=["default", "kim2013"], help="for stages, memory and growth")
    parser.add_argument(
        "--share", type=float, default=1.0, help="memory and growth up to this share of the largest size, for a trial"
    )
    parser.add_argument("-o", "--output", help="all numbers as JSON")
    parser.add_argument("--figures", default="research", help="folder of the figure (default: %(default)s)")
    options = parser.parse_args(argv)
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    if min(options.pages, options.few, options.rounds) < 1 or not 0 < options.share <= 1:
        parser.error("pages, few and rounds must be at least 1, share above 0 and at most 1")
    return options


def _run(options: argparse.Namespace, sections: Sequence[str]) -> None:
    """Measure, print each section when it is ready, and write the numbers."""
    sources = sample(Path(options.corpora) / options.dataset, options.pages, tuple(options.kilobytes))
    sizes = np.array([len(source.html) for source in sources]) / 1000
    about = {
        "pages": f"{len(sources)} of {options.dataset}, "
        f"{sizes.mean():.0f} kB on average, {np.median(sizes):.0f} in the median",
        "kernel": "compiled" if _kernel.compiled is not None else "in Python",
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}, lxml {lxml.etree.__version__}, "
        f"libxml2 {'.'.join(map(str, lxml.etree.LIBXML_COMPILED_VERSION))}",
        "rounds": options.rounds,
    }
    write_output("\n".join(f"{name}: {value}" for name, value in about.items()) + "\n", None)
    results: dict[str, Tables] = {}
    if wanted := [name for name in SECTIONS[:5] if name in sections]:
        results |= _interleaved(options, wanted, sources)
    for tables in results.values():
        for title, rows in tables.items():
            _print(title, rows)
    for name, measure in (("memory", _memory), ("growth", _growth)):
        if name in sections:
            start = time.perf_counter()
            results[name] = {}
            for title, rows in measure(options, sources):
                results[name][title] = rows
                _print(title, rows)
            note(f"{name}: {time.perf_counter() - start:.0f} s")
    if options.output:
        write_output(json.dumps({"about": about, **results}, indent=1), options.output)


def _interleaved(options: argparse.Namespace, sections: Sequence[str], sources: Sequence[Source]) -> dict[str, Tables]:
    """Measure all sections with page-by-page times in one run; every table includes the floor."""
    start = time.perf_counter()
    asked: dict[str, list[Subject]] = {"floor": subjects.floor()}
    fast = [name for name in subjects.backends() if name != "html5lib"]
    routed = {model: routes(model, fast) for model in options.model if "stages" in sections}
    asked["stages"] = [subject for found in routed.values() for subject in found]
    asked |= {name: list(make(options.few)) for name, make in subjects.SECTIONS.items() if name in sections}
    with TerminalProgress() as bar:
        times = measured(sources, [subject for found in asked.values() for subject in found], options.rounds, bar)
    note(f"{', '.join(sections)}: {time.perf_counter() - start:.0f} s")
    results: dict[str, Tables] = {}
    for name in sections:
        if name == "stages":
            results[name] = {
                f"Stages of {model}": stage_table(times, _columns(model, found)) for model, found in routed.items()
            }
        else:
            results[name] = {name.capitalize(): whole_table(times, [subject.name for subject in asked[name]])}
    if times.failures:
        results["failures"] = {"Failures": failed(times)}
    return results


def _columns(model: str, found: Sequence[Subject]) -> Mapping[str, str]:
    """Return the names of a model's subjects by column title."""
    return {subject.name.removeprefix(f"stages of {model}, "): subject.name for subject in found}


def _memory(options: argparse.Namespace, sources: Sequence[Source]) -> Iterator[tuple[str, Table]]:
    yield "Import", import_table(options.model, sources[0], options.rounds)
    yield "Matrix products", blas_table(options.model, sources, min(options.rounds, 3))
    yield "Memory", memory_table(options.model, sources, int(options.share * 50_000_000))


def _growth(options: argparse.Namespace, sources: Sequence[Source]) -> Iterator[tuple[str, Table]]:
    found = []
    for growth in growths(options.model, sources, options.share):
        found.append(growth)
        yield growth.title, growth.table()
    write_output(
        picture(found, "Time for each unit: what is linear lies flat"), str(Path(options.figures) / "growth.svg")
    )


def _print(title: str, rows: Table) -> None:
    write_output(f"\n### {title}\n\n{markdown(rows)}\n", None)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
