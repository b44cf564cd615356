"""One HTTP request at a time, over connections whose address was checked before they were made, within a set time."""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from blockml.errors import MissingExtraError
from blockml.templates.linked.addresses import FetchError, RefusedError, Resolver, host_and_port, look_up

if TYPE_CHECKING:
    import httpcore

__all__ = ["Budget", "Connections", "Response"]

#: How long an idle connection is kept for the next page of its site, in seconds (our choice). Servers drop theirs after
#: five or more, and a request that meets that moment is lost.
_KEEP = 4.0


class Budget:
    """Time for one page, which its requests use up one after another."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds
        self._started: float | None = None

    def left(self) -> float:
        """Seconds left.

        Raises
        ------
        FetchError
            None are.
        """
        used = time.monotonic() - self._started if self._started is not None else 0.0
        if used >= self._left:
            raise FetchError(self.overdrawn)
        return self._left - used

    @property
    def overdrawn(self) -> str:
        """What there is to say when it is used up."""
        return f"took longer than {self.seconds:g} seconds"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let time run."""
        self._started = time.monotonic()
        try:
            yield
        finally:
            self._left -= time.monotonic() - self._started
            self._started = None


class Response:
    """Head of an answer; the body is read at wish."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status = response.status

    def header(self, name: str) -> str:
        """First header of this name, without white space around it; empty if there is none."""
        wanted = name.lower().encode("ascii")
        value = next((value for key, value in self._response.headers if key.lower() == wanted), b"")
        try:
            return value.decode("utf-8").strip()
        except UnicodeDecodeError:
            return value.decode("latin-1").strip()

    def read(self, limit: int, *, cut: bool = False) -> bytes:
        """Read and unzip the body.

        Parameters
        ----------
        limit
            Most bytes to read, packed as well as unpacked.
        cut
            Whether a longer body is cut off there instead of refused.

        Raises
        ------
        FetchError
            It is too long, damaged, or packed in a way that wasn't asked for.
        """
        coding = self.header("Content-Encoding").lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            raise FetchError(f"the content encoding {coding!r} wasn't asked for")
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
        if unzip and n_packed and not unzip.complete:
            raise FetchError("the zipped body is cut off")
        return bytes(body)


class _Gunzip:
    """Unzips piece by piece and never more than was asked for: a few kilobytes can hold gigabytes."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)

    @property
    def complete(self) -> bool:
        return self._inflate.eof

    def __call__(self, chunk: bytes, limit: int) -> bytes:
        unzipped = bytearray()
        try:
            while chunk and len(unzipped) < limit:
                if self._inflate.eof:  # another member, or padding, which browsers pass over too
                    if not chunk.startswith(b"\x1f"):
                        break
                    self._inflate = zlib.decompressobj(wbits=31)
                unzipped += self._inflate.decompress(chunk, limit - len(unzipped))
                chunk = self._inflate.unused_data
        except zlib.error as error:
            raise FetchError(f"the zipped body is damaged ({error})") from error
        return bytes(unzipped)


class Connections:
    """Sends requests and nothing else: no cookies, no proxies, no redirects of its own.

    Of the HTTP client only the lowest layer is used, httpcore. What sits above it keeps cookies, heeds the
    environment, follows redirects, unpacks without bounds, and can't be told where to connect to.

    Raises
    ------
    MissingExtraError
        httpcore, which comes with httpx, is not installed.
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
        try:
            import httpcore  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("Fetching pages", "http") from error
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
        """Ask for a normalised URL. All of it, with the body, has to be done in the time of the budget.

        Raises
        ------
        FetchError
            The port or the address is refused, there is no answer, or it takes too long.
        """
        import httpcore

        _, port = host_and_port(url)
        if self._ports is not None and port not in self._ports:
            raise RefusedError(f"the port {port} is none of {', '.join(map(str, sorted(self._ports)))}")
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
        """Connections with or without TLS, whose certificates take a quarter of a second to load."""
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
    """Makes the connections, in place of httpcore's own network backend.

    A host is looked up once; the answer is checked, and the connection goes to just that address. So a name that
    changes its address between check and connection gains nothing. Names in certificates are still compared with the
    host, as httpcore does that on top of the connection.
    """

    def __init__(self, resolver: Resolver, *, allow_private: bool) -> None:
        self._resolver = resolver
        self._allow_private = allow_private
        self.budget = Budget(0.0)
        """Of the request that is under way."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 (the budget knows better)
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
                    timeout=self.budget.left() / n_left,  # a silent address leaves time for the others
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if n_left == 1:
                    raise
            else:
                return _TimedStream(stream, self)
        raise AssertionError("look_up gives at least one address")

    def connect_unix_socket(self, *_: object, **__: object) -> _TimedStream:
        """Refuse: pages come from the web."""
        raise FetchError("no web address")

    def sleep(self, seconds: float) -> None:
        """Sleep between attempts, of which there is one."""
        time.sleep(seconds)


class _TimedStream:
    """A connection on which every step has just the time that is left of the whole request.

    httpcore's limits are for each step, so a server that sends a byte now and then could go on for ever.
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
