"""Read the content of a disk: its first and last 16 MiB and samples in between, past the page cache.

Only reads. The answer covers only the places read: both ends, and the places between them chosen by
`app.storage.inspect.sampling`, or recorded at its release. A partition of pgFooting's own is data like any
other: its table does not show who used it since.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from app.domain.messages.message import error_text, joined, say
from app.storage.inspect.pieces import ZEROS, PieceReader, Progress, at_each, first_data, ignore_progress
from app.storage.inspect.sampling import EDGE_BYTES, SAMPLE_BYTES, sampling_of
from app.storage.inspect.signatures import recognise
from app.storage.inspect.snapshot import (
    NO_MARKS,
    ChangesSinceRelease,
    Content,
    DuplicateMarks,
    FullRead,
    Geometry,
    Reading,
    ReleaseComparison,
    ReleaseRecord,
    read,
    unreadable,
)
from app.storage.inspect.sources import SourceFolders, number_of
from app.storage.spare.release_ledger import compare


@contextmanager
def opened_disk(places: SourceFolders, name: str, number: str, flags: int = 0) -> Iterator[int]:
    """Open the node of a disk for reading, make sure that it is this disk's, and yield the descriptor.

    Raises:
        OSError: it cannot be opened, or the node is not the disk's.
    """
    node = places.dev / name.replace("!", "/")
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW | flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISBLK(status.st_mode) or number_of(status) != number:
            raise OSError(errno.ENODEV, say("node-not-of-number", number=number), str(node))
        yield fd
    finally:
        os.close(fd)


def read_exclusive(places: SourceFolders, name: str, number: str) -> Reading[str]:
    """Open the disk exclusively and close it again; empty if the kernel allows it, else the reason.

    The kernel refuses while the disk or a partition is mounted in any namespace, swap, a member, a vdev.
    """
    try:
        with opened_disk(places, name, number, os.O_EXCL):
            return read("")
    except PermissionError as err:
        return places.denied(joined(": ", (str(err.filename), err.strerror or "")))
    except OSError as err:
        if err.errno == errno.EBUSY:
            return read(say("open-exclusive-failed", path=err.filename, reason=err.strerror or ""))
        return unreadable(joined(": ", (str(err.filename), err.strerror or "")))


@dataclass(frozen=True, slots=True)
class PreviousContent:
    """Earlier knowledge of a disk.

    Attributes:
        marks: of the disk now, read before its content.
        released: the record of its release.
        full_read: the record of its full read.
        content: found by this process while it had the same marks; its ends are read again.
    """

    marks: DuplicateMarks = NO_MARKS
    released: ReleaseRecord | None = None
    full_read: FullRead | None = None
    content: Content | None = None


NOTHING_KNOWN: Final = PreviousContent()


def read_content(
    places: SourceFolders,
    name: str,
    number: str,
    medium: Geometry,
    before: PreviousContent = NOTHING_KNOWN,
    progress: Progress = ignore_progress,
) -> Reading[Content]:
    """Read the ends of a disk and samples in between.

    Args:
        places: folder of device nodes.
        name: kernel name.
        number: device number that the node must have.
        medium: size and logical block of the disk.
        before: earlier knowledge of it.
        progress: called with the number of places done and the total.
    """
    try:
        with opened_disk(places, name, number, os.O_DIRECT) as fd:
            # the samples must be unpredictable
            return read(content_of(fd, medium, random.SystemRandom(), before, progress))
    except PermissionError as err:
        return places.denied(joined(": ", (str(err.filename), err.strerror or "")))
    except (OSError, ValueError) as err:
        return unreadable(error_text(err))


def content_of(
    fd: int,
    medium: Geometry,
    choose: random.Random,
    before: PreviousContent = NOTHING_KNOWN,
    progress: Progress = ignore_progress,
) -> Content:
    """Return the content of an open disk (or a file in place of one).

    Skips the samples if the record of its release shows that the disk is as it was left.

    Raises:
        OSError: it cannot be read to its end.
    """
    content = replace(ends_of(fd, medium), full_read=_holding(before))
    if content.signatures:
        return content
    compared = _compared(fd, before, content, progress)
    if compared is not None and compared.is_as_left:
        return replace(content, comparison=compared)
    known = before.content
    if known is not None and known.sampled:
        taken = replace(
            content, samples=known.samples, sampled=known.sampled, certain_bytes=known.certain_bytes
        )
        return replace(taken, comparison=compared)
    block = medium.logical_block_bytes
    sampling = sampling_of(medium.size_bytes, block, choose)
    found = at_each(
        fd, sampling.offsets, lambda reader, offset: reader.first_data(offset, SAMPLE_BYTES), progress
    )
    return replace(
        content,
        samples=tuple(
            offset for offset, data in zip(sampling.offsets, found, strict=True) if data is not None
        ),
        sampled=len(sampling.offsets),
        certain_bytes=sampling.certain_bytes,
        comparison=compared,
    )


def _compared(
    fd: int, before: PreviousContent, content: Content, progress: Progress
) -> ReleaseComparison | None:
    """Return the comparison of the disk with the record of its release; None without a record."""
    record = before.released
    if record is None:
        return None
    known = before.content.comparison if before.content is not None else None
    if known is not None and known.places and known.released_s == record.released_s:
        is_same = content.digest == record.digest
        return known if is_same else replace(known, since=ChangesSinceRelease.ENDS)
    return compare(fd, record, before.marks, content.digest, progress)


def _holding(before: PreviousContent) -> FullRead | None:
    """Return the full read of the disk, if it cannot have been written since."""
    record = before.full_read
    if record is None or record.marks != before.marks or not before.marks.is_same_appearance(record.marks):
        return None
    return record


def ends_of(fd: int, medium: Geometry) -> Content:
    """Return the content of both ends."""
    size, block = medium.size_bytes, medium.logical_block_bytes
    edge = min(EDGE_BYTES, size // block * block)
    with PieceReader(fd) as reader:
        if reader.first_data(0, edge) is None and reader.first_data(size - edge, edge) is None:
            return Content()
        head, tail = reader.read(0, edge), reader.read(size - edge, edge)
    first, last = first_data(head), first_data(tail)
    edges = [] if first is None else [first]
    if last is not None and size - edge + last not in edges:
        edges.append(size - edge + last)
    signatures = recognise(head, tail, size) if edges else ()
    digest = _digest(head, tail) if edges and not signatures else ""
    return Content(signatures, tuple(edges), digest=digest)


def _digest(head: bytes, tail: bytes) -> str:
    """Return the SHA-256 of the pieces of both ends that are not zero, each with its place.

    A filesystem leaves mostly zeros at the ends, and comparing is far cheaper than hashing: this runs for
    every disk before each step that writes to it.
    """
    digest = hashlib.sha256()
    for number, end in enumerate((head, tail)):
        view = memoryview(end)
        for start in range(0, len(end), SAMPLE_BYTES):
            piece = view[start : start + SAMPLE_BYTES]
            if not ZEROS.startswith(piece):
                digest.update(struct.pack("<QQQ", number, start, len(piece)))
                digest.update(piece)
    return digest.hexdigest()
