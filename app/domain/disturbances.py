"""What may disturb a run: the one table of kinds, with what is measured, how it adds up, and its limit.

A disturbance is what others did while a run was measured: other programs, other machines on the same host,
heat, an array that is checked. It is never judged by the transactions of the run itself, because then slow
runs would be thrown out for being slow. `app.runfile.disturbance` reads the series; the preflight
warns by the same limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.metrics import METRICS
from app.domain.text import number_text, tr
from app.domain.units import format_size


class DisturbanceKind(StrEnum):
    """Who or what disturbed, in the order in which it is shown."""

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
    """Of an amount."""

    PERCENT = "%"
    BYTES_PER_S = "B/s"
    TIMES = "times"


# --- What the machine did, and how a series of it adds up to one amount.

Totals = Mapping[tuple[str, str], tuple[float, float, int]]
"""Sum, maximum and count of the samples of the measured phase by metric and instance."""

FEWEST_SECONDS: Final = 3
"""That are judged: ticks of 10 ms on two CPUs are uncertain by 2 % of the CPUs over three seconds."""
_LEAST_SHARE_OF_IO: Final = 0.05


class _NotTold(Exception):  # noqa: N818 - a state of the file, not an error of the program
    """The file cannot tell; the text says why."""


@dataclass(frozen=True, slots=True)
class MeasuredActivity:
    """What the machine did while a run was measured.

    Attributes:
        totals: of series that lie inside of the measured phase.
        cpus: of the machine; None where unknown.
        needs_memory: the run itself needs more memory than there is, or may use; None where unknown.
        sees_kernel_threads: whether kernel threads could be seen.
        governors: of the CPUs' frequency, before and after the run; empty where unknown.
        beside: what the run itself did beside it, as campaign files call it; empty for nothing.
    """

    totals: Totals
    cpus: int | None
    needs_memory: bool | None = None
    sees_kernel_threads: bool = True
    governors: tuple[str, str] = ("", "")
    beside: str = ""

    @property
    def seconds(self) -> int:
        """How many samples the fullest series has."""
        return max((count for _, _, count in self.totals.values()), default=0)

    def mean(self, metric: str, instance: str = "") -> float:
        """Return the mean of a series.

        Raises:
            _NotTold: it is not there.
        """
        found = self.totals.get((metric, instance))
        if found is None and METRICS[metric].absent_is_zero:
            return 0.0
        if found is None or found[2] < 1 or not math.isfinite(found[0]):
            name = METRICS[metric].label
            raise _NotTold(tr("the file has no series “{name}”").format(name=f"{name} {instance}".strip()))
        return found[0] / (self.seconds if METRICS[metric].absent_is_zero else found[2])

    def share_of_time(self, metric: str) -> float:
        """Return in how much of the time a series that is rare has a value, in per cent, of all instances."""
        counts = [count for (name, _), (_, _, count) in self.totals.items() if name == metric]
        return 100 * max(counts, default=0) / self.seconds

    def share_of_cpus(self, used: float) -> float:
        """Return CPU time per time in per cent of all CPUs.

        Raises:
            _NotTold: the file does not say how many there were.
        """
        if self.cpus is None or self.cpus < 1:
            raise _NotTold(tr("the file does not tell how many CPUs there were"))
        return 100 * max(0.0, used) / self.cpus


def _others_cpu(activity: MeasuredActivity) -> float:
    """Return what is left of the CPU time of all programs without ours, in per cent of the CPUs.

    Kernel threads work for whoever writes, mostly for us. Where they cannot be seen, only user time is
    compared: they have none.
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
        raise _NotTold(tr("the file does not tell how much memory the run needed"))
    return _unless_needed("pressure.memory_some")(activity)


def _unless_needed(metric: str) -> Callable[[MeasuredActivity], float]:
    """Return what takes the mean of a series that a run itself causes where it lacks memory."""

    def mean(activity: MeasuredActivity) -> float:
        if activity.needs_memory:
            raise _NotTold(tr("the run itself needed more memory than it had"))
        return activity.mean(metric)

    return mean


def _frequency_limit(activity: MeasuredActivity) -> float:
    mean = activity.mean("cpu.frequency_limit")
    highest = activity.totals["cpu.frequency_limit", ""][1]
    return 100 * max(0.0, 1 - mean / highest) if highest > 0 else 0.0


def _governor(activity: MeasuredActivity) -> float:
    before, after = activity.governors
    if not (before and after):
        raise _NotTold(tr("the file does not tell the governor before and after the run"))
    return float(before != after)


def _others_io(activity: MeasuredActivity) -> float:
    """Return what others did on the disks; 0 where that is little of what the disks did."""
    others = activity.mean("others.read_bytes") + activity.mean("others.write_bytes")
    everything = activity.mean("storage.read_bytes") + activity.mean("storage.write_bytes")
    return others if others >= _LEAST_SHARE_OF_IO * everything else 0.0


def _maintenance(activity: MeasuredActivity) -> float:
    activity.mean("others.maintenance")  # files of before did not look for such programs
    return activity.share_of_time("others.maintaining")


# --- The table.


@dataclass(frozen=True, slots=True)
class DisturbanceThreshold:
    """From which amount on a run counts as disturbed.

    Attributes:
        kind: by what.
        metrics: series from which the amount follows.
        amount: how they add up to the mean over the measured phase.
        least: the amount from which on.
        unit: of it.
        sentence: a clause that says it, with a place for the amount, but for what happens once.
        source: why there.
        like_background: cannot be told from base backups, snapshots or a scrub that a run does beside it.
    """

    kind: DisturbanceKind
    metrics: tuple[str, ...]
    amount: Callable[[MeasuredActivity], float]
    least: float
    unit: AmountUnit
    sentence: str
    source: str
    like_background: bool = False


_ALL: Final = (
    DisturbanceThreshold(
        DisturbanceKind.OTHERS_CPU,
        ("cpu.user", "cpu.system", "process.cpu_user", "process.cpu_system", "kernel.cpu"),
        _others_cpu,
        5.0,
        AmountUnit.PERCENT,
        tr("other programs used {amount} of the CPUs"),
        tr(
            "/proc/stat counts ticks of 10 ms, so that a quiet run of 10 s on two CPUs shows up to 3 %; "
            "what others use can cost a busy server as much of its speed"
        ),
        like_background=True,
    ),
    DisturbanceThreshold(
        DisturbanceKind.STEAL,
        ("cpu.steal",),
        lambda activity: activity.share_of_cpus(activity.mean("cpu.steal")),
        1.0,
        AmountUnit.PERCENT,
        tr("the hypervisor took {amount} of the CPU time for other machines"),
        tr("steal of /proc/stat; the smallest loss that a campaign of five repeats at 1 % of spread can see"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.MEMORY_PRESSURE,
        ("pressure.memory_some",),
        _memory_pressure,
        5.0,
        AmountUnit.PERCENT,
        tr("programs waited for memory {amount} of the time"),
        tr(
            "pressure stall information (Documentation/accounting/psi.rst); not judged where the run itself "
            "needs more memory than there is"
        ),
    ),
    DisturbanceThreshold(
        DisturbanceKind.ARRAY_SYNC,
        ("array.sync_remaining",),
        lambda activity: activity.share_of_time("array.sync_remaining"),
        1.0,
        AmountUnit.PERCENT,
        tr("an array was checked or rebuilt {amount} of the time"),
        tr("sync_action of /sys/block/mdX/md; one second of a hundred already moves the longest latencies"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.SWAP_IN,
        ("memory.swap_in",),
        _unless_needed("memory.swap_in"),
        400 * 1024.0,
        AmountUnit.BYTES_PER_S,
        tr("memory was read back from swap at {amount}"),
        tr("pswpin of /proc/vmstat; 100 pages a second at 0.1 ms each keep somebody waiting 1 % of the time"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.THROTTLED,
        ("cpu.throttled",),
        lambda activity: activity.mean("cpu.throttled"),
        1.0,
        AmountUnit.PERCENT,
        tr("a processor was slowed down for its heat {amount} of the time"),
        tr("thermal_throttle in /sys/devices/system/cpu; one second of a hundred, as for arrays"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.FREQUENCY_LIMIT,
        ("cpu.frequency_limit",),
        _frequency_limit,
        2.0,
        AmountUnit.PERCENT,
        tr("the limit of the CPUs' frequency was on average {amount} below its highest"),
        tr("scaling_max_freq; a limit that stays is no disturbance, one that moves changes speed by as much"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.GOVERNOR,
        (),
        _governor,
        1.0,
        AmountUnit.TIMES,
        tr("the governor of the CPUs' frequency was changed"),
        tr("scaling_governor before and after the run: two settings are two machines"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.OTHERS_IO,
        ("others.read_bytes", "others.write_bytes", "storage.read_bytes", "storage.write_bytes"),
        _others_io,
        1024.0 * 1024.0,
        AmountUnit.BYTES_PER_S,
        tr("others read and wrote {amount} on the disks under test"),
        tr(
            "other partitions and control groups; and at least 5 % of all that these disks did, because "
            "1 MiB/s is what a desktop writes by the way"
        ),
        like_background=True,
    ),
    DisturbanceThreshold(
        DisturbanceKind.MAINTENANCE,
        ("others.maintenance", "others.maintaining"),
        _maintenance,
        1.0,
        AmountUnit.PERCENT,
        tr("a program trimmed, checked or moved a filesystem {amount} of the time"),
        tr("fstrim, scrubs and their like by name; one second of a hundred, as for arrays"),
        like_background=True,
    ),
)

THRESHOLDS: Final[Mapping[DisturbanceKind, DisturbanceThreshold]] = MappingProxyType(
    {each.kind: each for each in _ALL}
)
"""By kind, in the order in which they are shown."""

DISTURBING_METRICS: Final = tuple(dict.fromkeys(metric for each in _ALL for metric in each.metrics))
"""Those of which the totals are needed."""


def describe_thresholds() -> str:
    """Return from which amount on each kind disturbs, as one clause."""
    told = []
    for threshold in THRESHOLDS.values():
        if threshold.unit is AmountUnit.TIMES:
            told.append(threshold.sentence)
            continue
        least = _format(threshold.kind, threshold.least).replace(".0 %", " %")
        least = tr("{amount} or more").format(amount=least)
        told.append(threshold.sentence.format(amount=least))
    return "; ".join(told)


def format_amounts(kind: DisturbanceKind, amounts: tuple[float, ...]) -> str:
    """Return one amount, or the smallest and largest of several, with the unit of the kind.

    Args:
        kind: whose unit.
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
        return tr("{size}/s").format(size=format_size(round(value)))
    if THRESHOLDS[kind].unit is AmountUnit.TIMES:
        return number_text(value, ".0f")
    return tr("{percent} %").format(percent=number_text(value, ".0f" if value >= 9.95 else ".1f"))


def disturbance_words(kind: DisturbanceKind, amounts: tuple[float, ...]) -> str:
    """Return a clause that says how much of this disturbed one run or several."""
    return THRESHOLDS[kind].sentence.format(amount=format_amounts(kind, amounts))


# --- The judgement.


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One thing that disturbed a run, with how much: the mean over the measured phase."""

    kind: DisturbanceKind
    amount: float

    @property
    def sentence(self) -> str:
        """A clause that says it."""
        return disturbance_words(self.kind, (self.amount,))


@dataclass(frozen=True, slots=True)
class Disturbances:
    """What is known of who disturbed a run.

    Attributes:
        found: those at or above their threshold, in the order of the table.
        unknown: (kind, why) of those that the file cannot tell.
        measured: all that the file can tell, also below their thresholds.
    """

    found: tuple[Disturbance, ...] = ()
    unknown: tuple[tuple[DisturbanceKind, str], ...] = ()
    measured: tuple[Disturbance, ...] = ()

    def amount(self, kind: DisturbanceKind) -> float | None:
        """Return how much there was of a kind; None where that is not known."""
        return next((each.amount for each in self.measured if each.kind is kind), None)

    @property
    def reason(self) -> str:
        """Everything that was found, as clauses; empty where there is nothing."""
        return "; ".join(each.sentence for each in self.found)

    @property
    def not_known(self) -> str:
        """Why it is not known whether the run was disturbed; empty where that is known.

        Others' CPU and steal disturb every kind of run: without them no run can be called quiet.
        """
        if self.found:
            return ""
        reasons = dict(self.unknown)
        kinds = (DisturbanceKind.OTHERS_CPU, DisturbanceKind.STEAL)
        return next((reasons[kind] for kind in kinds if kind in reasons), "")


def judge_disturbances(activity: MeasuredActivity) -> Disturbances:
    """Return what disturbed a run, and what cannot be told."""
    measured: list[Disturbance] = []
    unknown: list[tuple[DisturbanceKind, str]] = []
    for kind, threshold in THRESHOLDS.items():
        try:
            measured.append(Disturbance(kind, _amount(threshold, activity)))
        except _NotTold as err:
            unknown.append((kind, str(err)))
    found = (each for each in measured if each.amount >= THRESHOLDS[each.kind].least)
    return Disturbances(tuple(found), tuple(unknown), tuple(measured))


def _amount(threshold: DisturbanceThreshold, activity: MeasuredActivity) -> float:
    if activity.seconds == 0:
        raise _NotTold(tr("the file has no samples of what the machine did"))
    if activity.seconds < FEWEST_SECONDS:
        reason = tr("fewer than {count} seconds of its measurement have samples")
        raise _NotTold(reason.format(count=FEWEST_SECONDS))
    if activity.beside and threshold.like_background:
        raise _NotTold(tr("the run itself did this beside it: {work}").format(work=activity.beside))
    amount = threshold.amount(activity)
    if not math.isfinite(amount):
        raise _NotTold(tr("the file holds numbers that cannot be"))
    return amount
