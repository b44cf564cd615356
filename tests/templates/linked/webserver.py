"""A web server on the loopback address, and helpers for tests of fetching."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from blockml.templates.linked import WebSource

#: For tests that need sockets, but only to this machine.
loopback = pytest.mark.allow_hosts(["127.0.0.1"])

HTML = {"Content-Type": "text/html; charset=utf-8"}


class Site:
    """A web server on the loopback address with answers by path: (status, headers, body) or a function."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 5

            def do_GET(self) -> None:
                site.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                try:
                    answer = site.answers.get(self.path, (404, HTML, b"no such page"))
                    if callable(answer):
                        self.close_connection = True
                        answer(self)
                    else:
                        send(self, *answer)
                except OSError:  # the client has disconnected
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = int(self.server.server_address[1])
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop the server and wait until it has stopped."""
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def paths(self) -> list[str]:
        """Return the requested paths in order."""
        return [path for path, _ in self.asked]


def send(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    """Send an answer; headers may override the length."""
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    if handler.close_connection:  # announced, so that the client sends no further request into this connection
        handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(body)


def page(text: str) -> tuple[int, dict[str, str], bytes]:
    """Return an answer with a page of this title."""
    return 200, HTML, f"<title>{text}</title><p>{text}</p>".encode()


def redirect(target: str, status: int = 302) -> tuple[int, dict[str, str], bytes]:
    """Return an answer with a redirect."""
    return status, {"Location": target}, b""


def reason(source: WebSource, url: str) -> str:
    """Return the reason why a page can't be loaded."""
    assert source.get(url) is None
    return list(source.failures.values())[-1]


def robots(text: str, status: int = 200) -> tuple[int, dict[str, str], bytes]:
    """Return an answer with a robots.txt."""
    return status, {"Content-Type": "text/plain"}, text.encode()
