"""One page and one system in a process of its own: prints seconds, memory and outcome as JSON.

The page is read from the standard input, so that to make it takes no memory here. An ordinary page of the same size is
extracted in turns with it.

python -m benchmarks.hostile.trial SYSTEM < PAGE
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

from benchmarks.hostile.shapes import SHAPES
from benchmarks.hostile.systems import Extract, extractor_of

#: Seconds on the processor after which the first extraction is ended, by a signal that no code can hold up.
SECONDS = 20
#: Seconds that repeated extractions may take; the least of their times counts.
_REPEATED = 0.4


def peak_memory(*, anew: bool = False) -> int:
    """Return the most memory of this process in bytes; on Linux since the last call with ``anew``."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if anew:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def seconds_of(extract: Extract, page: bytes) -> tuple[float, str]:
    """Extract a page; return the time on the processor and the outcome."""
    start, text = time.process_time(), ""
    try:
        text = extract(page)
        outcome = "text" if text.strip() else "empty"
    except MemoryError:
        outcome = "memory"
    except Exception as error:  # noqa: BLE001 (whatever a page causes is counted)
        outcome = f"raises {type(error).__name__}"
    return time.process_time() - start, outcome


def main() -> None:
    """Extract an ordinary page, to load everything, then the page."""
    warnings.simplefilter("ignore")
    page, extract = sys.stdin.buffer.read(), extractor_of(sys.argv[1])
    extract(SHAPES["ordinary"](20_000))
    before = peak_memory(anew=True)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    seconds, outcome = seconds_of(extract, page)
    signal.setitimer(signal.ITIMER_PROF, 0)
    memory = peak_memory() - before
    ordinary = SHAPES["ordinary"](len(page))
    beside, spent = seconds_of(extract, ordinary)[0], 0.0
    while spent < _REPEATED:
        times = seconds_of(extract, page)[0], seconds_of(extract, ordinary)[0]
        seconds, beside, spent = min(seconds, times[0]), min(beside, times[1]), spent + seconds + beside
    found = {"bytes": len(page), "seconds": seconds, "ordinary": beside, "memory": memory, "outcome": outcome}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
