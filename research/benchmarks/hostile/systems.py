"""Systems that extract hostile pages: blockml with each parser, with and without the C extension, and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

__all__ = ["SYSTEMS", "available", "extractor_of"]

Extract = Callable[[bytes], str]

#: Module that each system needs.
SYSTEMS: Mapping[str, str] = {
    "blockml, lxml": "lxml",
    "blockml, lexbor": "selectolax",
    "blockml, html5lib": "html5lib",
    "blockml, lxml, pure Python": "lxml",
    "blockml, lexbor, pure Python": "selectolax",
    "blockml, html5lib, pure Python": "html5lib",
    "trafilatura": "trafilatura",
    "readability-lxml": "readability",
    "jusText": "justext",
    "resiliparse": "resiliparse",
}


def available() -> tuple[str, ...]:
    """Return the names of the systems that are installed."""
    return tuple(name for name, module in SYSTEMS.items() if find_spec(module) is not None)


def extractor_of(system: str) -> Extract:
    """Load a system and return its function from a page to its main text."""
    return _blockml(system.split(", ")[1]) if system.startswith("blockml") else _PEERS[system]()


def _blockml(backend: str) -> Extract:
    from dataclasses import replace

    import blockml
    from blockml.extractors import TrainedExtractor, trained

    held = trained("default")
    model = replace(held.model, parsing=replace(held.model.parsing, backend=backend))
    extractor = TrainedExtractor(model)

    def extract(html: bytes) -> str:
        result = blockml.extract(html, model=extractor)
        outputs = result.text, result.metadata, blockml.render(result, "markdown")
        return outputs[0]

    return extract


def _trafilatura() -> Extract:
    import trafilatura

    return lambda html: trafilatura.extract(html) or ""


def _readability() -> Extract:
    from readability import Document

    return lambda html: str(Document(html.decode("utf-8", "replace")).summary())


def _justext() -> Extract:
    import justext

    words = justext.get_stoplist("English")

    def extract(html: bytes) -> str:
        return "\n".join(part.text for part in justext.justext(html, words) if not part.is_boilerplate)

    return extract


def _resiliparse() -> Extract:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import detect_encoding
    from resiliparse.parse.html import HTMLTree

    def extract(html: bytes) -> str:
        return str(
            extract_plain_text(HTMLTree.parse_from_bytes(html, detect_encoding(html) or "utf-8"), main_content=True)
        )

    return extract


_PEERS: Mapping[str, Callable[[], Extract]] = {
    "trafilatura": _trafilatura,
    "readability-lxml": _readability,
    "jusText": _justext,
    "resiliparse": _resiliparse,
}
