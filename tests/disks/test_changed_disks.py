"""Somebody changed a disk of a session meanwhile: not one foreign byte is written, and it is told.

The cases are those that once lost data, through the helper itself; `tests.disks.matrix` has every other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.domain.options.raid import Level
from app.domain.storage_plan.plan import FURTHER_ROLES, Role, StoragePlan
from app.domain.storage_plan.reader import identity_to_wire
from app.domain.text import GIB, MIB
from app.helper.base.audit import RUN
from app.storage.system.state import sysfs_folder
from tests.disks.helper_owner import SPARE, Owner, client, plan_of
from tests.disks.layout_proof import output
from tests.disks.matrix.disks import Disk, Range
from tests.fix_helper import Running, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"


def run(*argv: str, text: str = "") -> None:
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)


def settle() -> None:
    run("udevadm", "settle")


def unmount() -> None:
    """Unmount what sessions have mounted of disks, as an administrator does by hand."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        if (place := line.split()[4]).startswith(f"{RUN}/") and " tmpfs " not in line:
            run("umount", place)
    settle()


def digest(disk: str, *ranges: Range) -> str:
    """Return the hash of what is on a disk, without its holes, in which nothing is."""
    backing = (sysfs_folder(disk) / "loop/backing_file").read_text().strip()
    return Disk(disk, Path(backing)).digest(ranges)


SECOND = (600 * MIB, 800 * MIB)


def table(disk: str, script: str, *options: str) -> None:
    """Change a partition table as an administrator does who knows better."""
    quiet = ("--quiet", "--force", "--no-reread", "--no-tell-kernel")
    run("sfdisk", *quiet, *options, disk, text=script)
    subprocess.run(("partx", "--update", disk), check=False, capture_output=True)
    settle()


@dataclass
class Scene:
    """Blank disks; what is left of a session on them, is taken away when the test ends."""

    disks: list[str]

    @property
    def disk(self) -> str:
        return self.disks[0]

    @property
    def partition(self) -> str:
        return f"{self.disk}p1"

    def has_nothing(self, disk: str) -> bool:
        """Whether neither a signature nor a partition is found on a disk."""
        return not output("blkid", "-p", disk) and not list(sysfs_folder(disk).glob("*/partition"))

    def give_up(self) -> None:
        """Do what the owner of foreign data does who does not want it any more: every byte is zero."""
        unmount()
        for disk in self.disks:
            run("blkdiscard", "--force", "--zeroout", disk)
            subprocess.run(("partx", "--delete", disk), check=False, capture_output=True)
        settle()


@pytest.fixture
def scene(installed_helper: None, make_loop: Callable[..., str]) -> Iterator[Scene]:
    scene = Scene([make_loop(1 * GIB, partscan=True) for _ in range(2)])
    yield scene
    if Running.last is not None and Running.last.process.poll() is None:
        Running.last.kill()
    scene.give_up()
    Running().end()
    assert journaled() == []
    assert all(scene.has_nothing(disk) for disk in scene.disks)


def killed_while_ready(*disks: str, filesystem: str = "ext4", level: Level = Level.SINGLE) -> None:
    """Make storage, and kill the helper; its mounts are gone as after the end of a system."""
    killed_with(plan_of(*disks, filesystem=filesystem, level=level))


def killed_with(plan: StoragePlan) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan)
        owner.make()
        running.kill()
    unmount()


def inspected(disk: str) -> str:
    """Return why a disk is not spare, as root tells it on the bus."""
    with client() as connection:
        (answers,) = connection.call("Inspect", "(a(ssstst))", [identity_to_wire(SPARE.identify(disk))])
    ((_, answer, reasons, *_),) = answers
    assert answer == "not spare", reasons
    return "; ".join(" ".join(reason) for reason in reasons)


def is_kept(running: Running, disk: str, before: str, *words: str) -> None:
    """Whether a disk is as its owner left it, and all is said that must be."""
    assert digest(disk) == before
    assert len(journaled()) == 1
    for word in words:
        assert running.said(word), running.log.read_text()
    reasons = inspected(disk)
    assert "D18" in reasons, reasons
    assert digest(disk) == before


def foreign_xfs(scene: Scene) -> None:
    run("mkfs.xfs", "-q", "-f", "-L", "PRECIOUS", scene.partition)


def two_partitions(scene: Scene) -> None:
    """Delete ours and make two with ext4: the table keeps its identifier."""
    table(scene.disk, "", "--delete")
    table(scene.disk, f"size=200MiB, type={LINUX}\nsize=200MiB, type={LINUX}\n", "--append")
    for number in (1, 2):
        run("mkfs.ext4", "-q", "-F", f"{scene.disk}p{number}")


def foreign_swap(scene: Scene) -> None:
    run("mkswap", "--force", scene.partition)


def foreign_volume_group(scene: Scene) -> None:
    if shutil.which("vgcreate") is None:
        pytest.skip("LVM is not installed")
    options = ("--config", "devices { use_devicesfile=0 }", "--yes", "-ff")
    run("wipefs", "--all", "--quiet", scene.partition)
    run("pvcreate", *options, scene.partition)


CASES: list[tuple[str, Callable[[Scene], None], str]] = [
    ("a_filesystem_made_in_our_partition", foreign_xfs, "xfs"),
    ("two_partitions_in_the_place_of_ours", two_partitions, "partition"),
    ("swap_made_in_our_partition", foreign_swap, "swap"),
    ("a_physical_volume_made_in_our_partition", foreign_volume_group, "LVM2_member"),
]


@pytest.mark.parametrize(("happen", "word"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_after_a_crash_it_survives(scene: Scene, happen: Callable[[Scene], None], word: str) -> None:
    killed_while_ready(scene.disk)
    happen(scene)
    settle()
    before = digest(scene.disk)
    is_kept(Running(), scene.disk, before, word)


def test_crash_keeps_encrypted_partition_of_stripe(scene: Scene, tmp_path: Path) -> None:
    if shutil.which("cryptsetup") is None:
        pytest.skip("cryptsetup is not installed")
    killed_while_ready(*scene.disks, filesystem="btrfs", level=Level.STRIPE)
    key = tmp_path / "key"
    key.write_bytes(b"x" * 64)
    fast = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode")
    run("cryptsetup", "luksFormat", "--type", "luks2", *fast, scene.partition, str(key))
    settle()
    before = digest(scene.disk)
    is_kept(Running(), scene.disk, before, "crypto_LUKS")
    assert "D18" in inspected(scene.disks[1])  # somebody unmounted it: offered


@pytest.mark.parametrize("role", FURTHER_ROLES)
def test_crash_keeps_filesystem_on_group_disk(scene: Scene, role: Role) -> None:
    theirs, data = (plan_of(disk).data for disk in scene.disks)
    further: dict[str, Any] = {role.value: theirs}
    killed_with(StoragePlan(data, **further))
    foreign_xfs(scene)
    settle()
    before = digest(scene.disk)
    is_kept(Running(), scene.disk, before, "xfs")
    assert "D18" in inspected(scene.disks[1])  # somebody unmounted it: offered


_GUEST = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    data = b"guest" * 800 + b"%096d" % time.monotonic_ns()
    os.pwrite(fd, data, 0)
    os.fsync(fd)
    time.sleep(0.05)
sys.stdout.buffer.write(data)
"""


def test_crash_keeps_partition_being_written(scene: Scene, tmp_path: Path) -> None:
    killed_while_ready(scene.disk)
    ended_orderly = tmp_path / "end"
    argv = (sys.executable, "-c", _GUEST, scene.partition, str(ended_orderly))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as guest:
        assert guest.stdout is not None
        guest.stdout.readline()
        try:
            running = Running()
            assert guest.poll() is None
            assert running.said(str(guest.pid)), running.log.read_text()
            assert len(journaled()) == 1
            assert "D18" in inspected(scene.disk)
        finally:
            ended_orderly.touch()
        last = guest.stdout.read()
    with Path(scene.partition).open("rb") as device:
        assert device.read(len(last)) == last


def test_foreign_filesystem_survives_next_unmake(scene: Scene) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(scene.disk))
        storage = owner.make()
        with subprocess.Popen(("sleep", "600"), cwd=storage) as busy:
            stuck = owner.unmake()
            busy.kill()
        assert stuck[-1], "it is not stuck"
        unmount()
        foreign_xfs(scene)
        settle()
        before = digest(scene.disk)
        _, _, code, message, hint, left = owner.unmake()
        assert code, "told as if it had been unmade"
        said = f"{message} {hint} {left}"
        assert "xfs" in said, said
        assert "PRECIOUS" in said, said
        assert left
        assert all(reason and remedy for _, _, reason, remedy in left)
        assert digest(scene.disk) == before
        ended = owner.release()
        assert ended[2], ended
        assert ended[-1], ended
    is_kept(running, scene.disk, before, "xfs")


def test_foreign_partition_survives_unmake_and_make(scene: Scene) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(scene.disk))
        owner.make()
        table(scene.disk, f"start=600MiB, size=200MiB, type={LINUX}\n", "--append")
        run("mkfs.ext4", "-q", "-F", f"{scene.disk}p2")
        settle()
        before = digest(scene.disk, SECOND)
        _, _, code, message, hint, left = owner.unmake()
        assert code, "told as if it had been unmade"
        assert left
        assert "partition" in f"{message} {hint} {left}"
        assert digest(scene.disk, SECOND) == before
        with suppress(Exception):  # refused at once, or told as the end of this Make
            owner.call("Make", "u", 0)
            assert owner.wait_for("Ready", "Unmade", "Ended")[0] != "Ready"
        assert digest(scene.disk, SECOND) == before
        owner.release()
    assert digest(scene.disk, SECOND) == before
    assert "D18" in inspected(scene.disk)
    running.end()
