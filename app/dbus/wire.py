"""The beginning of a message as it lies on the wire: how long it is, of which kind, and who sent it.

No more is taken apart here; GDBus does the rest of what is let through (`app.dbus.gate`). Source: D-Bus
specification, Message Protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

FIXED_BYTES: Final = 16
"""Of every message: enough to know how long it is."""
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
    """No message of D-Bus."""


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """What the first 16 bytes of a message say.

    Attributes:
        order: of bytes, as `struct` writes it.
        kind: see `MessageType`; other ones are to be ignored.
        wants_reply: whether the caller waits for an answer.
        serial: by which the answer names it.
        fields_bytes: of the header's fields, from byte 16 on.
        body_bytes: of the arguments.
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
    """Return what the first 16 bytes of a message say.

    Raises:
        WireError: it is none.
    """
    order = {ord("l"): "<", ord("B"): ">"}.get(data[0])
    if order is None or data[3] != 1:
        raise WireError("no message of D-Bus")
    kind, flags, body_bytes, serial, fields_bytes = struct.unpack_from(f"{order}xBBxIII", data)
    return MessageHeader(
        order, kind, kind == MessageType.CALL and not flags & _NO_REPLY, serial, fields_bytes, body_bytes
    )


def sender_and_member(header: bytes, beginning: MessageHeader) -> tuple[str, str]:
    """Return the unique name that the bus wrote into a header, and the method's; empty for what lacks."""
    found = dict(_fields(header, beginning))
    sender, member = (found.get(code, b"").decode("ascii", "replace") for code in (_SENDER, _MEMBER))
    return sender, member


def _fields(header: bytes, beginning: MessageHeader) -> Iterator[tuple[int, bytes]]:
    """Yield the code and the value of the fields that are text, until one is of a type that headers lack."""
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
    """Return a message that answers a call with an error."""
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
