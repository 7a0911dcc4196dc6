"""Confirm that disks are erased: the user types the last four characters of each serial number. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.disk import InspectionReport
from app.domain.disk_answers import Disk, looked_words, promise_words
from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.disks.table import ROLE_WORDS, StorageFacts, model_of, role_of, serial_of
from app.draft.fields.state import DisksDraft, DraftParts
from app.storage.inspect.sampling import EDGE_BYTES, SAMPLE_BYTES, certain_bytes, revealing_places, strata_of

FIELD = "erase"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A disk that will be erased.

    Attributes:
        key: of the disk.
        use: its purpose.
        model: vendor's name.
        serial: in full; the WWN if it has none.
        size_bytes: of the disk.
        typed: text so far.
        matches: whether that matches the end of the serial.
        is_test_device: its figures measure a file.
    """

    key: str
    use: str
    model: str
    serial: str
    size_bytes: int
    typed: str
    matches: bool
    is_test_device: bool


def erased_keys(parts: DraftParts) -> tuple[str, ...]:
    """Return every disk that any configuration uses, in the order of claims."""
    return tuple(dict.fromkeys(key for disks in parts.used_disks() for key in disks.chosen))


def confirmations(parts: DraftParts, facts: StorageFacts) -> tuple[Confirmation, ...]:
    """Return every present disk that will be erased, in the order of claims."""
    found = []
    for key in erased_keys(parts):
        disk = facts.disk(key)
        if disk is None:
            continue
        roles = [role for disks in parts.used_disks() if (role := role_of(disks, key))]
        identity, typed = disk.identity, parts.disks.confirmed.get(key, "")
        found.append(
            Confirmation(
                key,
                ", ".join(dict.fromkeys(ROLE_WORDS[role] for role in roles)),
                model_of(disk),
                serial_of(disk),
                identity.size_bytes,
                typed,
                bool(identity.tail()) and typed.strip().lower() == identity.tail().lower(),
                disk.is_test_device,
            )
        )
    return tuple(found)


def looking_words(parts: DraftParts, facts: StorageFacts) -> str:
    """Return the checks done on the disks to be erased, else those planned; a line for each kind."""
    disks = [disk for key in erased_keys(parts) if (disk := facts.disk(key)) is not None]
    found = list(map(looking_at, disks))
    if len(set(found)) == 1:
        return found[0]
    return "\n".join(f"{serial_of(disk)}: {words}" for disk, words in zip(disks, found, strict=True))


def looking_at(disk: Disk) -> str:
    """Return the checks done on a disk, else those that root will do, which are the same for every caller."""
    if disk.looked:
        return looked_words(disk.looked)
    size = disk.identity.size_bytes
    strata = strata_of(size)
    places = len(strata) + len(revealing_places(size))
    return promise_words(InspectionReport(EDGE_BYTES, places, SAMPLE_BYTES, certain_bytes(strata)))


def confirm(disks: DisksDraft, key: str, typed: str) -> None:
    """Store the text typed for a disk."""
    disks.confirmed[key] = typed


def forget_confirmations(disks: DisksDraft) -> None:
    """Discard typed texts because the disks or their layout have changed."""
    disks.confirmed.clear()


def confirmation_problems(parts: DraftParts, facts: StorageFacts) -> tuple[Problem, ...]:
    """Return why nothing may be erased yet; empty if no disks are used."""
    if not parts.on_disks():
        return ()
    right = sum(each.matches for each in confirmations(parts, facts))
    count = len(erased_keys(parts))
    if right == count:
        return ()
    message = tr("Type the last four characters of the serial number of each disk ({right} of {count}).")
    return (Problem(FIELD, message.format(right=right, count=count)),)
