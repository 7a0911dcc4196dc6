"""All filesystems; adding one is one file and one line here."""

from __future__ import annotations

from typing import Final

from app.domain.filesystem import FilesystemSpec
from app.domain.filesystems.ext4 import EXT4

FILESYSTEMS: Final = (EXT4,)


def filesystem(filesystem_id: str) -> FilesystemSpec:
    """Return a filesystem.

    Raises:
        KeyError: there is none of that id.
    """
    for item in FILESYSTEMS:
        if item.id == filesystem_id:
            return item
    raise KeyError(filesystem_id)
