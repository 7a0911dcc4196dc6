"""Build a target from the pages about spare disks: values by declarations, then the rules of targets.

Checks that depend on this machine (disk present, disk spare, kernel support) are in
`app.draft.disks.problems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.campaign_file.disks import as_file_problem, make_disk_group
from app.campaign_file.kinds import CampaignField, parse_size
from app.campaign_file.partial import array_keys, queue_keys
from app.campaign_file.problems import InvalidValueError
from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.campaign.disk_target import target_problems
from app.domain.errors import Problem
from app.domain.filesystems import filesystem
from app.domain.options.checks import validate_options
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, Toggle
from app.domain.options.option_spec import OptionSpec
from app.domain.options.raid import Assembler
from app.domain.options.refusals import echo
from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from app.domain.text import KIB, format_size, plain_number, quoted, titled, tr
from app.draft.fields.state import (
    DEFAULT_PRESET,
    FIELDS,
    TYPED_FIELDS,
    DisksDraft,
    GroupDraft,
    MadeDraft,
    level_of,
)
from app.draft.fields.text import read_text

PREFIX: Final = "target.disks."
PREFIXES: Final = {Role.DATA: PREFIX, **{role: f"{PREFIX}{role.value}." for role in FURTHER_ROLES}}
"""Prefixes of keys of campaign files, by role of the disks."""


@dataclass(slots=True)
class ReadTarget:
    """The target of the pages, or their problems.

    Attributes:
        target: None if something is wrong.
        problems: all that were found.
    """

    target: DiskTarget | None = None
    problems: list[Problem] = field(default_factory=list)


def read_target(disks: DisksDraft, made: MadeDraft | None = None, *, wal_apart: bool = True) -> ReadTarget:
    """Return the target that the pages describe, or all their problems.

    Args:
        disks: the pages.
        made: of the data disks, if a configuration has its own.
        wal_apart: whether the disks for the WAL count.
    """
    found = ReadTarget()
    if not disks.data.disks:
        found.problems.append(Problem(f"{PREFIX}data", tr("Choose the disks for the data.")))
        return found
    data = _group(disks.data, made or disks.data.made, PREFIX, found.problems)
    further = {
        role.value: _group(disks.groups[role], disks.groups[role].made, PREFIXES[role], found.problems)
        for role in FURTHER_ROLES
        if disks.groups[role].disks and (wal_apart or role is not Role.WAL)
    }
    limit = _read(FIELDS[f"{PREFIX}memory_limit"], disks.memory_limit, "memory_limit", found.problems)
    on_zfs = spec_of(made or disks.data.made).several is Assembler.ZFS
    if disks.zfs_log and not on_zfs and made is None:
        sentence = tr("Log devices are supported only for ZFS: choose ZFS, or remove the log devices.")
        found.problems.append(Problem(f"{PREFIX}filesystem", sentence))
    if found.problems:
        return found
    log = tuple(disks.zfs_log) if on_zfs else ()
    target = DiskTarget(data, zfs_log=log, memory_limit_bytes=limit, **further)
    found.problems += [as_file_problem(each, PREFIX) for each in target_problems(target)]
    found.target = None if found.problems else target
    return found


def spec_of(made: MadeDraft) -> FilesystemSpec:
    """Return the chosen filesystem."""
    return filesystem(made.filesystem)


def preset_of(made: MadeDraft) -> str:
    """Return the id of the chosen preset; the defaults if the filesystem lacks it."""
    known = {preset.id for preset in spec_of(made).presets}
    return made.preset if made.preset in known else DEFAULT_PRESET


def short_name(made: MadeDraft, disks: int) -> str:
    """Return a name for a configuration from its level, filesystem and preset."""
    words = [spec_of(made).label, level_of(made, disks).value]
    if preset_of(made) != DEFAULT_PRESET:
        words.append(preset_of(made))
    return " ".join(words)


def chosen_values(made: MadeDraft) -> dict[str, OptionValue]:
    """Return the values of preset and own options together, without unreadable ones."""
    values, _ = read_options(spec_of(made), made.typed)
    return spec_of(made).preset(preset_of(made)).options | values


def read_options(
    spec: FilesystemSpec, typed: Mapping[str, str]
) -> tuple[dict[str, OptionValue], list[tuple[str, str]]]:
    """Return the typed options, and (id, sentence) of those that cannot be read."""
    known = {option.id: option for option in spec.options}
    values: dict[str, OptionValue] = {}
    wrong: list[tuple[str, str]] = []
    for name, text in typed.items():
        if name not in known:
            wrong += [(name, problem.message) for problem in validate_options(spec, {name: text})]
            continue
        value = read_option(known[name], text)
        if value is None:
            sentence = tr("{text} is not allowed. Allowed: {allowed}.")
            shown = quoted(echo(text)) if text.strip() else titled(tr("an empty text"))
            wrong.append((name, sentence.format(text=shown, allowed=known[name].kind.allowed)))
        else:
            values[name] = value
    return values, wrong


def read_option(option: OptionSpec, text: str) -> OptionValue | None:
    """Return the value of a text; None if the option does not allow it."""
    value: OptionValue
    match option.kind:
        case Toggle():
            words = {"true": True, "on": True, "false": False, "off": False}
            return words.get(text.strip().lower())
        case Choice():
            value = text.strip()
        case Integer(unit=unit):
            try:
                typed = plain_number(text)
                value = parse_size(typed) if unit == "B" else int(typed.strip())
            except ValueError:
                return None
    return value if option.kind.accepts(value) else None


def write_option(option: OptionSpec, value: OptionValue) -> str:
    """Return the text that `read_option` reads back to `value`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(option.kind, Integer) and option.kind.unit == "B" and value and int(value) % KIB == 0:
        size = format_size(int(value))
        return size if parse_size(plain_number(size)) == value else f"{value} B"
    return str(value)


def _group(group: GroupDraft, made: MadeDraft, prefix: str, problems: list[Problem]) -> GroupChoice:
    spec, level = spec_of(made), level_of(made, len(group.disks))
    if level not in spec.levels:
        sentence = tr("{label} has no level “{level}”.")
        problems.append(Problem(f"{prefix}filesystem", sentence.format(label=spec.label, level=level.label)))
    chosen, wrong = read_options(spec, made.typed)
    problems += [Problem(f"{prefix}options.{name}", sentence) for name, sentence in wrong]
    options = tuple((option.id, chosen[option.id]) for option in spec.options if option.id in chosen)
    values: dict[str, Any] = {
        "disks": tuple(group.disks),
        "level": level,
        "filesystem": spec.id,
        "preset": preset_of(made),
        "options": options,
    }
    keys = ("partition_size", *array_keys(spec, level), *queue_keys(spec))
    for each in (each for each in TYPED_FIELDS if each.name in keys):
        text, path = group.texts.get(each.name, ""), f"{prefix.removeprefix(PREFIX)}{each.name}"
        values[each.attribute] = _read(each, text, path, problems)
    return make_disk_group(values)


def _read(field_: CampaignField, text: str, path: str, problems: list[Problem]) -> Any:  # noqa: ANN401
    """Return a value of a field of campaign files; None if it is empty, or refused and reported."""
    if not text.strip():
        return None
    try:
        return read_text(field_, text)
    except InvalidValueError as error:
        problems.extend(Problem(f"{PREFIX}{path}", _capital(problem.message)) for problem in error.problems)
        return None


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
