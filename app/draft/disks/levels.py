"""Offer RAID levels: what each needs, holds and survives with the chosen disks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import ArrayLayout, Level, layout
from app.domain.options.raid_choice import capacity, survives, words_of
from app.domain.text import tr
from app.domain.units import format_size
from app.draft.disks.table import StorageFacts, sizes_of
from app.draft.disks.target import chosen_values, spec_of
from app.draft.fields.storage_state import GroupDraft, MadeDraft, level_of
from app.storage.layout.availability import Support, level_availability


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
    return tr("Here {labels} can.").format(labels=tr(" and ").join(able)) if able else ""


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
            sentence = tr("⚠ Not with {label} on this machine: {reason}")
            words = f"{sentence.format(label=spec_of(made).label, reason=reason)} {others} {words}".strip()
    obstacle = found.problem(len(group.disks))
    sizes = sizes_of(group.disks, facts)
    if obstacle or not sizes:
        need = needs(found)
        return LevelChoice(level, f"{level.label}: {need}", obstacle or need, "", words)
    usable = usable_words(found, sizes, copies_of(made))
    message = tr("Whole disks: {usable}; {survives}.").format(
        usable=usable, survives=survives_words(found, len(sizes), copies_of(made))
    )
    return LevelChoice(level, f"{level.label}: {usable}", "", message, words)


def needs(found: ArrayLayout) -> str:
    """Return how many disks a level needs, in a few words."""
    if found.maximum_disks == 1:
        return tr("one disk")
    if found.multiple_of == 2:
        return tr("at least {count} disks, an even number").format(count=found.minimum_disks)
    return tr("at least {count} disks").format(count=found.minimum_disks)


def usable_words(found: ArrayLayout, sizes: Sequence[int], copies: int | None = None) -> str:
    """Return the capacity of disks or partitions of these sizes, in a few words."""
    size = format_size(capacity(found, sizes, copies))
    return (
        tr("about {size} usable").format(size=size)
        if found.approximate
        else tr("{size} usable").format(size=size)
    )


def survives_words(found: ArrayLayout, disks: int, copies: int | None = None) -> str:
    """Return how many disks may fail, in a few words."""
    count = survives(found, disks, copies)
    if count == 0:
        return tr("survives the loss of no disk")
    if count == 1:
        return tr("survives the loss of any 1 disk")
    return tr("survives the loss of any {count} disks").format(count=count)


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
