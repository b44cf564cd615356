"""Worker process: reads units, extracts their pages and sends the encoded records.

A worker is a separate program that reads from its standard input and answers on its standard output. It does not import
the caller's program, so threads, notebooks and the processes of any engine can start it.

Its matrix products use one thread. OpenBLAS starts a thread per core, and idle threads spin, which takes cores from
other processes. The extractors of blockml compute no matrix products with numpy; custom extractors may.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, cast

from blockml.batch.packing import Encoder, End, Packer
from blockml.batch.page_records import RecordMaker
from blockml.batch.readers import Reading, Unit
from blockml.batch.readers.work_units import Item
from blockml.errors import BlockmlError, UsageError, check_type
from blockml.page.lazy import cached_property

__all__ = [
    "EXIT_MEMORY",
    "LEAST_MEMORY",
    "MOST_MEMORY",
    "Clock",
    "Guard",
    "Setup",
    "importing_script",
    "one_thread",
    "rows_here",
    "status_bytes",
    "work",
]


#: Exit code of a worker whose page needed more memory than the limit.
EXIT_MEMORY = 77
#: A worker whose parent was killed exits after this many times the time limit of a page.
_ORPHAN_FACTOR = 2.0
#: Least limit of memory: 54 pages of WCXB need 24 MB at most. With less, each page would end a worker, and starting
#: another takes a second.
LEAST_MEMORY = 32 << 20
#: Largest limits that timers and limits of the operating system can hold.
_MOST_SECONDS, MOST_MEMORY = 10**9, 1 << 60


@dataclass(frozen=True, slots=True)
class Guard:
    """Limits on one page, enforced from outside the code that handles it."""

    seconds: float = 60.0  #: Time until the worker is killed.
    #: Bytes of memory that a worker may allocate beyond those it has at its start; only enforced on Linux.
    memory: int = 2 << 30

    def __post_init__(self) -> None:
        check_type("guard.seconds", self.seconds, Real, legal="a number of seconds")
        check_type("guard.memory", self.memory, int, legal="a number of bytes")
        for name, value, most in (("seconds", self.seconds, _MOST_SECONDS), ("memory", self.memory, MOST_MEMORY)):
            if not 0 < value <= most:
                raise UsageError(f"guard.{name} must be above 0 and at most {most}, got {value}")
        if self.memory < LEAST_MEMORY:
            raise UsageError(
                f"guard.memory must be at least {LEAST_MEMORY:,} bytes ({LEAST_MEMORY >> 20} MB), which most pages "
                f"need, got {self.memory:,}"
            )


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a worker, sent once."""

    pages: RecordMaker
    encoder: Encoder
    guard: Guard
    limit: int = -1  #: Maximum bytes to read of one page; -1 for no limit.
    #: Whether workers announce each page of a unit, so that a page that ends a worker isn't tried again.
    page_by_page: bool = False
    units_per_worker: int | None = None  #: Number of units after which a worker is replaced, to bound memory leaks.


def rows_here(items: Iterable[Item], pages: RecordMaker) -> Iterator[dict[str, Any]]:
    """Yield the rows of the records of pages that are extracted in this process, without a guard."""
    for item in items:
        with one_thread():
            record = pages.record(item)
        yield from record.rows


class Clock:
    """Time at which a worker began its current page, and what it reads, in memory that the parent process sees."""

    SIZE = 16

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream  #: File through which the worker finds the memory.
        self._cell = mmap.mmap(stream.fileno(), self.SIZE)

    @classmethod
    def create(cls) -> Clock:
        """Make a clock in a temporary file without a name, so that a killed process leaves nothing behind.

        On Windows, where processes inherit no open files, it has a name.
        """
        stream = cast(
            "BinaryIO",
            tempfile.NamedTemporaryFile(prefix="blockml-", delete=False)  # noqa: SIM115 (closed by close)
            if sys.platform == "win32"
            else tempfile.TemporaryFile(),  # noqa: SIM115
        )
        stream.write(bytes(cls.SIZE))
        stream.flush()
        return cls(stream)

    def close(self) -> None:
        """Release the memory and remove the file."""
        self._cell.close()
        self.stream.close()
        if isinstance(self.stream.name, str):
            with suppress(OSError):
                Path(self.stream.name).unlink()

    def start(self) -> None:
        """Record that work on a page begins now."""
        struct.pack_into("d", self._cell, 0, time.monotonic())

    def stop(self) -> None:
        """Record that no page is being worked on."""
        struct.pack_into("d", self._cell, 0, 0.0)

    def reach(self, offset: int) -> None:
        """Note the offset of the record that is read next."""
        struct.pack_into("q", self._cell, 8, offset)

    def reached(self) -> int:
        """Return the offset of the record that was read last; 0 if none was."""
        (offset,) = struct.unpack_from("q", self._cell, 8)
        return int(offset)

    def seconds(self) -> float:
        """Return how long the worker has been working on its page; 0 if it has none."""
        (start,) = struct.unpack_from("d", self._cell, 0)
        return time.monotonic() - start if start else 0.0


class _Worker:
    def __init__(self, setup: Setup, clock: Clock, outgoing: BinaryIO) -> None:
        self._setup = setup
        self._clock = clock
        self._outgoing = outgoing

    def send(self, *message: Any) -> None:  # noqa: ANN401 (any message)
        """Send a message; time spent waiting for the parent process doesn't count for the page."""
        self._clock.stop()
        pickle.dump(message, self._outgoing, pickle.HIGHEST_PROTOCOL)
        self._outgoing.flush()

    def run(self, unit: Unit) -> None:
        """Extract all pages of a unit and send their records in pieces."""
        reading = Reading(self._setup.limit)
        packer = Packer(self._setup.encoder)
        for item in self._items(unit, reading, 0):
            record = self._setup.pages.record(item)
            if piece := packer.add(record):
                self.send("piece", piece)
        if piece := packer.flush():
            self.send("piece", piece)
        self.send("end", End(dict(reading.skipped), reading.end))

    def replay(self, unit: Unit, skip: int) -> None:
        """Extract the pages of a unit except the first ones, and announce each page before its record."""
        self._clock.reach(0)
        reading = Reading(self._setup.limit, reached=self._clock.reach)
        for item in self._items(unit, reading, skip):
            self.send("page", item.id, item.url)
            self._start()
            self.send("record", self._setup.pages.record(item))
        self.send("end", End(dict(reading.skipped), reading.end))

    def _items(self, unit: Unit, reading: Reading, skip: int) -> Iterator[Item]:
        items = unit.items(reading)
        number = 0
        while True:
            self._start()
            item = next(items, None)
            if item is None:
                return
            number += 1
            if number > skip:
                yield item

    def _start(self) -> None:
        self._clock.start()
        if hasattr(signal, "setitimer"):  # nobody watches the clock of a worker whose parent was killed
            signal.setitimer(signal.ITIMER_REAL, _ORPHAN_FACTOR * self._setup.guard.seconds)


def work(stream: BinaryIO) -> None:
    """Serve units until the parent process closes the connection; ``stream`` is the file of the clock."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 (no path)
        os.dup2(nothing.fileno(), 0)  # an extractor must not read the orders
    os.dup2(2, 1)  # output of an extractor must not mix with the messages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent process decides
    clock = Clock(stream)
    with suppress(EOFError, BrokenPipeError), one_thread():
        try:
            _import_script(pickle.load(incoming))  # noqa: S301 (from the parent process)
            setup: Setup = pickle.load(incoming)  # noqa: S301
            setup.pages.start()
            _limit_memory(setup.guard.memory)
            worker = _Worker(setup, clock, outgoing)
            worker.send("ready")
            while True:
                order, *arguments = pickle.load(incoming)  # noqa: S301
                worker.run(*arguments) if order == "run" else worker.replay(*arguments)
        except MemoryError:
            os._exit(EXIT_MEMORY)
        except (EOFError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 (the parent process reports it)
            shown = error if isinstance(error, BlockmlError) else RuntimeError(f"{type(error).__name__}: {error}")
            pickle.dump(("error", shown), outgoing)
            outgoing.flush()


_importing_script = False


def importing_script() -> bool:
    """Return whether this process is a worker that is importing the script of its parent."""
    return _importing_script


def _import_script(script: dict[str, Any]) -> None:
    """Import the script of the parent process, whose classes the setup needs, as :mod:`multiprocessing` does."""
    global _importing_script  # noqa: PLW0603 (one per process)
    if script:
        from multiprocessing import spawn

        _importing_script = True
        spawn.prepare(script)
        _importing_script = False


def status_bytes(name: str) -> int | None:
    """Return a size that Linux reports for this process, such as its peak memory ``VmHWM``; None on other systems."""
    if not sys.platform.startswith("linux"):
        return None
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(f"{name}:")), None)


def _limit_memory(size: int) -> None:
    """Limit the private memory of the process to what it has now plus ``size`` bytes; only on Linux."""
    if (used := status_bytes("VmData")) is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used + size if hard == resource.RLIM_INFINITY else min(used + size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


class _ThreadLimit(AbstractContextManager[None]):
    """Limits the BLAS libraries to one thread; shared by the threads of the process.

    The number of BLAS threads is global to the process: the first thread to enter sets the limit and the last one to
    exit restores the previous numbers, so that no thread loses the limit while it works.
    """

    def __init__(self) -> None:
        self.renew_lock()
        self._n_users = 0
        self._before: tuple[int, ...] = ()

    def renew_lock(self) -> None:
        """Replace the lock in a forked process."""
        self._lock = threading.Lock()

    @cached_property
    def _libraries(self) -> Sequence[Any]:
        try:
            from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
        except ImportError:  # installed for training; models predict without BLAS
            return ()

        return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)

    def __enter__(self) -> None:
        with self._lock:
            threads = tuple([library.get_num_threads() or 1 for library in self._libraries])
            if not self._n_users:
                self._before = threads
            if any(number > 1 for number in threads):
                self._set((1,) * len(threads))
            self._n_users += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._n_users -= 1
            if not self._n_users and any(number > 1 for number in self._before):
                self._set(self._before)

    def _set(self, numbers: Sequence[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=True):
            library.set_num_threads(number)
            # In newer versions of threadpoolctl the thread that sets the number of threads owns the library until it
            # clears it.
            if clear := getattr(library, "clear_controlling_thread", None):
                clear()


#: One per process, because the number of BLAS threads is global.
_LIMIT = _ThreadLimit()
if hasattr(os, "register_at_fork"):  # another thread may have held the lock
    os.register_at_fork(after_in_child=_LIMIT.renew_lock)


def one_thread() -> AbstractContextManager[None]:
    """Limit matrix products of this process to one thread.

    Some versions of OpenBLAS round multi-threaded products differently in the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     (np.ones((2, 3)) @ np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    return _LIMIT
