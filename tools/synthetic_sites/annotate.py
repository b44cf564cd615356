"""Annotated HTML -> the page an extractor sees, and the labels of its text.

A page is written once, as HTML whose elements may carry ``data-label="main"`` and the like.  Text takes the label
of its nearest ancestor that has one, else ``other``.  The attributes are then cut out of the source as text, so that
the page keeps its unclosed tags and odd quoting, and the labels are read from the parser events of the annotated
source.
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

# Elements whose text a browser never lays out; noscript and CSS-hidden elements are text of the page all the same.
HIDDEN_TAGS = frozenset({"script", "style", "template", "iframe", "noembed", "noframes"})

_ATTRIBUTE = re.compile(r'\s+data-label="[^"]*"')
_DEFAULT_LABEL = Label.OTHER.value


class LabelledText(NamedTuple):
    """One text node of the body: its white-space-normalised text and its label."""

    text: str
    label: str


def annotate(source: str) -> tuple[str, list[LabelledText]]:
    """Split annotated HTML into the bare page and its labelled text.

    Parameters
    ----------
    source
        HTML with ``data-label`` attributes in double quotes.

    Returns
    -------
    tuple of str and list of LabelledText
        The same HTML without the attributes, and the text nodes of its body in document order; nodes of white space
        alone are left out.

    Raises
    ------
    UnknownNameError
        A label outside :data:`LABELS`.
    DatasetError
        Cutting the attributes changed the text of the page, e.g. because one stood in a text node.

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
    """Absolute link targets of a page without fragments, each once, in order of first occurrence.

    Examples
    --------
    >>> link_targets('<a href="/a#x">1</a><a href="b">2</a><a href="/a">3</a>', "http://h.example/d/")
    ['http://h.example/a', 'http://h.example/d/b']
    """
    return list(dict.fromkeys(urljoin(url, href.partition("#")[0]) for href in _walk(page).hrefs))


class _Walker:
    """Collects labels and links from parser events; unlike a tree, they go on after the first ``</html>``."""

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

    def comment(self, text: str) -> None:  # noqa: ARG002 - a comment parts two text nodes
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
