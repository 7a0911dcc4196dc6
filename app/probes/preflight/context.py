"""What the preflight checks look at, gathered once, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from app.probes.base.backing_devices import Backing
from app.probes.base.cgroup import CgroupLimits, read_cgroup_limits
from app.probes.base.fact_tree import Fact, Facts, file_fact
from app.probes.base.mounts import Mount
from app.probes.base.probe import ProbeUnavailable
from app.probes.facts.environment import FactSources
from app.probes.facts.machine import memory_facts, on_battery, power_facts, processor_facts
from app.probes.facts.storage import attempt_mount
from app.probes.preflight.load import Load, measure_load


class Severity(StrEnum):
    """How much it matters."""

    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class PreflightFinding:
    """One thing that may spoil a measurement.

    Attributes:
        code: stable name.
        severity: a warning makes results doubtful; a note should be known when reading them.
        message: what was found.
        hint: what to do; may be empty.
        evidence: the numbers behind it.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    evidence: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreflightContext:
    """What the checks look at, gathered once.

    Attributes:
        load: the machine over a window before the start; None where /proc cannot be read.
        processor: `processor_facts`.
        memory: `memory_facts`.
        power: `power_facts`.
        battery: whether the machine runs on battery; None where unknown.
        clock_source: the kernel's clock source.
        limits: of the control group.
        mount: of the folder under test.
        backing: of the folder under test; None where it cannot be seen.
        library_devices: names of the disks below the library.
        memory_target: the target is meant to lie in memory.
        needed_bytes: memory that the run needs beyond the server's own, such as a memory target's size.
        sleep_reason: why the machine could not be kept awake; empty where it is.
    """

    load: Load | None
    processor: Facts
    memory: Facts
    power: Facts
    battery: bool | None
    clock_source: Fact
    limits: CgroupLimits
    mount: Mount | None
    backing: Backing | None
    library_devices: frozenset[str] = frozenset()
    memory_target: bool = False
    needed_bytes: int = 0
    sleep_reason: str = ""


@dataclass(frozen=True, slots=True)
class PreflightRequest:
    """What the caller knows.

    Attributes:
        folder: under test; exists. Empty where storage is made for each run.
        library: folder of the run files; exists, or None.
        memory_target: the target is meant to lie in memory.
        needed_bytes: memory that the run needs.
        sleep_reason: why the machine could not be kept awake; empty where it is.
    """

    folder: str
    library: str | None = None
    memory_target: bool = False
    needed_bytes: int = 0
    sleep_reason: str = ""


def observe(questions: PreflightRequest, places: FactSources) -> PreflightContext:
    """Gather what the checks look at."""
    proc, sys, resolver = places.proc, places.sys, places.resolver
    try:
        load = measure_load(proc=proc)
    except (OSError, ValueError):
        load = None
    try:
        limits = read_cgroup_limits(proc)
    except (OSError, ValueError):
        limits = CgroupLimits(None, None)
    library = _backing(questions.library, places) if questions.library else None
    return PreflightContext(
        load=load,
        processor=processor_facts(proc, sys),
        memory=memory_facts(proc, sys),
        power=power_facts(sys),
        battery=on_battery(sys),
        clock_source=file_fact(sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        limits=limits,
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
