"""The server of the labelling tool: access control, and the tool in headless Chromium."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote

import numpy as np
import pytest

import blockml
from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.extractors import resolve
from blockml.labelling.store import LabelStore
from tests.browser import SIZES, Watched, chromium, watched
from tests.hostile import HOSTILE

pytest.importorskip("bottle")
pytest.importorskip("nh3")
from blockml.labelling.server import LabelServer, _ranges

DATA = Path(__file__).parents[2] / "data"
pytestmark = [pytest.mark.exhaustive, pytest.mark.enable_socket, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LabelServer]:
    """Serve a hostile page and five others, from WCXB if the corpora are available, else synthetic ones."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "hostile.html").write_text(HOSTILE)
    corpora = os.environ.get("BLOCKML_CORPORA")
    pages = open_dataset(Path(corpora) / "wcxb" if corpora else DATA / "sites").pages
    for number, page in enumerate(pages[:: len(pages) // 5][:5]):
        (folder / f"p{number}.html").write_bytes(page.load()[0])
    with serving(folder, tmp_path / "out") as server:
        yield server


@contextmanager
def serving(folder: Path, output: Path) -> Iterator[LabelServer]:
    """Serve the pages of a folder."""
    store = LabelStore(folder, output, resolve("default"))
    store.rank()
    server = LabelServer(store)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def ask(server: LabelServer, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    """Send a request with the token, unless the headers override it."""
    address = f"127.0.0.1:{server.port}"
    sent = {"Host": address, "Origin": f"http://{address}", "Cookie": f"blockml-label-{server.port}={server.token}"}
    sent = {name: value for name, value in {**sent, **headers}.items() if value}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "headers", "words"),
    [
        ("/", {"Cookie": ""}, "open the address"),
        ("/?token=wrong", {"Cookie": ""}, "open the address"),
        ("/?token=wr%C3%B6ng", {"Cookie": ""}, "open the address"),
        ("/api/pages", {"Cookie": ""}, "open the address"),
        ("/", {"Host": "elsewhere.example"}, "wrong host"),
        ("/", {"Host": "127.0.0.1"}, "wrong host"),
    ],
)
def test_strangers_are_refused(server: LabelServer, path: str, headers: dict[str, str], words: str) -> None:
    """Requests with another host name, or with a missing or wrong token, are refused."""
    status, text = ask(server, "GET", path, **headers)
    assert status == 403
    assert words in text


def test_changes_need_the_origin(server: LabelServer) -> None:
    """A request from another site changes nothing, even with the cookie."""
    page = json.loads(ask(server, "GET", "/api/page?id=p0")[1])
    change = {"id": "p0", "labels": page["labels"], "done": True, "version": ""}
    for origin in ("", "null", "http://elsewhere.example", f"http://127.0.0.1:{server.port + 1}"):
        assert ask(server, "POST", "/api/page", change, Origin=origin) == (403, "wrong origin")
    assert not server.store.output.exists()
    found = json.loads(ask(server, "POST", "/api/page", change)[1])
    assert found == {"state": "done", "version": server.store.version(server.store.pages["p0"])}
    assert open_dataset(server.store.output).pages[0].id == "p0"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "../../etc/passwd", "labels": [], "done": True},
        {"id": "p0", "labels": ["main"], "done": True, "version": ""},
        {"id": "p0", "labels": ["content"], "done": True, "version": ""},
        {"id": ["p0"], "labels": [], "done": True},
        {"labels": []},
        {"id": "p0", "labels": 5, "done": True},
        {"id": {}, "labels": [], "done": True},
        [],
        "text",
    ],
)
def test_wrong_changes_write_nothing(server: LabelServer, change: object) -> None:
    """A change for an unknown page or with invalid labels is a bad request."""
    assert ask(server, "POST", "/api/page", change)[0] == 400
    assert not server.store.output.exists()


def test_changes_of_the_wrong_types_write_nothing(tmp_path: Path) -> None:
    """Labels that are the keys of an object, and a state that is not a truth value, are bad requests."""
    (tmp_path / "a.html").write_text("<p>Cats rule the world.<p>Imprint")
    with serving(tmp_path, tmp_path / "out") as server:
        for labels, done in (({"main": 1, "other": 2}, True), (["main", "other"], "no"), (["main", "other"], 0)):
            change = {"id": "a", "labels": labels, "done": done, "version": ""}
            assert ask(server, "POST", "/api/page", change)[0] == 400
        assert not server.store.output.exists()
        assert (
            ask(server, "POST", "/api/page", {"id": "a", "labels": ["main", "other"], "done": False, "version": ""})[0]
            == 200
        )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/page?id=%3Ch1%3Eforged", 400),
        ("GET", "/%3Ch1%3Eforged", 404),
        ("PUT", "/api/page", 405),
        ("GET", "/label.js/../server.py", 404),
    ],
)
def test_errors_are_plain_text(server: LabelServer, method: str, path: str, status: int) -> None:
    """A browser shows no markup from an error, even one that repeats words of the request, and it has all headers."""
    address = f"127.0.0.1:{server.port}"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, path, None, {"Cookie": f"blockml-label-{server.port}={server.token}", "Host": address})
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Content-Type")) == (status, "text/plain; charset=utf-8")
    assert answer.getheader("Content-Security-Policy", "").startswith("default-src 'none'")
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    connection.close()


def test_ranges_around_blocks_of_deep_pages() -> None:
    """The ranges of a block are those of the elements around it that have further blocks, at most 16."""
    html = "<div>" * 30 + "<p>one<p>two" + "</div><p>more" * 30
    page = blockml.parse(html)
    found = _ranges(page)
    for number, parent in enumerate(page.blocks.parent.tolist()):
        expected = [[number, number]]
        for node in [parent, *page.nodes.ancestors(parent)]:
            inside = np.flatnonzero((page.blocks.node >= node) & (page.blocks.node < page.nodes.end[node]))
            own = [int(inside[0]), int(inside[-1])]
            if own[0] < own[1] and own not in expected and len(expected) < 17:
                expected.append(own)
        assert found[number] == expected
    assert max(map(len, found)) == 17


@pytest.mark.parametrize(
    ("length", "body", "words"),
    [
        ("x", b"", "not a change"),
        ("-1", b"", "not a change"),
        ("999999999999", b"", "too large"),
        (None, b"[" * 100_000, "not a change"),
    ],
)
def test_invalid_bodies_are_refused(
    server: LabelServer, length: str | None, body: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Invalid lengths, huge bodies and endless JSON are bad requests."""
    address = f"127.0.0.1:{server.port}"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("POST", "/api/page", skip_host=True)
    cookie = f"blockml-label-{server.port}={server.token}"
    sent = {"Host": address, "Origin": f"http://{address}", "Cookie": cookie}
    for name, value in {**sent, "Content-Length": length or str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    assert (answer.status, words in answer.read().decode()) == (400, True)
    connection.close()
    assert not server.store.output.exists()
    assert "Traceback" not in capsys.readouterr().err


def show(found: Watched, page_id: str) -> None:
    """Open one of the listed pages."""
    found.page.select_option("#pages", page_id)
    found.page.wait_for_function("id => current?.id === id && $('state').textContent !== 'loading …'", arg=page_id)


@pytest.mark.parametrize("size", SIZES)
def test_pages_are_shown_without_running_or_loading_anything(server: LabelServer, size: str) -> None:
    """Every block of each page is shown, no script runs, nothing is loaded or overflows, and the console is empty."""
    with chromium() as browser, watched(browser, size) as found:
        found.page.goto(server.url)
        found.page.wait_for_selector("#page [data-block]")
        assert "token" not in found.page.url
        for page_id in server.store.pages:
            show(found, page_id)
            spans = "document.querySelectorAll('#page [data-block]')"
            shown = found.page.evaluate(f"new Set([...{spans}].map(span => span.dataset.block)).size")
            assert shown == found.page.evaluate("labels.length") > 0
            assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert found.page.evaluate("typeof window.HACKED") == "undefined"
        show(found, "hostile")
        found.page.wait_for_timeout(300)
        assert found.page.url == f"http://127.0.0.1:{server.port}/"
        assert found.page.get_by_text("Hidden text that stays readable").is_visible()
        assert found.problems == []
        assert found.leaving(f"http://127.0.0.1:{server.port}/") == []


def stored(server: LabelServer, page_id: str) -> list[str]:
    """Return the labels on disk."""
    lines = (server.store.output / page_id / "labels.jsonl").read_text().splitlines()
    return [json.loads(line)["label"] for line in lines]


def saved(found: Watched) -> None:
    """Wait until the last change is on disk."""
    found.page.wait_for_function("() => $('state').textContent === 'saved'")


def test_mouse_and_keyboard(server: LabelServer) -> None:
    """Mouse, keys, undo and done change the stored labels at once, and a reload shows them."""
    with chromium() as browser, watched(browser, "desktop") as found:
        page = found.page
        page.goto(server.url)
        page.wait_for_selector("#page [data-block]")
        show(found, "p1")
        proposal = page.evaluate("[...labels]")
        spans = page.locator("#page [data-block]")
        spans.nth(0).click()
        saved(found)
        flipped = ["other" if proposal[0] in ("main", "heading", "supplement") else "main", *proposal[1:]]
        assert stored(server, "p1") == flipped
        page.keyboard.press("u")
        page.wait_for_function("label => labels[0] === label", arg=proposal[0])
        saved(found)
        assert stored(server, "p1") == proposal
        for keys in (["ArrowDown", "4"], ["j", "5"], ["w", "6"]):
            for name in keys:
                page.keyboard.press(name)
        page.wait_for_function("() => labels.filter(label => label === 'navigation').length > 1")
        low, high = page.evaluate("selection()")
        saved(found)
        assert low < high
        assert set(stored(server, "p1")[low : high + 1]) == {"navigation"}
        first, last = spans.nth(5).bounding_box(), spans.nth(8).bounding_box()
        assert first is not None
        assert last is not None
        page.mouse.move(first["x"] + 3, first["y"] + 3)
        page.mouse.down()
        page.mouse.move(last["x"] + 3, last["y"] + 3, steps=8)
        page.mouse.up()
        saved(found)
        blocks = [int(spans.nth(number).get_attribute("data-block") or -1) for number in (5, 8)]
        assert len(set(stored(server, "p1")[blocks[0] : blocks[1] + 1])) == 1
        page.locator("#labels button", has_text="footer").click()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("0")
        page.wait_for_function("() => labels.includes('ignore')")
        page.keyboard.press("Enter")
        page.wait_for_function("() => current.id !== 'p1'")
        done = stored(server, "p1")
        assert "ignore" in done
        labelled = open_dataset(server.store.output).pages[0]
        assert labelled.flags == ()
        content, gold = labelled.load()
        assert gold is not None
        known = gold.label(blockml.parse(content)).known
        assert known.tolist() == [label != "ignore" for label in done]
        page.reload()
        page.wait_for_selector("#page [data-block]")
        show(found, "p1")
        assert page.evaluate("labels") == done
        assert found.problems == []


def test_a_page_without_text_can_be_marked_as_done(tmp_path: Path) -> None:
    """No key fails on a page without blocks, and marking it as done opens the next page."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "nothing.html").write_text("<title>Nothing</title>")
    (tmp_path / "mine" / "other.html").write_text("<p>Cats rule the world.</p>")
    with (
        serving(tmp_path / "mine", tmp_path / "out") as server,
        chromium() as browser,
        watched(browser, "desktop") as found,
    ):
        found.page.goto(server.url)
        found.page.wait_for_function("() => current !== null")
        show(found, "nothing")
        for key in ("j", "k", "n", "w", "s", "1", "0", " ", "u"):
            found.page.keyboard.press(key)
        found.page.locator("#labels button", has_text="footer").click()
        found.page.keyboard.press("Enter")
        found.page.wait_for_function("() => current.id === 'other'")
        assert stored(server, "nothing") == []
        show(found, "nothing")
        assert found.problems == []


def test_labels_that_were_changed_elsewhere_are_not_replaced(tmp_path: Path) -> None:
    """A second tab, or an edit of the file, is a conflict for a tab that was opened before, not lost."""
    (tmp_path / "a.html").write_text("<p>Cats rule the world.<p>Imprint")
    with serving(tmp_path, tmp_path / "out") as server:
        page = json.loads(ask(server, "GET", "/api/page?id=a")[1])
        one = {"id": "a", "labels": ["main", "footer"], "done": True, "version": page["version"]}
        other = {"id": "a", "labels": ["main", "comment"], "done": False, "version": page["version"]}
        status, answer = ask(server, "POST", "/api/page", one)
        assert status == 200
        assert ask(server, "POST", "/api/page", other) == (
            409,
            "the labels were changed elsewhere since they were loaded",
        )
        assert stored(server, "a") == ["main", "footer"]
        labels = server.store.output / "a" / "labels.jsonl"
        labels.write_text(labels.read_text().replace("footer", "related"))
        edited = one | {"version": json.loads(answer)["version"]}
        assert ask(server, "POST", "/api/page", edited)[0] == 409
        assert stored(server, "a") == ["main", "related"]
        page = json.loads(ask(server, "GET", "/api/page?id=a")[1])
        assert (page["labels"], page["state"]) == (["main", "related"], "done")
        assert ask(server, "POST", "/api/page", other | {"version": page["version"]})[0] == 200
        assert stored(server, "a") == ["main", "comment"]
        for change in ({**one, "version": None}, {name: one[name] for name in ("id", "labels", "done")}):
            assert ask(server, "POST", "/api/page", change)[0] == 400


@pytest.mark.parametrize("choice", ["theirs", "mine"])
def test_a_tab_offers_a_choice_after_a_conflict(server: LabelServer, choice: str) -> None:
    """The page asks whether to load the labels of the other tab or to replace them, and saves nothing before."""
    with chromium() as browser, watched(browser, "desktop") as first, watched(browser, "desktop") as second:
        for found in (first, second):
            found.page.goto(server.url)
            found.page.wait_for_selector("#page [data-block]")
            show(found, "p1")
        first.page.keyboard.press("8")
        saved(first)
        kept = stored(server, "p1")
        second.page.keyboard.press("4")
        second.page.wait_for_selector("#conflict:not([hidden])")
        assert "changed elsewhere" in (second.page.text_content("#state") or "")
        second.page.evaluate("put(1, 1, 'ignore')")
        assert stored(server, "p1") == kept
        second.page.click(f"#{choice}")
        second.page.wait_for_selector("#conflict", state="hidden")
        if choice == "theirs":
            second.page.wait_for_function("label => labels[0] === label", arg=kept[0])
            assert second.page.evaluate("labels") == kept == stored(server, "p1")
        else:
            saved(second)
            assert stored(server, "p1")[:2] == [second.page.evaluate("labels[0]"), "ignore"]
            assert stored(server, "p1") == second.page.evaluate("labels")
        second.page.evaluate("put(2, 2, 'ignore')")
        saved(second)
        assert stored(server, "p1")[2] == "ignore"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_files_whose_names_are_no_text(tmp_path: Path) -> None:
    """A page whose file name isn't UTF-8 can be labelled, and its folder is a page of a data set."""
    names = [b"caf\xe9", b"caf\\udce9", "caf\u00e9".encode()]
    for name in names:
        Path(os.fsdecode(bytes(tmp_path / "mine") + b"/" + name), "x.html").parent.mkdir(parents=True, exist_ok=True)
        Path(os.fsdecode(bytes(tmp_path / "mine") + b"/" + name), "x.html").write_text("<p>Cats rule the world.")
    with serving(tmp_path / "mine", tmp_path / "out") as server:
        pages = json.loads(ask(server, "GET", "/api/pages")[1])["pages"]
        ids = [page["id"] for page in pages]
        assert sorted(ids) == ["caf\\udce9/x", "caf\\udce9/x'", "caf\u00e9/x"]
        for page_id in ids:
            address = f"/api/page?id={quote(page_id)}"
            page = json.loads(ask(server, "GET", address)[1])
            change = {"id": page_id, "labels": page["labels"], "done": True, "version": page["version"]}
            assert ask(server, "POST", "/api/page", change)[0] == 200
    assert len(list((tmp_path / "out").rglob("labels.jsonl"))) == 3
    rmtree(tmp_path / "out" / "caf\\udce9")
    assert sorted(page.id for page in open_dataset(tmp_path / "out").pages) == ["caf\\udce9/x", "caf\u00e9/x"]


def test_a_dead_server_is_reported_and_nothing_is_lost(server: LabelServer) -> None:
    """When the server ends, earlier changes are on disk, and the page says that the next one isn't saved."""
    with chromium() as browser, watched(browser, "phone") as found:
        page = found.page
        page.goto(server.url)
        page.wait_for_selector("#page [data-block]")
        show(found, "p2")
        page.keyboard.press("3")
        saved(found)
        assert stored(server, "p2")[0] == "supplement"
        server.close()
        page.keyboard.press("4")
        page.wait_for_selector("#state.failed")
        assert "not saved" in (page.text_content("#state") or "")
        assert stored(server, "p2")[0] == "supplement"


def test_silent_clients_are_disconnected(server: LabelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that sends no request is closed after a timeout, and others are answered meanwhile."""
    monkeypatch.setattr("blockml.labelling.server._Quiet.timeout", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as silent:
        assert ask(server, "GET", "/api/pages")[0] == 200
        assert silent.recv(100) == b""


def test_a_chunked_body_is_refused(server: LabelServer) -> None:
    """A chunked body is refused, also if it has a length as well, and the server keeps running."""
    for length in ("", "Content-Length: 5\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            head = (
                f"POST /api/page HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nTransfer-Encoding: chunked\r\n{length}"
                f"Origin: http://127.0.0.1:{server.port}\r\nCookie: blockml-label-{server.port}={server.token}\r\n\r\n"
            )
            connection.sendall(head.encode() + b"5\r\nhello\r\n")  # without an end
            answer = connection.recv(10_000)
        assert b" 400 " in answer.splitlines()[0]
    assert ask(server, "GET", "/api/pages")[0] == 200


def test_two_servers_do_not_share_a_folder(server: LabelServer) -> None:
    """A second server for the same folder is refused, until the first one has ended."""
    with pytest.raises(UsageError, match=f"another run writes this output: process {os.getpid()} on "):
        LabelServer(server.store)
    server.close()
    other = LabelServer(server.store)
    other._server.server_close()
    other._lock.close()
