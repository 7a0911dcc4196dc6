"""Copies of the signatures that were wiped, in a folder of root's own, so that a mistake can be taken back.

As ``wipefs --backup`` does, with the same offsets, compressed. To put one back: ``zcat FILE | dd of=DEVICE
bs=1 seek=OFFSET conv=notrunc`` (wipefs(8)); the name of the file says device and offset.
"""

from __future__ import annotations

import gzip
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/var/lib/pgfooting/signatures")
KEPT_S: Final = 31 * 86400.0
"""A month."""
MOST_BYTES: Final = 64 * 1024**2
"""Of all copies together; the oldest go first."""


@dataclass(frozen=True, slots=True)
class SavedSignatures:
    """The folder with the copies.

    Attributes:
        folder: another one only in tests.
    """

    folder: Path = FOLDER

    def save(self, name: str, offset: int, content: bytes) -> None:
        """Keep a copy of bytes that are about to be zeroed; on disk when this returns.

        Args:
            name: of what they lie in: letters, digits and hyphens.
            offset: of the first byte.
            content: the bytes.

        Raises:
            OSError: it cannot be written; then nothing may be wiped.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room()
        path = self.folder / f"{time.time_ns()}-{name}-{offset:#010x}.gz"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(gzip.compress(content, compresslevel=1, mtime=0))
            file.flush()
            os.fsync(file.fileno())

    def _make_room(self) -> None:
        """Remove what is older than a month, and the oldest of too much."""
        held = 0
        for path in sorted(self.folder.glob("*.gz"), key=lambda each: each.name, reverse=True):
            status = path.lstat()
            held += status.st_size
            if held > MOST_BYTES or status.st_mtime < time.time() - KEPT_S:
                path.unlink(missing_ok=True)
