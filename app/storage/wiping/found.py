"""What lies on a device: every signature that libblkid knows, and those that our own parsers find besides.

Sources: wipefs(8), which lists all of libblkid's findings where blkid(8) names one; Linux md_p.h. Where a
filesystem has its superblock and its UUID stands in its own file.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import StorageError
from app.domain.filesystems import filesystem
from app.domain.messages.message import joined, say
from app.domain.options.on_disk import Area, SuperblockPlace
from app.domain.units import KIB, MIB
from app.storage.inspect.signatures import recognise
from app.storage.layout.conditions import SignatureIs
from app.storage.system.programs import CompletedProgram
from app.storage.wiping.device import ExclusiveDevice
from app.storage.wiping.pool_label import BLANK_BYTES, label_areas, names_pool

HEAD_BYTES: Final = 4 * MIB
TAIL_BYTES: Final = MIB
"""How much of both ends our own parsers look at: every place of a superblock that they know lies in it."""
MEMBER_OF_POOL: Final = "zfs_member"
_WEAK: Final = frozenset({"nilfs2", "hfs", "hfsplus", "minix", "dos", "sun", "jmicron_raid_member"})
"""Magics of two bytes, which data has by chance: libblkid checks more of these formats, and finds them."""
_EXT: Final = frozenset({"ext2", "ext3", "ext4", "jbd"})

Run = Callable[[Sequence[str]], CompletedProgram]


@dataclass(frozen=True, slots=True)
class FoundSignature:
    """One signature on a device.

    Attributes:
        type: as libblkid names it.
        offset: of its magic, in bytes.
        uuid: of it; empty where it has none, or our own parser does not know it.
        label: of it; may be empty.
    """

    type: str
    offset: int
    uuid: str = ""
    label: str = ""

    def words(self) -> str:
        """Return it for people, such as ``xfs, UUID ..., label PRECIOUS``."""
        parts = [self.type]
        if self.uuid:
            parts.append(f"UUID {self.uuid}")
        if self.label:
            parts.append(say("labelled", label=_printable(self.label)))
        return joined(", ", parts)


_LINUX_RAID_MEMBER: Final = SuperblockPlace(Area(4 * KIB, 4 * KIB), Area(4 * KIB, 4 * KIB), 4 * KIB + 16)
"""Metadata 1.2 of md (md_p.h), the only one that is made here."""


def place_of(signature_type: str) -> SuperblockPlace:
    """Return where a signature of ours, other than that of a member of a pool, has its superblock.

    Raises:
        KeyError: we never make such a signature.
    """
    if signature_type == "linux_raid_member":
        return _LINUX_RAID_MEMBER
    place = filesystem(signature_type).superblock
    if place is None:
        raise KeyError(signature_type)
    return place


def areas(signature: SignatureIs, device: ExclusiveDevice) -> tuple[Area, ...]:
    """Return what is to be zeroed where a signature of ours lies on a device.

    Of a pool only labels that are its own: one that somebody overwrote is theirs, and so are the first 8 KiB
    of each, which ZFS leaves to others.

    Raises:
        OSError: it cannot be read.
        KeyError: we never make such a signature.
    """
    if signature.type != MEMBER_OF_POOL:
        return (place_of(signature.type).superblock,)
    own = (area for area in label_areas(device.size_bytes) if _is_own_label(device, area, signature))
    return tuple(Area(area.offset + BLANK_BYTES, area.length - BLANK_BYTES) for area in own)


def _is_own_label(device: ExclusiveDevice, area: Area, signature: SignatureIs) -> bool:
    return names_pool(device.read(area.offset, area.length), area.offset, signature.label, signature.uuid)


def is_whole(signature: SignatureIs, device: ExclusiveDevice) -> bool:
    """Return whether no part of a signature was overwritten.

    All four labels of a member of a pool are its own; the copies of a superblock name the same filesystem.
    Copies are left where they are: nobody looks for them between data.

    Raises:
        OSError: it cannot be read.
    """
    if signature.type == MEMBER_OF_POOL:
        return len(areas(signature, device)) == len(label_areas(device.size_bytes))
    form = place_of(signature.type)
    end = form.superblock.offset + form.superblock.length
    there = [form.uuid_offset + each for each in form.copies if end + each <= device.size_bytes]
    return all(device.read(at, 16) == uuid.UUID(signature.uuid).bytes for at in there)


def look(
    device: ExclusiveDevice, ours: SignatureIs | None, run: Run, *, may_be_partial: bool
) -> tuple[FoundSignature, ...]:
    """Return every signature on a device, those of this session too.

    Args:
        device: which.
        ours: what this session made there, or may have begun to make; its UUID is resolved.
        run: how programs that only read are run.
        may_be_partial: whether ours may be half made or half wiped; one that is not whole is told as such.

    Raises:
        StorageError: libblkid cannot be asked.
        OSError: it cannot be read.
    """
    found = _of_libblkid(device.node, run)
    head = device.read(0, HEAD_BYTES)
    tail = device.read(device.size_bytes - TAIL_BYTES, TAIL_BYTES)
    begun = _begun(ours, device) if may_be_partial else ()
    explained: tuple[Area, ...] = ()
    if ours is not None and (begun or any(is_ours(each, ours) for each in found)):
        explained = _explained(ours, device)
    known = {each.type for each in found}
    for each in recognise(head, tail, device.size_bytes):
        is_told = each.name in known or (each.name in _EXT and known & _EXT)
        if each.name not in _WEAK and not is_told and not any(area.holds(each.offset) for area in explained):
            found = (*found, FoundSignature(each.name, each.offset))
    if begun and not any(is_ours(each, ours) for each in found):
        found = (*found, *begun)
    return found


def is_ours(found: FoundSignature, ours: SignatureIs | None) -> bool:
    """Return whether a signature is the one that this session made."""
    if ours is None or found.type != ours.type:
        return False
    return (not ours.uuid or found.uuid.lower() == ours.uuid.lower()) and (
        not ours.label or found.label == ours.label
    )


def _explained(ours: SignatureIs, device: ExclusiveDevice) -> tuple[Area, ...]:
    if ours.type == MEMBER_OF_POOL:
        return label_areas(device.size_bytes)
    return (place_of(ours.type).explained,)


def _begun(ours: SignatureIs | None, device: ExclusiveDevice) -> tuple[FoundSignature, ...]:
    """Return what a program that was killed left of our signature, which libblkid does not take for whole."""
    if ours is None:
        return ()
    if ours.type == MEMBER_OF_POOL:
        own = areas(ours, device)
        return (FoundSignature(ours.type, own[0].offset, ours.uuid, ours.label),) if own else ()
    at = place_of(ours.type).uuid_offset
    if device.read(at, 16) == uuid.UUID(ours.uuid).bytes:
        return (FoundSignature(ours.type, at, ours.uuid, ours.label),)
    return ()


def _of_libblkid(node: str, run: Run) -> tuple[FoundSignature, ...]:
    """Return what ``wipefs`` lists; without ``--all`` it only reads."""
    ended = run(("wipefs", "--json", "--output", "OFFSET,TYPE,UUID,LABEL", node))
    if ended.exit_code != 0:
        # SECURITY: nobody knows what is there, so it is not ours.
        raise StorageError(say("signatures-not-told", node=node, said=ended.complaint()))
    return parse_listing(ended.stdout)


def parse_listing(text: str) -> tuple[FoundSignature, ...]:
    """Return the signatures of ``wipefs --json``; each type and UUID once, where it lies first.

    Raises:
        StorageError: it is not what wipefs writes.
    """
    first: dict[tuple[str, str, str], FoundSignature] = {}
    try:
        for each in json.loads(text)["signatures"] if text.strip() else ():
            found = FoundSignature(
                each["type"], int(each["offset"], 16), each["uuid"] or "", each["label"] or ""
            )
            first.setdefault((found.type, found.uuid, found.label), found)
    except (ValueError, KeyError, TypeError) as err:
        raise StorageError(say("wipefs-form-unknown")) from err
    return tuple(first.values())


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
