"""Third-party extractors behind one signature: the text of a page in, its main content out.

Each is used as its documentation shows it, with default settings unless its name says otherwise. Nothing is imported
before it is called, nothing is fetched. A tool that gives HTML has it turned to text the way blockml turns pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

from blockml.errors import install_hint
from blockml.extract import extract
from blockml.extractors import Plain

__all__ = ["PEERS", "Adapter", "Peer"]

#: Takes a page as text and its URL, if known, and gives the main content as text.
Adapter = Callable[[str, str | None], str]


@dataclass(frozen=True, slots=True)
class Peer:
    """A third-party extractor."""

    package: str
    """Its package on PyPI."""
    adapter: Adapter
    python: tuple[int, int] = (3, 11)
    """Oldest Python that it runs on."""
    gives_html: bool = False
    """Whether it gives HTML, which blockml turns to text."""

    @property
    def version(self) -> str | None:
        """Version of the installed package; None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @property
    def install(self) -> str:
        """What is to be done so that it can run."""
        if sys.version_info < self.python:
            return f"needs Python {self.python[0]}.{self.python[1]}: pip install {self.package}"
        return f"pip install {self.package} (or all of them, {install_hint('compare')})"


def _trafilatura(html: str, url: str | None) -> str:
    import trafilatura

    text: str | None = trafilatura.extract(html, url=url)
    return text or ""


def _trafilatura_nocomments(html: str, url: str | None) -> str:
    import trafilatura

    text: str | None = trafilatura.extract(html, url=url, include_comments=False)
    return text or ""


def _readability_lxml(html: str, url: str | None) -> str:
    from readability import Document

    return _text(Document(html, url=url).summary(html_partial=True))


def _resiliparse(html: str, url: str | None) -> str:  # noqa: ARG001 (it doesn't look at the URL)
    from resiliparse.extract.html2text import extract_plain_text

    text: str = extract_plain_text(html, main_content=True)
    return text


def _justext(html: str, url: str | None) -> str:  # noqa: ARG001
    import justext

    # It wants to be told the language; on pages in another one it finds little.
    paragraphs = justext.justext(html, justext.get_stoplist("English"))
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


def _boilerpy3_article(html: str, url: str | None) -> str:  # noqa: ARG001
    from boilerpy3.extractors import ArticleExtractor

    text: str = ArticleExtractor().get_content(html)
    return text


def _boilerpy3_default(html: str, url: str | None) -> str:  # noqa: ARG001
    from boilerpy3.extractors import DefaultExtractor

    text: str = DefaultExtractor().get_content(html)
    return text


def _newspaper4k(html: str, url: str | None) -> str:
    import newspaper

    article = newspaper.Article(url or "", fetch_images=False)
    article.download(input_html=html)
    article.parse()
    text: str = article.text
    return text


def _goose3(html: str, url: str | None) -> str:  # noqa: ARG001 (it would be fetched)
    from goose3 import Goose

    text: str = Goose().extract(raw_html=html).cleaned_text
    return text


def _magic_html(html: str, url: str | None) -> str:
    from magic_html import GeneralExtractor

    return _text(GeneralExtractor().extract(html, base_url=url or "")["html"])


def _html_text(html: str, url: str | None) -> str:  # noqa: ARG001
    import html_text

    text: str = html_text.extract_text(html)
    return text


def _text(html: str) -> str:
    """All text of a piece of HTML."""
    return extract(html, model=Plain()).text


#: All of them by the name they have in results.
PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "trafilatura": Peer("trafilatura", _trafilatura),
        "trafilatura-nocomments": Peer("trafilatura", _trafilatura_nocomments),
        "readability-lxml": Peer("readability-lxml", _readability_lxml, gives_html=True),
        "resiliparse": Peer("resiliparse", _resiliparse),
        "justext": Peer("jusText", _justext),
        "boilerpy3-article": Peer("boilerpy3", _boilerpy3_article),
        "boilerpy3-default": Peer("boilerpy3", _boilerpy3_default),
        "newspaper4k": Peer("newspaper4k", _newspaper4k),
        "goose3": Peer("goose3", _goose3),
        "magic-html": Peer("magic-html", _magic_html, python=(3, 12), gives_html=True),
        "html-text": Peer("html-text", _html_text),
    }
)
