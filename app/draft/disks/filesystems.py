"""Filesystem and preset as choices, with why some cannot be made here. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.checks import preset_problems
from app.domain.options.conflicts import Circumstances, DiskSetFacts
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.option import OptionSpec
from app.domain.options.raid import Assembler
from app.domain.text import tr
from app.draft.disks.options import shown_value
from app.draft.disks.table import StorageFacts
from app.draft.disks.target import chosen_values, preset_of, spec_of, write_option
from app.draft.fields.storage_state import GroupDraft, MadeDraft, level_of
from app.storage.layout.availability import Reason, level_availability


@dataclass(frozen=True, slots=True)
class FilesystemCard:
    """A filesystem to choose.

    Attributes:
        id: of the filesystem.
        label: what people read.
        good_for: one or two sentences.
        obstacles: why it cannot be chosen here, with what would help; none where it can.
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
        label: what people read.
        words: what it sets, why, and where that is from.
        obstacle: why it cannot be chosen here; empty where it can.
    """

    id: str
    label: str
    words: str
    obstacle: str = ""


def circumstances(
    group: GroupDraft,
    made: MadeDraft,
    facts: StorageFacts,
    *,
    server: Mapping[str, str] | None = None,
    zfs_log: int = 0,
) -> Circumstances:
    """Return everything that rules may look at."""
    disks = tuple(
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
        disks,
        support.versions if support else {},
        support.page_bytes if support else None,
        dict(server or {}),
        zfs_log if spec_of(made).several is Assembler.ZFS else 0,
        server_page_bytes=facts.server_page_bytes,
    )


def filesystem_cards(group: GroupDraft, made: MadeDraft, facts: StorageFacts) -> tuple[FilesystemCard, ...]:
    """Return every filesystem that disks can have, with why it cannot be chosen."""
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
    """Return what speaks against several filesystems at once, a sentence each with their names."""
    counts = Counter(obstacle for card in cards for obstacle in card.obstacles)
    return tuple(
        f"{', '.join(card.label for card in cards if obstacle in card.obstacles)}: {obstacle}"
        for obstacle, count in counts.items()
        if count > 1
    )


def preset_choices(made: MadeDraft, facts: StorageFacts) -> tuple[PresetChoice, ...]:
    """Return the presets of the filesystem that is chosen."""
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
    """Choose a filesystem; what was said about it before counts again."""
    made.filesystem = filesystem_id


def choose_preset(made: MadeDraft, preset_id: str) -> None:
    """Choose a preset; own options over the one before are taken back, because they were about that."""
    made.presets[made.filesystem] = preset_id
    made.typed.clear()


def say(made: MadeDraft, option: OptionSpec, text: str) -> None:
    """Say something about an option; nothing, or what counts anyway, leaves it to preset and default."""
    preset = spec_of(made).preset(preset_of(made)).options
    counts = preset.get(option.id, option.default)
    if not text.strip() or (counts is not None and text == write_option(option, counts)):
        made.typed.pop(option.id, None)
    else:
        made.typed[option.id] = text


def say_lines(made: MadeDraft, text: str) -> None:
    """Say everything about options of the filesystem: one a line, such as ``recordsize = 8 KiB``."""
    said: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name.strip():
            said[name.strip()] = value.strip()
    made.options[made.filesystem] = said
