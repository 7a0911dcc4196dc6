"""The rules about a disk's content and references to it: D08, D08b, D09 and D11."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from app.domain.disk import InspectionReport
from app.domain.messages.message import joined, say
from app.domain.text import format_size
from app.storage.inspect.sampling import EDGE_BYTES, SAMPLE_BYTES, certain_bytes, strata_of
from app.storage.inspect.snapshot import (
    ChangesSinceRelease,
    Content,
    Reference,
    ReleaseComparison,
    SourceKnowledge,
)
from app.storage.spare.rules_disk import DiskFinding, SpareRule, View

MEMBER_KINDS: Final = frozenset({"raid", "volume", "encryption", "swap"})
"""Kinds of signature that may hide data of several disks, of a whole machine, or a secret (D09)."""

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
    return say("blank-it", path=path)


def _check_signatures(view: View) -> Iterator[DiskFinding]:
    blank = blanking(view.path)
    content = view.disk.content.known(None)
    for signature in content.signatures if content else ():
        if signature.kind not in MEMBER_KINDS:
            yield DiskFinding(joined(", ", (signature.name, _place(signature.offset))), blank)
    for part in view.disk.partitions.known(()):
        size = format_size(part.size_bytes)
        yield DiskFinding(say("partition-found", name=part.name, size=size), blank)
    for record in view.disk.udev.known(()):
        found = record.properties.get("ID_PART_TABLE_TYPE")
        if found and record.number == view.disk.number:
            yield DiskFinding(say("udev-table", type=found), blank)
        found = record.properties.get("ID_FS_TYPE")
        if found and not _is_member(record.properties):
            yield DiskFinding(say("udev-type", number=record.number, type=found), blank)
    yield from (DiskFinding(text, blank) for rule, text in view.disk.udisks.known(()) if rule == "D08")


def _is_member(properties: Mapping[str, str]) -> bool:
    return (
        properties.get("ID_FS_USAGE") in _UDEV_MEMBER_USAGE
        or properties.get("ID_FS_TYPE") in {"swap", "suspend"}
    )  # fmt: skip


def _place(offset: int) -> str:
    return say("at-byte", offset=offset)


def _check_members(view: View) -> Iterator[DiskFinding]:
    blank = blanking(view.path)
    content = view.disk.content.known(None)
    for signature in content.signatures if content else ():
        if signature.kind in MEMBER_KINDS:
            yield DiskFinding(joined(", ", (signature.name, _place(signature.offset))), blank)
    for record in view.disk.udev.known(()):
        if _is_member(record.properties):
            found = record.properties.get("ID_FS_TYPE", "")
            yield DiskFinding(say("udev-type", number=record.number, type=found), blank)
    yield from (DiskFinding(text, blank) for rule, text in view.disk.udisks.known(()) if rule == "D09")


def _check_data(view: View) -> Iterator[DiskFinding]:
    content = view.disk.content.known(None)
    if content is None or content.signatures or is_as_left(content):
        return
    found = tuple(_data(content))
    since = content.comparison
    is_read = content.full_read is not None  # data found then is in `found`
    is_rewritten = since is not None and since.written_bytes >= _size_of(view)
    is_written = (
        since is not None and since.since is ChangesSinceRelease.WRITTEN and not is_read and not is_rewritten
    )
    if not found and not is_written:
        return
    remedy = blanking(view.path)
    message = ""
    if since is not None and since.since is not ChangesSinceRelease.UNKNOWN:
        is_certain = since.written_bytes or since.since is not ChangesSinceRelease.WRITTEN
        message = say("changed-since-release") if is_certain else say("perhaps-changed-since-release")
        remedy = joined(" ", (reading_whole(view), remedy))
        found = (_change(since), *found)
    elif since is not None:
        found = (_not_held(since), *found)
    elif view.machine.released.state is SourceKnowledge.READ and view.machine.released.reason:
        found = (view.machine.released.reason, *found)
    for evidence in found:
        yield DiskFinding(evidence, remedy, message)


def is_as_left(content: Content) -> bool:
    """Return whether a disk is as pgFooting left it."""
    return content.comparison is not None and content.comparison.is_as_left


def _data(content: Content) -> Iterator[str]:
    """Yield the places of data, in words."""
    for offset in content.edges:
        yield say("byte-not-zero", offset=offset)
    if content.samples:
        yield say(
            "samples-not-zero", count=len(content.samples), all=content.sampled, offset=content.samples[0]
        )
    if content.full_read is not None and content.full_read.first_data is not None:
        yield say("byte-not-zero-when-read", offset=content.full_read.first_data)


def _change(since: ReleaseComparison) -> str:
    """Return in words how a disk differs from its state at release."""
    match since.since:
        case ChangesSinceRelease.WRITTEN if not since.written_bytes:
            return say("no-bytes-since-release")
        case ChangesSinceRelease.WRITTEN:
            return say("written-since-release", size=format_size(since.written_bytes))
        case ChangesSinceRelease.PLACES:
            count, first = len(since.changed), since.changed[0]
            return say("places-changed", count=count, all=since.places, offset=first)
        case _:
            return say("ends-changed")


def _not_held(since: ReleaseComparison) -> str:
    """Return why a record is no longer valid."""
    released = time.strftime("%Y-%m-%d %H:%M", time.localtime(since.released_s))
    return say("release-record-ended", time=released)


def reading_whole(view: View) -> str:
    """Return the sentence with the command that reads every byte."""
    identity = view.disk.identity.known(None)
    name = identity.serial or identity.key() if identity else view.path
    return say("read-whole-disk", serial=name)


def _size_of(view: View) -> int:
    medium = view.disk.medium.known(None)
    return medium.size_bytes if medium else 0


def looked_at(view: View) -> InspectionReport | None:
    """Return the extent of a disk's inspection, for the user; None if its content was not read."""
    content = view.disk.content.known(None)
    if content is None:
        return None
    looked = InspectionReport(EDGE_BYTES, content.sampled, SAMPLE_BYTES, content.certain_bytes)
    if content.full_read is not None and content.full_read.first_data is None:
        return replace(looked, read_s=content.full_read.read_s)
    since = content.comparison
    if since is None or not since.is_as_left:
        return looked
    certain = certain_bytes(strata_of(_size_of(view)))
    return replace(looked, places=since.places, certain_bytes=certain, released_s=since.released_s)


def _check_references(view: View) -> Iterator[DiskFinding]:
    for source in REFERENCE_SOURCES:
        readings = getattr(view.machine, source.removeprefix("machine.")).known(())
        for reference in readings:
            if _means(view, reference):
                evidence = say("file-names", file=reference.file, text=reference.text)
                yield DiskFinding(evidence, say("take-out-of-file", file=reference.file))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D11")


def _means(view: View, reference: Reference) -> bool:
    """Return whether a reference means this disk or a partition, even by a link that does not exist now."""
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
    SpareRule(
        "D08",
        say("rule-signature"),
        say("unknown-signature"),
        ("disk.content", "disk.partitions", "disk.udev", "disk.udisks"),
        _check_signatures,
        frozenset({"disk.udev", "disk.udisks"}),
    ),
    SpareRule(
        "D08b",
        say("rule-data"),
        say("unknown-data"),
        ("disk.content", "machine.released", "machine.read_whole", "disk.identity", "disk.medium"),
        _check_data,
        frozenset({"machine.released", "machine.read_whole"}),
    ),
    SpareRule(
        "D09",
        say("rule-member"),
        say("unknown-member"),
        ("disk.content", "disk.udev", "disk.udisks"),
        _check_members,
        frozenset({"disk.udev", "disk.udisks"}),
    ),
    SpareRule(
        "D11",
        say("rule-reference"),
        say("unknown-reference"),
        (*REFERENCE_SOURCES, "disk.partitions", "disk.udev", "disk.udisks", "disk.identity"),
        _check_references,
        frozenset({*REFERENCE_SOURCES, "disk.udev", "disk.udisks"}) - {"machine.cmdline"},
    ),
)
