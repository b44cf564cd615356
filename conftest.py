"""Modules whose examples can't be run without an optional package."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("datatrove") else ["blockml/batch/engines/datatrove.py"]
