"""Comparison of systems on data sets: every page is run in isolation, scored, and summarised with intervals.

====================  ==========================================================================================
:mod:`~.systems`      systems by name: extractors, third-party tools, files of outputs; fingerprints of their code
:mod:`~.workers`      systems as makers of records for the worker processes of :mod:`blockml.batch.pool`
:mod:`~.store`        outputs and scores on disk
:mod:`~.reference`    scores of one page
:mod:`~.running`      the whole comparison: outputs, scores and tables
:mod:`~.grid`         scores of a data set as arrays; :mod:`~.means` summarises them
:mod:`~.tables`       result tables
====================  ==========================================================================================
"""
