"""The server under test: all that runner, recorder, probes and a run's description know of a server.

`app.hosts.own_server` makes one on storage of this machine, `app.hosts.existing_server` uses one that was
not started here; `app.execution.run` chooses. What a server cannot tell is None or raises
`ProbeUnavailable`, with the reason, and the run file says so.

What gives a run its storage; `app.hosts.own_server` asks it, nobody else.
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
    """How this program sets a server up.

    Attributes:
        installation: whose programs run.
        settings: of the server, complete.
        preset: id of the preset of settings.
        checksums: whether data pages have checksums.
        backups: whether base backups are made of it while it is measured.
    """

    installation: Installation
    settings: tuple[Setting, ...]
    preset: str
    checksums: bool
    backups: bool = False


@dataclass(frozen=True, slots=True)
class PgbenchPlace:
    """Where pgbench works.

    Attributes:
        folder: what pgbench writes, and the user's scripts.
        hold: what has to happen with pgbench before it is executed; None for nothing.
        notes: sentences about what is not as it should be, for the run file.
        environment: what pgbench needs of it beside its arguments, such as a password; never told.
        memory_bytes: that pgbench may have; None for no limit.
        late_s: how long pgbench may go on after its time, for its last transactions; None for no limit.
    """

    folder: PrivateFolder
    hold: Hold | None = None
    notes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    memory_bytes: int | None = None
    late_s: float | None = None


class ServerUnderTest(Protocol):
    """One server for one run; used from the runner's main thread but where another one is said.

    The runner calls `prepare`, `make`, `start`, `check_settings`, `make_bench`, `checkpoint` and `loaded`, in
    this order, once. Where the data set is copied, `copy_data` stands for `make` and `make_bench`. For cold
    caches, `shut_down`, `empty_caches`, `start` and `check_settings` stand for `loaded`. At the end, whatever
    happened, `stop` and `release`.
    """

    @property
    def setup(self) -> ServerSetup | None:
        """How this program sets it up, for the description of the run; None where it does not."""

    @property
    def address(self) -> Connection:
        """How pgbench reaches it, in the database that `make_bench` makes; after `prepare`."""

    @property
    def sources(self) -> ServerSources:
        """What facts (after `prepare`) and probes (after `start`) may read of it, as it is now."""

    def prepare(self, watch: Callable[[], None]) -> PgbenchPlace:
        """Get storage for it, and a folder for pgbench; phase `prepare`.

        Args:
            watch: called often where it takes long; what it raises ends it, and everything is undone.

        Raises:
            TargetError: the target cannot be used.
            FootingError: it cannot be had; nothing is left.
        """

    def make(self) -> None:
        """Make what it starts from; phase `initdb`, in a thread of its own, whose children may be killed.

        Raises:
            ServerError: it cannot be made.
            ProgramError: a program cannot be started.
        """

    def copy_data(self, template: Template) -> CopiedData:
        """Make what it starts from a copy of a template, instead of `make`, `make_bench` and loading.

        Phase `load`, in a thread of its own, whose children may be killed.

        Raises:
            DamagedTemplateError: the template is damaged; nothing of it is left on the target.
            TargetError: it cannot be written.
            ServerError: it is no data directory of this server, or cannot be made one.
            ProgramError: a program cannot be started.
        """

    def start(self) -> None:
        """Let it take connections; phase `load`.

        Raises:
            SettingError: it refuses a setting.
            ServerError: it does not start, or cannot be reached.
            ProgramError: its program cannot be started.
        """

    def check_settings(self) -> None:
        """Ask it whether it is as `setup` says, and runs within the target's limits; nothing to ask without.

        Raises:
            SettingError: it has other settings; names them.
            TargetError: a limit of the target is not what was chosen; names both.
            ServerError: it cannot be asked.
        """

    def make_bench(self, *, superuser: bool) -> None:
        """Make pgbench's role and its empty database.

        Args:
            superuser: the role is one, because a person agreed to scripts that want it.

        Raises:
            ServerError: it refuses.
        """

    def checkpoint(self) -> None:
        """Write everything that is dirty to disk; phase `settle`, in a thread of its own.

        Raises:
            ServerError: it refuses, or was stopped meanwhile.
        """

    def maintain(self, statements: Sequence[str]) -> None:
        """Execute statements in pgbench's database, between phases, in a thread of its own.

        Raises:
            ServerError: it refuses, or was stopped meanwhile.
        """

    def make_backup_role(self) -> None:
        """Let `back_up` connect; once, before the first of it.

        Raises:
            ServerError: it refuses.
        """

    def back_up(self, max_rate_bytes: int | None, is_cancelled: Callable[[], bool]) -> MaintenanceEnd:
        """Make a base backup of it and throw that away, in a thread of its own.

        Args:
            max_rate_bytes: that are read a second at most; None for no limit.
            is_cancelled: asked often; ends it.

        Raises:
            ProgramError: pg_basebackup cannot be started.
            ServerError: it is not ours to back up.
        """

    def maintain_storage(self, name: str) -> MaintenanceEnd:
        """Have root do a maintenance of its storage by its name, in a thread of its own; waits for its end.

        Raises:
            TargetError: there is no storage of root's.
            FootingError: its filesystem has no such thing, another one is under way, or the helper is lost.
        """

    def end_maintenance(self) -> None:
        """End a `maintain_storage` of another thread, which then returns; may be called again.

        Raises:
            FootingError: the helper is lost.
        """

    def loaded(self, watch: Callable[[], None]) -> None:
        """Do what belongs between loading and measuring, such as emptying caches; `watch` as in `prepare`."""

    def check_loaded(self) -> tuple[str, ...]:
        """Read back what was chosen and shows only on files that were loaded; after `loaded`.

        Returns:
            A sentence for everything that nobody can read back.

        Raises:
            TargetError: something is not as it was chosen; names both.
            ServerError: it cannot be asked where they lie.
        """

    def shut_down(self) -> None:
        """Stop it so that `start` finds all its data again; phase `settle`, in a thread of its own.

        Raises:
            ServerError: it does not stop, or is not ours to stop.
        """

    def empty_caches(self, watch: Callable[[], None]) -> None:
        """Let the machine forget what it has cached of its files; after `shut_down`; `watch` as in `prepare`.

        Raises:
            ServerError: what is dirty cannot be written, or a file cannot be reached.
        """

    def cached(self) -> CachedBytes:
        """Return what of the loaded tables and indexes of pgbench is cached now, after `empty_caches`.

        Raises:
            ServerError: it cannot be asked where they lie.
            ProbeUnavailable: nobody can look there.
            OSError: they cannot be read.
        """

    def stored(self) -> StoredBytes:
        """Return what the loaded tables of pgbench take where they lie, for the recorder; after `loaded`.

        Raises:
            ServerError: it cannot be asked where they lie.
            ProbeUnavailable: nobody can look there.
            OSError: they cannot be read.
        """

    def sample_tables(self) -> SampledCompression:
        """Return how far the loaded tables of pgbench can be compressed; before `loaded`, after `checkpoint`.

        Raises:
            ServerError: it cannot be asked where they lie.
            ProbeUnavailable: nobody can look there, or nothing is there to compress with.
            OSError: they cannot be read.
        """

    def facts(self) -> ServerFacts:
        """Return version, build and settings as it says them, for the recorder; after `loaded`.

        Raises:
            ServerError: it cannot be asked.
        """

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return what its disks tell of themselves now, by device number; None where nobody can ask."""

    def open_log(self) -> IO[bytes]:
        """Open its log, unbuffered, at the beginning of this run; for the recorder, until `release`.

        Raises:
            FileNotFoundError: it has written none yet.
            ProbeUnavailable: where it is, is not known.
            TargetLostError: there is something else in its place.
            OSError: it cannot be read.
        """

    def log_text(self) -> str:
        """Return the end of its log, to look for a crash; empty where that is not known."""

    def no_room(self) -> str:
        """Return why its disk takes nothing more now, in its own words; when pgbench has failed.

        Empty where it takes more, where that is known otherwise, and where nobody can ask.
        """

    def check_target(self) -> None:
        """Make sure that its storage and the folder of pgbench can go on; once a second.

        Raises:
            TargetLostError: one vanished, was replaced, is read-only, nearly full, or over its limit.
        """

    def check_running(self, grace_s: float = 0.0) -> None:
        """Do nothing while it runs; once a second, and when pgbench has failed.

        Args:
            grace_s: how long an end that may be under way is waited for.

        Raises:
            ServerError: it has ended by itself; carries its words.
        """

    def stop(self) -> None:
        """End what this run has of it at once; ends a `checkpoint` of another thread; may be called again.

        Raises:
            ServerError: it does not end.
        """

    def release(self) -> tuple[str, ...]:
        """Remove and unmake everything of the run; return a sentence for everything that is left over."""


Watch = Callable[[], None]
"""Called often while something takes long; what it raises ends it, and everything is undone."""


def look_at_nothing() -> None:
    """Watch nothing."""


class ProcessRole(StrEnum):
    """Whose process it is: their CPU, memory and I/O are counted apart."""

    SERVER = "server"
    PGBENCH = "pgbench"


class Host(Protocol):
    """Gives a run its storage and takes it back; used by one run at a time, from one thread."""

    account: Account

    def prepare(self, target: Target, need_bytes: int, watch: Watch = look_at_nothing) -> RunFolders:
        """Make storage and the folders of one run.

        Args:
            target: of the configuration.
            need_bytes: what the run needs at most.
            watch: called often where it takes long.

        Raises:
            TargetError: the target cannot be used; what had been made is removed.
            FootingError: the host cannot make it.
        """

    def release(self, released: RunFolders) -> tuple[SweepEvent, ...]:
        """Remove and unmake everything of a run; what cannot be is told as an event."""

    def check_alive(self, checked: RunFolders, reserve_bytes: int) -> None:
        """Make sure that a run can go on; once a second.

        Raises:
            TargetLostError: the target vanished, was replaced, is read-only, nearly full, or over its limit.
        """

    def hold(self, part: ProcessRole) -> Hold | None:
        """Return what has to happen with a process before its program is executed; None for nothing."""

    def loaded(self, of: RunFolders, watch: Watch = look_at_nothing) -> None:
        """Do what belongs between loading and measuring; `watch` is called often where it takes long."""

    def empty_caches(self, of: RunFolders, watch: Watch = look_at_nothing) -> None:
        """Let the machine forget what it has cached of the data; no server works on it.

        Raises:
            ServerError: what is dirty cannot be written, or a file cannot be reached.
        """

    def maintain(self, name: str) -> MaintenanceEnd:
        """Have root do a maintenance of the storage by its name; called in a thread of its own.

        What root runs is heard by whoever looks after the storage meanwhile (`check_alive`).

        Raises:
            TargetError: the storage is none of root's.
            CannotError: the storage has no such thing.
            FootingError: another one is under way, or the helper is lost.
        """

    def end_maintenance(self) -> None:
        """Have what is under way end; whoever waits for it is answered then.

        Raises:
            FootingError: the helper is lost.
        """

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return what the disks tell of themselves now, by device number; None where nobody can ask."""
