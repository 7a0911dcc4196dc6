"""Other programs: their I/O on the disks under test, and maintenance of whole filesystems.

I/O beyond PostgreSQL's own requests is mostly caused by them too: journals, copies, parity, written back by
kernel threads. So foreign I/O is not the remainder, but only I/O with a certain origin: requests to other
partitions of the same disk (Documentation/block/stat.rst), and requests of other control groups, to which the
kernel also charges write-back (io.stat, Documentation/admin-guide/cgroup-v2.rst). Both are lower bounds; the
larger one is recorded.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.errors import ProgramError
from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, BackingDevice, merged, resolve_backing
from app.probes.base.probe import (
    Ask,
    Clock,
    Counters,
    Probe,
    ProbeContext,
    ProbeUnavailable,
    RawFile,
    ask_program,
)
from app.probes.sources.block_devices import SECTOR_BYTES, parse_device_stat

RESCAN_S: Final = 10.0
MOST_GROUPS: Final = 64
_READ_SECTORS, _WRITE_SECTORS = 2, 6
Bytes = tuple[int, int]
"""Read and written."""


def parse_io_stat(text: bytes, devices: Iterable[str]) -> Bytes:
    """Return the bytes that a control group read from and wrote to some devices, by ``major:minor``.

    Lines are ``254:0 rbytes=1 wbytes=2 rios=3 ...``; the kernel omits devices without requests.
    """
    wanted = {device.encode() for device in devices}
    read = written = 0
    for line in text.splitlines():
        device, *pairs = line.split()
        if device in wanted:
            values = dict(pair.split(b"=", 1) for pair in pairs if b"=" in pair)
            read += int(values.get(b"rbytes", 0))
            written += int(values.get(b"wbytes", 0))
    return read, written


def other_groups(path: str, own: Iterable[str], root: Path) -> list[Path]:
    """Return the io.stat files of the siblings of a control group and of its ancestors.

    Args:
        path: control group of the server, as in /proc/PID/cgroup.
        own: our control groups: they and their ancestors are excluded.
        root: where version 2 is mounted.
    """
    ours = [path, *own]
    found: list[Path] = []
    parent = root
    for name in [part for part in path.split("/") if part]:
        for folder in sorted(parent.iterdir()) if parent.is_dir() else ():
            inside = f"/{folder.relative_to(root)}"
            if not any(each == inside or each.startswith(f"{inside}/") for each in ours):
                stat = folder / "io.stat"
                if stat.is_file():
                    found.append(stat)
        parent = parent / name
    return found[:MOST_GROUPS]


class ForeignIoProbe(Probe):
    """Bytes read and written by others on the counted disks, both lower bounds."""

    id = "foreign-io"
    label = tr("I/O of other processes")

    def __init__(
        self,
        resolve: Callable[[str], Backing] = resolve_backing,
        sys: str = "/sys",
        proc: str = "/proc",
        clock: Clock = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._block = Path(sys, "block")
        self._groups = Path(sys, "fs/cgroup")
        self._proc = Path(proc)
        self._clock = clock
        self._context: ProbeContext | None = None
        self._disks: list[_Disk] = []
        self._numbers: list[str] = []
        self._files: dict[Path, _Group] = {}
        self._scanned_s = 0.0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        devices = merged(self._resolve(folder) for folder in context.server.folders)
        for device in devices:
            if device.is_counted and device.partitions:
                self._disks.append(_Disk(device, self._block, self._clock))
            if device.is_leaf:
                self._numbers.append((self._block / device.name / "dev").read_text("ascii").strip())
        self._context = context
        self._scan()
        if not self._disks and not self._files:
            raise ProbeUnavailable(
                tr(
                    "I/O of other processes cannot be separated: the server has the whole disk, and this "
                    "kernel does not account I/O of control groups"
                )
            )

    def _scan(self) -> None:
        """Find the sibling control groups, which come and go."""
        self._scanned_s = self._clock()
        pid = None if self._context is None else self._context.server.postmaster_pid
        path = None if pid is None else self._group_of(str(pid))
        if path is None or not (self._groups / "cgroup.controllers").is_file():
            return
        own = filter(None, (self._group_of("self"),))
        present = set(other_groups(path, own, self._groups))
        for gone in self._files.keys() - present:
            self._files.pop(gone).file.close()
        for stat in sorted(present - self._files.keys()):
            try:
                self._files[stat] = _Group(RawFile(str(stat)), Counters(self._clock))
            except OSError:  # it was removed just now
                continue

    def _group_of(self, pid: str) -> str | None:
        try:
            text = (self._proc / pid / "cgroup").read_text("utf-8", "surrogateescape")
        except OSError:
            return None
        return next((line[3:] for line in text.splitlines() if line.startswith("0::")), None)

    @override
    def read(self) -> list[Sample]:
        if self._clock() - self._scanned_s >= RESCAN_S:
            self._scan()
        by_partition = [rates for disk in self._disks if (rates := disk.read()) is not None]
        by_group = []
        for stat, group in list(self._files.items()):
            try:
                rates = group.read(self._numbers)
            except OSError:  # it was removed
                self._files.pop(stat).file.close()
                continue
            if rates is not None:
                by_group.append(rates)
        if not by_partition and not by_group:
            return []
        totals = [
            [sum(rates[place] for rates in each) for each in (by_partition, by_group)] for place in (0, 1)
        ]
        return [
            Sample("others.read_bytes", round(max(totals[0]))),
            Sample("others.write_bytes", round(max(totals[1]))),
        ]

    @override
    def close(self) -> None:
        for disk in self._disks:
            disk.close()
        for group in self._files.values():
            group.file.close()
        self._disks, self._files, self._numbers = [], {}, []


class _Disk:
    """A disk and its partitions under test: the rest of its I/O is foreign."""

    def __init__(self, device: BackingDevice, block: Path, clock: Clock) -> None:
        self._counters = Counters(clock)
        self._highest = [0, 0]
        folder = block / device.name
        self._whole = RawFile(str(folder / "stat"))
        self._parts = [RawFile(str(folder / part / "stat")) for part in device.partitions]

    def read(self) -> tuple[float, float] | None:
        """Return bytes read and written per second; None at the first read.

        The files are not read at the same moment: a difference that shrinks because of that counts as no
        gain.
        """
        whole = parse_device_stat(self._whole.read())
        parts = [parse_device_stat(part.read()) for part in self._parts]
        for place, field in enumerate((_READ_SECTORS, _WRITE_SECTORS)):
            others = whole[field] - sum(part[field] for part in parts)
            self._highest[place] = max(self._highest[place], others)
        gained = self._counters.step(self._highest)
        if gained is None:
            return None
        read, written = (gain * SECTOR_BYTES / gained.interval_s for gain in gained.deltas)
        return read, written

    def close(self) -> None:
        for file in (self._whole, *self._parts):
            file.close()


class _Group:
    """A control group of other programs."""

    def __init__(self, file: RawFile, counters: Counters) -> None:
        self.file = file
        self._counters = counters

    def read(self, devices: Iterable[str]) -> tuple[float, float] | None:
        gained = self._counters.step(parse_io_stat(self.file.read(), devices))
        if gained is None:
            return None
        read, written = (gain / gained.interval_s for gain in gained.deltas)
        return read, written


# Programs that trim, check or move whole filesystems, found in /proc by name, and scrubs of ZFS.
#
# Timers of the distributions start fstrim and scrubs, at night or weekly: short, busy and easily overlooked.
# The kernel's own work is recorded elsewhere: arrays have their own series, balances of btrfs are in
# /sys/fs/btrfs/UUID/exclusive_operation (btrfs-balance(8)).
#
# The kernel scrubs and resilvers ZFS pools without a process; only the line ``scan:`` of zpool-status(8)
# shows it. That needs no root and is read every ten seconds, in its own thread.


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
            raise ProbeUnavailable(tr("/proc is not mounted here"))
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
    label = tr("ZFS pool scrub")
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
            raise ProbeUnavailable(tr("the data directory is not on {filesystem}").format(filesystem="ZFS"))
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
