"""A file in the place of a disk, with our table and filesystem on it, as sfdisk and mkfs make them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.text import MIB
from app.storage.layout.conditions import SessionPartition, SignatureIs
from app.storage.system.device import OpenDevice
from app.storage.system.programs import CompletedProgram

UUID = "6f1d5a52-0a0c-4c1c-9b1e-00000000000"
BYTES = 80 * MIB
PARTITION_BYTES = 64 * MIB
PARTITION = SessionPartition(
    "/dev/no-such-disk",
    "/dev/no-such-disk1",
    f"{UUID}a",
    f"{UUID}b",
    PARTITION_TYPE,
    MIB,
    PARTITION_BYTES,
)
OURS = SignatureIs(PARTITION.node, "ext4", f"{UUID}c")


@dataclass
class FileDevice(OpenDevice):
    """A file that is read and written as a device is.

    Attributes:
        openers: how many have the partition open.
        did: what was asked of it beside reading.
    """

    file: Path
    node: str = PARTITION.disk
    whole: str = PARTITION.disk
    start: int = 0
    size_bytes: int = BYTES
    block_bytes: int = 512
    openers: int = 0
    did: list[str] = field(default_factory=list)

    @override
    def read(self, offset: int, length: int) -> bytes:
        with self.file.open("rb") as file:
            file.seek(self.start + offset)
            return file.read(max(0, min(length, self.size_bytes - offset)))

    @override
    def zero(self, offset: int, length: int) -> None:
        assert offset >= 0
        assert offset + length <= self.size_bytes
        self.did.append(f"zero {self.start + offset} {length}")
        self.put(offset, bytes(length))

    def put(self, offset: int, content: bytes) -> None:
        """Write, as somebody else does."""
        with self.file.open("r+b") as file:
            file.seek(self.start + offset)
            file.write(content)

    @override
    def flush(self) -> None:
        self.did.append("flush")

    @override
    def forget_partition(self, number: int) -> bool:
        self.did.append(f"forget {number}")
        return self.openers == 0

    @override
    def add_partition(self, number: int, start: int, size_bytes: int) -> None:
        self.did.append(f"tell {number} {start} {size_bytes}")

    def run(self, argv: Sequence[str]) -> CompletedProgram:
        """Run a program that only reads on the file."""
        words = tuple(str(self.file) if word == PARTITION.disk else word for word in argv)
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        return CompletedProgram(words, ended.returncode, ended.stdout, ended.stderr, 0.0)

    @contextmanager
    def opened(self, *_: object) -> Iterator[FileDevice]:
        """Stand for `exclusive` and `reading`."""
        yield self


def made_disk(folder: Path, *, filesystem: bool = True) -> FileDevice:
    """Return a disk as a session makes it."""
    file = folder / "disk"
    with file.open("wb") as new:
        new.truncate(BYTES)
    script = (
        f"label: gpt\nlabel-id: {PARTITION.table_uuid}\nstart=1MiB, size={PARTITION_BYTES // MIB}MiB, "
        f'type={PARTITION_TYPE}, uuid={PARTITION.partition_uuid}, name="pgfooting-data"\n'
    )
    subprocess.run(("sfdisk", "--quiet", str(file)), input=script, text=True, check=True, capture_output=True)
    if filesystem:
        content = folder / "content"
        with content.open("wb") as new:
            new.truncate(PARTITION_BYTES)
        subprocess.run(
            ("mke2fs", "-q", "-F", "-t", "ext4", "-U", OURS.uuid, str(content)),
            check=True,
            capture_output=True,
        )
        FileDevice(file).put(MIB, content.read_bytes())
    return FileDevice(file)
