"""Loop devices with partitions for tests of layouts, over files that the test made."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from app.domain.disk import DiskIdentity
from app.domain.plan import StoragePlan
from app.storage.names import Device
from tests.disks.layout_proof import identity_of

SIZE_BYTES = 600 * 1024**2
SENTINEL_BYTES = 16 * 1024**2

MakeLoop = Callable[..., str]


@contextmanager
def loops(folder: Path) -> Iterator[MakeLoop]:
    """Give a function that makes loop devices; they are detached in the end, whatever became of the test."""
    with ExitStack() as stack:

        def make(size_bytes: int = SIZE_BYTES) -> str:
            image = folder / f"image{len(list(folder.glob('image*')))}"
            with image.open("wb") as file:
                file.truncate(size_bytes)
            argv = ("losetup", "--partscan", "--find", "--show", str(image))
            node = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
            stack.callback(subprocess.run, ("losetup", "--detach", node), check=True)
            return node

        yield make


def identities(nodes: list[str]) -> tuple[DiskIdentity, ...]:
    return tuple(identity_of(node) for node in nodes)


def devices_of(plan: StoragePlan, nodes: list[str]) -> dict[str, Device]:
    """Return the devices of a plan whose disks are these nodes, in order."""
    return {disk.key(): Device(node) for (_, disk), node in zip(plan.members(), nodes, strict=True)}
