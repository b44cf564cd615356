"""Quillbase: documentation of a small database with a sidebar tree, on-page contents, code and API tables."""

from __future__ import annotations

from types import MappingProxyType

from tools.synthetic_sites.html import Site, SourcePage, esc, inline, items, links, noise, slug, stylesheet
from tools.synthetic_sites.prose import Writer, load_grammar, plain

__all__ = ["pages"]

_SITE = Site(
    name="quillbase-docs",
    host="https://docs.quillbase.example",
    prefix="quillbase",
    kinds=MappingProxyType({"index": "collection", "guide": "documentation", "reference": "documentation"}),
)
# Section -> pages (name, title, words).
_TREE = {
    "Getting started": (
        ("install", "Installation", 150),
        ("first-steps", "First steps", 380),
        ("upgrade", "Upgrading", 60),
    ),
    "Guide": (
        ("collections", "Collections and documents", 620),
        ("queries", "Writing queries", 900),
        ("indexes", "Indexes", 320),
        ("replication", "Replication", 1200),
        ("backup", "Backup and restore", 260),
    ),
    "Reference": (
        ("api-client", "Client API", 200),
        ("configuration", "Configuration", 140),
        ("command-line", "Command line", 180),
        ("errors", "Error messages", 90),
        ("changelog", "Changelog", 40),
    ),
}
_ORDER = tuple((name, title) for entries in _TREE.values() for name, title, _ in entries)
_MENU = (
    ("/", "Quillbase"),
    ("/first-steps.html", "Guide"),
    ("/api-client.html", "API"),
    ("/configuration.html", "Configuration"),
    ("/changelog.html", "Changelog"),
)
_REFERENCE = ("api-client", "configuration", "command-line", "errors")


def pages(seed: int) -> list[SourcePage]:
    """Return the start page, three tutorials, five guide chapters and five reference pages."""
    result = [_page("index", "/", "index", "Quillbase documentation", (_index(seed), ""))]
    for section, entries in _TREE.items():
        kind = "reference" if section == "Reference" else "guide"
        for name, title, words in entries:
            content = _chapter(seed, name, title, words)
            result.append(_page(name, f"/{name}.html", kind, title, content))
    return result


def _page(name: str, path: str, kind: str, title: str, content: tuple[str, str]) -> SourcePage:
    return _SITE.page(name, path, kind, title=title, html=_document(name, path, title, *content))


def _document(name: str, path: str, title: str, body: str, toc: str) -> str:
    rng = Writer(load_grammar("quillbase"), f"noise/{name}").rng
    brand, *menu = links(_MENU)
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<title>{esc(title)} — Quillbase 3.2 documentation</title>
<link rel="canonical" href="{_SITE.host}{path}">
<style>
{stylesheet("quillbase")}</style>
<script>window.DOCS = {{version: "3.2", page: "{name}", build: "{noise(rng)}"}};</script>
</head>
<body>
<div class="topnav" role="navigation" data-label="navigation"><span class="brand">{brand}</span> <span class="version">3.2</span>
{" ".join(menu)}
<label class="search" data-label="other">Search the docs <input name="q" type="search"></label></div>
<div class="layout">
<div class="sidebar" id="sidebar" data-label="navigation">{_sidebar(name)}
<p class="versions">Other versions: <a href="/3.1/">3.1</a> <a href="/2.9/">2.9</a></p></div>
<div class="content"><div class="document"><div class="body" role="main" itemprop="articleBody">
{body}
</div></div>
{_neighbours(name)}
<div class="feedback"><p>Was this page helpful?</p><button>Yes</button> <button>No</button>
<a href="https://code.quillbase.example/edit/{name}.rst">Edit this page</a></div></div>
<div class="toc" data-label="navigation">{toc}</div>
</div>
<div class="docfoot" role="contentinfo" data-label="footer">© The Quillbase authors. Text under a Creative Commons licence, code
under the MIT licence. Built with <a href="https://scribe.example">Scribe</a> 5.1.</div>
<script>document.querySelectorAll("pre").forEach(function (pre) {{ addCopyButton(pre, "{noise(rng, 4)}"); }});</script>
</body>
</html>
"""


def _sidebar(current: str) -> str:
    parts = []
    for section, entries in _TREE.items():
        rows = "".join(
            f'<li class="toctree-l1{" current" if name == current else ""}"><a class="reference internal" '
            f'href="/{name}.html">{esc(title)}</a></li>'
            for name, title, _ in entries
        )
        parts.append(f'<p class="caption"><span class="caption-text">{section}</span></p><ul>{rows}</ul>')
    return "\n".join(parts)


def _neighbours(name: str) -> str:
    names = ["index", *(entry for entry, _ in _ORDER)]
    titles = {"index": "Quillbase documentation", **dict(_ORDER)}
    place = names.index(name)
    parts = []
    if place > 1:
        parts.append(f'<a rel="prev" href="/{names[place - 1]}.html">Previous: {esc(titles[names[place - 1]])}</a>')
    if place + 1 < len(names):
        parts.append(f'<a rel="next" href="/{names[place + 1]}.html">Next: {esc(titles[names[place + 1]])}</a>')
    return f'<div class="pn" data-label="navigation">{"".join(parts)}</div>'


def _index(seed: int) -> str:
    writer = Writer(load_grammar("quillbase"), f"{seed}/quillbase/index")
    blocks = []
    for section, entries in _TREE.items():
        rows = items(
            f'<a href="/{name}.html">{esc(title)}</a> – {_code(esc(writer.say("summary")))}'
            for name, title, _ in entries
        )
        blocks.append(f'<h2 data-label="heading">{section}</h2>{rows}')
    return f"""<h1 data-label="heading">Quillbase documentation</h1><div class="section" data-label="main">
<p>Quillbase is a document database in a single file of two megabytes. It runs inside your program or as a small server, and it
keeps every change in a journal, so that you can go back to any minute of the last month.</p>
{"".join(blocks)}</div>"""


def _chapter(seed: int, name: str, title: str, words: int) -> tuple[str, str]:
    writer = Writer(load_grammar("quillbase"), f"{seed}/quillbase/{name}")
    paragraphs = [
        f"<p>{_code(inline(text, writer.rng, _hrefs()))}</p>"
        for text in writer.article("para", ("para",), "para", words)
    ]
    sections: list[tuple[str, list[str]]] = [("", paragraphs[:2])]
    for start in range(2, len(paragraphs), 4):
        label = f"The {writer.pick('object')} and {writer.pick('method')}"
        sections.append((label, [*paragraphs[start : start + 4], _extra(writer)]))
    if len(sections) == 1:
        sections[0][1].append(_extra(writer))
    if name in _REFERENCE:
        sections.append(("Table of entries", [_table(writer, name)]))
    if name == "changelog":
        sections += [(f"Version 3.{minor}", [_release(writer)]) for minor in (2, 1, 0)]
    head = f'<h1 data-label="heading">{esc(title)}{_anchor(slug(title))}</h1>'
    body = [f'<section id="{slug(title)}" data-label="main">{head}']
    for label, parts in sections:
        if label:
            body.append(f'<h2 id="{slug(label)}" data-label="heading">{esc(label)}{_anchor(slug(label))}</h2>')
        body.extend(parts)
    body.append("</section>")
    toc = items(links((f"#{slug(label)}", label) for label, _ in sections if label))
    return "\n".join(body), f"<p>On this page</p>{toc}" if len(sections) > 1 else ""


def _hrefs() -> list[str]:
    return [f"/{name}.html" for name, _ in _ORDER]


def _anchor(target: str) -> str:
    return f'<a class="headerlink" href="#{target}" title="Link to this heading" data-label="other">¶</a>'


def _code(html: str) -> str:
    """Turn `words` in back quotes into code elements."""
    parts = html.split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def _extra(writer: Writer) -> str:
    kind = writer.rng.choice(("code", "code", "shell", "note", "list"))
    if kind == "note":
        severity = writer.rng.choice(("note", "warning"))
        text = _code(esc(writer.say("note")))
        return (
            f'<div class="admonition {severity}"><p class="admonition-title">{severity.title()}</p><p>{text}</p></div>'
        )
    if kind == "list":
        rows = items((_code(esc(line)) for line in writer.lines("para", 2)), 'class="simple"')
        return f"<p>Keep in mind:</p>{rows}"
    return _shell(writer) if kind == "shell" else _listing(writer)


def _shell(writer: Writer) -> str:
    data, number = writer.pick("object").replace(" ", "-"), writer.rng.randint(100, 9900)
    return f"""<div class="highlight-console"><pre><code><span class="tok-c"># {writer.pick("method")} everything once</span>
$ quill {writer.pick("method")} --{writer.pick("option").replace("_", "-")}={number} ./{data}.qb
opened {data}.qb ({number} documents)
$ quill {writer.pick("method")} {data}.qb
done in {writer.rng.randint(2, 80)} ms</code></pre></div>"""


def _listing(writer: Writer) -> str:
    thing = writer.pick("object").replace(" ", "_")
    first, second, error = writer.pick("method"), writer.pick("method"), writer.pick("error")
    option, number = writer.pick("option"), writer.rng.randint(2, 900)
    return f"""<div class="highlight"><pre><code><span class="tok-k">import</span> quillbase

db = quillbase.open(<span class="tok-s">"{thing}s.qb"</span>, {option}={number})
<span class="tok-k">with</span> db.{thing}(<span class="tok-s">"{writer.pick("first").lower()}"</span>) <span class="tok-k">as</span> {thing}:
    <span class="tok-k">try</span>:
        {thing}.{first}({{<span class="tok-s">"year"</span>: {writer.pick("year")}}})
    <span class="tok-k">except</span> quillbase.{error}:  <span class="tok-c"># try again later</span>
        {thing}.{second}(timeout={writer.rng.randint(2, 60)})
</code></pre></div>"""


def _table(writer: Writer, name: str) -> str:
    if name == "configuration":
        head = ("Option", "Default", "Meaning")
        rows = [
            (f"`{writer.pick('option')}`", str(writer.rng.choice((0, 8, 16, 30, 64, 512))), writer.say("option_help"))
            for _ in range(12)
        ]
    elif name == "errors":
        head = ("Error", "Code", "What it means")
        rows = [
            (f"`{writer.pick('error')}`", f"Q{writer.rng.randint(100, 499)}", writer.say("option_help"))
            for _ in range(6)
        ]
    else:
        head = ("Call", "Argument", "Returns")
        rows = [(f"`{writer.pick('method')}`", f"`{writer.pick('option')}`", writer.say("returns")) for _ in range(10)]
    cells = "".join("<tr>" + "".join(f"<td>{_code(esc(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    titles = "".join(f"<th>{cell}</th>" for cell in head)
    return f'<table class="docutils"><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>'


def _release(writer: Writer) -> str:
    rows = items(_code(esc(line)) for line in writer.lines("release", 4))
    return f'<p data-label="supplement">Released on {plain(writer.pick("date"))}</p>{rows}'
