"""Offer filesystems and presets, with reasons why some are unavailable. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.checks import preset_problems
from app.domain.options.filesystem_spec import (
    Circumstances,
    DiskSetFacts,
    FilesystemPreset,
    FilesystemSpec,
)
from app.domain.options.option_spec import OptionSpec
from app.domain.options.raid import Assembler
from app.domain.storage_plan.plan import Role
from app.domain.text import tr
from app.draft.disks.options import shown_value
from app.draft.disks.table import StorageFacts
from app.draft.disks.target import chosen_values, preset_of, spec_of, write_option
from app.draft.fields.storage_state import DisksDraft, GroupDraft, MadeDraft, level_of
from app.storage.layout.availability import Reason, level_availability


@dataclass(frozen=True, slots=True)
class FilesystemCard:
    """A filesystem to choose.

    Attributes:
        id: of the filesystem.
        label: as shown.
        good_for: one or two sentences.
        obstacles: why it cannot be chosen here, with remedies; empty if it can.
    """

    id: str
    label: str
    good_for: str
    obstacles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """A preset to choose.

    Attributes:
        id: of the preset.
        label: as shown.
        words: its settings, reasons and sources.
        obstacle: why it cannot be chosen here; empty if it can.
    """

    id: str
    label: str
    words: str
    obstacle: str = ""


def circumstances(
    disks: DisksDraft,
    facts: StorageFacts,
    server: Mapping[str, str],
    role: Role = Role.DATA,
    made: MadeDraft | None = None,
) -> Circumstances:
    """Return the input for rules about options.

    Args:
        disks: the pages.
        facts: of this machine.
        server: own settings of the server.
        role: of the disks with the options.
        made: of these disks, if a configuration has its own.
    """
    group = disks.groups[role]
    made = made or group.made
    sets = tuple(
        DiskSetFacts(disk.identity.size_bytes, disk.logical_block_bytes, bool(disk.rotational))
        for key in group.disks
        if (disk := facts.disk(key)) is not None
    )
    support = facts.support
    level = level_of(made, len(group.disks))
    return Circumstances(
        spec_of(made),
        chosen_values(made),
        level if level in spec_of(made).levels else None,
        sets,
        support.versions if support else {},
        support.page_bytes if support else None,
        {} if role is Role.WAL else dict(server),
        len(disks.zfs_log) if role is Role.DATA and spec_of(made).several is Assembler.ZFS else 0,
        server_page_bytes=facts.server_page_bytes,
    )


def filesystem_cards(group: GroupDraft, made: MadeDraft, facts: StorageFacts) -> tuple[FilesystemCard, ...]:
    """Return every filesystem for disks, with reasons why it cannot be chosen."""
    level = level_of(made, len(group.disks))
    cards = []
    for spec in FILESYSTEMS:
        if not spec.levels:
            continue
        reasons: tuple[Reason, ...] = ()
        if level not in spec.levels:
            message = tr("Has no level “{level}”, which is chosen.").format(level=level.label)
            reasons = (Reason(message),)
        elif facts.support is not None:
            reasons = level_availability(spec, level, facts.support).reasons
        words = tuple(f"{reason.message} {reason.remedy}".strip() for reason in reasons)
        cards.append(FilesystemCard(spec.id, spec.label, spec.good_for, words))
    return tuple(cards)


def shared_obstacles(cards: Sequence[FilesystemCard]) -> tuple[str, ...]:
    """Return obstacles common to several filesystems, a sentence each with their names."""
    counts = Counter(obstacle for card in cards for obstacle in card.obstacles)
    return tuple(
        f"{', '.join(card.label for card in cards if obstacle in card.obstacles)}: {obstacle}"
        for obstacle, count in counts.items()
        if count > 1
    )


def preset_choices(made: MadeDraft, facts: StorageFacts) -> tuple[PresetChoice, ...]:
    """Return the presets of the chosen filesystem."""
    spec = spec_of(made)
    versions = facts.support.versions if facts.support else {}
    return tuple(
        PresetChoice(
            preset.id,
            preset.label,
            _preset_words(spec, preset),
            " ".join(problem.message for problem in preset_problems(spec, preset, versions)),
        )
        for preset in spec.presets
    )


def _preset_words(spec: FilesystemSpec, preset: FilesystemPreset) -> str:
    chosen = [
        f"{spec.option(item.option).label}: {shown_value(spec.option(item.option), item.value)} ({item.why})"
        for item in preset.choices
    ]
    source = tr("Source: {source}").format(source=preset.source)
    return "; ".join(chosen) + (". " if chosen else "") + source


# --- choosing


def choose_filesystem(made: MadeDraft, filesystem_id: str) -> None:
    """Choose a filesystem; earlier choices for it apply again."""
    made.filesystem = filesystem_id


def choose_preset(made: MadeDraft, preset_id: str) -> None:
    """Choose a preset; own options are discarded, because they modified the previous one."""
    made.presets[made.filesystem] = preset_id
    made.typed.clear()


def set_option(made: MadeDraft, option: OptionSpec, text: str) -> None:
    """Set an option; an empty text, or the value that applies anyway, unsets it."""
    preset = spec_of(made).preset(preset_of(made)).options
    counts = preset.get(option.id, option.default)
    if not text.strip() or (counts is not None and text == write_option(option, counts)):
        made.typed.pop(option.id, None)
    else:
        made.typed[option.id] = text
