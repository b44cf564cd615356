"""Sequential HTTP requests with a time budget, over connections to checked addresses.

Built on httpcore, the lowest layer of httpx. The layers above keep cookies, read the environment, follow redirects,
decompress without bounds, and can't be restricted to checked addresses.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

from blockml.archives.http import inflated
from blockml.templates.linked.public_addresses import FetchError, RefusedError, Resolver, host_and_port, look_up

#: Seconds to keep an idle connection for the next page of its site (our choice). Servers close theirs after five or
#: more, and a request at that moment would be lost.
_KEEP = 4.0


class TimeBudget:
    """Time budget for one page, consumed by its consecutive requests."""

    def __init__(self, seconds: float) -> None:
        self.overdrawn = f"took longer than {seconds:g} seconds"
        self._left = seconds
        self._started = 0.0

    def left(self) -> float:
        """Return the seconds left for the current request; raise FetchError if none are."""
        left = self._left - (time.monotonic() - self._started)
        if left <= 0:
            raise FetchError(self.overdrawn)
        return left

    @contextmanager
    def running(self) -> Iterator[None]:
        """Consume the budget within a ``with`` block."""
        self._started = time.monotonic()
        try:
            yield
        finally:
            self._left -= time.monotonic() - self._started


class FetchedResponse:
    """Status and headers of a response; the body is read on demand."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status = response.status

    def header(self, name: str) -> str:
        """Return the first header of this name, stripped; empty if it is missing."""
        wanted = name.lower().encode("ascii")
        value = next((value for key, value in self._response.headers if key.lower() == wanted), b"")
        try:
            return value.decode("utf-8").strip()
        except UnicodeDecodeError:
            return value.decode("latin-1").strip()

    def read(self, limit: int, *, cut: bool = False) -> bytes:
        """Read and decompress the body, at most ``limit`` bytes before as well as after decompression.

        A longer body is truncated if ``cut``, else an error. Raises FetchError if the body is too long, damaged, or
        compressed in a way that wasn't requested.
        """
        coding = self.header("Content-Encoding").lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            raise FetchError(f"the content encoding {coding!r} was not requested")
        packed = bytearray()
        for chunk in self._response.iter_stream():
            packed += chunk
            if len(packed) > limit:
                break
        body, whole = bytes(packed), True
        if packed and coding.endswith("gzip"):  # a few kilobytes can hold gigabytes
            try:
                body, whole = inflated(body, (31,), limit + 1)
            except OSError as error:
                raise FetchError(f"the compressed body is damaged ({error})") from error
        if max(len(body), len(packed)) > limit:
            if cut:
                return body[:limit]
            raise FetchError(f"longer than {limit} bytes")
        if not whole:
            raise FetchError("the compressed body is truncated")
        return body


class Connections:
    """HTTP client without cookies, proxies and redirects, which connects only to checked addresses."""

    def __init__(
        self,
        *,
        user_agent: str,
        allow_private: bool,
        ports: Collection[int] | None,
        resolver: Resolver,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._ports = ports
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "text/html, application/xhtml+xml, */*;q=0.1",
            "Accept-Encoding": "gzip",
        }
        self._backend = _CheckedBackend(resolver, allow_private=allow_private)
        self._pool = httpcore.ConnectionPool(tls, keepalive_expiry=_KEEP, network_backend=self._backend)
        self.close = self._pool.close

    @contextmanager
    def request(self, url: str, budget: TimeBudget) -> Iterator[FetchedResponse]:
        """Request a normalised URL, within the budget including the body.

        Raises FetchError if the port or address is refused, the server does not answer, or it takes too long.
        """
        _, port = host_and_port(url)
        if self._ports is not None and port not in self._ports:
            raise RefusedError(f"the port {port} is not one of {', '.join(map(str, sorted(self._ports)))}")
        headers = {"Host": url.split("/", 3)[2], **self._headers}
        self._backend.seconds_left = budget.left
        try:
            with budget.running(), self._pool.stream("GET", url, headers=list(headers.items())) as response:
                yield FetchedResponse(response)
        except httpcore.TimeoutException as error:
            raise FetchError(budget.overdrawn) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise FetchError(str(error) or type(error).__name__) from error


class _CheckedBackend(httpcore.NetworkBackend):
    """Network backend that connects only to checked addresses.

    A host is looked up once and the connection goes to the checked address, so DNS rebinding has no effect. httpcore
    still compares the names in certificates with the host.
    """

    seconds_left: Callable[[], float]  #: Of the current request

    def __init__(self, resolver: Resolver, *, allow_private: bool) -> None:
        self._resolver = resolver
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 (the budget applies)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that answers."""
        found = look_up(host, port, self._resolver, seconds=self.seconds_left(), allow_private=self._allow_private)
        for n_left in range(len(found), 0, -1):
            seconds = self.seconds_left() / n_left  # leave time for the other addresses
            try:
                stream = httpcore.SyncBackend().connect_tcp(
                    found[-n_left], port, timeout=seconds, local_address=local_address, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if n_left == 1:
                    raise
            else:
                return _TimedStream(stream, self)
        raise AssertionError("look_up returns at least one address")


class _TimedStream(httpcore.NetworkStream):
    """Connection whose every operation is limited to the time left for the whole request.

    httpcore limits each operation, so a server that sends a byte now and then could go on for ever.
    """

    def __init__(self, stream: httpcore.NetworkStream, backend: _CheckedBackend) -> None:
        self._stream = stream
        self._backend = backend
        self.close = stream.close  # type: ignore[method-assign]
        self.get_extra_info = stream.get_extra_info  # type: ignore[method-assign]

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, self._backend.seconds_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._backend.seconds_left())

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        try:
            stream = self._stream.start_tls(ssl_context, server_hostname, self._backend.seconds_left())
        except FetchError:
            self._stream.close()
            raise
        return _TimedStream(stream, self._backend)
