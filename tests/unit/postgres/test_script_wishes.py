"""What scripts ask for: programs wherever the words stand, a superuser's rights outside of comments."""

from __future__ import annotations

import time

import pytest

from app.domain.campaign.configuration import BuiltinScript, Script
from app.postgres.pgbench.script_demands import (
    ScriptDemand,
    find_programs,
    find_superuser,
    wants_superuser,
    without_comments,
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("\\shell touch x", [1]),
        ("SELECT 1;\n   \\setshell v echo 1\n", [2]),
        ("\\if 1\n\\if 1\n\t\\SHELL x\n\\endif\n\\endif", [3]),
        ("\\ \t shell x", [1]),
        ("\\ \\\n shell x", [2]),
        ("\\ \\\r\n\f\v shell x", [2]),
        ("SELECT 1 \\shell x", [1]),
        ("\\shell\\\n x", [1]),
        ("-- ' \\shell x", [1]),
        ("SELECT $$ \\setshell $$;", [1]),
        ("\\shell x\n\\shell y", [1, 2]),
        ("SELECT 'shell', shell_count FROM nutshell;", []),
        ("\\set shell 1\n\\set setshell :shell", []),
        ("\\sleep 1 ms", []),
        ("", []),
    ],
)
def test_programs_found_by_meta_command(text: str, lines: list[int]) -> None:
    assert [choice.line for choice in find_programs(text)] == lines


@pytest.mark.parametrize(
    "text",
    [
        "CHECKPOINT;",
        "checkpoint\n;",
        "SELECT '--'; CHECKPOINT;",
        "SELECT '/*'; CHECKPOINT; SELECT '*/';",
        'SELECT 1 AS "--"; CHECKPOINT;',
        "SELECT E'\\'--'; CHECKPOINT;",
        "SELECT e'\\\\'; CHECKPOINT --';",
        "DO $a$ -- $a$; CHECKPOINT;",
        "SELECT $1, '$$'; CHECKPOINT; SELECT '$$';",
        "/* /* */ */ CHECKPOINT;",
        "COPY t TO PROGRAM 'x'",
        "COPY(SELECT 1) TO '/tmp/x'",
        "COPY/**/t FROM '/etc/passwd'",
        'COPY "t" TO PROGRAM $$x$$',
        "DO $$ BEGIN EXECUTE 'COPY t TO PROGRAM ''x'''; END $$",
        "DO $$ BEGIN COPY/* x */(SELECT 1) TO PROGRAM 'x'; END $$",
        "CREATE EXTENSION IF NOT EXISTS dblink",
        "CREATE  OR\n REPLACE -- x\n TRUSTED PROCEDURAL LANGUAGE x",
        "CREATE FUNCTION f() RETURNS int LANGUAGE C AS 'x'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE 'internal' AS 'x'",
        "DO LANGUAGE plpython3u $$ import os $$",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "ALTER ROLE me SUPERUSER",
        "CREATE ROLE x",
        "CREATE SCHEMA mine",
        "CREATE FOREIGN DATA WRAPPER w",
        "CREATE EVENT TRIGGER t ON x EXECUTE FUNCTION f()",
        "DROP TABLESPACE t",
        "SET ROLE pgfooting",
        "SET LOCAL ROLE x",
        "SET SESSION AUTHORIZATION x",
        "SET track_io_timing = on",
        "SET LOCAL commit_delay TO 10",
        "SELECT set_config( 'role', 'x', true)",
        "LOAD '/tmp/x.so'",
        "SELECT pg_read_file('x')",
        "SELECT * FROM pg_ls_dir('/')",
        "SELECT lo_export(1, '/tmp/x')",
        "SELECT pg_stat_reset()",
        "SELECT pg_switch_wal()",
        "GRANT pg_execute_server_program TO me",
        "SELECT * FROM dblink('x', 'y')",
    ],
)
def test_superuser_statements_found(text: str) -> None:
    assert find_superuser(text)
    assert find_superuser(text.lower())
    assert wants_superuser([Script(builtin=None, path="/x", text=text)])


@pytest.mark.parametrize(
    "text",
    [
        "-- CHECKPOINT;\nSELECT 1;",
        "/* COPY t TO PROGRAM 'x' /* nested */ CHECKPOINT */ SELECT 1;",
        "/* CHECKPOINT",
        "\\set role random(1, 2)\n\\set track_counts 1",
        "UPDATE t SET role = 'x', log_id = 3 WHERE copy = 'copy';",
        "SET synchronous_commit = off; SET LOCAL work_mem = '1MB';",
        "CREATE TABLE t (a int); CREATE TEMP TABLE u AS SELECT 1; DROP TABLE t;",
        "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;",
        "INSERT INTO t VALUES ('a copy', 'load', 'set');",
        "VACUUM t; ANALYZE t; TRUNCATE t;",
        "SELECT pg_backend_pid(), pg_advisory_lock(1), pg_sleep(0);",
    ],
)
def test_what_everybody_may_do_wants_no_superuser(text: str) -> None:
    assert find_superuser(text) == ()


def test_wish_has_line_and_text() -> None:
    text = "SELECT 1;\n  CHECKPOINT; SELECT pg_ls_dir('/');\n\nCOPY t\nTO '/x';\n"
    assert find_superuser(text) == (
        ScriptDemand(2, "CHECKPOINT; SELECT pg_ls_dir('/');"),
        ScriptDemand(4, "COPY t"),
    )


def test_built_in_scripts_want_nothing() -> None:
    assert not wants_superuser([Script(builtin=builtin) for builtin in BuiltinScript])


def test_comments_blanked_in_place() -> None:
    text = "a -- b\n'--' /* c\n */ d $x$ -- $x$ e"
    bare = without_comments(text)
    assert bare == "a     \n'--'     \n    d $x$ -- $x$ e"
    assert len(bare) == len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "\\",
        "shell ",
        "\\ ",
        "$a$ $b$ ",
        "'",
        '"',
        "/*",
        "--",
        "create ",
        "copy ",
        "e'",
        "create or replace ",
        "set ",
    ],
)
def test_largest_hostile_script_is_fast(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started_s = time.process_time()
        find_programs(text)
        find_superuser(text)
        return time.process_time() - started_s

    small, large = min(seconds(2**15) for _ in range(3)), seconds(2**18)
    assert large < 8 * 8 * small  # eight times the text: eight times the time, not sixty-four
