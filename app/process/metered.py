"""Connections to servers of others: what one sends, and how long it takes, is bounded here.

libpq keeps an answer until it is whole, and waits as long as the line lives: a server that is none, or means
ill, takes all memory of this machine or all time of its user (measured: a gigabyte in 15 s). Counted is what
the kernel received on the connection while a statement is waited for; what libpq reads and makes room for in
one go comes on top (measured: 165 MB for a row that says it has a gigabyte, with a bound of 64 MiB).

Each step of connecting is taken in a thread: a server says how often SCRAM hashes the password (2 ** 31
times take half an hour), and libpq cannot be interrupted there. A thread that is left behind gets time that
nothing else wants, and ends where the hash is known, because its line is closed by then. A name is looked up
in such a thread before libpq looks it up, which a resolver without an answer would keep for minutes.
"""

from __future__ import annotations

import ctypes
import math
import os
import queue
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.conninfo import make_conninfo
from psycopg.types.numeric import FloatLoader, NumericLoader
from typing_extensions import override

from app.domain.text import tr
from app.domain.units import MIB, format_size

MOST_BYTES: Final = 16 * MIB
"""Of one answer, and of letting somebody in; the largest that is asked for has some 100 KB."""
MOST_MEMORY_BYTES: Final = 512 * MIB
"""By which this process may grow meanwhile, where the line tells no bytes: a socket of this machine."""
GRACE_S: Final = 10.0
"""How long is waited for the server's own end of a statement, after its time."""
_BYTES_RECEIVED: Final = 128
"""Place of tcpi_bytes_received in struct tcp_info (linux/tcp.h, from 4.1 on)."""
_LEAST_CONNECT_S: Final = 2
"""As libpq has it."""
_POLL_S: Final = 0.1
_MOST_LEFT: Final = 3
"""Threads that may be left behind at a time; with more of them nothing is connected to."""
_LONGEST_LOOK_S: Final = 0.2
"""Psycopg looks every 0.1 s, as this module does: what lasts longer is not the server's."""

Value = TypeVar("Value")

ANSWER_ERRORS: Final = (
    psycopg.Error,
    ArithmeticError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What comes of asking somebody who may be no server: arrays within arrays, too few columns, other types."""
_LARGEST: Final = 40
"""Digits of a number that a server tells."""


class _Numeric(NumericLoader):
    """Takes numbers only: some statistics are `numeric`, which may be infinite."""

    @override
    def load(self, data: Buffer) -> Decimal:
        value = super().load(data)
        if not value.is_finite() or abs(value.adjusted()) > _LARGEST:
            raise psycopg.DataError(tr("a number that cannot be"))
        return value


class _Fraction(FloatLoader):
    """As `_Numeric`, for double precision and real."""

    @override
    def load(self, data: Buffer) -> float:
        value = super().load(data)
        if not math.isfinite(value):
            raise psycopg.DataError(tr("a number that cannot be"))
        return value


class _Patience:
    """How long an answer is waited for, in seconds in which this process could look; None for ever.

    A machine that pgbench keeps busy gives it no time for seconds, and may have the answer all the while.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._left_s = limit_s
        self._looked_s = time.monotonic()

    def check(self) -> None:
        """Raise psycopg.OperationalError where it is at its end."""
        now_s = time.monotonic()
        passed_s, self._looked_s = min(now_s - self._looked_s, _LONGEST_LOOK_S), now_s
        if self._left_s is None:
            return
        self._left_s -= passed_s
        if self._left_s < 0:
            raise psycopg.OperationalError(tr("the server did not answer in time"))


class _Meter:
    """What came since it was made."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        received = _received(descriptor)
        self._is_counted = received is not None
        self._before = _resident() if received is None else received

    def check(self) -> None:
        """Do nothing where the server keeps within bounds.

        Raises:
            psycopg.OperationalError: it does not.
        """
        now = _received(self._descriptor) if self._is_counted else _resident()
        most = MOST_BYTES if self._is_counted else MOST_MEMORY_BYTES
        if now is not None and now - self._before > most:
            message = tr("the server sent more than {size} at once, which no answer has")
            raise psycopg.OperationalError(message.format(size=format_size(most)))


def _received(descriptor: int) -> int | None:
    """Return how many bytes came on a TCP connection; None for another kind of line."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as line:
            told = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        return int(struct.unpack_from("=Q", told, _BYTES_RECEIVED)[0])
    except (OSError, struct.error):
        return None


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class MeteredConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose answers have an end.

    Attributes:
        answer_s: how long an answer is waited for; None for ever.
    """

    answer_s: float | None = None

    @override
    def wait(self, gen: Generator[Any, Any, Value], *args: Any, **named: Any) -> Value:
        """Wait as psycopg does, within bounds; a connection that is over one is closed."""
        return super().wait(self._bounded(gen), *args, **named)

    def _bounded(self, gen: Generator[Any, Any, Value]) -> Generator[Any, Any, Value]:
        patience, meter = _Patience(self.answer_s), _Meter(self.pgconn.socket)
        try:
            state = next(gen)
            while True:
                ready = yield state
                try:
                    patience.check()
                    meter.check()
                except psycopg.OperationalError:
                    self.pgconn.finish()
                    raise
                state = gen.send(ready)
        except StopIteration as ended:
            value: Value = ended.value
            return value


def connect_bounded(
    conninfo: str, *, timeout_s: int, statement_timeout_s: int, name: str
) -> MeteredConnection:
    """Return a connection in autocommit mode; may raise psycopg.Error.

    Args:
        conninfo: as libpq has it; its connect_timeout goes before `timeout_s`.
        timeout_s: for connecting.
        statement_timeout_s: which the caller sets on the server; 0 for none, and answers are waited for.
        name: of the application.
    """
    pgconn = _connected(make_conninfo(conninfo, application_name=name), timeout_s)
    connection = MeteredConnection(pgconn)
    for kind, loader in (("numeric", _Numeric), ("float4", _Fraction), ("float8", _Fraction)):
        connection.adapters.register_loader(kind, loader)
    connection.answer_s = statement_timeout_s + GRACE_S if statement_timeout_s else None
    connection.autocommit = True
    return connection


def resolved(conninfo: str) -> pq.abc.PGconn:
    """Return what libpq makes of a connection string with services, files and environment; nothing is sent.

    libpq looks at this word last before it connects, and no server has such an attribute.
    """
    words = make_conninfo(conninfo, target_session_attrs="nothing is to be sent")
    return pq.PGconn.connect_start(words.encode())


def parameters(connection: pq.abc.PGconn) -> dict[str, str]:
    """Return the parameters of a connection that have a value."""
    return {each.keyword.decode(): each.val.decode() for each in connection.info if each.val}


def _connected(conninfo: str, timeout_s: int) -> pq.abc.PGconn:
    asked = resolved(conninfo)
    said, host = parameters(asked), asked.host.decode()
    asked.finish()
    seconds = said.get("connect_timeout", "").strip()
    given_s = int(seconds) if seconds.isdigit() else 0
    patience = _Patience(max(given_s, _LEAST_CONNECT_S) if given_s else timeout_s)
    if host and not host.startswith(("/", "@")) and "hostaddr" not in said:
        _look_up(host, patience)
    pgconn = pq.PGconn.connect_start(conninfo.encode())
    steps = _Steps(pgconn)
    try:
        _let_in(pgconn, steps, patience)
    except BaseException:
        steps.leave()
        raise
    pgconn.nonblocking = 1
    return pgconn


_left: Final[list[threading.Thread]] = []


def _check_left() -> None:
    """Raise psycopg.OperationalError where too many threads were left behind."""
    if len([each for each in _left if each.is_alive()]) >= _MOST_LEFT:
        raise psycopg.OperationalError(tr("several servers still keep this process busy"))


def _look_up(host: str, patience: _Patience) -> None:
    """Wait until the resolver has answered, whatever it says: libpq asks again, and tells what is wrong."""
    _check_left()
    ended = threading.Event()

    def ask() -> None:
        with suppress(OSError, UnicodeError):
            socket.getaddrinfo(host, None)
        ended.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        while not ended.wait(_POLL_S):
            patience.check()
    except BaseException:
        _left.append(thread)
        raise


class _Steps:
    """Takes the steps of connecting, one at a time."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        try:
            _check_left()
        except psycopg.OperationalError:
            pgconn.finish()
            raise
        self._pgconn = pgconn
        self._poll = _unlocked_poll(pgconn)
        self._thread: threading.Thread | None = None

    def take(self, check: Callable[[], None]) -> pq.PollingStatus:
        """Return how a step ended; `check` is called while it lasts, and may raise."""
        answer: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._thread = threading.Thread(target=lambda: answer.put(self._poll()), daemon=True)
        self._thread.start()
        while True:
            try:
                status = answer.get(timeout=_POLL_S)
            except queue.Empty:
                check()
                continue
            self._thread.join()
            return pq.PollingStatus(status)

    def leave(self) -> None:
        """Close the connection; one that a step still uses is never freed."""
        if self._thread is None or not self._thread.is_alive():
            with suppress(psycopg.Error):
                self._pgconn.finish()
            return
        _left.append(self._thread)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._pgconn))
        with suppress(OSError), socket.socket(fileno=os.dup(self._pgconn.socket)) as line:
            line.shutdown(socket.SHUT_RDWR)
        with suppress(OSError, TypeError):
            os.sched_setscheduler(self._thread.native_id or -1, os.SCHED_IDLE, os.sched_param(0))


def _unlocked_poll(pgconn: pq.abc.PGconn) -> Callable[[], int]:
    """Return libpq's PQconnectPoll, which other threads do not wait for as they do for psycopg's."""
    library = sys.modules[type(pgconn).__module__].__file__ or ""
    if not library.endswith(".so"):
        return pgconn.connect_poll  # that of ctypes, which lets them go on
    poll = ctypes.CDLL(library).PQconnectPoll
    poll.argtypes = [ctypes.c_void_p]
    return lambda: int(poll(pgconn.pgconn_ptr))  # type: ignore[attr-defined]  # every implementation has it


def _let_in(pgconn: pq.abc.PGconn, steps: _Steps, patience: _Patience) -> None:
    """Connect, also to the next address of a name: each has a line of its own."""
    if pgconn.status == pq.ConnStatus.BAD:
        raise psycopg.OperationalError(_reason(pgconn))
    meters: dict[int, _Meter] = {}

    def check() -> None:
        patience.check()
        for each in meters.values():
            each.check()

    while (status := steps.take(check)) != pq.PollingStatus.OK:
        if status == pq.PollingStatus.FAILED:
            raise psycopg.OperationalError(_reason(pgconn))
        descriptor = pgconn.socket
        meters.setdefault(descriptor, _Meter(descriptor))
        poll = select.poll()
        poll.register(descriptor, select.POLLIN if status == pq.PollingStatus.READING else select.POLLOUT)
        while not poll.poll(_POLL_S * 1000):
            check()
        check()


def _reason(pgconn: pq.abc.PGconn) -> str:
    return (pgconn.error_message or b"").decode("utf-8", "replace").strip()
