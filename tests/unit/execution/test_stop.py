from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.execution.control import Cancellable, ControlServer, Request, StopRequestedError, send_request


@pytest.fixture
def switch() -> Iterator[Cancellable]:
    switch = Cancellable()
    yield switch
    switch.close()


FAR_S = 3600.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_wait_and_raises_once(switch: Cancellable, number: signal.Signals) -> None:
    with switch.signals():
        os.kill(os.getpid(), number)
        with pytest.raises(StopRequestedError) as caught:
            switch.wait(time.monotonic() + FAR_S)
        assert caught.value.request is Request.STOP
        os.kill(os.getpid(), number)  # the second Ctrl-C does not disturb the clean-up
        switch.check()
        switch.wait(time.monotonic() + 0.01)
    assert switch.requested is Request.STOP


@pytest.mark.parametrize(
    ("first", "then", "is_interrupted"),
    [
        (signal.SIGINT, signal.SIGTERM, False),
        (signal.SIGTERM, signal.SIGINT, True),
        (signal.SIGHUP, signal.SIGTERM, True),
    ],
)
def test_first_signal_tells_session_end_from_user(
    switch: Cancellable, first: signal.Signals, then: signal.Signals, *, is_interrupted: bool
) -> None:
    with switch.signals():
        for number in (first, then):
            os.kill(os.getpid(), number)
        with pytest.raises(StopRequestedError):
            switch.check()
    assert switch.is_interrupted is is_interrupted


def test_user_request_keeps_precedence(switch: Cancellable) -> None:
    switch.request(Request.FINISH)
    with switch.signals():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StopRequestedError):
            switch.check()
    assert not switch.is_interrupted


def test_signal_from_thread_wakes_wait(switch: Cancellable) -> None:
    waiting = threading.Event()

    def interrupt() -> None:
        waiting.wait()
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with switch.signals():
        waiting.set()
        with pytest.raises(StopRequestedError):
            switch.wait(time.monotonic() + FAR_S)
    thread.join()


def test_the_handlers_before_are_restored(switch: Cancellable) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with switch.signals():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_ignored_hang_up_stays_ignored(switch: Cancellable) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with switch.signals():
            os.kill(os.getpid(), signal.SIGHUP)
            switch.check()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert switch.requested is None


def test_finish_does_not_interrupt_or_weaken(switch: Cancellable) -> None:
    switch.request(Request.FINISH)
    switch.check()
    switch.request(Request.DISCARD)
    switch.request(Request.STOP)
    assert switch.requested is Request.DISCARD
    with pytest.raises(StopRequestedError) as caught:
        switch.check()
    assert caught.value.request is Request.DISCARD


def test_control_socket_request_ends_wait(switch: Cancellable, tmp_path: Path) -> None:
    control = ControlServer(tmp_path)
    switch.listen(control)
    sender = threading.Thread(target=send_request, args=(tmp_path, Request.STOP))
    sender.start()
    with pytest.raises(StopRequestedError):
        switch.wait(time.monotonic() + FAR_S)
    sender.join()
    control.close()


def test_readable_descriptor_ends_wait_without_request(switch: Cancellable) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    switch.wait(time.monotonic() + FAR_S, reading)
    switch.wait(time.monotonic() + FAR_S, reading)  # it can be registered again
    os.close(reading)
    os.close(writing)
