"""Rules about options and disks, whatever filesystem has them; those of one filesystem stand in its file."""

from __future__ import annotations

from typing import Final

from app.domain.options.conflicts import Action, Circumstances, ConflictRule
from app.domain.options.creation import STRIPE_OPTIONS
from app.domain.options.option import NOT_DURABLE
from app.domain.options.raid import Level
from app.domain.text import tr

_SIZES_DIFFER: Final = 1.01
_JOURNALLED: Final = (
    "data",
    "commit",
    "journal_async_commit",
    "journal_ioprio",
    "journal_bytes",
    "fast_commit",
    "max_batch_time",
    "min_batch_time",
)


def _not_durable(it: Circumstances) -> bool:
    classes = {
        item for option, value in it.options.items() for item in it.filesystem.option(option).safety_of(value)
    }
    return bool(NOT_DURABLE & (classes | set(it.filesystem.risks)))


def _exceeds_page(it: Circumstances) -> bool:
    if it.page_bytes is None or it.number("block_size") <= it.page_bytes:
        return False
    since = it.filesystem.large_blocks_since
    return since is None or since.is_reached(it.versions) is not True


RULES: Final = (
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
            it.is_off("fsync") and (_not_durable(it) or it.zfs_log_disks > 0) and bool(it.filesystem.levels)
        ),
        tr("With fsync=off the server never asks for durability: this option would have nothing to change."),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C25-equal",
        Action.WARN,
        ("fsync",),
        lambda it: it.is_off("fsync") and bool(it.filesystem.levels),
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
        STRIPE_OPTIONS,
        lambda it: it.level is not None and it.level is not Level.SINGLE and bool(it.chosen(*STRIPE_OPTIONS)),
        tr("An array of md is aligned by itself; this is for a RAID controller that looks like one disk."),
        "mke2fs(8); mkfs.xfs(8)",
        idle=True,
    ),
    ConflictRule(
        "C08",
        Action.REFUSE,
        ("full_page_writes", "recordsize"),
        lambda it: it.is_off("full_page_writes") and it.cuts_pages(),
        tr(
            "Records smaller than a page of PostgreSQL (8 KiB where it was not built otherwise) are written "
            "one by one: full page writes have to stay on."
        ),
        "zfs docs",
    ),
    ConflictRule(
        "C09",
        Action.REFUSE,
        _JOURNALLED,
        lambda it: it.value("journal") is False and bool(it.chosen(*_JOURNALLED)),
        tr("Without a journal this option has nothing to change; the kernel refuses most of them."),
        "mke2fs(8); tested (“fs mounted w/o journal”)",
        idle=True,
    ),
    ConflictRule(
        "C11",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: "cluster_bytes" in it.options and it.value("bigalloc") is not True,
        tr("A cluster size needs allocation in clusters (bigalloc)."),
        "mke2fs(8); tested",
        idle=True,
    ),
    ConflictRule(
        "C11-size",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: (  # mke2fs chooses 16 blocks where nobody says a size
            "cluster_bytes" in it.options
            and it.value("bigalloc") is True
            and not 2 * it.number("block_size")
            <= it.number("cluster_bytes")
            <= 32768 * it.number("block_size")
        ),
        tr("A cluster has 2 to 32768 blocks."),
        "mke2fs(8)",
    ),
    ConflictRule(
        "C12",
        Action.REFUSE,
        ("dax", "delalloc", "dioread_nolock"),
        lambda it: (
            it.value("data") == "journal"
            and any(it.options.get(option) is True for option in ("dax", "delalloc", "dioread_nolock"))
        ),
        tr("data=journal turns this off or refuses the mount; direct I/O is off with it too."),
        "ext4.rst; tested (delalloc is refused, dioread_nolock silently dropped)",
    ),
    ConflictRule(
        "C13",
        Action.REFUSE,
        ("block_size",),
        _exceeds_page,
        tr("Blocks larger than the machine's memory page cannot be mounted here (XFS: since Linux 6.12)."),
        "mke2fs(8); mkfs.xfs(8); tested",
    ),
    ConflictRule(
        "C14",
        Action.REFUSE,
        ("stripe_width", "stride"),
        lambda it: (
            len(it.chosen("stripe_width", "stride")) == 2
            and bool(it.number("stripe_width") % it.number("stride"))
        ),
        tr("The stripe width has to be a multiple of the stride; mke2fs only warns."),
        "mke2fs.c; tested",
    ),
    ConflictRule(
        "C21",
        Action.WARN,
        ("logbias",),
        lambda it: it.value("logbias") == "throughput" and it.zfs_log_disks > 0,
        tr("With logbias=throughput the log devices are not used."),
        "zfsprops(7)",
    ),
    ConflictRule(
        "C32",
        Action.REFUSE,
        ("journal_async_commit",),
        lambda it: it.value("journal_async_commit") is True and it.value("data") == "ordered",
        tr("The kernel refuses this while data is ordered: choose data=writeback or data=journal with it."),
        "tested (“can't mount with journal_async_commit in data=ordered mode”)",
    ),
    ConflictRule(
        "C39",
        Action.REFUSE,
        ("min_batch_time", "max_batch_time"),
        lambda it: it.number("min_batch_time") > it.number("max_batch_time"),
        tr("The shortest wait for other commits is longer than the longest."),
        "ext4.rst",
    ),
)
"""Of every filesystem; `FilesystemSpec.rules` come after them."""
