"""What the kernel says of an md array, compared with what was asked, before anything is made on it.

mdadm rounds, and versions of it have other defaults: another chunk or bitmap would be measured under a wrong
name. Source: Linux, Documentation/admin-guide/md.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app.domain.errors import StorageError
from app.domain.messages.message import say
from app.domain.options.tokens import ShownBy
from app.storage.checks.readback import compare
from app.storage.layout.steps import ReadBackArray
from app.storage.system import state

_ATTRIBUTES: Final = ("level", "raid_disks", "chunk_size", "layout")
_NO_BITMAP: Final = "none"


def read_back_array(step: ReadBackArray) -> None:
    """Compare an array that runs with what was asked.

    Raises:
        ReadBackError: something differs; names everything with both values.
        StorageError: the node is no array.
        OSError: the kernel does not tell.
    """
    folder = state.sysfs_folder(step.node) / "md"
    if not folder.is_dir():
        raise StorageError(say("readback-no-array", node=step.node))
    compare(step.expected, {ShownBy.ARRAY: frozenset(_tokens(folder))})


def _tokens(folder: Path) -> Iterator[str]:
    """Yield ``name=value`` of every attribute that says how an array was made."""
    for name in _ATTRIBUTES:
        words = (folder / name).read_text(encoding="ascii", errors="replace").split()
        yield f"{name}={words[0] if words else ''}"  # of a change that is under way the old value follows
    yield f"bitmap={_bitmap(folder)}"


def _bitmap(folder: Path) -> str:
    """Return ``internal``, ``none``, or what else the kernel says of where the bitmap is."""
    try:
        location = (folder / "bitmap/location").read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:  # newer kernels show nothing of a bitmap that there is not
        return _NO_BITMAP
    return "internal" if location[:1] in {"+", "-"} and location[1:].isdecimal() else location
