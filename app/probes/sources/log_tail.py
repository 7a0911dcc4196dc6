"""Follows the server's log while it is written."""

from __future__ import annotations

import os
import stat
from typing import Final

from app.probes.sources.server_log import RecordReader, ServerEvent

CHUNK_BYTES: Final = 65536
MOST_BYTES_A_POLL: Final = 4 * 1024**2
LONGEST_LINE: Final = 65536


class ServerLogTail:
    """Reads what was added to a log since the last look, from its beginning on.

    The file is opened without following a symbolic link and must be a regular file: it lies in a
    folder that another account may write to when pgFooting runs as root.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._offset = 0
        self._rest = b""
        self._cutting = False
        self._reader = RecordReader()

    def poll(self) -> list[ServerEvent]:
        """Return the events that became complete; none while there is no such file yet.

        The last message counts as complete once nothing was added between two polls.

        Raises:
            OSError: the file cannot be read, is a symbolic link or no regular file.
        """
        begun = self._offset
        events = self._read()
        return events if self._offset > begun else self._reader.flush()

    def _read(self) -> list[ServerEvent]:
        """Read what was added, at most 4 MiB, and return the events that it completes."""
        if self._fd < 0 and not self._open():
            return []
        events: list[ServerEvent] = []
        begun = self._offset
        while self._offset - begun < MOST_BYTES_A_POLL:
            data = os.pread(self._fd, CHUNK_BYTES, self._offset)
            if not data:
                break
            self._offset += len(data)
            events += self._reader.feed(self._lines(data))
        return events

    def finish(self) -> list[ServerEvent]:
        """Return everything that is left, also a last line without its end, and close the file."""
        events: list[ServerEvent] = []
        begun = -1
        while self._offset != begun:
            begun = self._offset
            events += self._read()
        if self._rest:
            events += self._reader.feed([self._rest.decode(errors="replace")])
            self._rest = b""
        events += self._reader.flush()
        self.close()
        return events

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> bool:
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            fd = os.open(self._path, flags)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(f"{self._path} is not a regular file")
        self._fd = fd
        return True

    def _lines(self, data: bytes) -> list[str]:
        """Return the complete lines; of one that is longer than the limit only its beginning."""
        *complete, rest = (self._rest + data).split(b"\n")
        if complete and self._cutting:  # the end of a line whose beginning was passed on already
            complete, self._cutting = complete[1:], False
        if self._cutting:
            rest = b""
        elif len(rest) > LONGEST_LINE:
            complete.append(rest[:LONGEST_LINE])
            rest, self._cutting = b"", True
        self._rest = rest
        return [line[:LONGEST_LINE].decode(errors="replace") for line in complete]
