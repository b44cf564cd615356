"""Settings that must precede the import of tests, and modules whose examples can't be run without an optional package.

Tests run side by side, one a processor. Threads of OpenMP wait for each other by spinning: with two processes on two
busy processors, fitting boosted trees took nine times the processor time that it takes with one thread.
"""

import os
from importlib.util import find_spec

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

collect_ignore = [] if find_spec("datatrove") else ["blockml/batch/engines/datatrove.py"]
