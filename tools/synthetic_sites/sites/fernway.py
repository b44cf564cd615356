"""Fernway Outdoor: a shop with product pages, category listings, reviews and cross-selling."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from tools.synthetic_sites.html import Site, SourcePage, esc, inline, items, json_script, links, noise, slug, stylesheet
from tools.synthetic_sites.prose import Writer, load_grammar

__all__ = ["pages"]

_SITE = Site(
    name="fernway-outdoor",
    host="https://www.fernway-outdoor.example",
    prefix="fernway",
    kinds=MappingProxyType(
        {"home": "collection", "category": "collection", "service": "service", "product": "product"}
    ),
)
# Category -> (name of one piece, name of several).
_KINDS = {
    "packs": ("rucksack", "rucksacks"),
    "tents": ("tent", "tents"),
    "jackets": ("rain jacket", "rain jackets"),
    "cooking": ("camp stove", "camp stoves"),
}
_CATEGORIES = tuple(_KINDS)
_MENU = (*((f"/c/{name}", name.title()) for name in _CATEGORIES), ("/service/delivery", "Delivery & returns"))
_PRODUCTS = 10


@dataclass(frozen=True)
class _Product:
    path: str
    category: str
    name: str
    price: str
    teaser: str
    writer: Writer


def pages(seed: int) -> list[SourcePage]:
    """Return the home page, four categories, a service page and ten products."""
    products = [_plan(seed, number) for number in range(_PRODUCTS)]

    result = [_page("home", "/", "home", "Fernway Outdoor", _home(seed, products))]
    for name in _CATEGORIES:
        title = _KINDS[name][1].capitalize()
        result.append(_page(name, f"/c/{name}", "category", title, _category(seed, name, products)))
    result.append(_page("delivery", "/service/delivery", "service", "Delivery & returns", _delivery(seed)))
    for number, product in enumerate(products):
        body = _product(number, product, products)
        result.append(_page(f"product-{number + 1:02}", product.path, "product", product.name, body))
    return result


def _page(name: str, path: str, kind: str, title: str, body: str) -> SourcePage:
    return _SITE.page(name, path, kind, title=title, html=_document(name, path, title, body))


def _plan(seed: int, number: int) -> _Product:
    grammar = load_grammar("fernway")
    # The model names are drawn once for the whole shop, so that no two products share one.
    deck = Writer(grammar, f"{seed}/fernway/names")
    adjectives, teasers = deck.lines("adjective", _PRODUCTS), deck.lines("teaser", _PRODUCTS)
    writer = Writer(grammar, f"{seed}/fernway/{number}")
    category = _CATEGORIES[number % len(_CATEGORIES)]
    kind, kinds = _KINDS[category]
    size = writer.rng.randrange(10, 65, 5)
    name = f"{adjectives[number]} {size} {kind}"
    writer.bind(name=f"{adjectives[number]} {size}", kind=kind, kinds=kinds)
    return _Product(
        path=f"/p/{slug(name)}-{writer.rng.randint(10000, 99999)}.html",
        category=category,
        name=name,
        price=f"€ {writer.rng.randint(29, 389)}.{writer.rng.choice(('00', '50', '90', '95'))}",
        teaser=teasers[number],
        writer=writer,
    )


def _document(page_id: str, path: str, title: str, body: str) -> str:
    rng = Writer(load_grammar("fernway"), f"noise/{page_id}").rng
    menu = "".join(
        f'<li class="mega__item">{link}<div class="sub" aria-hidden="true"><a href="{href}?sort=new">New in {esc(text)}</a> '
        f'<a href="{href}?sale=1">Sale</a></div></li>'
        for link, (href, text) in zip(links(_MENU), _MENU, strict=True)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>{esc(title)} - Fernway Outdoor</title>
<link rel="canonical" href="{_SITE.host}{path}">
<style>
{stylesheet("fernway")}</style>
<script>var dataLayer = [{{"page": "{page_id}", "session": "{noise(rng, 16)}"}}];</script>
</head>
<body data-page="{noise(rng)}" class="t-{page_id.split("-", maxsplit=1)[0]}">
<noscript><iframe src="/ns.html" height="0" width="0"></iframe></noscript>
<div class="l-top"><ul class="usp"><li>Free delivery from 50 euros</li><li>30 days to change your mind</li>
<li>Repairs in our own workshop</li></ul></div>
<div class="l-head"><div class="l-head__logo"><a class="logo" href="/">Fernway</a></div>
<div data-label="navigation"><ul class="mega">{menu}</ul></div>
<form class="search" action="/find"><label class="vh" for="find">Search products</label><input id="find" name="q"
placeholder="What are you looking for?"><button type="submit">Find</button></form>
<div class="mini"><a href="/account" data-label="navigation">My account</a> <a href="/basket">Basket <span>(0)</span></a></div></div>
<div class="l-page" id="app">
{body}
</div>
<div class="l-foot" data-label="footer"><div><h4>Help</h4><ul><li><a href="/service/delivery">Delivery &amp; returns</a></li>
<li><a href="/service/sizes">Sizes</a></li><li><a href="/service/repairs">Repairs</a></li></ul></div>
<div><h4>Fernway</h4><ul><li><a href="/">Start page</a></li><li><a href="/jobs">Jobs</a></li><li><a href="/press">Press</a></li></ul></div>
<div><h4>Newsletter</h4><p>Ten euros off your next order.</p><input name="mail"><button>Sign up</button></div>
<div><p>Fernway Outdoor Ltd., 12 Weir Street, Ardlow. VAT included in all prices.</p><p>Telephone 0800 314 159, Monday to
Friday, nine to five</p></div></div>
<div class="modal" role="dialog" aria-hidden="true"><h4>Added to your basket</h4><button>Go to checkout</button>
<button>Keep shopping</button></div>
<div class="modal" id="country" aria-hidden="true"><p>It looks as if you are in another country. Stay on this site?</p>
<select name="country"><option>Ireland</option><option>Norway</option><option>Portugal</option></select></div>
<script src="/static/{noise(rng)}.bundle.js" defer></script>
</body>
</html>
"""


def _crumbs(*trail: tuple[str, str]) -> str:
    return f'<div class="bc" data-label="navigation">{" / ".join(links((("/", "Home"), *trail)))}</div>'


def _tile(product: _Product) -> str:
    return f"""<div class="tile" data-sku="{product.path[-10:-5]}" data-label="main"><div class="pic" role="img"></div>
<h3><a href="{product.path}">{esc(product.name)}</a></h3><p>{esc(product.teaser)}</p><span class="price">{product.price}</span>
<button class="btn" data-label="other">Add to basket</button></div>"""


def _home(seed: int, products: list[_Product]) -> str:
    writer = Writer(load_grammar("fernway"), f"{seed}/fernway/home")
    writer.bind(kind="kit", kinds="tents, jackets and stoves")
    tiles = "\n".join(_tile(product) for product in products[:9])
    return f"""<h1 data-label="heading">Kit for wet weather and long evenings</h1>
<div class="intro" data-label="main"><p>{esc(writer.say("intro", 2))}</p></div>
<div class="banner" data-label="advertisement">Autumn sale: up to 40 per cent off last year's colours. <a href="/sale">See all
offers</a></div>
<h2 data-label="heading">Favourites of our workshop</h2>
<div class="grid">{tiles}</div>"""


def _category(seed: int, name: str, products: list[_Product]) -> str:
    writer = Writer(load_grammar("fernway"), f"{seed}/fernway/{name}")
    kind, kinds = _KINDS[name]
    writer.bind(kind=kind, kinds=kinds)
    own = [product for product in products if product.category == name]
    colours = items(f'<label><input type="checkbox">{colour}</label>' for colour in writer.lines("colour", 5))
    materials = items(links(("?m=" + slug(m), m) for m in writer.lines("material", 5)))
    tiles = "\n".join(_tile(product) for product in own)
    others = [product for product in products if product.category != name][:3]
    return f"""{_crumbs((f"/c/{name}", kinds.capitalize()))}
<div class="cat"><div class="filters" data-label="navigation"><strong>Colour</strong>{colours}<strong>Material</strong>{materials}</div>
<div><h1 data-label="heading">{kinds.capitalize()}</h1><p class="intro" data-label="main">{esc(writer.say("intro", 2))}</p>
<p class="sort" data-label="navigation">{len(own)} items · Sort by <a href="?s=p">price</a> <a href="?s=n">newest</a></p>
<div class="grid">{tiles}</div>
<div class="text" data-label="main"><h2 data-label="heading">How to choose a {kind}</h2>
<p>{esc(writer.say("feature"))}: that is what most people ask for. {esc(writer.say("intro"))}</p></div>
{_crosssell("You may also like", others)}</div></div>"""


def _crosssell(title: str, products: list[_Product]) -> str:
    boxes = "".join(
        f'<div><a href="{p.path}">{esc(p.name)}</a><br>{esc(p.teaser)}<br><b>{p.price}</b></div>' for p in products
    )
    return f'<div class="rec" data-label="related"><h2>{title}</h2><div class="xsell">{boxes}</div></div>'


def _delivery(seed: int) -> str:
    writer = Writer(load_grammar("fernway"), f"{seed}/fernway/delivery")
    rows = "".join(
        f"<tr><td>{country}</td><td>{writer.rng.randint(2, 9)} days</td><td>€ {writer.rng.randint(4, 19)}.90</td></tr>"
        for country in ("Ireland", "Norway", "Portugal", "Iceland", "Estonia", "Malta")
    )
    return f"""{_crumbs(("/service/delivery", "Delivery & returns"))}
<div class="tabs"><h1 data-label="heading">Delivery &amp; returns</h1><div data-label="main">
<p>Orders that reach us before two in the afternoon leave the warehouse the same day. You get a message with the parcel
number as soon as the driver has scanned it.</p>
<table class="spec"><thead><tr><th>Country</th><th>Time</th><th>Cost</th></tr></thead><tbody>{rows}</tbody></table>
<h2 data-label="heading">Sending something back</h2>
<p>You have {writer.rng.choice((30, 60, 90))} days. Put the goods in the box they came in, add the slip and hand the parcel in
at any post office. We pay the postage within the country and refund the price within {writer.pick("count")} days.</p>
<p>Worn boots and muddy tents are welcome too, but we will ask you what happened.</p></div></div>
<div class="banner" data-label="advertisement">Autumn sale: up to 40 per cent off last year's colours. <a href="/sale">See all
offers</a></div>"""


def _product(number: int, product: _Product, products: list[_Product]) -> str:
    writer = product.writer
    data = {"@type": "Product", "name": product.name, "offers": {"price": product.price[2:], "priceCurrency": "EUR"}}
    kinds = _KINDS[product.category][1].capitalize()
    colours = "".join(f"<option>{colour}</option>" for colour in writer.lines("colour", 4))
    thumbs = "".join(f'<span data-label="supplement">View {place}</span>' for place in range(1, 4))
    others = [other for other in products if other is not product]
    related = _crosssell("Customers also bought", writer.rng.sample(others, 4)) if number % 4 != 3 else ""
    return f"""{_crumbs((f"/c/{product.category}", kinds), (product.path, product.name))}
{json_script(data)}
<div class="pdp"><div class="gallery"><div class="pic"></div><div class="thumbs">{thumbs}</div></div>
<div class="buy"><h1 data-label="heading">{esc(product.name)}</h1>
<p class="lead" data-label="main">{esc(product.teaser)}</p><p class="price" data-label="main">{product.price}</p>
<p class="stock" data-label="main">In stock, with you in {writer.pick("count")} days</p>
<form action="/basket/add" method="post"><label>Colour <select>{colours}</select></label> <button class="btn">Add to basket</button>
<a href="/wishlist">Remember</a></form></div></div>
<div class="tabs"><ul class="usp" role="tablist" data-label="navigation"><li><a href="#d">Description</a></li>
<li><a href="#s">Specification</a></li><li><a href="#r">Reviews</a></li></ul>
<div id="d" data-label="main">{_description(number, writer)}</div>
<div id="s"><h2 data-label="heading">Specification</h2>{_specification(writer)}</div>
<div id="r" data-label="comment">{_reviews(number, writer)}</div></div>
{related}"""


def _description(number: int, writer: Writer) -> str:
    words = (60, 140, 240, 90, 320, 45, 200, 400, 120, 30)[number % 10]
    hrefs = [href for href, _ in _MENU]
    text = "".join(
        f"<p>{inline(part, writer.rng, hrefs)}</p>"
        for part in writer.article("describe", ("describe",), "guarantee", words)
    )
    return text + items((esc(line) for line in writer.lines("feature", 3 + number % 4)), 'class="features"')


def _specification(writer: Writer) -> str:
    values = {
        "Weight": f"{writer.rng.randint(210, 2900)} g",
        "Outer material": writer.pick("material"),
        "Packed size": f"{writer.rng.randint(18, 60)} × {writer.rng.randint(9, 24)} cm",
        "Temperature range": f"−{writer.rng.randint(2, 18)} to {writer.rng.randint(20, 40)} °C",
        "Colours": ", ".join(writer.lines("colour", 3)),
        "Item number": f"FW-{writer.rng.randint(10000, 99999)}",
        "Guarantee": f"{writer.pick('count')} years",
    }
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in values.items())
    return f'<table class="spec" data-label="main"><tbody>{rows}</tbody></table>'


def _reviews(number: int, writer: Writer) -> str:
    rows = []
    for _ in range((2, 4, 0, 6, 3, 1, 5, 2, 8, 3)[number % 10]):
        stars = writer.rng.randint(3, 5)
        rows.append(
            f'<div class="review"><span class="stars" aria-hidden="true">{"★" * stars}{"☆" * (5 - stars)}</span>'
            f'<span class="vh">{stars} of 5 stars</span> <b>{writer.pick("review_title")}</b>'
            f"<p>{esc(writer.say('review'))}</p><small>{writer.pick('first')}, {writer.pick('date')}</small></div>"
        )
    if not rows:
        return '<h2>Reviews</h2><p data-label="other">Nobody has written a review yet. Be the first!</p>'
    return f"<h2>{len(rows)} reviews</h2>{''.join(rows)}"
