"""Wait events of a real server: what sessions wait for that wait on purpose."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from app.postgres.installations.installation import Installation
from app.postgres.server import Server
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sources.postgres_statistics import STATEMENT, PostgresStatisticsProbe, WaitEventsProbe
from tests.fix_postgres import Workbench
from tests.unit.probes.fakes import values

pytestmark = pytest.mark.postgres


@pytest.fixture
def server(workbench: Workbench) -> Iterator[Server]:
    found = workbench.server()
    found.start()
    yield found
    found.stop()


@pytest.fixture
def probe(server: Server) -> Iterator[WaitEventsProbe]:
    made = WaitEventsProbe()
    made.open(ProbeContext(ServerSources(server.conninfo)))
    yield made
    made.close()


def read_until(probe: WaitEventsProbe, wanted: Callable[[dict[str, float]], object]) -> dict[str, float]:
    """Read until sessions are in the state that they are brought into."""
    deadline_s = time.monotonic() + 30
    while not wanted(found := values(probe.read())):
        assert time.monotonic() < deadline_s, found
        time.sleep(0.02)
    return found


def test_row_lock_waiter_and_holder(server: Server, probe: WaitEventsProbe) -> None:
    with (
        psycopg.connect(server.conninfo) as holder,
        psycopg.connect(server.conninfo, autocommit=True) as waiter,
    ):
        holder.execute("CREATE TABLE hot (a int)")
        holder.execute("INSERT INTO hot VALUES (1)")
        holder.commit()
        holder.execute("UPDATE hot SET a = 2")
        waiting = threading.Thread(target=waiter.execute, args=("UPDATE hot SET a = 3",))
        waiting.start()
        found = read_until(probe, lambda found: found["sessions.for_locks"])
        assert found["sessions.clients"] == 2
        assert found["sessions.for_client"] == 1
        assert found["sessions.at_event Lock:transactionid"] == 1
        holder.commit()
        waiting.join(30)
        assert read_until(probe, lambda found: found["sessions.for_client"] == 2)["sessions.for_locks"] == 0


def test_connections_of_our_own_are_not_counted(server: Server, probe: WaitEventsProbe) -> None:
    statistics = PostgresStatisticsProbe()
    statistics.open(ProbeContext(ServerSources(server.conninfo)))
    statistics.read()
    assert values(probe.read())["sessions.clients"] == 0
    with psycopg.connect(server.conninfo):
        assert values(probe.read())["sessions.clients"] == 1
    statistics.close()


def test_statement_runs_on_every_version(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    for server in workbench.each_version(every_installation):
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            assert connection.execute(STATEMENT.encode()).fetchall() == []
            with psycopg.connect(server.conninfo) as other:
                other.execute("SELECT 1")
                deadline_s = time.monotonic() + 30
                row: tuple[object, ...] = ()
                while "ClientRead" not in row and time.monotonic() < deadline_s:  # idle before it waits
                    [row] = connection.execute(STATEMENT.encode()).fetchall()
        assert row == ("idle in transaction", "Client", "ClientRead", 1)


def test_missing_server_is_a_reason(server: Server, probe: WaitEventsProbe) -> None:
    probe.read()
    server.stop()
    with pytest.raises(ProbeUnavailable, match="cannot be read"):
        probe.read()
    server.start()
    assert values(probe.read())["sessions.clients"] == 0
