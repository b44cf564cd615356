"""Millbrook Hollow: a small town's site with service pages, questions, events and lists of documents."""

from __future__ import annotations

from types import MappingProxyType

from tools.synthetic_sites.html import Site, SourcePage, esc, inline, items, json_script, links, noise, slug, stylesheet
from tools.synthetic_sites.prose import Writer, load_grammar

__all__ = ["pages"]

_SITE = Site(
    name="millbrook-hollow",
    host="https://www.millbrook-hollow.example",
    prefix="millbrook",
    kinds=MappingProxyType(
        {
            "home": "collection",
            "overview": "listing",
            "events": "listing",
            "documents": "listing",
            "text": "article",
            "contact": "service",
            "service": "service",
        }
    ),
)
_MENU = (
    ("/", "Town"),
    ("/services/", "Services"),
    ("/events/", "Events"),
    ("/documents/", "Documents"),
    ("/history/", "History"),
    ("/contact/", "Contact"),
)
# Service pages: (service, words).
_SERVICES = (
    ("waste collection", 210),
    ("library card", 90),
    ("building permit", 430),
    ("parking permit", 35),
    ("allotment garden", 330),
    ("dog registration", 130),
    ("market stall", 250),
)
_OFFICES = {
    "waste collection": "the works yard",
    "library card": "the town library",
    "building permit": "the building office",
    "allotment garden": "the works yard",
}


def pages(seed: int) -> list[SourcePage]:
    """Return the start page, five overviews and seven service pages."""
    news = _news(seed)
    bodies = (
        ("home", "/", "home", "Welcome to Millbrook Hollow", _home(seed)),
        ("services", "/services/", "overview", "Services from A to W", _services(seed)),
        ("events", "/events/", "events", "Events", _events(seed)),
        ("documents", "/documents/", "documents", "Documents and forms", _documents(seed)),
        ("history", "/history/", "text", "History of the town", _history(seed)),
        ("contact", "/contact/", "contact", "Contact and opening hours", _contact(seed)),
    )
    result = [_page(*entry, aside=news) for entry in bodies]
    for number, (service, words) in enumerate(_SERVICES):
        title = service.capitalize()
        body, aside = _service(seed, number, service, words)
        path = f"/services/{slug(service)}.html"
        result.append(_page(slug(service), path, "service", title, body, aside=aside + news))
    return result


def _page(name: str, path: str, kind: str, title: str, body: str, *, aside: str) -> SourcePage:
    return _SITE.page(name, path, kind, title=title, html=_document(name, path, title, body, aside))


def _document(name: str, path: str, title: str, body: str, aside: str) -> str:
    rng = Writer(load_grammar("millbrook"), f"noise/{name}").rng
    services = [(f"/services/{slug(service)}.html", service.capitalize()) for service, _ in _SERVICES]
    data = {"@context": "https://schema.org", "@type": "GovernmentOrganization", "name": "Town of Millbrook Hollow"}
    parent = [("/services/", "Services")] if path.startswith("/services/") and path != "/services/" else []
    trail = " &gt; ".join(links([("/", "Town"), *parent, (path, title)]))
    return f"""<!DOCTYPE html>
<html lang="en-IE">
<head>
<meta charset="utf-8"/>
<title>{esc(title)} - Town of Millbrook Hollow</title>
<style>
{stylesheet("millbrook")}</style>
{json_script(data)}
</head>
<body id="b{noise(rng, 4)}" class="cms cms-{name}">
<ul class="offscreen" data-label="navigation"><li><a href="#nav">To the menu</a></li><li><a href="#text">To the text</a></li></ul>
<div id="wrap">
<div id="hd"><div class="town"><a href="/">Town of Millbrook Hollow</a></div><div class="tools"><form action="/find">
<label for="f">Find</label> <input id="f" name="f"> <button>Go</button></form><span data-label="navigation"><a href="/easy/">Easy
language</a> | <a href="/contrast/">Contrast</a> | <a href="/sitemap/">Site map</a></span></div></div>
<div class="menu1" id="nav" data-label="navigation">{items(links(_MENU))}</div>
<div class="alert" role="status">The bridge at Weir Street is closed to lorries until further notice.</div>
<div class="three"><div class="path" data-label="navigation">You are here: {trail}</div>
<div class="leftnav" data-label="navigation"><strong>Services</strong>{items(links(services))}</div>
<div class="mid" id="text">
<!-- CMS-START {noise(rng, 5)} -->
{body}
<!-- CMS-END -->
<p class="pagetools">Last change by the web team · <a href="javascript:print()">Print this page</a> ·
<a href="#nav">Top</a></p></div>
<div class="right">{aside}</div></div>
<div id="ft" data-label="footer"><div>Town of Millbrook Hollow, Town Hall, 1 Weir Street<br>Telephone 0387 60-0, townhall@millbrook-hollow.example
</div><div><a href="/imprint/">Imprint</a> · <a href="/privacy/">Privacy</a> · <a href="/accessibility/">Accessibility</a> ·
<a href="/contact/">Contact</a></div></div>
</div>
</body>
</html>
"""


def _news(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/news")
    rows = items(links(("/news/" + slug(line), line) for line in writer.lines("news", 4)))
    return f"""<div class="teaserbox" data-label="related"><h2>News from the town hall</h2>{rows}
<p><a href="/news/">All news</a></p></div>
<div class="teaserbox"><h2>Report damage</h2><p>Seen a broken lamp? Send us a photograph from your telephone.</p></div>"""


def _home(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/home")
    boxes = "".join(
        f'<h2><a href="/services/{slug(service)}.html">{service.capitalize()}</a></h2><p>{esc(writer.say("sentence"))}</p>'
        for service, _ in _SERVICES[:4]
    )
    events = "".join(f"<li>{writer.pick('date')}: {esc(line)}</li>" for line in writer.lines("event", 4))
    return f"""<h1 data-label="heading">Welcome to Millbrook Hollow</h1>
<div data-label="main"><p>Between the weir and the hills, a little over five thousand people live, work and argue about the
clock. On these pages you will find forms, opening hours and the dates of the next concerts.</p>{boxes}
<h2 data-label="heading">Coming up</h2><ul>{events}</ul><p><a href="/events/">All events</a></p></div>"""


def _services(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/services")
    rows = "".join(
        f'<dt><a href="/services/{slug(service)}.html">{service.capitalize()}</a></dt><dd>{esc(writer.say("sentence"))}</dd>'
        for service, _ in sorted(_SERVICES)
    )
    return f"""<h1 data-label="heading">Services from A to W</h1><div data-label="main"><p>Most matters can be settled at the
citizens' office without an appointment. Choose a service to see forms, fees and the people in charge.</p><dl>{rows}</dl></div>"""


def _events(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/events")
    rows = "".join(
        f"""<div class="event" data-label="main"><span class="day" data-label="supplement">{writer.pick("weekday")}, {writer.pick("date")}</span>
<h2>{esc(event)}</h2><p>{esc(writer.say("event_text"))}</p></div>"""
        for event in writer.lines("event", 9)
    )
    months = " ".join(
        f'<a href="/events/?m={number}">{name}</a>' for number, name in enumerate(("This month", "Next month"), 1)
    )
    return f"""<h1 data-label="heading">Events</h1><p class="filter" data-label="navigation">{months}</p>{rows}"""


def _documents(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/documents")
    blocks = []
    for heading in ("Forms", "Minutes of the council", "By-laws and fees"):
        rows = []
        for number in range(7):
            name = {
                "Forms": f"Application for a {writer.pick('service')}",
                "Minutes of the council": f"Minutes of {writer.pick('date')}",
                "By-laws and fees": f"By-law on the {writer.pick('service')} of {writer.pick('year')}",
            }[heading]
            size = f"PDF, {writer.rng.randint(40, 990)} kB"
            rows.append(f'<a href="/files/{slug(name)}-{number}.pdf">{name}</a> <span class="pdf">({size})</span>')
        listing = items(rows, 'class="downloads"')
        blocks.append(f'<h2 data-label="heading">{heading}</h2>{listing}')
    return f"""<h1 data-label="heading">Documents and forms</h1><div data-label="main"><p>All files can be printed free of charge at
the library.</p>{"".join(blocks)}</div>"""


def _history(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/history")
    parts = [
        f"<p>{inline(text, writer.rng, ['/events/', '/documents/'])}</p>"
        for text in writer.article("history", ("history",), "history", 150)
    ]
    parts.insert(
        1,
        '<figure><img src="/img/mill.jpg" alt="The mill in an old drawing"><figcaption data-label="supplement">'
        f"The mill in a drawing of {writer.rng.randint(1790, 1860)}, town archive</figcaption></figure>",
    )
    rows = "".join(
        f"<tr><td>{year}</td><td>{writer.pick(',900-6900')}</td></tr>" for year in (1801, 1851, 1901, 1951, 2001)
    )
    table = f'<table class="hours"><tr><th>Year</th><th>Inhabitants</th></tr>{rows}</table>'
    return f"""<h1 data-label="heading">History of the town</h1><div data-label="main">{"".join(parts)}
<h2 data-label="heading">Inhabitants</h2>{table}</div>"""


def _hours(writer: Writer) -> str:
    rows = "".join(
        f"<tr><td>{day}</td><td>{writer.rng.randint(7, 9)}.30–12.00</td><td>{hours}</td></tr>"
        for day, hours in (
            ("Monday", "14.00–16.00"),
            ("Tuesday", "closed"),
            ("Wednesday", "14.00–18.00"),
            ("Thursday", "closed"),
            ("Friday", "closed"),
        )
    )
    return f'<table class="hours"><tr><th>Day</th><th>Morning</th><th>Afternoon</th></tr>{rows}</table>'


def _contact(seed: int) -> str:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/contact")
    people = "".join(
        f"<tr><td>{esc(writer.pick('office')).capitalize()}</td><td>{writer.pick('person')}</td><td>60-{writer.rng.randint(10, 99)}</td></tr>"
        for _ in range(6)
    )
    return f"""<h1 data-label="heading">Contact and opening hours</h1><div data-label="main">
<p>The town hall is two minutes from the station. Bicycles may be left in the yard; the lift is behind the blue door.</p>
<h2 data-label="heading">Opening hours</h2>{_hours(writer)}
<h2 data-label="heading">Extensions</h2><table class="hours"><tr><th>Office</th><th>Person</th><th>Telephone</th></tr>{people}</table></div>
<form action="/mail" method="post"><h2>Write to us</h2><label>Your name <input name="n"></label><label>Message <textarea
name="m"></textarea></label><button>Send</button></form>"""


def _service(seed: int, number: int, service: str, words: int) -> tuple[str, str]:
    writer = Writer(load_grammar("millbrook"), f"{seed}/millbrook/{slug(service)}")
    clerk = writer.pick("person")
    office = _OFFICES.get(service, "the citizens' office")
    writer.bind(service=service, office=office)
    parts = [
        f"<p>{inline(text, writer.rng, ['/contact/', '/documents/'])}</p>"
        for text in writer.article("sentence", ("sentence",), "sentence", words)
    ]
    if number % 2 == 0:
        questions = "".join(
            f"<details><summary>{esc(line)}</summary><p>{esc(writer.say('sentence', 2))}</p></details>"
            for line in writer.lines("question", 4)
        )
        parts.append(f'<h2 data-label="heading">Questions and answers</h2>{questions}')
    if number % 3 == 0:
        fees = "".join(
            f"<tr><td>{label}</td><td>{writer.rng.randint(3, 90)} crowns</td></tr>"
            for label in ("First application", "Renewal", "Change of address", "Copy")
        )
        parts.append(f'<h2 data-label="heading">Fees</h2><table class="hours">{fees}</table>')
    if number % 3 != 1:
        files = [
            (f"/files/{slug(service)}-{name.lower()}.pdf", f"{name} for a {service}")
            for name in ("Form", "Leaflet", "By-law")
        ]
        listing = items((f'{link} <span class="pdf">PDF</span>' for link in links(files)), 'class="downloads"')
        parts.append(f'<h2 data-label="heading">Downloads</h2>{listing}')
    body = f'<h1 data-label="heading">{service.capitalize()}</h1><div data-label="main">{"".join(parts)}</div>'
    aside = f"""<div class="contact" data-label="supplement"><h2>Your contact</h2><p>{clerk}<br>{esc(office).capitalize()}<br>
Room {writer.rng.randint(1, 24)}, telephone 0387 60-{writer.rng.randint(10, 99)}</p>{_hours(writer)}</div>"""
    return body, aside
