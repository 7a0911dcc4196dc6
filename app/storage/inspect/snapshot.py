"""Everything that the spare-disk rules examine, read at one moment and frozen.

Each fact is a `Reading`: read, absent (its source does not exist on this machine), unreadable, or readable
only by root. The rules never read anything themselves, so that anything unreadable is seen and refuses.
Device numbers are ``major:minor`` in decimal, as in sysfs and mountinfo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.text import MIB

T = TypeVar("T")
D = TypeVar("D")

MINIMUM_BYTES: Final = 512 * MIB
"""Smallest disk with room for every filesystem and an empty cluster (XFS alone needs 300 MiB)."""


class SourceKnowledge(StrEnum):
    """How much is known of a source."""

    READ = "read"
    ABSENT = "absent"
    UNREADABLE = "unreadable"
    NEEDS_ROOT = "needs root"
    PASSED_OVER = "passed over"
    """Not read because the disk is in use: other rules refuse it, and a working disk is left in peace."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """Result of reading one source.

    Attributes:
        state: see `SourceKnowledge`.
        value: the result; partial if only a part could be read; None if nothing was.
        reason: why it is not (wholly) read, for the user.
    """

    state: SourceKnowledge
    value: T | None = None
    reason: str = ""

    def known(self, otherwise: D) -> T | D:
        """Return the value, or `otherwise` if nothing was read. The state is judged by `rules.judge`."""
        return otherwise if self.value is None else self.value


def read(value: T) -> Reading[T]:
    """Return the reading of a source that was read completely."""
    return Reading(SourceKnowledge.READ, value)


def absent(reason: str) -> Reading[T]:
    """Return the reading of a source that does not exist on this machine."""
    return Reading(SourceKnowledge.ABSENT, None, reason)


def unreadable(reason: str, part: T | None = None) -> Reading[T]:
    """Return the reading of a source that exists but could not be read, or only in part."""
    return Reading(SourceKnowledge.UNREADABLE, part, reason)


def needs_root(reason: str, part: T | None = None) -> Reading[T]:
    """Return the reading of a source that this user may not read, or only in part."""
    return Reading(SourceKnowledge.NEEDS_ROOT, part, reason)


@dataclass(frozen=True, slots=True)
class Policy:
    """Decisions of the caller; never from an argument or the environment of a user.

    Attributes:
        accept_loop_devices: development mode: loop devices count as disks, and are marked.
        minimum_bytes: smaller disks are refused.
    """

    accept_loop_devices: bool = False
    minimum_bytes: int = MINIMUM_BYTES


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device in use.

    Attributes:
        number: of the device.
        user: of the device, in words: a mount point, pool, swap, process ...
        detail: where that was seen.
    """

    number: str
    user: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A device named in a configuration.

    Attributes:
        file: of the configuration.
        text: in the file, such as ``/dev/disk/by-id/wwn-0x5000...`` or ``UUID=...``.
        number: of the device that a path leads to now; empty if it leads to none.
    """

    file: str
    text: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class KnownDisk:
    """Identity of one disk of this machine, for finding duplicates."""

    name: str
    serial: str
    wwn: str | None


@dataclass(frozen=True, slots=True)
class DuplicateMarks:
    """Evidence that a disk was not written: equal marks of one appearance mean that.

    The kernel counts every write and discard through its block layer, by any program. It does not count
    commands that bypass it (SG_IO, NVMe passthrough), nor writes of another machine.

    Attributes:
        appearance: of the disk, in this boot (boot id and disk sequence number); empty if there is none, or
            if nothing is counted (queue/iostats).
        requests: writes and discards.
        written_bytes: by them.
    """

    appearance: str = ""
    requests: int = 0
    written_bytes: int = 0

    def is_same_appearance(self, other: DuplicateMarks) -> bool:
        """Return whether both are of one appearance, and can be compared at all."""
        return bool(self.appearance) and self.appearance == other.appearance


NO_MARKS: Final = DuplicateMarks()


@dataclass(frozen=True, slots=True)
class SampledPlace:
    """A piece of a disk: its offset, and its digest, which is empty for zeros."""

    offset: int
    digest: str


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """A disk that root recorded as released by pgFooting (/var/lib/pgfooting/disks).

    Attributes:
        serial, wwn, size_bytes: identity of the disk.
        digest: `Content.digest` at that time.
        released_s: time of the release, seconds since the epoch.
        marks: at that time.
        places: secret pieces between the ends.
        is_complete: whether there is one in each stratum. Otherwise the record is valid only for this
            appearance.
        discards: whether the disk can discard: a discarded piece may read as ones later (NVM Command Set
            Specification, deallocated logical blocks).
    """

    serial: str
    wwn: str | None
    size_bytes: int
    digest: str
    released_s: float
    marks: DuplicateMarks = DuplicateMarks()
    places: tuple[SampledPlace, ...] = ()
    is_complete: bool = False
    discards: bool = False


@dataclass(frozen=True, slots=True)
class FullRead:
    """A disk of which root read every byte (/var/lib/pgfooting/read).

    Attributes:
        serial, wwn, size_bytes: identity of the disk.
        marks: the same before the first byte and after the last one; the record is valid while they are the
            same.
        first_data: position of the first byte that is not zero; None if all are zeros.
        read_s: end of the reading, seconds since the epoch.
    """

    serial: str
    wwn: str | None
    size_bytes: int
    marks: DuplicateMarks
    first_data: int | None
    read_s: float


class ChangesSinceRelease(StrEnum):
    """Changes to a disk since its release."""

    NOTHING = "the kernel has counted no write"
    ALIKE = "every place is as it was left"
    WRITTEN = "the kernel has counted writes"
    ENDS = "its ends are not as they were left"
    PLACES = "places are not as they were left"
    UNKNOWN = "its record does not hold any longer"


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """Comparison of a disk with the record of its release.

    Attributes:
        since: see `ChangesSinceRelease`.
        released_s: of the record.
        places: number of compared places.
        changed: offsets of those that differ and are not zeros now.
        written_bytes: since the release, as counted by the kernel.
    """

    since: ChangesSinceRelease
    released_s: float
    places: int = 0
    changed: tuple[int, ...] = ()
    written_bytes: int = 0

    @property
    def is_as_left(self) -> bool:
        """Return whether the disk is as pgFooting left it."""
        return self.since in {ChangesSinceRelease.NOTHING, ChangesSinceRelease.ALIKE}


@dataclass(frozen=True, slots=True)
class MachineSnapshot:
    """Facts of the machine as a whole.

    Attributes:
        mounts: of every mount namespace.
        swaps: areas in use.
        btrfs: devices of mounted btrfs filesystems.
        pools: devices of imported ZFS pools.
        arrays: members of md arrays, including arrays that do not run.
        openers: processes with a block device open or mapped.
        sees_all: whether every process of the machine was examined, and not a container's only.
        loops: devices below loop devices.
        targets: devices that this machine serves to others (LIO, nvmet).
        stacking: devices directly below each device: the disk of a partition, members, the device that holds
            a loop's file.
        hibernation: device for the kernel's image; 0:0, which no device has, for none.
        identities: of all disks.
        released: disks released by pgFooting; its reason names records that cannot be understood and count
            for nothing.
        fstab, crypttab, mdadm, lvm, zpool_cache, units, cmdline: devices named there.
        read_whole: disks of which every byte was read.
    """

    mounts: Reading[tuple[DeviceUse, ...]]
    swaps: Reading[tuple[DeviceUse, ...]]
    btrfs: Reading[tuple[DeviceUse, ...]]
    pools: Reading[tuple[DeviceUse, ...]]
    arrays: Reading[tuple[DeviceUse, ...]]
    openers: Reading[tuple[DeviceUse, ...]]
    sees_all: Reading[bool]
    loops: Reading[tuple[DeviceUse, ...]]
    targets: Reading[tuple[DeviceUse, ...]]
    stacking: Reading[Mapping[str, tuple[str, ...]]]
    hibernation: Reading[str]
    identities: Reading[tuple[KnownDisk, ...]]
    released: Reading[tuple[ReleaseRecord, ...]]
    fstab: Reading[tuple[Reference, ...]]
    crypttab: Reading[tuple[Reference, ...]]
    mdadm: Reading[tuple[Reference, ...]]
    lvm: Reading[tuple[Reference, ...]]
    zpool_cache: Reading[tuple[Reference, ...]]
    units: Reading[tuple[Reference, ...]]
    cmdline: Reading[tuple[Reference, ...]]
    read_whole: Reading[tuple[FullRead, ...]] = Reading(SourceKnowledge.ABSENT)


@dataclass(frozen=True, slots=True)
class Hardware:
    """Kind of a block device.

    Attributes:
        subsystem: of the device behind it: ``nvme``, ``scsi``, ``virtio``, ``xen`` ...; empty for purely
            logical devices such as loop, dm, md, zram, nbd, zvol.
        hidden: the kernel hides it from all users (a path of NVMe multipath).
        scsi_type: peripheral device type of SCSI and SATA devices, 0 for disks; None for others.
    """

    subsystem: str
    hidden: bool
    scsi_type: int | None = None


@dataclass(frozen=True, slots=True)
class Geometry:
    """Size and storage properties, from /sys/block/X and its queue."""

    size_bytes: int
    read_only: bool
    removable: bool
    zoned: str
    logical_block_bytes: int
    physical_block_bytes: int
    rotational: bool | None
    discards: bool = False


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """A partition: kernel name, device number, first byte and size."""

    name: str
    number: str
    start_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Signature:
    """A recognised format: its name as in blkid(8), its kind, and the offset of its magic."""

    name: str
    kind: str
    offset: int


@dataclass(frozen=True, slots=True)
class Content:
    """Content of the disk, read from the medium itself.

    Attributes:
        signatures: recognised formats.
        edges: offsets of the first bytes that are not zero in the first and in the last 16 MiB.
        samples: offsets of samples in between that are not zero.
        sampled: number of samples read.
        certain_bytes: `SamplingPlan.certain_bytes` of the samples.
        digest: SHA-256 of the bytes that are not zero in the first and last 16 MiB; empty if everything is
            zero or a format was recognised.
        comparison: with the record of its release; None without a record.
        full_read: root read every byte and the disk was not written since; None otherwise.
    """

    signatures: tuple[Signature, ...] = ()
    edges: tuple[int, ...] = ()
    samples: tuple[int, ...] = ()
    sampled: int = 0
    digest: str = ""
    certain_bytes: int = 0
    comparison: ReleaseComparison | None = None
    full_read: FullRead | None = None


@dataclass(frozen=True, slots=True)
class UdevProperties:
    """udev's properties of the disk or one of its partitions (/run/udev/data)."""

    number: str
    properties: Mapping[str, str]
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """Facts of one disk.

    Attributes:
        name: kernel name.
        number: device number.
        written: counters of writes and discards (/sys/block/X/stat); the content is unchanged while they are.
        hardware, medium, identity, partitions: see their classes.
        holders: kernel devices built on the disk or a partition (dm, md, bcache).
        udev: of the disk and its partitions.
        udisks: UDisks2's reasons against it: (rule, evidence) pairs; for showing only, root never asks it.
        exclusive: empty if the kernel gave the disk exclusively, else why not.
        content: see `Content`.
        health: warnings of the disk itself (SMART, NVMe critical warning, sanitize).
        marks: see `DuplicateMarks`.
    """

    name: str
    number: str
    written: tuple[int, ...]
    hardware: Reading[Hardware]
    medium: Reading[Geometry]
    identity: Reading[DiskIdentity]
    partitions: Reading[tuple[PartitionFacts, ...]]
    holders: Reading[tuple[DeviceUse, ...]]
    udev: Reading[tuple[UdevProperties, ...]]
    udisks: Reading[tuple[tuple[str, str], ...]]
    exclusive: Reading[str]
    content: Reading[Content]
    health: Reading[tuple[str, ...]]
    marks: DuplicateMarks = DuplicateMarks()

    @property
    def numbers(self) -> frozenset[str]:
        """Device numbers of the disk and its partitions."""
        return frozenset({self.number, *(part.number for part in self.partitions.known(()))})

    @property
    def names(self) -> tuple[str, ...]:
        """Kernel names of the disk and its partitions."""
        return (self.name, *(part.name for part in self.partitions.known(())))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The machine and its disks at one moment.

    Attributes:
        machine: see `MachineSnapshot`.
        disks: all possible disks, by name.
        others: names of block devices that cannot be disks (arrays, mappings, memory, optical).
    """

    machine: MachineSnapshot
    disks: tuple[DiskFacts, ...]
    others: tuple[str, ...] = ()

    def disk(self, name: str) -> DiskFacts:
        """Return the disk with that kernel name.

        Raises:
            KeyError: there is none.
        """
        for facts in self.disks:
            if facts.name == name:
                return facts
        raise KeyError(name)
