"""The steps of making and unmaking a layout, and the record of changed queue settings, as data.

A step has a purpose, conditions for before and after, and undo steps. `app.storage.layout.commands` makes
steps, `app.storage.execution` executes them; nothing here touches anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.options.kinds import ExpectedToken, OptionValue
from app.domain.step_progress import Operation
from app.storage.layout.conditions import (
    ArrayRuns,
    Condition,
    OwnMember,
    OwnPartition,
    SessionPartition,
    SignatureIs,
    SignedPlace,
)

# The journal's record of a disk setting changed by a session: the old and the new value.
#
# It is on disk before anything is changed, and empty once the value was restored or is no longer ours to
# restore.


class QueueSetting(StrEnum):
    """Settings of the kernel for a disk, by their files in /sys/block/DISK/queue (ABI/stable/sysfs-block)."""

    SCHEDULER = "scheduler"
    READ_AHEAD = "read_ahead_kb"


_VALUES: Final = {
    QueueSetting.SCHEDULER: re.compile(r"[a-z][a-z0-9-]{0,15}"),
    QueueSetting.READ_AHEAD: re.compile(r"[0-9]{1,10}"),
}
"""Values that may be written back: never anything else, even if a journal contains it."""
_PREFIX: Final = "queue "


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """One setting of one disk.

    Attributes:
        before: old value; is restored.
        chosen: the session's value.
        diskseq: appearance of the disk; 0 if the kernel does not count them.
    """

    before: str
    chosen: str
    diskseq: int

    def text(self) -> str:
        """Return it for the journal; `parse_record` reads it."""
        return f"{self.before} {self.chosen} {self.diskseq}"


def queue_fact(setting: QueueSetting, place: str) -> str:
    """Return the journal's name for a setting of the disk of a place."""
    return f"{_PREFIX}{setting.value} of {place}"


def fits(setting: QueueSetting, value: str) -> bool:
    """Return whether a text can be a value of a setting."""
    return _VALUES[setting].fullmatch(value) is not None


def parse_record(setting: QueueSetting, text: str) -> QueueRecord | None:
    """Parse a record of the journal; None if nothing is to be restored.

    Raises:
        ValueError: it has another format.
    """
    if not text:
        return None
    before, chosen, sequence = text.split(" ")
    if not fits(setting, before) or not fits(setting, chosen) or not re.fullmatch(r"[0-9]{1,20}", sequence):
        raise ValueError(text)
    return QueueRecord(before, chosen, int(sequence))


def check_queue_facts(facts: Mapping[str, str]) -> None:
    """Make sure that all records of this kind in a journal can be parsed.

    Raises:
        ValueError: one cannot.
    """
    for name, text in facts.items():
        if name.startswith(_PREFIX):
            setting, _, place = name.removeprefix(_PREFIX).partition(" of ")
            if not place:
                raise ValueError(name)
            parse_record(QueueSetting(setting), text)


QUICK_S: Final = 300.0
"""Time-out of programs that write little; emulated machines are up to 40 times slower than real ones."""
LONG_S: Final = 4 * 3600.0
"""Time-out of programs that may write or discard a whole partition."""


class Mark(StrEnum):
    """The journal's state of a session's signature; on disk before it becomes true.

    BEGUN: about to be made, so that it may or may not exist. MADE: it exists. WIPING: about to be wiped.
    WIPED: it no longer exists. RELEASED (of a partition table): the disk was released.
    """

    BEGUN = "begun"
    MADE = "made"
    WIPING = "wiping"
    WIPED = "wiped"
    RELEASED = "released"


def mark_fact(place: str) -> str:
    """Return the journal's name for the mark of a place's content."""
    return f"mark of {place}"


def mark_of(facts: Mapping[str, str], place: str) -> Mark | None:
    """Return the journal's mark of a place's content; None if making it never began."""
    value = facts.get(mark_fact(place))
    return Mark(value) if value is not None else None


def table_fact(place: str) -> str:
    """Return the journal's name for the digest of a partition table as root made it."""
    return f"digest of {place}"


def look_fact(place: str) -> str:
    """Return the journal's name for the digest of a place's content as a session saw it last."""
    return f"look of {place}"


def mount_fact(folder: str) -> str:
    """Return the journal's name for our mount on a folder."""
    return f"mount of {folder}"


def written_fact(place: str) -> str:
    """Return the journal's name for the fact that an undoing program wrote to a place."""
    return f"written {place}"


def ends_fact(place: str) -> str:
    """Return the journal's name for the digest of a disk's ends without our table."""
    return f"ends of {place}"


@dataclass(frozen=True, slots=True)
class ClaimDisks:
    """Make sure that every disk is the chosen one and is spare now, before any is written.

    Attributes:
        disks: nodes of the whole disks.
        why: for the user.
        undo: nothing.
    """

    disks: tuple[str, ...]
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """Run a program.

    Attributes:
        argv: program name and arguments; looked up in the fixed folders, never through a shell.
        why: its purpose, one sentence.
        input: its standard input; empty means /dev/null.
        timeout_s: time limit; then it is ended.
        claims: disks that it writes although they do not have our partition yet: checked again whether spare.
        writes: disks that it writes: their identity and the proof that they are ours are checked again
            before.
        when: else the step is skipped: nothing to undo.
        before: else it is refused.
        after: must be true once it ended, else the step failed.
        signs: places in which it makes a signature of ours; marked before, read and marked afterwards.
        equalises: places whose compared bytes are zeroed before, because disks of a mirror may differ there.
        looks: places that are read again once it has ended and the kernel releases them, if this process may
            undo their content; for an unreadable one the journal keeps the older digest.
        frees: places that it unmounts: the process that unmounted the journal's own mount may undo their
            content.
        owned: places; the step is skipped unless this process may undo the content of all of them.
        mounts: folder on which it mounts something; that mount's identity becomes a fact.
        forgives: texts in the error output that make a failure harmless: the state was already reached.
        busy: texts in the error output that make it run again, for some seconds: a program only inspects it.
        only_its_disks: whether it finds no other disks than its arguments.
        undo: steps that undo it, in the order of execution.
    """

    argv: tuple[str, ...]
    why: str
    input: str = ""
    timeout_s: float = QUICK_S
    claims: tuple[str, ...] = ()
    writes: tuple[OwnPartition | OwnMember, ...] = ()
    when: tuple[Condition, ...] = ()
    before: tuple[Condition, ...] = ()
    after: tuple[Condition, ...] = ()
    signs: tuple[SignedPlace, ...] = ()
    equalises: tuple[SignedPlace, ...] = ()
    looks: tuple[SignedPlace, ...] = ()
    frees: tuple[SignedPlace, ...] = ()
    owned: tuple[SignedPlace, ...] = ()
    mounts: str = ""
    forgives: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    only_its_disks: bool = False
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Wipe:
    """Zero our signature in our partition, or in an array of such, if nothing else is there.

    Attributes:
        node: partition or array.
        place: of the mark.
        signature: that we made there.
        partitions: ours, which hold it.
        why: for the user.
        array: that holds the node; None for a partition.
        before: else it is refused.
        undo: nothing.
    """

    node: str
    place: str
    signature: SignatureIs
    partitions: tuple[SessionPartition, ...]
    why: str
    array: ArrayRuns | None = None
    before: tuple[Condition, ...] = ()
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class WipeTable:
    """Remove our partition table, if it contains our partition and nothing else, and release the disk.

    Attributes:
        partition: ours.
        signature: that we made in it.
        why: for the user.
        undo: nothing.
    """

    partition: SessionPartition
    signature: SignatureIs
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class MakeFolder:
    """Make the folder of a mount point, mode 0755, in an existing folder."""

    path: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveFolder:
    """Remove the empty folder of a mount point, if it exists.

    The kernel also removes mounts of others on it, in other mount namespaces (namei.c, vfs_rmdir): so the
    disks mounted there must be released or unclaimed.

    Attributes:
        path: of it.
        why: for the user.
        tables: partition tables of the disks; released ones are not checked.
        undo: nothing.
    """

    path: str
    why: str
    tables: tuple[SignedPlace, ...] = ()
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Settle:
    """Wait until udevd has handled the events of these devices; returns at once if none runs."""

    nodes: tuple[str, ...]
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitNode:
    """Wait until a device exists and has at least this size."""

    node: str
    size_bytes: int
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitSync:
    """Wait until an md array is complete and idle: nothing degraded, nothing to synchronise."""

    node: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordPool:
    """Read the GUID of our pool, imported or from the label of a partition, and record it in the journal."""

    pool: str
    members: tuple[str, ...]
    why: str
    required: bool = True
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Compare the options shown by the kernel and the filesystem with the request, one by one.

    Attributes:
        filesystem: id.
        folder: mount point.
        node: a device of it, or the name of the pool.
        options: requested (id, value) pairs.
        why: for the user.
        expected: further tokens that must be shown, about how it was made.
        undo: nothing.
    """

    filesystem: str
    folder: str
    node: str
    options: tuple[tuple[str, OptionValue], ...]
    why: str
    expected: tuple[ExpectedToken, ...] = ()
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBackArray:
    """Compare the kernel's attributes of an md array with the request.

    Attributes:
        node: of the array.
        expected: tokens that must be shown.
        why: for the user.
        undo: nothing.
    """

    node: str
    expected: tuple[ExpectedToken, ...]
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBackPool:
    """Compare the vdevs of a pool with the request.

    Attributes:
        pool: imported.
        expected: tokens that must be shown.
        why: for the user.
        undo: nothing.
    """

    pool: str
    expected: tuple[ExpectedToken, ...]
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckScheduler:
    """Make sure that the kernel has an I/O scheduler for disks, before anything is written to them.

    Loads no module: the available ones are the administrator's choice.

    Attributes:
        disks: nodes of the whole disks.
        scheduler: its name.
        why: for the user.
        undo: nothing.
    """

    disks: tuple[str, ...]
    scheduler: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class SetQueue:
    """Change a kernel setting of a disk; the old value is in the journal before.

    Attributes:
        disk: node of the whole disk.
        place: of the record in the journal.
        setting: to change.
        value: in the kernel's format.
        why: for the user.
        undo: restores it.
    """

    disk: str
    place: str
    setting: QueueSetting
    value: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreQueue:
    """Restore a setting to the journal's value, unless it is no longer ours to restore.

    That is so if the machine was restarted or the disk reappeared, so that the kernel's own value is set, or
    if another program changed it in between.

    Attributes:
        disk: node of the whole disk.
        place: of the record in the journal.
        setting: to restore.
        why: for the user.
        undo: nothing.
    """

    disk: str
    place: str
    setting: QueueSetting
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class SetReadAhead:
    """Set the read-ahead of an array or filesystem; it ends with it.

    Attributes:
        array: node of an md array; empty for none.
        filesystem_uuid: of a mounted btrfs; empty for none.
        kib: in the kernel's format.
        why: for the user.
        undo: nothing: it ends with the array or the mount.
    """

    array: str
    filesystem_uuid: str
    kib: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBackQueue:
    """Compare the kernel's settings of disks, and of the array or filesystem on them, with the request.

    Attributes:
        disks: nodes of the whole disks.
        array: node of the md array with a changed read-ahead; empty for none.
        filesystem_uuid: of the mounted btrfs with a changed read-ahead; empty for none.
        chosen: settings with their values.
        why: for the user.
        undo: nothing.
    """

    disks: tuple[str, ...]
    array: str
    filesystem_uuid: str
    chosen: tuple[tuple[QueueSetting, str], ...]
    why: str
    undo: tuple[Step, ...] = ()


Step = (
    ClaimDisks
    | Command
    | Wipe
    | WipeTable
    | MakeFolder
    | RemoveFolder
    | Settle
    | AwaitNode
    | AwaitSync
    | RecordPool
    | ReadBack
    | ReadBackArray
    | ReadBackPool
    | CheckScheduler
    | SetQueue
    | RestoreQueue
    | SetReadAhead
    | ReadBackQueue
)


def pool_fact(pool: str) -> str:
    """Return the journal's name for the GUID of a pool."""
    return f"guid of {pool}"


def describe(step: Step) -> str:
    """Return a step as one line for users and logs: a command that could be typed, else the reason."""
    if isinstance(step, Wipe):
        return f"# {step.node}: {step.why}"
    if isinstance(step, WipeTable):
        return f"# {step.partition.disk}: {step.why}"
    if isinstance(step, SetQueue | RestoreQueue):
        return f"# {step.disk}: {step.why}"
    if not isinstance(step, Command):
        return f"# {step.why}"
    line = shlex.join(step.argv)
    if step.input:
        text = step.input.rstrip("\n").replace("\n", "; ")
        line += f" <<< {shlex.quote(text)}"
    return line


def operation_of(step: Step) -> Operation:
    """Return the operation of a step."""
    return _OPERATIONS[type(step)]


_OPERATIONS: Final[Mapping[type, Operation]] = {
    ClaimDisks: Operation.CLAIM_DISKS,
    Command: Operation.COMMAND,
    Wipe: Operation.WIPE,
    WipeTable: Operation.WIPE_TABLE,
    MakeFolder: Operation.MAKE_FOLDER,
    RemoveFolder: Operation.REMOVE_FOLDER,
    Settle: Operation.SETTLE,
    AwaitNode: Operation.AWAIT_DEVICE,
    AwaitSync: Operation.SYNCHRONISE,
    RecordPool: Operation.RECORD_POOL,
    ReadBack: Operation.READ_BACK,
    ReadBackArray: Operation.READ_BACK,
    ReadBackPool: Operation.READ_BACK,
    CheckScheduler: Operation.READ_BACK,
    SetQueue: Operation.SET_QUEUE,
    RestoreQueue: Operation.SET_QUEUE,
    SetReadAhead: Operation.SET_QUEUE,
    ReadBackQueue: Operation.READ_BACK,
}


def undo_of(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the undo steps of these steps, the last step's first."""
    return tuple(undoing for step in reversed(tuple(steps)) for undoing in step.undo)
