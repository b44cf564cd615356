"""Old Radio Bench: a forum of the early 2000s, in nested tables, font elements and unclosed tags."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from tools.synthetic_sites.html import Site, SourcePage, esc, noise, stylesheet
from tools.synthetic_sites.prose import Writer, load_grammar, plain

__all__ = ["pages"]

_SITE = Site(
    name="old-radio-bench",
    host="http://www.old-radio-bench.example",
    prefix="bench",
    kinds=MappingProxyType({"index": "collection", "board": "listing", "text": "service", "thread": "forum"}),
)
_MENU = (
    ("/index.php", "Forum index"),
    ("/faq.php", "FAQ"),
    ("/viewforum.php?f=1", "Repairs"),
    ("/viewforum.php?f=2", "Parts and tools"),
    ("/rules.php", "Rules"),
)
_BOARDS = {1: "Repairs", 2: "Parts and tools"}
# Posts of each thread; a page of a thread holds at most eight.
_POSTS = (2, 5, 8, 3, 6, 1, 7, 4)


@dataclass(frozen=True)
class _Thread:
    path: str
    board: int
    title: str
    starter: str
    posts: int
    writer: Writer


@dataclass(frozen=True)
class _Member:
    rank: str
    joined: str
    posts: int
    signature: str


def pages(seed: int) -> list[SourcePage]:
    """Return the index, two boards, questions and answers, rules and eight threads."""
    members = _members(seed)
    deck = Writer(load_grammar("bench"), f"{seed}/bench/titles")
    threads = [_plan(seed, number, deck) for number in range(len(_POSTS))]

    result = [_page("index", "/index.php", "index", "Forum index", _index(threads))]
    for number, name in _BOARDS.items():
        path = f"/viewforum.php?f={number}"
        result.append(_page(f"board-{number}", path, "board", name, _board(number, threads)))
    result.append(_page("faq", "/faq.php", "text", "Frequently asked questions", _faq()))
    result.append(_page("rules", "/rules.php", "text", "Rules of this board", _rules()))
    for number, thread in enumerate(threads, 1):
        body = _thread(thread, members)
        result.append(_page(f"thread-{number:02}", thread.path, "thread", thread.title, body))
    return result


def _page(name: str, path: str, kind: str, title: str, body: str) -> SourcePage:
    return _SITE.page(name, path, kind, title=title, html=_document(name, title, body))


def _members(seed: int) -> dict[str, _Member]:
    """Return the members, who look the same below every post; every other one has a signature."""
    grammar = load_grammar("bench")
    writer = Writer(grammar, f"{seed}/bench/members")
    members = {}
    for place, nick in enumerate(grammar["nick"]):
        posts = writer.rng.randint(3, 1900)
        rank = "Old hand" if posts > 1000 else "Site regular" if posts > 200 else "Apprentice"
        joined = f"{writer.rng.randint(1, 28)} {writer.pick('month')[:3]} {writer.rng.randint(2002, 2005)}"
        members[nick] = _Member(rank, joined, posts, plain(writer.pick("signature")) if place % 2 else "")
    return members


def _plan(seed: int, number: int, deck: Writer) -> _Thread:
    writer = Writer(load_grammar("bench"), f"{seed}/bench/{number}")
    writer.bind(set=writer.fill(deck.draw("set")))
    return _Thread(
        path=f"/viewtopic.php?t={writer.rng.randint(100, 999) * 10 + number}",
        board=1 + number % 2,
        title=plain(writer.sentences(deck.draw("title"))),
        starter=writer.pick("nick"),
        posts=_POSTS[number],
        writer=writer,
    )


def _document(page_id: str, title: str, body: str) -> str:
    rng = Writer(load_grammar("bench"), f"noise/{page_id}").rng
    menu = " &nbsp; ".join(f'<a href="{href}" class="mainmenu">{text}</a>' for href, text in _MENU)
    return f"""<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<html dir="ltr">
<head>
<meta http-equiv="Content-Type" content="text/html; charset=utf-8">
<title>Old Radio Bench :: {esc(title)}</title>
<style type="text/css">
<!--
{stylesheet("bench")}-->
</style>
<script language="JavaScript" type="text/javascript">
<!--
var sid = '{noise(rng, 16)}';
//-->
</script>
</head>
<body bgcolor="#D6DCE4" text="#000000" link="#006699" vlink="#5493B4">
<a name="top"></a>
<table width="100%" cellspacing="0" cellpadding="10" border="0" align="center">
<tr>
<td bgcolor="#FFFFFF">
<table width="100%" cellspacing="0" cellpadding="0" border="0">
<tr>
<td><a href="/index.php"><img src="/images/logo.gif" border="0" alt="Old Radio Bench" width="120" height="60" vspace="1"></a></td>
<td align="center" width="100%" valign="middle"><span class="maintitle">Old Radio Bench</span><br>
<span class="gen">Valves, wax and patience since 2002<br>&nbsp;</span>
<table cellspacing="0" cellpadding="2" border="0"><tr>
<td align="center" valign="top" nowrap data-label="navigation"><span class="mainmenu">{menu} &nbsp;
<a href="/search.php?sid={noise(rng, 6)}" class="mainmenu">Search</a> &nbsp; <a href="/login.php" class="mainmenu">Log in</a></span></td>
</tr></table></td>
</tr>
</table>
<br>
{body}
<div align="center" data-label="footer"><span class="copyright"><br>Powered by BoardCraft 2.0.11 &copy; 2001, 2005 BoardCraft Group
<br>The bench takes no blame for shocks, burns or cold tea. <a href="mailto:admin@old-radio-bench.example">Write to the admin</a>
<br></span></div>
</td></tr></table>
</body>
</html>
"""


def _trail(*links: tuple[str, str]) -> str:
    steps = " -> ".join(
        f'<a href="{href}" class="nav">{esc(text)}</a>' for href, text in (("/index.php", "Old Radio Bench"), *links)
    )
    return f'<table width="100%" cellspacing="2" border="0"><tr><td align="left" class="nav" data-label="navigation">{steps}</td></tr></table>'


def _index(threads: list[_Thread]) -> str:
    rows = []
    for number, name in _BOARDS.items():
        about = ("", "It hums, it smokes, it is silent: ask here.", "Where to get it and how to hold it.")[number]
        own = [thread for thread in threads if thread.board == number]
        rows.append(f"""<tr>
<td class="row1" align="center"><img src="/images/folder.gif" alt="No new posts">
<td class="row1" width="100%" data-label="main"><a href="/viewforum.php?f={number}"><b>{name}</b></a><br>
<span class="gensmall">{about}</span>
<td class="row2" align="center" data-label="supplement"><span class="gensmall">{len(own)}</span>
<td class="row2" align="center" nowrap data-label="supplement"><span class="gensmall">Last: <a href="{own[-1].path}">
{esc(own[-1].title)}</a> by {own[-1].starter}</span>""")
    latest = "<br>".join(
        f'<a href="{thread.path}">{esc(thread.title)}</a> ({thread.posts} posts)' for thread in threads
    )
    return f"""{_trail()}
<table width="100%" cellpadding="2" cellspacing="1" border="0" class="forumline">
<tr><th colspan="2" nowrap data-label="heading">Forum<th data-label="heading">Topics<th data-label="heading">Last post
{"".join(rows)}
</table>
<br>
<table width="100%" cellpadding="3" cellspacing="1" border="0" class="forumline">
<tr><td class="catHead" data-label="heading"><font color="#FFFFFF"><b>Active topics</b></font>
<tr><td class="row1" data-label="main"><font size="2">{latest}</font>
</table>
<br>
<table width="100%" class="forumline" cellpadding="3"><tr><td class="row1"><span class="gensmall">Who is online: in total there are
<b>14</b> users online, 2 registered and 12 guests. Most users ever online was 61.</span></table>"""


def _board(number: int, threads: list[_Thread]) -> str:
    rows = [
        f"""<tr><td class="row1"><img src="/images/folder.gif" alt="Topic">
<td class="row1" width="100%" data-label="main"><a href="{thread.path}" class="topictitle">{esc(thread.title)}</a>
<td class="row2" align="center" data-label="supplement">{thread.posts - 1}
<td class="row1" align="center" data-label="supplement"><a href="/profile.php?u={thread.starter}">{thread.starter}</a>
<td class="row2" align="center" data-label="supplement">{thread.writer.rng.randint(40, 990)}"""
        for thread in threads
        if thread.board == number
    ]
    heads = "".join(f'<th data-label="heading">{text}' for text in ("Topics", "Replies", "Author", "Views"))
    return f"""{_trail((f"/viewforum.php?f={number}", _BOARDS[number]))}
<h1 data-label="heading"><font size="4">{_BOARDS[number]}</font></h1>
<table width="100%" border="0" cellspacing="1" cellpadding="4" class="forumline"><tr><th>{heads}
{"".join(rows)}
</table>
<table width="100%" border="0" cellspacing="2"><tr><td data-label="navigation"><span class="nav">Page 1 of 1</span>
<td align="right"><span class="gensmall">All times are GMT + 1 hour<br>You cannot post new topics. You cannot vote.</span></table>"""


def _text_page(title: str, path: str, body: str) -> str:
    return f"""{_trail((path, title))}
<table width="100%" cellpadding="6" cellspacing="1" border="0" class="forumline">
<tr><td class="catHead" data-label="heading"><font color="#FFFFFF"><b>{title}</b></font></td></tr>
<tr><td class="row1" data-label="main"><span class="postbody">{body}</span></td></tr></table>"""


def _faq() -> str:
    return _text_page(
        "Frequently asked questions",
        "/faq.php",
        """<b>May I ask about a set with transistors?</b><p>You may, but the answers will be shorter. Most of us stop at 1965.
<p><b>Is it safe to work on a live chassis?</b><p>No. Use an isolating transformer, keep one hand in your pocket and have somebody in
the house who knows where the main switch is.
<p><b>Why was my picture removed?</b><p>Pictures above 100 kilobytes are deleted at night. The server stands in a cellar and has a
small disk. Make them smaller and post them again.
<p><b>Who pays for all this?</b><p>Nineteen members do. If you want to be number twenty, write to the admin.
<p><b>What do the little lamps beside the names mean?</b><p>One lamp for each hundred posts. They have no use and cannot be sold.""",
    )


def _rules() -> str:
    return _text_page(
        "Rules of this board",
        "/rules.php",
        """<ol><li>Say which set you have. A photograph of the back tells us more than ten lines about the sound.
<li>One fault, one topic. If the second fault shows up after the first is mended, start again.
<li>No advice that could kill a beginner. If you must be brave, be brave alone.
<li>Selling is for the market board. State the price, the weight and where it can be collected.
<li>Come back and tell us what it was. A topic without an ending is a waste of everybody's evening.
<li>Be kind. All of us have put a rectifier in the wrong way round.</ol>""",
    )


def _thread(thread: _Thread, members: dict[str, _Member]) -> str:
    day, month = thread.writer.rng.randint(1, 20), thread.writer.pick("month")[:3]
    rows = []
    quoted = ""
    for position in range(thread.posts):
        first_or_last = position == 0 or (position == thread.posts - 1 and thread.posts > 3)
        others = [nick for nick in members if nick not in (thread.starter, quoted)]
        nick = thread.starter if first_or_last else thread.writer.rng.choice(others)
        posted = (
            f"{day + position} {month} 2006 {thread.writer.rng.randint(1, 12)}:{thread.writer.rng.randint(10, 59)} pm"
        )
        text = _post(thread.writer, position, thread.posts, quoted)
        rows.append(_row(position, nick, members[nick], posted, text))
        quoted = nick if position % 3 == 1 else ""
    board = (f"/viewforum.php?f={thread.board}", _BOARDS[thread.board])
    return f"""{_trail(board)}
<h1 data-label="heading"><a class="maintitle" href="{thread.path}">{esc(thread.title)}</a></h1>
<table width="100%" cellspacing="2" border="0"><tr><td nowrap><a href="/posting.php?mode=reply"><img src="/images/reply.gif"
border="0" alt="Reply"></a><td align="right" data-label="navigation"><span class="nav"><a href="#">View previous topic</a> ::
<a href="#">View next topic</a></span></table>
<table class="forumline" width="100%" cellspacing="1" cellpadding="3" border="0">
<tr><th width="150" nowrap>Author<th nowrap>Message
{"".join(rows)}
</table>
<table width="100%"><tr><td data-label="navigation"><span class="nav">Page 1 of 1</span><td align="right">
<span class="gensmall">Jump to: <select name="f"><option>Select a forum<option>Repairs<option>Parts and tools</select></span></table>"""


def _row(position: int, nick: str, member: _Member, posted: str, text: str) -> str:
    row = f"row{1 + position % 2}"
    signed = ""
    if member.signature:
        line = esc(member.signature)
        signed = f'<span class="gensmall" data-label="other"><br>_________________<br>{line}</span>'
    return f"""<tr><td width="150" align="left" valign="top" class="{row}" data-label="supplement"><span class="name"><a name="{1000 + position}">
</a><b>{nick}</b></span><br><span class="postdetails">{member.rank}<br><br>
Joined: {member.joined}<br>Posts: {member.posts}
<br></span>
<td class="{row}" width="100%" height="28" valign="top"><table width="100%" border="0"><tr>
<td width="100%" data-label="supplement"><span class="postdetails">Posted: {posted}</span>
<td valign="top" nowrap><a href="/posting.php?mode=quote&amp;p={1000 + position}"><font size="1">Quote</font></a>
<tr><td colspan="2"><hr>
<tr><td colspan="2" data-label="main"><span class="postbody">{text}</span>{signed}</table>
<tr><td class="{row}" align="left"><span class="nav"><a href="#top" class="nav" data-label="navigation">Back to top</a></span>
<td class="{row}"><a href="/profile.php?n={nick}"><img src="/images/profile.gif" alt="Profile" border="0"></a>
<tr><td class="spaceRow" colspan="2" height="1"><img src="/images/spacer.gif" alt="" width="1" height="1">"""


def _post(writer: Writer, position: int, posts: int, quoted: str) -> str:
    if position == 0:
        return "<br>".join(("Hello all,", *_lines(writer, "ask", writer.rng.randint(3, 7)), "Cheers"))
    if position == posts - 1 and posts > 3:
        return "<br>".join(_lines(writer, "thanks", 2))
    text = "<br>\n".join(_lines(writer, "answer", writer.rng.randint(1, 6)))
    if quoted:
        text = f"""</span><table width="90%" cellspacing="1" cellpadding="3" border="0" align="center"><tr><td><b>{quoted} wrote:</b>
<tr><td class="quote">{_lines(writer, "answer", 1)[0]}</table><span class="postbody"><br>{text}"""
    if writer.rng.random() < 0.4:
        text += f'<br><font color="#666666"><i>{_lines(writer, "aside", 1)[0]}</i></font>'
    return text


def _lines(writer: Writer, rule: str, count: int) -> list[str]:
    # Forum spelling: some members never use capital letters or full stops.
    careful = writer.rng.random() < 0.6
    return [
        esc(writer.say(rule) if careful else writer.pick(rule)) + ("." if careful or writer.rng.random() < 0.5 else "")
        for _ in range(count)
    ]
