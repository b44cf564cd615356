"""Systems compared on data sets: every page run apart from the others, scored, and put into tables with intervals.

========================  =========================================================================
:mod:`~.systems`          what can be compared, by name; :mod:`~.peers` are other people's tools
:mod:`~.workers`          a system run on pages in processes of its own
:mod:`~.store`            what is kept on disk, and when it is stale
:mod:`~.reference`        a page measured; :mod:`~.scoring` does it for all pages and systems
:mod:`~.running`          all of it in one call
:mod:`~.tables`           scores in, tables out; :mod:`~.published` holds the papers' tables
========================  =========================================================================
"""
