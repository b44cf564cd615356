"""What an extraction costs, stage by stage or by extractor, as a multiple of lxml's parse of the same page.

Needs BLOCKML_CORPORA. CPU time in one thread; stages take turns page by page, and the least of several rounds counts,
so ratios hold on a busy machine where absolute times do not.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

from lxml import etree

import blockml
from blockml.cli.output import note, print_rows
from blockml.decision import decide
from blockml.extractors import EXTRACTORS, model_names, resolve
from blockml.features import build as build_features
from blockml.parsing import build, segment
from blockml.parsing.decoding import decode
from blockml.rendering import render_text


def parse_only(source: bytes) -> object:
    """Parse as every lxml user does: the floor."""
    return etree.fromstring(source, etree.HTMLParser(encoding="utf-8", huge_tree=True))


def stages(source: bytes, model: str) -> dict[str, Callable[[], object]]:
    """Everything that is measured for one page; the input of each stage is ready before the clock runs."""
    extractor = blockml.load(model)
    limits = blockml.Limits()
    text = decode(source).text
    nodes = build(text, "lxml", limits).nodes()
    page = blockml.parse(source)
    matrix = build_features(page, extractor.model.features)
    scores = extractor.model.score(matrix)
    kept = decide(scores, extractor.default_threshold).kept
    return {
        "lxml's parse": lambda: parse_only(source),
        "decode": lambda: decode(source),
        "parse to nodes": lambda: build(text, "lxml", limits).nodes(),
        "segment": lambda: segment(nodes),
        "features": lambda: build_features(page, extractor.model.features),
        "score": lambda: extractor.model.score(matrix),
        "decide and render": lambda: render_text(page, decide(scores, extractor.default_threshold).kept),
        "render": lambda: render_text(page, kept),
        f"extract with {model}": lambda: blockml.extract(source, model=extractor),
    }


def extractors(source: bytes) -> dict[str, Callable[[], object]]:
    """Whole extractions of one page by every extractor and released model."""
    made = {name: resolve(name) for name in (*EXTRACTORS, *model_names())}
    return {
        "lxml's parse": lambda: parse_only(source),
        **{name: functools.partial(blockml.extract, source, model=extractor) for name, extractor in made.items()},
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="kim2013")
    parser.add_argument("--extractors", action="store_true", help="every extractor as a whole, instead of the stages")
    parser.add_argument("--kilobytes", type=int, nargs=2, default=(0, 10**6), metavar=("FROM", "TO"), help="page sizes")
    arguments = parser.parse_args()
    corpora = os.environ.get("BLOCKML_CORPORA")
    if not corpora:
        note("BLOCKML_CORPORA names no folder of corpora")
        return 3
    files = sorted((Path(corpora) / "wcxb" / "pages").glob("*.gz"))
    random.Random(0).shuffle(files)  # noqa: S311 (a sample, no secret)
    low, high = (1000 * size for size in arguments.kilobytes)
    sources: list[bytes] = []
    for file in files:
        source = gzip.decompress(file.read_bytes())
        if low <= len(source) <= high and len(blockml.parse(source).blocks):
            sources.append(source)
        if len(sources) == arguments.pages:
            break
    best: dict[str, list[float]] = {}
    for source in sources:
        measured = extractors(source) if arguments.extractors else stages(source, arguments.model)
        for name, work in measured.items():
            best.setdefault(name, []).append(min(cpu_seconds(work) for _ in range(arguments.rounds)))
    floor = best["lxml's parse"]
    rows = [
        {
            "stage": name,
            "ms mean": round(1000 * mean(times), 3),
            "ms median": round(1000 * median(times), 3),
            "ratio of means": round(mean(times) / mean(floor), 2),
            "median of ratios": round(median(a / b for a, b in zip(times, floor, strict=True)), 2),
        }
        for name, times in best.items()
    ]
    print(f"{len(sources)} pages of {mean(map(len, sources)) / 1000:.0f} kB on average")
    print_rows(rows, "table")
    script = (
        "import sys, blockml; print(*sorted({'sklearn', 'scipy', 'joblib', 'html5lib'} & set(sys.modules)) or ['none'])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    print(f"`import blockml` loads, of scikit-learn, scipy, joblib and html5lib: {loaded.stdout.strip()}")
    return 0


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
