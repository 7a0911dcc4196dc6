"""How much of files is stored compressed, as FIEMAP and stat(2) tell it."""

from __future__ import annotations

import array
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.text import KIB, MIB
from app.probes.facts import files
from app.probes.facts.files import StoredBytes, stored_bytes

EXTENT = 128 * KIB
ENCODED, LAST = 0x8, 0x1


def file_of(tmp_path: Path, name: str = "a", size: int = MIB) -> Path:
    path = tmp_path / name
    path.write_bytes(bytes(size))
    return path


def bytes_of_extents(
    monkeypatch: pytest.MonkeyPatch, extents: list[tuple[int, int, int]], at_once: int = 3
) -> list[int]:
    """Let the kernel tell these (begin, length, flags), a few at once; return where it was asked to begin."""
    asked: list[int] = []

    def ioctl(_file: int, _request: int, room: array.array[int], _change: bool) -> int:  # noqa: FBT001
        start, length, *_ = files._HEADER.unpack_from(room, 0)
        asked.append(start)
        found = [each for each in extents if each[0] + each[1] > start and each[0] < start + length][:at_once]
        files._HEADER.pack_into(room, 0, start, length, 0, len(found), 0, 0)
        for number, (begin, long, flags) in enumerate(found):
            place = files._HEADER.size + number * files._EXTENT.size
            files._EXTENT.pack_into(room, place, begin, 0, long, 0, 0, flags, 0, 0, 0)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    return asked


def extents(count: int, flags: int) -> Iterator[tuple[int, int, int]]:
    for number in range(count):
        yield number * EXTENT, EXTENT, flags | (LAST if number == count - 1 else 0)


@pytest.mark.parametrize(("flags", "share"), [(ENCODED, 1.0), (0, 0.0)])
def test_encoded_extents_over_several_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: int, share: float
) -> None:
    asked = bytes_of_extents(monkeypatch, list(extents(8, flags)))
    found = stored_bytes([file_of(tmp_path)])
    assert found.encoded_bytes == share * MIB
    assert asked == [0, 3 * EXTENT, 6 * EXTENT]


def test_extent_ends_with_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_of_extents(monkeypatch, [(0, EXTENT, ENCODED | LAST)])
    assert stored_bytes([file_of(tmp_path, size=5000)]).encoded_bytes == 5000


def test_holes_and_empty_file_not_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_of_extents(monkeypatch, [(4 * EXTENT, EXTENT, ENCODED)])
    assert stored_bytes([file_of(tmp_path)]).encoded_bytes == EXTENT
    bytes_of_extents(monkeypatch, [])
    assert stored_bytes([file_of(tmp_path)]).encoded_bytes == 0


def test_filesystem_without_extents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "no")

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    found = stored_bytes([file_of(tmp_path, "a"), file_of(tmp_path, "b")])
    assert found.encoded_bytes is None
    assert found.logical_bytes == 2 * MIB
    assert found.disk_bytes == sum((tmp_path / name).stat().st_blocks * 512 for name in "ab")


def test_another_error_of_the_kernel_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "ioctl", fail)
    with pytest.raises(OSError, match="broken"):
        stored_bytes([file_of(tmp_path)])


def test_real_filesystem(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(os.urandom(MIB))
    found = stored_bytes([path])
    assert found.logical_bytes == MIB
    assert found.encoded_bytes in {None, 0}, "random data is compressed nowhere"
    assert stored_bytes([]) == StoredBytes(0, 0, 0, 0)


def test_links_and_special_files_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file_of(tmp_path))
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo", "missing"):
        with pytest.raises(OSError):  # noqa: PT011 - each of another kind
            stored_bytes([tmp_path / name])


def test_extents_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_of_extents(monkeypatch, list(extents(8, 0)))
    assert stored_bytes([file_of(tmp_path, "a"), file_of(tmp_path, "b")]).extents == 16
    # An extent that is told again, because the first answer ended within it.
    asked = iter([[(0, EXTENT, 0), (EXTENT, MIB, 0)], [(EXTENT, 2 * MIB, LAST)]])

    def ioctl(_file: int, _request: int, room: array.array[int], _change: bool) -> int:  # noqa: FBT001
        start, length, *_ = files._HEADER.unpack_from(room, 0)
        found = next(asked)
        files._HEADER.pack_into(room, 0, start, length, 0, len(found), 0, 0)
        for number, (begin, long, flags) in enumerate(found):
            place = files._HEADER.size + number * files._EXTENT.size
            files._EXTENT.pack_into(room, place, begin, 0, long, 0, 0, flags, 0, 0, 0)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    assert stored_bytes([file_of(tmp_path, "c", size=2 * MIB)]).extents == 2
