"""The rules for crawlers in robots.txt."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace

import pytest

from blockml.templates.linked import WebSource
from blockml.templates.linked import web as web_module
from tests.templates.linked.webserver import Site, loopback, page, reason, redirect, robots


@loopback
def test_robots_txt_is_obeyed_and_requested_once(site: Site, web: WebSource) -> None:
    """Our group's longest rule applies, even after a byte-order mark, and the file is requested once."""
    site.answers["/robots.txt"] = robots(
        "\ufeffUser-agent: other\nDisallow: /\n\nUser-agent: BlockML\nDisallow: /private\nAllow: /private/open\n"
    )
    for path in ("/a", "/private/open", "/private/a"):
        site.answers[path] = page(path)
    assert web.get(f"{site.url}/a") is not None
    assert web.get(f"{site.url}/private/open") is not None
    assert reason(web, f"{site.url}/private/a") == "disallowed by robots.txt"
    assert site.paths() == ["/robots.txt", "/a", "/private/open"]


@loopback
def test_robots_txt_groups_are_selected_by_the_user_agent(site: Site) -> None:
    """The name that starts the user agent selects the group, not other names in it."""
    site.answers["/robots.txt"] = robots("User-agent: my-reader\nDisallow: /\n\nUser-agent: blockml\nAllow: /\n")
    site.answers["/a"] = page("a")
    with WebSource(allow_private=True, user_agent="My-Reader/2 (based on blockml)") as source:
        assert reason(source, f"{site.url}/a") == "disallowed by robots.txt"
    assert site.asked[0][1]["user-agent"] == "My-Reader/2 (based on blockml)"


@loopback
@pytest.mark.parametrize(("status", "allowed"), [(404, True), (403, True), (410, True), (500, False), (503, False)])
def test_without_robots_txt_the_status_decides(site: Site, web: WebSource, status: int, allowed: bool) -> None:  # noqa: FBT001
    """Without robots.txt, 4xx allows all and 5xx forbids all (RFC 9309, section 2.3.1)."""
    site.answers["/robots.txt"] = robots("User-agent: *\nDisallow: /", status)
    site.answers["/a"] = page("a")
    if allowed:
        assert web.get(f"{site.url}/a") is not None
    else:
        assert (
            reason(web, f"{site.url}/a") == f"robots.txt can't be loaded, so everything is disallowed (status {status})"
        )
        assert site.paths() == ["/robots.txt"]


@loopback
def test_a_server_that_does_not_answer_forbids_all(web: WebSource) -> None:
    """A server that does not answer forbids all (RFC 9309, section 2.3.1.4)."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        port = taken.getsockname()[1]
        assert "robots.txt can't be loaded" in reason(web, f"http://127.0.0.1:{port}/a")


@loopback
def test_robots_txt_may_redirect(site: Site, web: WebSource) -> None:
    """Redirects of robots.txt are followed (RFC 9309, section 2.3.1.2)."""
    site.answers["/robots.txt"] = redirect("/robots2.txt")
    site.answers["/robots2.txt"] = robots("User-agent: *\nDisallow: /a")
    assert reason(web, f"{site.url}/a") == "disallowed by robots.txt"
    site.answers["/b"] = page("b")
    assert web.get(f"{site.url}/b") is not None


@loopback
def test_robots_txt_that_only_redirects_allows_all(site: Site, web: WebSource) -> None:
    """After five redirects of robots.txt all is allowed (RFC 9309, section 2.3.1.2)."""
    site.answers["/robots.txt"] = redirect("/robots.txt")
    site.answers["/a"] = page("a")
    assert web.get(f"{site.url}/a") is not None
    assert site.paths() == ["/robots.txt"] * 6 + ["/a"]


@loopback
def test_only_the_start_of_a_huge_robots_txt_counts(site: Site, web: WebSource) -> None:
    """Only the first 500 KiB of robots.txt are read, without the incomplete last line."""
    line = "# comment comment comment\n"
    text = "User-agent: *\nDisallow: /a\n" + line * (512_000 // len(line) - 2)
    text += "# " + "c" * (512_000 - len(text) - len("# \nDisallow: /b")) + "\n"
    assert len(text) == 512_000 - len("Disallow: /b")
    site.answers["/robots.txt"] = robots(text + "Disallow: /bad\nDisallow: /c\n" + line * 10_000)
    site.answers["/b"], site.answers["/c"] = page("b"), page("c")
    assert reason(web, f"{site.url}/a") == "disallowed by robots.txt"
    assert web.get(f"{site.url}/b") is not None  # the line that was cut off forbids nothing
    assert web.get(f"{site.url}/c") is not None


@loopback
def test_robots_txt_of_a_redirect_target_applies(site: Site, web: WebSource) -> None:
    """A redirect to another server obeys its robots.txt."""
    other = Site()
    try:
        other.answers["/robots.txt"] = robots("User-agent: *\nDisallow: /")
        site.answers["/a"] = redirect(f"{other.url}/b")
        assert reason(web, f"{site.url}/a") == "disallowed by robots.txt"
        assert other.paths() == ["/robots.txt"]
    finally:
        other.close()


@loopback
def test_wildcards_are_matched_in_linear_time(site: Site, web: WebSource) -> None:
    """Wildcards are matched without backtracking, which would take seconds here."""
    site.answers["/robots.txt"] = robots("User-agent: *\nDisallow: /" + "*a" * 3 + "*b\n")
    path = "/" + "a" * 200
    site.answers[path] = page("a")
    start = time.monotonic()
    assert web.get(site.url + path) is not None
    assert time.monotonic() - start < 2


@loopback
@pytest.mark.parametrize("rule", ["Crawl-delay: 3", "Request-rate: 20/1m"])
def test_crawl_delays_are_obeyed(site: Site, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """The delay, in either notation, precedes each request to a server except the first."""
    site.answers["/robots.txt"] = robots(f"User-agent: *\n{rule}\n")
    site.answers["/a"], site.answers["/b"], site.answers["/c"] = page("a"), redirect("/c"), page("c")
    slept: list[float] = []
    monkeypatch.setattr(web_module, "time", SimpleNamespace(sleep=slept.append, monotonic=time.monotonic))
    with WebSource(allow_private=True) as source:
        for path in ("/a", "/b"):
            assert source.get(site.url + path) is not None
    assert [round(seconds) for seconds in slept] == [3, 3]  # before /b and before /c, none before /a


@loopback
def test_the_default_delay_is_obeyed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default delay applies if robots.txt has none."""
    site.answers["/a"], site.answers["/b"] = page("a"), page("b")
    slept: list[float] = []
    monkeypatch.setattr(web_module, "time", SimpleNamespace(sleep=slept.append, monotonic=time.monotonic))
    with WebSource(allow_private=True, delay=7) as source:
        for path in ("/a", "/b"):
            assert source.get(site.url + path) is not None
    assert [round(seconds) for seconds in slept] == [7]


@loopback
def test_pages_with_too_long_a_delay_fail(site: Site) -> None:
    """A page whose delay exceeds the limit fails instead of being requested too early."""
    site.answers["/robots.txt"] = robots("User-agent: *\nCrawl-delay: 30\n")
    site.answers["/a"], site.answers["/b"] = page("a"), page("b")
    with WebSource(allow_private=True, max_delay=5) as source:
        assert source.get(f"{site.url}/a") is not None
        assert "seconds, and the limit is 5" in reason(source, f"{site.url}/b")
    assert site.paths() == ["/robots.txt", "/a"]
