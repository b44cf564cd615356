"""Trials of one system: prints seconds, memory and outcome of each page as a line of JSON.

    python -m research.benchmarks.hostile.trial SYSTEM

reads the paths of pages from the standard input. Everything is loaded once; each page is extracted in a process that is
forked for it, in turns with an ordinary page of the same size.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from research.benchmarks.hostile.shapes import SHAPES
from research.benchmarks.hostile.systems import Extract, extractor_of

#: CPU seconds of the first extraction, and seconds of all, after which a signal ends the process.
SECONDS, WAIT = 20, 240
#: Maximum memory of a process in bytes.
MEMORY = 4 << 30
#: Minimum seconds and number of repeated extractions; the lowest of their times counts.
_REPEATED, _N_REPEATED = 0.4, 3
#: Bytes of the page that is extracted first to load everything.
_SMALL = 20_000


def peak_memory(*, anew: bool = False) -> int:
    """Return the peak memory of this process in bytes.

    On Linux it is the peak since the last call with ``anew``, without mapped files.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if anew:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
    # Pages of libraries are mapped when they are first used in a process, which depends on no page that is extracted.
    return (int(lines["VmHWM"].split()[0]) - int(lines["RssFile"].split()[0])) * 1024


def seconds_of(extract: Extract, page: bytes) -> tuple[float, str]:
    """Extract a page; return the CPU time and the outcome."""
    start, text = time.process_time(), ""
    try:
        text = extract(page)
        outcome = "text" if text.strip() else "empty"
    except MemoryError:
        outcome = "memory"
    except Exception as error:  # noqa: BLE001 (whatever a page causes is counted)
        outcome = f"raises {type(error).__name__}"
    return time.process_time() - start, outcome


def measured(extract: Extract, page: bytes) -> Mapping[str, Any]:
    """Extract a page once for its outcome and memory, then in turns with an ordinary one for its time."""
    signal.alarm(WAIT)
    extract(SHAPES["ordinary"](_SMALL))  # touches the memory that the forked process shares with its parent
    before = peak_memory(anew=True)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    seconds, outcome = seconds_of(extract, page)
    signal.setitimer(signal.ITIMER_PROF, 0)
    memory = peak_memory() - before
    ordinary = SHAPES["ordinary"](len(page))
    beside, spent, n_repeated = seconds_of(extract, ordinary)[0], 0.0, 0
    while spent < _REPEATED or n_repeated < _N_REPEATED:
        times = seconds_of(extract, page)[0], seconds_of(extract, ordinary)[0]
        seconds, beside = min(seconds, times[0]), min(beside, times[1])
        spent, n_repeated = spent + sum(times), n_repeated + 1
    return {"bytes": len(page), "seconds": seconds, "ordinary": beside, "memory": memory, "outcome": outcome}


def ended(status: int, size: int) -> Mapping[str, Any]:
    """Return the outcome of a process that was killed or crashed."""
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    outcome = "timeout" if number in {signal.SIGPROF, signal.SIGALRM} else f"signal {number}" if number else "crash"
    return {"bytes": size, "outcome": outcome}


def main() -> None:
    """Extract an ordinary page to load everything, then the pages whose paths are read."""
    warnings.simplefilter("ignore")
    extract = extractor_of(sys.argv[1])
    extract(SHAPES["ordinary"](_SMALL))
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        if pid := os.fork():
            _, status = os.waitpid(pid, 0)
            if status:
                print(json.dumps(ended(status, path.stat().st_size)), flush=True)
            continue
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        print(json.dumps(measured(extract, path.read_bytes())), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
