"""Find problems of chosen disks, filesystem and options on this machine, for their pages. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from app.campaign_file.problems import InvalidValueError
from app.domain.campaign.configuration import Campaign, DiskTarget
from app.domain.campaign.disk_target import contradiction
from app.domain.errors import Problem
from app.domain.options.checks import check
from app.domain.options.refusals import Action, ConflictFinding
from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from app.domain.text import tr
from app.draft.disks.filesystems import circumstances
from app.draft.disks.layout import level_reasons
from app.draft.disks.table import DiskRow, StorageFacts, disk_rows, model_of, serial_of
from app.draft.disks.target import PREFIX, PREFIXES, read_target, spec_of
from app.draft.fields.state import DisksDraft, DraftParts, MadeDraft, Place, Step, level_of
from app.draft.fields.text import setting_lines
from app.draft.from_campaign import disks_of

_FIELDS: Final = {
    Role.DATA: f"{PREFIX}data",
    **{role: f"{PREFIX}{role.value}.data" for role in FURTHER_ROLES},
    Role.ZFS_LOG: f"{PREFIX}zfs_log",
}


def storage_problems(parts: DraftParts, facts: StorageFacts, step: Step) -> tuple[Problem, ...]:
    """Return the problems of a step about disks on this machine as it is now."""
    if not parts.on_disks():
        return ()
    found: dict[Step, Iterator[Problem]] = {
        Step.DISKS: _of_disks(parts, facts),
        Step.FILESYSTEM: _of_filesystems(parts, facts),
        Step.MORE: _of_copies(parts, facts),
    }
    return tuple(found.get(step, ()))


def group_warnings(disks: DisksDraft, facts: StorageFacts, role: Role) -> tuple[str, ...]:
    """Return warnings about disks that do not match."""
    findings = check(circumstances(disks, facts, {}, role)) if len(disks.groups[role].disks) > 1 else ()
    return tuple(item.message for item in findings if item.field == "disks" and item.action is Action.WARN)


def server_settings_of(parts: DraftParts) -> Mapping[str, str]:
    """Return the typed server settings; empty if they cannot be read."""
    try:
        return {line.name.lower(): line.value for line in setting_lines(parts.values["postgresql.settings"])}
    except InvalidValueError:
        return {}


def _of_disks(parts: DraftParts, facts: StorageFacts) -> Iterator[Problem]:
    if parts.disks not in parts.used_disks():
        return
    if facts.listing is None:
        yield Problem("", tr("Checking this machine …"), pending=True)
        return
    for row in disk_rows(parts.disks, facts):
        if row.role is not None and row.obstacle:
            yield Problem(_FIELDS[row.role], _row_problem(row))
    for role, prefix in PREFIXES.items():
        for finding in check(circumstances(parts.disks, facts, {}, role)):
            if finding.field == "disks" and finding.action is Action.REFUSE:
                yield Problem(f"{prefix}data", finding.message)


def _row_problem(row: DiskRow) -> str:
    if row.disk is None:
        message = tr("{use}: the disk {key} is missing. Plug it in again, or deselect it.")
        return message.format(use=row.use, key=row.key)
    return tr("{use}: {name} ({serial}) cannot be used, because {reason}.").format(
        use=row.use, name=model_of(row.disk), serial=serial_of(row.disk), reason=row.obstacle.rstrip(".")
    )


def _of_filesystems(parts: DraftParts, facts: StorageFacts) -> Iterator[Problem]:
    if facts.support is None:
        message = tr("Checking this machine …")
        yield Problem("", message, pending=True)
        return
    disks, server = parts.disks, server_settings_of(parts)
    for role, prefix in PREFIXES.items():
        group = disks.groups[role]
        if group.disks or role is Role.DATA:
            for reason in level_reasons(group.made, len(group.disks), facts):
                yield Problem(f"{prefix}filesystem", reason)
            for finding in _refusals(disks, facts, server, role):
                yield Problem(f"{prefix}options.{finding.field}", finding.message)
    for key, message in _contradictions(disks, disks.data.made, server):
        yield Problem(f"{PREFIX}{key}", message)


def _contradictions(
    disks: DisksDraft, made: MadeDraft, server: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield (key, sentence) for each own option that contradicts an own server setting."""
    target = read_target(disks, made).target
    option = None if target is None else contradiction(target, server)
    if option is not None:
        sentence = tr(
            "Your server setting {name} is {found}: use the same value in both places, or set it in one only."
        )
        yield option.key, sentence.format(name=option.name, found=option.instead)


def _of_copies(parts: DraftParts, facts: StorageFacts) -> Iterator[Problem]:
    """Yield the problems of configurations with their own disks or layout."""
    server = server_settings_of(parts)
    for number, each in enumerate(parts.chosen(), start=1):
        if each.place is not Place.DISKS or (each.made is None and each.disks is None):
            continue
        disks = parts.disks_of(each)
        messages = [
            _row_problem(row) for row in disk_rows(disks, facts) if row.role and row.obstacle and each.disks
        ]
        if facts.support is not None:
            made = each.made or disks.data.made
            messages += _unmakeable(disks, made, facts, server)
            messages += [message for _, message in _contradictions(disks, made, server)]
        for message in messages:
            yield Problem(f"configuration[{number}].target", message)


def cell_problems(parts: DraftParts, facts: StorageFacts, campaign: Campaign) -> tuple[Problem, ...]:
    """Return why this machine cannot make what the cells of a matrix need, each reason once."""
    server, found = server_settings_of(parts), dict[str, None]()
    targets = dict.fromkeys(each.target for each in campaign.configurations)
    if facts.support is None:
        return ()
    for target in targets:
        if not isinstance(target, DiskTarget):
            continue
        disks = disks_of(target)
        made = disks.data.made
        label, level = spec_of(made).label, level_of(made, len(disks.data.disks)).value
        for reason in _unmakeable(disks, made, facts, server):
            found[f"{label} {level}: {reason}"] = None
    return tuple(Problem("dimension", message) for message in found)


def _unmakeable(
    disks: DisksDraft, made: MadeDraft, facts: StorageFacts, server: Mapping[str, str]
) -> list[str]:
    """Return why this machine cannot make this on the disks of the data."""
    refusals = _refusals(disks, facts, server, Role.DATA, made)
    return [*level_reasons(made, len(disks.data.disks), facts), *(each.message for each in refusals)]


def _refusals(
    disks: DisksDraft,
    facts: StorageFacts,
    server: Mapping[str, str],
    role: Role,
    made: MadeDraft | None = None,
) -> Iterator[ConflictFinding]:
    found = check(circumstances(disks, facts, server, role, made))
    return (item for item in found if item.action is Action.REFUSE and item.field != "disks")
