"""The checks before a measurement: one list for doctor, campaign, wizard and run file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

from app.domain.disturbances import THRESHOLDS, DisturbanceKind
from app.domain.json_value import Json
from app.domain.text import number_text, tr
from app.domain.units import GIB, MIB, format_size
from app.probes.base.fact_tree import MEMORY_LIMIT
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
            tr("Wait until they are done, or end those that nobody needs. Measure on a quiet machine."),
            cores=load.foreign_cores,
            cpus=load.cpus,
            names=names or tr("programs that have ended, or run outside of this container"),
        )
    for resource, message in (
        ("io", tr("Programs waited for I/O {share:.0%} of the time before the start.")),
        ("memory", tr("Programs waited for memory {share:.0%} of the time before the start.")),
    ):
        share = load.pressure.get(f"{resource}_some", 0)
        if share >= PRESSURE_SHARE:
            hint = tr("Something else keeps the machine busy; wait until it is done.")
            yield _finding(f"{resource}-pressure", message, hint, share=share)
    if load.steal_share >= STEAL_SHARE:
        message = tr("The hypervisor took {share:.1%} of the CPU time for other machines.")
        hint = tr("Results of a shared virtual machine vary; repeat more often.")
        yield _finding("steal", message, hint, share=load.steal_share)


def check_processors(context: PreflightContext) -> Found:
    """Yield a frequency governor other than performance, and limits on the usable processors."""
    governor = context.processor.get("governor")
    if governor not in ("performance", None) and not isinstance(governor, Mapping):
        message = tr("The CPU frequency governor is {governor}, so speed depends on load and heat.")
        hint = tr("For a fair comparison: cpupower frequency-set --governor performance")
        yield _finding("governor", message, hint, governor=governor)
    if context.limits.cpus is not None:
        message = tr("A control group limits this process to {cpus:.2f} CPUs.")
        hint = tr("Then stalls show up that have nothing to do with the disks; lift the limit.")
        yield _finding("cpu-quota", message, hint, cpus=context.limits.cpus)
    allowed, online = context.processor.get("allowed"), context.processor.get("online")
    if isinstance(allowed, int) and isinstance(online, int) and allowed < online:
        message = tr("Only {allowed} of {online} CPUs may be used.")
        yield _finding("cpu-affinity", message, "", Severity.NOTE, allowed=allowed, online=online)


def check_power(context: PreflightContext) -> Found:
    """Yield a machine on battery, and one that may go to sleep during a run."""
    if context.battery:
        message = tr("The machine runs on battery, where CPU and disks are slowed down.")
        yield _finding("battery", message, tr("Plug it in."), supplies=context.power.get("supplies"))
    states = context.power.get("sleep_states")
    if context.sleep_reason and isinstance(states, str) and SLEEP_STATES & set(states.split()):
        message = tr("The machine may fall asleep during the run: {reason}.")
        hint = tr("A suspend is noticed and marks the run; keep the lid open and the session active.")
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
        message = tr("{size} of swap are in use; what was swapped out may come back in the middle of a run.")
        hint = tr("As root, where memory suffices: swapoff -a && swapon -a")
        yield _finding("swap-in-use", message, hint, bytes=swap - free)
    needed = context.needed_bytes
    if total and available < max(LOW_MEMORY_SHARE * total, needed):
        message = tr("Only {available} of {total} memory are available.")
        hint = tr("End other programs.")
        yield _finding(
            "low-memory", message, hint, available_bytes=available, total_bytes=total, needed_bytes=needed
        )
    if context.limits.memory_bytes is not None and 0 < context.limits.memory_bytes < total:
        message = tr("A control group limits memory, page cache included, to {size}.")
        yield _finding(MEMORY_LIMIT, message, bytes=context.limits.memory_bytes)
    if total >= HUGE_PAGES_FROM_BYTES and info.get("HugePages_Total") == 0:
        message = tr("No huge pages are reserved, so large shared buffers are mapped in pages of 4 KiB.")
        hint = tr("vm.nr_hugepages; PostgreSQL uses them with huge_pages = try")
        yield _finding("no-huge-pages", message, hint, Severity.NOTE, memory_bytes=total)
    transparent = context.memory.get("transparent_huge_pages")
    if isinstance(transparent, Mapping) and transparent.get("enabled") == "always":
        message = tr("Transparent huge pages are always on; making them may stall programs for moments.")
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
        message = tr("The date of this machine is {date}, which is wrong. Runs will carry it.")
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
            tr("The data directory lies on {filesystem}, so the network or the host is measured too."),
        ),
        (
            mount.in_memory and not context.memory_target,
            "folder-in-memory",
            tr("The data directory lies in memory ({filesystem}), so no disk is measured."),
        ),
        (
            mount.filesystem == "overlay",
            "overlay-filesystem",
            tr("The data directory lies on a container's {filesystem}; its copying is measured too."),
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
        message = tr("The data directory lies on a file in another filesystem ({names}), not on a disk.")
        hint = tr("Such results say nothing about disks: the host's cache works too.")
        yield _finding("loop-device", message, hint, names=loops)
    shared = sorted(context.library_devices & {device.name for device in context.backing.leaves})
    if shared:
        message = tr("The library lies on a disk under test ({names}).")
        hint = tr("The run file is kept in memory until the run is done; a power cut loses that run.")
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
