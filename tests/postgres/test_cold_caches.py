"""Cold caches with a real server on a folder: emptied before each run, read back, refused in memory."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from app.analysis.data_set import MOST_CACHED, STILL_CACHED
from app.domain.errors import ServerError
from app.domain.run import Phase
from app.execution.control import Request, send_request
from app.postgres.configuration_text import connect
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.fix_campaign import ORDINARY_EVENTS, CampaignBench, campaign_text
from tests.fix_postgres import Workbench

pytestmark = pytest.mark.long

COLD = 'scale = 4\nclients = 2\ncaches = "cold"\nduration = "3s"\nscript = "select-only"'


def test_every_run_begins_cold(campaign_bench: CampaignBench) -> None:
    campaign_bench.run(campaign_text(folder=campaign_bench.target, repeats=2, workload=COLD), status=0)
    files = campaign_bench.run_files()
    assert len(files) == 2
    for path in files:
        check_cold(path)
    shown = campaign_bench.command("show", str(files[0])).stdout
    assert "cold" in next(line for line in shown.splitlines() if line.strip().startswith("Caches"))
    assert "data still cached when measuring began" in shown
    differing = campaign_bench.command("compare", *map(str, files)).stdout
    assert "not cold" not in differing


def check_cold(path: Path) -> None:
    with RunFile(path) as run:
        run.check()
        assert run.phase(Phase.WARM_UP) is None
        assert run.metadata.workload.caches == "cold"
        cached = or_none(run.metadata.cached)
        assert cached is not None
        assert cached.data_bytes > 50 * 2**20, "tables and indexes of scale 4"
        assert cached.cached_bytes <= MOST_CACHED * cached.data_bytes
        assert run.summary()["data_cached"] == 100 * cached.cached_bytes / cached.data_bytes
        assert STILL_CACHED not in dict(run.marks())
        # The probes go on where they were: no number twice, none left out, the server's from the start.
        assert run.ticks()[:, 0].tolist() == list(range(len(run.ticks())))
        measured = run.phase(Phase.MEASURE)
        assert measured is not None
        for series in (("cpu.user", ""), ("process.cpu_user", "postgres"), ("wal.bytes", "")):
            t_ms, _ = run.samples(*series)
            assert t_ms[t_ms > measured.started_ms].min() < measured.started_ms + 2500, series
        assert {each.kind for each in run.events()} <= ORDINARY_EVENTS
        assert (run.output("server.log") or "").count("database system is ready") == 2
        assert "database system was not properly shut down" not in (run.output("server.log") or "")
        argvs = [command.argv for command in run.commands()]
        assert sum(argv[0].endswith("/postgres") and argv[1] == "-D" for argv in argvs) == 2
        assert sum(argv[:2] == ("sync", "--file-system") for argv in argvs) == 2
        assert all(command.exit_code == 0 for command in run.commands())


def test_stop_while_cooling(campaign_bench: CampaignBench) -> None:
    running = campaign_bench.start(campaign_text(folder=campaign_bench.target, workload=COLD))
    running.until_phase("settle")
    (folder,) = campaign_bench.library.iterdir()
    send_request(folder, Request.STOP)
    running.end()
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.state == "stopped"
    assert list(campaign_bench.target.iterdir()) == []


def test_data_in_memory_is_never_cold(campaign_bench: CampaignBench) -> None:
    ended = campaign_bench.run(campaign_text(memory=True, workload=COLD))
    assert ended.returncode != 0
    assert "but data in memory is always cached" in ended.stderr
    folder = campaign_text(folder=Path("/dev/shm"), workload=COLD)
    ended = campaign_bench.run(folder)
    assert ended.returncode != 0
    assert "is in memory (tmpfs), where data is always cached" in ended.stderr
    assert not campaign_bench.run_files()


def test_restart_without_recovery(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    server.make_bench()
    first = server.pid
    server.shut_down()
    assert not server.is_running()
    server.stop()  # it is gone already
    started = [outcome for outcome in workbench.outcomes if outcome.argv[0].endswith("/postgres")]
    assert [outcome.exit_code for outcome in started] == [0], "recorded once, whoever asks"
    server.start()
    assert server.pid not in {None, first}
    assert "not properly shut down" not in server.log_text()
    server.checkpoint()


def test_shutdown_after_closed_and_open_sessions(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    for _ in range(8):
        connect(server.conninfo).close()
    server.shut_down()
    assert "administrator command" not in Path(server.log_path).read_text()
    server.start()
    with connect(server.conninfo) as session:
        server.shut_down()
        with pytest.raises(psycopg.OperationalError):
            session.execute("SELECT 1")
    assert "terminating connection due to administrator command" in Path(server.log_path).read_text()


def test_disorderly_shutdown_is_error(workbench: Workbench) -> None:
    server = workbench.server()
    with pytest.raises(ServerError, match="The server did not shut down cleanly"):
        server.shut_down()
    server.start()
    with pytest.raises(ServerError, match="The server did not shut down cleanly"):
        server.shut_down(timeout_s=0)
    server.stop()
    assert server.pid is None
