"""Run targets with damaged inputs, in a process that is restarted when it dies or hangs.

Input number n of a seed is always the same, so that a failure is repeated by its number:

    python -m research.fuzz --minutes 5
    python -m research.fuzz page --seed 1 --first 4711 --count 1
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from research.fuzz.targets import EXECUTIONS, TARGETS

#: Number of inputs of a process, and seconds after which an input counts as a hang.
BATCH, HANG = 2_000, 60
#: Folder in memory, if there is one, because disks are slower than loaders of small files.
MEMORY = Path("/dev/shm")  # noqa: S108 (a folder with a random name is made in it)


def run_batch(target: str, seed: int, first: int, count: int, seconds: float) -> int:
    """Feed inputs in this process; print the number of each before it, and stop at a failure."""
    faulthandler.enable(2)
    warnings.simplefilter("ignore")
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for number in range(first, first + count):
            if time.monotonic() > end:
                break
            print(number, flush=True)
            faulthandler.dump_traceback_later(HANG, exit=True, file=2)
            try:
                TARGETS[target](random.Random(f"{seed} {number}"), Path(folder))  # noqa: S311 (no secret)
            except Exception:  # noqa: BLE001 (any exception is what is searched for)
                traceback.print_exc()
                return 1
            finally:
                faulthandler.cancel_dump_traceback_later()
    return 0


def run(target: str, seed: int, minutes: float) -> tuple[int, list[int]]:
    """Feed inputs for some minutes; return their count, and the numbers of those that failed."""
    end = time.monotonic() + 60 * minutes
    first, failures = 0, []
    while (left := end - time.monotonic()) > 0:
        command = [sys.executable, "-m", "research.fuzz", target, "--seed", str(seed), "--first", str(first)]
        done = subprocess.run(  # noqa: S603 (our own module)
            [*command, "--count", str(BATCH), "--seconds", str(left)], capture_output=True, text=True, check=False
        )
        last = int(done.stdout.split()[-1]) if done.stdout.split() else first
        if done.returncode:
            failures.append(last)
            print(f"{target} {last} (seed {seed}) failed with {done.returncode}:\n{done.stderr[-3000:]}", flush=True)
        first = last + 1
    return first, failures


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, help="run inputs in this process, starting with this number")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(unknown)}; choose from {', '.join(TARGETS)}")
    targets = arguments.targets or list(TARGETS)
    if arguments.first is not None:
        return run_batch(targets[0], arguments.seed, arguments.first, arguments.count, arguments.seconds)
    n_failures = 0
    for target in targets:
        count, failures = run(target, arguments.seed, arguments.minutes)
        n_failures += len(failures)
        done = f"{count:,} inputs, {count * EXECUTIONS.get(target, 1):,} executions"
        print(f"{target}: {done}, {len(failures)} failures {failures or ''}", flush=True)
    return int(n_failures > 0)


if __name__ == "__main__":
    raise SystemExit(main())
