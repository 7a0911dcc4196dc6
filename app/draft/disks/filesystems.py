"""Offer filesystems and presets, with reasons why some are unavailable. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.checks import check, implied, preset_problems, unavailable, unsafe_options
from app.domain.options.filesystem_spec import (
    Circumstances,
    DiskSetFacts,
    FilesystemPreset,
    FilesystemSpec,
    real_name,
    real_words,
    shown_name,
    spelled_as,
)
from app.domain.options.kinds import Choice, Integer, OptionValue, Stage, Toggle
from app.domain.options.option_spec import OptionSpec, Safety, Versions
from app.domain.options.raid import Assembler
from app.domain.options.refusals import Action, ConflictFinding
from app.domain.storage_plan.plan import Role
from app.domain.text import format_size, tr
from app.draft.disks.table import StorageFacts
from app.draft.disks.target import chosen_values, preset_of, read_options, spec_of, write_option
from app.draft.fields.state import DisksDraft, GroupDraft, MadeDraft, level_of
from app.storage.layout.disk_target import Reason, level_availability

# Present the options of a filesystem as rows of a form: value, cost, problems. Pure.
#
# Everything follows from the declarations: a new option needs only a declaration.


_MOST_STEPS: Final = 16
"""Sizes that are powers of two are offered as a list up to this many values."""
_FEW: Final = 6
"""Up to this many values are all offered for comparison, unless the declaration lists some."""
_MOST_LISTED: Final = 3
"""Filesystems listed as having an option."""


class OptionGroup(StrEnum):
    """Groups of options on the page."""

    MATTERS = "matters"
    FORMAT = "format"
    MOUNT = "mount"
    SERVER = "server"

    @property
    def label(self) -> str:
        """The visible name."""
        return _PART_WORDS[self]


_PART_WORDS: Final = {
    OptionGroup.MATTERS: tr("Important for PostgreSQL"),
    OptionGroup.FORMAT: tr("When created"),
    OptionGroup.MOUNT: tr("When mounted"),
    OptionGroup.SERVER: tr("Related PostgreSQL settings"),
}
_PARTS: Final = {
    Stage.MKFS: OptionGroup.FORMAT,
    Stage.POOL: OptionGroup.FORMAT,
    Stage.MOUNT: OptionGroup.MOUNT,
    Stage.DATASET: OptionGroup.MOUNT,
    Stage.ATTRIBUTE: OptionGroup.MOUNT,
    Stage.SERVER: OptionGroup.SERVER,
}


@dataclass(frozen=True, slots=True)
class ValueChoice:
    """A value of an option in a list.

    Attributes:
        text: as typed; empty for unset.
        label: as shown.
        effect: one sentence; may be empty.
        obstacle: why it does not exist here; empty if it does.
    """

    text: str
    label: str
    effect: str = ""
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option on the page.

    Attributes:
        option: its declaration.
        part: its group.
        text: the effective value, as typed; empty if unset.
        is_own: whether the user set it here, over preset and default.
        values: a list to choose from; empty if the value is typed.
        default: effective value if unset, as text.
        badges: safety costs of the value, in words.
        costs: the same, a sentence each.
        obstacle: why the option does not exist here; empty if it does.
        wrong: why the value is invalid.
        warnings: about it.
        implied: value that follows from other options; empty if none does.
        word: its real name in mount, mkfs, zpool or zfs.
        usual: default of tools and kernel, as text.
        is_changed: whether the effective value differs from that.
        spelled: command line fragment for the effective value, such as ``mount -o nobarrier``, or empty.
    """

    option: OptionSpec
    part: OptionGroup
    text: str
    is_own: bool
    values: tuple[ValueChoice, ...]
    default: str
    badges: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    obstacle: str = ""
    wrong: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    implied: str = ""
    word: str = ""
    usual: str = ""
    is_changed: bool = False
    spelled: str = ""

    def matches(self, text: str) -> bool:
        """Whether a search matches: every word of it is in its label or in one of its real names."""
        return _is_named(self.option, text.casefold().split())

    @property
    def is_switch(self) -> bool:
        """Whether it is a check box: on or off, with a known default."""
        return isinstance(self.option.kind, Toggle) and self.option.default is not None


@dataclass(frozen=True, slots=True)
class OptionsPage:
    """All options of a filesystem.

    Attributes:
        rows: in order.
        general: (message, is a refusal) of findings about several options.
        unsafe: (option, value, sentence) of everything that trades safety away.
    """

    rows: tuple[OptionRow, ...]
    general: tuple[tuple[str, bool], ...]
    unsafe: tuple[tuple[str, str, str], ...]


def options_page(made: MadeDraft, around: Circumstances) -> OptionsPage:
    """Return every option with its value, its cost, and its problems."""
    spec = spec_of(made)
    findings = check(around)
    making = _Making(made, around, findings)
    rows = tuple(map(making.row, spec.options))
    own = {option.id for option in spec.options}
    general = tuple(
        (finding.message, finding.action is Action.REFUSE)
        for finding in findings
        if finding.field not in own and finding.action is not Action.IMPLY and finding.field != "disks"
    )
    return OptionsPage(rows, general, _unsafe(around))


def _unsafe(around: Circumstances) -> tuple[tuple[str, str, str], ...]:
    return unsafe_options(around.filesystem, around.options, around.level, around.server_page_bytes)


@dataclass(frozen=True, slots=True)
class _Making:
    """Make the rows of one filesystem."""

    made: MadeDraft
    around: Circumstances
    findings: Sequence[ConflictFinding]

    def row(self, option: OptionSpec) -> OptionRow:
        made, around = self.made, self.around
        spec, versions = around.filesystem, around.versions
        mine = [finding for finding in self.findings if finding.field == option.id]
        _, wrong = read_options(spec, made.typed)
        value, of_preset = around.options.get(option.id), spec.preset(preset_of(made)).options.get(option.id)
        counts = option.default if value is None else value
        costs = () if counts is None else option.safety_of(counts, around.server_page_bytes)
        costs = tuple(item for item in costs if item is not Safety.SAFE)
        follows = implied(self.findings)
        refused = [finding.message for finding in mine if finding.action is Action.REFUSE]
        return OptionRow(
            option,
            part_of(option, spec),
            made.typed.get(option.id, "" if value is None else write_option(option, value)),
            option.id in made.typed,
            _values(option, of_preset, versions),
            default_words(option, of_preset),
            tuple(item.label.upper() for item in costs),
            tuple(item.sentence for item in costs),
            unavailable(option, versions),
            (*(sentence for name, sentence in wrong if name == option.id), *refused),
            tuple(finding.message for finding in mine if finding.action is Action.WARN),
            shown_value(option, follows[option.id]) if option.id in follows else "",
            shown_name(option),
            tr("chosen by the tools") if option.default is None else shown_value(option, option.default),
            (value is not None and value != option.default) or option.id in made.typed,
            "" if value is None else spelled_as(spec, option, value),
        )


def changed_words(page: OptionsPage) -> str:
    """Return the options that differ from the defaults of tools and kernel, by real name; empty for none."""
    return ", ".join(
        row.spelled.partition(" -o ")[2] or row.spelled or f"{row.option.label}: {row.text}"
        for row in page.rows
        if row.is_changed and not row.wrong
    )


def explain_no_match(spec: FilesystemSpec, text: str) -> str:
    """Return why a search finds no option: which filesystems have it, or why this one lacks it."""
    wanted = text.casefold().split()
    others = [option for other in FILESYSTEMS for option in other.options if other is not spec]
    for lack in spec.lacks:
        if any(option.id == lack.option and _is_named(option, wanted) for option in others):
            return lack.why
    having = [
        tr("{label} has it: {option} ({word}).").format(
            label=other.label, option=option.label, word=real_name(option)
        )
        for other in FILESYSTEMS
        for option in other.options
        if wanted and other.levels and other is not spec and _is_named(option, wanted)
    ]
    return " ".join((tr("{label} has no such option.").format(label=spec.label), *having[:_MOST_LISTED]))


def _is_named(option: OptionSpec, wanted: Sequence[str]) -> bool:
    found = " ".join((option.label, *real_words(option))).casefold()
    return all(word in found for word in wanted)


def part_of(option: OptionSpec, spec: FilesystemSpec) -> OptionGroup:
    """Return the group of an option: those set by presets or with a safety cost matter for PostgreSQL."""
    if option.stage is Stage.SERVER:
        return OptionGroup.SERVER
    in_presets = any(item.option == option.id for preset in spec.presets for item in preset.choices)
    risky = set(option.safety) - {Safety.SAFE, Safety.DISTORTS, Safety.EXPERIMENTAL}
    return OptionGroup.MATTERS if in_presets or risky else _PARTS[option.stage]


def default_words(option: OptionSpec, of_preset: OptionValue | None) -> str:
    """Return the effective value of an unset option: the preset's value, else the default."""
    if of_preset is not None:
        return tr("{value} (preset)").format(value=shown_value(option, of_preset))
    if option.default is None:
        return tr("chosen by the tools")
    return tr("{value} (default)").format(value=shown_value(option, option.default))


def shown_value(option: OptionSpec, value: OptionValue) -> str:
    """Return a value for display."""
    if isinstance(value, bool):
        return tr("on") if value else tr("off")
    if isinstance(option.kind, Integer) and isinstance(value, int):
        if option.kind.unit == "B":
            return format_size(value)
        return f"{value} {option.kind.unit}".rstrip()
    return str(value)


def _values(option: OptionSpec, of_preset: OptionValue | None, versions: Versions) -> tuple[ValueChoice, ...]:
    first = ValueChoice("", default_words(option, of_preset))
    values = values_of(option)
    if not values:
        return ()
    effects = {each.id: each.effect for each in option.values}
    return (
        first,
        *(
            ValueChoice(
                write_option(option, value),
                shown_value(option, value),
                effects.get(str(value), ""),
                unavailable(option, versions, value),
            )
            for value in values
        ),
    )


def steps_of(kind: Integer) -> tuple[int, ...]:
    """Return the values of a number that has few: powers of two, or a short range."""
    if kind.power_of_two:
        values = [1 << power for power in range(63) if kind.minimum <= 1 << power <= kind.maximum]
    elif (kind.maximum - kind.minimum) // kind.multiple_of < _MOST_STEPS:
        values = list(range(kind.minimum, kind.maximum + 1))
    else:
        return ()
    found = tuple(value for value in (*kind.also, *values) if kind.accepts(value))
    return found if len(found) <= _MOST_STEPS else ()


def values_of(option: OptionSpec) -> tuple[OptionValue, ...]:
    """Return the values that can be chosen from a list; empty if the value is typed."""
    match option.kind:
        case Toggle():
            return (True, False)
        case Choice() as kind:
            return tuple(kind.ids)
        case Integer() as kind:
            return steps_of(kind)


def tried_values(option: OptionSpec) -> tuple[OptionValue, ...]:
    """Return the values to compare with each other: the declared ones, else all if there are few."""
    return option.tried or (values if len(values := values_of(option)) <= _FEW else ())


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
            message = tr("{label} has no level “{level}”.")
            reasons = (Reason(message.format(label=spec.label, level=level.label)),)
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
