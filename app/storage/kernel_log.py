"""What the kernel says while a program fails: mount(8) knows only that something was wrong.

Source: Linux Documentation/ABI/testing/dev-kmsg: one record a read, ``priority,sequence,time,flags;text``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

KMSG: Final = Path("/dev/kmsg")
_LONGEST_RECORD: Final = 8192
_MOST_LINES: Final = 3


class KernelLog:
    """The kernel's messages since it was opened; silent where they may not be read."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def lines(self) -> tuple[str, ...]:
        """Return the last few new messages."""
        return tuple(self._records())[-_MOST_LINES:] if self._fd is not None else ()

    def _records(self) -> Iterator[str]:
        while self._fd is not None:
            try:
                record = os.read(self._fd, _LONGEST_RECORD)
            except BrokenPipeError:
                continue  # overwritten before it was read: the next one is there
            except OSError:
                return  # no more
            if not record:
                return
            text = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
            yield "".join(char if char.isprintable() else "?" for char in text).strip()


@contextmanager
def kernel_log(path: Path = KMSG) -> Iterator[KernelLog]:
    """Open the kernel's log at its end."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield KernelLog(None)
        return
    try:
        os.lseek(fd, 0, os.SEEK_END)
        yield KernelLog(fd)
    finally:
        os.close(fd)
