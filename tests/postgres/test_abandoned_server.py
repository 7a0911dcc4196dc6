"""A real server whose campaign died is ended and removed; the user's own cluster beside it is not."""

from __future__ import annotations

import os
import select
from pathlib import Path

import psycopg
import pytest

from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Target
from app.domain.units import MIB
from app.hosts.local import LocalHost, RunFolders
from app.hosts.recovery.cleanup import CleanupAction, sweep
from app.hosts.recovery.resource_journal import ResourceJournal
from app.postgres.installations.installation import Installation
from app.postgres.server import Server
from app.process.starter import Account
from tests.fix_postgres import Workbench, give, small_settings

pytestmark = pytest.mark.postgres


@pytest.fixture(params=["folder", "memory"])
def target(request: pytest.FixtureRequest, open_folder: Path, database_account: Account) -> Target:
    if request.param == "memory":
        return MemoryTarget()
    return FolderTarget(str(give(open_folder / "with space", database_account)))


def served(site: RunFolders, installation: Installation) -> Server:
    server = Server(
        installation=installation,
        account=site.private.account,
        data_directory=site.data_directory,
        socket_directory=site.socket_directory,
        log_path=f"{site.private.path}/server.log",
        settings=small_settings(),
        record=lambda _outcome: None,
    )
    server.initdb(checksums=True)
    server.write_configuration()
    server.start()
    return server


def test_abandoned_server_removed_another_kept(
    target: Target,
    workbench: Workbench,
    installation: Installation,
    database_account: Account,
    tmp_path: Path,
) -> None:
    production = workbench.server()
    production.start()
    with ResourceJournal.create(
        str(tmp_path), "abandoned", database_account, state_folder=tmp_path
    ) as resources:
        site = LocalHost(database_account, resources, lambda _outcome: None).prepare(target, 200 * MIB)
        server = served(site, installation)
    try:
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            backend = os.pidfd_open(connection.info.backend_pid)
            events = sweep(state_folder=tmp_path)
        assert [event.action for event in events] == [CleanupAction.ENDED, *[CleanupAction.REMOVED] * 4], (
            events
        )
        assert not server.is_running()
        poller = select.poll()
        poller.register(backend, select.POLLIN)
        assert poller.poll(60_000)  # its backend too
        os.close(backend)
        folders = (site.root, site.socket_directory, site.private.path)
        assert [path for path in folders if Path(path).exists()] == []
        assert list(tmp_path.iterdir()) == []
        with psycopg.connect(production.conninfo) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        server.stop()
