"""Addresses of pictures, and kinds of pictures that are not content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from blockml.text.addresses import read_address

__all__ = [
    "DECORATION",
    "ELSEWHERE",
    "PERSONS",
    "class_and_id_words",
    "image_address",
    "is_byline_of",
    "is_decoration",
    "is_of_head",
    "is_other",
    "is_placeholder",
    "is_twin",
    "picture_file_name",
    "picture_sides",
    "shown_person",
]


_PIXELS = re.compile(r"\s*([0-9]{1,5})(?:\.[0-9]+)?(?:px)?\s*")
#: Width and height of a picture in a style, and one of them in the query of an address.
_STYLED = re.compile(r"(?:^|[;\s])(width|height)\s*:\s*([0-9]{1,5})(?:\.[0-9]+)?px")
_IN_ADDRESS = re.compile(r"[?&](?:w|width|h|height|s|size|sz)=([0-9]{1,4})(?:px)?(?![^&#])")
#: Width and height in a file name, and the maximum of both for a thumbnail, in pixels.
_THUMBNAIL, _MAX_THUMBNAIL = re.compile(r"[-_]([0-9]{2,4})x([0-9]{2,4})\.[a-z]{3,4}\b", re.IGNORECASE), 150
#: Maximum sides of an icon in pixels: of the shorter side, or of both.
_SHORT, _BOTH_SHORT = 48, 100
#: Ratio of the sides of strips such as the head of a site.
_STRIP = 4
#: Sides, the shorter one first, that give an aspect ratio instead of a size.
_SHAPES = frozenset({(1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 7), (5, 8), (9, 16), (9, 21)})
#: Standard sizes of advertisements.
_ADVERTISEMENTS = frozenset({(728, 90), (468, 60), (970, 90), (970, 250), (300, 250), (336, 280), (160, 600),
                             (120, 600), (300, 600), (320, 50), (320, 100), (250, 250), (125, 125)})  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
#: Words in the class or id of elements with a person's portrait.
PERSONS = frozenset("author authors autor avatar avatars bio byline bylines gravatar userpic".split())
_ADVERTISING = frozenset(
    "ad ads adserver adv advert advertisement advt anzeige banner beacon doubleclick promo reklama sponsor sponsored "
    "werbung".split()
)
#: Words in the address, class or id of a picture, or of the two elements around it, that is not content.
DECORATION = (
    PERSONS
    | _ADVERTISING - {"banner", "promo"}
    | frozenset(
        "badge badges bpthumb bullet btn button buttons captcha emoji emojis emoticon emoticons flag ico icon icones "
        "icons inlineimg logo logos onlinestatus postuseravatar profile rating repimg reputation share smiley smileys "
        "smilies social spacer spinner sprite sprites star stars statusicon userinfo".split()
    )
)
#: Words in the class or id of an element whose pictures are not content, and whole ids of the header of a site.
ELSEWHERE = (
    PERSONS
    | _ADVERTISING - {"banner", "adv"}
    | frozenset(
        "comment comments footer menu more nav newsletter popular profile recommend recommendations recommended "
        "related share sidebar social #banner #header #masthead #site-header".split()
    )
)
_SCREENS = re.compile(r"(?<![a-z])(?:desktop|mobile|phone|tablet)(?![a-z])", re.IGNORECASE)
#: Parts of the address of a picture before all text that belongs to the head of a site.
_HEAD = re.compile(
    r"(?:^|[^a-z])(?:(?:head(?:er|ing)?s?|hdr|mast(?:head)?|title|top)(?:img|image|pic)?[0-9]*(?![a-z])|nav(?![aeiouy])|menu)",
    re.IGNORECASE,
)
#: Folders of pictures shared by all pages of a site.
_DESIGN = re.compile(r"/(?:themes?|skins?|templates?|gui|layout)/", re.IGNORECASE)
#: Classes that cut a picture to a circle.
_ROUND = re.compile(r"(?:img|rounded?|is|border)[-_](?:circle|rounded|full|circular)\b")
#: Addresses of pages about a person of the site.
_PROFILE = re.compile(
    r"/(?:authors?|autor(?:en|es)?|auteurs?|profiles?|users?|members?|staff|contributors?)(?:/|\.php)", re.IGNORECASE
)
#: Addresses of links within the page, that print, send or share it, or lead to a home page or through a click counter.
_ACTION = re.compile(
    r"mailto:|javascript:|#(?:note|fn|ref|top)|(?:(?:https?:)?//[^/?#]+)?(?:\.?/)?(?:index\.\w+)?\Z|[^?]*(?:redirect|adclick|/ads?/)|(?:https?:)?//(?:[\w-]+\.)*(?:facebook|twitter|linkedin|pinterest|myspace|digg|addthis|addtoany"
    r"|stumbleupon|del\.icio|delicious)\.",
    re.IGNORECASE,
)
#: Texts of pictures that are buttons, and last words of the text of decoration.
_ACTIONS = frozenset(
    "back,comment,comments,e-mail,email,facebook,home,more,next,prev,previous,print,read more,rss,search,send,share,"
    "top,tweet,twitter".split(",")
)
#: Start of a word for logos, as in "logosmall".
_LOGO = re.compile(r"(?:^|[-_/.])logo", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:logo|avatar|icon|is (?:offline|online))\W*$", re.IGNORECASE)
#: Texts of pictures for a social network, and of the small ones of a gallery.
_OF_GALLERY = re.compile(
    r"thumbnail (?:image )?\d|view all (?:media|images)|.*\b(?:pinterest|pin with text)\b", re.IGNORECASE
)
#: Starts of lines that name the author.
_BYLINE = re.compile(
    r"\W*(?:written |posted |published |text )?(?:by|von|par|por|di|door|av|af|text|autor)\b", re.IGNORECASE
)
_NONE = frozenset[str]()
_MAX_NAMES = 1000  # maximum characters read of a class or id
_MAX_BYLINE, _MAX_NAME_WORDS, _MAX_ALT = 120, 4, 80
_PORTRAIT_OF = re.compile(r"(?:(?:photo|picture|portrait|image|headshot|foto) (?:of|von)|author)\b:?", re.IGNORECASE)
_SIDES = frozenset({"width", "height", "style"})
_SIZE = re.compile(r"[-_]?\d{2,4}x\d{2,4}")


def is_decoration(attributes: Mapping[str, str], address: str) -> bool:
    """Tell from its sides, address and text whether a picture is an icon, a spacer or an advertisement.

    Examples
    --------
    >>> is_decoration({}, "/img/icons/cat.png"), is_decoration({"width": "90", "height": "90"}, "cat.jpg")
    (True, True)
    >>> is_decoration({"alt": "Cats Ltd logo"}, "cats.png"), is_decoration({"width": "320"}, "cat.jpg")
    (True, False)
    >>> is_decoration({"alt": "thumbnail image 2 of Cats"}, "cats.png"), is_decoration({"alt": "A pin"}, "cats.svg")
    (True, False)
    """
    if _is_small(attributes, address):
        return True
    path = address.partition("?")[0].partition("#")[0].rsplit("/", 2)[-2:]
    if not DECORATION.isdisjoint(map(str.lower, _WORDS.findall("/".join(path)))) or _LOGO.search(path[-1]):
        return True
    if _DESIGN.search(address):
        return True
    alt = attributes.get("alt", "").strip()
    if not alt:
        return path[-1].lower().endswith(".svg") and "width" not in attributes
    end = alt[-_MAX_ALT:]
    is_named = end.lower() in _ACTIONS or _NAMED.search(end) is not None
    return is_named or _OF_GALLERY.match(alt[:_MAX_ALT]) is not None


def is_twin(first: str, second: str) -> bool:
    """Tell from their addresses whether of two pictures one is for phones and the other for larger screens.

    Examples
    --------
    >>> is_twin("/desktop/cat.webp", "/mobile/cat-2.webp"), is_twin("/cat.jpg", "/mobile/cat.jpg")
    (True, False)
    """
    own = {name.lower() for name in _SCREENS.findall(first)}
    other = {name.lower() for name in _SCREENS.findall(second)} if own else own
    return bool(own and other) and own.isdisjoint(other)


def is_of_head(address: str) -> bool:
    """Tell from its address whether a picture before all text belongs to the head of the site.

    Examples
    --------
    >>> is_of_head("/images/head/a.gif"), is_of_head("/2003head.gif"), is_of_head("/images/headland.jpg")
    (True, True, False)
    """
    return _HEAD.search("/".join(address.partition("?")[0].rsplit("/", 2)[-2:])) is not None


def picture_sides(attributes: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Return width and height of a picture in pixels; None for a side that its attributes don't give.

    Examples
    --------
    >>> picture_sides({"width": "800px", "height": "50%"}), picture_sides({"style": "width: 40px"})
    ((800, None), (40, None))
    """
    if attributes.keys().isdisjoint(_SIDES):
        return None, None
    width, height = (_PIXELS.fullmatch(attributes.get(side, "")) for side in ("width", "height"))
    styled = dict(_STYLED.findall(attributes["style"].lower())) if "style" in attributes else {}
    across, down = styled.get("width", width and width[1]), styled.get("height", height and height[1])
    return int(across) if across else None, int(down) if down else None


def _is_small(attributes: Mapping[str, str], address: str) -> bool:
    """Tell whether a picture has the sides of an icon, a spacer, a line or an advertisement.

    Examples
    --------
    >>> _is_small({"width": "1"}, ""), _is_small({"width": "90", "height": "90"}, "")
    (True, True)
    >>> _is_small({"width": "16", "height": "9"}, ""), _is_small({}, "a.jpg?w=64&h=64"), _is_small({}, "a.jpg?w=64")
    (False, True, False)
    """
    given = picture_sides(attributes)
    if given == (0, 0) or given in _ADVERTISEMENTS:
        return True
    sides = sorted(side for side in given if side)  # 0 means any size
    if not sides and len(asked := _IN_ADDRESS.findall(address) if "?" in address else []) > 1:
        sides = sorted(map(int, asked))
    if (match := _THUMBNAIL.search(address)) and max(int(match[1]), int(match[2])) <= _MAX_THUMBNAIL:
        return True
    if not sides or tuple(sides) in _SHAPES:
        return False
    is_strip = len(sides) > 1 and sides[-1] >= _STRIP * sides[0]
    return sides[0] <= _SHORT or sides[-1] <= _BOTH_SHORT or is_strip


def is_other(attributes: Mapping[str, str]) -> bool:
    """Tell whether an element around a picture is a circle, or a link to a person or one that shares the page.

    Examples
    --------
    >>> is_other({"href": "/authors/lee"}), is_other({"class": "rounded-full"}), is_other({"href": "/cats"})
    (True, True, False)
    """
    address, classes = attributes.get("href", "").strip(), attributes.get("class", "")
    is_link = bool(address) and (_PROFILE.search(address) is not None or _ACTION.match(address) is not None)
    return is_link or (bool(classes) and _ROUND.search(classes) is not None)


def shown_person(alt: str) -> str:
    """Return the name of the person that a picture may show, from its text; empty for other texts.

    Examples
    --------
    >>> shown_person("Photo of Ann Lee"), shown_person("Cats")
    ('ann lee', '')
    """
    name = " ".join(_PORTRAIT_OF.sub("", alt[:_MAX_BYLINE].casefold()).split())
    return name if 0 < name.count(" ") < _MAX_NAME_WORDS else ""


def is_byline_of(line: str, name: str) -> bool:
    """Tell whether a line is the byline of a person, given in lower case.

    Examples
    --------
    >>> is_byline_of("By Ann Lee and Bo Ek | May 3", "ann lee"), is_byline_of("Ann Lee at the fair", "ann lee")
    (True, False)
    """
    return len(line) <= _MAX_BYLINE and _BYLINE.match(line) is not None and name in line.casefold()


def class_and_id_words(attributes: Mapping[str, str]) -> frozenset[str]:
    """Return the lower-case words of an element's classes and id, and each class or id as a whole after a ``#``.

    Examples
    --------
    >>> sorted(class_and_id_words({"class": "userAvatar", "id": "x-1"}))
    ['#userAvatar', '#x-1', '1', 'avatar', 'user', 'x']
    """
    classes, own = attributes.get("class"), attributes.get("id")
    names = _words(classes[:_MAX_NAMES]) if classes else _NONE
    return names | _words(own[:_MAX_NAMES]) if own else names


@lru_cache(maxsize=4096)
def _words(name: str) -> frozenset[str]:
    return frozenset([f"#{name}", *map(str.lower, _WORDS.findall(name))])


def picture_file_name(address: str) -> str:
    """Return the file name in an address, without size and suffix.

    Examples
    --------
    >>> picture_file_name("https://a.example/80/cat-9-80x60.webp?x=1")
    'cat-9'
    """
    name = re.split(r"[?#]", address, maxsplit=1)[0].rpartition("/")[2]
    return _SIZE.sub("", re.split(r"[._]", name, maxsplit=1)[0])


#: Attributes with the address of a lazily loaded picture, whatever ``src`` shows until it is loaded.
_LAZY = ("data-src", "data-lazy-src", "data-original", "data-hi-res-src", "data-url")
#: Suffixes of pictures, starts of absolute addresses, signs of templates like "cat_{width}.jpg", and of other texts.
_SUFFIX = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg)\b", re.IGNORECASE)
_ABSOLUTE = re.compile(r"(?:https?:)?//.", re.IGNORECASE | re.DOTALL)
_TEMPLATE, _NO_ADDRESS = re.compile("[{}]"), re.compile(r"[\s{}\"'<>]")
#: File names of transparent pictures and of placeholders for pictures that are still loading.
_TRANSPARENT = re.compile(
    r"(?:(?:spacer?|blank|transparent|trans|pixel|pxl|clear|cleardot|empty|1x1)[-_]?)+\.(?:gif|png)"
)
_LOADING = re.compile(
    r"(?:.*[-_.])?(?:placeholder|lazy|lazyload|loading|loader)(?:[-_.].*)?\.(?:gif|png|svg|jpe?g|webp)"
)
#: Maximum characters of such a name, because the time grows with the square of its length.
_MAX_NAME = 200
#: A candidate of ``srcset``: an address, which may have commas, and what follows it up to the next comma. Repeats of
#: characters are possessive, so that the time grows with the length of the text only.
_CANDIDATE = re.compile(r"(?P<address>[^\s,]\S*+)(?P<descriptor>(?:(?<!,)[^,]++)?)")
#: The end of a candidate of ``srcset`` before the next one.
_OF_SET = re.compile(r"\s[0-9]{1,9}(?:\.[0-9]{1,9})?[wx]\s*+,\s")
_DESCRIPTOR = re.compile(r"\s*+([0-9]{1,9}+(?:\.[0-9]{1,9}+)?)[wx](?:\s++[0-9]++h)?\s*+")


def image_address(attributes: Mapping[str, str]) -> str:
    """Return the address of a picture, from ``src``, ``srcset`` or an attribute for lazy loading.

    ``src`` counts unless a known lazy-loading attribute has an address, or ``src`` is a placeholder; then the widest
    candidate of a ``srcset`` counts, and after that any ``data-*`` attribute with the address of a picture.

    Examples
    --------
    >>> image_address({"src": "blank.gif", "data-src": "cat.jpg"}), image_address({"src": "cat.jpg", "data-src": "no"})
    ('cat.jpg', 'cat.jpg')
    >>> image_address({"src": "blank.gif", "srcset": "cat.jpg 400w, cats.jpg 800w"})
    'cats.jpg'
    >>> image_address({"src": "blank.gif", "data-full": "cat.jpg"}), image_address({"src": "a.jpg 400w, b.jpg 800w"})
    ('cat.jpg', 'b.jpg')
    """
    source = _address(attributes.get("src", ""))
    if source and attributes.keys().isdisjoint(_LAZY) and not is_placeholder(source):  # most pictures
        return source
    late = [address for name in _LAZY if name in attributes and (address := _address(attributes[name]))]
    known = next(filter(_is_picture, late), "")
    if known or (source and not is_placeholder(source)):
        return known or source
    sets = [value for name, value in attributes.items() if name.endswith("srcset")]
    others = [
        read_address(value) for name, value in attributes.items() if name.startswith("data-") and name not in _LAZY
    ]
    widest = next(filter(None, map(_widest, sets)), "")
    return widest or next(filter(_is_picture_file, others), "") or next(iter(late), "") or source


def _address(value: str) -> str:
    """Return the address in an attribute, and the widest one if it has candidates as in a ``srcset``."""
    address = read_address(value)
    return _widest(address) if " " in address and _OF_SET.search(address) else address


def _is_picture(value: str) -> bool:
    """Tell whether the value of a lazy-loading attribute is an address, unlike "false" and templates."""
    return _TEMPLATE.search(value) is None and bool(_ABSOLUTE.match(value) or _SUFFIX.search(value))


def _is_picture_file(value: str) -> bool:
    """Tell whether the value of any other attribute is the address of a picture."""
    return _SUFFIX.search(value, 1) is not None and _NO_ADDRESS.search(value) is None


def _widest(candidates: str) -> str:
    """Return the candidate of a ``srcset`` with the largest width or density, the first of equal ones.

    Examples
    --------
    >>> _widest("a.jpg, b.jpg 2x"), _widest("/w_400,h_300/a.jpg 400w, data:x 900w"), _widest("{template} 3x")
    ('b.jpg', '/w_400,h_300/a.jpg', '')
    """
    widest, found = -1.0, ""
    for match in _CANDIDATE.finditer(candidates):
        address, size = match["address"].rstrip(","), _DESCRIPTOR.fullmatch(match["descriptor"])
        if size is None and match["descriptor"].strip():
            continue  # not a width or density, such as the second word of a file name with spaces
        width = float(size[1]) if size else 1.0
        if width > widest and address and "{" not in address and not address.startswith("data:"):
            widest, found = width, address
    return found


def is_placeholder(address: str) -> bool:
    """Tell whether an address is a data URL, or has the file name of an empty picture or a loading placeholder.

    Examples
    --------
    >>> is_placeholder("/blank.gif"), is_placeholder("/img/grey-placeholder.png?v=2"), is_placeholder("/cat.gif")
    (True, True, False)
    """
    name = address.partition("?")[0].rpartition("/")[2].lower()
    if address.startswith("data:") or len(name) > _MAX_NAME:
        return address.startswith("data:")
    may_load = "lazy" in name or "load" in name or "placeholder" in name  # most names are ruled out quickly
    return _TRANSPARENT.fullmatch(name) is not None or (may_load and _LOADING.fullmatch(name) is not None)
