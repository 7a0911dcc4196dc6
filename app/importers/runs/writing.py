"""A foreign run becomes an ordinary run file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Final

from app import VERSION
from app.execution.run_description import marks_after
from app.importers.runs.foreign_run import ForeignRun, ForeignSeries
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.typed_json import values_of
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import LatencySecond, Phase, RunFileWriter, RunState, compact

_JOURNALS: Final = ("", "-wal", "-shm", "-journal")


def write_run(run: ForeignRun, path: Path) -> Path:
    """Write the run file; there is either a whole one at `path` in the end, or none.

    Nothing waits for the disk: what a power cut takes can be imported again.

    Raises:
        RunFileError: it cannot be written; what was there is as it was.
        ForeignDataError: the log cannot be read to its end.
    """
    part = path.with_name(f"{path.name}.part")
    _remove(part)
    try:
        _fill(part, run)
        with RunFile(part) as made:
            # Nothing sampled, so nothing missed either: the figure would say that all is well.
            summary = summarise(made) | {"missed_ticks": None}
        marks = (*run.marks, *marks_after(summary))
        finish_run_file(part, RunState.DONE, summary, marks, is_durable=False)
        part.replace(path)
    finally:
        _remove(part)
    return path


def _remove(path: Path) -> None:
    for end in _JOURNALS:
        path.with_name(path.name + end).unlink(missing_ok=True)


def _fill(path: Path, run: ForeignRun) -> None:
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    try:
        with writer.transaction():
            writer.set_run(
                values_of(
                    replace(
                        run.metadata,
                        id=run.digest[:16],
                        name=run.name,
                        campaign=run.campaign,
                        state=RunState.RUNNING.value,
                        program_version=VERSION,
                        started_epoch_s=run.started_epoch_s,
                        ended_epoch_s=(
                            None if run.started_epoch_s is None else run.started_epoch_s + run.duration_s
                        ),
                    )
                )
            )
            writer.begin_phase(Phase.MEASURE, 0)
            writer.end_phase(round(1000 * run.duration_s))
            for series in run.series:
                _write_series(writer, series)
            _write_seconds(writer, run)
            writer.add_facts("before", run.facts)
            for event in run.events:
                writer.add_event(round(1000 * event.t_s), event.kind, event.message, event.data)
            for name, text in run.outputs.items():
                writer.set_output(name, text)
            for source, reason in run.missing:
                writer.add_unavailable(0, source, reason)
    finally:
        writer.close()


def _write_series(writer: RunFileWriter, series: ForeignSeries) -> None:
    writer.add_samples(
        series.metric,
        (
            (round(1000 * t_s), compact(value))
            for t_s, value in zip(series.t_s.tolist(), series.values.tolist(), strict=True)
            if math.isfinite(value)
        ),
        source=series.source,
    )


def _write_seconds(writer: RunFileWriter, run: ForeignRun) -> None:
    for second in run.seconds() if run.seconds else ():
        writer.put_latency_second(
            LatencySecond(
                1000 * second.number,
                second.transactions,
                second.latency_sum_us,
                second.skipped,
                second.failed,
                partial=False,
                buckets=second.histogram.encode(),
            )
        )
