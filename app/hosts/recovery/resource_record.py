"""What one campaign leaves on the machine, as a file: lines of JSON that are only ever appended to.

The first line says whose it is, each other one what is about to be created, was created, or is gone. A last
line without its end is one that was being written when the power failed,
and what it announces never happened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from app.domain.text import tr
from app.hosts.folders.descriptors import FileIdentity
from app.hosts.folders.targets import OWN_NAME
from app.process.starter import Account, current_account

FORMAT: Final = 1
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_FIRST: Final = Path("/proc/1/stat")


class ResourceKind(StrEnum):
    """What an entry is, and so how it is removed."""

    FOLDER = "folder"
    DATA_DIRECTORY = "data-directory"


class Owner(StrEnum):
    """Whose an entry is, and so who removes it."""

    SERVER = "server"
    RUNNER = "runner"


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One thing that a campaign left.

    Attributes:
        path: absolute, without symbolic links.
        kind: how it is removed.
        owner: who removes it.
        identity: which file or folder; None while it is only about to be created.
        volatile: whether it lies in memory.
    """

    path: str
    kind: ResourceKind
    owner: Owner
    identity: FileIdentity | None = None
    volatile: bool = False


@dataclass(frozen=True, slots=True)
class ResourceRecord:
    """A campaign as its record tells it.

    Attributes:
        record: the record's file.
        campaign_folder: where its run files are.
        campaign_name: what the user calls it.
        started: local time with zone, ISO 8601.
        boot: `boot_id` at that time.
        account: whom server and pgbench ran as.
        runner: whom the runner ran as.
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
        """Return who removes an entry; the user id decides, whatever groups this process has today."""
        account = self.account if entry.owner is Owner.SERVER else self.runner
        return current_account() if account.uid == os.geteuid() else account


class UnreadableRecordError(Exception):
    """A record that cannot be trusted; its message says why."""


def boot_id() -> str:
    """Return what stays the same until the machine, or the container that this runs in, restarts.

    The kernel's id of this boot (random(4)), and when process 1 started (proc(5), stat, field 22): in a
    container that was started again, memory is empty and device numbers are others on the same boot.
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
    """Return the line for an entry: about to be created, or created where it has an identity."""
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
    """Return what a record says.

    Raises:
        UnreadableRecordError: it is damaged, of a newer version, or names what pgFooting never makes.
    """
    lines = content.split(b"\n")[:-1]  # what follows the last line's end was never finished
    if not lines:
        raise UnreadableRecordError(tr("it is empty"))
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
    # SECURITY: whatever a record says, only what carries our name or lies below it is ever removed.
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
