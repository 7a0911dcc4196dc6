"""Rules of btrfs, part of its declaration."""

from __future__ import annotations

from typing import Final

from app.domain.options.conflicts import Action, Circumstances, ConflictRule
from app.domain.options.raid import Level
from app.domain.text import tr

_COMPRESSING: Final = ("compress", "compress_force")
_METADATA_DISKS: Final = {"raid0": 2, "raid1": 2, "raid10": 2, "raid1c3": 3, "raid1c4": 4}


def _compresses(it: Circumstances) -> bool:
    return any(it.options.get(option, "off") != "off" for option in _COMPRESSING)


def _metadata_needs_more(it: Circumstances) -> bool:
    needed = max(
        _METADATA_DISKS.get(str(it.options.get("metadata_profile", "")), 0),
        int(str(it.options.get("mirror_copies", 0))),
    )
    return 0 < len(it.disks) < needed


RULES: Final = (
    ConflictRule(
        "C03",
        Action.REFUSE,
        _COMPRESSING,
        lambda it: not it.writes_whole_pages() and _compresses(it),
        tr("Without copy on write nothing is compressed: the kernel would silently drop one of the two."),
        "btrfs(5); tested (the last one wins)",
    ),
    ConflictRule(
        "C04",
        Action.IMPLY,
        ("datacow", "nocow_attribute"),
        lambda it: not it.writes_whole_pages(),
        tr("No checksums without copy on write, and pages can be half written: full_page_writes stays on."),
        "btrfs(5); tested",
        (("datasum", False), ("full_page_writes", True)),
    ),
    ConflictRule(
        "C05",
        Action.REFUSE,
        _COMPRESSING,
        lambda it: it.value("datasum") is False and _compresses(it),
        tr("btrfs compresses only what has checksums."),
        "btrfs(5)",
    ),
    ConflictRule(
        "C06",
        Action.REFUSE,
        ("datasum",),
        lambda it: it.options.get("datasum") is True and it.value("datacow") is False,
        tr("Checksums need copy on write: the kernel would silently turn one of the two back."),
        "btrfs(5); tested (the last one wins)",
    ),
    ConflictRule(
        "C07-unverified",
        Action.WARN,
        ("full_page_writes",),
        lambda it: it.is_off("full_page_writes") and it.writes_whole_pages(),
        tr("Nobody vouches for it that btrfs never writes half a page: the result is marked unverified."),
        "btrfs(5); no official statement found",
    ),
    ConflictRule(
        "C27",
        Action.WARN,
        ("level",),
        lambda it: it.level in {Level.RAID5, Level.RAID6},
        tr("btrfs calls its raid5 and raid6 unstable: “should not be used in production”."),
        "mkfs.btrfs(8); btrfs Status",
    ),
    ConflictRule(
        "C35",
        Action.REFUSE,
        ("compress_force", "compress"),
        lambda it: all(it.options.get(option, "off") != "off" for option in _COMPRESSING),
        tr("Only one kind of compression can be on: the last one would win."),
        "btrfs(5)",
    ),
    ConflictRule(
        "C40",
        Action.WARN,
        _COMPRESSING,
        lambda it: (
            _compresses(it)
            and (it.server or {}).get("file_extend_method", it.value("file_extend_method"))
            == "posix_fallocate"
        ),
        tr(
            "From PostgreSQL 16 on the loaded tables are not compressed, because space is reserved for them: "
            "choose file_extend_method = write_zeros where the server has that setting. What was compressed "
            "is read back after loading."
        ),
        "manual 19.4; tested",
    ),
    ConflictRule(
        "C36",
        Action.REFUSE,
        ("mirror_copies",),
        lambda it: (
            it.options.get("mirror_copies", "2") != "2"
            and it.level is not None
            and it.level is not Level.MIRROR
        ),
        tr("Only a mirror has a number of copies."),
        "mkfs.btrfs(8), PROFILES",
    ),
    ConflictRule(
        "C37",
        Action.REFUSE,
        ("metadata_profile", "mirror_copies"),
        _metadata_needs_more,
        tr("There are fewer disks than copies."),
        "mkfs.btrfs(8), PROFILES",
    ),
    ConflictRule(
        "C38",
        Action.WARN,
        ("autodefrag",),
        lambda it: it.value("autodefrag") is True,
        tr("btrfs itself says of it: “not well suited for large database workloads”."),
        "btrfs(5)",
    ),
)
