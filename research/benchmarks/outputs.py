"""Records the outputs of extractors for every page of the labelled corpora, or of data/, and compares two records.

``python -m research.benchmarks.outputs record FILE`` writes one line a page: status, and fingerprints of scores, kept
blocks, text, Markdown, HTML and the JSON of everything else (reasons, labels, confidence, metadata), by extractor.
``python -m research.benchmarks.outputs compare BEFORE AFTER`` counts, for each corpus and extractor, the pages whose
scores, decisions or outputs differ. Run ``record`` in two checkouts to see what a change does to outputs.
``record --outputs`` also keeps the outputs, and ``compare --diffs 10 --part markdown`` then shows lines that differ.
Such a record contains the text of the pages: keep it out of the repository.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import blockml
from blockml.extractors import EXTRACTORS, model_names, resolve

#: Status; fingerprints of scores, kept blocks and outputs.
Outcome: TypeAlias = list[str]
PARTS = ("status", "scores", "kept", "text", "markdown", "html", "json")
#: Parts that ``record --outputs`` keeps.
KEPT = PARTS[3:]
DATA = Path(__file__).parents[2] / "data"


def main() -> int:
    """Record outputs, or compare two records."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write the outputs of extractors for every page")
    recording.add_argument("output", type=Path)
    recording.add_argument(
        "--corpora",
        type=Path,
        default=os.environ.get("BLOCKML_CORPORA", DATA),
        help="default: BLOCKML_CORPORA, or data",
    )
    recording.add_argument("--only", nargs="*", help="names of corpora (default: all)")
    recording.add_argument("--extractors", nargs="*", help="names of extractors and models (default: all)")
    recording.add_argument("--every", type=int, default=1, help="take only every n-th page of a corpus")
    recording.add_argument("--outputs", action="store_true", help="keep the outputs themselves, to show differences")
    recording.add_argument("--jobs", type=int, default=1)
    comparing = commands.add_parser("compare", help="count the pages on which two records differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--texts", type=int, default=0, metavar="N", help="name N pages whose text differs")
    comparing.add_argument("--diffs", type=int, default=0, metavar="N", help="show the differences of N outputs")
    comparing.add_argument("--part", nargs="*", choices=KEPT, default=KEPT, help="outputs whose differences are shown")
    comparing.add_argument("--skip", type=int, default=0, metavar="N", help="don't show the first N differences")
    arguments = parser.parse_args()
    if arguments.command == "compare":
        status = compare(arguments.before, arguments.after, arguments.texts)
        if arguments.diffs:
            show(arguments.before, arguments.after, arguments.part, arguments.skip, arguments.diffs)
        return status
    names = arguments.extractors or [*model_names(), *EXTRACTORS]
    pages = [
        (folder, path)
        for folder in sorted(arguments.corpora.iterdir())
        if folder.is_dir() and (not arguments.only or folder.name in arguments.only)
        for path in sorted({*folder.glob("pages/*.html*"), *folder.glob("**/page.html")})[:: arguments.every]
    ]
    if not pages:
        parser.error(f"no pages of these corpora in {arguments.corpora}")
    record(pages, names, arguments.output, arguments.jobs, keeps=arguments.outputs)
    return 0


def record(
    pages: Sequence[tuple[Path, Path]], names: Sequence[str], output: Path, jobs: int, *, keeps: bool = False
) -> None:
    """Write one JSON line per page, of which the folder of its corpus and its path are given."""
    work = [(folder, path, names, keeps) for folder, path in pages]
    with ProcessPoolExecutor(jobs) as pool, gzip.open(output, "wt", encoding="utf-8") as stream:
        for number, row in enumerate(pool.map(outcomes, work, chunksize=8), start=1):
            stream.write(json.dumps(row) + "\n")
            if number % 500 == 0:
                print(f"{number} of {len(pages)} pages", file=sys.stderr)


def outcomes(work: tuple[Path, Path, Sequence[str], bool]) -> dict[str, Any]:
    """Run each extractor on one page."""
    folder, path, names, keeps = work
    source = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    results: dict[str, Outcome] = {}
    outputs: dict[str, list[str]] = {}
    for name in names:
        if name == "serial":  # it has no default members
            continue
        result = blockml.extract(source, model=resolve(name))
        texts = [result.text, *(blockml.render(result, kind) for kind in ("markdown", "html", "json"))]
        parts = [result.scores.tobytes(), result.kept.tobytes(), *(text.encode("utf-8", "replace") for text in texts)]
        results[name] = [str(result.status), *(hashlib.sha256(part).hexdigest()[:16] for part in parts)]
        outputs[name] = texts
    page = path.relative_to(folder).as_posix().removeprefix("pages/")
    return {"corpus": folder.name, "page": page, "results": results} | ({"outputs": outputs} if keeps else {})


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the lines of a record."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def compare(before: Path, after: Path, n_texts: int) -> int:
    """Print the pages that differ, by corpus and extractor; return 1 if any differs."""
    old = {(row["corpus"], row["page"]): row["results"] for row in rows(before)}
    counts: Counter[tuple[str, str]] = Counter()
    different: Counter[tuple[str, str, str]] = Counter()
    examples: list[str] = []
    for row in rows(after):
        known = old.pop((row["corpus"], row["page"]), {})
        for name in row["results"].keys() & known.keys():
            counts[row["corpus"], name] += 1
            for part, first, second in zip(PARTS, known[name], row["results"][name], strict=True):
                if first != second:
                    different[row["corpus"], name, part] += 1
                    if part == "text" and len(examples) < n_texts:
                        examples.append(f"{row['corpus']}/{row['page']} ({name})")
    for corpus, name in sorted({(corpus, name) for corpus, name, _ in different}):
        parts = ", ".join(f"{part} {different[corpus, name, part]}" for part in PARTS)
        print(f"{corpus} {name}: of {counts[corpus, name]} pages differ: {parts}")
    print(f"{sum(counts.values())} results compared, {sum(different.values())} differences, {len(old)} pages left out")
    print(*examples, sep="\n")
    return 1 if different else 0


def show(before: Path, after: Path, parts: Sequence[str], skip: int, most: int) -> None:
    """Print the lines that differ, of at most ``most`` outputs after the first ``skip``; and count lines by part."""
    lines: Counter[str] = Counter()
    n_found = 0
    for first, second in zip(rows(before), rows(after), strict=True):
        for name, texts in second.get("outputs", {}).items():
            for part, old, new in zip(KEPT, first["outputs"][name], texts, strict=True):
                if part not in parts or old == new:
                    continue
                found = list(difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=1))[2:]
                lines[part] += sum(line[:1] in "+-" for line in found)
                if skip <= n_found < skip + most:
                    print(f"\n=== {second['corpus']}/{second['page']} ({name}): {part}")
                    print(*(line if len(line) < 400 else f"{line[:400]}…" for line in found), sep="\n")
                n_found += 1
    print(*(f"{part}: {count} lines differ" for part, count in lines.items()), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
