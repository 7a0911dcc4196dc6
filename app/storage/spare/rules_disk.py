"""The rules about the disk itself: D01, D02, D10 and D15 to D17."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.domain.text import tr
from app.domain.units import format_size
from app.storage.inspect.snapshot import KnownDisk
from app.storage.spare.rule import DiskFinding, SpareRule, View

# Name of a whole disk and the subsystems that such a disk hangs from. mmcblk is left out on purpose: eMMC
# and SD cards carry the system or pictures, and no server keeps a database on them.
DISK_KINDS: Final = (
    (re.compile(r"sd[a-z]+"), frozenset({"scsi"})),
    (re.compile(r"nvme\d+n\d+"), frozenset({"nvme", "nvme-subsystem"})),
    (re.compile(r"vd[a-z]+"), frozenset({"virtio"})),
    (re.compile(r"xvd[a-z]+"), frozenset({"xen"})),
)
LOOP: Final = re.compile(r"loop\d+")

_SCSI_DISK: Final = 0
_MEANINGLESS: Final = re.compile(r"[0\s._-]*")


def is_loop(name: str) -> bool:
    """Return whether a kernel name is that of a loop device."""
    return LOOP.fullmatch(name) is not None


def _check_kind(view: View) -> Iterator[DiskFinding]:
    hardware = view.disk.hardware.known(None)
    if hardware is None:
        return
    if hardware.hidden:
        yield DiskFinding(tr("/sys/block/{name}/hidden is 1").format(name=view.disk.name))
    if is_loop(view.disk.name):
        if not view.policy.accept_loop_devices:
            yield DiskFinding(
                tr("loop device"),
                tr("An administrator can allow loop devices for tests in /etc/pgfooting/helper.conf."),
            )
        return
    subsystem = hardware.subsystem or tr("none")
    if not any(
        name.fullmatch(view.disk.name) and hardware.subsystem in subsystems for name, subsystems in DISK_KINDS
    ):
        yield DiskFinding(
            tr("{name}, subsystem {subsystem}").format(name=view.disk.name, subsystem=subsystem)
        )
    elif hardware.scsi_type not in {None, _SCSI_DISK}:
        yield DiskFinding(tr("SCSI device type {type}, not 0").format(type=hardware.scsi_type))


def _check_medium(view: View) -> Iterator[DiskFinding]:
    medium = view.disk.medium.known(None)
    if medium is None:
        return
    if medium.size_bytes <= 0:
        yield DiskFinding(tr("size 0"), message=tr("There is no medium in it."))
    elif medium.size_bytes < view.policy.minimum_bytes:
        evidence = tr("{size}, at least {minimum}").format(
            size=format_size(medium.size_bytes), minimum=format_size(view.policy.minimum_bytes)
        )
        yield DiskFinding(evidence, message=tr("It is too small."))
    if medium.read_only:
        remedy = tr("If only the kernel says so: blockdev --setrw {path}").format(path=view.path)
        yield DiskFinding(tr("ro is 1"), remedy, message=tr("It is read-only."))
    if medium.removable:
        yield DiskFinding(tr("removable is 1"), message=tr("Its medium is removable."))
    if medium.zoned not in {"none", ""}:
        evidence = tr("queue/zoned is {zoned}").format(zoned=medium.zoned)
        yield DiskFinding(evidence, message=tr("It has zones that must be written in order."))


def same_disk(one: KnownDisk, other: KnownDisk) -> bool:
    """Return whether two disks cannot be told apart: by WWN where both have one, else by serial."""
    if one.wwn and other.wwn:
        return one.wwn == other.wwn
    return bool(one.serial) and one.serial == other.serial


def _check_doubles(view: View) -> Iterator[DiskFinding]:
    known = view.machine.identities.known(())
    mine = next((entry for entry in known if entry.name == view.disk.name), None)
    for other in known:
        if mine is not None and other.name != mine.name and same_disk(mine, other):
            evidence = tr("{name} has the same identity {key}").format(
                name=other.name, key=other.wwn or other.serial
            )
            remedy = tr("Two paths to one disk, or a copy of it: use the multipath device, or detach one.")
            yield DiskFinding(evidence, remedy)
    for record in view.disk.udev.known(()):
        if record.properties.get("DM_MULTIPATH_DEVICE_PATH") == "1":
            yield DiskFinding(
                tr("udev: DM_MULTIPATH_DEVICE_PATH=1"), message=tr("It is one path of a multipath disk.")
            )


def _check_identity(view: View) -> Iterator[DiskFinding]:
    identity = view.disk.identity.known(None)
    if identity is None:
        return
    if _MEANINGLESS.fullmatch(identity.serial) and not identity.wwn:
        evidence = tr("serial “{serial}”, no WWN").format(serial=identity.serial)
        remedy = tr("A virtual disk gets a serial in the settings of its virtual machine.")
        yield DiskFinding(evidence, remedy, message=tr("It has no identity of its own."))
    if view.chosen is None:
        return
    changed = view.chosen.differs_from(identity)
    if changed:
        evidence = "; ".join(
            tr("{field} was {then}, is {now}").format(
                field=field, then=getattr(view.chosen, field), now=getattr(identity, field)
            )
            for field in changed
        )
        yield DiskFinding(
            evidence,
            tr("Look at the disks again and choose anew."),
            tr("It is not the disk that was chosen."),
        )


def _check_health(view: View) -> Iterator[DiskFinding]:
    for warning in view.disk.health.known(()):
        yield DiskFinding(warning, tr("Replace the disk, or wait where it is busy with itself."))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D16")


def _check_hints(view: View) -> Iterator[DiskFinding]:
    for record in view.disk.udev.known(()):
        if record.properties.get("UDISKS_IGNORE") == "1":
            yield DiskFinding(tr("{number}: udev: UDISKS_IGNORE=1").format(number=record.number))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D17")


DISK_RULES: Final = (
    SpareRule(
        "D01",
        tr("pgFooting formats whole SATA, SAS, SCSI, NVMe, virtio and Xen disks only."),
        tr("what kind of device it is"),
        ("disk.hardware",),
        _check_kind,
        in_use=True,
    ),
    SpareRule(
        "D02",
        tr("Its medium cannot be used."),
        tr("what its medium is"),
        ("disk.medium",),
        _check_medium,
        in_use=True,
    ),
    SpareRule(
        "D10",
        tr("Another disk has the same identity."),
        tr("whether another disk has the same identity"),
        ("machine.identities", "disk.udev"),
        _check_doubles,
        frozenset({"disk.udev"}),
    ),
    SpareRule(
        "D15",
        tr("It has no identity of its own."),
        tr("which disk it is"),
        ("disk.identity",),
        _check_identity,
    ),
    SpareRule(
        "D16",
        tr("The disk itself warns."),
        tr("whether the disk warns of failing"),
        ("disk.health", "disk.udisks"),
        _check_health,
        frozenset({"disk.health", "disk.udisks"}),
    ),
    SpareRule(
        "D17",
        tr("It is marked as one to keep hands off."),
        tr("whether it is marked as one to keep hands off"),
        ("disk.udev", "disk.udisks"),
        _check_hints,
        frozenset({"disk.udev", "disk.udisks"}),
    ),
)
