"""The helper's record of storage that it has made and not yet unmade, on disk before it is made.

One file for each session, root's own: the plan, from which every name, UUID and reverse step follows, the
number of steps begun, and facts that became known only on the way. Complete on disk whenever `write` returns,
so that recovery after a crash or a power cut finds at least everything that exists.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from app.domain.disk import DiskIdentity
from app.domain.errors import FootingError
from app.domain.messages.message import message_from_json, message_to_json
from app.domain.storage_plan.plan import StoragePlan, plan_as_mapping
from app.domain.storage_plan.reader import parse_plan
from app.helper.base.audit import JOURNAL, make_private_folder
from app.storage.layout.conditions import table_place
from app.storage.layout.partitions import Names, PlannedDevice
from app.storage.layout.steps import Mark, check_queue_facts, mark_fact, mark_of

SCHEMA: Final = 3
"""Version 1 had neither boot nor marks of signatures, 2 no digests and no mounts: they are read, and their
disks are left to the user; nothing of them is wiped.
"""
BEGAN: Final = "began"
"""Name of the fact with the start of a session's use of its disks, whole seconds since the epoch."""
_MOST_BYTES: Final = 16 * 1024**2
"""Limit of one file, both to read and to write. The largest plan with its marks has a few MB."""
_MOST_STEPS: Final = 100_000
_MOST_BLOCK_BYTES: Final = 1024**2
_LAST_USER: Final = 2**32 - 2

_log = logging.getLogger(__name__)


class JournalError(Exception):
    """An entry cannot be read or understood; it is kept, and its disks are left alone."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One session.

    Attributes:
        session: its identifier.
        user: that gets the storage.
        plan: of the storage.
        devices: nodes at the time, by `DiskIdentity.key`.
        begun: number of steps begun.
        facts: that became known on the way, including the marks of signatures
            (`app.storage.layout.steps.Mark`).
        boot: identifier of the boot of the machine in which it was made; empty if unknown.
        kept: why a disk could not be released, by `DiskIdentity.key`, from the last attempt.
        schema: of the helper that made it; an older one counted its steps differently.
    """

    session: uuid.UUID
    user: int
    plan: StoragePlan
    devices: Mapping[str, PlannedDevice]
    begun: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)
    boot: str = ""
    kept: Mapping[str, str] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def began_s(self) -> float:
        """Start of the session's use of its disks, seconds since the epoch; 0 if an older helper made it."""
        text = self.facts.get(BEGAN, "")
        return float(text) if text.isdecimal() else 0.0

    def holds(self, disk: DiskIdentity) -> bool:
        """Return whether something was begun on a disk that was not yet released."""
        if not self.begun or disk.key() not in {each.key() for _, each in self.plan.members()}:
            return False
        mark = mark_of(self.facts, table_place(Names(self.session).table(disk.key())))
        return mark is not Mark.RELEASED if mark else not self.boot


@dataclass(slots=True)
class Journal:
    """The journal of all sessions.

    Attributes:
        folder: another one only in tests.
    """

    folder: Path = JOURNAL

    def write(self, entry: JournalEntry) -> None:
        """Make an entry durable; without the reasons of `JournalEntry.kept` if these make it too large.

        Raises:
            OSError: it could not be written; then nothing may be made.
        """
        text = json.dumps(_as_mapping(entry))
        if len(text) > _MOST_BYTES:
            # SECURITY: an entry that cannot be read again frees no disk, and others can make reasons long.
            # Each attempt determines them again.
            text = json.dumps(_as_mapping(replace(entry, kept=dict.fromkeys(entry.kept, ""))))
        if len(text) > _MOST_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(self._path(entry.session)))
        make_private_folder(self.folder, 0o700)
        new = self.folder / f".{entry.session.hex}.new"
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path(entry.session))
        self._sync()

    def remove(self, session: uuid.UUID) -> None:
        """Remove a session of which nothing is left.

        Raises:
            OSError: it could not be removed.
        """
        self._path(session).unlink(missing_ok=True)
        self._sync()

    def entries(self) -> tuple[list[JournalEntry], list[Path]]:
        """Return the sessions that did not end, and files that cannot be understood."""
        found: list[JournalEntry] = []
        bad: list[Path] = []
        if not self.folder.exists():
            return found, bad
        make_private_folder(self.folder, 0o700)
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(_parse(path))
            except JournalError as err:
                _log.error("%s is kept and not acted upon: %r", path, str(err))
                bad.append(path)
        return found, bad

    def entry(self, session: uuid.UUID) -> JournalEntry | None:
        """Return the current record of a session; None if there is none, or it cannot be understood."""
        with suppress(JournalError):
            return _parse(self._path(session))
        return None

    def _path(self, session: uuid.UUID) -> Path:
        return self.folder / f"{session.hex}.json"

    def _sync(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class Writer:
    """Keep the entry of one session up to date.

    Attributes:
        journal: to write to.
        entry: as it was last written.
    """

    journal: Journal
    entry: JournalEntry

    def begin(self, number: int) -> None:
        """Record that a step begins, and with it all before it; numbers start at 1."""
        self._write(replace(self.entry, begun=max(number, self.entry.begun)))

    def facts(self, facts: Mapping[str, str]) -> None:
        """Record facts."""
        self._write(replace(self.entry, facts={**self.entry.facts, **facts}))

    def keep(self, reasons: Mapping[str, str]) -> None:
        """Record why disks could not be released, by `DiskIdentity.key`."""
        if dict(reasons) != dict(self.entry.kept):
            self._write(replace(self.entry, kept=dict(reasons)))

    def _write(self, entry: JournalEntry) -> None:
        self.journal.write(entry)
        self.entry = entry


def _as_mapping(entry: JournalEntry) -> Mapping[str, object]:
    return {
        "schema": entry.schema,
        "session": entry.session.hex,
        "user": entry.user,
        "plan": plan_as_mapping(entry.plan),
        "devices": {key: [device.node, device.logical_block_bytes] for key, device in entry.devices.items()},
        "begun": entry.begun,
        "facts": dict(entry.facts),
        "boot": entry.boot,
        "kept": {key: message_to_json(reason) for key, reason in entry.kept.items()},
    }


def _parse(path: Path) -> JournalEntry:
    """Return an entry.

    Raises:
        JournalError: it has another format, is newer, or is another session's.
    """
    try:
        with path.open("rb") as file:
            entry = _entry_of(json.loads(file.read(_MOST_BYTES)))
    except _BROKEN as err:
        raise JournalError(str(err)) from err
    if path.stem != entry.session.hex:
        raise JournalError(f"session {entry.session}")
    return entry


def _entry_of(values: Mapping[str, Any]) -> JournalEntry:
    """Parse the output of `_as_mapping`; raises one of `_BROKEN` for anything else."""
    schema = _whole(values["schema"], 1, SCHEMA)
    facts = _texts(values["facts"])
    for name, value in facts.items():
        if name.startswith(mark_fact("")) and value not in set(Mark):
            raise ValueError(f"mark {value}")
    check_queue_facts(facts)
    plan = parse_plan(values["plan"])
    devices = {
        str(key): PlannedDevice(_text(node), _whole(block, 1, _MOST_BLOCK_BYTES))
        for key, (node, block) in values["devices"].items()
    }
    if devices.keys() != {disk.key() for _, disk in plan.members()}:
        raise ValueError("devices are not those of the plan")
    return JournalEntry(
        uuid.UUID(hex=_text(values["session"])),
        _whole(values["user"], 1, _LAST_USER),  # SECURITY: that user's processes are ended
        plan,
        devices,
        _whole(values["begun"], 0, _MOST_STEPS),
        facts,
        _text(values["boot"]) if schema > 1 else "",
        {_text(key): message_from_json(each) for key, each in values["kept"].items()} if schema > 1 else {},
        schema,
    )


def _whole(value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{least} to {most}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _texts(values: Mapping[object, object]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in values.items()}


_BROKEN: Final = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, FootingError),
    *(OverflowError, RecursionError, MemoryError),
)
"""Errors of a file in another format than `_as_mapping`'s; `Infinity` and deep nesting are JSON too."""
