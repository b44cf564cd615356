"""Web server of the labelling page, for one user of this machine.

It listens on the loopback address. Every request must have that address as its host, which prevents DNS rebinding by
other sites, and the token of the printed address; a change must also come from the page itself.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.resources import files
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import numpy as np

from blockml.archives.kinds import name_text
from blockml.datasets.gold import IGNORE
from blockml.errors import BlockmlError, UsageError, needed
from blockml.labelling.sanitised import sanitised
from blockml.labelling.store import LabelConflictError, LabelStore, PageToLabel
from blockml.page import Label, Page
from blockml.page.lazy import cached_property
from blockml.storage.atomic import locked_output

_ADDRESS = "127.0.0.1"
#: Maximum bytes of a change: pages have at most a few hundred thousand blocks.
_MAX_BODY = 8_000_000
#: Maximum number of ranges around a block that a selection can grow to.
_MAX_RANGES = 16
_TYPES = {"label.html": "text/html", "label.js": "text/javascript", "label.css": "text/css"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Headers of answers that are plain text, which may contain words of the request.
_TEXT_HEADERS = _HEADERS | {"Content-Type": "text/plain; charset=utf-8"}


class _Server(ThreadingMixIn, WSGIServer):
    """Uses threads, because browsers open connections ahead of their requests."""

    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    """Handler that logs nothing, and closes a connection when the client is silent."""

    timeout = 30  # seconds

    def handle(self) -> None:
        """Answer a request."""
        with suppress(TimeoutError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 (the base class's signature)
        """Log nothing."""


class LabelServer:
    """Serves the labelling page of a store.

    Parameters
    ----------
    store
        Pages and labels.
    port
        Port on the loopback address; 0 for any free one.

    Raises
    ------
    MissingExtraError
        bottle or nh3 is not installed.
    UsageError
        Another server is writing labels to the folder of the store.
    OSError
        The port is in use.
    """

    def __init__(self, store: LabelStore, port: int = 0) -> None:
        with needed("blockml label", "label"):
            import bottle
            import nh3  # noqa: F401 (needed for each page)
        self.store = store
        self.token = secrets.token_urlsafe(24)
        app = bottle.Bottle()
        app.default_error_handler = _unanswered
        app.install(self._guarded)
        app.route("/", callback=lambda: _static("label.html"))
        app.route("/<name:re:label\\.(js|css)>", callback=_static)
        app.route("/api/pages", callback=self._list)
        app.route("/api/page", callback=self._show)
        app.route("/api/page", method="POST", callback=self._save)
        with ExitStack() as stack:
            stack.enter_context(locked_output(store.output))
            self._server = make_server(_ADDRESS, port, app, server_class=_Server, handler_class=_Quiet)
            self._lock = stack.pop_all()
        self.port = int(self._server.server_port)

    @property
    def url(self) -> str:
        """URL to open, with the token."""
        return f"http://{_ADDRESS}:{self.port}/?token={self.token}"

    def serve(self) -> None:
        """Answer requests until :meth:`close`."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop answering, close the socket and release the folder of the labels."""
        self._server.shutdown()
        self._server.server_close()
        self._lock.close()

    def _guarded(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Check host, token and origin of a request, and set the headers of the answer."""
        import bottle

        def checked(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 (any route)
            request, response = bottle.request, bottle.response
            host = request.get_header("Host", "")
            if host not in (f"{_ADDRESS}:{self.port}", f"localhost:{self.port}"):
                return _refused("wrong host", 403)
            given = request.query.get("token") or request.get_cookie(self._cookie) or ""
            if not secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
                return _refused("open the address that 'blockml label' printed", 403)
            if request.method != "GET" and request.get_header("Origin") != f"http://{host}":
                return _refused("wrong origin", 403)
            for name, value in _HEADERS.items():
                response.set_header(name, value)
            if "token" in request.query:
                response.set_cookie(self._cookie, self.token, httponly=True, samesite="strict", path="/")
            try:
                return callback(*arguments, **named)
            except LabelConflictError as error:
                return _refused(str(error), 409)
            except (BlockmlError, OSError) as error:
                return _refused(str(error), 400)

        return checked

    @property
    def _cookie(self) -> str:
        """Name of the cookie with the token; cookies are shared by all ports of a host."""
        return f"blockml-label-{self.port}"

    @cached_property
    def _by_id(self) -> dict[str, PageToLabel]:
        """Pages by the text of their id; names of files may have bytes that are not text."""
        found: dict[str, PageToLabel] = {}
        for page_id, page in self.store.pages.items():
            text = name_text(page_id)
            while text in found:
                text += "'"
            found[text] = page
        return found

    def _list(self) -> dict[str, Any]:
        pages = [
            {
                "id": page_id, "title": page.title, "confidence": round(page.confidence, 3), "state": page.state,
                "note": page.note,
            }
            for page_id, page in self._by_id.items()
        ]  # fmt: skip
        return {"pages": pages, "labels": [*map(str, Label), IGNORE], "model": self.store.extractor.id}

    def _show(self) -> dict[str, Any]:
        import bottle

        page_id = bottle.request.query.getunicode("id")
        page = self._page(page_id)
        self.store.refresh(page)
        version = self.store.version(page)  # before the labels, so that a change between them is noticed
        parsed, decision = self.store.propose(page)
        return {
            "id": page_id,
            "version": version,
            "html": sanitised(parsed),
            "labels": [str(label or IGNORE) for label in self.store.labels(page, parsed, decision)],
            "scores": [round(score, 3) for score in decision.scores.tolist()],
            "ranges": _ranges(parsed),
            "state": page.state,
        }

    def _save(self) -> dict[str, Any]:
        from bottle import request

        try:
            change = _read_change(request)
            page = self._page(change["id"])
            names, done, version = change["labels"], change["done"], change["version"]
            labels = [None if name == IGNORE else Label(name) for name in names]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(f"not a change of labels: {error}") from error
        if not isinstance(names, list) or not isinstance(done, bool) or not isinstance(version, str):
            raise UsageError("not a change of labels: labels must be a list, done true or false, and version a text")
        saved = self.store.save(page, self.store.parse(page), labels, done=done, version=version)
        return {"state": page.state, "version": saved}

    def _page(self, page_id: str | None) -> PageToLabel:
        page = self._by_id.get(page_id or "")
        if page is None:
            raise UsageError(f"unknown page {page_id!r}")
        return page


def _refused(message: str, status: int) -> Any:  # noqa: ANN401 (bottle has no types)
    """Return an answer with a message, which may contain words of the request."""
    import bottle

    return bottle.HTTPResponse(message, status, _TEXT_HEADERS)


def _unanswered(error: Any) -> str:  # noqa: ANN401 (bottle has no types)
    """Return the message of an error that bottle found, such as an unknown address, and set its headers."""
    for name, value in (_TEXT_HEADERS).items():
        error.set_header(name, value)
    return str(error.status_line)


def _read_change(request: Any) -> Any:  # noqa: ANN401 (bottle has no types)
    """Read the JSON of a request; raise ValueError or RecursionError for a body that is not JSON or too large.

    It is read here because bottle would read a chunked body to its end, and write a large one to a file.
    """
    if "HTTP_TRANSFER_ENCODING" in request.environ or request.content_length < 0:
        raise ValueError("the request has no Content-Length")
    if request.content_length > _MAX_BODY:
        raise ValueError("the change is too large")
    return json.loads(request.environ["wsgi.input"].read(request.content_length))


def _static(name: str) -> bytes:
    """Return a file of the page."""
    import bottle

    bottle.response.content_type = f"{_TYPES[name]}; charset=utf-8"
    return (files("blockml.labelling") / "static" / name).read_bytes()


def _ranges(page: Page) -> list[list[list[int]]]:
    """Return, for each block, the growing ranges [first, last] of blocks in the elements around it."""
    nodes, blocks = page.nodes, page.blocks
    low = blocks.node.searchsorted(np.arange(len(nodes) + 1)).tolist()  # number of blocks that start before a node
    parents, ends = nodes.parent.tolist(), nodes.end.tolist()
    around: dict[int, list[list[int]]] = {-1: []}  # ranges of an element and the elements around it, innermost first
    for node in set(blocks.parent.tolist()):
        inside = [node]
        while inside[-1] not in around:
            inside.append(parents[inside[-1]])
        for inner in reversed(inside[:-1]):
            outer, own = around[parents[inner]], [low[inner], low[ends[inner]] - 1]
            is_new = own[1] > own[0] and own not in outer[:1]
            around[inner] = [own, *outer][:_MAX_RANGES] if is_new else outer
    return [[[number, number], *around[parent]] for number, parent in enumerate(blocks.parent.tolist())]
