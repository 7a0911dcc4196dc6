"""Validate a target on spare disks against the declarations, before its disks are looked up. Pure.

`target_problems` names the keys of a campaign file below ``[target.disks]``; lists count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.disk import DiskIdentity
from app.domain.errors import did_you_mean
from app.domain.filesystems import explained_problems, filesystem, find_filesystem
from app.domain.options.checks import unsafe_options
from app.domain.options.kinds import OptionValue
from app.domain.options.option import Stage
from app.domain.options.option_spec import USUAL_PAGE_BYTES, OptionSpec
from app.domain.options.refusals import echo
from app.domain.problem import Problem
from app.domain.storage_plan.plan import Group, InitialSync, StoragePlan, names_of
from app.domain.storage_plan.reader import plan_problems
from app.domain.text import quoted, tr
from app.domain.units import TIB

_UNSEEN_BYTES: Final = TIB << 20
"""Size of a disk that was not looked up yet: problems of sizes are reported later."""

_LOOKS_SYNCHRONISED: Final = tr("such an array looks like a synchronised one")

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
