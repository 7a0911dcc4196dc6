"""Options of a filesystem that are settings of the server: which count, and what overrules the others. Pure.

From weak to strong: the server as it comes, a preset of server settings, what the filesystem's preset
chooses, what somebody chose as option of the filesystem, what somebody set as setting of the server.
Somebody's own option and own setting that contradict each other are refused (`contradiction`): nothing is
guessed. What is about the WAL counts for the disks that hold it, everything else for those of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.campaign.disk_target import chosen_options, elsewhere
from app.domain.filesystems import filesystem
from app.domain.options.checks import check, implied
from app.domain.options.conflicts import Action, Circumstances, ConflictFinding
from app.domain.options.kinds import OptionValue, Toggle, parse_switch
from app.domain.options.option import USUAL_PAGE_BYTES, OptionSpec, Safety, Stage
from app.domain.text import tr


class Fate(StrEnum):
    """What becomes of an option."""

    APPLIED = "applied"
    OVERRULED = "overruled"
    """A server setting of somebody's own says otherwise."""
    ELSEWHERE = "elsewhere"
    """It is about what lies on other disks: the WAL has disks of its own."""


@dataclass(frozen=True, slots=True)
class ServerOption:
    """An option of the server stage that preset or person chose, or that follows from what they chose.

    Attributes:
        key: of the campaign file, below the target: ``options.wal_recycle``, ``wal.options.wal_recycle``.
        label: of the filesystem.
        option: its declaration.
        value: what is chosen.
        is_own: whether somebody chose it over the preset.
        why: one sentence; empty for somebody's own.
        source: where that is from.
        fate: what becomes of it.
        instead: the setting's value that counts where it is overruled.
    """

    key: str
    label: str
    option: OptionSpec
    value: OptionValue
    is_own: bool
    why: str
    source: str
    fate: Fate
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
        """Why it is not applied; empty where it is."""
        if self.fate is Fate.APPLIED:
            return ""
        reason = elsewhere(self.option)
        if self.fate is Fate.OVERRULED:
            reason = tr("your own setting says {value}.").format(value=self.instead)
        sentence = tr("{name} = {value}, advised for {label}, is not applied: {reason}")
        return sentence.format(name=self.name, value=self.text, label=self.label, reason=reason)


def server_options(target: DiskTarget, own: Mapping[str, str]) -> tuple[ServerOption, ...]:
    """Return every option of the server stage that is chosen for a target, with what becomes of it.

    Args:
        target: with filesystems, presets and options that exist.
        own: server settings of the person, by lower-case name.
    """
    counts = _is_agreed(target)
    found = [*_of_group("", target.data, own, has_data=counts, has_wal=target.wal is None)]
    for prefix, group in target.groups[1:]:
        if group is target.wal:
            found += _of_group(prefix, group, own, has_data=False, has_wal=True)
        elif not counts:  # else it is what the data's disks say already
            found += _of_group(prefix, group, own, has_data=False, has_wal=False)
    return tuple(found)


def _is_agreed(target: DiskTarget) -> bool:
    """Return whether all disks with tables or indexes say the same of the server's data.

    A setting of the server counts for all of them: what one filesystem makes safe another may not.
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
    """Return somebody's own option that a server setting of theirs contradicts; None where none is."""
    found = (item for item in server_options(target, own) if item.is_own and item.fate is Fate.OVERRULED)
    return next(found, None)


def vouches(target: DiskTarget, name: str, server_page_bytes: int = USUAL_PAGE_BYTES) -> bool:
    """Return whether the filesystems of all data make a setting safe to turn off that elsewhere is not.

    Args:
        target: with filesystems, presets and options that exist.
        name: of the setting.
        server_page_bytes: of a data page of the server.
    """
    return all(_vouches(group, name, server_page_bytes) for group in target.of_relations)


def _vouches(group: GroupChoice, name: str, server_page_bytes: int) -> bool:
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
    """Return what cannot be with these server settings; what is wrong whatever they are is not among it.

    Args:
        target: with filesystems, presets and options that exist.
        own: server settings of the person, by lower-case name.
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
    """Return whether a server setting of somebody's own certainly says something else than an option."""
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
        fate = Fate.APPLIED
        if not (has_wal if option.of_wal else has_data):
            fate = Fate.ELSEWHERE
        elif _contradicts(option, instead, value):
            fate = Fate.OVERRULED
        key = f"{prefix}options.{option.id}"
        yield ServerOption(key, spec.label, option, value, is_own, why, source, fate, instead)
