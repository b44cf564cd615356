"""Pool of worker processes that turns units into records, in order; a page that hangs or crashes loses only that page.

A worker that dies, or is killed because a page took too long, is replaced, and the pages of its unit that have no
record yet are extracted again one by one. If the new worker dies too, the page it was working on gets a record with the
reason.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import spawn
from typing import Any, Self

from blockml.batch.packing import End, Packer, Piece
from blockml.batch.page_records import PageRecord
from blockml.batch.readers import Unit, without_overlap
from blockml.batch.worker import EXIT_MEMORY, Clock, Setup, importing_script
from blockml.errors import BlockmlError, UsageError, check_type
from blockml.records import CRASHED, TIMEOUT

__all__ = ["Replay", "Result", "Slot", "WorkerError", "WorkerPool", "WorkerProcess", "check_jobs", "run_units"]


#: Maximum number of units finished or in work behind the first unfinished one: per worker, and in addition.
_WINDOW = 8
#: Maximum seconds between two checks of the workers' clocks.
_POLL = 1.0
#: Number of workers that may die in a row before their first unit; then the run stops.
_FAILED_STARTS = 3
#: Maximum seconds until a worker is ready; imports are slow on a busy machine.
_START_SECONDS = 120


class WorkerError(BlockmlError, RuntimeError):
    """Workers can't be started, or a worker met an error that no page caused."""


@dataclass(frozen=True, slots=True)
class Result:
    """A piece of a unit, or the end of the unit."""

    unit: Unit
    part: Piece | End


class WorkerPool:
    """Worker processes that start when there is work for them and live until the pool is closed.

    Parameters
    ----------
    setup
        Settings of the workers.
    jobs
        Number of worker processes.
    """

    def __init__(self, setup: Setup, jobs: int) -> None:
        if importing_script():
            raise WorkerError(
                "a script that defines an extractor must start the run below 'if __name__ == \"__main__\":', "
                "because worker processes import the script"
            )
        self._setup = setup
        self._pickled = _pickled(setup)
        self._inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._slots: deque[Slot] = deque()  # in the order of the input
        self._idle: list[WorkerProcess] = []
        self._workers: set[WorkerProcess] = set()
        self._window = _WINDOW * (jobs + 1)
        self._jobs = jobs
        self._failed_starts = 0
        self._next_look = 0.0

    def run(self, units: Iterator[Unit], previous: Result | None = None) -> Iterator[Result]:
        """Extract units, as :func:`run_units` does. One run must end before the next begins."""
        coming: deque[Unit] = deque()  # read ahead, so that workers don't wait for it
        while True:
            coming.extend(islice(units, self._jobs - len(coming)))
            self._start_workers(len(coming))
            while coming and self._idle and len(self._slots) < self._window:
                # The unit at the front is known not to overlap; others are checked when they reach the front.
                unit = coming.popleft()
                left = unit if self._slots else _remaining(unit, previous)
                if left is not None:
                    self._slots.append(self._slot(left))
                    self._assign()
            while self._slots and (self._slots[0].pieces or self._slots[0].end):
                for result in self._results(self._slots[0]):
                    yield result
                    previous = result if isinstance(result.part, End) else previous
                if self._slots[0].end is not None:
                    self._slots.popleft()
                    self._mend_overlap(previous)
            if self._slots or coming:
                if not (coming and self._idle and len(self._slots) < self._window):
                    self._receive()
            elif (following := next(units, None)) is not None:
                coming.append(following)
            else:
                return

    def close(self) -> None:
        """Kill the workers."""
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _results(self, slot: Slot) -> Iterator[Result]:
        while slot.pieces:
            piece, credit = slot.pieces.popleft()
            if credit is not None:
                credit.release()
            yield Result(slot.unit, piece)
        if slot.end is not None:
            yield Result(slot.unit, slot.end)

    def _mend_overlap(self, previous: Result | None) -> None:
        """Replace the units now at the front whose first records the unit before them has already read."""
        while self._slots:
            slot = self._slots[0]
            unit = _remaining(slot.unit, previous)
            if unit is slot.unit:
                return
            self._slots.popleft()
            if slot.worker is not None:
                slot.worker.slot = None
                slot.worker.kill()
            if unit is not None:
                self._slots.appendleft(self._slot(unit))
                self._assign()
                return

    def _slot(self, unit: Unit) -> Slot:
        return Slot(unit, replay=Replay(Packer(self._setup.encoder), 0) if self._setup.page_by_page else None)

    def _assign(self) -> None:
        """Give waiting units to idle workers."""
        for slot in self._slots:
            if slot.worker is None and slot.end is None and self._idle:
                worker = self._idle.pop()
                worker.slot, slot.worker = slot, worker
                if slot.replay is None:
                    worker.send("run", slot.unit)
                else:
                    slot.replay.page = None
                    worker.send("replay", slot.unit, slot.replay.n_done)

    def _start_workers(self, n_coming: int) -> None:
        """Start as many workers as there is work for, at most ``jobs``."""
        n_units = n_coming + sum(slot.end is None for slot in self._slots)
        while len(self._workers) < min(self._jobs, n_units):
            self._start()

    def _start(self) -> None:
        self._workers.add(WorkerProcess(self._pickled, self._inbox))

    def _receive(self) -> None:
        """Wait for a message and handle it; check the workers' clocks from time to time."""
        limit = self._setup.guard.seconds
        poll = min(_POLL, limit / 4)
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + poll
            for worker in self._workers:
                if not worker.ready and now - worker.begun > _START_SECONDS:
                    raise WorkerError(f"a worker process was not ready after {_START_SECONDS} seconds")
                if not worker.overtime and worker.clock.seconds() > limit:
                    worker.overtime = True
                    worker.kill()
        try:
            worker, kind, *content = self._inbox.get(timeout=poll)
        except queue.Empty:
            return
        handle: dict[str, Callable[..., None]] = {
            "ready": self._on_ready, "piece": self._on_piece, "end": self._on_end, "page": self._on_page,
            "record": self._on_record, "error": self._on_error, "died": self._on_death,
        }  # fmt: skip
        handle[kind](worker, *content)

    def _on_ready(self, worker: WorkerProcess) -> None:
        self._failed_starts = 0
        worker.ready = True
        self._idle.append(worker)
        self._assign()

    def _on_piece(self, worker: WorkerProcess, piece: Piece) -> None:
        if (slot := worker.slot) is None:  # its unit was replaced
            worker.credit.release()
            return
        slot.n_records += piece.n_records
        slot.pieces.append((piece, worker.credit))

    def _on_end(self, worker: WorkerProcess, end: End) -> None:
        if (slot := worker.slot) is None:
            return
        if slot.replay is not None and (piece := slot.replay.packer.flush()):
            slot.pieces.append((piece, None))
        slot.end, slot.worker, worker.slot = end, None, None
        worker.n_units += 1
        if worker.n_units == self._setup.units_per_worker:
            worker.kill()  # a new one is started when its death is reported
        else:
            self._idle.append(worker)
        self._assign()

    def _on_page(self, worker: WorkerProcess, page_id: str, url: str | None) -> None:
        if worker.slot is not None and worker.slot.replay is not None:
            worker.slot.replay.page = (page_id, url)

    def _on_record(self, worker: WorkerProcess, record: PageRecord) -> None:
        if worker.slot is not None:
            self._add(worker.slot, record)

    def _on_error(self, _: WorkerProcess, error: BlockmlError) -> None:
        raise error

    def _on_death(self, worker: WorkerProcess, code: int) -> None:
        """Replace a worker, and extract the rest of its unit page by page."""
        self._workers.discard(worker)
        offset = worker.clock.reached()
        worker.clock.close()
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS:
                raise WorkerError(f"worker processes don't start ({_reason(code)})")
        slot, worker.slot = worker.slot, None
        if slot is not None:
            slot.worker = None
            if slot.replay is None:
                slot.replay = Replay(Packer(self._setup.encoder), slot.n_records)
            else:
                self._blame(slot, slot.replay, worker, code, offset)
        self._start()

    def _blame(self, slot: Slot, replay: Replay, worker: WorkerProcess, code: int, offset: int) -> None:
        """Make a record for the page on which a worker died while extracting page by page, or reading the page."""
        was_stopped_by_others = code == -signal.SIGKILL and not worker.overtime if hasattr(signal, "SIGKILL") else False
        if (was_stopped_by_others or replay.page is None) and not replay.tried_again:
            replay.tried_again = True  # the page may not be the cause
            return
        status = TIMEOUT if worker.overtime else CRASHED
        seconds, megabytes = self._setup.guard.seconds, self._setup.guard.memory >> 20
        reason = f"took longer than {seconds:g} seconds" if worker.overtime else _reason(code, megabytes)
        if replay.page is not None:
            self._add(slot, self._setup.pages.failed(*replay.page, status, reason))
            return
        names, left = slot.unit.unread(replay.n_done, offset)
        for name in names:
            self._add(slot, self._setup.pages.failed(name, None, status, f"reading it: {reason}"))
        replay.tried_again = False
        if left is not None:
            slot.unit, replay.n_done = left, 0
            return
        slot.end = End()
        if piece := replay.packer.flush():
            slot.pieces.append((piece, None))

    def _add(self, slot: Slot, record: PageRecord) -> None:
        """Add a record to a unit that is extracted page by page."""
        replay = slot.replay
        assert replay is not None  # noqa: S101 (for the type checker)
        replay.n_done += 1
        replay.page, replay.tried_again = None, False
        if piece := replay.packer.add(record):
            slot.pieces.append((piece, None))


def _pickled(setup: Setup) -> bytes:
    """Pickle a setup, after a description of the running script if the setup has objects that the script defines."""
    pickled = pickle.dumps(setup, pickle.HIGHEST_PROTOCOL)
    script = spawn.get_preparation_data("worker") if b"__main__" in pickled else {}
    return pickle.dumps({name: value for name, value in script.items() if name.startswith("init_main")}) + pickled


def _remaining(unit: Unit, previous: Result | None) -> Unit | None:
    """Return the part of a unit that the unit before it has not read; None if that has read everything."""
    if previous is None or not isinstance(previous.part, End):
        return unit
    return without_overlap(unit, previous.unit, previous.part.end)


def _reason(code: int, megabytes: int = 0) -> str:
    """Describe the end of a process."""
    if code == EXIT_MEMORY:
        return f"needed more than {megabytes:,} MB of memory"
    if code < 0:
        with suppress(ValueError):
            return f"the process was killed by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


def check_jobs(jobs: int) -> None:
    """Raise UsageError for a number of processes that isn't a positive integer."""
    check_type("jobs", jobs, int, legal="a positive integer")
    if jobs < 1:
        raise UsageError(f"jobs must be a positive integer, got {jobs}")


def run_units(setup: Setup, units: Iterator[Unit], jobs: int, previous: Result | None = None) -> Iterator[Result]:
    """Extract units in worker processes.

    Parameters
    ----------
    setup
        Settings of the workers.
    units
        The units, requested as workers need them.
    jobs
        Number of worker processes.
    previous
        End of the unit before the first one, when a run is resumed.

    Yields
    ------
    Result
        The pieces and the end of each unit, in order. How records are grouped into pieces depends neither on ``jobs``
        nor on whether workers died.

    Raises
    ------
    WorkerError
        Workers can't be started.
    BlockmlError
        The extractor or the encoder lacks something unrelated to pages, such as an optional package.
    """
    with WorkerPool(setup, jobs) as pool:
        yield from pool.run(units, previous)


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
        Settings of the worker, pickled by the pool.
    inbox
        Queue of messages: the process itself, a kind and the content; the last message reports its death.
    """

    def __init__(self, setup: bytes, inbox: queue.SimpleQueue[tuple[Any, ...]]) -> None:
        self.clock = Clock.create()
        self.slot: Slot | None = None  #: The unit it works on, set by the pool.
        self.begun = time.monotonic()
        self.ready = False
        self.n_units = 0  #: Number of units it has completed.
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
