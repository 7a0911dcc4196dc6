"""The registry of everything that a running campaign would leave behind if it died now.

One record per campaign in the state folder; it is locked (flock) while its runner lives, and everything is in
it before it is created. `app.hosts.recovery.cleanup` removes the items of unlocked records.

A record is a file with lines of JSON that are only ever appended to. The first line describes the campaign,
each other one an item that is about to be created, was created, or is gone. A last line without its end was
being written when the power failed, and its event never happened.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from app.domain.errors import FootingError
from app.domain.text import MIB, tr
from app.hosts.folders.descriptors import OWN_NAME, FileIdentity, make_folder, own_name
from app.hosts.folders.own_folders import check_private, create_state_folder, lies_in_memory, of_an_account
from app.process.starter import Account, Recorder, as_account, current_account

FORMAT: Final = 1
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_FIRST: Final = Path("/proc/1/stat")


class ResourceKind(StrEnum):
    """Type of an entry, which determines its removal."""

    FOLDER = "folder"
    DATA_DIRECTORY = "data-directory"


class Owner(StrEnum):
    """Owner of an entry, which also removes it."""

    SERVER = "server"
    RUNNER = "runner"


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One thing that a campaign left.

    Attributes:
        path: absolute, without symbolic links.
        kind: determines its removal.
        owner: removes it.
        identity: of the file or folder; None while it is only about to be created.
        volatile: whether it is in memory.
    """

    path: str
    kind: ResourceKind
    owner: Owner
    identity: FileIdentity | None = None
    volatile: bool = False


@dataclass(frozen=True, slots=True)
class ResourceRecord:
    """A campaign, from its record.

    Attributes:
        record: the record's file.
        campaign_folder: of its run files.
        campaign_name: chosen by the user.
        started: local time with zone, ISO 8601.
        boot: `boot_id` at that time.
        account: of server and pgbench.
        runner: account of the runner.
        entries: in the order of creation.
        finished: whether a sweep has finished its run files already.
    """

    record: Path
    campaign_folder: str
    campaign_name: str
    started: str
    boot: str
    account: Account
    runner: Account
    entries: tuple[ResourceEntry, ...] = ()
    finished: bool = False

    @property
    def same_boot(self) -> bool:
        """Whether the machine has not restarted since."""
        return self.boot == boot_id()

    def owner(self, entry: ResourceEntry) -> Account:
        """Return the account that removes an entry; the user id decides, not today's groups."""
        account = self.account if entry.owner is Owner.SERVER else self.runner
        return current_account() if account.uid == os.geteuid() else account


class UnreadableRecordError(Exception):
    """A record cannot be trusted; the message has the reason."""


def boot_id() -> str:
    """Return a text that stays the same until the machine, or this container, restarts.

    It consists of the kernel's id of this boot (random(4)), and the start time of process 1 (proc(5), stat,
    field 22): in a restarted container, memory is empty and device numbers are different in the same boot.
    """
    try:
        started = _FIRST.read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):  # hidden (hidepid)
        started = ""
    return f"{_BOOT.read_text(encoding='ascii').strip()}/{started}"


# --- writing


def header_line(record: ResourceRecord) -> bytes:
    """Return the first line."""
    return _line(
        {
            "format": FORMAT,
            "folder": record.campaign_folder,
            "name": record.campaign_name,
            "started": record.started,
            "boot": record.boot,
            "account": _account_values(record.account),
            "runner": _account_values(record.runner),
        }
    )


def entry_line(entry: ResourceEntry) -> bytes:
    """Return the line for an entry: about to be created, or created if it has an identity."""
    identity = entry.identity
    return _line(
        {
            "entry": entry.path,
            "kind": entry.kind.value,
            "owner": entry.owner.value,
            "identity": identity and [identity.device, identity.inode, identity.filesystem],
            "volatile": entry.volatile,
        }
    )


def gone_line(path: str) -> bytes:
    """Return the line for an entry that is removed."""
    return _line({"gone": path})


def finished_line() -> bytes:
    """Return the line that a sweep writes when the run files are finished."""
    return _line({"finished": True})


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode("ascii") + b"\n"


def _account_values(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "uid": account.uid,
        "gid": account.gid,
        "groups": list(account.groups),
        "home": account.home,
    }


# --- reading


def parse_record(path: Path, content: bytes) -> ResourceRecord:
    """Parse a record.

    Raises:
        UnreadableRecordError: it is damaged, of a newer version, or names paths that pgFooting never makes.
    """
    lines = content.split(b"\n")[:-1]  # anything after the last line's end was never finished
    if not lines:
        raise UnreadableRecordError(tr("invalid data"))
    try:
        values = [json.loads(line) for line in lines]
        header = values[0]
        if header["format"] != FORMAT:
            raise UnreadableRecordError(tr("another version of pgFooting wrote it"))
        return ResourceRecord(
            record=path,
            campaign_folder=_text(header["folder"]),
            campaign_name=_text(header["name"]),
            started=_text(header["started"]),
            boot=_text(header["boot"]),
            account=_account(header["account"]),
            runner=_account(header["runner"]),
            entries=_entries(values[1:]),
            finished=any("finished" in value for value in values[1:]),
        )
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as err:
        raise UnreadableRecordError(tr("it is damaged ({reason})").format(reason=err)) from err


def _entries(values: Iterable[dict[str, Any]]) -> tuple[ResourceEntry, ...]:
    entries: dict[str, ResourceEntry] = {}
    for value in values:
        if "gone" in value:
            entries.pop(value["gone"], None)
        elif "entry" in value:
            entry = _entry(value)
            entries[entry.path] = entry
        elif "finished" not in value:
            raise KeyError("entry")
    return tuple(entries.values())


def _entry(value: dict[str, Any]) -> ResourceEntry:
    identity = value["identity"]
    entry = ResourceEntry(
        path=_text(value["entry"]),
        kind=ResourceKind(value["kind"]),
        owner=Owner(value["owner"]),
        identity=None if identity is None else FileIdentity(*(_number(number) for number in identity)),
        volatile=value["volatile"] is True,
    )
    parts = Path(entry.path).parts
    if parts[0] != "/" or ".." in parts or str(Path(entry.path)) != entry.path:
        raise ValueError(entry.path)
    # SECURITY: whatever a record says, only paths with our name or below such a one are ever removed.
    if not any(OWN_NAME.fullmatch(part) for part in parts):
        raise ValueError(entry.path)
    return entry


def _account(value: dict[str, Any]) -> Account:
    groups = tuple(_number(group) for group in value["groups"])
    return Account(
        _text(value["name"]), _number(value["uid"]), _number(value["gid"]), groups, _text(value["home"])
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError(f"not text: {value!r}")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"not a number: {value!r}")
    return value


RECORDS: Final = "campaign-*.jsonl"
_LARGEST_BYTES: Final = 4 * MIB
_ATTEMPTS: Final = 10


class ResourceJournal:
    """The record of this process's campaign; use it as a context manager.

    Attributes:
        state: current content of the record.
    """

    def __init__(self, state: ResourceRecord, descriptor: int) -> None:
        self.state = state
        self._descriptor = descriptor
        self._mutex = threading.Lock()

    @classmethod
    def create(
        cls, campaign_folder: str, campaign_name: str, account: Account, *, state_folder: Path | None = None
    ) -> Self:
        """Create and lock a record.

        Args:
            campaign_folder: of the run files.
            campaign_name: chosen by the user.
            account: of server and pgbench.
            state_folder: for tests; None for the user's own.

        Raises:
            FootingError: the record cannot be written; nothing was created.
        """
        try:
            folder = _state_folder(state_folder)
            state = ResourceRecord(
                record=folder / f"campaign-{secrets.token_hex(8)}.jsonl",
                campaign_folder=campaign_folder,
                campaign_name=campaign_name,
                started=datetime.now().astimezone().isoformat(timespec="seconds"),
                boot=boot_id(),
                account=account,
                runner=current_account(),
            )
            return cls(state, _create_locked(state))
        except OSError as err:
            raise _unwritable(err) from err

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unlock the record; delete it if nothing is left, else a sweep takes it over."""
        with self._mutex:
            if self._descriptor < 0:
                return
            if not self.state.entries:
                with suppress(OSError):  # a sweep finds it empty and deletes it
                    self.state.record.unlink()
            os.close(self._descriptor)
            self._descriptor = -1

    def make_folder(
        self, path: str, kind: ResourceKind, record: Recorder, *, owner: Owner = Owner.SERVER
    ) -> FileIdentity:
        """Create a folder as its owner: recorded, created, recorded again with its identity.

        Raises:
            OSError: it could not be created; it is not in the record any more.
            FootingError: the record cannot be written; nothing was created.
        """
        intended = ResourceEntry(path, kind, owner)
        self._put(intended)
        try:
            identity = as_account(make_folder, self.state.owner(intended), record)(path)
        except OSError:
            self.forget(path)
            raise
        self._put(replace(intended, identity=identity, volatile=lies_in_memory(identity.device)))
        return identity

    def make_first(self, places: Sequence[str], record: Recorder) -> tuple[str, FileIdentity]:
        """Create a folder with a name of ours in the first of several places where that works.

        Raises:
            OSError: it works in none; the last failure.
        """
        failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for place in places:
            path = os.path.join(os.path.realpath(place), own_name())  # noqa: PTH118 - paths are strings here
            try:
                return path, self.make_folder(path, ResourceKind.FOLDER, record)
            except OSError as err:
                failure = err
        raise failure

    def forget(self, path: str) -> None:
        """Remove an item from the record after its owner has removed it.

        Raises:
            FootingError: the record cannot be written.
        """
        self._append(gone_line(path), path, None)

    def _put(self, entry: ResourceEntry) -> None:
        self._append(entry_line(entry), entry.path, entry)

    def _append(self, line: bytes, path: str, entry: ResourceEntry | None) -> None:
        """Append a whole line or nothing; it is on disk when this returns."""
        with self._mutex:
            size_bytes = os.fstat(self._descriptor).st_size
            try:
                _write(self._descriptor, line)
            except OSError as err:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, size_bytes)
                raise _unwritable(err) from err
            others = tuple(other for other in self.state.entries if other.path != path)
            entries = others if entry is None else (*others, entry)
            self.state = replace(self.state, entries=entries)


def read_records(state_folder: Path | None = None) -> Iterator[Path]:
    """Yield the files of all records, sorted by name.

    Raises:
        OSError: the state folder cannot be read.
        RefusedError: others could write there.
    """
    yield from sorted(_state_folder(state_folder).glob(RECORDS))


def list_live(state_folder: Path | None = None) -> tuple[ResourceRecord, ...]:
    """Return this user's running campaigns (a record in use by a sweep counts as running)."""
    found = []
    for path in read_records(state_folder):
        with suppress(UnreadableRecordError, FileNotFoundError):
            with locked_record(path, fcntl.LOCK_SH) as content:
                live = content is None
            if live:
                found.append(parse_record(path, path.read_bytes()))
    return tuple(found)


@contextmanager
def locked_record(path: Path, lock: int = fcntl.LOCK_EX) -> Iterator[bytes | None]:
    """Lock a record whose campaign is dead, for the duration of a with statement.

    Yields:
        Its content; None if its campaign lives, another sweep works on it, or it is gone.

    Raises:
        UnreadableRecordError: it is not a file that this user wrote, or cannot be opened.
        OSError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        yield None
        return
    except OSError as err:  # a link, a folder
        raise UnreadableRecordError(err.strerror) from err
    try:
        found = os.fstat(descriptor)
        # SECURITY: see check_private; the same for each record.
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise UnreadableRecordError(tr("it is not a file writable by this user only"))
        if found.st_size > _LARGEST_BYTES:
            raise UnreadableRecordError(tr("invalid data"))
        try:
            fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        if os.fstat(descriptor).st_nlink == 0:  # another sweep was faster
            yield None
        else:
            yield os.pread(descriptor, _LARGEST_BYTES, 0)
    finally:
        os.close(descriptor)


def _state_folder(given: Path | None) -> Path:
    if given is None:
        return create_state_folder()
    check_private(given)
    return given


def _create_locked(state: ResourceRecord) -> int:
    """Create and lock the record."""
    for _ in range(_ATTEMPTS):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(state.record, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:  # else a sweep found it empty before it was locked
                _write(descriptor, header_line(state))
                _sync_folder(state.record.parent)
                return descriptor
        except OSError:
            os.close(descriptor)
            with suppress(OSError):
                state.record.unlink()
            raise
        os.close(descriptor)
    raise BlockingIOError(11, "sweeps keep deleting the record", str(state.record))


def _write(descriptor: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(err: OSError) -> FootingError:
    return FootingError(
        tr("The campaign's cleanup record cannot be written ({path}: {reason}). Nothing was created.").format(
            path=err.filename or tr("state folder"), reason=err.strerror
        ),
        hint=of_an_account(
            tr("Free some space there, or set XDG_STATE_HOME."),
            root=tr("Free some space there."),
        ),
    )
