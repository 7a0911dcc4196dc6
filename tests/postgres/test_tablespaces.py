"""A real server with tablespaces for tables and for indexes: where their files lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.storage_plan.plan import Role
from app.postgres.configuration_text import (
    BENCH_DATABASE,
    Tablespaces,
    check_places,
    index_files,
    relation_files,
    table_files,
)
from app.postgres.pgbench.argv import Connection, PgbenchProgram, loading_argvs
from app.process.starter import Account, run_command
from tests.fix_postgres import Workbench, give

pytestmark = pytest.mark.postgres


@pytest.mark.long
@pytest.mark.parametrize("roles", [(Role.TABLES,), (Role.INDEXES,), (Role.TABLES, Role.INDEXES)])
def test_table_and_index_files_in_tablespaces(
    workbench: Workbench, database_account: Account, open_folder: Path, roles: tuple[Role, ...]
) -> None:
    places = tuple((role, str(give(open_folder / role.value, database_account))) for role in roles)
    server = workbench.server(("max_wal_size", "128MB"))
    server.tablespaces = Tablespaces(places)
    server.start()
    server.make_bench()
    program = PgbenchProgram(server.installation.program("pgbench"), server.installation.major)
    for argv in loading_argvs(program, Connection(server.socket_directory), 1, None, roles):
        assert run_command(argv, account=database_account, timeout_s=120, record=lambda _: None).succeeded
    asked = server.conninfo_for(BENCH_DATABASE), server.data_directory
    tables, indexes = table_files(*asked), index_files(*asked)
    assert (len(tables), len(indexes)) == (4, 3)
    assert sorted((*tables, *indexes)) == sorted(relation_files(*asked))
    relations = [(Role.TABLES, path) for path in tables] + [(Role.INDEXES, path) for path in indexes]
    check_places(server.tablespaces, server.data_directory, relations)
    wanted = dict(places)
    for role, path in relations:
        place = wanted.get(role, server.data_directory)
        assert path.resolve().is_relative_to(Path(place).resolve()), (role, path)
    server.sync()
