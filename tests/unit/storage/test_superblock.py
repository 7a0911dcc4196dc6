"""Where declarations say that a superblock lies, the real mkfs programs put it; on files, not on disks."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.format_spec import Creation, joined
from app.domain.options.kinds import Stage
from app.domain.options.raid import Level, layout
from app.domain.text import MIB
from app.storage.inspect.signatures import recognise
from app.storage.layout.disk_target import Support, filesystem_availability
from app.storage.wiping.found import HEAD_BYTES, TAIL_BYTES, parse_listing

ROOM = 512 * MIB
UUID_OF_OURS = UUID("6f1d5a52-0a0c-4c1c-9b1e-000000000001")
PROJECT = Path(__file__).parents[3]


def listed(path: Path) -> list[tuple[str, int, str]]:
    said = subprocess.run(["wipefs", "--json", path], check=True, capture_output=True, text=True).stdout
    return [(each.type, each.offset, each.uuid) for each in parse_listing(said)]


@pytest.mark.parametrize("spec", [spec for spec in FILESYSTEMS if spec.mkfs], ids=lambda spec: spec.id)
def test_zeroed_superblock_leaves_no_signature(spec: FilesystemSpec, tmp_path: Path) -> None:
    assert spec.mkfs
    assert spec.mkfs_arguments
    assert spec.superblock
    program = shutil.which(spec.mkfs, path="/usr/sbin:/sbin:/usr/bin")
    if program is None:
        pytest.skip(f"{spec.programs[0].package} is not installed")
    path = tmp_path / "partition"
    with path.open("wb") as file:
        file.truncate(ROOM)
    made = Creation(
        {},
        spec.arguments(Stage.MKFS, {}),
        str(UUID_OF_OURS),
        layout(Level.SINGLE, spec.assembler(Level.SINGLE)),
    )
    subprocess.run([program, *joined(spec.mkfs_arguments(made)), path], check=True, capture_output=True)
    area, place = spec.superblock.superblock, spec.superblock
    ((name, offset, uuid),) = listed(path)
    assert (name, uuid) == (spec.id, str(UUID_OF_OURS))
    assert area.holds(offset)
    with path.open("r+b") as file:
        file.seek(place.uuid_offset)
        assert file.read(16) == UUID_OF_OURS.bytes
        file.seek(area.offset)
        file.write(bytes(area.length))
        file.seek(0)
        head = file.read(HEAD_BYTES)
        file.seek(ROOM - TAIL_BYTES)
        tail = file.read()
    assert listed(path) == []
    assert list(recognise(head, tail, ROOM)) == []


def test_reiserfs_refused_without_kernel_or_tools() -> None:
    spec = filesystem("reiserfs")
    newer = Support("6.13.2-amd64", registered=frozenset())
    missing, *others = filesystem_availability(spec, newer).reasons
    assert missing.message == "Kernel 6.13.2-amd64 has no reiserfs."
    assert missing.remedy == "Linux dropped it in 6.13: boot an older kernel."
    assert "reiserfsprogs" in {each.package for each in others}
    (older, *_) = filesystem_availability(spec, Support("6.12.1-cloud", registered=frozenset())).reasons
    assert older.package == "linux-image-amd64"


def test_modules_that_name_reiserfs() -> None:
    sources = [path for room in ("app", "ui") for path in sorted((PROJECT / room).rglob("*.py"))]
    naming = {
        str(path.relative_to(PROJECT))
        for path in sources
        if re.search("reiserfs", path.read_text(encoding="utf-8"), re.IGNORECASE)
    }
    assert naming == {
        "app/domain/filesystems.py",
        "app/domain/formats/__init__.py",
        "app/domain/formats/reiserfs.py",
        "app/domain/option_texts.py",
        "app/storage/inspect/signatures.py",
    }
