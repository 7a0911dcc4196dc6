"""Make a template: a data directory with the data set in it, shut down cleanly, and its description.

It is made under an ignored name, recorded as a campaign's resource, and renamed when everything is on disk.
Everything happens in the calling thread, and the programs that it starts end with that thread.

`copy_template` copies a template to the place of a measurement.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError, PgbenchError, ServerError, TargetError
from app.domain.text import tr
from app.hosts.folders.descriptors import FileIdentity, own_name, write_file
from app.hosts.folders.targets import SOCKET_PLACES
from app.hosts.recovery.cleanup import clear
from app.hosts.recovery.resource_journal import ResourceJournal, ResourceKind
from app.hosts.templates.store import (
    DATA,
    MANIFEST,
    Template,
    TemplateKey,
    TemplateStore,
    format_manifest,
    template_name,
)
from app.hosts.templates.tree import (
    DamagedTemplateError,
    TreeDigest,
    digest_stopped,
    empty_copy,
    publish,
    timed_copy,
)
from app.postgres.configuration_text import bench_statements, initdb_arguments
from app.postgres.installations.installation import Installation, fingerprint
from app.postgres.pgbench.argv import Connection, PgbenchProgram, loading_argvs
from app.postgres.pgbench.scale import load_script
from app.postgres.server import Server
from app.postgres.settings import Origin, Setting
from app.process.starter import Account, Recorder, as_account, run_command

COPY_TIMEOUT_S: Final = 24 * 3600.0
_LOAD_TIMEOUT_S: Final = 24 * 3600.0
_SCRIPT: Final = "load.sql"
_SETTINGS: Final = {
    # Nothing of it need survive a crash: it is forced to disk as a whole, and counts only then.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # Rows that are copied into a new table need no WAL; the template should have little of it.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "wal_recycle": "off",
    # The same data set each time, however long it takes.
    "autovacuum": "off",
    "maintenance_work_mem": "128MB",
}


@dataclass(frozen=True, slots=True)
class DataSetOrder:
    """A requested data set.

    Attributes:
        installation: source of the programs.
        checksums: of data pages.
        scale: pgbench scale factor.
        compressibility: of the rows; None for pgbench's own.
        superuser: whether pgbench's role is a superuser.
        data_bytes: expected size.
    """

    installation: Installation
    checksums: bool
    scale: int
    compressibility: float | None
    superuser: bool
    data_bytes: int

    def key(self) -> TemplateKey:
        """Return the key that distinguishes it from every other data set.

        Raises:
            InstallationError: a program cannot be read.
        """
        return TemplateKey(
            server=fingerprint(self.installation),
            initdb=fingerprint(self.installation, "initdb"),
            pgbench=fingerprint(self.installation, "pgbench"),
            version=self.installation.version,
            page_bytes=self.installation.page_bytes,
            checksums=self.checksums,
            scale=self.scale,
            compressibility=self.compressibility,
            superuser=self.superuser,
            recipe=self._recipe(),
        )

    def script(self) -> str | None:
        """Return the script that loads rows with a stated compressibility; None for pgbench's own."""
        return None if self.compressibility is None else load_script(self.compressibility)

    def argvs(self, connection: Connection, script_path: str | None) -> tuple[tuple[str, ...], ...]:
        """Return the arguments of each pgbench that loads it, in order."""
        program = PgbenchProgram(self.installation.program("pgbench"), self.installation.major)
        return loading_argvs(program, connection, self.scale, script_path)

    def _recipe(self) -> str:
        script = self.script()
        argvs = self.argvs(Connection("/"), None if script is None else "/")
        steps = (
            initdb_arguments("/", self.installation.major, checksums=self.checksums),
            [statement.text for statement in bench_statements(superuser=self.superuser)],
            [argv[1:] for argv in argvs],
            script,
            _SETTINGS,
        )
        return hashlib.sha256(json.dumps(steps, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class TemplateMaker:
    """Make templates in a store, which the caller has locked.

    Attributes:
        store: of the templates.
        account: of the server; owns the store.
        resources: record for the case that this process dies.
        record: called with every command.
    """

    store: TemplateStore
    account: Account
    resources: ResourceJournal
    record: Recorder

    def make(self, order: DataSetOrder, key: TemplateKey) -> Template:
        """Make a template; a failure leaves nothing behind.

        Args:
            order: the data set.
            key: of that order.

        Raises:
            FootingError: server or pgbench failed, for example because the disk is full.
            OSError: a folder cannot be made.
        """
        started_s = time.monotonic()
        before = {entry.path for entry in self.resources.state.entries}
        try:
            folder = f"{self.store.folder}/{own_name()}"
            identity = self.resources.make_folder(folder, ResourceKind.FOLDER, self.record)
            self.resources.make_folder(f"{folder}/{DATA}", ResourceKind.DATA_DIRECTORY, self.record)
            sockets, sockets_identity = self.resources.make_first(SOCKET_PLACES, self.record)
            server = self._server(order.installation, f"{folder}/{DATA}", sockets)
            self._load(server, order, sockets, sockets_identity)
            found = self._finish(server, key, folder, identity, started_s)
            for path in (f"{folder}/{DATA}", folder):
                self.resources.forget(path)
            return found
        finally:
            made = [entry.path for entry in self.resources.state.entries if entry.path not in before]
            with suppress(FootingError):  # a sweep does it
                clear(self.resources, made, self.record)

    def _server(self, installation: Installation, data_directory: str, sockets: str) -> Server:
        return Server(
            installation=installation,
            account=self.account,
            data_directory=data_directory,
            socket_directory=sockets,
            log_path=f"{sockets}/server.log",
            settings=[Setting(name, value, "", "", Origin.PGFOOTING) for name, value in _SETTINGS.items()],
            record=self.record,
        )

    def _load(self, server: Server, order: DataSetOrder, sockets: str, identity: FileIdentity) -> None:
        server.initdb(checksums=order.checksums)
        server.write_configuration()
        text, script = order.script(), None
        if text is not None:
            script = f"{sockets}/{_SCRIPT}"
            as_account(write_file, self.account, self.record)(sockets, identity, _SCRIPT, text.encode())
        server.start()
        try:
            server.make_bench(superuser=order.superuser)
            for argv in order.argvs(Connection(sockets), script):
                outcome = run_command(
                    argv, account=self.account, timeout_s=_LOAD_TIMEOUT_S, record=self.record
                )
                if not outcome.succeeded:
                    message = tr("pgbench could not load the data: {reason}")
                    raise PgbenchError(message.format(reason=outcome.describe()))
            server.shut_down()
        finally:
            server.stop()
        server.forget_configuration()

    def _finish(
        self, server: Server, key: TemplateKey, folder: str, identity: FileIdentity, started_s: float
    ) -> Template:
        try:
            content = as_account(digest_stopped, self.account, self.record, COPY_TIMEOUT_S)(
                f"{folder}/{DATA}"
            )
        except DamagedTemplateError as err:
            raise ServerError(tr("{path} cannot be read: {reason}.").format(path=folder, reason=err)) from err
        name = template_name(key)
        template = Template(
            folder=f"{self.store.folder}/{name}",
            key=key,
            content=content,
            made_epoch_s=time.time(),
            seconds=time.monotonic() - started_s,
        )
        described = format_manifest(template)
        as_account(write_file, self.account, self.record)(folder, identity, MANIFEST, described)
        server.sync()
        as_account(publish, self.account, self.record, COPY_TIMEOUT_S)(
            self.store.folder, Path(folder).name, name
        )
        return template


@dataclass(frozen=True, slots=True)
class CopiedData:
    """A copy of a template.

    Attributes:
        template: source.
        seconds: for reading and writing; without forcing it to disk.
    """

    template: Template
    seconds: float


def copy_template(
    template: Template, data_directory: str, wal_directory: str, account: Account, record: Recorder
) -> CopiedData:
    """Copy a template into an empty data directory; after a failure it is empty again.

    Args:
        template: to copy.
        data_directory: an empty folder of the account.
        wal_directory: a new folder for the WAL; empty for one in the data directory.
        account: owner of everything.
        record: called with the commands.

    Raises:
        DamagedTemplateError: the template is damaged.
        TargetError: the copy cannot be written, for example because the disk is full.
        ProgramError: the program that copies failed.
    """
    try:
        found, seconds = as_account(timed_copy, account, record, COPY_TIMEOUT_S)(
            template.data_directory, data_directory, wal_directory
        )
        if found != template.content:
            raise _changed(template.content, found)
    except (OSError, DamagedTemplateError) as err:
        with suppress(OSError, FootingError):  # it goes with its target, and nothing is copied there before
            as_account(empty_copy, account, record, COPY_TIMEOUT_S)(data_directory, wal_directory)
        if isinstance(err, OSError):
            message = tr("The data set could not be copied to {path}: {reason}.")
            hint = tr("Free some space there, or choose less data.")
            raise TargetError(message.format(path=data_directory, reason=err.strerror), hint=hint) from err
        raise
    return CopiedData(template, seconds)


def _changed(made: TreeDigest, found: TreeDigest) -> DamagedTemplateError:
    sentence = tr("its content has changed ({files} files, {bytes} bytes; {all} and {size} when created)")
    return DamagedTemplateError(
        sentence.format(files=found.files, bytes=found.size_bytes, all=made.files, size=made.size_bytes)
    )
