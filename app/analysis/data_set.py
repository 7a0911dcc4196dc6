"""Describe a run's data set: how it was loaded, cold caches as read back, its compression. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from app.domain.campaign.configuration import DataSet
from app.domain.text import format_size, number_text, tr, trn
from app.postgres.pgbench.scale import ratio_words
from app.probes.facts.files import CachedBytes, SampledCompression, StoredBytes
from app.runfile.metadata.environment import MOST_CHARACTERS, EnvironmentFacts
from app.runfile.metadata.run_metadata import (
    DataSetMetadata,
)

_STATES: Final = {
    DataSet.LOADED.value: tr("loaded on the target"),
    DataSet.COPIED.value: tr("copied to the target"),
}


class CopiedCaches(StrEnum):
    """Contents of the operating system's cache when a run started on a copy.

    FILLED: left by copying. EMPTIED: nothing of the data.
    """

    FILLED = "filled"
    EMPTIED = "emptied"


_CACHES: Final[dict[str, str]] = {
    CopiedCaches.FILLED: tr("caches unchanged after copying"),
    CopiedCaches.EMPTIED: tr("caches emptied after copying"),
}


def data_set_words(state: str) -> str:
    """Return a state for users."""
    return _STATES.get(state, state[:MOST_CHARACTERS])


def describe_data_set(data_set: DataSetMetadata | None) -> str:
    """Return how the data was loaded, in a line; empty if unknown."""
    if data_set is None or not data_set.state:
        return ""
    words = [data_set_words(data_set.state)]
    if data_set.copy_s is not None and data_set.size_bytes is not None:
        words.append(f"{format_size(data_set.size_bytes)}, {number_text(data_set.copy_s, '.1f')} s")
    if data_set.extents is not None:
        words.append(
            trn("tables in {count} extent", "tables in {count} extents", data_set.extents).format(
                count=data_set.extents
            )
        )
    if data_set.template:
        words.append(tr("template {id}").format(id=data_set.template[:MOST_CHARACTERS]))
    if data_set.caches:
        words.append(_CACHES.get(data_set.caches, data_set.caches[:MOST_CHARACTERS]))
    if data_set.reason:
        words.append(data_set.reason[:MOST_CHARACTERS])
    return ", ".join(words)


STILL_CACHED: Final = "still-cached"
"""Kind of the mark for a run with caches that should have been cold and were not."""

MOST_CACHED: Final = 0.05
"""Share of the data; our own choice: above it, more than one read in twenty would not come from storage."""


def still_cached(cached: CachedBytes) -> str:
    """Return a sentence about caches that were not cold; empty if they were, or there was no data."""
    if cached.data_bytes <= 0 or cached.cached_bytes <= MOST_CACHED * cached.data_bytes:
        return ""
    sentence = tr("{percent:.0f} % of the data was still cached when measuring began; caches were not cold.")
    if cached.is_bound:
        sentence = tr(
            "Up to {percent:.0f} % of the data was still cached when measuring began, because ZFS may free "
            "only part of its cache (ARC)."
        )
    return sentence.format(percent=100 * cached.cached_bytes / cached.data_bytes)


COMPRESSED_NOTHING: Final = "compressed-nothing"
"""Kind of the mark for a run with a filesystem that should have compressed and did not."""

OTHER_COMPRESSIBILITY: Final = "other-compressibility"
"""Kind of the mark for a run with loaded tables of another compressibility than stated."""

RATIO_TOLERANCE: Final = 0.1
"""Greatest difference of the loaded tables from the stated ratio, as a share of it: in
tests/postgres/test_compressibility.py no ratio, version or size of pages differs by more than half of it.
"""

INCOMPRESSIBLE_BELOW: Final = 1.6
"""If a filesystem did not compress rows with a ratio below this, the rows are the reason: btrfs checks a
sample first (fs/btrfs/compression.c), and ZFS saves only whole sectors, half of a record of 8 KiB if a sector
has 4 (recordsize, ashift).
"""

LEAST_SHARE: Final = 0.05
"""Pages of blanks shrink by nine tenths and more, those of random data still by their headers: below a
twentieth, a table was not compressed.
"""

FIRST_THAT_ALLOCATES: Final = 16
"""Major version of PostgreSQL from which tables grow by posix_fallocate(3), several pages at once."""

_GUESSING: Final = "compress="
_MOUNT_OPTIONS: Final = (_GUESSING, "compress-force=")
_PROPERTY: Final = "compression"
_OFF: Final = frozenset({"", "off", "none", "no", "0", "autozero"})
"""HAMMER2's autozero omits blocks of zeros and compresses nothing."""


def compression_in_effect(environment: EnvironmentFacts) -> str:
    """Return the compression set for the data's filesystem, such as ``compress=zstd:3``; empty for none.

    From the mount (btrfs), the dataset (ZFS) or the folder (HAMMER2); f2fs only compresses files that request
    it.
    """
    for option in environment.mount_options:
        if option.startswith(_MOUNT_OPTIONS) and option.partition("=")[2] not in _OFF:
            return option[:MOST_CHARACTERS]
    value = environment.dataset.get(_PROPERTY) or environment.reported.get(_PROPERTY)
    if isinstance(value, str) and value.lower().partition(":")[0] not in _OFF:
        return f"{_PROPERTY}={value}"[:MOST_CHARACTERS]
    return ""


def compressed_share(stored: StoredBytes) -> float | None:
    """Return the compressed share of the tables; if their size on disk is known, the share saved.

    Returns:
        0 to 1, or below 0 if they need more than their size; None for empty tables.
    """
    if stored.logical_bytes <= 0:
        return None
    if stored.encoded_bytes is not None:
        return stored.encoded_bytes / stored.logical_bytes
    return 1 - stored.disk_bytes / stored.logical_bytes


def differs_from_stated(stated: float | None, sample: SampledCompression) -> str:
    """Return a sentence about tables of another compressibility than stated; empty if it matches."""
    found = sample.ratio
    if stated is None or found is None or abs(found / stated - 1) <= RATIO_TOLERANCE:
        return ""
    sentence = tr("the loaded tables compress {found} (zstd -3 over 128 KiB), but {stated} was specified")
    return sentence.format(found=f"{number_text(found, '.2f')}:1", stated=ratio_words(stated))


def did_nothing(effect: str, stored: StoredBytes, ratio: float | None = None, major: int = 0) -> str:
    """Return a sentence about compression without effect; empty if it had one, or that is unknown.

    Args:
        effect: from `compression_in_effect`.
        stored: as read back after loading.
        ratio: compressibility of the tables, read back; None if unknown.
        major: version of the server that wrote them; 0 if unknown.
    """
    share = compressed_share(stored)
    if not effect or share is None or share >= LEAST_SHARE:
        return ""
    sentence = tr("{effect} compressed {percent:.0f} % of the loaded tables").format(
        effect=effect, percent=max(0.0, 100 * share)
    )
    if ratio is not None and ratio < INCOMPRESSIBLE_BELOW:
        reason = tr("their rows hardly compress ({ratio}, zstd -3)")
        return f"{sentence}: {reason.format(ratio=number_text(ratio, '.2f') + ':1')}."
    return " ".join((f"{sentence}.", *_reasons(effect, ratio, major)))


def _reasons(effect: str, ratio: float | None, major: int) -> Iterator[str]:
    """Yield reasons why a filesystem did not compress compressible rows."""
    if not effect.startswith(_MOUNT_OPTIONS):
        return
    if not 0 < major < FIRST_THAT_ALLOCATES:
        yield tr(
            "PostgreSQL 16 and later extend files with posix_fallocate, and btrfs never compresses such "
            "files. If the server has the setting file_extend_method, its value “write_zeros” avoids this."
        )
    if effect.startswith(_GUESSING) and ratio is not None:
        yield tr(
            "btrfs samples the data and skips data that looks incompressible; compress-force compresses "
            "without sampling."
        )
