"""Rules of ext4, ext3, XFS and F2FS."""

from __future__ import annotations

from typing import Final

from app.domain.options.conflicts import Action, Circumstances, ConflictRule
from app.domain.options.raid import Level
from app.domain.text import tr

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
_NOT_EXT3: Final = (
    "journal",
    "bigalloc",
    "cluster_bytes",
    "fast_commit",
    "delalloc",
    "dioread_nolock",
    "journal_async_commit",
)
_UNSTRIPED: Final = frozenset({Level.SINGLE, Level.MIRROR})


def _exceeds_page(it: Circumstances) -> bool:
    if it.page_bytes is None or it.number("block_size") <= it.page_bytes:
        return False
    kernel = it.kernel()
    return not (it.filesystem.id == "xfs" and kernel is not None and kernel >= (6, 12))


RULES: Final = (
    ConflictRule(
        "C01",
        Action.REFUSE,
        ("barrier",),
        lambda it: "barrier" in it.options and (it.kernel() or (0,)) >= (4, 19),
        tr(
            "XFS has had no such option since Linux 4.19: it always flushes, and refuses the mount otherwise."
        ),
        "xfs.rst, “Removed Mount Options”; tested",
        ("xfs",),
    ),
    ConflictRule(
        "C09",
        Action.REFUSE,
        _JOURNALLED,
        lambda it: it.value("journal") is False and bool(it.chosen(*_JOURNALLED)),
        tr("Without a journal this option has nothing to change; the kernel refuses most of them."),
        "mke2fs(8); tested (“fs mounted w/o journal”)",
        ("ext4",),
    ),
    ConflictRule(
        "C10",
        Action.REFUSE,
        _NOT_EXT3,
        lambda it: bool(it.chosen(*_NOT_EXT3)),
        tr("With this it would not be ext3 any more, and the kernel refuses it."),
        "mke2fs(8) -t; tested",
        ("ext3",),
    ),
    ConflictRule(
        "C11",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: "cluster_bytes" in it.options and it.value("bigalloc") is not True,
        tr("A cluster size needs allocation in clusters (bigalloc)."),
        "mke2fs(8); tested",
        ("ext4",),
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
        ("ext4",),
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
        ("ext4",),
    ),
    ConflictRule(
        "C13",
        Action.REFUSE,
        ("block_size",),
        _exceeds_page,
        tr("Blocks larger than the machine's memory page cannot be mounted here (XFS: since Linux 6.12)."),
        "mke2fs(8); mkfs.xfs(8); tested",
        ("ext4", "ext3", "xfs"),
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
        ("ext4", "ext3"),
    ),
    ConflictRule(
        "C15",
        Action.REFUSE,
        ("su", "sw"),
        lambda it: len(it.chosen("su", "sw")) == 1,
        tr("Stripe unit and stripe width go together: mkfs.xfs takes neither alone."),
        "mkfs.xfs(8)",
        ("xfs",),
    ),
    ConflictRule(
        "C17",
        Action.REFUSE,
        ("logbsize", "log_su"),
        lambda it: (
            len(it.chosen("logbsize", "log_su")) == 2 and bool(it.number("logbsize") % it.number("log_su"))
        ),
        tr("A log buffer has to be a multiple of the log's stripe unit: the kernel refuses smaller ones."),
        "xfs.rst; tested",
        ("xfs",),
    ),
    ConflictRule(
        "C18",
        Action.WARN,
        ("swalloc",),
        lambda it: it.value("swalloc") is True and it.level in _UNSTRIPED and "sw" not in it.options,
        tr("Without stripes there is no stripe width to align to: this changes nothing."),
        "xfs.rst",
        ("xfs",),
    ),
    ConflictRule(
        "C18-largeio",
        Action.WARN,
        ("largeio",),
        lambda it: (
            it.value("largeio") is True and it.level in _UNSTRIPED and not it.chosen("sw", "allocsize")
        ),
        tr("Without stripes or a preallocation size there is nothing larger to tell: this changes nothing."),
        "xfs.rst",
        ("xfs",),
    ),
    ConflictRule(
        "C20",
        Action.REFUSE,
        ("gc_merge", "background_gc"),
        lambda it: it.value("gc_merge") is True and it.value("background_gc") == "off",
        tr("The thread that cleans for others is the one of cleaning in the background, which is off."),
        "f2fs.rst; tested (accepted by Linux 6.1 without effect)",
        ("f2fs",),
    ),
    ConflictRule(
        "C20-nobarrier",
        Action.WARN,
        ("fsync_mode", "barrier"),
        lambda it: it.value("fsync_mode") == "nobarrier" and it.value("barrier") is False,
        tr("Both say the same: one of them is enough."),
        "f2fs.rst",
        ("f2fs",),
    ),
    ConflictRule(
        "C32",
        Action.REFUSE,
        ("journal_async_commit",),
        lambda it: it.value("journal_async_commit") is True and it.value("data") == "ordered",
        tr("The kernel refuses this while data is ordered: choose data=writeback or data=journal with it."),
        "tested (“can't mount with journal_async_commit in data=ordered mode”)",
        ("ext4",),
    ),
    ConflictRule(
        "C34",
        Action.IMPLY,
        ("errors",),
        lambda it: "errors" not in it.options and (it.kernel() or (0,)) >= (6, 5),
        tr("An I/O error makes the filesystem read-only, so that the run ends and is not measured over it."),
        "f2fs.rst",
        ("f2fs",),
        (("errors", "remount-ro"),),
    ),
    ConflictRule(
        "C39",
        Action.REFUSE,
        ("min_batch_time", "max_batch_time"),
        lambda it: it.number("min_batch_time") > it.number("max_batch_time"),
        tr("The shortest wait for other commits is longer than the longest."),
        "ext4.rst",
        ("ext4", "ext3"),
    ),
)
