"""The Harbour Courier: a regional newspaper in semantic HTML5."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from tools.synthetic_sites.html import Site, SourcePage, esc, inline, items, json_script, links, noise, slug, stylesheet
from tools.synthetic_sites.prose import Writer, load_grammar, plain

__all__ = ["pages"]

_SITE = Site(
    name="harbour-courier",
    host="https://www.harbour-courier.example",
    prefix="courier",
    kinds=MappingProxyType({"front": "collection", "section": "listing", "about": "service", "article": "article"}),
)
_SECTIONS = ("local", "business", "environment", "culture")
_MENU = (("/", "Home"), *((f"/{name}/", name.title()) for name in _SECTIONS), ("/about/", "About us"))
# Lengths in words: from a news item of one paragraph to a weekend report.
_LENGTHS = (30, 420, 180, 650, 300, 90, 1500, 240, 900, 520)
# Placeholder of the right-hand column.
_RAIL = "@RAIL@"
_OUTSIDE = ("https://www.millbrook-hollow.example/", "https://www.harbour-courier.example/local/")


@dataclass(frozen=True)
class _Article:
    path: str
    section: str
    title: str
    teaser: str
    date: str
    author: str
    words: int
    writer: Writer


def pages(seed: int) -> list[SourcePage]:
    """Return the front page, four sections, the about page and ten articles."""
    deck = Writer(load_grammar("courier"), f"{seed}/courier/titles")
    articles = [_plan(seed, number, deck) for number in range(len(_LENGTHS))]
    key = f"{seed}/courier/rail"
    rail, long_rail = (_rail(Writer(load_grammar("courier"), key), articles, teasers=long) for long in (False, True))
    result = [_page("front", "/", "front", "News from the coast", _front(seed, articles).replace(_RAIL, rail))]
    for name in _SECTIONS:
        body = _section(name, articles).replace(_RAIL, rail)
        result.append(_page(name, f"/{name}/", "section", name.title(), body))
    result.append(_page("about", "/about/", "about", "About us", _about(seed).replace(_RAIL, rail)))
    for number, article in enumerate(articles):
        # Every fourth article has no rail, and one in four has a long one with the stories' teasers.
        aside = ("", rail, long_rail, rail)[(number + 1) % 4]
        body = _article(number, article, articles).replace(_RAIL, aside)
        result.append(_page(f"article-{number + 1:02}", article.path, "article", article.title, body))
    return result


def _page(name: str, path: str, kind: str, title: str, body: str) -> SourcePage:
    return _SITE.page(name, path, kind, title=title, html=_document(name, path, title, body))


def _plan(seed: int, number: int, deck: Writer) -> _Article:
    writer = Writer(load_grammar("courier"), f"{seed}/courier/{number}")
    section = _SECTIONS[number % len(_SECTIONS)]
    topic = deck.draw(f"topic_{section}")
    official, critic = writer.pick("person"), writer.pick("person")
    fixed = {rule: writer.pick(rule) for rule in ("role", "group", "place", "body", "cost")}
    writer.bind(topic=topic, official=official, critic=critic, **fixed)
    title = plain(writer.sentences(deck.draw("headline")))
    day, month, year = writer.rng.randint(1, 28), writer.pick("month"), writer.pick("year")
    return _Article(
        path=f"/{section}/{year}/{slug(title)}.html",
        section=section,
        title=title,
        teaser=plain(writer.say("teaser")),
        date=f"{day} {month} {year}",
        author=writer.pick("person"),
        words=_LENGTHS[number],
        writer=writer,
    )


def _document(page_id: str, path: str, title: str, body: str) -> str:
    rng = Writer(load_grammar("courier"), f"noise/{page_id}").rng
    data = {"@context": "https://schema.org", "@type": "WebPage", "name": title, "url": _SITE.host + path}
    menu = items(links(_MENU))
    return f"""<!DOCTYPE html>
<html lang="en" class="no-js" data-build="{noise(rng)}">
<head>
<meta charset="utf-8">
<title>{esc(title)} | Harbour Courier</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="og:title" content="{esc(title)}">
<link rel="canonical" href="{_SITE.host}{path}">
<style>
{stylesheet("courier")}</style>
{json_script(data)}
<script>document.documentElement.className = "js"; window.pageId = "{noise(rng, 12)}";</script>
</head>
<body class="page-{page_id}">
<a class="skip" href="#content" data-label="navigation">Skip to content</a>
<noscript><p class="warning">The Courier works best with JavaScript switched on.</p></noscript>
<header class="site-header" role="banner">
<div class="topbar"><div class="wrap"><span>Founded 1887 · Six days a week</span>
<form action="/search" role="search"><label for="q">Search the Courier</label>
<input id="q" name="q" type="search"><button>Search</button></form>
<a href="/subscribe" data-label="navigation">Subscribe</a></div></div>
<p class="brand"><a href="/">Harbour Courier</a></p>
<p class="motto">News from the coast, read on land and at sea</p>
<nav class="primary" aria-label="Main" data-label="navigation">
{menu}
</nav>
<div id="drawer" hidden aria-hidden="true" data-label="navigation">{menu}</div>
</header>
<div class="wrap">
<!-- {page_id}: start of content -->
{body}
</div>
<footer class="site" data-label="footer"><div class="wrap">
<ul><li><a href="/about/">About us</a></li><li><a href="/contact">Contact</a></li><li><a href="/privacy">Privacy</a></li>
<li><a href="/terms">Terms of use</a></li><li><a href="/advertise">Advertise with us</a></li></ul>
<p>© Harbour Courier Publishing, 4 Quayside, Northquay. All rights reserved. The Courier is printed on recycled paper
and is not responsible for the content of external sites.</p></div></footer>
<div id="consent" role="dialog" aria-label="Cookies"><p><strong>We value your privacy.</strong> We and our partners store
cookies to count visitors and to show advertising that suits you. You can change your mind at any time.</p>
<button>Accept all</button><button>Only necessary</button> <a href="/privacy">Read more</a></div>
<script async src="/assets/app.{noise(rng)}.js"></script>
</body>
</html>
"""


def _rail(writer: Writer, articles: list[_Article], *, teasers: bool) -> str:
    popular = writer.rng.sample(articles, 5)
    entries = links((article.path, article.title) for article in popular)
    if teasers:
        rows = zip(entries, popular, strict=True)
        entries = [f"{entry}<p>{esc(article.teaser)} Our reporters have the details.</p>" for entry, article in rows]
    ad = esc(writer.say("ad_line"))
    return f"""<aside class="rail">
<section class="popular" data-label="related"><h2>Most read</h2>
{items(entries, tag="ol")}</section>
<div class="ad" data-label="advertisement"><small>Advertisement</small><p>{ad}</p><a href="/ads/click?c=7">Learn more</a></div>
<div class="box newsletter"><h3>The Courier in your inbox</h3><p>Five stories every morning, before the first ferry.</p>
<input type="email" placeholder="Your e-mail"><button>Sign up</button></div>
</aside>"""


def _crumbs(*trail: tuple[str, str]) -> str:
    return (
        f'<nav class="crumbs" aria-label="You are here" data-label="navigation">{items(links(trail), tag="ol")}</nav>'
    )


def _card(article: _Article, level: int = 2) -> str:
    return f"""<article class="card teaser" data-label="main">
<p class="kicker">{article.section.title()}</p>
<h{level}><a href="{article.path}">{esc(article.title)}</a></h{level}>
<p>{esc(article.teaser)}</p>
<time data-label="supplement">{article.date}</time>
</article>"""


def _front(seed: int, articles: list[_Article]) -> str:
    lead, *rest = articles[3:] + articles[:3]
    writer = Writer(load_grammar("courier"), f"{seed}/courier/front")
    writer.bind(topic="plan", official=writer.pick("person"))
    cards = "\n".join(_card(article) for article in rest)
    return f"""<div class="cols"><main id="content">
<h1 class="sr-only" data-label="heading">Today in the Harbour Courier</h1>
<article class="lead-story" data-label="main"><figure><img src="/img/lead.jpg" alt="{esc(writer.say("caption"))}"></figure>
<h2><a href="{lead.path}">{esc(lead.title)}</a></h2><p class="standfirst">{esc(lead.teaser)}</p></article>
<div class="ad" data-label="advertisement"><small>Advertisement</small>{esc(writer.say("ad_line"))}</div>
<div class="cards">{cards}</div>
</main>{_RAIL}</div>"""


def _section(name: str, articles: list[_Article]) -> str:
    own = [article for article in articles if article.section == name]
    others = [article for article in articles if article.section != name][:4]
    cards = "\n".join(_card(article) for article in own)
    more = "\n".join(f'<li><a href="{a.path}">{esc(a.title)}</a><p>{esc(a.teaser)}</p></li>' for a in others)
    return f"""{_crumbs(("/", "Home"), (f"/{name}/", name.title()))}
<div class="cols"><main id="content">
<h1 data-label="heading">{name.title()} news</h1>
<div class="list">{cards}</div>
<p class="pager" data-label="navigation"><a href="/{name}/">1</a> <a href="/{name}/?page=2">2</a>
<a href="/{name}/?page=3">3</a> <a href="/{name}/?page=2">Older stories</a></p>
<section class="elsewhere" data-label="related"><h2>From the other sections</h2><ul>{more}</ul></section>
</main>{_RAIL}</div>"""


def _about(seed: int) -> str:
    writer = Writer(load_grammar("courier"), f"{seed}/courier/about")
    staff = "\n".join(
        f"<tr><td>{writer.pick('person')}</td><td>{role}</td><td>0387 55 {writer.rng.randint(10, 99)}</td></tr>"
        for role in ("Editor", "News desk", "Business", "Culture", "Photographs", "Letters")
    )
    return f"""{_crumbs(("/", "Home"), ("/about/", "About us"))}
<div class="cols"><main id="content"><h1 data-label="heading">About us</h1>
<div class="prose" data-label="main"><p>The Courier was founded in 1887 by two brothers who wanted to know when the herring
boats would come in. It has appeared ever since, apart from nine weeks in 1923 when the press was under water.</p>
<p>We are {writer.rng.randint(18, 39)} people in Northquay and Lower Fennick. We report on what the council decides, what
the port earns and who plays the organ on Sunday. We correct our mistakes on page two and at the end of the article.</p>
<h2 data-label="heading">Who does what</h2>
<table><thead><tr><th>Name</th><th>Desk</th><th>Telephone</th></tr></thead><tbody>{staff}</tbody></table>
<h2 data-label="heading">How to reach us</h2>
<address>Harbour Courier, 4 Quayside, Northquay<br>desk@harbour-courier.example</address>
<p>Letters of up to 200 words are welcome. We shorten with care and print the name of the writer.</p></div>
</main>{_RAIL}</div>"""


def _article(number: int, article: _Article, articles: list[_Article]) -> str:
    writer = article.writer
    # Every fifth article is full of links.
    linked = number % 5 == 4
    hrefs = [*_OUTSIDE, *(other.path for other in articles if linked and other is not article)]
    density = 1.0 if linked else 0.5
    parts = [f"<p>{inline(text, writer.rng, hrefs, density=density)}</p>" for text in _paragraphs(article)]
    if linked:
        earlier = items(links((other.path, other.title) for other in articles[: number // 2 + 2]))
        parts.append(f"<p>What the Courier has reported so far:</p>{earlier}")
    if article.words >= 300:
        parts.insert(2, f"<blockquote><p>{esc(writer.say('quote'))}</p></blockquote>")
        parts.insert(4, f'<h2 data-label="heading">{esc(writer.say("headline"))}</h2>')
    if number % 3 == 1:
        rows = [(year, writer.pick(",1200-9800"), writer.pick(",20000-98000")) for year in range(2020, 2024)]
        cells = "".join(f"<tr><td>{year}</td><td>{visits}</td><td>{cost}</td></tr>" for year, visits, cost in rows)
        parts.insert(3, f"<table><tr><th>Year</th><th>Users</th><th>Cost in crowns</th></tr>{cells}</table>")
    if number % 3 == 0 and article.words > 100:
        parts.insert(5, items(esc(line) for line in writer.lines("outlook", 4)))
    if article.words > 400:
        parts.insert(
            3,
            '<div class="ad inline" data-label="advertisement"><small>Advertisement</small>'
            f"<p>{esc(writer.say('ad_line'))}</p></div>",
        )
    body = "\n".join(parts)
    return f"""{_crumbs(("/", "Home"), (f"/{article.section}/", article.section.title()))}
<div class="cols"><main id="content">
<article itemscope itemtype="https://schema.org/NewsArticle" data-id="{noise(writer.rng)}">
<p class="kicker" data-label="supplement">{article.section.title()}</p>
<h1 itemprop="headline" data-label="heading">{esc(article.title)}</h1>
<p class="meta" data-label="supplement">By <a rel="author" href="/authors/{slug(article.author)}">{article.author}</a>,
<time>{article.date}</time></p>
{_share()}
{_figure(number, writer)}
<div class="article-body" itemprop="articleBody" data-label="main">
{body}
</div>
<p class="tags" data-label="navigation">Topics: <a href="/tag/{slug(article.section)}">{article.section}</a>,
<a href="/tag/coast">coast</a>, <a href="/tag/council">council</a></p>
</article>
{_related(number, article, articles)}
{_comments(number, writer)}
</main>{_RAIL}</div>"""


def _paragraphs(article: _Article) -> list[str]:
    middle = ("fact", "quote", "background", "fact", "reaction", "quote")
    return article.writer.article("lead", middle, "outlook", article.words)


def _share() -> str:
    return items((f'<button type="button">{name}</button>' for name in ("Share", "Mail", "Print")), 'class="share"')


def _figure(number: int, writer: Writer) -> str:
    if number % 5 == 0:
        return ""
    caption = esc(writer.say("caption"))
    return f"""<figure><img src="/img/{noise(writer.rng)}.jpg" alt="{caption}">
<figcaption data-label="supplement">{caption} <span class="credit">Photo: {writer.pick("photographer")}</span></figcaption>
</figure>"""


def _related(number: int, article: _Article, articles: list[_Article]) -> str:
    if number % 3 == 2:
        return ""
    others = [other for other in articles if other is not article]
    chosen = article.writer.rng.sample(others, 3)
    cards = "".join(
        f'<li><a href="{a.path}"><strong>{esc(a.title)}</strong></a> <span>{esc(a.teaser)}</span></li>' for a in chosen
    )
    return f'<section class="more" data-label="related"><h2>More on this</h2><ul>{cards}</ul></section>'


def _comments(number: int, writer: Writer) -> str:
    count = (0, 3, 1, 6, 0, 2, 9, 4, 0, 5)[number % 10]
    if not count:
        return '<section class="comments"><p>Comments are closed for this article.</p></section>'
    rows = []
    for position in range(count):
        reply = ""
        if position % 3 == 1:
            reply = f'<div class="comment"><p class="who">{writer.pick("person")}</p><p>{esc(writer.say("reply"))}</p></div>'
        rows.append(
            f'<div class="comment" id="c{noise(writer.rng, 5)}"><p class="who">{writer.pick("person")} '
            f"<time>{writer.pick('date')}</time></p><p>{esc(writer.say('comment'))}</p>{reply}</div>"
        )
    return f"""<section class="comments" data-label="comment"><h2>{count} comments</h2>
{"".join(rows)}
<form action="/comment" method="post" data-label="other"><label>Your comment <textarea name="t"></textarea></label>
<button>Send</button></form></section>"""
