"""Whether others disturbed a run while it was measured, from the series of its file.

Thresholds stand in `app.probes.base.disturbances`. Nothing here looks at transactions. What a file does not
hold is not known, and said as such: a run without these series is neither quiet nor disturbed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from app.domain.metrics import METRICS
from app.domain.text import tr
from app.probes.base.disturbances import THRESHOLDS, DisturbanceKind, format_amounts
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.typed_json import known, or_none
from app.runfile.reader import RunFile
from app.runfile.summary import NOT_STEADY, figures_of, has_older_definitions, steadiness_marks
from app.runfile.writer import WHOLE_PHASE, Json, Phase

DISTURBED: Final = "disturbed"
"""Kind of the mark of a run that others disturbed."""

REPEATED: Final = "repeated"
"""Kind of the mark of a disturbed run that was measured again."""

_FEWEST_SECONDS: Final = 3
"""That are judged: ticks of 10 ms on two CPUs are uncertain by 2 % of the CPUs over three seconds."""
_LEAST_SHARE_OF_IO: Final = 0.05
_TICK_MS: Final = 1000
_LONGEST_S: Final = 1e9
_KERNEL_THREADS: Final = "kernel-threads"
"""`Probe.id` of the source that may be missing in containers."""


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
        found: those at or above their threshold, in the order of the registry.
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

        Others' CPU and steal disturb every kind of run: without them nobody can call it quiet.
        """
        if self.found:
            return ""
        reasons = dict(self.unknown)
        kinds = (DisturbanceKind.OTHERS_CPU, DisturbanceKind.STEAL)
        return next((reasons[kind] for kind in kinds if kind in reasons), "")


def disturbance_words(kind: DisturbanceKind, amounts: tuple[float, ...]) -> str:
    """Return a clause that says how much of this disturbed one run or several."""
    return THRESHOLDS[kind].sentence.format(amount=format_amounts(kind, amounts))


# --- The judgement: pure.


Totals = Mapping[tuple[str, str], tuple[float, float, int]]
"""Sum, maximum and count of the samples of the measured phase by metric and instance."""


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


def _others_cpu(activity: MeasuredActivity) -> float:
    """Return what is left of the CPU time of all programs without ours, in per cent of the CPUs.

    Kernel threads work for whoever writes, mostly for us. Where they cannot be seen, only user time is
    compared: they have none.
    """
    if activity.cpus is None or activity.cpus < 1:
        raise _NotTold(tr("the file does not tell how many CPUs there were"))
    kinds = ("user", "system") if activity.sees_kernel_threads else ("user",)
    used = sum(activity.mean(f"cpu.{kind}") for kind in kinds)
    for program in ("postgres", "pgbench"):
        used -= sum(activity.mean(f"process.cpu_{kind}", program) for kind in kinds)
    for kind in kinds:  # formats of before did not count the runner itself
        if ("process.cpu_user", "pgfooting") in activity.totals:
            used -= activity.mean(f"process.cpu_{kind}", "pgfooting")
    if activity.sees_kernel_threads:
        families = [instance for metric, instance in activity.totals if metric == "kernel.cpu"]
        used -= sum(activity.mean("kernel.cpu", family) for family in families)
    return 100 * max(0.0, used) / activity.cpus


def _steal(activity: MeasuredActivity) -> float:
    if activity.cpus is None or activity.cpus < 1:
        raise _NotTold(tr("the file does not tell how many CPUs there were"))
    return 100 * activity.mean("cpu.steal") / activity.cpus


def _memory_pressure(activity: MeasuredActivity) -> float:
    if activity.needs_memory is None:
        raise _NotTold(tr("the file does not tell how much memory the run needed"))
    if activity.needs_memory:
        raise _NotTold(tr("the run itself needed more memory than it had"))
    return activity.mean("pressure.memory_some")


def _array_sync(activity: MeasuredActivity) -> float:
    return activity.share_of_time("array.sync_remaining")


def _swap_in(activity: MeasuredActivity) -> float:
    if activity.needs_memory:
        raise _NotTold(tr("the run itself needed more memory than it had"))
    return activity.mean("memory.swap_in")


def _frequency_limit(activity: MeasuredActivity) -> float:
    mean = activity.mean("cpu.frequency_limit")
    highest = activity.totals["cpu.frequency_limit", ""][1]
    return 100 * max(0.0, 1 - mean / highest) if highest > 0 else 0.0


def _finite(amount: float) -> float:
    if not math.isfinite(amount):
        raise _NotTold(tr("the file holds numbers that cannot be"))
    return amount


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


_AMOUNTS: Final[Mapping[DisturbanceKind, Callable[[MeasuredActivity], float]]] = MappingProxyType(
    {
        DisturbanceKind.OTHERS_CPU: _others_cpu,
        DisturbanceKind.STEAL: _steal,
        DisturbanceKind.MEMORY_PRESSURE: _memory_pressure,
        DisturbanceKind.ARRAY_SYNC: _array_sync,
        DisturbanceKind.SWAP_IN: _swap_in,
        DisturbanceKind.THROTTLED: lambda activity: activity.mean("cpu.throttled"),
        DisturbanceKind.FREQUENCY_LIMIT: _frequency_limit,
        DisturbanceKind.GOVERNOR: _governor,
        DisturbanceKind.OTHERS_IO: _others_io,
        DisturbanceKind.MAINTENANCE: _maintenance,
    }
)

_LIKE_BACKGROUND: Final = frozenset(
    {DisturbanceKind.OTHERS_CPU, DisturbanceKind.OTHERS_IO, DisturbanceKind.MAINTENANCE}
)
"""What cannot be told from base backups, snapshots or a scrub that the run did beside its phase."""

_METRICS: Final = (
    "cpu.user",
    "cpu.system",
    "cpu.steal",
    "process.cpu_user",
    "process.cpu_system",
    "kernel.cpu",
    "pressure.memory_some",
    "array.sync_remaining",
    "memory.swap_in",
    "cpu.throttled",
    "cpu.frequency_limit",
    "others.read_bytes",
    "others.write_bytes",
    "others.maintenance",
    "others.maintaining",
    "storage.read_bytes",
    "storage.write_bytes",
)
"""Of which the totals are needed."""


def judge_disturbances(activity: MeasuredActivity) -> Disturbances:
    """Return what disturbed a run, and what cannot be told."""
    measured: list[Disturbance] = []
    unknown: list[tuple[DisturbanceKind, str]] = []
    for kind in THRESHOLDS:
        if activity.seconds < _FEWEST_SECONDS:
            reason = tr("the file has no samples of what the machine did")
            if activity.seconds > 0:
                reason = tr("fewer than {count} seconds of its measurement have samples")
            unknown.append((kind, reason.format(count=_FEWEST_SECONDS)))
            continue
        if activity.beside and kind in _LIKE_BACKGROUND:
            reason = tr("the run itself did this beside it: {work}")
            unknown.append((kind, reason.format(work=activity.beside)))
            continue
        try:
            amount = _finite(_AMOUNTS[kind](activity))
        except _NotTold as err:
            unknown.append((kind, str(err)))
            continue
        measured.append(Disturbance(kind, amount))
    found = (each for each in measured if each.amount >= THRESHOLDS[each.kind].least)
    return Disturbances(tuple(found), tuple(unknown), tuple(measured))


# --- Of a run file.


def read_disturbances(run: RunFile) -> Disturbances:
    """Judge a run by its file: one that was finished, or one whose measured phase is over.

    Raises:
        CorruptRunFileError: it is damaged.
    """
    measured = run.phase(Phase.MEASURE)
    if measured is None or measured.ended_ms is None:
        reason = tr("it was not measured to its end")
        return Disturbances(unknown=tuple((kind, reason) for kind in THRESHOLDS))
    # A sample is the mean of the second before it: the first one whole inside.
    totals: Totals = run.totals(measured.started_ms + _TICK_MS, measured.ended_ms, metrics=_METRICS)
    whole = run.facts(WHOLE_PHASE)
    counted = totals_of_whole_phase(whole)
    is_short = max((count for _, _, count in totals.values()), default=0) < _FEWEST_SECONDS
    totals = {**totals, **counted} if is_short else {**counted, **totals}
    told, facts = run.metadata, read_environment_facts(run.facts("before"))
    cpus = whole.get("cpus")
    data_bytes, limit = or_none(told.data_bytes), or_none(told.target.memory_limit_bytes)
    needs: bool | None = True if limit is not None else None
    if limit is None and data_bytes is not None and facts.memory_bytes:
        needs = data_bytes >= facts.memory_bytes / 2
    return judge_disturbances(
        MeasuredActivity(
            totals=totals,
            cpus=cpus if facts.online_cpus is None and isinstance(cpus, int) else facts.online_cpus,
            needs_memory=needs,
            sees_kernel_threads=not any(
                source == _KERNEL_THREADS or source.startswith("kernel.cpu")
                for _, source, _ in run.unavailable()
            ),
            governors=(facts.governor, read_environment_facts(run.facts("after")).governor),
            beside=next((each.background.name for each in known(told.phases, ()) if each.is_own), ""),
        )
    )


def totals_of_whole_phase(facts: Mapping[str, Json]) -> Totals:
    """Return what the kernel's counters say of the whole phase, as if of its seconds; empty for nothing.

    Args:
        facts: `seconds`, `cpus`, and `means` by metric and instance (`app.probes.sampling.whole_phase`).
    """
    seconds, means = facts.get("seconds"), facts.get("means")
    if not isinstance(means, Mapping) or not isinstance(seconds, int | float):
        return {}
    if not 1 <= seconds < _LONGEST_S:
        return {}
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    for name, mean in means.items():
        metric, _, instance = name.partition(" ")
        if metric in _METRICS and isinstance(mean, int | float):
            found[metric, instance] = (float(mean) * int(seconds), float(mean), int(seconds))
    return found


def marks_of(run: RunFile, judged: Disturbances | None = None) -> tuple[tuple[str, str], ...]:
    """Return all marks of a run: those in its file, and whether it was disturbed by the thresholds of today.

    Files of before do not say whether they were disturbed, and thresholds may have changed since; what they
    call not steady is judged anew as well.

    Args:
        run: the file.
        judged: what `read_disturbances` said of it, where that was asked already.
    """
    stored, figures = run.marks(), run.summary()
    if has_older_definitions(run, figures):
        kept = [(kind, reason) for kind, reason in stored if kind != NOT_STEADY]
        stored = tuple(sorted([*kept, *steadiness_marks(figures_of(run))]))
    judged = read_disturbances(run) if judged is None else judged
    if judged.not_known:
        return stored
    others = [(kind, reason) for kind, reason in stored if kind != DISTURBED]
    return tuple(sorted([*others, *disturbance_marks(judged)]))


def disturbance_marks(judged: Disturbances) -> Sequence[tuple[str, str]]:
    """Return the (kind, reason) label of a disturbed run; none of another."""
    return [(DISTURBED, judged.reason)] if judged.found else []
