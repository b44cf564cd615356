"""Memory cost of an extraction."""

from __future__ import annotations

import sys

__all__ = ["peak_megabytes"]


def peak_megabytes() -> float | None:
    """Return the peak memory of this process in megabytes; None where the system doesn't report it.

    Examples
    --------
    >>> peak_megabytes() is None or peak_megabytes() > 1
    True
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # bytes on macOS, kilobytes on Linux
