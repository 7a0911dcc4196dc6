"""Loop devices with partitions for tests of layouts, over files that the test made."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from app.domain.disk import DiskIdentity, DiskRefusal
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.spare import ALL_WRITTEN, SpareDisks
from tests.disks.workshop import readable_proc

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

        try:
            yield make
        finally:
            _unmount_below(folder)


def _unmount_below(folder: Path) -> None:
    """Unmount what a test that failed has left: loop devices stay while they are mounted."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        if (place := line.split()[4]).startswith(f"{folder}/"):
            subprocess.run(("umount", place), check=True)


@dataclass(frozen=True, slots=True)
class SpareLoops(SpareDisks):
    """The rules of this machine with loop devices as disks, and a record of the released ones."""

    folder: Path = Path()

    @override
    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        with readable_proc(self.folder) as proc:
            return SpareDisks(self.policy, replace(self.places, proc=proc)).refusals(chosen)

    @override
    def release(
        self, disks: Mapping[str, DiskIdentity], written_ends: Mapping[str, int] = ALL_WRITTEN
    ) -> None:
        with readable_proc(self.folder) as proc:
            SpareDisks(self.policy, replace(self.places, proc=proc)).release(disks, written_ends)


def spare_loops(folder: Path) -> SpareLoops:
    """Return the rules for loop devices, which keep their record in a folder."""
    policy = Policy(accept_loop_devices=True)
    return SpareLoops(policy, SourceFolders(released=folder / "released", as_root=True), folder)
