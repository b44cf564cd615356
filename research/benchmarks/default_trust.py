"""Calibration of block probabilities and of the predicted F1 of pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from blockml.cli.output import write_output
from blockml.decision.decide import confidence
from blockml.evaluation import bootstrap_mean
from blockml.evaluation.bootstrap import Resampled, bootstrap_systems
from blockml.predictors import log_odds
from research.benchmarks.default_chart import chart
from research.benchmarks.default_study import Probabilities, Study, Table

#: Number of bins of probabilities, and of groups of pages by predicted F1.
N_BINS = 10
#: Shares of the pages, lowest predicted F1 first, that are routed to another extractor.
SENT = (0.05, 0.1, 0.2)

Floats = NDArray[np.float64]


def trust(study: Study, figures: str) -> dict[str, Table]:
    """Evaluate calibration of probabilities and of the predicted F1, with figures."""
    predictions = study.predictions(study.seed, study.recipe.n_mlps)
    n = len(predictions.mlps)
    final = predictions.both(*predictions.all_mlps)
    said = {"trees": predictions.trees, "one MLP": predictions.mlp(0), f"trees + {n} MLPs": final}
    bins, summary, curves = reliability(study, said)
    write_output(
        chart(
            "Share of words that are content, by probability (bins of a tenth; weighted by words)",
            curves,
            x_name="mean probability",
            y_name="share that is content",
            diagonal=True,
        ),
        str(Path(figures) / "calibration.svg"),
    )
    whole = study.whole(predictions, study.recipe, predictions.trees, final, study.seed)
    f1 = study.f1(whole.scores >= np.float32(0.5))
    guesses = {"expected F1": whole.predicted_f1, "words right, by scores": words_right(study, whole.scores)}
    tenths, lines = by_tenths(study, f1, guesses)
    write_output(
        chart(
            "F1 of pages, by the predicted F1 (tenths of the pages)",
            lines,
            x_name="mean predicted F1",
            y_name="mean F1",
            diagonal=True,
        ),
        str(Path(figures) / "confidence.svg"),
    )
    routes = [row for name, guess in guesses.items() for row in routing(study, f1, name, guess)]
    return {
        "Calibration of blocks by bin": bins,
        "Probabilities of blocks": summary,
        "Predicted F1 by decile": tenths,
        "Predicted F1": agreement(study, f1, guesses),
        "Routing by predicted F1": routes,
    }


def words_right(study: Study, scores: Probabilities) -> Floats:
    """(n_pages,) expected share of the words of each page with a right decision, if scores are probabilities."""
    found = []
    for i, page in enumerate(study.table.pages):
        here = scores[study.table.rows_of(i)]
        found.append(confidence(here, here >= np.float32(0.5), page.words.astype(np.int32)))
    return np.array(found)


def reliability(
    study: Study, said: Mapping[str, Probabilities]
) -> tuple[Table, Table, dict[str, list[tuple[float, float]]]]:
    """Compare the predicted and the true share of content words, on pages with valid gold."""
    table = study.table
    usable = np.array([page.usable for page in table.pages])
    rows = table.known & usable[table.page_of_row]
    words = np.concatenate([page.words for page in table.pages])[rows]
    main, page = table.main[rows].astype(np.float64), table.page_of_row[rows]
    # For each page, predictor and bin: words, their probabilities, their content, and the squared error.
    sums = np.zeros((len(table.pages), len(said), N_BINS, 4))
    lines = []
    for place, probabilities in enumerate(said.values()):
        p = probabilities[rows].astype(np.float64)
        inside = np.minimum((p * N_BINS).astype(np.intp), N_BINS - 1)
        for kind, value in enumerate((words, words * p, words * main, words * (p - main) ** 2)):
            np.add.at(sums, (page, place, inside, kind), value)
        lines.append(best_line(log_odds(p), main, words))
    totals = sums.sum(axis=0)
    bins: Table = []
    for i in range(N_BINS):
        row: dict[str, object] = {"probability": f"{i / N_BINS:.1f} to {(i + 1) / N_BINS:.1f}"}
        for name, (n, p, content, _) in zip(said, totals[:, i].tolist(), strict=True):
            row |= {f"{name}: words": share(n / words.sum())}
            row |= {f"{name}: mean": p / n if n else None, f"{name}: content": content / n if n else None}
        bins.append(row)
    kept = sums[usable]
    errors = bootstrap_systems(kept, lambda t: np.abs(t[..., 1] - t[..., 2]).sum(axis=-1) / t[..., 0].sum(axis=-1))
    squares = bootstrap_systems(kept, lambda t: t[..., 3].sum(axis=-1) / t[..., 0].sum(axis=-1))
    summary: Table = []
    for place, name in enumerate(said):
        row = {"": name, "calibration error": errors.intervals()[place]}
        row |= {"difference": against_last(errors, place), "squared error": squares.intervals()[place]}
        row |= {"difference of squares": against_last(squares, place)}
        summary.append(row | {"best slope": lines[place][0], "best offset": lines[place][1]})
    curves = {
        name: [(p / n, content / n) for n, p, content, _ in totals[place].tolist() if n]
        for place, name in enumerate(said)
    }
    return bins, summary, curves


def against_last(resampled: Resampled, place: int) -> object:
    """Compute the difference of one system from the last one; None for the last one."""
    last = resampled.estimates.size - 1
    return None if place == last else resampled.differences()[place, last]


def share(value: float) -> str:
    """Format a share."""
    return f"{value:.1%}"


def by_tenths(
    study: Study, f1: Floats, guesses: Mapping[str, Floats]
) -> tuple[Table, dict[str, list[tuple[float, float]]]]:
    """Compute mean predicted F1 and mean F1 of deciles of the pages by predicted F1."""
    pages = np.flatnonzero(study.groups["all"])
    parts = {
        name: np.array_split(pages[np.argsort(guess[pages], kind="stable")], 10) for name, guess in guesses.items()
    }
    rows: Table = []
    for i in range(10):
        row: dict[str, object] = {"tenth": i + 1}
        for name, guess in guesses.items():
            here = parts[name][i]
            row |= {f"{name}: predicted": guess[here].mean() if len(here) else None}
            row |= {f"{name}: F1": bootstrap_mean(f1[here]) if len(here) else None}
        rows.append(row)
    lines = {
        name: [(float(guess[here].mean()), float(f1[here].mean())) for here in parts[name] if len(here)]
        for name, guess in guesses.items()
    }
    return rows, lines


def agreement(study: Study, f1: Floats, guesses: Mapping[str, Floats]) -> Table:
    """Compare predicted F1 and F1 over pages."""
    rows: Table = []
    for group in ("all", "fit"):
        pages = np.flatnonzero(study.groups[group])
        ranks = spearman(f1[pages], [guess[pages] for guess in guesses.values()])
        for place, (name, guess) in enumerate(guesses.items()):
            rows.append(
                {
                    "pages": f"{group}, {len(pages)}",
                    "prediction": name,
                    "Spearman": ranks.intervals()[place],
                    "lost against the first": ranks.differences().get((0, place)),
                    "mean predicted - F1": bootstrap_mean(guess[pages] - f1[pages]),
                    "mean absolute error": bootstrap_mean(np.abs(guess[pages] - f1[pages])),
                }
            )
    return rows


def spearman(f1: Floats, guesses: list[Floats], resamples: int = 1000, seed: int = 0) -> Resampled:
    """Compute the rank correlation of each prediction with F1, on all pages and on bootstrap samples."""
    from scipy.stats import rankdata

    def correlations(drawn: NDArray[np.int64]) -> Floats:
        ranks = [rankdata(values[drawn]) for values in (f1, *guesses)]
        with np.errstate(invalid="ignore"):  # correlation is undefined if all values of a sample are equal
            found: Floats = np.nan_to_num(np.corrcoef(ranks)[0, 1:])
        return found

    random = np.random.default_rng(seed)
    samples = [correlations(random.integers(len(f1), size=len(f1))) for _ in range(resamples)]
    return Resampled(correlations(np.arange(len(f1))), np.array(samples))


def routing(study: Study, f1: Floats, name: str, guess: Floats) -> Table:
    """Compute the largest possible gain from routing the pages with the lowest predicted F1 to another extractor."""
    rows: Table = []
    for group in ("all", "fit"):
        pages = np.flatnonzero(study.groups[group])
        order = pages[np.argsort(guess[pages], kind="stable")]
        loss = float((1 - f1[pages]).sum())
        for part in SENT:
            n = max(1, round(part * len(order)))
            sent, stay = order[:n], order[n:]
            lost = float((1 - f1[sent]).sum())
            rows.append(
                {
                    "prediction": name,
                    "pages": f"{group}, {len(pages)}",
                    "sent": f"{part:.0%}, {n}",
                    "their F1": bootstrap_mean(f1[sent]),
                    "F1 of the rest": bootstrap_mean(f1[stay]) if len(stay) else None,
                    "share of what is lost": share(lost / loss) if loss else None,
                    "mean if those were perfect": float(f1[pages].mean()) + lost / len(pages),
                    "as many at random": float(f1[pages].mean()) + part * loss / len(pages),
                    "the worst ones": best_possible(f1[pages], n),
                }
            )
    return rows


def best_possible(f1: Floats, n: int) -> float:
    """Compute the mean F1 if the n pages with the lowest F1 were perfect."""
    ordered = np.sort(f1)
    return float((n + ordered[n:].sum()) / len(ordered))


def best_line(
    odds: NDArray[np.floating[Any]],
    labels: NDArray[np.number[Any] | np.bool_],
    weight: NDArray[np.floating[Any]] | None = None,
) -> tuple[float, float]:
    """Fit slope and offset of log odds (n,) to labels (n,) in [0, 1] of held-out blocks (Platt 1999).

    ``weight`` (n,) weights the blocks; the result is for :meth:`blockml.predictors.mlp.MLP.calibrated`.

    Examples
    --------
    >>> odds = np.array([-4., -4, -4, -4, 4, 4, 4, 4])
    >>> slope, offset = best_line(odds, np.array([1, 0, 0, 0, 0, 1, 1, 1]))
    >>> round(slope * 4, 3), round(abs(offset), 3)
    (1.099, 0.0)
    """
    share = np.full(len(odds), 1 / len(odds)) if weight is None else weight / weight.sum()

    def misfit(line: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        moved = line[0] * odds + line[1]
        error = share * (0.5 + 0.5 * np.tanh(0.5 * moved) - labels)
        return float(share @ (np.logaddexp(0, moved) - labels * moved)), np.array([error @ odds, error.sum()])

    slope, offset = minimize(misfit, np.array([1.0, 0.0]), jac=True, method="BFGS").x.tolist()
    return slope, offset
