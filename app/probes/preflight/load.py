"""What else the machine does: CPU of others, steal and pressure over a short window."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.probes.base.probe import Clock
from app.probes.sources.cpu import TICKS_PER_S, parse_cpu_line
from app.probes.sources.pressure import parse_pressure
from app.probes.sources.processes import parse_process_stat

WINDOW_S: Final = 0.7
_TOP: Final = 3
_LEAST_CORES: Final = 0.02
_OWN: Final = "pgfooting-helpe"
"""The kernel's 15 characters of the helper's name: it has just looked at disks for us, and sleeps soon."""


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
    """The machine over a window.

    Attributes:
        window_s: its length.
        cpus: processors of the machine.
        foreign_cores: CPU used by everything but this process and the helper.
        steal_share: share of all CPU time that a hypervisor took, 0 to 1.
        pressure: shares of time 0 to 1 by ``io_some``, ``memory_some`` ...; empty without PSI.
        busiest: other processes, the busiest first.
    """

    window_s: float
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
    """Watch the machine for `window_s` and return what it did.

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
        window_s=length_s,
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
