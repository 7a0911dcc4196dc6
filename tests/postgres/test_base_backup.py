"""Base backups beside a phase, with a real server: again and again, as fast as said, stored and told."""

from __future__ import annotations

import time
from itertools import pairwise

import psycopg
import pytest

from app.analysis.facts import phase_note
from app.domain.maintenance import MaintenanceEnd
from app.domain.text import KIB
from app.postgres.base_backup import PROGRAM, TARGETS_MAJOR, base_backup_argv, make_base_backup
from app.postgres.configuration_text import BACKUP_ROLE, BENCH_ROLE, connect
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import Connection
from app.postgres.server import Server
from app.process.starter import Recorder
from app.runfile.disturbance import read_disturbances
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, campaign_text
from tests.fix_postgres import Workbench, give

pytestmark = pytest.mark.long


def backed_up(
    server: Server,
    record: Recorder,
    *,
    several: bool = False,
    cancelled: bool = False,
    role: str = BACKUP_ROLE,
) -> MaintenanceEnd:
    program, connection = server.installation.program(PROGRAM), Connection(server.socket_directory)
    argv = base_backup_argv(program, connection, 32 * KIB if cancelled else None, has_tablespaces=several)
    argv = tuple(word.replace(BACKUP_ROLE, role) for word in argv)
    begun_s = time.monotonic()
    return make_base_backup(
        argv, server.account, record, lambda: cancelled and time.monotonic() > begun_s + 0.5, 60.0
    )


def test_backup_role_in_every_version(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    for server in workbench.each_version(every_installation):
        server.stop()
        server.backups = True
        server.write_configuration()
        server.start()
        assert server.make_backup_role() is False
        record = workbench.outcomes.append
        ended = backed_up(server, record)
        assert (ended.how, ended.message) == ("done", "")
        assert backed_up(server, record, cancelled=True).how == "ended"
        refused = backed_up(server, record, role=BENCH_ROLE)
        assert refused.how == "failed"
        assert BENCH_ROLE in refused.message
        role = f"host={server.socket_directory} port=5432 user={BACKUP_ROLE} dbname=postgres"
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(role)
        server.stop()


def test_tablespace_backup_to_nowhere(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    tried = 0
    for server in workbench.each_version(every_installation):
        if server.installation.major < TARGETS_MAJOR:
            continue
        tried += 1
        place = give(workbench.folder / f"tablespace{tried}", server.account)
        server.stop()
        server.backups = True
        server.write_configuration()
        server.start()
        with connect(server.conninfo) as connection:
            connection.execute(f"CREATE TABLESPACE apart LOCATION '{place}'".encode())
        assert server.make_backup_role() is True
        record = workbench.outcomes.append
        assert backed_up(server, record, several=True).how == "done"
        assert "tablespace" in backed_up(server, record).message
        server.stop()
    assert tried or all(each.major < TARGETS_MAJOR for each in every_installation)


WORKLOAD = """scale = 2
clients = 2
warmup = 0
duration = "4s"
[[workload.phase]]
name = "alone"
script = "select-only"
duration = "1s"
[[workload.phase]]
name = "beside"
background = "pg_basebackup"
[[workload.phase]]
name = "slowly"
background = "pg_basebackup"
max_rate = "256 KiB"
duration = "3s"
"""


def test_base_backups_last_as_long_as_phase(campaign_bench: CampaignBench) -> None:
    campaign_bench.run(campaign_text(memory=True, workload=WORKLOAD), status=0)
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        alone, beside, slowly = known(run.metadata.phases, ())
        assert alone.background.name == ""
        turns = beside.background.turns
        # A machine that does much else may need longer for one than the phase lasts.
        assert beside.background.done >= 1 or [turn.how for turn in turns] == ["ended"]
        assert all(after.started_ms >= before.ended_ms for before, after in pairwise(turns))
        (cut,) = slowly.background.turns
        assert (cut.how, slowly.background.max_rate_bytes) == ("ended", 256 * 1024)
        for found, name in ((beside, "phase:2"), (slowly, "measure")):
            (times,) = (each for each in run.phases() if each.name.text == name)
            first, last = found.background.turns[0], found.background.turns[-1]
            slowest_ms = max(turn.ended_ms - turn.started_ms for turn in found.background.turns)
            ended_ms = times.ended_ms or 0
            assert first.started_ms < ended_ms
            assert last.how == "ended" or ended_ms - last.ended_ms <= slowest_ms + 1000
        argvs = [each.argv for each in run.commands() if each.argv[0].endswith("pg_basebackup")]
        assert len(argvs) == len(beside.background.turns) + 1
        assert "--max-rate=256k" in argvs[-1]
        settings = {each.name: each for each in known(run.metadata.settings, ())}
        assert (settings["wal_level"].value, settings["wal_level"].origin) == ("replica", "pgfooting")
        assert [event.kind for event in run.events()].count("background") == len(argvs) + 2
        judged = read_disturbances(run)
        assert "the run itself did this in parallel: pg_basebackup" in dict(judged.unknown).values() or (
            len(judged.measured) == 0
        )
        assert phase_note(slowly) == (
            "in parallel with pg_basebackup at most 256 KiB a second (one cut off by the end of the run)"
        )
    shown = " ".join(campaign_bench.command("show", str(path)).stdout.split())
    assert "in parallel with pg_basebackup (" in shown
