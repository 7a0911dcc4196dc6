"""Disks of the matrix: sparse files, the loop devices over them, and what is on them byte for byte."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.text import MIB
from app.storage.system import state
from tests.disks.matrix.gpt import PartitionTable, read_table
from tests.disks.stalling import Answers, StallingFile

_BLKDISCARD: Final = 0x1277
_BLKFLSBUF: Final = 0x1261
_PIECE: Final = 64 * 1024
_ZEROS: Final = bytes(_PIECE)
_LIMIT_S: Final = 60.0
_UDEVD: Final = Path("/run/udev/control")

PARTITION_START: Final = 1 * MIB
PARTITION_BYTES: Final = 512 * MIB
DISK_BYTES: Final = 800 * MIB
"""Larger than the partition: others can make one beside ours."""

Range = tuple[int, int]
"""First byte and the one behind the last."""


def run(*argv: str, text: str = "", check: bool = True) -> str:
    """Run a program of the system; return what it printed."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    if check and done.returncode != 0:
        raise RuntimeError(f"{argv}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def settle() -> None:
    """Wait until udevd, where one runs, has seen what changed."""
    if _UDEVD.exists():
        run("udevadm", "settle")


@dataclass(slots=True)
class Disk:
    """One disk: a loop device over a sparse file.

    Attributes:
        node: the device as it is called now; empty while it is detached.
        file: with its content.
        served: through which it is read and written where it can hang, fail and lie.
        answers: how it does now.
    """

    node: str
    file: Path
    served: StallingFile | None = None
    answers: Answers = Answers.WELL

    @classmethod
    def blank(cls, file: Path, size_bytes: int = DISK_BYTES) -> Disk:
        """Return a blank disk over a new file."""
        with file.open("xb") as made:
            made.truncate(size_bytes)
        disk = cls("", file)
        disk.attach()
        return disk

    @classmethod
    def over(cls, served: StallingFile) -> Disk:
        """Return a disk that can hang, fail and lie."""
        disk = cls("", served.content, served)
        disk.attach()
        return disk

    def answer(self, how: Answers) -> None:
        """Answer in another way from now on."""
        assert self.served
        self.served.become(how)
        self.answers = how
        if how is Answers.WELL and self.node:
            flush(self.node)  # what is remembered of it is not what lies there

    def attach(self) -> None:
        """Attach the file to a loop device, whichever is free."""
        below = self.served.place if self.served else self.file
        self.node = run("losetup", "--partscan", "--find", "--show", str(below))
        flush(self.node)  # the first to open it has the kernel read its partitions anew
        self._add_partitions()

    def _add_partitions(self) -> None:
        """Tell the kernel of the first partition, where it knows no GPT itself."""
        deadline_s = time.monotonic() + _LIMIT_S
        while (table := self.table()) and table.partitions and not self.has_partition():
            said = run("partx", "--add", self.node, check=False)
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{self.partition} is not told to the kernel: {said}")
            time.sleep(0.005)

    def detach(self) -> None:
        """Detach the file; waits until the kernel has let it go.

        udevd may have assembled an array of what lies on it, or assemble one meanwhile: it is stopped.
        """
        node, self.node = self.node, ""
        if not node:
            return
        flush(node)
        run("losetup", "--detach", node)
        backing = Path("/sys/block", Path(node).name, "loop/backing_file")
        deadline_s = time.monotonic() + _LIMIT_S
        while backing.exists():
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{node} is not let go")
            if array := state.array_on([f"{node}p1", node]):
                run("mdadm", "--stop", array, check=False)
            time.sleep(0.005)

    @property
    def partition(self) -> str:
        """Node of its first partition, whether there is one or not."""
        return self.numbered(1)

    def numbered(self, number: int) -> str:
        """Return the node of a partition, whether there is one or not."""
        return f"{self.node}p{number}" if self.node[-1].isdigit() else f"{self.node}{number}"

    @property
    def size_bytes(self) -> int:
        """Size of the disk."""
        return state.size_bytes(self.node)

    def has_partition(self) -> bool:
        """Whether the kernel has its first partition; a disk that was pulled has none."""
        return bool(self.node) and state.size_bytes(self.partition) > 0

    def table(self) -> PartitionTable | None:
        """Return its GPT, as it is on the disk."""
        return read_table(self.node) if self.node else None

    def signatures(self) -> str:
        """Return what libblkid finds on the disk and on its partitions; empty for nothing."""
        nodes = [self.node, *(f"/dev/{path.parent.name}" for path in self._partitions())]
        found = [(node, run("blkid", "-p", "-c", "/dev/null", node, check=False)) for node in nodes]
        return "; ".join(text for _, text in found if text)

    def _partitions(self) -> list[Path]:
        return sorted(state.sysfs_folder(self.node).glob("*/partition"))

    def is_bare(self) -> bool:
        """Whether nothing is found on it any more: no signature, no partition."""
        return not self.signatures() and not self._partitions()

    def digest(self, ranges: Sequence[Range] = ()) -> str:
        """Return a digest of what is on the disk; of these ranges alone where some are given."""
        if self.node and self.answers is Answers.WELL:
            flush(self.node)
        total = hashlib.sha256()
        with self.file.open("rb", buffering=0) as file:
            for at, piece in _pieces(file.fileno(), self.file.stat().st_size):
                for start, end in ranges or [(0, 1 << 62)]:
                    if at < end and at + len(piece) > start:
                        part = piece[max(0, start - at) : end - at]
                        if any(part):
                            total.update(b"%d:" % max(at, start))
                            total.update(part)
        return total.hexdigest()

    def zero(self) -> None:
        """Make every byte zero, as its owner does who gives it up; the kernel forgets its partitions."""
        zero(self.node, 0, self.size_bytes)
        run("partx", "--delete", self.node, check=False)
        if _UDEVD.exists():  # which can miss that a device was closed while it handles an earlier change
            run("udevadm", "trigger", "--action=change", "--settle", self.node)


def flush(node: str) -> None:
    """Have what was written to a device be on it, and forget what was read of it."""
    with suppress(OSError):
        descriptor = os.open(node, os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.fsync(descriptor)
            fcntl.ioctl(descriptor, _BLKFLSBUF)
        finally:
            os.close(descriptor)


def _pieces(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield what is not zero, in pieces at multiples of their size; holes of a file are skipped."""
    at = 0
    while at < size:
        try:
            at = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:
            return
        at -= at % _PIECE
        try:
            end = os.lseek(descriptor, at, os.SEEK_HOLE)
        except OSError:
            end = size
        for place in range(at, max(end, at + 1), _PIECE):
            piece = os.pread(descriptor, _PIECE, place)
            if piece and piece != _ZEROS[: len(piece)]:
                yield place, piece
            at = place + _PIECE


def zero(node: str, start: int, length: int) -> None:
    """Make bytes of a loop device zero; many of them become a hole of its file."""
    with open(node, "r+b", buffering=0) as device:  # noqa: PTH123 - a device
        if length <= MIB:
            os.pwrite(device.fileno(), bytes(length), start)
        else:
            fcntl.ioctl(device, _BLKDISCARD, start.to_bytes(8, "little") + length.to_bytes(8, "little"))
        os.fsync(device)


def zeroed(node: str, pieces: Sequence[tuple[int, bytes]]) -> None:
    """Make zero what was written into a device."""
    for at, data in pieces:
        zero(node, at, len(data))


def write(node: str, *pieces: tuple[int, bytes]) -> None:
    """Write into a device, as dd does: whoever has it."""
    with open(node, "r+b", buffering=0) as device:  # noqa: PTH123 - a device
        for offset, data in pieces:
            os.pwrite(device.fileno(), data, offset)
        os.fsync(device)


def contents(file: Path) -> tuple[tuple[int, bytes], ...]:
    """Return what is not zero in a file, in pieces."""
    with file.open("rb", buffering=0) as image:
        return tuple(_pieces(image.fileno(), file.stat().st_size))
