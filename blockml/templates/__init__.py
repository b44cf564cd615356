"""What the pages of a site share: pages of one site in, the template they are made from out.

Knows no extractor. ``distances`` says how alike two pages are built, ``clustering`` groups them, ``linked`` finds pages
that may share a page's template, ``frequency`` counts what repeats on them, ``mapping`` lays one tree over another,
and ``site`` keeps what was learnt of a site in a small file.
"""
