"""Everything that the spare-disk rules look at, read at one moment and frozen.

Each fact is a `Reading`: read, absent (its source does not exist on this machine), unreadable, or only root
may read it. The rules never read anything themselves, so that whatever could not be read is seen and refuses.
Numbers of devices are ``major:minor`` in decimal, as sysfs and mountinfo write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.units import MIB

T = TypeVar("T")
D = TypeVar("D")

MINIMUM_BYTES: Final = 512 * MIB
"""Smallest disk on which every filesystem and an empty cluster have room (XFS alone needs 300 MiB)."""


class SourceKnowledge(StrEnum):
    """How much is known of a source."""

    READ = "read"
    ABSENT = "absent"
    UNREADABLE = "unreadable"
    NEEDS_ROOT = "needs root"
    PASSED_OVER = "passed over"
    """Not read because the disk is in use: other rules refuse it, and a disk that works is left in peace."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What came of reading one source.

    Attributes:
        state: see `SourceKnowledge`.
        value: what was read; a part of it where only a part could be read; None where nothing was.
        reason: why it is not (wholly) read, for people.
    """

    state: SourceKnowledge
    value: T | None = None
    reason: str = ""

    def known(self, otherwise: D) -> T | D:
        """Return what was read, or `otherwise` where nothing was. The state is judged by `rules.judge`."""
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
    """What the caller decides; never an argument or the environment of a user.

    Attributes:
        accept_loop_devices: development mode: loop devices count as disks, and are marked.
        minimum_bytes: smaller disks are refused.
    """

    accept_loop_devices: bool = False
    minimum_bytes: int = MINIMUM_BYTES


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device that something uses.

    Attributes:
        number: the device.
        user: who uses it, for people: a mount point, pool, swap, process ...
        detail: where that was seen.
    """

    number: str
    user: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A device that a configuration names.

    Attributes:
        file: which one.
        text: what it says, such as ``/dev/disk/by-id/wwn-0x5000...`` or ``UUID=...``.
        number: the device that a path leads to now; empty where it leads to none.
    """

    file: str
    text: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class KnownDisk:
    """Identity of one disk of this machine, for finding doubles."""

    name: str
    serial: str
    wwn: str | None


@dataclass(frozen=True, slots=True)
class DuplicateMarks:
    """By what is seen that nobody wrote to a disk: equal marks of one appearance mean that.

    The kernel counts every write and discard that goes through its block layer, by whomever. It does not
    count commands that a program sends past that (SG_IO, NVMe passthrough), nor those of another machine.

    Attributes:
        appearance: of the disk, in this boot (boot id and disk sequence number); empty where there are none,
            or where nothing is counted (queue/iostats).
        requests: writes and discards.
        written_bytes: by them.
    """

    appearance: str = ""
    requests: int = 0
    written_bytes: int = 0

    def is_same_appearance(self, other: DuplicateMarks) -> bool:
        """Return whether both are of one appearance, so that they can be compared at all."""
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
        serial, wwn, size_bytes: which disk.
        digest: `Content.digest` at that time.
        released_s: when, seconds since the epoch.
        marks: at that time.
        places: secret pieces between the ends.
        is_complete: whether there is one in each stratum. Else the record holds only for this appearance.
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
        serial, wwn, size_bytes: which disk.
        marks: from before the first byte to behind the last one; the record holds as long as they do.
        first_data: where the first byte lies that is not zero; None where all are zeros.
        read_s: when it ended, seconds since the epoch.
    """

    serial: str
    wwn: str | None
    size_bytes: int
    marks: DuplicateMarks
    first_data: int | None
    read_s: float


class ChangesSinceRelease(StrEnum):
    """What happened to a disk since it was released."""

    NOTHING = "the kernel has counted no write"
    ALIKE = "every place is as it was left"
    WRITTEN = "the kernel has counted writes"
    ENDS = "its ends are not as they were left"
    PLACES = "places are not as they were left"
    UNKNOWN = "its record does not hold any longer"


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """A disk beside the record of its release.

    Attributes:
        since: see `ChangesSinceRelease`.
        released_s: of the record.
        places: how many were compared.
        changed: offsets of those that differ and are not zeros now.
        written_bytes: since the release, as the kernel counts.
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
        arrays: members of md arrays, also of arrays that do not run.
        openers: processes that hold a block device open or have it mapped.
        sees_all: whether every process of the machine is among those looked at, and not a container's only.
        loops: devices below loop devices.
        targets: devices that this machine serves to others (LIO, nvmet).
        stacking: what lies directly below each device: the disk of a partition, members, what a loop's file
            lies on.
        hibernation: device to which the kernel writes its image; 0:0, which no device has, for none.
        identities: of all disks.
        released: disks released by pgFooting; its reason names records that cannot be understood and count
            for nothing.
        fstab, crypttab, mdadm, lvm, zpool_cache, units, cmdline: devices that these name.
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
    """What kind of block device it is.

    Attributes:
        subsystem: of the device behind it: ``nvme``, ``scsi``, ``virtio``, ``xen`` ...; empty for purely
            logical devices such as loop, dm, md, zram, nbd, zvol.
        hidden: the kernel shows it to nobody (a path of NVMe multipath).
        scsi_type: peripheral device type of SCSI and SATA devices, 0 for disks; None for others.
    """

    subsystem: str
    hidden: bool
    scsi_type: int | None = None


@dataclass(frozen=True, slots=True)
class Geometry:
    """What can be stored on it, from /sys/block/X and its queue."""

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
    """One partition: kernel name, device number, first byte and size."""

    name: str
    number: str
    start_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Signature:
    """A format that was recognised: its name as blkid(8) writes it, its kind, and where its magic stands."""

    name: str
    kind: str
    offset: int


@dataclass(frozen=True, slots=True)
class Content:
    """What lies on the disk, read from the medium itself.

    Attributes:
        signatures: recognised formats.
        edges: offsets of the first bytes that are not zero in the first and in the last 16 MiB.
        samples: offsets of samples in between that are not zero.
        sampled: how many samples were read.
        certain_bytes: `Sampling.certain_bytes` of the samples.
        digest: SHA-256 of what is not zero in the first and last 16 MiB; empty where everything is zero or a
            format was recognised.
        comparison: with the record of its release; None where there is none.
        full_read: that root read every byte and nobody wrote since; None where that is not so.
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
    """What udev noted of the disk or one of its partitions (/run/udev/data)."""

    number: str
    properties: Mapping[str, str]
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """Facts of one disk.

    Attributes:
        name: kernel name.
        number: device number.
        written: counters of writes and discards (/sys/block/X/stat); while they stand still, so does what
            lies on the disk.
        hardware, medium, identity, partitions: see their classes.
        holders: kernel devices built on the disk or a partition (dm, md, bcache).
        udev: of the disk and its partitions.
        udisks: what UDisks2 says against it: (rule, evidence) pairs; for showing only, root never asks it.
        exclusive: empty where the kernel gave the disk exclusively, else why not.
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
        disks: everything that could be a disk, by name.
        others: names of block devices that are no disks at all (arrays, mappings, memory, optical).
    """

    machine: MachineSnapshot
    disks: tuple[DiskFacts, ...]
    others: tuple[str, ...] = ()

    def disk(self, name: str) -> DiskFacts:
        """Return the disk of that kernel name.

        Raises:
            KeyError: there is none.
        """
        for facts in self.disks:
            if facts.name == name:
                return facts
        raise KeyError(name)
