"""The server under test: the interface for runner, recorder, probes and a run's description.

`app.hosts.own_server` makes one on storage of this machine, `app.hosts.existing_server` uses one that was not
started here; `app.execution.run` chooses. Unknown facts of a server are None or raise `ProbeUnavailable` with
the reason, and the run file reports them.

`Host` gives a run its storage; only `app.hosts.own_server` and the baseline use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, Protocol

from app.domain.campaign.configuration import Target
from app.domain.maintenance import MaintenanceEnd
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.folders.run_folders import RunFolders
from app.hosts.recovery.cleanup import SweepEvent
from app.hosts.templates.making import CopiedData
from app.hosts.templates.store import Template
from app.postgres.facts import ServerFacts
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import Connection
from app.postgres.settings import Setting
from app.probes.base.probe import ServerSources
from app.probes.facts.files import CachedBytes, SampledCompression, StoredBytes
from app.process.starter import Account, Hold


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """Setup of a server by pgFooting.

    Attributes:
        installation: source of the programs.
        settings: of the server, complete.
        preset: id of the preset of settings.
        checksums: whether data pages have checksums.
        backups: whether base backups are made during the measurement.
    """

    installation: Installation
    settings: tuple[Setting, ...]
    preset: str
    checksums: bool
    backups: bool = False


@dataclass(frozen=True, slots=True)
class PgbenchPlace:
    """pgbench's place and limits.

    Attributes:
        folder: for pgbench's output, and the user's scripts.
        hold: hook for pgbench before it is executed; None for none.
        notes: sentences about imperfections, for the run file.
        environment: needed by pgbench besides its arguments, such as a password; never shown.
        memory_bytes: limit for pgbench; None for no limit.
        late_s: how long pgbench may continue after its time, for its last transactions; None for no limit.
    """

    folder: PrivateFolder
    hold: Hold | None = None
    notes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    memory_bytes: int | None = None
    late_s: float | None = None


class ServerUnderTest(Protocol):
    """One server for one run; used from the runner's main thread unless stated otherwise.

    The runner calls `prepare`, `make`, `start`, `check_settings`, `make_bench`, `checkpoint` and `loaded`, in
    this order, once. If the data set is copied, `copy_data` replaces `make` and `make_bench`. For cold
    caches, `shut_down`, `empty_caches`, `start` and `check_settings` replace `loaded`. At the end, in any
    case, `stop` and `release`.
    """

    @property
    def setup(self) -> ServerSetup | None:
        """Setup by pgFooting, for the description of the run; None if it did not set it up."""

    @property
    def address(self) -> Connection:
        """Address for pgbench, with the database of `make_bench`; after `prepare`."""

    @property
    def sources(self) -> ServerSources:
        """Current sources for facts (after `prepare`) and probes (after `start`)."""

    def prepare(self, watch: Callable[[], None]) -> PgbenchPlace:
        """Get storage for it, and a folder for pgbench; phase `prepare`.

        Args:
            watch: called often during long work; an exception ends it, and everything is undone.

        Raises:
            TargetError: the target cannot be used.
            FootingError: it is not available; nothing is left.
        """

    def make(self) -> None:
        """Make its initial data directory; phase `initdb`, in a separate thread whose children may be killed.

        Raises:
            ServerError: it cannot be made.
            ProgramError: a program cannot be started.
        """

    def copy_data(self, template: Template) -> CopiedData:
        """Make its data directory a copy of a template, instead of `make`, `make_bench` and loading.

        Phase `load`, in a separate thread whose children may be killed.

        Raises:
            DamagedTemplateError: the template is damaged; nothing of it is left on the target.
            TargetError: it cannot be written.
            ServerError: it is not a data directory of this server, or cannot be made one.
            ProgramError: a program cannot be started.
        """

    def start(self) -> None:
        """Make it accept connections; phase `load`.

        Raises:
            SettingError: it refuses a setting.
            ServerError: it does not start, or cannot be reached.
            ProgramError: its program cannot be started.
        """

    def check_settings(self) -> None:
        """Check that it has the settings of `setup`, if any, and runs within the target's limits.

        Raises:
            SettingError: it has other settings; names them.
            TargetError: a limit of the target is not the chosen one; names both.
            ServerError: it cannot be queried.
        """

    def make_bench(self, *, superuser: bool) -> None:
        """Create pgbench's role and its empty database.

        Args:
            superuser: make the role a superuser: the user agreed to scripts that need it.

        Raises:
            ServerError: it refuses.
        """

    def checkpoint(self) -> None:
        """Write everything that is dirty to disk; phase `settle`, in a separate thread.

        Raises:
            ServerError: it refuses, or was stopped in between.
        """

    def maintain(self, statements: Sequence[str]) -> None:
        """Execute statements in pgbench's database, between phases, in a separate thread.

        Raises:
            ServerError: it refuses, or was stopped in between.
        """

    def make_backup_role(self) -> None:
        """Prepare the role of `back_up`; once, before the first of it.

        Raises:
            ServerError: it refuses.
        """

    def back_up(self, max_rate_bytes: int | None, is_cancelled: Callable[[], bool]) -> MaintenanceEnd:
        """Make a base backup of it and discard it, in a separate thread.

        Args:
            max_rate_bytes: read per second at most; None for no limit.
            is_cancelled: polled often; ends it.

        Raises:
            ProgramError: pg_basebackup cannot be started.
            ServerError: it is not ours to back up.
        """

    def maintain_storage(self, name: str) -> MaintenanceEnd:
        """Let root do a maintenance of its storage by its name, in a separate thread; waits for its end.

        Raises:
            TargetError: the storage is not root's.
            FootingError: its filesystem does not support it, another one is running, or the helper is lost.
        """

    def end_maintenance(self) -> None:
        """End a `maintain_storage` of another thread, which then returns; may be called again.

        Raises:
            FootingError: the helper is lost.
        """

    def loaded(self, watch: Callable[[], None]) -> None:
        """Do the work between loading and measuring, such as emptying caches; `watch` as in `prepare`."""

    def check_loaded(self) -> tuple[str, ...]:
        """Read back choices that show only on loaded files; after `loaded`.

        Returns:
            A sentence for everything that cannot be read back.

        Raises:
            TargetError: something differs from the choice; names both.
            ServerError: the places of the files cannot be queried.
        """

    def shut_down(self) -> None:
        """Stop it so that `start` finds all its data again; phase `settle`, in a separate thread.

        Raises:
            ServerError: it does not stop, or is not ours to stop.
        """

    def empty_caches(self, watch: Callable[[], None]) -> None:
        """Drop the machine's caches of its files; after `shut_down`; `watch` as in `prepare`.

        Raises:
            ServerError: dirty pages cannot be written, or a file cannot be reached.
        """

    def cached(self) -> CachedBytes:
        """Return the cached part of pgbench's loaded tables and indexes, after `empty_caches`.

        Raises:
            ServerError: the places of the files cannot be queried.
            ProbeUnavailable: they are on another machine.
            OSError: they cannot be read.
        """

    def stored(self) -> StoredBytes:
        """Return the stored size of pgbench's loaded tables, for the recorder; after `loaded`.

        Raises:
            ServerError: the places of the files cannot be queried.
            ProbeUnavailable: they are on another machine.
            OSError: they cannot be read.
        """

    def sample_tables(self) -> SampledCompression:
        """Return the compressibility of pgbench's loaded tables; before `loaded`, after `checkpoint`.

        Raises:
            ServerError: the places of the files cannot be queried.
            ProbeUnavailable: they are on another machine, or no compressor is available.
            OSError: they cannot be read.
        """

    def facts(self) -> ServerFacts:
        """Return its version, build and settings, for the recorder; after `loaded`.

        Raises:
            ServerError: it cannot be queried.
        """

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return the health values of its disks, by device number; None if they cannot be queried."""

    def open_log(self) -> IO[bytes]:
        """Open its log, unbuffered, at the start of this run; for the recorder, until `release`.

        Raises:
            FileNotFoundError: it has written none yet.
            ProbeUnavailable: its place is unknown.
            TargetLostError: something else took its place.
            OSError: it cannot be read.
        """

    def log_text(self) -> str:
        """Return the end of its log, to look for a crash; empty if unknown."""

    def no_room(self) -> str:
        """Return the server's message that its disk is full; called when pgbench has failed.

        Empty if the disk accepts more, if this is known otherwise, or if it cannot be queried.
        """

    def check_target(self) -> None:
        """Make sure that its storage and the folder of pgbench are usable; once a second.

        Raises:
            TargetLostError: one vanished, was replaced, is read-only, nearly full, or over its limit.
        """

    def check_running(self, grace_s: float = 0.0) -> None:
        """Return while it runs; once a second, and when pgbench has failed.

        Args:
            grace_s: how long to wait for an end that may be under way.

        Raises:
            ServerError: it has ended by itself; carries its message.
        """

    def stop(self) -> None:
        """End this run's use of it at once; ends a `checkpoint` of another thread; may be called again.

        Raises:
            ServerError: it does not end.
        """

    def release(self) -> tuple[str, ...]:
        """Remove and unmake everything of the run; return a sentence for everything that is left over."""


Watch = Callable[[], None]
"""Called often during long work; an exception ends it, and everything is undone."""


def watch_nothing() -> None:
    """Watch nothing."""


class ProcessRole(StrEnum):
    """Owner of a process: CPU, memory and I/O are counted separately."""

    SERVER = "server"
    PGBENCH = "pgbench"


class Host(Protocol):
    """Provides and releases a run's storage; used by one run at a time, from one thread."""

    account: Account

    def prepare(self, target: Target, need_bytes: int, watch: Watch = watch_nothing) -> RunFolders:
        """Make storage and the folders of one run.

        Args:
            target: of the configuration.
            need_bytes: largest need of the run.
            watch: called often during long work.

        Raises:
            TargetError: the target cannot be used; a partial result is removed.
            FootingError: the host cannot make it.
        """

    def release(self, released: RunFolders) -> tuple[SweepEvent, ...]:
        """Remove and unmake everything of a run; failures are reported as events."""

    def check_alive(self, checked: RunFolders, reserve_bytes: int) -> None:
        """Make sure that a run can continue; once a second.

        Raises:
            TargetLostError: the target vanished, was replaced, is read-only, nearly full, or over its limit.
        """

    def hold(self, part: ProcessRole) -> Hold | None:
        """Return the hook for a process before its program is executed; None for none."""

    def loaded(self, of: RunFolders, watch: Watch = watch_nothing) -> None:
        """Do the work between loading and measuring; `watch` is called often during long work."""

    def empty_caches(self, of: RunFolders, watch: Watch = watch_nothing) -> None:
        """Drop the machine's caches of the data; no server works on it.

        Raises:
            ServerError: dirty pages cannot be written, or a file cannot be reached.
        """

    def maintain(self, name: str) -> MaintenanceEnd:
        """Let root do a maintenance of the storage by its name; called in a separate thread.

        Root's steps are reported to the thread that checks the storage at the same time (`check_alive`).

        Raises:
            TargetError: the storage is not root's.
            UnavailableError: the storage does not support it.
            FootingError: another one is running, or the helper is lost.
        """

    def end_maintenance(self) -> None:
        """End the running maintenance; its waiting caller is answered then.

        Raises:
            FootingError: the helper is lost.
        """

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return the disks' health values, by device number; None if they cannot be queried."""
