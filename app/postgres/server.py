"""One PostgreSQL server of our own: initdb, configuration, start, stop.

It writes only into the given folders and listens on one private Unix socket, on no TCP port. It runs in the
foreground as a child of the thread that calls `Server.start`; the kernel sends it SIGQUIT (immediate
shutdown) when that thread ends: start it from a thread that lives as long as the run.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

import psutil

from app.domain.errors import FootingError, ServerError
from app.domain.text import tr
from app.postgres import data_files
from app.postgres.configuration_text import (
    BACKUP_ROLE,
    BENCH_DATABASE,
    MAINTENANCE_DATABASE,
    Tablespaces,
    bench_statements,
    connect,
    connection_string,
    format_configuration,
    format_hba,
    format_ident,
    initdb_arguments,
    password_statement,
    refused_as,
)
from app.postgres.facts import check_in_effect
from app.postgres.installations.installation import Installation
from app.postgres.libpq_environment import forget_libpq_environment
from app.postgres.settings import Setting, parse_refusal, setting_error
from app.process.starter import Account, CommandOutcome, Hold, Recorder, as_account, run_command, spawn

POLL_S: Final = 0.02


_REFUSED: Final = tr("The server could not execute {statements}: {reason}")


def read_tail(path: str, start: int, limit: int) -> str:
    """Return the end of a regular file from byte `start` on, at most `limit` bytes; empty without one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        file.seek(max(start, found.st_size - limit))
        return file.read(limit).decode(errors="replace")


def size_of(path: str) -> int:
    """Return a file's size in bytes, 0 if there is none."""
    try:
        return Path(path).lstat().st_size
    except OSError:
        return 0


def reports_ready(data_directory: str, pid: int) -> bool:
    """Return whether postmaster.pid belongs to process `pid` and reports in its eighth line that it is ready.

    The line is LOCK_FILE_LINE_PM_STATUS of pidfile.h (10 and newer): ``starting``, ``ready``, ``standby``,
    ``stopping``, padded with spaces.
    """
    lines = read_tail(f"{data_directory}/postmaster.pid", 0, 4096).splitlines()
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def _has_ended(member: psutil.Process) -> bool:
    """Return whether a process is gone, or a zombie that its new parent (init) has yet to reap."""
    try:
        return bool(member.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def kill_family(process: subprocess.Popen[bytes], timeout_s: float) -> list[int]:
    """Kill a postmaster and its children; return the process ids that did not end.

    The children have their own sessions (postmaster.c calls setsid), so killing the process group is not
    enough.
    """
    deadline_s = time.monotonic() + timeout_s
    parent = psutil.Process(process.pid)
    parent.suspend()  # it must start nothing while its children are listed
    children = parent.children(recursive=True)
    for member in (parent, *children):
        with suppress(psutil.NoSuchProcess):
            member.kill()
    while True:
        waiting = [member.pid for member in children if not _has_ended(member)]
        waiting += [process.pid] if process.poll() is None else []
        if not waiting or time.monotonic() > deadline_s:
            return waiting
        time.sleep(POLL_S)


INITDB_TIMEOUT_S: Final = 300.0
SYNC_TIMEOUT_S: Final = 600.0
WRITE_TIMEOUT_S: Final = 60.0
START_TIMEOUT_S: Final = 120.0
STOP_TIMEOUT_S: Final = 10.0
SHUTDOWN_TIMEOUT_S: Final = 300.0
"""For a shutdown that waits for a checkpoint, after one that left little to write."""
SMART_S: Final = 3.0
"""How long sessions may take to end by themselves before they are terminated."""
IMMEDIATE_SHARE: Final = 0.85
"""Share of the time to stop before SIGKILL. The postmaster itself kills children that ignore an immediate
shutdown after 5 s (postmaster.c, SIGKILL_CHILDREN_AFTER_SECS).
"""
_LOG_TAIL_BYTES: Final = 64 * 1024


@dataclass(slots=True)
class Server:
    """A server and its data directory.

    Attributes:
        installation: its programs.
        account: runs it.
        data_directory: absolute path; missing or empty before `initdb`.
        socket_directory: absolute path of a private folder of the account.
        log_path: file that the account can append to; the server's own log.
        settings: for the configuration.
        record: called with every command.
        wal_directory: folder for a WAL with its own filesystem; empty to keep it in the data directory.
        tablespaces: of pgbench's tables and indexes, on their own filesystems.
        hold: called with the postmaster's pid before it is executed; None for nothing.
        backups: whether the role for base backups may connect.
        secret: the superuser's password; set by `initdb` and kept only in this process's memory.
    """

    installation: Installation
    account: Account
    data_directory: str
    socket_directory: str
    log_path: str
    settings: Sequence[Setting]
    record: Recorder
    wal_directory: str = ""
    tablespaces: Tablespaces = field(default_factory=Tablespaces)
    hold: Hold | None = None
    backups: bool = False
    secret: str = field(default_factory=secrets.token_urlsafe, repr=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)
    _started_s: float = field(default=0.0, init=False, repr=False)
    _log_start: int = field(default=0, init=False, repr=False)
    _fixed: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster while it runs."""
        return self._process.pid if self._process is not None and self.is_running() else None

    @property
    def conninfo(self) -> str:
        """Connection string of the superuser for the maintenance database; contains the secret."""
        return self.conninfo_for(MAINTENANCE_DATABASE)

    def conninfo_for(self, database: str) -> str:
        """Return the connection string of the superuser for a database; contains the secret."""
        return connection_string(self.socket_directory, self.account.name, database, self.secret)

    def is_running(self) -> bool:
        """Return whether the postmaster is running."""
        return self._process is not None and self._process.poll() is None

    def initdb(self, *, checksums: bool, timeout_s: float = INITDB_TIMEOUT_S) -> None:
        """Create the data directory and sync it to disk.

        Raises:
            ServerError: initdb or the sync failed; carries their message.
            ProgramError: a program could not be started.
        """
        arguments = initdb_arguments(
            self.data_directory,
            self.installation.major,
            checksums=checksums,
            wal_directory=self.wal_directory,
        )
        self._remember(checksums=checksums)
        argv = (self.installation.program("initdb"), *arguments)
        failure = tr("The data directory {path} could not be created")
        self._command(argv, timeout_s, failure, input_bytes=f"{self.secret}\n".encode())
        self.sync()

    def take_over(self, *, checksums: bool) -> None:
        """Make a copied data directory this server's own: set its superuser's secret, and sync it to disk.

        Uses the single-user mode (manual, postgres, "Single-User Mode"), because no one can connect before
        that.

        Raises:
            ServerError: it failed, or the sync failed; carries their message.
            ProgramError: a program could not be started.
        """
        self._remember(checksums=checksums)
        argv = (self.installation.program("postgres"), "--single", "-D", self.data_directory)
        statement = password_statement(self.secret)
        failure = tr("The data directory {path} could not be created")
        ended = self._command((*argv, MAINTENANCE_DATABASE), INITDB_TIMEOUT_S, failure, statement.encode())
        if "ERROR:" in ended:  # it goes on after an error, and ends well
            reason = parse_refusal(ended).text
            raise ServerError(f"{failure.format(path=self.data_directory)}: {reason}")
        self.sync()

    def _remember(self, *, checksums: bool) -> None:
        """Remember the fixed values of a data directory, to compare them with the running server's."""
        built = {"block_size": self.installation.block_size, "server_version": self.installation.version}
        self._fixed = {name: str(value) for name, value in built.items() if value}
        self._fixed["data_checksums"] = "on" if checksums else "off"

    def sync(self) -> None:
        """Sync the filesystems of the data directory, the WAL and the tablespaces.

        Raises:
            ServerError: it failed.
            ProgramError: the program could not be started.
        """
        places = (self.data_directory, *filter(None, [self.wal_directory]), *self.tablespaces.folders)
        sync = ("sync", "--file-system", *places)
        self._command(sync, SYNC_TIMEOUT_S, tr("The data directory {path} could not be flushed to disk"))

    def _command(self, argv: Sequence[str], timeout_s: float, failure: str, input_bytes: bytes = b"") -> str:
        """Run a program as the server's account and return its standard error."""
        outcome = run_command(
            argv, account=self.account, timeout_s=timeout_s, record=self.record, input_bytes=input_bytes
        )
        if not outcome.succeeded:
            refusal = parse_refusal(outcome.stderr)
            what = failure.format(path=self.data_directory)
            reason = refusal.text if refusal.text and outcome.exit_code > 0 else outcome.describe()
            raise ServerError(f"{what}: {reason}", hint=refusal.hint)
        return outcome.stderr

    def write_configuration(self) -> None:
        """Write settings and authentication into the data directory; a running server does not notice.

        Raises:
            ServerError: the socket's path is too long, or the files cannot be written.
            ProgramError: the writer could not be started.
        """
        self._write_files(
            {
                data_files.OWN_FILE: format_configuration(self.settings, self.socket_directory),
                "pg_hba.conf": format_hba(backups=self.backups),
                "pg_ident.conf": format_ident(self.account.name, backups=self.backups),
            }
        )

    def forget_configuration(self) -> None:
        """Remove this server's own settings, paths and authentication from the data directory.

        Raises:
            ServerError: the files cannot be written.
            ProgramError: the writer could not be started.
        """
        self._write_files({data_files.OWN_FILE: "", "pg_hba.conf": "", "pg_ident.conf": ""})

    def _write_files(self, files: Mapping[str, str]) -> None:
        write = as_account(data_files.write_files, self.account, self.record, WRITE_TIMEOUT_S)
        try:
            write(self.data_directory, json.dumps(files).encode())
        except OSError as err:
            message = tr("{path} cannot be written: {reason}.")
            raise ServerError(message.format(path=self.data_directory, reason=err)) from err

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start the server and wait until it accepts a connection.

        Raises:
            SettingError: it refuses a setting; names it.
            ServerError: it did not start, with the most important line of its log; nothing is left running.
            ProgramError: its program could not be started.
        """
        if self.is_running():
            raise ServerError(tr("The server in {path} is already running.").format(path=self.data_directory))
        forget_libpq_environment()
        self._log_start = size_of(self.log_path)
        self._started_s = time.monotonic()
        self._process = spawn(
            self._argv(),
            account=self.account,
            death_signal=signal.SIGQUIT,
            stdout=Path(self.log_path),
            stderr=Path(self.log_path),
            hold=self.hold,
        )
        try:
            self._await_readiness(self._process, timeout_s)
        except BaseException:
            self.stop()
            raise

    def _await_readiness(self, process: subprocess.Popen[bytes], timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not reports_ready(self.data_directory, process.pid):
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
                raise self.failure(tr("The server did not start"))
            if time.monotonic() > deadline_s:
                raise self.failure(
                    tr("The server was not ready after {seconds:.0f} s").format(seconds=timeout_s)
                )
        connect(self.conninfo).close()

    def check_settings(self) -> None:
        """Check that the running server has the settings and the fixed values that it should have.

        Raises:
            SettingError: it has not; names them.
            ServerError: it cannot be asked.
        """
        check_in_effect(self.conninfo, self.settings, self._fixed)

    def log_text(self) -> str:
        """Return the end of the log since the last start, at most 64 KiB."""
        return read_tail(self.log_path, self._log_start, _LOG_TAIL_BYTES)

    def check_running(self, grace_s: float = 0.0) -> None:
        """Check that the server is running.

        Args:
            grace_s: how long to wait for an end that may be in progress.

        Raises:
            ServerError: it has ended by itself; carries the most important line of its log.
        """
        if grace_s and self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        if not self.is_running():
            raise self.failure(tr("The server stopped by itself"))

    def failure(self, what: str) -> FootingError:
        """Return the error for `what` with the most important line of the log.

        It is a `SettingError` if a setting caused it.
        """
        refusal = parse_refusal(self.log_text())
        blamed = setting_error(refusal, self.installation.version)
        if blamed is not None:
            return blamed
        reason = refusal.text or tr("its log {path} is empty").format(path=self.log_path)
        return ServerError(f"{what}: {reason}", hint=refusal.hint)

    def make_bench(self, *, superuser: bool = False) -> None:
        """Create pgbench's role and its empty database.

        Args:
            superuser: see `app.postgres.configuration_text.bench_statements`.

        Raises:
            ServerError: the server refuses; carries its message.
        """
        statements = bench_statements(superuser=superuser, tablespaces=self.tablespaces)
        for in_bench, group in groupby(statements, key=lambda statement: statement.in_bench):
            database = BENCH_DATABASE if in_bench else MAINTENANCE_DATABASE
            with (
                refused_as(_REFUSED, statements=f"CREATE … ({BENCH_DATABASE})"),
                connect(self.conninfo_for(database)) as connection,
            ):
                for statement in group:
                    connection.execute(statement.text.encode())

    def make_backup_role(self) -> bool:
        """Create the role for base backups, which a copied data directory lacks too.

        Returns:
            Whether there are tablespaces in addition to the server's own.

        Raises:
            ServerError: the server refuses; carries its message.
        """
        with refused_as(_REFUSED, statements="CREATE ROLE"), connect(self.conninfo) as connection:
            connection.execute(f"CREATE ROLE {BACKUP_ROLE} LOGIN REPLICATION".encode())
            own = "SELECT count(*) FROM pg_tablespace WHERE spcname NOT LIKE 'pg\\_%'"
            row = connection.execute(own.encode()).fetchone()
            return row is not None and row[0] != 0

    def checkpoint(self) -> None:
        """Write a checkpoint; takes as long as the disk needs.

        Raises:
            ServerError: the server refuses, or was stopped.
        """
        with (
            refused_as(_REFUSED, statements="CHECKPOINT"),
            connect(self.conninfo, statement_timeout_s=0) as connection,
        ):
            connection.execute("CHECKPOINT")

    def maintain(self, statements: Sequence[str]) -> None:
        """Execute statements in pgbench's database, one by one, without a timeout.

        Raises:
            ServerError: the server refuses, or was stopped.
        """
        conninfo = self.conninfo_for(BENCH_DATABASE)
        with (
            refused_as(_REFUSED, statements="; ".join(statements)),
            connect(conninfo, statement_timeout_s=0) as connection,
        ):
            for statement in statements:
                connection.execute(statement.encode())

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop the server at once and wait until it is gone; no effect if it is gone already.

        Immediate shutdown (SIGQUIT) writes nothing, because its data directory will be deleted. A server that
        does not end in its share of the time is killed.

        Raises:
            ServerError: the kernel does not let the process end (a hung device); names the process id.
        """
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGQUIT)
            try:
                process.wait(timeout_s * IMMEDIATE_SHARE)
            except subprocess.TimeoutExpired:
                self._kill(process, timeout_s * (1 - IMMEDIATE_SHARE))
        self._forget(process)

    def shut_down(self, timeout_s: float = SHUTDOWN_TIMEOUT_S) -> None:
        """Stop the server cleanly, so that it starts again without recovery.

        Raises:
            ServerError: it does not end in time, or was stopped in another way.
        """
        process = self._process
        if process is not None:
            # Sessions that were just closed may still be ending: smart shutdown lets them, fast shutdown
            # would have each log a fatal error (pg_ctl(1)).
            for number, share_s in ((signal.SIGTERM, min(SMART_S, timeout_s)), (signal.SIGINT, timeout_s)):
                process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(share_s)
                    break
            if process.returncode == 0:
                self._forget(process)
                return
        raise self.failure(tr("The server did not shut down cleanly"))

    def _kill(self, process: subprocess.Popen[bytes], timeout_s: float) -> None:
        """Kill the postmaster and its children.

        Raises:
            ServerError: one of them does not end.
        """
        stuck = kill_family(process, timeout_s)
        if stuck:
            raise ServerError(
                tr("The server in {path} was killed but does not end (process {pids}).").format(
                    path=self.data_directory, pids=", ".join(map(str, stuck))
                ),
                hint=tr("It may be waiting for a device in the kernel. Its data directory was not touched."),
            )

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        """Record the postmaster's command after its end; once, regardless of who stopped it."""
        if self._process is not process:
            return
        self._process = None
        duration_s = time.monotonic() - self._started_s
        argv = self._argv()
        code = process.returncode
        self.record(CommandOutcome(argv, self.account.name, self._started_s, duration_s, code, "", ""))

    def _argv(self) -> tuple[str, ...]:
        return self.installation.program("postgres"), "-D", self.data_directory
