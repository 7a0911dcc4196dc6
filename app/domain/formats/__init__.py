"""The formats of all filesystems, without what only users read; adding one is one file and one line here."""

from __future__ import annotations

from typing import Final

from app.domain.formats.btrfs import BTRFS
from app.domain.formats.ext4 import EXT3, EXT4
from app.domain.formats.f2fs import F2FS
from app.domain.formats.reiserfs import REISERFS
from app.domain.formats.tmpfs import TMPFS
from app.domain.formats.xfs import XFS
from app.domain.formats.zfs import ZFS
from app.domain.options.format_spec import FormatSpec

FORMATS: Final = (EXT4, XFS, BTRFS, ZFS, F2FS, EXT3, REISERFS, TMPFS)


def format_of(filesystem_id: str) -> FormatSpec:
    """Return the format of a filesystem.

    Raises:
        KeyError: there is none of that id.
    """
    for item in FORMATS:
        if item.id == filesystem_id:
            return item
    raise KeyError(filesystem_id)
