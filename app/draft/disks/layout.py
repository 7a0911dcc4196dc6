"""Describe the drawing of a layout as data: disks, partitions, arrays and their content. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option_spec import capacity, survives, words_of
from app.domain.options.raid import ArrayLayout, Assembler, Level, layout
from app.domain.storage_plan.plan import Role
from app.domain.text import format_size, tr, trn
from app.draft.disks.table import ROLE_WORDS, StorageFacts, model_of, plain_line, sizes_of
from app.draft.disks.target import chosen_values, spec_of
from app.draft.fields.state import DisksDraft, GroupDraft, MadeDraft, level_of
from app.storage.layout.disk_target import Support, level_availability
from app.storage.layout.partitions import whole_disk_bytes

# Offer RAID levels: what each needs, holds and survives with the chosen disks. Pure.


@dataclass(frozen=True, slots=True)
class LevelChoice:
    """One level for the chosen disks.

    Attributes:
        level: the level.
        label: as shown, with the capacity of whole disks, else with the required number of disks.
        obstacle: why these disks cannot form it; empty if they can.
        facts: capacity of whole disks, and failures it survives, a sentence; empty if impossible.
        words: its characteristics and requirements.
    """

    level: Level
    label: str
    obstacle: str
    facts: str
    words: str


def layout_of(made: MadeDraft, level: Level) -> ArrayLayout | None:
    """Return how the chosen filesystem implements a level; None if it does not."""
    spec = spec_of(made)
    return layout(level, spec.assembler(level)) if level in spec.levels else None


def level_choices(group: GroupDraft, made: MadeDraft, facts: StorageFacts) -> tuple[LevelChoice, ...]:
    """Return every level of any filesystem, in order."""
    return tuple(_choice(level, group, made, facts) for level in Level)


@dataclass(frozen=True, slots=True)
class LevelOffer:
    """A level for several filesystems at once.

    Attributes:
        level: the level.
        note: which of the filesystems cannot make it here, why, and which can; empty if all can, or if it
            needs another number of disks.
        obstacle: why none of them can, and which others can; empty if one can.
    """

    level: Level
    note: str
    obstacle: str


def level_offers(
    specs: Sequence[FilesystemSpec], disks: int, support: Support | None
) -> tuple[LevelOffer, ...]:
    """Return every level that one of these filesystems has, with its availability on this machine."""
    found = []
    for level in Level:
        having = [spec for spec in specs if level in spec.levels]
        if not having:
            continue
        reasons = {spec.label: unmakeable(spec, level, disks, support) for spec in having}
        wrong = {label: reason for label, reason in reasons.items() if reason}
        sentence = " ".join(
            tr("Not with {labels}: {reason}").format(
                labels=", ".join(label for label, other in wrong.items() if other == reason), reason=reason
            )
            for reason in dict.fromkeys(wrong.values())
        )
        none = len(wrong) == len(having)
        others = makers_words(level, disks, support) if none else ""
        sentence = f"{sentence} {others}".strip()
        takes_others = all(layout(level, spec.assembler(level)).problem(disks) for spec in having)
        found.append(LevelOffer(level, "" if takes_others else sentence, sentence if none else ""))
    return tuple(found)


def unmakeable(spec: FilesystemSpec, level: Level, disks: int, support: Support | None) -> str:
    """Return why a filesystem cannot make a level of `disks` disks here; empty if it can."""
    problem = layout(level, spec.assembler(level)).problem(disks)
    if problem or support is None:
        return problem
    reasons = level_availability(spec, level, support).reasons
    return " ".join(f"{reason.message} {reason.remedy}".strip() for reason in reasons)


def makers_words(level: Level, disks: int, support: Support | None) -> str:
    """Return which filesystems can make a level of `disks` disks here, a sentence; empty for none."""
    able = [
        spec.label
        for spec in FILESYSTEMS
        if level in spec.levels and support is not None and not unmakeable(spec, level, disks, support)
    ]
    return tr("Possible here: {labels}.").format(labels=tr(" and ").join(able)) if able else ""


def _choice(level: Level, group: GroupDraft, made: MadeDraft, facts: StorageFacts) -> LevelChoice:
    found = layout_of(made, level)
    if found is None:
        having = [spec for spec in FILESYSTEMS if level in spec.levels]
        words = tr("Only {labels}.").format(labels=", ".join(spec.label for spec in having))
        found = layout(level, having[0].assembler(level))
    else:
        words = words_of(found)
        reason = unmakeable(spec_of(made), level, len(group.disks), facts.support)
        if reason and not found.problem(len(group.disks)):
            others = makers_words(level, len(group.disks), facts.support)
            sentence = tr("⚠ {label} does not work on this machine: {reason}")
            words = f"{sentence.format(label=spec_of(made).label, reason=reason)} {others} {words}".strip()
    obstacle = found.problem(len(group.disks))
    sizes = sizes_of(group.disks, facts)
    if obstacle or not sizes:
        need = needs(found)
        return LevelChoice(level, f"{level.label}: {need}", obstacle or need, "", words)
    usable = usable_words(found, sizes, copies_of(made))
    message = tr("Whole disks: {usable}, {survives}.").format(
        usable=usable, survives=survives_words(found, len(sizes), copies_of(made))
    )
    return LevelChoice(level, f"{level.label}: {usable}", "", message, words)


def needs(found: ArrayLayout) -> str:
    """Return how many disks a level needs, in a few words."""
    if found.maximum_disks == 1:
        return tr("one disk")
    if found.multiple_of == 2:
        return tr("at least {count} disks").format(count=found.minimum_disks) + tr(", an even number")
    return tr("at least {count} disks").format(count=found.minimum_disks)


def usable_words(found: ArrayLayout, sizes: Sequence[int], copies: int | None = None) -> str:
    """Return the capacity of disks or partitions of these sizes, in a few words."""
    size = format_size(capacity(found, sizes, copies))
    return tr("{size} usable").format(
        size=tr("about {share}").format(share=size) if found.approximate else size
    )


def survives_words(found: ArrayLayout, disks: int, copies: int | None = None) -> str:
    """Return how many disks may fail, in a few words."""
    count = survives(found, disks, copies)
    if count == 0:
        return tr("does not survive the loss of a disk")
    sentence = trn("survives the loss of any {count} disk", "survives the loss of any {count} disks", count)
    return sentence.format(count=count)


def copies_of(made: MadeDraft) -> int | None:
    """Return the copies of a btrfs mirror; None for its default."""
    copies = chosen_values(made).get("mirror_copies")
    return int(copies) if copies is not None else None


def level_reasons(made: MadeDraft, disks: int, facts: StorageFacts) -> tuple[str, ...]:
    """Return why this machine cannot make the level with the filesystem, with remedies."""
    if facts.support is None:
        return ()
    spec, level = spec_of(made), level_of(made, disks)
    if level not in spec.levels:
        return ()
    found = level_availability(spec, level, facts.support).reasons
    return tuple(f"{reason.message} {reason.remedy}".strip() for reason in found)


@dataclass(frozen=True, slots=True)
class DrawnDisk:
    """A disk of the drawing.

    Attributes:
        title: purpose, such as ``data 1``.
        name: model.
        detail: end of the serial, and size.
        partition: size of its partition, as text.
        share: of the disk that the partition takes, 0 to 1.
        there: whether the disk is present.
    """

    title: str
    name: str
    detail: str
    partition: str
    share: float
    there: bool = True


@dataclass(frozen=True, slots=True)
class DrawnGroup:
    """Disks that form one filesystem, from bottom to top.

    Attributes:
        title: its content.
        disks: members, in order.
        pairs: whether each pair of neighbours mirrors the same data.
        array: made of the partitions; empty if the filesystem uses them directly.
        filesystem: on top.
        facts: capacity, and failures it survives.
        partitions: their size, if they do not take whole disks: it explains the capacity.
    """

    title: str
    disks: tuple[DrawnDisk, ...]
    pairs: bool
    array: str
    filesystem: str
    facts: str
    partitions: str = ""

    @property
    def words(self) -> str:
        """The whole group as text, for screen readers."""
        members = ", ".join(f"{disk.title} {disk.name} {disk.detail}" for disk in self.disks)
        layers = "; ".join(
            part for part in (self.array, self.filesystem, self.facts, self.partitions) if part
        )
        return tr("{title} on {members}: {layers}.").format(title=self.title, members=members, layers=layers)


SEPARATE: Final = tr("{what}, on separate disks")

_TITLES: Final = {
    Role.DATA: tr("Data directory"),
    Role.WAL: "WAL (pg_wal)",
    Role.TABLES: tr("Tables (a tablespace)"),
    Role.INDEXES: tr("Indexes (a tablespace)"),
}


def draw(
    disks: DisksDraft, facts: StorageFacts, partition_bytes: Mapping[Role, int | None] | None = None
) -> tuple[DrawnGroup, ...]:
    """Return the groups of the drawing: data, WAL, tables, indexes, then the log devices.

    Args:
        disks: the choices.
        facts: of this machine.
        partition_bytes: of each group, if known; else the whole disk.
    """
    groups: list[DrawnGroup] = []
    titles = _TITLES if disks.wal.disks else {**_TITLES, Role.DATA: tr("Data directory and WAL")}
    for role, group in disks.groups.items():
        if group.disks:
            groups.append(_group(titles[role], role, group, facts, (partition_bytes or {}).get(role)))
    if disks.zfs_log:
        members = tuple(
            _disk(key, Role.ZFS_LOG, number, facts, None) for number, key in enumerate(disks.zfs_log, 1)
        )
        mirrored = tr("mirrored pool log devices") if len(members) > 1 else tr("pool log device")
        groups.append(
            DrawnGroup(tr("ZFS log"), members, pairs=False, array="", filesystem=mirrored, facts="")
        )
    return tuple(groups)


def _group(title: str, role: Role, group: GroupDraft, facts: StorageFacts, size: int | None) -> DrawnGroup:
    made, count = group.made, len(group.disks)
    level = level_of(made, count)
    found = layout_of(made, level)
    members = tuple(
        _disk(key, role, number, facts, None if group.whole_disk else size)
        for number, key in enumerate(group.disks, 1)
    )
    array, facts_text, partitions = "", "", ""
    if found is None:
        facts_text = (
            tr("{label} has no level “{level}”.")
            .format(label=spec_of(made).label, level=level.label)
            .rstrip(".")
        )
    elif problem := found.problem(count):
        facts_text = problem.rstrip(".")
    else:
        array = _array(found)
        facts_text = _facts(found, group, made, facts, size)
        partitions = _partitions(group, facts, size)
    is_pairs = level is Level.RAID10 and count % 2 == 0 and not (found and found.assembler is Assembler.BTRFS)
    return DrawnGroup(
        title, members, is_pairs and bool(array), array, spec_of(made).label, facts_text, partitions
    )


def _facts(
    found: ArrayLayout, group: GroupDraft, made: MadeDraft, facts: StorageFacts, size: int | None
) -> str:
    there = [disk.identity.size_bytes for key in group.disks if (disk := facts.disk(key))]
    if len(there) < len(group.disks):
        return ""
    whole = whole_disk_bytes(there)
    sizes = [min(size, whole) if size and not group.whole_disk else whole] * len(there)
    copies = copies_of(made)
    return f"{usable_words(found, sizes, copies)}, {survives_words(found, len(there), copies)}"


def _partitions(group: GroupDraft, facts: StorageFacts, size: int | None) -> str:
    there = [disk.identity.size_bytes for key in group.disks if (disk := facts.disk(key))]
    if not size or group.whole_disk or not there or size >= whole_disk_bytes(there):
        return ""
    return trn(
        "partition of {size}, not the whole disk",
        "partitions of {size} each, not whole disks",
        len(group.disks),
    ).format(size=format_size(size))


def _array(found: ArrayLayout) -> str:
    match found.assembler:
        case Assembler.RAW:
            return ""
        case Assembler.MD:
            return tr("md array, {name}").format(name=found.name)
        case Assembler.BTRFS:
            return tr("btrfs, data {name}, metadata {metadata}").format(
                name=found.name, metadata=found.metadata
            )
        case Assembler.ZFS:
            word = found.name or tr("plain disks")
            return tr("ZFS pool, {word}").format(word=word)


def _disk(key: str, role: Role, number: int, facts: StorageFacts, size: int | None) -> DrawnDisk:
    title = f"{ROLE_WORDS[role]} {number}"
    disk = facts.disk(key)
    if disk is None:
        return DrawnDisk(title, tr("gone"), f"…{key[-4:]}", "", 0.0, there=False)
    whole = whole_disk_bytes([disk.identity.size_bytes])
    taken = min(size, whole) if size else whole
    partition = tr("the whole disk") if taken == whole else format_size(taken)
    detail = f"…{plain_line(disk.identity.tail())} · {format_size(disk.identity.size_bytes)}"
    name = model_of(disk)
    return DrawnDisk(title, name, detail, partition, taken / max(1, disk.identity.size_bytes))
