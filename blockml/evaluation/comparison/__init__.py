"""Comparison of systems on data sets: every page is run in isolation, scored, and summarised with intervals.

======================  ==========================================================================================
:mod:`~.systems`        systems by name: extractors, third-party tools, files of outputs; fingerprints of their code
:mod:`~.workers`        systems as makers of records for the worker processes of :mod:`blockml.batch.pool`
:mod:`~.result_store`   outputs and scores on disk
:mod:`~.reference`      scores of one page
:mod:`~.running`        the whole comparison: outputs, scores and tables
:mod:`~.grid`           scores of a data set as arrays; :mod:`~.means` summarises them
:mod:`~.result_tables`  result tables
======================  ==========================================================================================
"""

from blockml.evaluation.comparison.grid import METRIC_INFO, OUTCOMES
from blockml.evaluation.comparison.means import HEADLINES, Settings
from blockml.evaluation.comparison.reference import PageScore, Reference
from blockml.evaluation.comparison.result_store import PageSample, Store, draw_sample
from blockml.evaluation.comparison.result_tables import TABLES_VERSION, build_tables, write_tables
from blockml.evaluation.comparison.running import ComparisonRun, load_descriptions, load_scores
from blockml.evaluation.comparison.systems import PEERS, Chosen, System, SystemOutput, choose
from blockml.evaluation.comparison.workers import CannotRunError, TaskResult, run_pages

__all__ = [
    "HEADLINES", "METRIC_INFO", "OUTCOMES", "PEERS", "TABLES_VERSION", "CannotRunError", "Chosen", "ComparisonRun",
    "PageSample", "PageScore", "Reference", "Settings", "Store", "System", "SystemOutput", "TaskResult", "build_tables",
    "choose", "draw_sample", "load_descriptions", "load_scores", "run_pages", "write_tables",
]  # fmt: skip
