"""How a filesystem is created: what the arguments of its mkfs program follow from, and their form.

What is asked of each filesystem is a pure function of a `Creation`, declared in its own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.options.kinds import OptionValue
from app.domain.options.raid import ArrayLayout

Arguments = tuple[tuple[str, str], ...]
"""(flag, item) pairs; the item is empty for a flag that stands alone, the flag at stages other than mkfs."""

BLOCK_BYTES: Final = 4096
"""Block size said to mkfs programs unless one is chosen; mke2fs takes 1024 by itself below 512 MiB
(mke2fs.conf, small)."""

STRIPE_OPTIONS: Final = ("stride", "stripe_width", "su", "sw")
"""Options by which people tell the stripes of a RAID controller, which nobody can see, themselves."""


@dataclass(frozen=True, slots=True)
class StripeGeometry:
    """What a filesystem is told about the stripes below it.

    Attributes:
        chunk_bytes: contiguous bytes on one disk.
        data_disks: disks of a full stripe that hold data, not parity or copies.
    """

    chunk_bytes: int
    data_disks: int


@dataclass(frozen=True, slots=True)
class Creation:
    """One filesystem that is to be made.

    Attributes:
        options: what is chosen, by id.
        written: what the declarations say to the mkfs program: always, then what is chosen.
        uuid: that it gets; empty where nobody gives it one.
        layout: of its disks.
        geometry: of the stripes below it; None where there is nothing to align to.
    """

    options: Mapping[str, OptionValue]
    written: Arguments
    uuid: str
    layout: ArrayLayout
    geometry: StripeGeometry | None = None

    @property
    def block_bytes(self) -> int:
        """Return the block size that is chosen or said."""
        return int(self.options.get("block_size", BLOCK_BYTES))

    def says(self, flag: str) -> bool:
        """Return whether a flag of the mkfs program is said by a declaration."""
        return any(said == flag for said, _ in self.written)


def joined(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return arguments of a mkfs program: items of one flag joined by commas, flags as they come."""
    items: dict[str, list[str]] = {}
    for flag, item in pairs:
        items.setdefault(flag, []).extend([item] if item else [])
    words: list[str] = []
    for flag, values in items.items():
        words += [flag, ",".join(values)] if values else [flag]
    return tuple(words)
