"""One page and one system in a process of its own: prints seconds, memory and outcome as JSON.

python -m benchmarks.hostile.trial SYSTEM SHAPE BYTES
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings

from benchmarks.hostile.shapes import SHAPES
from benchmarks.hostile.systems import extractor_of


def main() -> None:
    """Extract an ordinary page, to load everything, then the page."""
    system, shape, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    warnings.simplefilter("ignore")
    page = SHAPES[shape](size)
    extract = extractor_of(system)
    extract(SHAPES["ordinary"](20_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    text = ""
    try:
        text = extract(page)
        outcome = "text" if text.strip() else "empty"
    except MemoryError:
        outcome = "memory"
    except Exception as error:  # noqa: BLE001 (whatever a page causes is counted)
        outcome = f"raises {type(error).__name__}"
    seconds = time.process_time() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(json.dumps({"bytes": len(page), "seconds": seconds, "memory": memory, "outcome": outcome}))


if __name__ == "__main__":
    main()
