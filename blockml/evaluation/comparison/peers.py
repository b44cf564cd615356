"""Third-party extractors with one signature: from text and URL of a page to its main content as text.

Each is used as its documentation shows, with default settings unless its name indicates otherwise. Tools are imported
when they are called, and fetch nothing. If a tool returns HTML, blockml converts it to text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

from blockml.errors import install_hint
from blockml.extract import extract
from blockml.extractors import Plain

#: Takes a page as text and its URL, if known, and returns the main content as text.
Adapter = Callable[[str, str | None], str]


@dataclass(frozen=True, slots=True)
class Peer:
    """A third-party extractor."""

    package: str  #: Distribution name on PyPI
    adapter: Adapter
    python: tuple[int, int] = (3, 11)  #: Minimum Python version
    gives_html: bool = False  #: Whether it returns HTML, which blockml converts to text

    @property
    def version(self) -> str | None:
        """Version of the installed package; None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @property
    def install(self) -> str:
        """Instructions to install it."""
        if sys.version_info < self.python:
            return f"needs Python {self.python[0]}.{self.python[1]}: pip install {self.package}"
        return f"pip install {self.package} (or all of them, {install_hint('compare')})"


def _trafilatura(html: str, url: str | None, *, comments: bool) -> str:
    import trafilatura

    return str(trafilatura.extract(html, url=url, include_comments=comments) or "")


def _readability_lxml(html: str, url: str | None) -> str:
    from readability import Document

    return _text(Document(html, url=url).summary(html_partial=True))


def _resiliparse(html: str, url: str | None) -> str:  # noqa: ARG001 (it has no use for the URL)
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True))


def _justext(html: str, url: str | None) -> str:  # noqa: ARG001
    import justext

    # jusText needs the language of the page; with another language it finds little.
    paragraphs = justext.justext(html, justext.get_stoplist("English"))
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


def _boilerpy3(html: str, url: str | None, *, extractor: str) -> str:  # noqa: ARG001
    from boilerpy3 import extractors

    return str(getattr(extractors, extractor)().get_content(html))


def _newspaper4k(html: str, url: str | None) -> str:
    import newspaper

    article = newspaper.Article(url or "", fetch_images=False)
    article.download(input_html=html)
    article.parse()
    return str(article.text)


def _goose3(html: str, url: str | None) -> str:  # noqa: ARG001 (it would fetch the URL)
    from goose3 import Goose

    return str(Goose().extract(raw_html=html).cleaned_text)


def _magic_html(html: str, url: str | None) -> str:
    from magic_html import GeneralExtractor

    return _text(GeneralExtractor().extract(html, base_url=url or "")["html"])


def _html_text(html: str, url: str | None) -> str:  # noqa: ARG001
    import html_text

    return str(html_text.extract_text(html))


def _text(html: str) -> str:
    return extract(html, model=Plain()).text


#: Peers by their name in results.
PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "trafilatura": Peer("trafilatura", partial(_trafilatura, comments=True)),
        "trafilatura-nocomments": Peer("trafilatura", partial(_trafilatura, comments=False)),
        "readability-lxml": Peer("readability-lxml", _readability_lxml, gives_html=True),
        "resiliparse": Peer("resiliparse", _resiliparse),
        "justext": Peer("jusText", _justext),
        "boilerpy3-article": Peer("boilerpy3", partial(_boilerpy3, extractor="ArticleExtractor")),
        "boilerpy3-default": Peer("boilerpy3", partial(_boilerpy3, extractor="DefaultExtractor")),
        "newspaper4k": Peer("newspaper4k", _newspaper4k),
        "goose3": Peer("goose3", _goose3),
        "magic-html": Peer("magic-html", _magic_html, python=(3, 12), gives_html=True),
        "html-text": Peer("html-text", _html_text),
    }
)
