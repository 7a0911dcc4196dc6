"""All filesystems; adding one is one file and one line here."""

from __future__ import annotations

from typing import Final

from app.domain.filesystems.btrfs import BTRFS
from app.domain.filesystems.ext3 import EXT3
from app.domain.filesystems.ext4 import EXT4
from app.domain.filesystems.f2fs import F2FS
from app.domain.filesystems.reiserfs import REISERFS
from app.domain.filesystems.tmpfs import TMPFS
from app.domain.filesystems.xfs import XFS
from app.domain.filesystems.zfs import ZFS
from app.domain.options.filesystem_spec import FilesystemSpec

FILESYSTEMS: Final = (EXT4, XFS, BTRFS, ZFS, F2FS, EXT3, REISERFS, TMPFS)


def filesystem(filesystem_id: str) -> FilesystemSpec:
    """Return a filesystem.

    Raises:
        KeyError: there is none of that id.
    """
    for item in FILESYSTEMS:
        if item.id == filesystem_id:
            return item
    raise KeyError(filesystem_id)
