"""A server that already runs: one database of ours is created in it, measured and dropped, nothing else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

import psycopg

from app.domain.errors import FootingError, ServerError, ServerLostError, TargetError, TargetLostError
from app.domain.maintenance import MaintenanceEnd
from app.domain.text import GIB, MIB, tr
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.local import LocalHost
from app.hosts.server_under_test import PgbenchPlace, Watch
from app.hosts.templates.making import CopiedData
from app.hosts.templates.store import Template
from app.postgres.existing.address import ServerAddress, error_line
from app.postgres.existing.look import ServerLook, not_known
from app.postgres.existing.own_database import (
    OWN_DATABASE,
    ServerLock,
    ServerWatch,
    drop_own,
    give_settings,
    make_own,
)
from app.postgres.facts import ServerFacts, facts_of, without_secrets
from app.postgres.pgbench.argv import Connection
from app.probes.base.probe import ProbeUnavailable, RemoteMachine, ServerSources
from app.probes.facts.files import CachedBytes, SampledCompression, StoredBytes
from app.process.metered import ANSWER_ERRORS

_DROP_S: Final = 20.0
"""How long the end of a run waits for an unresponsive server; the next campaign there drops the database."""
_BACK_S: Final = 600.0
"""How long a run waits, before it creates anything, for an unreachable server."""
_AGAIN_S: Final = 1.0
_GRACE_S: Final = 3.0

_PGBENCH_BYTES: Final = GIB
"""More than pgbench needs with thousands of clients, about 100 KB each; libpq accepts any amount from a
server.
"""
_THREAD_BYTES: Final = 16 * MIB
"""A stack and its overhead; there are no more threads than CPUs."""
_LATE_S: Final = 600.0
"""How long a server may take for running transactions after the time of a phase is over."""

_SPILL: Final = (
    b"SET work_mem = '64kB'",
    b"SET temp_tablespaces = ''",
    b"SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, 1000000)",
)
"""Needs 14 MB of temporary file and no WAL: a server without room for WAL goes down."""

ServerConnection = psycopg.Connection[tuple[Any, ...]]


OF_ITS_MACHINE: Final = tr("existing server: its disks, filesystem, caches and CPUs are unknown")
NO_BACKUPS: Final = tr("pgFooting makes no base backups of an existing server.")
_NOT_OURS: Final = tr("pgFooting does not do this on an existing server.")


class NotOurs:
    """What cannot be done with a server that was not started here; see `app.hosts.server_under_test`."""

    __slots__ = ()

    def make(self) -> None:
        """Do nothing: it exists."""

    def copy_data(self, template: Template) -> CopiedData:  # noqa: ARG002 - as the protocol has it
        """Refuse: its files are not here."""
        raise ServerError(_NOT_OURS)

    def check_settings(self) -> None:
        """Do nothing: they are read back when the database is created."""

    def make_backup_role(self) -> None:
        """Refuse: pgFooting creates no role on such a server."""
        raise ServerError(NO_BACKUPS)

    def back_up(
        self,
        max_rate_bytes: int | None,  # noqa: ARG002 - as the protocol has it
        is_cancelled: Callable[[], bool],  # noqa: ARG002 - as above
    ) -> MaintenanceEnd:
        """Refuse, as `make_backup_role`."""
        raise ServerError(NO_BACKUPS)

    def maintain_storage(self, name: str) -> MaintenanceEnd:
        """Refuse: its storage is not here."""
        raise TargetError(tr("“{name}” needs root and spare disks.").format(name=name))

    def end_maintenance(self) -> None:
        """Do nothing: none is running."""

    def loaded(self, watch: Watch) -> None:
        """Do nothing between loading and measuring."""
        watch()

    def check_loaded(self) -> tuple[str, ...]:
        """Return nothing: no file was chosen."""
        return ()

    def shut_down(self) -> None:
        """Refuse: it is not ours to stop."""
        raise ServerError(_NOT_OURS)

    def empty_caches(self, watch: Watch) -> None:  # noqa: ARG002 - as the protocol has it
        """Refuse: its caches are not here."""
        raise ServerError(_NOT_OURS)

    def cached(self) -> CachedBytes:
        """Refuse: its files cannot be read."""
        raise ProbeUnavailable(OF_ITS_MACHINE)

    def stored(self) -> StoredBytes:
        """Refuse: its files cannot be read."""
        raise ProbeUnavailable(OF_ITS_MACHINE)

    def sample_tables(self) -> SampledCompression:
        """Refuse: its files cannot be read."""
        raise ProbeUnavailable(OF_ITS_MACHINE)

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return nothing: its disks are not here."""
        return None

    def open_log(self) -> IO[bytes]:
        """Refuse: its log is not here."""
        raise ProbeUnavailable(OF_ITS_MACHINE)

    def log_text(self) -> str:
        """Return nothing: its log is not here."""
        return ""


@dataclass(slots=True)
class ExistingServer(NotOurs):
    """A server that pgFooting did not start; the methods are described in `app.hosts.server_under_test`.

    Attributes:
        host: gives the folder of pgbench on this machine.
        reached: its address.
        look: its state before the campaign.
        report: gets a sentence for the user.
        settings: of the campaign, for our database alone.
        room_bytes: limit of our database; None if unknown.
        machine: its machine; None if that is not queried.
        is_asked: that machine answered before the campaign.
        lock: of the campaign, checked before our database is touched.
    """

    host: LocalHost
    reached: ServerAddress
    look: ServerLook
    report: Callable[[str], None]
    settings: tuple[tuple[str, str], ...] = ()
    room_bytes: int | None = None
    machine: RemoteMachine | None = None
    is_asked: bool = False
    lock: ServerLock | None = None
    setup: None = field(default=None, init=False)
    _folder: PrivateFolder | None = field(default=None, init=False)
    _watch: ServerWatch | None = field(default=None, init=False)
    _working: ServerConnection | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _may_be_there: bool = field(default=False, init=False)

    @property
    def address(self) -> Connection:
        """Everything but the secret, as one connection string."""
        parameters = self.reached.parameters
        return Connection(
            host=parameters["host"],
            port=int(parameters["port"]),
            user=self.reached.user,
            database=OWN_DATABASE,
            conninfo=self.reached.bare(OWN_DATABASE),
        )

    @property
    def sources(self) -> ServerSources:
        """SQL, and its machine if that is queried: none of its files and processes are known."""
        return ServerSources(
            conninfo=self.reached.conninfo(),
            reason=OF_ITS_MACHINE,
            database=OWN_DATABASE,
            elsewhere=self.machine,
        )

    def prepare(self, watch: Watch) -> PgbenchPlace:
        """Make sure that it is still the inspected server, and drop leftovers of an earlier run.

        Waits for an unreachable server: a connection that is cut for a minute at night does not end the
        campaign.
        """
        watch()
        connection = self._wait_for_connection(watch)
        try:
            self._check_identity(connection)
            self._drop_held(connection)
        finally:
            connection.close()
        self._folder, notes = self.host.make_private()
        return PgbenchPlace(
            self._folder,
            notes=(*not_known(self.look, is_asked=self.is_asked), *notes),
            environment=self.reached.environment,
            memory_bytes=_PGBENCH_BYTES + _THREAD_BYTES * (os.cpu_count() or 1),
            late_s=_LATE_S,
        )

    def _check_identity(self, connection: ServerConnection) -> None:
        """Refuse another server in its place: its name may have moved since the user agreed."""
        try:
            row = connection.execute(
                b"SELECT pg_catalog.pg_postmaster_start_time()::text, pg_catalog.pg_is_in_recovery()"
            ).fetchone()
        except ANSWER_ERRORS as error:
            raise self._silent(error) from error
        if row is None or row[1] or str(row[0]) != self.look.started:
            message = tr(
                "{name} is a different server now, was restarted, or is a standby. Nothing was created."
            )
            raise ServerError(
                message.format(name=self.reached.name), hint=tr("Start the campaign again, or resume it.")
            )

    def start(self) -> None:
        """Begin to watch it."""
        self._watch = ServerWatch(self.reached, self.look.started, self.room_bytes)
        self._watch.start()

    def make_bench(self, *, superuser: bool) -> None:
        """Create our database, owned by pgbench's role, and apply its settings."""
        if superuser:
            raise ServerError(
                tr("The scripts need a superuser, which pgFooting never uses on an existing server.")
            )
        connection = self._connect()
        try:
            self._may_be_there = True
            make_own(connection)
            give_settings(connection, self.reached, self.settings)
        finally:
            connection.close()

    def checkpoint(self) -> None:
        """Execute CHECKPOINT, if the role may."""
        if self.look.role.may_checkpoint:
            self._execute(["CHECKPOINT"], "")

    def maintain(self, statements: Sequence[str]) -> None:
        """Execute statements in our database, as its owner."""
        self._execute(statements, OWN_DATABASE)

    def _execute(self, statements: Sequence[str], database: str) -> None:
        try:
            with self.reached.connect(database, statement_timeout_s=0) as connection:
                with self._lock:
                    self._working = connection
                for statement in statements:
                    connection.execute(statement.encode())
        except ANSWER_ERRORS as error:
            raise self._silent(error) from error
        finally:
            with self._lock:
                self._working = None

    def facts(self) -> ServerFacts:
        """Read facts in our database, which has the settings of pgbench's sessions; secrets are removed."""
        try:
            with self.reached.connect(OWN_DATABASE) as connection:
                return without_secrets(facts_of(connection))
        except ANSWER_ERRORS as error:
            raise self._silent(error) from error

    def no_room(self) -> str:
        """Make it write a temporary file: the SQLSTATE of a full disk is the same in every language."""
        try:
            with self.reached.connect(OWN_DATABASE) as connection:
                for statement in _SPILL:
                    connection.execute(statement)
        except psycopg.errors.DiskFull as error:
            return error_line(error)
        except ANSWER_ERRORS:
            return ""
        return ""

    def check_target(self) -> None:
        """End the run if our database exceeds its limit."""
        if self._watch is not None and self._watch.over_room:
            raise TargetLostError(self._watch.over_room)

    def check_running(self, grace_s: float = 0.0) -> None:
        """Query the watch, which checks every second."""
        if self._watch is None:
            return
        failure = self._watch.wait_for_failure(max(grace_s, _GRACE_S) if grace_s else 0.0)
        if failure:
            kind = ServerLostError if self._watch.is_lost else ServerError
            raise kind(failure, hint=tr("Data measured so far is kept."))

    def stop(self) -> None:
        """End the watch, and a running statement of ours; the server continues."""
        with self._lock:
            working = self._working
        if working is not None:
            with suppress(psycopg.Error):
                working.cancel_safe(timeout=_GRACE_S)
        if self._watch is not None and working is None:
            self._watch.stop()

    def release(self) -> tuple[str, ...]:
        """Drop our database, and remove the folder on this machine."""
        left = self._drop() if self._may_be_there else ""
        self._may_be_there = False
        folder, self._folder = self._folder, None
        kept = () if folder is None else self.host.release_private(folder)
        return (*filter(None, [left]), *kept)

    def _drop(self) -> str:
        """Drop our database; waits for a restarting server. Return a sentence if it is left."""
        end_s = time.monotonic() + _DROP_S
        while True:
            try:
                connection = self._connect()
                try:
                    self._drop_held(connection)
                finally:
                    connection.close()
            except FootingError as error:
                if isinstance(error, ServerError) and time.monotonic() < end_s:
                    time.sleep(_AGAIN_S)
                    continue
                sentence = tr(
                    "The database {database} remains on {name}: {reason} The next campaign there drops it."
                )
                return sentence.format(database=OWN_DATABASE, name=self.reached.name, reason=error.message)
            return ""

    def _drop_held(self, connection: ServerConnection) -> None:
        """Drop our database unless another campaign has it: the lock ends with its connection."""
        if self.lock is not None:
            self.lock.hold()
        drop_own(connection, self.reached, ends_sessions=True)

    def _wait_for_connection(self, watch: Watch) -> ServerConnection:
        """Return a connection, as soon as there is one.

        Raises:
            ServerError: it refuses, or stayed unreachable: no other run waits for it again.
        """
        end_s = time.monotonic() + _BACK_S
        is_reported = False
        while True:
            try:
                return self._connect()
            except ServerLostError as error:
                if time.monotonic() >= end_s:
                    raise ServerError(error.message, hint=error.hint) from error
                if not is_reported:
                    message = tr("Waiting for the server, at most {minutes:.0f} minutes.")
                    self.report(f"{error.message} {message.format(minutes=_BACK_S / 60)}")
                    is_reported = True
            watch()
            time.sleep(_AGAIN_S)

    def _connect(self) -> ServerConnection:
        """Return a connection to the database that the user named.

        Raises:
            ServerLostError: it cannot be reached.
            ServerError: it refuses.
        """
        try:
            return self.reached.connect()
        except ANSWER_ERRORS as error:
            raise self._silent(error) from error

    def _silent(self, error: Exception) -> ServerError:
        message = tr("The server {name} rejected a request: {reason}")
        # A server's answer to a statement has a SQLSTATE; a cut connection, and a failed one, have none.
        is_lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
        kind = ServerLostError if is_lost else ServerError
        return kind(message.format(name=self.reached.name, reason=error_line(error)))
