"""The local host: this user's own folders and processes, without root's help.

Makes the folders of one run, each with a random name, mode 0700, owned by the server's account and recorded
in the resource journal, and removes them.
"""

from __future__ import annotations

from contextlib import suppress

from app.domain.campaign.configuration import DiskTarget, ServerTarget, Target
from app.domain.errors import FootingError, TargetError
from app.domain.maintenance import MaintenanceEnd
from app.domain.text import tr
from app.hosts.folders import run_folders
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.folders.run_folders import RunFolders, empty_page_cache
from app.hosts.folders.targets import SOCKET_PLACES, CheckedTarget, check_target, is_in_memory, private_places
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent, clear
from app.hosts.recovery.resource_journal import ResourceJournal, ResourceKind
from app.hosts.server_under_test import ProcessRole, Watch, watch_nothing
from app.process.starter import Account, Hold, Recorder

__all__ = ["LocalHost", "RunFolders"]


class LocalHost:
    """Prepare and release targets that need no root.

    Attributes:
        account: of server and pgbench.
    """

    def __init__(self, account: Account, resources: ResourceJournal, record: Recorder) -> None:
        self.account = account
        self._resources = resources
        self._record = record

    def prepare(self, target: Target, need_bytes: int, watch: Watch = watch_nothing) -> RunFolders:  # noqa: ARG002
        """Check a target and make the folders of one run.

        Args:
            target: folder or memory.
            need_bytes: largest need of the run.
            watch: never called: it takes only a moment.

        Raises:
            TargetError: the target cannot be used; a partial result is removed.
            FootingError: the folders cannot be recorded, so nothing was made.
        """
        if isinstance(target, DiskTarget):
            raise TargetError(tr("Spare disks need the helper; no disk was touched."))
        assert not isinstance(target, ServerTarget)  # noqa: S101 - it has no folder: `make_private`
        checked = check_target(target, self.account, need_bytes)
        before = {entry.path for entry in self._resources.state.entries}
        try:
            return self._make_site(checked)
        except OSError as err:
            self._undo(before)
            raise TargetError(
                tr("{account} cannot create the folder {path}: {reason}.").format(
                    account=self.account.name, path=err.filename or checked.path, reason=err.strerror
                )
            ) from err
        except BaseException:
            self._undo(before)
            raise

    def release(self, released: RunFolders) -> tuple[SweepEvent, ...]:
        """Remove a run's folders, the data directory first: deleted data need not be written.

        Ends a server that still works in it. Anything that cannot be removed stays in the record for the next
        sweep and is reported as an event.
        """
        places = (
            released.data_directory,
            released.root,
            released.private.path,
            released.socket_directory,
        )
        return tuple(event for path in places for event in clear(self._resources, (path,), self._record))

    def check_alive(self, checked: RunFolders, reserve_bytes: int) -> None:
        """Make sure that a run can continue; see `app.hosts.folders.run_folders.check_alive`.

        Raises:
            TargetLostError: the target vanished, was replaced, is read-only, nearly full, or over its limit.
        """
        run_folders.check_alive(checked, reserve_bytes)

    def hold(self, part: ProcessRole) -> Hold | None:  # noqa: ARG002 - as the protocol has it
        """Return no hook: processes of this user stay in their control group."""
        return None

    def loaded(self, of: RunFolders, watch: Watch = watch_nothing) -> None:
        """Do nothing between loading and measuring: dropping the machine's cache needs root."""

    def empty_caches(self, of: RunFolders, watch: Watch = watch_nothing) -> None:
        """Write the filesystem's dirty pages and drop the files from the page cache, which needs no root.

        Raises:
            ServerError: dirty pages cannot be written, or a file cannot be reached.
        """
        empty_page_cache(of, self._record, watch)

    def maintain(self, name: str) -> MaintenanceEnd:
        """Refuse: root touches spare disks only.

        Raises:
            TargetError: always.
        """
        raise TargetError(tr("“{name}” needs root and spare disks.").format(name=name))

    def end_maintenance(self) -> None:
        """Do nothing: root runs nothing here."""

    def health(self) -> None:
        """Return nothing: only root can query the disks."""
        return

    def _make_site(self, checked: CheckedTarget) -> RunFolders:
        root, identity = self._resources.make_first((checked.path,), self._record)
        data_directory = f"{root}/data"
        self._resources.make_folder(data_directory, ResourceKind.DATA_DIRECTORY, self._record)
        socket_directory, _ = self._resources.make_first(SOCKET_PLACES, self._record)
        private, notes = self._make_private()
        return RunFolders(
            root=root,
            data_directory=data_directory,
            socket_directory=socket_directory,
            private=private,
            limit_bytes=checked.limit_bytes,
            identity=identity,
            notes=notes,
        )

    def make_private(self) -> tuple[PrivateFolder, tuple[str, ...]]:
        """Make only pgbench's folder: for a run with a server on another machine.

        Returns:
            The folder, and sentences about imperfections.

        Raises:
            TargetError: it cannot be made.
            FootingError: it cannot be recorded, so it was not made.
        """
        try:
            return self._make_private()
        except OSError as err:
            message = tr("{account} cannot create the folder {path}: {reason}.")
            raise TargetError(
                message.format(account=self.account.name, path=err.filename, reason=err.strerror)
            ) from err

    def release_private(self, folder: PrivateFolder) -> tuple[str, ...]:
        """Remove the folder of `make_private`; return a sentence for each remainder."""
        events = clear(self._resources, (folder.path,), self._record)
        return tuple(event.text for event in events if event.action is CleanupAction.KEPT)

    def _make_private(self) -> tuple[PrivateFolder, tuple[str, ...]]:
        path, identity = self._resources.make_first(private_places(), self._record)
        notes: tuple[str, ...] = ()
        if not is_in_memory(path):
            note = tr("No tmpfs was found for logs, so they cost the device of {path} some writes.")
            notes = (note.format(path=path),)
        return PrivateFolder(path, identity, self.account), notes

    def _undo(self, before: set[str]) -> None:
        """Remove everything made since; if that fails, a sweep does it."""
        made = [entry.path for entry in self._resources.state.entries if entry.path not in before]
        with suppress(FootingError):
            clear(self._resources, made, self._record)
