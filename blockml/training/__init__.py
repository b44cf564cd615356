"""Labelled pages in, a measured model out: recipes, tables, splits, trees, tuning, cards."""
