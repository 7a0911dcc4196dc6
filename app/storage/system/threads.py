"""Detect threads with their own descriptors (clone(2), CLONE_FILES). Source: kcmp(2)."""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import Final

_KCMP: Final = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}
"""Number of kcmp(2) by machine; the C library has no function for it."""
_KCMP_FILES: Final = 2


def share_files(one: int, other: int) -> bool:
    """Return whether two threads certainly have the same descriptors, which need reading only once then."""
    number = _KCMP.get(platform.machine())
    if number is None or sys.maxsize <= 2**32:
        return False
    return bool(ctypes.CDLL(None).syscall(number, one, other, _KCMP_FILES, 0, 0) == 0)
