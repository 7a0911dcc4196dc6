"""Filter D-Bus messages before GDBus reads them: refuse oversized ones, queue calls fairly.

SECURITY: GDBus parses every message in order of arrival. One message of 32 MiB made of small pieces, which
the bus accepts from any user, costs it seconds and more than 1 GiB of memory (measured with GLib 2.74: 80 ns
and 47 bytes per byte); one of 128 KiB costs 10 ms. This module reads only length, type, sender and member of
a message. Calls wait in a queue that is fair between connections: a small call from a quiet connection goes
before the many or large calls of a busy one. A few calls pass at a time, the next ones when the main loop has
handled those. Replies and the bus's own signals pass at once; signals of other connections are dropped. File
descriptors are never negotiated with the bus, so none arrive.

Source of the message format: D-Bus specification, Message Protocol.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import socket
import struct
import sys
import termios
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

FIXED_BYTES: Final = 16
"""Length of the fixed header, which contains the lengths of the other parts."""
_NO_REPLY: Final = 0x1
_LEAST_FIELD_BYTES: Final = 4
_MEMBER: Final = 3
_SENDER: Final = 7
_REPLY_SERIAL: Final = 5


class MessageType(IntEnum):
    """Type of a message."""

    CALL = 1
    RETURN = 2
    ERROR = 3
    SIGNAL = 4


class WireError(Exception):
    """The data is not a D-Bus message."""


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """The contents of the first 16 bytes of a message.

    Attributes:
        order: byte order, as a `struct` prefix.
        kind: a `MessageType`; other values are ignored.
        wants_reply: whether the caller waits for a reply.
        serial: number that the reply refers to.
        fields_bytes: length of the header fields, from byte 16 on.
        body_bytes: length of the arguments.
    """

    order: str
    kind: int
    wants_reply: bool
    serial: int
    fields_bytes: int
    body_bytes: int

    @property
    def header_bytes(self) -> int:
        """Length of everything before the arguments."""
        return _aligned(FIXED_BYTES + self.fields_bytes, 8)

    @property
    def all_bytes(self) -> int:
        """Length of the message."""
        return self.header_bytes + self.body_bytes


def beginning_of(data: bytes | bytearray) -> MessageHeader:
    """Parse the first 16 bytes of a message.

    Raises:
        WireError: the data is not a D-Bus message.
    """
    order = {ord("l"): "<", ord("B"): ">"}.get(data[0])
    if order is None or data[3] != 1:
        raise WireError("no message of D-Bus")
    kind, flags, body_bytes, serial, fields_bytes = struct.unpack_from(f"{order}xBBxIII", data)
    return MessageHeader(
        order, kind, kind == MessageType.CALL and not flags & _NO_REPLY, serial, fields_bytes, body_bytes
    )


def sender_and_member(header: bytes, beginning: MessageHeader) -> tuple[str, str]:
    """Return the sender, as set by the bus, and the method name; empty strings for missing fields."""
    found = dict(_fields(header, beginning))
    sender, member = (found.get(code, b"").decode("ascii", "replace") for code in (_SENDER, _MEMBER))
    return sender, member


def _fields(header: bytes, beginning: MessageHeader) -> Iterator[tuple[int, bytes]]:
    """Yield code and value of the text fields; stop at the first field of a type that headers do not use."""
    at, end = FIXED_BYTES, min(FIXED_BYTES + beginning.fields_bytes, len(header) - _LEAST_FIELD_BYTES)
    while (at := _aligned(at, 8)) < end:
        code, length = header[at], header[at + 1]
        kind = header[at + 2 : at + 2 + length]
        at += 3 + length
        if kind in {b"s", b"o"}:
            at = _aligned(at, 4)
            (length,) = struct.unpack_from(f"{beginning.order}I", header.ljust(at + 4, b"\0"), at)
            yield code, header[at + 4 : at + 4 + length]
            at += 5 + length
        elif kind == b"g" and at < len(header):
            at += 2 + header[at]
        elif kind == b"u":
            at = _aligned(at, 4) + 4
        else:
            return


def error_reply(serial: int, receiver: str, name: str, text: str) -> bytes:
    """Return an error reply to a call."""
    body = _text(text)
    fields = b"".join(
        _padded(each, 8)
        for each in (
            _field(4, "s", _text(name)),
            _field(_REPLY_SERIAL, "u", struct.pack("<I", serial)),
            _field(6, "s", _text(receiver)),
        )
    ) + bytes((8, 1)) + b"g\0" + b"\1s\0"  # fmt: skip
    start = struct.pack(
        "<cBBBIII", b"l", MessageType.ERROR, _NO_REPLY, 1, len(body), 0xFFFF_FFFF, len(fields)
    )
    return _padded(start + fields, 8) + body


def _field(code: int, kind: str, value: bytes) -> bytes:
    return bytes((code, 1)) + kind.encode() + b"\0" + value


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<I", len(encoded)) + encoded + b"\0"


def _padded(data: bytes, step: int) -> bytes:
    return data + b"\0" * (-len(data) % step)


def _aligned(at: int, step: int) -> int:
    return at + -at % step


MOST_BYTES: Final = 128 * 1024
"""Maximum length of a call's arguments; longer calls are refused unread."""
_MOST_ANSWERED_BYTES: Final = 128 * 1024**2
"""Maximum length of our own messages: the limit of D-Bus."""
_MOST_HEADER_BYTES: Final = 16 * 1024
_MOST_WAITING_BYTES: Final = 32 * 1024**2
"""Maximum length of all waiting calls; above it, reading stops until some have passed."""
_MOST_OF_ONE_BYTES: Final = 2 * 1024**2
"""Maximum length of one connection's waiting calls; if the queue is half full, it is `MOST_BYTES`."""
_EACH_COSTS_BYTES: Final = 4096
"""Fixed cost of a call in addition to its length: about 1 ms of the main loop."""
_AT_A_TIME_BYTES: Final = 32 * 1024
_BUFFER_BYTES: Final = 256 * 1024
_LOOK_MS: Final = 2
_LAST_S: Final = 3.0
_MOST_REMEMBERED: Final = 10_000
"""Number of connections whose earlier calls still count in the queue order."""
_READ_BYTES: Final = 256 * 1024
_BUS: Final = "org.freedesktop.DBus"

Refused = Callable[[str, str], None]
"""Called in the main loop with the sender and the method of the latest refused call of a connection."""


class Queue:
    """Waiting calls; the first is the one that would finish first if all connections shared the service.

    Fair queueing (Demers, Keshav and Shenker 1989) with the virtual time of start-time fair queueing (Goyal,
    Vin and Cheng 1996): a small call of a new connection goes before large calls that already wait.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._heap: list[tuple[int, int, int, str, bytes]] = []
        self._number = 0
        self._now = 0
        self._ends: dict[str, int] = {}
        self._waiting: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def put(self, sender: str, message: bytes) -> bool:
        """Add a call; return False if there is no room for it."""
        most = MOST_BYTES if self.bytes > _MOST_WAITING_BYTES / 2 else _MOST_OF_ONE_BYTES
        if self._waiting[sender] and self._waiting[sender] + len(message) > most:
            return False
        cost = len(message) + _EACH_COSTS_BYTES
        start = max(self._now, self._ends.get(sender, 0))
        self._ends[sender] = start + cost
        self._number += 1
        heapq.heappush(self._heap, (start + cost, self._number, start, sender, message))
        self._waiting[sender] += len(message)
        self.bytes += len(message)
        return True

    def take(self) -> bytes:
        """Remove and return the next call."""
        _, _, start, sender, message = heapq.heappop(self._heap)
        self._now = max(self._now, start)
        self.bytes -= len(message)
        self._waiting[sender] -= len(message)
        if not self._waiting[sender]:
            del self._waiting[sender]
        if not self._heap:
            self._now, self._ends = 0, {}
        elif len(self._ends) > _MOST_REMEMBERED:
            self._ends = {each: end for each, end in self._ends.items() if end > self._now}
        return message


class Reader:
    """Split a byte stream into messages; keep only the header of an oversized one."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Start empty; messages with more than `most_bytes` of arguments are oversized."""
        self._most_bytes = most_bytes
        self._data = bytearray()
        self._skip = 0

    def feed(self, data: bytes) -> list[tuple[MessageHeader, bytes]]:
        """Return the messages that are now complete; of an oversized one only the header.

        Raises:
            WireError: the data is not D-Bus.
        """
        self._data += data
        found: list[tuple[MessageHeader, bytes]] = []
        while True:
            dropped = min(self._skip, len(self._data))
            del self._data[:dropped]
            self._skip -= dropped
            if self._skip or len(self._data) < FIXED_BYTES:
                return found
            beginning = beginning_of(self._data)
            wanted = beginning.all_bytes
            if beginning.body_bytes > self._most_bytes or beginning.header_bytes > _MOST_HEADER_BYTES:
                wanted = min(beginning.header_bytes, _MOST_HEADER_BYTES)
            if len(self._data) < wanted:
                return found
            found.append((beginning, bytes(self._data[:wanted])))
            self._skip = beginning.all_bytes


class Gate:
    """A filter between the bus and GDBus; its thread runs until one of the two ends is closed."""

    def __init__(
        self, bus: socket.socket, soon: Callable[[Callable[[], None]], None], interface: str
    ) -> None:
        """Start the thread.

        Args:
            bus: connected to the bus and authenticated.
            soon: runs a function in the main loop when it is idle; may be called from any thread.
            interface: prefix of the error names of refusals.
        """
        self._bus = bus
        self.inner, self._mine = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)  # a message at once
        for each in (self._bus, self._mine):
            each.settimeout(0)
        self.refused: Refused = lambda _sender, _member: None
        self._soon = soon
        self._too_many = f"{interface}.Error.TooMany"
        self._queue = Queue()
        self._refused: dict[str, str] = {}
        self._lock = threading.Lock()
        self._let_bytes = 0
        self._is_asked = False
        self._waits_for_reader = False
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._to_bus, self._to_us = bytearray(), bytearray()
        self._in, self._out = Reader(), Reader(_MOST_ANSWERED_BYTES)
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self._thread.start()

    @property
    def has_waiting(self) -> bool:
        """Whether a call waits here; may be read from any thread."""
        return bool(self._queue) or bool(self._to_us)

    def join(self, limit_s: float) -> None:
        """Wait until the replies have been sent to the bus; close the inner end first."""
        self._thread.join(limit_s)

    def _run(self) -> None:
        try:
            with suppress(OSError, WireError):
                while self._turn():
                    pass
        finally:  # after any error: a service without a connection has to end
            with suppress(OSError):
                self._bus.settimeout(_LAST_S)
                self._bus.sendall(self._to_bus)
            for each in (self._bus, self._mine):
                each.close()

    def _turn(self) -> bool:
        """Wait for something to do and do it; return whether both ends are still open.

        Raises:
            OSError, WireError: one end failed, or sent data that is not D-Bus.
        """
        poller = select.poll()
        is_full = self._queue.bytes > _MOST_WAITING_BYTES
        poller.register(
            self._bus, (0 if is_full else select.POLLIN) | (select.POLLOUT if self._to_bus else 0)
        )
        poller.register(self._mine, select.POLLIN | (select.POLLOUT if self._to_us else 0))
        poller.register(self._wake_read, select.POLLIN)
        ready = dict(poller.poll(_LOOK_MS if self._waits_for_reader else None))
        if ready.get(self._wake_read):
            os.read(self._wake_read, 64)
            self._waits_for_reader, self._is_asked = True, False
        if self._waits_for_reader and not self._unread_bytes():
            self._waits_for_reader, self._let_bytes = False, 0
        for end, waiting in ((self._bus, self._to_bus), (self._mine, self._to_us)):
            if ready.get(end.fileno(), 0) & select.POLLOUT:
                del waiting[: end.send(waiting)]
        gone = select.POLLHUP | select.POLLERR
        if ready.get(self._bus.fileno(), 0) & (select.POLLIN | gone) and not self._receive():
            return False
        if ready.get(self._mine.fileno(), 0) & (select.POLLIN | gone) and not self._send():
            return False
        self._let_through()
        return True

    def _receive(self) -> bool:
        with suppress(BlockingIOError):
            data = self._bus.recv(_READ_BYTES)
            for beginning, message in self._in.feed(data):
                self._sort(beginning, message)
            return bool(data)
        return True

    def _send(self) -> bool:
        with suppress(BlockingIOError):
            data = self._mine.recv(_READ_BYTES)
            for _, message in self._out.feed(data):
                self._to_bus += message
            return bool(data)
        return True

    def _sort(self, beginning: MessageHeader, message: bytes) -> None:
        is_whole = len(message) == beginning.all_bytes
        sender, member = sender_and_member(message[: beginning.header_bytes], beginning)
        match beginning.kind:
            case MessageType.CALL if not is_whole or not self._queue.put(sender, message):
                if beginning.wants_reply and sender:
                    self._to_bus += error_reply(beginning.serial, sender, self._too_many, "TooMany")
                self._note_refused(sender, member)
            case MessageType.RETURN | MessageType.ERROR if is_whole:
                self._to_us += message
            case MessageType.SIGNAL if is_whole and sender == _BUS:
                self._to_us += message

    def _note_refused(self, sender: str, member: str) -> None:
        """Report refusals to the main loop in one batch: there may be thousands."""
        with self._lock:
            is_first = not self._refused
            self._refused[sender] = member
        if is_first:
            self._soon(self._report_refused)

    def _report_refused(self) -> None:
        with self._lock:
            refused, self._refused = self._refused, {}
        for sender, member in refused.items():
            self.refused(sender, member)

    def _let_through(self) -> None:
        """Let a few calls pass, and find out when the main loop has handled them."""
        if self._to_us or self._is_asked or self._waits_for_reader:
            return
        if self._let_bytes:
            self._is_asked = True
            self._soon(self._dealt_with)
            return
        while self._queue and self._let_bytes < _AT_A_TIME_BYTES:
            message = self._queue.take()
            self._let_bytes += len(message) + _EACH_COSTS_BYTES
            self._to_us += message

    def _unread_bytes(self) -> int:
        """Return how many bytes GDBus has not read yet (unix(7), SIOCOUTQ)."""
        return int.from_bytes(fcntl.ioctl(self._mine, termios.TIOCOUTQ, b"\0" * 4), sys.byteorder)

    def _dealt_with(self) -> None:
        os.write(self._wake_write, b"x")
