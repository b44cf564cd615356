"""Comparison of systems on data sets: every page is run in isolation, scored, and summarised with intervals.

========================  =========================================================================
:mod:`~.systems`          systems by name: our extractors, third-party tools (:mod:`~.peers`), files
:mod:`~.workers`          isolated worker processes that run a system on pages
:mod:`~.store`            outputs and scores on disk; :mod:`~.fingerprints` detect stale ones
:mod:`~.reference`        scores of one page
:mod:`~.running`          the whole comparison: outputs, scores and tables
:mod:`~.grid`             scores of a data set as arrays; :mod:`~.means`, :mod:`~.pagewise` summarise them
:mod:`~.tables`           result tables; :mod:`~.published` has the papers' tables
========================  =========================================================================
"""
