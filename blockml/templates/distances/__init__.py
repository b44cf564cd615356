"""Structural distances between pages (Gottron 2008), pair by pair or as a matrix."""

from blockml.templates.distances.base import Metric
from blockml.templates.distances.matrix import METRICS, distance, distance_matrix
from blockml.templates.distances.sketches import PageSketch, sketch

__all__ = ["METRICS", "Metric", "PageSketch", "distance", "distance_matrix", "sketch"]
