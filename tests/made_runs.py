"""Run files with known values for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.postgres.pgbench.histogram import Histogram, bucket_of
from app.process.starter import CommandOutcome
from app.runfile.finalize import finish_run_file
from app.runfile.writer import LatencySecond, RunFileWriter
from tests.quiet_machine import write_quiet

LATENCY_US = 2000
VALUES: dict[str, Json] = {
    "id": "ab12cd34ef56ab12",
    "name": "ext4 #1",
    "campaign": "Trial",
    "state": RunState.RUNNING.value,
    "scale": 13,
    "started_epoch_s": 1.7e9,
    "target": {"kind": "folder", "path": "/mnt/big data/bench", "raid": None},
    "workload": {"label": "tpcb-like", "clients": 8, "threads": 2, "protocol": "prepared", "duration_s": 60},
}


def latencies(count: int, latency_us: int = LATENCY_US) -> bytes:
    """An encoded histogram of so many transactions of the same latency."""
    bucket = bucket_of(np.array([latency_us], dtype=np.int64))
    return Histogram(bucket, np.array([count], dtype=np.int64)).encode()


def write_run(
    path: Path,
    tps: Sequence[float] = (100.0, 200.0, 300.0),
    *,
    values: dict[str, Json] | None = None,
    partial: int = 0,
    samples: Sequence[Sample] = (),
    measured: bool = True,
) -> RunFileWriter:
    """A run that measures: one second per value of `tps`; the last `partial` seconds are incomplete."""
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    with writer.transaction():
        write_quiet(writer)
        writer.set_run({**VALUES, **(values or {})})
        writer.begin_phase(Phase.PREPARE, 0)
        writer.add_facts("before", {"storage": {"mount": {"filesystem": "ext4", "source": "nas7:/vol/acme"}}})
        writer.add_command(
            CommandOutcome(("initdb", "-D", "/mnt/big data/bench/x"), "jo", 0.1, 1.5, 0, "", "")
        )
        if measured:
            writer.begin_phase(Phase.MEASURE, 1000)
    for number, value in enumerate(tps if measured else ()):
        t_ms = 1000 * (number + 2)
        with writer.transaction():
            row = [(t_ms, Sample("pgbench.tps", value)), *((t_ms, sample) for sample in samples)]
            writer.add_tick(number, t_ms, lateness_us=0, missed=0, samples=row)
            count = max(1, round(value))
            writer.put_latency_second(
                LatencySecond(
                    t_ms - 1000,
                    count,
                    count * LATENCY_US,
                    0,
                    0,
                    number >= len(tps) - partial,
                    latencies(count),
                )
            )
    return writer


def finished_run(
    path: Path, state: RunState = RunState.DONE, summary: dict[str, float | None] | None = None
) -> Path:
    """A run that ended."""
    writer = write_run(path)
    with writer.transaction():
        writer.end_phase(4000)
    writer.close()
    summary = summary or {"tps": 200.0, "duration_s": 3.0}
    finish_run_file(path, state, summary, [("unsafe", "fsync = off")], is_durable=False)
    return path
