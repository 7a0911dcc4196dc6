"""The steps of making and unmaking a layout, as data.

A step says what is done, why, what has to be true before and afterwards, and what undoes it.
`app.storage.layout.commands` makes steps, `app.storage.execution` executes them; nothing here touches
anything.
"""

from __future__ import annotations

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
from app.storage.layout.queue_record import QueueSetting

QUICK_S: Final = 300.0
"""Time-out of programs that write little; emulated machines are up to 40 times slower than real ones."""
LONG_S: Final = 4 * 3600.0
"""Time-out of programs that may write or discard a whole partition."""


class Mark(StrEnum):
    """What the journal says of a signature that a session makes; on disk before it becomes true.

    BEGUN: about to be made, so that it may be there or not. MADE: it is there. WIPING: about to be wiped.
    WIPED: it is not there any more. RELEASED (of a partition table): the disk was given back.
    """

    BEGUN = "begun"
    MADE = "made"
    WIPING = "wiping"
    WIPED = "wiped"
    RELEASED = "released"


def mark_fact(place: str) -> str:
    """Return the name under which the journal holds the mark of what lies in a place."""
    return f"mark of {place}"


def mark_of(facts: Mapping[str, str], place: str) -> Mark | None:
    """Return the journal's mark of what lies in a place; None where making it was never begun."""
    value = facts.get(mark_fact(place))
    return Mark(value) if value is not None else None


def table_fact(place: str) -> str:
    """Return the name under which the journal holds a digest of a partition table as root made it."""
    return f"digest of {place}"


def look_fact(place: str) -> str:
    """Return the name under which the journal holds a digest of what a session saw last in a place."""
    return f"look of {place}"


def mount_fact(folder: str) -> str:
    """Return the name under which the journal holds which mount is ours on a folder."""
    return f"mount of {folder}"


def written_fact(place: str) -> str:
    """Return the name under which the journal holds that a program of the way back wrote to a place."""
    return f"written {place}"


def ends_fact(place: str) -> str:
    """Return the name under which the journal holds a digest of a disk's ends without our table."""
    return f"ends of {place}"


@dataclass(frozen=True, slots=True)
class ClaimDisks:
    """Make sure that every disk is the one that was chosen and is spare now, before any is written.

    Attributes:
        disks: nodes of the whole disks.
        why: for people.
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
        why: what it is for, one sentence.
        input: what it reads from standard input; empty means /dev/null.
        timeout_s: after which it is ended.
        claims: disks that it writes although they do not carry our partition yet: asked again whether spare.
        writes: disks that it writes: identity and what makes them ours are read again before.
        when: else the step is left out: nothing to undo.
        before: else it is refused.
        after: what has to be true once it ended, else the step failed.
        signs: places in which it makes a signature of ours; marked before, looked at and marked afterwards.
        equalises: places whose compared bytes are zeroed before, because disks of a mirror may differ there.
        looks: places that are looked at again once it has ended and the kernel lets them go, if this process
            may undo what lies there; of one that cannot be read the journal keeps the look that it has.
        frees: places of what it unmounts: who has unmounted the journal's own mount may undo what lies there.
        owned: places, else the step is left out where this process may not undo what lies in all of them.
        mounts: folder on which it mounts something; which mount that is becomes a fact.
        forgives: texts in the error output that make a failure none: it was already so.
        busy: texts in the error output by which it is run again, for some seconds: somebody only looks at it.
        only_its_disks: whether it finds no other disks than those that it is given.
        undo: what undoes it, in the order of execution.
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
    """Zero our signature in our partition, or in an array of such, if nothing else lies there.

    Attributes:
        node: partition or array.
        place: of the mark.
        signature: what we made there.
        partitions: ours, which hold it.
        why: for people.
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
    """Remove our partition table, if it holds our partition and nothing else, and give the disk back.

    Attributes:
        partition: ours.
        signature: what we made in it.
        why: for people.
        undo: nothing.
    """

    partition: SessionPartition
    signature: SignatureIs
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class MakeFolder:
    """Make the folder of a mount point, mode 0755, in a folder that exists."""

    path: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveFolder:
    """Remove the empty folder of a mount point; one that is gone is none to remove.

    The kernel takes what others have mounted on it, in other mount namespaces, away with it (namei.c,
    vfs_rmdir): so the disks of what was mounted there have to be nobody's any more.

    Attributes:
        path: of it.
        why: for people.
        tables: partition tables of the disks; one that was given back is asked about no more.
        undo: nothing.
    """

    path: str
    why: str
    tables: tuple[SignedPlace, ...] = ()
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Settle:
    """Wait until udevd has handled what happened to these devices; nothing to wait for where none runs."""

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
    """Read the GUID of our pool, imported or from the label of a partition, and give it to the journal."""

    pool: str
    members: tuple[str, ...]
    why: str
    required: bool = True
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Compare what the kernel and the filesystem show with what was asked, option by option.

    Attributes:
        filesystem: id.
        folder: mount point.
        node: a device of it, or the name of the pool.
        options: (id, value) pairs that were asked.
        why: for people.
        expected: what else must be shown of how it was made.
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
    """Compare what the kernel says of an md array with what was asked.

    Attributes:
        node: of the array.
        expected: what must be shown.
        why: for people.
        undo: nothing.
    """

    node: str
    expected: tuple[ExpectedToken, ...]
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBackPool:
    """Compare of what a pool consists with what was asked.

    Attributes:
        pool: imported.
        expected: what must be shown.
        why: for people.
        undo: nothing.
    """

    pool: str
    expected: tuple[ExpectedToken, ...]
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckScheduler:
    """Make sure that the kernel has an I/O scheduler for disks, before anything is written to them.

    A module is not loaded for it: what a machine has is its administrator's choice.

    Attributes:
        disks: nodes of the whole disks.
        scheduler: its name.
        why: for people.
        undo: nothing.
    """

    disks: tuple[str, ...]
    scheduler: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class SetQueue:
    """Give a setting of the kernel for a disk another value; what it was is in the journal before.

    Attributes:
        disk: node of the whole disk.
        place: of the record in the journal.
        setting: which one.
        value: as the kernel writes it.
        why: for people.
        undo: puts it back.
    """

    disk: str
    place: str
    setting: QueueSetting
    value: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreQueue:
    """Give a setting the value back that the journal holds, unless it is nobody's to put back any more.

    That is so where the machine was started anew or the disk came anew, so that the kernel's own value is
    there, and where somebody has set another one meanwhile.

    Attributes:
        disk: node of the whole disk.
        place: of the record in the journal.
        setting: which one.
        why: for people.
        undo: nothing.
    """

    disk: str
    place: str
    setting: QueueSetting
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class SetReadAhead:
    """Give what was made of disks its read-ahead, which ends with it.

    Attributes:
        array: node of an md array; empty for none.
        filesystem_uuid: of a mounted btrfs; empty for none.
        kib: as the kernel writes it.
        why: for people.
        undo: nothing: it goes with the array or the mount.
    """

    array: str
    filesystem_uuid: str
    kib: str
    why: str
    undo: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadBackQueue:
    """Compare what the kernel says of disks, and of what was made of them, with what was asked.

    Attributes:
        disks: nodes of the whole disks.
        array: node of the md array of which the read-ahead was set; empty for none.
        filesystem_uuid: of the mounted btrfs of which it was set; empty for none.
        chosen: settings with their values.
        why: for people.
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
    """Return the name under which the journal holds the GUID of a pool."""
    return f"guid of {pool}"


def describe(step: Step) -> str:
    """Return a step as one line for people and logs: a command as it could be typed, else the reason."""
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
    """Return what a step does, one word."""
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
    """Return what undoes these steps: the undo of each, the last step first."""
    return tuple(undoing for step in reversed(tuple(steps)) for undoing in step.undo)
