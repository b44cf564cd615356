"""What a model says of a page: in one go as step by step, compiled as in Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml import _kernel
from blockml.errors import UsageError
from blockml.extractors.matrix import matrix
from blockml.features.page_context import PageContext
from blockml.model.model_file import Model
from blockml.model.scoring import PageScores, _score, score_page
from tests.strategies import messy_html

CASES = (
    "<title>Cats</title><h1>Cats</h1><nav class='menu top'><a href=/>Home</a> <a href=/dogs>Dogs</a></nav>"
     f"<article class=story>{'<p>Cats rule the world, and <b>nobody</b> has ever asked them to do so.' * 12}</article>"
     "<ul id=more>" + "<li><a href=x>Read more of this here</a>" * 9 + "</ul><pre>a = b\n\nc</pre><p>…</p>",
    "<p>one",
    "<table>" + "<tr><td>Joined in the year<td>2009" * 20 + "</table>",
)  # fmt: skip
#: The least whole number of 64 bits.
LEAST = np.iinfo(np.int64).min
DEFAULT: Model = blockml.load("default").model


def told(model: Model, html: str) -> PageScores:
    """What a model says of a page."""
    page = blockml.parse(html)
    view = PageContext(page)
    return score_page(model, view, matrix(page, model.features, None, view))


def in_python(model: Model, html: str) -> PageScores:
    """The same without the kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        return told(model, html)


def are_equal(one: PageScores, other: PageScores) -> bool:
    """To the last bit."""
    same = np.array_equal(one.scores, other.scores) and np.array_equal(one.sums, other.sums)
    return (
        same and (one.scores.dtype, one.sums.dtype) == (other.scores.dtype, other.sums.dtype) and one[2:] == other[2:]
    )


cares = st.sampled_from([0.0, 0.3, 2.0, 2e6])
models = st.builds(
    lambda **changes: replace(DEFAULT, **changes),
    caution=cares,
    article_caution=cares,
    link_caution=cares,
    copy_caution=cares,
    leaning=st.sampled_from([0.0, 0.25, 1.0]),
    doubt=st.sampled_from([0.0, 0.5, 1.0]),
    least_words=st.sampled_from([0.0, 60.0, 1e4]),
    net_share=st.sampled_from([0.0, 0.5, 1.0]),
    article=st.sampled_from([None, DEFAULT.article]),
    areas=st.sampled_from([None, DEFAULT.areas]),
)


@settings(max_examples=40, deadline=None)
@given(model=models, html=st.sampled_from(CASES) | messy_html)
def test_in_one_go_is_as_step_by_step(model: Model, html: str) -> None:
    """Whatever the rules say, with and without what a model may lack, compiled and in Python."""
    page = blockml.parse(html)
    rows = matrix(page, model.features)
    found = score_page(model, PageContext(page), rows)
    assert are_equal(found, _score(model, PageContext(page), rows))
    assert are_equal(found, in_python(model, html))
    assert found.scores.shape == (len(page.blocks),)


@pytest.mark.parametrize("changes", [{"net": None}, {"link": "mean"}, {"rule": "threshold"}])
def test_models_that_the_kernel_does_not_know_as_a_whole_go_step_by_step(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same outcome as in Python."""
    model = replace(DEFAULT, **changes)
    monkeypatch.setattr("blockml.model.scoring._score_compiled", None)
    for html in CASES:
        assert are_equal(told(model, html), in_python(model, html))


def test_a_page_without_blocks_has_no_scores() -> None:
    """And promises nothing."""
    found = told(DEFAULT, "")
    assert (found.scores.shape, found.sums.shape, found.expected) == ((0,), (0, 3), 0)


def test_a_net_that_reads_no_words() -> None:
    """AncestorWords are not asked for then."""
    assert DEFAULT.net is not None
    none = np.zeros((0, 0), np.float32)
    members, units = DEFAULT.net.own.shape[:2]
    net = replace(DEFAULT.net, words=none, lift=np.zeros((members, 0, units), np.float32))
    model = replace(DEFAULT, net=net)
    for html in CASES:
        assert are_equal(told(model, html), in_python(model, html))


def test_columns_that_a_model_does_not_take_are_refused() -> None:
    """In one go too: of nets, trees, those of articles, and ways to be alike."""
    page = blockml.parse(CASES[0])
    rows = matrix(page, DEFAULT.features)
    wide = replace(DEFAULT, article=DEFAULT.trees)
    for compiled in {None, _kernel.compiled}:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_kernel, "compiled", compiled)
            with pytest.raises(UsageError, match="column"):
                score_page(DEFAULT, PageContext(page), rows[:, :-1])
            with pytest.raises(UsageError, match="the matrix has 13"):
                score_page(wide, PageContext(page), rows)
            assert DEFAULT.net is not None
            narrow = replace(DEFAULT.net, alike=DEFAULT.net.alike[:, : DEFAULT.net.own.shape[1]])
            with pytest.raises(UsageError, match="1 ways to be alike"):
                score_page(replace(DEFAULT, net=narrow), PageContext(page), rows)


def test_what_does_not_fit_is_refused(compiled: _kernel.Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays from elsewhere must not be read or written beyond their ends."""
    calls: list[list[Any]] = []

    class Recording:
        """The kernel, but for one function."""

        def page_verdict(self, *arguments: Any) -> tuple[float, bool]:
            calls.append(list(arguments))
            return compiled.page_verdict(*arguments)

        def __getattr__(self, name: str) -> object:
            return getattr(compiled, name)

    monkeypatch.setattr(_kernel, "compiled", Recording())
    told(DEFAULT, CASES[2])
    (given,) = calls
    assert len(given[8]) % 8 == 0  # so that 2 ** 61 times as many are 0 in 64 bits
    function: Any = compiled.page_verdict
    expected = function(*given)
    starts, buckets, bag = given[7]
    trees = given[3]
    wrong: dict[int, list[Any]] = {
        2: [given[2][:-1].copy(), given[2].astype(np.float64)],
        3: [
            *[(*trees[:6], group, trees[7]) for group in (trees[6] + 9, trees[6][:-1])],
            (*trees[:7], trees[7][:-1]), trees[:7],
        ],
        4: [0, -1, given[4] + 1, 2**61 + given[4]],
        5: [trees, (), 7],
        7: [
            (starts[::-1].copy(), buckets, bag), (starts, buckets[:-1], bag), (starts, buckets + 2**20, bag),
            (starts, buckets, bag - 1), (starts, buckets, bag + LEAST),
            (np.append(starts[:-1] + LEAST, starts[-1]), buckets, bag),
            (starts, buckets, bag[:-1]), (starts[:0], buckets, bag), (starts, buckets),
        ],
        8: [given[8][:-1]],
        9: [given[9][:-1], (*given[9][:-1], 2), (*given[9][:-1], -1), ("x", *given[9][1:])],
        10: [given[10][:-1].copy(), given[10].astype(np.float32)],
        11: [given[11][:-1].copy(), b"none"],
    }  # fmt: skip
    for place, others in wrong.items():
        for other in others:
            with pytest.raises((TypeError, ValueError, BufferError)):
                function(*given[:place], other, *given[place + 1 :])
    assert function(*given) == expected
