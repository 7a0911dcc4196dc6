"""Samples from kernel counters of a remote Linux and from tables of remote BSDs and illumos.

Linux: the same counters, arithmetic and metrics as in the probes of this machine; intervals are measured by
the remote clock since boot (/proc/uptime, in steps of 10 ms).

BSDs and illumos: output of iostat, vmstat, gstat and zpool, once a second. NOT TESTED ON A REAL SYSTEM: based
on manuals, sources and published output (tests/data/probes/remote names each). Columns are found by their
headings, unknown ones are skipped, and the first report of every program is discarded because it covers the
time since boot. OpenBSD's iostat and all vmstats do not separate reads from writes, nor count memory as Linux
does: those metrics stay unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from app.domain.metrics import Sample
from app.probes.base.probe import Counters, rounded
from app.probes.sources.block_devices import (
    Activity,
    activity,
    device_samples,
    parse_device_stat,
    storage_samples,
)
from app.probes.sources.cpu import IOWAIT, cpu_counters, cpu_samples, parse_cpu_line
from app.probes.sources.memory import memory_samples
from app.probes.sources.pressure import RESOURCES, pressure_samples

USUAL_TICKS_PER_S: Final = 100
USUAL_PAGE_BYTES: Final = 4096
_KIB: Final = 1024
_MOST_DEVICES: Final = 64


@dataclass(frozen=True, slots=True)
class LinuxUnits:
    """Units of a machine's counters.

    Attributes:
        ticks_per_s: of CPU times.
        page_bytes: of swapped pages.
    """

    ticks_per_s: int = USUAL_TICKS_PER_S
    page_bytes: int = USUAL_PAGE_BYTES


class LinuxSamples:
    """Makes samples from the lines of one connection."""

    def __init__(self, units: LinuxUnits) -> None:
        self._units = units
        self._counters: dict[str, Counters] = {}
        self._highest_iowait = 0

    def take(self, fields: tuple[str, ...]) -> list[Sample]:
        """Return the samples since the previous line; skip unreadable values.

        Args:
            fields: ``name=value`` each, of a `LineKind.SAMPLE` without its number.
        """
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        time_s = _float(values.get("uptime", ""))
        if time_s is None:
            return []
        return [
            *self._cpu(values.get("cpu", ""), time_s),
            *_memory(values.get("memory", "")),
            *self._swap_in(values.get("swap_in", ""), time_s),
            *self._pressure(values, time_s),
            *self._devices(values, time_s),
        ]

    def _of(self, name: str) -> Counters:
        return self._counters.setdefault(name, Counters())

    def _cpu(self, text: str, time_s: float) -> list[Sample]:
        try:
            times = parse_cpu_line(b"cpu " + text.encode())
        except ValueError:
            return []
        self._highest_iowait = max(self._highest_iowait, times[IOWAIT])
        difference = self._of("cpu").step(cpu_counters(times, self._highest_iowait), time_s)
        return [] if difference is None else cpu_samples(difference, self._units.ticks_per_s)

    def _swap_in(self, text: str, time_s: float) -> list[Sample]:
        if not _is_count(text):
            return []
        difference = self._of("swap_in").step((int(text),), time_s)
        if difference is None:
            return []
        value = round(difference.deltas[0] * self._units.page_bytes / difference.interval_s)
        return [Sample("memory.swap_in", value)]

    def _pressure(self, values: Mapping[str, str], time_s: float) -> list[Sample]:
        samples: list[Sample] = []
        for resource in RESOURCES:
            words = values.get(f"pressure.{resource}", "").split()
            pairs = zip(words[::2], words[1::2], strict=False)
            totals = {
                kind: int(total.removeprefix("total="))
                for kind, total in pairs
                if _is_count(total.removeprefix("total="))
            }
            if totals:
                samples += pressure_samples(resource, totals, self._of(f"pressure.{resource}"), time_s)
        return samples

    def _devices(self, values: Mapping[str, str], time_s: float) -> list[Sample]:
        """Return samples of each disk, and their sum if all disks are readable."""
        samples: list[Sample] = []
        counted: list[Activity] = []
        names = [name for name in values if name.startswith("device.")][:_MOST_DEVICES]
        for name in names:
            try:
                difference = self._of(name).step(parse_device_stat(values[name].encode()), time_s)
            except ValueError:
                continue
            if difference is not None:
                gained = activity(difference, counts_flushes=True)
                samples += device_samples(name.removeprefix("device."), gained)
                counted.append(gained)
        if counted and len(counted) == len(names):
            samples += storage_samples(counted)
        return samples


def _memory(text: str) -> list[Sample]:
    """Return memory from ``Name: KiB`` pairs in one line."""
    words = text.split()
    fields = {
        name.removesuffix(":").encode(): int(value) * _KIB
        for name, value in zip(words[::2], words[1::2], strict=False)
        if _is_count(value)
    }
    return memory_samples(fields)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None


_KIB_OF_TABLES: Final = 1024.0
_MIB: Final = 1024.0 * 1024.0
_MOST_ROWS: Final = 64
_SUFFIXES: Final = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4, "P": 1024.0**5}
_SCALED: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)B?")
_NOT_DISKS: Final = re.compile(r"(pass|cd|fd|lofi|ramdisk|sa)\d+|.*:.*|.*/.*")


@dataclass(frozen=True, slots=True)
class Row:
    """A program's figures for one device in one second; None for missing ones.

    Attributes:
        reads: per second.
        writes: per second.
        read_bytes: per second.
        write_bytes: per second.
        read_ms: mean time of a read.
        write_ms: mean time of a write.
        queue: requests in flight.
        busy_percent: of the time.
    """

    reads: float
    writes: float
    read_bytes: float
    write_bytes: float
    read_ms: float | None = None
    write_ms: float | None = None
    queue: float | None = None
    busy_percent: float | None = None


Rows = Mapping[str, Row]


def row_samples(prefix: str, rows: Sequence[Row], instance: str) -> list[Sample]:
    """Return the sum of rows, and times as the mean over all their requests."""
    samples = [
        Sample(f"{prefix}.reads", rounded(sum(row.reads for row in rows)), instance),
        Sample(f"{prefix}.writes", rounded(sum(row.writes for row in rows)), instance),
        Sample(f"{prefix}.read_bytes", round(sum(row.read_bytes for row in rows)), instance),
        Sample(f"{prefix}.write_bytes", round(sum(row.write_bytes for row in rows)), instance),
    ]
    queues = [row.queue for row in rows if row.queue is not None]
    if len(queues) == len(rows):
        samples.append(Sample(f"{prefix}.queue", rounded(sum(queues)), instance))
    for name, pairs in (
        ("read_await", [(row.reads, row.read_ms) for row in rows]),
        ("write_await", [(row.writes, row.write_ms) for row in rows]),
    ):
        requests = sum(count for count, _ in pairs)
        if requests and all(ms is not None for _, ms in pairs):
            spent = sum(count * (ms or 0.0) for count, ms in pairs)
            samples.append(Sample(f"{prefix}.{name}", round(spent / requests, 3), instance))
    return samples


def device_row_samples(rows: Rows) -> list[Sample]:
    """Return samples of each device."""
    samples: list[Sample] = []
    for name, row in rows.items():
        samples += row_samples("device", [row], name)
        if row.busy_percent is not None:
            samples.append(Sample("device.utilisation", min(100, round(row.busy_percent, 1)), name))
    return samples


def number(text: str) -> float | None:
    """Return a number with an optional suffix of powers of 1024; None for anything else."""
    matched = _SCALED.fullmatch(text)
    if matched is None:
        return None
    value = float(matched[1]) * _SUFFIXES[matched[2]]
    return value if math.isfinite(value) and value < 1e15 else None


@dataclass(slots=True)
class _Block:
    """Rows of one report, and the size of the previous one."""

    rows: dict[str, Row] = field(default_factory=dict)
    expected: int = 0
    reports: int = 0

    def finish(self) -> Rows | None:
        """Return the report and start the next; None if it is empty or the very first."""
        rows, self.rows = self.rows, {}
        if not rows:
            return None
        self.expected = len(rows)
        self.reports += 1
        return rows if self.reports > 1 else None

    def add(self, name: str, row: Row) -> Rows | None:
        """Add a row; return the report if that completes it."""
        complete = None
        if name in self.rows:
            complete = self.finish()
        if len(self.rows) < _MOST_ROWS:
            self.rows[name] = row
        if self.reports and len(self.rows) == self.expected:
            return self.finish() or complete
        return complete


class ColumnReader:
    """Reports with headings and one line per device: iostat -x and gstat."""

    def __init__(self, parse: Callable[[Mapping[str, str]], tuple[str, Row] | None]) -> None:
        self._parse = parse
        self._columns: tuple[str, ...] = ()
        self._block = _Block()

    def take(self, line: str) -> Rows | None:
        """Add a line; return the report that it completes."""
        words = line.replace("|", " ").split()
        if _is_heading(words):
            self._columns = _distinct(words)
            return self._block.finish()
        if not self._columns or len(words) != len(self._columns):
            return None
        found = self._parse(dict(zip(self._columns, words, strict=True)))
        return None if found is None else self._block.add(*found)


def _is_heading(words: Sequence[str]) -> bool:
    return any(word in {"device", "Name"} for word in words) and any(word in {"r/s", "rps"} for word in words)


def _distinct(words: Sequence[str]) -> tuple[str, ...]:
    """Return headings with a number appended to repeated ones: kBps, kBps2."""
    seen: dict[str, int] = {}
    names = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        names.append(word if seen[word] == 1 else f"{word}{seen[word]}")
    return tuple(names)


def parse_extended(fields: Mapping[str, str]) -> tuple[str, Row] | None:
    """Parse a line of ``iostat -x`` (FreeBSD) or ``iostat -xn`` (illumos)."""
    values = {key: number(text) for key, text in fields.items()}
    queue = values.get("qlen")
    if queue is None and values.get("actv") is not None:
        queue = (values.get("actv") or 0.0) + (values.get("wait") or 0.0)
    return _of_disk(fields.get("device", ""), values, ("kr/s", "kw/s"), queue, values.get("%b"))


def parse_gstat(fields: Mapping[str, str]) -> tuple[str, Row] | None:
    """Parse a line of ``gstat -B -p`` (FreeBSD)."""
    values = {key: number(text) for key, text in fields.items()}
    name = fields.get("Name", "")
    return _of_disk(name, values, ("kBps", "kBps2"), values.get("L(q)"), values.get("%busy"))


def _of_disk(
    name: str,
    values: Mapping[str, float | None],
    sizes: tuple[str, str],
    queue: float | None,
    busy: float | None,
) -> tuple[str, Row] | None:
    """Return the row of a disk; None for other devices and if a figure is missing.

    Args:
        name: of the device.
        values: by their headings.
        sizes: headings of bytes read and written, in KiB per second.
        queue: waiting and active requests.
        busy: percent of the time.
    """
    reads, writes, read_kib, write_kib = (values.get(key) for key in ("r/s", "w/s", *sizes))
    if not name or _NOT_DISKS.fullmatch(name):
        return None
    if reads is None or writes is None or read_kib is None or write_kib is None:
        return None
    sizes_bytes = read_kib * _KIB_OF_TABLES, write_kib * _KIB_OF_TABLES
    return name, Row(reads, writes, *sizes_bytes, values.get("ms/r"), values.get("ms/w"), queue, busy)


class NetBsdReader:
    """``iostat -x`` of NetBSD, with blanks in its headings: KB/t, r/s, time, MB/s; KB/t, w/s, time, MB/s."""

    _HEADINGS: Final = ("read", "KB/t", "r/s", "time", "MB/s", "write", "KB/t", "w/s", "time", "MB/s")

    def __init__(self) -> None:
        self._is_known = False
        self._block = _Block()

    def take(self, line: str) -> Rows | None:
        """Add a line; return the report that it completes."""
        words = line.split()
        if words[:1] == ["device"]:
            self._is_known = words[1:] == list(self._HEADINGS)
            return self._block.finish()
        values = [number(word) for word in words[1:]]
        if not self._is_known or len(words) != 9 or _NOT_DISKS.fullmatch(words[0]):
            return None
        known = [value for value in values if value is not None]
        if len(known) != len(values):
            return None
        return self._block.add(words[0], Row(known[1], known[5], known[3] * _MIB, known[7] * _MIB))


class WideReader:
    """``iostat -d -D`` of DragonFly: devices side by side, each with KB/t, rtps, MBr/s, wtps, MBw/s."""

    _COLUMNS: Final = ("KB/t", "rtps", "MBr/s", "wtps", "MBw/s")

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._above: tuple[str, ...] = ()
        self._reports = 0

    def take(self, line: str) -> Rows | None:
        """Add a line; return the report that it is."""
        words = tuple(line.split())
        if words[: len(self._COLUMNS)] == self._COLUMNS:
            fits = len(words) == len(self._above) * len(self._COLUMNS)
            self._names = self._above if fits else ()
            return None
        values = [number(word) for word in words]
        known = [value for value in values if value is not None]
        if len(known) != len(values):
            self._above = words
            return None
        if not self._names or len(known) != len(self._names) * len(self._COLUMNS):
            return None
        self._reports += 1
        if self._reports == 1:
            return None
        step = len(self._COLUMNS)
        groups = [known[start : start + step] for start in range(0, len(known), step)]
        return {
            name: Row(reads, writes, read_mib * _MIB, write_mib * _MIB)
            for name, (_, reads, read_mib, writes, write_mib) in zip(self._names, groups, strict=True)
            if not _NOT_DISKS.fullmatch(name)
        }


class PoolReader:
    """``zpool iostat -v POOL 1``: the disks of a pool are the rows without children."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, str, Row | None]] = []
        self._reports = 0

    def take(self, line: str) -> Rows | None:
        """Add a line; return the disks of the report that it completes."""
        words = line.split()
        if words and set(words[0]) == {"-"}:
            return self._finish()
        if len(words) != 7 or len(self._rows) >= _MOST_ROWS * 4:
            return None
        values = [number(word) for word in words[3:]]
        row = None
        if not any(value is None for value in values):
            reads, writes, read_bytes, write_bytes = (value or 0.0 for value in values)
            row = Row(reads, writes, read_bytes, write_bytes)
        if words[0] != "pool":
            self._rows.append((len(line) - len(line.lstrip()), words[0], row))
        return None

    def _finish(self) -> Rows | None:
        rows, self._rows = self._rows, []
        if not rows:
            return None
        self._reports += 1
        if self._reports == 1:
            return None
        below = [*(depth for depth, _, _ in rows[1:]), -1]
        return {
            name: row
            for (depth, name, row), next_depth in zip(rows, below, strict=True)
            if row is not None and depth > rows[0][0] and next_depth <= depth
        }


class VmstatReader:
    """vmstat: user, system and idle time in its last three columns, in per cent of all CPUs."""

    def __init__(self, cpus: int) -> None:
        self._cpus = cpus
        self._is_known = False
        self._reports = 0

    def take(self, line: str) -> list[Sample]:
        """Add a line; return the CPU time of its second."""
        words = line.split()
        if words[-3:] == ["us", "sy", "id"]:
            self._is_known = True
            return []
        values = [number(word) for word in words[-3:]]
        if not self._is_known or len(words) < 6 or any(value is None or value > 100 for value in values):
            return []
        self._reports += 1
        if self._reports == 1 or self._cpus < 1:
            return []
        user, system = (value or 0.0 for value in values[:2])
        scale = self._cpus / 100
        return [Sample("cpu.user", round(user * scale, 3)), Sample("cpu.system", round(system * scale, 3))]


DeviceReader = ColumnReader | NetBsdReader | WideReader

DEVICE_READERS: Final[Mapping[str, Callable[[], DeviceReader]]] = MappingProxyType(
    {
        "iostat-x": lambda: ColumnReader(parse_extended),
        "iostat-netbsd": NetBsdReader,
        "iostat-wide": WideReader,
        "gstat": lambda: ColumnReader(parse_gstat),
    }
)
"""By program, as `machine.sh` names it."""


class TableSamples:
    """Makes samples from the output of one connection's programs.

    Args:
        cpus: of the machine; 0 if unknown.
        sources: devices or partitions of the data; for a pool, its disks.
    """

    def __init__(self, cpus: int, sources: Sequence[str]) -> None:
        self._sources = tuple(sources)
        self._devices = {name: make() for name, make in DEVICE_READERS.items()}
        self._pool = PoolReader()
        self._vmstat = VmstatReader(cpus)

    def take(self, program: str, line: str) -> list[Sample]:
        """Return the samples that a line completes."""
        if program == "vmstat":
            return self._vmstat.take(line)
        if program == "zpool-iostat":
            disks = self._pool.take(line)
            return row_samples("storage", list(disks.values()), "") if disks else []
        reader = self._devices.get(program)
        rows = reader.take(line) if reader is not None else None
        if not rows:
            return []
        samples = device_row_samples(rows)
        below = {disk for source in self._sources if (disk := disk_of(source, rows)) is not None}
        if below and len(below) == len({disk_of(source, rows) or source for source in self._sources}):
            samples += row_samples("storage", [rows[name] for name in sorted(below)], "")
        return samples


def disk_of(source: str, disks: Rows) -> str | None:
    """Return the disk of a partition by its name: ada0p2, da1s1a, wd0a, c1t0d0s0; None if there is none."""
    name = source.rsplit("/", 1)[-1]
    fitting = [
        disk
        for disk in disks
        if name == disk or re.fullmatch(re.escape(disk) + r"(s\d+[a-p]?|p\d+|[a-p])", name)
    ]
    return max(fitting, key=len, default=None)
