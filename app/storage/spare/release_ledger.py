"""Root's own record of the disks that pgFooting released: they may be used again with old data in them.

It has digests of both ends of the disk and of secret places between them, and the kernel's write counters, so
that a disk that others used since is not taken for ours. While the disk and the boot are the same, the
kernel's count decides; later the places do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from app.domain.disk import DiskIdentity
from app.storage.inspect.records import marks_as_mapping, parse_marks, read_records, write_record
from app.storage.inspect.sampling import (
    SAMPLE_BYTES,
    PieceReader,
    Progress,
    Stratum,
    at_each,
    digest_of,
    ignore_progress,
    step_of,
    strata_of,
)
from app.storage.inspect.snapshot import (
    ChangesSinceRelease,
    DuplicateMarks,
    FullRead,
    KnownDisk,
    Reading,
    ReleaseComparison,
    ReleaseRecord,
    SampledPlace,
)
from app.storage.inspect.sources import RELEASED_FOLDER, SourceFolders
from app.storage.spare.rules_disk import same_disk

R = TypeVar("R", ReleaseRecord, FullRead)

_ATTEMPTS: Final = 3
_ALL_ONES: Final = digest_of(b"\xff" * SAMPLE_BYTES)


def record_release(identity: DiskIdentity, released: ReleaseRecord, folder: Path = RELEASED_FOLDER) -> None:
    """Record that pgFooting used and released a disk; complete on disk when this returns.

    Args:
        identity: of the disk.
        released: the disk as it is left; its identity comes from `identity`.
        folder: of the records; another one only in tests.

    Raises:
        OSError: it cannot be written.
        ValueError: the disk has no identity, so that it could not be recognised again.
    """
    values = {
        "digest": released.digest,
        "released_s": released.released_s,
        "marks": marks_as_mapping(released.marks),
        "places": [[place.offset, place.digest] for place in released.places],
        "is_complete": released.is_complete,
        "discards": released.discards,
    }
    write_record(folder, identity, values)


def read_released(places: SourceFolders) -> Reading[tuple[ReleaseRecord, ...]]:
    """Return the recorded disks; absent if pgFooting never released one."""
    return read_records(places, places.released, parse_release)


def parse_release(entry: Mapping[str, Any]) -> ReleaseRecord:
    """Parse the output of `record_release`.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: it has another format.
    """
    wwn = entry["wwn"]
    return ReleaseRecord(
        str(entry["serial"]),
        None if wwn is None else str(wwn),
        int(entry["size_bytes"]),
        str(entry["digest"]),
        float(entry["released_s"]),
        parse_marks(entry["marks"]),
        tuple(SampledPlace(int(offset), str(digest)) for offset, digest in entry["places"]),
        bool(entry["is_complete"]),
        bool(entry["discards"]),
    )


def with_places(
    fd: int,
    now: ReleaseRecord,
    block_bytes: int,
    before: ReleaseRecord | None,
    written_end: int,
    choose: Random,
) -> ReleaseRecord:
    """Return the record of a disk that is released now, with secret places.

    Places before `written_end` are read: twice if the disk can discard, and only those that read the same are
    kept, because discarded bytes may read as anything. Those after it were not ours to write: they are
    expected as they were recorded before, else as zeros, so that data of others written there in between does
    not become ours.

    Args:
        fd: the disk, open for reading past the page cache.
        now: the record without places; its marks were read before its digest.
        block_bytes: logical block of the disk.
        before: the record of an earlier release.
        written_end: byte after the last one that we may have written.
        choose: draws the places.

    Raises:
        OSError: it cannot be read.
    """
    step = step_of(block_bytes)
    strata = strata_of(now.size_bytes)
    known = before.places if before is not None and before.is_complete else ()
    places: list[SampledPlace | None] = [
        _not_ours(each, old, written_end, choose, step)
        for each, old in itertools.zip_longest(strata, known[: len(strata)])
    ]
    for _ in range(_ATTEMPTS):
        open_ones = [number for number, place in enumerate(places) if place is None]
        drawn = [_ours(strata[number], written_end).draw(choose, step) for number in open_ones]
        reads = [at_each(fd, drawn, PieceReader.digest) for _ in range(2 if now.discards else 1)]
        for number, offset, digests in zip(open_ones, drawn, zip(*reads, strict=True), strict=True):
            places[number] = SampledPlace(offset, digests[0]) if len(set(digests)) == 1 else None
    found = tuple(place for place in places if place is not None)
    return replace(now, places=found, is_complete=len(found) == len(strata))


def _not_ours(
    stratum: Stratum, old: SampledPlace | None, written_end: int, choose: Random, step: int
) -> SampledPlace | None:
    """Return the expected place of a stratum that we did not write; None for one to be read."""
    if old is not None and old.offset >= written_end:
        return old
    if stratum.start + 2 * SAMPLE_BYTES <= written_end:
        return None
    return SampledPlace(replace(stratum, start=max(stratum.start, written_end)).draw(choose, step), "")


def _ours(stratum: Stratum, written_end: int) -> Stratum:
    """Return the part of a stratum that we may have written."""
    return replace(stratum, end=min(stratum.end, written_end))


def compare(
    fd: int,
    record: ReleaseRecord,
    marks: DuplicateMarks,
    digest: str,
    progress: Progress = ignore_progress,
) -> ReleaseComparison:
    """Compare a disk with the record of its release.

    Args:
        fd: the disk, open for reading past the page cache.
        record: of this disk.
        marks: read before the digest.
        digest: `Content.digest` now.
        progress: called with the progress in places.

    Raises:
        OSError: it cannot be read.
    """
    if marks.is_same_appearance(record.marks) and marks != record.marks:
        written = marks.written_bytes - record.marks.written_bytes
        return ReleaseComparison(ChangesSinceRelease.WRITTEN, record.released_s, written_bytes=written)
    if digest != record.digest:
        return ReleaseComparison(ChangesSinceRelease.ENDS, record.released_s)
    if marks.is_same_appearance(record.marks):
        return ReleaseComparison(ChangesSinceRelease.NOTHING, record.released_s)
    if not record.is_complete:
        return ReleaseComparison(ChangesSinceRelease.UNKNOWN, record.released_s)
    now = at_each(fd, [place.offset for place in record.places], PieceReader.digest, progress)
    unlike = [
        place.offset
        for place, digest in zip(record.places, now, strict=True)
        if not _is_left(place, digest, record)
    ]
    since = ChangesSinceRelease.PLACES if unlike else ChangesSinceRelease.ALIKE
    return ReleaseComparison(since, record.released_s, len(record.places), tuple(unlike))


def _is_left(place: SampledPlace, digest: str, record: ReleaseRecord) -> bool:
    """Return whether no data was put into a place: it is as it was, or was discarded since."""
    return digest in {place.digest, ""} or (record.discards and digest == _ALL_ONES)


def record_of(identity: DiskIdentity | None, records: Sequence[R]) -> R | None:
    """Return the record of a disk among those of one kind; None if there is none."""
    if identity is None:
        return None
    mine = KnownDisk("", identity.serial, identity.wwn)
    for record in records:
        same = same_disk(mine, KnownDisk("", record.serial, record.wwn))
        if same and record.size_bytes == identity.size_bytes:
            return record
    return None
