"""Where a format has its superblock on a device, and its UUID in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Area:
    """Bytes of a device.

    Attributes:
        offset: of the first byte.
        length: in bytes.
    """

    offset: int
    length: int

    def holds(self, offset: int) -> bool:
        """Return whether a byte lies in it."""
        return self.offset <= offset < self.offset + self.length


@dataclass(frozen=True, slots=True)
class SuperblockPlace:
    """Where a format that we make has its superblock; it holds the UUID as 16 bytes, most significant first.

    Attributes:
        superblock: what is zeroed to wipe it; all of its magic and its UUID lie in it.
        explained: bytes in which other magics are the superblock's own contents.
        uuid_offset: of the UUID on the device.
        copies: how far copies of the superblock lie behind it, which are always written with it.
    """

    superblock: Area
    explained: Area
    uuid_offset: int
    copies: tuple[int, ...] = ()
