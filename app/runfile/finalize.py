"""Finish a run file: one file without a journal, its samples clustered, its percentiles as series."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from app.domain.errors import CorruptRunFileError
from app.domain.metrics import METRICS
from app.domain.run import RunState
from app.runfile.histogram_decoding import percentiles
from app.runfile.summary import DEFINITIONS
from app.runfile.writer import compact, report_write_errors

PERCENTS: Final = (50.0, 95.0, 99.0)
"""Percentiles of each second, stored in a finished file as series latency.p50 ..., next to the histograms."""
_AT_ONCE: Final = 1024
"""Histograms in memory at once, one per second: a day has 86 400."""
_LOOK_S: Final = 0.02


def finish_run_file(  # noqa: PLR0913 - all that a finished file says, each by its name
    path: Path,
    state: RunState,
    summary: Mapping[str, float | None],
    marks: Iterable[tuple[str, str]] = (),
    *,
    phases: Mapping[int, Mapping[str, float | None]] | None = None,
    is_durable: bool = True,
    readers_s: float = 20.0,
) -> None:
    """Cluster the samples, store state, summary and marks, and leave one file without a journal.

    Used at the end of a run, and on files of dead runners. May be repeated.

    Args:
        path: of the file.
        state: of the run.
        summary: its figures.
        marks: (kind, reason) labels.
        phases: figures of the phases other than `measure`, by number, of a workload with several.
        is_durable: wait for the disk.
        readers_s: how long to wait for permanent readers; then the file is complete, but keeps an empty
            journal.

    Raises:
        RunFileError: the file cannot be written or is damaged; it is unchanged.
    """
    with report_write_errors(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=10)
        try:
            if not is_durable:
                connection.execute("PRAGMA synchronous=OFF")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR REPLACE INTO sample SELECT json_extract(entry.value, '$[0]'),"
                " json_extract(entry.value, '$[1]'), json_extract(entry.value, '$[2]')"
                " FROM tick, json_each(tick.live) AS entry WHERE tick.live IS NOT NULL ORDER BY 1, 2"
            )
            connection.execute("UPDATE tick SET live = NULL")
            _store_percentiles(connection)
            connection.executemany(
                "INSERT OR REPLACE INTO run VALUES (?, ?)",
                [("state", json.dumps(state.value)), ("figure_definitions", json.dumps(DEFINITIONS))],
            )
            connection.execute("DELETE FROM summary")
            connection.executemany("INSERT INTO summary VALUES (?, ?)", summary.items())
            if phases:  # a file of the format with phases
                connection.execute("DELETE FROM phase_figure")
                connection.executemany(
                    "INSERT INTO phase_figure VALUES (?, ?, ?)",
                    [(number, *each) for number, found in phases.items() for each in found.items()],
                )
            connection.executemany("INSERT OR IGNORE INTO mark VALUES (?, ?)", marks)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
            _leave_wal_mode(connection, readers_s)
        finally:
            connection.close()


def _leave_wal_mode(connection: sqlite3.Connection, readers_s: float) -> None:
    """Make the file one file; with a permanent reader, at least move the whole journal into it.

    SQLite grants the necessary lock only if no other process has the file open, and fails at once: its busy
    timeout does not apply here. A window that shows the run must not make the run fail.
    """
    deadline_s = time.monotonic() + readers_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise
            if time.monotonic() >= deadline_s:
                connection.execute(f"PRAGMA busy_timeout={round(readers_s * 1000)}")
                (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if is_busy:  # a reader needs the journal: the file is not complete without it
                    raise
                return
            time.sleep(_LOOK_S)
        else:
            return


def _store_percentiles(connection: sqlite3.Connection) -> None:
    """Store the percentiles of each second as series, to save charts from decoding an hour of histograms.

    If a histogram is damaged nothing is stored: readers of percentiles then find the damage.
    """
    cursor = connection.execute("SELECT t_ms, buckets FROM histogram WHERE transactions > 0 ORDER BY t_ms")
    times_ms: list[int] = []
    found_us: list[list[float]] = [[] for _ in PERCENTS]
    try:
        while rows := cursor.fetchmany(_AT_ONCE):
            times_ms += [t_ms for t_ms, _ in rows]
            batch_us = percentiles([bytes(buckets) for _, buckets in rows], PERCENTS).tolist()
            for known, more in zip(found_us, batch_us, strict=True):
                known.extend(more)
    except CorruptRunFileError:
        return
    if not times_ms:
        return
    for percent, latency_us in zip(PERCENTS, found_us, strict=True):
        spec = METRICS[f"latency.p{percent:g}"]
        connection.execute(
            "INSERT OR IGNORE INTO series (metric, instance, unit, label, source) VALUES (?, '', ?, ?, ?)",
            (spec.id, spec.unit, spec.label, spec.source),
        )
        connection.executemany(
            "INSERT OR REPLACE INTO sample SELECT id, ?, ? FROM series WHERE metric = ? AND instance = ''",
            [
                (t_ms + 1000, compact(latency / 1000), spec.id)
                for t_ms, latency in zip(times_ms, latency_us, strict=True)
                if math.isfinite(latency)
            ],
        )
