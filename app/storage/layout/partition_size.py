"""How large the one partition on each disk is.

Source: design.md, section 4: by default as large as the run needs, so that runs can be interleaved
without hours of formatting and synchronising; the whole disk as a choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app.domain.storage_plan.plan import TABLE_MARGIN_BYTES, Group
from app.domain.units import GIB, MIB

SMALLEST_DEFAULT_BYTES: Final = 16 * GIB
DATA_SET_FACTOR: Final = 4
"""Room for the data set, its WAL, what vacuum leaves, and a filesystem that is not nearly full."""


def whole_disk_bytes(disk_sizes: Iterable[int]) -> int:
    """Return the largest partition, in whole MiB, that fits each of the disks beside both copies of a GPT."""
    return max(0, (min(disk_sizes) - 2 * TABLE_MARGIN_BYTES) // MIB * MIB)


def planned_bytes(group: Group) -> int:
    """Return the size of the one partition on each disk of a group."""
    return group.partition_bytes or whole_disk_bytes(disk.size_bytes for disk in group.disks)


def default_partition_bytes(data_set_bytes: int, data_disks: int, disk_sizes: Iterable[int]) -> int:
    """Return the size of each partition for a data set.

    Args:
        data_set_bytes: of the largest configuration.
        data_disks: disks that hold data, not parity or copies
            (`app.domain.options.raid.ArrayLayout.data_disks`).
        disk_sizes: of the disks of the group.

    Returns:
        The greater of 16 GiB and four times the data set per data disk, in whole MiB, but no more than
        there is.
    """
    needed = -(-DATA_SET_FACTOR * data_set_bytes // max(1, data_disks))
    wanted = max(SMALLEST_DEFAULT_BYTES, needed)
    return min(-(-wanted // MIB) * MIB, whole_disk_bytes(disk_sizes))
