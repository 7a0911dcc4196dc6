"""Reads and writes of other programs on the disks under test, in bytes per second.

I/O beyond PostgreSQL's own requests is mostly caused by them too: journals, copies, parity, written back by
kernel threads. So foreign I/O is not the remainder, but only I/O with a certain origin: requests to other
partitions of the same disk (Documentation/block/stat.rst), and requests of other control groups, to which the
kernel also charges write-back (io.stat, Documentation/admin-guide/cgroup-v2.rst). Both are lower bounds; the
larger one is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, BackingDevice, merged, resolve_backing
from app.probes.base.probe import Clock, Counters, Probe, ProbeContext, ProbeUnavailable, RawFile
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
