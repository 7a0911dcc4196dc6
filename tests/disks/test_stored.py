"""What btrfs compresses, on loop devices: files that grow as PostgreSQL lets them grow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.text import MIB
from app.probes.facts.files import stored_bytes
from app.storage.inspect.snapshot import Policy
from tests.disks.workshop import Workshop, attach, images

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with ExitStack() as devices, ExitStack() as state:
        files = images(tmp_path, 640 * MIB)
        shop = Workshop(attach(devices, next(files)), tmp_path, lambda: "", Policy(), state)
        shop.run("mkfs.btrfs", "--quiet", shop.path)
        mounted = shop.mount(shop.path)
        shop.run("mount", "-o", "remount,compress=zstd:3", str(mounted))
        yield mounted


def test_blanks_compressed_unless_space_reserved(folder: Path) -> None:
    for name, reserve in (("written", False), ("reserved", True)):
        with (folder / name).open("wb") as file:
            if reserve:
                os.posix_fallocate(file.fileno(), 0, 4 * MIB)
            file.write(b" " * (4 * MIB))
        found = stored_bytes([folder / name])
        assert found.logical_bytes == 4 * MIB
        assert found.encoded_bytes == (0 if reserve else 4 * MIB), name
    (folder / "random").write_bytes(os.urandom(4 * MIB))
    assert stored_bytes([folder / "random"]).encoded_bytes == 0
