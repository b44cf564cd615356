"""Decoding bytes to text: the order of the rules, labels, and damaged bytes."""

from __future__ import annotations

import codecs
import gzip
import tarfile

import numpy as np
import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

import blockml
from blockml.page import Status
from blockml.parsing.decoding import decode
from tests.strategies import messy_bytes

SOURCES = {
    "str", "bom", "transport", "meta", "late meta", "xml declaration", "utf-16 pattern", "valid utf-8", "detector",
    "fallback", "signature",
}  # fmt: skip
PAD = b" " * 2000
LATIN = "é".encode("latin-1")


@pytest.mark.parametrize(
    ("source", "charset", "encoding", "rule"),
    [
        ("<meta charset=koi8-r>é", None, "utf-8", "str"),
        ("<meta charset=koi8-r>é", "koi8-r", "utf-8", "str"),
        (codecs.BOM_UTF8 + b"<meta charset=koi8-r>", "koi8-r", "utf-8", "bom"),
        (codecs.BOM_UTF16_LE + "<p>é".encode("utf-16-le"), "koi8-r", "utf-16le", "bom"),
        (codecs.BOM_UTF16_BE + "<p>é".encode("utf-16-be"), None, "utf-16be", "bom"),
        (b"<meta charset=gbk>", "koi8-r", "koi8-r", "transport"),
        ("<meta charset=koi8-r><p>Crème brûlée".encode(), None, "utf-8", "valid utf-8"),
        ("<meta charset=koi8-r><p>caf\u00e9".encode(), None, "utf-8", "valid utf-8"),
        ("<meta charset=koi8-r><p>Crème brûlée".encode(), "koi8-r", "koi8-r", "transport"),
        (b"<meta charset=koi8-r><p>" + LATIN, None, "koi8-r", "meta"),
        ("<p>é".encode("utf-16-le"), "utf-16le", "utf-16le", "transport"),
        (b"<meta charset=gbk>" + PAD + b"<meta charset=koi8-r>", None, "gbk", "meta"),
        (b'<?xml version="1.0" encoding="koi8-r"?><meta charset=gbk>', None, "gbk", "meta"),
        (b'<META HTTP-EQUIV="Content-Type" CONTENT="text/html; CHARSET=Shift_JIS">', None, "shift_jis", "meta"),
        (b"<meta charset = ' koi8-r ' >", None, "koi8-r", "meta"),
        (b"<meta/charset=koi8-r>", None, "koi8-r", "meta"),
        (PAD + b"<meta charset=koi8-r>", None, "koi8-r", "late meta"),
        (b"<p>" + b" " * 1010 + b"<meta charset=koi8-r>", None, "koi8-r", "late meta"),
        (b'<?xml version="1.0" encoding="koi8-r"?><p>' + LATIN, None, "koi8-r", "xml declaration"),
        (b"<?xml version='1.0' encoding='gb2312'?><p>x", None, "gbk", "xml declaration"),
        ("<p>English text</p>".encode("utf-16-le"), None, "utf-16le", "utf-16 pattern"),
        ("<p>English text</p>".encode("utf-16-be"), None, "utf-16be", "utf-16 pattern"),
        ("<p>Crème brûlée".encode(), None, "utf-8", "valid utf-8"),
        (b"", None, "utf-8", "valid utf-8"),
        (b"<p>plain ASCII", None, "utf-8", "valid utf-8"),
        ("<p>Crème brûlée</p>".encode("latin-1"), None, "windows-1252", "fallback"),
    ],
)
def test_first_rule_that_applies_names_the_encoding(
    source: bytes | str, charset: str | None, encoding: str, rule: str
) -> None:
    """The order is mark, transport, UTF-8, UTF-16 pattern, meta, late meta, XML declaration, detector, fallback."""
    decoded = decode(source, charset)
    assert (decoded.encoding, decoded.source, decoded.warnings) == (encoding, rule, ())
    page = blockml.parse(source, charset=charset)
    assert (page.encoding, page.encoding_source) == (encoding, rule)


def test_an_incomplete_last_character_does_not_confirm_a_stale_declaration() -> None:
    """A page cut inside its last character is still UTF-8, even if a stale declaration says otherwise."""
    decoded = decode("<meta charset=gb2312><p>泉房穂氏、石丸".encode()[:-1])
    assert (decoded.encoding, decoded.source) == ("utf-8", "valid utf-8")
    assert "泉房穂氏、石" in decoded.text


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("latin1", "windows-1252"), ("ISO-8859-1", "windows-1252"), ("us-ascii", "windows-1252"), ("gb2312", "gbk"),
        ("x-sjis", "shift_jis"), ("utf8", "utf-8"), ("unicode-1-1-utf-8", "utf-8"), ("iso-8859-9", "windows-1254"),
        ("ks_c_5601-1987", "euc-kr"), ("big5-hkscs", "big5"), ("tis-620", "windows-874"), ("koi", "koi8-r"),
        (" UTF-8\t", "utf-8"), ("utf-16", "utf-16le"),
    ],
)  # fmt: skip
def test_labels_follow_the_encoding_standard(label: str, encoding: str) -> None:
    """Legacy labels name the encodings that browsers use for them."""
    assert decode(b"<p>x", label).encoding == encoding


@pytest.mark.parametrize("label", sorted(LABELS))
def test_every_label_of_the_standard_is_known(label: str) -> None:
    """Each label gives the same encoding from the transport and from a meta, except UTF-16 and user-defined."""
    expected = webencodings.lookup(label)
    assert expected is not None
    # webencodings 0.5 has codecs for two encodings that the standard replaces.
    name = "replacement" if expected.name in {"iso-2022-kr", "hz-gb-2312"} else expected.name
    assert decode(b"abc", label).encoding == name
    # HTML standard, prescan, steps 14 and 15: text that was readable as ASCII is neither of these.
    in_meta = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}
    from_meta = decode(f'<meta charset="{label}">abc'.encode())
    assert (from_meta.encoding, from_meta.source) == (in_meta.get(name, name), "meta")


def test_xml_declaration_readable_as_ascii_is_not_utf16() -> None:
    """A page labelled UTF-16 in its XML declaration, but readable as ASCII, is read as UTF-8."""
    decoded = decode('<?xml version="1.0" encoding="utf-16"?><p>Crème'.encode())
    assert decoded.encoding == "utf-8"
    assert decoded.text.endswith("<p>Crème")


def test_unknown_labels_warn() -> None:
    """An unknown label is skipped with a warning, in the transport and in a meta."""
    from_transport = decode(b"<meta charset=koi8-r>", "klingon")
    assert (from_transport.encoding, from_transport.source) == ("koi8-r", "meta")
    assert any("klingon" in warning for warning in from_transport.warnings)
    from_meta = decode(b"<meta charset=klingon><p>x")
    assert (from_meta.encoding, from_meta.source) == ("utf-8", "valid utf-8")
    assert any("klingon" in warning for warning in from_meta.warnings)
    second_meta = decode(b"<meta charset=klingon><meta charset=koi8-r>")
    assert (second_meta.encoding, second_meta.source) == ("koi8-r", "meta")


def test_unknown_label_in_an_xml_declaration_warns() -> None:
    """An unknown label in an XML declaration is skipped with a warning."""
    decoded = decode(b'<?xml version="1.0" encoding="klingon"?><p>x')
    assert decoded.source == "valid utf-8"
    assert any("klingon" in warning for warning in decoded.warnings)


def test_unknown_meta_warns_once() -> None:
    """A declaration around byte 1,000, which two rules read, gives one warning."""
    decoded = decode(b" " * 900 + b"<meta charset=klingon>" + PAD)
    assert len(decoded.warnings) == 1


def test_detector_is_asked_last_and_only_if_needed() -> None:
    """The detector sees only bytes that declare nothing and are not UTF-8."""
    seen: list[bytes] = []

    def detector(source: bytes) -> str | None:
        seen.append(source)
        return "koi8-r"

    russian = "<p>Привет".encode("koi8-r")
    decoded = decode(russian, detector=detector)
    assert (decoded.encoding, decoded.source, decoded.text) == ("koi8-r", "detector", "<p>Привет")
    assert seen == [russian]
    for declared in (b"<p>ascii", b"<meta charset=gbk>" + LATIN, codecs.BOM_UTF8):
        decode(declared, detector=detector)
    decode(russian, "latin1", detector)
    assert seen == [russian]


@pytest.mark.parametrize("answer", [None, "klingon"])
def test_detector_without_a_usable_answer(answer: str | None) -> None:
    """Without a usable answer of the detector the fallback applies, and an unknown name gives a warning."""
    decoded = decode(b"<p>caf\xe9</p>", detector=lambda _: answer)
    assert (decoded.encoding, decoded.source) == ("windows-1252", "fallback")
    assert any("klingon" in warning for warning in decoded.warnings) == (answer is not None)


@pytest.mark.parametrize("before", [0, 800, 1020, 3000])
@pytest.mark.parametrize("close", [b"-->", b""])
def test_meta_inside_a_comment_is_ignored(before: int, close: bytes) -> None:
    """A declaration in a comment is ignored, both early and late in the page."""
    source = b" " * before + b"<!-- <meta charset=koi8-r> " + close + "<p>Crème".encode()
    decoded = decode(source)
    assert (decoded.encoding, decoded.source) == ("utf-8", "valid utf-8")


def test_meta_after_a_long_comment_counts() -> None:
    """A comment over the first 1,024 bytes doesn't hide a later declaration."""
    assert decode(b"<!--" + PAD + b"--><meta charset=koi8-r>").source == "late meta"


@pytest.mark.parametrize(
    "meta",
    [
        b'<meta name="description" content="how to set charset=koi8-r">',
        b'<meta property="og:title" content="charset=koi8-r">',
        b'<meta data-charset="koi8-r">',
    ],
)
def test_meta_about_something_else_declares_nothing(meta: bytes) -> None:
    """Only a charset attribute, or the content of a Content-Type, is a declaration (HTML, prescan)."""
    assert decode(meta + "<p>Crème".encode()).source == "valid utf-8"


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_utf8_cut_inside_its_last_character(cut: int) -> None:
    """UTF-8 cut inside its last character is still UTF-8, with one replacement character and a warning."""
    decoded = decode(("<p>café " + "😀").encode()[:-cut])
    assert (decoded.encoding, decoded.source) == ("utf-8", "valid utf-8")
    assert decoded.text == "<p>café \ufffd"
    assert len(decoded.warnings) == 1


@pytest.mark.parametrize("tail", [b"\xe9\n", b"\xe9.", b"\xe9 x", b"\xe9\xe9"])
def test_legacy_letter_near_the_end_is_not_cut_utf8(tail: bytes) -> None:
    """An invalid sequence near the end means another encoding, because only an unfinished last character is a cut."""
    decoded = decode(b"<p>caf" + tail)
    assert (decoded.encoding, decoded.source) == ("windows-1252", "fallback")
    assert decoded.text == "<p>caf" + tail.decode("latin-1")


def test_bytes_outside_the_encoding_are_replaced_with_a_warning() -> None:
    """Bytes outside of the declared encoding become U+FFFD, with a warning."""
    decoded = decode(b"<meta charset=utf-8><p>a\xe9b c\xffd")
    assert decoded.text.endswith("<p>a\ufffdb c\ufffdd")
    assert len(decoded.warnings) == 1
    assert "utf-8" in decoded.warnings[0]


@pytest.mark.parametrize("label", ["iso-2022-kr", "hz-gb-2312", "replacement"])
def test_encodings_that_browsers_refuse(label: str) -> None:
    """A page in an encoding that browsers refuse is undecodable rather than empty."""
    for page in (blockml.parse(b"<p>Cats", charset=label), blockml.parse(f"<meta charset={label}><p>Cats".encode())):
        assert (page.status, len(page.blocks), len(page.warnings)) == (Status.UNDECODABLE, 0, 1)
        assert blockml.extract(b"<p>Cats", charset=label).status is Status.UNDECODABLE


def test_replacement_character_in_the_source_is_not_damage() -> None:
    """U+FFFD in the source, which a page may show on purpose, gives no warning."""
    assert decode("<p>\ufffd".encode()).warnings == ()


@pytest.mark.parametrize(
    "source",
    ["<p>a\ud800b", "<p>a\udc00b c", "<p>a\udc00\ud800b d", "\ufeff<p>\ud800"],
    ids=["high", "low", "swapped", "mark"],
)
def test_lone_surrogates_are_replaced(source: str) -> None:
    """Lone surrogates of a str are replaced with a warning, so that the page can be encoded."""
    decoded = decode(source)
    assert decoded.source == "str"
    assert decoded.text.encode().decode().startswith("<p>")
    assert "\ufffd" in decoded.text
    assert len(decoded.warnings) == 1
    assert blockml.parse(source).status is Status.OK


@pytest.mark.parametrize(
    "source",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", gzip.compress(b"<p>page</p>"),
        b"GIF89a\x01\x00", b"\xff\xd8\xff\xe0\x00\x10JFIF", b"PK\x03\x04\x14\x00", bytes(range(32)) * 40,
        tarfile.TarInfo("a.html").tobuf() + b"<html><p>page".ljust(512, b"\0"),
    ],
    ids=["png", "pdf", "gzip", "gif", "jpeg", "zip", "control", "tar"],
)  # fmt: skip
@pytest.mark.parametrize("charset", [None, "utf-8"])
def test_binary_formats_are_undecodable(source: bytes, charset: str | None) -> None:
    """Pictures, archives and other binary formats give a page without blocks, with a status and a warning."""
    page = blockml.parse(source, charset=charset)
    assert page.status is Status.UNDECODABLE
    assert len(page.blocks) == 0
    assert page.warnings


def test_stray_control_bytes_are_still_a_page() -> None:
    """A text with a few control bytes is still a page."""
    assert decode(b"<p>one\x00 two\x01 three four five six seven").is_text


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "koi8-r", "gbk", "shift_jis", "windows-1251"])
def test_declared_text_is_decoded_unchanged(codec: str) -> None:
    """Text that is encoded with its declared codec is decoded unchanged."""
    text = "<p>Привет, мир</p>"
    assert decode(text.encode(codec), codec.replace("utf-16-", "utf-16")).text == text


@pytest.mark.timeout(5)
@pytest.mark.parametrize("piece", [b"<meta charset=", b"<meta ", b"<!--", b"<?xml encoding", b"<meta charset=x"])
def test_time_is_linear_in_unfinished_declarations(piece: bytes) -> None:
    """A page of tags that never end is read once instead of once for each tag."""
    assert decode(piece * 50_000).source == "valid utf-8"


@given(messy_bytes, st.sampled_from([None, "utf-8", "utf-16", "gbk", "iso-2022-jp", "big5", "x-user-defined", "é", ""]))
def test_no_bytes_raise(source: bytes, charset: str | None) -> None:
    """Any bytes give valid Unicode and the name of the rule that decoded them."""
    decoded = decode(source, charset, lambda _: "euc-jp")
    decoded.text.encode()
    assert decoded.source in SOURCES
    assert decoded.is_text or decoded.text == ""


@given(st.text())
def test_no_str_raises(source: str) -> None:
    """Any valid str is decoded unchanged, except for a leading byte-order mark."""
    assert decode(source).text == source.removeprefix("\ufeff")


def test_random_bytes_are_not_text() -> None:
    """Data that is encrypted or compressed in an unknown format has more control characters than any page."""
    data = np.random.default_rng(0)
    assert not any(decode(data.bytes(size)).is_text for size in (300, 1_000, 5_000, 50_000) for _ in range(20))
