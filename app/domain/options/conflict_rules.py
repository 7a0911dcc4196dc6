"""All rules: those of several filesystems, then those of each."""

from __future__ import annotations

from typing import Final

from app.domain.options import conflict_rules_copy_on_write, conflict_rules_in_place
from app.domain.options.conflicts import Action, Circumstances, ConflictRule
from app.domain.options.option import NOT_DURABLE
from app.domain.options.raid import Level
from app.domain.text import tr

_ALIGNMENT: Final = ("stride", "stripe_width", "su", "sw")
_SIZES_DIFFER: Final = 1.01


def _not_durable(it: Circumstances) -> bool:
    classes = {
        item for option, value in it.options.items() for item in it.filesystem.option(option).safety_of(value)
    }
    return bool(NOT_DURABLE & (classes | set(it.filesystem.risks)))


_GENERAL: Final = (
    ConflictRule(
        "C07",
        Action.REFUSE,
        ("full_page_writes",),
        lambda it: it.is_off("full_page_writes") and not it.writes_whole_pages(),
        tr("A crash can leave half-written pages here, which only full page writes repair."),
        "zfs docs; manual 19.5.1",
    ),
    ConflictRule(
        "C24",
        Action.WARN,
        (),
        _not_durable,
        tr("The result is marked NOT DURABLE wherever it is shown and is not ranked among the others."),
        "storage reference, policy",
    ),
    ConflictRule(
        "C25",
        Action.REFUSE,
        ("fsync",),
        lambda it: (
            it.is_off("fsync") and (_not_durable(it) or it.zfs_log_disks > 0) and it.filesystem.id != "tmpfs"
        ),
        tr("With fsync=off the server never asks for durability: this option would have nothing to change."),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C25-equal",
        Action.WARN,
        ("fsync",),
        lambda it: it.is_off("fsync") and it.filesystem.id != "tmpfs",
        tr("With fsync=off all filesystems look alike: nothing is said about how they make commits durable."),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C26",
        Action.IMPLY,
        ("mkfs_discard",),
        lambda it: it.preconditioned and it.value("mkfs_discard") is True,
        tr("Discarding the device would undo its preconditioning: the mkfs program is told not to."),
        "mke2fs(8); mkfs.xfs(8); mkfs.btrfs(8); mkfs.f2fs(8)",
        ("ext4", "ext3", "xfs", "btrfs", "f2fs"),
        (("mkfs_discard", False),),
    ),
    ConflictRule(
        "C30",
        Action.REFUSE,
        ("disks",),
        lambda it: len({disk.logical_block_bytes for disk in it.disks}) > 1,
        tr("The disks address blocks of different sizes: what is aligned on one is not on the other."),
        "mdadm(8); zpool-create(8)",
    ),
    ConflictRule(
        "C30-size",
        Action.WARN,
        ("disks",),
        lambda it: (
            len(it.disks) > 1
            and max(disk.size_bytes for disk in it.disks)
            > _SIZES_DIFFER * min(disk.size_bytes for disk in it.disks)
        ),
        tr("The disks differ in size by more than 1 %: all are used as if as small as the smallest."),
        "mdadm(8); zpool-create(8)",
    ),
    ConflictRule(
        "C30-rotational",
        Action.WARN,
        ("disks",),
        lambda it: len({disk.rotational for disk in it.disks}) > 1,
        tr("Disks that turn and SSDs together run at the speed of those that turn."),
        "mdadm(8)",
    ),
    ConflictRule(
        "C33",
        Action.REFUSE,
        _ALIGNMENT,
        lambda it: it.level is not None and it.level is not Level.SINGLE and bool(it.chosen(*_ALIGNMENT)),
        tr("An array of md is aligned by itself; this is for a RAID controller that looks like one disk."),
        "mke2fs(8); mkfs.xfs(8)",
    ),
)

RULES: Final = (*_GENERAL, *conflict_rules_in_place.RULES, *conflict_rules_copy_on_write.RULES)

NOT_EXPRESSIBLE: Final = {
    "C16": tr("lazy-count, attr2 and ikeep of XFS are not offered"),
    "C19": tr("compression of f2fs is not offered: it does nothing for PostgreSQL"),
    "C22": tr("special and dedup devices of ZFS are not offered"),
    "C23": tr("several log devices of a pool are always mirrored, cache devices are not offered"),
    "C28": tr("several disks below f2fs are always an md array, never its own concatenation"),
}
"""Rules that forbid what cannot be chosen."""

ELSEWHERE: Final = {
    "C29": "app.domain.options.checks",
    "C31": "app.domain.options.checks",
}
"""Rules that look at every option: unknown, duplicate and hostile words; versions."""
