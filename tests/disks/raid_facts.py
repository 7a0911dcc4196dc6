"""How much real arrays and filesystems hold, to be compared with what the declarations say."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from app.domain.filesystems import filesystem
from app.domain.formats.btrfs import profiles
from app.domain.options.kinds import OptionValue
from app.domain.options.option_spec import capacity
from app.domain.options.raid import ArrayLayout
from app.domain.text import MIB
from tests.disks.option_facts import mounted, must, run

LEAST_SHARE = 0.85
"""What is left of a small filesystem after its own metadata, at least."""


def btrfs_bytes(made: ArrayLayout, nodes: list[str], folder: Path, options: dict[str, OptionValue]) -> int:
    """Return what can be allocated on a btrfs over the nodes: statfs only guesses (a third off)."""
    data, metadata = profiles(made, options)
    must("mkfs.btrfs", "--quiet", "-d", data, "-m", metadata, *nodes)
    devices = [f"device={node}" for node in nodes[1:]]
    with mounted(filesystem("btrfs"), nodes[0], folder, devices) as ended:
        assert ended.exit_code == 0, ended.complaint()
        offered = _allocated_bytes(folder / "room")
    for node in nodes:
        must("wipefs", "--all", "--quiet", node)
        run("btrfs", "device", "scan", "--forget", node)
    return offered


def _allocated_bytes(path: Path) -> int:
    """Return how long a file gets before there is no more room; nothing is written into it."""
    length = 0
    with path.open("wb") as file:
        for step in (256 * MIB, 16 * MIB):
            with suppress(OSError):
                while True:
                    os.posix_fallocate(file.fileno(), length, step)
                    length += step
    return length


def md_bytes(made: ArrayLayout, nodes: list[str]) -> int:
    """Return the size of an md array over the nodes."""
    node = "/dev/md123"  # a name below /dev/md appears late on a slow machine
    shape = (f"--layout={made.md_layout}",) if made.md_layout else ()
    redundancy = () if made.name == "raid0" else ("--assume-clean", "--bitmap=none")
    create = ("mdadm", "--create", node, "--metadata=1.2", "--homehost=facts", f"--level={made.name}")
    must(*create, f"--raid-devices={len(nodes)}", *shape, *redundancy, *nodes)
    try:
        must("udevadm", "settle")
        return int(must("blockdev", "--getsize64", node))
    finally:
        must("mdadm", "--stop", node)
        for each in nodes:
            must("mdadm", "--zero-superblock", each)


def assert_holds(made: ArrayLayout, sizes: list[int], found: int, copies: int | None = None) -> None:
    """Fail where the declared size is not near what is really there."""
    declared = capacity(made, sizes, copies)
    least = LEAST_SHARE * declared
    assert least <= found <= declared, (made.level, made.assembler, declared, found)
