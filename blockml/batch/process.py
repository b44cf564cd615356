"""Worker process of a pool, which receives its messages in a thread, and the unit that it works on."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from blockml.batch.packing import End, Packer, Piece
from blockml.batch.readers import Unit
from blockml.batch.worker import Clock

__all__ = ["Replay", "Slot", "WorkerProcess"]

#: Maximum pieces of a unit that wait in the parent process; a worker further ahead waits.
_WAITING_PIECES = 64
#: Environment of workers. OpenBLAS would start a spinning thread per processor. The allocators of pyarrow (mimalloc)
#: and of C (glibc) keep memory that the next page needs again, because the kernel clears returned memory each time
#: (this saves .5 ms of 3.5 ms per page with the first on 3,000 pages of 196 KB; 57 page faults per page with the second
#: on 1,000).
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "MIMALLOC_PURGE_DELAY": "-1",
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
}
#: Program of a worker. Its argument is the file of its clock: its file descriptor, or its name on Windows.
_PROGRAM = """
import sys
clock = open(int(sys.argv[1]) if sys.argv[1].isdecimal() else sys.argv[1], "r+b")
sys.path[:] = {path!r}
from blockml.batch.worker import work
work(clock)
"""


@dataclass(slots=True, eq=False)
class Slot:
    """A unit that a worker is extracting."""

    unit: Unit
    pieces: deque[tuple[Piece, threading.Semaphore | None]] = field(default_factory=deque)
    end: End | None = None
    n_records: int = 0  #: Records in the pieces so far.
    replay: Replay | None = None
    worker: WorkerProcess | None = None


@dataclass(slots=True)
class Replay:
    """State of a unit that is extracted page by page."""

    packer: Packer
    n_done: int  #: Number of records so far.
    page: tuple[str, str | None] | None = None  #: Id and URL of the current page.
    tried_again: bool = False  #: Whether this is the second try of the current page.


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C while a process starts, which inherits the block: the parent process decides how workers end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerProcess:
    """A worker process, with the thread that receives its messages.

    Parameters
    ----------
    setup
        Settings of the worker, pickled.
    inbox
        Queue of messages: the process itself, a kind and the content; the last message reports its death.
    """

    def __init__(self, setup: bytes, inbox: queue.SimpleQueue[tuple[Any, ...]]) -> None:
        self.clock = Clock.create()
        self.slot: Slot | None = None  #: The unit it works on, set by the pool.
        self.ready = False
        self.overtime = False  #: Whether it was killed because of its page.
        self.credit = threading.Semaphore(_WAITING_PIECES)
        file = self.clock.stream.name
        command = [sys.executable, "-c", _PROGRAM.format(path=sys.path), str(file)]
        environment = _ENVIRONMENT | os.environ
        with _without_interrupts():
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                pass_fds=(file,) if isinstance(file, int) else (),
            )
        self._inbox = inbox
        self._thread = threading.Thread(target=self._receive, args=(setup,), daemon=True)
        self._thread.start()

    def send(self, *message: Any) -> None:  # noqa: ANN401 (any message)
        """Send an order to the worker, which is waiting for one."""
        with suppress(OSError):
            self._write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process and wait until it is gone."""
        self._process.kill()
        for _ in range(_WAITING_PIECES):
            self.credit.release()
        self._thread.join()
        self.clock.close()

    def _write(self, message: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 (for the type checker)
        self._process.stdin.write(message)
        self._process.stdin.flush()

    def _receive(self, setup: bytes) -> None:
        stream = self._process.stdout
        assert stream is not None  # noqa: S101 (for the type checker)
        with suppress(EOFError, OSError, pickle.UnpicklingError):  # it has died
            self._write(setup)
            while True:
                message = pickle.load(stream)  # noqa: S301 (from the worker)
                if message[0] == "piece":
                    self.credit.acquire()
                self._inbox.put((self, *message))
        code = self._process.wait()
        stream.close()
        with suppress(OSError):
            assert self._process.stdin is not None  # noqa: S101
            self._process.stdin.close()
        self._inbox.put((self, "died", code))
