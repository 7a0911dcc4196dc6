"""How much of files is cached, as the kernel tells it of real ones, and what ZFS tells of its own cache."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.text import KIB, MIB
from app.probes.base.backing_devices import Mount
from app.probes.base.probe import ProbeUnavailable
from app.probes.facts import files
from app.probes.facts.files import CachedBytes, cached_bytes

ARC = Path(__file__).parents[2] / "data/probes/zfs-2.1.11/first/arcstats"
ARC_BYTES = 3_683_328
EXT4 = Mount(1, "8:1", "/", "/", (), "ext4", "/dev/sda1", ())


def ext4(_path: str) -> Mount:
    return EXT4


def zfs(_path: str) -> Mount:
    return replace(EXT4, filesystem="zfs", source="tank/data")


def file_of(tmp_path: Path, size: int, name: str = "a") -> Path:
    path = tmp_path / name
    path.write_bytes(b"x" * size)
    return path


def test_written_file_is_fully_cached(tmp_path: Path) -> None:
    sizes = (3 * MIB, 1, 0, mmap.PAGESIZE + 1)
    paths = [file_of(tmp_path, size, f"file{size}") for size in sizes]
    assert cached_bytes(str(tmp_path), paths, ext4) == CachedBytes(sum(sizes), sum(sizes))


def test_hole_is_not_cached(tmp_path: Path) -> None:
    path = file_of(tmp_path, 64 * KIB)
    with path.open("r+b") as file:
        file.truncate(8 * MIB)  # a hole: no page of it exists
    assert cached_bytes(str(tmp_path), [path], ext4) == CachedBytes(8 * MIB, 64 * KIB)


def test_large_file_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_AT_ONCE", mmap.ALLOCATIONGRANULARITY)
    path = file_of(tmp_path, 5 * mmap.ALLOCATIONGRANULARITY + 7)
    size = path.stat().st_size
    assert cached_bytes(str(tmp_path), [path], ext4) == CachedBytes(size, size)


@pytest.mark.parametrize(("size", "most"), [(8 * MIB, ARC_BYTES), (MIB, MIB)])
def test_zfs_bounded_by_arc_size(tmp_path: Path, size: int, most: int) -> None:
    path = file_of(tmp_path, size)
    assert cached_bytes(str(tmp_path), [path], zfs, ARC) == CachedBytes(size, most, is_bound=True)


@pytest.mark.parametrize("text", [None, "", "a\nb\nuncompressed_size 4 much\n", "a\nb\nsize 4 17\n"])
def test_zfs_without_arc_statistics(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "arcstats"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ProbeUnavailable, match="ZFS does not report the contents of its cache"):
        cached_bytes(str(tmp_path), [], zfs, path)


def test_folder_without_mount(tmp_path: Path) -> None:
    def nowhere(path: str) -> Mount:
        raise LookupError(path)

    with pytest.raises(ProbeUnavailable, match="mount of"):
        cached_bytes(str(tmp_path), [], nowhere)


def test_mincore_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path, 1)
    monkeypatch.setattr(files, "_AT_ONCE", 0x7FFFFFFF)
    monkeypatch.setattr(ctypes, "addressof", lambda _first: 1)  # no address of a page: EINVAL
    with pytest.raises(ProbeUnavailable, match="mincore failed: Invalid argument"):
        cached_bytes(str(tmp_path), [path], ext4)


def test_links_and_special_files_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file_of(tmp_path, 10))
    with pytest.raises(OSError, match="symbolic links"):
        cached_bytes(str(tmp_path), [link], ext4)
    with pytest.raises(OSError, match="Invalid argument"):
        cached_bytes(str(tmp_path), [tmp_path], ext4)
