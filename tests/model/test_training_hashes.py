"""Hashes of training pages: what they recognise, how they are stored, and how large they are."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from blockml.errors import ModelFormatError
from blockml.extractors import model_names, trained
from blockml.model import TrainingHashes
from blockml.model.training_hashes import hash_page

TEXT = "The cat sat on the mat, and the dog lay beside the cat until both of them heard the bell of the old house."
RELEASED = Path(__file__).parents[2] / "models"


@pytest.mark.parametrize(
    "other",
    [
        f"<p>{TEXT}</p>",
        f"<html>\n<body class=x>\n<p> {TEXT.replace(' ', '   ')} </p>\n<script>var seen = 'twice'</script>",
        f"<!-- saved twice --><p>{TEXT} 2026-11-26",
        f"<P>{TEXT.replace('cat', 'c&#97;t')}",
    ],
)
def test_words_are_those_outside_of_markup(other: str) -> None:
    """White space, tags, scripts, comments, references and numbers don't change the hash of a page's words."""
    known = TrainingHashes.of([hash_page(f"<p>{TEXT}".encode())])
    assert known.has_page(hash_page(other.encode()))


def test_another_text_is_another_page() -> None:
    """Changing one word makes another page, and short pages are recognised only by their bytes."""
    known = TrainingHashes.of([hash_page(f"<p>{TEXT}".encode()), hash_page(b"<p>Please enable JavaScript")])
    assert not known.has_page(hash_page(f"<p>{TEXT.replace('bell', 'horn')}".encode()))
    assert known.has_page(hash_page(b"<p>Please enable JavaScript"))
    assert not known.has_page(hash_page(b"<p>Please  enable JavaScript"))


def test_encodings_do_not_matter() -> None:
    """A page in another encoding has the same hash of words."""
    text = TEXT.replace("cat", "chat gâté")
    known = TrainingHashes.of([hash_page(text.encode("latin-1"), charset="iso-8859-1")])
    assert known.has_page(hash_page(text.encode()))


@pytest.mark.parametrize("opening", ["<script>", "<!--", "<a ", "<style><"])
def test_unclosed_markup_takes_linear_time(opening: str) -> None:
    """A hundred thousand unclosed openings are read in linear time instead of each being searched to the end."""
    assert hash_page((opening * 100_000).encode()).words is None


def test_arrays_are_read_back() -> None:
    """Arrays of hashes survive a round trip, and equal hashes are stored once."""
    hashes = TrainingHashes.of(
        [hash_page(b"one", "a.example"), hash_page(b"two", "a.example"), hash_page(TEXT.encode())]
    )
    arrays = hashes.to_arrays()
    assert {name: len(array) for name, array in arrays.items()} == {"pages": 3, "words": 1, "sites": 1}
    again = TrainingHashes.from_arrays(arrays)
    for name in arrays:
        assert getattr(again, name).tolist() == getattr(hashes, name).tolist()
    both = again | TrainingHashes.of([hash_page(b"three", "b.example")])
    assert (len(both.pages), len(both.words), len(both.sites)) == (4, 1, 2)
    assert not TrainingHashes.of([]).has_page(hash_page(b"one"))


@pytest.mark.parametrize(
    "steps",
    [
        np.array([1, 2], np.int64),
        np.array([[1], [2]], np.uint32),
        np.array([1, 0], np.uint32),
        np.array([2**31, 2**31], np.uint32),
        None,
    ],
)
def test_damaged_arrays_are_refused(steps: np.ndarray | None) -> None:
    """Arrays of another type or shape, repeated or too large hashes, and missing arrays are refused."""
    arrays = TrainingHashes.of([hash_page(b"one")]).to_arrays()
    if steps is None:
        del arrays["words"]
    else:
        arrays["pages"] = steps
    with pytest.raises(ModelFormatError, match="training hashes of"):
        TrainingHashes.from_arrays(arrays)


@pytest.mark.parametrize("name", model_names())
def test_released_models_know_their_pages_in_40_kb(name: str) -> None:
    """A released model has hashes of as many pages as its card says, apart from duplicates, in less than 40 kB."""
    model = trained(name).model
    hashes, n_pages = model.training_hashes, sum(entry["pages"] for entry in model.training)
    assert hashes is not None
    assert 0.98 * n_pages < len(hashes.pages) <= n_pages
    assert 0.95 * n_pages < len(hashes.words) <= n_pages
    with zipfile.ZipFile(RELEASED / f"{name}.blockml") as archive:
        sizes = [item.compress_size for item in archive.infolist() if item.filename.startswith("training_hashes.")]
    assert len(sizes) == 3
    assert sum(sizes) < 40_000
