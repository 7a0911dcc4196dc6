"""Run files of workloads with several phases, written by the program's own writer, with known figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from app.domain.campaign.configuration import RateShare
from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.postgres.pgbench.histogram import Histogram
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.run_metadata import BackgroundMetadata, PhaseMetadata, RunMetadata, WorkloadMetadata
from app.runfile.metadata.typed_json import values_of
from app.runfile.reader import RunFile
from app.runfile.summary import summarise, summarise_phases
from app.runfile.writer import LatencySecond, RunFileWriter
from tests.quiet_machine import write_quiet

SECONDS = 5


@dataclass(frozen=True, slots=True)
class PhaseShape:
    """One time of a phase in a run of a test.

    Attributes:
        name: of the phase.
        tps: in each of its seconds.
        time: which time of it.
        times: of the phase.
        counts: whether it is compared.
        label: of its transactions.
        rate_tps: that was offered; None for as fast as clients could.
        share: what the rate was a share of.
        beside: what was done beside it.
    """

    name: str
    tps: float
    time: int = 1
    times: int = 1
    counts: bool = True
    label: str = "tpcb-like"
    rate_tps: float | None = None
    share: RateShare | None = None
    beside: BackgroundMetadata = field(default_factory=BackgroundMetadata)


@dataclass(frozen=True, slots=True)
class PhasedRun:
    """A run of a test that measured several phases.

    Attributes:
        configuration: of the run.
        repeat: 0-based.
        phases: in order; the last that counts gives the figures of the run.
        marks: (kind, reason) labels.
        state: how it ended.
        campaign: its name and folder.
    """

    configuration: str
    repeat: int
    phases: tuple[PhaseShape, ...]
    marks: tuple[tuple[str, str], ...] = ()
    state: RunState = RunState.DONE
    campaign: str = "Trial"


def _phase_metadata(run: PhasedRun) -> tuple[PhaseMetadata, ...]:
    own = max(number for number, shape in enumerate(run.phases) if shape.counts)
    return tuple(_described(number, shape, is_own=number == own) for number, shape in enumerate(run.phases))


def _described(number: int, shape: PhaseShape, *, is_own: bool) -> PhaseMetadata:
    printed: dict[str, Json] = {
        "tps": shape.tps,
        "transactions": round(shape.tps * SECONDS),
        "failed": 0,
        "latency_ms": 1.0,
    }
    if shape.rate_tps is not None:
        printed["lag_ms"] = 0.5
    workload = WorkloadMetadata(
        label=shape.label,
        clients=4,
        threads=1,
        duration_s=SECONDS,
        rate_tps=shape.rate_tps,
        latency_limit_ms=None,
    )
    return PhaseMetadata(
        number=number + 1,
        name=shape.name,
        time=shape.time,
        times=shape.times,
        counts=shape.counts,
        is_own=is_own,
        workload=workload,
        rate_percent=None if shape.share is None else shape.share.percent,
        rate_of=None if shape.share is None else shape.share.of,
        background=shape.beside,
        pgbench=printed,
    )


def write_phased_run(path: Path, run: PhasedRun) -> Path:
    """Write a run that ended, with the figures of all its phases."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = _phase_metadata(run)
    own = next(each for each in found if each.is_own)
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False, has_phases=True)
    with writer.transaction():
        write_quiet(writer)
        writer.set_run(
            {
                "id": f"{abs(hash(str(path))):016x}",
                "name": f"{run.configuration} #{run.repeat + 1}",
                "campaign": run.campaign,
                "campaign_folder": run.campaign,
                "configuration": run.configuration,
                "repeat": run.repeat,
                "state": RunState.RUNNING.value,
                "started_epoch_s": 1.8e9 + 60 * run.repeat,
                "target": {"kind": "folder", "path": "/srv/bench", "raid": None},
                **values_of(RunMetadata(phases=found, workload=own.workload, pgbench=own.pgbench)),
            }
        )
        for kind, reason in run.marks:
            writer.add_mark(kind, reason)
    for number, (shape, each) in enumerate(zip(run.phases, found, strict=True)):
        _write_phase(writer, number * SECONDS, shape, each)
    with writer.transaction():
        writer.end_phase(1000 * SECONDS * len(found))
        writer.set_run({"state": run.state.value})
    writer.close()
    with RunFile(path) as written:
        summary, phases = summarise(written), summarise_phases(written)
    finish_run_file(path, run.state, summary, phases=phases, is_durable=False)
    return path


def _write_phase(writer: RunFileWriter, begin_s: int, shape: PhaseShape, phases: PhaseMetadata) -> None:
    latency_us = np.full(round(shape.tps), round(4e6 / shape.tps), dtype=np.int64)
    encoded = Histogram.of(latency_us).encode()
    with writer.transaction():
        if phases.is_own:
            writer.begin_phase(Phase.MEASURE, 1000 * begin_s)
        else:
            writer.begin_phase(Phase.PART, 1000 * begin_s, phases.number)
        for second in range(begin_s, begin_s + SECONDS):
            t_ms = 1000 * (second + 1)
            sample = Sample("pgbench.tps", shape.tps)
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=[(t_ms, sample)])
            writer.put_latency_second(
                LatencySecond(
                    t_ms - 500,
                    len(latency_us),
                    int(latency_us.sum()),
                    skipped=0,
                    failed=0,
                    partial=False,
                    buckets=encoded,
                )
            )


READS = (5000.0, 5010.0, 4990.0)
WRITES = (800.0, 806.0, 797.0)


def reads_and_writes(repeat: int, *, reads: float = 1.0, writes: float = 1.0) -> tuple[PhaseShape, ...]:
    """Return selects to fill the caches, selects two times, and TPC-B, which gives the figures of the run.

    Args:
        repeat: 0-based; decides by how much it differs from the other repeats.
        reads: factor of the selects that count.
        writes: factor of the others.
    """
    selects = PhaseShape("reads", READS[repeat % 3] * reads, times=2, label="select-only")
    return (
        PhaseShape("fill", 3000 + repeat, counts=False, label="select-only"),
        selects,
        replace(selects, time=2, tps=selects.tps + 50),
        PhaseShape("writes", WRITES[repeat % 3] * writes),
    )


def write_phased_campaign(folder: Path, runs: Sequence[PhasedRun]) -> list[Path]:
    """Write several runs."""
    return [write_phased_run(folder / f"{number:02}.footing", run) for number, run in enumerate(runs)]


def ext4_and_xfs(repeats: int = 3) -> list[PhasedRun]:
    """Return runs of two configurations, interleaved: selects are alike, writes of xfs a fifth faster."""
    speeds = {"ext4": 1.0, "xfs": 1.2}
    return [
        PhasedRun(name, repeat, reads_and_writes(repeat, writes=factor))
        for repeat in range(repeats)
        for name, factor in speeds.items()
    ]
