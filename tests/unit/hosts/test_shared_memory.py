"""What a killed server's control segment lists, and what is no such segment."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hosts.folders.descriptors import FileIdentity
from app.hosts.folders.leftover_servers import parse_control, remove_shared_memory

MAGIC = 0x9A503D32


def control(items: list[tuple[int, int]], size: int) -> bytes:
    """A control segment: (handle, reference count) of each item."""
    body = b"".join(struct.pack("@II", *item).ljust(size, b"\0") for item in items)
    return struct.pack("@III4x", MAGIC, len(items), 100) + body


@pytest.mark.parametrize(("major", "size"), [(13, 24), (14, 40), (18, 40)])
def test_segments_in_use_without_free_slots(major: int, size: int) -> None:
    assert parse_control(control([(10, 2), (11, 0), (4_294_967_294, 1)], size), major) == [10, 4_294_967_294]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 15,
        b"\0" * 4096,
        control([(10, 2)], 40)[:-1],
        struct.pack("@III4x", MAGIC, 2**32 - 1, 5) + b"\1" * 4096,
    ],
)
def test_incomplete_control_segment_lists_nothing(content: bytes) -> None:
    assert parse_control(content, 15) == []


@given(st.binary(max_size=400), st.integers(0, 99))
def test_any_bytes_are_survived(content: bytes, major: int) -> None:
    parse_control(content, major)
    parse_control(struct.pack("@I", MAGIC) + content, major)


@pytest.mark.parametrize(
    "lock_file",
    [
        "",
        "1\n/data\n",
        "1\n/data\n2\n5432\n/tmp\n\n\n",
        "1\n2\n3\n4\n5\n6\nkey number\n",
        "1\n2\n3\n4\n5\n6\n 0 999999999\n",
    ],
)
def test_data_directory_without_its_own_segment(tmp_path: Path, lock_file: str) -> None:
    (tmp_path / "PG_VERSION").write_text("15\n")
    (tmp_path / "postmaster.pid").write_text(lock_file)
    found = tmp_path.stat()
    assert remove_shared_memory(str(tmp_path), FileIdentity(found.st_dev, found.st_ino, 0)) == []
    assert remove_shared_memory(str(tmp_path), FileIdentity(found.st_dev, found.st_ino + 1, 0)) == []
    assert remove_shared_memory(str(tmp_path / "missing"), FileIdentity(1, 2, 3)) == []
