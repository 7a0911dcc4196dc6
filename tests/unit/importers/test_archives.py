"""Archives of others: streamed, limited, refused as a whole where they are not to be trusted."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import tarfile
import tracemalloc
import zlib
from pathlib import Path

import pytest

from app.domain.errors import ForeignDataError
from app.importers.files import members
from app.importers.files.members import is_packed, list_members, read_members, unread_kind
from tests.unit.importers.made_logs import tar_of

LINE = b"0 1 900 0 1700000000 250000\n"


def tar_with(path: Path, info: tarfile.TarInfo, content: bytes = b"") -> Path:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(whole.getvalue()))
    return path


@pytest.mark.parametrize("packed", [True, False])
def test_members_listed_with_ends_and_sizes(tmp_path: Path, *, packed: bool) -> None:
    path = tar_of(tmp_path / "logs.tgz", {"log.1": LINE * 10_000, "log.1.1": b""}, packed=packed)
    first, second = list_members(path)
    assert (first.name, first.size, first.shown_path) == ("log.1", 280_000, f"{path}: log.1")
    assert first.head == (LINE * 2000)[: len(first.head)]
    assert first.tail.endswith(LINE)
    assert (second.size, second.head) == (0, b"")


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_packed_single_file_is_one_member(tmp_path: Path, ending: str, pack: object) -> None:
    path = tmp_path / f"pgbench_log.77{ending}"
    path.write_bytes(pack(LINE * 3))  # type: ignore[operator]
    (member,) = list_members(path)
    assert (member.name, member.inner, member.size) == ("pgbench_log.77", "", 3 * len(LINE))


@pytest.mark.parametrize("name", ["../climbs", "/etc/passwd", "logs/../../up", "a\nb", "x" * 1100])
def test_path_traversal_refuses_archive(tmp_path: Path, name: str) -> None:
    path = tar_of(tmp_path / "bad.tgz", {"good": LINE, name: LINE})
    with pytest.raises(ForeignDataError, match=r"bad\.tgz contains a member"):
        list_members(path)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_refuse_the_whole_archive(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("pgbench_log.1")
    info.type, info.linkname = kind, "/etc/passwd"
    with pytest.raises(ForeignDataError, match="it was not read"):
        list_members(tar_with(tmp_path / "bad.tgz", info))


@pytest.mark.long
def test_bomb_aborted_early_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tgz"
    info = tarfile.TarInfo("pgbench_log.1")
    info.size = 2 * 1024**3
    packer = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        file.write(packer.compress(info.tobuf()))
        for _ in range(256):  # what is missing of the two GiB is never asked for
            file.write(packer.compress(bytes(1024**2)))
        file.write(packer.flush())
    assert path.stat().st_size < 400_000
    tracemalloc.start()
    try:
        with pytest.raises(ForeignDataError, match="200 times its size"):
            list_members(path)
        assert tracemalloc.get_traced_memory()[1] < 16 * 1024**2
    finally:
        tracemalloc.stop()


def test_huge_extended_header_not_loaded(tmp_path: Path) -> None:
    info = tarfile.TarInfo("pax")
    info.type = tarfile.XHDTYPE
    path = tar_with(tmp_path / "pax.tgz", info, os.urandom(200_000))
    with pytest.raises(ForeignDataError, match="its headers are too large"):
        list_members(path)


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_MEMBERS", 3)
    path = tar_of(tmp_path / "many.tgz", {f"log.{number}": b"" for number in range(4)})
    with pytest.raises(ForeignDataError, match="more than 3 members"):
        list_members(path)


def test_truncated_archive_refused_at_any_point(tmp_path: Path) -> None:
    whole = tar_of(tmp_path / "whole.tgz", {"log.1": os.urandom(50_000)}).read_bytes()
    for size in (20, len(whole) // 2, len(whole) - 4):
        path = tmp_path / "cut.tgz"
        path.write_bytes(whole[:size])
        with pytest.raises(ForeignDataError, match=r"cut\.tgz is (truncated|damaged)"):
            list_members(path)


def test_corrupt_byte_found_by_checksum(tmp_path: Path) -> None:
    whole = bytearray(tar_of(tmp_path / "whole.tgz", {"log.1": LINE * 1000}).read_bytes())
    whole[-6] ^= 0xFF
    path = tmp_path / "wrong.tgz"
    path.write_bytes(whole)
    with pytest.raises(ForeignDataError, match=r"wrong\.tgz is damaged"):
        list_members(path)


def test_truncated_plain_tar_refused(tmp_path: Path) -> None:
    whole = tar_of(tmp_path / "whole.tar", {"log.1": LINE * 1000}, packed=False).read_bytes()
    path = tmp_path / "cut.tar"
    path.write_bytes(whole[:5000])
    with pytest.raises(ForeignDataError, match=r"cut\.tar"):
        list_members(path)


def test_members_can_be_read_in_order(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "logs.tgz", {"a": b"one", "folder/b": b"two"})
    assert [(name, stream.read(10)) for name, stream in read_members(path)] == [
        ("a", b"one"),
        ("folder/b", b"two"),
    ]


def test_unsupported_formats_named() -> None:
    assert unread_kind(b"PK\x03\x04rest") == "zip"
    assert unread_kind(b"\x28\xb5\x2f\xfdrest") == "zstd"
    assert not unread_kind(LINE)
    assert not is_packed(LINE)
