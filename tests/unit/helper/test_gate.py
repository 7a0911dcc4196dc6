"""The queue and the reader of the gate keep nothing of what has passed, and pass on nothing that is cut."""

from __future__ import annotations

import pytest

from app.dbus import gate
from app.dbus.gate import Queue, Reader
from app.dbus.wire import beginning_of
from tests.unit.helper.test_wire import message

gi = pytest.importorskip("gi")


def test_who_has_much_waiting_may_send_only_as_much_as_has_been_let_through() -> None:
    queue = Queue()
    while queue.put(":1.1", b"x" * 100_000):
        pass
    queue.take()
    assert [queue.put(":1.1", b"x" * 100_000) for _ in range(2)] == [True, False]


def test_nothing_of_a_connection_is_kept_once_all_it_sent_was_let_through() -> None:
    queue = Queue()
    for sender in (":1.1", ":1.2"):
        queue.put(sender, b"x" * 1000)
    queue.put(":1.2", b"x" * 1000)
    assert (len(queue._waiting), len(queue._ends)) == (2, 2)
    for _ in range(3):
        queue.take()
    assert (queue._waiting, queue._ends, queue._now, queue.bytes) == ({}, {}, 0, 0)


def test_of_connections_that_were_served_only_those_are_known_that_are_still_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_who_was_served_a_moment_ago_waits_behind_who_was_not() -> None:
    queue = Queue()
    queue.put(":1.1", b"1" * 30_000)
    queue.put(":1.2", b"2" * 60_000)
    assert queue.take()[:1] == b"1"
    queue.put(":1.1", b"1" * 50_000)
    assert queue.take()[:1] == b"2", "what the other had counts"


def test_a_message_is_as_large_as_it_may_be_and_a_larger_one_is_cut() -> None:
    wires = [message("x" * size) for size in (1000, 1008)]
    allowed, larger = (beginning_of(wire) for wire in wires)
    reader = Reader(allowed.body_bytes)
    assert larger.body_bytes > allowed.body_bytes
    found = [each for wire in wires for each in reader.feed(wire)]
    assert [len(wire) for _, wire in found] == [len(wires[0]), larger.header_bytes]
