"""How a person stops a campaign: signals and the control socket become one request, checked often."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from app.execution.control import ControlServer, Request


class StopRequestedError(Exception):
    """Raised in the runner's main thread when it must stop now.

    Attributes:
        request: stop (keep what was measured) or discard.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request.value)
        self.request = request


class Cancellable:
    """Gathers requests; `check` raises once, `wait` sleeps until a deadline or a request.

    Ctrl-C (SIGINT), SIGTERM and SIGHUP mean stop and keep. A second one changes nothing: by then everything
    is being stopped and removed, which must not be cut off.

    Attributes:
        requested: the strongest request so far.
        is_interrupted: SIGTERM or SIGHUP was the first request: session or machine end (systemd sends them at
            logout and shutdown), and nobody has said that the campaign is over.
    """

    def __init__(self) -> None:
        self.requested: Request | None = None
        self.is_interrupted = False
        self._raised = False
        self._control: ControlServer | None = None
        self._wakeup_read, self._wakeup_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wakeup_read, selectors.EVENT_READ)

    def listen(self, control: ControlServer) -> None:
        """Hear the control socket of the campaign as well."""
        self._control = control
        self._selector.register(control, selectors.EVENT_READ)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Turn signals into requests while the block lasts. Only in the main thread.

        SIGHUP stays ignored where it is: nohup(1) means that the run outlives its terminal.
        """
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        before: list[Callable[[int, FrameType | None], object] | int | None] = [
            signal.signal(number, self._on_signal) for number in numbers
        ]
        wakeup = signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.requested is None:
            self.is_interrupted = number != signal.SIGINT
        self.request(Request.STOP)

    def request(self, request: Request) -> None:
        """Ask; a weaker request than the one before changes nothing."""
        order = list(Request)
        if self.requested is None or order.index(request) > order.index(self.requested):
            self.requested = request

    def check(self) -> None:
        """Raise when a person wants to stop now; afterwards silent, so that clean-up is not disturbed.

        Raises:
            StopRequestedError: at the first call after a request to stop or discard.
        """
        if self._control is not None:
            asked = self._control.poll()
            if asked is not None:
                self.request(asked)
        if self.requested in {Request.STOP, Request.DISCARD} and not self._raised:
            self._raised = True
            raise StopRequestedError(self.requested or Request.STOP)

    def wait(self, until_monotonic_s: float, *extra: int) -> None:
        """Sleep until the deadline, a request, or one of the `extra` file descriptors is readable.

        Raises:
            StopRequestedError: as `check`.
        """
        registered = [self._selector.register(fd, selectors.EVENT_READ) for fd in extra]
        try:
            while (left_s := until_monotonic_s - time.monotonic()) > 0:
                ready = self._selector.select(left_s)
                self.check()
                if any(key.fd in extra for key, _ in ready):
                    return
                self._drain()
        finally:
            for key in registered:
                self._selector.unregister(key.fileobj)
        self.check()

    def _drain(self) -> None:
        try:
            while os.read(self._wakeup_read, 64):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Release the descriptors; the control server belongs to its maker."""
        self._selector.close()
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)
