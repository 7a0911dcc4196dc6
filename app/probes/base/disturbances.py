"""What may disturb a run, and from how much on it counts: the one registry of these thresholds.

A disturbance is what others did while a run was measured: other programs, other machines on the same host,
heat, an array that is checked. It is never told from the transactions of the run itself, because then slow
runs would be thrown out for being slow. `app.runfile.disturbance` judges by this registry, and the preflight
warns by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.text import number_text, tr
from app.domain.units import format_size


class DisturbanceKind(StrEnum):
    """Who or what disturbed, in the order in which it is told."""

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


@dataclass(frozen=True, slots=True)
class DisturbanceThreshold:
    """From which amount on a run counts as disturbed.

    Attributes:
        kind: by what.
        least: the mean over the measured phase from which on.
        unit: of it.
        sentence: a clause that says it, with a place for the amount, but for what happens once.
        source: why there.
    """

    kind: DisturbanceKind
    least: float
    unit: AmountUnit
    sentence: str
    source: str


_ALL: Final = (
    DisturbanceThreshold(
        DisturbanceKind.OTHERS_CPU,
        5.0,
        AmountUnit.PERCENT,
        tr("other programs used {amount} of the CPUs"),
        tr(
            "/proc/stat counts ticks of 10 ms, so that a quiet run of 10 s on two CPUs shows up to 3 %; "
            "what others use can cost a busy server as much of its speed"
        ),
    ),
    DisturbanceThreshold(
        DisturbanceKind.STEAL,
        1.0,
        AmountUnit.PERCENT,
        tr("the hypervisor took {amount} of the CPU time for other machines"),
        tr("steal of /proc/stat; the smallest loss that a campaign of five repeats at 1 % of spread can see"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.MEMORY_PRESSURE,
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
        1.0,
        AmountUnit.PERCENT,
        tr("an array was checked or rebuilt {amount} of the time"),
        tr("sync_action of /sys/block/mdX/md; one second of a hundred already moves the longest latencies"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.SWAP_IN,
        400 * 1024.0,
        AmountUnit.BYTES_PER_S,
        tr("memory was read back from swap at {amount}"),
        tr("pswpin of /proc/vmstat; 100 pages a second at 0.1 ms each keep somebody waiting 1 % of the time"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.THROTTLED,
        1.0,
        AmountUnit.PERCENT,
        tr("a processor was slowed down for its heat {amount} of the time"),
        tr("thermal_throttle in /sys/devices/system/cpu; one second of a hundred, as for arrays"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.FREQUENCY_LIMIT,
        2.0,
        AmountUnit.PERCENT,
        tr("the limit of the CPUs' frequency was on average {amount} below its highest"),
        tr("scaling_max_freq; a limit that stays is no disturbance, one that moves changes speed by as much"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.GOVERNOR,
        1.0,
        AmountUnit.TIMES,
        tr("the governor of the CPUs' frequency was changed"),
        tr("scaling_governor before and after the run: two settings are two machines"),
    ),
    DisturbanceThreshold(
        DisturbanceKind.OTHERS_IO,
        1024.0 * 1024.0,
        AmountUnit.BYTES_PER_S,
        tr("others read and wrote {amount} on the disks under test"),
        tr(
            "other partitions and control groups; and at least 5 % of all that these disks did, because "
            "1 MiB/s is what a desktop writes by the way"
        ),
    ),
    DisturbanceThreshold(
        DisturbanceKind.MAINTENANCE,
        1.0,
        AmountUnit.PERCENT,
        tr("a program trimmed, checked or moved a filesystem {amount} of the time"),
        tr("fstrim, scrubs and their like by name; one second of a hundred, as for arrays"),
    ),
)

THRESHOLDS: Final[Mapping[DisturbanceKind, DisturbanceThreshold]] = MappingProxyType(
    {each.kind: each for each in _ALL}
)
"""By kind, in the order in which they are told."""


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
        return tr("{low} to {high}").format(low=low.removesuffix(" %"), high=high)
    return tr("{low} to {high}").format(low=low, high=high)


def _format(kind: DisturbanceKind, value: float) -> str:
    if THRESHOLDS[kind].unit is AmountUnit.BYTES_PER_S:
        return tr("{size}/s").format(size=format_size(round(value)))
    if THRESHOLDS[kind].unit is AmountUnit.TIMES:
        return number_text(value, ".0f")
    return tr("{percent} %").format(
        percent=number_text(value, ".0f") if value >= 9.95 else number_text(value, ".1f")
    )
