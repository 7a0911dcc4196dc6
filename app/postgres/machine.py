"""Facts of the machine for computing server settings and data sizes: memory and CPUs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app.process.memory import memory_limits, parse_meminfo


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources of this machine.

    Attributes:
        ram_bytes: MemTotal.
        memory_limit_bytes: the lowest limit of this process's control groups; None without one.
        cpus: CPUs this process may run on.
    """

    ram_bytes: int
    memory_limit_bytes: int | None
    cpus: int

    @property
    def usable_ram_bytes(self) -> int:
        """RAM, or the memory limit if that is lower; settings are sized by it."""
        return min(self.ram_bytes, self.memory_limit_bytes or self.ram_bytes)


def read_machine(root: Path = Path("/")) -> Machine:
    """Return the facts of this machine.

    Args:
        root: contains proc and sys; replaced in tests.
    """
    try:
        ram_bytes = parse_meminfo((root / "proc/meminfo").read_bytes())["MemTotal"]
    except (OSError, KeyError):
        ram_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = memory_limits(root / "proc", root / "sys")
    return Machine(ram_bytes, limits[0].size_bytes if limits else None, len(os.sched_getaffinity(0)))
