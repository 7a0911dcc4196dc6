"""The table of disturbances: kinds, measured series, how they add up, and limits.

A disturbance is outside activity during a run: other programs, other virtual machines, heat, an array check.
It is never derived from the run's own transactions: that would exclude slow runs for being slow.
`app.runfile.disturbance` reads the series; the preflight warns by the same limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.metrics import METRICS
from app.domain.text import format_size, number_text, tr


class DisturbanceKind(StrEnum):
    """Kinds of disturbance, in display order."""

    OTHERS_CPU = "others-cpu"
    STEAL = "steal"
    MEMORY_PRESSURE = "memory-pressure"
    ARRAY_SYNC = "array-sync"
    SWAP_IN = "swap-in"
    THROTTLED = "throttled"
    FREQUENCY_LIMIT = "frequency-limit"
    GOVERNOR = "governor"
    OTHERS_IO = "others-io"
    MAINTENANCE = "maintenance"


class AmountUnit(StrEnum):
    """Unit of an amount."""

    PERCENT = "%"
    BYTES_PER_S = "B/s"
    TIMES = "times"


# --- What the machine did, and how a series of it adds up to one amount.

Totals = Mapping[tuple[str, str], tuple[float, float, int]]
"""Sum, maximum and count of the samples of the measured phase by metric and instance."""

FEWEST_SECONDS: Final = 3
"""Minimum length for a judgement: ticks of 10 ms on two CPUs are uncertain by 2 % of the CPUs over three
seconds.
"""
_LEAST_SHARE_OF_IO: Final = 0.05


class _NotReported(Exception):  # noqa: N818 - a state of the file, not an error of the program
    """The file lacks the data; the text says which."""


@dataclass(frozen=True, slots=True)
class MeasuredActivity:
    """Activity of the machine during the measured phase of a run.

    Attributes:
        totals: of series inside the measured phase.
        cpus: of the machine; None if unknown.
        needs_memory: the run itself needs more memory than it may use; None if unknown.
        sees_kernel_threads: whether kernel threads were visible.
        governors: of the CPUs' frequency, before and after the run; empty if unknown.
        beside: background work of the run itself, as campaign files call it; empty for none.
    """

    totals: Totals
    cpus: int | None
    needs_memory: bool | None = None
    sees_kernel_threads: bool = True
    governors: tuple[str, str] = ("", "")
    beside: str = ""

    @property
    def seconds(self) -> int:
        """Number of samples of the fullest series."""
        return max((count for _, _, count in self.totals.values()), default=0)

    def mean(self, metric: str, instance: str = "") -> float:
        """Return the mean of a series.

        Raises:
            _NotReported: it is missing.
        """
        found = self.totals.get((metric, instance))
        if found is None and METRICS[metric].absent_is_zero:
            return 0.0
        if found is None or found[2] < 1 or not math.isfinite(found[0]):
            name = METRICS[metric].label
            raise _NotReported(
                tr("the file has no series “{name}”").format(name=f"{name} {instance}".strip())
            )
        return found[0] / (self.seconds if METRICS[metric].absent_is_zero else found[2])

    def share_of_time(self, metric: str) -> float:
        """Return the share of time in which a rare series has a value, in per cent, over all instances."""
        counts = [count for (name, _), (_, _, count) in self.totals.items() if name == metric]
        return 100 * max(counts, default=0) / self.seconds

    def share_of_cpus(self, used: float) -> float:
        """Return CPU seconds per second in per cent of all CPUs.

        Raises:
            _NotReported: the number of CPUs is unknown.
        """
        if self.cpus is None or self.cpus < 1:
            raise _NotReported(tr("the file does not record the number of CPUs"))
        return 100 * max(0.0, used) / self.cpus


def _others_cpu(activity: MeasuredActivity) -> float:
    """Return the CPU time of all programs but ours, in per cent of the CPUs.

    Kernel threads mostly work for us. If they are invisible, only user time is compared, which they do not
    have.
    """
    kinds = ("user", "system") if activity.sees_kernel_threads else ("user",)
    used = sum(activity.mean(f"cpu.{kind}") for kind in kinds)
    for program in ("postgres", "pgbench", "pgfooting"):
        # Formats of before did not count the runner itself.
        if program != "pgfooting" or ("process.cpu_user", program) in activity.totals:
            used -= sum(activity.mean(f"process.cpu_{kind}", program) for kind in kinds)
    if activity.sees_kernel_threads:
        families = [instance for metric, instance in activity.totals if metric == "kernel.cpu"]
        used -= sum(activity.mean("kernel.cpu", family) for family in families)
    return activity.share_of_cpus(used)


def _memory_pressure(activity: MeasuredActivity) -> float:
    if activity.needs_memory is None:
        raise _NotReported(tr("the file does not record how much memory the run needed"))
    return _unless_needed("pressure.memory_some")(activity)


def _unless_needed(metric: str) -> Callable[[MeasuredActivity], float]:
    """Return a function for the mean of a series that a run itself causes if it lacks memory."""

    def mean(activity: MeasuredActivity) -> float:
        if activity.needs_memory:
            raise _NotReported(tr("the run itself needed more memory than was available"))
        return activity.mean(metric)

    return mean


def _frequency_limit(activity: MeasuredActivity) -> float:
    mean = activity.mean("cpu.frequency_limit")
    highest = activity.totals["cpu.frequency_limit", ""][1]
    return 100 * max(0.0, 1 - mean / highest) if highest > 0 else 0.0


def _governor(activity: MeasuredActivity) -> float:
    before, after = activity.governors
    if not (before and after):
        raise _NotReported(tr("the file does not record the governor before and after the run"))
    return float(before != after)


def _others_io(activity: MeasuredActivity) -> float:
    """Return the disk I/O of others; 0 if it is a small share of all."""
    others = activity.mean("others.read_bytes") + activity.mean("others.write_bytes")
    everything = activity.mean("storage.read_bytes") + activity.mean("storage.write_bytes")
    return others if others >= _LEAST_SHARE_OF_IO * everything else 0.0


def _maintenance(activity: MeasuredActivity) -> float:
    activity.mean("others.maintenance")  # files of before did not look for such programs
    return activity.share_of_time("others.maintaining")


# --- The table.


@dataclass(frozen=True, slots=True)
class DisturbanceThreshold:
    """The amount from which a run counts as disturbed; the reason for it is a comment in the table.

    Attributes:
        kind: of disturbance.
        metrics: series of which the amount is computed.
        amount: computes the mean over the measured phase.
        least: the amount from which it counts.
        unit: of the amount.
        sentence: a clause with a placeholder for the amount, unless it happens just once.
        like_background: looks the same as base backups, snapshots or a scrub of the run itself.
    """

    kind: DisturbanceKind
    metrics: tuple[str, ...]
    amount: Callable[[MeasuredActivity], float]
    least: float
    unit: AmountUnit
    sentence: str
    like_background: bool = False


_ALL: Final = (
    DisturbanceThreshold(
        DisturbanceKind.OTHERS_CPU,
        ("cpu.user", "cpu.system", "process.cpu_user", "process.cpu_system", "kernel.cpu"),
        _others_cpu,
        5.0,
        AmountUnit.PERCENT,
        # /proc/stat counts ticks of 10 ms, so a quiet run of 10 s on two CPUs shows up to 3 %; other CPU use
        # can slow a busy server as much
        tr("other programs used {amount} of the CPUs"),
        like_background=True,
    ),
    DisturbanceThreshold(
        DisturbanceKind.STEAL,
        ("cpu.steal",),
        lambda activity: activity.share_of_cpus(activity.mean("cpu.steal")),
        1.0,
        AmountUnit.PERCENT,
        # steal in /proc/stat; the smallest loss that five repeats with 1 % variation can detect
        tr("the hypervisor took {amount} of the CPU time (steal)"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.MEMORY_PRESSURE,
        ("pressure.memory_some",),
        _memory_pressure,
        5.0,
        AmountUnit.PERCENT,
        # pressure stall information (Documentation/accounting/psi.rst); not judged if the run itself needs
        # more memory than available
        tr("programs waited for memory {amount} of the time"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.ARRAY_SYNC,
        ("array.sync_remaining",),
        lambda activity: activity.share_of_time("array.sync_remaining"),
        1.0,
        AmountUnit.PERCENT,
        # sync_action in /sys/block/mdX/md; one second in a hundred already affects the longest latencies
        tr("an array was checked or rebuilt {amount} of the time"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.SWAP_IN,
        ("memory.swap_in",),
        _unless_needed("memory.swap_in"),
        400 * 1024.0,
        AmountUnit.BYTES_PER_S,
        # pswpin in /proc/vmstat; 100 pages a second at 0.1 ms each mean 1 % of the time spent waiting
        tr("memory was read back from swap at {amount}"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.THROTTLED,
        ("cpu.throttled",),
        lambda activity: activity.mean("cpu.throttled"),
        1.0,
        AmountUnit.PERCENT,
        # thermal_throttle in /sys/devices/system/cpu; one second in a hundred, as for arrays
        tr("a processor was throttled because of heat {amount} of the time"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.FREQUENCY_LIMIT,
        ("cpu.frequency_limit",),
        _frequency_limit,
        2.0,
        AmountUnit.PERCENT,
        # scaling_max_freq; a constant limit is no disturbance, a changing one changes speed by as much
        tr("the CPU frequency limit was on average {amount} below its highest value"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.GOVERNOR,
        (),
        _governor,
        1.0,
        AmountUnit.TIMES,
        # scaling_governor before and after the run: two settings act like two machines
        tr("the CPU frequency governor was changed"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.OTHERS_IO,
        ("others.read_bytes", "others.write_bytes", "storage.read_bytes", "storage.write_bytes"),
        _others_io,
        1024.0 * 1024.0,
        AmountUnit.BYTES_PER_S,
        # other partitions and control groups, and at least 5 % of all I/O on these disks, because a desktop
        # writes 1 MiB/s anyway
        tr("other processes read and wrote {amount} on the disks under test"),
        like_background=True,
    ),
    DisturbanceThreshold(
        DisturbanceKind.MAINTENANCE,
        ("others.maintenance", "others.maintaining"),
        _maintenance,
        1.0,
        AmountUnit.PERCENT,
        # fstrim, scrubs and similar, by name; one second in a hundred, as for arrays
        tr("a program trimmed, checked or moved a filesystem {amount} of the time"),
        like_background=True,
    ),
)

THRESHOLDS: Final[Mapping[DisturbanceKind, DisturbanceThreshold]] = MappingProxyType(
    {each.kind: each for each in _ALL}
)
"""By kind, in display order."""

DISTURBING_METRICS: Final = tuple(dict.fromkeys(metric for each in _ALL for metric in each.metrics))
"""Metrics whose totals are needed."""


def describe_thresholds() -> str:
    """Return the thresholds of all kinds as one clause."""
    clauses = []
    for threshold in THRESHOLDS.values():
        if threshold.unit is AmountUnit.TIMES:
            clauses.append(threshold.sentence)
            continue
        least = _format(threshold.kind, threshold.least).replace(".0 %", " %")
        least = tr("{amount} or more").format(amount=least)
        clauses.append(threshold.sentence.format(amount=least))
    return "; ".join(clauses)


def format_amounts(kind: DisturbanceKind, amounts: tuple[float, ...]) -> str:
    """Return one amount, or the smallest and largest of several, with the unit of the kind.

    Args:
        kind: determines the unit.
        amounts: at least one, none negative.
    """
    low, high = (_format(kind, value) for value in (min(amounts), max(amounts)))
    if low == high:
        return high
    if THRESHOLDS[kind].unit is AmountUnit.PERCENT:
        low = low.removesuffix(" %")
    return tr("{low} to {high}").format(low=low, high=high)


def _format(kind: DisturbanceKind, value: float) -> str:
    if THRESHOLDS[kind].unit is AmountUnit.BYTES_PER_S:
        return f"{format_size(round(value))}/s"
    if THRESHOLDS[kind].unit is AmountUnit.TIMES:
        return number_text(value, ".0f")
    return f"{number_text(value, '.0f' if value >= 9.95 else '.1f')} %"


def disturbance_words(kind: DisturbanceKind, amounts: tuple[float, ...]) -> str:
    """Return a clause with the amount that disturbed one run or several."""
    return THRESHOLDS[kind].sentence.format(amount=format_amounts(kind, amounts))


# --- The judgement.


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One disturbance of a run with its amount: the mean over the measured phase."""

    kind: DisturbanceKind
    amount: float

    @property
    def sentence(self) -> str:
        """A clause about it."""
        return disturbance_words(self.kind, (self.amount,))


@dataclass(frozen=True, slots=True)
class Disturbances:
    """The judgement on a run's disturbances.

    Attributes:
        found: those at or above their threshold, in the order of the table.
        unknown: (kind, reason) of those without data.
        measured: all with data, including those below their thresholds.
    """

    found: tuple[Disturbance, ...] = ()
    unknown: tuple[tuple[DisturbanceKind, str], ...] = ()
    measured: tuple[Disturbance, ...] = ()

    def amount(self, kind: DisturbanceKind) -> float | None:
        """Return the amount of a kind; None if unknown."""
        return next((each.amount for each in self.measured if each.kind is kind), None)

    @property
    def reason(self) -> str:
        """All found disturbances, as clauses; empty for none."""
        return "; ".join(each.sentence for each in self.found)

    @property
    def not_known(self) -> str:
        """Why it is unknown whether the run was disturbed; empty if it is known.

        Others' CPU and steal disturb every kind of run: without their data no run can be called quiet.
        """
        if self.found:
            return ""
        kinds = (DisturbanceKind.OTHERS_CPU, DisturbanceKind.STEAL)
        return next((reason for kind in kinds for each, reason in self.unknown if each is kind), "")


def judge_disturbances(activity: MeasuredActivity) -> Disturbances:
    """Return the disturbances of a run, and the unknown kinds."""
    measured: list[Disturbance] = []
    unknown: list[tuple[DisturbanceKind, str]] = []
    for kind, threshold in THRESHOLDS.items():
        try:
            measured.append(Disturbance(kind, _amount(threshold, activity)))
        except _NotReported as err:
            unknown.append((kind, str(err)))
    found = (each for each in measured if each.amount >= THRESHOLDS[each.kind].least)
    return Disturbances(tuple(found), tuple(unknown), tuple(measured))


def _amount(threshold: DisturbanceThreshold, activity: MeasuredActivity) -> float:
    if activity.seconds == 0:
        raise _NotReported(tr("the file has no samples of the machine's activity"))
    if activity.seconds < FEWEST_SECONDS:
        reason = tr("fewer than {count} measured seconds have samples")
        raise _NotReported(reason.format(count=FEWEST_SECONDS))
    if activity.beside and threshold.like_background:
        raise _NotReported(tr("the run itself did this in parallel: {work}").format(work=activity.beside))
    amount = threshold.amount(activity)
    if not math.isfinite(amount):
        raise _NotReported(tr("the file contains impossible numbers"))
    return amount
