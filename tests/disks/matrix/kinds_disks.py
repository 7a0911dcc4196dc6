"""Disks that are pulled, swapped, copied and resized."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from app.domain.units import MIB
from tests.disks.matrix.disks import DISK_BYTES, Disk, flush, run, settle, write
from tests.disks.matrix.images import FORMATS
from tests.disks.matrix.stage import Certainty, Foreign, Kind, Stage

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


def _away(stage: Stage, then: Callable[[Disk], Foreign]) -> Foreign | None:
    """The disk is pulled, which nobody can who has it open."""
    if stage.is_held:
        return None
    stage.free()
    return then(stage.subject)


def _pulled(stage: Stage) -> Foreign | None:
    def then(disk: Disk) -> Foreign:
        disk.detach()
        return Foreign(Certainty.ALWAYS, disk, end=disk.attach, comes_back=True)

    return _away(stage, then) if stage.has_table() else None


def _swapped(stage: Stage) -> Foreign | None:
    """Another disk with a filesystem is where ours was."""

    def then(disk: Disk) -> Foreign:
        disk.detach()
        other = Disk.blank(stage.folder / f"swapped {len(list(stage.folder.iterdir()))}")
        stage.stack.callback(other.detach)
        write(other.node, *stage.images.of(_XFS, DISK_BYTES))

        def end() -> None:
            other.detach()
            disk.attach()

        return Foreign(Certainty.ALWAYS, disk, end=end, others=(other,), comes_back=True)

    return _away(stage, then) if stage.has_table() else None


def _replaced_by_copy(stage: Stage) -> Foreign | None:
    """The disk is gone, and a copy of it is there, with every identifier that we wrote."""

    def then(disk: Disk) -> Foreign:
        copy = _copy(stage)
        disk.detach()

        def end() -> None:
            copy.detach()
            disk.attach()

        return Foreign(Certainty.ALWAYS, disk, end=end, others=(copy,), comes_back=True)

    return _away(stage, then) if stage.has_table() else None


def _plugged_elsewhere(stage: Stage) -> Foreign | None:
    """The disk is found under another name."""

    def then(disk: Disk) -> Foreign:
        disk.detach()
        placeholder = Disk.blank(stage.folder / f"first {len(list(stage.folder.iterdir()))}", 16 * MIB)
        stage.stack.callback(placeholder.detach)
        disk.attach()
        settle()
        return Foreign(Certainty.OURS_ALONE, disk, None, others=(placeholder,))

    return _away(stage, then)


def _exchanged(stage: Stage) -> Foreign | None:
    """Two disks of the session have exchanged their names."""
    if len(stage.disks) < 2:
        return None

    def then(disk: Disk) -> Foreign:
        stage.free_all()
        for each in stage.disks:
            each.detach()
        for each in reversed(stage.disks):
            each.attach()
        settle()
        return Foreign(Certainty.OURS_ALONE, disk, None)

    return _away(stage, then)


DISKS: Final = (
    Kind("disk: grown", "disks", partial(_resized, size_bytes=DISK_BYTES + 100 * MIB)),
    Kind("disk: shrunk", "disks", partial(_resized, size_bytes=DISK_BYTES - 100 * MIB)),
    Kind("disk: copied to another", "disks", _cloned),
    Kind("disk: a copy in its place", "disks", _replaced_by_copy),
    Kind("disk: pulled", "disks", _pulled),
    Kind("disk: swapped for one with xfs", "disks", _swapped),
    Kind("disk: under another name", "disks", _plugged_elsewhere),
    Kind("disk: exchanged names with another of the session", "disks", _exchanged),
)
