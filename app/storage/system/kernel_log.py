"""Read the kernel's messages while a program fails: mount(8) itself gives no details.

Source: Linux Documentation/ABI/testing/dev-kmsg: one record a read, ``priority,sequence,time,flags;text``.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

KMSG: Final = Path("/dev/kmsg")
_LONGEST_RECORD: Final = 8192
_MOST_LINES: Final = 3
_MOST_ABOUT: Final = 20
_LONGEST_LINE: Final = 300


def naming_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for a disk or its partitions, but not for other disks with the same prefix."""
    partition = r"p\d+" if name[-1:].isdigit() else r"\d+"
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?:{partition})?(?![A-Za-z0-9])")


class KernelLog:
    """The kernel's messages since it was opened; empty if they may not be read."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def lines(self) -> tuple[str, ...]:
        """Return the last few new messages."""
        return tuple(self._records())[-_MOST_LINES:]

    def lines_about(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the last new messages that name one of these disks, or a partition of one."""
        naming = [naming_pattern(name) for name in names]
        found = (
            text[:_LONGEST_LINE] for text in self._records() if any(each.search(text) for each in naming)
        )
        return tuple(deque(found, _MOST_ABOUT))

    def _records(self) -> Iterator[str]:
        while self._fd is not None:
            try:
                record = os.read(self._fd, _LONGEST_RECORD)
            except BrokenPipeError:
                continue  # overwritten before it was read: the next one is available
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
