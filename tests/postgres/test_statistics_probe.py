from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psycopg
import pytest

from app.domain.metrics import METRICS
from app.postgres.installations.installation import Installation
from app.postgres.server import Server
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ReadMissed, ServerSources
from app.probes.sampling.sampler import Sampler, Tick
from app.probes.sources.postgres_statistics import (
    COLUMNS,
    PostgresStatisticsProbe,
    columns_of,
    omissions_of,
    statement_of,
)
from app.probes.sources.processes import ProcessesProbe
from app.probes.sources.server_log import ServerEvent, ServerEventKind, ServerLogTail
from tests.fix_postgres import Workbench
from tests.unit.probes.fakes import HandClock, values

RECORDED = Path(__file__).parents[1] / "data" / "server_statistics"


@pytest.mark.parametrize("major", [13, 14, 15, 16, 17, 18])
def test_recorded_rows_keep_their_columns(major: int) -> None:
    rows = [
        [int(word) for word in line.split()] for line in (RECORDED / f"{major}.txt").read_text().splitlines()
    ]
    assert {len(row) for row in rows} == {len(columns_of(major))}
    assert all(new >= old for old, new in zip(rows[0], rows[-1], strict=True))
    gained = dict(
        zip(
            (column.metric for column in columns_of(major)),
            (new - old for old, new in zip(rows[0], rows[-1], strict=True)),
            strict=True,
        )
    )
    assert gained["wal.bytes"] > 10**8
    assert gained["server.blocks_hit"] > 10**5
    assert gained["server.checkpoints_requested"] > 0


@pytest.mark.parametrize("major", [13, 14, 15, 16, 17, 18])
def test_metric_has_column_or_reason(major: int) -> None:
    metrics = [column.metric for column in columns_of(major)]
    omitted = [omission.metric for omission in omissions_of(major)]
    assert len(set(metrics)) == len(metrics)
    assert set(metrics) | set(omitted) == {column.metric for column in COLUMNS}
    assert set(metrics).isdisjoint(omitted)
    assert set(metrics) <= METRICS.keys()


def test_omissions_of_13_name_versions() -> None:
    reasons = {omission.metric: omission.reason for omission in omissions_of(13)}
    assert "14 or newer" in reasons["wal.records"]
    assert "16 or newer" in reasons["server.io_reads"]


def test_views_are_asked_only_where_they_are() -> None:
    assert "pg_stat_wal" not in statement_of(13)
    assert "pg_stat_io" not in statement_of(15)
    assert "pg_stat_checkpointer" not in statement_of(16)
    assert "pg_stat_checkpointer" in statement_of(17)
    assert "wal_sync" not in statement_of(18)


def test_nothing_read_without_server() -> None:
    probe = PostgresStatisticsProbe()
    probe.open(ProbeContext(ServerSources()))
    assert probe.read() == []
    probe.close()


def test_missing_server_is_a_reason(tmp_path: Path) -> None:
    probe = PostgresStatisticsProbe()
    probe.open(ProbeContext(ServerSources(f"host={tmp_path} dbname=postgres user=nobody")))
    with pytest.raises(ProbeUnavailable, match="cannot be read"):
        probe.read()
    probe.close()


@pytest.fixture
def server(workbench: Workbench) -> Iterator[Server]:
    found = workbench.server(("log_autovacuum_min_duration", "0"))
    found.start()
    yield found
    found.stop()


def fill(server: Server, rows: int) -> None:
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS filled (a int, b text)")
        connection.execute(
            "INSERT INTO filled SELECT i, repeat('x', 200) FROM generate_series(1, %s) i", (rows,)
        )


@pytest.mark.postgres
def test_wal_that_was_written_is_counted_exactly(server: Server) -> None:
    clock = HandClock()
    probe = PostgresStatisticsProbe(clock)
    probe.open(ProbeContext(ServerSources(server.conninfo)))
    assert probe.read() == []
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        lsn = "SELECT pg_current_wal_insert_lsn() - '0/0'"
        before = connection.execute(lsn).fetchone()
        fill(server, 2000)
        after = connection.execute(lsn).fetchone()
    assert before is not None
    assert after is not None
    clock.advance(2)
    found = values(probe.read())
    assert found["wal.bytes"] >= int(after[0] - before[0]) // 2 > 100_000
    assert found.keys() <= METRICS.keys()
    probe.close()


@pytest.mark.postgres
def test_every_column_of_this_version_is_yielded(server: Server) -> None:
    clock = HandClock()
    probe = PostgresStatisticsProbe(clock)
    probe.open(ProbeContext(ServerSources(server.conninfo)))
    probe.read()
    clock.advance(1)
    with psycopg.connect(server.conninfo) as connection:
        major = connection.info.server_version // 10000
    always = {column.metric for column in columns_of(major) if not METRICS[column.metric].absent_is_zero}
    assert always <= values(probe.read()).keys()
    assert probe.omissions == omissions_of(major)
    probe.close()


@pytest.mark.postgres
def test_statement_runs_on_every_version(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    for server in workbench.each_version(every_installation):
        major = server.installation.major
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            row = connection.execute(statement_of(major).encode()).fetchone()
        assert row is not None
        assert len(row) == len(columns_of(major))


@pytest.mark.postgres
def test_a_checkpoint_is_counted_and_logged(server: Server) -> None:
    clock = HandClock()

    def open_log() -> IO[bytes]:
        return Path(server.log_path).open("rb", buffering=0)

    tail = ServerLogTail(open_log)
    probe = PostgresStatisticsProbe(clock)
    probe.open(ProbeContext(ServerSources(server.conninfo)))
    probe.read()
    fill(server, 2000)
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    requested, deadline_s = 0.0, time.monotonic() + 30
    while not requested and time.monotonic() < deadline_s:  # the checkpointer reports after it answered
        clock.advance(1)
        requested = values(probe.read()).get("server.checkpoints_requested", 0)
    assert requested >= 1
    probe.close()
    server.stop()
    events: list[ServerEvent] = tail.finish()
    kinds = [event.kind for event in events]
    assert ServerEventKind.CHECKPOINT_COMPLETE in kinds  # none at the stop, which is immediate
    completed = next(event for event in events if event.kind is ServerEventKind.CHECKPOINT_COMPLETE)
    assert int(completed.values["buffers"]) > 0


@pytest.mark.postgres
def test_restarted_server_reconnected(server: Server) -> None:
    context = ProbeContext(ServerSources(server.conninfo))
    clock = HandClock()
    probe = PostgresStatisticsProbe(clock)
    probe.open(context)
    probe.read()
    context.server = ServerSources()
    server.stop()
    assert probe.read() == []
    server.start()
    context.server = ServerSources(server.conninfo)
    assert probe.read() == []
    clock.advance(1)
    assert "wal.bytes" in values(probe.read())
    probe.close()


@pytest.mark.postgres
def test_dead_server_is_reason_until_back(server: Server) -> None:
    context = ProbeContext(ServerSources(server.conninfo))
    probe = PostgresStatisticsProbe()
    probe.open(context)
    probe.read()
    server.stop()
    with pytest.raises(ProbeUnavailable):
        probe.read()
    server.start()
    assert probe.read() == []
    probe.close()


@pytest.mark.postgres
def test_slow_read_is_missed(server: Server) -> None:
    clock = HandClock()

    def slow() -> float:
        clock.advance(0.15)
        return clock.now

    probe = PostgresStatisticsProbe(slow)
    probe.open(ProbeContext(ServerSources(server.conninfo)))
    probe.read()
    clock_steps = iter((0.0, 0.3))
    probe._clock = lambda: clock.now + next(clock_steps)
    with pytest.raises(ReadMissed):
        probe.read()
    probe.close()


@pytest.mark.postgres
def test_stop_ends_hanging_read(server: Server) -> None:
    missed = threading.Event()

    def deliver(tick: Tick) -> None:
        if tick.missed_readings:
            missed.set()

    context = ProbeContext(ServerSources(server.conninfo, postmaster_pid=server.pid))
    probe = PostgresStatisticsProbe()
    sampler = Sampler([probe], context, deliver, interval_s=0.02)
    sampler.start()
    worker = sampler._workers[0]
    with worker._condition:
        assert worker._condition.wait_for(lambda: probe._connection is not None and worker._asked is None, 30)
    assert probe._connection is not None
    backend = probe._connection.info.backend_pid
    os.kill(backend, signal.SIGSTOP)
    try:
        missed.clear()
        assert missed.wait(30)
        sampler.stop()
        assert not worker._thread.is_alive()
    finally:
        os.kill(backend, signal.SIGCONT)


@pytest.mark.postgres
def test_cpu_includes_ended_backends(server: Server) -> None:
    clock = HandClock()
    probe = ProcessesProbe(clock=clock)
    probe.open(ProbeContext(ServerSources(postmaster_pid=server.pid)))
    probe.read()
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("SELECT count(*) FROM generate_series(1, 3000000) i WHERE i % 7 = 0")
    clock.advance(1)
    found = values(probe.read())
    assert found["process.cpu_user postgres"] + found["process.cpu_system postgres"] >= 0.05
    assert found["process.server_processes"] >= 5
    probe.close()
