"""Decode pages by the WHATWG encoding sniffing algorithm, or by the frequencies of bytes where none is declared.

In a wrong encoding, bytes become rare characters and pairs of letters. Windows-1252 is not a candidate: its accented
letters are mostly single, so that other candidates find few frequent pairs on its pages.
"""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import webencodings
from numpy.typing import NDArray

from blockml import _kernel
from blockml.text.words import code_points, lazy_pattern

__all__ = ["FREQUENT", "Decoded", "Detector", "decode", "detected"]


#: Returns the label of a guessed encoding, or None.
Detector = Callable[[bytes], str | None]

#: Bytes in which the standard looks for a declaration (HTML, "prescan a byte stream").
_PRESCAN = 1024

#: Start of a comment or raw text, which contain no declarations and extend to the end if unclosed; or a ``<meta>``.
_NEXT = lazy_pattern(rb"<(?:(!--)|(script|style|title|textarea)\b|meta[\s/]([^<>]*)>)", re.IGNORECASE)
_ENDS = {name: lazy_pattern(rb"</%b\b" % name, re.IGNORECASE) for name in (b"script", b"style", b"title", b"textarea")}
_ATTRIBUTE = lazy_pattern(rb"""([^\s"'/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']+))?""")
_CHARSET = lazy_pattern(rb"""charset\s*=\s*(?:["']\s*)?([^\s"';]+)""", re.IGNORECASE)
_XML_DECLARATION = lazy_pattern(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([^"'>]+)["']""")

#: Byte order marks.
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_BE: "utf-16be", codecs.BOM_UTF16_LE: "utf-16le"}
#: Labels of the encoding "replacement" (Encoding Standard, section 4.2), some of which webencodings 0.5 decodes.
_REPLACED = frozenset({"csiso2022kr", "hz-gb-2312", "iso-2022-cn", "iso-2022-cn-ext", "iso-2022-kr", "replacement"})
#: Encodings of the standard by nearly identical Python codec.
_CODECS = {"cp932": "shift_jis", "cp949": "euc-kr", "big5hkscs": "big5", "mac-cyrillic": "x-mac-cyrillic"}
#: First bytes of binary formats (WHATWG MIME sniffing, sections 6.1, 6.2 and 7.1).
_BINARY_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "a PNG image", b"GIF87a": "a GIF image", b"GIF89a": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image", b"\x00\x00\x01\x00": "an icon", b"%PDF-": "a PDF", b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b\x08": "gzip data", b"Rar!\x1a\x07": "a RAR archive", b"OggS\x00": "an Ogg file",
    b"\x1aE\xdf\xa3": "a WebM video", b"wOFF": "a font", b"wOF2": "a font", b"WARC/": "a WARC archive of many pages",
}  # fmt: skip
#: Signatures of tar archives (POSIX and GNU) and their offset. Their members may be pages, so markup does not rule out
#: an archive.
_TAR_SIGNATURES, _TAR_OFFSET = (b"ustar\0", b"ustar  \0"), 257
#: "Binary data bytes" of the same standard.
_BINARY_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
#: Fraction of such bytes above which a header without markup is binary (our choice: pages may contain stray ones, and
#: random bytes have .105).
_BINARY_SHARE = 0.05
_HEADER = 4096
#: A header that doesn't begin with a tag needs up to three such tags, because random bytes may have some.
_MARKUP = lazy_pattern(rb"<(?:!doctype|html|head|title|meta|body|div|table|p)\b", re.IGNORECASE)
#: Rules by which the page or its transport declares the encoding.
_DECLARATIONS = frozenset({"transport", "meta", "late meta", "xml declaration"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text of a page and the rule by which it was decoded."""

    utf8: bytes  #: The text in UTF-8, the input of the parsers.
    encoding: str  #: Name in the WHATWG encoding standard, lower case.
    #: ``str``, ``bom``, ``transport``, ``meta``, ``late meta``, ``xml declaration``, ``utf-16 pattern``, ``valid
    #: utf-8``, ``detector`` or ``fallback``.
    source: str
    warnings: tuple[str, ...] = ()
    #: False for binary formats, such as images and archives, and encodings that browsers refuse; text is empty then.
    is_text: bool = True

    @property
    def text(self) -> str:
        """Return the text as ``str``."""
        return self.utf8.decode("utf-8")


def decode(source: bytes | str, charset: str | None = None, detector: Detector | None = None) -> Decoded:
    """Decode a page.

    Rules in order: byte order mark; ``charset`` of the transport (HTTP's Content-Type); valid UTF-8 with characters
    outside ASCII, whatever the page declares, because text in another encoding is hardly ever valid UTF-8, and saved or
    recoded pages keep their old declaration; UTF-16 without a byte order mark; ``<meta>`` in the first 1024 bytes; a
    later ``<meta>`` (browsers restart with it); XML declaration; ASCII; ``detector``; windows-1252. Undecodable bytes
    become U+FFFD, with a warning.

    Parameters
    ----------
    source
        The page. A ``str`` is used unchanged, except that lone surrogates become U+FFFD.
    charset
        Encoding label of the transport. An unknown label is ignored with a warning.
    detector
        Called with the bytes if no encoding is declared and they are not UTF-8. By default
        :func:`blockml.parsing.decoding.detected`, which knows the most common encodings of Cyrillic, Greek, Arabic,
        Japanese, Chinese and Korean. Returns the label of an encoding, the name of a Python codec, or None, as in
        ``lambda data: chardet.detect(data)["encoding"]``. ``lambda data: None`` detects nothing.

    Examples
    --------
    >>> decode("Crème".encode("latin-1"), charset="iso-8859-1")
    Decoded(utf8=b'Cr\\xc3\\xa8me', encoding='windows-1252', source='transport', warnings=(), is_text=True)
    >>> decode("Привет, мир".encode("windows-1251")).encoding
    'windows-1251'
    >>> decode(b'<meta charset="gb2312"><p>\\xc4\\xe3\\xba\\xc3').text
    '<meta charset="gb2312"><p>你好'
    """
    if isinstance(source, str):
        return _clean_str(source)
    content = source.removeprefix(codecs.BOM_UTF8)
    is_utf8 = _is_utf8(content)
    encoding, rule, warnings = _sniff(source, charset, detector, is_utf8=is_utf8)
    # UTF-16 consists largely of binary bytes, and the markup of a <meta> rules out binary data.
    may_be_binary = rule != "bom" and encoding not in ("utf-16le", "utf-16be")
    if may_be_binary and (binary := _binary_format(source, has_markup=rule == "meta")):
        return Decoded(b"", "binary", "signature", (f"not HTML (looks like {binary})",), is_text=False)
    if encoding == "replacement":  # the standard doesn't decode it
        return Decoded(b"", encoding, rule, (*warnings, "browsers don't decode the declared encoding"), is_text=False)
    if encoding == "utf-8" and is_utf8:  # most pages: their bytes are passed on as they are
        return Decoded(content, encoding, rule, warnings)
    codec: Any = webencodings.lookup(encoding)
    try:
        text, _ = webencodings.decode(source, codec, errors="strict")
    except UnicodeDecodeError:
        text, _ = webencodings.decode(source, codec, errors="replace")
        if n := text.count("\ufffd"):
            how = "declared encoding" if rule in _DECLARATIONS else "encoding"
            warnings = (*warnings, f"{n} undecodable byte{'s' * (n > 1)} replaced ({how} {encoding})")
    return Decoded(text.encode("utf-8"), encoding, rule, warnings)


def _clean_str(source: str) -> Decoded:
    """Remove a byte order mark and replace lone surrogates."""
    text = source.removeprefix("\ufeff")
    try:
        return Decoded(text.encode("utf-8"), "utf-8", "str")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return Decoded(text.encode("utf-8"), "utf-8", "str", ("lone surrogates replaced",))


def _sniff(
    source: bytes, charset: str | None, detector: Detector | None, *, is_utf8: bool
) -> tuple[str, str, tuple[str, ...]]:
    """Determine encoding name, rule and warnings; ``is_utf8`` says that the bytes are valid UTF-8."""
    for mark, name in _MARKS.items():
        if source.startswith(mark):
            return name, "bom", ()
    warnings: dict[str, None] = {}
    if charset:
        if known := _known(charset):
            return known, "transport", ()
        warnings[f"unknown charset {charset!r} of the transport ignored"] = None
    encoding, rule = _look_inside(source, warnings, is_utf8=is_utf8)
    if not encoding and (guess := (detector or detected)(source)):
        encoding, rule = _known(guess) or _of_codec(guess), "detector"
        if not encoding:
            warnings[f"unknown encoding {guess!r} of the detector ignored"] = None
    return (encoding, rule, tuple(warnings)) if encoding else ("windows-1252", "fallback", tuple(warnings))


def _look_inside(source: bytes, warnings: dict[str, None], *, is_utf8: bool) -> tuple[str | None, str]:
    """Determine encoding and rule only from the bytes; ``(None, "")`` if no rule applies."""
    # At most three bytes belong to an incomplete character at the end, which proves nothing.
    is_cut_utf8 = not is_utf8 and _is_utf8(source, truncated=True)
    if (is_utf8 and not source.isascii()) or (is_cut_utf8 and not source[:-3].isascii()):
        return "utf-8", "valid utf-8"
    if pattern := _utf16_pattern(source):
        return pattern, "utf-16 pattern"
    if declared := _declared(source[:_PRESCAN], warnings):
        return declared, "meta"
    if declared := _declared(source, warnings):
        return declared, "late meta"
    if declaration := _XML_DECLARATION.match(source[:_PRESCAN]):
        label = declaration[1].decode("ascii", "replace")
        if known := _known(label):
            return _as_declared(known), "xml declaration"
        warnings[f"unknown charset {label!r} in the XML declaration ignored"] = None
    return ("utf-8", "valid utf-8") if is_utf8 or is_cut_utf8 else (None, "")


def _known(label: str) -> str | None:
    if label.strip().lower() in _REPLACED:
        return "replacement"
    encoding = webencodings.lookup(label) if label.isascii() else None  # labels are ASCII, and it can't read surrogates
    return encoding.name if encoding else None


def _of_codec(name: str) -> str | None:
    """Return the encoding of a Python codec, because detectors may return its name; None for other names."""
    try:
        codec = codecs.lookup(name).name.replace("_", "-")
    except (LookupError, ValueError):
        return None
    return _known(_CODECS.get(codec, codec))


def _as_declared(name: str) -> str:
    """Map an ASCII-incompatible declared encoding to its substitute (HTML standard, prescan, step 14)."""
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _declared(source: bytes, warnings: dict[str, None]) -> str | None:
    """Return the first known encoding that a ``<meta>`` declares."""
    if b"charset" not in source and b"charset" not in source.lower():
        return None
    for meta in _metas(source):
        label = _label(meta) if b"charset" in meta.lower() else b""
        if not label:
            continue
        if name := _known(label.decode("ascii", "replace")):
            return _as_declared(name)
        warnings[f"unknown charset {label.decode('ascii', 'replace')!r} in <meta> ignored"] = None
    return None


def _label(meta: bytes) -> bytes:
    """Return the encoding label that the attributes of a ``<meta>`` declare; empty without a declaration."""
    attributes: dict[bytes, bytes] = {}
    for attribute in _ATTRIBUTE.finditer(meta):
        attributes.setdefault(attribute[1].lower(), (attribute[2] or b"").strip(b"\"'"))
    label = attributes.get(b"charset", b"").strip()
    if not label and attributes.get(b"http-equiv", b"").strip().lower() == b"content-type":
        found = _CHARSET.search(attributes.get(b"content", b""))
        label = found[1] if found else b""
    return label


def _metas(source: bytes) -> Iterator[bytes]:
    """Yield the attributes of each ``<meta>`` outside comments, scripts and other raw text."""
    begin = 0
    while found := _NEXT.search(source, begin):
        begin = found.end()
        if found[3] is not None:
            yield found[3]
            continue
        if found[1]:
            closed = source.find(b"-->", begin)
            begin = closed + len(b"-->")
        else:
            end_tag = _ENDS[found[2].lower()].search(source, begin)
            closed = begin = end_tag.end() if end_tag else -1
        if closed < 0:
            return


def _utf16_pattern(source: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark: markup is mostly ASCII, so every other byte is zero."""
    sample = source[:_PRESCAN]
    half = len(sample) // 2
    if half < 2 or 0 not in sample:
        return None
    for name, zeros, others in (("utf-16le", sample[1::2], sample[::2]), ("utf-16be", sample[::2], sample[1::2])):
        if zeros.count(0) > 0.7 * half and others.count(0) < 0.1 * half:
            return name
    return None


def _is_utf8(source: bytes, *, truncated: bool = False) -> bool:
    """Tell whether bytes are valid UTF-8; ``truncated`` accepts an incomplete last character."""
    if _kernel.compiled is not None:  # faster than decoding
        is_utf8 = _kernel.compiled.is_utf8(source)
        if is_utf8 or not truncated:
            return is_utf8
    try:
        codecs.utf_8_decode(source, "strict", not truncated)
    except UnicodeDecodeError:
        return False
    return True


def _binary_format(source: bytes, *, has_markup: bool) -> str:
    """Name the binary format of the bytes; empty for text. ``has_markup`` says that the header contains markup."""
    header = source[:_HEADER]
    if header.startswith(tuple(_BINARY_SIGNATURES)):
        return next(name for signature, name in _BINARY_SIGNATURES.items() if header.startswith(signature))
    if header.startswith(_TAR_SIGNATURES, _TAR_OFFSET):
        return "a tar archive"
    if has_markup or (header.lstrip().startswith(b"<") and _MARKUP.search(header)):
        return ""
    if len(_MARKUP.findall(header)) > 2 * len(header) // _HEADER:
        return ""
    n_binary = len(header) - len(header.translate(None, _BINARY_BYTES))
    return "binary data" if n_binary > _BINARY_SHARE * len(header) else ""


#: Maximum bytes outside ASCII, with their neighbours, that are read (our choice: bounds the time).
_SAMPLE = 10_000
#: Minimum share of frequent characters or pairs among the characters outside ASCII, and their minimum number. On
#: held-out pages the right encoding has at least .24, except on two pages with .16, and none of 1,830 Latin pages has
#: more than .12 in any of them (``python -m research.benchmarks.detection``).
_MIN_SHARE, _MIN_FOUND = 0.2, 6
#: Number of characters that an undecodable byte counts as.
_UNDECODABLE = 5

#: The 120 most frequent pairs of letters of an alphabet and the 200 most frequent characters of other scripts, in the
#: pages of the labelled collections, where each page counts equally. Written by the same command.
_CYRL = (
    "ст ни ен ов ра на ро но ан те то та ор ат ка ер по ти ос ре ко ва ны пр ле ли ар од ит об от ет ия "
    "ки ть не ал ол ль де ин во ел ес ск ие ла он ри за ом ог ис да ме тр го ав ма ло ля мо ас ак ру ве "
    "ед ам ци аз ик нн нт тв ек со че ви ые ем бо ии кт до ок ми По се из си ил ой ры оп ей ич им ая гр "
    "дл ку ир ай ги рт ди ьн вы Пр ий же са сл ча ож сп пи ся ты ще"
)
_GREK = (
    "το ου ικ τη στ τα εί ση ια μα πο να ει ατ χε ρα με ισ κα δι ρι ρο αι ης αρ ην αν νο τε τι ίο λο ερ "
    "απ ρχ ων ΗΣ ας ία κο εν ομ Αρ ολ σε ασ ΣΗ υμ δε ος ντ κά ού οι ΙΣ ογ πε υν ον μέ έν αλ ΤΑ κε σα ακ "
    "λε μο πρ τή νι ησ ιο κή λι ΙΚ πό ρά άν σμ ετ ΟΣ εσ γι οσ τά ίν μη υτ πα πι γρ ής ρε οπ μι ΕΙ ρί ες "
    "ημ ιν ργ οθ επ ορ λή ΙΑ ευ υρ νε ΕΣ ΑΣ ΥΣ ητ κό ΜΟ γα ΟΥ ΚΟ άρ"
)
_ARAB = (
    "ال ار ان ات را با ما لم ام وا لا نا ای دا ور ية ین ها سا رو ست ری اس ۔۔ می اد لی بر لي ري لت من اب "
    "در يا تا از في عل ون تو عا ير ند ول دی ود مو قا تر یا فر به مي کا نی اه دي رد وم لع مر مل اف اع یر "
    "او لأ ين زا لس لب ني ید بي شا رب لل ائ نو رة لى رم يد شر سي مع مد جا يل تم اء لو يو يم وی تع دو اص "
    "خب نت مت فا تی سی رت نک وق یت یم بو عر مس رس كا بل هر ده مح اق"
)
_JPAN = (
    "のーンでといにをしするてはルイまがなプたラかスフシ月らりアリ日こ金うも経トジっ・ッレニんき年れ融営くあ人"
    "せタそ業事やクエめ本お間ドグカサ者さガ働ロマテ社観中離よ世メ理ちえ技労脱諦俗書ュつけコ行新大ム目わ通デ職"
    "パ生だ他ビ同会合ブど限要ノオ術バキ報記分内上ペみ自ォ手用時じ私件ズ取無情ゴ応済ゼ入感違性チ必一害見モ定想"
    "持前能仕教指有考適ポワべへセ的転方ィピ貨仮居言長障ごばャ度仏評企解隠読活対ソ国動説出東後"
)
_HANS = (
    "的一中是日人用在了个有分不发网新文国标我动大为和上年以会签这于类题时能行可到下生要开地前方来志学主力本数"
    "对理作们信自关成后页客公看全使多点小首如出现业务报家月你经回博工法解实论子由件市表化内过最性第就布部进问"
    "强定更者技之档次应索目搜原机与体术入面服练天提所程张归安事建高政产加手读好代区复心同电注录他资通度元络民"
    "设将码南里式评间期也图么果合相计局情容号重微平说章版阅种展等其制意广三或系息无些明而正道"
)
_HANT = (
    "品的商鋼元美一酸價型用肉箱網上為有明行新罐每人購大國物原方不以本貨保台味生主可時鈉請是費公小全入點單專買"
    "期說包料法店日香下出合中產播天磷金文服送限動二運區高食地絡我作訂好在最鮮餐起經會電熱果定加件折質份員式優"
    "規種案款選無司現家手外心配成薩分業要材關票場系理披值劑口應資達取白與及您券愛其量退化平免需結多務演張節面"
    "後糖標營活和間次調脂提花內或樂消五安進訊詢付工裝旅灣機查牌構條年到之頁茶址號登他惠素得重"
)
_HANG = (
    "이다기의사스에가지하로고원대개시서인을정는한일자전회니경국보제어수를해상은도위리주트구매장공부용요나라비"
    "신아선세화문소당있연뉴유성포동으입했관진체오과계재안산민중실간검게무치내미적법그프최호표김업반들만습터모"
    "드크명청확품발바학생본금우설및여코글통방등약언러조면특합행마판영거교데타배현며후남불강차메식월양복단디환"
    "티속루운알결와울점책권더츠년음닫것예형려별토변심투버건분료송레노능할광규야물된종록험파즈"
)
#: Frequent characters of prose; few of the collected pages in traditional Chinese contain prose.
_PROSE = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道"
    "行所然家種事成方多經去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無"
    "力它與長把機"
)
_KANA = "".join(map(chr, range(0x3041, 0x3094)))

#: Frequent characters or pairs of letters by encoding.
FREQUENT: Mapping[str, frozenset[str]] = {
    "windows-1251": frozenset(_CYRL.split()),
    "koi8-r": frozenset(_CYRL.split()),
    "windows-1253": frozenset(_GREK.split()),
    "windows-1256": frozenset(_ARAB.split()),
    "shift_jis": frozenset(_JPAN + _KANA),
    "euc-jp": frozenset(_JPAN + _KANA),
    "gb18030": frozenset(_HANS),
    "big5": frozenset(_HANT + _PROSE),
    "euc-kr": frozenset(_HANG),
}


def detected(source: bytes, frequent: Mapping[str, frozenset[str]] = FREQUENT) -> str | None:
    """Return the label of the encoding that a page seems to have; None if it seems to be in a Latin script.

    Parameters
    ----------
    source
        The page.
    frequent
        Frequent characters, or pairs of letters, by the label of each encoding that it may have.

    Examples
    --------
    >>> detected("<title>Погода сегодня</title>".encode("koi8-r")), detected("<p>Crème brûlée".encode("windows-1252"))
    ('koi8-r', None)
    """
    sample = _sample(np.frombuffer(source, dtype=np.uint8))
    share, found, label = max(_share(sample, *item) for item in frequent.items())
    return label if share >= _MIN_SHARE and found >= _MIN_FOUND else None


def _sample(octets: NDArray[np.uint8]) -> bytes:
    """Return the first bytes outside ASCII, with following bytes that may end a character, and spaces between runs."""
    is_high = octets > 0x7F
    stays = is_high.copy()
    stays[1:] |= is_high[:-1] & (octets[1:] >= 0x30) & (octets[1:] != 0x7F)
    places = stays.nonzero()[0][:_SAMPLE]
    target = np.arange(len(places))
    target[1:] += (np.diff(places) > 1).cumsum()
    found = np.full(target[-1] + 1 if len(target) else 0, ord(" "), dtype=np.uint8)
    found[target] = octets[places]
    return found.tobytes()


def _share(sample: bytes, label: str, frequent: frozenset[str]) -> tuple[float, int, str]:
    """Return the share and number of frequent characters or pairs in bytes decoded with an encoding, and its label."""
    codec: Any = webencodings.lookup(label)
    text, _ = webencodings.decode(sample, codec, errors="replace")
    points = code_points([text])
    known, size = _keys(frequent)
    units = points if size == 1 else _pairs(points)
    at = known.searchsorted(units)
    found = int(np.count_nonzero(known.take(at, mode="clip") == units))
    n_others = int(np.count_nonzero(points > 0x7F)) + _UNDECODABLE * text.count("\ufffd")
    return found / max(n_others, 1), found, label


@functools.cache
def _keys(frequent: frozenset[str]) -> tuple[NDArray[np.uint64], int]:
    """Return (n,) sorted codes of characters or pairs, and the number of characters in each code."""
    size = len(next(iter(frequent)))
    points = code_points(["".join(sorted(frequent))])
    return np.sort(points if size == 1 else _pairs(points)[::2]).astype(np.uint64), size


def _pairs(points: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return (n - 1,) codes of the pairs of adjacent code points (n,)."""
    return (points[:-1].astype(np.uint64) << np.uint64(32)) | points[1:]
