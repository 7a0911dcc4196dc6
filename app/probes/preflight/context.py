"""The data that the preflight checks look at, gathered once, and the findings they return."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.domain.json_value import Json
from app.probes.base.backing_devices import Backing, Mount
from app.probes.base.fact_tree import Facts, file_fact
from app.probes.base.probe import Clock, ProbeUnavailable
from app.probes.facts.environment import FactSources
from app.probes.facts.machine import memory_facts, on_battery, power_facts, processor_facts
from app.probes.facts.storage import attempt_mount
from app.probes.sources.cpu import TICKS_PER_S, parse_cpu_line
from app.probes.sources.pressure import parse_pressure
from app.probes.sources.processes import parse_process_stat
from app.process.memory import control_groups, memory_limits

# --- Findings.


class Severity(StrEnum):
    """How much a finding matters."""

    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class PreflightFinding:
    """A condition that may spoil a measurement.

    Attributes:
        code: stable name.
        severity: a warning makes results doubtful; a note helps to interpret them.
        message: the finding.
        hint: what to do; may be empty.
        evidence: the numbers behind it.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    evidence: Facts = field(default_factory=dict)


# --- Other activity: CPU of other programs, steal and pressure over a short window.

WINDOW_S: Final = 0.7
_TOP: Final = 3
_LEAST_CORES: Final = 0.02
_OWN: Final = "pgfooting-helpe"
"""The kernel's 15 characters of the helper's name: it has just inspected disks for us, and sleeps soon."""


@dataclass(frozen=True, slots=True)
class BusyProcess:
    """A process that used CPU in the window.

    Attributes:
        name: as in /proc/PID/stat.
        pid: process id.
        cores: CPU used.
    """

    name: str
    pid: int
    cores: float


@dataclass(frozen=True, slots=True)
class Load:
    """Activity of the machine over a window.

    Attributes:
        cpus: processors of the machine.
        foreign_cores: CPU used by everything but this process and the helper.
        steal_share: share of all CPU time that a hypervisor took, 0 to 1.
        pressure: shares of time 0 to 1 by ``io_some``, ``memory_some`` ...; empty without PSI.
        busiest: other processes, the busiest first.
    """

    cpus: int
    foreign_cores: float
    steal_share: float
    pressure: dict[str, float] = field(default_factory=dict)
    busiest: tuple[BusyProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class _Look:
    time_s: float
    machine: tuple[int, ...]
    own_s: float
    pressure: dict[str, int]
    processes: dict[int, tuple[str, int]]


def measure_load(
    window_s: float = WINDOW_S,
    proc: Path = Path("/proc"),
    clock: Clock = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Load:
    """Watch the machine for `window_s`.

    Raises:
        OSError: /proc cannot be read.
    """
    first = _look(proc, clock)
    sleep(window_s)
    second = _look(proc, clock)
    length_s = max(second.time_s - first.time_s, 1e-6)
    gains = [new - old for new, old in zip(second.machine, first.machine, strict=True)]
    user, nice, system, _idle, _iowait, irq, softirq, steal = gains
    used = (user + nice + system + irq + softirq) / TICKS_PER_S - (second.own_s - first.own_s)
    for pid, (name, ticks) in second.processes.items():
        if name == _OWN:  # one that was not there in the first look used all of it meanwhile
            used -= (ticks - first.processes.get(pid, (name, 0))[1]) / TICKS_PER_S
    total = max(1, sum(gains))
    return Load(
        cpus=os.cpu_count() or 1,
        foreign_cores=round(max(0.0, used / length_s), 3),
        steal_share=round(max(0.0, steal / total), 4),
        pressure={
            name: round((value - first.pressure.get(name, value)) / 1e6 / length_s, 4)
            for name, value in second.pressure.items()
        },
        busiest=_busiest(first, second, length_s),
    )


def _look(proc: Path, clock: Clock) -> _Look:
    pressure: dict[str, int] = {}
    for resource in ("io", "memory"):
        try:
            totals = parse_pressure((proc / "pressure" / resource).read_bytes())
        except OSError:  # no PSI: the environment facts say why
            continue
        pressure |= {f"{resource}_{kind}": total for kind, total in totals.items()}
    processes: dict[int, tuple[str, int]] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            text = (folder / "stat").read_bytes()
            times = parse_process_stat(text)
        except (OSError, ValueError):  # it ended
            continue
        name = text[text.index(b"(") + 1 : text.rindex(b")")].decode(errors="replace")
        processes[int(folder.name)] = (name, times.user + times.system)
    machine = parse_cpu_line((proc / "stat").read_bytes())
    return _Look(clock(), machine, time.process_time(), pressure, processes)


def _busiest(first: _Look, second: _Look, length_s: float) -> tuple[BusyProcess, ...]:
    busy = [
        BusyProcess(
            name, pid, round((ticks - first.processes.get(pid, ("", ticks))[1]) / TICKS_PER_S / length_s, 2)
        )
        for pid, (name, ticks) in second.processes.items()
        if name != _OWN
    ]
    busy = [process for process in busy if process.cores >= _LEAST_CORES]
    return tuple(sorted(busy, key=lambda process: process.cores, reverse=True)[:_TOP])


# --- Limits that control groups set for this process; the tightest on the way up to the root counts.
# Source of cpu.max: cgroup-v2.rst in Documentation/admin-guide.


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """The tightest limits.

    Attributes:
        cpus: CPU seconds per second; None without a limit.
        memory_bytes: memory including page cache; None without a limit.
    """

    cpus: float | None
    memory_bytes: int | None


def read_cgroup_limits(proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> CgroupLimits:
    """Return the limits of this process; no limits if control groups are hidden."""
    cpus = []
    for folder in control_groups(proc, sys):
        with suppress(OSError, ValueError):  # "max", or a controller that is not in use
            quota, period = map(int, (folder / "cpu.max").read_text().split())
            cpus.append(quota / period)
    memory = [each.size_bytes for each in memory_limits(proc, sys)]
    return CgroupLimits(min(cpus, default=None), min(memory, default=None))


# --- All data together.


@dataclass(frozen=True, slots=True)
class PreflightContext:
    """The data of the checks, gathered once.

    Attributes:
        load: the machine over a window before the start; None if /proc cannot be read.
        processor: `processor_facts`.
        memory: `memory_facts`.
        power: `power_facts`.
        battery: whether the machine runs on battery; None if unknown.
        clock_source: the kernel's clock source.
        limits: of the control group.
        mount: of the folder under test.
        backing: of the folder under test; None if it is hidden.
        library_devices: names of the disks below the library.
        memory_target: the target is meant to be in memory.
        needed_bytes: memory that the run needs beyond the server's own, such as a memory target's size.
        sleep_reason: why sleep cannot be inhibited; empty if it is.
    """

    load: Load | None
    processor: Facts
    memory: Facts
    power: Facts
    battery: bool | None
    clock_source: Json
    limits: CgroupLimits
    mount: Mount | None
    backing: Backing | None
    library_devices: frozenset[str] = frozenset()
    memory_target: bool = False
    needed_bytes: int = 0
    sleep_reason: str = ""


@dataclass(frozen=True, slots=True)
class PreflightRequest:
    """The caller's part of the data.

    Attributes:
        folder: under test; exists. Empty if storage is created for each run.
        library: folder of the run files; exists, or None.
        memory_target: the target is meant to be in memory.
        needed_bytes: memory that the run needs.
        sleep_reason: why sleep cannot be inhibited; empty if it is.
    """

    folder: str
    library: str | None = None
    memory_target: bool = False
    needed_bytes: int = 0
    sleep_reason: str = ""


def observe(questions: PreflightRequest, places: FactSources) -> PreflightContext:
    """Gather the data of the checks."""
    proc, sys, resolver = places.proc, places.sys, places.resolver
    try:
        load = measure_load(proc=proc)
    except (OSError, ValueError):
        load = None
    library = _backing(questions.library, places) if questions.library else None
    return PreflightContext(
        load=load,
        processor=processor_facts(proc, sys),
        memory=memory_facts(proc, sys),
        power=power_facts(sys),
        battery=on_battery(sys),
        clock_source=file_fact(sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        limits=read_cgroup_limits(proc, sys),
        mount=attempt_mount(questions.folder, resolver) if questions.folder else None,
        backing=_backing(questions.folder, places) if questions.folder else None,
        library_devices=frozenset(device.name for device in library.leaves) if library else frozenset(),
        memory_target=questions.memory_target,
        needed_bytes=questions.needed_bytes,
        sleep_reason=questions.sleep_reason,
    )


def _backing(path: str, places: FactSources) -> Backing | None:
    try:
        return places.resolver.resolve(path)
    except ProbeUnavailable:
        return None
