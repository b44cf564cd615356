"""Pages from the web, against a server on the loopback address."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

import blockml
from blockml.errors import MissingExtraError, UsageError
from blockml.templates.linked import WebSource
from tests.templates.linked.webserver import HTML, Site, loopback, page, reason, redirect, send


@loopback
def test_a_page_is_fetched_and_parsed(site: Site, web: WebSource) -> None:
    """A page is parsed with the header's charset, after robots.txt was requested, and the request has our headers."""
    site.answers["/a"] = 200, {"Content-Type": 'TEXT/HTML; Charset="ISO-8859-1"'}, "<p>Crème".encode("latin-1")
    found = web.get(f"{site.url}/a#part")
    assert found is not None
    assert (found.url, found.blocks.texts, found.encoding_source) == (f"{site.url}/a", ("Crème",), "transport")
    assert site.paths() == ["/robots.txt", "/a"]
    headers = site.asked[1][1]
    assert headers["host"] == f"127.0.0.1:{site.port}"
    assert headers["user-agent"].startswith(f"blockml/{blockml.__version__} ")
    assert headers["accept-encoding"] == "gzip"
    assert web.failures == {}


@loopback
def test_links_of_a_fetched_page_lead_to_the_next_page(site: Site, web: WebSource) -> None:
    """Relative links of a fetched page can be followed, because it has its URL."""
    site.answers["/dir/a"] = 200, HTML, b"<a href=../b?x=1>b</a>"
    site.answers["/b?x=1"] = page("b")
    first = web.get(f"{site.url}/dir/a")
    assert first is not None
    target = web.resolve(first, "../b?x=1")
    assert target is not None
    second = web.get(target)
    assert second is not None
    assert second.title == "b"


@loopback
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Site, web: WebSource, status: int) -> None:
    """Relative redirects and ones without a scheme are followed, and the page has the last URL."""
    site.answers["/old"] = redirect("newer", status)
    site.answers["/newer"] = redirect(f"//127.0.0.1:{site.port}/new#x", status)
    site.answers["/new"] = page("new")
    found = web.get(f"{site.url}/old")
    assert found is not None
    assert (found.url, found.title) == (f"{site.url}/new", "new")


@loopback
def test_redirects_in_a_circle_end(site: Site, web: WebSource) -> None:
    """Circular redirects end without requesting a URL twice."""
    site.answers["/a"] = redirect("/b")
    site.answers["/b"] = redirect("/a")
    assert reason(web, f"{site.url}/a") == "redirects in a circle"
    assert site.paths() == ["/robots.txt", "/a", "/b"]


@loopback
def test_endless_redirects_end(site: Site) -> None:
    """Redirects are followed up to the limit of three."""
    for number in range(9):
        site.answers[f"/{number}"] = redirect(f"/{number + 1}")
    site.answers["/3"] = page("three")
    with WebSource(allow_private=True, delay=0, max_redirects=3) as source:
        assert source.get(f"{site.url}/0") is not None
        assert reason(source, f"{site.url}/4") == "more than 3 redirects"
    assert site.paths()[-4:] == ["/4", "/5", "/6", "/7"]


@loopback
@pytest.mark.parametrize(
    "target", ["", "ftp://127.0.0.1/", "file:///etc/passwd", "javascript:void(0)", "http://", "http://a:b:c/"]
)
def test_redirects_to_other_schemes_fail(site: Site, web: WebSource, target: str) -> None:
    """Redirects to other schemes than http and https fail."""
    site.answers["/a"] = redirect(target)
    assert reason(web, f"{site.url}/a") == "status 302 without a target"


@loopback
def test_redirects_with_credentials_fail(site: Site, web: WebSource) -> None:
    """Redirects with a user name or a password fail, so that a page can't make us log in somewhere."""
    for number, target in enumerate((f"http://me:secret@127.0.0.1:{site.port}/b", f"//me@127.0.0.1:{site.port}/b")):
        site.answers[f"/{number}"] = redirect(target)
        assert "user name or password" in reason(web, f"{site.url}/{number}")
    assert "/b" not in site.paths()


@loopback
@pytest.mark.parametrize("status", [204, 206, 304, 404, 410, 429, 500, 503])
def test_other_statuses_fail(site: Site, web: WebSource, status: int) -> None:
    """Responses with another status than 200 fail."""
    site.answers["/a"] = (status, HTML, b"" if status in {204, 304} else b"<p>sorry</p>")
    assert reason(web, f"{site.url}/a") == f"status {status}"


@loopback
@pytest.mark.parametrize("content_type", ["text/plain", "application/pdf", "image/svg+xml", "text/htmlx", ""])
def test_only_html_is_accepted(site: Site, web: WebSource, content_type: str) -> None:
    """Only HTML media types are accepted, whatever the body is."""
    site.answers["/a"] = 200, {"Content-Type": content_type}, b"<p>text</p>"
    site.answers["/b"] = 200, {"Content-Type": "application/xhtml+xml"}, b"<p>text</p>"
    assert reason(web, f"{site.url}/a") == f"the content type is {content_type!r}, not HTML"
    assert web.get(f"{site.url}/b") is not None


@loopback
def test_a_failed_page_is_not_requested_again(site: Site, web: WebSource) -> None:
    """A failed page is not requested again, even with another fragment, and the failures are read-only."""
    assert reason(web, f"{site.url}/a") == "status 404"
    site.answers["/a"] = page("late")
    assert web.get(f"{site.url}/a#part") is None
    assert site.paths() == ["/robots.txt", "/a"]
    with pytest.raises(TypeError):
        web.failures["x"] = "y"  # type: ignore[index]


@loopback
def test_the_number_of_pages_is_limited(site: Site) -> None:
    """The limit counts failed pages too, but not robots.txt."""
    site.answers["/a"] = page("a")
    with WebSource(allow_private=True, delay=0, max_pages=2) as source:
        assert source.get(f"{site.url}/a") is not None
        assert source.get(f"{site.url}/missing") is None
        assert reason(source, f"{site.url}/b") == "the limit of 2 pages was reached"
    assert site.paths() == ["/robots.txt", "/a", "/missing"]


@loopback
def test_cookies_are_not_kept_and_proxies_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cookies are not kept, and proxies in environment variables are not used."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    site.answers["/a"] = 200, {**HTML, "Set-Cookie": "id=1; Path=/"}, b"<p>a"
    site.answers["/b"] = page("b")
    with WebSource(allow_private=True, delay=0) as source:
        assert source.get(f"{site.url}/a") is not None
        assert source.get(f"{site.url}/b") is not None
    assert all("cookie" not in headers for _, headers in site.asked)


@loopback
def test_requests_are_made_one_at_a_time(site: Site, web: WebSource) -> None:
    """Six threads make one request at a time."""
    at_work = threading.Lock()
    overlaps: list[str] = []

    def slow(handler: BaseHTTPRequestHandler) -> None:
        # Held until just before the answer, because after it the next request may come.
        if not at_work.acquire(blocking=False):
            overlaps.append(handler.path)
            at_work.acquire()
        time.sleep(0.02)
        at_work.release()
        send(handler, *page("slow"))

    for number in range(6):
        site.answers[f"/{number}"] = slow
    threads = [threading.Thread(target=web.get, args=(f"{site.url}/{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(site.asked), overlaps, dict(web.failures)) == (7, [], {})


@loopback
def test_a_closed_source_refuses(site: Site) -> None:
    """A closed source raises an error instead of returning no page."""
    with WebSource(allow_private=True) as source:
        pass
    with pytest.raises(UsageError, match="closed"):
        source.get(f"{site.url}/a")
    assert site.asked == []


@loopback
def test_parsing_options_are_passed_on(site: Site) -> None:
    """Linked pages are parsed like the page that links to them."""
    site.answers["/a"] = page("a")
    with WebSource(allow_private=True, parsing={"backend": "html5lib"}) as source:
        found = source.get(f"{site.url}/a")
    assert found is not None
    assert found.backend == "html5lib"


# Size and time


@loopback
@pytest.mark.parametrize("chunked", [False, True])
def test_a_page_that_is_too_long_fails(site: Site, chunked: bool) -> None:  # noqa: FBT001
    """A page over the limit fails with or without an announced length, but one at the limit doesn't."""

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            handler.wfile.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")

    site.answers["/long"] = endless if chunked else (200, HTML, b"x" * 100_001)
    site.answers["/fits"] = 200, HTML, b"x" * 100_000
    with WebSource(allow_private=True, delay=0, max_bytes=100_000) as source:
        assert reason(source, f"{site.url}/long") == "longer than 100000 bytes"
        assert source.get(f"{site.url}/fits") is not None


@loopback
def test_a_gzip_bomb_fails_early(site: Site, web: WebSource) -> None:
    """A gzip bomb fails with no more than a few times the limit in memory."""
    bomb = gzip.compress(bytes(64 * 2**20))
    assert len(bomb) < 100_000
    site.answers["/bomb"] = 200, {**HTML, "Content-Encoding": "gzip"}, bomb
    web.get(f"{site.url}/warm-up")
    tracemalloc.start()
    try:
        assert reason(web, f"{site.url}/bomb") == "longer than 8388608 bytes"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**20


@loopback
def test_compressed_pages_are_decompressed(site: Site, web: WebSource) -> None:
    """Compressed bodies may have several members, padding or no content."""
    text = "".join(f"<p>paragraph {number}</p>" for number in range(5000)).encode()
    half = len(text) // 2
    for name, body in {
        "whole": gzip.compress(text),
        "members": gzip.compress(text[:half]) + gzip.compress(text[half:]),
        "padded": gzip.compress(text) + bytes(100),
    }.items():
        site.answers[f"/{name}"] = 200, {**HTML, "Content-Encoding": "gzip"}, body
        found = web.get(f"{site.url}/{name}")
        assert found is not None
        assert found.source == text.decode()
    site.answers["/empty"] = 200, {**HTML, "Content-Encoding": "gzip"}, b""
    found = web.get(f"{site.url}/empty")
    assert found is not None
    assert found.source == ""


@loopback
def test_damaged_bodies_fail(site: Site, web: WebSource) -> None:
    """A damaged body fails as a whole, and the source remains usable."""

    def broken_off(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"<p>only this")

    zipped = {**HTML, "Content-Encoding": "gzip"}
    site.answers["/cut"] = 200, zipped, gzip.compress(b"<p>text</p>" * 100)[:-20]
    site.answers["/lie"] = 200, zipped, b"<p>text</p>"
    site.answers["/brotli"] = 200, {**HTML, "Content-Encoding": "br"}, b"..."
    site.answers["/broken-off"] = broken_off
    site.answers["/garbage"] = lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH\r\n")
    assert reason(web, f"{site.url}/cut") == "the compressed body is truncated"
    assert reason(web, f"{site.url}/lie").startswith("the compressed body is damaged")
    assert reason(web, f"{site.url}/brotli") == "the content encoding 'br' was not requested"
    assert reason(web, f"{site.url}/broken-off")
    assert reason(web, f"{site.url}/garbage")
    site.answers["/fine"] = page("fine")
    assert web.get(f"{site.url}/fine") is not None


@loopback
@pytest.mark.parametrize("where", ["head", "body", "silence", "redirects"])
def test_a_slow_page_fails_in_time(site: Site, where: str) -> None:
    """One time limit applies to the whole request, wherever the server is slow."""

    def slow(handler: BaseHTTPRequestHandler) -> None:
        if where == "body":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n")
        elif where == "head":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(100):
            if where != "silence":
                handler.wfile.write(b"x")
            if site.closing.wait(0.05):
                break

    def late(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.2)
        send(handler, *redirect(f"{handler.path}x"))

    for number in range(1, 9):
        site.answers["/slow" + "x" * (number - 1)] = late if where == "redirects" else slow
    with WebSource(allow_private=True, delay=0, timeout=0.5, max_redirects=9) as source:
        start = time.monotonic()
        assert reason(source, f"{site.url}/slow") == "took longer than 0.5 seconds"
        assert 0.4 < time.monotonic() - start < 3


@loopback
def test_a_slow_look_up_fails_in_time() -> None:
    """The time limit includes looking up the name."""
    done = threading.Event()

    def slow(_host: str, _port: int) -> Sequence[str]:
        done.wait(20)
        return ["127.0.0.1"]

    with WebSource(allow_private=True, timeout=0.2, resolver=slow) as source:
        start = time.monotonic()
        assert "looking up site.example took too long" in reason(source, "http://site.example/")
        assert time.monotonic() - start < 5
    done.set()


# Wrong calls


@pytest.mark.parametrize(
    "options",
    [
        {"max_pages": -1},
        {"max_bytes": 0},
        {"max_redirects": -1},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"delay": -1},
        {"delay": float("nan")},
        {"max_delay": float("nan")},
        {"user_agent": ""},
        {"user_agent": "1/2"},
        {"user_agent": "a\r\nX-Evil: 1"},
        {"parsing": {"backend": "nothing"}},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """Wrong options are refused before the first page."""
    with pytest.raises(UsageError):
        WebSource(**options)


@pytest.mark.parametrize("package", ["httpcore", "protego"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """The error for a missing package gives the command that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"Fetching pages needs .*pip install .*\[http\]"):
        WebSource()


def test_importing_the_sources_imports_no_extra() -> None:
    """Packages of extras are imported only when a source is made."""
    code = (
        "import sys, blockml.templates.linked.folder, blockml.templates.linked.archive, blockml.templates.linked.web;"
        "print(sorted({'httpx', 'httpcore', 'protego', 'fastwarc', 'ssl'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert found.stdout.strip() in {"[]", "['ssl']"}
