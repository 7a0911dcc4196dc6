"""Server settings that belong to the filesystem: copy on write changes what is safe and fast."""

from __future__ import annotations

from typing import Final

from app.domain.options.kinds import Choice, ChoiceValue, Toggle
from app.domain.options.option import OptionSpec, Safety, Stage
from app.domain.options.tokens import Spelling, words
from app.domain.text import tr

FULL_PAGE_WRITES: Final = OptionSpec(
    id="full_page_writes",
    label=tr("Full page writes"),
    stage=Stage.SERVER,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Off: pages are not repeated in the WAL after a checkpoint: right only where no page is half written."
    ),
    source="manual 19.5.1; zfs docs; Vondra 2022",
    spelling=words("full_page_writes=on", "full_page_writes=off"),
    risks=((False, (Safety.TORN_PAGES,)),),
)

WAL_INIT_ZERO: Final = OptionSpec(
    id="wal_init_zero",
    label=tr("Zero new WAL files"),
    stage=Stage.SERVER,
    kind=Toggle(),
    default=True,
    effect=tr(
        "Off: a new WAL file is only sized, not written: copy on write would not reuse the zeroed blocks."
    ),
    source="manual 19.5.1; Vondra 2022",
    spelling=words("wal_init_zero=on", "wal_init_zero=off"),
    of_wal=True,
)

FILE_EXTEND_METHOD: Final = OptionSpec(
    id="file_extend_method",
    label=tr("How files grow"),
    stage=Stage.SERVER,
    kind=Choice(
        (
            ChoiceValue("posix_fallocate", tr("space is reserved first: btrfs never compresses such a file")),
            ChoiceValue("write_zeros", tr("zeros are written first: the file can be compressed")),
        )
    ),
    default="posix_fallocate",
    effect=tr(
        "How the server makes a table longer by many pages at once, as loading does: reserved space turns "
        "compression off. Releases of PostgreSQL 16 and newer since February 2026 have the setting."
    ),
    source="manual 19.4 (“BTRFS known to disable compression”); tested",
    spelling=Spelling("file_extend_method={value}"),
)

WAL_RECYCLE: Final = OptionSpec(
    id="wal_recycle",
    label=tr("Recycle WAL files"),
    stage=Stage.SERVER,
    kind=Toggle(),
    default=True,
    effect=tr("Off: a new WAL file is made each time: with copy on write renaming an old one saves nothing."),
    source="manual 19.5.1; Vondra 2022",
    spelling=words("wal_recycle=on", "wal_recycle=off"),
    of_wal=True,
)
