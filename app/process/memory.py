"""Memory of this machine, and the limits of control groups: containers and services often have some.

Sources: proc(5), meminfo; Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst. Only reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.text import KIB

PROC: Final = Path("/proc")
SYS: Final = Path("/sys")
_VERSIONS: Final = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.high", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of limit and use of a control group, and its page cache in memory.stat; version 2 and version 1.

Above memory.high the kernel takes the page cache away, and slows what wants more (MemoryHigh= of systemd).
"""
_UNLIMITED: Final = 2**62
"""Version 1 writes "no limit" as the largest multiple of the page size below 2^63."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The limit of one control group.

    Attributes:
        size_bytes: memory, page cache included.
        left_bytes: unused part of it, and page cache that can be dropped; all of it if its use is unknown.
        file: that has the limit.
    """

    size_bytes: int
    left_bytes: int
    file: Path


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of this machine as this process may use it.

    Attributes:
        total_bytes: MemTotal, or the control group's limit if that is smaller.
        available_bytes: MemAvailable, or the rest of the control group's limit if that is less.
        limit: file of the control group's limit; None if the machine is the limit.
    """

    total_bytes: int
    available_bytes: int
    limit: str | None = None


def parse_meminfo(text: bytes) -> dict[str, int]:
    """Return the fields of /proc/meminfo in bytes (the file says kB and means KiB, proc(5)).

    Fields without a unit, such as HugePages_Total, are returned unchanged.
    """
    fields: dict[str, int] = {}
    for line in text.decode("ascii", "replace").splitlines():
        name, separator, rest = line.partition(":")
        words = rest.split()
        if separator and words and words[0].isdecimal():
            fields[name] = int(words[0]) * (KIB if words[1:] == ["kB"] else 1)
    return fields


def control_groups(proc: Path = PROC, sys: Path = SYS, process: str = "self") -> Iterator[Path]:
    """Yield the folders of a process's control groups, each before its ancestors; none if they are hidden.

    In a container the paths may be those of the machine: then only the container's own group is found.
    """
    try:
        lines = (proc / process / "cgroup").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            mounted = sys / "fs/cgroup"
        elif "memory" in controllers.split(","):
            mounted = sys / "fs/cgroup/memory"
        else:
            continue
        own = mounted / path.lstrip("/")
        yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(mounted))


def memory_limits(proc: Path = PROC, sys: Path = SYS, process: str = "self") -> tuple[MemoryLimit, ...]:
    """Return the memory limits of a process, the narrowest first."""
    found = []
    for folder in control_groups(proc, sys, process):
        for limit, used, cache in _VERSIONS:
            with suppress(OSError, ValueError):  # "max", or files of the other version
                size_bytes = left_bytes = int((folder / limit).read_bytes())
                if size_bytes >= _UNLIMITED:
                    continue
                with suppress(OSError, ValueError):
                    left_bytes -= int((folder / used).read_bytes()) - _cache_bytes(folder, cache)
                found.append(MemoryLimit(size_bytes, max(0, left_bytes), folder / limit))
    return tuple(sorted(found, key=lambda each: each.size_bytes))


def _cache_bytes(folder: Path, name: str) -> int:
    words = (folder / "memory.stat").read_text("ascii").split()
    return int(dict(zip(words[::2], words[1::2], strict=False)).get(name, 0))


def read_memory(proc: Path = PROC, sys: Path = SYS) -> Memory:
    """Return total and available memory."""
    fields = parse_meminfo((proc / "meminfo").read_bytes())
    limits = memory_limits(proc, sys)
    available_bytes = min([fields["MemAvailable"], *(each.left_bytes for each in limits)])
    if limits and limits[0].size_bytes < fields["MemTotal"]:
        return Memory(limits[0].size_bytes, available_bytes, str(limits[0].file))
    return Memory(fields["MemTotal"], available_bytes)
