"""Present the table of disks: their availability, their role, and the confirmation of erasing them. Pure.

A disk is chosen by its key (WWN or serial); its details come from the latest listing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.domain.disk import DiskRefusal, InspectionReport, SpareAnswer
from app.domain.disk_answers import Disk, grouped_reasons, looked_words, promise_words
from app.domain.errors import Problem
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.storage_plan.plan import Role
from app.domain.text import format_size, number_text, tr
from app.draft.fields.state import DisksDraft, DraftParts
from app.storage.inspect.sampling import EDGE_BYTES, SAMPLE_BYTES, certain_bytes, revealing_places, strata_of
from app.storage.layout.disk_target import Support
from app.storage.spare.disks import Listing

JOURNALED: Final = "D18"
"""The rule by which a disk in the helper's journal is not spare."""
ROLE_WORDS: Final = {
    Role.DATA: tr("data"),
    Role.WAL: "WAL",
    Role.TABLES: tr("tables"),
    Role.INDEXES: tr("indexes"),
    Role.ZFS_LOG: tr("log"),
}
_UNTRUE_ROTATION: Final = frozenset({"virtio", "xen", "loop"})
"""Buses for which the rotation flag of disks is the kernel's default, not reported by the disk."""


@dataclass(frozen=True, slots=True)
class InspectionResult:
    """Root's answer about a disk, valid while the disk looks the same.

    Attributes:
        disk: as listed when root was asked.
        answer: root's.
        refusals: root's reasons.
        looked: root's checks.
    """

    disk: Disk
    answer: SpareAnswer
    refusals: tuple[DiskRefusal, ...] = ()
    looked: InspectionReport | None = None

    @property
    def is_journaled(self) -> bool:
        """Whether the helper's journal keeps the disk."""
        return any(each.rule == JOURNALED for each in self.refusals)


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """Known facts about this machine's disks and storage support.

    Attributes:
        listing: its disks; None until listed.
        support: kernel and programs; None until checked.
        inspected: root's answers, by kernel name.
        server_page_bytes: data page size of the chosen server; the usual one while unknown.
    """

    listing: Listing | None = None
    support: Support | None = None
    inspected: Mapping[str, InspectionResult] = field(default_factory=dict)
    server_page_bytes: int = USUAL_PAGE_BYTES

    @property
    def disks(self) -> tuple[Disk, ...]:
        """Every disk, with root's answer if still valid."""
        found = self.listing.disks if self.listing else ()
        return tuple(self._answered(disk) for disk in found)

    def disk(self, key: str) -> Disk | None:
        """Return the disk of a key; None if it is absent."""
        return next((disk for disk in self.disks if disk.identity.key() == key), None)

    def _answered(self, disk: Disk) -> Disk:
        result = self.inspected.get(disk.name)
        if result is None or not (result.disk == disk or _is_kept_still(result, disk)):
            return disk
        return replace(
            disk, answer=result.answer, refusals=result.refusals, questions=(), looked=result.looked
        )


def _is_kept_still(result: InspectionResult, disk: Disk) -> bool:
    """Whether root's reason for an unreleased disk still counts, even if the disk looks different.

    Root's check makes udev re-read the disk, which changes its listing for a moment.
    """
    return result.is_journaled and disk.is_left_over and result.disk.identity == disk.identity


@dataclass(frozen=True, slots=True)
class DiskRow:
    """A disk in the table.

    Attributes:
        key: WWN or serial; empty if it has neither.
        disk: None if a chosen or shown disk has disappeared.
        role: its chosen purpose.
        number: its position in that role, from 1; 0 if it is not chosen.
        obstacle: why it cannot be chosen; empty if it can.
    """

    key: str
    disk: Disk | None
    role: Role | None = None
    number: int = 0
    obstacle: str = ""

    @property
    def place(self) -> str:
        """Its identity in the order of rows: its key, else the name of a disk."""
        return self.key or (self.disk.name if self.disk is not None else "")

    @property
    def is_left_over(self) -> bool:
        """Whether it has something of pgFooting on it that root may be able to release."""
        if self.disk is None or self.disk.answer is SpareAnswer.SPARE:
            return False
        return self.disk.is_left_over or any(each.rule == JOURNALED for each in self.disk.refusals)

    @property
    def can_be_read(self) -> bool:
        """Whether reading every byte could reveal more about the disk."""
        if self.disk is None or not self.key or self.disk.answer is SpareAnswer.NOT_SPARE:
            return False
        looked = self.disk.looked
        return looked is None or not (looked.read_s or looked.released_s)

    @property
    def use(self) -> str:
        """Its chosen role, as a word and a number."""
        return f"{ROLE_WORDS[self.role]} {self.number}" if self.role else ""

    @property
    def answer(self) -> str:
        """Its availability in a word or two."""
        if self.disk is None:
            return tr("gone")
        if self.is_left_over:  # root refuses it until it is released, whatever other reasons there are
            return tr("not spare")
        words = {
            SpareAnswer.SPARE: tr("spare"),
            SpareAnswer.LOOKS_SPARE: tr("looks spare"),
            SpareAnswer.NOT_SPARE: tr("not spare"),
        }
        return words[self.disk.answer]

    @property
    def reason(self) -> str:
        """Why it is not spare, in one line."""
        if self.disk is None:
            return tr("This disk is missing.")
        if self.obstacle:
            return self.obstacle
        if self.disk.answer is SpareAnswer.LOOKS_SPARE:
            return tr("no problem found; the root helper checks again before anything is written")
        if self.disk.looked is not None and self.disk.looked.read_s:
            return tr("every byte was read and is zero")
        if self.disk.looked is not None and self.disk.looked.released_s:
            return tr("unchanged since pgFooting released it")
        return tr("all samples are zero")


def disk_rows(disks: DisksDraft, facts: StorageFacts) -> tuple[DiskRow, ...]:
    """Return every disk of this machine, usable ones first, then those chosen that have disappeared."""
    uses = {
        key: (role, number)
        for role, keys in _keys_by_role(disks).items()
        for number, key in enumerate(keys, start=1)
    }
    twice = {key for key, count in Counter(disk.identity.key() for disk in facts.disks).items() if count > 1}
    rows = []
    for disk in facts.disks:
        key = disk.identity.key()
        role, number = uses.pop(key, (None, 0))
        rows.append(DiskRow(key, disk, role, number, obstacle(disk, twin=key in twice)))
    rows.sort(key=lambda row: bool(row.obstacle))
    gone = [DiskRow(key, None, role, number, tr("gone")) for key, (role, number) in uses.items()]
    return (*gone, *rows) if facts.listing is not None else ()


def gone_row(place: str) -> DiskRow:
    """Return the row of a shown disk that has disappeared; it keeps its position."""
    return DiskRow(place, None, obstacle=tr("gone"))


def obstacle(disk: Disk, *, twin: bool = False) -> str:
    """Return why a disk cannot be chosen, in one line; empty if it can."""
    kept = next((each for each in disk.refusals if each.rule == JOURNALED), None)
    if kept is not None:
        return f"{kept.message} {kept.evidence}".strip()
    if disk.is_left_over and disk.answer is not SpareAnswer.SPARE:
        return tr("used by pgFooting or left behind by it: “Release disk …” shows its content")
    if disk.answer is SpareAnswer.NOT_SPARE:
        first = next(iter(disk.held_by), "")
        messages = list(dict.fromkeys(refusal.message.rstrip(".") for refusal in disk.refusals))
        return "; ".join((*((first,) if first else ()), *messages)) or tr("not spare")
    if not disk.identity.key():
        return tr("it has no serial number and no WWN, so it could be mistaken for another disk")
    if twin:
        return tr("another disk here has the same serial number and no WWN")
    return ""


def model_of(disk: Disk) -> str:
    """Return the vendor's name for a disk, escaped for display: a disk's own texts are not trusted."""
    return plain_line(disk.identity.model.strip()) or tr("unknown model")


def serial_of(disk: Disk) -> str:
    """Return the serial number in full, else the WWN, escaped for display; empty if there is neither."""
    return plain_line(disk.identity.serial.strip() or disk.identity.wwn or "")


def plain_line(text: str) -> str:
    """Return a text on one line, with unprintable characters as codes."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def turns(disk: Disk) -> bool | None:
    """Return whether a disk rotates; None if unknown."""
    return bool(disk.rotation_rpm) or (None if disk.bus in _UNTRUE_ROTATION else disk.rotational)


def rotation(disk: Disk) -> str:
    """Return whether a disk rotates, in a word or two."""
    if disk.rotation_rpm:
        return tr("{rpm} rpm").format(rpm=number_text(disk.rotation_rpm, ","))
    rotates = turns(disk)
    return tr("not known") if rotates is None else tr("hard disk") if rotates else "SSD"


def reasons(row: DiskRow) -> str:
    """Return all reasons for or against using a disk: finding, source, remedy."""
    if row.disk is None and row.role is None:
        return tr("The disk {key} was here and is now missing.").format(key=plain_line(row.key))
    if row.disk is None:
        return tr("The selected disk with the serial number or WWN {key} is missing.").format(
            key=plain_line(row.key)
        )
    reasons_found = list(_reasons(row.disk.refusals))
    if not reasons_found:
        reasons_found.append(row.reason[:1].upper() + row.reason[1:] + ".")
        if row.disk.answer is SpareAnswer.SPARE and row.disk.looked is not None:
            reasons_found[-1] = looked_words(row.disk.looked)
    if row.disk.questions:
        reasons_found.append(tr("Click “Ask root” for the checks that only root can do."))
    return "\n".join((_full_name(row.disk), *reasons_found))


def _full_name(disk: Disk) -> str:
    """Return everything that identifies a disk to users, in one line."""
    identity = disk.identity
    words = [model_of(disk), disk.path]
    if identity.serial:
        words.append(tr("serial number {serial}").format(serial=plain_line(identity.serial)))
    if identity.wwn:
        words.append(plain_line(identity.wwn))
    if disk.firmware:
        words.append(tr("firmware {firmware}").format(firmware=plain_line(disk.firmware)))
    words += (format_size(identity.size_bytes), disk.bus.upper(), rotation(disk))
    return ", ".join(filter(None, words))


def _reasons(refusals: Sequence[DiskRefusal]) -> Iterator[str]:
    for rule, message, evidence, remedies in grouped_reasons(refusals):
        yield f"{rule}: {message} {evidence}".strip()
        for remedy in remedies:
            yield f"    → {remedy}"


# --- choosing


def assign(disks: DisksDraft, key: str, role: Role | None) -> None:
    """Assign a disk to a role, as the last one there; None removes it."""
    for keys in _keys_by_role(disks).values():
        if key in keys:
            keys.remove(key)
    if role is not None and key:
        _keys_by_role(disks)[role].append(key)


def role_of(disks: DisksDraft, key: str) -> Role | None:
    """Return the role of a disk."""
    return next((role for role, keys in _keys_by_role(disks).items() if key in keys), None)


def move(disks: DisksDraft, key: str, by: int) -> bool:
    """Move a disk within its role; return whether that was possible."""
    for keys in _keys_by_role(disks).values():
        if key in keys:
            place = keys.index(key) + by
            if not 0 <= place < len(keys):
                return False
            keys.remove(key)
            keys.insert(place, key)
            return True
    return False


def sizes_of(keys: Sequence[str], facts: StorageFacts) -> tuple[int, ...]:
    """Return the sizes of the disks that are present."""
    found = (facts.disk(key) for key in keys)
    return tuple(disk.identity.size_bytes for disk in found if disk is not None)


def chosen_words(disks: DisksDraft, facts: StorageFacts) -> str:
    """Return the number and total capacity of the chosen disks, a sentence."""
    keys = disks.chosen
    if not keys:
        return tr("No disk is selected.")
    total = format_size(sum(sizes_of(keys, facts)))
    parts = [
        tr("{count} for {role}").format(count=len(named), role=ROLE_WORDS[role])
        for role, named in _keys_by_role(disks).items()
        if named
    ]
    return tr("Selected: {parts} ({total} in total).").format(parts=", ".join(parts), total=total)


def _keys_by_role(disks: DisksDraft) -> dict[Role, list[str]]:
    return {**{role: group.disks for role, group in disks.groups.items()}, Role.ZFS_LOG: disks.zfs_log}


# Confirm that disks are erased: the user types the last four characters of each serial number. Pure.


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
