"""What users read about the options of filesystems: by filesystem and id of the option, beside its format.

Sources, abbreviated:
  mount(8)      util-linux 2.38, mount(8); Linux, mount(2)
  ext4.rst      Linux Documentation/admin-guide/ext4.rst
  xfs.rst       Linux Documentation/admin-guide/xfs.rst
  f2fs.rst      Linux Documentation/filesystems/f2fs.rst
  tmpfs.rst     Linux Documentation/filesystems/tmpfs.rst
  btrfs(5)      btrfs-progs Documentation/ch-mount-options.rst
  zfsprops(7), zpoolprops(7), zfs(4)  OpenZFS manual pages; defaults cross-checked at release tags
  zfs docs      openzfs-docs, Performance and Tuning/Workload Tuning.rst
  manual        PostgreSQL 18 manual
  2011          “Effects of filesystems and mount options upon PostgreSQL performance”, 2011-04-21
  Vondra 2016   T. Vondra, “PostgreSQL na EXT3/4, XFS, BTRFS a ZFS”, FOSDEM PgDay, 2016-01-28
  Vondra 2022   T. Vondra, “Postgres vs. File Systems: A Performance Comparison”, EDB, 2022-10-10, and the
                scripts published with it (pg-fs-benchmark)
  tested        seen by a test of this project (tests/disks/test_option_facts.py, tests/machine)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.domain.options.kinds import words
from app.domain.options.option_spec import KERNEL, ChoiceValue, Component, OptionText, Requirement, Safety
from app.domain.text import KIB, titled, tr

E2FSPROGS: Final = Component("e2fsprogs")
BTRFS_PROGS: Final = Component("btrfs-progs")
OPENZFS: Final = Component("OpenZFS")
_KERNEL_5_5: Final = (Requirement(KERNEL, (5, 5)),)
_FAST_ZSTD: Final = (Requirement(KERNEL, (6, 15)),)
_ZFS_2_1_11: Final = (Requirement(OPENZFS, (2, 1, 11)),)
_ZFS_2_2: Final = (Requirement(OPENZFS, (2, 2)),)
_ZFS_2_3: Final = (Requirement(OPENZFS, (2, 3)),)

ALWAYS: Final = {
    "nodev": (tr("device nodes on the filesystem are ignored"), "mount(8); CVE-2025-6019"),
    "nosuid": (tr("programs on the filesystem cannot gain privileges"), "mount(8); CVE-2025-6019"),
    "errors=remount-ro": (tr("an I/O error ends the run instead of being overwritten"), "ext4.rst"),
    "lazy_itable_init=0": (
        tr("otherwise the kernel zeroes inode tables in the background during the benchmark"),
        "mke2fs(8)",
    ),
    "lazy_journal_init=0": (tr("otherwise a crash could replay old journal content"), "mke2fs(8)"),
    "cachefile=none": (tr("the pool is not imported automatically at boot"), "zpoolprops(7)"),
    "failmode=continue": (tr("a failed disk ends the run instead of hanging it"), "zpoolprops(7)"),
    "mountpoint=legacy": (tr("pgFooting mounts it, like every other filesystem"), "zfsprops(7)"),
    "canmount=noauto": (tr("pgFooting mounts it, like every other filesystem"), "zfsprops(7)"),
    "setuid=off": (tr("programs on the filesystem cannot gain privileges"), "zfsprops(7)"),
    "devices=off": (tr("device nodes on the filesystem are ignored"), "zfsprops(7)"),
}
"""Why each fixed argument (`FormatSpec.always`) is passed, and the source of that, by its item."""

COMMON: Final = {
    "atime": OptionText(
        tr("Access times"),
        tr("Whether reading a table also writes its access time, which PostgreSQL never uses."),
        "mount(8); 2011; tested",
        values=(
            ChoiceValue("relatime", tr("at most once after each change, and once a day")),
            ChoiceValue("noatime", tr("reads never set atime")),
            ChoiceValue("strictatime", tr("every read updates metadata")),
        ),
        word="noatime",
    ),
    "lazytime": OptionText(
        tr("Lazy timestamps"),
        tr("Keeps timestamps in memory for up to a day, so timestamp changes alone cause no write."),
        "mount(8); tested",
    ),
    "discard": OptionText(
        tr("Online discard"),
        tr(
            "Tells the SSD immediately which blocks are free; costs latency at checkpoints. fstrim does it "
            "later."
        ),
        "xfs.rst (“performance impact quite severe”); ext4.rst; Vondra 2016 (little effect); tested",
    ),
    "barrier": OptionText(
        tr("Write barriers"),
        tr("Off: fsync returns before the disk's write cache is flushed, so commits wait less."),
        "ext4.rst; 2011 (235 against 2392 tps); Vondra 2016; tested",
        risks=((False, (Safety.LOSES_COMMITS_WITHOUT_PLP,)),),
    ),
    "full_page_writes": OptionText(
        tr("Full page writes"),
        tr("Off: no full pages in WAL after a checkpoint. Only safe if pages are never torn."),
        "manual 19.5.1; zfs docs; Vondra 2022",
        risks=((False, (Safety.TORN_PAGES,)),),
    ),
    "wal_init_zero": OptionText(
        tr("Zero new WAL files"),
        tr(
            "Off: a new WAL file is only sized, not written. Copy on write would not reuse the zeroed blocks."
        ),
        "manual 19.5.1; Vondra 2022",
        of_wal=True,
    ),
    "file_extend_method": OptionText(
        tr("File extension method"),
        tr(
            "How the server extends a table by many pages at once, as in loading. Reserving space disables "
            "btrfs compression. PostgreSQL releases since February 2026 (16 and newer) have this setting."
        ),
        "manual 19.4 (“BTRFS known to disable compression”); tested",
        values=(
            ChoiceValue("posix_fallocate", tr("space is reserved first: btrfs never compresses such a file")),
            ChoiceValue("write_zeros", tr("zeros are written first, so the file can be compressed")),
        ),
    ),
    "wal_recycle": OptionText(
        tr("Recycle WAL files"),
        tr(
            "Off: always creates a new WAL file, because renaming an old one saves nothing with copy on "
            "write."
        ),
        "manual 19.5.1; Vondra 2022",
        of_wal=True,
    ),
    "mkfs_discard": OptionText(
        tr("Discard at creation"),
        tr("On: all blocks start as free, almost as on a new SSD. Off: they stay as they are."),
        "mke2fs(8)",
        unseen=tr("discarding before creating a filesystem leaves no trace in it"),
        risks=((False, (Safety.DISTORTS,)),),
    ),
}

EXT4: Final = {
    **COMMON,
    "block_size": OptionText(
        titled(tr("block size")),
        tr("Unit of allocation, at most the machine's memory page (XFS: larger ones since Linux 6.12)."),
        "mke2fs(8); tested",
    ),
    "stride": OptionText(
        tr("Stripe unit"),
        tr("Chunk size of a RAID controller; set automatically on md."),
        "mke2fs(8); Vondra 2022; tested",
    ),
    "stripe_width": OptionText(
        tr("Stripe width"),
        tr("Full stripe of a RAID controller, in blocks; allocations align with it to avoid parity reads."),
        "mke2fs(8); Vondra 2022; tested",
    ),
    "reserved_percent": OptionText(
        tr("Reserved for root"),
        tr("Space that PostgreSQL cannot use; less leaves more for data."),
        "mke2fs(8)",
        unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
    ),
    "journal": OptionText(
        tr("Journal"),
        tr("Off: fsync writes no journal, but a crash needs fsck and can lose files."),
        "mke2fs(8); ext4(5); tested",
        risks=((False, (Safety.LOSES_COMMITS,)),),
    ),
    "journal_bytes": OptionText(
        tr("Journal size"),
        tr("A larger one is emptied less often when much metadata changes."),
        "mke2fs(8)",
        unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
    ),
    "fast_commit": OptionText(
        tr("Fast commits"),
        tr("fsync logs metadata changes instead of whole blocks: fewer bytes if a commit changes metadata."),
        "ext4(5); tested",
        risks=((True, (Safety.EXPERIMENTAL,)),),
        since=(Requirement(KERNEL, (5, 10)), Requirement(E2FSPROGS, (1, 46))),
    ),
    "bigalloc": OptionText(
        tr("Clustered allocation"),
        tr("Space is allocated in clusters of many blocks: fewer allocations while tables grow."),
        "ext4(5) (“under development”); mke2fs(8); tested",
        risks=((True, (Safety.EXPERIMENTAL,)),),
    ),
    "cluster_bytes": OptionText(
        tr("Cluster size"),
        tr("Size of an allocation cluster; small files occupy a whole cluster."),
        "mke2fs(8); tested",
    ),
    "data": OptionText(
        tr("Journal mode"),
        tr("Whether file data is journalled or only ordered with the journal. PostgreSQL has its own WAL."),
        "ext4.rst; manual 28.3; 2011; tested",
        values=(
            ChoiceValue("ordered", tr("data is written before the metadata that points to it")),
            ChoiceValue("writeback", tr("no order: after a crash files can contain old disk content")),
            ChoiceValue("journal", tr("all data is written twice, and direct I/O is off")),
        ),
        risks=(("writeback", (Safety.STALE_DATA,)),),
    ),
    "commit": OptionText(
        tr("Commit interval"),
        tr("How long metadata may stay in memory; PostgreSQL's commits use fsync and do not wait for it."),
        "ext4.rst; 2011 (commit=999); tested",
    ),
    "delalloc": OptionText(
        tr("Delayed allocation"),
        tr("Blocks are allocated at writeback, not when PostgreSQL writes: longer contiguous runs."),
        "ext4.rst; tested",
    ),
    "dioread_nolock": OptionText(
        tr("Direct reads without inode lock"),
        tr("With direct I/O, writes into new blocks do not block readers of the same table."),
        "Linux commit 244adf6426ee (default since 5.6; ext4.rst is older); tested",
    ),
    "journal_async_commit": OptionText(
        tr("Asynchronous journal commit"),
        tr("fsync waits for the disk one time less. The kernel refuses this option with data=ordered."),
        "ext4.rst; ext4(5); tested",
        risks=((True, (Safety.EXPERIMENTAL,)),),
    ),
    "max_batch_time": OptionText(
        tr("Maximum batch time"),
        tr("How long an fsync may wait for others to join: affects TPS and latency with few clients."),
        "ext4.rst; tested",
    ),
    "min_batch_time": OptionText(
        tr("Minimum batch time"),
        tr("Shortest wait of an fsync for others to join: more share a flush, but each takes longer."),
        "ext4.rst; tested",
    ),
    "journal_ioprio": OptionText(
        tr("Journal I/O priority"),
        tr("Lower is more urgent; only with I/O schedulers that support priorities (BFQ, mq-deadline)."),
        "ext4.rst; tested (never shown)",
        unseen=tr("the kernel does not show it among the mount options"),
    ),
    "auto_da_alloc": OptionText(
        tr("Flush replaced files"),
        tr(
            "Writes files that replace others immediately; PostgreSQL calls fsync itself and does not need "
            "this."
        ),
        "ext4.rst; tested",
    ),
    "block_validity": OptionText(
        tr("Block validity check"),
        tr("Checks every block number against the metadata's own blocks, for a little CPU per allocation."),
        "ext4.rst (on; the manual page ext4(5) says off); tested",
    ),
    "dax": OptionText(
        tr("Direct access (DAX)"),
        tr("Bypasses the page cache on persistent memory (pmem); the kernel refuses it on other disks."),
        "ext4.rst; tested (refusal only)",
        since=(Requirement(KERNEL, (5, 8)),),
        untested=True,
    ),
}

XFS: Final = {
    **COMMON,
    "mkfs_discard": replace(COMMON["mkfs_discard"], source="mkfs.xfs(8)"),
    "barrier": replace(
        COMMON["barrier"],
        source="xfs.rst, “Removed Mount Options”; 2011 (227 against 2439 tps); Vondra 2016; tested (refused)",
        removed=(Requirement(KERNEL, (4, 19)),),
    ),
    "logbufs": OptionText(
        tr("Log buffers"),
        tr("How many metadata log buffers can be in flight at once; fewer can slow down parallel fsyncs."),
        "xfs.rst; tested",
    ),
    "logbsize": OptionText(
        tr("Log buffer size"),
        tr("Larger buffers write the metadata log in fewer, larger pieces when many files change."),
        "xfs.rst; tested (the kernel shows KiB, and refuses less than the log's stripe unit)",
    ),
    "allocsize": OptionText(
        tr("Preallocation"),
        tr("Space reserved beyond the end of a growing file; a fixed size turns dynamic sizing off."),
        "xfs.rst; tested (rounded down to a power of two without a word)",
    ),
    "largeio": OptionText(
        tr("Preferred I/O size"),
        tr("Reports the stripe width to programs as the best I/O size; PostgreSQL does not use it."),
        "xfs.rst; tested",
    ),
    "swalloc": OptionText(
        tr("Stripe width allocation"),
        tr(
            "Files growing by more than a stripe start at a stripe boundary, so parity RAID gets full "
            "stripes."
        ),
        "xfs.rst; tested",
    ),
    "wsync": OptionText(
        tr("Synchronous metadata"),
        tr("Every change of a directory waits for the disk: slower creation of WAL segments and tables."),
        "xfs.rst; tested",
    ),
    "quota": OptionText(
        tr("Quotas"),
        tr(
            "Counts disk space per user, which PostgreSQL does not need: a little metadata for each "
            "allocation."
        ),
        "xfs.rst; 2011 (noquota); tested",
    ),
    "block_size": OptionText(
        titled(tr("block size")),
        tr("Unit of allocation, at most the machine's memory page (XFS: larger ones since Linux 6.12)."),
        "mkfs.xfs(8); tested",
    ),
    "su": OptionText(
        tr("Stripe unit"),
        tr("Chunk size of a RAID controller; set automatically on md."),
        "mkfs.xfs(8); Vondra 2022; tested",
    ),
    "sw": OptionText(
        tr("Stripe width"),
        tr("Number of data disks in a full stripe of the RAID controller."),
        "mkfs.xfs(8); Vondra 2022; tested",
    ),
    "agcount": OptionText(
        tr("Allocation groups"),
        tr("How many allocations can happen in parallel: matters when many tables grow at once."),
        "mkfs.xfs(8); tested",
    ),
    "reflink": OptionText(
        tr("Reflinks"),
        tr("Allows copies that share data; off saves reference counting on each allocation."),
        "mkfs.xfs(8); tested",
    ),
    "rmapbt": OptionText(
        tr("Reverse mapping"),
        tr("Records the owner of each extent for repairs: more metadata per allocation."),
        "mkfs.xfs(8) (off in xfsprogs 6.1, on in 6.13); tested",
    ),
    "finobt": OptionText(
        tr("Free inode B-tree"),
        tr("Finds space for new files faster, at the cost of a little more metadata."),
        "mkfs.xfs(8); tested",
    ),
    "log_bytes": OptionText(
        tr("Metadata log size"),
        tr("A larger one is emptied less often when much metadata changes."),
        "mkfs.xfs(8)",
        unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
    ),
    "log_su": OptionText(
        tr("Log stripe unit"),
        tr("Log writes are padded to this size, so each fsync of metadata writes whole chunks."),
        "mkfs.xfs(8); xfs_mkfs.c (at most 256 KiB)",
        unseen=tr("the mkfs program adjusts it to the stripes below"),
    ),
}

_STRONGER: Final = tr("a higher level saves more and takes more CPU")
_FAST: Final = tr("faster than level 1, saves less")
_SLOW: Final = tr("slower than zstd")

_BTRFS_COMPRESSIONS: Final = (
    ChoiceValue("off"),
    ChoiceValue("lzo", tr("fast, little saved")),
    *(ChoiceValue(f"zstd:{level}", _STRONGER) for level in range(1, 16)),
    *(ChoiceValue(f"zstd:-{level}", _FAST, since=_FAST_ZSTD) for level in range(1, 16)),
    *(ChoiceValue(f"zlib:{level}", _SLOW) for level in range(1, 10)),
)

BTRFS: Final = {
    **COMMON,
    "mkfs_discard": replace(COMMON["mkfs_discard"], source="mkfs.btrfs(8)"),
    "barrier": replace(
        COMMON["barrier"], source="btrfs(5) (“most certainly … corrupted”); Vondra 2016; tested"
    ),
    "datacow": OptionText(
        tr("Copy on write"),
        tr("Off: tables are overwritten in place, without checksums or compression."),
        "btrfs(5); 2011; Vondra 2016; tested",
        on_files=words(None, "C"),
        risks=((False, (Safety.NO_CHECKSUMS, Safety.TORN_PAGES)),),
    ),
    "datasum": OptionText(
        tr("Data checksums"),
        tr("Off: no checksum for the blocks that PostgreSQL writes."),
        "btrfs(5); tested",
        risks=((False, (Safety.NO_CHECKSUMS,)),),
    ),
    "compress": OptionText(
        tr("Compression"),
        tr("Fewer bytes written for more CPU; a file whose first blocks do not shrink is not compressed."),
        "btrfs(5); Vondra 2016; tested",
        values=_BTRFS_COMPRESSIONS,
        tried=("off", "lzo", "zstd:1", "zstd:3"),
    ),
    "compress_force": OptionText(
        tr("Forced compression"),
        tr("Like compression, but tried on every write, even if earlier blocks did not shrink."),
        "btrfs(5); tested",
        values=_BTRFS_COMPRESSIONS,
    ),
    "ssd": OptionText(
        tr("SSD allocation scheme"),
        tr(
            "How btrfs finds free space: “ssd” uses larger areas, “ssd_spread” only wholly free ones. The "
            "default depends on the disk type. It has little effect since Linux 4.14."
        ),
        "btrfs(5); Vondra 2016; Vondra 2022; tested",
        word="ssd, nossd",
    ),
    "discard": OptionText(
        tr("Online discard"),
        tr(
            "When btrfs discards freed blocks: in the background (async), at each filesystem commit, which "
            "waits for it (sync), or never (off)."
        ),
        "btrfs(5) (async where the disk can since Linux 6.2); Vondra 2016; tested",
        since=(Requirement(KERNEL, (5, 6)),),
    ),
    "commit": OptionText(
        tr("Commit interval"),
        tr("How long changes may wait before a full filesystem commit, which can show as a dip in TPS."),
        "btrfs(5); tested",
    ),
    "flushoncommit": OptionText(
        tr("Flush data on commit"),
        tr("Each filesystem commit first writes all data: longer dips, but the disk content is consistent."),
        "btrfs(5); tested",
    ),
    "treelog": OptionText(
        tr("Tree log"),
        tr("Off: each PostgreSQL commit waits for a full filesystem commit, which is very slow."),
        "btrfs(5); tested",
    ),
    "autodefrag": OptionText(
        tr("Automatic defragmentation"),
        tr("Rewrites data scattered by small writes; “not well suited for large database workloads”."),
        "btrfs(5); tested",
    ),
    "thread_pool": OptionText(
        tr("Worker threads"),
        tr("Kernel threads for compression and checksums; default: min(CPUs + 2, 8)."),
        "btrfs(5); tested (not shown where it is the default)",
        unseen=tr("the kernel does not show it if it equals the value the kernel chose"),
    ),
    "max_inline": OptionText(
        tr("Maximum inline size"),
        tr("Stores files up to this size in metadata; hardly matters for PostgreSQL."),
        "btrfs(5); tested",
    ),
    "mirror_copies": OptionText(
        tr("Mirror copies"),
        tr(
            "Number of disks that hold each block. Three copies survive two failed disks, four survive "
            "three, but they need more writes and space."
        ),
        "mkfs.btrfs(8), PROFILES; tested",
        values=(
            ChoiceValue("2"),
            ChoiceValue("3", since=_KERNEL_5_5),
            ChoiceValue("4", since=_KERNEL_5_5),
        ),
        word="-d raid1c3, raid1c4",
    ),
    "metadata_profile": OptionText(
        tr("Metadata profile"),
        tr(
            "Copies of metadata, which every filesystem commit changes: one (single, raid0), two (raid1, "
            "raid10, dup on the same disk), three (raid1c3) or four (raid1c4)."
        ),
        "mkfs.btrfs(8), PROFILES; tested",
        values=(
            ChoiceValue("single"),
            ChoiceValue("dup"),
            ChoiceValue("raid0"),
            ChoiceValue("raid1"),
            ChoiceValue("raid1c3", since=_KERNEL_5_5),
            ChoiceValue("raid1c4", since=_KERNEL_5_5),
            ChoiceValue("raid10"),
        ),
        risks=(("single", (Safety.LESS_REDUNDANCY,)), ("raid0", (Safety.LESS_REDUNDANCY,))),
        word="-m",
    ),
    "checksum": OptionText(
        tr("Checksum algorithm"),
        tr(
            "Costs CPU for each block: least with crc32c (a CPU instruction) and xxhash, more with the "
            "cryptographic sha256 and blake2."
        ),
        "mkfs.btrfs(8); tested",
        since=(*_KERNEL_5_5, Requirement(BTRFS_PROGS, (5, 5))),
        word="--csum",
    ),
    "nodesize": OptionText(
        tr("Metadata node size"),
        tr("Smaller blocks lock and write less per change; larger ones make shallower trees."),
        "mkfs.btrfs(8); tested",
    ),
    "nocow_attribute": OptionText(
        tr("No copy on write in PGDATA"),
        tr("Turns copy on write off for the data directory only (chattr +C); the rest keeps its checksums."),
        "btrfs(5); chattr(1); tested",
        on_files=words("C", None),
        risks=((True, (Safety.NO_CHECKSUMS, Safety.TORN_PAGES)),),
    ),
}

_ZFS_COMPRESSIONS: Final = (
    ChoiceValue("off"),
    ChoiceValue("lz4", tr("fast: nearly always worth it")),
    ChoiceValue("zle", tr("runs of zeroes only")),
    ChoiceValue("lzjb", tr("legacy, worse than lz4")),
    *(ChoiceValue(f"zstd-{level}", _STRONGER) for level in range(1, 20)),
    *(ChoiceValue(f"zstd-fast-{level}", _FAST) for level in (*range(1, 11), *range(20, 101, 10), 500, 1000)),
    *(ChoiceValue(f"gzip-{level}", _SLOW) for level in range(1, 10)),
)

ZFS: Final = {
    **COMMON,
    "full_page_writes": replace(
        COMMON["full_page_writes"],
        effect=tr(
            "Off: no full pages in WAL after a checkpoint. Safe for records of 8 KiB or more, but not once "
            "the data directory is copied to another filesystem."
        ),
        risks=(),
    ),
    "ashift": OptionText(
        tr("Sector size (as a power of two)"),
        tr("12 means 4 KiB sectors; if smaller than the SSD's own pages, the SSD reads before it writes."),
        "zpoolprops(7); Vondra 2022; tested",
        tried=(12, 13),
    ),
    "autotrim": OptionText(
        tr("Online discard"),
        tr("Gradually tells the SSD which blocks are free, which costs latency while PostgreSQL runs."),
        "zpoolprops(7); tested",
    ),
    "recordsize": OptionText(
        tr("Record size"),
        tr(
            "Each changed page rewrites a whole record: records of one page (8 KiB) write least, larger "
            "ones compress better."
        ),
        "zfsprops(7); zfs docs (32 KiB, earlier 8 KiB); Vondra 2016; Vondra 2022; tested",
        written_whole=True,
        tried=(8 * KIB, 16 * KIB, 32 * KIB),
    ),
    "compression": OptionText(
        tr("Compression"),
        tr("Fewer bytes written for more CPU; helps only if a record shrinks by a whole sector."),
        "zfsprops(7); release tags (off until 2.1, lz4 since 2.2); Vondra 2022; tested",
        values=_ZFS_COMPRESSIONS,
        tried=("off", "lz4", "zstd-3"),
    ),
    "atime": OptionText(
        tr("Access times"),
        tr("Whether reading a table also writes its access time, which PostgreSQL never uses."),
        "zfsprops(7); release tags (strict until 2.1, relatime since 2.2); Vondra 2022; tested",
        values=(
            ChoiceValue("relatime", tr("at most once after each change, and once a day")),
            ChoiceValue("noatime", tr("reads never set atime")),
            ChoiceValue("strictatime", tr("every read updates metadata")),
        ),
        word="atime",
    ),
    "logbias": OptionText(
        tr("Log bias"),
        tr(
            "With “latency”, the log serves fsync, on log devices if any. With “throughput”, data goes to "
            "its final place, which bypasses log devices and fragments."
        ),
        "zfsprops(7); zfs docs; Vondra 2016; Vondra 2022; tested",
    ),
    "sync": OptionText(
        tr("Synchronous writes"),
        tr(
            "fsync waits for the disk (standard), or every write does (always). With “disabled”, nothing "
            "waits: a crash can lose the last seconds of commits (about 5 s, or more)."
        ),
        "zfsprops(7) (“very dangerous … ignoring synchronous demands of databases”); zfs(4); tested",
        risks=(("disabled", (Safety.LOSES_COMMITS,)),),
    ),
    "redundant_metadata": OptionText(
        tr("Redundant metadata"),
        tr(
            "Fewer extra copies mean fewer writes. One bad block can lose one record with “all”, about 1000 "
            "records with “most”, a file with “some”, the dataset with “none”."
        ),
        "zfsprops(7); zfs docs; Vondra 2022; tested (some and none are older than 2.2)",
        values=(
            ChoiceValue("all"),
            ChoiceValue("most"),
            ChoiceValue("some", since=_ZFS_2_1_11),
            ChoiceValue("none", since=_ZFS_2_1_11),
        ),
        risks=tuple((value, (Safety.LESS_REDUNDANCY,)) for value in ("most", "some", "none")),
    ),
    "primarycache": OptionText(
        tr("ARC contents"),
        tr(
            "PostgreSQL relies on the ARC behind shared_buffers. With “metadata”, every read beyond "
            "shared_buffers goes to the disk; “none” is very slow."
        ),
        "zfsprops(7); zfs docs; tested",
    ),
    "prefetch": OptionText(
        tr("Prefetch"),
        tr("Whether sequential scans are prefetched; random reads do not need it."),
        "zfsprops(7)",
        since=_ZFS_2_3,
        untested=True,
    ),
    "direct": OptionText(
        tr("Direct I/O"),
        tr(
            "“standard” bypasses the ARC if PostgreSQL requests it (debug_io_direct), “always” whenever "
            "possible, “disabled” never. Direct writes need records no larger than a page."
        ),
        "zfsprops(7); release tags",
        since=_ZFS_2_3,
        untested=True,
    ),
    "checksum": OptionText(
        tr("Checksum algorithm"),
        tr(
            "Costs CPU for each record. fletcher4 (on) is cheap; the others are cryptographic, and of these "
            "edonr and blake3 are fast."
        ),
        "zfsprops(7); tested",
        values=(
            ChoiceValue("on"),
            ChoiceValue("fletcher4"),
            ChoiceValue("sha256"),
            ChoiceValue("sha512"),
            ChoiceValue("skein"),
            ChoiceValue("edonr"),
            ChoiceValue("blake3", since=_ZFS_2_2, untested=True),
        ),
    ),
    "copies": OptionText(
        tr("Block copies"),
        tr("Everything is written this many times; not a substitute for a mirror."),
        "zfsprops(7); tested",
    ),
    "xattr": OptionText(
        tr("Extended attributes"),
        tr("Where file attributes are stored. PostgreSQL sets none; if SELinux does, “sa” saves one I/O."),
        "zfsprops(7); release tags (dir until 2.2, sa since 2.3); tested",
    ),
}

F2FS: Final = {
    **COMMON,
    "mkfs_discard": replace(COMMON["mkfs_discard"], source="mkfs.f2fs(8)"),
    "barrier": replace(
        COMMON["barrier"],
        source="f2fs.rst (order is kept); Vondra 2016; tested (6.1 refuses the word barrier)",
    ),
    "discard": replace(COMMON["discard"], source="f2fs.rst (on where the disk can); Vondra 2016; tested"),
    "fsync_mode": OptionText(
        tr("fsync mode"),
        tr(
            "How much fsync guarantees: “strict” as much as ext4, XFS and btrfs (use it to compare), "
            "“posix” less. “nobarrier” does not flush the disk's write cache."
        ),
        "f2fs.rst; tested",
        risks=(("nobarrier", (Safety.LOSES_COMMITS_WITHOUT_PLP,)),),
    ),
    "mode": OptionText(
        tr("Write mode"),
        tr(
            "How random writes reach the disk: “adaptive” may overwrite in place, “lfs” always appends and "
            "cleans more."
        ),
        "f2fs.rst; tested",
    ),
    "background_gc": OptionText(
        tr("Background garbage collection"),
        tr(
            "When segments are cleaned, which competes with PostgreSQL: “on” while the disk is idle, “sync” "
            "also synchronously, “off” only when space runs out."
        ),
        "f2fs.rst; tested",
        risks=(("off", (Safety.DISTORTS,)),),
    ),
    "gc_merge": OptionText(
        tr("Merge garbage collection requests"),
        tr("One thread cleans for all backends waiting for space, which shortens stalls."),
        "f2fs.rst; tested",
        since=(Requirement(KERNEL, (5, 13)),),
    ),
    "checkpoint_merge": OptionText(
        tr("Merge filesystem checkpoints"),
        tr("fsyncs that need a filesystem checkpoint share one, which shortens stalls."),
        "f2fs.rst; tested",
        since=(Requirement(KERNEL, (5, 12)),),
    ),
    "flush_merge": OptionText(
        tr("Merge flushes"),
        tr("Flushes of concurrent commits become one: more TPS with many clients."),
        "f2fs.rst; tested",
    ),
    "atgc": OptionText(
        tr("Age-threshold garbage collection"),
        tr("Cleans segments by age: less copying of hot pages."),
        "f2fs.rst; tested",
        since=(Requirement(KERNEL, (5, 10)),),
    ),
    "alloc_mode": OptionText(
        tr("Allocation policy"),
        tr(
            "Where rewritten blocks go: mostly to new segments (default) or first to used ones (reuse). "
            "Below about 16 GiB f2fs always uses “reuse”."
        ),
        "f2fs.rst; tested (6.1 turns default into reuse on a small device without a word)",
    ),
    "active_logs": OptionText(
        tr("Active logs"),
        tr(
            "Write streams, by how soon data is replaced: 2 separate data from metadata, 4 also hot from "
            "cold, 6 also warm."
        ),
        "f2fs.rst; tested",
    ),
    "discard_unit": OptionText(
        tr("Discard unit"),
        tr("Larger units (a segment is 2 MiB) inform the SSD of free blocks less often, and later."),
        "f2fs.rst; tested",
        since=(Requirement(KERNEL, (5, 15)),),
    ),
    "age_extent_cache": OptionText(
        tr("Age extent cache"),
        tr("Records how often blocks change, to keep hot and cold pages apart."),
        "f2fs.rst",
        since=(Requirement(KERNEL, (6, 2)),),
        untested=True,
    ),
    "errors": OptionText(
        tr("Error handling"),
        tr("What happens when the disk fails: “remount-ro” ends the run, “continue” does not."),
        "f2fs.rst",
        risks=(("continue", (Safety.DISTORTS,)),),
        since=(Requirement(KERNEL, (6, 5)),),
        untested=True,
    ),
    "metadata_checksums": OptionText(
        tr("Metadata checksums"),
        tr("Checksums for inodes and superblock; f2fs has none for data."),
        "mkfs.f2fs(8); tested",
        word="-O inode_checksum",
    ),
    "overprovision_percent": OptionText(
        tr("Overprovisioning"),
        tr("Space kept free for cleaning: more of it means fewer stalls on a full disk."),
        "mkfs.f2fs(8)",
        unseen=tr("it is stored as a number of blocks, which the mkfs program rounds"),
    ),
}

REISERFS: Final = {
    **EXT4,
    "barrier": replace(COMMON["barrier"], source="fs/reiserfs/super.c; Vondra 2016"),
    "data": replace(
        EXT4["data"],
        source="fs/reiserfs/super.c",
        values=(*EXT4["data"].values[:2], ChoiceValue("journal", tr("all data is written twice"))),
    ),
    "commit": replace(EXT4["commit"], source="fs/reiserfs/super.c"),
    "tails": OptionText(
        tr("Tail packing"),
        tr("Saves space but costs time for files that end within a block; tables never do."),
        "fs/reiserfs/super.c",
    ),
}

TMPFS: Final = {
    **COMMON,
    "size_bytes": OptionText(
        tr("Size"),
        tr("Memory limit for data and WAL; default: half of RAM. Too much can hang the machine."),
        "tmpfs.rst; tested",
    ),
    "huge": OptionText(
        tr("Huge pages"),
        tr(
            "Fewer, larger memory pages: less CPU, more memory. “within_size” uses them where a whole one "
            "fits in the file, “advise” only where a program requests them."
        ),
        "tmpfs.rst; tested",
    ),
    "noswap": OptionText(
        tr("No swap"),
        tr("Keeps the data in memory; otherwise a machine short of memory would benchmark its swap space."),
        "tmpfs.rst; tested",
        since=(Requirement(KERNEL, (6, 4)),),
    ),
}
