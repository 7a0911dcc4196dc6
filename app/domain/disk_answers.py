"""A disk of this machine: whether it is spare, whether it is virtual, and the endurance of its flash.

A disk is only called blank for the inspected parts: the sentence says which those are, and what may go
undetected.
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal, InspectionReport, SpareAnswer, UnreleasedItem
from app.domain.text import GIB, MIB, format_duration, format_size, number_text, tr

_MOST_EVIDENCE: Final = 3
_LEAST_S: Final = 2.0
"""Before that the speed of a disk is unknown."""


@dataclass(frozen=True, slots=True)
class RootAnswer:
    """Root's answer about a disk.

    Attributes:
        is_spare: whether it may be used.
        refusals: why not.
        looked: the inspected parts of it; None for none.
    """

    is_spare: bool
    refusals: tuple[DiskRefusal, ...] = ()
    looked: InspectionReport | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """One whole disk of this machine with its answer.

    Attributes:
        identity: see `DiskIdentity`.
        name: current kernel name, such as ``sdb``; may change at the next boot.
        bus: ``nvme``, ``sata``, ``sas``, ``scsi``, ``usb``, ``virtio``, ``mmc``, ``loop`` ...; empty if
            unknown.
        rotational: whether it is a hard disk; None if unknown.
        removable: whether the medium can be taken out.
        read_only: whether the kernel forbids writing.
        logical_block_bytes: smallest addressable unit.
        physical_block_bytes: smallest unit that the disk writes without reading first.
        held_by: current uses, such as ``mounted at /srv`` or ``md0``; empty if none is known.
        answer: see `SpareAnswer`.
        refusals: why it is not spare, by rule; empty otherwise.
        questions: open questions and their reasons; empty unless it looks spare.
        is_test_device: a loop device, accepted only in development mode: its figures measure a file.
        is_left_over: pgFooting left something on it: its partition, or a mount below /run/pgfooting.
        rotation_rpm: revolutions per minute; None if unknown or without rotation.
        firmware: revision; may be empty.
        looked: the parts inspected by root; None without an inspection.
    """

    identity: DiskIdentity
    name: str
    bus: str
    rotational: bool | None
    removable: bool
    read_only: bool
    logical_block_bytes: int
    physical_block_bytes: int
    held_by: tuple[str, ...] = ()
    answer: SpareAnswer = SpareAnswer.NOT_SPARE
    refusals: tuple[DiskRefusal, ...] = ()
    questions: tuple[DiskRefusal, ...] = ()
    is_test_device: bool = False
    is_left_over: bool = False
    rotation_rpm: int | None = None
    firmware: str = ""
    looked: InspectionReport | None = None

    @property
    def path(self) -> str:
        """Device node with the kernel's name; for display, never for decisions."""
        return f"/dev/{self.name}"

    def as_mapping(self) -> Mapping[str, object]:
        """Return it as plain values for `pgfooting disks --json`; the names are stable."""
        identity = self.identity
        return {
            "name": self.name,
            "answer": self.answer.value,
            "model": identity.model,
            "serial": identity.serial,
            "wwn": identity.wwn,
            "key": identity.key(),
            "size_bytes": identity.size_bytes,
            "device_number": identity.device_number,
            "diskseq": identity.diskseq,
            "bus": self.bus,
            "rotational": self.rotational,
            "rotation_rpm": self.rotation_rpm,
            "firmware": self.firmware,
            "removable": self.removable,
            "read_only": self.read_only,
            "logical_block_bytes": self.logical_block_bytes,
            "physical_block_bytes": self.physical_block_bytes,
            "held_by": list(self.held_by),
            "is_test_device": self.is_test_device,
            "is_left_over": self.is_left_over,
            "looked_at": asdict(self.looked) if self.looked else None,
            "refusals": [asdict(refusal) for refusal in self.refusals],
            "questions": [asdict(refusal) for refusal in self.questions],
        }


def grouped_reasons(refusals: Sequence[DiskRefusal]) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield rule and message, each once, with its first evidence and the remedies not yet listed."""
    groups: defaultdict[tuple[str, str], list[DiskRefusal]] = defaultdict(list)
    for refusal in refusals:
        groups[refusal.rule, refusal.message].append(refusal)
    seen: set[str] = set()
    for (rule, message), members in groups.items():
        evidence = list(dict.fromkeys(member.evidence for member in members))
        shown = "; ".join(evidence[:_MOST_EVIDENCE])
        if len(evidence) > _MOST_EVIDENCE:
            more = len(evidence) - _MOST_EVIDENCE
            shown = tr("{names} and {count} more").format(names=shown, count=more)
        remedies = [member.remedy for member in members if member.remedy and member.remedy not in seen]
        seen.update(remedies)
        yield rule, message, shown, tuple(dict.fromkeys(remedies))[:_MOST_EVIDENCE]


def looked_words(looked: InspectionReport) -> str:
    """Describe the inspected parts and what may go undetected."""
    if looked.read_s:
        text = tr("Every byte was read on {time} and is zero; the kernel has counted no writes since.")
        return text.format(time=_local(looked.read_s))
    if looked.released_s and not looked.places:
        text = tr(
            "Unchanged since pgFooting released it on {time}: both ends ({edge} each) are the same, and the "
            "kernel has counted no writes. It still holds old benchmark data."
        )
        return text.format(time=_local(looked.released_s), edge=format_size(looked.edge_bytes))
    return f"{_what(looked)} {_escapes(looked)}"


def promise_words(looked: InspectionReport) -> str:
    """Describe what will be inspected before anything is written, and what may go undetected."""
    text = tr(
        "Before writing, the root helper checks both ends ({edge} each) and about {places} samples of "
        "{piece}. It refuses the disk unless all are zero or as pgFooting left them."
    )
    sentence = text.format(
        edge=format_size(looked.edge_bytes),
        places=number_text(looked.places, ","),
        piece=format_size(looked.place_bytes),
    )
    return f"{sentence} {_escapes(looked)}"


def _what(looked: InspectionReport) -> str:
    text = tr("Both ends ({edge} each) and {places} samples of {piece} were checked; all are zero.")
    if looked.released_s:
        text = tr(
            "Both ends ({edge} each) and {places} random samples of {piece} are zero or unchanged since "
            "the release on {time}. The disk still holds old benchmark data."
        )
    return text.format(
        edge=format_size(looked.edge_bytes),
        places=number_text(looked.places, ","),
        piece=format_size(looked.place_bytes),
        time=_local(looked.released_s),
    )


def _escapes(looked: InspectionReport) -> str:
    text = tr(
        "Contiguous existing data of {certain} or more is always found, unless it contains {piece} of "
        "consecutive zeros. Smaller or sparser data may go undetected."
    )
    return text.format(certain=_at_least(looked.certain_bytes), piece=format_size(looked.place_bytes))


def _at_least(size_bytes: int) -> str:
    """Return a size rounded up, so that it is never below the true one."""
    unit = GIB / 100 if size_bytes >= GIB else MIB
    return format_size(math.ceil(round(size_bytes / unit, 6)) * unit)


def _local(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """Progress of reading a disk.

    Attributes:
        done: of `whole`, in bytes or places.
        whole: total.
        seconds: so far.
    """

    done: int
    whole: int
    seconds: float

    @property
    def fraction(self) -> float:
        """Return the finished share, 0 to 1."""
        return self.done / self.whole if self.whole else 0.0

    @property
    def left_s(self) -> float | None:
        """Return the remaining seconds at the same rate; None if unknown."""
        return self.seconds / self.fraction - self.seconds if self.fraction else None

    def sentence(self) -> str:
        """Return the progress as text: percent, and remaining time."""
        percent = tr("{percent} % read").format(percent=number_text(100 * self.fraction, ".1f"))
        if self.left_s is None or self.seconds < _LEAST_S:
            return percent
        return f"{percent}, " + tr("about {time} left").format(time=format_duration(self.left_s))


def _stopped(text: str) -> str:
    """Return a sentence with its full stop, so that another one can follow."""
    text = text.strip()
    return f"{text}." if text and text[-1] not in ".!?:;" else text


def unreleased_words(item: UnreleasedItem) -> str:
    """Return that it was not released, the reason and the remedy."""
    name = item.name
    if item.serial:
        name = tr("{name} (serial number {serial})").format(name=name, serial=item.serial)
    sentence = tr("{name} could not be released.").format(name=name)
    last = tr("It stays in the helper's journal and is not spare until it is released.")
    return " ".join(filter(None, (sentence, _stopped(item.reason), _stopped(item.remedy), last)))


# Estimate the endurance of a drive from its own counters. Pure.
#
# The rated endurance (TBW) is in the data sheet and in no log. An NVMe drive reports the data written (Data
# Units Written) and the used share of its life (Percentage Used, whole per cent), which together give an
# estimate. Source: NVM Express Base Specification 2.0, 5.16.1.3.


_LARGEST_USED = 100
"""In percent; beyond its rated life a drive's value says nothing more."""


@dataclass(frozen=True, slots=True)
class DriveWear:
    """The wear that a drive reports.

    Attributes:
        written_bytes: by all hosts so far; counted by the drive.
        used_percent: of its life; the drive's own estimate, which may exceed 100.
    """

    written_bytes: int
    used_percent: int

    @property
    def endurance_bytes(self) -> int | None:
        """The estimated total of bytes that may be written in its life; None if the values give no estimate.

        Below one per cent it is a lower bound.
        """
        if self.written_bytes <= 0 or not 0 <= self.used_percent <= _LARGEST_USED:
            return None
        return self.written_bytes * 100 // max(self.used_percent, 1)

    @property
    def is_least(self) -> bool:
        """Whether the estimate is only a lower bound."""
        return self.used_percent == 0


# Recognise block devices that are emulated by a hypervisor or a network service, by names and makers.
#
# Measurements of such a device are only half of the truth: behind it requests are merged, cached and flushed
# once more. A virtual machine may also have a real disk, which shows its own maker.
#
# Some cloud volumes have burst credit: they are faster until it is used up, and then as fast as paid for, so
# that a short run does not show the later speed. No device reports which kind it is.
#
# Sources: drivers/block/virtio_blk.c, xen-blkfront.c, nbd.c and rbd.c of Linux (names); hw/scsi, hw/ide and
# hw/nvme of QEMU; VirtualBox, VMware and Hyper-V as lsblk shows their disks; docs.aws.amazon.com/ebs ("Amazon
# Elastic Block Store" is the model of an EBS volume; gp2, st1 and sc1 burst, gp3 does not) and /AWSEC2
# ("Amazon EC2 NVMe Instance Storage"; smaller instances burst for 30 minutes a day);
# docs.cloud.google.com/compute (PersistentDisk, nvme_card-pd; EphemeralDisk and nvme_card are Local SSD);
# learn.microsoft.com/azure/virtual-machines ("Managed disk bursting": Premium SSD up to 512 GiB and Standard
# SSD by credit, virtual machines too; "Msft Virtual Disk", "MSFT NVMe Accelerator" and, for its own disks,
# "Microsoft NVMe Direct Disk"); docs.digitalocean.com/products/volumes ("DO Volume", which bursts for 60
# seconds); www.alibabacloud.com/help/ecs ("Alibaba Cloud Elastic Block Storage"; ESSD AutoPL bursts);
# docs.oracle.com ("ORACLE BlockVolume"); docs.hetzner.com ("HC Volume").


_NAMES: Final = (
    (re.compile(r"vd[a-z]+"), "virtio"),
    (re.compile(r"xvd[a-z]+"), "Xen"),
    (re.compile(r"nbd\d+"), "NBD"),
    (re.compile(r"rbd\d+"), "Ceph"),
)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Attributes: sign: part of maker and model; name: of the maker; bursts: it may have burst credit."""

    sign: str
    name: str
    bursts: bool = False


_MAKERS: Final = (
    _Maker("amazon elastic block store", "Amazon EBS", bursts=True),
    _Maker("amazon ec2 nvme instance storage", "Amazon EC2 instance storage"),
    _Maker("persistentdisk", "Google Persistent Disk"),
    _Maker("nvme_card-pd", "Google Persistent Disk"),
    _Maker("ephemeraldisk", "Google Local SSD"),
    _Maker("nvme_card", "Google Local SSD"),
    _Maker("msft nvme accelerator", "Azure managed disk", bursts=True),
    _Maker("microsoft nvme direct disk", "Azure local disk"),
    _Maker("do volume", "DigitalOcean Volume", bursts=True),
    _Maker("alibaba cloud elastic block storage", "Alibaba Cloud EBS", bursts=True),
    _Maker("oracle blockvolume", "Oracle Block Volume"),
    _Maker("hc volume", "Hetzner Cloud Volume"),
    _Maker("qemu", "QEMU"),
    _Maker("vbox", "VirtualBox"),
    _Maker("vmware", "VMware"),
    _Maker("msft", "Hyper-V", bursts=True),  # on Azure, of which the disk itself says no more
)

_CLOUDS: Final = (
    ("amazon", "Amazon EC2"),
    ("google", "Google Cloud"),
    ("alibaba", "Alibaba Cloud"),
    ("digitalocean", "DigitalOcean"),
    ("hetzner", "Hetzner Cloud"),
    ("oraclecloud", "Oracle Cloud"),
    ("openstack", "OpenStack"),
)
"""Clouds by the firmware of their machines (DMI: sys_vendor, product_name)."""


def played_by(name: str, vendor: str, model: str) -> str:
    """Return what emulates a disk; empty if there is no sign of emulation.

    Args:
        name: of the kernel, such as ``vda``.
        vendor: as in sysfs; empty if unknown.
        model: as in sysfs; empty if unknown.
    """
    maker = _maker(vendor, model)
    if maker is not None and maker.sign != "qemu":
        return maker.name
    for pattern, driver in _NAMES:
        if pattern.fullmatch(name):
            return driver
    return maker.name if maker is not None else ""


def may_have_burst_credit(name: str, vendor: str, model: str, cloud: str) -> bool:
    """Return whether a disk may have burst credit; `cloud` is the result of `cloud_of`.

    A cloud disk that only names the driver may be any of its volumes.
    """
    maker = _maker(vendor, model)
    if maker is not None and maker.sign != "qemu":
        return maker.bursts
    return bool(cloud) and bool(played_by(name, vendor, model))


def cloud_of(vendor: str, product: str) -> str:
    """Return the cloud of this virtual machine by its firmware; empty for no known cloud."""
    text = f"{vendor} {product}".lower()
    return next((cloud for sign, cloud in _CLOUDS if sign in text), "")


def _maker(vendor: str, model: str) -> _Maker | None:
    text = " ".join(f"{vendor} {model}".lower().split())
    return next((maker for maker in _MAKERS if maker.sign in text), None)
