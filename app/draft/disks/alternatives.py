"""Offer alternatives on the same disks: another filesystem, level, preset, location of the WAL. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.checks import preset_problems, unavailable
from app.domain.options.raid import layout
from app.domain.text import tr
from app.draft.disks.filesystems import set_option
from app.draft.disks.options import OptionGroup, part_of, shown_value, tried_values
from app.draft.disks.table import StorageFacts
from app.draft.disks.target import chosen_values, preset_of, spec_of, write_option
from app.draft.fields.state import ConfigurationDraft, DraftParts
from app.draft.fields.storage_state import DEFAULT_PRESET, MadeDraft, level_of
from app.storage.layout.availability import level_availability


@dataclass(frozen=True, slots=True)
class Alternative:
    """One difference that a copy would have.

    Attributes:
        heading: its kind.
        label: as shown.
        name: of the copy.
        made: level, filesystem and options of the copy; None for those of the pages.
        wal_apart: whether its WAL is on separate disks.
        obstacle: why it is impossible; empty if it is not.
    """

    heading: str
    label: str
    name: str
    made: MadeDraft | None
    wal_apart: bool = True
    obstacle: str = ""


def made_by(parts: DraftParts, configuration: ConfigurationDraft) -> MadeDraft:
    """Return level, filesystem and options of a configuration's data disks."""
    return configuration.made or parts.disks_of(configuration).data.made


def alternatives(
    parts: DraftParts, configuration: ConfigurationDraft, facts: StorageFacts
) -> tuple[Alternative, ...]:
    """Return the alternatives to a configuration on spare disks, ordered by heading."""
    offering = _Offering(parts, configuration, facts)
    found = (
        offering.filesystems(),
        offering.options(),
        offering.levels(),
        offering.presets(),
        _wal(parts, configuration),
    )
    return tuple(each for several in found for each in several)


@dataclass(frozen=True, slots=True)
class _Offering:
    """Make the alternatives to one configuration."""

    parts: DraftParts
    each: ConfigurationDraft
    facts: StorageFacts

    @property
    def made(self) -> MadeDraft:
        return made_by(self.parts, self.each)

    @property
    def count(self) -> int:
        return len(self.parts.disks_of(self.each).data.disks)

    def filesystems(self) -> Iterator[Alternative]:
        for spec in FILESYSTEMS:
            if spec.levels and spec.id != self.made.filesystem:
                other = self.made.copy()
                other.filesystem = spec.id
                yield self._offer(tr("Another filesystem"), spec.label, other)

    def levels(self) -> Iterator[Alternative]:
        for level in spec_of(self.made).levels:
            if level is not level_of(self.made, self.count):
                other = self.made.copy()
                other.level = level
                yield self._offer(tr("Another RAID level"), level.label, other)

    def options(self) -> Iterator[Alternative]:
        """Yield the same with another value of one option that matters for PostgreSQL."""
        spec, values = spec_of(self.made), chosen_values(self.made)
        for option in spec.options:
            if part_of(option, spec) is not OptionGroup.MATTERS:
                continue
            now = values.get(option.id, option.default)
            for value in (each for each in tried_values(option) if each != now):
                other = self.made.copy()
                set_option(other, option, write_option(option, value))
                label = f"{option.label}: {shown_value(option, value)}"
                token = option.spelling.token(value)
                if token:
                    label = tr("{option} ({word})").format(option=label, word=token)
                name = tr("{name}, {word}").format(
                    name=short_name(self.made, self.count), word=token or option.id
                )
                support = self.facts.support
                missing = unavailable(option, support.versions, value) if support else ""
                yield Alternative(
                    tr("Another option"),
                    label,
                    name,
                    other,
                    self.each.wal_apart,
                    self._obstacle(other) or missing,
                )

    def presets(self) -> Iterator[Alternative]:
        spec = spec_of(self.made)
        for preset in spec.presets:
            if preset.id != preset_of(self.made):
                other = self.made.copy()
                other.presets[spec.id] = preset.id
                other.typed.clear()
                yield self._offer(tr("Another preset"), preset.label, other)

    def _offer(self, heading: str, label: str, made: MadeDraft) -> Alternative:
        name = short_name(made, self.count)
        return Alternative(heading, label, name, made, self.each.wal_apart, self._obstacle(made))

    def _obstacle(self, made: MadeDraft) -> str:
        spec, level = spec_of(made), level_of(made, self.count)
        if level not in spec.levels:
            return tr("{label} has no such level.").format(label=spec.label)
        problem = layout(level, spec.assembler(level)).problem(self.count)
        support = self.facts.support
        if problem or support is None:
            return problem
        reasons = level_availability(spec, level, support).reasons
        missing = preset_problems(spec, spec.preset(preset_of(made)), support.versions)
        sentences = [f"{reason.message} {reason.remedy}".strip() for reason in reasons]
        return " ".join((*sentences, *(each.message for each in missing)))


def _wal(parts: DraftParts, each: ConfigurationDraft) -> Iterator[Alternative]:
    if parts.disks_of(each).wal.disks:
        label = tr("WAL among the data") if each.wal_apart else tr("WAL on its own disks")
        name = tr("{name}, WAL among the data") if each.wal_apart else tr("{name}, WAL apart")
        made = each.made.copy() if each.made else None
        base = short_name(made_by(parts, each), len(parts.disks_of(each).data.disks))
        yield Alternative(
            tr("Another place of the WAL"), label, name.format(name=base), made, not each.wal_apart
        )


def short_name(made: MadeDraft, disks: int) -> str:
    """Return a name for a configuration from its level, filesystem and options."""
    words = [spec_of(made).label, level_of(made, disks).value]
    if preset_of(made) != DEFAULT_PRESET:
        words.append(preset_of(made))
    return " ".join(words)
