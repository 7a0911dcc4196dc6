"""The checks before a measurement: one list for doctor, campaign, wizard and run file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.domain.disturbances import THRESHOLDS, DisturbanceKind
from app.domain.json_value import Json
from app.domain.text import GIB, MIB, format_size, number_text, tr
from app.probes.base.backing_devices import Backing, Mount
from app.probes.base.probe import MEMORY_LIMIT, Clock, Facts, ProbeUnavailable, file_fact
from app.probes.facts.environment import (
    FactSources,
    attempt_mount,
    memory_facts,
    on_battery,
    power_facts,
    processor_facts,
)
from app.probes.sources.cpu import TICKS_PER_S, parse_cpu_line, parse_pressure
from app.probes.sources.processes import parse_process_stat
from app.process.memory import control_groups, memory_limits

# The data that the preflight checks look at, gathered once, and the findings they return.


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


FOREIGN_SHARE: Final = THRESHOLDS[DisturbanceKind.OTHERS_CPU].least / 100
STEAL_SHARE: Final = THRESHOLDS[DisturbanceKind.STEAL].least / 100
PRESSURE_SHARE: Final = THRESHOLDS[DisturbanceKind.MEMORY_PRESSURE].least / 100
LOW_MEMORY_SHARE: Final = 0.1
SWAP_IN_USE_BYTES: Final = 64 * MIB
HUGE_PAGES_FROM_BYTES: Final = 32 * GIB
WRITTEN_EPOCH_S: Final = 1_767_225_600
"""2026-01-01."""
SLOW_CLOCKS: Final = ("acpi_pm", "hpet", "jiffies", "refined-jiffies", "pit")
SLEEP_STATES: Final = frozenset({"mem", "disk", "freeze", "standby"})

Found = Iterator[PreflightFinding]


def _finding(
    code: str, message: str, hint: str = "", severity: Severity = Severity.WARNING, **numbers: Json
) -> PreflightFinding:
    """Return a finding with its numbers in its message: sizes by names without `bytes`."""
    words: dict[str, object] = {}
    for name, value in numbers.items():
        if name.endswith("bytes") and isinstance(value, int):
            words[name.removesuffix("bytes").rstrip("_") or "size"] = format_size(value)
        else:
            words[name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return PreflightFinding(code, severity, message.format(**words), hint, numbers)


def check_load(context: PreflightContext) -> Found:
    """Yield activity of other programs and of other virtual machines."""
    load = context.load
    if load is None:
        return
    if load.foreign_cores >= FOREIGN_SHARE * load.cpus:
        names = [f"{busy.name} ({busy.pid}) {number_text(busy.cores, '.2f')}" for busy in load.busiest]
        yield _finding(
            "foreign-load",
            tr("Other programs use {cores:.2f} of {cpus} CPUs: {names}."),
            tr("Wait until they have finished, or stop those you do not need."),
            cores=load.foreign_cores,
            cpus=load.cpus,
            names=names or tr("programs that have ended or run outside this container"),
        )
    for resource, what in (("io", "I/O"), ("memory", tr("memory"))):
        share = load.pressure.get(f"{resource}_some", 0)
        if share >= PRESSURE_SHARE:
            message = tr("Programs waited for {what} {share:.0%} of the time before the start.")
            hint = tr("Wait until they have finished, or stop those you do not need.")
            yield _finding(f"{resource}-pressure", message, hint, share=share, what=what)
    if load.steal_share >= STEAL_SHARE:
        message = tr("The hypervisor took {share:.1%} of the CPU time (steal).")
        hint = tr("Results of a shared virtual machine vary: use more repeats.")
        yield _finding("steal", message, hint, share=load.steal_share)


def check_processors(context: PreflightContext) -> Found:
    """Yield a frequency governor other than performance, and limits on the usable processors."""
    governor = context.processor.get("governor")
    if governor not in ("performance", None) and not isinstance(governor, Mapping):
        message = tr("The CPU frequency governor is {governor}, so CPU speed depends on the load.")
        hint = tr("For a fair comparison: cpupower frequency-set --governor performance")
        yield _finding("governor", message, hint, governor=governor)
    if context.limits.cpus is not None:
        message = tr("A control group limits this process to {cpus:.2f} CPUs.")
        hint = tr("Lift the limit: it can cause stalls that have nothing to do with the disks.")
        yield _finding("cpu-quota", message, hint, cpus=context.limits.cpus)
    allowed, online = context.processor.get("allowed"), context.processor.get("online")
    if isinstance(allowed, int) and isinstance(online, int) and allowed < online:
        message = tr("Only {allowed} of {online} CPUs may be used.")
        yield _finding("cpu-affinity", message, "", Severity.NOTE, allowed=allowed, online=online)


def check_power(context: PreflightContext) -> Found:
    """Yield a machine on battery, and one that may go to sleep during a run."""
    if context.battery:
        message = tr("The machine runs on battery, which can slow down CPU and disks.")
        yield _finding("battery", message, tr("Plug it in."), supplies=context.power.get("supplies"))
    states = context.power.get("sleep_states")
    if context.sleep_reason and isinstance(states, str) and SLEEP_STATES & set(states.split()):
        message = tr("The machine may fall asleep during the run: {reason}.")
        hint = tr("pgFooting marks runs that were suspended: keep the lid open and the session active.")
        reason = context.sleep_reason.rstrip(".")
        yield _finding("sleep-possible", message, hint, reason=reason, sleep_states=states)


def check_memory(context: PreflightContext) -> Found:
    """Yield swap in use, too little memory, a limit, and pages of the wrong size for large shared buffers."""
    info = context.memory.get("info")
    info = info if isinstance(info, Mapping) else {}
    total, available, swap, free = (
        value if isinstance(value := info.get(name), int) else 0
        for name in ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")
    )
    if swap - free >= SWAP_IN_USE_BYTES:
        message = tr("{size} of swap is in use and may be read back during a run.")
        hint = tr("If memory suffices, as root: swapoff -a && swapon -a")
        yield _finding("swap-in-use", message, hint, bytes=swap - free)
    needed = context.needed_bytes
    if total and available < max(LOW_MEMORY_SHARE * total, needed):
        message = tr("Only {available} of {total} memory is available.")
        hint = tr("Stop programs that use memory, or choose less data.")
        yield _finding(
            "low-memory", message, hint, available_bytes=available, total_bytes=total, needed_bytes=needed
        )
    if context.limits.memory_bytes is not None and 0 < context.limits.memory_bytes < total:
        message = tr("A control group limits memory, page cache included, to {size}.")
        yield _finding(MEMORY_LIMIT, message, bytes=context.limits.memory_bytes)
    if total >= HUGE_PAGES_FROM_BYTES and info.get("HugePages_Total") == 0:
        message = tr("No huge pages are reserved, so large shared buffers use normal pages.")
        hint = tr("Reserve them with vm.nr_hugepages. PostgreSQL uses them with huge_pages = try.")
        yield _finding("no-huge-pages", message, hint, Severity.NOTE, memory_bytes=total)
    transparent = context.memory.get("transparent_huge_pages")
    if isinstance(transparent, Mapping) and transparent.get("enabled") == "always":
        message = tr("Transparent huge pages are always on; creating them can stall programs briefly.")
        yield _finding("transparent-huge-pages", message, "", Severity.NOTE, settings=transparent)


def check_clock(context: PreflightContext) -> Found:
    """Yield a clock that is slow to read, which pgbench and EXPLAIN do all the time, and a wrong date."""
    if context.clock_source in SLOW_CLOCKS:
        message = tr("The kernel's clock source is {source}, which takes about a microsecond to read.")
        hint = tr("See pg_test_timing; a kernel parameter such as tsc=reliable may help.")
        yield _finding("slow-clock", message, hint, source=context.clock_source)
    now_s = time.time()
    if now_s < WRITTEN_EPOCH_S:  # a clock without a battery, or one that was set wrong
        date = time.strftime("%Y-%m-%d", time.gmtime(now_s))
        message = tr("This machine's date is wrong: {date}. Runs would be stored with it.")
        yield _finding("wrong-date", message, tr("Set the clock first: timedatectl set-ntp true"), date=date)


def check_filesystem(context: PreflightContext) -> Found:
    """Yield a folder in memory, on a network or on an overlay filesystem."""
    mount = context.mount
    if mount is None:
        return
    for applies, code, message in (
        (
            mount.on_network,
            "network-filesystem",
            tr("The data directory is on {filesystem}, so the network or the host is measured too."),
        ),
        (
            mount.in_memory and not context.memory_target,
            "folder-in-memory",
            tr("The data directory is in memory ({filesystem}), so no disk is measured."),
        ),
        (
            mount.filesystem == "overlay",
            "overlay-filesystem",
            tr("The data directory is on a container's {filesystem}, whose copy-up is measured too."),
        ),
    ):
        if applies:
            hint = tr("Choose a folder on a local disk.")
            found, place = mount.filesystem, mount.mount_point
            yield _finding(code, message, hint, filesystem=found, mount_point=place)


def check_devices(context: PreflightContext) -> Found:
    """Yield loop files below the folder, and a library on the disks under test."""
    if context.backing is None:
        return
    loops = [device.name for device in context.backing.devices if device.kind == "loop"]
    if loops:
        message = tr("The data directory is in a file on another filesystem ({names}), not on a disk.")
        hint = tr("Choose a folder on a local disk.")
        yield _finding("loop-device", message, hint, names=loops)
    shared = sorted(context.library_devices & {device.name for device in context.backing.leaves})
    if shared:
        message = tr("The library is on a disk under test ({names}).")
        hint = tr("The run file stays in memory until the run ends; a power cut loses that run.")
        yield _finding("library-on-target", message, hint, Severity.NOTE, names=shared)


CHECKS: Final = (
    check_load,
    check_processors,
    check_power,
    check_memory,
    check_clock,
    check_filesystem,
    check_devices,
)


def run_preflight(
    questions: PreflightRequest, places: FactSources | None = None
) -> tuple[PreflightFinding, ...]:
    """Watch the machine for less than a second and return the findings of all checks."""
    return findings_of(observe(questions, places or FactSources()))


def findings_of(context: PreflightContext) -> tuple[PreflightFinding, ...]:
    """Return the findings of all checks, warnings first."""
    found = [finding for check in CHECKS for finding in check(context)]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.WARNING))
