"""Single linkage of ten thousand pages."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note
from blockml.datasets import open_dataset
from blockml.evaluation.clusters import adjusted_rand, rand
from blockml.templates.clustering import PRESETS, minhash_linkage, single_linkage
from blockml.templates.distances import METRICS
from research.benchmarks.templates.common import Row, sketched, table

#: Distances and thresholds for the large collection: published ones, and ones below the smallest distance between
#: two of its sites (measured by the section ``clustering``).
THRESHOLDS = (("cp", PRESETS["cp"]), ("cp", 0.6), ("cps", 0.4), ("ctss", PRESETS["ctss"]), ("ctss", 0.8))


def mutated(values: NDArray[np.uint64], pool: NDArray[np.uint64], chance: np.random.Generator) -> NDArray[np.uint64]:
    """Copy a set with 5 to 15 % of its elements dropped and as many others added."""
    kept = values[chance.random(len(values)) >= chance.uniform(0.05, 0.15)]
    added = chance.choice(pool, round(len(values) * chance.uniform(0.05, 0.15)))
    return np.unique(np.concatenate([kept, added]))


def scale_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Cluster thousands of sets: those of real pages, and slightly changed copies."""
    pages = open_dataset(corpora / "sites").pages
    both = joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(sketched)(page) for page in pages)
    report: list[Row] = []
    for metric, threshold in THRESHOLDS:
        chance = np.random.default_rng(options.seed)
        real = [METRICS[metric].prepare(plain) for plain, _ in both]
        pool, owner = np.concatenate(real), list(range(len(real)))
        owner += chance.integers(len(real), size=max(options.copies - len(real), 0)).tolist()
        sets = [*real, *(mutated(real[i], pool, chance) for i in owner[len(real) :])]
        sites = np.array([pages[i].site for i in owner])
        start = time.process_time()
        labels = minhash_linkage(sets, threshold=threshold).labels
        seconds = time.process_time() - start
        some = np.sort(chance.permutation(len(sets))[: options.exact])
        sample = [sets[i] for i in some.tolist()]
        start = time.process_time()
        exact = single_linkage(METRICS[metric].matrix(sample), threshold=threshold).labels
        exact_seconds = time.process_time() - start
        start = time.process_time()
        again = minhash_linkage(sample, threshold=threshold).labels
        sample_seconds = time.process_time() - start
        row: Row = {"distance": metric, "threshold": threshold, "pages": len(sets), "seconds": f"{seconds:.1f}"}
        row |= {"clusters": len(set(labels.tolist())), "adjusted Rand with sites": adjusted_rand(labels, sites)}
        row |= {"sample": len(some), "seconds (sample)": f"{sample_seconds:.1f}", "exact": f"{exact_seconds:.1f}"}
        row |= {"Rand": rand(again, exact), "adjusted Rand": adjusted_rand(again, exact)}
        row["all pages, on the sample"] = adjusted_rand(labels[some], exact)
        report.append(row)
        note(f"scale: {metric} {threshold:g}")
    print("\n### Single linkage without a matrix; Rand indices with single linkage of the sample's matrix\n")
    print(table(report))
    return {"scale": report}
