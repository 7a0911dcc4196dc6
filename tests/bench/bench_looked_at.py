"""Which share of data that lies somewhere on a disk is found before the disk is called spare.

The program's own code reads a disk that is simulated: zeros but for one piece of data at a place drawn by
chance. What it reads is noted for each of PLACEMENTS disks of a size; data is found if a read holds a byte
of it. That this is so is checked on some of them by letting the same code read the data itself.

Promise: dense data of the told size is found in every case.
"""

from __future__ import annotations

import os
import random
import sys
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.domain.disk import InspectionReport
from app.domain.disk_answers import looked_words
from app.domain.text import GIB, KIB, MIB, format_size
from app.storage.inspect.sampling import EDGE_BYTES, SAMPLE_BYTES, certain_bytes, strata_of
from app.storage.inspect.snapshot import Geometry
from app.storage.spare.content import content_of
from tests.bench._figures import describe_machine

PLACEMENTS: Final = int(os.environ.get("PLACEMENTS", "1000"))
CHECKED: Final = 5
"""How many of each kind are read again with the data in it."""
DISKS: Final = (200 * 10**9, 10**12, 4 * 10**12)
DATA: Final = (64 * MIB, GIB, 2 * GIB, 10 * GIB)
DENSITIES: Final = (1.0, 0.3, 0.05)
PIECE: Final = 64 * KIB
_SEED: Final = 20_261_122


@dataclass(frozen=True, slots=True)
class Data:
    """One contiguous piece of data, of whose pieces of 64 KiB a share is not zero.

    Attributes:
        start, length: where it lies.
        density: share of pieces that are full; the others are zeros.
        seed: decides which.
    """

    start: int
    length: int
    density: float
    seed: int

    def has_any(self, offset: int, length: int) -> bool:
        """Return whether a byte that is not zero lies in some bytes of the disk."""
        low, high = max(offset, self.start), min(offset + length, self.start + self.length)
        if low >= high:
            return False
        first, last = (low - self.start) // PIECE, (high - 1 - self.start) // PIECE
        return any(self._is_full(piece) for piece in range(first, last + 1))

    def _is_full(self, piece: int) -> bool:
        if self.density >= 1:
            return True
        word = (piece * 0x9E3779B97F4A7C15 + self.seed * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        word ^= word >> 31
        word = word * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        return (word ^ word >> 29) % 1_000_000 < self.density * 1_000_000


class Simulated:
    """Stands for a disk while `content_of` reads it: `os.preadv` gives zeros, or the data's bytes."""

    def __init__(self, data: Data | None = None) -> None:
        self.data = data
        self.reads: list[tuple[int, int]] = []

    def preadv(self, _fd: int, buffers: list[memoryview], offset: int) -> int:
        (buffer,) = buffers
        self.reads.append((offset, len(buffer)))
        buffer[:1] = b"\0"
        if self.data is not None and self.data.has_any(offset, len(buffer)):
            buffer[:1] = b"\1"
        return len(buffer)


def looked_at(size: int, seed: int, disk: Simulated) -> bool:
    """Have the program look at a simulated disk; return whether it finds something."""
    true_preadv = os.preadv
    os.preadv = disk.preadv  # type: ignore[assignment]
    try:
        medium = Geometry(size, False, False, "none", 512, 512, rotational=False)  # noqa: FBT003
        content = content_of(0, medium, random.Random(seed))  # noqa: S311 - the same each time
    finally:
        os.preadv = true_preadv
    return bool(content.edges or content.samples)


def reads_between(reads: list[tuple[int, int]]) -> Callable[[Data], bool]:
    """Return what tells whether these reads find some data."""
    reads = sorted(reads)
    starts = [offset for offset, _ in reads]

    def finds(data: Data) -> bool:
        first = max(0, bisect_right(starts, data.start - MIB) - 1)
        last = bisect_right(starts, data.start + data.length)
        return any(data.has_any(*read) for read in reads[first:last])

    return finds


def shares(size: int) -> dict[tuple[int, float], int]:
    """Return how many of `PLACEMENTS` are found, by length and density."""
    dice = random.Random(_SEED + size)  # noqa: S311
    found = {(length, density): 0 for length in DATA for density in DENSITIES}
    for number in range(PLACEMENTS):
        disk = Simulated()
        if looked_at(size, number, disk):
            raise SystemExit("zeros were taken for data")
        finds = reads_between(disk.reads)
        for length, density in found:
            start = dice.randrange(0, size - length) // 512 * 512
            data = Data(start, length, density, number)
            is_found = finds(data)
            found[length, density] += is_found
            if number < CHECKED and looked_at(size, number, Simulated(data)) is not is_found:
                raise SystemExit(f"the program does not find what it reads: {data}")
    return found


def main() -> int:
    print(describe_machine())
    print(f"share of {PLACEMENTS} placements that is found, in percent; pieces of 64 KiB that are not zeros")
    status = 0
    for size in DISKS:
        began_s = time.monotonic()
        found = shares(size)
        certain = certain_bytes(strata_of(size))
        sentence = looked_words(InspectionReport(EDGE_BYTES, 1, SAMPLE_BYTES, certain)).partition(
            "of others of "
        )[2]
        print(f"\n{size / 10**9:,.0f} GB; told: {sentence.partition(' or more')[0]}", end="")
        print(f" (in truth {format_size(certain)}); {time.monotonic() - began_s:.0f} s")
        print("   data      " + "".join(f"{density:>10.0%}" for density in DENSITIES))
        for length in DATA:
            row = [found[length, density] for density in DENSITIES]
            print(
                f"  {format_size(length):>8}  "
                + "".join(f"{100 * count / PLACEMENTS:>9.1f} " for count in row)
            )
            if length >= certain and row[0] < PLACEMENTS:
                status = 1
    print(
        "\nevery dense piece of the told size was found" if not status else "\nNOT all of the told size found"
    )
    return status


if __name__ == "__main__":
    raise SystemExit(main())
