"""Root's records about disks: what a release keeps, when it holds, and what becomes of broken files."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity
from app.domain.text import KIB, MIB
from app.storage.inspect.records import read_whole, record_full_read, set_aside_broken
from app.storage.inspect.sampling import SAMPLE_BYTES, strata_of
from app.storage.inspect.snapshot import (
    ChangesSinceRelease,
    DuplicateMarks,
    ReleaseRecord,
    SampledPlace,
    SourceKnowledge,
)
from app.storage.inspect.sources import SourceFolders
from app.storage.spare import release_ledger
from app.storage.spare.release_ledger import compare, parse_release, with_places
from tests.unit.storage.fake_machine import RECORD

IDENTITY = DiskIdentity("Z1D0ABCD", "naa.5000c500a1b2c3d4", "ST", 4_000_787_030_016, "8:16", 12)
SIZE = 640 * MIB
NOW = DuplicateMarks("boot-1 7", 100, 5 * MIB)
LATER = dataclasses.replace(NOW, requests=101, written_bytes=6 * MIB)
OTHER_BOOT = DuplicateMarks("boot-2 3", 0, 0)
LEFT = ReleaseRecord("", None, SIZE, "d1", 1.8e9, NOW)


@pytest.fixture
def disk() -> Iterator[int]:
    """A file in memory that stands for a disk with old data in its first 200 MiB."""
    fd = os.memfd_create("disk")
    os.truncate(fd, SIZE)
    write(fd, 20 * MIB, 180 * MIB, seed=1)
    yield fd
    os.close(fd)


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same each time


def write(fd: int, start: int, length: int, *, seed: int) -> None:
    data = dice(seed).randbytes(MIB)
    for offset in range(start, start + length, MIB):
        os.pwrite(fd, data, offset)


def record(
    fd: int, written_end: int = SIZE, before: ReleaseRecord | None = None, *, discards: bool = False
) -> ReleaseRecord:
    now = dataclasses.replace(LEFT, discards=discards)
    return with_places(fd, now, 512, before, written_end, dice(3))


def since(
    fd: int, left: ReleaseRecord, marks: DuplicateMarks = OTHER_BOOT, digest: str = "d1"
) -> ChangesSinceRelease:
    return compare(fd, left, marks, digest).since


def test_release_round_trip(tmp_path: Path, disk: int) -> None:
    folder = tmp_path / "lib/disks"
    left = record(disk)
    release_ledger.record_release(IDENTITY, LEFT, folder)
    release_ledger.record_release(IDENTITY, left, folder)
    assert [path.name for path in folder.iterdir()] == ["naa.5000c500a1b2c3d4.json"]
    assert folder.stat().st_mode & 0o777 == 0o700
    (entry,) = release_ledger.read_released(SourceFolders(released=folder)).known(())
    assert entry == dataclasses.replace(
        left, serial=IDENTITY.serial, wwn=IDENTITY.wwn, size_bytes=IDENTITY.size_bytes
    )


def test_secret_place_in_every_stratum(disk: int) -> None:
    left = record(disk)
    assert left.is_complete
    for stratum, place in zip(strata_of(SIZE), left.places, strict=True):
        assert stratum.start <= place.offset <= stratum.end - SAMPLE_BYTES
        is_zero = not os.pread(disk, SAMPLE_BYTES, place.offset).strip(b"\0")
        assert (place.digest == "") == is_zero
    assert record(disk).places == left.places, "the same draw"
    assert with_places(disk, LEFT, 512, None, SIZE, dice(4)).places != left.places


def test_write_count_decides_within_one_boot(disk: int) -> None:
    left = record(disk)
    assert since(disk, left, NOW) is ChangesSinceRelease.NOTHING
    assert since(disk, left, NOW, digest="d2") is ChangesSinceRelease.ENDS
    assert since(disk, left, LATER) is ChangesSinceRelease.WRITTEN
    assert compare(disk, left, LATER, "d1").written_bytes == MIB


def test_in_another_boot_every_place_is_compared(disk: int) -> None:
    left = record(disk)
    assert since(disk, left) is ChangesSinceRelease.ALIKE
    assert compare(disk, left, OTHER_BOOT, "d1").places == len(left.places)
    assert since(disk, left, digest="d2") is ChangesSinceRelease.ENDS
    write(disk, 100 * MIB, 16 * MIB, seed=2)
    found = compare(disk, left, OTHER_BOOT, "d1")
    assert found.since is ChangesSinceRelease.PLACES
    assert all(100 * MIB - SAMPLE_BYTES < offset < 116 * MIB for offset in found.changed)


def test_places_compared_without_a_write_count(disk: int) -> None:
    """iostats off, or a kernel without disk sequence numbers: no appearance."""
    left = dataclasses.replace(record(disk), marks=DuplicateMarks())
    assert since(disk, left, DuplicateMarks()) is ChangesSinceRelease.ALIKE


def test_foreign_data_over_zeros_is_seen(disk: int) -> None:
    left = record(disk)
    write(disk, 300 * MIB, 8 * MIB, seed=2)
    assert since(disk, left) is ChangesSinceRelease.PLACES


def test_zeros_over_old_data_are_no_change(disk: int) -> None:
    """Who discards or blanks a part of the disk puts no data there."""
    left = record(disk)
    for offset in range(20 * MIB, 100 * MIB, MIB):
        os.pwrite(disk, bytes(MIB), offset)
    assert since(disk, left) is ChangesSinceRelease.ALIKE


def test_ones_unchanged_only_on_discarding_disks(disk: int) -> None:
    can, cannot = record(disk, discards=True), record(disk)
    for offset in range(20 * MIB, 60 * MIB, MIB):
        os.pwrite(disk, b"\xff" * MIB, offset)
    assert since(disk, can) is ChangesSinceRelease.ALIKE
    assert since(disk, cannot) is ChangesSinceRelease.PLACES


def test_new_data_on_discarding_disk(disk: int) -> None:
    left = record(disk, discards=True)
    write(disk, 300 * MIB, 100 * MIB, seed=4)
    assert since(disk, left) is ChangesSinceRelease.PLACES


def test_foreign_writes_behind_our_partition_stay_foreign(disk: int) -> None:
    """The disk was blank there when it was claimed; the release does not even look."""
    end = 256 * MIB
    write(disk, 400 * MIB, 8 * MIB, seed=2)
    left = record(disk, written_end=end)
    assert left.is_complete
    assert {place.digest for place in left.places if place.offset >= end} == {""}
    found = compare(disk, left, OTHER_BOOT, "d1")
    assert found.since is ChangesSinceRelease.PLACES
    assert min(found.changed) >= 400 * MIB - SAMPLE_BYTES


def test_old_data_behind_smaller_partition_stays_recorded(disk: int) -> None:
    first = record(disk)
    write(disk, 20 * MIB, 20 * MIB, seed=5)
    again = record(disk, written_end=40 * MIB, before=first)
    assert since(disk, again) is ChangesSinceRelease.ALIKE
    behind = [place for place in first.places if place.offset >= 40 * MIB]
    assert [place for place in again.places if place.offset >= 40 * MIB] == behind
    write(disk, 150 * MIB, 8 * MIB, seed=6)
    assert since(disk, record(disk, written_end=40 * MIB, before=again)) is ChangesSinceRelease.PLACES


def test_incomplete_record_keeps_places_per_stratum(disk: int) -> None:
    first = record(disk)
    incomplete = dataclasses.replace(first, places=first.places[1:], is_complete=False)
    again = record(disk, written_end=40 * MIB, before=incomplete)
    assert again.is_complete
    for stratum, place in zip(strata_of(SIZE), again.places, strict=True):
        assert stratum.start <= place.offset < stratum.end


@pytest.mark.parametrize(("discards", "reads"), [(False, 1), (True, 2)])
def test_places_read_twice_only_with_discard(
    disk: int,
    monkeypatch: pytest.MonkeyPatch,
    discards: bool,  # noqa: FBT001
    reads: int,
) -> None:
    true_preadv, offsets = os.preadv, []

    def preadv(fd: int, buffers: list[memoryview], offset: int) -> int:
        offsets.append(offset)
        return true_preadv(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    left = record(disk, discards=discards)
    assert sorted(offsets) == sorted(reads * [place.offset for place in left.places])


def test_unstable_places_weaken_the_record(disk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was discarded may read as anything, and as something else each time (SATA without DRAT)."""
    unsettled = range(64 * MIB, 80 * MIB)
    true_preadv, noise = os.preadv, dice(9)

    def preadv(fd: int, buffers: list[memoryview], offset: int) -> int:
        count = true_preadv(fd, buffers, offset)
        if offset in unsettled:
            buffers[0][:16] = noise.randbytes(16)
        return count

    monkeypatch.setattr(os, "preadv", preadv)
    left = record(disk, discards=True)
    assert not left.is_complete
    assert not [place for place in left.places if place.offset in unsettled]
    assert since(disk, left, NOW) is ChangesSinceRelease.NOTHING, (
        "it holds as long as nobody writes, in this boot"
    )
    assert since(disk, left) is ChangesSinceRelease.UNKNOWN


def test_how_far_the_comparison_is_gets_told(disk: int) -> None:
    left, found = record(disk), []
    compare(disk, left, OTHER_BOOT, "d1", progress=lambda done, every: found.append((done, every)))
    assert found == [(128, 256), (256, 256)]


BROKEN = ["", "[]", "{}", '{"serial": "x"}', "\x00" * 100, '{"serial": 1, "wwn": 2', "[" * 100_000, "null"]


@pytest.mark.parametrize("text", [*BROKEN, RECORD.replace(": 5", ": Infinity")], ids=range(9))
def test_broken_record_is_named_others_count(tmp_path: Path, text: str) -> None:
    release_ledger.record_release(IDENTITY, LEFT, tmp_path)
    (tmp_path / "a.json").write_text(text)
    reading = release_ledger.read_released(SourceFolders(released=tmp_path, as_root=True))
    assert reading.state is SourceKnowledge.READ
    assert [record.serial for record in reading.known(())] == [IDENTITY.serial]
    assert str(tmp_path / "a.json") in reading.reason
    assert set_aside_broken(tmp_path, parse_release) == [tmp_path / "a.json.broken"]
    assert (tmp_path / "a.json.broken").read_text() == text
    assert release_ledger.read_released(SourceFolders(released=tmp_path, as_root=True)).reason == ""


def test_record_that_is_link_or_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "disks"
    release_ledger.record_release(IDENTITY, LEFT, folder)
    file = folder / "naa.5000c500a1b2c3d4.json"
    text = file.read_text()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert json.loads(text)
    assert release_ledger.read_released(SourceFolders(released=folder, as_root=True)).value == ()
    (tmp_path / "elsewhere").rename(file)
    assert release_ledger.read_released(SourceFolders(released=folder, as_root=True)).value
    real = Path.lstat

    def lstat(self: Path) -> os.stat_result:
        mode, inode, device, links, _uid, *rest = real(self)
        return os.stat_result((mode, inode, device, links, 4711, *rest))

    monkeypatch.setattr(Path, "lstat", lstat)
    assert release_ledger.read_released(SourceFolders(released=folder, as_root=True)).value == ()


def test_oversized_record_counts_for_nothing(tmp_path: Path) -> None:
    release_ledger.record_release(IDENTITY, LEFT, tmp_path)
    file = tmp_path / "naa.5000c500a1b2c3d4.json"
    file.write_text(file.read_text() + " " * 8 * MIB)
    assert release_ledger.read_released(SourceFolders(released=tmp_path, as_root=True)).value == ()


def test_unreadable_record_needs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_ledger.record_release(IDENTITY, LEFT, tmp_path)
    (tmp_path / "a.json").write_text("{")
    as_user, as_root = SourceFolders(released=tmp_path), SourceFolders(released=tmp_path, as_root=True)
    reading = release_ledger.read_released(as_user)
    assert (reading.state, len(reading.known(()))) == (SourceKnowledge.READ, 1)
    real = Path.read_text

    def read_text(self: Path, encoding: str) -> str:
        if self.name.startswith("naa."):
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, encoding)

    monkeypatch.setattr(Path, "read_text", read_text)
    reading = release_ledger.read_released(as_user)
    assert (reading.state, "Permission denied" in reading.reason) == (SourceKnowledge.NEEDS_ROOT, True)
    reading = release_ledger.read_released(as_root)
    assert (reading.state, reading.value) == (SourceKnowledge.READ, ())


def test_record_complete_on_disk_before_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, synced = os.fsync, []

    def fsync(fd: int) -> None:
        real(fd)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            synced.append(os.fstat(fd).st_size)
            assert not list(tmp_path.glob("*.json"))

    monkeypatch.setattr(os, "fsync", fsync)
    release_ledger.record_release(IDENTITY, LEFT, tmp_path)
    assert synced == [(tmp_path / "naa.5000c500a1b2c3d4.json").stat().st_size]


def test_name_of_record_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            names = [path.name for path in tmp_path.iterdir()]
            synced.append((os.fstat(fd).st_ino, fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECTORY, names))

    monkeypatch.setattr(os, "fsync", fsync)
    release_ledger.record_release(IDENTITY, LEFT, tmp_path)
    assert synced == [(tmp_path.stat().st_ino, os.O_DIRECTORY, ["naa.5000c500a1b2c3d4.json"])]


def test_where_nothing_was_recorded_nothing_is_broken(tmp_path: Path) -> None:
    assert set_aside_broken(tmp_path / "nowhere", parse_release) == []


def test_record_of_disk_without_wwn(tmp_path: Path) -> None:
    named = dataclasses.replace(IDENTITY, wwn=None)
    places = SourceFolders(released=tmp_path / "disks", as_root=True)
    for identity in (named, IDENTITY):
        release_ledger.record_release(identity, LEFT, places.released)
        record_full_read(identity, NOW, None, places.read_whole)
    assert {each.wwn for each in release_ledger.read_released(places).known(())} == {None, IDENTITY.wwn}
    assert {each.wwn for each in read_whole(places).known(())} == {None, IDENTITY.wwn}


def test_a_disk_without_identity_is_not_recorded(tmp_path: Path) -> None:
    nameless = dataclasses.replace(IDENTITY, serial="", wwn=None)
    with pytest.raises(ValueError, match="8:16"):
        release_ledger.record_release(nameless, LEFT, tmp_path)


def test_record_of_another_disk() -> None:
    mine = dataclasses.replace(LEFT, serial="Z1D0ABCD", wwn=IDENTITY.wwn, size_bytes=IDENTITY.size_bytes)
    others = (
        dataclasses.replace(mine, wwn="naa.5000c500a1b2c3d5"),
        dataclasses.replace(mine, size_bytes=IDENTITY.size_bytes + 512),
        dataclasses.replace(mine, wwn=None, serial="Z1D0ABCE"),
    )
    assert release_ledger.record_of(IDENTITY, others) is None
    assert release_ledger.record_of(IDENTITY, (*others, mine)) is mine
    assert release_ledger.record_of(None, (mine,)) is None


def test_a_place_is_a_short_digest(disk: int) -> None:
    assert {len(place.digest) for place in record(disk).places} == {0, 32}
    assert SampledPlace(0, "").digest == ""
    assert SAMPLE_BYTES == 64 * KIB
