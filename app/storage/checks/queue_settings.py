"""Kernel settings of a session's disks: check, set, restore and read back.

Scheduler and read-ahead are files of sysfs. Source: Linux, Documentation/ABI/stable/sysfs-block,
Documentation/block/switching-sched.rst; btrfs, fs/btrfs/sysfs.c: a mounted btrfs has its own read-ahead,
reached by `bdi` of its folder.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.errors import RefusedError, StorageError
from app.domain.messages.message import say
from app.domain.text import KIB
from app.storage.checks.disk_checks import Hooks, check_identity
from app.storage.checks.readback import ReadbackDifference, ReadBackError
from app.storage.layout.conditions import table_place
from app.storage.layout.steps import (
    CheckScheduler,
    Mark,
    QueueRecord,
    QueueSetting,
    ReadBackQueue,
    RestoreQueue,
    SetQueue,
    SetReadAhead,
    Step,
    fits,
    mark_of,
    parse_record,
    queue_fact,
)
from app.storage.system import state

_READ_AHEAD: Final = "read_ahead_kb"


def queue_file(node: str, name: str) -> Path:
    """Return the file of a setting of a disk or array.

    Raises:
        OSError: there is no such device.
        RefusedError: the node is not a block device.
    """
    return state.sysfs_folder(node) / "queue" / name


def btrfs_read_ahead_file(filesystem_uuid: str) -> Path:
    """Return the file of the read-ahead of a mounted btrfs."""
    return state.SYSFS / "fs/btrfs" / filesystem_uuid / "bdi" / _READ_AHEAD


def read_choice(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the current value of a setting, and all values if the kernel lists them.

    A list has the current value in brackets: ``[none] mq-deadline``. A single word is the current value.

    Raises:
        OSError: it cannot be read.
    """
    words = path.read_text(encoding="ascii", errors="replace").split()
    offered = tuple(word.strip("[]") for word in words)
    chosen = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    if len(chosen) == 1:
        return chosen[0], offered
    return (offered[0] if len(words) == 1 and not chosen else ""), offered


def write_setting(path: Path, value: str) -> None:
    """Write a setting: one write, into an existing file.

    Raises:
        OSError: the kernel does not accept the value.
    """
    with path.open("r+", encoding="ascii") as file:
        file.write(value)


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Execute the steps about disk settings.

    Attributes:
        disks: identity of each chosen disk, by its node.
        hooks: of the execution.
        facts: from the journal.
        know: adds facts to the journal; returns when they are on disk.
        begin: records the start of a step in the journal; returns when that is on disk.
    """

    disks: Mapping[str, DiskIdentity]
    hooks: Hooks
    facts: Mapping[str, str]
    know: Callable[[Mapping[str, str]], None]
    begin: Callable[[Step], None]

    def check(self, step: CheckScheduler) -> None:
        """Make sure that the kernel has a scheduler for all disks.

        Raises:
            RefusedError: it does not; names the available ones.
            OSError: the setting cannot be read.
        """
        for disk in step.disks:
            _, offered = read_choice(queue_file(disk, QueueSetting.SCHEDULER))
            _check_offered(disk, step.scheduler, offered)

    def set(self, step: SetQueue) -> str:
        """Change a setting; return why that was skipped, empty if it was not.

        Raises:
            RefusedError: it is another disk, the kernel has no such scheduler, or does not show the value.
            ReadBackError: the kernel shows another value afterwards.
            OSError: it cannot be set.
        """
        check_identity(step.disk, self.disks[step.disk], self.hooks)
        path = queue_file(step.disk, step.setting)
        before, offered = read_choice(path)
        if step.setting is QueueSetting.SCHEDULER:
            _check_offered(step.disk, step.value, offered)
        if not fits(step.setting, before):  # what cannot be restored is not changed
            raise RefusedError(say("queue-not-told", disk=step.disk, setting=step.setting, found=before))
        if before == step.value:
            return say("skipped-queue-already")
        page_kib = resource.getpagesize() // KIB
        if step.setting is QueueSetting.READ_AHEAD and int(step.value) % page_kib:
            # The kernel would round it down to whole pages; after a crash the origin of that value would be
            # unknown.
            raise RefusedError(say("read-ahead-pages", kib=step.value, page=page_kib))
        self.begin(step)
        record = QueueRecord(before, step.value, self.disks[step.disk].diskseq or 0)
        self.know({queue_fact(step.setting, step.place): record.text()})
        write_setting(path, step.value)
        if differences := tuple(_differences(path, step.disk, step.setting, step.value)):
            write_setting(path, before)
            raise ReadBackError(differences)
        return ""

    def restore(self, step: RestoreQueue) -> tuple[str, str]:
        """Restore a setting.

        Returns:
            Why that was skipped, empty if it was not; and a message for the owner.

        Raises:
            StorageError: the kernel does not accept the old value.
            OSError: it cannot be read or written.
        """
        name = queue_fact(step.setting, step.place)
        record = parse_record(step.setting, self.facts.get(name, ""))
        if record is None:
            return say("skipped-queue-unchanged"), ""
        try:
            skipped, output = self._put_back(step, record)
        except _DiskGoneError:
            return say("skipped-disk-away", disk=step.disk), ""  # it reappears as a new disk, if ever
        self.know({name: ""})
        return skipped, output

    def _put_back(self, step: RestoreQueue, record: QueueRecord) -> tuple[str, str]:
        """Restore it if it is still ours; returns and raises as `restore`, and `_DiskGoneError`."""
        if self.hooks.other_boot:
            return say("skipped-queue-boot"), ""
        if mark_of(self.facts, table_place(step.place)) is Mark.RELEASED:
            # SECURITY: restoring had failed, and then the disk was released: it may be another user's now.
            return say("skipped-nothing-ours"), ""
        try:
            now = self.hooks.identify(step.disk)
        except OSError as err:
            raise _DiskGoneError from err
        if (now.diskseq or 0) != record.diskseq or self.disks[step.disk].differs_from(now):
            # SECURITY: another disk's settings are not ours to touch, whatever its name.
            return say("skipped-queue-anew", disk=step.disk), ""
        path = queue_file(step.disk, step.setting)
        found, _ = read_choice(path)
        disk, setting, before = step.disk, step.setting, record.before
        if found == before:
            return say("skipped-queue-before"), ""
        if found != record.chosen:
            chosen = record.chosen
            return "", say(
                "queue-left-alone", disk=disk, setting=setting, found=found, chosen=chosen, before=before
            )
        write_setting(path, before)
        if (found := read_choice(path)[0]) != before:
            raise StorageError(say("queue-not-back", disk=disk, setting=setting, found=found, before=before))
        return "", ""


class _DiskGoneError(Exception):
    """A disk is absent, or cannot be identified."""


def set_read_ahead(step: SetReadAhead) -> None:
    """Set the read-ahead of an array or a filesystem.

    Raises:
        OSError: it cannot be set.
    """
    for path, _ in _above(step.array, step.filesystem_uuid):
        write_setting(path, step.kib)


def read_back_queue(step: ReadBackQueue) -> None:
    """Compare the kernel's values with the requested ones.

    Raises:
        ReadBackError: something differs; names each setting with both values.
        OSError: a setting cannot be read.
    """
    differences: list[ReadbackDifference] = []
    for setting, value in step.chosen:
        for disk in step.disks:
            differences += _differences(queue_file(disk, setting), disk, setting, value)
        if setting is QueueSetting.READ_AHEAD:
            for path, name in _above(step.array, step.filesystem_uuid):
                differences += _differences(path, name, setting, value)
    if differences:
        raise ReadBackError(differences)


def _above(array: str, filesystem_uuid: str) -> Iterator[tuple[Path, str]]:
    """Yield the read-ahead files of the array and filesystem on the disks, with their names for the user."""
    if array:
        yield queue_file(array, QueueSetting.READ_AHEAD), array
    if filesystem_uuid:
        yield btrfs_read_ahead_file(filesystem_uuid), f"btrfs {filesystem_uuid}"


def _check_offered(disk: str, scheduler: str, offered: tuple[str, ...]) -> None:
    if scheduler not in offered:
        raise RefusedError(
            say("scheduler-unknown", disk=disk, scheduler=scheduler, offered=", ".join(offered)),
            hint=say("scheduler-module", scheduler=scheduler),
        )


def _differences(path: Path, name: str, setting: QueueSetting, value: str) -> Iterator[ReadbackDifference]:
    found, _ = read_choice(path)
    if found != value:
        yield ReadbackDifference(f"{name} {setting.value}", value, found or say("none"))
