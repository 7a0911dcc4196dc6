"""A disk by its identity, and what root says of it: refusals, inspected parts, what could not be released.

Source: design.md, sections 4 and 6: the identity is what the maker wrote into the disk, never a path; there
are three answers; a refusal has its rule, the evidence and a remedy. What users read is in
`app.domain.disk_answers`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.messages.message import WireMessage, message_from_wire, message_to_wire

_UNNAMEABLE: Final = re.compile(r"[^A-Za-z0-9._:+-]+")
_SHOWN_TAIL: Final = 4


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
    """One reason why a disk is not spare, or one question that only root can answer; also in ``--json``.

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


@dataclass(frozen=True, slots=True)
class InspectionReport:
    """The parts of a disk that root inspected: it is only called blank for these; ``--json`` names them so.

    Attributes:
        edge_bytes: size of each end, which is read completely.
        places: number of places between the ends that were read, or compared with pgFooting's own data.
        place_bytes: size of each place.
        certain_bytes: contiguous data of this size is always found, as long as no piece of it of
            `place_bytes` is all zeros; 0 if everything between the ends was read.
        read_s: when every byte was read as zero, seconds since the epoch, without a counted write since; 0 if
            it was not.
        released_s: when pgFooting released the disk, if it is unchanged since then; 0 if that is not why it
            is spare.
    """

    edge_bytes: int
    places: int
    place_bytes: int
    certain_bytes: int
    read_s: float = 0.0
    released_s: float = 0.0


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


def looked_to_wire(looked: InspectionReport | None) -> tuple[int | float, ...]:
    """Return the report as plain values for the bus."""
    return astuple(looked or InspectionReport(0, 0, 0, 0))


def looked_from_wire(wire: Sequence[Any]) -> InspectionReport | None:
    """Restore the report from the bus; None without an inspection."""
    looked = InspectionReport(*wire)
    return looked if looked.edge_bytes else None
