"""Settings of postgresql.conf that are offered with several values; any other can be added. Data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import tr
from app.postgres.settings import unsafe_settings


@dataclass(frozen=True, slots=True)
class SettingOffer:
    """A setting with values that are worth a comparison.

    Attributes:
        name: as postgresql.conf knows it.
        values: that are offered.
        about: what it does, a sentence.
        takes_text: whether other values can be typed.
        by_session: whether anybody can set it for sessions of a database of their own: on a server that
            runs already no other setting is changed.
    """

    name: str
    values: tuple[str, ...]
    about: str
    takes_text: bool = False
    by_session: bool = False

    def risks_of(self, value: str) -> tuple[str, ...]:
        """Return what a value costs in safety, a sentence each."""
        return tuple(risk for _, _, risk in unsafe_settings([(self.name, value)]))


OFFERED: Final = (
    SettingOffer(
        "synchronous_commit",
        ("on", "off"),
        tr("Whether a commit waits for its WAL to be flushed."),
        by_session=True,
    ),
    SettingOffer(
        "full_page_writes",
        ("on", "off"),
        tr("Whole pages in the WAL after a checkpoint; off only where the filesystem never tears a page."),
    ),
    SettingOffer("wal_compression", ("off", "pglz", "lz4", "zstd"), tr("Compresses those whole pages.")),
    SettingOffer("wal_init_zero", ("on", "off"), tr("Fills new WAL files with zeros; off on copy on write.")),
    SettingOffer("wal_recycle", ("on", "off"), tr("Reuses WAL files by renaming; off on copy on write.")),
    SettingOffer("shared_buffers", ("128MB", "1GB", "4GB"), tr("The server's own cache."), takes_text=True),
    SettingOffer("max_wal_size", ("1GB", "4GB", "16GB"), tr("WAL between checkpoints."), takes_text=True),
    SettingOffer(
        "io_method", ("sync", "worker", "io_uring"), tr("How pages are read; from PostgreSQL 18 on.")
    ),
    SettingOffer(
        "effective_io_concurrency",
        ("1", "16", "128"),
        tr("Reads in advance of scans."),
        takes_text=True,
        by_session=True,
    ),
)
