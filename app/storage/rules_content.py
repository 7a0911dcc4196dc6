"""The rules about what lies on a disk and who refers to it: D08, D08b, D09 and D11."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.domain.plan import PARTITION_TYPE
from app.domain.text import tr
from app.domain.units import format_size
from app.storage.rule import Finding, Rule, View
from app.storage.rules_disk import same_disk
from app.storage.snapshot import Known, Reference, Released, State

MEMBER_KINDS: Final = frozenset({"raid", "volume", "encryption", "swap"})
"""Kinds of signature behind which data of several disks, of a whole machine or a secret may stand (D09)."""

_UDEV_MEMBER_USAGE: Final = frozenset({"raid", "crypto"})
_SHORTEST_SERIAL: Final = 4
REFERENCE_SOURCES: Final = (
    "machine.fstab",
    "machine.crypttab",
    "machine.mdadm",
    "machine.lvm",
    "machine.zpool_cache",
    "machine.units",
    "machine.cmdline",
)


def blanking(path: str) -> str:
    """Return the sentence with the commands that make a disk blank."""
    return tr(
        "To give up everything on it, for good: wipefs --all {path} && blkdiscard --zeroout {path}"
    ).format(path=path)


def _record(view: View) -> Released | None:
    """Return root's record that pgFooting released this disk; None where there is none."""
    identity = view.disk.identity.known(None)
    if identity is None:
        return None
    mine = Known("", identity.serial, identity.wwn)
    for record in view.machine.released.known(()):
        same = same_disk(mine, Known("", record.serial, record.wwn))
        if same and record.size_bytes == identity.size_bytes:
            return record
    return None


def _has_own_table(view: View) -> bool:
    """Return whether the only partition is ours; who may not read the content takes udev's word for it."""
    content = view.disk.content
    if content.value is not None:
        return content.value.has_own_table
    types = [
        record.properties.get("ID_PART_ENTRY_TYPE")
        for record in view.disk.udev.known(())
        if record.number != view.disk.number
    ]
    return content.state is State.NEEDS_ROOT and types == [PARTITION_TYPE]


def _check_signatures(view: View) -> Iterator[Finding]:
    blank = blanking(view.path)
    if _has_own_table(view):
        if _record(view) is None and view.machine.released.state is not State.NEEDS_ROOT:
            yield Finding(
                tr("partition type {type}, no record of this disk").format(type=PARTITION_TYPE),
                blank,
                tr("It carries the mark of pgFooting, but not of this machine's."),
            )
        return
    content = view.disk.content.known(None)
    for signature in content.signatures if content else ():
        if signature.kind not in MEMBER_KINDS:
            yield Finding(f"{signature.name}, {_place(signature.offset)}", blank)
    for part in view.disk.partitions.known(()):
        size = format_size(part.size_bytes)
        yield Finding(tr("partition {name}, {size}").format(name=part.name, size=size), blank)
    for record in view.disk.udev.known(()):
        found = record.properties.get("ID_PART_TABLE_TYPE")
        if found and record.number == view.disk.number:
            yield Finding(tr("udev: partition table {type}").format(type=found), blank)
        found = record.properties.get("ID_FS_TYPE")
        if found and not _is_member(record.properties):
            yield Finding(tr("{number}: udev: {type}").format(number=record.number, type=found), blank)
    yield from (Finding(text, blank) for rule, text in view.disk.udisks.known(()) if rule == "D08")


def _is_member(properties: dict[str, str] | object) -> bool:
    values = properties if isinstance(properties, dict) else {}
    return values.get("ID_FS_USAGE") in _UDEV_MEMBER_USAGE or values.get("ID_FS_TYPE") in {"swap", "suspend"}


def _place(offset: int) -> str:
    return tr("at byte {offset}").format(offset=offset)


def _check_members(view: View) -> Iterator[Finding]:
    blank = blanking(view.path)
    if _has_own_table(view):
        return
    content = view.disk.content.known(None)
    for signature in content.signatures if content else ():
        if signature.kind in MEMBER_KINDS:
            yield Finding(f"{signature.name}, {_place(signature.offset)}", blank)
    for record in view.disk.udev.known(()):
        if _is_member(dict(record.properties)):
            found = record.properties.get("ID_FS_TYPE", "")
            yield Finding(tr("{number}: udev: {type}").format(number=record.number, type=found), blank)
    yield from (Finding(text, blank) for rule, text in view.disk.udisks.known(()) if rule == "D09")


def _check_data(view: View) -> Iterator[Finding]:
    content = view.disk.content.known(None)
    if content is None or content.signatures:
        return
    record = _record(view)
    if record is not None and record.digest == content.digest and not content.has_own_table:
        return  # it is as we left it
    blank = blanking(view.path)
    for offset in content.edges:
        yield Finding(tr("byte {offset} is not zero").format(offset=offset), blank)
    if content.samples:
        evidence = tr("{count} of {all} samples are not zero, the first at byte {offset}").format(
            count=len(content.samples), all=content.sampled, offset=content.samples[0]
        )
        yield Finding(evidence, blank)


def _check_references(view: View) -> Iterator[Finding]:
    for source in REFERENCE_SOURCES:
        readings = getattr(view.machine, source.removeprefix("machine.")).known(())
        for reference in readings:
            if _means(view, reference):
                evidence = tr("{file} names {text}").format(file=reference.file, text=reference.text)
                yield Finding(evidence, tr("Take it out of {file}.").format(file=reference.file))
    yield from (Finding(text) for rule, text in view.disk.udisks.known(()) if rule == "D11")


def _means(view: View, reference: Reference) -> bool:
    """Return whether a reference means this disk or a partition, also by a link that is not there now."""
    disk, text = view.disk, reference.text
    if reference.number:
        return reference.number in disk.numbers
    if text.removeprefix("/dev/") in disk.names:
        return True
    links = {link for record in disk.udev.known(()) for link in record.links}
    if text.removeprefix("/dev/") in links:
        return True
    name, _, value = text.partition("=")
    if name in _UDEV_NAMES:
        return any(record.properties.get(_UDEV_NAMES[name]) == value for record in disk.udev.known(()))
    if "/by-" not in text and name != "IDNAME":
        return False
    identity = disk.identity.known(None)
    words = [] if identity is None else [identity.serial, (identity.wwn or "").partition(".")[2]]
    return any(len(word) >= _SHORTEST_SERIAL and word.casefold() in text.casefold() for word in words)


_UDEV_NAMES: Final = {
    "UUID": "ID_FS_UUID",
    "LABEL": "ID_FS_LABEL",
    "PARTUUID": "ID_PART_ENTRY_UUID",
    "PARTLABEL": "ID_PART_ENTRY_NAME",
}

CONTENT_RULES: Final = (
    Rule(
        "D08",
        tr("It carries a filesystem or a partition table."),
        tr("what lies on it"),
        ("disk.content", "disk.partitions", "disk.udev", "disk.udisks", "machine.released", "disk.identity"),
        _check_signatures,
        frozenset({"disk.udev", "disk.udisks", "machine.released"}),
    ),
    Rule(
        "D08b",
        tr("It holds data that pgFooting does not know."),
        tr("whether it is blank"),
        ("disk.content", "machine.released", "disk.identity"),
        _check_data,
        frozenset({"machine.released"}),
    ),
    Rule(
        "D09",
        tr("It belongs to an array, a pool, a volume group, an encrypted volume or swap."),
        tr("whether it belongs to an array or a pool that does not run"),
        ("disk.content", "disk.udev", "disk.udisks"),
        _check_members,
        frozenset({"disk.udev", "disk.udisks"}),
    ),
    Rule(
        "D11",
        tr("A configuration of this machine names it."),
        tr("whether a configuration names it"),
        (*REFERENCE_SOURCES, "disk.partitions", "disk.udev", "disk.udisks", "disk.identity"),
        _check_references,
        frozenset({*REFERENCE_SOURCES, "disk.udev", "disk.udisks"}) - {"machine.cmdline"},
    ),
)
