"""Attributes of a file as lsattr(1) shows them: what the filesystem itself says of how it keeps the file.

Source: ioctl_iflags(2), include/uapi/linux/fs.h.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

_FS_IOC_GETFLAGS: Final = 0x8008_6601 if array.array("l").itemsize == 8 else 0x8004_6601
"""_IOR('f', 1, long): the size is of a long, what is returned an int (ioctl_iflags(2), NOTES)."""

LETTERS: Final = {"C": 0x0080_0000}
"""Those that options can ask for: FS_NOCOW_FL."""


def attributes_of(path: Path) -> frozenset[str]:
    """Return the letters of `LETTERS` that a file or folder has.

    Raises:
        OSError: it cannot be opened, is neither, or its filesystem knows no attributes.
    """
    # SECURITY: the runner may have other rights than whose files these are: no link is followed.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(file).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        flags = array.array("i", [0, 0])
        fcntl.ioctl(file, _FS_IOC_GETFLAGS, flags, True)  # noqa: FBT003 - the buffer is changed
    finally:
        os.close(file)
    return frozenset(letter for letter, bit in LETTERS.items() if flags[0] & bit)
