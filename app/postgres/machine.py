"""Facts of the machine for computing server settings and data sizes: memory, CPUs, pages.

Sources: proc_meminfo(5); Linux Documentation/admin-guide/cgroup-v2.rst (memory.max) and cgroup-v1/memory.rst
(memory.limit_in_bytes). Only reads.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.units import KIB

_UNLIMITED_V1: Final = 2**62
"""cgroup v1 writes "no limit" as the largest multiple of the page size below 2^63."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources of this machine.

    Attributes:
        ram_bytes: MemTotal.
        available_bytes: MemAvailable when read.
        memory_limit_bytes: the lowest limit of this process's control groups; None without one.
        cpus: CPUs this process may run on.
        page_bytes: memory page.
        huge_page_bytes: default size of huge pages; 0 if the kernel has none.
        huge_pages_total: reserved huge pages.
        huge_pages_free: reserved and not in use.
        swap_bytes: SwapTotal.
    """

    ram_bytes: int
    available_bytes: int
    memory_limit_bytes: int | None
    cpus: int
    page_bytes: int
    huge_page_bytes: int
    huge_pages_total: int
    huge_pages_free: int
    swap_bytes: int

    @property
    def usable_ram_bytes(self) -> int:
        """RAM, or the memory limit if that is lower; settings are sized by it."""
        return min(self.ram_bytes, self.memory_limit_bytes or self.ram_bytes)


def parse_meminfo(text: str) -> dict[str, int]:
    """Parse /proc/meminfo; values in bytes if the line says kB, else the plain number."""
    values: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isascii() and words[0].isdigit():
            values[name] = int(words[0]) * (KIB if words[1:] == ["kB"] else 1)
    return values


def parse_cgroups(text: str) -> dict[str, str]:
    """Return controller -> path of /proc/self/cgroup; the unified hierarchy (v2) is under ``""``."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _read(path: Path) -> str:
    """Return the text of a small file; empty if it does not exist or cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _lowest_limit(mount: Path, group: str, file_name: str) -> int | None:
    """Return the lowest number in `file_name` from `group` up to the root of the hierarchy."""
    limits: list[int] = []
    folder = mount / group.lstrip("/")
    for level in (folder, *folder.parents):
        text = _read(level / file_name).strip()
        if text.isascii() and text.isdigit() and int(text) < _UNLIMITED_V1:
            limits.append(int(text))
        if level == mount:
            break
    return min(limits, default=None)


def memory_limit(root: Path = Path("/"), process: str = "self") -> int | None:
    """Return the lowest memory limit, in bytes, of a process's control groups; None without one.

    Args:
        root: contains proc and sys; replaced in tests.
        process: its number, or ``self``.
    """
    groups = parse_cgroups(_read(root / "proc" / process / "cgroup"))
    mount = root / "sys/fs/cgroup"
    limits = []
    if "memory" in groups:
        limits.append(_lowest_limit(mount / "memory", groups["memory"], "memory.limit_in_bytes"))
    if "" in groups:
        limits.append(_lowest_limit(mount, groups[""], "memory.max"))
        limits.append(_lowest_limit(mount / "unified", groups[""], "memory.max"))
    return min((limit for limit in limits if limit is not None), default=None)


def read_machine(root: Path = Path("/")) -> Machine:
    """Return the facts of this machine.

    Args:
        root: contains proc and sys; replaced in tests.
    """
    meminfo = parse_meminfo(_read(root / "proc/meminfo"))
    ram_bytes = meminfo.get("MemTotal") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        ram_bytes=ram_bytes,
        available_bytes=meminfo.get("MemAvailable", ram_bytes),
        memory_limit_bytes=memory_limit(root),
        cpus=len(os.sched_getaffinity(0)),
        page_bytes=os.sysconf("SC_PAGE_SIZE"),
        huge_page_bytes=meminfo.get("Hugepagesize", 0),
        huge_pages_total=meminfo.get("HugePages_Total", 0),
        huge_pages_free=meminfo.get("HugePages_Free", 0),
        swap_bytes=meminfo.get("SwapTotal", 0),
    )
