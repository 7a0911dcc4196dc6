"""Check whether a target can hold the data directory: every refusal names its cause and a remedy."""

from __future__ import annotations

import errno
import os
import pwd
import stat
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from app.domain.campaign.configuration import DiskTarget, FolderTarget, MemoryTarget, ServerTarget, Target
from app.domain.errors import RefusedError, TargetError
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import MIB, format_size, tr
from app.hosts.folders import folder_access
from app.hosts.folders.descriptors import OWN_NAME
from app.hosts.folders.folder_access import FolderFacts, Obstacle
from app.hosts.folders.own_folders import create_default_folder, default_folder, lies_in_memory, of_an_account
from app.process.memory import Memory, read_memory
from app.process.starter import Account, as_account, unrecorded
from app.storage.inspect.snapshot import Policy
from app.storage.layout.disk_target import storage_plan, usable_bytes
from app.storage.spare.disks import list_disks

Examine = Callable[[str, Account], FolderFacts | Obstacle]
"""Examines a folder as an account; by default `examine_as`."""

__all__ = ["MEMORY_FOLDER", "CheckedTarget", "check_target", "default_folder", "examine_as", "lies_in_memory"]

MEMORY_FOLDER: Final = "/dev/shm"  # noqa: S108 - what is made there has a random name and mode 0700
UNKNOWN_FREE_BYTES: Final = 2**62
"""Free bytes of a server that was not started here, if no limit is given."""
_EVERY_DISK: Final = Policy(accept_loop_devices=True)

_FEWEST_INODES: Final = 5000
"""A fresh cluster has about 1000 files (PostgreSQL 15); tables add one per GiB, WAL one per 16 MiB."""


@dataclass(frozen=True, slots=True)
class CheckedTarget:
    """A target that can hold the data directory.

    Attributes:
        path: parent of our own folder; absolute, without symbolic links. Empty for disks, and for a server
            that was not started here.
        given: the user's text; empty for the default folder and memory.
        free_bytes: free there for the account.
        limit_bytes: most bytes that may be used; None for no limit but the free space.
        plan: for spare disks; None for other targets. There is no path then yet, and the free space is the
            capacity of the disks before assembler and filesystem take their share.
    """

    path: str
    given: str
    free_bytes: int
    limit_bytes: int | None = None
    plan: StoragePlan | None = None

    @property
    def room_bytes(self) -> int:
        """Space for runs: the free space, or less if there is a limit."""
        return self.free_bytes if self.limit_bytes is None else min(self.free_bytes, self.limit_bytes)


def examine_as(path: str, account: Account) -> FolderFacts | Obstacle:
    """Return the facts that `account` finds at a folder; see `app.hosts.folders.folder_access.examine`."""
    return as_account(folder_access.examine, account, unrecorded)(path)


def check_target(
    target: Target, account: Account, need_bytes: int, examine: Examine = examine_as
) -> CheckedTarget:
    """Check everything known before the data directory is created; creates only the default folder.

    Args:
        target: folder, memory or disks.
        account: of server and pgbench; access and free space are checked as this account.
        need_bytes: largest need of the runs; for disks: the data set, which determines the partition sizes.
        examine: examines a folder as the account; callers that check many sizes of one folder cache it.

    Raises:
        TargetError: names the path component or the size at fault.
        PlanError: disks are absent, indistinguishable, or too small; names the key.
    """
    match target:
        case FolderTarget():
            return _check_folder(target, account, need_bytes, examine)
        case MemoryTarget():
            return _check_memory(target, account, need_bytes, read_memory())
        case DiskTarget():
            return _check_disks(target, need_bytes)
        case ServerTarget():
            return CheckedTarget("", target.connection, target.room_bytes or UNKNOWN_FREE_BYTES)


def _check_disks(target: DiskTarget, data_set_bytes: int) -> CheckedTarget:
    """Check only the disks' identity: root decides whether they, and loop devices, may be used."""
    plan = storage_plan(target, list_disks(_EVERY_DISK).disks, data_set_bytes)
    return CheckedTarget("", ", ".join(target.names), min(map(usable_bytes, plan.of_relations)), plan=plan)


# --- folder


def _check_folder(target: FolderTarget, account: Account, need_bytes: int, examine: Examine) -> CheckedTarget:
    given = target.path or ""
    path = os.path.realpath(_spelled_out(given) if given else _default(account))
    facts = _reached(path, account, examine)
    _check_place(path, facts)
    _check_writable(path, facts, account)
    _check_space(path, facts, need_bytes)
    return CheckedTarget(path, given, facts.free_bytes)


def _default(account: Account) -> str:
    try:
        return create_default_folder(account)
    except OSError as err:
        raise TargetError(
            tr("{path} cannot be created: {reason}.").format(
                path=default_folder(account), reason=err.strerror
            ),
            hint=of_an_account(
                tr("Set target.path in the campaign, or XDG_CACHE_HOME."),
                root=tr("Choose another folder."),
            ),
        ) from err
    except RefusedError as err:
        raise TargetError(err.message, hint=err.hint) from err


def _spelled_out(given: str) -> str:
    """Return the absolute path for the user's text."""
    if any(unicodedata.category(letter) == "Cc" for letter in given):
        raise TargetError(tr("{path} contains control characters.").format(path=repr(given)))
    path = os.path.expanduser(given)  # noqa: PTH111 - Path would raise where there is no such user
    if path.startswith("~"):
        raise TargetError(tr("There is no user {user}.").format(user=given.split("/", 1)[0][1:]))
    if not path.startswith("/"):
        raise TargetError(
            tr("{path} is not an absolute path.").format(path=given),
            hint=tr("Use {path}.").format(path=str(Path.cwd() / given)),
        )
    return path


def _reached(path: str, account: Account, examine: Examine = examine_as) -> FolderFacts:
    found = examine(path, account)
    if isinstance(found, FolderFacts):
        return found
    raise _explain(path, found, account)


def _explain(path: str, obstacle: Obstacle, account: Account) -> TargetError:
    component = obstacle.component
    if obstacle.number == errno.ENOENT:
        return TargetError(
            tr("{path} does not exist: there is no {component}. Nothing was created.").format(
                path=path, component=component
            ),
            hint=tr("Create it, or omit the path to use the default folder."),
        )
    if obstacle.number == errno.ENOTDIR:
        return TargetError(
            tr("{path} is not a folder: {component} is {kind}.").format(
                path=path, component=component, kind=_kind(obstacle.mode)
            )
        )
    if obstacle.number == errno.EACCES:
        return TargetError(
            tr("{account} cannot reach {path}: {component} denies access ({permissions}).").format(
                account=account.name,
                path=path,
                component=component,
                permissions=_permissions(obstacle.mode, obstacle.uid),
            ),
            hint=tr("Choose a folder that {account} can reach, or omit the path to use {default}.").format(
                account=account.name, default=default_folder(account)
            ),
        )
    return TargetError(
        tr("{path} cannot be used, because of {component}: {reason}.").format(
            path=path, component=component, reason=os.strerror(obstacle.number)
        )
    )


def _check_place(path: str, facts: FolderFacts) -> None:
    if facts.cluster is not None:
        raise TargetError(
            tr("{cluster} is a PostgreSQL data directory; pgFooting puts nothing there.").format(
                cluster=facts.cluster
            ),
            hint=tr("Choose a folder outside it, on the same filesystem."),
        )
    if any(OWN_NAME.fullmatch(part) for part in PurePosixPath(path).parts):
        raise TargetError(
            tr(
                "{path} is in a folder that pgFooting created for one campaign and deletes afterwards."
            ).format(path=path),
            hint=tr("Choose another folder."),
        )


def _check_writable(path: str, facts: FolderFacts, account: Account) -> None:
    if facts.read_only:
        raise TargetError(
            tr("{path} is on a filesystem mounted read-only.").format(path=path),
            hint=tr("Choose another folder."),
        )
    if not facts.writable:
        raise TargetError(
            tr("{account} is not allowed to create files in {path} ({permissions}).").format(
                account=account.name, path=path, permissions=_permissions(facts.mode, facts.uid)
            ),
            hint=tr("Create a folder owned by {account} and use that.").format(account=account.name),
        )


def _check_space(path: str, facts: FolderFacts, need_bytes: int) -> None:
    if facts.free_bytes < need_bytes:
        raise TargetError(
            tr("{path} is too full: {free} free, {need} needed.").format(
                path=path, free=format_size(facts.free_bytes), need=format_size(need_bytes)
            ),
            hint=tr("Free some space, or choose another folder or less data."),
        )
    if facts.free_inodes is not None and facts.free_inodes < _FEWEST_INODES:
        raise TargetError(
            tr("{path} is too full: {free} free, {need} needed.").format(
                path=path, free=f"{facts.free_inodes} inodes", need=_FEWEST_INODES
            )
        )


def _permissions(mode: int, uid: int) -> str:
    try:
        owner = pwd.getpwuid(uid).pw_name
    except KeyError:
        owner = str(uid)
    return tr("{mode}, owner {owner}").format(mode=stat.filemode(mode), owner=owner)


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return tr("a file")
    if stat.S_ISLNK(mode):
        return tr("a dangling symbolic link")
    return tr("neither file nor folder")


# --- memory


def _check_memory(target: MemoryTarget, account: Account, need_bytes: int, memory: Memory) -> CheckedTarget:
    limit_bytes = target.size_bytes
    _check_size(limit_bytes, need_bytes, memory)
    facts = _reached(os.path.realpath(MEMORY_FOLDER), account)
    if not lies_in_memory(facts.identity.device):
        raise TargetError(
            tr(
                "{path} is not a tmpfs on this machine, so a data directory there would not be in memory."
            ).format(path=MEMORY_FOLDER),
            hint=tr("Mount a tmpfs there, or use a folder on a tmpfs as the target."),
        )
    _check_writable(MEMORY_FOLDER, facts, account)
    if facts.free_bytes < need_bytes:
        raise TargetError(
            tr("{path} is too full: {free} free, {need} needed.").format(
                path=MEMORY_FOLDER, free=format_size(facts.free_bytes), need=format_size(need_bytes)
            ),
            hint=tr("Choose less data, or as root: mount -o remount,size=SIZE {path!q}").format(
                path=MEMORY_FOLDER
            ),
        )
    return CheckedTarget(os.path.realpath(MEMORY_FOLDER), "", facts.free_bytes, limit_bytes)


def _check_size(limit_bytes: int | None, need_bytes: int, memory: Memory) -> None:
    whose = (
        tr("this machine")
        if memory.limit is None
        else tr("the control group ({file})").format(file=memory.limit)
    )
    if limit_bytes is not None and limit_bytes > memory.total_bytes:
        raise TargetError(
            tr("The memory target may use {limit}, but {whose} has only {total} of memory.").format(
                limit=format_size(limit_bytes), whose=whose, total=format_size(memory.total_bytes)
            ),
            hint=tr("Choose a smaller target.size."),
        )
    if limit_bytes is not None and limit_bytes < need_bytes:
        raise TargetError(
            tr("The memory target may use {limit}, but needs {need}.").format(
                limit=format_size(limit_bytes), need=format_size(need_bytes)
            ),
            hint=tr("Choose a larger target.size or less data."),
        )
    if need_bytes > memory.available_bytes:
        raise TargetError(
            tr("{need} of memory is needed, but {whose} has only {available} available.").format(
                need=format_size(need_bytes), whose=whose, available=format_size(memory.available_bytes)
            ),
            hint=tr("Stop programs that use memory, or choose less data."),
        )


# Places for the socket and the private folder of a run: short paths, in memory if possible.


_LEAST_LOG_BYTES: Final = 32 * MIB
"""Logs are consumed while they grow, so little of them exists at a time; containers give /dev/shm 64 MiB."""

SOCKET_PLACES: Final = ("/tmp", "/var/tmp", MEMORY_FOLDER)  # noqa: S108 - random names, mode 0700
"""Possible parents of a socket folder, the best first; short: a socket's path has 107 bytes (unix(7))."""


def private_places() -> tuple[str, ...]:
    """Return the possible parents of a private folder, those in memory first."""
    places = (MEMORY_FOLDER, *SOCKET_PLACES[:-1])
    usable = [place for place in places if _free_bytes(place) >= _LEAST_LOG_BYTES]
    return tuple(sorted(map(os.path.realpath, usable), key=lambda place: not is_in_memory(place)))


def is_in_memory(place: str) -> bool:
    """Return whether a folder is in memory, so that writing there puts no load on a device."""
    return lies_in_memory(os.stat(place).st_dev)  # noqa: PTH116 - a string


def _free_bytes(place: str) -> int:
    try:
        volume = os.statvfs(place)
    except OSError:
        return 0
    return volume.f_bavail * volume.f_frsize
