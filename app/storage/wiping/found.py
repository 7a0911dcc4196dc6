"""Find every signature on a device: all that libblkid knows, and further ones of our own parsers.

Sources: wipefs(8), which lists all of libblkid's findings while blkid(8) names one; Linux md_p.h. The places
of a filesystem's superblock and UUID are in its own file. Labels of pools: OpenZFS vdev_impl.h
(vdev_label_t), vdev_label.c (vdev_label_offset), zio.h (zio_eck_t) and zio_checksum.c: each block that ZFS
writes into a label ends with a SHA-256 over itself and its offset.
"""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from app.domain.errors import RefusedError, StorageError
from app.domain.formats import format_of
from app.domain.messages.message import joined, say
from app.domain.options.format_spec import Area, SuperblockPlace
from app.domain.units import KIB, MIB
from app.storage.inspect.signatures import recognise
from app.storage.layout.conditions import POOL_GUID, SignatureIs
from app.storage.layout.steps import pool_fact
from app.storage.system import state
from app.storage.system.device import OpenDevice
from app.storage.system.programs import CompletedProgram

HEAD_BYTES: Final = 4 * MIB
TAIL_BYTES: Final = MIB
"""Length of both ends that our own parsers read: contains every superblock place that they know."""
MEMBER_OF_POOL: Final = "zfs_member"
_WEAK: Final = frozenset({"nilfs2", "hfs", "hfsplus", "minix", "dos", "sun", "jmicron_raid_member"})
"""Magics of two bytes, which data has by chance: libblkid checks more of these formats, and finds them."""
_EXT: Final = frozenset({"ext2", "ext3", "ext4", "jbd"})

Run = Callable[[Sequence[str]], CompletedProgram]


@dataclass(frozen=True, slots=True)
class FoundSignature:
    """One signature on a device.

    Attributes:
        type: libblkid's name.
        offset: of its magic, in bytes.
        uuid: of it; empty if it has none, or our own parser does not know it.
        label: of it; may be empty.
    """

    type: str
    offset: int
    uuid: str = ""
    label: str = ""

    def words(self) -> str:
        """Return it for the user, such as ``xfs, UUID ..., label PRECIOUS``."""
        parts = [self.type]
        if self.uuid:
            parts.append(f"UUID {self.uuid}")
        if self.label:
            parts.append(say("labelled", label=_printable(self.label)))
        return joined(", ", parts)


MEMBER_OF_ARRAY: Final = "linux_raid_member"
"""Its label is the name of the array, which mdadm and the home host make."""
_LINUX_RAID_MEMBER: Final = SuperblockPlace(Area(4 * KIB, 4 * KIB), Area(4 * KIB, 4 * KIB), 4 * KIB + 16)
"""Superblock of md's metadata 1.2 (md_p.h), the only one that is made here."""


def place_of(signature_type: str) -> SuperblockPlace:
    """Return the superblock place of a signature of ours, except that of a pool member.

    Raises:
        KeyError: we never make such a signature.
    """
    if signature_type == MEMBER_OF_ARRAY:
        return _LINUX_RAID_MEMBER
    place = format_of(signature_type).superblock
    if place is None:
        raise KeyError(signature_type)
    return place


def areas(signature: SignatureIs, device: OpenDevice) -> tuple[Area, ...]:
    """Return the areas to zero for a signature of ours on a device.

    Of a pool only labels that are its own: one that others overwrote is theirs, and so are the first 8 KiB of
    each, which ZFS leaves to others.

    Raises:
        OSError: it cannot be read.
        KeyError: we never make such a signature.
    """
    if signature.type != MEMBER_OF_POOL:
        return (place_of(signature.type).superblock,)
    own = (area for area in label_areas(device.size_bytes) if _is_own_label(device, area, signature))
    return tuple(Area(area.offset + BLANK_BYTES, area.length - BLANK_BYTES) for area in own)


def _is_own_label(device: OpenDevice, area: Area, signature: SignatureIs) -> bool:
    return names_pool(device.read(area.offset, area.length), area.offset, signature.label, signature.uuid)


def is_whole(signature: SignatureIs, device: OpenDevice) -> bool:
    """Return whether no part of a signature was overwritten.

    All four labels of a member of a pool are its own; the copies of a superblock name the same filesystem.
    Copies are not wiped: nothing looks for them between data.

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
    device: OpenDevice, ours: SignatureIs | None, run: Run, *, may_be_partial: bool
) -> tuple[FoundSignature, ...]:
    """Return every signature on a device, including those of this session.

    Args:
        device: to inspect.
        ours: signature that this session made there, or may have begun to make; its UUID is resolved.
        run: runs programs that only read.
        may_be_partial: whether ours may be half made or half wiped; an incomplete one is also returned then.

    Raises:
        StorageError: libblkid cannot be asked.
        OSError: it cannot be read.
    """
    found = _of_libblkid(device, run)
    head = device.read(0, HEAD_BYTES)
    tail = device.read(device.size_bytes - TAIL_BYTES, TAIL_BYTES)
    begun = _begun(ours, device) if may_be_partial else ()
    explained: tuple[Area, ...] = ()
    if ours is not None and (begun or any(is_ours(each, ours) for each in found)):
        explained = _explained(ours, device)
    known = {each.type for each in found}
    for each in recognise(head, tail, device.size_bytes):
        is_reported = each.name in known or (each.name in _EXT and known & _EXT)
        if (
            each.name not in _WEAK
            and not is_reported
            and not any(area.holds(each.offset) for area in explained)
        ):
            found = (*found, FoundSignature(each.name, each.offset))
    if begun and not any(is_ours(each, ours) for each in found):
        found = (*found, *begun)
    return found


def is_of_session(found: FoundSignature, ours: SignatureIs | None) -> bool:
    """Return whether a signature has the type and identifier of this session's, used or not."""
    if ours is None or found.type != ours.type:
        return False
    return (not ours.uuid or found.uuid.lower() == ours.uuid.lower()) and (
        not ours.label or found.label == ours.label
    )


def is_ours(found: FoundSignature, ours: SignatureIs | None) -> bool:
    """Return whether a signature is this session's, with the label that it gave it or none."""
    is_named = ours is not None and (found.label in {"", ours.label} or ours.type == MEMBER_OF_ARRAY)
    return is_named and is_of_session(found, ours)


def resolved(signature: SignatureIs, facts: Mapping[str, str]) -> SignatureIs:
    """Return a signature with the GUID of its pool; without one if it never became known."""
    if signature.uuid != POOL_GUID:
        return signature
    return replace(signature, uuid=facts.get(pool_fact(signature.label), ""))


def _explained(ours: SignatureIs, device: OpenDevice) -> tuple[Area, ...]:
    if ours.type == MEMBER_OF_POOL:
        return label_areas(device.size_bytes)
    return (place_of(ours.type).explained,)


def _begun(ours: SignatureIs | None, device: OpenDevice) -> tuple[FoundSignature, ...]:
    """Return the remains of our signature after its program was killed, which libblkid does not report."""
    if ours is None:
        return ()
    if ours.type == MEMBER_OF_POOL:
        own = areas(ours, device)
        return (FoundSignature(ours.type, own[0].offset, ours.uuid, ours.label),) if own else ()
    at = place_of(ours.type).uuid_offset
    if device.read(at, 16) == uuid.UUID(ours.uuid).bytes:
        return (FoundSignature(ours.type, at, ours.uuid, ours.label),)
    return ()


def _of_libblkid(device: OpenDevice, run: Run) -> tuple[FoundSignature, ...]:
    """Return the signatures listed by ``wipefs``; without ``--all`` it only reads."""
    if device.start and not _is_known(device):
        return _of_part(device, run)
    ended = run(("wipefs", "--json", "--output", "OFFSET,TYPE,UUID,LABEL", device.node))
    if ended.exit_code != 0:
        # SECURITY: the content is unknown, so it is not ours.
        raise StorageError(say("signatures-not-told", node=device.node, said=ended.complaint()))
    return parse_listing(ended.stdout)


def _is_known(part: OpenDevice) -> bool:
    """Return whether the kernel has a partition at exactly this place."""
    with suppress(OSError, RefusedError):
        return state.partition_place(part.node) == (part.start, part.size_bytes)
    return False


def _of_part(part: OpenDevice, run: Run) -> tuple[FoundSignature, ...]:
    """Return the signatures that ``blkid`` names in a part of a disk without a partition in the kernel."""
    place = (f"--offset={part.start}", f"--size={part.size_bytes}")
    ended = run(("blkid", "--probe", *place, "--output", "export", part.whole))
    if ended.exit_code == 2:
        return ()
    if ended.exit_code == 8:  # ambivalent: something is there that is not ours alone
        return (FoundSignature("unknown", part.start),)
    if ended.exit_code != 0:
        # SECURITY: the content is unknown, so it is not ours.
        raise StorageError(say("signatures-not-told", node=part.node, said=ended.complaint()))
    tags = dict(line.partition("=")[::2] for line in ended.stdout.splitlines())
    table = (("PTTYPE", "PTUUID", ""),) if "PTTYPE" in tags else ()  # also with a filesystem
    names = (("TYPE", "UUID", "LABEL"),) if "TYPE" in tags or not table else ()
    return tuple(
        FoundSignature(tags.get(kind, "unknown"), part.start, tags.get(uuid, ""), tags.get(label, ""))
        for kind, uuid, label in (*names, *table)
    )


def parse_listing(text: str) -> tuple[FoundSignature, ...]:
    """Return the signatures of ``wipefs --json``; each type, UUID and label once, the first listed.

    Raises:
        StorageError: it is not in wipefs's format.
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


LABEL_BYTES: Final = 256 * KIB
BLANK_BYTES: Final = 8 * KIB
"""Start of a label, which ZFS leaves to others (vl_pad1)."""
_PHYSICAL_AT: Final = 16 * KIB
_RING_AT: Final = 128 * KIB
_UBERBLOCK_SIZES: Final = (1 * KIB, 2 * KIB, 4 * KIB, 8 * KIB)
"""Possible sizes: a sector of the pool, within these bounds (VDEV_UBERBLOCK_SHIFT)."""
_UBERBLOCK_MAGIC: Final = 0x00BAB10C
_CHECKSUM_MAGIC: Final = 0x0210DA7AB10C7A11
_CHECKSUM_BYTES: Final = 32


def label_areas(size_bytes: int) -> tuple[Area, ...]:
    """Return the areas of the four labels of a ZFS vdev of this size."""
    aligned = size_bytes // LABEL_BYTES * LABEL_BYTES
    starts = (0, LABEL_BYTES, aligned - 2 * LABEL_BYTES, aligned - LABEL_BYTES)
    return tuple(Area(start, LABEL_BYTES) for start in starts)


def names_pool(label: bytes, offset: int, name: str, guid: str) -> bool:
    """Return whether a label is as ZFS wrote it, and names a pool.

    Bytes that others wrote over a part of it make a checksum wrong, or are an uberblock without one.

    Args:
        label: all 256 KiB of it.
        offset: of it on the vdev.
        name: of the pool.
        guid: of the pool, decimal; anything else if it is not known.
    """
    physical = label[_PHYSICAL_AT:_RING_AT]
    has_guid = not guid.isdigit() or int(guid).to_bytes(8, "big") in physical  # XDR is big-endian
    return (
        name.encode() in physical
        and has_guid
        and _is_summed(physical, offset + _PHYSICAL_AT)
        and _is_summed(label[BLANK_BYTES:_PHYSICAL_AT], offset + BLANK_BYTES)
        and all(_is_uberblock(label, offset, at) for at in _uberblocks(label))
    )


def _uberblocks(label: bytes) -> tuple[int, ...]:
    """Return the starts of all uberblocks in a label, regardless of their writer."""
    at = range(_RING_AT, len(label), _UBERBLOCK_SIZES[0])
    magics = {_UBERBLOCK_MAGIC.to_bytes(8, "little"), _UBERBLOCK_MAGIC.to_bytes(8, "big")}
    return tuple(each for each in at if label[each : each + 8] in magics)


def _is_uberblock(label: bytes, offset: int, at: int) -> bool:
    sizes = (size for size in _UBERBLOCK_SIZES if (at - _RING_AT) % size == 0)
    return any(_is_summed(label[at : at + size], offset + at) for size in sizes)


def _is_summed(block: bytes, offset: int) -> bool:
    """Return whether a block ends with its own checksum, in the byte order of this machine."""
    content, checksum = block[:-_CHECKSUM_BYTES], block[-_CHECKSUM_BYTES:]
    if struct.unpack("=Q", content[-8:]) != (_CHECKSUM_MAGIC,):
        return False
    digest = hashlib.sha256(content + struct.pack("=4Q", offset, 0, 0, 0)).digest()
    return checksum == struct.pack("=4Q", *struct.unpack(">4Q", digest))
