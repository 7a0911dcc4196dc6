"""What can happen to a disk between two looks of pgFooting: the registry, and what is written into a disk."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Final

from app.domain.text import KIB, MIB
from tests.disks.matrix.disks import PARTITION_BYTES, PARTITION_START, write, zero, zeroed
from tests.disks.matrix.images import FORMATS, Format, makeable
from tests.disks.matrix.kinds_disks import DISKS
from tests.disks.matrix.kinds_failing import FAILING
from tests.disks.matrix.kinds_processes import PROCESSES
from tests.disks.matrix.kinds_tables import TABLES
from tests.disks.matrix.kinds_used import USED
from tests.disks.matrix.stage import Certainty, Foreign, Given, Kind, Stage

_SECTOR: Final = 512


def nothing(stage: Stage) -> Foreign:
    """Nothing happens at all."""
    return Foreign(Certainty.UNCHANGED, stage.subject, None)


def unmounted(stage: Stage) -> Foreign:
    """Somebody unmounts the storage and goes away again."""
    stage.free()
    return Foreign(Certainty.OURS_ALONE, stage.subject, None)


def _format(stage: Stage, form: Format) -> Foreign:
    stage.free()
    node = stage.target()
    start, end = stage.target_range()
    zero(node, 0, end - start)
    write(node, *stage.images.of(form, end - start))
    return Foreign(
        Certainty.ALWAYS,
        stage.subject,
        words=form.words or (form.name,),
        end=lambda: zero(stage.subject.node, start, end - start),
    )


_BESIDE: Final = ("md 0.90", "md 1.0", "bcache", "LVM physical volume", "reiserfs", "ZFS labels", "iso9660")


def _beside_ours(stage: Stage, form: Format) -> Foreign:
    """A format whose superblocks lie elsewhere than ours, made without wiping: both are found.

    As ``mdadm --create --metadata=1.0`` does, which makes a mirror of a filesystem that exists.
    """
    stage.free()
    node = stage.target()
    sectors = [
        (at + place, data[place : place + _SECTOR])
        for at, data in stage.images.of(form, PARTITION_BYTES)
        for place in range(0, len(data), _SECTOR)
        if any(data[place : place + _SECTOR])
    ]
    write(node, *sectors)
    return Foreign(
        Certainty.ALWAYS,
        stage.subject,
        words=form.words or (form.name,),
        end=lambda: zero(stage.subject.node, PARTITION_START, PARTITION_BYTES),
    )


def _raw(stage: Stage, pieces: tuple[tuple[int, bytes], ...], certainty: Certainty) -> Foreign:
    """Bytes without a signature, written into our partition."""
    stage.free()
    node = stage.target()
    write(node, *pieces)
    return Foreign(
        certainty,
        stage.subject,
        tuple((PARTITION_START + at, PARTITION_START + at + len(data)) for at, data in pieces),
        end=lambda: zeroed(stage.subject.node, [(PARTITION_START + at, data) for at, data in pieces]),
    )


def _raw_disk(stage: Stage) -> Foreign:
    """The disk itself is overwritten from its beginning on, table and all."""
    stage.free()
    write(stage.subject.node, *((at, os.urandom(MIB)) for at in range(0, 64 * MIB, MIB)))
    return Foreign(Certainty.WHERE_MADE, stage.subject, end=stage.subject.zero)


def _raw_outside(stage: Stage, place: int) -> Foreign:
    """One sector outside of our partition, from the beginning or from the end of the disk."""
    at = place if place >= 0 else stage.subject.size_bytes + place
    write(stage.subject.node, (at, b"\xa5" * _SECTOR))
    return Foreign(
        Certainty.NEVER,
        stage.subject,
        ((at, at + _SECTOR),),
        end=lambda: zero(stage.subject.node, at, _SECTOR),
    )


_EVERYWHERE: Final = tuple((at, b"\x5a\xc3" * (64 * KIB)) for at in range(0, PARTITION_BYTES, MIB))
"""128 KiB of each MiB: first superblocks, and what labels of ZFS say."""
_SIGNATURES: Final = tuple((at, b"\xc3" * _SECTOR) for at in (1024, 65536))
"""The sectors of the signatures of ext and of btrfs, the latter once."""
_COPIES: Final = (*_SIGNATURES, (64 * MIB, b"\xc3" * _SECTOR))

RAW: Final = (
    Kind(
        "raw: all over the partition",
        "raw",
        partial(_raw, pieces=_EVERYWHERE, certainty=Certainty.WHERE_MADE),
        Given.TABLE,
    ),
    Kind(
        "raw: first MiB of the partition",
        "raw",
        partial(_raw, pieces=((0, b"\x96\x0f" * (MIB // 2)),), certainty=Certainty.WHERE_MADE),
    ),
    Kind(
        "raw: sector of the signature",
        "raw",
        partial(_raw, pieces=_COPIES, certainty=Certainty.WHERE_MADE),
        Given.TABLE,
    ),
    Kind(
        "raw: a sector in the middle of the partition",
        "raw",
        partial(_raw, pieces=((300 * MIB, b"\xa5" * _SECTOR),), certainty=Certainty.NEVER),
        Given.TABLE,
    ),
    Kind("raw: a sector behind the partition", "raw", partial(_raw_outside, place=600 * MIB), Given.TABLE),
    Kind("raw: a sector near the end of the disk", "raw", partial(_raw_outside, place=-8 * MIB), Given.TABLE),
    Kind("raw: the beginning of the disk", "raw", _raw_disk),
)

NOTHING: Final = (
    Kind("nothing", "nothing", nothing),
    Kind("nothing but unmounted", "nothing", unmounted, Given.MOUNTED),
)


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind that can be made here."""
    formats = tuple(
        Kind(f"format: {form.name}", "formats", partial(_format, form=form)) for form in makeable()
    )
    beside = tuple(
        Kind(f"format beside ours: {form.name}", "formats", partial(_beside_ours, form=form), Given.TABLE)
        for form in makeable()
        if form.name in _BESIDE
    )
    return (*NOTHING, *formats, *beside, *RAW, *TABLES, *DISKS, *FAILING, *USED, *PROCESSES)


def missing() -> tuple[str, ...]:
    """Return what cannot be made here, and the program that is missing."""
    here = makeable()
    return tuple(f"{form.name} ({form.program})" for form in FORMATS if form not in here)
