"""Effect of the parameters of untrained extractors, and gain from tuning them.

Needs BLOCKML_CORPORA. Every setting of a grid is scored on the same pages of WCXB (page-averaged bag-of-words F1).
Tuning is evaluated by cross-validation: settings are chosen on four fifths of the sites and scored on the remaining
fifth. Output: a figure of the effect of each parameter, with the others at their defaults, and all numbers as JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.cli.output import note, print_rows, write_output
from blockml.datasets import LabelledPage, open_dataset
from blockml.datasets.gold import block_tokens
from blockml.decision.prediction import Prediction
from blockml.evaluation import paired_difference
from blockml.extractors import resolve
from blockml.text.words import metric_tokens

_BLURRING: Mapping[str, Sequence[Any]] = {
    "radius": (10, 18, 25, 40, 60, 80),
    "eps": (0.1, 0.03, 0.01, 0.003),
    "threshold": (0.5, 0.6, 0.7, 0.75, 0.8, 0.9),
}
#: Grid of each extractor's parameters.
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "ccb": _BLURRING,
    "accb": _BLURRING,
    "tccb": _BLURRING,
    "dsc": {"factor": (0.25, 0.5, 0.75, 1.0), "run": (1, 3, 5), "window": (None, 8, 20, 50)},
    "lqf": {"quota": (0.1, 0.25, 0.33, 0.5, 0.67, 0.75, 0.9)},
    "crunch": {"ratio": (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)},
    "cetr-tm": {"factor": (0.25, 0.5, 0.75, 1.0, 1.5)},
}

Setting = tuple[tuple[str, Any], ...]


def settings_of(name: str) -> list[Setting]:
    """Return all combinations of an extractor's grid."""
    grid = GRIDS[name]
    return [tuple(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def page_scores(labelled: LabelledPage) -> dict[str, list[float]]:
    """Compute the bag-of-words F1 of one page for every setting of every extractor."""
    html, gold = labelled.load()
    text = gold.text() if gold else None
    if text is None:
        return {}
    page = blockml.parse(html, charset=labelled.charset)
    owner, tokens = block_tokens(page)
    numbers: dict[str, int] = {}
    column = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.intp)
    wanted = np.array([numbers.setdefault(token, len(numbers)) for token in metric_tokens(text)], dtype=np.intp)
    wanted_counts = np.bincount(wanted, minlength=len(numbers))

    def f1(kept: NDArray[np.bool_]) -> float:
        counts = np.bincount(column[kept[owner]], minlength=len(numbers))
        total = int(counts.sum()) + len(wanted)
        return 2 * int(np.minimum(counts, wanted_counts).sum()) / total if total else 1.0

    scores: dict[str, list[float]] = {}
    for name in GRIDS:
        raw: dict[Setting, NDArray[np.float32]] = {}
        for setting in settings_of(name):
            # The threshold affects only the decision: compute scores once.
            scored = tuple(pair for pair in setting if pair[0] != "threshold")
            extractor = resolve(name, dict(setting))
            if scored not in raw:
                raw[scored] = extractor.score(page)
            kept = extractor.decide(page, Prediction(raw[scored])).kept
            scores.setdefault(name, []).append(f1(kept))
    return scores


def folds_of(sites: Sequence[str], n_folds: int, seed: int) -> NDArray[np.intp]:
    """Return (n_pages,) fold of each page, grouped by site."""
    names = np.random.default_rng(seed).permutation(sorted(set(sites))).tolist()
    fold = {site: number % n_folds for number, site in enumerate(names)}
    return np.array([fold[site] for site in sites])


def study(name: str, f1: NDArray[np.float64], fold: NDArray[np.intp], sites: Sequence[str]) -> dict[str, Any]:
    """Measure the defaults, parameters tuned on other sites, and the effect of each single parameter.

    Parameters
    ----------
    name
        The extractor.
    f1
        (n_pages, n_settings).
    fold, sites
        (n_pages,); the interval of the gain resamples whole sites.
    """
    choices = settings_of(name)
    own = resolve(name).get_params()
    default = choices.index(tuple((key, own[key]) for key in GRIDS[name]))
    tuned = np.empty(len(f1))
    chosen = []
    for number in range(int(fold.max()) + 1):
        best = int(f1[fold != number].mean(axis=0).argmax())
        chosen.append(dict(choices[best]))
        tuned[fold == number] = f1[fold == number, best]
    gain = paired_difference(tuned, f1[:, default], groups=sites)
    curves = {}
    for key, values in GRIDS[name].items():
        at = [choices.index(tuple((k, v if k == key else own[k]) for k in GRIDS[name])) for v in values]
        curves[key] = {"values": list(values), "f1": [round(float(f1[:, i].mean()), 4) for i in at]}
    return {
        "extractor": name,
        "pages": len(f1),
        "default": round(float(f1[:, default].mean()), 4),
        "tuned": round(float(tuned.mean()), 4),
        "gain": [round(value, 4) for value in gain[:3]],
        "significant": gain.significant,
        "chosen": chosen,
        "oracle": round(float(f1.mean(axis=0).max()), 4),
        "curves": curves,
    }


def picture(studies: Sequence[Mapping[str, Any]]) -> str:
    """Draw a row of small charts per extractor: F1 against each parameter, with the default marked."""
    width, height, left, top = 190, 120, 110, 34
    n_columns = max(len(item["curves"]) for item in studies)
    total = (left + n_columns * (width + 40), top + len(studies) * (height + 48))
    low = min(min(curve["f1"]) for item in studies for curve in item["curves"].values())
    high = max(max(curve["f1"]) for item in studies for curve in item["curves"].values())
    low, high = np.floor(low * 20) / 20, np.ceil(high * 20) / 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]} {total[1]}" width="{total[0]}" '
        'font-family="sans-serif" font-size="11">',
        "<title>Word F1 against each parameter, the others at their default</title>",
        f'<rect width="{total[0]}" height="{total[1]}" fill="white"/>',
        f'<text x="{left}" y="18">Page-averaged word F1 against each parameter, the others at their default '
        "(filled: the default)</text>",
    ]
    for row, item in enumerate(studies):
        y0 = top + row * (height + 48)
        parts.append(f'<text x="8" y="{y0 + height / 2}" font-weight="bold">{item["extractor"]}</text>')
        own = resolve(item["extractor"]).get_params()
        for column, (key, curve) in enumerate(item["curves"].items()):
            x0 = left + column * (width + 40)
            xs = [x0 + width * (i + 0.5) / len(curve["f1"]) for i in range(len(curve["f1"]))]
            ys = [y0 + height * (high - value) / (high - low) for value in curve["f1"]]
            parts.append(f'<rect x="{x0}" y="{y0}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>')
            for tick in np.arange(low, high + 1e-9, 0.1):
                y = y0 + height * (high - tick) / (high - low)
                parts.append(f'<line x1="{x0}" x2="{x0 + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e5e5e5"/>')
                if column == 0:
                    parts.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.2f}</text>')
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
            parts.append(f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>')
            for x, y, value, score in zip(xs, ys, curve["values"], curve["f1"], strict=True):
                fill = "#1f5fa8" if value == own[key] else "white"
                parts.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="#1f5fa8">'
                    f"<title>{key}={value}: {score:.3f}</title></circle>"
                )
                label = "auto" if value is None else f"{value:g}"
                parts.append(f'<text x="{x:.1f}" y="{y0 + height + 14}" text-anchor="middle">{label}</text>')
            parts.append(
                f'<text x="{x0 + width / 2}" y="{y0 + height + 28}" text-anchor="middle" fill="#555">{key}</text>'
            )
    return "\n".join([*parts, "</svg>"])


def main() -> int:
    """Run the grid searches and write tables and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500, help="pages, drawn at random (default: %(default)s)")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", default="out/parameters", help="folder (default: %(default)s)")
    arguments = parser.parse_args()
    corpora = os.environ.get("BLOCKML_CORPORA")
    if not corpora:
        note("the study needs labelled pages: set BLOCKML_CORPORA to the folder of the corpora")
        return 2
    dataset = open_dataset(Path(corpora) / "wcxb")
    drawn = np.random.default_rng(arguments.seed).permutation(len(dataset))[: arguments.pages]
    pages = [dataset.pages[number] for number in sorted(drawn.tolist())]
    rows = joblib.Parallel(n_jobs=arguments.jobs, batch_size=4)(joblib.delayed(page_scores)(page) for page in pages)
    pairs = [(page, row) for page, row in zip(pages, rows, strict=True) if row]
    sites = [page.site for page, _ in pairs]
    fold = folds_of(sites, arguments.folds, arguments.seed)
    studies = [study(name, np.array([row[name] for _, row in pairs]), fold, sites) for name in GRIDS]
    write_output(json.dumps(studies, indent=2), f"{arguments.output}/parameters.json")
    write_output(picture(studies), f"{arguments.output}/parameters.svg")
    print_rows(
        [
            {
                "extractor": item["extractor"],
                "default": f"{item['default']:.3f}",
                "tuned, held-out sites": f"{item['tuned']:.3f}",
                "gain": "{:+.3f} [{:+.3f}, {:+.3f}]".format(*item["gain"]),
                "chosen": "; ".join(
                    sorted({", ".join(f"{k}={v}" for k, v in choice.items()) for choice in item["chosen"]})
                ),
            }
            for item in studies
        ],
        "table",
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
