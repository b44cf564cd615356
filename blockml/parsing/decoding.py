"""Decode pages by the WHATWG encoding sniffing algorithm and record which rule applied."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import webencodings

from blockml import _kernel
from blockml.parsing.detection import detected

__all__ = ["Decoded", "Detector", "decode"]

#: Returns the label of a guessed encoding, or None.
Detector = Callable[[bytes], str | None]

#: Bytes in which the standard looks for a declaration (HTML, "prescan a byte stream").
_PRESCAN = 1024

#: Start of a comment or raw text, which contain no declarations and extend to the end if unclosed; or a ``<meta>``.
_NEXT = re.compile(rb"<(?:(!--)|(script|style|title|textarea)\b|meta[\s/]([^<>]*)>)", re.IGNORECASE)
_ENDS = {name: re.compile(rb"</%b\b" % name, re.IGNORECASE) for name in (b"script", b"style", b"title", b"textarea")}
_ATTRIBUTE = re.compile(rb"""([^\s"'/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']+))?""")
_CHARSET = re.compile(rb"""charset\s*=\s*(?:["']\s*)?([^\s"';]+)""", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([^"'>]+)["']""")

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
#: Fraction of such bytes above which a header without markup is binary (our choice: pages may contain stray ones).
_BINARY_SHARE = 0.1
_HEADER = 4096
_MARKUP = re.compile(rb"<(?:!doctype|html|head|title|meta|body|div|table|p)\b", re.IGNORECASE)
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
        :func:`blockml.parsing.detection.detected`, which knows the most common encodings of Cyrillic, Greek, Arabic,
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
    if has_markup:
        return ""
    n_binary = len(header) - len(header.translate(None, _BINARY_BYTES))
    return "binary data" if n_binary > _BINARY_SHARE * len(header) and not _MARKUP.search(header) else ""
