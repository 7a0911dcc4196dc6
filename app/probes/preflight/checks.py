"""The checks of the preflight: one function over a `PreflightContext` each, listed in `CHECKS`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from app.domain.text import number_text, tr
from app.domain.units import GIB, MIB, format_size
from app.probes.base.disturbances import THRESHOLDS, DisturbanceKind
from app.probes.base.fact_tree import MEMORY_LIMIT, Fact
from app.probes.facts.environment import FactSources
from app.probes.preflight.context import (
    PreflightContext,
    PreflightFinding,
    PreflightRequest,
    Severity,
    observe,
)

FOREIGN_SHARE: Final = THRESHOLDS[DisturbanceKind.OTHERS_CPU].least / 100
STEAL_SHARE: Final = THRESHOLDS[DisturbanceKind.STEAL].least / 100
PRESSURE_SHARE: Final = THRESHOLDS[DisturbanceKind.MEMORY_PRESSURE].least / 100
LOW_MEMORY_SHARE: Final = 0.1
SWAP_IN_USE_BYTES: Final = 64 * MIB
HUGE_PAGES_FROM_BYTES: Final = 32 * GIB
WRITTEN_EPOCH_S: Final = 1_767_225_600
"""2026-01-01."""
SLOW_CLOCKS: Final = frozenset({"acpi_pm", "hpet", "jiffies", "refined-jiffies", "pit"})
SLEEP_STATES: Final = frozenset({"mem", "disk", "freeze", "standby"})

Found = list[PreflightFinding]


def check_foreign_load(situation: PreflightContext) -> Found:
    """CPU of other programs."""
    load = situation.load
    if load is None or load.foreign_cores < FOREIGN_SHARE * load.cpus:
        return []
    names = ", ".join(f"{busy.name} ({busy.pid}) {number_text(busy.cores, '.2f')}" for busy in load.busiest)
    message = tr("Other programs use {cores:.2f} of {cpus} CPUs: {names}.").format(
        cores=load.foreign_cores,
        cpus=load.cpus,
        names=names or tr("programs that have ended, or run outside of this container"),
    )
    return [
        PreflightFinding(
            "foreign-load",
            Severity.WARNING,
            message,
            tr("Wait until they are done, or end those that nobody needs. Measure on a quiet machine."),
            {
                "cores": load.foreign_cores,
                "cpus": load.cpus,
                "busiest": [{"name": b.name, "pid": b.pid, "cores": b.cores} for b in load.busiest],
            },
        )
    ]


def check_pressure(situation: PreflightContext) -> Found:
    """Tasks that wait for I/O or memory although nothing is measured yet."""
    pressure = situation.load.pressure if situation.load else {}
    return [
        PreflightFinding(
            f"{resource}-pressure",
            Severity.WARNING,
            message.format(share=pressure[f"{resource}_some"]),
            tr("Something else keeps the machine busy; wait until it is done."),
            dict(pressure),
        )
        for resource, message in (
            ("io", tr("Programs waited for I/O {share:.0%} of the time before the start.")),
            ("memory", tr("Programs waited for memory {share:.0%} of the time before the start.")),
        )
        if pressure.get(f"{resource}_some", 0) >= PRESSURE_SHARE
    ]


def check_steal(situation: PreflightContext) -> Found:
    """CPU time that the hypervisor gives to others."""
    share = situation.load.steal_share if situation.load else 0
    if share < STEAL_SHARE:
        return []
    message = tr("The hypervisor took {share:.1%} of the CPU time for other machines.").format(share=share)
    hint = tr("Results of a shared virtual machine vary; repeat more often.")
    return [PreflightFinding("steal", Severity.WARNING, message, hint, {"share": share})]


def check_governor(situation: PreflightContext) -> Found:
    """A CPU frequency governor other than performance."""
    governor = situation.processor.get("governor")
    if governor == "performance" or isinstance(governor, Mapping) or governor is None:
        return []
    message = tr("The CPU frequency governor is {governor}, so speed depends on load and heat.").format(
        governor=_text(governor)
    )
    hint = tr("For a fair comparison: cpupower frequency-set --governor performance")
    return [PreflightFinding("governor", Severity.WARNING, message, hint, {"governor": governor})]


def check_battery(situation: PreflightContext) -> Found:
    """A machine on battery."""
    if not situation.battery:
        return []
    message = tr("The machine runs on battery, where CPU and disks are slowed down.")
    return [
        PreflightFinding(
            "battery",
            Severity.WARNING,
            message,
            tr("Plug it in."),
            {"supplies": situation.power.get("supplies")},
        )
    ]


def check_swap(situation: PreflightContext) -> Found:
    """Swap that is in use."""
    info = _info(situation)
    used = _number(info.get("SwapTotal")) - _number(info.get("SwapFree"))
    if used < SWAP_IN_USE_BYTES:
        return []
    message = tr("{size} of swap are in use; what was swapped out may come back in the middle of a run.")
    hint = tr("As root, where memory suffices: swapoff -a && swapon -a")
    return [
        PreflightFinding(
            "swap-in-use", Severity.WARNING, message.format(size=format_size(used)), hint, {"bytes": used}
        )
    ]


def check_free_memory(situation: PreflightContext) -> Found:
    """Too little memory left, or less than the run needs."""
    info = _info(situation)
    total, available = _number(info.get("MemTotal")), _number(info.get("MemAvailable"))
    if total == 0 or available >= max(LOW_MEMORY_SHARE * total, situation.needed_bytes):
        return []
    message = tr("Only {available} of {total} memory are available.").format(
        available=format_size(available), total=format_size(total)
    )
    evidence: dict[str, Fact] = {
        "available_bytes": available,
        "total_bytes": total,
        "needed_bytes": situation.needed_bytes,
    }
    return [PreflightFinding("low-memory", Severity.WARNING, message, tr("End other programs."), evidence)]


def check_huge_pages(situation: PreflightContext) -> Found:
    """No huge pages for large shared buffers, and transparent ones that come and go."""
    found: Found = []
    info = _info(situation)
    total = _number(info.get("MemTotal"))
    if total >= HUGE_PAGES_FROM_BYTES and info.get("HugePages_Total") == 0:
        message = tr("No huge pages are reserved, so large shared buffers are mapped in pages of 4 KiB.")
        hint = tr("vm.nr_hugepages; PostgreSQL uses them with huge_pages = try")
        found.append(PreflightFinding("no-huge-pages", Severity.NOTE, message, hint, {"memory_bytes": total}))
    transparent = situation.memory.get("transparent_huge_pages")
    if isinstance(transparent, Mapping) and transparent.get("enabled") == "always":
        message = tr("Transparent huge pages are always on; making them may stall programs for moments.")
        found.append(
            PreflightFinding("transparent-huge-pages", Severity.NOTE, message, "", {"settings": transparent})
        )
    return found


def check_sleep(situation: PreflightContext) -> Found:
    """A machine that may fall asleep in the middle of a run."""
    states = situation.power.get("sleep_states")
    can_sleep = isinstance(states, str) and bool(SLEEP_STATES & set(states.split()))
    if not situation.sleep_reason or not can_sleep:
        return []
    message = tr("The machine may fall asleep during the run: {reason}.").format(
        reason=situation.sleep_reason.rstrip(".")
    )
    hint = tr("A suspend is noticed and marks the run; keep the lid open and the session active.")
    return [PreflightFinding("sleep-possible", Severity.WARNING, message, hint, {"sleep_states": states})]


def check_cgroup(situation: PreflightContext) -> Found:
    """Limits of a control group or of the CPU affinity."""
    found: Found = []
    limits = situation.limits
    if limits.cpus is not None:
        message = tr("A control group limits this process to {cpus:.2f} CPUs.").format(cpus=limits.cpus)
        hint = tr("Then stalls show up that have nothing to do with the disks; lift the limit.")
        found.append(PreflightFinding("cpu-quota", Severity.WARNING, message, hint, {"cpus": limits.cpus}))
    total = _number(_info(situation).get("MemTotal"))
    if limits.memory_bytes is not None and 0 < limits.memory_bytes < total:
        message = tr("A control group limits memory, page cache included, to {size}.").format(
            size=format_size(limits.memory_bytes)
        )
        evidence: dict[str, Fact] = {"bytes": limits.memory_bytes}
        found.append(PreflightFinding(MEMORY_LIMIT, Severity.WARNING, message, "", evidence))
    allowed, online = situation.processor.get("allowed"), situation.processor.get("online")
    if isinstance(allowed, int) and isinstance(online, int) and allowed < online:
        message = tr("Only {allowed} of {online} CPUs may be used.").format(allowed=allowed, online=online)
        found.append(PreflightFinding("cpu-affinity", Severity.NOTE, message, "", {"allowed": allowed}))
    return found


def check_clock_source(situation: PreflightContext) -> Found:
    """A clock that is slow to read: pgbench and EXPLAIN read it all the time."""
    source = _text(situation.clock_source)
    if source not in SLOW_CLOCKS:
        return []
    message = tr("The kernel's clock source is {source}, which takes about a microsecond to read.").format(
        source=source
    )
    hint = tr("See pg_test_timing; a kernel parameter such as tsc=reliable may help.")
    return [PreflightFinding("slow-clock", Severity.WARNING, message, hint, {"clock_source": source})]


def check_date(_situation: PreflightContext) -> Found:
    """A date before this program was written: a clock without a battery, or one that was set wrong."""
    now_s = time.time()
    if now_s >= WRITTEN_EPOCH_S:
        return []
    date = time.strftime("%Y-%m-%d", time.gmtime(now_s))
    message = tr("The date of this machine is {date}, which is wrong. Runs will carry it.").format(date=date)
    hint = tr("Set the clock first: timedatectl set-ntp true")
    return [PreflightFinding("wrong-date", Severity.WARNING, message, hint, {"date": date})]


def check_filesystem(situation: PreflightContext) -> Found:
    """A folder whose filesystem is not what the user thinks of as a disk."""
    mount = situation.mount
    if mount is None:
        return []
    evidence: dict[str, Fact] = {"filesystem": mount.filesystem, "mount_point": mount.mount_point}
    sentences = (
        (
            mount.on_network,
            "network-filesystem",
            tr("The data directory lies on {filesystem}, so the network or the host is measured too."),
        ),
        (
            mount.in_memory and not situation.memory_target,
            "folder-in-memory",
            tr("The data directory lies in memory ({filesystem}), so no disk is measured."),
        ),
        (
            mount.filesystem == "overlay",
            "overlay-filesystem",
            tr("The data directory lies on a container's {filesystem}; its copying is measured too."),
        ),
    )
    hint = tr("Choose a folder on a local disk.")
    return [
        PreflightFinding(code, Severity.WARNING, sentence.format(filesystem=mount.filesystem), hint, evidence)
        for applies, code, sentence in sentences
        if applies
    ]


def check_devices(situation: PreflightContext) -> Found:
    """Loop files below the folder, and a library on the disks under test."""
    backing = situation.backing
    if backing is None:
        return []
    found: Found = []
    loops = [device.name for device in backing.devices if device.kind == "loop"]
    if loops:
        message = tr("The data directory lies on a file in another filesystem ({names}), not on a disk.")
        hint = tr("Such results say nothing about disks: the host's cache works too.")
        found.append(
            PreflightFinding(
                "loop-device",
                Severity.WARNING,
                message.format(names=", ".join(loops)),
                hint,
                {"devices": list(loops)},
            )
        )
    shared = sorted(situation.library_devices & {device.name for device in backing.leaves})
    if shared:
        message = tr("The library lies on a disk under test ({names}).").format(names=", ".join(shared))
        hint = tr("The run file is kept in memory until the run is done; a power cut loses that run.")
        found.append(
            PreflightFinding("library-on-target", Severity.NOTE, message, hint, {"devices": list(shared)})
        )
    return found


CHECKS: Final[tuple[Callable[[PreflightContext], Found], ...]] = (
    check_foreign_load,
    check_pressure,
    check_steal,
    check_governor,
    check_battery,
    check_swap,
    check_free_memory,
    check_huge_pages,
    check_sleep,
    check_cgroup,
    check_clock_source,
    check_date,
    check_filesystem,
    check_devices,
)


def _info(situation: PreflightContext) -> Mapping[str, Fact]:
    info = situation.memory.get("info")
    return info if isinstance(info, Mapping) else {}


def _number(value: Fact) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Fact) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def run_preflight(
    questions: PreflightRequest, places: FactSources | None = None
) -> tuple[PreflightFinding, ...]:
    """Watch the machine for less than a second and return what may spoil a measurement."""
    return findings_of(observe(questions, places or FactSources()))


def findings_of(situation: PreflightContext) -> tuple[PreflightFinding, ...]:
    """Return the findings of all checks, warnings first."""
    found = [finding for check in CHECKS for finding in check(situation)]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.WARNING))
