"""The model file: round trip, atomic writing, and all kinds of damage."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.cli import main
from blockml.decision import DecisionPolicy, predicted_f1
from blockml.decision.decide import confidence
from blockml.errors import FeatureMismatchError, ModelError, ModelFormatError
from blockml.extract import extract_page
from blockml.extractors import TrainedExtractor, trained
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords
from blockml.model import Model, load_model, render_card, save_model
from blockml.model.model_file import METRICS_SCHEMA, MODEL_FORMAT, check_values
from blockml.page import Label
from blockml.predictors import MLP, BlockTypes, Predictor, TreeEnsemble, Trees
from blockml.templates import SiteTemplate
from blockml.training.mlp_fit import MLPOptions, TrainingPages, fit_mlp
from tests.models import scores_of, small_model, small_trees

ARRAYS = ("feature", "threshold", "left", "right", "value", "roots")
#: Fields of a policy that are amounts of at least 0.
AMOUNTS = ("min_content_words", "base_penalty", "article_penalty", "link_penalty", "duplicate_penalty")
PREDICTORS = ("trees", "mlp", "article", "block_types")


def saved(folder: Path, model: Model | None = None) -> bytes:
    """Save a model and return its bytes."""
    save_model(model or small_model(), folder / "saved.blockml")
    return (folder / "saved.blockml").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a model file."""
    return saved(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path to which tests write the files that they load."""
    return tmp_path_factory.mktemp("place") / "model.blockml"


def load_bytes(place: Path, data: bytes) -> Model:
    """Load a model from bytes."""
    place.write_bytes(data)
    return load_model(place)


def members(data: bytes) -> dict[str, bytes]:
    """Unpack a model file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: dict[str, bytes]) -> bytes:
    """Pack a model file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array: Any, *, allow_pickle: bool = False) -> bytes:
    """Return an array as a member of a model file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def with_header(whole: bytes, **changes: object) -> bytes:
    """Return a model file with other header values; ``...`` removes one."""
    parts = members(whole)
    header = json.loads(parts["header.json"]) | changes
    header = {name: value for name, value in header.items() if value is not ...}
    return packed(parts | {"header.json": json.dumps(header).encode()})


def with_policy(whole: bytes, **changes: object) -> bytes:
    """Return a model file with other values of its policy; ``...`` removes one."""
    policy = json.loads(members(whole)["header.json"])["policy"] | changes
    return with_header(whole, policy={name: value for name, value in policy.items() if value is not ...})


def assert_same(one: Model, other: Model) -> None:
    """Check that two models are equal field by field."""
    for item in dataclasses.fields(Model):
        if item.name not in ("predictors", "article", "block_types"):
            assert getattr(one, item.name) == getattr(other, item.name), item.name
    before, after = predictors_of(one), predictors_of(other)
    assert list(before) == list(after)
    for name, predictor in before.items():
        assert type(predictor) is type(after[name])
        others = after[name].to_arrays()
        for key, array in predictor.to_arrays().items():
            assert array.dtype == others[key].dtype
            assert array.tolist() == others[key].tolist()


def predictors_of(model: Model) -> dict[str, Predictor]:
    """Return all predictors of a model by name."""
    others = {"article": model.article, "block_types": model.block_types}
    return {**model.predictors, **{name: item for name, item in others.items() if item is not None}}


# --- round trip -------------------------------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    """Every field of a model survives saving and loading."""
    for model in (small_model(), small_model(boosted=True, threshold=1, recipe={}, training=(), labels=("main",))):
        save_model(model, tmp_path / "m")
        assert_same(load_model(tmp_path / "m"), model)
        assert load_model(str(tmp_path / "m")).id == "tiny 1.2"


def test_same_model_same_bytes(tmp_path: Path, whole: bytes) -> None:
    """Saving a model again, elsewhere, or after loading it writes the same bytes."""
    assert saved(tmp_path) == whole
    assert saved(tmp_path, load_model(tmp_path / "saved.blockml")) == whole


def test_file_is_a_zip_of_plain_data(whole: bytes) -> None:
    """A model file is readable with zip, JSON and npy readers only."""
    parts = members(whole)
    assert set(parts) == {"header.json", *(f"tree.{name}.npy" for name in ARRAYS)}
    assert json.loads(parts["header.json"])["format"] == MODEL_FORMAT
    for name in ARRAYS:
        array = np.load(io.BytesIO(parts[f"tree.{name}.npy"]), allow_pickle=False)
        assert array.tolist() == getattr(small_trees(), name).tolist()


def test_failing_write_leaves_nothing(tmp_path: Path) -> None:
    """A failing write leaves neither an incomplete nor a temporary file."""
    with pytest.raises(TypeError):
        save_model(small_model(metrics={"f1": object()}), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up while a model is saved doesn't damage the existing file."""
    before = saved(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="no space"):
        saved(tmp_path, small_model(version="2"))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("saved.blockml", before)]


def test_saving_replaces_the_file(tmp_path: Path) -> None:
    """Saving a newer model replaces the file, and the newer one is loaded."""
    saved(tmp_path)
    saved(tmp_path, small_model(version="2"))
    assert load_model(tmp_path / "saved.blockml").version == "2"
    assert len(list(tmp_path.iterdir())) == 1


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores() -> None:
    """Scores are the mean of the leaves, or the logistic function of their sum, as float32 in [0, 1]."""
    rows = np.zeros((2, 6), np.float32)
    rows[1, 2] = 9
    assert scores_of(small_model(), rows).tolist() == [0.125, 0.875]
    sigmoid = scores_of(small_model(boosted=True), rows)
    assert sigmoid.tolist() == pytest.approx([1 / (1 + np.exp(-0.125)), 1 / (1 + np.exp(-0.875))])
    for model in (small_model(), small_model(boosted=True)):
        none = scores_of(model, np.empty((0, 6), np.float32))
        assert none.shape == (0,)
        assert none.dtype == np.float32


@pytest.mark.parametrize("total", [-1e4, -800.0, 800.0, 1e4])
def test_logistic_scores_do_not_overflow(total: float) -> None:
    """Sums far from zero give scores of 0 and 1 instead of an overflow."""
    trees = dataclasses.replace(small_trees(), value=np.full(5, total))
    model = small_model(trees=trees, boosted=True)
    assert scores_of(model, np.zeros((1, 6), np.float32)).tolist() == [float(total > 0)]


# --- damage -----------------------------------------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    """The error for a missing file names its path."""
    with pytest.raises(ModelFormatError, match="gone"):
        load_model(tmp_path / "gone")


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"PK\x03\x04", b"<p>page</p>", b"\x00" * 100, b"PK\x05\x06" + b"\x00" * 18]
)
def test_other_files_are_refused(place: Path, data: bytes) -> None:
    """Other content under the name of a model is refused with the name of the file."""
    with pytest.raises(ModelFormatError, match=place.name):
        load_bytes(place, data)


def test_folder(tmp_path: Path) -> None:
    """A folder is not loaded as a model."""
    with pytest.raises(ModelFormatError):
        load_model(tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_files_truncated_anywhere_are_refused(place: Path, whole: bytes) -> None:
    """A file truncated at any byte, as by a broken download, is refused."""
    for size in range(0, len(whole), 7):
        with pytest.raises(ModelFormatError):
            load_bytes(place, whole[:size])


def flipped(data: bytes, bits: list[int]) -> bytes:
    """Return data with some bits flipped."""
    damaged = bytearray(data)
    for bit in bits:
        damaged[bit // 8 % len(damaged)] ^= 1 << bit % 8
    return bytes(damaged)


bit_lists = st.lists(st.integers(0, 2**20), min_size=1, max_size=4)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=400)
@given(bits=bit_lists)
def test_flipped_bits_in_the_file(place: Path, whole: bytes, bits: list[int]) -> None:
    """After a bit flip, loading raises ModelError or gives the same model because the bit is not read."""
    try:
        model = load_bytes(place, flipped(whole, bits))
    except ModelError:
        return
    assert_same(model, small_model())


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=400)
@given(bits=bit_lists, name=st.sampled_from([f"tree.{name}.npy" for name in ARRAYS] + ["header.json"]))
def test_flipped_bits_in_a_member(place: Path, whole: bytes, bits: list[int], name: str) -> None:
    """With valid checksums, loading a damaged member raises ModelError or the model's scores are still in [0, 1]."""
    parts = members(whole)
    try:
        model = load_bytes(place, packed(parts | {name: flipped(parts[name], bits)}))
    except ModelError:
        return
    scores = scores_of(model, np.random.default_rng(0).normal(scale=9, size=(20, 6)).astype(np.float32))
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("name", ["header.json", *(f"tree.{name}.npy" for name in ARRAYS)])
@pytest.mark.parametrize("data", [None, b"", b"\x00", b"{", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_members_missing_or_broken(place: Path, whole: bytes, name: str, data: bytes | None) -> None:
    """A file with a missing or broken member is refused."""
    parts = members(whole) | ({name: data} if data is not None else {})
    if data is None:
        del parts[name]
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(parts))


def npy_header(header: str) -> bytes:
    """Return an npy file with any header."""
    text = header.encode("latin-1").ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\x00" * 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (5,",
        "'''",
        "{[]: 1}",
        "{}",
        "(" * 3000,
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "9" * 30 + ",)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-5,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 5)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (5000,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (5,)}",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (5,)}",
        "\xff",
    ],
)
def test_headers_of_arrays(place: Path, whole: bytes, header: str) -> None:
    """An invalid npy header, which is text that numpy interprets, is refused."""
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(members(whole) | {"tree.feature.npy": npy_header(header)}))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8, np.complex128, np.str_, np.bool_])
def test_arrays_of_other_types_are_refused(place: Path, whole: bytes, name: str, dtype: Any) -> None:
    """Arrays of other types than int32 and float64 are refused."""
    array = getattr(small_trees(), name).astype(dtype)
    with pytest.raises(ModelFormatError, match="type"):
        load_bytes(place, packed(members(whole) | {f"tree.{name}.npy": npy(array)}))


def test_either_byte_order_is_read(place: Path, whole: bytes) -> None:
    """A file written on a big-endian machine gives the same model."""
    parts = members(whole)
    for name, data in parts.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(data))
            parts[name] = npy(array.astype(array.dtype.newbyteorder(">")))
    assert_same(load_bytes(place, packed(parts)), load_bytes(place, whole))


class Boom:
    """Raises when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a call that fails the test when the object is unpickled."""
        return (pytest.fail, ("a model file ran code",))


@pytest.mark.parametrize("as_array", [True, False])
def test_pickles_are_refused_without_running(place: Path, whole: bytes, as_array: bool) -> None:  # noqa: FBT001
    """Pickles in a model file are refused without running their code."""
    data = npy(np.array([Boom()] * 5, dtype=object), allow_pickle=True) if as_array else pickle.dumps(Boom())
    for name in ARRAYS:
        with pytest.raises(ModelFormatError):
            load_bytes(place, packed(members(whole) | {f"tree.{name}.npy": data}))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("left", [1, 0, -1, -1, -1]),
        ("left", [0, 2, -1, -1, -1]),
        ("right", [4, 9, -1, -1, -1]),
        ("right", [-7, 3, -1, -1, -1]),
        ("feature", [6, 4, -1, -1, -1]),
        ("threshold", [np.nan] * 5),
        ("value", [np.inf] * 5),
        ("roots", []),
    ],
)
def test_trees_are_checked(place: Path, whole: bytes, name: str, values: list[float]) -> None:
    """Trees that would loop, read out of bounds or yield a non-finite number are refused."""
    array = np.array(values, getattr(small_trees(), name).dtype)
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(members(whole) | {f"tree.{name}.npy": npy(array)}))


@pytest.mark.parametrize("value", [-0.5, 1.5, 1e300])
def test_leaves_that_are_not_probabilities_are_refused(place: Path, whole: bytes, value: float) -> None:
    """Leaves outside [0, 1] are refused, because their mean is a probability."""
    parts = members(whole) | {"tree.value.npy": npy(np.array([0.5, 0.5, 0.5, 0.5, value]))}
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(parts))


def test_sizes_are_checked_before_reading(place: Path, whole: bytes) -> None:
    """Sizes are checked before reading, because a small file can claim or expand to more than the memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, data in members(whole).items():
            archive.writestr(name, data)
        archive.getinfo("tree.value.npy").file_size = 2**40
    with pytest.raises(ModelFormatError, match="large"):
        load_bytes(place, buffer.getvalue())
    bomb = members(whole) | {"header.json": b" " * (2**24 + 1)}
    with pytest.raises(ModelFormatError, match="large"):
        load_bytes(place, packed(bomb))


def test_a_size_that_is_too_small_is_refused(place: Path, whole: bytes) -> None:
    """A directory that claims a smaller size than a member has is refused."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members(whole).items():
            archive.writestr(name, data)
        archive.getinfo("tree.value.npy").file_size -= 1
    with pytest.raises(ModelFormatError):
        load_bytes(place, buffer.getvalue())


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, 99])
@pytest.mark.filterwarnings("ignore")
def test_other_compression_is_refused(place: Path, whole: bytes, method: int) -> None:
    """Deflated data labelled with another compression method is refused."""
    data = bytearray(whole)
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.find(signature)
        while at >= 0:
            struct.pack_into("<H", data, at + offset, method)
            at = data.find(signature, at + 4)
    with pytest.raises(ModelFormatError):
        load_bytes(place, bytes(data))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flag", [0x1, 0x20, 0x40, 0x800])
def test_flags_of_the_container(place: Path, whole: bytes, flag: int) -> None:
    """Encrypted members and other flags of the zip container are refused."""
    data = bytearray(whole)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            struct.pack_into("<H", data, at + offset, flag)
            if flag == 0x800:
                data[at + (30 if signature == b"PK\x03\x04" else 46)] = 0xFF  # a name that is not UTF-8
            at = data.find(signature, at + 4)
    with pytest.raises(ModelFormatError):
        load_bytes(place, bytes(data))


# --- the header -------------------------------------------------------------------------------------------------------


def test_newer_format_is_refused_with_advice(place: Path, whole: bytes) -> None:
    """The error for a newer format asks for a newer version of blockml."""
    with pytest.raises(ModelFormatError, match="newer blockml"):
        load_bytes(place, with_header(whole, format=MODEL_FORMAT + 1))


@pytest.mark.parametrize("number", [0, -1, "1", 1.0, None, [], ...])
def test_invalid_format_numbers_are_refused(place: Path, whole: bytes, number: object) -> None:
    """A format that is not a positive integer is refused."""
    with pytest.raises(ModelFormatError):
        load_bytes(place, with_header(whole, format=number))


FIELDS = sorted(
    {item.name for item in dataclasses.fields(Model)} - {"article", "block_types", "correction", "training_hashes"}
)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", [..., None, [[]], {"x": []}, "nonsense", 1e999, -1], ids=repr)
def test_header_values_of_the_wrong_kind(place: Path, whole: bytes, name: str, value: object) -> None:
    """Header fields are checked for type and range; free-text fields may be any text."""
    kinds: dict[str, type] = {"recipe": dict, "metrics": dict, "seed": int}
    free = name in {"name", "version", "command"} and value == "nonsense"
    if free or (name in kinds and type(value) is kinds[name]):
        load_bytes(place, with_header(whole, **{name: value}))
    else:
        with pytest.raises(ModelError):
            load_bytes(place, with_header(whole, **{name: value}))


ENTRY = trained("kim2013").model.training[0]
SUMMARY = trained("default").model.metrics["site"]


@pytest.mark.parametrize(
    ("changes", "place_of"),
    [
        ({"training": [{}]}, "training.0.pages"),
        ({"training": [ENTRY, {name: value for name, value in ENTRY.items() if name != "licence"}]}, "training.1.lic"),
        ({"training": [{**ENTRY, "checksum": []}]}, "training.0.checksum"),
        ({"training": [{**ENTRY, "blocks": True}]}, "training.0.blocks"),
        ({"metrics": {"adaptation": 7}}, "metrics.adaptation"),
        ({"metrics": {"page": {**SUMMARY, "block": {**SUMMARY["block"], "precision": None}}}}, "page.block.precision"),
        ({"metrics": {"site": {**SUMMARY, "page_bag_f1": []}}}, "metrics.site.page_bag_f1"),
        ({"metrics": {"site": {**SUMMARY, "page_bag_f1_by_type": {"forum": 1}}}}, "page_bag_f1_by_type.forum"),
        ({"metrics": {"site": {**SUMMARY, "reliability": [[1, 2]]}}}, "reliability.0"),
        ({"metrics": {"gaps": {"page - site": "0"}}}, "metrics.gaps.page - site"),
    ],
)
def test_provenance_is_checked(place: Path, whole: bytes, changes: dict[str, object], place_of: str) -> None:
    """Provenance that cards and lists could not show makes a file invalid."""
    render_card(load_bytes(place, with_header(whole, training=[ENTRY], metrics={"site": SUMMARY})))
    with pytest.raises(ModelFormatError, match=place_of):
        load_bytes(place, with_header(whole, **changes))
    assert main(["model", "check", str(place)]) == main(["model", "show", str(place)]) == 4


@pytest.mark.parametrize("header", [[], None, "text"])
def test_a_header_that_is_not_an_object(header: object) -> None:
    """The message doesn't name a value of the header, because the header itself is wrong."""
    with pytest.raises(ModelFormatError, match=r"^the header is missing or of the wrong type$"):
        check_values(header, METRICS_SCHEMA)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, float("nan"), float("inf"), 10**400, "0.5", None])
def test_thresholds_outside_the_range(place: Path, whole: bytes, threshold: object) -> None:
    """A threshold must be above 0 and at most 1."""
    with pytest.raises(ModelFormatError, match="threshold"):
        load_bytes(place, with_policy(whole, threshold=threshold))


@pytest.mark.parametrize("weights", [{}, {"tree": 0.5}, {"tree": "1"}, {"tree": True}, {"tree": 1, "mlp": 0}, {"x": 1}])
def test_weights_are_checked(place: Path, whole: bytes, weights: object) -> None:
    """There must be one weight for each predictor, and they must sum to 1."""
    with pytest.raises(ModelFormatError, match="weight"):
        load_bytes(place, with_header(whole, weights=weights))


@pytest.mark.parametrize("option", ["backend", "profile", "tokenizer", "keep_wordless"])
@pytest.mark.parametrize("value", [..., None, "nonsense", 1, []], ids=repr)
def test_parsing_options_are_checked(place: Path, whole: bytes, option: str, value: object) -> None:
    """A model that requires an unknown parser is refused."""
    parsing = json.loads(members(whole)["header.json"])["parsing"] | {option: value}
    parsing = {name: value for name, value in parsing.items() if value is not ...}
    with pytest.raises(ModelFormatError):
        load_bytes(place, with_header(whole, parsing=parsing))


def test_parsing_option_names_the_legal_values(place: Path, whole: bytes) -> None:
    """The error for an unknown parsing option lists the legal values."""
    parsing = json.loads(members(whole)["header.json"])["parsing"] | {"backend": "bs4"}
    with pytest.raises(ModelFormatError, match="html5lib, lexbor, lxml"):
        load_bytes(place, with_header(whole, parsing=parsing))


@pytest.mark.parametrize(
    "changes",
    [
        {"features": "kim1999"},
        {"features": "kim2013"},
        {"features_hash": "0" * 16},
        {"features": "wd_m1 gone_0"},
        {"features": "wd_m1 wd_m1"},
        {"features": f"wd_m{'9' * 5000}"},
        {"features": "wd_0 " * 10_000},
    ],
)
def test_models_of_other_features_are_refused(place: Path, whole: bytes, changes: dict[str, object]) -> None:
    """A model is refused if this version computes its columns differently or not at all."""
    with pytest.raises(FeatureMismatchError, match="train it again"):
        load_bytes(place, with_header(whole, **changes))


@pytest.mark.parametrize(
    "header", [b"[]", b"3", b"null", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"format": 1', b"{}", b"9" * 5000]
)
def test_headers_that_are_not_objects(place: Path, whole: bytes, header: bytes) -> None:
    """Missing headers and headers that are not JSON objects are refused."""
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(members(whole) | {"header.json": header}))


# --- predictors other than trees --------------------------------------------------------------------------------------

LONG = "word " * 30
PAGE = blockml.parse(f"<nav><a>Home</a> <p>x</nav><h1>Cats</h1><p>{LONG}<p><a>{LONG}</a><p>{LONG}<footer>foot</footer>")


def some_net(*, columns: int = 6, ways: int = 2, reads_words: bool = False) -> MLP:
    """Return an MLP trained for one epoch."""
    rng = np.random.default_rng(0)
    n = 40
    main = np.arange(n) % 2 > 0
    matrix = (rng.normal(size=(n, columns)) + main[:, None]).astype(np.float32)
    words = AncestorWords(np.arange(n + 1), rng.integers(0, N_HASHED_WORDS, n).astype(np.int32), np.arange(n))
    bags = words if reads_words else None
    groups = [rng.integers(0, 3, n) for _ in range(ways)]
    pages = TrainingPages(matrix, main, np.ones(n), np.arange(0, n + 1, 10), groups, bags)
    return fit_mlp(pages, options=MLPOptions(units=4, vector=2, epochs=1, min_pages=1))


def page_trees(low: float, high: float, column: int = 3) -> Trees:
    """Return a page-level tree with one split, by default on the logarithm of the words kept."""
    return Trees(
        feature=np.array([column, -1, -1], np.int32),
        threshold=np.array([4.0, 0, 0]),
        left=np.array([1, -1, -1], np.int32),
        right=np.array([2, -1, -1], np.int32),
        value=np.array([0, low, high]),
        roots=np.array([0], np.int32),
    )


def whole_model(
    *, mlp: MLP | None = None, article: Trees | None = None, policy: dict[str, Any] | None = None, **changes: object
) -> Model:
    """Return a model with all predictors."""
    chosen: dict[str, Any] = {
        "rule": "expected_f1",
        "min_content_words": 10,
        "base_penalty": 0.3,
        "article_penalty": 0.6,
        "link_penalty": 0.9,
        "duplicate_penalty": 3.0,
        "neighbor_smoothing": 0.25,
        "negative_shrinkage": 0.125,
    }
    values: dict[str, object] = {
        "predictors": {"trees": TreeEnsemble(small_trees()), "mlp": some_net() if mlp is None else mlp},
        "weights": {"trees": 0.25, "mlp": 0.75},
        "policy": DecisionPolicy(**(chosen | (policy or {}))),
        "article": TreeEnsemble(page_trees(-1.0, 1.0) if article is None else article),
        "block_types": BlockTypes((Label.MAIN, Label.FOOTER), (small_trees(), small_trees())),
        "notes": ("knows two languages",),
    }
    return small_model(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a file of a model with all predictors."""
    return saved(tmp_path_factory.mktemp("complete"), whole_model())


def test_predictors_survive_a_round_trip(tmp_path: Path) -> None:
    """Models with all or some predictors, and with an MLP that reads words, give equal scores after loading."""
    trees: dict[str, Any] = {"predictors": {"trees": TreeEnsemble(small_trees())}, "weights": {"trees": 1.0}}
    fewer = [whole_model(**trees), whole_model(article=None, block_types=None)]
    for model in (whole_model(), *fewer, whole_model(mlp=some_net(reads_words=True))):
        save_model(model, tmp_path / "m")
        again = load_model(tmp_path / "m")
        assert_same(again, model)
        before, after = TrainedExtractor(model).predict(PAGE), TrainedExtractor(again).predict(PAGE)
        assert np.array_equal(before.scores, after.scores)
        assert before.p_article == after.p_article


def test_same_parts_same_bytes(tmp_path: Path, complete: bytes) -> None:
    """A model with all predictors is written as the same bytes when made, saved or loaded again."""
    assert saved(tmp_path, whole_model()) == complete
    assert saved(tmp_path, load_model(tmp_path / "saved.blockml")) == complete


def test_names_of_members(complete: bytes) -> None:
    """Members are prefixed with the predictor's name, and the header gives its name and kind."""
    parts = members(complete)
    header = json.loads(parts["header.json"])
    kinds = ("tree_ensemble", "mlp", "tree_ensemble", "block_types")
    assert (header["format"], header["predictors"]) == (MODEL_FORMAT, dict(zip(PREDICTORS, kinds, strict=True)))
    assert {name.partition(".")[0] for name in parts} == {"header", *PREDICTORS}


def test_an_extraction_has_the_confidence_of_its_policy() -> None:
    """Confidence is the expected F1 of kept blocks before penalties; with the rule ``threshold`` their precision."""
    trees: dict[str, Any] = {"predictors": {"trees": TreeEnsemble(small_trees())}, "weights": {"trees": 1.0}}
    bare = whole_model(**trees, block_types=None)
    result = extract_page(PAGE, TrainedExtractor(bare))
    probabilities = scores_of(bare, blockml.features.matrix(PAGE, bare.features).values)
    assert result.confidence == predicted_f1(probabilities, result.kept, PAGE.blocks.n_words.astype(float))
    assert 0 < result.confidence < 1
    assert extract_page(blockml.parse(""), TrainedExtractor(whole_model())).confidence == 0
    plain = extract_page(PAGE, TrainedExtractor(small_model()))
    assert plain.confidence == confidence(plain.scores, plain.kept, PAGE.blocks.n_words)


def test_articles_have_a_larger_penalty() -> None:
    """A page that is certainly an article is scored with the larger penalty."""
    found = [
        TrainedExtractor(whole_model(article=page_trees(value, value), policy={"min_content_words": 0})).predict(PAGE)
        for value in (99.0, -99.0)
    ]
    assert [prediction.p_article for prediction in found] == pytest.approx([1, 0], abs=1e-6)


def test_scores_of_one_tree_are_its_leaves() -> None:
    """Scores of one tree equal its leaves bit for bit, so that a block whose score equals the threshold is kept."""
    model = small_model()
    expected = scores_of(model, blockml.features.matrix(PAGE, "boilerpipe6").values)
    assert np.array_equal(TrainedExtractor(model).score(PAGE), expected)


@pytest.mark.parametrize(
    "weights",
    [{"trees": 1.5, "mlp": -0.5}, {"trees": True, "mlp": 0}, {"trees": 1, "mlp": "0"}, {"trees": 1, "mlp": None}],
)
def test_each_weight_is_a_share(place: Path, complete: bytes, weights: dict[str, object]) -> None:
    """Each weight must be between 0 and 1, even if their sum is 1."""
    with pytest.raises(ModelFormatError, match="weights of predictors must be between 0 and 1"):
        load_bytes(place, with_header(complete, weights=weights))


@pytest.mark.parametrize("part", PREDICTORS)
def test_parts_that_are_missing(place: Path, complete: bytes, part: str) -> None:
    """Every array of a predictor is required, but predictors that the header does not name are not read."""
    arrays = [name for name in members(complete) if name.startswith(f"{part}.")]
    assert arrays
    for name in arrays:
        rest = {key: data for key, data in members(complete).items() if key != name}
        with pytest.raises(ModelFormatError):
            load_bytes(place, packed(rest))
        header = json.loads(rest["header.json"])
        kinds = {other: kind for other, kind in header["predictors"].items() if other != part}
        left = [other for other in header["weights"] if other != part]
        weights = dict.fromkeys(left, 1 / len(left))
        changed = json.dumps({**header, "predictors": kinds, "weights": weights}).encode()
        assert part not in predictors_of(load_bytes(place, packed(rest | {"header.json": changed})))


def test_arrays_of_parts_that_are_damaged(place: Path, complete: bytes) -> None:
    """Arrays of other types or shapes, truncated arrays and empty members are refused."""
    for name, data in members(complete).items():
        if name == "header.json":
            continue
        array = np.load(io.BytesIO(data))
        other = np.float32 if array.dtype != np.float32 else np.float64
        wrongs = [array.astype(str), array[..., None], array[:0], np.append(array, array[:1])]
        for wrong in wrongs if array.dtype.kind == "S" else [*wrongs, array.astype(other)]:
            if wrong.shape == array.shape == (0, 0) and wrong.dtype == array.dtype:
                continue  # words of an MLP that reads none
            with pytest.raises(ModelFormatError):
                load_bytes(place, packed(members(complete) | {name: npy(wrong)}))
        for broken in (b"", b"PK", data[:-1] if array.size else b"\x00"):
            with pytest.raises(ModelFormatError):
                load_bytes(place, packed(members(complete) | {name: broken}))


def test_arrays_of_huge_shapes_without_content_are_refused(place: Path, complete: bytes) -> None:
    """An array whose items have no bytes may claim any number of them, which must not become objects."""
    parts = members(complete)
    for name, data in parts.items():
        if name == "header.json":
            continue
        dtype = np.load(io.BytesIO(data)).dtype
        for descr, shape in (("|S0", "10000000000,"), (dtype.str, "10000000000, 0"), ("<U0", "9, 10000000000")):
            header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({shape})}}"
            with pytest.raises(ModelFormatError):
                load_bytes(place, packed(parts | {name: npy_header(header)}))


def test_counts_are_checked_before_arrays_are_used(
    place: Path, complete: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts that are too large are refused by their number, not after copying them."""
    limits = {
        "blockml.predictors.tree_ensemble._MAX_NODES": "tree nodes",
        "blockml.predictors.mlp._MAX_PARAMETERS": "parameters",
        "blockml.predictors.block_types._MOST_CHARACTERS": "names of",
    }
    for name, words in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(name, 1)
            with pytest.raises(ModelFormatError, match=words):
                load_bytes(place, complete)
    for name in ("trees", "article", "block_types"):
        roots = npy(np.zeros(1000, np.int32))
        with pytest.raises(ModelFormatError, match="at most as many trees as nodes"):
            load_bytes(place, packed(members(complete) | {f"{name}.roots.npy": roots}))
    names = npy(np.array([b"main"] * 1000))
    with pytest.raises(ModelFormatError, match="block types have at most"):
        load_bytes(place, packed(members(complete) | {"block_types.names.npy": names}))


def test_too_little_memory_names_the_file(place: Path, complete: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there isn't enough memory for a file, the error names it."""

    def without_memory(*_: object) -> None:
        raise MemoryError

    place.write_bytes(complete)
    for name in ("blockml.model.model_file._build", "blockml.model.model_file.read_arrays"):
        with monkeypatch.context() as patch:
            patch.setattr(name, without_memory)
            with pytest.raises(ModelFormatError, match=r"model\.blockml: needs more memory than is available"):
                load_model(place)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    """Neither a model nor a template is read from a device or a pipe, which may never end."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for read in (load_model, SiteTemplate.load):
            with pytest.raises(ModelFormatError, match="not a regular file"):
                read(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_of_parts_are_finite(place: Path, complete: bytes, value: float) -> None:
    """Infinite values and NaN are refused in every array."""
    for name, data in members(complete).items():
        if not name.endswith(".npy"):
            continue
        array = np.load(io.BytesIO(data))
        if array.dtype.kind == "f" and array.size:
            array.flat[-1] = value
            with pytest.raises(ModelFormatError):
                load_bytes(place, packed(members(complete) | {name: npy(array)}))


@pytest.mark.parametrize(
    "changes",
    [
        {"article": page_trees(0.0, 1.0, column=13)},
        {"article": page_trees(0.0, 1.0, column=-2)},
        {"mlp": some_net(columns=5)},
        {"mlp": some_net(ways=1)},
        {"block_types": BlockTypes((Label.MAIN, Label.MAIN), (small_trees(), small_trees()))},
        {"block_types": BlockTypes((Label.MAIN, Label.FOOTER), (small_trees(), page_trees(0.0, 1.0, column=6)))},
        {"weights": {"trees": 0.5, "mlp": 0.6}},
        {"weights": {"trees": 1.0}},
        {"predictors": {}, "weights": {}},
        {"policy": {"link_penalty": -1.0}},
    ],
)
def test_parts_that_do_not_fit_are_not_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Models with missing columns, duplicate labels or weights that don't sum to 1 are not saved."""
    with pytest.raises(ModelFormatError):
        save_model(whole_model(**changes), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("labels", [["main"], ["main", "footer", "other"], ["main", "main"], ["main", "x"], []])
def test_names_of_block_types_are_checked(place: Path, complete: bytes, labels: list[str]) -> None:
    """Names of block types must be known labels, one for each ensemble of trees."""
    names = npy(np.array([label.encode() for label in labels], dtype="S9"))
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(members(complete) | {"block_types.names.npy": names}))


@pytest.mark.parametrize("kind", ["nets", 1, None, ["mlp"], "block_types"])
@pytest.mark.parametrize("name", ["mlp", "article"])
def test_unknown_and_wrong_kinds(place: Path, complete: bytes, name: str, kind: object) -> None:
    """Unknown or wrong kinds of predictors are refused, because they would be misread."""
    kinds = json.loads(members(complete)["header.json"])["predictors"]
    with pytest.raises(ModelFormatError):
        load_bytes(place, with_header(complete, predictors=kinds | {name: kind}))


def test_block_types_do_not_predict_main_content(place: Path, complete: bytes) -> None:
    """A predictor with one probability per class cannot be averaged with predictors of one probability per block."""
    parts, header = members(complete), json.loads(members(complete)["header.json"])
    extra = {f"x.{name[12:]}": array for name, array in parts.items() if name.startswith("block_types.")}
    header = {
        "predictors": header["predictors"] | {"x": "block_types"},
        "weights": {"trees": 0.5, "mlp": 0.25, "x": 0.25},
    }
    with pytest.raises(ModelFormatError, match=r"'x' of main content must not be of kind block_types"):
        load_bytes(place, with_header(packed(parts | extra), **header))


@pytest.mark.parametrize("value", [1.1e6, -1.7e308, np.inf, np.nan])
def test_leaf_values_are_bounded(place: Path, complete: bytes, value: float) -> None:
    """Leaf values are bounded, so that their sums stay finite."""
    parts = members(complete)
    values = np.load(io.BytesIO(parts["trees.value.npy"]))
    values[-1] = value
    with pytest.raises(ModelFormatError, match="leaf values"):
        load_bytes(place, packed(parts | {"trees.value.npy": npy(values)}))


@pytest.mark.parametrize("name", AMOUNTS)
def test_large_amounts_do_not_overflow(place: Path, complete: bytes, name: str) -> None:
    """A model with penalties so large that it keeps nothing is valid, and its scores stay in [0, 1]."""
    scores = TrainedExtractor(load_bytes(place, with_policy(complete, **{name: 1e6}))).score(PAGE)
    assert ((scores >= 0) & (scores <= 1)).all()


ROOTS = [
    [-(2**31) + 1, 2], [0, -(2**31), 2], [0, 2**31 - 1], [0, -1, 3], [0, -(2**31), -(2**31) + 2, 1], [0, 10], [1],
    [0, 0],
]  # fmt: skip


@pytest.mark.parametrize("roots", ROOTS)
@pytest.mark.parametrize("part", ["trees", "article", "block_types"])
def test_roots_that_overflow_are_refused(place: Path, complete: bytes, part: str, roots: list[int]) -> None:
    """Roots whose differences overflow 32-bit integers are refused before the kernel sees them."""
    parts = members(complete) | {f"{part}.roots.npy": npy(np.array(roots, np.int32))}
    if part == "block_types":
        parts["block_types.label.npy"] = npy(np.minimum(np.arange(len(roots)), 1).astype(np.int32))
    with pytest.raises(ModelFormatError):
        load_bytes(place, packed(parts))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150)
@given(bits=bit_lists, data=st.data())
def test_flipped_bits_in_a_part(place: Path, complete: bytes, bits: list[int], data: st.DataObject) -> None:
    """After a bit flip in a predictor, loading raises ModelError or scores and confidence are still in [0, 1]."""
    parts = members(complete)
    name = data.draw(st.sampled_from([name for name in parts if name != "header.json"]))
    try:
        model = load_bytes(place, packed(parts | {name: flipped(parts[name], bits)}))
    except ModelError:
        return
    prediction = TrainedExtractor(model).predict(PAGE)
    assert ((prediction.scores >= 0) & (prediction.scores <= 1)).all()
    assert 0 <= extract_page(PAGE, TrainedExtractor(model)).confidence <= 1
