"""Messages as they lie on the wire: what is read of them, and the one kind that is written."""

from __future__ import annotations

import random
import struct

import pytest

from app.dbus.gate import (
    MOST_BYTES,
    MessageHeader,
    MessageType,
    Queue,
    Reader,
    WireError,
    beginning_of,
    error_reply,
    sender_and_member,
)
from app.dbus.service import load_gio

gi = pytest.importorskip("gi")
SENDER = ":1.4711"


def message(
    text: str, *, serial: int = 7, order: str = "l", member: str = "Describe", sender: str = SENDER
) -> bytes:
    """A call as the bus passes it on."""
    gio, glib = load_gio()
    call = gio.DBusMessage.new_method_call("org.pgfooting.Helper1", "/org/pgfooting/Helper1", "a.b", member)
    call.set_byte_order(
        {"l": gio.DBusMessageByteOrder.LITTLE_ENDIAN, "B": gio.DBusMessageByteOrder.BIG_ENDIAN}[order]
    )
    call.set_sender(sender)
    call.set_serial(serial)
    call.set_body(glib.Variant("(sa{sv})", (text, {"x": glib.Variant("u", 1)})))
    return bytes(call.to_blob(gio.DBusCapabilityFlags.NONE))


@pytest.mark.parametrize("order", ["l", "B"])
@pytest.mark.parametrize("text", ["", "abc", "x" * 70_000])
def test_header_fields_of_a_message(order: str, text: str) -> None:
    wire = message(text, order=order)
    beginning = beginning_of(wire)
    assert (beginning.all_bytes, beginning.kind, beginning.serial) == (len(wire), MessageType.CALL, 7)
    assert beginning.wants_reply
    assert sender_and_member(wire[: beginning.header_bytes], beginning) == (SENDER, "Describe")


def test_written_error_is_read_by_gio() -> None:
    gio, _ = load_gio()
    found = gio.DBusMessage.new_from_blob(
        error_reply(4711, SENDER, "org.pgfooting.Helper1.Error.TooMany", "TooMany"),
        gio.DBusCapabilityFlags.NONE,
    )
    assert found.get_message_type() == gio.DBusMessageType.ERROR
    assert (found.get_reply_serial(), found.get_destination()) == (4711, SENDER)
    assert found.get_error_name() == "org.pgfooting.Helper1.Error.TooMany"
    assert found.get_body().unpack() == ("TooMany",)


@pytest.mark.parametrize("piece", [1, 7, 16, 1000, 10**6])
def test_messages_from_arbitrary_chunks(piece: int) -> None:
    wires = [message("a", serial=1), message("b" * 50_000, serial=2), message("c", serial=3)]
    stream, reader = b"".join(wires), Reader()
    found = [each for at in range(0, len(stream), piece) for each in reader.feed(stream[at : at + piece])]
    assert [wire for _, wire in found] == wires


@pytest.mark.parametrize("piece", [64, 4096, 10**6])
def test_oversized_message_keeps_its_header(piece: int) -> None:
    large = message("x" * (MOST_BYTES + 1), serial=2)
    stream, reader = message("a") + large + message("b"), Reader()
    held, found = 0, []
    for at in range(0, len(stream), piece):
        found += reader.feed(stream[at : at + piece])
        held = max(held, len(reader._data))
    assert [len(wire) for _, wire in found] == [
        len(message("a")),
        beginning_of(large).header_bytes,
        len(message("b")),
    ]
    assert held <= max(4096, piece)


def test_oversized_header_names_no_sender() -> None:
    wire = message("a", member="M" * 30_000)
    reader = Reader()
    ((beginning, header),) = reader.feed(wire)
    assert len(header) == 16 * 1024
    assert sender_and_member(header, beginning)[0] in {"", SENDER}
    assert reader.feed(message("b"))[0][1] == message("b")


def test_no_message_and_damaged_message() -> None:
    with pytest.raises(WireError):
        Reader().feed(b"GET / HTTP/1.1\r\n\r\n")
    chance, wire = random.Random(1), message("abc" * 20)  # noqa: S311 - the same each time
    beginning = beginning_of(wire)
    for _ in range(3000):
        damaged = bytearray(wire[16 : beginning.header_bytes])
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        header = wire[:16] + bytes(damaged[: chance.randrange(len(damaged) + 1)])
        sender, member = sender_and_member(header, beginning)
        assert isinstance(sender, str)
        assert isinstance(member, str)


@pytest.mark.parametrize(("at", "byte"), [(0, ord("X")), (3, 2), (3, 0)])
def test_what_begins_like_no_message_is_none(at: int, byte: int) -> None:
    wire = bytearray(message("a"))
    wire[at] = byte
    with pytest.raises(WireError):
        beginning_of(wire)


def test_only_calls_expecting_replies_are_answered() -> None:
    wire = bytearray(message("a"))
    for kind, flags, wants in ((1, 0, True), (1, 4, True), (1, 1, False), (4, 0, False), (2, 0, False)):
        wire[1], wire[2] = kind, flags
        assert beginning_of(wire).wants_reply is wants


def header(*fields: bytes) -> tuple[bytes, MessageHeader]:
    """A header of these fields and the sender, the last of them without what fills it up."""
    content = b"".join(each + b"\0" * (-len(each) % 8) for each in fields[:-1]) + fields[-1]
    start = struct.pack("<cBBBIII", b"l", 1, 0, 1, 0, 7, len(content))
    return start + content, beginning_of(start)


BY = bytes((7, 1)) + b"s\0" + struct.pack("<I", len(SENDER)) + SENDER.encode() + b"\0"


@pytest.mark.parametrize(
    ("field", "is_known"),
    [
        (bytes((5, 1)) + b"u\0" + struct.pack("<I", 7), True),
        (bytes((8, 1)) + b"g\0" + b"\1s\0", True),
        (bytes((1, 1)) + b"o\0" + struct.pack("<I", 2) + b"/a\0", True),
        (bytes((9, 1)) + b"y\0" + b"\1", False),
        (bytes((9, 1)) + b"y\0" + struct.pack("<I", 7), False),
    ],
)
def test_sender_behind_other_header_fields(field: bytes, *, is_known: bool) -> None:
    found, _ = sender_and_member(*header(field, BY))
    assert found == (SENDER if is_known else "")


def test_truncated_header_field_names_no_sender() -> None:
    whole, beginning = header(bytes((8, 1)) + b"g\0" + b"\1s\0", BY)
    for end in range(16, len(whole) - len(SENDER)):
        assert sender_and_member(whole[:end], beginning)[0] in {"", SENDER[: end - len(whole)]}


def test_small_call_precedes_bulk_of_others() -> None:
    queue = Queue()
    for number in range(50):
        assert queue.put(":1.1", b"many %d" % number)
    for number in range(10):
        assert queue.put(":1.2", b"large %d " % number + b"x" * 100_000)
    assert queue.take() == b"many 0"
    assert queue.put(":1.3", b"first")
    assert queue.put(":1.3", b"second")
    order = [queue.take()[:10] for _ in range(61)]
    assert not queue
    assert order.index(b"first") < 3
    assert order.index(b"second") < 5
    assert [each for each in order if each.startswith(b"large")] == [
        b"large %d x" % number + b"x" for number in range(10)
    ]
    assert [each for each in order if each.startswith(b"many")] == [
        b"many %d" % number for number in range(1, 50)
    ]
    assert order.index(b"large 0 xx") < order.index(b"many 40"), "large ones have their turn too"


def test_small_newcomer_precedes_large_earlier_calls() -> None:
    queue = Queue()
    for number in range(80):
        for each in (b"x", b"x" * 100_000, b"x" * 100_000):
            assert queue.put(f":2.{number}", each)
    for _ in range(90):
        queue.take()
    assert queue.put(":1.1", b"new")
    assert queue.take() == b"new"
    order = []
    while queue:
        queue.put(":1.1", b"more")
        order.append(queue.take())
        if len(order) == 200:
            break
    assert 5 < order.count(b"x" * 100_000) < 195, "one who asks on and on has turns like everybody"


def test_queued_bytes_of_a_connection_are_limited() -> None:
    queue = Queue()
    taken = sum(queue.put(":1.1", b"x" * 100_000) for _ in range(100))
    assert taken == 20
    assert queue.put(":1.2", b"x" * 100_000)
    for number in range(200):
        queue.put(f":2.{number}", b"x" * 100_000)
    assert [queue.put(":1.3", b"x" * 100_000) for _ in range(2)] == [True, False]
    while queue:
        queue.take()
    assert queue.bytes == 0
    assert queue.put(":1.1", b"x" * 100_000)
