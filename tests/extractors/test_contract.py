"""The contract of every extractor that needs no training."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.extractors import EXTRACTORS, Extractor, resolve
from blockml.extractors.extractor import Between
from tests.strategies import messy_html

NAMES = sorted(EXTRACTORS)

#: Replaces every letter and digit by another one of the same kind.
_OTHER = str.maketrans(
    string.ascii_letters + string.digits,
    string.ascii_lowercase[1:] + "a" + string.ascii_uppercase[1:] + "A" + string.digits[1:] + "1",
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(html=messy_html)
def test_any_page_gets_scores(name: str, html: str) -> None:
    """Scores are reproducible float32 values in [0, 1], one per block, for any page."""
    extractor = resolve(name)
    page = blockml.parse(html, **extractor.parsing.options())
    scores = extractor.score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))
    notes = extractor.explain(page)
    assert len(notes) == len(page.blocks)
    assert all(isinstance(note, str) for note in notes)


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_those_of_the_classes(name: str) -> None:
    """The registry and the class have the same name, which is also the id of the default object."""
    extractor = resolve(name)
    assert extractor.name == name
    assert extractor.id == name
    assert 0 <= extractor.default_threshold <= 1


@pytest.mark.parametrize("name", NAMES)
def test_words_do_not_matter(name: str) -> None:
    """Methods that only use counts and markup decide the same after every letter is replaced."""
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu "
    body = "".join(
        f"<div class=x><p>{words * k} <a href=/>{words[: 7 * k]}</a></p><ul><li><a href=/>{words[:9]}</a></ul></div>"
        for k in range(8)
    )
    page = blockml.parse(f"<body>{body}</body>")
    texts = {text for text in page.nodes.texts if text.strip()}
    changed = body
    for text in sorted(texts, key=len, reverse=True):
        changed = changed.replace(f">{text.lstrip()}", f">{text.lstrip().translate(_OTHER)}")
    other = blockml.parse(f"<body>{changed}</body>")
    assert page.blocks.texts != other.blocks.texts
    assert np.array_equal(resolve(name).score(page), resolve(name).score(other))


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_parameter_names_the_legal_ones(name: str) -> None:
    """Setting an unknown parameter is an error that names it."""
    with pytest.raises(UnknownNameError, match="no_such_parameter"):
        resolve(name, {"no_such_parameter": 1})


@pytest.mark.parametrize("name", NAMES)
def test_scikit_learn_can_clone_it(name: str) -> None:
    """Parameters survive cloning, as grid searches require."""
    extractor = resolve(name)
    copy = clone(extractor)
    assert isinstance(copy, Extractor)
    assert copy.get_params() == extractor.get_params()


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_legal_values(name: str) -> None:
    """Default values are legal, and numbers out of range or of the wrong type are an error."""
    extractor = resolve(name)
    extractor.check()
    for parameter, legal in extractor.legal.items():
        if isinstance(legal, Between):
            for value in (legal.low - 1, legal.high + 1, "many"):
                with pytest.raises(UsageError, match=parameter):
                    resolve(name, {parameter: value})


def test_plain_is_all_text_in_order() -> None:
    """The text contains all text of the body in order."""
    html = (
        "<html><body>\n<ul><li><a href='/'>Home</a></li><li><a href='/n'>News</a></li></ul>\n<h1>Big title</h1>\n"
        "<p>First <a href='x'>linked</a> paragraph text here.</p>\n<p>Second line<br>after break.</p>\n</body></html>"
    )
    text = blockml.extract(html, model=resolve("plain")).text
    assert text.split() == "Home News Big title First linked paragraph text here. Second line after break.".split()


def test_numbers_of_numpy_are_accepted_and_numbers_are_not_booleans() -> None:
    """Parameters may be NumPy numbers, but 1 isn't accepted for True."""
    assert resolve("ccb", {"radius": np.int64(25), "threshold": np.float32(0.5)}).id
    with pytest.raises(UsageError, match="keep_blocks"):
        resolve("ccb", {"keep_blocks": 1})


def test_a_refused_value_changes_nothing() -> None:
    """If one of several values is refused, no parameter is changed."""
    extractor = resolve("ccb")
    with pytest.raises(UsageError):
        extractor.set_params(radius=0, threshold=0.5)
    assert extractor.id == "ccb"


def test_the_threshold_of_a_model_is_checked_and_in_its_id() -> None:
    """The threshold is part of the id, and illegal values are refused."""
    assert resolve("kim2013", {"threshold": 0.25}).id.endswith("(threshold=0.25)")
    for wrong in ({"threshold": "abc"}, {"model": "x"}):
        with pytest.raises(UsageError):
            resolve("kim2013", wrong)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_finds_an_article(name: str) -> None:
    """Every method finds the text of an ordinary article."""
    paragraph = "<p>" + "A sentence of some length that says what there is to say. " * 6 + "</p>"
    html = (
        "<html><head><title>News</title></head><body><ul><li><a href=/>Home</a><li><a href=/n>News</a></ul>"
        f"<div><h1>What happened</h1>{paragraph * 5}</div><div><a href=/about>About us</a></div></body></html>"
    )
    result = blockml.extract(html, model=resolve(name))
    assert "says what there is to say" in result.text
