"""The Patient Crumb: a baking blog in the div soup of a blog engine, with widgets on every page."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from tools.synthetic_sites.html import Site, SourcePage, esc, inline, items, links, noise, slug, stylesheet
from tools.synthetic_sites.prose import Writer, load_grammar, plain

__all__ = ["pages"]

_SITE = Site(
    name="patient-crumb",
    host="http://www.patient-crumb.example",
    prefix="crumb",
    kinds=MappingProxyType(
        {"home": "collection", "category": "listing", "index": "listing", "page": "service", "post": "article"}
    ),
)
_CATEGORIES = ("bread", "garden")
_MENU = (
    ("/", "Home"),
    ("/category/bread/", "Bread"),
    ("/category/garden/", "Garden"),
    ("/recipes/", "All recipes"),
    ("/about/", "About"),
)
# Lengths in words; the short ones are notes with more comment than text.
_LENGTHS = (260, 480, 45, 760, 340, 150, 1150, 420, 80, 560)
_TAGS = (
    "rye",
    "spelt",
    "sourdough",
    "crust",
    "beans",
    "compost",
    "weekend",
    "failure",
    "tins",
    "winter",
    "frost",
    "jam",
)


@dataclass(frozen=True)
class _Post:
    path: str
    category: str
    title: str
    teaser: str
    date: str
    words: int
    writer: Writer


def pages(seed: int) -> list[SourcePage]:
    """Return the home page, two categories, a recipe index, the about page and ten posts."""
    deck = Writer(load_grammar("crumb"), f"{seed}/crumb/titles")
    posts = [_plan(seed, number, deck) for number in range(len(_LENGTHS))]
    sidebar = _sidebar(Writer(load_grammar("crumb"), f"{seed}/crumb/sidebar"), posts)

    def page(name: str, path: str, kind: str, title: str, body: str) -> SourcePage:
        return _SITE.page(name, path, kind, title=title, html=_document(name, title, body, sidebar))

    result = [page("home", "/", "home", "The Patient Crumb", _home(posts))]
    for name in _CATEGORIES:
        own = [post for post in posts if post.category == name]
        result.append(page(name, f"/category/{name}/", "category", name.title(), _category(name, own)))
    result.append(page("recipes", "/recipes/", "index", "All recipes", _recipes(posts)))
    result.append(page("about", "/about/", "page", "About", _about(seed)))
    for number, post in enumerate(posts):
        body = _single(number, post, posts)
        result.append(page(f"post-{number + 1:02}", post.path, "post", post.title, body))
    return result


def _plan(seed: int, number: int, deck: Writer) -> _Post:
    writer = Writer(load_grammar("crumb"), f"{seed}/crumb/{number}")
    category = _CATEGORIES[number % 3 == 2]
    writer.bind(bread=deck.draw("bread"), grain=writer.pick("grain"), extra=deck.draw("extra"))
    if category == "garden":
        writer.bind(plant=deck.draw("plant"))
    title = plain(writer.sentences(deck.draw(f"title_{category}")))
    month = writer.rng.randint(1, 12)
    return _Post(
        path=f"/{writer.pick('year')}/{month:02}/{slug(title)}/",
        category=category,
        title=title,
        teaser=plain(writer.say("teaser")),
        date=writer.pick("date"),
        words=_LENGTHS[number],
        writer=writer,
    )


def _document(page_id: str, title: str, body: str, sidebar: str) -> str:
    rng = Writer(load_grammar("crumb"), f"noise/{page_id}").rng
    menu = "".join(
        f'<li id="menu-item-{40 + place}" class="menu-item menu-item-type-post_type">{link}</li>'
        for place, link in enumerate(links(_MENU))
    )
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" lang="en-GB">
<head>
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
<title>{esc(title)} &laquo; The Patient Crumb</title>
<link rel="alternate" type="application/rss+xml" title="Feed" href="/feed/" />
<meta name="generator" content="BlogPress 3.4" />
<style type="text/css">
{stylesheet("crumb")}</style>
<script type="text/javascript">
/* <![CDATA[ */ var crumbSettings = {{"nonce":"{noise(rng, 10)}","postId":"{page_id}"}}; /* ]]> */
</script>
</head>
<body class="single postid-{noise(rng, 4)} custom-background">
<div id="page" class="hfeed">
<div id="header"><div class="blog-title"><a href="/" rel="home">The Patient Crumb</a></div>
<div class="description">Slow loaves, small gardens, no hurry</div></div>
<div id="access" role="navigation" data-label="navigation"><div class="screen-reader-text"><a href="#content">Skip to
content</a></div><div class="menu-header"><ul id="menu-top" class="menu">{menu}</ul></div></div>
<div id="main"><div id="container"><div id="content" role="main">
{body}
</div></div>
{sidebar}
</div>
<div id="footer" data-label="footer"><div id="colophon"><div id="site-info">
<a href="/">The Patient Crumb</a> &middot; written with floury hands since 2011 &middot; <a href="/imprint/">Imprint</a>
&middot; <a href="/feed/">Entries (RSS)</a> and <a href="/comments/feed/">Comments (RSS)</a></div>
<div id="site-generator">Proudly powered by BlogPress. Theme: Oven Door.</div></div></div>
</div>
<div class="hide" id="lightbox"><span>Close</span> <span>Next photograph</span></div>
<script type="text/javascript">if (window.stats) {{ stats.count("{noise(rng, 6)}"); }}</script>
<noscript><div><img src="/stats.gif" alt="" /></div></noscript>
</body>
</html>
"""


def _sidebar(writer: Writer, posts: list[_Post]) -> str:
    recent = items(links((post.path, post.title) for post in posts[:6]))
    chatter = items(
        f'<span class="comment-author-link">{writer.pick("first")}</span> on <a href="{post.path}#comments">'
        f"{esc(post.title)}</a>"
        for post in writer.rng.sample(posts, 4)
    )
    cloud = " ".join(
        f'<a href="/tag/{tag}/" style="font-size:{writer.rng.randint(8, 20)}pt">{tag}</a>' for tag in _TAGS
    )
    months = items(
        links((f"/2023/{n:02}/", f"{name} 2023") for n, name in enumerate(("January", "February", "March"), 1))
    )
    return f"""<div id="sidebar" class="widget-area"><div class="xoxo">
<div class="widget widget_search"><form method="get" action="/"><label class="screen-reader-text" for="s">Search for:</label>
<input type="text" name="s" id="s" /><input type="submit" value="Search" /></form></div>
<div class="widget widget_text"><h3 class="widgettitle">Hello!</h3><div class="textwidget">I am Tilda. I bake, I dig and I
write about both. If a recipe fails, it was probably the flour. If it fails twice, write to me.</div></div>
<div class="widget widget_recent_entries" data-label="related"><h3 class="widgettitle">Recent posts</h3>{recent}</div>
<div class="widget widget_recent_comments" data-label="related"><h3 class="widgettitle">Recent comments</h3>{chatter}</div>
<div class="widget widget_ad" data-label="advertisement"><p>Sponsored: stone-ground flour from the Weir Mill, sent in sacks of
five kilos. <a href="/go/weirmill">Order yours</a></p></div>
<div class="widget widget_tag_cloud" data-label="navigation"><h3 class="widgettitle">Tags</h3><div class="tagcloud">{cloud}</div></div>
<div class="widget widget_archive" data-label="navigation"><h3 class="widgettitle">Archive</h3>{months}</div>
<div class="widget widget_mail"><h3 class="widgettitle">By e-mail</h3><p>New posts in your letter box, about twice a month.</p>
<input type="text" name="email" /><input type="submit" value="Subscribe" /></div>
</div></div>"""


def _entry(post: _Post, *, long: bool) -> str:
    text = post.writer.say("opening", 2) if long else post.teaser
    return f"""<div class="post type-post hentry category-{post.category}" data-label="main">
<h2 class="entry-title"><a href="{post.path}" rel="bookmark">{esc(post.title)}</a></h2>
<div class="entry-meta" data-label="supplement"><span class="meta-prep">Posted on</span> <span class="entry-date">{post.date}
</span></div>
<div class="entry-summary"><p>{esc(text)} <a href="{post.path}" class="more-link" data-label="navigation">Continue reading
<span class="meta-nav">&rarr;</span></a></p></div></div>"""


def _home(posts: list[_Post]) -> str:
    entries = "\n".join(_entry(post, long=True) for post in posts[:6])
    return f"""{entries}
<div id="nav-below" class="navigation" data-label="navigation"><div class="nav-previous"><a href="/page/2/">&larr; Older posts
</a></div></div>"""


def _category(name: str, posts: list[_Post]) -> str:
    entries = "\n".join(_entry(post, long=False) for post in posts)
    about = {
        "bread": "Loaves, rolls and flatbreads, the good ones and the doorstops.",
        "garden": "Four beds, one water butt and a blackbird.",
    }[name]
    return f"""<h1 class="page-title" data-label="heading">Category archives: <span>{name.title()}</span></h1>
<div class="archive-meta" data-label="main"><p>{about}</p></div>
{entries}"""


def _recipes(posts: list[_Post]) -> str:
    blocks = []
    for name in _CATEGORIES:
        rows = [
            f'<a href="{post.path}">{esc(post.title)}</a> <em>({post.date})</em><br />{esc(post.teaser)}'
            for post in posts
            if post.category == name
        ]
        index = items(rows, 'class="recipe-index"')
        blocks.append(f'<h2 data-label="heading">{name.title()}</h2>{index}')
    return f"""<div class="page type-page hentry"><h1 class="entry-title" data-label="heading">All recipes</h1>
<div class="entry-content" data-label="main"><p>Everything I have written down so far, sorted by where the mud was.</p>
{"".join(blocks)}</div></div>"""


def _about(seed: int) -> str:
    writer = Writer(load_grammar("crumb"), f"{seed}/crumb/about")
    story = "".join(f"<p>{esc(writer.say('story', 2))}</p>" for _ in range(3))
    return f"""<div class="page type-page hentry"><h1 class="entry-title" data-label="heading">About</h1>
<div class="entry-content" data-label="main">
<p>My name is Tilda. I learned to bake from a man who did not talk and to garden from a woman who did little else.</p>
{story}
<p>Write to <a href="mailto:tilda@patient-crumb.example">tilda@patient-crumb.example</a>. I answer on Sundays.</p>
</div></div>"""


def _single(number: int, post: _Post, posts: list[_Post]) -> str:
    older, newer = posts[number - 1], posts[(number + 1) % len(posts)]
    return f"""<div id="nav-above" class="navigation" data-label="navigation"><div class="nav-previous"><a href="{older.path}"
rel="prev"><span class="meta-nav">&larr;</span> {esc(older.title)}</a></div><div class="nav-next"><a href="{newer.path}"
rel="next">{esc(newer.title)} <span class="meta-nav">&rarr;</span></a></div></div>
<div id="post-{700 + number}" class="post type-post status-publish hentry category-{post.category}">
<h1 class="entry-title" data-label="heading">{esc(post.title)}</h1>
<div class="entry-meta" data-label="supplement"><span class="meta-prep">Posted on</span> <span class="entry-date">{post.date}
</span> <span class="by-author">by <span class="author vcard">Tilda</span></span></div>
<div class="entry-content" data-label="main">
{_content(number, post)}
</div>
{_after(post)}
</div>
{_comments(number, post.writer)}"""


def _content(number: int, post: _Post) -> str:
    writer = post.writer
    middle = ("story",) if post.category == "bread" else ("garden", "garden", "story")
    hrefs = ["/recipes/", "/category/garden/", "/tag/sourdough/"]
    parts = [
        f"<p>{inline(text, writer.rng, hrefs)}</p>" for text in writer.article("opening", middle, "closing", post.words)
    ]
    if number % 4 != 2:
        caption = esc(writer.say("caption"))
        parts.insert(
            1,
            f'<div id="attachment_{noise(writer.rng, 4)}" class="wp-caption alignnone"><img src="/files/{noise(writer.rng)}.jpg"'
            f' alt="{caption}" /><p class="wp-caption-text" data-label="supplement">{caption}</p></div>',
        )
    if number % 2 == 1:
        ingredients = items(esc(line) for line in writer.lines("ingredient", 6))
        steps = items((esc(line) for line in writer.lines("step", 6)), tag="ol")
        parts.append(
            f'<div class="recipe"><h3 data-label="heading">Ingredients</h3>{ingredients}'
            f'<h3 data-label="heading">Method</h3>{steps}</div>'
        )
    if number % 3 == 0:
        tips = "".join(f"<span>&bull; {esc(line)}</span><br />" for line in writer.lines("tip", 4))
        parts.append(f'<div class="tips"><strong>Before you start</strong><br />{tips}</div>')
    if number % 5 == 3:
        parts.insert(3, f"<blockquote><div>{esc(writer.say('story'))}</div></blockquote>")
    return "\n".join(parts)


def _after(post: _Post) -> str:
    tags = ", ".join(f'<a href="/tag/{tag}/" rel="tag">{tag}</a>' for tag in post.writer.rng.sample(_TAGS, 3))
    return f"""<div class="sharedaddy"><h3 class="sd-title">Share this:</h3><ul><li><a href="#" class="share-mail">E-mail</a></li>
<li><a href="#" class="share-print">Print</a></li></ul></div>
<div class="entry-utility" data-label="navigation">This entry was posted in <a href="/category/{post.category}/">
{post.category.title()}</a> and tagged {tags}. Bookmark the <a href="{post.path}">permalink</a>.</div>"""


def _comments(number: int, writer: Writer) -> str:
    count = (2, 5, 7, 0, 1, 3, 8, 0, 4, 6)[number]
    rows = []
    for position in range(count):
        child = ""
        if position % 2:
            child = (
                '<ul class="children"><li class="comment bypostauthor"><div class="comment-author">'
                f'<cite class="fn">Tilda</cite> <span class="says">says:</span></div><p>{esc(writer.say("reply"))}</p></li></ul>'
            )
        rows.append(
            f'<li class="comment depth-1" id="comment-{noise(writer.rng, 6)}"><div class="comment-author vcard">'
            f'<div class="avatar"></div><cite class="fn">{writer.pick("first")}</cite> <span class="says">says:</span></div>'
            f'<div class="comment-meta"><a href="#">{writer.pick("date")}</a></div>'
            f'<div class="comment-body"><p>{esc(writer.say("comment"))}</p></div>{child}</li>'
        )
    heading = f"{count} responses" if count != 1 else "One response"
    thread = f'<h3 id="comments-title">{heading}</h3><ol class="commentlist">{"".join(rows)}</ol>' if count else ""
    return f"""<div id="comments" data-label="comment">{thread}
<div id="respond" data-label="other"><h3 id="reply-title">Leave a reply</h3><form action="/comments-post" method="post">
<p class="comment-notes">Your e-mail address will not be published. Required fields are marked <span>*</span></p>
<label for="author">Name *</label><input id="author" name="author" /><label for="comment">Comment</label><textarea id="comment">
</textarea><input type="submit" value="Post comment" /></form></div></div>"""
