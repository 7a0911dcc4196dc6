"""Settings of the kernel for the disks of a session: looked at, set, put back, and read back.

Scheduler and read-ahead as the kernel has them now, and how they are set: files of sysfs.

Source: Linux, Documentation/ABI/stable/sysfs-block, Documentation/block/switching-sched.rst; btrfs,
fs/btrfs/sysfs.c: a mounted btrfs has a read-ahead of its own, which `bdi` of its folder leads to.
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
from app.domain.units import KIB
from app.storage.checks.disk_checks import check_identity
from app.storage.checks.hooks import Hooks
from app.storage.checks.readback import ReadbackDifference, ReadBackError
from app.storage.layout.conditions import table_place
from app.storage.layout.queue_record import QueueRecord, QueueSetting, fits, parse_record, queue_fact
from app.storage.layout.steps import (
    CheckScheduler,
    Mark,
    ReadBackQueue,
    RestoreQueue,
    SetQueue,
    SetReadAhead,
    Step,
    mark_of,
)
from app.storage.system import state

_READ_AHEAD: Final = "read_ahead_kb"


def queue_file(node: str, name: str) -> Path:
    """Return the file of a setting of a disk or array.

    Raises:
        OSError: there is no such device.
        RefusedError: the node is no block device.
    """
    return state.sysfs_folder(node) / "queue" / name


def btrfs_read_ahead_file(filesystem_uuid: str) -> Path:
    """Return the file of the read-ahead of a mounted btrfs."""
    return state.SYSFS / "fs/btrfs" / filesystem_uuid / "bdi" / _READ_AHEAD


def read_choice(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return what a setting is, and all values that the kernel offers where it lists them.

    Of a list the chosen one stands in brackets: ``[none] mq-deadline``. A single word is chosen.

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
    """Set it: one write, of a file that is there.

    Raises:
        OSError: the kernel does not take the value.
    """
    with path.open("r+", encoding="ascii") as file:
        file.write(value)


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Does the steps about settings of disks.

    Attributes:
        disks: identity of each disk as it was chosen, by its node.
        hooks: what is asked and told.
        facts: what the journal holds.
        know: has the journal hold more; returns when that is on disk.
        begin: tells the journal that a step begins; returns likewise.
    """

    disks: Mapping[str, DiskIdentity]
    hooks: Hooks
    facts: Mapping[str, str]
    know: Callable[[Mapping[str, str]], None]
    begin: Callable[[Step], None]

    def check(self, step: CheckScheduler) -> None:
        """Make sure that the kernel has a scheduler for all disks.

        Raises:
            RefusedError: it has not; names those that it has.
            OSError: it cannot be asked.
        """
        for disk in step.disks:
            _, offered = read_choice(queue_file(disk, QueueSetting.SCHEDULER))
            _check_offered(disk, step.scheduler, offered)

    def set(self, step: SetQueue) -> str:
        """Set it; return why that was left out, empty where it was not.

        Raises:
            RefusedError: it is another disk, the kernel has no such scheduler, or does not tell the value.
            ReadBackError: the kernel has taken it for something else.
            OSError: it cannot be set.
        """
        check_identity(step.disk, self.disks[step.disk], self.hooks)
        path = queue_file(step.disk, step.setting)
        before, offered = read_choice(path)
        if step.setting is QueueSetting.SCHEDULER:
            _check_offered(step.disk, step.value, offered)
        if not fits(step.setting, before):  # what cannot be put back is not changed
            raise RefusedError(say("queue-not-told", disk=step.disk, setting=step.setting, found=before))
        if before == step.value:
            return say("skipped-queue-already")
        page_kib = resource.getpagesize() // KIB
        if step.setting is QueueSetting.READ_AHEAD and int(step.value) % page_kib:
            # The kernel would cut it to whole pages, and after a crash nobody could tell whose value that is.
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
        """Put it back.

        Returns:
            Why that was left out, empty where it was not; and what the owner is told of it.

        Raises:
            StorageError: the kernel does not take it back.
            OSError: it cannot be read or written.
        """
        name = queue_fact(step.setting, step.place)
        record = parse_record(step.setting, self.facts.get(name, ""))
        if record is None:
            return say("skipped-queue-unchanged"), ""
        try:
            skipped, told = self._put_back(step, record)
        except _AwayError:
            return say("skipped-disk-away", disk=step.disk), ""  # it comes anew, if ever
        self.know({name: ""})
        return skipped, told

    def _put_back(self, step: RestoreQueue, record: QueueRecord) -> tuple[str, str]:
        """Put it back, if it is still ours to do: returns and raises as `restore`, and `_AwayError`."""
        if self.hooks.other_boot:
            return say("skipped-queue-boot"), ""
        if mark_of(self.facts, table_place(step.place)) is Mark.RELEASED:
            # SECURITY: putting it back had failed, and then the disk was given back: another's by now, maybe.
            return say("skipped-nothing-ours"), ""
        try:
            now = self.hooks.identify(step.disk)
        except OSError as err:
            raise _AwayError from err
        if (now.diskseq or 0) != record.diskseq or self.disks[step.disk].differs_from(now):
            # SECURITY: another disk's settings are not ours to touch, whatever it is called.
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


class _AwayError(Exception):
    """A disk is not here, or does not tell who it is."""


def set_read_ahead(step: SetReadAhead) -> None:
    """Set the read-ahead of an array or a filesystem.

    Raises:
        OSError: it cannot be set.
    """
    for path, _ in _above(step.array, step.filesystem_uuid):
        write_setting(path, step.kib)


def read_back_queue(step: ReadBackQueue) -> None:
    """Compare what the kernel says with what was asked.

    Raises:
        ReadBackError: something differs; names everything with both values.
        OSError: the kernel does not tell.
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
    """Yield the file of the read-ahead of what lies on disks, and what people call that."""
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
