"""A server of our own: made on the storage of a host, for one run, and removed after it.

The choices for a target are read back where they act: on the server's process and on its files. The helper
reads back its own work as root (`app.storage.checks.readback`). The checks here need a running server, or
files; the runner does them without root.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from app.domain.campaign.configuration import DiskTarget, GroupChoice, Target
from app.domain.campaign.disk_target import chosen_options
from app.domain.errors import ServerError, TargetError
from app.domain.filesystems import filesystem
from app.domain.maintenance import BASE_BACKUP, MaintenanceEnd
from app.domain.options.kinds import ReadbackToken
from app.domain.storage_plan.plan import Role
from app.domain.text import MIB, format_size, tr
from app.hosts.folders.private_folder import open_private
from app.hosts.folders.run_folders import RunFolders
from app.hosts.recovery.cleanup import CleanupAction
from app.hosts.server_under_test import Host, PgbenchPlace, ProcessRole, ServerSetup, Watch
from app.hosts.templates.making import CopiedData, copy_template
from app.hosts.templates.store import Template
from app.postgres.base_backup import PROGRAM, TARGETS_MAJOR, base_backup_argv, make_base_backup
from app.postgres.configuration_text import (
    BENCH_DATABASE,
    WAL_FOLDER,
    Tablespaces,
    check_places,
    index_files,
    relation_files,
    table_files,
    wal_files,
)
from app.postgres.facts import ServerFacts, read_server_facts
from app.postgres.pgbench.argv import Connection
from app.postgres.server import Server
from app.probes.base.probe import ServerSources
from app.probes.facts.files import (
    CachedBytes,
    SampledCompression,
    StoredBytes,
    attributes_of,
    cached_bytes,
    sample_compression,
    stored_bytes,
)
from app.process.memory import memory_limits
from app.process.starter import Recorder

_NAMED: Final = 3


def check_memory_limit(limit_bytes: int, pid: int, root: Path = Path("/")) -> None:
    """Make sure that a process may use exactly as much memory as was chosen.

    The kernel counts in pages: it rounds a limit down to whole ones (cgroup-v2.rst, memory.max).

    Args:
        limit_bytes: chosen.
        pid: of the postmaster.
        root: of proc and sys; another folder in tests.

    Raises:
        TargetError: its control groups have another limit; names both.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    limits = memory_limits(root / "proc", root / "sys", str(pid))
    found = limits[0].size_bytes if limits else None
    if found == limit_bytes // page * page:
        return
    message = tr("The server may use {found} of memory instead of {chosen}. Nothing was measured.")
    has = (
        tr("any amount")
        if found is None
        else tr("{size} ({bytes} bytes)").format(size=format_size(found), bytes=found)
    )
    chosen = tr("{size} ({bytes} bytes)").format(size=format_size(limit_bytes), bytes=limit_bytes)
    hint = tr("Another limit of this machine is lower, or the server is not in its run's control group.")
    raise TargetError(message.format(found=has, chosen=chosen), hint=hint)


def check_wal_directory(data_directory: str, wal_directory: str) -> None:
    """Make sure that a server writes its WAL to the chosen folder.

    Args:
        data_directory: of the server.
        wal_directory: initdb's argument; empty for none.

    Raises:
        TargetError: it is elsewhere; names both.
        OSError: it cannot be found.
    """
    data = Path(data_directory).resolve(strict=True)
    found = (data / WAL_FOLDER).resolve(strict=True)
    chosen = Path(wal_directory).resolve(strict=True) if wal_directory else data / WAL_FOLDER
    if found != chosen:
        message = tr("{what}: found in {found} instead of {place}. Nothing was measured.")
        raise TargetError(message.format(what="WAL", found=found, place=chosen))


def check_file_attributes(group: GroupChoice, files: Iterable[Path]) -> tuple[str, ...]:
    """Make sure that new files on a filesystem have the attributes of its options.

    Args:
        group: of the target.
        files: of the server, on that filesystem.

    Returns:
        A sentence if the attributes cannot be read.

    Raises:
        TargetError: some have others; names them, and the chosen ones.
    """
    options = chosen_options(group)
    wanted = filesystem(group.filesystem).attributes_of_files(options)
    if wanted is None:
        return ()
    sentence = tr("File attributes on {label} cannot be verified ({reason}).")
    label = filesystem(group.filesystem).label
    try:
        wrong = dict(_wrong(wanted, files))
    except OSError as error:
        return (sentence.format(label=label, reason=error.strerror),)
    if not wrong:
        return ()
    message = tr(
        "{count} files on {label} have the attributes “{found}” instead of “{wanted}”, such as {names}. "
        "Nothing was measured."
    )
    raise TargetError(
        message.format(
            count=len(wrong),
            label=label,
            found=next(iter(wrong.values())) or "-",
            wanted="".join(wanted.present) or "-",
            names=", ".join(path.name for path in list(wrong)[:_NAMED]),
        ),
        hint=tr("This kernel accepts the option but does not apply it to new files. Remove the option."),
    )


def _wrong(wanted: ReadbackToken, files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for path in files:
        found = attributes_of(path)
        if wanted.contradictions(found):
            yield path, "".join(sorted(found))


RESERVE_BYTES: Final = 64 * MIB
"""A run ends with its own error before the target is so full that PostgreSQL panics."""
_LOG: Final = "server.log"


@dataclass(slots=True)
class OwnServer:
    """A server that pgFooting makes; the methods are described in `app.hosts.server_under_test`.

    Attributes:
        host: provides and releases storage and folders.
        target: of the configuration.
        need_bytes: largest need of the run.
        setup: of the server.
        record: called with every command.
    """

    host: Host
    target: Target
    need_bytes: int
    setup: ServerSetup
    record: Recorder
    _folders: RunFolders | None = field(default=None, init=False)
    _has_tablespaces: bool = field(default=False, init=False)
    _server: Server | None = field(default=None, init=False)

    @property
    def _prepared(self) -> tuple[Server, RunFolders]:
        assert self._server is not None  # noqa: S101 - `prepare` comes first
        assert self._folders is not None  # noqa: S101 - as above
        return self._server, self._folders

    @property
    def address(self) -> Connection:
        """Its socket."""
        return Connection(self._prepared[1].socket_directory)

    @property
    def sources(self) -> ServerSources:
        """Everything, as soon as it runs."""
        server, folders = self._prepared
        pid = server.pid
        return ServerSources(
            conninfo=None if pid is None else server.conninfo,
            postmaster_pid=pid,
            data_directory=folders.data_directory,
            wal_directory=folders.wal_directory or None,
            tablespaces=tuple((each.role.value, each.path) for each in folders.tablespaces),
            reason=tr("the server is not running") if pid is None else "",
        )

    def prepare(self, watch: Watch) -> PgbenchPlace:
        """Get storage and folders from the host."""
        folders = self._folders = self.host.prepare(self.target, self.need_bytes, watch)
        self._server = Server(
            installation=self.setup.installation,
            account=folders.private.account,
            data_directory=folders.data_directory,
            socket_directory=folders.socket_directory,
            log_path=f"{folders.private.path}/{_LOG}",
            settings=self.setup.settings,
            record=self.record,
            wal_directory=folders.wal_directory,
            tablespaces=_spaces(folders),
            hold=self.host.hold(ProcessRole.SERVER),
            backups=self.setup.backups,
        )
        return PgbenchPlace(folders.private, self.host.hold(ProcessRole.PGBENCH), folders.notes)

    def make(self) -> None:
        """Make and configure the data directory."""
        server, _ = self._prepared
        server.initdb(checksums=self.setup.checksums)
        server.write_configuration()

    def copy_data(self, template: Template) -> CopiedData:
        """Copy a template into the data directory, adapt it, and configure it as if made there."""
        server, folders = self._prepared
        copied = copy_template(
            template,
            folders.data_directory,
            folders.wal_directory,
            account=server.account,
            record=self.record,
        )
        server.take_over(checksums=self.setup.checksums)
        server.write_configuration()
        return copied

    def start(self) -> None:
        """Start it; it ends with the thread that calls this."""
        self._prepared[0].start()

    def check_settings(self) -> None:
        """Read all settings back, and the limit of memory."""
        server, _ = self._prepared
        server.check_settings()
        limit_bytes = self.target.memory_limit_bytes if isinstance(self.target, DiskTarget) else None
        if limit_bytes is not None and server.pid is not None:
            check_memory_limit(limit_bytes, server.pid)

    def make_bench(self, *, superuser: bool) -> None:
        """Make pgbench's role and its database."""
        self._prepared[0].make_bench(superuser=superuser)

    def checkpoint(self) -> None:
        """Execute CHECKPOINT."""
        self._prepared[0].checkpoint()

    def maintain(self, statements: Sequence[str]) -> None:
        """Execute statements as the superuser."""
        self._prepared[0].maintain(statements)

    def make_backup_role(self) -> None:
        """Create the role as the superuser."""
        server, _ = self._prepared
        self._has_tablespaces = server.make_backup_role()
        if self._has_tablespaces and server.installation.major < TARGETS_MAJOR:
            message = tr("With tablespaces, base backups during a phase need PostgreSQL {major} or newer.")
            raise ServerError(message.format(major=TARGETS_MAJOR))

    def back_up(self, max_rate_bytes: int | None, is_cancelled: Callable[[], bool]) -> MaintenanceEnd:
        """Read everything over its socket, as its account."""
        server, _ = self._prepared
        program, several = server.installation.program(PROGRAM), self._has_tablespaces
        argv = base_backup_argv(program, self.address, max_rate_bytes, has_tablespaces=several)
        return make_base_backup(argv, server.account, self.record, is_cancelled, BASE_BACKUP.limit_s)

    def maintain_storage(self, name: str) -> MaintenanceEnd:
        """Let the host do it."""
        return self.host.maintain(name)

    def end_maintenance(self) -> None:
        """Let the host end it."""
        self.host.end_maintenance()

    def loaded(self, watch: Watch) -> None:
        """Let the host do its part."""
        self.host.loaded(self._prepared[1], watch)

    def check_loaded(self) -> tuple[str, ...]:
        """Check the attributes of the files of tables and WAL."""
        if not isinstance(self.target, DiskTarget):
            return ()
        server, folders = self._prepared
        check_wal_directory(folders.data_directory, folders.wal_directory)
        wal = wal_files(f"{folders.data_directory}/{WAL_FOLDER}")
        asked = server.conninfo_for(BENCH_DATABASE), folders.data_directory
        tables, indexes = table_files(*asked), index_files(*asked)
        relations = [(Role.TABLES, path) for path in tables] + [(Role.INDEXES, path) for path in indexes]
        check_places(_spaces(folders), folders.data_directory, relations)
        differences = [
            *check_file_attributes(self.target.tables or self.target.data, tables),
            *check_file_attributes(self.target.wal or self.target.data, wal),
        ]
        if self.target.indexes is not None:
            differences += check_file_attributes(self.target.indexes, indexes)
        return tuple(dict.fromkeys(differences))

    def shut_down(self) -> None:
        """Shut it down cleanly."""
        self._prepared[0].shut_down()

    def empty_caches(self, watch: Watch) -> None:
        """Let the host do it, for data and WAL."""
        self.host.empty_caches(self._prepared[1], watch)

    def cached(self) -> CachedBytes:
        """Return the cached part of the files of tables and indexes in the data directory."""
        server, folders = self._prepared
        files = relation_files(server.conninfo_for(BENCH_DATABASE), folders.data_directory)
        return cached_bytes(folders.data_directory, files)

    def stored(self) -> StoredBytes:
        """Return the size of the files of the tables in the data directory."""
        return stored_bytes(self._table_files())

    def sample_tables(self) -> SampledCompression:
        """Read pieces of the files of the tables in the data directory."""
        return sample_compression(self._table_files())

    def _table_files(self) -> tuple[Path, ...]:
        server, folders = self._prepared
        return table_files(server.conninfo_for(BENCH_DATABASE), folders.data_directory)

    def facts(self) -> ServerFacts:
        """Read them as the superuser."""
        return read_server_facts(self._prepared[0].conninfo)

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Query the host."""
        return self.host.health()

    def open_log(self) -> IO[bytes]:
        """Open the log in the private folder."""
        if self._folders is None:
            raise FileNotFoundError(_LOG)
        return open_private(self._folders.private, _LOG)

    def log_text(self) -> str:
        """Return the end of that log."""
        return "" if self._server is None else self._server.log_text()

    def no_room(self) -> str:
        """Return nothing: its messages are English, and its target is checked every second."""
        return ""

    def check_target(self) -> None:
        """Check storage and private folder."""
        if self._folders is not None:
            self.host.check_alive(self._folders, RESERVE_BYTES)

    def check_running(self, grace_s: float = 0.0) -> None:
        """Check the postmaster."""
        self._prepared[0].check_running(grace_s)

    def stop(self) -> None:
        """Stop it without a checkpoint, which would only cost time and wear: its data is discarded."""
        if self._server is not None:
            self._server.stop()

    def release(self) -> tuple[str, ...]:
        """Release storage and folders."""
        folders, self._folders = self._folders, None
        if folders is None:
            return ()
        events = self.host.release(folders)
        return tuple(event.text for event in events if event.action is CleanupAction.KEPT)


def _spaces(folders: RunFolders) -> Tablespaces:
    return Tablespaces(tuple((each.role, each.path) for each in folders.tablespaces))
