"""Options and words that several filesystems share.

Sources, abbreviated in all files of this folder:
  mount(8)      util-linux 2.38, mount(8) and mount(2)
  ext4.rst      Linux Documentation/admin-guide/ext4.rst
  xfs.rst       Linux Documentation/admin-guide/xfs.rst
  f2fs.rst      Linux Documentation/filesystems/f2fs.rst
  tmpfs.rst     Linux Documentation/filesystems/tmpfs.rst
  btrfs(5)      btrfs-progs Documentation/ch-mount-options.rst
  zfsprops(7), zpoolprops(7), zfs(4)  OpenZFS manual pages; defaults cross-checked at release tags
  zfs docs      openzfs-docs Performance and Tuning/Workload Tuning.rst
  2011          “Effects of filesystems and mount options upon PostgreSQL performance”, 2011-04-21
  Vondra 2016   T. Vondra, “PostgreSQL na EXT3/4, XFS, BTRFS a ZFS”, FOSDEM PgDay, 2016-01-28
  Vondra 2022   T. Vondra, “Postgres vs. File Systems: A Performance Comparison”, EDB, 2022-10-10
  tested        seen on Linux 6.1 or 6.18 by a test of this project
"""

from __future__ import annotations

from typing import Final

from app.domain.filesystem import Always
from app.domain.option_kinds import Alternative, Choice, Toggle
from app.domain.option_words import Seen, Words, words
from app.domain.options import OptionSpec, Stage
from app.domain.text import tr

ATIME: Final = OptionSpec(
    id="atime",
    label=tr("Access times"),
    stage=Stage.MOUNT,
    kind=Choice(
        (
            Alternative("relatime", tr("at most one update of a file's access time a day")),
            Alternative("noatime", tr("reading never writes")),
            Alternative("strictatime", tr("every read makes the inode dirty")),
        )
    ),
    default="relatime",
    effect=tr("Whether reading a table writes its access time: PostgreSQL never looks at it."),
    source="mount(8); 2011",
    spelling=Words("{value}"),
    shown=Words("{value}", (("strictatime", None),)),
)

LAZYTIME: Final = OptionSpec(
    id="lazytime",
    label=tr("Lazy timestamps"),
    stage=Stage.MOUNT,
    kind=Toggle(),
    default=False,
    effect=tr(
        "Keeps time stamps in memory for up to a day, which saves writing inodes that only changed times."
    ),
    source="mount(8)",
    spelling=words("lazytime", "nolazytime"),
    shown=words("lazytime", None),
)

NODEV: Final = Always(
    Stage.MOUNT,
    "",
    "nodev",
    tr("device nodes on the filesystem mean nothing"),
    "mount(8); CVE-2025-6019",
    Seen(("nodev",)),
)
NOSUID: Final = Always(
    Stage.MOUNT,
    "",
    "nosuid",
    tr("no program on the filesystem gains rights"),
    "mount(8); CVE-2025-6019",
    Seen(("nosuid",)),
)
