"""Requests to a running campaign: finish this run, stop and keep, stop and discard.

They arrive as signals and over a control socket, and become one request that the runner polls. The socket is
a stream socket of mode 0600 named `control` in the campaign folder; one JSON object per line in, one out. It
is opened through /proc/self/fd, because a long folder name could exceed the 108 bytes of a socket address
(unix(7)).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Final

from app.domain.errors import BusyError, UsageError
from app.domain.text import tr

SOCKET_NAME: Final = "control"
_LINE_LIMIT_BYTES: Final = 4096
_PEER_CREDENTIALS = struct.Struct("3i")


class Request(StrEnum):
    """Requests to a runner, weakest first."""

    FINISH = "finish"
    """Let this run finish, then end the campaign."""
    STOP = "stop"
    """Stop now and keep the measured data."""
    DISCARD = "discard"
    """Stop now and remove the current run."""


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_NAME}"
    finally:
        os.close(descriptor)


class ControlServer:
    """The runner's end: `poll` never blocks. Only this user and root are accepted."""

    def __init__(self, folder: Path) -> None:
        """Listen in a campaign folder; the caller holds its lock.

        Raises:
            OSError: the filesystem has no sockets (vfat, some network filesystems), or is full.
        """
        self._path = folder / SOCKET_NAME
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(0)
        self._path.unlink(missing_ok=True)  # the campaign lock is held: a socket here is a dead runner's
        before = os.umask(0o177)
        try:
            with _address(folder) as address:
                self._socket.bind(address)
            self._socket.listen(8)
        except OSError:
            self._socket.close()
            raise
        finally:
            os.umask(before)

    def fileno(self) -> int:
        """For selectors: readable when a request is waiting."""
        return self._socket.fileno()

    def poll(self) -> Request | None:
        """Answer all waiting peers and return the strongest request, None if there is none."""
        strongest: Request | None = None
        order = list(Request)
        while True:
            try:
                peer, _ = self._socket.accept()
            except ConnectionAbortedError:
                continue  # the peer closed before it was accepted
            except OSError:  # no peer waits (EAGAIN), or no descriptor is left: retried in a second
                return strongest
            with peer:
                request = self._serve(peer)
            if request and (strongest is None or order.index(request) > order.index(strongest)):
                strongest = request

    @staticmethod
    def _serve(peer: socket.socket) -> Request | None:
        peer.settimeout(0.2)  # a silent peer must not hold up the measurement
        request: Request | None = None
        with suppress(OSError):
            raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
            _, uid, _ = _PEER_CREDENTIALS.unpack(raw)
            if uid not in {os.getuid(), 0}:
                return None
            line = peer.recv(_LINE_LIMIT_BYTES)
            try:
                request = Request(json.loads(line)["request"])
                answer: dict[str, str] = {"accepted": request.value}
            except (ValueError, KeyError, TypeError):
                answer = {"error": "unknown request", "known": ", ".join(Request)}
            peer.sendall(json.dumps(answer).encode() + b"\n")
        return request

    def close(self) -> None:
        """Stop listening and remove the socket; if that fails, the next start removes it."""
        self._socket.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def send_request(folder: Path, request: Request, *, timeout_s: float = 5.0) -> None:
    """Send a request to the runner of a campaign folder.

    Raises:
        BusyError: no runner listens there, or it does not answer in time.
        UsageError: the runner does not know the request.
    """
    try:
        with _address(folder) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(timeout_s)
            peer.connect(address)
            peer.sendall(json.dumps({"request": request.value}).encode() + b"\n")
            answer = json.loads(peer.recv(_LINE_LIMIT_BYTES) or b"{}")
    except (OSError, ValueError) as error:
        message = tr("No runner answers in {folder}: {reason}.")
        raise BusyError(message.format(folder=folder, reason=error)) from error
    if answer.get("accepted") != request.value:
        raise UsageError(tr("The runner in {folder} refused: {answer}.").format(folder=folder, answer=answer))


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

    Ctrl-C (SIGINT), SIGTERM and SIGHUP mean stop and keep. A second one has no effect: stopping and cleaning
    up has already started and must not be interrupted.

    Attributes:
        requested: the strongest request so far.
        is_interrupted: SIGTERM or SIGHUP was the first request: session or machine end (systemd sends them at
            logout and shutdown), and the user did not end the campaign.
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
        """Also poll the campaign's control socket."""
        self._control = control
        self._selector.register(control, selectors.EVENT_READ)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Turn signals into requests while the block lasts. Only in the main thread.

        An ignored SIGHUP stays ignored: with nohup(1) the run outlives its terminal.
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
        """Record a request; one that is weaker than an earlier one has no effect."""
        order = list(Request)
        if self.requested is None or order.index(request) > order.index(self.requested):
            self.requested = request

    def check(self) -> None:
        """Raise if the user wants to stop now; only once, to let clean-up finish undisturbed.

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
            StopRequestedError: see `check`.
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
        """Release the descriptors; the control server is closed by its creator."""
        self._selector.close()
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)
