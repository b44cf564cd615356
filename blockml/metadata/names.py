"""Names of authors in declared and visible texts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from blockml.metadata.dates import month_number

#: Words before the name of an author, and text after it.
_BY = re.compile(
    r"\A(?:(?:#\d+\s+)?(?:(?:(?:written|posted|published|submitted|started|authored|created|article|post|recipe|review"
    r"|words|text|story|more stories)\s+)?by|von|par|por|da|di|door|av|af|text|durch|geschrieben von|autor(?:in)?"
    r"|author|verfasser(?:in)?)\b[:\s]+|(?:作者|著者|投稿者|记者|责任编辑|责编)\s*[:：]\s*|de\s+(?=\S+\s+»))",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\s+(?:[|•·–—/»]|\b[iI]n\b\s|@|\d).*\Z|\s*[(（\[【].*\Z|,\s*\d.*\Z", re.DOTALL)
_AND = r"(?:and|und|et|y|e|en|og|och)\s+"
_LIST = re.compile(rf"\s*[,;|&、・，]\s*(?:{_AND})?|\s+{_AND}")
#: Degrees and the like after a name.
_DEGREE = re.compile(r"(?:Ph\.?D|M\.?[ADS]|MBA|RDN?|RN|CFP|Jr|Sr|LLC|Inc|Ltd|al)\.?")
#: Texts in lower case that are no names, and starts and ends of such texts.
_NO_NAMES = frozenset(
    "by,name,names,your name,admin,editor,staff,redaktion,null,none,undefined,unknown,share,get,sign in,log in,login,"
    "written,posted,published,updated,last updated,joined,uppdaterad,aktualisiert,lesedauer,page,posts,cms,copyright,"
    "all rights reserved,user,super user,administrator,guest,anonymous,discuz! team,comsenz ui team,发表于".split(",")
)
_NO_STARTS = ("//", "visit the ", "please ", "photo:", "foto:", "фото:")
_NO_ENDS = (" by", "author", "authors", "your name")
_COUNT = re.compile(r"\d+ (?:min|hour|day|week|month|year|comment|point|post|repl|view)")
_MONTH = r"(?P<{}>[^\W\d_]{{3,10}})\.?"
#: Dates with a word that may be a month, numeric dates, times and separators beside a name.
_WHEN = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s+(?:de\s+)?{_MONTH.format('after')},?(?:\s+(?:de\s+)?\d{{4}}\b)?"
    rf"|\b{_MONTH.format('before')}\s+\d{{1,4}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?"
    r"|\b\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b|\b\d{4}年\s?\d{1,2}月\s?\d{1,2}日"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[apAP]\.?[mM]\b\.?|\s+Uhr\b)?|\b\d+\s\w+\sago\b|\s[|•·]\s"
)
#: Characters of which each of them has one.
_BESIDE = re.compile(r"[\d|•·]")
#: Words between a name and a date, and names of other sites in links after a name.
_BEFORE_DATE = re.compile(
    r"(?:(?:\A|\s+)(?:last|published|posted|updated|joined|on|at|(?:mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day)?))+\W*\Z",
    re.IGNORECASE,
)
_LINKS = frozenset(("facebook", "twitter", "pinterest", "linkedin", "instagram", "email", "e-mail"))
#: Labels of ``twitter:data1`` that say that it is an author.
_LABEL = re.compile(
    r"\s*(?:(?:(?:written|posted|published|created|article)\s+)?by|auth?or(?:e|in)?|auteur|autor(?:stwa)?|автор"
    r"|(?:verfasst|geschrieben) von|geschreven door|skrevet a[fv]|skriven av|écrit par|escri(?:to|ta|t) p[oe]r"
    r"|scritto da|napisane przez|написано(?: автором)?|kirjoittanut|yazan|ditulis oleh"
    r"|作者|著者|投稿者|執筆者|작성자)\W*\Z",
    re.IGNORECASE,
)


def names_author(label: str) -> bool:
    """Tell whether a label, such as "Written by", says that the value beside it is an author.

    Examples
    --------
    >>> names_author("Written by"), names_author("Est. reading time")
    (True, False)
    """
    return _LABEL.match(label) is not None


def clean_names(values: Iterable[str]) -> tuple[str, ...]:
    """Clean names of authors: without "by", degrees and addresses; several names in one text are separated.

    Examples
    --------
    >>> clean_names(["By Ann Lee and Bob Ray (London)", "https://cat.example/ann"])
    ('Ann Lee', 'Bob Ray')
    """
    found: list[str] = []
    for value in values:
        text = _BY.sub("", value.strip().lstrip("[（【 "))
        is_list = ";" in text or "," in text or "，" in text or len(text.split()) > 3
        for name in (_BY.sub("", part.strip()) for part in _LIST.split(text)) if is_list else (text,):
            cleaned = _AFTER.sub("", name).strip(" .,;:-–|~]）】")
            if found and _DEGREE.fullmatch(cleaned):
                continue
            if cleaned and len(cleaned) <= 60 and len(cleaned.split()) <= 6 and _is_name(cleaned):
                found.append(cleaned)
    return tuple(dict.fromkeys(found))


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
