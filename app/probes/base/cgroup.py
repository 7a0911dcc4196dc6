"""Limits that a control group sets for this process: containers and services often have some.

Sources: Documentation/admin-guide/cgroup-v2.rst (cpu.max, memory.max), cgroup-v1/memory.rst and
scheduler/sched-bwc.rst (cpu.cfs_quota_us). The tightest limit on the way up to the root counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.probes.base.mounts import Mount, parse_mountinfo

_NO_LIMIT: Final = 2**60
"""Version 1 writes about 2^63 for "none"."""


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """The tightest limits.

    Attributes:
        cpus: CPU time per time; None without a limit.
        memory_bytes: memory including page cache; None without a limit.
    """

    cpus: float | None
    memory_bytes: int | None


def read_cgroup_limits(proc: Path = Path("/proc")) -> CgroupLimits:
    """Return the limits of this process; no limits where control groups cannot be seen.

    Raises:
        OSError: /proc cannot be read.
    """
    mounts = parse_mountinfo((proc / "self/mountinfo").read_text(errors="surrogateescape"))
    cpus: list[float] = []
    memory: list[int] = []
    for controllers, path in _memberships((proc / "self/cgroup").read_text()):
        for folder in _folders(mounts, controllers, path):
            cpus += _cpu_limit(folder)
            memory += _memory_limit(folder)
    return CgroupLimits(min(cpus, default=None), min(memory, default=None))


def _memberships(text: str) -> Iterator[tuple[str, str]]:
    """Yield controllers (empty for version 2) and path from /proc/self/cgroup (cgroups(7))."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path


def _folders(mounts: tuple[Mount, ...], controllers: str, path: str) -> Iterator[Path]:
    """Yield the folders of a control group and all above it that can be seen."""
    for mount in mounts:
        if mount.filesystem != ("cgroup" if controllers else "cgroup2"):
            continue
        if controllers and not set(controllers.split(",")) & set(mount.super_options):
            continue
        inside = path.removeprefix(mount.root) if mount.root != "/" else path
        folder = Path(mount.mount_point, inside.lstrip("/"))
        top = Path(mount.mount_point)
        while folder != top and top in folder.parents:
            yield folder
            folder = folder.parent
        yield top


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:  # not this version's file, or not this controller's
        return []


def _cpu_limit(folder: Path) -> list[float]:
    words = _words(folder / "cpu.max") or [
        *_words(folder / "cpu.cfs_quota_us"),
        *_words(folder / "cpu.cfs_period_us"),
    ]
    if len(words) != 2 or words[0] in {"max", "-1"}:
        return []
    return [int(words[0]) / int(words[1])]


def _memory_limit(folder: Path) -> list[int]:
    words = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
    if len(words) != 1 or words[0] == "max" or int(words[0]) >= _NO_LIMIT:
        return []
    return [int(words[0])]
