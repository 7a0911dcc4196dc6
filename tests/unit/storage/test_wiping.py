"""What may be wiped is decided from the journal's mark and what was found, and everything else is kept."""

from __future__ import annotations

import gzip
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from app.domain.errors import StorageError
from app.domain.filesystems import filesystem
from app.domain.text import GIB, KIB, MIB
from app.storage.inspect.signatures import MAGICS
from app.storage.layout.conditions import SignatureIs
from app.storage.layout.steps import Mark
from app.storage.system.device import OpenDevice, exclusive
from app.storage.system.programs import TimeBudget
from app.storage.wiping import found as offered
from app.storage.wiping.found import (
    HEAD_BYTES,
    TAIL_BYTES,
    FoundSignature,
    SavedSignatures,
    areas,
    is_of_session,
    is_ours,
    is_whole,
    label_areas,
    parse_listing,
)
from app.storage.wiping.wipe import WipeVerdict, judge_content

NODE = "/dev/sdb1"
OURS = SignatureIs(NODE, "ext4", "6f1d5a52-0a0c-4c1c-9b1e-000000000001")
OWN = FoundSignature("ext4", 0x438, OURS.uuid)
OTHERS = (
    FoundSignature("ext4", 0x438, "6f1d5a52-0a0c-4c1c-9b1e-000000000002"),
    FoundSignature("xfs", 0, "6f1d5a52-0a0c-4c1c-9b1e-000000000003", "PRECIOUS"),
    FoundSignature("crypto_LUKS", 0),
    FoundSignature("xfs", 0, OURS.uuid),
)
MARKS = st.sampled_from([None, *Mark])


@given(MARKS, st.lists(st.sampled_from([OWN, *OTHERS]), max_size=3), st.booleans())
def test_only_what_the_journal_proves_is_wiped(
    mark: Mark | None,
    found: list[FoundSignature],
    is_whole: bool,  # noqa: FBT001
) -> None:
    decided = judge_content(mark, OURS, found, is_whole=is_whole)
    if decided.verdict is WipeVerdict.WIPE:
        assert mark in {Mark.BEGUN, Mark.MADE, Mark.WIPING}
        assert set(found) == {OWN}
        assert is_whole or mark is not Mark.MADE
    if any(each in OTHERS for each in found):
        assert decided.verdict is WipeVerdict.KEEP
        assert "which this session did not create" in decided.reason
    if decided.verdict is WipeVerdict.NOTHING:
        assert found == []
        assert mark is not Mark.MADE
    assert bool(decided.reason) is (decided.verdict is WipeVerdict.KEEP)


EXPECTED = {
    # mark: nothing there, ours whole, ours in part
    None: (WipeVerdict.NOTHING, WipeVerdict.KEEP, WipeVerdict.KEEP),
    Mark.BEGUN: (WipeVerdict.NOTHING, WipeVerdict.WIPE, WipeVerdict.WIPE),
    Mark.MADE: (WipeVerdict.KEEP, WipeVerdict.WIPE, WipeVerdict.KEEP),
    Mark.WIPING: (WipeVerdict.NOTHING, WipeVerdict.WIPE, WipeVerdict.WIPE),
    Mark.WIPED: (WipeVerdict.NOTHING, WipeVerdict.KEEP, WipeVerdict.KEEP),
    Mark.RELEASED: (WipeVerdict.NOTHING, WipeVerdict.KEEP, WipeVerdict.KEEP),
}


@pytest.mark.parametrize(("mark", "expected"), EXPECTED.items())
def test_each_mark_says_what_may_lie_there(mark: Mark | None, expected: tuple[WipeVerdict, ...]) -> None:
    cases = (((), True), ((OWN,), True), ((OWN,), False))
    decided = [judge_content(mark, OURS, found, is_whole=whole) for found, whole in cases]
    assert tuple(each.verdict for each in decided) == expected
    for found, whole in cases:
        with_other = judge_content(mark, OURS, (*found, OTHERS[1]), is_whole=whole)
        assert with_other.verdict is WipeVerdict.KEEP
        assert OTHERS[1].uuid in with_other.reason


def test_ours_by_type_identifier_and_label() -> None:
    pool = SignatureIs(NODE, "zfs_member", "17", "pgfooting-data-1")
    own = FoundSignature("zfs_member", 0, "17", "pgfooting-data-1")
    assert is_ours(own, pool)
    assert is_ours(FoundSignature("ext4", 0, OURS.uuid.upper()), OURS)
    labelled = FoundSignature("ext4", 0, OURS.uuid, "CUSTOMERS")
    assert (is_ours(labelled, OURS), is_of_session(labelled, OURS)) == (False, True)
    array = SignatureIs(NODE, "linux_raid_member", OURS.uuid)
    assert is_ours(FoundSignature("linux_raid_member", 4096, OURS.uuid, "pgfooting:pgf-data-1"), array)
    assert not is_ours(own, None)
    assert not is_ours(replace(own, type="ext4"), pool)
    assert not is_ours(replace(own, uuid="18"), pool)
    assert not is_ours(replace(own, label="tank"), pool)
    unknown = replace(pool, uuid="")
    assert is_ours(own, unknown), "whose identifier never became known"
    assert not is_ours(replace(own, label="tank"), unknown)


def test_signature_text_without_control_characters() -> None:
    assert FoundSignature("crypto_LUKS", 0).words() == "crypto_LUKS"
    assert FoundSignature("xfs", 0, "u").words() == "xfs, UUID u"
    assert FoundSignature("xfs", 0, "", "a\x1b[31m").words() == "xfs, label a?[31m"


def test_missing_signature_means_changed_by_others() -> None:
    assert "no longer" in judge_content(Mark.MADE, OURS, (), is_whole=True).reason
    assert "only a part" in judge_content(Mark.MADE, OURS, (OWN,), is_whole=False).reason
    assert "again" in judge_content(Mark.WIPED, OURS, (OWN,), is_whole=True).reason


def test_foreign_filesystem_is_described() -> None:
    reason = judge_content(Mark.MADE, OURS, OTHERS[1:2], is_whole=True).reason
    assert reason == f"contains xfs, UUID {OTHERS[1].uuid}, label PRECIOUS, which this session did not create"


def test_what_wipefs_lists_is_understood() -> None:
    listing = {
        "signatures": [
            {"offset": "0x0", "type": "xfs", "uuid": "u", "label": "PRECIOUS"},
            {"offset": "0x200", "type": "gpt", "uuid": None, "label": None},
            {"offset": "0x63ffe00", "type": "gpt", "uuid": None, "label": None},
        ]
    }
    assert parse_listing(json.dumps(listing)) == (
        FoundSignature("xfs", 0, "u", "PRECIOUS"),
        FoundSignature("gpt", 512),
    )
    assert parse_listing('{\n   "signatures": [\n\n   ]\n}\n') == ()
    assert parse_listing("") == ()


@pytest.mark.parametrize("text", ["{", "[]", '{"signatures": 3}', '{"signatures": [{"offset": "x"}]}', "{}"])
def test_unknown_listing_is_an_error(text: str) -> None:
    with pytest.raises(StorageError):
        parse_listing(text)


def test_every_magic_seen_before_a_wipe() -> None:
    for magic in MAGICS:
        end = magic.offset + len(magic.magic)
        assert end <= HEAD_BYTES if magic.offset >= 0 else -magic.offset <= TAIL_BYTES, magic


@given(st.integers(64 * MIB, 1 << 50))
def test_pool_labels_at_both_ends(size_bytes: int) -> None:
    first, second, third, fourth = label_areas(size_bytes)
    assert (first.offset, second.offset) == (0, 256 * KIB)
    assert fourth.offset == third.offset + 256 * KIB
    assert size_bytes - 256 * KIB < fourth.offset + fourth.length <= size_bytes


@dataclass
class Sparse(OpenDevice):
    """A device that holds a few pieces and zeros besides."""

    size_bytes: int
    pieces: dict[int, bytes]

    @override
    def read(self, offset: int, length: int) -> bytes:
        return self.pieces.get(offset, bytes(length))[:length]


@pytest.mark.parametrize(
    ("size_bytes", "copies"),
    [(64 * MIB, []), (64 * MIB + 4 * KIB, [64 * MIB]), (GIB, [64 * MIB]), (300 * GIB, [64 * MIB, 256 * GIB])],
)
def test_btrfs_with_overwritten_superblock_copy(size_bytes: int, copies: list[int]) -> None:
    signature = SignatureIs(NODE, "btrfs", OURS.uuid)
    identifier = UUID(OURS.uuid).bytes
    pieces = {at + 32: identifier for at in (64 * KIB, *copies)}
    assert is_whole(signature, Sparse(size_bytes, pieces))
    for at in copies:
        assert not is_whole(signature, Sparse(size_bytes, pieces | {at + 32: b"raw data of else"}))
    assert is_whole(SignatureIs(NODE, "ext4", OURS.uuid), Sparse(size_bytes, {}))


def test_reserved_start_of_pool_label_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    signature = SignatureIs(NODE, "zfs_member", "4711", "pgfooting-1")
    monkeypatch.setattr("app.storage.wiping.found.names_pool", lambda label, *_: label.startswith(b"ours"))
    starts = [each.offset for each in label_areas(GIB)]
    found = areas(signature, Sparse(GIB, dict.fromkeys(starts, b"ours")))
    assert [(each.offset, each.length) for each in found] == [
        (start + 8 * KIB, 248 * KIB) for start in starts
    ]
    assert is_whole(signature, Sparse(GIB, dict.fromkeys(starts, b"ours")))
    assert not is_whole(signature, Sparse(GIB, dict.fromkeys(starts[:3], b"ours")))


def test_copies_are_kept_by_number_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = SavedSignatures(tmp_path / "signatures")
    copies.save("sdb1-partition", 0x438, b"old")
    (old,) = copies.folder.iterdir()
    assert old.name.endswith("-sdb1-partition-0x00000438.gz")
    assert old.stat().st_mode & 0o777 == 0o600
    assert gzip.decompress(old.read_bytes()) == b"old"
    assert copies.folder.stat().st_mode & 0o777 == 0o700
    copies.save("sdb1-partition", 0, b"new")
    assert old.exists()
    monkeypatch.setattr(offered, "MOST_COPIES", 2)
    copies.save("sdb1-partition", 0, b"newer")
    assert kept(copies) == [b"new", b"newer"]
    monkeypatch.setattr(offered, "MOST_BYTES", 1)
    copies.save("sdb1-partition", 0, b"newest")
    assert kept(copies) == [b"newest"]


def kept(copies: SavedSignatures) -> list[bytes]:
    return [gzip.decompress(each.read_bytes()) for each in sorted(copies.folder.iterdir())]


@pytest.mark.parametrize("days", [-4000, -40, 40, 4000])
def test_copies_outlive_a_wrong_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    copies = SavedSignatures(tmp_path / "signatures")
    right_ns = time.time_ns()
    copies.folder.mkdir(mode=0o700)
    (copies.folder / f"{right_ns}-sdb-0x00000000.gz").write_bytes(gzip.compress(b"of an older helper"))
    copies.save("sdb1", 0, b"before")
    monkeypatch.setattr("time.time", lambda: right_ns / 1e9 + days * 86400)
    monkeypatch.setattr("time.time_ns", lambda: right_ns + days * 86400 * 10**9)
    copies.save("sdb1", 0, b"then")
    monkeypatch.undo()
    copies.save("sdb1", 0, b"after")
    assert sorted(kept(copies)) == [b"after", b"before", b"of an older helper", b"then"]
    monkeypatch.setattr(offered, "MOST_COPIES", 3)
    copies.save("sdb1", 0, b"last")
    assert kept(copies) == [b"then", b"after", b"last"]


def test_64_mib_of_copies(tmp_path: Path) -> None:
    copies = SavedSignatures(tmp_path / "signatures")
    for _ in range(3):
        copies.save("sdb1", 0, b"copy")
    for path, mib in zip(sorted(copies.folder.iterdir()), (2, 31, 31), strict=True):
        with path.open("r+b") as file:
            file.truncate(mib * MIB - 4096)
    oldest = min(copies.folder.iterdir())
    copies.save("sdb1", 0, b"newer")
    assert oldest.exists(), "just less than 64 MiB"
    with max(copies.folder.iterdir()).open("r+b") as file:
        file.truncate(MIB)
    copies.save("sdb1", 0, b"newest")
    assert not oldest.exists()
    assert len(list(copies.folder.iterdir())) == 4
    assert offered.MOST_COPIES == 10_000


def test_exclusive_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(_node: str, flags: int) -> int:
        asked.append(flags)
        raise PermissionError(1, "no")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(PermissionError), exclusive("/dev/sdb", "8:16", lambda _seconds: False):
        pass
    for flag in (os.O_EXCL, os.O_DIRECT, os.O_RDWR, os.O_NOFOLLOW, os.O_CLOEXEC, os.O_NONBLOCK):
        assert asked[0] & flag, flag


def test_copy_never_written_over_foreign_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = SavedSignatures(tmp_path / "signatures")
    copies.folder.mkdir()
    monkeypatch.setattr(SavedSignatures, "_make_room", lambda _self: 6)
    victim = tmp_path / "victim"
    place = copies.folder / f"{7:020}-sdb1-0x00000000.gz"
    for target in (victim, tmp_path / "not there"):
        place.symlink_to(target)
        with pytest.raises(OSError, match="File exists"):
            copies.save("sdb1", 0, b"content")
        assert not target.exists()
        place.unlink()
    place.write_bytes(b"theirs")
    with pytest.raises(OSError, match="File exists"):
        copies.save("sdb1", 0, b"content")
    assert place.read_bytes() == b"theirs"


def test_copy_is_complete_when_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    monkeypatch.setattr(
        "os.fsync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").resolve().read_bytes())
    )
    SavedSignatures(tmp_path / "signatures").save("sdb1-partition", 0, b"content")
    assert [gzip.decompress(each) for each in synced] == [b"content"]


def test_patience_is_for_all_waits_together() -> None:
    patience = TimeBudget(0.02)
    assert patience.pause(0.01)
    patience.spent(0.005)
    assert patience.limit(60) == pytest.approx(0.005)
    assert patience.pause(0.01)
    assert not patience.pause(0.01)
    assert patience.limit(60) == 0
    assert TimeBudget().limit(60) == 60


def test_only_the_superblock_is_zeroed() -> None:
    device = cast("Any", SimpleNamespace(size_bytes=GIB, read=lambda _start, length: bytes(length)))
    for kind in ("ext4", "xfs", "btrfs"):
        superblock = filesystem(kind).superblock
        assert superblock is not None
        assert areas(SignatureIs(NODE, kind, OURS.uuid), device) == (superblock.superblock,)
    assert areas(SignatureIs(NODE, "linux_raid_member", OURS.uuid), device)[0].offset == 4 * KIB
    assert areas(SignatureIs(NODE, "zfs_member", "17", "pgf"), device) == (), "no label of ours is there"
    for kind in ("zfs", "tmpfs"):
        with pytest.raises(KeyError):
            areas(SignatureIs(NODE, kind, OURS.uuid), device)
