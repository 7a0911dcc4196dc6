"""The thread in which everything of Gio happens: each thing is done once, unless nobody wants it any more."""

from __future__ import annotations

import threading
import time

import pytest

from app.dbus.bus_thread import BusThread

pytestmark = pytest.mark.bus
LIMIT_S = 30.0


def test_cancelled_work_not_done() -> None:
    thread, go_on, done = BusThread("tried"), threading.Event(), []
    first = thread.submit(lambda: go_on.wait(LIMIT_S))
    unwanted = thread.submit(lambda: done.append("unwanted"))
    assert unwanted.cancel()
    last = thread.submit(lambda: done.append("last"))
    go_on.set()
    last.result(LIMIT_S)
    assert first.result(LIMIT_S)
    assert done == ["last"]
    thread.stop()


def test_exception_returned_and_thread_continues() -> None:
    thread = BusThread("tried")
    with pytest.raises(ZeroDivisionError):
        thread.submit(lambda: 1 // 0).result(LIMIT_S)
    assert thread.submit(lambda: 7).result(LIMIT_S) == 7
    thread.stop()


def test_stopped_thread_ends_even_by_itself() -> None:
    thread = BusThread("tried")
    thread.submit(lambda: time.sleep(0.2))
    thread.stop()
    assert not thread._thread.is_alive()
    other = BusThread("tried")
    other.submit(other.stop).result(LIMIT_S)
    other._thread.join(LIMIT_S)
    assert not other._thread.is_alive()
