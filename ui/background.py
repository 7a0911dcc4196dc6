"""Run slow work in a few threads, and deliver its result to the GUI thread.

The threads are daemons, because a file on a dead network mount must not keep the window from closing.
References of a piece of work, such as widgets, are released in the GUI thread: a thread only knows its
number.
"""

from __future__ import annotations

import gc
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, Generic, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from shiboken6 import isValid

from app.domain.errors import FootingError, InternalError

# Collect Python's cyclic garbage in the GUI thread only.
#
# By default Python collects in whichever thread allocates. Garbage of the window includes widgets and
# graphics items, which may only be destroyed in the GUI thread (Qt, "Threads and QObjects"): collected in a
# thread of background work, of the disks' watch or of a probe, they would be destroyed while they are drawn.


_PERIOD_MS: Final = 1000


def collect_in_gui_thread() -> None:
    """Collect now, and then every second if garbage is due, in this thread, the GUI's."""
    gc.disable()
    _collect_what_is_due()
    _timer().start()


@cache
def _timer() -> QTimer:
    timer = QTimer(interval=_PERIOD_MS)
    timer.timeout.connect(_collect_what_is_due)
    return timer


def _collect_what_is_due() -> None:
    """Collect what Python would: the oldest generation above its threshold."""
    due = [count > limit > 0 for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))


_WORKERS: Final = 4

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class _Workers:
    """A few daemon threads that take work from one queue; started on demand."""

    def __init__(self, count: int) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._count = count
        self._lock = threading.Lock()
        self._pending = 0
        self._names = itertools.count(1)
        self._started = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run it as soon as a thread is free."""
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
        """Wait until all work is done; return False on a timeout."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            with self._lock:
                if not self._pending:
                    return True
            time.sleep(0.01)
        return False


_workers: Final = _Workers(_WORKERS)
_numbers: Final = itertools.count()
_in_flight: Final[dict[int, BackgroundOp[Any]]] = {}
"""Started and undelivered work, by number; changed in the GUI thread only."""


class BackgroundOp(Generic[Result]):
    """One piece of work. Created, started and cancelled in the GUI thread, where its result arrives.

    Exceptions arrive as a `FootingError`: their own, or an `InternalError` for unexpected ones.
    """

    def __init__(
        self,
        op: Callable[[], Result],
        success: Callable[[Result], None],
        failure: Callable[[FootingError], None],
    ) -> None:
        self._op = op
        self._success = success
        self._failure = failure
        self._cancelled = threading.Event()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled; long work may check this, from any thread."""
        return self._cancelled.is_set()

    def start(self) -> BackgroundOp[Result]:
        """Start; returns itself."""
        collect_in_gui_thread()
        delivery = _delivery()
        number = next(_numbers)
        _in_flight[number] = self
        _workers.submit(partial(_work, number, delivery))
        return self

    def cancel(self) -> None:
        """Cancel: neither function is called, and work that has not started never does."""
        self._cancelled.set()

    def run(self) -> tuple[Result | None, FootingError | None]:
        """Run it, in a thread, unless it is cancelled; return its result or error."""
        if self.is_cancelled:
            return None, None
        try:
            return self._op(), None
        except FootingError as err:
            return None, err.with_traceback(None)  # whose frames hold what the functions do
        except Exception as err:  # noqa: BLE001 - a border: what a thread raises is told in the window
            _log.debug("background work failed", exc_info=err)
            return None, InternalError.of(err)

    def deliver(self, result: Result, error: FootingError | None) -> None:
        """Call one of the functions, in the GUI thread, unless its page was deleted."""
        if self.is_cancelled or _is_gone(self._failure if error is not None else self._success):
            return
        if error is not None:
            self._failure(error)
        else:
            self._success(result)


def _is_gone(function: Callable[..., object]) -> bool:
    """Return whether it is a method of an object that Qt has deleted."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, QObject) and not isValid(owner)


class _Delivery(QObject):
    """Transfers results from the threads to the GUI thread."""

    done = Signal(object, object, object)

    def __init__(self) -> None:
        super().__init__()
        self.done.connect(self._on_done, Qt.ConnectionType.QueuedConnection)

    @Slot(object, object, object)
    def _on_done(self, number: int, result: object, error: FootingError | None) -> None:
        _in_flight.pop(number).deliver(result, error)


@cache
def _delivery() -> _Delivery:
    return _Delivery()


def _work(number: int, delivery: _Delivery) -> None:
    result, error = _in_flight[number].run()
    try:
        delivery.done.emit(number, result, error)
    except RuntimeError:
        if isValid(delivery):
            raise
        # The program has ended and Qt deleted its objects: nothing to deliver to.


def finish_background(timeout_s: float = 2.0) -> bool:
    """Wait for all started work, at the end of the program; return whether all of it ended."""
    return _workers.drain(timeout_s)
