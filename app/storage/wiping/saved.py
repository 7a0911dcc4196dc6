"""Copies of the wiped signatures, in a folder of root's own, so that a mistake can be undone.

Like ``wipefs --backup``, with the same offsets, compressed. To restore one: ``zcat FILE | dd of=DEVICE bs=1
seek=OFFSET conv=notrunc`` (wipefs(8)); the name of the file contains device and offset.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/var/lib/pgfooting/signatures")
MOST_COPIES: Final = 10_000
"""Each released disk takes three: the oldest are removed first."""
MOST_BYTES: Final = 64 * 1024**2
"""Limit of all copies together."""
_DIGITS: Final = 20


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
            name: of the device and place: letters, digits and hyphens.
            offset: of the first byte.
            content: the bytes.

        Raises:
            OSError: it cannot be written; then nothing may be wiped.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        last = self._make_room()
        path = self.folder / f"{last + 1:0{_DIGITS}}-{name}-{offset:#010x}.gz"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(gzip.compress(content, compresslevel=1, mtime=0))
            file.flush()
            os.fsync(file.fileno())

    def _make_room(self) -> int:
        """Remove the oldest of too many or too much; return the number of the newest, 0 for none."""
        copies = sorted(((_number_of(path), path) for path in self.folder.glob("*.gz")), reverse=True)
        held = 0
        for place, (_, path) in enumerate(copies, 1):
            held += path.lstat().st_size
            if held > MOST_BYTES or place >= MOST_COPIES:
                path.unlink(missing_ok=True)
        return copies[0][0] if copies else 0


def _number_of(path: Path) -> int:
    """Return the number of a copy; 0 for other files."""
    number = path.name.partition("-")[0]
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0
