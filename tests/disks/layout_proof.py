"""Makes a layout, uses it, unmakes it, and looks for what was left: on loop devices and on the rig."""

from __future__ import annotations

import hashlib
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.storage_plan.plan import StoragePlan
from app.storage.checks.disk_checks import probe_with_program
from app.storage.execution import Execution, ExecutionReport, Hooks
from app.storage.layout.commands import MOUNT_NAMES, build_steps
from app.storage.layout.partitions import Names, PlannedDevice
from app.storage.layout.steps import Step, WipeTable, undo_of
from app.storage.spare.spare import SpareDisks
from app.storage.system.state import is_unique, mount_of, sysfs_folder
from app.storage.wiping.found import look_at

WRITTEN = os.urandom(1 << 20)


@dataclass(slots=True)
class Journal:
    """What the helper would keep on disk: every step before it begins, and what became known."""

    spare: SpareDisks
    begun: list[Step] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def hooks(self) -> Hooks:
        return Hooks(
            identify=self.spare.identify,
            refusals=self._refusals,
            journal=lambda step, _undo: self.begun.append(step),
            release=self.spare.release,
            facts=self.facts.update,
            users=self.spare.users,
        )

    def _refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        self.asked += chosen
        return self.spare.refusals(chosen)


def release_offered(disks: Mapping[str, DiskIdentity], journal: Journal, undo: Sequence[Step]) -> None:
    """Release what is offered of a session, as a person does who has seen what lies on its disks."""
    run = probe_with_program
    agreed = {
        step.partition.disk: look_at(step.partition, step.signature, journal.facts, run).digest
        for step in undo
        if isinstance(step, WipeTable)
    }
    Execution(disks, journal.hooks(), dict(journal.facts), agreed=agreed).unmake(undo)


def output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def digest(node: str) -> str:
    """Return the hash of a whole device: one that an emulated processor computes quickly."""
    with Path(node).open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def fill(node: str) -> str:
    """Write a pattern at the beginning, in the middle and at the end of a device that must not be touched."""
    size = int((sysfs_folder(node) / "size").read_text()) * 512
    with Path(node).open("r+b") as file:
        for at in (0, size // 2, size - len(WRITTEN)):
            file.seek(at)
            file.write(WRITTEN)
    return digest(node)


def leftovers(nodes: Sequence[str], folder: Path) -> list[str]:
    """Return everything that still shows a layout, in words."""
    found = [
        f"{node}: {text}"
        for node in nodes
        if (text := output("blkid", "-p", "-o", "value", "-s", "TYPE", "-s", "PTTYPE", node))
    ]
    found += [f"{node} has partitions" for node in nodes if list(sysfs_folder(node).glob("*/partition"))]
    found += [f"{node} has holders" for node in nodes if list((sysfs_folder(node) / "holders").iterdir())]
    found += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line]
    mdstat = Path("/proc/mdstat")
    found += (
        [line for line in mdstat.read_text().splitlines() if line.startswith("md")] if mdstat.exists() else []
    )
    names = tuple(Path(node).name for node in nodes)
    found += [
        f"btrfs {path.name}"
        for path in Path("/sys/fs/btrfs").glob("*-*-*")
        # the kernel shows those of every namespace: other tests may run beside these
        if not (used := list((path / "devices").glob("*")))
        or any(each.name.startswith(names) for each in used)
    ]
    if Path("/proc/spl/kstat/zfs").exists():
        found += output("zpool", "list", "-H", "-o", "name").split()
        found += [text for text in [output("zpool", "import", "-d", "/dev")] if "pool:" in text]
    found += [f"/dev/md/{path.name}" for path in Path("/dev/md").glob("pgf-*")]
    found += [str(path) for path in folder.iterdir()]
    return found


def use(folder: Path) -> None:
    """Write a file through to the disks and read it again."""
    path = folder / "written"
    with path.open("wb") as file:
        file.write(WRITTEN)
        file.flush()
        os.fsync(file.fileno())
    assert path.read_bytes() == WRITTEN


@dataclass(frozen=True, slots=True)
class Trial:
    """One making and unmaking: reports of both."""

    made: ExecutionReport
    unmade: ExecutionReport


def plan_devices(plan: StoragePlan, nodes: Sequence[str]) -> dict[str, PlannedDevice]:
    """Return the devices of a plan whose disks are these nodes, in order."""
    return {disk.key(): PlannedDevice(node) for (_, disk), node in zip(plan.members(), nodes, strict=True)}


def make_and_unmake(plan: StoragePlan, nodes: Sequence[str], folder: Path, spare: SpareDisks) -> Trial:
    """Make a plan, use what was mounted, unmake it, make sure that nothing is left, and release the disks."""
    devices = plan_devices(plan, nodes)
    names = Names(uuid.uuid4())
    disks = {devices[disk.key()].node: disk for _, disk in plan.members()}
    steps = build_steps(plan, devices, names, str(folder))
    journal = Journal(spare)
    execution = Execution(disks, journal.hooks())
    made = execution.make(steps)
    assert set(disks) <= set(journal.asked)
    for name in list(MOUNT_NAMES.values())[: 2 if plan.wal else 1]:
        use(folder / name)
    if is_unique(mount_of(str(folder / next(iter(MOUNT_NAMES.values()))))):
        # as another process would, which an older kernel cannot prove the mount to
        execution = Execution(disks, journal.hooks(), dict(journal.facts))
    unmade = execution.unmake(undo_of(journal.begun))
    left = leftovers(tuple(disks), folder)
    assert left == [], left
    return Trial(made, unmade)
