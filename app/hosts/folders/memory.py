"""How much memory there is for a data directory: the machine's, or less where a control group limits it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEMORY_FILESYSTEMS: Final = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of this machine as this process may use it.

    Attributes:
        total_bytes: MemTotal, or the control group's limit where that is smaller.
        available_bytes: MemAvailable, or what the control group leaves where that is less.
        limit: file of the control group's limit; None where the machine is the limit.
    """

    total_bytes: int
    available_bytes: int
    limit: str | None = None


def read_memory(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Memory:
    """Return total and available memory (proc(5) meminfo; cgroup-v2 and cgroup-v1/memory of the kernel)."""
    values = _read_numbers(proc / "meminfo", ":")
    total_bytes, available_bytes = values["MemTotal"] * 1024, values["MemAvailable"] * 1024
    limited_by: str | None = None
    for folder, names in _control_groups(proc, cgroups):
        with suppress(OSError, ValueError):  # "max", or not a limit of this group
            limit_bytes = int((folder / names[0]).read_text(encoding="ascii"))
            used_bytes = int((folder / names[1]).read_text(encoding="ascii"))
            cache_bytes = _read_numbers(folder / "memory.stat", None).get(names[2], 0)
            left_bytes = max(0, limit_bytes - used_bytes + cache_bytes)
            if limit_bytes < total_bytes:
                total_bytes, limited_by = limit_bytes, str(folder / names[0])
            available_bytes = min(available_bytes, left_bytes)
    return Memory(total_bytes, available_bytes, limited_by)


def _read_numbers(file: Path, separator: str | None) -> dict[str, int]:
    lines = (line.split(separator, 1) for line in file.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1].split()[0]) for words in lines if len(words) == 2}


def _control_groups(proc: Path, cgroups: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield this process's control groups from inner to outermost, with the names of their files."""
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            mounted, names = cgroups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mounted = cgroups / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = mounted / path.lstrip("/")
        yield own, names
        for folder in own.parents:
            if not folder.is_relative_to(mounted):
                break
            yield folder, names


def filesystem_type(device: int, mountinfo: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Return the type of the filesystem with this st_dev (proc(5), mountinfo); None where it has no line.

    Filesystems that give each subvolume a device number of its own (btrfs) have none.
    """
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mountinfo.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        head, _, tail = line.partition(" - ")
        if head.split()[2] == number:
            return tail.split()[0]
    return None


def lies_in_memory(device: int) -> bool:
    """Whether the filesystem with this st_dev vanishes when the machine restarts."""
    return filesystem_type(device) in MEMORY_FILESYSTEMS
