"""Connections to foreign servers with limits on data and time.

libpq buffers an answer until it is complete, and waits as long as the connection lives: a malicious or fake
server could take all memory of this machine or block forever (measured: a gigabyte in 15 s). The limit counts
bytes that the kernel received on the connection during a statement; libpq's own buffers come on top
(measured: 165 MB for a row that claims a gigabyte, with a limit of 64 MiB).

Each step of connecting runs in a thread: a server chooses how often SCRAM hashes the password (2 ** 31 times
take half an hour), and libpq cannot be interrupted there. An abandoned thread runs at the lowest priority,
and ends when the hash is computed, because its connection is closed by then. A name is resolved in such a
thread before libpq does it, because libpq would wait for minutes for a resolver that does not answer.
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
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.conninfo import make_conninfo
from psycopg.types.numeric import FloatLoader, NumericLoader
from typing_extensions import override

from app.domain.text import MIB, format_size, tr

MOST_BYTES: Final = 16 * MIB
"""Limit of one answer, and of the login; the largest real answer has some 100 KB."""
MOST_MEMORY_BYTES: Final = 512 * MIB
"""Limit of this process's growth during a statement on a Unix socket, which does not count bytes."""
GRACE_S: Final = 10.0
"""Added to a statement's timeout, so that the server can end it first."""
_BYTES_RECEIVED: Final = 128
"""Offset of tcpi_bytes_received in struct tcp_info (linux/tcp.h, from 4.1 on)."""
_LEAST_CONNECT_S: Final = 2
"""As in libpq."""
_POLL_S: Final = 0.1
_MOST_LEFT: Final = 3
"""Maximum number of abandoned threads; beyond it no connection is made."""
_LONGEST_LOOK_S: Final = 0.2
"""Psycopg polls every 0.1 s, as this module does: longer gaps are not the server's fault."""

Value = TypeVar("Value")

ANSWER_ERRORS: Final = (
    psycopg.Error,
    ArithmeticError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that a fake server can cause: arrays within arrays, too few columns, other types."""
_LARGEST: Final = 40
"""Maximum decimal exponent of a number from a server."""


class _Numeric(NumericLoader):
    """Rejects infinite and huge values: some statistics are `numeric`, which may be infinite."""

    @override
    def load(self, data: Buffer) -> Decimal:
        value = super().load(data)
        if not value.is_finite() or abs(value.adjusted()) > _LARGEST:
            raise psycopg.DataError(tr("an impossible number"))
        return value


class _Fraction(FloatLoader):
    """As `_Numeric`, for double precision and real."""

    @override
    def load(self, data: Buffer) -> float:
        value = super().load(data)
        if not math.isfinite(value):
            raise psycopg.DataError(tr("an impossible number"))
        return value


class _Deadline:
    """Time limit for an answer, in seconds in which this process could poll; None for no limit.

    On a machine busy with pgbench this process may not run for seconds, while the answer has already arrived.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._left_s = limit_s
        self._looked_s = time.monotonic()

    def check(self) -> None:
        """Raise psycopg.OperationalError if the time is up."""
        now_s = time.monotonic()
        passed_s, self._looked_s = min(now_s - self._looked_s, _LONGEST_LOOK_S), now_s
        if self._left_s is None:
            return
        self._left_s -= passed_s
        if self._left_s < 0:
            raise psycopg.OperationalError(tr("the server did not answer in time"))


class _Meter:
    """Data received since it was created."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        received = _received(descriptor)
        self._is_counted = received is not None
        self._before = _resident() if received is None else received

    def check(self) -> None:
        """Check the limits.

        Raises:
            psycopg.OperationalError: the server exceeded them.
        """
        now = _received(self._descriptor) if self._is_counted else _resident()
        most = MOST_BYTES if self._is_counted else MOST_MEMORY_BYTES
        if now is not None and now - self._before > most:
            message = tr("the server sent more than {size} at once")
            raise psycopg.OperationalError(message.format(size=format_size(most)))


def _received(descriptor: int) -> int | None:
    """Return the bytes received on a TCP connection; None for another kind of connection."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as line:
            info = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        return int(struct.unpack_from("=Q", info, _BYTES_RECEIVED)[0])
    except (OSError, struct.error):
        return None


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class MeteredConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with limits on its answers.

    Attributes:
        answer_s: time limit of an answer; None for none.
    """

    answer_s: float | None = None

    @override
    def wait(self, gen: Generator[Any, Any, Value], *args: Any, **named: Any) -> Value:
        """Wait as psycopg does, within the limits; close a connection that exceeds one."""
        return super().wait(self._bounded(gen), *args, **named)

    def _bounded(self, gen: Generator[Any, Any, Value]) -> Generator[Any, Any, Value]:
        deadline, meter = _Deadline(self.answer_s), _Meter(self.pgconn.socket)
        with _watched(self.pgconn.socket, meter):
            try:
                state = next(gen)
                while True:
                    ready = yield state
                    try:
                        deadline.check()
                        meter.check()
                    except psycopg.OperationalError:
                        self.pgconn.finish()
                        raise
                    state = gen.send(ready)
            except StopIteration as ended:
                value: Value = ended.value
                return value


@contextmanager
def _watched(descriptor: int, meter: _Meter) -> Iterator[None]:
    """Shut a connection down at its limit: libpq reads a long message without a pause while data keep coming.

    Raises:
        psycopg.OperationalError: it was shut down.
    """
    ended = threading.Event()
    too_much: list[psycopg.OperationalError] = []

    def watch() -> None:
        while not ended.wait(_POLL_S):
            try:
                meter.check()
            except psycopg.OperationalError as error:
                too_much.append(error)
                line.shutdown(socket.SHUT_RDWR)
                return

    # A descriptor of its own: libpq may close the other one meanwhile, and its number be used again.
    with socket.socket(fileno=os.dup(descriptor)) as line:
        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except psycopg.Error as error:
            if too_much:
                raise too_much[0] from error
            raise
        finally:
            ended.set()
            thread.join()


def connect_bounded(
    conninfo: str, *, timeout_s: int, statement_timeout_s: int, name: str
) -> MeteredConnection:
    """Return a connection in autocommit mode; may raise psycopg.Error.

    Args:
        conninfo: for libpq; its connect_timeout takes precedence over `timeout_s`.
        timeout_s: for connecting.
        statement_timeout_s: set on the server by the caller; 0 for none, then answers have no limit.
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
    """Resolve a connection string with libpq's services, files and environment, without sending anything.

    libpq checks the invalid target_session_attrs last before it connects, and fails there.
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
    deadline = _Deadline(max(given_s, _LEAST_CONNECT_S) if given_s else timeout_s)
    if host and not host.startswith(("/", "@")) and "hostaddr" not in said:
        _look_up(host, deadline)
    pgconn = pq.PGconn.connect_start(conninfo.encode())
    steps = _Steps(pgconn)
    try:
        _let_in(pgconn, steps, deadline)
    except BaseException:
        steps.leave()
        raise
    pgconn.nonblocking = 1
    return pgconn


_left: Final[list[threading.Thread]] = []


def _check_left() -> None:
    """Raise psycopg.OperationalError if there are too many abandoned threads."""
    if len([each for each in _left if each.is_alive()]) >= _MOST_LEFT:
        raise psycopg.OperationalError(tr("too many earlier connections are still waiting for their servers"))


def _look_up(host: str, deadline: _Deadline) -> None:
    """Wait for the resolver and ignore its answer: libpq asks again, and reports errors."""
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
            deadline.check()
    except BaseException:
        _left.append(thread)
        raise


class _Steps:
    """Runs the steps of connecting, one at a time."""

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
        """Return the result of a step; `check` is called while it runs, and may raise."""
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
        """Close the connection; never free one that a step still uses."""
        if self._thread is None or not self._thread.is_alive():
            with suppress(psycopg.Error):
                self._pgconn.finish()
            return
        _left.append(self._thread)
        _exit_without_cleanup()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._pgconn))
        with suppress(OSError), socket.socket(fileno=os.dup(self._pgconn.socket)) as line:
            line.shutdown(socket.SHUT_RDWR)
        with suppress(OSError, TypeError):
            os.sched_setscheduler(self._thread.native_id or -1, os.SCHED_IDLE, os.sched_param(0))


def _exit_without_cleanup() -> None:
    """Skip the exit handlers of C libraries: OpenSSL's frees what the abandoned thread still hashes with.

    Measured without this: SIGSEGV in 3 of 8 exits. Python has flushed its streams when exit handlers run, and
    a handler of glibc's on_exit receives the exit status (man 3 on_exit); the last one registered runs first.
    """
    libc = ctypes.CDLL(None)
    libc.on_exit(libc["_exit"], None)


def _unlocked_poll(pgconn: pq.abc.PGconn) -> Callable[[], int]:
    """Return libpq's PQconnectPoll without holding the interpreter lock, unlike psycopg's."""
    library = sys.modules[type(pgconn).__module__].__file__ or ""
    if not library.endswith(".so"):
        return pgconn.connect_poll  # that of ctypes, which lets them go on
    poll = ctypes.CDLL(library).PQconnectPoll
    poll.argtypes = [ctypes.c_void_p]
    return lambda: int(poll(pgconn.pgconn_ptr))  # type: ignore[attr-defined]  # every implementation has it


def _let_in(pgconn: pq.abc.PGconn, steps: _Steps, deadline: _Deadline) -> None:
    """Connect, trying the next address of a name if necessary: each has its own socket."""
    if pgconn.status == pq.ConnStatus.BAD:
        raise psycopg.OperationalError(_reason(pgconn))
    meters: dict[int, _Meter] = {}

    def check() -> None:
        deadline.check()
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
