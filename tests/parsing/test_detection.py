"""Encodings of pages that declare none."""

import codecs

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.parsing.decoding import FREQUENT, decode, detected

#: Invented news in several languages of each script.
TEXTS = {
    "Паром между островом и материком вернётся в апреле, сообщили в городской администрации.": (
        "windows-1251",
        "koi8-r",
    ),
    "Пором між островом і материком повернеться у квітні, повідомили в міській раді.": ("windows-1251",),
    "Фериботът между острова и сушата се връща през април след единадесет години.": ("windows-1251",),
    "Το πλοίο για το νησί επιστρέφει τον Απρίλιο, όπως ανακοίνωσε η εταιρεία στους κατοίκους.": ("windows-1253",),
    "تعود العبارة بين الجزيرة والبر الرئيسي في أبريل بعد غياب دام أحد عشر عاما.": ("windows-1256",),
    "島と本土を結ぶフェリーが四月に再開すると、運航会社が火曜日の夜に発表しました。": ("shift_jis", "euc-jp"),
    "岛屿和大陆之间的渡轮将在四月恢复，公司在星期二晚上的会议上对居民这样说。": ("gb18030", "gbk"),
    "島嶼和大陸之間的渡輪將在四月恢復，公司在星期二晚上的會議上對居民這樣說。": ("big5",),
    "섬과 육지를 잇는 여객선이 사월에 다시 다닌다고 회사가 화요일 저녁 주민 회의에서 밝혔다.": ("euc-kr",),
}
#: Sentences with few or many accented letters and signs.
LATIN = [
    "<p>Crème brûlée à la carte, où l’œuf coûte 3 € « à peu près »…",
    "<p>Größere Bäume für süße Äpfel – „überall“ in Österreich, ÄÖÜß äöüß.",
    "<p>A ação não começou às três; corações e mães estão lá.",
    "<p>El niño señaló: «¿Qué año será?» ¡Mañana!",
    "<p>Smörgåsbord på Åre, blåbärssöt öl och köttfärssås.",
    "<p>caf\xe9</p>", "<p>\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0 \xa9 2024", "<p>••••••••••••••••",
    "<p>————————————————", "<p>ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "encoding"), [(text, encoding) for text, encodings in TEXTS.items() for encoding in encodings]
)
def test_a_sentence_is_enough(text: str, encoding: str) -> None:
    """One sentence is enough to detect the encoding, and the page names the detector as its source."""
    codec = webencodings.lookup(encoding)
    assert codec is not None
    source, _ = codec.codec_info.encode(f"<html><title>{text[:12]}</title><p>{text}")
    page = blockml.parse(source)
    assert page.blocks.texts[-1] == text
    assert page.encoding_source == "detector"


@pytest.mark.parametrize("text", LATIN)
def test_latin_pages_are_windows_1252(text: str) -> None:
    """Accents, signs and runs of one character are read as windows-1252."""
    read = decode(text.encode("windows-1252"))
    assert (read.encoding, read.source) == ("windows-1252", "fallback")
    assert read.text == text


def test_declarations_come_first() -> None:
    """A declared encoding takes precedence over the detected one."""
    source = "<p>Погода в городе сегодня и завтра".encode("koi8-r")
    assert decode(source).encoding == "koi8-r"
    assert decode(source, "windows-1251").encoding == "windows-1251"
    assert decode(b"<meta charset=windows-1251>" + source).encoding == "windows-1251"
    assert decode(codecs.BOM_UTF8 + source).encoding == "utf-8"
    assert decode(source, detector=lambda _: None).encoding == "windows-1252"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("cp932", "shift_jis"), ("cp949", "euc-kr"), ("koi8_r", "koi8-r"), ("latin_1", "windows-1252"),
        ("mac_cyrillic", "x-mac-cyrillic"), ("no codec", None), ("a\0b", None), ("é", None),
    ],
)  # fmt: skip
def test_detectors_may_name_codecs_of_python(name: str, encoding: str | None) -> None:
    """A detector may name a codec of Python, and an unknown name gives a warning."""
    read = decode(b"<p>\xb1\xa1 </p>", detector=lambda _: name)
    assert read.encoding == (encoding or "windows-1252")
    assert read.source == ("detector" if encoding else "fallback")
    assert any("unknown encoding" in warning for warning in read.warnings) == (encoding is None)


@given(st.binary(max_size=2000))
def test_no_bytes_raise(source: bytes) -> None:
    """The answer for any bytes is the label of an encoding or None."""
    assert detected(source) in (None, *FREQUENT)


def test_only_the_first_characters_outside_ascii_are_read() -> None:
    """Only the first characters outside ASCII are read, even on a long page with text that starts late."""
    source = b"<script>" + b"x" * 1_000_000 + b"</script>" + "Погода в городе сегодня. ".encode("koi8-r") * 100_000
    assert detected(source) == "koi8-r"
    assert detected(b"\xe9" * 10_000_000) is None
