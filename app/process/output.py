"""Collecting what a program prints, bounded in size and time."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import Final

from app.domain.text import tr
from app.domain.units import MIB

OUTPUT_LIMIT_BYTES: Final = MIB
"""What is kept of each of a program's two outputs: the first and the last half of it."""

_PART_BYTES: Final = 65536
_SHORTEST_WAIT_S: Final = 0.0005
_LONGEST_WAIT_S: Final = 0.05
_STRAGGLERS_S: Final = 1.0
"""How long output is still read after the program ended, where a child of it goes on printing."""


class BoundedOutput:
    """The beginning and the end of an output."""

    def __init__(self, limit_bytes: int = OUTPUT_LIMIT_BYTES) -> None:
        self._half_bytes = limit_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped_bytes = 0

    def add(self, part: bytes) -> None:
        """Append `part`; what is beyond the limit is dropped from the middle."""
        room = self._half_bytes - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        excess = len(self._tail) - self._half_bytes
        if excess > 0:
            del self._tail[:excess]
            self._dropped_bytes += excess

    def text(self) -> str:
        """Return the output as text; what is no UTF-8 becomes U+FFFD, a gap says how much is missing."""
        head, tail = (bytes(part).decode(errors="replace") for part in (self._head, self._tail))
        if not self._dropped_bytes:
            return bytes(self._head + self._tail).decode(errors="replace")
        gap = tr("[... {count} bytes left out ...]").format(count=self._dropped_bytes)
        return f"{head}\n{gap}\n{tail}"


class Capture:
    """Both outputs of a running program whose stdout and stderr are pipes.

    Attributes:
        stdout: what it printed.
        stderr: what it printed as errors.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.stdout = BoundedOutput()
        self.stderr = BoundedOutput()
        self._process = process

    def collect(self, deadline_s: float) -> bool:
        """Read until the program has ended; return whether that was before `deadline_s` (`time.monotonic`).

        The program is not reaped: while it is a zombie its process group's number cannot be taken by another.
        """
        wait_s = _SHORTEST_WAIT_S
        stragglers_until_s: float | None = None
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while True:
                now_s = time.monotonic()
                if stragglers_until_s is None and _has_ended(self._process):
                    stragglers_until_s = now_s + _STRAGGLERS_S
                if stragglers_until_s is None and now_s >= deadline_s:
                    return False
                ready = selector.select(0 if stragglers_until_s else min(wait_s, deadline_s - now_s))
                for key, _ in ready:
                    self._read(selector, key)
                if stragglers_until_s and (not ready or now_s >= stragglers_until_s):
                    return True
                wait_s = _SHORTEST_WAIT_S if ready else min(wait_s * 2, _LONGEST_WAIT_S)

    def _register(self, selector: selectors.BaseSelector) -> None:
        for pipe, kept in ((self._process.stdout, self.stdout), (self._process.stderr, self.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, kept)

    @staticmethod
    def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        part = os.read(key.fd, _PART_BYTES)
        if part:
            key.data.add(part)
        else:
            selector.unregister(key.fileobj)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
