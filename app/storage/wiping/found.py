"""Find every signature on a device; inspect what a session left, and keep copies of what is wiped.

Sources: wipefs(8), which lists all of libblkid's findings while blkid(8) names one; Linux md_p.h. The places
of a filesystem's superblock and UUID are in its own file. Labels of pools: OpenZFS vdev_impl.h
(vdev_label_t), vdev_label.c (vdev_label_offset), zio.h (zio_eck_t) and zio_checksum.c: each block that ZFS
writes into a label ends with a SHA-256 over itself and its offset.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.domain.errors import RefusedError, StorageError
from app.domain.formats import format_of
from app.domain.messages.message import joined, say
from app.domain.options.format_spec import Area, SuperblockPlace
from app.domain.text import KIB, MIB
from app.storage.inspect.signatures import recognise
from app.storage.layout.conditions import POOL_GUID, SessionPartition, SignatureIs
from app.storage.layout.steps import ends_fact, look_fact, pool_fact, table_fact
from app.storage.system import state
from app.storage.system.device import OpenDevice, content_digest, ends_digest, reading, table_digest
from app.storage.system.programs import CompletedProgram
from app.storage.system.state import MD_MAGIC

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


# Inspect the content of a disk left by a session, for the user's decision whether to release it.
#
# Reads only. Sources of superblocks: Linux fs/ext4/ext4.h (ext4_super_block), fs/xfs/libxfs/xfs_format.h
# (xfs_dsb), fs/btrfs (btrfs_super_block), md_p.h (mdp_superblock_1).


@dataclass(frozen=True, slots=True)
class FilesystemUse:
    """Use of a filesystem, from its superblock.

    Attributes:
        size_bytes: of the filesystem.
        used_bytes: of it.
        mounted_at: folder of its last mount; empty if the format does not record it.
        mounted_s: time of its last mount or write, seconds since 1970; 0 if the format does not record it.
    """

    size_bytes: int
    used_bytes: int
    mounted_at: str = ""
    mounted_s: int = 0


@dataclass(frozen=True, slots=True)
class OfferedDisk:
    """Content of a disk left by a session.

    Attributes:
        is_our_table: whether partition table and copy are, byte for byte, as root made them; or are wiped,
            and both ends of the disk are as root left them.
        is_our_content: whether the partition contains only this session's signatures, used or not, or none at
            all. It may have got a label.
        is_as_left: whether the compared bytes of the content are as the session saw them last.
        on_disk: signatures of the disk itself, including a partition table.
        inside: signatures in the place of our partition.
        held: signatures of the content of an array of which the partition is a member, if its start is on
            this disk: on each disk of a mirror, on one of a stripe.
        use: from the superblock in the partition or array; None for other formats.
        digest: of all inspected bytes: equal means that none of them has changed.
    """

    is_our_table: bool
    is_our_content: bool
    is_as_left: bool
    on_disk: tuple[FoundSignature, ...]
    inside: tuple[FoundSignature, ...]
    held: tuple[FoundSignature, ...]
    use: FilesystemUse | None
    digest: str

    @property
    def is_ours(self) -> bool:
        """Return whether the user may have it wiped: all other content is theirs to take away."""
        return self.is_our_table and self.is_our_content


def look_at(
    partition: SessionPartition, ours: SignatureIs, facts: Mapping[str, str], run: Run
) -> OfferedDisk:
    """Return the content of a disk left by a session; does not check who uses it.

    Args:
        partition: that the session made on it (`app.storage.layout.partitions.members_of`).
        ours: signature that the session made in it.
        facts: of the journal's entry.
        run: runs a program that only reads.

    Raises:
        StorageError: libblkid cannot be asked.
        OSError: it is absent, or cannot be read.
    """
    with reading(partition.disk) as disk:
        return look_through(disk, partition, ours, facts, run)


def look_through(
    disk: OpenDevice, partition: SessionPartition, ours: SignatureIs, facts: Mapping[str, str], run: Run
) -> OfferedDisk:
    """Do the same through a disk that is open already.

    Raises:
        StorageError, OSError: as `look_at`.
    """
    on_disk = look(disk, None, run, may_be_partial=False)
    table = table_digest(disk)
    inside: tuple[FoundSignature, ...] = ()
    held: tuple[FoundSignature, ...] = ()
    content, more, use, signature = "", "", None, resolved(ours, facts)
    if partition.start_bytes + partition.size_bytes <= disk.size_bytes:
        part = disk.part(partition.node, partition.start_bytes, partition.size_bytes)
        inside = look(part, signature, run, may_be_partial=True)
        content, use = content_digest(part), use_of(part)
        if (data := data_of(part)) is not None:
            held = look(data, None, run, may_be_partial=False)
            more, use = content_digest(data), use_of(data)
    ends = facts.get(ends_fact(partition.table_place))
    is_our_table = table == facts.get(table_fact(partition.table_place)) or ends == ends_digest(disk)
    return OfferedDisk(
        is_our_table,
        is_our_table and all(is_of_session(each, signature) for each in inside),
        is_our_table and content == facts.get(look_fact(partition.place)),
        on_disk,
        inside,
        held,
        use,
        hashlib.sha256(f"{table} {content} {more}".encode()).hexdigest(),
    )


def data_of(part: OpenDevice) -> OpenDevice | None:
    """Return the data area of a member of an array (metadata 1.2); None for any other content.

    Raises:
        OSError: it cannot be read.
    """
    block = part.read(4 * KIB, 256)
    if len(block) < 256 or struct.unpack_from("<I", block) != (MD_MAGIC,):
        return None
    start, size = (512 * sectors for sectors in struct.unpack_from("<QQ", block, 128))
    if not 0 < start < start + size <= part.size_bytes:
        return None
    return part.part(part.node, part.start + start, size)


def use_of(part: OpenDevice) -> FilesystemUse | None:
    """Return the use recorded in a superblock of ext, XFS or btrfs; None for any other content.

    Raises:
        OSError: it cannot be read.
    """
    return _use_of(part.read(0, 68 * KIB))


def _use_of(head: bytes) -> FilesystemUse | None:
    if len(head) < 68 * KIB:
        return None
    for parse in (_ext, _xfs, _btrfs):
        if (found := parse(head)) is not None:
            return found
    return None


def _ext(head: bytes) -> FilesystemUse | None:
    block = head[1 * KIB : 2 * KIB]
    if block[56:58] != b"\x53\xef":
        return None
    (blocks,), (free,), (log,) = (struct.unpack_from("<I", block, at) for at in (4, 12, 24))
    mounted_s, written_s = struct.unpack_from("<II", block, 44)
    if struct.unpack_from("<I", block, 96)[0] & 0x80:  # 64bit
        blocks |= struct.unpack_from("<I", block, 0x150)[0] << 32
        free |= struct.unpack_from("<I", block, 0x158)[0] << 32
    return _use(KIB << min(log, 6), blocks, free, _text(block[136:200]), max(mounted_s, written_s))


def _xfs(head: bytes) -> FilesystemUse | None:
    if head[:4] != b"XFSB":
        return None
    (size,), (blocks,), (free,) = (
        struct.unpack_from(form, head, at) for form, at in ((">I", 4), (">Q", 8), (">Q", 144))
    )
    return _use(size, blocks, free)


def _btrfs(head: bytes) -> FilesystemUse | None:
    block = head[64 * KIB :]
    if block[64:72] != b"_BHRfS_M":
        return None
    total, used = struct.unpack_from("<QQ", block, 112)
    return FilesystemUse(total, min(used, total))


def _use(block: int, blocks: int, free: int, mounted_at: str = "", mounted_s: int = 0) -> FilesystemUse:
    return FilesystemUse(block * blocks, block * max(blocks - free, 0), mounted_at, mounted_s)


def _text(field: bytes) -> str:
    text = field.partition(b"\0")[0].decode("utf-8", errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)


# Copies of the wiped signatures, in a folder of root's own, so that a mistake can be undone.
#
# Like ``wipefs --backup``, with the same offsets, compressed. To restore one: ``zcat FILE | dd of=DEVICE bs=1
# seek=OFFSET conv=notrunc`` (wipefs(8)); the name of the file contains device and offset.


FOLDER: Final = Path("/var/lib/pgfooting/signatures")
MOST_COPIES: Final = 10_000
"""Each released disk takes three: the oldest are removed first."""
MOST_BYTES: Final = 64 * 1024**2
"""Limit of all copies together."""
_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class SavedSignatures:
    """The folder with the copies.

    Attributes:
        folder: another one only in tests.
    """

    folder: Path = FOLDER

    def save(self, name: str, offset: int, content: bytes) -> None:
        """Keep a copy of bytes that are about to be zeroed; on disk when this returns.

        Args:
            name: of the device and place: letters, digits and hyphens.
            offset: of the first byte.
            content: the bytes.

        Raises:
            OSError: it cannot be written; then nothing may be wiped.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        last = self._make_room()
        path = self.folder / f"{last + 1:0{_DIGITS}}-{name}-{offset:#010x}.gz"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(gzip.compress(content, compresslevel=1, mtime=0))
            file.flush()
            os.fsync(file.fileno())

    def _make_room(self) -> int:
        """Remove the oldest of too many or too much; return the number of the newest, 0 for none."""
        copies = sorted(((_number_of(path), path) for path in self.folder.glob("*.gz")), reverse=True)
        held = 0
        for place, (_, path) in enumerate(copies, 1):
            held += path.lstat().st_size
            if held > MOST_BYTES or place >= MOST_COPIES:
                path.unlink(missing_ok=True)
        return copies[0][0] if copies else 0


def _number_of(path: Path) -> int:
    """Return the number of a copy; 0 for other files."""
    number = path.name.partition("-")[0]
    return int(number) if number.isdecimal() and len(number) <= _DIGITS else 0
