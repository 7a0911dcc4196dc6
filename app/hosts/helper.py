"""The host of spare disks: the helper makes and unmakes storage, everything else is done as the account.

Root starts nothing of PostgreSQL: programs are started here as for every target and only moved into the
session's control group, before they are executed. Nothing is recorded in the resource journal: when this
process dies, the helper unmakes everything with the processes that work on it.

Whether the disks are still the chosen ones and work is read from /sys/dev/block/MAJOR:MINOR, which all users
may read (Linux Documentation/ABI/stable/sysfs-block, testing/sysfs-block: ``size`` in sectors of 512 bytes,
``diskseq``; SCSI and NVMe: ``device/state``; Documentation/admin-guide/md.rst: ``dev-NAME/state``).
"""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from app.dbus.helper_errors import UnavailableError, lost
from app.domain.campaign.configuration import DiskTarget, Target
from app.domain.disk import DiskIdentity
from app.domain.errors import FootingError, TargetError, TargetLostError
from app.domain.maintenance import MaintenanceEnd
from app.domain.step_progress import ROOT_STEP, StepProgress
from app.domain.storage_plan.plan import RELATION_ROLES, Role, StoragePlan
from app.domain.text import format_size, number_text, tr
from app.hosts.disk_session import DiskSession, ExecutedStep, MountedFolders
from app.hosts.folders import run_folders
from app.hosts.folders.descriptors import (
    DELETE_TIMEOUT_S,
    FileIdentity,
    identity_of,
    make_folder,
    remove,
    strictly,
)
from app.hosts.folders.leftover_servers import end_servers
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.folders.run_folders import RunFolders, TablespaceFolder, empty_page_cache
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent
from app.hosts.server_under_test import ProcessRole, Watch, watch_nothing
from app.process.starter import Account, CommandOutcome, Hold, Recorder, as_account
from app.storage.system.programs import naming_pattern

_SECTOR_BYTES: Final = 512
_GONE_STATES: Final = frozenset(
    {"offline", "transport-offline", "cancel", "deleted", "deleting", "deleting (no IO)", "dead"}
)
"""States of SCSI (scsi_sysfs.c) and of NVMe controllers (nvme/host/core.c) in which the disk is unreachable.
"""
_BAD_LINE: Final = re.compile(
    r"\berror\b|\berrs:|\bfail(ed|ure|ing)\b|capacity change|\boffline\b|\btimeout\b|\bmedium\b|"
    r"\bcorrupt|\bshut(ting)? ?down\b|\bunrecovered\b|\bremoved\b|\bremounting filesystem read-only\b",
    re.IGNORECASE,
)
"""Kernel messages about a failing disk; messages about mounting and unmounting contain none of these words.
"""
_NO_HARM: Final = re.compile(r"operation not supported|\(DISCARD\)|\(WRITE_ZEROES\)")
"""Disks that cannot discard blocks report that as an error, which is harmless."""


@dataclass(frozen=True, slots=True)
class MemberFault:
    """A disk that has changed.

    Attributes:
        disk: its identity.
        text: its state, one sentence with its node and serial number.
    """

    disk: DiskIdentity
    text: str


class Members:
    """Check the disks of one run."""

    def __init__(self, disks: Sequence[DiskIdentity], sys: Path = Path("/sys")) -> None:
        self._disks = disks
        self._sys = sys
        self._nodes = {disk.device_number: self._node(disk) for disk in disks}

    def troubles(self) -> Iterator[MemberFault]:
        """Yield each disk that is gone, changed or was failed by its array, at most once per call."""
        for disk in self._disks:
            found = self._trouble(disk)
            if found:
                yield MemberFault(disk, f"{self._name(disk)}: {found}")

    def reported_by_kernel(self, lines: Sequence[str]) -> Iterator[MemberFault]:
        """Yield each disk that fails by a kernel message, with the first such message."""
        for disk in self._disks:
            node = self._nodes[disk.device_number]
            line = next((line for line in lines if _names(node, line) and _is_bad(line)), "")
            if line:
                words = tr("{disk}: the kernel reports “{line}”.")
                yield MemberFault(disk, words.format(disk=self._name(disk), line=line.rstrip(".")))

    def _folder(self, disk: DiskIdentity) -> Path:
        return self._sys / "dev" / "block" / disk.device_number

    def _node(self, disk: DiskIdentity) -> str:
        try:
            return self._folder(disk).resolve(strict=True).name
        except OSError:
            return disk.device_number

    def _name(self, disk: DiskIdentity) -> str:
        node = self._nodes[disk.device_number]
        name = node if ":" in node else f"/dev/{node}"
        words = tr("{name} (serial number {serial})")
        return words.format(name=name, serial=disk.serial) if disk.serial else name

    def _trouble(self, disk: DiskIdentity) -> str:
        folder = self._folder(disk)
        size = _read(folder / "size")
        if not size.isdigit():
            return tr("the disk is gone.")
        sequence = _read(folder / "diskseq")
        if disk.diskseq is not None and sequence.isdigit() and int(sequence) != disk.diskseq:
            return tr("the disk was disconnected, or another one is in its place.")
        size_bytes = int(size) * _SECTOR_BYTES
        if size_bytes != disk.size_bytes:
            words = tr("its size changed from {before} to {after} ({bytes} bytes).")
            before, after = format_size(disk.size_bytes), format_size(size_bytes)
            return words.format(before=before, after=after, bytes=number_text(size_bytes, ","))
        state = _read(folder / "device" / "state")
        if state in _GONE_STATES:
            return tr("the kernel has taken the disk offline (state “{state}”).").format(state=state)
        for path in folder.glob("*/holders/md*/md/dev-*/state"):
            partition = path.parents[4].name
            if path.parent.name == f"dev-{partition}" and "faulty" in _read(path).split(","):
                return tr("the array {array} has marked the disk as faulty.").format(
                    array=path.parents[2].name
                )
        return ""


def _is_bad(line: str) -> bool:
    return _BAD_LINE.search(line) is not None and _NO_HARM.search(line) is None


def _names(node: str, line: str) -> bool:
    return naming_pattern(node).search(line) is not None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


_DATA: Final = "data"
_WAL: Final = "pg_wal"
_TABLESPACE: Final = "tablespace"


@dataclass(slots=True)
class HelperHost:
    """Prepare and release one target on spare disks.

    Attributes:
        account: of server and pgbench.
        session: of the campaign; its disks are locked.
        plan: of the storage.
        record: called with every command, including root's.
        progress: called with the progress of making and unmaking.
        event: called with the kind and sentence of an event: "note", `ROOT_STEP`, "helper-lost", "left-over"
            (of storage that could not be made), "disk-failed".
    """

    account: Account
    session: DiskSession
    plan: StoragePlan
    record: Recorder
    progress: Callable[[StepProgress], None]
    event: Callable[[str, str], None]
    _is_silent: threading.Event = field(default_factory=threading.Event, init=False)
    _drops_caches: bool = field(default=False, init=False)
    _members: Members = field(default_factory=lambda: Members(()), init=False)

    def prepare(self, target: Target, need_bytes: int, watch: Watch = watch_nothing) -> RunFolders:
        """Let the helper make the storage, and make the data directory's folder in it.

        Raises:
            TargetError: the storage is too small, or its memory limit cannot be set.
            FootingError: the helper cannot make it. A partial result is unmade.
        """
        assert isinstance(target, DiskTarget)  # noqa: S101 - the campaign chooses the host by the target
        self._members = Members([disk for _, disk in self.plan.members()])
        try:
            folders = self.session.make(self.plan, self, watch)
            self._limit_memory(target.memory_limit_bytes)
            return self._make_site(folders, need_bytes)
        except BaseException:
            for event in self._unmake(""):
                self.event("left-over", event.text)
            raise

    def release(self, released: RunFolders) -> tuple[SweepEvent, ...]:
        """Delete the data, so that dirty pages need not be written, then let the helper unmake all."""
        with suppress(FootingError, OSError):  # the helper ends processes that are still there
            self._end_servers(released)
        for path in released.contents:
            with suppress(FootingError, OSError):  # it goes with its filesystem
                self._delete(path)
        return self._unmake(released.root)

    def _unmake(self, place: str) -> tuple[SweepEvent, ...]:
        """Let the helper, or a lost one's successor, unmake all; a disk that is not released is an event."""
        remains = self.session.unmake(self)
        if self.session.is_lost:
            self.event("helper-lost", tr("The helper stopped. pgFooting restarts it to release the disks."))
            remains = self.session.recover()
            if not remains.sentences:
                self.event("note", tr("The restarted helper has removed the remains."))
        names = [kept.name for kept in remains.left] or [place]
        return tuple(
            SweepEvent(CleanupAction.KEPT, names[min(number, len(names) - 1)], text)
            for number, text in enumerate(remains.sentences)
        )

    def check_alive(self, checked: RunFolders, reserve_bytes: int) -> None:
        """Make sure that helper, storage, its disks and free space are there.

        Raises:
            TargetLostError: one of them is not.
        """
        try:
            self.session.check(self)
        except FootingError as error:
            raise TargetLostError(error.message, hint=error.hint) from error
        self._check_members()
        run_folders.check_alive(checked, reserve_bytes)

    def _check_members(self) -> None:
        """Make sure that every disk is the chosen one and does not fail.

        Raises:
            TargetLostError: one is not, or fails; reported and remembered, so that no other run uses it.
        """
        found = list(self._members.troubles())
        found += self._members.reported_by_kernel(self._kernel_lines())
        for trouble in found:
            if trouble.disk.device_number not in self.session.failed:
                self.session.failed[trouble.disk.device_number] = trouble.text
                self.event("disk-failed", trouble.text)
        if found:
            hint = tr("No further run of this campaign uses the disk; runs on other disks continue.")
            raise TargetLostError("\n".join(dict.fromkeys(each.text for each in found)), hint=hint)

    def _kernel_lines(self) -> tuple[str, ...]:
        """Return the kernel's messages about the disks since the last call; empty if unknown."""
        try:
            return self.session.session.kernel_log()
        except FootingError:
            return ()

    def hold(self, part: ProcessRole) -> Hold | None:
        """Return a hook that moves a process into the control group of its part."""
        return partial(self._adopt, part)

    def loaded(self, of: RunFolders, watch: Watch = watch_nothing) -> None:  # noqa: ARG002 - as the protocol
        """Drop the machine's page cache if memory is limited: loaded data would be found in it."""
        if self._drops_caches:
            self._drop_caches(watch)

    def empty_caches(self, of: RunFolders, watch: Watch = watch_nothing) -> None:
        """Drop all clean caches of the machine, including a filesystem's own (ARC of ZFS).

        The files themselves are dropped too, for machines where root may not write drop_caches.

        Raises:
            ServerError: dirty pages cannot be written, or a file cannot be reached.
        """
        empty_page_cache(of, self.record, watch)
        self._drop_caches(watch)

    def _drop_caches(self, watch: Watch) -> None:
        try:
            self.session.session.drop_caches(watch)
        except UnavailableError as error:
            sentence = tr("The machine's caches were not emptied after loading. {reason}")
            self.event("note", sentence.format(reason=error.message))

    def maintain(self, name: str) -> MaintenanceEnd:
        """Let the helper do it, and wait for its answer while it can be asked to end it."""

        def look() -> None:
            if self._is_silent.is_set():
                raise lost()

        return self.session.session.maintain(name, look)

    def end_maintenance(self) -> None:
        """End the running maintenance; its waiting caller is answered then."""
        try:
            self.session.session.end_maintenance()
        except FootingError:
            self._is_silent.set()
            raise

    def health(self) -> Mapping[str, Mapping[str, str]] | None:
        """Return the disks' health values; None if the helper does not answer."""
        try:
            return self.session.session.health()
        except FootingError:
            return None

    def executed(self, step: ExecutedStep) -> None:
        """Record a step of root's: as a command if it is one or failed, else as an event."""
        if step.exit_code is None or (step.exit_code == 0 and step.text.startswith("# ")):
            with suppress(FootingError):  # a full run file must not keep the disks; the run reports it
                self.event(ROOT_STEP, step.text.removeprefix("# "))
                if step.exit_code is None and step.output:
                    self.event("note", step.output)
            return
        try:
            words = tuple(shlex.split(step.text))
        except ValueError:
            words = (step.text,)
        words = words or ("",)
        self.record(
            CommandOutcome(words, "root", step.started_s, step.seconds, step.exit_code, step.output, "")
        )

    def working(self, where: StepProgress) -> None:
        """Report the progress."""
        self.progress(where)

    def _limit_memory(self, limit_bytes: int | None) -> None:
        self._drops_caches = limit_bytes is not None
        if limit_bytes is None:
            return
        try:
            self.session.session.limit(limit_bytes)
        except UnavailableError as error:
            message = tr("The memory limit of {size} cannot be set here. {reason}")
            hint = tr("Remove memory_limit, or choose a data set larger than memory.")
            size = format_size(limit_bytes)
            raise TargetError(message.format(size=size, reason=error.message), hint=hint) from error

    def _make_site(self, folders: MountedFolders, need_bytes: int) -> RunFolders:
        identity = _with_room(folders.storage, need_bytes)
        data_directory = self._make_folder(f"{folders.storage}/{_DATA}")
        spaces = tuple(
            TablespaceFolder(
                role,
                self._make_folder(f"{folders.further[role]}/{_TABLESPACE}"),
                _with_room(place, need_bytes),
            )
            for role, place in folders.further.items()
            if role in RELATION_ROLES
        )
        wal = folders.further.get(Role.WAL, "")
        return RunFolders(
            root=folders.storage,
            data_directory=data_directory,
            socket_directory=folders.private,
            private=PrivateFolder(folders.private, _look_at(folders.private)[0], self.account),
            limit_bytes=None,
            identity=identity,
            wal_directory=f"{wal}/{_WAL}" if wal else "",
            wal_identity=_look_at(wal)[0] if wal else None,
            tablespaces=spaces,
        )

    def _make_folder(self, path: str) -> str:
        try:
            as_account(make_folder, self.account, self.record)(path)
        except OSError as err:
            message = tr("{account} cannot create the folder {path}: {reason}.")
            words = message.format(account=self.account.name, path=path, reason=err.strerror)
            raise TargetError(words) from err
        return path

    def _adopt(self, part: ProcessRole, pid: int) -> None:
        try:
            self.session.session.adopt(part.value, pid)
        except UnavailableError as error:
            note = tr("PostgreSQL and pgbench have no control groups of their own. {reason}")
            self.event("note", note.format(reason=error.message))

    def _end_servers(self, released: RunFolders) -> None:
        with strictly(released.data_directory) as folder:
            identity = identity_of(folder)
        as_account(end_servers, self.account, self.record)(released.data_directory, identity)

    def _delete(self, path: str) -> None:
        with strictly(path) as folder:
            identity = identity_of(folder)
        deleted = as_account(remove, self.account, self.record, DELETE_TIMEOUT_S)
        deleted(path, identity, same_boot=True, volatile=False)


def _with_room(path: str, need_bytes: int) -> FileIdentity:
    """Return the identity of a folder.

    Raises:
        TargetError: it has too little room.
    """
    identity, free_bytes = _look_at(path)
    if free_bytes < need_bytes:
        message = tr("The storage has {free} free; the run needs {need}.")
        hint = tr("Choose larger partitions (partition_size), more disks, or less data.")
        words = message.format(free=format_size(free_bytes), need=format_size(need_bytes))
        raise TargetError(words, hint=hint)
    return identity


def _look_at(path: str) -> tuple[FileIdentity, int]:
    """Return the identity of a folder and the bytes that are free there for an ordinary user."""
    with strictly(path) as folder:
        volume = os.fstatvfs(folder)
        return identity_of(folder), volume.f_bavail * volume.f_frsize
