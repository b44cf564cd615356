"""Sequential HTTP requests with a time budget, over connections to checked addresses."""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from blockml.errors import needed
from blockml.templates.linked.addresses import FetchError, RefusedError, Resolver, host_and_port, look_up

if TYPE_CHECKING:
    import httpcore

__all__ = ["Budget", "Connections", "Response"]

#: Seconds to keep an idle connection for the next page of its site (our choice). Servers close theirs after five or
#: more, and a request at that moment would be lost.
_KEEP = 4.0


class Budget:
    """Time for one page, consumed by its requests one after another."""

    def __init__(self, seconds: float) -> None:
        self.overdrawn = f"took longer than {seconds:g} seconds"
        self._left = seconds
        self._started: float | None = None

    def left(self) -> float:
        """Return the seconds left; raise FetchError if none are."""
        used = time.monotonic() - self._started if self._started is not None else 0.0
        if used >= self._left:
            raise FetchError(self.overdrawn)
        return self._left - used

    @contextmanager
    def running(self) -> Iterator[None]:
        """Consume the budget within a ``with`` block."""
        self._started = time.monotonic()
        try:
            yield
        finally:
            self._left -= time.monotonic() - self._started
            self._started = None


class Response:
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
        length = self.header("Content-Length")
        if not cut and length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise FetchError(f"longer than {limit} bytes")
        unzip = _Gunzip() if coding.endswith("gzip") else None
        body = bytearray()
        n_packed = 0
        for chunk in self._response.iter_stream():
            n_packed += len(chunk)
            body += unzip(chunk, limit + 1 - len(body)) if unzip else chunk
            if max(len(body), n_packed) > limit:
                if cut:
                    return bytes(body[:limit])
                raise FetchError(f"longer than {limit} bytes")
        if unzip and n_packed and not unzip.inflate.eof:
            raise FetchError("the compressed body is truncated")
        return bytes(body)


class _Gunzip:
    """Incremental decompression with bounded output: a few kilobytes can hold gigabytes."""

    def __init__(self) -> None:
        self.inflate = zlib.decompressobj(wbits=31)

    def __call__(self, chunk: bytes, limit: int) -> bytes:
        unzipped = bytearray()
        try:
            while chunk and len(unzipped) < limit:
                if self.inflate.eof:  # another member, or padding, which browsers ignore too
                    if not chunk.startswith(b"\x1f"):
                        break
                    self.inflate = zlib.decompressobj(wbits=31)
                unzipped += self.inflate.decompress(chunk, limit - len(unzipped))
                chunk = self.inflate.unused_data
        except zlib.error as error:
            raise FetchError(f"the compressed body is damaged ({error})") from error
        return bytes(unzipped)


class Connections:
    """HTTP client without cookies, proxies and redirects.

    Uses only httpcore, the lowest layer of httpx. The layers above keep cookies, read the environment, follow
    redirects, decompress without bounds, and can't be restricted to checked addresses. Raises MissingExtraError if
    httpcore is not installed.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        allow_private: bool,
        ports: Collection[int] | None,
        resolver: Resolver,
        tls: ssl.SSLContext | None,
    ) -> None:
        with needed("Fetching pages", "http"):
            import httpcore  # noqa: F401
        self._ports = ports
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "text/html, application/xhtml+xml, */*;q=0.1",
            "Accept-Encoding": "gzip",
        }
        self._backend = _CheckedBackend(resolver, allow_private=allow_private)
        self._tls = tls
        self._pools: dict[bool, httpcore.ConnectionPool] = {}

    @contextmanager
    def request(self, url: str, budget: Budget) -> Iterator[Response]:
        """Request a normalised URL, within the budget including the body.

        Raises FetchError if the port or address is refused, the server does not answer, or it takes too long.
        """
        import httpcore

        _, port = host_and_port(url)
        if self._ports is not None and port not in self._ports:
            raise RefusedError(f"the port {port} is not one of {', '.join(map(str, sorted(self._ports)))}")
        headers = {"Host": url.partition("://")[2].partition("/")[0], **self._headers}
        self._backend.budget = budget
        try:
            pool = self._pool(secure=url.startswith("https:"))
            with budget.running(), pool.stream("GET", url, headers=list(headers.items())) as response:
                yield Response(response)
        except httpcore.TimeoutException as error:
            raise FetchError(budget.overdrawn) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise FetchError(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()

    def _pool(self, *, secure: bool) -> httpcore.ConnectionPool:
        """Return the connections with or without TLS, whose certificates take a quarter of a second to load."""
        import httpcore

        if secure not in self._pools:
            self._pools[secure] = httpcore.ConnectionPool(
                ssl_context=(self._tls or httpcore.default_ssl_context()) if secure else None,
                http2=False,
                retries=0,
                keepalive_expiry=_KEEP,
                network_backend=cast("httpcore.NetworkBackend", self._backend),
            )
        return self._pools[secure]


class _CheckedBackend:
    """Network backend of httpcore that connects only to checked addresses.

    A host is looked up once and the connection goes to the checked address, so DNS rebinding has no effect. httpcore
    still compares the names in certificates with the host.
    """

    def __init__(self, resolver: Resolver, *, allow_private: bool) -> None:
        self._resolver = resolver
        self._allow_private = allow_private
        self.budget = Budget(0.0)
        """Budget of the current request."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 (the budget applies)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _TimedStream:
        """Connect to the first address of a host that answers."""
        import httpcore

        addresses = look_up(host, port, self._resolver, seconds=self.budget.left(), allow_private=self._allow_private)
        for n_left in range(len(addresses), 0, -1):
            try:
                stream = httpcore.SyncBackend().connect_tcp(
                    addresses[-n_left],
                    port,
                    timeout=self.budget.left() / n_left,  # leave time for the other addresses
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if n_left == 1:
                    raise
            else:
                return _TimedStream(stream, self)
        raise AssertionError("look_up returns at least one address")

    def connect_unix_socket(self, *_: object, **__: object) -> _TimedStream:
        """Refuse Unix sockets."""
        raise FetchError("not a web address")

    def sleep(self, seconds: float) -> None:
        """Sleep between connection attempts."""
        time.sleep(seconds)


class _TimedStream:
    """Connection whose every operation is limited to the time left for the whole request.

    httpcore limits each operation, so a server that sends a byte now and then could go on for ever.
    """

    def __init__(self, stream: httpcore.NetworkStream, backend: _CheckedBackend) -> None:
        self._stream = stream
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, self._backend.budget.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._backend.budget.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> _TimedStream:
        try:
            stream = self._stream.start_tls(ssl_context, server_hostname, self._backend.budget.left())
        except FetchError:
            self.close()
            raise
        return _TimedStream(stream, self._backend)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401
        return self._stream.get_extra_info(info)
