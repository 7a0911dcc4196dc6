"""Disks followed live: with the real udevd and UDisks2, and with the kernel alone."""

from __future__ import annotations

import os
import queue
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.text import MIB
from app.hosts.disk_watch import DiskWatch
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.disks import DiskChange, Listing
from tests.disks.workshop import readable_proc

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

LIMIT_S = 60
SIZE_BYTES = 640 * MIB


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


class WatchedChanges:
    """What the watch told, and how long it took."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._queue: queue.Queue[tuple[float, Listing, tuple[DiskChange, ...]]] = queue.Queue()
        self._record = record

    def __call__(self, listing: Listing, changed: tuple[DiskChange, ...]) -> None:
        self._queue.put((time.monotonic(), listing, changed))

    def until(self, what: str, holds: Callable[[Listing], bool], since_s: float) -> Listing:
        """Wait until a listing is as wanted, and record after how many seconds it was told."""
        while True:
            reported_s, listing, _ = self._queue.get(timeout=LIMIT_S)
            if holds(listing):
                self._record("seconds", f"{what}: {reported_s - since_s:.2f}")
                print(f"{what}: {reported_s - since_s:.2f} s")  # noqa: T201 - shown with -s
                return listing


@pytest.fixture
def changes(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[WatchedChanges]:
    found = WatchedChanges(record_property)
    with readable_proc(tmp_path) as proc:
        watch = DiskWatch(found, Policy(accept_loop_devices=True), SourceFolders(proc=proc, as_root=True))
        watch.start()
        yield found
        watch.stop()


def disk_of(listing: Listing, path: str) -> Disk | None:
    return next((disk for disk in listing.disks if disk.path == path), None)


def answer_of(listing: Listing, path: str) -> SpareAnswer | None:
    disk = disk_of(listing, path)
    return None if disk is None else disk.answer


def attached(image: Path) -> str:
    return run("losetup", "--find", "--show", str(image))


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE_BYTES)
    yield path
    for device in run("losetup", "--noheadings", "--output", "NAME", "--associated", str(path)).split():
        with suppress(subprocess.CalledProcessError):
            run("umount", device)
        run("losetup", "--detach", device)


def live(changes: WatchedChanges, image: Path, mount_point: Path) -> None:
    """A disk comes, gets a filesystem, is mounted, unmounted and goes."""
    mount_point.mkdir()
    start = time.monotonic()
    device = attached(image)
    changes.until("attached", lambda listing: disk_of(listing, device) is not None, start)
    run("mkfs.ext4", "-q", device)
    start = time.monotonic()
    run("mount", device, str(mount_point))
    mounted = changes.until("mounted", lambda listing: "mounted at" in str(disk_of(listing, device)), start)
    assert answer_of(mounted, device) is SpareAnswer.NOT_SPARE
    start = time.monotonic()
    run("umount", str(mount_point))
    changes.until("unmounted", lambda listing: "mounted" not in str(disk_of(listing, device)), start)
    start = time.monotonic()
    run("losetup", "--detach", device)
    changes.until("detached", lambda listing: disk_of(listing, device) is None, start)


def test_the_kernel_alone_tells_of_every_change(changes: WatchedChanges, image: Path, tmp_path: Path) -> None:
    live(changes, image, tmp_path / "mount point")


def test_with_udisks_every_change_is_told_too(
    system_daemons: None, changes: WatchedChanges, image: Path, tmp_path: Path
) -> None:
    live(changes, image, tmp_path / "mount point")


def test_udisks_findings_reported(system_daemons: None, changes: WatchedChanges, image: Path) -> None:
    device = attached(image)
    changes.until("attached", lambda listing: disk_of(listing, device) is not None, time.monotonic())
    run("mkfs.xfs", "-q", device)
    start = time.monotonic()
    run("udevadm", "trigger", "--action=change", "--settle", device)
    changes.until("UDisks2 sees XFS", lambda listing: "UDisks2" in str(disk_of(listing, device)), start)
