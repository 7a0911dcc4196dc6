"""Where something happens to a disk: the disks of a session, and how an administrator gets at them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, Flag, auto
from pathlib import Path
from typing import Final

from app.domain.storage_plan.plan import PARTITION_NAME_PREFIX
from app.storage.system import state
from tests.disks.matrix.disks import PARTITION_BYTES, PARTITION_START, Disk, Range, run, settle
from tests.disks.matrix.images import Images

RUN = Path("/run/pgfooting")


class Given(Flag):
    """What there is at a moment, and what a kind needs to happen at all."""

    TABLE = auto()
    """The table of the session with its partition, and nothing else."""
    FILESYSTEM = auto()
    """In that partition."""
    MOUNTED = auto()
    DEAD = auto()
    """No helper lives that has the disks open."""
    PLACE = auto()
    """Our partition, or a disk that no helper has open."""
    NEIGHBOUR = auto()
    """Another disk of the session."""
    MADE = TABLE | FILESYSTEM | MOUNTED | PLACE


NO_NEED: Final = Given(0)
LABELLED: Final = frozenset({"ext4", "xfs", "btrfs", "f2fs"})
"""Filesystems that `Given.FILESYSTEM` means: those that can be given a label and mounted by others."""


class Certainty(Enum):
    """When what happened can be told from what a session itself does."""

    ALWAYS = auto()
    """It is of a known kind, or plain to see."""
    WHERE_MADE = auto()
    """Only where the journal says that our signature was complete: what is gone may else never have been."""
    NEVER = auto()
    """It looks like data of ours; no foreign byte may change all the same."""
    UNCHANGED = auto()
    """Nothing of ours was changed: what the session unmounts itself is taken apart to nothing; else it may be
    offered to a person, who then releases it."""
    OURS_ALONE = auto()
    """Nothing was changed, but somebody could have: all that was mounted is offered to a person."""
    USED = auto()
    """Somebody uses what we made as their own: it must be kept, byte for byte, and be told; a person who sees
    it may release it."""
    FAILING = auto()
    """The disk fails: what is left of ours is told and kept, whatever the disk said."""


@dataclass(slots=True)
class Foreign:
    """What happened to a disk.

    Attributes:
        certainty: see there.
        disk: on which it lies.
        ranges: of the disk, which nobody may change; empty for all, None where nothing is foreign.
        words: one of which must be said.
        end: its owner ends it and takes what is foreign away.
        others: further disks that are somebody else's, and must stay as they are.
        fault: says what became of it that should not have, empty where nothing did.
        comes_back: once it has ended, everything is as the session left it.
        begin: lets it begin, after everything was looked at.
    """

    certainty: Certainty
    disk: Disk
    ranges: tuple[Range, ...] | None = ()
    words: tuple[str, ...] = ()
    end: Callable[[], object] = lambda: None
    others: tuple[Disk, ...] = ()
    fault: Callable[[], str] = lambda: ""
    comes_back: bool = False
    begin: Callable[[], object] = lambda: None


@dataclass(slots=True)
class Stage:
    """The disks of one session at the moment at which something happens.

    Attributes:
        disks: in the order of the plan; the last is the subject.
        folder: for files of the test.
        images: foreign contents.
        stack: what the test takes away in the end, whatever happened.
        is_held: whether a helper lives and has the disks open.
        table_uuid: of the table that the session made on the subject; empty before.
        partition_uuid: of its partition.
        place: name of the folder on which the subject's filesystem is mounted.
    """

    disks: list[Disk]
    folder: Path
    images: Images
    stack: ExitStack
    is_held: bool = False
    table_uuid: str = ""
    partition_uuid: str = ""
    place: str = "storage"

    @property
    def subject(self) -> Disk:
        """The disk that something happens to."""
        return self.disks[-1]

    def read_table(self) -> None:
        """Remember the table of the session, if it has made one on the subject."""
        table = self.subject.table()
        if table is not None and table.partitions:
            self.table_uuid, self.partition_uuid = table.uuid, table.partitions[0].uuid

    def has_table(self) -> bool:
        """Whether the subject has the table of the session with its partition, and nothing else."""
        table = self.subject.table()
        return table is not None and bool(table.partitions) and table.uuid == self.table_uuid

    def given(self) -> Given:
        """Return what there is now."""
        found = NO_NEED if self.is_held else Given.DEAD | Given.PLACE
        if len(self.disks) > 1:
            found |= Given.NEIGHBOUR
        if self.is_mounted():
            found |= Given.MOUNTED
        if self.has_table():
            found |= Given.TABLE | Given.PLACE
            if self._type_in_place() in LABELLED:
                found |= Given.FILESYSTEM
        return found

    def mounts(self) -> list[state.MountEntry]:
        """Return where the subject's filesystem is mounted by a session."""
        return [each for each in _mounts() if Path(each.folder).name == self.place]

    def is_mounted(self) -> bool:
        """Whether the subject's filesystem is still mounted."""
        return bool(self.mounts())

    def is_live(self) -> bool:
        """Whether the kernel may write to our partition by itself: mounted, or a pool or array holds it."""
        held = self.subject.has_partition() and state.is_claimed(self.subject.partition)
        return self.is_mounted() or held

    def free(self) -> None:
        """Unmount the subject and stop what it is part of, as an administrator does who wants the disk."""
        for each in reversed(self.mounts()):
            run("umount", each.folder)
        free_pools_and_arrays(self.disks)

    def free_all(self) -> None:
        """The same with all disks of the session."""
        for each in reversed(_mounts()):
            run("umount", each.folder)
        free_pools_and_arrays(self.disks)

    def signature(self) -> str:
        """Return what libblkid finds in the place of our partition, whether the kernel knows that or not."""
        os.sync()  # what a filesystem holds back reaches the disk, whose cache is read again
        return self._type_in_place()

    def _type_in_place(self) -> str:
        run("blockdev", "--flushbufs", self.subject.node, check=False)
        place = (f"--offset={PARTITION_START}", f"--size={PARTITION_BYTES}")
        return run("blkid", "-p", "-o", "value", "-s", "TYPE", *place, self.subject.node, check=False)

    def target(self) -> str:
        """Return the node that an administrator would use: the partition if there is one, else the disk."""
        if not self.has_table():
            return self.subject.node
        if not self.subject.has_partition():
            run("partx", "--add", self.subject.node, check=False)
            settle()
        return self.subject.partition

    def target_range(self) -> Range:
        """Return where on the disk that is."""
        if self.target() == self.subject.node:
            return 0, self.subject.size_bytes
        return PARTITION_START, PARTITION_START + PARTITION_BYTES

    def outside(self) -> tuple[Range, ...]:
        """Return all of the disk but our partition."""
        return (0, PARTITION_START), (PARTITION_START + PARTITION_BYTES, self.subject.size_bytes)


def _mounts() -> list[state.MountEntry]:
    """Return where storage of sessions is mounted, not their folders in memory."""
    entries = state.parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    return [each for each in entries if each.folder.startswith(f"{RUN}/") and each.filesystem != "tmpfs"]


Happening = Callable[[Stage], Foreign | None]
"""Brings it about; None where it turns out that it cannot happen."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What can happen.

    Attributes:
        title: of what happens; names it in results.
        group: formats, raw bytes, tables, disks, failing, used, processes, nothing.
        happen: see `Happening`.
        needs: without which it cannot happen.
        can_fail: whether the subject is a disk that can hang, fail and lie.
    """

    title: str
    group: str
    happen: Happening
    needs: Given = NO_NEED
    can_fail: bool = False


def free_pools_and_arrays(disks: list[Disk]) -> None:
    """Export pools of ours and stop arrays of disks."""
    if Path("/proc/spl/kstat/zfs").exists():
        for pool in run("zpool", "list", "-H", "-o", "name").split():
            if pool.startswith(PARTITION_NAME_PREFIX):
                run("zpool", "export", pool)
    for disk in disks:
        for node in (disk.partition, disk.node) if disk.node else ():
            if array := state.array_on([node]):
                run("mdadm", "--stop", array)
                settle()


def assemble(disks: list[Disk]) -> None:
    """Have every array of these disks run, as after a boot.

    The kernel reads the partitions of a loop device twice: that a partition goes for a moment has udev take
    its array apart again.
    """
    arrays = {array for disk in disks if disk.node and (array := state.array_on([disk.partition]))}
    for array in arrays:
        if not state.size_bytes(array):
            run("mdadm", "--stop", array)
    settle()
    for disk in disks:
        if disk.node and state.array_uuid(disk.partition) and not state.array_on([disk.partition]):
            run("mdadm", "--incremental", disk.partition, check=False)
    settle()
