"""Run files of any length, written by the program's own writer, for tests and benches of charts.

The seconds are invented, with the shape of real ones: noise, a dip after each checkpoint, a stall.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.postgres.pgbench.histogram import Histogram
from app.runfile.finalize import finish_run_file
from app.runfile.writer import LatencySecond, RunFileWriter
from tests.quiet_machine import write_quiet

WARM_UP_S = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """What a run of a test looks like.

    Attributes:
        seconds: length of the measured phase.
        tps: mean.
        seed: of the noise.
        checkpoint_every_s: 0 for none.
        stall: (first second, length) without a transaction, length 0 for none.
        planned_s: what the campaign asked for.
        histograms: how many seconds have latencies, None for all.
    """

    seconds: int = 60
    tps: float = 5000.0
    seed: int = 1
    checkpoint_every_s: int = 0
    stall: tuple[int, int] = (0, 0)
    planned_s: float | None = None
    histograms: int | None = None


def tps_of(shape: Shape) -> NDArray[np.float64]:
    """Return the TPS of every second, warm-up included."""
    noise = np.random.default_rng(shape.seed)
    count = shape.seconds + WARM_UP_S
    tps = shape.tps * (1 + 0.05 * noise.standard_normal(count))
    tps[:WARM_UP_S] *= np.linspace(0.4, 1, WARM_UP_S)
    if shape.checkpoint_every_s:
        since = np.arange(count) % shape.checkpoint_every_s
        tps *= 1 - 0.4 * np.exp(-since / 20)
    first, length = shape.stall
    tps[WARM_UP_S + first : WARM_UP_S + first + length] = 0
    return np.maximum(tps, 0)


def _samples(t_ms: int, tps: float, noise: np.random.Generator) -> list[tuple[int, Sample]]:
    part = tps / 5000
    wobble = noise.standard_normal(4) * 0.03 + 1
    values = {
        ("pgbench.tps", ""): tps,
        ("pgbench.latency_mean", ""): 4000 / tps if tps else 0.0,
        ("storage.reads", ""): 40 * part * wobble[0],
        ("storage.writes", ""): 9000 * part * wobble[1],
        ("storage.flushes", ""): 4200 * part * wobble[2],
        ("storage.read_bytes", ""): 3e5 * part * wobble[0],
        ("storage.write_bytes", ""): 9e7 * part * wobble[1],
        ("cpu.user", ""): 0.37 * part * wobble[3],
        ("cpu.system", ""): 0.63 * part * wobble[2],
        ("cpu.iowait", ""): 0.1 * wobble[0],
        ("process.cpu_user", "postgres"): 0.3 * part * wobble[1],
        ("process.cpu_system", "postgres"): 0.4 * part * wobble[2],
        ("process.cpu_user", "pgbench"): 0.05 * part * wobble[3],
        ("process.cpu_system", "pgbench"): 0.2 * part * wobble[0],
        ("wal.bytes", ""): 2.3e7 * part * wobble[1],
        ("memory.available", ""): 2.3e10 * wobble[2],
        ("memory.cached", ""): 4.0e9 * wobble[3],
        ("memory.dirty", ""): 1.0e8 * wobble[0],
        ("pressure.cpu_some", ""): 60 * wobble[1],
        ("pressure.io_some", ""): 9 * wobble[2],
        ("process.queueing", "postgres"): 0.1 * wobble[1],
        ("process.queueing", "pgbench"): 0.02 * wobble[2],
        ("sessions.clients", ""): 4.0,
        ("sessions.running", ""): 0.8 * part * wobble[1],
        ("sessions.for_client", ""): 0.4 * wobble[3],
        ("sessions.for_wal", ""): 2.5 * wobble[0],
        ("sessions.for_data", ""): 0.1 * wobble[1],
        ("sessions.for_locks", ""): 0.2 * wobble[2],
        ("sessions.for_internals", ""): 0.2 * wobble[0],
        ("sessions.for_others", ""): 0.0,
    }
    return [(t_ms, Sample(metric, float(value), instance)) for (metric, instance), value in values.items()]


def _latency(t_ms: int, tps: float, noise: np.random.Generator) -> LatencySecond:
    count = max(1, round(tps / 10))
    latency_us = (noise.lognormal(0, 0.7, count) * 800).astype(np.int64)
    encoded = Histogram.of(latency_us).encode()
    return LatencySecond(
        t_ms, count, int(latency_us.sum()), skipped=0, failed=0, partial=False, buckets=encoded
    )


def begin_run(path: Path, shape: Shape, name: str) -> RunFileWriter:
    """Return a writer in the phase warm-up; the measured phase begins at WARM_UP_S."""
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    planned = shape.planned_s or float(shape.seconds)
    with writer.transaction():
        write_quiet(writer)
        writer.set_run(
            {
                "id": f"{shape.seed:016x}",
                "name": name,
                "campaign": "Trial",
                "state": RunState.RUNNING.value,
                "started_epoch_s": 1.8e9,
                "workload": {
                    "label": "tpcb-like",
                    "clients": 4,
                    "duration_s": planned,
                    "warmup_s": WARM_UP_S,
                },
            }
        )
        writer.begin_phase(Phase.WARM_UP, 0)
    return writer


def add_seconds(writer: RunFileWriter, shape: Shape, begin: int, end: int) -> None:
    """Append the seconds begin to end of a run, warm-up included, in one transaction."""
    tps = tps_of(shape)
    noise = np.random.default_rng(shape.seed + 1000 + begin)
    with_latency = len(tps) if shape.histograms is None else WARM_UP_S + shape.histograms
    with writer.transaction():
        for second in range(begin, end):
            if second == WARM_UP_S:
                writer.begin_phase(Phase.MEASURE, 1000 * WARM_UP_S)
            t_ms, value = 1000 * (second + 1), float(tps[second])
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=_samples(t_ms, value, noise))
            if WARM_UP_S <= second < with_latency and value:
                writer.put_latency_second(_latency(t_ms - 1000, value, noise))
            if shape.checkpoint_every_s and second % shape.checkpoint_every_s == 0 and second:
                writer.add_event(t_ms, "checkpoint-start", "checkpoint starting: time", {"cause": "time"})
                message = "checkpoint complete: wrote 2983 buffers (0.4%)"
                writer.add_event(
                    t_ms + 8000, "checkpoint-complete", message, {"buffers": 2983, "total_s": 8.0}
                )


def write_run(path: Path, shape: Shape, name: str = "ext4 #1") -> Path:
    """Write a finished run."""
    writer = begin_run(path, shape, name)
    add_seconds(writer, shape, 0, WARM_UP_S + shape.seconds)
    with writer.transaction():
        writer.end_phase(1000 * (WARM_UP_S + shape.seconds))
        writer.set_run({"state": RunState.DONE.value})
    writer.close()
    summary = {"tps": float(tps_of(shape)[WARM_UP_S:].mean())}
    finish_run_file(path, RunState.DONE, summary, is_durable=False)
    return path


def change_run(path: Path, *statements: str) -> Path:
    """Execute statements of SQL in a run file; return its path."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path
