"""Quality gate: no extractor may get worse on the pages in the repository.

``gate.json`` pins, for each extractor and released model, page-averaged word F1 and pooled block F1 on ``data/``, and
the fingerprint of these pages. A run fails if a score is below its floor, if the pages differ from the pinned ones, or
if an extractor has no floor. ``--pin`` raises floors to the measured scores; it lowers only those that ``--lower NAME``
names, and accepts new pages only with ``--new-pages``, which does not lower any floor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from blockml.cli.output import note, print_rows
from blockml.datasets import Dataset, open_dataset
from blockml.errors import BlockmlError, UsageError
from blockml.evaluation.page_results import evaluate_extractor, summarise
from blockml.extractors import EXTRACTORS, model_names, resolve
from blockml.storage.atomic import atomic_write

ROOT = Path(__file__).resolve().parents[2]
FLOORS = Path(__file__).with_name("gate.json")

#: Tolerance: scores are pinned to four decimals, and other machines and library versions may round differently.
TOLERANCE = 0.0005

Scores = Mapping[str, Mapping[str, float]]


def fingerprint(datasets: Collection[Dataset]) -> str:
    """Compute a fingerprint of pages and gold, from ids and the bytes of all files."""
    digest = hashlib.sha256()
    for dataset in datasets:
        digest.update(f"{dataset.name} {len(dataset)} {dataset.checksum()}".encode())
        for path in sorted(dataset.path.rglob("*")):
            if path.is_file() and path.name != "README.md":
                digest.update(path.relative_to(dataset.path).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def measure(names: Collection[str], datasets: Collection[Dataset], jobs: int) -> dict[str, dict[str, float]]:
    """Score extractors: mean bag-of-words F1 over the pages of all data sets, and pooled block F1."""
    scores = {}
    for name in names:
        extractor = resolve(name)
        results = [result for dataset in datasets for result in evaluate_extractor(extractor, dataset, jobs=jobs)]
        summary = summarise(results, ["bag_f1"])
        scores[name] = {"bag_f1": summary["metrics"]["bag_f1"]["mean"], "block_f1": summary["block"]["f1"]}
        note(f"{name}: " + ", ".join(f"{metric} {value:.4f}" for metric, value in scores[name].items()))
    return scores


def shortfalls(measured: Scores, floors: Scores) -> list[str]:
    """List extractors below their floor, without a floor, or missing."""
    problems = [f"{name} has no floor: pin it" for name in measured if name not in floors]
    problems += [f"{name} is pinned but no longer there" for name in floors if name not in measured]
    for name, scores in measured.items():
        for metric, floor in floors.get(name, {}).items():
            if scores[metric] < floor - TOLERANCE:
                problems.append(f"{name}: {metric} {scores[metric]:.4f} is below its floor {floor:.4f}")
    return problems


def pinned(measured: Scores, floors: Scores, lower: Collection[str] = ()) -> dict[str, dict[str, float]]:
    """Compute floors from scores; a floor is lowered only for the names in ``lower``.

    Raises
    ------
    UsageError
        A score is below its floor, or a pinned extractor is gone, and ``lower`` doesn't name it.
    """
    refused = [name for name in floors if name not in measured and name not in lower]
    refused += [
        name
        for name, scores in measured.items()
        if name not in lower
        and any(scores[metric] < floor - TOLERANCE for metric, floor in floors.get(name, {}).items())
    ]
    if refused:
        raise UsageError(
            f"pinning would lower {', '.join(sorted(refused))}; if that is meant: "
            + " ".join(f"--lower {name}" for name in sorted(refused))
        )
    return {
        name: {
            metric: value if name in lower else max(value, floors.get(name, {}).get(metric, 0.0))
            for metric, value in scores.items()
        }
        for name, scores in sorted(measured.items())
    }


def main() -> int:
    """Check or pin; return 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pin", action="store_true", help="write what was measured as new floors")
    parser.add_argument("--lower", action="append", default=[], metavar="NAME", help="let the floor of NAME go down")
    parser.add_argument("--new-pages", action="store_true", help="pin although the pages in data/ have changed")
    arguments = parser.parse_args()
    datasets = [open_dataset(f"{name}={ROOT / 'data' / name}") for name in ("sites", "pages")]
    known: dict[str, Any] = (
        json.loads(FLOORS.read_text(encoding="utf-8")) if FLOORS.is_file() else {"fingerprint": "", "floors": {}}
    )
    pages = fingerprint(datasets)
    fresh = pages != known["fingerprint"]
    if fresh and known["floors"] and not (arguments.pin and arguments.new_pages):
        note("the pages in data/ are not those that were pinned; to pin new ones: --pin --new-pages")
        return 1
    measured = measure([*EXTRACTORS, *model_names()], datasets, arguments.jobs)
    floors: Scores = known["floors"]
    if arguments.pin:
        try:
            raised = pinned(measured, floors, arguments.lower)
        except BlockmlError as error:
            note(str(error))
            return 1
        record = {"fingerprint": pages, "pages": sum(map(len, datasets)), "floors": raised}
        with atomic_write(FLOORS) as stream:
            stream.write((json.dumps(record, indent=2) + "\n").encode())
        note(f"pinned {len(raised)} extractors on {record['pages']} pages")
        return 0
    problems = shortfalls(measured, floors)
    rows = [
        {"extractor": name, **scores, **{f"floor {m}": floors.get(name, {}).get(m) for m in scores}}
        for name, scores in measured.items()
    ]
    print_rows(rows, "table")
    for problem in problems:
        note(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
