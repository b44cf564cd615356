"""Bytes to text, in the order of the WHATWG's encoding sniffing algorithm, with the rule that fired recorded."""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import webencodings

from blockml import _kernel

__all__ = ["Decoded", "Detector", "decode"]

#: Guesses an encoding's label from bytes, or gives None.
Detector = Callable[[bytes], str | None]

#: The standard looks for a declaration in this many bytes before it guesses (HTML, "prescan a byte stream").
_PRESCAN = 1024

#: Where what can't hold a declaration begins, which reaches to the end if it isn't closed; or a ``<meta>``, which may.
_NEXT = re.compile(rb"<(?:(!--)|(script|style|title|textarea)\b|meta[\s/]([^<>]*)>)", re.IGNORECASE)
_ENDS = {name: re.compile(rb"</%b\b" % name, re.IGNORECASE) for name in (b"script", b"style", b"title", b"textarea")}
_ATTRIBUTE = re.compile(rb"""([^\s"'/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']+))?""")
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([^\s"';]+)""", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([^"'>]+)["']""")

#: Byte order marks.
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_BE: "utf-16be", codecs.BOM_UTF16_LE: "utf-16le"}
#: First bytes of formats that are no text (WHATWG MIME sniffing, sections 6.1, 6.2 and 7.1).
_BINARY_SIGNATURES = (
    b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"%PDF-", b"PK\x03\x04", b"\x1f\x8b\x08",
    b"Rar!\x1a\x07", b"OggS\x00", b"\x1aE\xdf\xa3", b"wOFF", b"wOF2", b"\x00\x00\x01\x00",
)  # fmt: skip
#: "Binary data bytes" of the same standard.
_BINARY_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
#: A page with stray control bytes is still a page; one of which a tenth are such bytes, and that shows no markup, is
#: not (our choice).
_BINARY_SHARE = 0.1
_HEADER = 4096
_MARKUP = re.compile(rb"<(?:!doctype|html|head|title|meta|body|div|table|p)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text of a page and how it was found."""

    utf8: bytes
    """The text in UTF-8, as which parsers want it."""
    encoding: str
    """Name by the WHATWG's encoding standard, lower case."""
    source: str
    """``str``, ``bom``, ``transport``, ``meta``, ``late meta``, ``xml declaration``, ``utf-16 pattern``,
    ``valid utf-8``, ``detector`` or ``fallback``."""
    warnings: tuple[str, ...] = ()
    is_text: bool = True
    """False if the bytes are an image, an archive or the like; the text is then empty."""

    @property
    def text(self) -> str:
        """The text."""
        return self.utf8.decode("utf-8")


def decode(source: bytes | str, charset: str | None = None, detector: Detector | None = None) -> Decoded:
    """Decode a page.

    The order is: byte order mark; ``charset`` of the transport (HTTP's Content-Type); UTF-16 without a mark, which
    shows in its zero bytes; ``<meta>`` in the first 1024 bytes; ``<meta>`` later on, which makes a browser start over;
    an XML declaration; UTF-8 if the bytes are valid UTF-8; ``detector``; windows-1252. Bytes that are none of it become
    U+FFFD, with a warning.

    Parameters
    ----------
    source
        The page. A ``str`` is taken as it is, but for lone surrogates, which become U+FFFD.
    charset
        Encoding label from outside, if any. An unknown label is passed over with a warning.
    detector
        Called with the bytes when nothing is declared and they aren't UTF-8. charset-normalizer, for example:
        ``lambda data: (best := charset_normalizer.from_bytes(data).best()) and best.encoding``.

    Examples
    --------
    >>> decode("Crème".encode("latin-1"), charset="iso-8859-1")
    Decoded(utf8=b'Cr\\xc3\\xa8me', encoding='windows-1252', source='transport', warnings=(), is_text=True)
    >>> decode(b'<meta charset="gb2312"><p>\\xc4\\xe3\\xba\\xc3').text
    '<meta charset="gb2312"><p>你好'
    """
    if isinstance(source, str):
        return _clean_str(source)
    if (plain := None if charset or _kernel.compiled is None else _plain(_kernel.compiled, source)) is not None:
        encoding, rule, warnings = plain
    else:
        encoding, rule, warnings = _sniff(source, charset, detector)
        if rule != "bom" and encoding not in ("utf-16le", "utf-16be") and _is_binary(source):
            return Decoded(b"", "binary", "signature", ("the bytes are not text",), is_text=False)
    if encoding == "utf-8":  # as nearly all: it is handed on as it is
        utf8 = source.removeprefix(codecs.BOM_UTF8)
        if _is_utf8(utf8):
            return Decoded(utf8, encoding, rule, warnings)
    codec: Any = webencodings.lookup(encoding)
    try:
        text, _ = webencodings.decode(source, codec, errors="strict")
    except UnicodeDecodeError:
        text, _ = webencodings.decode(source, codec, errors="replace")
        if "\ufffd" in text:
            warnings = (*warnings, f"some bytes are no {encoding} and were replaced")
    return Decoded(text.encode("utf-8"), encoding, rule, warnings)


def _clean_str(source: str) -> Decoded:
    text = source.removeprefix("\ufeff")
    try:
        return Decoded(text.encode("utf-8"), "utf-8", "str")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return Decoded(text.encode("utf-8"), "utf-8", "str", ("lone surrogates were replaced",))


#: What the kernel looks for: bytes that no text has, zeros of UTF-16 too, and those with which other formats and byte
#: order marks begin.
_NO_TEXT, _BEGINS = 1, 2
_BEGINNINGS = bytes(start[0] for start in (*_BINARY_SIGNATURES, *_MARKS))
_PLAIN_TABLE = bytes(_NO_TEXT * (byte in _BINARY_BYTES) | _BEGINS * (byte in _BEGINNINGS) for byte in range(256))


def _plain(compiled: _kernel.Compiled, source: bytes) -> tuple[str, str, tuple[str, ...]] | None:
    """What :func:`_sniff` finds in plain text, if the first declaration is known or it is UTF-8 without one."""
    found = compiled.plain_meta(source, _PLAIN_TABLE, _PRESCAN, _HEADER)
    if found is None:
        return None
    meta, is_early = found
    if not meta:
        is_utf8 = not _XML_DECLARATION.match(source[:_PRESCAN]) and _is_utf8(source)
        return ("utf-8", "valid utf-8", ()) if is_utf8 else None
    encoding = _short_encoding(meta) if len(meta) <= _LONGEST_KEPT else _encoding(meta)
    return None if encoding is None else (encoding, "meta" if is_early else "late meta", ())


def _sniff(source: bytes, charset: str | None, detector: Detector | None) -> tuple[str, str, tuple[str, ...]]:
    """Encoding name, rule and warnings."""
    for mark, name in _MARKS.items():
        if source.startswith(mark):
            return name, "bom", ()
    warnings: dict[str, None] = {}
    if charset:
        if known := _known(charset):
            return known, "transport", ()
        warnings[f"unknown charset {charset!r} from the transport was passed over"] = None
    encoding, rule = _look_inside(source, warnings)
    if not encoding and detector and (guess := detector(source)):
        encoding, rule = _known(guess), "detector"
        if not encoding:
            warnings[f"the detector's answer {guess!r} is no known encoding"] = None
    return (encoding, rule, tuple(warnings)) if encoding else ("windows-1252", "fallback", tuple(warnings))


def _look_inside(source: bytes, warnings: dict[str, None]) -> tuple[str | None, str]:
    """Encoding that the bytes themselves tell, and the rule; (None, "") if they don't."""
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
        warnings[f"the XML declaration names the unknown charset {label!r}"] = None
    return ("utf-8", "valid utf-8") if _was_utf8(source) else (None, "")


def _known(label: str) -> str | None:
    encoding = webencodings.lookup(label)
    return encoding.name if encoding else None


def _as_declared(name: str) -> str:
    """Encoding that a declaration means, which could be read byte by byte (HTML standard, prescan, step 14)."""
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _declared(source: bytes, warnings: dict[str, None]) -> str | None:
    """Encoding of the first ``<meta>`` that declares a known one."""
    if b"charset" not in source and b"charset" not in source.lower():
        return None
    for meta in _metas(source):
        label = _label(meta)
        if not label:
            continue
        if name := _known(label.decode("ascii", "replace")):
            return _as_declared(name)
        warnings[f"the page declares the unknown charset {label.decode('ascii', 'replace')!r}"] = None
    return None


def _label(meta: bytes) -> bytes:
    """The encoding that a ``<meta>`` declares by what stands in it; empty if it declares none."""
    attributes: dict[bytes, bytes] = {}
    for attribute in _ATTRIBUTE.finditer(meta):
        attributes.setdefault(attribute[1].lower(), (attribute[2] or b"").strip(b"\"'"))
    label = attributes.get(b"charset", b"").strip()
    if not label and attributes.get(b"http-equiv", b"").strip().lower() == b"content-type":
        found = _CHARSET.search(attributes.get(b"content", b""))
        label = found[1] if found else b""
    return label


def _encoding(meta: bytes) -> str | None:
    """The encoding that a ``<meta>`` declares; None if it is unknown."""
    name = _known(_label(meta).decode("ascii", "replace"))
    return name and _as_declared(name)


#: What stands in a ``<meta>`` is kept from page to page if it is no longer: nearly all pages say the same.
_LONGEST_KEPT = 64
_short_encoding = functools.lru_cache(maxsize=256)(_encoding)


def _metas(source: bytes) -> Iterator[bytes]:
    """What stands in each ``<meta>`` of the page, but for those in comments, scripts and the like."""
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
    """UTF-16 without a mark: markup is mostly ASCII, so every other byte is zero."""
    sample = source[:_PRESCAN]
    half = len(sample) // 2
    if half < 2 or 0 not in sample:
        return None
    for name, zeros, others in (("utf-16le", sample[1::2], sample[::2]), ("utf-16be", sample[::2], sample[1::2])):
        if zeros.count(0) > 0.7 * half and others.count(0) < 0.1 * half:
            return name
    return None


def _is_utf8(source: bytes) -> bool:
    if _kernel.compiled is not None:  # which needn't make a text of it
        return _kernel.compiled.is_utf8(source)
    try:
        source.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _was_utf8(source: bytes) -> bool:
    """Whether it is UTF-8, be it cut off inside its last character."""
    if _is_utf8(source):
        return True
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.end == len(source)
    return True


def _is_binary(source: bytes) -> bool:
    header = source[:_HEADER]
    if header.startswith(_BINARY_SIGNATURES):
        return True
    n_binary = len(header) - len(header.translate(None, _BINARY_BYTES))
    return n_binary > _BINARY_SHARE * len(header) and not _MARKUP.search(header)
