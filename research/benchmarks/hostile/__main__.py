"""Hostile pages through blockml and other extractors: time and memory against size, and outcomes.

Each page is extracted in a separate process, with a limit on time and memory, at doubled sizes. The exponent is the
slope of time over size on logarithmic scales, from the last two sizes; the cost is the time divided by that of an
ordinary page of the same size, extracted in turns in the same process.

    python -m research.benchmarks.hostile --report research/robustness.md
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from blockml.cli.output import note, write_output
from research.benchmarks.hostile.shapes import SHAPES
from research.benchmarks.hostile.systems import SYSTEMS, available

#: Sizes of a page in bytes.
SIZES = (250_000, 500_000)
#: Comments around the tables of the report.
MARKS = ("<!-- table -->", "<!-- end of table -->")

#: Minimum cost and memory for a shape to be named in a table.
SHOWN = {"cost": 4, "memory": 90}

Trial = Mapping[str, Any]


class Trials:
    """A process that extracts pages by one system."""

    def __init__(self, system: str, folder: Path) -> None:
        environment = os.environ | ({"BLOCKML_PURE": "1"} if system.endswith("pure Python") else {})
        command = [sys.executable, "-m", "research.benchmarks.hostile.trial", system]
        self._process = subprocess.Popen(  # noqa: S603 (our own module)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment,
        )  # fmt: skip
        self._folder = folder

    def of(self, shape: str, sizes: Sequence[int]) -> list[Trial]:
        """Extract a shape at each size, up to the first one that doesn't end."""
        found: list[Trial] = []
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise TypeError("the process has no pipes")
        for size in sizes:
            path = self._folder / "page.html"
            path.write_bytes(SHAPES[shape](size))
            print(path, file=requests, flush=True)
            found.append(json.loads(answers.readline()))
            if "seconds" not in found[-1]:
                break
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def exponent(found: Sequence[Trial]) -> float | None:
    """Return the slope of time over size of the last two sizes; None if they take less than 20 ms.

    Times are multiples of those of ordinary pages, so that other load on the machine doesn't change them.
    """
    timed = [item for item in found if item.get("seconds", 0) > 0.02]
    if len(timed) < 2:
        return None
    a, b = ({"bytes": item["bytes"], "cost": item["seconds"] / item["ordinary"]} for item in timed[-2:])
    return 1 + math.log(b["cost"] / a["cost"]) / math.log(b["bytes"] / a["bytes"])


def row(shape: str, found: Sequence[Trial]) -> dict[str, Any]:
    """Return the outcome, cost relative to an ordinary page, exponent and memory per byte of a shape's largest page."""
    last = found[-1]
    line: dict[str, Any] = {"shape": shape, "outcome": last["outcome"]}
    if "seconds" in last:
        line["cost"] = last["seconds"] / last["ordinary"]
        line["exponent"] = exponent(found)
        line["memory"] = last["memory"] / last["bytes"]
    return line


def summary(system: str, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return counts of outcomes, and the worst cost, exponent and memory of a system."""
    lines = list(rows)
    outcomes = Counter(line["outcome"].partition(" ")[0] for line in lines)
    ended = [line for line in lines if "cost" in line]
    worst = max(ended, key=lambda line: line["cost"])
    slopes = [line for line in ended if line["exponent"] is not None]
    steepest = max(slopes, key=lambda line: line["exponent"], default=None)
    return {
        "system": system,
        "text": outcomes.pop("text", 0),
        "empty": outcomes.pop("empty", 0),
        "raises": outcomes.pop("raises", 0),
        "timeout": outcomes.pop("timeout", 0),
        "crash or memory": sum(outcomes.values()),
        "highest cost": f"{worst['cost']:.1f} ({worst['shape']})",
        "steepest": f"{steepest['exponent']:.2f} ({steepest['shape']})" if steepest else "",
        "most memory": "{:.0f} ({})".format(*max((line["memory"], line["shape"]) for line in ended)),
    }


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as a table."""
    names = list(rows[0])
    cells = [[_cell(line.get(name)) for name in names] for line in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *cells])


def _cell(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else "" if value is None else str(value)


def report(results: Mapping[str, Mapping[str, list[Trial]]]) -> str:
    """Return two tables: all systems, then the costliest shapes for each parser of blockml."""
    tables = {name: {shape: row(shape, found) for shape, found in made.items()} for name, made in results.items()}
    own = [name for name in tables if name.startswith("blockml") and not name.endswith("pure Python")]
    shown = _by_shape({name.removeprefix("blockml, "): tables[name] for name in own})
    systems = [summary(name, rows.values()) for name, rows in tables.items()]
    return "\n\n".join(markdown(lines) for lines in (systems, shown) if lines)


def is_costly(line: Mapping[str, Any]) -> bool:
    """Return whether a shape did not end, or has at least the cost or memory of :data:`SHOWN`.

    Examples
    --------
    >>> is_costly({"outcome": "timeout"}), is_costly({"cost": 2.0, "memory": 10})
    (True, False)
    """
    return any(line.get(name, least) >= least for name, least in SHOWN.items())


def _by_shape(tables: Mapping[str, Mapping[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a row with the cost, exponent and memory of each system for the shapes that are costly for one of them."""
    lines = []
    for shape in dict.fromkeys(shape for rows in tables.values() for shape in rows):
        if not any(is_costly(rows[shape]) for rows in tables.values() if shape in rows):
            continue
        line: dict[str, Any] = {"shape": shape}
        for name, rows in tables.items():
            found = rows.get(shape, {})
            line[f"{name}: cost"] = found.get("cost", found.get("outcome"))
            line[f"{name}: exponent"] = found.get("exponent")
            line[f"{name}: memory"] = f"{found['memory']:.0f}" if "memory" in found else ""
        lines.append(line)
    return lines


def main() -> None:
    """Run all trials and write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=available(), metavar="NAME")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="BYTES")
    parser.add_argument("--report", type=Path, help="document whose tables are replaced (default: print them)")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="JSON of trials; those of other systems are kept")
    parser.add_argument("--missing", action="store_true", help="make only trials that are not in the file of --kept")
    arguments = parser.parse_args()
    results: dict[str, dict[str, list[Trial]]] = {}
    if arguments.kept is not None and arguments.kept.exists():
        results = json.loads(arguments.kept.read_text(encoding="utf-8"))
    for system in arguments.systems:
        results[system] = made = results.get(system, {}) if arguments.missing else {}
        with tempfile.TemporaryDirectory() as folder, Trials(system, Path(folder)) as trials:
            for shape in arguments.shapes:
                if shape in made:
                    continue
                made[shape] = trials.of(shape, arguments.sizes)
                note(f"{system}, {shape}: {made[shape][-1]}")
                if arguments.kept is not None:
                    write_output(json.dumps(results), str(arguments.kept))
        results = {name: results[name] for name in SYSTEMS if name in results}
        if arguments.report is not None:  # after each system, because a run takes long
            replace_tables(arguments.report, report(results))
    if arguments.report is None:
        print(report(results))


def replace_tables(path: Path, tables: str, marks: tuple[str, str] = MARKS) -> None:
    """Replace the tables of a document between two comments."""
    text = path.read_text(encoding="utf-8")
    start, end = text.index(marks[0]) + len(marks[0]), text.index(marks[1])
    path.write_text(f"{text[:start]}\n\n{tables}\n\n{text[end:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
