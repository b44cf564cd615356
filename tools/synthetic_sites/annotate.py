"""Separation of annotated HTML into the page and the labels of its text.

Elements of annotated HTML may have attributes such as ``data-label="main"``. A text has the label of the nearest
ancestor with the attribute, else ``other``. The attributes are removed from the source as text, so that the page keeps
its unclosed tags and odd quoting; the labels are read from the parser events of the annotated source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin

from lxml import etree

from blockml.errors import DatasetError, UnknownNameError
from blockml.page import Label

__all__ = ["HIDDEN_TAGS", "LABELS", "LabelledText", "annotate", "link_targets"]

LABELS = tuple(label.value for label in Label)

# Elements whose text is never rendered. The text of noscript and CSS-hidden elements counts as text of the page.
HIDDEN_TAGS = frozenset({"script", "style", "template", "iframe", "noembed", "noframes"})

_ATTRIBUTE = re.compile(r'\s+data-label="[^"]*"')
_DEFAULT_LABEL = Label.OTHER.value


class LabelledText(NamedTuple):
    """Text node of the body: its text with normalised white space, and its label."""

    text: str
    label: str


def annotate(source: str) -> tuple[str, list[LabelledText]]:
    """Separate annotated HTML into the page and its labelled text.

    Parameters
    ----------
    source
        HTML with ``data-label`` attributes in double quotes.

    Returns
    -------
    tuple of str and list of LabelledText
        The HTML without the attributes, and the text nodes of its body in document order, except those of white space
        only.

    Raises
    ------
    UnknownNameError
        A label outside :data:`LABELS`.
    DatasetError
        Removing the attributes changes the text of the page, e.g. because one is in a text node.

    Examples
    --------
    >>> annotate('<body><p data-label="main">One <b>two</b></p><p>three')
    ('<body><p>One <b>two</b></p><p>three',
     [LabelledText(text='One', label='main'), LabelledText(text='two', label='main'),
      LabelledText(text='three', label='other')])
    """
    runs = _walk(source).runs
    page = _ATTRIBUTE.sub("", source)
    if "data-label" in page or [run.text for run in _walk(page).runs] != [run.text for run in runs]:
        raise DatasetError('data-label must be an attribute of the form data-label="..."')
    return page, runs


def link_targets(page: str, url: str) -> list[str]:
    """Return the distinct absolute link targets of a page, without fragments, in order of first occurrence.

    Examples
    --------
    >>> link_targets('<a href="/a#x">1</a><a href="b">2</a><a href="/a">3</a>', "http://h.example/d/")
    ['http://h.example/a', 'http://h.example/d/b']
    """
    return list(dict.fromkeys(urljoin(url, href.partition("#")[0]) for href in _walk(page).hrefs))


class _Walker:
    """Collector of labels and links from parser events, which unlike a tree continue after ``</html>``."""

    def __init__(self) -> None:
        self.runs: list[LabelledText] = []
        self.hrefs: list[str] = []
        self._labels = [_DEFAULT_LABEL]
        self._hidden = 0
        self._text: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._flush()
        label = attributes.get("data-label", self._labels[-1])
        if label not in LABELS:
            raise UnknownNameError("label", label, LABELS)
        self._labels.append(label)
        self._hidden += tag in HIDDEN_TAGS or tag == "head"
        if tag == "a" and attributes.get("href"):
            self.hrefs.append(attributes["href"])

    def end(self, tag: str) -> None:
        self._flush()
        self._labels.pop()
        self._hidden -= tag in HIDDEN_TAGS or tag == "head"

    def data(self, text: str) -> None:
        if not self._hidden:
            self._text.append(text)

    def comment(self, text: str) -> None:  # noqa: ARG002 - a comment separates text nodes
        self._flush()

    def close(self) -> None:
        self._flush()

    def _flush(self) -> None:
        if text := " ".join("".join(self._text).split()):
            self.runs.append(LabelledText(text, self._labels[-1]))
        self._text.clear()


def _walk(source: str) -> _Walker:
    walker = _Walker()
    target: Any = walker
    parser = etree.HTMLParser(target=target, encoding="utf-8", remove_pis=True)
    parser.feed(source.encode())
    parser.close()
    return walker
