"""Whatever SQL pgbench executes: it runs no program, reads and writes no file, and never becomes a superuser.

Each attempt is a script of its own, executed by the pgbench of each version that is here, as a run does it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.campaign.configuration import BuiltinScript, Protocol, Script, Workload
from app.postgres.configuration_text import connect
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import (
    BenchmarkRequest,
    Connection,
    benchmark_argv,
    initialise_argv,
)
from app.postgres.pgbench.script_demands import find_superuser
from app.process.starter import CommandOutcome, run_command
from tests.fix_postgres import PgbenchServer, Workbench

pytestmark = pytest.mark.postgres

_RIGHTS = r"permission denied|must be (?:a )?superuser|must be (?:owner|member)|must have admin option"
_RIGHTS += r"|only (?:roles|superuser)"
_ABSENT = r"|is not available|does not exist|could not open extension control file|is not allowed"
_REFUSED = re.compile(rf"(?:ERROR|FATAL):\s.*(?:{_RIGHTS}{_ABSENT})", re.IGNORECASE)

ATTEMPTS = {
    "copy to program": "COPY (SELECT 1) TO PROGRAM 'touch {witness}';",
    "copy from program": "CREATE TEMP TABLE t (a text); COPY t FROM PROGRAM 'touch {witness}; id';",
    "copy to a file": "COPY (SELECT 1) TO '{witness}';",
    "copy from a file": "CREATE TEMP TABLE t (a text); COPY t FROM '/etc/passwd';",
    "copy in a string that is put together": (
        "DO $do$ BEGIN EXECUTE 'CO' || 'PY (SELECT 1) TO PRO' || 'GRAM ''touch {witness}'''; END $do$;"
    ),
    "copy in a function": (
        "CREATE OR REPLACE FUNCTION pg_temp.f() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS "
        "$f$ BEGIN COPY (SELECT 1) TO PROGRAM 'touch {witness}'; END $f$; SELECT pg_temp.f();"
    ),
    "copy in a variable": (
        "SELECT $$COPY (SELECT 1) TO PROGRAM 'touch {witness}'$$ AS statement \\gset\n:statement;"
    ),
    "lo_export": "SELECT lo_from_bytea(99999, 'x'); SELECT lo_export(99999, '{witness}');",
    "lo_import": "SELECT lo_import('/etc/passwd');",
    "lo_export under another name": (
        "CREATE FUNCTION pg_temp.e(oid, text) RETURNS int LANGUAGE internal AS 'be_lo_export'; "
        "SELECT lo_from_bytea(99998, 'x'); SELECT pg_temp.e(99998, '{witness}');"
    ),
    "pg_read_file": "SELECT pg_read_file('/etc/passwd');",
    "pg_read_binary_file": "SELECT pg_read_binary_file('pg_hba.conf');",
    "pg_ls_dir": "SELECT pg_ls_dir('/');",
    "pg_stat_file": "SELECT pg_stat_file('/etc/passwd');",
    "the passwords": "SELECT rolpassword FROM pg_authid;",
    "the rules of authentication": "SELECT * FROM pg_hba_file_rules;",
    "alter system": "ALTER SYSTEM SET archive_command = 'touch {witness}';",
    "reload": "SELECT pg_reload_conf();",
    "alter database": "ALTER DATABASE pgbench SET session_preload_libraries = 'x';",
    "alter role of the superuser": "ALTER ROLE pgfooting PASSWORD 'known';",
    "alter role of its own": "ALTER ROLE pgfooting_bench SUPERUSER;",
    "create role": "CREATE ROLE another SUPERUSER LOGIN;",
    "grant": "GRANT pg_execute_server_program TO pgfooting_bench;",
    "set role": "SET ROLE pgfooting;",
    "set role of a built-in role": "SET ROLE pg_execute_server_program;",
    "set session authorization": "SET SESSION AUTHORIZATION pgfooting;",
    "set_config of the role": "SELECT set_config('role', 'pgfooting', false);",
    "update of the catalog": "UPDATE pg_authid SET rolsuper = true;",
    "allow_system_table_mods": "SET allow_system_table_mods = on;",
    "dynamic_library_path": "SET dynamic_library_path = '/tmp';",
    "session_preload_libraries": "SET session_preload_libraries = '/tmp/x.so';",
    "load a library": "LOAD '/tmp/x.so';",
    "function in C": "CREATE FUNCTION pg_temp.s(text) RETURNS int LANGUAGE c AS 'libc.so.6', 'system';",
    "dblink": "CREATE EXTENSION dblink;",
    "postgres_fdw": "CREATE EXTENSION postgres_fdw;",
    "file_fdw": "CREATE EXTENSION file_fdw;",
    "adminpack": "CREATE EXTENSION adminpack;",
    "a trusted extension": "CREATE EXTENSION pgcrypto;",
    "plperl": "CREATE EXTENSION plperl;",
    "plperlu": "CREATE EXTENSION plperlu;",
    "plpython3u": "CREATE EXTENSION plpython3u;",
    "a language of its own": "CREATE LANGUAGE mine HANDLER plpgsql_call_handler;",
    "plpgsql anew": "CREATE OR REPLACE TRUSTED LANGUAGE plpgsql HANDLER plpgsql_call_handler;",
    "foreign data wrapper": "CREATE FOREIGN DATA WRAPPER mine;",
    "subscription": (
        "CREATE SUBSCRIPTION s CONNECTION 'host={socket} user=pgfooting dbname=postgres' PUBLICATION p;"
    ),
    "replication slot": "SELECT pg_create_physical_replication_slot('s');",
    "base backup": "SELECT pg_create_restore_point('x');",
    "event trigger": (
        "CREATE FUNCTION public.f() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; "
        "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION public.f();"
    ),
    "tablespace": "CREATE TABLESPACE t LOCATION '/tmp';",
    "schema": "CREATE SCHEMA mine;",
    "database": "CREATE DATABASE mine;",
    "function over the server's own": (
        "CREATE FUNCTION pg_catalog.now2() RETURNS int LANGUAGE sql AS 'SELECT 1';"
    ),
    "trigger on a catalog": (
        "CREATE TRIGGER t AFTER INSERT ON pg_authid EXECUTE FUNCTION suppress_redundant_updates_trigger();"
    ),
    "end of the sampler": (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pgfooting';"
    ),
    "checkpoint": "CHECKPOINT;",
}


HIDDEN = {"copy in a string that is put together", "function over the server's own", "end of the sampler"}
"""What only the server knows to refuse."""


@dataclass(frozen=True, slots=True)
class Bench(PgbenchServer):
    """A server with pgbench's role and database."""

    folder: Path
    witness: Path

    def run(self, *argv: str) -> CommandOutcome:
        """Run a pgbench."""
        return run_command(argv, account=self.server.account, timeout_s=60, record=lambda _: None)

    def script(self, text: str, workload: Workload | None = None) -> CommandOutcome:
        """Run one transaction of a script."""
        path = self.folder / "script.sql"
        path.write_text(text)
        path.chmod(0o644)
        own = Script(builtin=None, path=str(path), text=text)
        wanted = workload or Workload(scripts=(own,), clients=1, duration_s=None, transactions=1)
        return self.builtin(wanted, (str(path),))

    def builtin(self, workload: Workload, paths: tuple[str, ...] = ()) -> CommandOutcome:
        """Run a workload."""
        request = BenchmarkRequest(seed=1, scale=1, threads=1, script_paths=paths)
        return self.run(*benchmark_argv(self.program, self.connection, workload, request))


@contextmanager
def _server(workbench: Workbench, installation: Installation, *, superuser: bool = False) -> Iterator[Bench]:
    name = f"version{installation.major}-{installation.page_bytes}"
    server = workbench.server(name=name, initialise=False)
    server.installation = installation
    server.initdb(checksums=True)
    server.write_configuration()
    server.start()
    server.make_bench(superuser=superuser)
    witness = workbench.folder / name / "private" / "witness"
    yield Bench(server, workbench.folder, witness)
    server.stop()


def one_transaction(text: str) -> Workload:
    script = Script(builtin=None, path="/own.sql", text=text)
    return Workload(scripts=(script,), duration_s=None, transactions=1, clients=1, protocol=Protocol.SIMPLE)


def test_scripts_gain_no_privileges(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    for installation in every_installation:
        with _server(workbench, installation) as bench:
            for name, attempt in ATTEMPTS.items():
                text = attempt.format(witness=bench.witness, socket=bench.server.socket_directory)
                done = bench.script(text, one_transaction(text))
                what = f"{installation.version}, {name}: {done.stderr}"
                assert not done.succeeded, what
                assert _REFUSED.search(done.stderr), what
                assert not bench.witness.exists(), what


def test_refused_statements_found_beforehand() -> None:
    assert {name for name, attempt in ATTEMPTS.items() if not find_superuser(attempt)} == HIDDEN


def test_the_same_attempts_work_for_a_superuser(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    """Else the attempts above could be refused for another reason."""
    names = ["copy to program", "copy in a string that is put together", "copy in a function"]
    names += ["copy in a variable", "lo_export", "lo_export under another name", "copy to a file"]
    for installation in every_installation:
        with _server(workbench, installation, superuser=True) as bench:
            for name in names:
                text = ATTEMPTS[name].format(witness=bench.witness, socket="")
                done = bench.script(text, one_transaction(text))
                assert bench.witness.exists(), f"{installation.version}, {name}: {done.stderr}"
                bench.witness.unlink()


def test_pgbench_role_reaches_one_database(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    server.make_bench()
    bench = Bench(server, workbench.folder, workbench.folder / "witness")
    text = "SELECT 1;"
    assert bench.script(text).succeeded
    path = str(bench.folder / "script.sql")
    for user, database in (("pgfooting_bench", "postgres"), ("pgfooting_bench", "template1")):
        connection = Connection(server.socket_directory, user=user, database=database)
        request = BenchmarkRequest(seed=1, scale=1, threads=1, script_paths=(path,))
        done = bench.run(*benchmark_argv(bench.program, connection, one_transaction(text), request))
        assert "no pg_hba.conf entry" in done.stderr
    connection = Connection(server.socket_directory, user="pgfooting")
    request = BenchmarkRequest(seed=1, scale=1, threads=1, script_paths=(path,))
    done = bench.run(*benchmark_argv(bench.program, connection, one_transaction(text), request))
    assert "no password supplied" in done.stderr
    with connect(server.conninfo) as connected:
        row = connected.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,"
            " (SELECT count(*) FROM pg_auth_members WHERE member = r.oid),"
            " (SELECT count(*) FROM pg_database WHERE datdba = r.oid)"
            " FROM pg_roles AS r WHERE rolname = 'pgfooting_bench'"
        ).fetchone()
    assert row == (False, False, False, False, False, 0, 0)


@pytest.mark.long
def test_built_in_scripts_without_superuser(
    workbench: Workbench, every_installation: tuple[Installation, ...]
) -> None:
    for installation in every_installation:
        with _server(workbench, installation) as bench:
            argv = initialise_argv(bench.program, bench.connection, 1)
            assert bench.run(*argv).succeeded
            ways = [
                ["--init-steps=dtgvpf"],
                ["--init-steps=dtGvpf"],
                ["--foreign-keys"],
                ["--unlogged-tables"],
                ["--no-vacuum", "--fillfactor=90"],
                ["--partitions=4", "--partition-method=hash"],
                ["--partitions=4", "--partition-method=range", "--init-steps=dtGvp"],
                ["--tablespace=pg_default", "--index-tablespace=pg_default"],
            ]
            for way in ways:
                base = [word for word in argv if not word.startswith("--init-steps")]
                done = bench.run(base[0], base[1], *way, *base[2:])
                assert done.succeeded, f"{installation.version} {way}: {done.stderr}"
            assert bench.run(*argv).succeeded
            for builtin in BuiltinScript:
                for protocol in Protocol:
                    workload = Workload(
                        scripts=(Script(builtin=builtin),),
                        clients=2,
                        duration_s=None,
                        transactions=20,
                        protocol=protocol,
                    )
                    done = bench.builtin(workload)
                    assert done.succeeded, f"{installation.version} {builtin} {protocol}: {done.stderr}"
            # As pgbench is by itself: with VACUUM of its tables and TRUNCATE before.
            plain = [bench.program.path, "-c", "2", "-t", "5", "-h", bench.server.socket_directory]
            done = bench.run(*plain, "-U", bench.connection.user, bench.connection.database)
            assert done.succeeded, done.stderr
            assert "permission denied" not in done.stderr
            own = "\\set aid random(1, 100000)\nBEGIN;\nCREATE TEMP TABLE IF NOT EXISTS t (a int);\n"
            own += "CREATE TABLE IF NOT EXISTS mine (a int);\nINSERT INTO mine VALUES (:aid);\nEND;\n"
            own += "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';\n"
            own += (
                "SELECT f();\nSET synchronous_commit = off;\nVACUUM mine;\nANALYZE mine;\nDROP TABLE mine;\n"
            )
            done = bench.script(own)
            assert done.succeeded, f"{installation.version}: {done.stderr}"
