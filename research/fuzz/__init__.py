"""Feeds damaged pages, archives and model files to blockml, to find crashes, hangs and impossible results."""
