"""Disks that are pulled, swapped, copied and resized."""

from __future__ import annotations

from functools import partial
from typing import Final

from app.domain.text import MIB
from tests.disks.matrix.disks import DISK_BYTES, Disk, flush, run, settle, write
from tests.disks.matrix.images import FORMATS
from tests.disks.matrix.stage import Certainty, Foreign, Given, Kind, Stage

_XFS: Final = next(form for form in FORMATS if form.name == "xfs")


def _resized(stage: Stage, size_bytes: int) -> Foreign:
    """The disk itself has another size: a volume of a storage array, a file of a loop device."""
    disk = stage.subject
    stage.free()
    flush(disk.node)
    before = disk.file.stat().st_size

    def resize(size: int) -> None:
        with disk.file.open("r+b") as file:
            file.truncate(size)
        run("losetup", "--set-capacity", disk.node)
        settle()

    resize(size_bytes)
    return Foreign(Certainty.NEVER, disk, None, end=partial(resize, before))


def _copy(stage: Stage) -> Disk:
    """Copy the subject to another disk, as dd does: the same identifiers on it."""
    flush(stage.subject.node)
    copy = stage.folder / f"copy {len(list(stage.folder.iterdir()))}"
    run("cp", "--sparse=always", str(stage.subject.file), str(copy))
    made = Disk("", copy)
    made.attach()
    stage.stack.callback(made.detach)
    settle()
    return made


def _cloned(stage: Stage) -> Foreign:
    """A copy of the disk is attached beside it."""
    stage.free()
    copy = _copy(stage)
    return Foreign(Certainty.NEVER, stage.subject, None, end=copy.detach, others=(copy,))


def _pulled(stage: Stage) -> Foreign:
    """The disk is pulled, as all below, which nobody can who has it open."""
    stage.free()
    disk = stage.subject
    disk.detach()
    return Foreign(Certainty.ALWAYS, disk, end=disk.attach, comes_back=True)


def _swapped(stage: Stage) -> Foreign:
    """Another disk with a filesystem is where ours was."""
    stage.free()
    disk = stage.subject
    disk.detach()
    other = Disk.blank(stage.folder / f"swapped {len(list(stage.folder.iterdir()))}")
    stage.stack.callback(other.detach)
    write(other.node, *stage.images.of(_XFS, DISK_BYTES))

    def end() -> None:
        other.detach()
        disk.attach()

    return Foreign(Certainty.ALWAYS, disk, end=end, others=(other,), comes_back=True)


def _replaced_by_copy(stage: Stage) -> Foreign:
    """The disk is gone, and a copy of it is there, with every identifier that we wrote."""
    stage.free()
    disk, copy = stage.subject, _copy(stage)
    disk.detach()

    def end() -> None:
        copy.detach()
        disk.attach()

    return Foreign(Certainty.ALWAYS, disk, end=end, others=(copy,), comes_back=True)


def _plugged_elsewhere(stage: Stage) -> Foreign:
    """The disk is found under another name."""
    stage.free()
    disk = stage.subject
    disk.detach()
    placeholder = Disk.blank(stage.folder / f"first {len(list(stage.folder.iterdir()))}", 16 * MIB)
    stage.stack.callback(placeholder.detach)
    disk.attach()
    settle()
    return Foreign(Certainty.OURS_ALONE, disk, None, others=(placeholder,))


def _exchanged(stage: Stage) -> Foreign:
    """Two disks of the session have exchanged their names."""
    stage.free_all()
    for each in stage.disks:
        each.detach()
    for each in reversed(stage.disks):
        each.attach()
    settle()
    return Foreign(Certainty.OURS_ALONE, stage.subject, None)


DISKS: Final = (
    Kind("disk: grown", "disks", partial(_resized, size_bytes=DISK_BYTES + 100 * MIB)),
    Kind("disk: shrunk", "disks", partial(_resized, size_bytes=DISK_BYTES - 100 * MIB)),
    Kind("disk: copied to another", "disks", _cloned),
    Kind("disk: a copy in its place", "disks", _replaced_by_copy, Given.TABLE | Given.DEAD),
    Kind("disk: pulled", "disks", _pulled, Given.TABLE | Given.DEAD),
    Kind("disk: swapped for one with xfs", "disks", _swapped, Given.TABLE | Given.DEAD),
    Kind("disk: under another name", "disks", _plugged_elsewhere, Given.DEAD),
    Kind(
        "disk: exchanged names with another of the session", "disks", _exchanged, Given.NEIGHBOUR | Given.DEAD
    ),
)
