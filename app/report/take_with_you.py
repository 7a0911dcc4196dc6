"""Give the winning configuration as text: commands, fstab, postgresql.conf, a recommendation. Pure.

The winner is among the fastest under every condition; if there is none, each condition has its own. At a kept
rate all configurations are equally fast: such conditions count only if there are no others.

Storage commands are for any machine, without temporary names. They come from the builders that created the
measured storage (`app.storage.layout.commands`). Parts that only a session of pgFooting needs are omitted;
disks, locations and UUIDs are shell variables.
"""

from __future__ import annotations

import itertools
import re
import shlex
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from app import VERSION
from app.analysis.labels import one_line
from app.analysis.properties import POSTGRESQL, SETTING, TARGET, Property
from app.campaign_file.trust import is_harmless
from app.comparison.matrix import Matrix, Standing, either, find_leaders
from app.comparison.overall.answer import MOST_CONDITIONS
from app.comparison.overall.conditions import Condition, chosen_settings, footing_of
from app.comparison.overall.fastest import among_fastest, is_proved, shows_speed, under
from app.comparison.wording import describe_change
from app.domain.disk import DiskIdentity
from app.domain.errors import FootingError
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.formats import format_of
from app.domain.options.kinds import FormatOption, Integer, OptionValue, Stage, Toggle
from app.domain.quoting import comment
from app.domain.storage_plan.plan import Role, StoragePlan
from app.domain.text import KIB, format_size, number_text, tr
from app.postgres.settings import quote_value
from app.report.findings import Findings, ReportedCondition
from app.report.report_data import ReportedConfiguration, clip
from app.report.run_tables import days, mean_words
from app.statistics.verdict import Comparison, Verdict
from app.storage.layout.commands import MOUNT_NAMES, build_steps
from app.storage.layout.partitions import HOST, Names, PlannedDevice
from app.storage.layout.steps import Command

# Quote a text as one field of a line of fstab(5). Pure.


def fstab_field(text: str) -> str:
    """Write blanks, control characters and the special characters of fstab in octal."""
    return "".join(sign if "!" <= sign <= "~" and sign not in "\\#" else _octal(sign) for sign in text)


def _octal(sign: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))


PLACES: Final[Mapping[Role, str]] = {
    Role.DATA: "/srv/pgdata",
    Role.WAL: "/srv/pgwal",
    Role.TABLES: "/srv/pgtables",
    Role.INDEXES: "/srv/pgindexes",
}
"""Mount points of the filesystems; to be changed at will."""

_SESSION: Final = uuid.UUID(int=0)
_FOLDER: Final = "/session"
_OF_A_SESSION: Final = re.compile(
    rf" (--homehost={HOST}|--uuid=\S+|-o cachefile=none|-o failmode=continue|-O canmount=noauto)(?= |$)"
)
"""Session-only options: they keep machines from assembling array or pool at boot, and make a failed disk an
error at once.
"""

_WITH_MOUNT: Final = ("--types", "--options", "--source", "--target")
_OURS: Final = re.compile(r"^(nodev|nosuid|device=.*)$")
_LEFT_OUT: Final = frozenset({"sfdisk", "partx", "mount"})


@dataclass(frozen=True, slots=True)
class StorageCommands:
    """Commands that create a storage, and lines that mount it.

    Attributes:
        commands: lines for a shell, as root; comments begin with #.
        fstab: lines for /etc/fstab.
    """

    commands: tuple[str, ...]
    fstab: tuple[str, ...]


def storage_commands(plan: StoragePlan) -> StorageCommands:
    """Return the commands that create a plan on disks to be filled in, and the lines that mount it.

    Raises:
        KeyError: the plan has an unknown filesystem.
        ValueError: the plan cannot be created.
    """
    plan = _numbered(plan)
    members = tuple(plan.members())
    devices = {disk.key(): PlannedDevice(_node(number)) for number, (_, disk) in enumerate(members, 1)}
    names = Names(_SESSION)
    made, fstab, later = [], [], []
    for step in build_steps(plan, devices, names, _FOLDER):
        if not isinstance(step, Command):
            continue
        if step.argv[0] == "mount":
            fstab.append(_fstab_line(step.argv, plan))
        elif step.argv[0] == "chattr":
            later.append(_named(shlex.join(step.argv), plan, names, len(members)))
        elif step.argv[0] not in _LEFT_OUT:
            made.append(_named(shlex.join(step.argv), plan, names, len(members)))
    disks = [
        line
        for number, (_, disk) in enumerate(members, 1)
        for line in (
            comment(f"DISK{number}: {_disk_in_words(disk)}"),
            f"DISK{number}=/dev/disk/by-id/FILL-IN",
        )
    ]
    ids = [f"UUID_{role.value.upper()}=$(uuidgen)" for role in plan.by_role if not _is_pool(plan, role)]
    places = " ".join(PLACES[role] for role in plan.by_role)
    mounting = [
        f"mkdir -p {places}",
        comment(tr("add the lines below to /etc/fstab, then:")),
        *(f"mount {PLACES[role]}" for role in plan.by_role),
    ]
    return StorageCommands(
        (*disks, *_sizes(plan), *ids, *made, *mounting, *later, *_queue(plan)), tuple(fstab)
    )


def _numbered(plan: StoragePlan) -> StoragePlan:
    """Return the same plan with disks identified only by number."""
    numbers = itertools.count(1)

    def numbered(disks: tuple[DiskIdentity, ...]) -> tuple[DiskIdentity, ...]:
        return tuple(replace(disk, serial=f"disk-{next(numbers)}", wwn=None) for disk in disks)

    groups = {role.value: replace(group, disks=numbered(group.disks)) for role, group in plan.by_role.items()}
    return replace(plan, **groups, zfs_log=numbered(plan.zfs_log))


def _node(number: int) -> str:
    return f"@{number}@disk"


def _disk_in_words(disk: DiskIdentity) -> str:
    """Return the description of a disk without its identity."""
    size = format_size(disk.size_bytes) if disk.size_bytes else ""
    return ", ".join(filter(None, (disk.model.strip(), size))) or tr("as large as you need")


def _sizes(plan: StoragePlan) -> Iterator[str]:
    """Yield the measured part of each disk, if it was not the whole."""
    for role, group in plan.by_role.items():
        if group.partition_bytes:
            words = tr("{place}: measured on a partition of {size} at the beginning of each disk")
            sentence = words.format(place=PLACES[role], size=format_size(group.partition_bytes))
            yield comment(sentence)


def _is_pool(plan: StoragePlan, role: Role) -> bool:
    return filesystem(plan.by_role[role].filesystem).mkfs is None


def _named(line: str, plan: StoragePlan, names: Names, disks: int) -> str:
    """Return a line with variables and permanent names instead of those of a session."""
    line = _OF_A_SESSION.sub("", line)
    for number in range(1, disks + 1):
        line = line.replace(f"{_node(number)}1", f'"$DISK{number}"')
    for role in plan.by_role:
        line = line.replace(names.array_node(role), f"/dev/md/pg{role.value}")
        line = line.replace(names.array(role), f"pg{role.value}").replace(names.pool(role), f"pg{role.value}")
        line = line.replace(names.filesystem(role), f"$UUID_{role.value.upper()}")
        line = line.replace(f"{_FOLDER}/{MOUNT_NAMES[role]}", PLACES[role])
    return line


def _fstab_line(argv: tuple[str, ...], plan: StoragePlan) -> str:
    values = {name: argv[argv.index(name) + 1] for name in _WITH_MOUNT}
    [role] = [role for role in plan.by_role if values["--target"] == f"{_FOLDER}/{MOUNT_NAMES[role]}"]
    options = [each for each in values["--options"].split(",") if not _OURS.match(each)]
    source = f"pg{role.value}" if _is_pool(plan, role) else f"UUID=$UUID_{role.value.upper()}"
    last = "0 0" if values["--types"] in _UNCHECKED else "0 2"
    return f"{source}  {PLACES[role]}  {values['--types']}  {','.join(options) or 'defaults'}  {last}"


def _queue(plan: StoragePlan) -> Iterator[str]:
    """Yield udev rules that set scheduler and read-ahead of disks at each boot."""
    for role, group in plan.by_role.items():
        settings = []
        if group.scheduler is not None:
            settings.append(f'ATTR{{queue/scheduler}}="{group.scheduler.value}"')
        if group.read_ahead_bytes is not None:
            settings.append(f'ATTR{{queue/read_ahead_kb}}="{group.read_ahead_bytes // KIB}"')
        if settings:
            words = tr("for each disk of {place}, in /etc/udev/rules.d/60-postgresql.rules:")
            yield comment(words.format(place=PLACES[role]))
            match = 'ACTION=="add|change", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL}=="FILL-IN"'
            yield f"# {match}, {', '.join(settings)}"


TITLE: Final = tr("Winning setup")

_FILESYSTEM: Final = tr("filesystem")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*|-?[0-9]+[A-Za-z]*|-?[0-9]+\.[0-9]+")
"""Values that postgresql.conf accepts without quotation marks (guc-file.l)."""
_IN_FSTAB: Final = frozenset(spec.id for spec in FILESYSTEMS) - {"zfs", "tmpfs"}
"""For any other type mount(8) starts a helper program."""
_UNCHECKED: Final = frozenset({"zfs", "btrfs", "xfs"})
"""Filesystems that fsck does not check at boot."""
_MOST: Final = 300
"""Most letters of a foreign value."""


@dataclass(frozen=True, slots=True)
class TakenPart:
    """Lines that belong together.

    Attributes:
        heading: their destination.
        lines: to be typed; comments begin with #.
    """

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakenConfiguration:
    """A winning configuration.

    Attributes:
        name: of the configuration.
        sentences: results of the whole configuration, as sentences.
        warnings: its safety costs; empty for none.
        parts: to be typed.
    """

    name: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    parts: tuple[TakenPart, ...]

    def as_text(self) -> str:
        """Return everything as text; each line is a comment or can be typed."""
        head = [f"pgFooting {VERSION}: {TITLE}", self.name, *self.sentences, *self.warnings]
        lines = [comment(each) for each in head]
        for part in self.parts:
            lines += ["", comment(f"--- {part.heading}"), *part.lines]
        return "\n".join(lines) + "\n"


_Won = tuple[ReportedCondition, ReportedConfiguration]


def winners(found: Findings) -> tuple[_Won, ...]:
    """Return the winners: one footing for all conditions, else the fastest of each.

    A common footing must be among the fastest under every condition; of several, the one with the smallest
    worst gap to the best. Footings that trade safety count only if there are no others.
    """
    footing = _footings(found)
    fastest = [
        (condition, each) for condition in found.conditions if (each := _fastest_of(condition, footing))
    ]
    fastest = [each for each in fastest if shows_speed(each[0].part)] or fastest
    if not fastest:
        return ()
    behind: dict[Condition, list[float]] = {}
    for _, configurations in fastest:
        best = max(each.row.mean.mean or 0.0 for each in configurations)
        for one in configurations:
            behind.setdefault(footing[one.full_name], []).append(best / (one.row.mean.mean or best or 1.0))
    common = {each: max(times) for each, times in behind.items() if len(times) == len(fastest)}
    taken = min(common, key=common.__getitem__, default=None)
    return tuple(
        (
            condition,
            next((each for each in configurations if footing[each.full_name] == taken), configurations[0]),
        )
        for condition, configurations in fastest
    )


def _footings(found: Findings) -> Mapping[str, Condition]:
    """Return the footing (the chosen properties) of each configuration, by name."""
    chosen = chosen_settings([run.facts for run in found.comparison.runs])
    return {each.full_name: footing_of(each.shown.facts, chosen) for each in found.configurations}


def _fastest_of(
    condition: ReportedCondition, footing: Mapping[str, Condition]
) -> list[ReportedConfiguration]:
    """Return those that may be the fastest of a condition, each footing once; empty without a result."""
    measured = [
        each for each in condition.configurations if each.row.mean.mean is not None and not each.not_durable
    ]
    safe = _safe(measured)
    names = [row.name for row in among_fastest(condition.part)]
    among = [each for each in safe if each.name in names]
    chosen = among or (safe or measured)[:1]
    return list({footing[each.full_name]: each for each in reversed(chosen)}.values())[::-1]


def _safe(configurations: Sequence[ReportedConfiguration]) -> list[ReportedConfiguration]:
    return [each for each in configurations if not each.unsafe and not each.not_durable]


def _safe_names(condition: ReportedCondition) -> list[str]:
    """Return the names of configurations with a result that trade no safety for speed."""
    safe = _safe(condition.configurations)
    return [each.name for each in safe if each.row.mean.mean is not None]


def is_proved_fastest(condition: ReportedCondition, chosen: ReportedConfiguration) -> bool:
    """Return whether runs prove that a configuration is among the fastest of those that may win."""
    names = [row.name for row in among_fastest(condition.part)]
    return len(_safe_names(condition)) < 2 or (is_proved(condition.part) and chosen.name in names)


def take_with_you(found: Findings) -> tuple[TakenConfiguration, ...]:
    """Return the winning configuration, or one for each of a few conditions; empty if there is none."""
    won, footing = winners(found), _footings(found)
    if len({footing[chosen.full_name] for _, chosen in won}) == 1:
        return (_taken(won, ""),)
    return tuple(_taken([each], each[0].name) for each in won) if len(won) <= MOST_CONDITIONS else ()


def _taken(won: Sequence[_Won], under_what: str) -> TakenConfiguration:
    """Return one footing with the conditions under which it won."""
    chosen = won[0][1]
    facts = chosen.shown.facts
    properties = tuple(item for item in facts.properties if item.is_known)
    parts = [*_storage(facts.plan, properties), *_server(properties)]
    sentences = [
        under(condition.name, sentence)
        for condition, each in won
        for sentence in _result_sentences(condition, each)
    ]
    proved = all(is_proved_fastest(condition, each) for condition, each in won)
    if under_what:
        sentence = tr("For {condition}: no configuration is among the fastest under every condition.")
        if not proved:
            sentence = tr("For {condition}: no configuration has the highest mean under every condition.")
        sentences.insert(0, sentence.format(condition=under_what))
    sentences.append(_last_words(proved=proved, safe=not chosen.warning))
    return TakenConfiguration(
        name=chosen.full_name,
        sentences=tuple(sentences),
        warnings=tuple(map(one_line, dict.fromkeys((*chosen.not_durable, *chosen.unsafe)))),
        parts=tuple(parts),
    )


def _last_words(*, proved: bool, safe: bool) -> str:
    what = tr("the measured configurations") + (tr(" without unsafe options") if safe else "")
    sentence = tr("Among the fastest of {what} for this workload and machine; results elsewhere may differ.")
    if not proved:
        sentence = tr(
            "The highest mean of {what} for this workload and machine, not proven to be the fastest; results "
            "elsewhere may differ."
        )
    return sentence.format(what=what)


def taken_text(found: Findings) -> str:
    """Return the winning configuration as text, or that of each condition.

    Raises:
        FootingError: no run has a result.
    """
    taken = take_with_you(found)
    if not taken and winners(found):
        message = tr("None of these configurations is among the fastest under each of {count} conditions.")
        hint = tr("Choose the runs of fewer conditions, such as one scale.")
        raise FootingError(message.format(count=len(found.conditions)), hint=hint)
    if not taken:
        raise FootingError(
            tr("No run of a durable configuration has a result, so there is no setup to write.")
        )
    return "\n".join(each.as_text() for each in taken)


def _result_sentences(condition: ReportedCondition, chosen: ReportedConfiguration) -> Iterator[str]:
    """Yield the results of a configuration under a condition."""
    mean = chosen.row.mean
    if mean.mean is not None:
        yield mean_words(mean, days(run.facts for run in chosen.runs))
    for faster in condition.configurations:
        if faster.warning and (faster.row.mean.mean or 0.0) > (mean.mean or 0.0):
            sentence = tr("{name} had a higher mean but is not used: a power failure can lose its data.")
            yield sentence.format(name=faster.name)
    if condition.fastest:
        yield condition.fastest


# --- The lines


def _storage(plan: StoragePlan | None, properties: Sequence[Property]) -> Iterator[TakenPart]:
    known = {item.name: one_line(item.value) for item in properties if item.topic == TARGET}
    made = None
    with suppress(KeyError, ValueError):  # of another version, or invalid
        made = None if plan is None else storage_commands(plan)
    if made is not None:
        yield TakenPart(tr("Storage, as root: this erases the disks"), made.commands)
        note = tr("replace $UUID_... with the values from the commands above (blkid shows them)")
        has_ids = any("$UUID" in line for line in made.fstab)
        yield TakenPart("/etc/fstab", (*([comment(note)] if has_ids else []), *made.fstab))
        return
    heading = tr("Storage: existing, not created by pgFooting")
    yield TakenPart(heading, tuple(comment(f"{name}: {clip(value, _MOST)}") for name, value in known.items()))
    kind = known.get(_FILESYSTEM, "")
    if kind in _IN_FSTAB and tr("mount options") in known:
        options = ",".join(_typed(kind, known[tr("mount options")].split(","))) or "defaults"
        last = "0 0" if kind in _UNCHECKED else "0 2"
        fields = ("UUID=FILL-IN", next(iter(PLACES.values())), kind, options)
        yield TakenPart("/etc/fstab", (f"{'  '.join(map(fstab_field, fields))}  {last}",))


def _typed(kind: str, shown: Sequence[str]) -> Iterator[str]:
    """Yield the mount options that a person would type: known ones that are not the kernel's default."""
    for option in format_of(kind).options:
        if option.stage is Stage.MOUNT and option.shown is not None:
            usual = None if option.default is None else option.shown.token(option.default)
            for word in shown:
                if word != usual and _is_value(option, word):
                    yield word


def _is_value(option: FormatOption, word: str) -> bool:
    """Return whether a word that the kernel shows is a value of an option."""
    if option.shown is None:
        return False
    if isinstance(option.kind, Integer):
        prefix = option.shown.template.partition("{value}")[0]
        return bool(prefix) and word.startswith(prefix) and word.removeprefix(prefix).isdigit()
    values: tuple[OptionValue, ...] = (True, False) if isinstance(option.kind, Toggle) else option.kind.ids
    return word.partition(":")[0] in {option.shown.token(value) for value in values}


def _server(properties: Sequence[Property]) -> Iterator[TakenPart]:
    found = {item.name: item.value for item in properties if item.topic == POSTGRESQL}
    checksums = found.get("checksums")
    if checksums is not None:
        option = "--data-checksums" if checksums == tr("yes") else "--no-data-checksums"
        older = tr("PostgreSQL before 18 has no --no-data-checksums, because its default is no checksums")
        line = f"initdb --pgdata={next(iter(PLACES.values()))}/data {option}"
        note = [] if checksums == tr("yes") else [comment(older)]
        yield TakenPart(tr("The cluster, as postgres"), (*note, line))
    lines = tuple(line for item in properties if item.topic == SETTING for line in _setting(item))
    nothing = tr("only the server's defaults")
    yield TakenPart("postgresql.conf", lines or (comment(nothing),))


def _setting(item: Property) -> Iterator[str]:
    """Yield the line of a setting; as a comment if it could run programs or write files elsewhere."""
    value = "" if item.value == tr("(empty)") else one_line(item.value)
    line = f"{item.name} = {value if _PLAIN.fullmatch(value) else quote_value(value)}"
    if is_harmless(item.name):
        yield line
        return
    yield comment(
        tr(
            "Check this setting before you use it: it is not on pgFooting's list of harmless settings. Such "
            "settings can make the server run programs, load libraries or write files elsewhere."
        )
    )
    yield comment(clip(line, 2 * _MOST))


# Draft the recommendation of a report in one sentence, for its author to edit. Pure.


_SAME: Final = 0.9995


def recommend(found: Findings) -> str:
    """Return what to use, by how much it is better than the baseline, and whether it is safe.

    Empty for a single configuration, and without a result.
    """
    if found.matrix is not None:
        return _of_matrix(found, found.matrix)
    won = winners(found)
    if not won or len(found.configurations) < 2:
        return ""
    if len({chosen.name for _, chosen in won}) > 1:
        sentence = tr("Choose by workload: none is among the fastest under all {count} conditions.")
        return sentence.format(count=len(won))
    return " ".join(dict.fromkeys(_of_condition(*each) for each in won[:1]))


def _of_condition(condition: ReportedCondition, chosen: ReportedConfiguration) -> str:
    baseline = next(each for each in condition.configurations if each.is_baseline)
    compared, is_kept = chosen.row.comparison, any(each.withdraws for each in chosen.row.judged.reservations)
    sentence = tr("Keep {baseline} for now: {name} is not proven to be faster.")
    if chosen is baseline:
        sentence = tr("Keep {name}: none of the others is significantly faster. {safety}")
        if not is_proved_fastest(condition, chosen):
            sentence = tr("Keep {name} for now: it has the highest mean, but no verdict yet. {safety}")
    elif compared is not None and compared.verdict is Verdict.HIGHER and not is_kept:
        sentence = tr("Use {name}: {difference}. {safety}")
    return sentence.format(
        name=chosen.name,
        baseline=baseline.name,
        difference="" if compared is None else describe_change(compared, baseline.name),
        safety=_safety(is_safe=not chosen.warning),
    )


def _of_matrix(found: Findings, matrix: Matrix) -> str:
    """Return the leading levels across the tables, compared with the chosen level."""
    leaders = find_leaders(matrix.columns, found.comparison.effect)
    if not leaders:
        return ""
    worst = min(leaders, key=lambda each: each.worst).worst
    chosen = next((each for each in matrix.columns if each.level == found.baseline), None)
    against = chosen.against if chosen is not None else {}
    sentence = tr("Use {name}: at most {percent} % behind the best in every table. {safety}")
    if chosen in leaders:
        sentence = tr("Keep {name}: none of the others is significantly faster. {safety}")
    elif against:
        sentence = tr("Use {name}: {difference}. {safety}")
    elif worst > _SAME:
        sentence = tr("Use {name}: the best in every table. {safety}")
    differences = {
        kind: describe_change(_turned(each.comparison), found.baseline) for kind, each in against.items()
    }
    return sentence.format(
        name=found.baseline if chosen in leaders else either([each.level for each in leaders]),
        difference="; ".join(f"{words} ({kind})" if kind else words for kind, words in differences.items()),
        percent=number_text(100 * (1 - worst), ".0f"),
        safety=_safety(is_safe=_is_safe(matrix, leaders)),
    )


def _is_safe(matrix: Matrix, leaders: tuple[Standing, ...]) -> bool:
    levels = {each.level for each in leaders}
    cells = (
        cell
        for block in matrix.blocks
        for (_, column), cell in block.cells.items()
        if column in levels and cell.is_ranked
    )
    return not any(row.group.unsafe for cell in cells for row in cell.rows)


def _turned(found: Comparison) -> Comparison:
    """Return the comparison seen from the other side."""
    ratio, interval = found.ratio, found.interval
    if interval is not None and interval.low:
        interval = replace(interval, low=1 / interval.high, high=1 / interval.low)
    return replace(found, ratio=1 / ratio if ratio else None, interval=interval)


def _safety(*, is_safe: bool) -> str:
    return tr("No unsafe option is used.") if is_safe else tr("A crash or power failure can lose data.")
