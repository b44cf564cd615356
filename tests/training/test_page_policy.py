"""Trees that judge whole pages; and models with all their parts, from pages to file and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from blockml.decision.page_policy import likeness, page_row, page_scores
from numpy.typing import NDArray

import blockml
from blockml.datasets import Dataset, open_dataset
from blockml.decision.decide import by_line, recenter
from blockml.decision.duplicates import Duplicates
from blockml.errors import UsageError
from blockml.extractors.trained import TrainedExtractor
from blockml.model import Model, load_model, save_model
from blockml.predictors.log_odds import log_odds
from blockml.training.cross_validation import cross_validate
from blockml.training.ensemble import Blend
from blockml.training.page_policy import Unseen, WholePages, fit_whole_pages
from blockml.training.recipes import Recipe, recipe
from blockml.training.table import BlockTable, PageRows, build_table
from blockml.training.train import train

pytest.importorskip("lightgbm", reason="needs LightGBM, of the extra boost")

DATA = Path(__file__).parents[2] / "data"
DEFAULT, BOOSTED = recipe("default"), recipe("boosted")
N_PAGES, N_BLOCKS = 240, 6


def page(number: int, *, page_type: str | None, gold: bool = True) -> PageRows:
    """A page of six blocks of ten tokens, the first half content; articles have much running text."""
    rng = np.random.default_rng(number)
    main = np.arange(N_BLOCKS) < N_BLOCKS // 2
    words = rng.integers(5, 40, N_BLOCKS).astype(np.float64)
    return PageRows(
        id=str(number),
        site=str(number),
        page_type=page_type,
        usable=True,
        matrix=np.zeros((N_BLOCKS, 1), np.float32),
        main=main,
        known=np.ones(N_BLOCKS, dtype=bool),
        owner=np.repeat(np.arange(N_BLOCKS, dtype=np.int32), 10),
        tokens=np.arange(10 * N_BLOCKS, dtype=np.int32),
        gold_counts=np.repeat(main, 10).astype(np.int64) if gold else None,
        words=words,
        hash=str(number),
        sketch=frozenset(),
        linked=np.zeros(N_BLOCKS),
        prose=words if page_type == "article" else np.zeros(N_BLOCKS),
        line=np.arange(N_BLOCKS),
        groups=(np.zeros(N_BLOCKS, np.int32),) * 2,
        text=np.full(N_BLOCKS, -1),
    )


def types(number: int) -> str | None:
    """Half of the pages are articles; of some nothing is known."""
    return (None, "article", "listing", "article", "product")[number % 5]


@pytest.fixture(scope="module")
def table() -> BlockTable:
    """Made-up pages."""
    return BlockTable.stack([page(number, page_type=types(number)) for number in range(N_PAGES)])


@pytest.fixture(scope="module")
def unseen(table: BlockTable) -> Unseen:
    """Probabilities that are right on even pages and noise on odd ones, where they are unsure too."""
    rng = np.random.default_rng(0)
    right = np.where(table.main, 0.95, 0.05)
    noise = rng.uniform(0.3, 0.7, len(right))
    final = np.where(table.page_of_row % 2 == 0, right, noise).astype(np.float32)
    return Unseen(rng.uniform(0.01, 0.99, len(right)).astype(np.float32), final, np.arange(N_PAGES) // 7 % 3)


@pytest.fixture(scope="module")
def whole(table: BlockTable, unseen: Unseen) -> WholePages:
    """What is learnt from them."""
    return fit_whole_pages(table, DEFAULT, unseen)


# --- judges of whole pages --------------------------------------------------------------------------------------------


def test_articles_are_known_by_their_running_text(table: BlockTable, whole: WholePages) -> None:
    """Of pages whose type isn't told, too."""
    assert whole.article is not None
    is_article = np.array([item.page_type == "article" for item in table.pages])
    assert whole.likeness.shape == (N_PAGES,)
    assert whole.likeness[is_article].min() > 0.8
    assert whole.likeness[~is_article].max() < 0.2


def test_f1_is_foretold(table: BlockTable, whole: WholePages) -> None:
    """Pages on which probabilities are noise get less."""
    assert ((whole.foretold >= 0) & (whole.foretold <= 1)).all()
    f1 = table.page_f1(whole.scores >= np.float32(0.5), range(N_PAGES))
    assert np.corrcoef(f1, whole.foretold)[0, 1] > 0.8
    assert whole.foretold[::2].min() > whole.foretold[1::2].max()


def test_scores_are_those_of_one_page_at_a_time(table: BlockTable, unseen: Unseen, whole: WholePages) -> None:
    """Careful by as much as the page is like an article."""
    for number, item in enumerate(table.pages):
        here = table.rows_of(number)
        expected = page_scores(
            DEFAULT, unseen.final[here], item.words, item.linked, item.prose, item.line, float(whole.likeness[number])
        )
        assert np.array_equal(whole.scores[here], expected)


def test_a_page_is_judged_by_trees_that_did_not_see_it(table: BlockTable, unseen: Unseen, whole: WholePages) -> None:
    """What is true of the pages of a fold changes nothing that is said of them, only of others."""
    inside = unseen.fold == 0
    pages = list(enumerate(table.pages))
    kinds = [replace(item, page_type="article") if inside[i] else item for i, item in pages]
    other = fit_whole_pages(replace(table, pages=tuple(kinds)), DEFAULT, unseen)
    assert np.array_equal(whole.likeness[inside], other.likeness[inside])
    assert not np.array_equal(whole.likeness[~inside], other.likeness[~inside])


def test_trees_of_the_model_are_grown_on_all_pages(table: BlockTable, unseen: Unseen, whole: WholePages) -> None:
    """And agree with those of the folds."""
    assert whole.article is not None
    rows = np.array(
        [
            page_row(
                item.words, item.linked, item.prose, unseen.alone[table.rows_of(i)], unseen.final[table.rows_of(i)]
            )
            for i, item in enumerate(table.pages)
        ]
    )
    whole.article.check(rows.shape[1])
    assert np.corrcoef(likeness(whole.article, rows), whole.likeness)[0, 1] > 0.95


@pytest.mark.parametrize(
    ("chosen", "kinds"),
    [(BOOSTED, ("article", "listing")), (DEFAULT, ("article", "article")), (DEFAULT, ("listing", "product")),
     (DEFAULT, (None, None))],
)  # fmt: skip
def test_without_two_kinds_of_pages_nothing_is_an_article(
    unseen: Unseen, chosen: Recipe, kinds: tuple[str | None, str | None]
) -> None:
    """Nor where a recipe doesn't ask; scores are then those of any page."""
    table = BlockTable.stack([page(number, page_type=kinds[number % 2]) for number in range(N_PAGES)])
    whole = fit_whole_pages(table, replace(chosen, leaning=0.0), unseen)
    assert whole.article is None
    assert not whole.likeness.any()
    here = table.rows_of(1)
    words, line = table.pages[1].words, table.pages[1].line
    careful = by_line(log_odds(unseen.final[here]) - chosen.caution, words, line)
    expected = recenter(careful, words, chosen.least_words)
    assert np.array_equal(whole.scores[here], expected)


def test_gold_texts_are_not_needed(unseen: Unseen, whole: WholePages) -> None:
    """Page types tell articles, probabilities foretell."""
    table = BlockTable.stack([page(number, page_type=types(number), gold=False) for number in range(N_PAGES)])
    without = fit_whole_pages(table, DEFAULT, unseen)
    assert np.array_equal(without.foretold, whole.foretold)
    assert without.article is not None


def test_more_of_an_article_more_care() -> None:
    """Each block loses; with a common threshold scores are probabilities as they were."""
    final = np.array([0.9, 0.6, 0.2], np.float32)
    words, line = np.array([50.0, 20.0, 10.0]), np.arange(3)
    plain = replace(DEFAULT, rule="threshold")
    rest = (words, np.zeros(3), words, line)
    some, more = page_scores(plain, final, *rest, 0.0), page_scores(plain, final, *rest, 1.0)
    assert log_odds(some) == pytest.approx(log_odds(final) - DEFAULT.caution, abs=1e-5)
    assert log_odds(more) == pytest.approx(log_odds(final) - DEFAULT.caution - DEFAULT.article_caution, abs=1e-5)
    assert np.array_equal(page_scores(replace(plain, caution=0.0), final, *rest, 0.0), final)
    assert (page_scores(DEFAULT, final / np.float32(5), words / 10, np.zeros(3), words / 10, line, 0.0) < 0.5).all()


@pytest.mark.parametrize(
    ("certain", "prose", "lowered"),
    [(0.95, 130.0, True), (0.95, 110.0, False), (0.85, 130.0, False), (0.95, 0.0, False)],
)
def test_links_beside_a_certain_text(certain: float, prose: float, lowered: bool) -> None:  # noqa: FBT001
    """They lose, and nothing else does; without 120 words of running text that are certain none loses."""
    final = np.array([certain, 0.6, 0.6, 0.6, 0.6], np.float32)
    words = np.array([prose or 130.0, 10.0, 10.0, 10.0, 0.0])
    linked, running = np.array([0.0, 10.0, 5.0, 4.0, 0.0]), np.array([prose, 0.0, 0.0, 10.0, 0.0])
    plain = replace(DEFAULT, rule="threshold", caution=0.0, link_caution=1.0)
    wary = page_scores(plain, final, words, linked, running, np.arange(5), 0.0)
    expected = log_odds(final) - np.array([0, lowered, lowered, 0, 0])
    assert log_odds(wary) == pytest.approx(expected, abs=1e-5)
    bold = page_scores(replace(plain, link_caution=0.0), final, words, linked, running, np.arange(5), 0.0)
    assert np.array_equal(bold, final)


def test_text_with_links_in_it_is_no_body() -> None:
    """Of two halves each is too short; a link of few words in a longer block doesn't part them."""
    final, line = np.array([0.95, 0.6, 0.95, 0.6], np.float32), np.arange(4)
    words, prose = np.array([70.0, 10.0, 70.0, 10.0]), np.array([70.0, 0.0, 70.0, 0.0])
    plain = replace(DEFAULT, rule="threshold", caution=0.0, link_caution=1.0)
    parted = page_scores(plain, final, words, np.array([0.0, 10.0, 0.0, 10.0]), prose, line, 0.0)
    assert np.array_equal(parted, final)
    whole = page_scores(plain, final, words, np.array([0.0, 4.0, 0.0, 10.0]), prose, line, 0.0)
    assert (whole < final).tolist() == [False, False, False, True]


def test_copies_have_to_be_more_certain() -> None:
    """The first that is about as likely as the best stays; others are scored lower, by much where they stand apart."""
    final, words, none = np.full(4, 0.7, np.float32), np.full(4, 20.0), np.zeros(4)
    copies = Duplicates(np.array([0, -1, 0, 0]), np.array([1, 1, 1, 2]))
    columns = (final, words, none, words, np.arange(4), 0.0)
    plain = replace(DEFAULT, copy_caution=0.0)
    alone = page_scores(plain, *columns)
    assert np.array_equal(page_scores(DEFAULT, *columns), alone)
    assert np.array_equal(page_scores(plain, *columns, copies), alone)
    scores = page_scores(DEFAULT, *columns, copies)
    assert scores[0] == scores[1] > scores[2] > scores[3]
    assert (scores >= np.float32(0.5)).tolist() == [True, True, True, False]


def test_a_line_leans_on_its_neighbours() -> None:
    """By their words; blocks of a line move together, and a page of one line stays as it is."""
    final, words, none = np.array([0.9, 0.5, 0.5, 0.1], np.float32), np.array([30.0, 5.0, 5.0, 10.0]), np.zeros(4)
    line = np.array([0, 1, 1, 2])
    plain = replace(DEFAULT, caution=0.0, article_caution=0.0, leaning=0.0, doubt=0.0)
    before = log_odds(page_scores(plain, final, words, none, words, line, 1.0))
    after = log_odds(page_scores(replace(plain, leaning=0.25), final, words, none, words, line, 1.0))
    odds = log_odds(final)
    around = np.array([odds[1], *[(30 * odds[0] + 10 * odds[3]) / 40] * 2, odds[2]])
    expected = 0.75 * odds + 0.25 * around
    assert np.diff(after) == pytest.approx(np.diff(expected), abs=1e-4)
    assert np.diff(before) == pytest.approx(np.diff(odds), abs=1e-4)
    one = page_scores(replace(plain, leaning=0.25), final, words, none, words, np.zeros(4, np.intp), 1.0)
    assert np.array_equal(one, page_scores(plain, final, words, none, words, np.zeros(4, np.intp), 1.0))


@pytest.mark.parametrize(("alike", "lessened"), [(0.05, True), (0.2, False), (None, False)])
def test_doubt_about_blocks_of_lists(alike: float | None, lessened: bool) -> None:  # noqa: FBT001
    """What speaks against a block is lessened on pages that hardly are articles; what speaks for it is not."""
    final, words, none = np.array([0.9, 0.6, 0.3, 0.1], np.float32), np.full(4, 20.0), np.zeros(4)
    plain = replace(DEFAULT, caution=0.5, article_caution=0.0, leaning=0.0, doubt=0.0)
    columns = (final, words, none, words, np.arange(4), alike)
    before, after = (log_odds(page_scores(rules, *columns)) for rules in (plain, replace(plain, doubt=0.5)))
    odds = log_odds(final) - 0.5
    expected = np.where(log_odds(final) < 0, log_odds(final) * (0.5 if lessened else 1) - 0.5, odds)
    assert np.diff(before) == pytest.approx(np.diff(odds), abs=1e-4)
    assert np.diff(after) == pytest.approx(np.diff(expected), abs=1e-4)


# --- from pages to a model --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Pages written by hand, each a site of its own."""
    return open_dataset(DATA / "pages")


QUICK = {
    "boosted": BOOSTED.but(n_trees=5),
    "default": replace(DEFAULT, nets=1).but(n_trees=5),
}


@pytest.fixture(scope="module", params=sorted(QUICK))
def model(dataset: Dataset, request: pytest.FixtureRequest) -> Model:
    """A model with all that its recipe asks for."""
    return train([dataset], QUICK[request.param], protocols=("site",), n_folds=3, seed=1)


def test_parts_of_a_model(model: Model) -> None:
    """Those its recipe asks for, and what it says of itself."""
    chosen = QUICK[model.name]
    assert (model.net is not None, model.article is not None) == (bool(chosen.nets), bool(chosen.article_caution))
    assert (model.rule, model.link, model.threshold) == ("expected_f1", "logistic", 0.5)
    for name in (
        "least_words",
        "caution",
        "article_caution",
        "link_caution",
        "copy_caution",
        "leaning",
        "doubt",
        "net_share",
    ):
        assert getattr(model, name) == getattr(chosen, name), name
    assert model.parsing.tokenizer == "cjk"
    assert model.recipe["nets"] == chosen.nets
    assert model.metrics["site"]["page_bag_f1"]["mean"] > 0.2


def scores_of(model: Model, dataset: Dataset) -> list[NDArray[np.float32]]:
    """Scores of all pages."""
    extractor = TrainedExtractor(model)
    return [blockml.extract(item.load()[0], model=extractor).scores for item in dataset.pages]


def test_models_are_the_same_after_saving(model: Model, dataset: Dataset, tmp_path: Path) -> None:
    """To the last bit, in what they score and in their bytes."""
    save_model(model, tmp_path / "one.blockml")
    again = load_model(tmp_path / "one.blockml")
    for before, after in zip(scores_of(model, dataset), scores_of(again, dataset), strict=True):
        assert np.array_equal(before, after)
    save_model(again, tmp_path / "two.blockml")
    assert (tmp_path / "one.blockml").read_bytes() == (tmp_path / "two.blockml").read_bytes()


def test_models_extract(model: Model, dataset: Dataset, tmp_path: Path) -> None:
    """Any page; the confidence is a share, and what is foretold one too."""
    save_model(model, tmp_path / "m.blockml")
    extractor = blockml.load(tmp_path / "m.blockml")
    found = [blockml.extract(item.load()[0], model=extractor) for item in dataset.pages]
    assert sum(result.status is blockml.Status.OK for result in found) > len(found) / 2
    empty = [blockml.extract(html, model=extractor) for html in ("", "<p>*", "<p>one", "<title>x</title>", "x</html>y")]
    for result in found + empty:
        assert 0 <= result.confidence <= 1
        assert ((result.scores >= 0) & (result.scores <= 1)).all()
        told = extractor.predict(result.page).confidence
        assert told is not None
        assert 0 <= told <= 1
    assert empty[0].text == empty[3].text == ""


def test_a_model_scores_like_its_cross_validation(model: Model, dataset: Dataset) -> None:
    """The same steps on probabilities that are the model's own: training and use don't drift apart."""
    chosen = QUICK[model.name]
    table = build_table([dataset], chosen)
    scores = scores_of(model, dataset)
    for number, item in enumerate(table.pages):
        matrix = table.matrix[table.rows_of(number)]
        alone = final = model.score(matrix)
        if model.net is not None:
            final = blend_look(model, matrix, item)
        alike = 0.0
        if model.article is not None:
            row = page_row(item.words, item.linked, item.prose, alone, final)[None]
            alike = float(likeness(model.article, row)[0])
        expected = page_scores(chosen, final, item.words, item.linked, item.prose, item.line, alike, item.copies)
        assert scores[number] == pytest.approx(expected, abs=1e-6)


def blend_look(model: Model, matrix: NDArray[np.float32], item: PageRows) -> NDArray[np.float32]:
    """Probabilities as :class:`blockml.training.ensemble.Blend` gives them."""
    return Blend(model.trees, model.net, model.net_share).looks(BlockTable.stack([replace(item, matrix=matrix)]), 0)[1]


# --- cross-validation -------------------------------------------------------------------------------------------------


def test_cross_validation_is_out_of_fold(dataset: Dataset) -> None:
    """Gold of the pages of a fold changes nothing that is said of their blocks' order."""
    chosen = replace(QUICK["boosted"], rule="threshold")
    table = build_table([dataset], chosen)
    found = cross_validate(table, chosen, "page", n_folds=3, seed=2)
    inside = found.fold == 0
    flipped = replace(table, main=table.main ^ inside)
    other = cross_validate(flipped, chosen, "page", n_folds=3, seed=2)
    assert np.array_equal(found.scores[inside], other.scores[inside])
    assert not np.array_equal(found.scores[~inside], other.scores[~inside])
    assert found.whole is not None
    assert np.array_equal(found.kept, found.scores >= np.float32(0.5))
    assert found.summary(table)["folds"] == 3


def test_jobs_do_not_change_results(dataset: Dataset) -> None:
    """Nor does the order in which folds end."""
    chosen = QUICK["boosted"]
    table = build_table([dataset], chosen)
    one, two = (cross_validate(table, chosen, "site", n_folds=2, jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.scores, two.scores)


def test_folds_over_blocks_are_refused(dataset: Dataset) -> None:
    """Whole pages are judged."""
    table = build_table([replace(dataset, pages=dataset.pages[:3])], QUICK["boosted"])
    with pytest.raises(UsageError, match="page and site"):
        cross_validate(table, QUICK["boosted"], "block", n_folds=2)


def test_training_is_deterministic_to_the_byte(dataset: Dataset, tmp_path: Path) -> None:
    """Same pages, recipe and seed, same file; and models of pages that weren't measured have no judges of pages."""
    few = replace(dataset, pages=dataset.pages[:5])
    made = [train([few], QUICK["default"], protocols=(), seed=3) for _ in range(2)]
    for number, item in enumerate(made):
        save_model(item, tmp_path / str(number))
        assert item.article is None
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
