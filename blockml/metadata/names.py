"""Names of authors in declared and visible texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import takewhile

from blockml.metadata.dates import DIGITS, month_number

#: Words before an author's name, and text after it.
_BY = re.compile(
    r"\A(?:(?:#\d+\s+)?(?:(?:(?:written|posted|published|submitted|started|authored|created|article|post|recipe|review"
    r"|words|text|story|more stories)\s+)?by|(?:(?:message|mensaje|mensagem|messaggio|bericht|beitrag|inlägg)\s+)?"
    r"(?:von|par|por|da|di|door|av|af)|text|durch|przez|tekst|автор|текст|yazan"
    r"|(?:geschrieben|verfasst) von|(?:écrit|publié|rédigé) par|(?:escrito|publicado) por"
    r"|(?:scritto|pubblicato) da|(?:geschreven|geplaatst) door|(?:skrevet|skriven) a[vf]"
    r"|(?:napisane|opublikowane) przez"
    r"|autor(?:in|e|a)?|auteur|author|verfasser(?:in)?|words(?=:)|reporting(?=:))\b[:\s]+"
    r"|(?:作者|著者|投稿者|执笔|執筆|撰文|记者|記者|责任编辑|责编|(?:取材・)?文|ライター|筆者|글|기자)\s*[:：]\s*"
    r"|de\s+(?=\S+\s+»)|(?=[\uac00-\ud7a3]{2,4}\s?(?:기자|특파원)\s))",
    re.IGNORECASE,
)
#: A byline word within a line: after a date, or a label before a colon. Each pattern starts with a set of
#: characters, because all other places are then passed over quickly.
_AFTER_DATE = (
    r"(?:(?<=\d)\d{3}|(?<=:)\d\d)(?:\s*[apAP]\.?[mM]\b\.?)?[\s,|•·–—-]+"
    r"(?=(?:by|By|BY|von|par|por|door|av|af)\s+[^\W\d_a-z])"
)
_LATER_AFTER_DATE = re.compile(rf"[{DIGITS}:]{_AFTER_DATE}")
_LATER = re.compile(rf"[{DIGITS}:\s](?:{_AFTER_DATE}|(?<=\s)(?=(?:作者|著者|记者|記者|撰文|文)\s*[:：]))")
#: Numbers of characters of a text that has something before its byline.
_MIN_DATED, _MAX_DATED = 10, 200
#: First words of these.
_FIRST_WORDS = frozenset(
    "by written posted published submitted started authored created article post recipe review words text story more"
    " von par por da di door av af durch przez tekst автор текст yazan geschrieben verfasst écrit publié"
    " rédigé escrito publicado scritto pubblicato geschreven geplaatst skrevet skriven napisane opublikowane autor"
    " autorin autore autora auteur author verfasser verfasserin de message mensaje mensagem messaggio bericht beitrag"
    " inlägg reporting".split()
)
_FIRST_PAIRS = frozenset(word[:2] for word in _FIRST_WORDS)
_PAIRS_IN_ANY_CASE = frozenset(
    first + second
    for pair in _FIRST_PAIRS
    for first in (pair[0], pair[0].upper())
    for second in (pair[1], pair[1].upper())
)
_AFTER = re.compile(r"\s+(?:[|•·–—/»]|\b[iI]n\b\s|@|\d).*\Z|\s*[(（\[【].*\Z|,\s*\d.*\Z", re.DOTALL)
_AND = r"(?:and|AND|und|UND|et|ET|y|e|en|og|och|i|и|та|ve)\s+"
_LIST = re.compile(rf"\s*[,;|&、・，]\s*(?:{_AND})?|\s+{_AND}")
#: Separators between two names, at the start and at the end of a text.
_JOINER = r"[\s,;|&、・，·•/]|\b(?:and|AND|und|UND|et|ET|y|e|en|og|och|i|и|та|ve|mit|with)(?!\w)"
_JOINS_BEFORE, _JOINS_AFTER = re.compile(rf"(?:{_JOINER})+"), re.compile(rf"(?:{_JOINER})+\Z")
_MAX_JOINS = 16  # characters read at the end of a text (our choice: bounds the time)
#: Lower-case words in the names of persons; words that don't occur in names; names of persons in other scripts.
_PARTICLES = frozenset(
    "de da do dos das du del della di la le van von der den ten ter el al bin ibn y e af av zu".split()
)
_NO_PERSONS = frozenset(
    "news reporter editor staff sports more read photo image share updated published posted the by follow about contact"
    " home comments comment subscribe login sign menu search published author authors writer correspondent columnist"
    " contributor journalist critic blogger producer photographer freelance".split()
)
_OTHER_PERSON = re.compile(
    r"[\u3400-\u9fff\u3040-\u30ff]{2,4}(?:[ \u3000・][\u3400-\u9fff\u3040-\u30ff]{1,6})?|[\uac00-\ud7a3]{2,4}"
)
_FIRST_IDEOGRAPH = "\u2e80"
_DIGIT = re.compile(r"\d")
_COMMAS = frozenset(";,，、")
#: Lower-case words within and after the names of a byline, and first characters of signs after them.
_JOINING = frozenset("and und et y e en og och i и та ve".split())
_AFTER_NAMES = frozenset("on for in at from am vom um le à el il em op den dne kl photos photo with".split())
_ENDING = tuple("|•·–—»(（[【-/")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
#: Titles after the names of reporters in East Asian languages.
_REPORTER = re.compile(r"\s*(?:기자|記者|记者|특파원|앵커)\Z")
#: Degrees and similar suffixes of a name.
_DEGREE = re.compile(r"(?:Ph\.?D|M\.?[ADS]|MBA|RDN?|RN|CFP|Jr|Sr|LLC|Inc|Ltd|al)\.?")
#: Words of a name that are neither initials nor particles.
_FULL_WORD = re.compile(r"\b[^\W\d_a-z][\w'’-]+")
#: Lower-case texts that are not names, and starts and ends of other texts that are not.
_NO_NAMES = frozenset(
    "by,name,names,your name,admin,editor,staff,redaktion,null,none,undefined,unknown,share,get,sign in,log in,login,"
    "written,posted,published,updated,last updated,joined,uppdaterad,aktualisiert,lesedauer,page,posts,cms,copyright,"
    "all rights reserved,user,super user,administrator,guest,anonymous,discuz! team,comsenz ui team,发表于".split(",")
)
_NO_STARTS = ("//", "visit the ", "please ", "photo:", "foto:", "фото:")
_NO_ENDS = (" by", "author", "authors", "your name")
_COUNT = re.compile(r"\d+ (?:min|hour|day|week|month|year|comment|point|post|repl|view)")
_MONTH = r"(?P<{}>[^\W\d_]{{3,10}})\.?"
#: Dates with a word that may be a month, numeric dates, times, and separators next to a name.
_WHEN = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s+(?:de\s+)?{_MONTH.format('after')},?(?:\s+(?:de\s+)?\d{{4}}\b)?"
    rf"|\b{_MONTH.format('before')}\s+\d{{1,4}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?"
    r"|\b\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b|\b\d{4}年\s?\d{1,2}月\s?\d{1,2}日"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[apAP]\.?[mM]\b\.?|\s+Uhr\b)?|\b\d+\s\w+\sago\b|\s[|•·]\s"
)
#: At least one of these characters is in each of them.
_BESIDE = re.compile(r"[\d|•·]")
#: Words between a name and a date, and names of other sites in links after a name.
_BEFORE_DATE = re.compile(
    r"(?:(?:\A|\s+)(?:last|published|posted|updated|joined|on|at|(?:mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day)?))+\W*\Z",
    re.IGNORECASE,
)
_LINKS = frozenset(("facebook", "twitter", "pinterest", "linkedin", "instagram", "email", "e-mail"))
#: Values of ``twitter:label1`` that say that ``twitter:data1`` is an author.
_LABEL = re.compile(
    r"\s*(?:(?:(?:written|posted|published|created|article)\s+)?by|auth?or(?:e|in)?|auteur|autor(?:stwa)?|автор"
    r"|(?:verfasst|geschrieben) von|geschreven door|skrevet a[fv]|skriven av|écrit par|escri(?:to|ta|t) p[oe]r"
    r"|scritto da|napisane przez|написано(?: автором)?|kirjoittanut|yazan|ditulis oleh"
    r"|作者|著者|投稿者|執筆者|작성자)\W*\Z",
    re.IGNORECASE,
)


def names_author(label: str) -> bool:
    """Tell whether a label, such as "Written by", says that its value is an author.

    Examples
    --------
    >>> names_author("Written by"), names_author("Est. reading time")
    (True, False)
    """
    return _LABEL.match(label) is not None


def surname_last(text: str) -> str:
    """Return names that may be written as "Last, First" and separated by semicolons with the surname last.

    Two full names on both sides of a comma, degrees, and names of offices stay as they are.

    Examples
    --------
    >>> surname_last("Thorne, Agnes; van der Berg, Jan M."), surname_last("Ann Lee, Bob Ray"), surname_last("Lee, Jr.")
    ('Agnes Thorne; Jan M. van der Berg', 'Ann Lee, Bob Ray', 'Lee, Jr.')
    """
    names = []
    for name in text.split(";"):
        last, _, first = map(str.strip, name.partition(","))
        n_last, n_first = (len(_FULL_WORD.findall(part)) for part in (last, first))
        is_inverted = first and "," not in first and 0 < n_last < 3 and n_last + n_first < 4
        names.append(f"{first} {last}" if is_inverted and not _DEGREE.fullmatch(first) else name.strip())
    return "; ".join(names)


def clean_names(values: Iterable[str]) -> tuple[str, ...]:
    """Clean author names: remove "by", degrees and addresses, and split texts with several names.

    Examples
    --------
    >>> clean_names(["By Ann Lee and Bob Ray (London)", "https://cat.example/ann"])
    ('Ann Lee', 'Bob Ray')
    """
    found: list[str] = []
    for value in values:
        text = _BY.sub("", value.strip().lstrip("[（【 "))
        is_list = not _COMMAS.isdisjoint(text) or len(text.split()) > 3
        for name in (_BY.sub("", part.strip()) for part in _LIST.split(text)) if is_list else (text,):
            cleaned = _AFTER.sub("", name).strip(" .,;:-–|~]）】")
            if found and _DEGREE.fullmatch(cleaned):
                continue
            if cleaned and len(cleaned) <= 60 and len(cleaned.split()) <= 6 and _is_name(cleaned):
                found.append(cleaned)
    return tuple(dict.fromkeys(found))


def starts_byline(text: str, *, only: bool = False) -> bool:
    """Tell whether a text starts with a byline word such as "By" or, with ``only``, consists of one.

    Examples
    --------
    >>> starts_byline("By Ann Lee"), starts_byline("Written by", only=True), starts_byline("By Ann Lee", only=True)
    (True, True, False)
    """
    start = text.lstrip()[:2].lower()
    if start not in _FIRST_PAIRS and start < _FIRST_IDEOGRAPH:
        return False
    words = text.split(maxsplit=4)
    if only and len(words) > 3:
        return False
    if words[0][0] < _FIRST_IDEOGRAPH and words[0].lower().rstrip(":") not in _FIRST_WORDS:
        return False
    text = " ".join([*words, ""])
    match = _BY.match(text)
    return match is not None and (not only or match.end() == len(text))


def unjoined(text: str) -> tuple[str, bool, bool]:
    """Return a text without the separators that join it to names before and after it, and whether each was there.

    Examples
    --------
    >>> unjoined(", Ann Lee and"), unjoined("and"), unjoined("Ann Lee")
    (('Ann Lee', True, True), ('', True, True), ('Ann Lee', False, False))
    """
    text = " ".join(text.split())
    before, after = _JOINS_BEFORE.match(text), _JOINS_AFTER.search(text, max(0, len(text) - _MAX_JOINS))
    start, end = before.end() if before else 0, after.start() if after else len(text)
    return text[start:end], before is not None, after is not None


def person_names(text: str) -> tuple[str, ...]:
    """Return the names in a text if it has only names of persons (and agencies) after "By"; otherwise nothing.

    Examples
    --------
    >>> person_names("By Ann Lee and Bob van Ray"), person_names("Travel news"), person_names("구현모 기자")
    (('Ann Lee', 'Bob van Ray'), (), ('구현모',))
    """
    if _DIGIT.search(text):
        return ()
    names = [name for given in clean_names((text,)) if (name := _REPORTER.sub("", given))]
    names = [name for k, name in enumerate(names) if not k or " " in name or not name[0].islower()]  # "agencies"
    are_names = (
        _is_person(name) or (k and " " not in name and name.lower() not in _NO_PERSONS) for k, name in enumerate(names)
    )
    return tuple(names) if all(are_names) else ()


def byline_in(text: str) -> str:
    """Return the part of a line that starts with a word such as "By", at its start or after a date; else empty.

    Examples
    --------
    >>> byline_in("Posted on May 3, 2024 by Ann Lee in Cats"), byline_in("来源：新华网 作者：李小明"), byline_in("Cats")
    ('by Ann Lee in Cats', '作者：李小明', '')
    """
    if starts_byline(text):
        return text
    found = _later(text) if _MIN_DATED < len(text) < _MAX_DATED else None
    return text[found.end() :] if found else ""


def _later(text: str) -> re.Match[str] | None:
    """Find a byline word after the start of a text."""
    return (_LATER if "者" in text or "文" in text else _LATER_AFTER_DATE).search(text)


def bylines(texts: Sequence[str]) -> list[tuple[int, str]]:
    """List the bylines in some texts, at their start or later, with the indices of the texts.

    Examples
    --------
    >>> bylines(["Cats", "May 3, 2024 by Ann Lee", "", "By Bob Ray"])
    [(1, 'by Ann Lee'), (3, 'By Bob Ray')]
    """
    held = [(k, text) for k, text in enumerate(texts) if text]
    if not _later("\n".join([text for _, text in held if _MIN_DATED < len(text) < _MAX_DATED])):  # few have one later
        starts = [text.lstrip()[:2] for _, text in held]  # which rule out most
        held = [
            item
            for item, start in zip(held, starts, strict=True)
            if start in _PAIRS_IN_ANY_CASE or start >= _FIRST_IDEOGRAPH
        ]
    return [(k, byline) for k, text in held if (byline := byline_in(text))]


def first_names(text: str) -> tuple[str, ...]:
    """Return the names of persons after "By" up to a date, a role, a label, or a word such as "for".

    Examples
    --------
    >>> first_names("By Ann Lee and Bob Ray, Political Editor"), first_names("Posted by Ann Lee on May 3, 2024")
    (('Ann Lee', 'Bob Ray'), ('Ann Lee',))
    >>> first_names("By train to Rome"), first_names("by ann » May 3, 2024"), first_names("作者：李小明 2024-05-03")
    ((), ('ann',), ('李小明',))
    """
    words = _BY.sub("", text.strip()).split()
    count = next(filter(partial(_ends_names, words), range(len(words))), len(words))
    if count == 1 and not month_number(words[0]) and any(map(_YEAR.search, words)):  # a user, and the date of a post
        return clean_names(words[:1])
    lower = (k for k in range(count) if words[k][0].islower() and words[k] not in _PARTICLES | _JOINING)
    if (place := next(lower, None)) is not None:  # only a role after a comma may have such words
        count = next((k for k in range(place, 0, -1) if words[k - 1][-1] == ","), 0)
    while 0 < count < len(words) and month_number(words[count - 1].strip(".,")):
        count -= 1
    names = clean_names((_BEFORE_DATE.sub("", " ".join(words[:count])),))
    return tuple(takewhile(_is_person, (_REPORTER.sub("", name) for name in names)))


def _ends_names(words: list[str], k: int) -> bool:
    """Tell whether a word of a byline follows its names."""
    word = words[k]
    is_sign = word.startswith(_ENDING) or word[-1] == ":" or "：" in word
    return is_sign or word in _AFTER_NAMES or _DIGIT.search(word) is not None


def _is_person(name: str) -> bool:
    """Tell whether a text looks like the full name of a person."""
    words = name.split()
    if not 2 <= len(words) <= 5:
        return _OTHER_PERSON.fullmatch(name) is not None
    return (
        words[-1] not in _PARTICLES
        and all(
            (word[0].isupper() or word in _PARTICLES)
            and (lower := word.lower()) not in _NO_PERSONS
            and lower not in _DAYS
            and word[-1] != ":"
            and not _DIGIT.search(word)
            for word in words
        )
    ) or _OTHER_PERSON.fullmatch(name) is not None


def _is_name(text: str) -> bool:
    """Tell whether a short text may be the name of an author."""
    text = text.lower().rstrip(" *:?!")
    return (
        any(map(str.isalpha, text))
        and text not in _NO_NAMES
        and not text.startswith(_NO_STARTS)
        and not text.endswith(_NO_ENDS)
        and not ("@" in text or "http:" in text or "https:" in text or "www." in text or "facebook.com" in text)
        and not (text[0].isdigit() and _COUNT.match(text))
    )


def byline_names(text: str) -> tuple[str, ...]:
    """Return the names of authors in a visible byline, which often has a date before or after them.

    Examples
    --------
    >>> byline_names("May 3, 2024 by Ann Lee"), byline_names("Ann Lee | 3 min"), byline_names("15.05.2020, 07:11")
    (('Ann Lee',), ('Ann Lee',), ())
    """
    start = 0
    for match in _WHEN.finditer(text) if _BESIDE.search(text) else ():
        month = match["after"] or match["before"]
        if month and not month_number(month):
            continue
        if names := clean_names((_BEFORE_DATE.sub("", text[start : match.start()]),)):
            return names
        start = match.end()
    words = text[start:].split()
    while words and words[-1].lower() in _LINKS:
        del words[-1]
    return clean_names((" ".join(words),))
