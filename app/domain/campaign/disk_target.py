"""Validate a target on spare disks against the declarations, with options that are server settings. Pure.

`target_problems` names the keys of a campaign file below ``[target.disks]``; lists count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.disk import DiskIdentity
from app.domain.errors import Problem, did_you_mean
from app.domain.filesystems import explained_problems, filesystem, find_filesystem
from app.domain.options.checks import check, implied, unsafe_options
from app.domain.options.filesystem_spec import Circumstances, parse_switch
from app.domain.options.kinds import OptionValue, Stage, Toggle
from app.domain.options.option_spec import USUAL_PAGE_BYTES, OptionSpec, Safety
from app.domain.options.refusals import Action, ConflictFinding, echo
from app.domain.storage_plan.plan import Group, InitialSync, StoragePlan, names_of
from app.domain.storage_plan.reader import plan_problems
from app.domain.text import TIB, quoted, tr

_UNSEEN_BYTES: Final = TIB << 20
"""Size of a disk that was not looked up yet: problems of sizes are reported later."""

_LOOKS_SYNCHRONISED: Final = tr("an array created this way looks like a synchronised one")

_KEYS: Final = {
    "partition_bytes": "partition_size",
    "chunk_bytes": "chunk_size",
    "read_ahead_bytes": "read_ahead",
}
_NUMBER: Final = re.compile(r"\[(\d+)\]")


def chosen_options(group: GroupChoice) -> dict[str, OptionValue]:
    """Return the options of preset and group together.

    Raises:
        KeyError: there is no such filesystem or preset.
    """
    return filesystem(group.filesystem).preset(group.preset).options | dict(group.options)


def plan_of_target(
    target: DiskTarget,
    find: Callable[[str], DiskIdentity],
    partition_bytes: Callable[[GroupChoice, Sequence[DiskIdentity]], int | None],
) -> StoragePlan:
    """Return the storage plan of a target.

    Args:
        target: with existing filesystems and presets.
        find: returns the disk of a name.
        partition_bytes: returns the size of the partitions of a group; None for the whole disk.
    """

    def group(part: GroupChoice) -> Group:
        disks = tuple(find(name) for name in part.disks)
        kept = {name: getattr(part, name) for name in names_of(Group)}
        found = {
            "disks": disks,
            "options": tuple(chosen_options(part).items()),
            "partition_bytes": partition_bytes(part, disks),
        }
        return Group(**(kept | found))

    return StoragePlan(
        group(target.data),
        zfs_log=tuple(find(name) for name in target.zfs_log),
        **{role.value: group(part) for role, part in target.further.items()},
    )


def target_problems(target: DiskTarget) -> tuple[Problem, ...]:
    """Return all problems of a target that do not depend on its disks."""
    problems = tuple(_preset_problems(target))
    if problems:
        return problems
    numbers = {name: number for number, name in enumerate(dict.fromkeys(target.names))}

    def find(name: str) -> DiskIdentity:
        return DiskIdentity(name, None, "", _UNSEEN_BYTES, f"0:{numbers[name]}")

    plan = plan_of_target(target, find, lambda group, _: group.partition_bytes)
    problems = tuple(
        replace(each, path=key_of(each.path)) for each in plan_problems(plan, explained_problems)
    )
    return problems or tuple(_misplaced_options(target))


def key_of(field: str) -> str:
    """Return the key of a campaign file for a field of a plan: ``wal.disks[0]`` is ``wal.data[1]``."""
    counted = _NUMBER.sub(lambda found: f"[{int(found[1]) + 1}]", field)
    group, _, rest = counted.partition(".")
    word, bracket, number = rest.partition("[")
    word = "data" if word == "disks" else _KEYS.get(word, word)
    rest = f"{word}{bracket}{number}"
    return rest if group == "data" else f"{group}.{rest}".rstrip(".")


def unsafe_choices(
    target: DiskTarget, server_page_bytes: int = USUAL_PAGE_BYTES
) -> tuple[tuple[str, str, str], ...]:
    """Return (what, value, sentence) for every choice of a target that risks data loss, each once.

    Args:
        target: with existing filesystems, presets and options.
        server_page_bytes: of a data page of the server.
    """
    found: dict[tuple[str, str, str], None] = {}
    for _, group in target.groups:
        spec, options = filesystem(group.filesystem), chosen_options(group)
        choices = unsafe_options(spec, options, group.level, server_page_bytes)
        found |= dict.fromkeys(choices)
    return tuple(found)


NOT_READ_BACK: Final = "not-read-back"
"""Kind of the mark of a run with a choice that was applied but cannot be verified."""


def unseen_choices(target: DiskTarget) -> tuple[tuple[str, str, str], ...]:
    """Return (what, value, reason) for every option that is applied but cannot be verified, each once."""
    found: dict[tuple[str, str, str], None] = {}
    for _, group in target.groups:
        spec = filesystem(group.filesystem)
        for name, value in chosen_options(group).items():
            option = spec.option(name)
            if option.unseen:
                words = str(value).lower() if isinstance(value, bool) else str(value)
                found[name, words, option.unseen] = None
        if group.initial_sync is InitialSync.ASSUME_CLEAN:
            found["initial_sync", InitialSync.ASSUME_CLEAN.value, _LOOKS_SYNCHRONISED] = None
    return tuple(found)


def why_no_effect(option: OptionSpec) -> str:
    """Return why an option of the server stage has no effect on the disks that it was chosen for."""
    if option.of_wal:
        return tr("it concerns the WAL, which has its own disks.")
    return tr("it concerns the data, which is on other disks.")


def _misplaced_options(target: DiskTarget) -> Iterator[Problem]:
    """Yield the own options without effect; those of a preset are reported with the run instead."""
    for prefix, group in target.groups:
        holds_wal = group is target.wal or (group is target.data and target.wal is None)
        for name, _ in group.options:
            option = filesystem(group.filesystem).option(name)
            does_nothing = not holds_wal if option.of_wal else group is target.wal
            if option.stage is Stage.SERVER and does_nothing:
                message = tr("{name} has no effect here: {reason}").format(
                    name=name, reason=why_no_effect(option)
                )
                yield Problem(f"{prefix}options.{name}", message)


def _preset_problems(target: DiskTarget) -> Iterator[Problem]:
    for prefix, group in target.groups:
        spec = find_filesystem(group.filesystem)
        if spec is None:
            message = tr("There is no filesystem {name}.").format(name=quoted(echo(group.filesystem)))
            yield Problem(f"{prefix}filesystem", message)
            continue
        presets = [each.id for each in spec.presets]
        if group.preset not in presets:
            message = tr("{label} has no preset {name}.").format(
                label=spec.label, name=quoted(echo(group.preset))
            )
            near = did_you_mean(group.preset[:80], presets)
            yield Problem(f"{prefix}preset", f"{message} {near}".rstrip(), ", ".join(presets))


# Filesystem options that are server settings: which apply, and what overrides them. Pure.
#
# From weak to strong: the server's default, a preset of server settings, the filesystem's preset, the user's
# filesystem option, the user's server setting. A contradiction between the last two is an error
# (`contradiction`). Options about the WAL apply to the disks that hold it, all others to those of the data.


class SettingStatus(StrEnum):
    """Whether an option applies."""

    APPLIED = "applied"
    OVERRULED = "overruled"
    """The user's own server setting overrides it."""
    ELSEWHERE = "elsewhere"
    """It concerns data on other disks: the WAL has its own."""


@dataclass(frozen=True, slots=True)
class ServerOption:
    """An option of the server stage, chosen by preset or user, or implied by their choices.

    Attributes:
        key: of the campaign file, below the target: ``options.wal_recycle``, ``wal.options.wal_recycle``.
        label: of the filesystem.
        option: its declaration.
        value: the chosen one.
        is_own: whether the user chose it over the preset.
        why: one sentence; empty for the user's own.
        source: of the reason.
        fate: whether it applies.
        instead: the overriding value.
    """

    key: str
    label: str
    option: OptionSpec
    value: OptionValue
    is_own: bool
    why: str
    source: str
    fate: SettingStatus
    instead: str = ""

    @property
    def name(self) -> str:
        """Name of the server setting."""
        return self._written.partition("=")[0]

    @property
    def text(self) -> str:
        """The setting's value as in postgresql.conf."""
        return self._written.partition("=")[2]

    @property
    def _written(self) -> str:
        written = self.option.written(self.value)
        return "" if written is None else written.item

    @property
    def note(self) -> str:
        """Why it is not applied; empty if it is."""
        if self.fate is SettingStatus.APPLIED:
            return ""
        reason = why_no_effect(self.option)
        if self.fate is SettingStatus.OVERRULED:
            reason = tr("your own setting is {value}.").format(value=self.instead)
        sentence = tr("{name} = {value}, recommended for {label}, is not applied: {reason}")
        return sentence.format(name=self.name, value=self.text, label=self.label, reason=reason)


def server_options(target: DiskTarget, own: Mapping[str, str]) -> tuple[ServerOption, ...]:
    """Return every option of the server stage that is chosen for a target, with its fate.

    Args:
        target: with existing filesystems, presets and options.
        own: server settings of the user, by lower-case name.
    """
    counts = _is_agreed(target)
    found = [*_of_group("", target.data, own, has_data=counts, has_wal=target.wal is None)]
    for prefix, group in target.groups[1:]:
        if group is target.wal:
            found += _of_group(prefix, group, own, has_data=False, has_wal=True)
        elif not counts:  # else the data's disks have the same
            found += _of_group(prefix, group, own, has_data=False, has_wal=False)
    return tuple(found)


def _is_agreed(target: DiskTarget) -> bool:
    """Return whether all disks with tables or indexes agree about the server's data.

    A server setting applies to all of them: it may be safe on one filesystem and not on another.
    """

    def said(group: GroupChoice) -> tuple[str, dict[str, OptionValue]]:
        of_data = {
            each.option.id: each.value
            for each in _of_group("", group, {}, has_data=True, has_wal=False)
            if not each.option.of_wal
        }
        return group.filesystem, of_data

    first, *others = map(said, target.of_relations)
    return all(each == first for each in others)


def contradiction(target: DiskTarget, own: Mapping[str, str]) -> ServerOption | None:
    """Return a user's option that a server setting of theirs contradicts; None if there is none."""
    found = (
        item for item in server_options(target, own) if item.is_own and item.fate is SettingStatus.OVERRULED
    )
    return next(found, None)


def safe_without(target: DiskTarget, name: str, server_page_bytes: int = USUAL_PAGE_BYTES) -> bool:
    """Return whether the filesystems of all data make it safe to turn off a setting.

    Args:
        target: with existing filesystems, presets and options.
        name: of the setting.
        server_page_bytes: of a data page of the server.
    """
    return all(_makes_safe(group, name, server_page_bytes) for group in target.of_relations)


def _makes_safe(group: GroupChoice, name: str, server_page_bytes: int) -> bool:
    spec = filesystem(group.filesystem)
    options = [option for option in spec.options if option.stage is Stage.SERVER and option.id == name]
    off: OptionValue = False
    if not any(option.safety_of(off) == (Safety.SAFE,) for option in options):
        return False
    chosen = chosen_options(group) | {name: off}
    around = Circumstances(spec, chosen, server={}, server_page_bytes=server_page_bytes)
    return not any(finding.field == name for finding in check(around))


def refused_with(
    target: DiskTarget, own: Mapping[str, str], server_page_bytes: int = USUAL_PAGE_BYTES
) -> tuple[ConflictFinding, ...]:
    """Return conflicts that depend on these server settings, without unconditional ones.

    Args:
        target: with existing filesystems, presets and options.
        own: server settings of the user, by lower-case name.
        server_page_bytes: of a data page of the server.
    """
    found: dict[ConflictFinding, None] = {}
    for group in target.of_relations:
        known = Circumstances(
            filesystem(group.filesystem),
            chosen_options(group),
            group.level,
            server=own,
            zfs_log_disks=len(target.zfs_log) if group is target.data else 0,
            server_page_bytes=server_page_bytes,
        )
        anyway = {finding.rule for finding in check(replace(known, server=None))}
        for finding in check(known):
            if finding.action is Action.REFUSE and finding.rule not in anyway:
                found[finding] = None
    return tuple(found)


def _contradicts(option: OptionSpec, instead: str, value: OptionValue) -> bool:
    """Return whether a user's server setting certainly differs from an option."""
    if isinstance(option.kind, Toggle):
        return parse_switch(instead) is (not value)
    return bool(instead.strip()) and instead.strip().lower() != str(value)


def _of_group(
    prefix: str, group: GroupChoice, own: Mapping[str, str], *, has_data: bool, has_wal: bool
) -> Iterator[ServerOption]:
    spec, typed, chosen = filesystem(group.filesystem), dict(group.options), chosen_options(group)
    findings = check(Circumstances(spec, chosen, server=own))
    follows = implied(findings)
    reasons = {name: (item.message, item.rule) for item in findings for name, _ in item.implies}
    reasons |= {item.option: (item.why, item.source) for item in spec.preset(group.preset).choices}
    for option in spec.options:
        value = chosen.get(option.id, follows.get(option.id))
        if option.stage is not Stage.SERVER or value is None:
            continue
        is_own = option.id in typed
        why, source = ("", "") if is_own else reasons[option.id]
        instead = own.get(option.id, "")
        fate = SettingStatus.APPLIED
        if not (has_wal if option.of_wal else has_data):
            fate = SettingStatus.ELSEWHERE
        elif _contradicts(option, instead, value):
            fate = SettingStatus.OVERRULED
        key = f"{prefix}options.{option.id}"
        yield ServerOption(key, spec.label, option, value, is_own, why, source, fate, instead)
