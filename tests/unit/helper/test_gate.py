"""The queue and the reader of the gate keep nothing of what has passed, and pass on nothing that is cut."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from app.dbus import gate
from app.dbus.gate import Gate, Queue, Reader, beginning_of
from app.dbus.service import load_gio
from tests.unit.helper.test_wire import message

gi = pytest.importorskip("gi")


def test_backlogged_sender_is_limited_to_what_passed() -> None:
    queue = Queue()
    while queue.put(":1.1", b"x" * 100_000):
        pass
    queue.take()
    assert [queue.put(":1.1", b"x" * 100_000) for _ in range(2)] == [True, False]


def test_idle_sender_may_send_one_call() -> None:
    queue = Queue()
    for number in range(200):
        queue.put(f":2.{number}", b"x" * 100_000)
    assert [queue.put(":1.1", b"x" * (gate.MOST_BYTES + 1000)) for _ in range(2)] == [True, False]


def test_connection_forgotten_when_all_is_passed() -> None:
    queue = Queue()
    for sender in (":1.1", ":1.2"):
        queue.put(sender, b"x" * 1000)
    queue.put(":1.2", b"x" * 1000)
    assert (len(queue._waiting), len(queue._ends)) == (2, 2)
    for _ in range(3):
        queue.take()
    assert (queue._waiting, queue._ends, queue._now, queue.bytes) == ({}, {}, 0, 0)


def test_served_connections_known_while_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_MOST_REMEMBERED", 3)
    queue = Queue()
    once = [f":1.{number}" for number in range(8)]
    for sender in (*once, "twice", "twice"):
        queue.put(sender, b"x" * 10_000)
    queue.put("large", b"x" * 120_000)
    for _ in range(9):
        queue.take()
    assert set(queue._ends) == {*once, "twice", "large"}
    queue.take()
    assert set(queue._ends) == {"twice", "large"}


def test_recently_served_waits_behind_others() -> None:
    queue = Queue()
    queue.put(":1.1", b"1" * 30_000)
    queue.put(":1.2", b"2" * 60_000)
    assert queue.take()[:1] == b"1"
    queue.put(":1.1", b"1" * 50_000)
    assert queue.take()[:1] == b"2", "what the other had counts"


def test_oversized_message_is_cut() -> None:
    wires = [message("x" * size) for size in (1000, 1008)]
    allowed, larger = (beginning_of(wire) for wire in wires)
    reader = Reader(allowed.body_bytes)
    assert larger.body_bytes > allowed.body_bytes
    found = [each for wire in wires for each in reader.feed(wire)]
    assert [len(wire) for _, wire in found] == [len(wires[0]), larger.header_bytes]


@pytest.fixture
def idle_gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Gate, socket.socket]]:
    """A gate whose thread the test is, and the bus on its other side."""
    thread = SimpleNamespace(start=lambda: None)
    monkeypatch.setattr("app.dbus.gate.threading.Thread", lambda **_: thread)
    bus, theirs = socket.socketpair()
    with bus, theirs:
        made = Gate(theirs, lambda _action: None, "a.b")
        with made.inner, made._mine:
            yield made, bus
        os.close(made._wake_read)
        os.close(made._wake_write)


def test_reading_pauses_on_backlog(
    monkeypatch: pytest.MonkeyPatch, idle_gate: tuple[Gate, socket.socket]
) -> None:
    monkeypatch.setattr(gate, "_MOST_WAITING_BYTES", 300_000)
    tried, bus = idle_gate
    sent = 0
    while tried._queue.bytes <= 300_000:
        sent += 1
        assert sent < 20
        bus.sendall(message("x" * 100_000, sender=f":1.{sent}"))
        assert tried._turn()
    before = tried._queue.bytes
    bus.sendall(message("x" * 100_000, sender=":2.1"))
    os.write(tried._wake_write, b"x")
    assert tried._turn()
    assert tried._queue.bytes == before
    tried._queue.take()
    assert tried._turn()
    assert tried._queue.bytes > before - 10_000


def signal(sender: str) -> bytes:
    """A signal as the bus passes it on, by which it would tell that somebody has left."""
    gio, glib = load_gio()
    sent = gio.DBusMessage.new_signal("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged")
    sent.set_sender(sender)
    sent.set_serial(7)
    sent.set_body(glib.Variant("(sss)", (":1.9", ":1.9", "")))
    return bytes(sent.to_blob(gio.DBusCapabilityFlags.NONE))


def test_only_signals_of_the_bus_pass(idle_gate: tuple[Gate, socket.socket]) -> None:
    tried, bus = idle_gate
    own = signal("org.freedesktop.DBus")
    for each in (signal(":1.4711"), own, signal("")):
        bus.sendall(each)
    tried._receive()
    assert bytes(tried._to_us) == own


def test_cut_or_rejected_call_is_answered(
    monkeypatch: pytest.MonkeyPatch, idle_gate: tuple[Gate, socket.socket]
) -> None:
    tried, _ = idle_gate
    call, sent = message("x" * 1000), signal("org.freedesktop.DBus")
    gio, _ = load_gio()
    asked = gio.DBusMessage.new_method_call("a.b", "/a", "a.b", "C")
    asked.set_serial(9)
    answer = gio.DBusMessage.new_method_reply(asked)
    answer.set_serial(10)
    answer.set_sender("org.freedesktop.DBus")
    reply = bytes(answer.to_blob(gio.DBusCapabilityFlags.NONE))
    for wire in (sent, reply):
        beginning = beginning_of(wire)
        tried._sort(beginning, wire[:-1])
        assert not tried._to_us
        assert not tried._to_bus
        tried._sort(beginning, wire)
        assert bytes(tried._to_us) == wire
        tried._to_us.clear()
    tried._sort(beginning_of(call), call)
    waiting = tried._queue.bytes
    assert waiting > 0
    assert not tried._to_bus
    tried._sort(beginning_of(call), call[:-1])
    assert b"TooMany" in tried._to_bus
    tried._to_bus.clear()
    monkeypatch.setattr(Queue, "put", lambda *_: False)
    tried._sort(beginning_of(call), call)
    assert b"TooMany" in tried._to_bus
    assert tried._queue.bytes == waiting
    assert not tried._to_us


def test_gate_waits_for_room_only_to_send(
    monkeypatch: pytest.MonkeyPatch, idle_gate: tuple[Gate, socket.socket]
) -> None:
    tried, _ = idle_gate
    asked: dict[object, int] = {}
    poller = SimpleNamespace(register=asked.__setitem__, poll=lambda _limit_ms: [])
    monkeypatch.setattr("app.dbus.gate.select.poll", lambda: poller)
    assert tried._turn()
    assert asked == {tried._bus: select.POLLIN, tried._mine: select.POLLIN, tried._wake_read: select.POLLIN}
    tried._to_bus += b"x"
    tried._turn()
    assert (asked[tried._bus], asked[tried._mine]) == (select.POLLIN | select.POLLOUT, select.POLLIN)
    tried._to_bus.clear()
    tried._to_us += b"x"
    tried._turn()
    assert (asked[tried._bus], asked[tried._mine]) == (select.POLLIN, select.POLLIN | select.POLLOUT)


def turn(tried: Gate, monkeypatch: pytest.MonkeyPatch, *ready: int) -> int | None:
    """Let the gate find these descriptors readable; return how long it would have waited."""
    limits: list[int | None] = []

    def poll(limit_ms: int | None) -> list[tuple[int, int]]:
        limits.append(limit_ms)
        return [(descriptor, select.POLLIN) for descriptor in ready]

    with monkeypatch.context() as patch:
        poller = SimpleNamespace(register=lambda *_: None, poll=poll)
        patch.setattr("app.dbus.gate.select.poll", lambda: poller)
        assert tried._turn()
    return limits[0]


def test_next_calls_after_the_last_are_handled(
    monkeypatch: pytest.MonkeyPatch, idle_gate: tuple[Gate, socket.socket]
) -> None:
    tried, _ = idle_gate
    for number in range(3):
        tried._queue.put(f":1.{number}", b"x" * 30_000)
    assert turn(tried, monkeypatch) is None
    assert len(tried._to_us) == 30_000, "no more at a time"
    tried._to_us.clear()
    assert turn(tried, monkeypatch) is None, "the main loop is asked"
    tried._mine.send(b"x")  # what GDBus has not read
    for _ in range(2):
        turn(tried, monkeypatch)
        assert not tried._to_us, "it has not answered"
        assert tried._is_asked
    tried._dealt_with()
    turn(tried, monkeypatch, tried._wake_read)
    with pytest.raises(BlockingIOError):
        os.read(tried._wake_read, 1)
    assert turn(tried, monkeypatch) == gate._LOOK_MS, "until it has been read"
    assert tried._to_us == b""
    tried.inner.recv(1)
    turn(tried, monkeypatch)
    assert len(tried._to_us) == 30_000
    tried._to_us.clear()
    assert turn(tried, monkeypatch) is None
    turn(tried, monkeypatch)
    assert tried._to_us == b"", "the main loop has read it, and not dealt with it yet"


def refused_call(sender: str, *, wants_reply: bool = True) -> bytes:
    gio, _ = load_gio()
    asked = gio.DBusMessage.new_method_call("a.b", "/a", "a.b", "C")
    asked.set_serial(9)
    if sender:
        asked.set_sender(sender)
    if not wants_reply:
        asked.set_flags(gio.DBusMessageFlags.NO_REPLY_EXPECTED)
    return bytes(asked.to_blob(gio.DBusCapabilityFlags.NONE))


@pytest.mark.parametrize(
    ("sender", "wants_reply", "is_answered"),
    [(":1.1", True, True), (":1.1", False, False), ("", True, False)],
)
def test_only_named_callers_awaiting_replies_get_errors(
    monkeypatch: pytest.MonkeyPatch,
    idle_gate: tuple[Gate, socket.socket],
    sender: str,
    wants_reply: bool,  # noqa: FBT001 - of the table
    is_answered: bool,  # noqa: FBT001
) -> None:
    tried, _ = idle_gate
    monkeypatch.setattr(Queue, "put", lambda *_: False)
    call = refused_call(sender, wants_reply=wants_reply)
    tried._sort(beginning_of(call), call)
    assert bool(tried._to_bus) == is_answered


def test_refusals_reported_once_to_main_loop(
    monkeypatch: pytest.MonkeyPatch, idle_gate: tuple[Gate, socket.socket]
) -> None:
    tried, _ = idle_gate
    asked: list[Callable[[], None]] = []
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(tried, "_soon", asked.append)
    tried.refused = lambda sender, member: sent.append((sender, member))
    monkeypatch.setattr(Queue, "put", lambda *_: False)
    for sender in (":1.1", ":1.2", ":1.1"):
        tried._sort(beginning_of(refused_call(sender)), refused_call(sender))
    assert len(asked) == 1
    asked.pop()()
    assert sent == [(":1.1", "C"), (":1.2", "C")]
    tried._sort(beginning_of(refused_call(":1.3")), refused_call(":1.3"))
    assert len(asked) == 1
