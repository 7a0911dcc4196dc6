"""What a run file holds of what limited its run: means of its series over the measured phase."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from app.analysis.bottleneck import Bottleneck, Cause, DeviceEvidence, Evidence, find_bottleneck
from app.analysis.io_baseline import read_used_shares
from app.analysis.labels import one_line
from app.domain.campaign.configuration import ServerTarget
from app.domain.metrics import SESSION_GROUPS
from app.domain.text import tr
from app.runfile.metadata.environment import EnvironmentFacts, read_environment_facts
from app.runfile.metadata.offered_load import Figures, LoadKind, OfferedLoad, offered_load, run_kept_rate
from app.runfile.reader import RunFile
from app.runfile.writer import Phase

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
"""Attribute of `DeviceEvidence` and metric."""

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
    """Return the means of what tells a cause.

    Args:
        totals: sum, maximum and count of the samples of the measured phase by metric and instance.
        environment: facts of before the run.
        load: how it was offered.
        printed: what pgbench said of the run: `tps`, `transactions`, `failed`, `skipped`.
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
        # That of pgbench is for CPUs of this machine, not of the server's.
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
    """Return a mean; None for what no machine does, which a foreign file may hold."""
    return value if math.isfinite(value) and 0 <= value <= _MOST else None


def limit_elsewhere(evidence: Evidence) -> Bottleneck:
    """Return what limited a run on a server elsewhere: what is of this machine is pgbench's alone.

    A server that waits for its client waits for the network as well, which nothing tells apart.
    """
    there = replace(
        evidence, busy=None, server=None, queueing=None, io_some=None, memory_some=None, devices=()
    )
    found = find_bottleneck(there)
    if found.cause is not Cause.PGBENCH or there.pgbench_is_saturated:
        return found
    told = tr("the server waited for round trips of the network, or for pgbench, which nothing tells apart")
    return Bottleneck(Cause.NOT_KNOWN, (told,))


def read_bottleneck(run: RunFile) -> Bottleneck:
    """Return what limited a run, by its file.

    Raises:
        CorruptRunFileError: it is damaged.
    """
    measured = run.phase(Phase.MEASURE)
    if measured is None or measured.ended_ms is None:
        return Bottleneck(Cause.NOT_KNOWN, (tr("it was not measured to its end"),))
    # A sample is the mean of the second before it: the first one whole inside.
    totals = run.totals(measured.started_ms + _TICK_MS, measured.ended_ms, metrics=METRICS_READ)
    told, environment = run.metadata, read_environment_facts(run.facts("before"))
    evidence = evidence_of(
        totals,
        environment,
        load=offered_load(told),
        printed={name: told.printed(name) for name in _PRINTED},
    )
    if told.target.kind == ServerTarget.kind and not environment.reached.over:
        return limit_elsewhere(evidence)
    return find_bottleneck(replace(evidence, used={each.metric: each for each in read_used_shares(run)}))
