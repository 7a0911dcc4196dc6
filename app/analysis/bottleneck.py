"""Find a run's bottleneck from the waits of pgbench's sessions, and from CPUs and devices. Pure.

The method is average active sessions by wait (pg_stat_activity sampled, as in Oracle's ASH and Amazon's
Performance Insights) together with utilisation and saturation of each resource (B. Gregg, "The USE Method").
A share of the sessions is a share of the clients' time, because pgbench's clients always want something:
removing what takes the share s multiplies TPS by at most 1 / (1 - s) (Amdahl). A cause without evidence in
the run file is "not known". The evidence is the means of the file's series over the measured phase.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.analysis.io_baseline import UsedShare, read_used_shares
from app.analysis.labels import one_line
from app.domain.campaign.configuration import ServerTarget
from app.domain.disturbances import THRESHOLDS, DisturbanceKind
from app.domain.metrics import INTERNALS, LOCKS, SESSION_GROUPS, WAITED_FOR
from app.domain.run import Phase
from app.domain.text import number_text, tr, trn
from app.runfile.metadata.environment import EnvironmentFacts
from app.runfile.metadata.offered_load import Figures, LoadKind, OfferedLoad, offered_load, run_kept_rate
from app.runfile.reader import RunFile

DOMINANT: Final = 0.5
"""Least share of the clients' time of a single cause: without it TPS might be doubled."""

WORTH_NAMING: Final = 0.15
"""Least share to be named among several."""

SATURATED: Final = 0.9
"""Share of the CPUs from which they are saturated: the rest is too short to be used (in a queue of one
server, tasks then wait nine times as long as they run: M/M/1).
"""

PGBENCH_SHARE: Final = 90.0
"""Per cent of its threads' CPU time from which pgbench itself is saturated, as for the CPUs."""

QUEUEING: Final = 0.5
"""Tasks waiting for a CPU, per running one, from which CPUs are saturated ("saturation" in the USE method is
the length of the run queue).
"""

PRESSURE: Final = 50.0
"""Per cent of the time in which some task waited for I/O (PSI): below it a busy device limited no task."""

MEMORY: Final = THRESHOLDS[DisturbanceKind.MEMORY_PRESSURE].least
"""Per cent of the time in which some task waited for memory: to read evicted pages again, or for others to be
evicted; equals the threshold of a disturbance, for runs that need less memory themselves.
"""

BUSY: Final = 90.0
"""Per cent of the time with requests in flight from which a device counts as busy. Necessary, not sufficient:
a parallel device can do more (iostat(1), %util).
"""

FEWEST_SECONDS: Final = 2
FEWEST_SAMPLES: Final = 20
"""Samples of sessions that always suffice: a share of one half of 20 is uncertain by 11 points (one standard
error). A larger share is as certain with fewer samples, but at least `LEAST_SAMPLES`.
"""
LEAST_SAMPLES: Final = 8


class Cause(StrEnum):
    """Bottleneck of a run."""

    CPU = "cpu"
    OTHERS_CPU = "others-cpu"
    SESSION_CPU = "session-cpu"
    DEVICE = "device"
    WAL = "wal"
    LOCKS = "locks"
    INTERNALS = "internals"
    PGBENCH = "pgbench"
    MEMORY = "memory"
    RATE = "rate"
    SEVERAL = "several"
    NOT_KNOWN = "not-known"


CAUSES: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        Cause.CPU: tr("the CPUs"),
        Cause.OTHERS_CPU: tr("the CPUs, mostly used by other programs"),
        Cause.SESSION_CPU: tr("the speed of one CPU (more clients would use the others)"),
        Cause.DEVICE: tr("device reads and writes"),
        Cause.WAL: tr("writing and flushing WAL"),
        Cause.LOCKS: LOCKS,
        Cause.INTERNALS: INTERNALS,
        Cause.PGBENCH: tr("pgbench itself"),
        Cause.MEMORY: tr("memory"),
        Cause.RATE: tr("pgbench's target rate"),
        Cause.SEVERAL: tr("several things"),
        Cause.NOT_KNOWN: tr("not known"),
    }
)
"""Words after "Limited by"."""


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Means of a chosen device in the measured phase; None if unknown.

    Attributes:
        name: in words.
        utilisation: time with requests in flight, %.
        queue: requests in flight.
        reads: a second.
        writes: a second.
        flushes: a second.
        read_ms: mean time of a read.
        write_ms: of a write.
        flush_ms: of a flush.
    """

    name: str
    utilisation: float | None = None
    queue: float | None = None
    reads: float | None = None
    writes: float | None = None
    flushes: float | None = None
    read_ms: float | None = None
    write_ms: float | None = None
    flush_ms: float | None = None

    @property
    def flushing(self) -> float | None:
        """Share of the time with a flush in flight, above 1 with several at once; None if unknown."""
        if self.flushes is None or (self.flush_ms is None and self.flushes):
            return None
        return self.flushes * (self.flush_ms or 0.0) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Means of a run file's measured phase; None if unknown.

    Attributes:
        seconds: with samples.
        clients: sessions of pgbench.
        sessions: number by group, see `app.probes.sources.postgres_statistics.GROUPS`; empty if wait events
            are unknown.
        events: mean sessions by wait event, the largest first.
        cpus: number of usable ones.
        busy: busy cores of the machine, including time taken by a hypervisor.
        server: cores used by PostgreSQL.
        pgbench: cores used by pgbench.
        kernel: cores used by kernel threads, which work for every writer.
        queueing: the server's processes that were ready to run and had no CPU.
        pgbench_queueing: pgbench's threads that were ready to run and had no CPU.
        pgbench_share: of its threads' CPU, %.
        io_some: time in which some task waited for I/O, %.
        memory_some: time in which some task waited for memory, %.
        devices: the chosen ones.
        used: share of the storage's capability that the run used, by metric; empty without a baseline.
        rate: transactions a second that pgbench offered; None for a closed loop.
        tps: completed transactions a second.
        is_kept: whether `tps` equals the rate, except for chance; None for a closed loop, or if unknown.
    """

    seconds: int = 0
    clients: float | None = None
    sessions: Mapping[str, float] = field(default_factory=dict)
    events: tuple[tuple[str, float], ...] = ()
    cpus: int | None = None
    busy: float | None = None
    server: float | None = None
    pgbench: float | None = None
    kernel: float | None = None
    queueing: float | None = None
    pgbench_queueing: float | None = None
    pgbench_share: float | None = None
    io_some: float | None = None
    memory_some: float | None = None
    devices: tuple[DeviceEvidence, ...] = ()
    used: Mapping[str, UsedShare] = field(default_factory=dict)
    rate: float | None = None
    tps: float | None = None
    is_kept: bool | None = None

    @property
    def samples(self) -> float:
        """Number of samples of sessions."""
        return (self.clients or 0.0) * self.seconds if self.sessions else 0.0

    @property
    def has_sessions(self) -> bool:
        """Whether there are enough samples of sessions for shares."""
        largest = max(0.5, *(self.share(group) for group in self.sessions), 0.0)
        return self.samples >= max(LEAST_SAMPLES, 4 * FEWEST_SAMPLES * largest * (1 - largest))

    @property
    def others(self) -> float | None:
        """Cores used by neither PostgreSQL, nor pgbench, nor kernel threads; None if unknown."""
        if self.busy is None or self.server is None or self.pgbench is None:
            return None
        return max(0.0, self.busy - self.server - self.pgbench - (self.kernel or 0.0))

    @property
    def others_took_cpus(self) -> bool:
        """Whether other programs used more of the CPUs than PostgreSQL and pgbench."""
        return (self.others or 0.0) > (self.server or 0.0) + (self.pgbench or 0.0)

    @property
    def pgbench_lacked_cpus(self) -> bool:
        """Whether pgbench's threads waited for CPUs most of the time, and the server's processes no less."""
        server = (self.queueing or 0.0) * (self.pgbench or 0.0)
        pgbench = (self.pgbench_queueing or 0.0) * (self.server or 0.0)
        return self.pgbench_waited >= DOMINANT and server >= pgbench  # else a quota limits pgbench

    def share(self, group: str) -> float:
        """Return a group's share of the clients' time."""
        return self.sessions.get(group, 0.0) / self.clients if self.clients else 0.0

    @property
    def on_cpu(self) -> float:
        """Share of the clients' time that the server spent on a CPU or in a queue for one.

        By the scheduler's clock if known: a session that was sent a statement and waits for a CPU still looks
        idle to pg_stat_activity.
        """
        running = self.share("running")
        if self.queueing is None or self.server is None or not self.clients:
            return running
        return min(1.0, max(running, (self.server + self.queueing) / self.clients))

    @property
    def for_pgbench(self) -> float:
        """Share of the clients' time that pgbench spent."""
        return max(0.0, self.share("for_client") - (self.on_cpu - self.share("running")))

    @property
    def pgbench_waited(self) -> float:
        """Share of their time in which pgbench's threads were ready to run but had no CPU."""
        return min(1.0, (self.pgbench_queueing or 0.0) / self.pgbench_threads)

    @property
    def pgbench_threads(self) -> float:
        """Number of pgbench's threads, derived from its CPU time; at least 1."""
        if not self.pgbench or not self.pgbench_share:
            return 1.0
        return max(1.0, 100 * self.pgbench / self.pgbench_share)

    @property
    def is_saturated(self) -> bool:
        """Whether server and pgbench wanted more CPUs than they had."""
        if self.server is None:
            return self._all_busy
        if self.queueing is not None:
            waited = self.queueing + (self.pgbench_queueing or 0.0)
            return waited >= QUEUEING * (self.server + (self.pgbench or 0.0))
        return self._all_busy

    @property
    def server_fills_cpus(self) -> bool:
        """Whether no CPU was idle, and PostgreSQL used more of them than pgbench and everything else."""
        return self._all_busy and 2 * (self.server or 0.0) > (self.busy or 0.0)

    @property
    def _all_busy(self) -> bool:
        return bool(self.cpus) and self.busy is not None and self.busy >= SATURATED * (self.cpus or 1)

    @property
    def pgbench_is_saturated(self) -> bool:
        """Whether pgbench's threads had no CPU time left."""
        return self.pgbench_share is not None and self.pgbench_share >= PGBENCH_SHARE


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """Bottleneck of a run.

    Attributes:
        cause: the dominant one, or none.
        evidence: clauses that explain it; for an unknown cause, why it is unknown.
    """

    cause: Cause
    evidence: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The cause in words."""
        return CAUSES[self.cause]

    @property
    def sentence(self) -> str:
        """Cause and evidence, as a sentence."""
        sentence = tr("Limited by {cause}")
        if self.cause is Cause.NOT_KNOWN:
            sentence = tr("The bottleneck is {cause}")
        sentence = sentence.format(cause=self.words)
        return f"{sentence}: {'; '.join(self.evidence)}." if self.evidence else f"{sentence}."


UNKNOWN: Final = Bottleneck(Cause.NOT_KNOWN)
"""Bottleneck of a run without any data."""


def find_bottleneck(evidence: Evidence) -> Bottleneck:
    """Return a run's bottleneck."""
    if evidence.is_kept:  # needs no samples
        return Bottleneck(Cause.RATE, tuple(_rate(evidence)))
    if evidence.seconds < FEWEST_SECONDS:
        reason = tr("the file has no samples of the machine's activity")
        if evidence.seconds:
            reason = tr("fewer than {count} measured seconds have samples; measure for at least {least} s")
        return Bottleneck(Cause.NOT_KNOWN, (reason.format(count=FEWEST_SECONDS, least=1 + FEWEST_SECONDS),))
    cause = _by_sessions(evidence) if evidence.has_sessions else _without_sessions(evidence)
    if cause is Cause.PGBENCH and evidence.rate is not None and evidence.is_kept is None:
        reason = tr("too few transactions to say whether the server kept up with the target rate")
        return Bottleneck(Cause.NOT_KNOWN, (reason,))
    lacked = cause is Cause.CPU or (cause is Cause.PGBENCH and evidence.pgbench_lacked_cpus)
    if lacked and evidence.others_took_cpus:
        cause = Cause.OTHERS_CPU
    return Bottleneck(cause, tuple(_EVIDENCE[cause](evidence)))


def _by_sessions(evidence: Evidence) -> Cause:
    """Return the cause from the waits of the sessions; the first matching rule."""
    share = evidence.share
    cpu, client = evidence.on_cpu, evidence.for_pgbench
    device = share("for_wal") + share("for_data")
    saturated = evidence.is_saturated
    # If waits for CPUs are unknown, busy CPUs explain the waits for pgbench as well.
    unclear = evidence.queueing is None and saturated
    with_queues = cpu + client * evidence.pgbench_waited
    rules = (
        (Cause.LOCKS, share("for_locks") >= DOMINANT),
        (Cause.MEMORY, (evidence.memory_some or 0.0) >= MEMORY and cpu + device >= DOMINANT),
        (Cause.PGBENCH, evidence.pgbench_is_saturated and client >= cpu),
        (Cause.CPU, saturated and cpu >= DOMINANT),
        (Cause.CPU, unclear and cpu + client >= DOMINANT),
        # The server then delays pgbench: its threads wait for a CPU, and PostgreSQL uses most CPUs.
        (Cause.CPU, saturated and evidence.server_fills_cpus and with_queues >= DOMINANT),
        (Cause.PGBENCH, client >= DOMINANT),
        (Cause.CPU, saturated and with_queues >= DOMINANT),
        (Cause.SESSION_CPU, cpu >= DOMINANT and evidence.server is not None),
        (Cause.WAL, share("for_wal") >= DOMINANT),
        (Cause.DEVICE, device >= DOMINANT),
        (Cause.INTERNALS, share("for_internals") >= DOMINANT),
        (Cause.NOT_KNOWN, share("for_others") >= DOMINANT),
    )
    return next((cause for cause, fits in rules if fits), Cause.SEVERAL)


def _without_sessions(evidence: Evidence) -> Cause:
    """Return the cause of a run without wait events in its file, if resources alone prove one."""
    waited = evidence.io_some is not None and evidence.io_some >= PRESSURE
    flushing = any((device.flushing or 0.0) >= DOMINANT for device in evidence.devices)
    busy = any((device.utilisation or 0.0) >= BUSY for device in evidence.devices)
    rules = (
        (Cause.MEMORY, (evidence.memory_some or 0.0) >= MEMORY),
        (Cause.PGBENCH, evidence.pgbench_is_saturated),
        (Cause.CPU, evidence.is_saturated),
        (Cause.WAL, waited and flushing),
        (Cause.DEVICE, waited and busy),
    )
    return next((cause for cause, fits in rules if fits), Cause.NOT_KNOWN)


# --- Evidence in words


def _percent(share: float) -> str:
    return f"{number_text(100 * share, '.0f')} %"


_NOTHING: Final = 0.005

_WAITING: Final = tr("waiting for {what}")
_GROUPS: Final = {
    "running": tr("on a CPU or queueing for one"),
    **{group: _WAITING.format(what=what) for group, what in (WAITED_FOR | {"for_client": "pgbench"}).items()},
}


def _time(evidence: Evidence, *groups: str) -> list[str]:
    """Return the shares of time that the sessions spent in these groups, as a clause."""
    if not evidence.has_sessions:
        return []
    shares = {group: evidence.share(group) for group in groups}
    shares |= {"running": evidence.on_cpu} if "running" in shares else {}
    shares |= {"for_client": evidence.for_pgbench} if "for_client" in shares else {}
    parts = [f"{_percent(share)} {_GROUPS[group]}" for group, share in shares.items() if share >= _NOTHING]
    return [tr("sessions spent {parts}").format(parts=", ".join(parts))] if parts else []


def _events(evidence: Evidence, least: float = WORTH_NAMING) -> list[str]:
    """Return the most frequent wait events, as a clause."""
    clients = evidence.clients or 1.0
    lines = [
        f"{event} {_percent(sessions / clients)}"
        for event, sessions in evidence.events[:3]
        if sessions >= least * clients
    ]
    return [tr("wait events {events}").format(events=", ".join(lines))] if lines else []


def _cpus(evidence: Evidence) -> list[str]:
    lines: list[str] = []
    if evidence.busy is not None and evidence.cpus:
        lines.append(
            tr("{busy:.2f} of {cpus} CPUs busy").format(
                busy=min(evidence.busy, evidence.cpus), cpus=evidence.cpus
            )
        )
    for name, used in (("PostgreSQL", evidence.server), ("pgbench", evidence.pgbench)):
        if used is not None:
            lines.append(f"{name} {number_text(used, '.2f')}")
    if evidence.kernel:
        lines.append(tr("the kernel's threads {cores:.2f}").format(cores=evidence.kernel))
    if evidence.others is not None:
        lines.append(tr("everything else {cores:.2f}").format(cores=evidence.others))
    if evidence.queueing is not None:
        waited = evidence.queueing + (evidence.pgbench_queueing or 0.0)
        lines.append(tr("{count:.1f} processes waited for a CPU").format(count=waited))
    return [", ".join(lines)] if lines else []


def _pgbench(evidence: Evidence) -> list[str]:
    parts = _time(evidence, "for_client")
    if evidence.pgbench_share is not None:
        words = tr("its threads used {share:.0f} % of the CPU time available to them")
        parts.append(words.format(share=evidence.pgbench_share))
    if evidence.pgbench_queueing is not None:
        words = tr("they waited for a CPU {percent:.0f} % of the time")
        parts.append(words.format(percent=100 * evidence.pgbench_waited))
    return parts


def _device(evidence: Evidence, *, flushes: bool = False) -> list[str]:
    lines: list[str] = []
    for device in evidence.devices[:2]:
        parts: list[str] = []
        if device.utilisation is not None and not flushes:
            parts.append(
                tr("requests in flight {percent:.0f} % of the time").format(percent=device.utilisation)
            )
        if device.queue is not None and not flushes:
            parts.append(tr("queue depth {count:.1f}").format(count=device.queue))
        kinds = [(tr("reads"), device.reads, device.read_ms), (tr("writes"), device.writes, device.write_ms)]
        if flushes:
            kinds = [*kinds[1:], (tr("flushes"), device.flushes, device.flush_ms)]
        parts += [
            tr("{kind} of {ms:.3g} ms, {rate:,.0f} a second").format(kind=kind, ms=each_ms, rate=rate)
            for kind, rate, each_ms in kinds
            if rate and each_ms is not None
        ]
        if parts:
            lines.append(f"{device.name}: {', '.join(parts)}")
    return lines


_OF_WAL: Final = ("wal.syncs", "storage.flushes")
_OF_DATA: Final = ("storage.reads", "storage.writes", "storage.read_bytes", "storage.write_bytes")


def _used(evidence: Evidence, metrics: tuple[str, ...]) -> list[str]:
    """Return a clause about the most used of the storage's capabilities."""
    shares = [evidence.used[metric] for metric in metrics if metric in evidence.used]
    most = max(shares, key=lambda each: each.share, default=None)
    return [] if most is None else [most.sentence[:1].lower() + most.sentence[1:].rstrip(".")]


def _several(evidence: Evidence) -> list[str]:
    shares = {group: evidence.share(group) for group in _GROUPS}
    shares |= {"running": evidence.on_cpu, "for_client": evidence.for_pgbench}
    ordered = sorted(shares, key=lambda group: -shares[group])
    return _time(evidence, *(group for group in ordered if shares[group] >= WORTH_NAMING))


def _memory(evidence: Evidence) -> list[str]:
    sentence = tr("some program waited for memory {percent:.0f} % of the time")
    return [sentence.format(percent=evidence.memory_some or 0.0), *_time(evidence, "for_data")]


def _not_known(evidence: Evidence) -> list[str]:
    if evidence.has_sessions:
        return [*_time(evidence, "for_others"), *_events(evidence)]
    if not evidence.samples:
        return [tr("the file has no wait events, and neither the CPUs, a device nor pgbench was saturated")]
    sentence = trn(
        "too few session samples ({count:.0f}; {clients:.0f} client needs {seconds} s), and neither the "
        "CPUs, a device nor pgbench was saturated",
        "too few session samples ({count:.0f}; {clients:.0f} clients need {seconds} s), and neither the "
        "CPUs, a device nor pgbench was saturated",
        round(evidence.clients or 0.0),
    )
    seconds = 1 + math.ceil(FEWEST_SAMPLES / max(1.0, evidence.clients or 0.0))
    return [sentence.format(count=evidence.samples, clients=evidence.clients, seconds=seconds)]


def _rate(evidence: Evidence) -> list[str]:
    if evidence.tps is None or evidence.rate is None:
        return []
    sentence = tr("{tps:,.0f} TPS at a target rate of {rate:,.0f}")
    return [sentence.format(tps=evidence.tps, rate=evidence.rate)]


_EVIDENCE: Final[Mapping[Cause, Callable[[Evidence], list[str]]]] = MappingProxyType(
    {
        Cause.CPU: lambda each: [*_cpus(each), *_time(each, "running", "for_client")],
        Cause.OTHERS_CPU: _cpus,
        Cause.SESSION_CPU: lambda each: [*_time(each, "running"), *_cpus(each)],
        Cause.DEVICE: lambda each: [
            *_time(each, "for_data", "for_wal"),
            *_device(each),
            *_used(each, _OF_DATA),
        ],
        Cause.WAL: lambda each: [
            *_time(each, "for_wal"),
            *_device(each, flushes=True),
            *_used(each, _OF_WAL),
        ],
        Cause.LOCKS: lambda each: [*_time(each, "for_locks"), *_events(each)],
        Cause.INTERNALS: lambda each: [*_time(each, "for_internals"), *_events(each)],
        Cause.PGBENCH: _pgbench,
        Cause.MEMORY: _memory,
        Cause.SEVERAL: _several,
        Cause.NOT_KNOWN: _not_known,
    }
)


_CPU: Final = ("cpu.user", "cpu.system", "cpu.interrupt", "cpu.steal")
_PROGRAM: Final = ("process.cpu_user", "process.cpu_system")
_DEVICE: Final[Mapping[str, str]] = {
    "utilisation": "device.utilisation",
    "queue": "device.queue",
    "reads": "device.reads",
    "writes": "device.writes",
    "flushes": "device.flushes",
    "read_ms": "device.read_await",
    "write_ms": "device.write_await",
    "flush_ms": "device.flush_await",
}
"""Metric by attribute of `DeviceEvidence`."""

_KERNEL: Final = "kernel.cpu"
_QUEUEING: Final = "process.queueing"
_OTHERS: Final = (
    _QUEUEING,
    "process.pgbench_share",
    "pressure.io_some",
    "pressure.memory_some",
    "sessions.clients",
    _KERNEL,
)
_EVENTS: Final = "sessions.at_event"
METRICS_READ: Final = (
    *(*_CPU, *_PROGRAM, *_DEVICE.values(), *_OTHERS, _EVENTS),
    *(f"sessions.{group}" for group in SESSION_GROUPS),
)

_CLOSED: Final = OfferedLoad(LoadKind.CLOSED)
_PRINTED: Final = ("tps", "transactions", "failed", "skipped")
_TICK_MS: Final = 1000
_MOST: Final = 1e15
_LONGEST: Final = 80

Totals = Mapping[tuple[str, str], tuple[float, float, int]]


def evidence_of(
    totals: Totals,
    environment: EnvironmentFacts,
    *,
    load: OfferedLoad = _CLOSED,
    printed: Figures = MappingProxyType({}),
) -> Evidence:
    """Return the means that serve as evidence.

    Args:
        totals: sum, maximum and count of the samples of the measured phase by metric and instance.
        environment: facts from before the run.
        load: how it was offered.
        printed: pgbench's own figures: `tps`, `transactions`, `failed`, `skipped`.
    """
    seconds = max((count for _, _, count in totals.values()), default=0)

    def mean(metric: str, instance: str = "") -> float | None:
        total, _, count = totals.get((metric, instance), (math.nan, 0.0, 0))
        return _plain(total / count) if count else None

    def sum_of(metrics: tuple[str, ...], instance: str = "") -> float | None:
        found = [value for metric in metrics if (value := mean(metric, instance)) is not None]
        return sum(found) if found else None

    groups = {group: mean(f"sessions.{group}") for group in SESSION_GROUPS}
    _, _, looks = totals.get(("sessions.clients", ""), (0.0, 0.0, 0))
    events = [
        (one_line(instance)[:_LONGEST], value)
        for (metric, instance), (total, _, _) in totals.items()
        if metric == _EVENTS and looks and (value := _plain(total / looks)) is not None
    ]
    cpus = [each for each in (environment.online_cpus, environment.allowed_cpus) if each]
    return Evidence(
        seconds=seconds,
        clients=mean("sessions.clients"),
        sessions={} if None in groups.values() else {name: value or 0.0 for name, value in groups.items()},
        events=tuple(sorted(events, key=lambda each: (-each[1], each[0]))),
        cpus=min(cpus, default=None),
        busy=sum_of(_CPU),
        server=sum_of(_PROGRAM, "postgres"),
        pgbench=sum_of(_PROGRAM, "pgbench"),
        kernel=sum(total for (metric, _), (total, _, _) in totals.items() if metric == _KERNEL) / seconds
        if seconds
        else None,
        queueing=mean(_QUEUEING, "postgres"),
        # pgbench waits for CPUs of this machine, not of the server's.
        pgbench_queueing=None if environment.reached.over else mean(_QUEUEING, "pgbench"),
        pgbench_share=mean("process.pgbench_share"),
        io_some=mean("pressure.io_some"),
        memory_some=mean("pressure.memory_some"),
        devices=tuple(
            DeviceEvidence(
                one_line(device.short_words)[:_LONGEST],
                **{name: mean(metric, device.name) for name, metric in _DEVICE.items()},
            )
            for device in environment.devices
            if device.is_counted
        ),
        rate=load.rate_tps,
        tps=printed.get("tps"),
        is_kept=run_kept_rate(load, printed) if load.kind is LoadKind.RATE else None,
    )


def _plain(value: float) -> float | None:
    """Return a mean; None for an impossible value, which a foreign file may contain."""
    return value if math.isfinite(value) and 0 <= value <= _MOST else None


def limit_elsewhere(evidence: Evidence) -> Bottleneck:
    """Return the bottleneck of a run on a remote server: this machine's figures concern only pgbench.

    A server that waits for its client also waits for the network; the two are indistinguishable.
    """
    there = replace(
        evidence, busy=None, server=None, queueing=None, io_some=None, memory_some=None, devices=()
    )
    found = find_bottleneck(there)
    if found.cause is not Cause.PGBENCH or there.pgbench_is_saturated:
        return found
    sentence = tr(
        "the server waited either for network round trips or for pgbench; the samples cannot separate the two"
    )
    return Bottleneck(Cause.NOT_KNOWN, (sentence,))


def read_bottleneck(run: RunFile) -> Bottleneck:
    """Return a run's bottleneck from its file.

    Raises:
        CorruptRunFileError: it is damaged.
    """
    measured = run.phase(Phase.MEASURE)
    if measured is None or measured.ended_ms is None:
        return Bottleneck(Cause.NOT_KNOWN, (tr("the run was not measured completely"),))
    # A sample is the mean of the second before it: start with the first one completely inside.
    totals = run.totals(measured.started_ms + _TICK_MS, measured.ended_ms, metrics=METRICS_READ)
    metadata, environment = run.metadata, run.environment
    evidence = evidence_of(
        totals,
        environment,
        load=offered_load(metadata),
        printed={name: metadata.printed(name) for name in _PRINTED},
    )
    if metadata.target.kind == ServerTarget.kind and not environment.reached.over:
        return limit_elsewhere(evidence)
    return find_bottleneck(replace(evidence, used={each.metric: each for each in read_used_shares(run)}))
