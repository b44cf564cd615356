"""Requirements of every page that reports write."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from lxml import html

#: A text that tries to become markup wherever it is written.
HOSTILE = (
    "</title></style></script></svg></td><script>alert(1)</script>"
    '<img src=http://evil.example/x onerror=alert(2)>"\'><b onclick=alert(3) style="color:red">{{ 7*7 }}'
)


def read_page(path: Path) -> html.HtmlElement:
    """Parse a report, after checking that it is self-contained and runs nothing."""
    text = path.read_text(encoding="utf-8")
    page = html.document_fromstring(text)
    assert text.startswith("<!DOCTYPE html>")
    assert page.get("lang") == "en"
    elements = [element for element in page.iter() if isinstance(element.tag, str)]
    tags = {element.tag for element in elements}
    assert not tags & {"img", "iframe", "object", "embed", "link", "form", "base", "audio", "video", "image"}
    for element in elements:
        for name, value in map(_strings, element.attrib.items()):
            assert not name.lower().startswith("on"), name
            assert name != "src"
            if name in ("href", "xlink:href"):
                assert element.tag == "a"
                assert re.match(r"#|pages/|https?://", value), value
            if name == "style":
                assert re.fullmatch(r"(--h|width|left|color):[\w.%()-]+", value), value
    allowed = str(page.xpath("string(//meta[@http-equiv='Content-Security-Policy']/@content)"))
    for script in page.iter("script"):
        code = script.text or ""
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert script.get("type") == "application/json" or f"'sha256-{digest}'" in allowed
        assert script.get("type") or not len(script.attrib)
        assert "</" not in code or script.get("type") is None
    style = "".join(element.text or "" for element in elements if element.tag == "style")
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert isinstance(policy, list)
    assert "default-src 'none'" in str(policy[0])
    _check_accessibility(page)
    return page


def _strings(pair: tuple[object, object]) -> tuple[str, str]:
    return str(pair[0]), str(pair[1])


def _check_accessibility(page: html.HtmlElement) -> None:
    ids = [str(element.get("id")) for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for figure in page.iter("svg"):
        if figure.get("aria-hidden") == "true":
            continue
        assert figure.get("role") == "img"
        title, description = figure.find("title"), figure.find("desc")
        assert title is not None
        assert title.text
        assert description is not None
        assert (description.text or "").strip()
        assert figure.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    for table in page.iter("table"):
        heads = table.findall("./thead//th")
        assert heads
        assert {head.get("scope") for head in heads} == {"col"}
    for anchor in page.xpath("//a[starts-with(@href, '#')]/@href"):
        assert str(anchor)[1:] in ids


def words_of(element: html.HtmlElement) -> str:
    """Return the text of an element with white space normalised."""
    return " ".join(str(element.text_content()).split())


def cells_of(row: html.HtmlElement) -> list[str]:
    """Return the text of each data cell of a table row."""
    return [words_of(cell) for cell in row.findall("td")]
