"""The rules about the disk itself: D01, D02, D10 and D15 to D17."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.domain.messages.message import joined, say
from app.domain.units import format_size
from app.storage.inspect.snapshot import KnownDisk
from app.storage.spare.rule import DiskFinding, SpareRule, View

# Name of a whole disk and the subsystems of such a disk. mmcblk is excluded on purpose: eMMC and SD cards
# hold the system or pictures, and servers keep no database on them.
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
        yield DiskFinding(say("hidden", name=view.disk.name))
    if is_loop(view.disk.name):
        if not view.policy.accept_loop_devices:
            yield DiskFinding(
                say("loop-device"),
                say("allow-loop-devices"),
            )
        return
    subsystem = hardware.subsystem or say("none")
    if not any(
        name.fullmatch(view.disk.name) and hardware.subsystem in subsystems for name, subsystems in DISK_KINDS
    ):
        yield DiskFinding(say("disk-kind", name=view.disk.name, subsystem=subsystem))
    elif hardware.scsi_type not in {None, _SCSI_DISK}:
        yield DiskFinding(say("scsi-type", type=hardware.scsi_type))


def _check_medium(view: View) -> Iterator[DiskFinding]:
    medium = view.disk.medium.known(None)
    if medium is None:
        return
    if medium.size_bytes <= 0:
        yield DiskFinding(say("size-zero"), message=say("no-medium"))
    elif medium.size_bytes < view.policy.minimum_bytes:
        evidence = say(
            "size-at-least",
            size=format_size(medium.size_bytes),
            minimum=format_size(view.policy.minimum_bytes),
        )
        yield DiskFinding(evidence, message=say("too-small"))
    if medium.read_only:
        remedy = say("make-writable", path=view.path)
        yield DiskFinding(say("ro-is-1"), remedy, message=say("read-only"))
    if medium.removable:
        yield DiskFinding(say("removable-is-1"), message=say("removable"))
    if medium.zoned not in {"none", ""}:
        evidence = say("zoned-is", zoned=medium.zoned)
        yield DiskFinding(evidence, message=say("zoned"))


def same_disk(one: KnownDisk, other: KnownDisk) -> bool:
    """Return whether two disks are indistinguishable: by WWN if both have one, else by serial."""
    if one.wwn and other.wwn:
        return one.wwn == other.wwn
    return bool(one.serial) and one.serial == other.serial


def _check_doubles(view: View) -> Iterator[DiskFinding]:
    known = view.machine.identities.known(())
    mine = next((entry for entry in known if entry.name == view.disk.name), None)
    for other in known:
        if mine is not None and other.name != mine.name and same_disk(mine, other):
            evidence = say("same-identity", name=other.name, key=other.wwn or other.serial)
            remedy = say("two-paths")
            yield DiskFinding(evidence, remedy)
    for record in view.disk.udev.known(()):
        if record.properties.get("DM_MULTIPATH_DEVICE_PATH") == "1":
            yield DiskFinding(say("udev-multipath"), message=say("multipath"))


def _check_identity(view: View) -> Iterator[DiskFinding]:
    identity = view.disk.identity.known(None)
    if identity is None:
        return
    if _MEANINGLESS.fullmatch(identity.serial) and not identity.wwn:
        without = say("serial-without-wwn", serial=identity.serial)
        yield DiskFinding(without, say("give-virtual-serial"), message=say("no-identity"))
    if view.chosen is None:
        return
    changed = view.chosen.differs_from(identity)
    if changed:
        evidence = joined(
            "; ",
            [
                say("field-changed", field=name, then=getattr(view.chosen, name), now=getattr(identity, name))
                for name in changed
            ],
        )
        yield DiskFinding(
            evidence,
            say("choose-anew"),
            say("rule-other-disk"),
        )


def _check_health(view: View) -> Iterator[DiskFinding]:
    for warning in view.disk.health.known(()):
        yield DiskFinding(warning, say("replace-disk"))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D16")


def _check_hints(view: View) -> Iterator[DiskFinding]:
    for record in view.disk.udev.known(()):
        if record.properties.get("UDISKS_IGNORE") == "1":
            yield DiskFinding(say("udisks-ignore", number=record.number))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D17")


DISK_RULES: Final = (
    SpareRule(
        "D01",
        say("rule-kind"),
        say("unknown-kind"),
        ("disk.hardware",),
        _check_kind,
        in_use=True,
    ),
    SpareRule(
        "D02",
        say("rule-medium"),
        say("unknown-medium"),
        ("disk.medium",),
        _check_medium,
        in_use=True,
    ),
    SpareRule(
        "D10",
        say("rule-same-identity"),
        say("unknown-same-identity"),
        ("machine.identities", "disk.udev"),
        _check_doubles,
        frozenset({"disk.udev"}),
    ),
    SpareRule(
        "D15",
        say("no-identity"),
        say("unknown-identity"),
        ("disk.identity",),
        _check_identity,
    ),
    SpareRule(
        "D16",
        say("rule-warns"),
        say("unknown-warns"),
        ("disk.health", "disk.udisks"),
        _check_health,
        frozenset({"disk.health", "disk.udisks"}),
    ),
    SpareRule(
        "D17",
        say("rule-hands-off"),
        say("unknown-hands-off"),
        ("disk.udev", "disk.udisks"),
        _check_hints,
        frozenset({"disk.udev", "disk.udisks"}),
    ),
)
