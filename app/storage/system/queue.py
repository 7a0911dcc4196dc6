"""Scheduler and read-ahead as the kernel has them now, and how they are set: files of sysfs.

Source: Linux, Documentation/ABI/stable/sysfs-block, Documentation/block/switching-sched.rst; btrfs,
fs/btrfs/sysfs.c: a mounted btrfs has a read-ahead of its own, which `bdi` of its folder leads to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from app.storage.system import state

_READ_AHEAD: Final = "read_ahead_kb"


def queue_file(node: str, name: str) -> Path:
    """Return the file of a setting of a disk or array.

    Raises:
        OSError: there is no such device.
        RefusedError: the node is no block device.
    """
    return state.sysfs_folder(node) / "queue" / name


def btrfs_read_ahead_file(filesystem_uuid: str) -> Path:
    """Return the file of the read-ahead of a mounted btrfs."""
    return state.SYSFS / "fs/btrfs" / filesystem_uuid / "bdi" / _READ_AHEAD


def read_choice(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return what a setting is, and all values that the kernel offers where it lists them.

    Of a list the chosen one stands in brackets: ``[none] mq-deadline``. A single word is chosen.

    Raises:
        OSError: it cannot be read.
    """
    words = path.read_text(encoding="ascii", errors="replace").split()
    offered = tuple(word.strip("[]") for word in words)
    chosen = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    if len(chosen) == 1:
        return chosen[0], offered
    return (offered[0] if len(words) == 1 and not chosen else ""), offered


def write_setting(path: Path, value: str) -> None:
    """Set it: one write, of a file that is there.

    Raises:
        OSError: the kernel does not take the value.
    """
    with path.open("r+", encoding="ascii") as file:
        file.write(value)
