"""At the end of a campaign it is told which disks are free again, which are not, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.disk import UnreleasedItem
from app.domain.errors import StorageError
from app.execution.disks.session import DiskEnding, ending_of, read_disk_ending
from app.hosts.disk_session import UnmakeOutcome
from app.library.entries import DISKS_NAME
from tests.made_disks import SPARE

FIRST, SECOND = SPARE[:2]
IDENTITIES = (FIRST.identity, SECOND.identity)


def test_free_disks_released_not_zeroed() -> None:
    both = ending_of(IDENTITIES, UnmakeOutcome(None, ()), SPARE)
    assert both.kept == ()
    assert both.free.startswith("Released, not zeroed")
    for disk in (FIRST, SECOND):
        assert f"{disk.path} ({disk.identity.serial})" in both.free
    one = ending_of(IDENTITIES[:1], UnmakeOutcome(None, ()), SPARE)
    name = f"{FIRST.path} ({FIRST.identity.serial})"
    assert one.free == f"Released, not zeroed: {name}."


@pytest.mark.parametrize("serial", [FIRST.identity.serial, ""])
def test_kept_disk_not_free_with_reason(serial: str) -> None:
    kept = UnreleasedItem(FIRST.path, serial, "xfs, label PRECIOUS, lies there.", "Look at it.")
    error = StorageError("The filesystem could not be unmade.")
    ending = ending_of(IDENTITIES, UnmakeOutcome(error, (kept,)), SPARE)
    assert FIRST.path not in ending.free
    assert SECOND.path in ending.free
    (sentence,) = ending.kept
    assert sentence.startswith(f"{FIRST.path}")
    assert "could not be released. xfs, label PRECIOUS, lies there. Look at it." in sentence
    assert "journal" in sentence


def test_kept_mount_point_keeps_its_disk() -> None:
    here = (replace(FIRST, is_left_over=True), SECOND)
    remains = UnmakeOutcome(
        StorageError("It is busy.", hint="End it."), (UnreleasedItem("/run/pgfooting/1/storage"),)
    )
    ending = ending_of(IDENTITIES, remains, here)
    assert FIRST.path not in ending.free
    assert ending.kept[0] == "It is busy. End it."
    assert "/run/pgfooting/1/storage could not be released." in ending.kept[1]


def test_seen_signature_means_not_free() -> None:
    ending = ending_of(IDENTITIES, UnmakeOutcome(None, ()), (replace(FIRST, is_left_over=True), SECOND))
    assert FIRST.path not in ending.free
    assert ending.kept == (
        f"Storage that pgFooting created is still on: {FIRST.path} ({FIRST.identity.serial}).",
    )


def test_pulled_disk_not_reported_free() -> None:
    assert ending_of(IDENTITIES[:1], UnmakeOutcome(None, ()), (SECOND,)) == DiskEnding()


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"free": 1, "kept": []}', b'{"free": "", "kept": [1]}', b"\xff"]
)
def test_malformed_file_reports_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / DISKS_NAME).write_bytes(content)
    assert read_disk_ending(tmp_path) is None
    assert read_disk_ending(tmp_path / "none") is None
