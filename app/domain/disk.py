"""A disk by its identity, and the answer whether it is spare.

Source: design.md, sections 4 and 6: the identity is what the maker wrote into the disk, never a path; there
are three answers; a refusal has its rule, the evidence and a remedy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.inspection_report import InspectionReport
from app.domain.messages.message import WireMessage, message_from_wire, message_to_wire
from app.domain.text import tr

_UNNAMEABLE: Final = re.compile(r"[^A-Za-z0-9._:+-]+")
_SHOWN_TAIL: Final = 4
_MOST_EVIDENCE: Final = 3


@dataclass(frozen=True, slots=True)
class DiskIdentity:
    """Identity of a disk, different from all others and after the disk was unplugged and plugged in again.

    Attributes:
        serial: serial number as the disk reports it; empty if it reports none.
        wwn: world wide name, or the NVMe namespace's NGUID, EUI-64 or UUID, such as ``eui.0025385...``; None
            if there is none.
        model: maker's name for it; may be empty.
        size_bytes: of the whole disk.
        device_number: ``major:minor`` of the whole disk, as in /sys/dev/block.
        diskseq: sequence number that the kernel gives to each appearance of a disk (/sys/block/X/diskseq,
            since Linux 5.15); None on older kernels.
    """

    serial: str
    wwn: str | None
    model: str
    size_bytes: int
    device_number: str
    diskseq: int | None = None

    def key(self) -> str:
        """Return the stable name for campaign files: the WWN, else the serial; empty if it has neither.

        Letters, digits and ``._:+-`` only, so that it can be written into any file.
        """
        return _UNNAMEABLE.sub("_", (self.wwn or self.serial).strip())

    def typed_name(self) -> str:
        """Return the name that users type: the serial number, or `key` if that contains other characters.

        It needs no quotes in any shell.
        """
        serial = self.serial.strip()
        return self.key() if not serial or _UNNAMEABLE.search(serial) else serial

    def tail(self) -> str:
        """Return the last four characters of the serial (else of the WWN), which users type to confirm."""
        return (self.serial or self.wwn or "").strip()[-_SHOWN_TAIL:]

    def differs_from(self, now: DiskIdentity) -> tuple[str, ...]:
        """Return the names of the fields in which the chosen disk differs from `now`.

        Empty for the same disk, without an absence in between.
        """
        return tuple(
            name
            for name in ("serial", "wwn", "model", "size_bytes", "device_number", "diskseq")
            if getattr(self, name) != getattr(now, name)
        )


class SpareAnswer(StrEnum):
    """Whether a disk may be used."""

    SPARE = "spare"
    LOOKS_SPARE = "looks spare"
    """No rule refuses it, but some could not be decided without root."""
    NOT_SPARE = "not spare"


@dataclass(frozen=True, slots=True)
class DiskRefusal:
    """One reason why a disk is not spare, or one question that only root can answer.

    Attributes:
        rule: identifier of the rule, such as ``D05``.
        message: finding of the rule, one sentence.
        evidence: what was found and where, such as ``8:17 mounted at /srv (mount namespace 4026531841)``.
        remedy: how to make the disk spare; empty if that is impossible.
    """

    rule: str
    message: str
    evidence: str
    remedy: str = ""


def _stopped(text: str) -> str:
    """Return a sentence with its full stop, so that another one can follow."""
    text = text.strip()
    return f"{text}." if text and text[-1] not in ".!?:;" else text


@dataclass(frozen=True, slots=True)
class UnreleasedItem:
    """A disk or a mount point that could not be released and stays in the helper's journal.

    Attributes:
        name: mount point, or node of the disk.
        serial: of the disk; empty for a mount point, and if it reports none.
        reason: what was found there, and why it was left; empty if unknown.
        remedy: what the user can do; empty if unknown.
    """

    name: str
    serial: str = ""
    reason: str = ""
    remedy: str = ""

    def sentence(self) -> str:
        """Return that it was not released, the reason and the remedy."""
        name = self.name
        if self.serial:
            name = tr("{name} (serial number {serial})").format(name=name, serial=self.serial)
        told = tr("{name} could not be released.").format(name=name)
        last = tr("It stays in the helper's journal, and is no spare disk until then.")
        return " ".join(filter(None, (told, _stopped(self.reason), _stopped(self.remedy), last)))


def unreleased_to_wire(item: UnreleasedItem) -> tuple[str, str, WireMessage, WireMessage]:
    """Return it as it crosses the bus."""
    return item.name, item.serial, message_to_wire(item.reason), message_to_wire(item.remedy)


def unreleased_from_wire(wire: Sequence[Any]) -> UnreleasedItem:
    """Restore it from the bus."""
    name, serial, reason, remedy = wire
    return UnreleasedItem(name, serial, message_from_wire(reason), message_from_wire(remedy))


def refusal_to_wire(refusal: DiskRefusal) -> tuple[str, WireMessage, WireMessage, WireMessage]:
    """Return it as it crosses the bus."""
    sentences = (refusal.message, refusal.evidence, refusal.remedy)
    message, evidence, remedy = map(message_to_wire, sentences)
    return refusal.rule, message, evidence, remedy


def refusal_from_wire(wire: Sequence[Any]) -> DiskRefusal:
    """Restore it from the bus."""
    rule, *sentences = wire
    return DiskRefusal(str(rule), *map(message_from_wire, sentences))


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
            "looked_at": self.looked.as_mapping() if self.looked else None,
            "refusals": [_refusal_mapping(refusal) for refusal in self.refusals],
            "questions": [_refusal_mapping(refusal) for refusal in self.questions],
        }


def _refusal_mapping(refusal: DiskRefusal) -> dict[str, str]:
    return {
        "rule": refusal.rule,
        "message": refusal.message,
        "evidence": refusal.evidence,
        "remedy": refusal.remedy,
    }


def grouped_reasons(refusals: Sequence[DiskRefusal]) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield rule and message, each once, with its first evidence and the remedies not yet listed."""
    groups: defaultdict[tuple[str, str], list[DiskRefusal]] = defaultdict(list)
    for refusal in refusals:
        groups[refusal.rule, refusal.message].append(refusal)
    told: set[str] = set()
    for (rule, message), members in groups.items():
        evidence = list(dict.fromkeys(member.evidence for member in members))
        shown = "; ".join(evidence[:_MOST_EVIDENCE])
        if len(evidence) > _MOST_EVIDENCE:
            shown += tr("; and {count} more").format(count=len(evidence) - _MOST_EVIDENCE)
        remedies = [member.remedy for member in members if member.remedy and member.remedy not in told]
        told.update(remedies)
        yield rule, message, shown, tuple(dict.fromkeys(remedies))[:_MOST_EVIDENCE]
