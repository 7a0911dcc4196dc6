"""Run pg_basebackup during a measurement: read the whole data directory over the socket and discard it.

Only reading is measured: writing would measure the destination, or load the disks under test. Source:
PostgreSQL 18 manual, "pg_basebackup"; the options exist since 10.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Final

from app.domain.maintenance import MaintenanceEnd, WorkEnd
from app.domain.text import KIB
from app.postgres.configuration_text import BACKUP_ROLE
from app.postgres.pgbench.argv import Connection
from app.process.starter import Account, CommandOutcome, Recorder, spawn

PROGRAM: Final = "pg_basebackup"
TARGETS_MAJOR: Final = 15
"""First version whose server can send a base backup to a target of its own (release notes 15)."""
_LOOK_S: Final = 0.1


def base_backup_argv(
    program: str, connection: Connection, max_rate_bytes: int | None, *, has_tablespaces: bool = False
) -> tuple[str, ...]:
    """Return the command of a base backup that is discarded.

    ``--wal-method=none``: it is never restored. ``--checkpoint=fast``: it starts at once, without waiting for
    a spread checkpoint. tar on standard output supports only one tablespace; with more, the server reads and
    discards them itself (``blackhole``, since `TARGETS_MAJOR`).
    """
    rate = () if max_rate_bytes is None else (f"--max-rate={max_rate_bytes // KIB}k",)
    where = ("--target=blackhole",) if has_tablespaces else ("--pgdata=-", "--format=tar")
    return (
        program,
        f"--host={connection.host}",
        f"--port={connection.port}",
        f"--username={BACKUP_ROLE}",
        "--no-password",
        *where,
        "--wal-method=none",
        "--checkpoint=fast",
        "--label=pgfooting",
        *rate,
    )


def make_base_backup(
    argv: tuple[str, ...],
    account: Account,
    record: Recorder,
    is_cancelled: Callable[[], bool],
    limit_s: float,
) -> MaintenanceEnd:
    """Make a base backup and discard it. The kernel kills the program when the calling thread ends.

    Args:
        argv: of `base_backup_argv`.
        account: whom it runs as.
        record: called with its command when it has ended.
        is_cancelled: polled often; ends it.
        limit_s: time limit; then it is ended, and has failed.

    Raises:
        ProgramError: it could not be started.
    """
    started_s = time.monotonic()
    child = spawn(argv, account=account, death_signal=signal.SIGKILL, stderr=subprocess.PIPE)
    how, said = WorkEnd.DONE, b""
    while True:
        try:
            _, said = child.communicate(timeout=_LOOK_S)
            break
        except subprocess.TimeoutExpired:
            if how is not WorkEnd.DONE:
                child.kill()
            elif is_cancelled():
                how = WorkEnd.ENDED
                child.terminate()
            elif time.monotonic() > started_s + limit_s:
                how = WorkEnd.FAILED
                child.terminate()
    seconds = time.monotonic() - started_s
    words = said.decode(errors="replace").strip()
    record(CommandOutcome(argv, account.name, started_s, seconds, child.returncode, "", words))
    if how is WorkEnd.DONE and child.returncode:
        how = WorkEnd.FAILED
    return MaintenanceEnd(
        how.value, words.splitlines()[-1] if words and how is WorkEnd.FAILED else "", seconds
    )
