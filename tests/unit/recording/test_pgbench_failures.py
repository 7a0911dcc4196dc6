from __future__ import annotations

import pytest

from app.domain.campaign.configuration import BuiltinScript, Script
from app.execution.children import KEPT, failure_of_pgbench, full_disk
from app.recording.pgbench_streams import crash_reason, failure_reason, reports_aborted

OWN = Script(builtin=None, path="/home/jo/orders of may.sql", text="SELECT 1")
SCRIPTS = (Script(builtin=BuiltinScript.SELECT_ONLY), OWN)
PATHS = {"/dev/shm/pgfooting-0011223344556677/script1.sql": "/home/jo/orders of may.sql"}

# Recorded from pgbench 15.18.
SQL_ERROR = """\
progress: 1.0 s, 7193.8 tps, lat 0.275 ms stddev 0.136, 0 failed
pgbench: error: client 0 script 1 aborted in command 0 query 0: ERROR:  relation "nosuch" does not exist
LINE 1: select * from nosuch;
                      ^
pgbench: error: client 1 script 1 aborted in command 0 query 0: ERROR:  relation "nosuch" does not exist
LINE 1: select * from nosuch;
                      ^
pgbench: error: Run was aborted; the above results are incomplete.
"""
META_ERROR = """\
pgbench: error: /dev/shm/pgfooting-0011223344556677/script1.sql:2: invalid command in command "foo"
\\foo bar
"""
EVALUATION_ERROR = """\
pgbench: error: division by zero
pgbench: error: client 0 aborted in command 0 (set) of script 1; evaluation of meta-command failed
pgbench: error: division by zero
pgbench: error: client 1 aborted in command 0 (set) of script 1; evaluation of meta-command failed
pgbench: error: Run was aborted; the above results are incomplete.
"""
CRASH_LOG = """\
1795174339.208 [8920] ERROR:  prepared statement "P_0" does not exist
1795174341.288 [8886] LOG:  server process (PID 8925) was terminated by signal 9: Killed
1795174341.288 [8886] DETAIL:  Failed process was running: SELECT 1
1795174341.288 [8886] LOG:  terminating any other active server processes
"""


def test_same_client_errors_merged_with_line() -> None:
    reason = failure_reason(SQL_ERROR, SCRIPTS, PATHS)
    assert reason == (
        "client 0 script 1 (orders of may.sql) aborted in command 0 query 0: "
        'ERROR:  relation "nosuch" does not exist (LINE 1: select * from nosuch;)'
    )


def test_error_names_user_file() -> None:
    reason = failure_reason(META_ERROR, SCRIPTS, PATHS)
    assert reason.startswith('/home/jo/orders of may.sql:2: invalid command in command "foo"')
    assert "/dev/shm" not in reason


def test_cause_and_place_are_both_told() -> None:
    reason = failure_reason(EVALUATION_ERROR, SCRIPTS, PATHS)
    assert reason.startswith("division by zero; client 0 aborted in command 0 (set) of script 1 (orders")


@pytest.mark.parametrize(
    ("text", "reason"), [("", ""), ("\n \n", ""), ("a\nsomething odd\n", "something odd")]
)
def test_unclassified_message_verbatim(text: str, reason: str) -> None:
    assert failure_reason(text, SCRIPTS, PATHS) == reason


def test_unknown_script_number_kept() -> None:
    assert "script 9 aborted" in failure_reason("pgbench: error: client 0 script 9 aborted", SCRIPTS, PATHS)


def test_client_that_gave_up_noticed() -> None:
    assert reports_aborted(SQL_ERROR)
    assert reports_aborted(EVALUATION_ERROR)
    assert not reports_aborted("progress: 1.0 s\nNOTICE:  client 0 aborted\n")


def test_server_crash_message() -> None:
    assert crash_reason(CRASH_LOG) == "server process (PID 8925) was terminated by signal 9: Killed"
    assert crash_reason("LOG:  checkpoint complete") == ""


PANIC_LOG = """\
1795318630.083 [28227] STATEMENT:  insert into t select g from generate_series(1,1000) g;
1795318630.204 [28219] PANIC:  could not write to file "pg_wal/xlogtemp.28219": No space left on device
1795318630.205 [28215] LOG:  WAL writer process (PID 28219) was terminated by signal 6: Aborted
1795318630.205 [28215] LOG:  terminating any other active server processes
1795318630.206 [28215] LOG:  shutting down because restart_after_crash is off
"""
"""PostgreSQL 15.18 whose WAL's filesystem is full."""


def test_abort_with_its_reason() -> None:
    assert crash_reason(PANIC_LOG) == (
        'could not write to file "pg_wal/xlogtemp.28219": No space left on device '
        "(WAL writer process (PID 28219) was terminated by signal 6: Aborted)"
    )


def test_foreign_signal_differs_from_own() -> None:
    assert "signal 9, not by pgFooting" in failure_of_pgbench(-9, "", was_killed=True).message
    assert failure_of_pgbench(-2, "bad", was_killed=False).message == "pgbench failed: bad"
    assert "status 3" in failure_of_pgbench(3, "", was_killed=True).message


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (
            """ERROR:  could not extend file "base/5/16422": No space left on device
HINT:  Check free disk space.
CONTEXT:  COPY pgbench_accounts, line 754000
pgbench: error: PQendcopy failed
""",
            'could not extend file "base/5/16422": No space left on device',
        ),
        (
            'ERROR:  could not extend file "base/5/1": wrote only 4096 of 8192 bytes at block 2\n',
            'could not extend file "base/5/1": wrote only 4096 of 8192 bytes at block 2',
        ),
        (
            'PANIC:  could not write to file "pg_wal/xlogtemp.1": No space left on device\n',
            'could not write to file "pg_wal/xlogtemp.1": No space left on device',
        ),
    ],
)
def test_server_disk_full_message(stderr: str, reason: str) -> None:
    error = full_disk(stderr)
    assert error is not None
    assert error.message == f"The server's disk is full: {reason}."
    assert error.hint.endswith(KEPT)


@pytest.mark.parametrize(
    "stderr",
    [
        "",
        "pgbench: error: PQendcopy failed\n",
        "pgbench: error: log: No space left on device\n",
    ],
)
def test_other_disk_full_is_not_server(stderr: str) -> None:
    assert full_disk(stderr) is None


def test_localized_disk_full_from_server_answer() -> None:
    error = full_disk("pgbench: error: ALIRBEG:  xyz\n", "xyz: jeku")
    assert error is not None
    assert error.message == "The server's disk is full: xyz: jeku."
