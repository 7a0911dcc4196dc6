"""A snapshot in which one disk is spare, and changes to it: the start of every test of a rule."""

from __future__ import annotations

import dataclasses
from typing import Any

from app.domain.disk import DiskIdentity, SpareAnswer
from app.storage.inspect.snapshot import (
    Content,
    DeviceUse,
    DiskFacts,
    Geometry,
    Hardware,
    KnownDisk,
    MachineSnapshot,
    Policy,
    Reading,
    Snapshot,
    absent,
    read,
)
from app.storage.spare.rules import SpareDecision, decide

IDENTITY = DiskIdentity("Z1D0ABCD", "naa.5000c500a1b2c3d4", "ST4000NM0033", 4_000_787_030_016, "8:16", 12)
MEDIUM = Geometry(4_000_787_030_016, False, False, "none", 512, 4096, rotational=True)  # noqa: FBT003

MACHINE = MachineSnapshot(
    mounts=read((DeviceUse("8:1", "/", "ext4, mnt:[4026531841]"),)),
    swaps=read((DeviceUse("8:2", "/dev/sda2", "/proc/swaps"),)),
    btrfs=read(()),
    pools=read(()),
    arrays=read(()),
    openers=read((DeviceUse("8:0", "smartd (process 7)", "/proc/7/fd/3"),)),
    sees_all=read(True),  # noqa: FBT003
    loops=read(()),
    targets=read(()),
    stacking=read({"8:1": ("8:0",), "8:2": ("8:0",), "8:0": (), "8:16": ()}),
    hibernation=read("0:0"),
    identities=read((KnownDisk("sda", "S1", "naa.1"), KnownDisk("sdb", IDENTITY.serial, IDENTITY.wwn))),
    released=read(()),
    fstab=read(()),
    crypttab=read(()),
    mdadm=read(()),
    lvm=read(()),
    zpool_cache=read(()),
    units=read(()),
    cmdline=read(()),
    read_whole=read(()),
)

DISK = DiskFacts(
    name="sdb",
    number="8:16",
    written=(0,),
    hardware=read(Hardware("scsi", hidden=False, scsi_type=0)),
    medium=read(MEDIUM),
    identity=read(IDENTITY),
    partitions=read(()),
    holders=read(()),
    udev=read(()),
    udisks=absent("not asked"),
    exclusive=read(""),
    content=read(Content(sampled=71)),
    health=read(()),
)


def with_reading(source: str, reading: Reading[Any]) -> Snapshot:
    """Return the snapshot of the spare disk with one source changed, such as ``machine.mounts``."""
    machine, disk = replaced(MACHINE, DISK, source, reading)
    return Snapshot(machine, (disk,))


def replaced(
    machine: MachineSnapshot, disk: DiskFacts, source: str, reading: Reading[Any]
) -> tuple[MachineSnapshot, DiskFacts]:
    """Return both with one source changed."""
    owner, field = source.split(".")
    changes: dict[str, Any] = {field: reading}
    if owner == "machine":
        return dataclasses.replace(machine, **changes), disk
    return machine, dataclasses.replace(disk, **changes)


def decided(source: str, value: object) -> SpareDecision:
    """Return what the rules say when one source was read as `value`."""
    return decide(with_reading(source, read(value)), "sdb", Policy())


def rules_of(decision: SpareDecision) -> set[str]:
    """Return the rules that refuse; a decision without refusals is spare or looks so."""
    assert bool(decision.refusals) == (decision.answer is SpareAnswer.NOT_SPARE)
    return {refusal.rule for refusal in decision.refusals}
