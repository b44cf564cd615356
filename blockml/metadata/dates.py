"""Dates as ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from email.utils import parsedate_to_datetime

#: Patterns of numbers start with a digit, because all other places are then passed over quickly; what may not precede
#: the digit comes after it.
_ISO = re.compile(
    r"(\d\d{3})-(\d{2})-(\d{2})"
    r"(?:[Tt ]+(\d{2}):?(\d{2})(?::?(\d{2})(?:[.,]\d+)?)?\s*([Zz]|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[+-]\d{2}:?\d{2})?)?"
)
_YEAR_FIRST = re.compile(r"(\d(?<!\w\d)\d{3})(?:[./年년-]\s?(\d{1,2})[./月월-]\s?(\d{1,2})(?!\d)|(\d{2})(\d{2})\b)")
#: Two-digit years are in this century.
_DAY_FIRST = re.compile(r"(\d(?<!\w\d)\d?)\.\s?(\d{1,2})\.\s?(\d{4}|\d{2})(?![\d.])")
_SLASHES, _HYPHENS = (
    re.compile(rf"(\d(?<![\d{sign}]\d)\d?){sign}(\d{{1,2}}){sign}(\d{{4}})(?![\d{sign}])") for sign in "/-"
)
#: Names of months and their abbreviations, January first, in European languages, Indonesian, Arabic and Hebrew (after
#: "in").
_NAMES = (
    "jan janvier januar enero gennaio janeiro januari ene gen stycznia ledna ocak января січня január ianuarie "
    "ιανουαρίου ιαν tammikuuta يناير jänner јануар януари sausio בינואר",
    "feb février fevrier februar febrero febbraio fevereiro februari fév fev lutego února şubat февраля лютого "
    "február februarie φεβρουαρίου φεβ helmikuuta فبراير feber фебруар февруари vasario בפברואר شباط",
    "mar mars märz marzo março marco maart mrz marca března mart maret марта березня március martie μαρτίου μαρ "
    "maaliskuuta مارس март kovo במרץ במרס آذار",
    "apr avril abril aprile avr abr kwietnia dubna nisan апреля квітня április aprilie απριλίου απρ huhtikuuta "
    "أبريل ابريل april април balandžio באפריל نيسان",
    "may mai mayo maggio maio mei mag maja maj května mayıs мая травня május μαΐου μάι toukokuuta مايو мај май "
    "gegužės במאי أيار",
    "jun juin juni junio giugno junho giu czerwca června haziran июня червня június iunie ιουνίου ιουν kesäkuuta "
    "يونيو јун юни birželio ביוני حزيران",
    "jul juillet juli julio luglio julho juil lug lipca července temmuz июля липня július iulie ιουλίου ιουλ "
    "heinäkuuta يوليو јул юли liepos ביולי تموز",
    "aug août aout august agosto augustus ago sierpnia srpna ağustos agustus augusti августа серпня augusztus "
    "αυγούστου αυγ elokuuta أغسطس avgust август rugpjūčio באוגוסט",
    "sep septembre september septiembre settembre setembro sept set września září eylül сентября вересня "
    "szeptember septembrie σεπτεμβρίου σεπ syyskuuta سبتمبر septembar септембар септември rugsėjo בספטמבר أيلول",
    "oct octobre oktober octubre ottobre outubro okt ott out października října ekim октября жовтня október "
    "octombrie οκτωβρίου οκτ lokakuuta أكتوبر oktobar октобар октомври spalio באוקטובר",
    "nov novembre november noviembre novembro listopada listopadu kasım ноября листопада noiembrie νοεμβρίου νοε "
    "marraskuuta نوفمبر novembar новембар ноември lapkričio בנובמבר",
    "dec décembre decembre dezember diciembre dicembre dezembro december déc dic dez des grudnia prosince aralık "
    "desember декабря грудня decembrie δεκεμβρίου δεκ joulukuuta ديسمبر decembar децембар декември gruodžio "
    "בדצמבר",
)
_MONTHS = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
_DAY_AND_MONTH = r"\b(\d{1,2})(?:st|nd|rd|th|er|\.|º)?\s+(?:(?:de|of)\s+)?([^\W\d_]{3,12})\.?,?\s+(?:de\s+)?(\d{4})\b"
_MONTH_AND_DAY = r"\b([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b"
#: First year that the date of a web page may have.
_FIRST_YEAR = 1990
_WITH_MONTH = re.compile(f"{_DAY_AND_MONTH}|{_MONTH_AND_DAY}")
_YEAR_AND_MONTH = re.compile(r"(\d(?<!\w\d)\d{3})[.,]?\s+(?:m\.\s+)?([^\W\d_]{3,12})\.?\s+(\d{1,2})\b(?!:)")
#: Months, January first, in scripts whose marks are not letters to ``re``: Thai, Hindi and Bengali.
_MARKED_NAMES = (
    "มกราคม ม.ค. जनवरी জানুয়ারি", "กุมภาพันธ์ ก.พ. फ़रवरी फरवरी ফেব্রুয়ারি", "มีนาคม มี.ค. मार्च মার্চ", "เมษายน เม.ย. अप्रैल এপ্রিল",
    "พฤษภาคม พ.ค. मई মে", "มิถุนายน มิ.ย. जून জুন", "กรกฎาคม ก.ค. जुलाई জুলাই", "สิงหาคม ส.ค. अगस्त আগস্ট",
    "กันยายน ก.ย. सितंबर सितम्बर সেপ্টেম্বর", "ตุลาคม ต.ค. अक्टूबर अक्तूबर অক্টোবর", "พฤศจิกายน พ.ย. नवंबर नवम्बर নভেম্বর",
    "ธันวาคม ธ.ค. दिसंबर दिसम्बर ডিসেম্বর",
)  # fmt: skip
#: Months of the Persian calendar.
_PERSIAN_NAMES = ("فروردین", "اردیبهشت", "خرداد", "تیر", "مرداد", "شهریور", "مهر", "آبان", "آذر", "دی", "بهمن", "اسفند")
_MARKED_MONTHS = {name: number for number, names in enumerate(_MARKED_NAMES, start=1) for name in names.split()}
_MARKED = re.compile(
    rf"(\d(?<!\d\d)\d?)\s*({'|'.join(map(re.escape, _MARKED_MONTHS))}),?\s*(?:พ\.ศ\.\s*)?(\d{{4}})(?!\d)"
)
_PERSIAN = re.compile(rf"(\d(?<!\d\d)\d?)\s+({'|'.join(_PERSIAN_NAMES)})(?:\s?ماه)?\s+(\d{{4}})(?!\d)")
#: First years, less one, of Japanese eras and of the Republic of China.
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911}
_ERA = re.compile(rf"({'|'.join(_ERAS)})\s?(元|\d{{1,3}})\s?年\s?(\d{{1,2}})\s?月\s?(\d{{1,2}})\s?日")
#: Ranges of the digits of all scripts: a search for them passes over other characters much faster than one for ``\d``.
DIGITS = "".join([f"{zero}-{chr(ord(zero) + 9)}" for zero in "0٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐᥆᧐᪀᪐᭐᮰᱀᱐꘠꣐꤀꧐꧰꩐꯰０"])
#: Years between the Buddhist and the Christian era.
_BUDDHIST = 543
#: Dates as C and Unix write them, with the year after the time.
_C_TIME = re.compile(
    r"\b([^\W\d_]{3,10})\s+(\d{1,2})\s+\d{1,2}:\d{2}(?::\d{2})?(?:\s*[AP]M)?(?:\s+[A-Z]{2,5}|\s+[+-]\d{4})?\s+(\d{4})\b"
)


def iso_date(text: str | None, *, day_first: bool | None = None) -> str | None:
    """Read a date from a text and return it as ISO 8601; with the time of day if the text has an ISO time.

    Understands ISO 8601, RFC 2822, numbers with the year first, ``1.2.2024``, ``31/1/2024``, and day, month name and
    year in several languages; also years of Japanese eras, of the Republic of China, and of the Buddhist and Persian
    calendars. Returns None for other texts, for dates before 1990, and for days after tomorrow, because a page can't
    have been published then.

    Parameters
    ----------
    text
        The text.
    day_first
        Whether the day comes first in ``1/2/2024``; if unknown (None), such an ambiguous date is not read, but
        ``31/1/2024`` is.

    Examples
    --------
    >>> iso_date("2024-05-03T06:00:00.000Z"), iso_date("3. Mai 2024, 6 Uhr"), iso_date("soon")
    ('2024-05-03T06:00:00+00:00', '2024-05-03', None)
    >>> iso_date("1/2/2024"), iso_date("1/2/2024", day_first=True), iso_date("5.8.24")
    (None, '2024-02-01', '2024-08-05')
    """
    if not text or len(text) > 200:
        return None
    for pattern, read, sign in _FORMS if text.isascii() else _ALL_FORMS:
        if sign in text and (match := pattern.search(text)):
            return read(match, day_first=day_first)
    try:
        return _written(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def dates_in(text: str, *, day_first: bool | None = None) -> list[tuple[int, int, str]]:
    """List the dates in a short text in order: start, end, and the date as returned by :func:`iso_date`.

    Examples
    --------
    >>> dates_in("Published 3 May 2024, updated 2024-05-04")
    [(10, 20, '2024-05-03'), (30, 40, '2024-05-04')]
    """
    found: list[tuple[int, int, str]] = []
    for pattern, read, sign in _FORMS if text.isascii() else _ALL_FORMS:
        for match in pattern.finditer(text) if sign in text else ():
            start, end = match.span()
            if all(end <= first or last <= start for first, last, _ in found) and (
                value := read(match, day_first=day_first)
            ):
                found.append((start, end, value))
    return sorted(found)


def month_number(name: str) -> int | None:
    """Return the number of a month by its name or abbreviation in one of several languages; None for other words.

    Examples
    --------
    >>> month_number("March"), month_number("août"), month_number("cats")
    (3, 8, None)
    """
    name = name.lower()
    return _MONTHS.get(name) or _MONTHS.get(name[:3])


def _year_first(match: re.Match[str], **_: bool | None) -> str | None:
    return _checked(*(int(part) for part in match.groups() if part))


def _with_points(match: re.Match[str], **_: bool | None) -> str | None:
    return _checked(int(match[3]) + 2000 * (len(match[3]) == 2), int(match[2]), int(match[1]))


def _with_month(match: re.Match[str], **_: bool | None) -> str | None:
    return _from_names(match[2], match[1], match[3]) if match[1] else _from_names(*match.groups()[-3:])


def _with_year_first(match: re.Match[str], **_: bool | None) -> str | None:
    return _from_names(match[2], match[3], match[1])


def _with_clock(match: re.Match[str], **_: bool | None) -> str | None:
    return _from_names(match[1], match[2], match[3])


def _with_marks(match: re.Match[str], **_: bool | None) -> str | None:
    year = int(match[3])
    return _checked(year - _BUDDHIST * (year > 2400), _MARKED_MONTHS[match[2]], int(match[1]))


def _with_era(match: re.Match[str], **_: bool | None) -> str | None:
    year = _ERAS[match[1]] + (1 if match[2] == "元" else int(match[2]))
    return _checked(year, int(match[3]), int(match[4]))


def _of_persian(match: re.Match[str], **_: bool | None) -> str | None:
    """Convert a date of the Persian calendar by the usual approximation of its leap years, right from 1799 to 2256.

    Months 1 to 6 have 31 days, and a cycle of 33 years has 8 leap years.
    """
    year, month, day = int(match[3]) + 1595, _PERSIAN_NAMES.index(match[2]), int(match[1])
    before = 31 * month if month < 6 else 30 * month + 6
    try:
        found = date.fromordinal(365 * year + year // 33 * 8 + (year % 33 + 3) // 4 + before + day - 356_033)
    except (ValueError, OverflowError):
        return None
    return _checked(found.year, found.month, found.day)


def _from_names(name: str, day: str, year: str) -> str | None:
    month = month_number(name)
    return _checked(int(year), month, int(day)) if month else None


def _with_signs(match: re.Match[str], *, day_first: bool | None) -> str | None:
    """Return a date from a year and two numbers, of which one above 12 is the day."""
    first, second, year = map(int, match.groups())
    if first > 12 or second > 12:
        day_first = first > 12
    return None if day_first is None else _checked(year, *((second, first) if day_first else (first, second)))


def _with_time(match: re.Match[str], **_: bool | None) -> str | None:
    found = None
    if match[4] is not None:
        found = _datetime(match[0]) or _datetime(_rewritten(match))
    if found is None:  # the date may still be right
        return _checked(int(match[1]), int(match[2]), int(match[3]))
    return _written(found)


def _written(found: datetime) -> str | None:
    """Return a date with its time as ISO 8601 if it is plausible for a web page."""
    return found.isoformat(timespec="seconds") if _is_plausible(found.date()) else None


def _datetime(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _rewritten(match: re.Match[str]) -> str:
    """Return a time with separators and time zone in the form that the standard library reads."""
    year, month, day, hour, minute, second, zone = match.groups()
    zone = "+00:00" if zone and zone.upper() in ("Z", "UTC", "GMT") else zone or ""
    return f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}{zone}"


def _checked(year: int, month: int, day: int) -> str | None:
    """Return a date if it exists and is plausible for a web page."""
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found.isoformat() if _is_plausible(found) else None


def _is_plausible(found: date) -> bool:
    """Tell whether a web page may have been published on a day; it may be tomorrow already where the page is from."""
    return found.year >= _FIRST_YEAR and found.toordinal() <= date.today().toordinal() + 1  # noqa: DTZ011 (any zone)


#: Date formats in order of preference: pattern, reader, and a sign that occurs in every match.
_FORMS: tuple[tuple[re.Pattern[str], Callable[..., str | None], str], ...] = (
    (_ISO, _with_time, "-"),
    (_YEAR_FIRST, _year_first, ""),
    (_DAY_FIRST, _with_points, "."),
    (_SLASHES, _with_signs, "/"),
    (_HYPHENS, _with_signs, "-"),
    (_C_TIME, _with_clock, ":"),
    (_WITH_MONTH, _with_month, " "),
    (_YEAR_AND_MONTH, _with_year_first, " "),
)
#: Those of texts that are not ASCII only; they come first, because an era has a year that looks like another number.
_ALL_FORMS = ((_ERA, _with_era, "年"), (_MARKED, _with_marks, ""), (_PERSIAN, _of_persian, " "), *_FORMS)
