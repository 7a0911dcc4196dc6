"""Offer the values on the page of dimensions, and comparisons for a filesystem: effects and risks. Pure.

Storage follows from the declarations of filesystems and options: a new option is offered automatically. The
settings of postgresql.conf offered with several values are listed here; any other can be added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.campaign_file.dimensions import word_of
from app.campaign_file.kinds import Key
from app.campaign_file.partial import changes_of, partial_of
from app.domain.campaign.configuration import BuiltinScript, Configuration, DiskTarget, Protocol
from app.domain.campaign.disk_target import chosen_options
from app.domain.campaign.matrix import DimensionValue
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.option_texts import COMMON
from app.domain.options.checks import is_of_today, unavailable
from app.domain.options.filesystem_spec import FilesystemSpec, real_name, real_words
from app.domain.options.kinds import Integer, OptionValue, Stage
from app.domain.options.option_spec import OptionSpec, Safety
from app.domain.storage_plan.plan import Scheduler
from app.domain.text import titled, tr
from app.draft.builder import ValidationResult
from app.draft.disks.filesystems import OptionGroup, part_of, shown_value, tried_values, values_of
from app.draft.disks.layout import level_offers
from app.draft.disks.table import StorageFacts
from app.draft.fields.state import DraftEnvironment, DraftParts
from app.draft.matrix.ticking import CLIENTS, dimension_of, set_values, value_of
from app.postgres.presets import PRESETS
from app.postgres.settings import unsafe_settings
from app.storage.layout.disk_target import filesystem_availability


@dataclass(frozen=True, slots=True)
class SettingOffer:
    """A setting with values worth comparing.

    Attributes:
        name: in postgresql.conf.
        values: the offered ones.
        about: its effect, a sentence; empty if the name says it.
        takes_text: whether other values can be typed.
        by_session: whether the owner of a database can set it for its sessions: on a server that already
            runs, other settings are never changed.
    """

    name: str
    values: tuple[str, ...]
    about: str = ""
    takes_text: bool = False
    by_session: bool = False

    def risks_of(self, value: str) -> tuple[str, ...]:
        """Return the safety costs of a value, a sentence each."""
        return tuple(risk for _, _, risk in unsafe_settings([(self.name, value)]))


OFFERED: Final = (
    SettingOffer(
        "synchronous_commit",
        ("on", "off"),
        tr("Whether a commit waits for its WAL flush."),
        by_session=True,
    ),
    SettingOffer(
        "full_page_writes",
        ("on", "off"),
        COMMON["full_page_writes"].effect,
    ),
    SettingOffer("wal_compression", ("off", "pglz", "lz4", "zstd")),
    SettingOffer("wal_init_zero", ("on", "off"), COMMON["wal_init_zero"].effect),
    SettingOffer("wal_recycle", ("on", "off"), COMMON["wal_recycle"].effect),
    SettingOffer("shared_buffers", ("128MB", "1GB", "4GB"), takes_text=True),
    SettingOffer("max_wal_size", ("1GB", "4GB", "16GB"), takes_text=True),
    SettingOffer(
        "io_method", ("sync", "worker", "io_uring"), tr("Method of reading pages (PostgreSQL 18 or newer).")
    ),
    SettingOffer(
        "effective_io_concurrency",
        ("1", "16", "128"),
        takes_text=True,
        by_session=True,
    ),
)


_DISKS: Final = "target.disks."
_SETTINGS: Final = "postgresql.settings."
FILESYSTEM: Final = f"{_DISKS}filesystem"


class RowGroup(StrEnum):
    """Parts of the page, in order."""

    STORAGE = "storage"
    OPTIONS = "options"
    SERVER = "server"
    WORKLOAD = "workload"
    OTHER = "other"

    @property
    def label(self) -> str:
        """The visible name."""
        return _GROUPS[self]


_GROUPS: Final = {
    RowGroup.STORAGE: tr("Disks and filesystem"),
    RowGroup.OPTIONS: tr("Filesystem options"),
    RowGroup.SERVER: "PostgreSQL",
    RowGroup.WORKLOAD: tr("Workload"),
    RowGroup.OTHER: tr("Further dimensions of this campaign"),
}


@dataclass(frozen=True, slots=True)
class ValueOffer:
    """A value that can be ticked.

    Attributes:
        value: set by the check box.
        label: as shown.
        effect: a sentence; may be empty.
        risks: safety costs, a few words each.
        obstacle: why it is unavailable here; empty if it is available.
        ticked: whether it is measured.
        spelled: its command line fragment, such as ``nobarrier``; empty for none.
        is_tried: whether it is, out of many values, worth comparing.
    """

    value: DimensionValue
    label: str
    effect: str = ""
    risks: tuple[str, ...] = ()
    obstacle: str = ""
    ticked: bool = False
    spelled: str = ""
    is_tried: bool = True


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """A property that can be varied.

    Attributes:
        group: part of the page.
        key: of the dimension, or its name if it has no key.
        label: as shown.
        word: the real name in mount, mkfs or postgresql.conf; empty if the label is that name.
        about: its effect, a sentence.
        values: with check boxes.
        first: value in the first configuration; None if it has none.
        note: its scope, or the value used if nothing is ticked; may be empty.
        takes_text: whether other values can be typed.
        typed: typed values, as typed.
        help_key: of the explanation in the help panel.
        words: search terms.
        is_usual: whether it is shown without a search.
        base: value used if nothing is ticked: that of the first configuration, else the default.
        is_compared: whether it is a dimension of the draft.
    """

    group: RowGroup
    key: str
    label: str
    word: str
    about: str
    values: tuple[ValueOffer, ...]
    first: DimensionValue | None = None
    note: str = ""
    takes_text: bool = False
    typed: str = ""
    help_key: str = ""
    words: str = ""
    is_usual: bool = True
    base: DimensionValue | None = None
    is_compared: bool = False

    @property
    def is_dimension(self) -> bool:
        """Whether several of its values are measured."""
        return sum(each.ticked for each in self.values) + len(self.typed.split(",")) * bool(self.typed) > 1

    def matches(self, text: str) -> bool:
        """Whether a search matches it."""
        found = f"{self.label} {self.word} {self.key} {self.words}".casefold()
        return all(word in found for word in text.casefold().split())


def first_of(built: ValidationResult) -> Configuration | None:
    """Return the configuration that dimensions modify: the first on disks, else the first."""
    made = list(built.configurations.values())
    on_disks = [each for each in made if isinstance(each.target, DiskTarget)]
    return next(iter((*on_disks, *made)), None)


def dimension_rows(
    parts: DraftParts, built: ValidationResult, facts: StorageFacts, environment: DraftEnvironment | None
) -> tuple[DimensionRow, ...]:
    """Return every row with its current ticks; empty while no configuration is valid."""
    first = first_of(built)
    if first is None:
        return ()
    making = _Making(parts, first, facts, environment)
    rows = tuple(making.rows())
    offered = {row.key for row in rows}
    others = [making.other(each.key or each.name) for each in parts.dimensions]
    return (*rows, *(row for row in others if row is not None and row.key not in offered))


@dataclass(frozen=True, slots=True)
class _Making:
    """Make the rows of one draft."""

    parts: DraftParts
    first: Configuration
    facts: StorageFacts
    environment: DraftEnvironment | None

    def rows(self) -> Iterator[DimensionRow]:
        if isinstance(self.first.target, DiskTarget):
            yield from self._storage(self.first.target)
            yield from self._options(self.first.target)
        yield from self._server()
        yield from self._workload()

    def _specs(self, target: DiskTarget) -> list[FilesystemSpec]:
        """Return the measured filesystems, in the order of their declarations."""
        known = dimension_of(self.parts, FILESYSTEM)
        ids = {value.name for value in known.values} if known else {target.data.filesystem}
        for each in self.parts.dimensions:
            for value in each.values if each is not known else ():
                ids |= {
                    change.value for change in value.changes if change.key == tuple(FILESYSTEM.split("."))
                }
        return [spec for spec in FILESYSTEMS if spec.id in ids]

    def _storage(self, target: DiskTarget) -> Iterator[DimensionRow]:
        support, disks = self.facts.support, target.data.disks
        filesystems = [spec for spec in FILESYSTEMS if spec.levels]
        yield self._row(
            RowGroup.STORAGE,
            FILESYSTEM,
            titled(tr("filesystem")),
            tr("Each ticked one is created in turn on the same disks."),
            [
                ValueOffer(
                    value_of(FILESYSTEM, spec.id),
                    spec.label,
                    spec.good_for,
                    obstacle=" ".join(
                        f"{reason.message} {reason.remedy}".strip()
                        for reason in filesystem_availability(spec, support).reasons
                    )
                    if support
                    else "",
                )
                for spec in filesystems
            ],
        )
        specs = self._specs(target)
        levels = [
            ValueOffer(
                value_of(f"{_DISKS}level", each.level.value), each.level.label, each.note, (), each.obstacle
            )
            for each in level_offers(specs, len(disks), support)
        ]
        if len(disks) > 1:
            notes = [f"{each.label}: {each.effect}" for each in levels if each.effect]
            yield self._row(
                RowGroup.STORAGE, f"{_DISKS}level", tr("RAID level"), "", levels, note=" ".join(notes)
            )
        key = f"{_DISKS}scheduler"
        offers = [ValueOffer(value_of(key, each.value), each.value) for each in Scheduler]
        yield self._row(RowGroup.STORAGE, key, tr("I/O scheduler"), "", offers)
        key = f"{_DISKS}read_ahead"
        offers = [_plain(key, each) for each in (0, "128 KiB", "512 KiB", "4 MiB")]
        if any(spec.id != "zfs" for spec in specs):
            yield self._row(RowGroup.STORAGE, key, titled(tr("read-ahead")), "", offers, text=True)
        presets = {
            preset.id: preset for spec in specs for preset in spec.presets if is_of_today(spec, preset)
        }
        yield self._row(
            RowGroup.STORAGE,
            f"{_DISKS}preset",
            titled(tr("preset")),
            tr("A named set of options; filesystems without it keep their defaults."),
            [
                ValueOffer(value_of(f"{_DISKS}preset", name), each.label, each.source)
                for name, each in presets.items()
            ],
        )

    def _options(self, target: DiskTarget) -> Iterator[DimensionRow]:
        specs = self._specs(target)
        having: dict[str, list[FilesystemSpec]] = {}
        for spec in specs:
            for option in spec.options:
                if option.stage is not Stage.SERVER and not option.removed:
                    having.setdefault(option.id, []).append(spec)
        ranked = sorted(having, key=lambda name: not _matters(having[name][0], name))
        for name in ranked:
            yield self._option(name, having[name], specs, target)

    def _option(
        self, name: str, having: Sequence[FilesystemSpec], specs: Sequence[FilesystemSpec], target: DiskTarget
    ) -> DimensionRow:
        options = [spec.option(name) for spec in having]
        option, key = options[0], f"{_DISKS}options.{name}"
        values = [value for value in values_of(option) if all(other.kind.accepts(value) for other in options)]
        first = None
        if target.data.filesystem in {spec.id for spec in having}:
            own = filesystem(target.data.filesystem).option(name)
            chosen = chosen_options(target.data).get(name, own.default)
            first = None if chosen is None else value_of(key, chosen)
        notes = []
        if len(having) < len(specs):
            notes.append(tr("Only {labels}.").format(labels=", ".join(spec.label for spec in having)))
        if first is None and option.default is not None:
            usual = shown_value(option, option.default)
            notes.append(tr("If nothing is ticked: {value}.").format(value=usual))
        tokens = " ".join(word for each in options for word in real_words(each))
        row = self._row(
            RowGroup.OPTIONS,
            key,
            option.label,
            option.effect,
            [self._of_option(option, key, value) for value in values],
            note=" ".join(notes),
            text=isinstance(option.kind, Integer),
            first=first,
        )
        labels = " ".join(spec.label for spec in having)
        return replace(
            row,
            word=real_name(option),
            base=first or (None if option.default is None else value_of(key, option.default)),
            help_key=f"option:{having[0].id}:{name}",
            words=f"{tokens} {labels}",
            is_usual=_matters(having[0], name),
        )

    def _of_option(self, option: OptionSpec, key: str, value: OptionValue) -> ValueOffer:
        costs = [
            each for each in option.safety_of(value, self.facts.server_page_bytes) if each is not Safety.SAFE
        ]
        versions = self.facts.support.versions if self.facts.support else {}
        effects = {each.id: each.effect for each in option.values}
        sentence = " ".join((effects.get(str(value), ""), *(each.sentence for each in costs)))
        return ValueOffer(
            value_of(key, value),
            shown_value(option, value),
            sentence.strip(),
            tuple(each.label for each in costs),
            unavailable(option, versions, value),
            spelled=option.spelling.token(value) or "",
            is_tried=value in tried_values(option),
        )

    def _server(self) -> Iterator[DimensionRow]:
        if not self.parts.is_only_on_servers:
            yield from self._own_server()
        for each in OFFERED:
            if each.by_session or not self.parts.is_only_on_servers:
                yield self.setting(each)

    def _own_server(self) -> Iterator[DimensionRow]:
        """Yield the choices about a server that is started for the run."""
        found = self.environment.installations if self.environment else ()
        key = "postgresql.installation"
        usable = {each.major: each for each in reversed(found) if each.usable}
        if len(usable) > 1:
            about = tr("Runs server and pgbench of each version. Page sizes are shown.")
            offers = [
                replace(
                    _plain(key, str(major)),
                    label=tr("{version}, {size} kB pages").format(
                        version=each.version, size=each.page_bytes // 1024
                    ),
                )
                for major, each in sorted(usable.items(), reverse=True)
            ]
            yield self._row(RowGroup.SERVER, key, titled(tr("version")), about, offers)
        key = "postgresql.preset"
        offers = [
            ValueOffer(value_of(key, name), each.label, each.description) for name, each in PRESETS.items()
        ]
        yield self._row(RowGroup.SERVER, key, titled(tr("preset")), "", offers)
        key = "postgresql.checksums"
        offers = [replace(_plain(key, on), label=tr("on") if on else tr("off")) for on in (True, False)]
        yield self._row(RowGroup.SERVER, key, tr("Checksums"), "", offers)

    def setting(self, each: SettingOffer) -> DimensionRow:
        """Return the row of a server setting."""
        key = f"{_SETTINGS}{each.name}"
        offers = [
            replace(_plain(key, value), label=value, risks=each.risks_of(value)) for value in each.values
        ]
        return self._row(RowGroup.SERVER, key, each.name, each.about, offers, text=each.takes_text)

    def _workload(self) -> Iterator[DimensionRow]:
        cpus = self.environment.machine.cpus if self.environment else 1
        clients = sorted({1, 2, 4, 8, 16, 32, 64, cpus, 2 * cpus})
        for key, label, about, values, text in (
            (CLIENTS, titled(tr("clients")), "", clients, True),
            (
                "workload.scale",
                tr("Scale factor"),
                "",
                (10, 100, 1000, 10_000),
                True,
            ),
            (
                "workload.script",
                tr("Script"),
                "",
                tuple(each.value for each in BuiltinScript),
                False,
            ),
            (
                "workload.protocol",
                titled(tr("protocol")),
                "",
                tuple(each.value for each in Protocol),
                False,
            ),
            (
                "workload.rate",
                titled(tr("rate")),
                "",
                (100, 500, 1000, 5000),
                True,
            ),
        ):
            yield self._row(
                RowGroup.WORKLOAD, key, label, about, [_plain(key, each) for each in values], text=text
            )

    def other(self, key: str) -> DimensionRow | None:
        """Return the row of a dimension that is not offered; its values can be removed."""
        found = dimension_of(self.parts, key)
        if found is None:
            return None
        if key.startswith(_SETTINGS):
            offer = SettingOffer(key.removeprefix(_SETTINGS), (), "", takes_text=True)
            return self.setting(offer)
        offers = [ValueOffer(each, each.name or tr("(no name)")) for each in found.values]
        about = tr("From the campaign file. Unticked values are removed.")
        return self._row(RowGroup.OTHER, key, found.name, about, offers)

    def _row(  # noqa: PLR0913 - a row has as many parts
        self,
        group: RowGroup,
        key: str,
        label: str,
        about: str,
        offers: Sequence[ValueOffer],
        *,
        note: str = "",
        text: bool = False,
        first: DimensionValue | None = None,
    ) -> DimensionRow:
        """Return a row with its ticks: of the dimension, else of the first configuration's value."""
        known = dimension_of(self.parts, key)
        first = first or self._first(key)
        offered = list(offers)
        if first is not None and all(each.value.changes != first.changes for each in offered):
            offered.insert(0, ValueOffer(first, _shown(first)))
        now = known.values if known else tuple(each for each in (first,) if each is not None)
        changes = {each.changes for each in now}
        ticked = tuple(replace(each, ticked=each.value.changes in changes) for each in offered)
        listed = {each.value.changes for each in offered}
        typed = ", ".join(each.name for each in now if each.changes not in listed)
        values = ticked
        if not text and typed:  # values from a file that are not offered
            rest = [each for each in now if each.changes not in listed]
            values, typed = (*ticked, *(ValueOffer(each, each.name, ticked=True) for each in rest)), ""
        words = " ".join(each.label for each in values)
        return DimensionRow(
            group,
            key,
            label,
            "",
            about,
            values,
            first,
            note,
            text,
            typed,
            _help_key(key),
            words,
            base=first,
            is_compared=known is not None,
        )

    def _first(self, key: str) -> DimensionValue | None:
        """Return the first configuration's value of a key."""
        path: Key = tuple(key.split(".", 2)) if key.startswith(_SETTINGS) else tuple(key.split("."))
        for change in changes_of(partial_of(self.first)):
            if change.key == path:
                return DimensionValue(word_of(change.value), (change,))
        return None


def _matters(spec: FilesystemSpec, name: str) -> bool:
    """Whether presets set an option, or it has a safety cost: it is listed first."""
    return part_of(spec.option(name), spec) is OptionGroup.MATTERS


def _plain(key: str, raw: object) -> ValueOffer:
    value = value_of(key, raw)
    return ValueOffer(value, _shown(value))


def _shown(value: DimensionValue) -> str:
    return {"true": tr("on"), "false": tr("off")}.get(value.name, value.name)


def _help_key(key: str) -> str:
    known = {FILESYSTEM: "configuration.place", f"{_DISKS}preset": "preset"}
    return known.get(key, "dimension" if not key.startswith(("postgresql.", "workload.", "target.")) else key)


# Offer comparisons for a filesystem: other filesystems, or the same with another option. Pure.


OPTION: Final = "target.disks.options."
_MOST_TOGETHER: Final = 4
"""Most values added with one click."""


@dataclass(frozen=True, slots=True)
class VariantOffer:
    """A comparison with the choice on the page.

    Attributes:
        key: of the dimension.
        label: as shown, such as ``the same with nobarrier``.
        values: measured in addition.
        base: value that they are compared with; None if it cannot be stated.
        ticked: whether they are measured.
        about: effect and cost.
        obstacle: why it is unavailable here; empty if it is available.
    """

    key: str
    label: str
    values: tuple[DimensionValue, ...]
    base: DimensionValue | None
    ticked: bool
    about: str = ""
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class VariantGroup:
    """Variants of one row, in a submenu if there are several.

    Attributes:
        label: of the row, with its real name.
        variants: of the row.
    """

    label: str
    variants: tuple[VariantOffer, ...]


def other_filesystems(rows: Sequence[DimensionRow]) -> tuple[VariantOffer, ...]:
    """Return the filesystems other than the one on the page; each is created on the same disks."""
    row = next((row for row in rows if row.key == FILESYSTEM), None)
    if row is None:
        return ()
    return tuple(_variant(row, (each,), each.label) for each in row.values if not _is_base(row, each))


def variant_groups(rows: Sequence[DimensionRow]) -> tuple[VariantGroup, ...]:
    """Return the other comparisons on the same disks: options that matter, levels, presets."""
    offered = sorted(filter(_is_offered, rows), key=lambda row: row.group is not RowGroup.OPTIONS)
    return tuple(group for group in map(_group, offered) if group.variants)


def _is_offered(row: DimensionRow) -> bool:
    if row.group is RowGroup.OPTIONS:
        return row.is_usual or row.is_dimension
    return row.group is RowGroup.STORAGE and row.key != FILESYSTEM


def _group(row: DimensionRow) -> VariantGroup:
    label = row.label if row.word in {"", row.label} else f"{row.label} · {row.word}"
    others = [each for each in row.values if not _is_base(row, each) and (each.is_tried or each.ticked)]
    named = [each for each in others if each.is_tried and row.group is RowGroup.OPTIONS]
    found = [_variant(row, (each,), each.label) for each in others]
    if len(found) == 1 and others[0].spelled:
        words = tr("the same with {word}").format(word=others[0].spelled)
        return VariantGroup(label, (replace(found[0], label=words),))
    if 1 < len(named) <= _MOST_TOGETHER:
        sizes = ", ".join(each.label for each in named)
        found.insert(0, _variant(row, tuple(named), tr("all of {values}").format(values=sizes)))
    return VariantGroup(label, tuple(found))


def _variant(row: DimensionRow, offers: Sequence[ValueOffer], label: str) -> VariantOffer:
    about = " ".join(dict.fromkeys(filter(None, (row.about, *(each.effect for each in offers)))))
    obstacle = " ".join(dict.fromkeys(each.obstacle for each in offers if each.obstacle))
    ticked = all(each.ticked for each in offers)
    return VariantOffer(
        row.key, label, tuple(each.value for each in offers), row.base, ticked, about, obstacle
    )


def _is_base(row: DimensionRow, each: ValueOffer) -> bool:
    return row.base is not None and each.value.changes == row.base.changes


def follow_filesystem(parts: DraftParts, before: str, now: str) -> None:
    """Update the compared filesystems after another choice on the page: it becomes the first of them."""
    known = dimension_of(parts, FILESYSTEM)
    if known is None or before == now:
        return
    old, new = value_of(FILESYSTEM, before).changes, value_of(FILESYSTEM, now)
    kept = [each for each in known.values if each.changes not in {old, new.changes}]
    set_values(parts, FILESYSTEM, [new, *kept] if kept else [])


def compared_words(rows: Sequence[DimensionRow]) -> dict[str, str]:
    """Return the values of each compared option, by the id of the option."""
    return {
        row.key.removeprefix(OPTION): ", ".join(
            (*(_with_risks(each) for each in row.values if each.ticked), *filter(None, (row.typed,)))
        )
        for row in rows
        if row.key.startswith(OPTION) and row.is_compared
    }


def _with_risks(each: ValueOffer) -> str:
    return f"{each.label} (⚠ {', '.join(each.risks)})" if each.risks else each.label


def comparison_words(rows: Sequence[DimensionRow]) -> str:
    """Return everything that is measured with several values, in a line; empty for nothing."""
    lines = []
    for row in rows:
        if row.is_compared:
            values = [*(each.label for each in row.values if each.ticked), *filter(None, (row.typed,))]
            is_switch = {tr("on"), tr("off")} >= set(values)
            name = row.label if is_switch or not row.word else row.word
            lines.append(", ".join(values) if row.key == FILESYSTEM else f"{name} {', '.join(values)}")
    return "; ".join(lines)
