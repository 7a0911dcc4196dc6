"""Programs that trim, check or move whole filesystems, found in /proc by name, and scrubs of ZFS.

Timers of the distributions start fstrim and scrubs, at night or weekly: short, busy and easily overlooked.
The kernel's own work is recorded elsewhere: arrays have their own series, balances of btrfs are in
/sys/fs/btrfs/UUID/exclusive_operation (btrfs-balance(8)).

The kernel scrubs and resilvers ZFS pools without a process; only the line ``scan:`` of zpool-status(8) shows
it. That needs no root and is read every ten seconds, in its own thread.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.errors import ProgramError
from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, resolve_backing
from app.probes.base.probe import Ask, Clock, Probe, ProbeContext, ProbeUnavailable, RawFile, ask_program

ALWAYS: Final = frozenset(
    {
        *("fstrim", "blkdiscard", "xfs_scrub", "xfs_fsr", "e2scrub", "e4defrag", "badblocks", "mdcheck"),
        *("fsck", "e2fsck", "xfs_repair", "btrfs-convert", "duperemove", "bees"),
    }
)
"""Programs that always count."""

BY_WORDS: Final = {
    "btrfs": re.compile(rb"\0(scrub\0(start|resume)|balance\0|filesystem\0(defragment|resize)|device\0)"),
    "zpool": re.compile(rb"\0(trim|replace|initialize|wait)\0"),
}
"""Programs that count with some arguments: name, and pattern over /proc/PID/cmdline."""

PROCESSES_A_SECOND: Final = 100
"""Processes that may be listed per second: machines with many are scanned less often."""

_LONGEST_NAME: Final = 15
_EARLY_S: Final = 0.5
"""A tick may come a little early."""


def maintenance_of(name: str, command: bytes) -> str:
    """Return a process's kind of maintenance, as users call it; empty for all other processes.

    Args:
        name: as in /proc/PID/comm, at most 15 characters.
        command: as in /proc/PID/cmdline, words ending with NUL.
    """
    if name in ALWAYS:
        return name
    pattern = BY_WORDS.get(name)
    found = None if pattern is None else pattern.search(command)
    if found is None:
        return ""
    return f"{name} {found[1].decode(errors='replace').strip(chr(0)).replace(chr(0), ' ')}"


class MaintenanceProbe(Probe):
    """Number and names of running maintenance programs. Only new processes are read."""

    id = "maintenance"
    label = tr("Trim, scrub and check by other programs")

    def __init__(self, proc: str = "/proc", sys: str = "/sys", clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._next_s = 0.0
        self._proc = Path(proc)
        self._btrfs = Path(sys, "fs/btrfs")
        self._operations: list[RawFile] = []
        self._known: dict[str, str] = {}
        self._is_open = False

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        if not (self._proc / "self" / "stat").exists():
            raise ProbeUnavailable(tr("/proc is not mounted, so other programs cannot be seen"))
        for path in sorted(self._btrfs.glob("*/exclusive_operation")):
            self._operations.append(RawFile(str(path)))
        self._next_s = self._clock()
        self._is_open = True

    @override
    def read(self) -> list[Sample]:
        if not self._is_open:
            return []
        if self._clock() >= self._next_s:
            self._list()
        running = [what for what in self._known.values() if what]
        running += self._exclusive_operations()
        samples = [Sample("others.maintenance", len(running))]
        return samples + [Sample("others.maintaining", 1, what) for what in sorted(set(running))]

    def _list(self) -> None:
        """Find processes that came and went; listing takes the kernel some 5 µs for each."""
        present = set(filter(str.isdigit, os.listdir(self._proc)))  # noqa: PTH208 - a tenth of its cost
        for pid in self._known.keys() - present:
            del self._known[pid]
        for pid in present - self._known.keys():
            self._known[pid] = self._look_at(pid)
        self._next_s = self._clock() + max(0.0, len(present) / PROCESSES_A_SECOND - _EARLY_S)

    def _look_at(self, pid: str) -> str:
        folder = self._proc / pid
        try:
            name = (folder / "comm").read_text("utf-8", "replace").strip()[:_LONGEST_NAME]
            command = (folder / "cmdline").read_bytes() if name in BY_WORDS else b""
        except OSError:  # it ended, or belongs to others and is hidden
            return ""
        return maintenance_of(name, command)

    def _exclusive_operations(self) -> list[str]:
        found = []
        for file in self._operations:
            try:
                what = file.read().decode("ascii", "replace").strip()
            except OSError:  # it was unmounted
                continue
            if what and what != "none":
                found.append(f"btrfs {what}")
        return found

    @override
    def close(self) -> None:
        for file in self._operations:
            file.close()
        self._operations, self._known = [], {}
        self._is_open = False


EVERY_S: Final = 10.0
_SCAN: Final = re.compile(r"^\s*scan:\s+(scrub|resilver) in progress since\b", re.MULTILINE)


def parse_scan(text: str) -> str:
    """Return ``scrub`` or ``resilver`` if one of them runs; else an empty string."""
    found = _SCAN.search(text)
    return found[1] if found else ""


class PoolScanProbe(Probe):
    """A scrub or resilver of the pools below data and WAL, reported like maintenance programs."""

    id = "pool-scan"
    label = tr("Scrub of ZFS pools")
    blocking = True

    def __init__(
        self,
        resolve: Callable[[str], Backing] = resolve_backing,
        ask: Ask = ask_program,
        clock: Clock = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._ask = ask
        self._clock = clock
        self._pools: list[str] = []
        self._scans: list[str] = []
        self._next_s = 0.0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        pools = {self._resolve(folder).pool for folder in context.server.folders}
        self._pools = sorted(filter(None, pools))
        if not self._pools:
            raise ProbeUnavailable(tr("no ZFS pool is below the data directory"))
        self._next_s = self._clock()

    @override
    def read(self) -> list[Sample]:
        if not self._pools:
            return []
        if self._clock() >= self._next_s:
            self._next_s = self._clock() + EVERY_S
            try:
                answers = [self._ask(("zpool", "status", pool)) for pool in self._pools]
            except ProgramError as err:
                raise ProbeUnavailable(err.message) from err
            self._scans = sorted({scan for answer in answers if (scan := parse_scan(answer))})
        return [Sample("others.maintaining", 1, f"zpool {scan}") for scan in self._scans]

    @override
    def close(self) -> None:
        self._pools, self._scans = [], []
