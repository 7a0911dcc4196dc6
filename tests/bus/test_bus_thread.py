"""The thread in which everything of Gio happens: each thing is done once, unless nobody wants it any more."""

from __future__ import annotations

import threading
import time

import pytest

from app.dbus.bus_thread import BusThread

pytestmark = pytest.mark.bus
LIMIT_S = 30.0


def test_what_nobody_wants_any_more_is_not_done() -> None:
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


def test_what_is_raised_is_the_answer_and_the_thread_goes_on() -> None:
    thread = BusThread("tried")
    with pytest.raises(ZeroDivisionError):
        thread.submit(lambda: 1 // 0).result(LIMIT_S)
    assert thread.submit(lambda: 7).result(LIMIT_S) == 7
    thread.stop()


def test_a_thread_that_is_stopped_is_over_and_may_stop_itself() -> None:
    thread = BusThread("tried")
    thread.submit(lambda: time.sleep(0.2))
    thread.stop()
    assert not thread._thread.is_alive()
    other = BusThread("tried")
    other.submit(other.stop).result(LIMIT_S)
    other._thread.join(LIMIT_S)
    assert not other._thread.is_alive()
