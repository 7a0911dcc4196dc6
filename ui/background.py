"""Work that would hold up the window: done by a few threads, its result delivered to the GUI thread.

The threads are daemons, because a file on a dead network mount must not keep the window from closing.

Python collects cyclic garbage in whichever thread allocates. Garbage of the window holds widgets and
graphics items, which may only be destroyed in the GUI thread; so the collector rests while a thread works,
and the GUI thread does what was left undone.
"""

from __future__ import annotations

import gc
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

from app.domain.errors import FootingError, InternalError

_WORKERS: Final = 4

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class _Workers:
    """At most a few daemon threads that take work from one queue; started when there is work."""

    def __init__(self, count: int) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._count = count
        self._lock = threading.Lock()
        self._pending = 0
        self._names = itertools.count(1)
        self._started = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Do it as soon as a thread is free."""
        with self._lock:
            self._pending += 1
            start = self._started < min(self._count, self._pending)
            self._started += start
        self._work.put(work)
        if start:
            name = f"background-{next(self._names)}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            finally:
                del work
                with self._lock:
                    self._pending -= 1

    def drain(self, timeout_s: float) -> bool:
        """Wait until nothing is being done; return whether that came in time."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            with self._lock:
                if not self._pending:
                    return True
            time.sleep(0.01)
        return False


_workers: Final = _Workers(_WORKERS)
_in_flight: set[object] = set()
"""Keeps what was started alive until it is delivered."""


class BackgroundOp(QObject, Generic[Result]):
    """One piece of work. Made, started and cancelled in the GUI thread, where its result arrives.

    What it raises arrives as a `FootingError`: its own, or an `InternalError` for one that nobody expected.
    """

    _ended = Signal(object, object)

    def __init__(
        self,
        op: Callable[[], Result],
        success: Callable[[Result], None],
        failure: Callable[[FootingError], None],
    ) -> None:
        super().__init__()
        self._op = op
        self._success = success
        self._failure = failure
        self._cancelled = threading.Event()
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the result; long work may ask, from any thread."""
        return self._cancelled.is_set()

    def start(self) -> BackgroundOp[Result]:
        """Begin; returns itself."""
        _rest_collector()
        _in_flight.add(self)
        _workers.submit(self._run)
        return self

    def cancel(self) -> None:
        """Want no result any more: neither function is called; work that has not begun never does."""
        self._cancelled.set()

    def _run(self) -> None:
        result: Result | None = None
        error: FootingError | None = None
        if not self.is_cancelled:
            try:
                result = self._op()
            except FootingError as err:
                error = err
            except Exception as err:  # noqa: BLE001 - a border: what a thread raises is told in the window
                _log.debug("background work failed", exc_info=err)
                error = InternalError.of(err)
        try:
            self._ended.emit(result, error)
        except RuntimeError:
            if isValid(self):
                raise
            # The program ended meanwhile and Qt deleted its objects: nobody waits any more.

    @Slot(object, object)
    def _on_ended(self, result: Result, error: FootingError | None) -> None:
        _in_flight.discard(self)
        if not _in_flight:
            gc.enable()
        if self.is_cancelled:
            return
        if error is not None:
            self._failure(error)
        else:
            self._success(result)


def _rest_collector() -> None:
    """Keep Python from collecting while threads work; what is due meanwhile is done here and now."""
    if gc.isenabled():
        gc.disable()
        return
    due = [count > limit > 0 for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))


def finish_background(timeout_s: float = 2.0) -> bool:
    """Wait for all work that was started, at the end of the program; return whether all of it ended."""
    return _workers.drain(timeout_s)
