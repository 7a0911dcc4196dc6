"""Find the spare disks of a campaign on this machine: target and disks become a storage plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.campaign.disk_target import chosen_options, key_of, plan_of_target
from app.domain.disk import DiskIdentity
from app.domain.disk_answers import Disk
from app.domain.filesystems import explained_problems, filesystem
from app.domain.options.checks import validate_options
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import ArrayLayout, layout
from app.domain.options.raid_choice import capacity
from app.domain.options.refusals import echo
from app.domain.problem import Problem
from app.domain.storage_plan.plan import Group, GroupOf, Role, StoragePlan
from app.domain.storage_plan.reader import PlanError, plan_problems
from app.domain.text import quoted, tr
from app.domain.units import GIB, MIB, format_size
from app.storage.layout.availability import Support, level_availability
from app.storage.layout.partitions import planned_bytes, whole_disk_bytes

PLACE = "target.disks"
SMALLEST_DEFAULT_BYTES: Final = 16 * GIB
DATA_SET_FACTOR: Final = 4
"""Room for the data set, its WAL, dead rows, and a filesystem that is not nearly full."""


def find_disks(name: str, disks: Sequence[Disk]) -> tuple[Disk, ...]:
    """Return the disks that a campaign file can mean: by full serial, WWN, or the key made of them.

    Args:
        name: from the campaign file.
        disks: of the machine.
    """

    def names(identity: DiskIdentity) -> set[str]:
        return {identity.serial.strip(), (identity.wwn or "").strip(), identity.key()} - {""}

    return tuple(disk for disk in disks if name.strip() in names(disk.identity))


def is_test_device(disk: DiskIdentity) -> bool:
    """Return whether it is a loop device (major number 7, Linux Documentation/admin-guide/devices.txt)."""
    return disk.device_number.partition(":")[0] == "7"


def storage_plan(
    target: DiskTarget, disks: Sequence[Disk], data_set_bytes: int, *, place: str = PLACE
) -> StoragePlan:
    """Return the plan of a target on this machine; does not check whether the disks are spare.

    Args:
        target: of a campaign; valid in itself (`app.domain.campaign.disk_target.target_problems`).
        disks: of this machine.
        data_set_bytes: largest size of the data, with its WAL unless that has its own disks.
        place: key of the target in the campaign file, for messages.

    Raises:
        PlanError: a disk is absent or ambiguous, or the space is too small; names the key of the campaign
            file.
    """
    search = _Search(disks)
    for key, names in _names(target):
        for number, name in enumerate(names, 1):
            search.look_for(f"{key}[{number}]", name)
    _raise_if_any(place, search.problems)
    plan = plan_of_target(
        target,
        lambda name: search.found[name],
        lambda group, found: _partition_bytes(group, found, data_set_bytes),
    )
    _raise_if_any(
        place, [replace(each, path=key_of(each.path)) for each in plan_problems(plan, explained_problems)]
    )
    _raise_if_any(place, _too_small(target, plan, data_set_bytes))
    return plan


def _raise_if_any(place: str, problems: Sequence[Problem]) -> None:
    if problems:
        raise PlanError([replace(each, path=f"{place}.{each.path}") for each in problems])


def _names(target: DiskTarget) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "data", target.data.disks
    for role, group in target.further.items():
        yield f"{role.value}.data", group.disks
    yield "zfs_log", target.zfs_log


@dataclass(slots=True)
class _Search:
    """Find disks by name and collect problems."""

    disks: Sequence[Disk]
    found: dict[str, DiskIdentity] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def look_for(self, key: str, name: str) -> None:
        having = find_disks(name, self.disks)
        shown = quoted(echo(name))
        if len(having) == 1:
            self.found[name] = having[0].identity
        elif having:
            message = tr("{name} is the name of {count} disks here: {disks}. Name them by their WWN.").format(
                name=shown, count=len(having), disks=", ".join(disk.name for disk in having)
            )
            self.problems.append(Problem(key, message))
        else:
            message = tr("No disk of this machine has the serial number or WWN {name}.").format(name=shown)
            self.problems.append(Problem(key, message, _known(self.disks)))


def _known(disks: Sequence[Disk]) -> str:
    names = [disk.identity.serial.strip() or disk.identity.key() for disk in disks if disk.identity.key()]
    return ", ".join(echo(name) for name in names[:12]) + (" …" if len(names) > 12 else "")


def group_layout(group: GroupOf[Any]) -> ArrayLayout:
    """Return the layout of a group's disks, with its assembler."""
    return layout(group.level, filesystem(group.filesystem).assembler(group.level))


def _copies(options: Mapping[str, OptionValue]) -> int | None:
    """Return the copies of a btrfs mirror; None for its default."""
    copies = options.get("mirror_copies")
    return int(copies) if copies is not None else None


def _partition_bytes(group: GroupChoice, disks: Sequence[DiskIdentity], data_set_bytes: int) -> int | None:
    if group.whole_disk:
        return None
    if group.partition_bytes is not None:
        return group.partition_bytes
    sizes = [disk.size_bytes for disk in disks]
    usable = capacity(group_layout(group), [1 << 40] * len(disks), _copies(chosen_options(group))) >> 40
    return default_partition_bytes(data_set_bytes, usable, sizes)


def check_support(target: DiskTarget, support: Support, *, place: str = PLACE) -> None:
    """Make sure that kernel and programs of this machine can make a target.

    Raises:
        PlanError: they cannot; names the key, the missing part, and a remedy.
    """
    problems: list[Problem] = []
    for prefix, group in target.groups:
        spec = filesystem(group.filesystem)
        problems += [
            Problem(f"{prefix}filesystem", f"{reason.message} {reason.remedy}".strip())
            for reason in level_availability(spec, group.level, support).reasons
        ]
        options = chosen_options(group)
        problems += [
            replace(problem, path=f"{prefix}options.{problem.path}")
            for problem in validate_options(spec, options, level=group.level, versions=support.versions)
        ]
    _raise_if_any(place, problems)


def usable_bytes(group: Group) -> int:
    """Return the capacity of a group's disks before assembler and filesystem take their share."""
    return capacity(group_layout(group), [planned_bytes(group)] * len(group.disks), _copies(group.chosen))


def _too_small(target: DiskTarget, plan: StoragePlan, data_set_bytes: int) -> list[Problem]:
    found = []
    for (prefix, choice), (role, group) in zip(target.groups, plan.by_role.items(), strict=True):
        usable = usable_bytes(group)
        if role is Role.WAL or usable >= data_set_bytes:
            continue
        message = tr("The data set needs {need}; these disks hold {usable}.").format(
            need=format_size(data_set_bytes), usable=format_size(usable)
        )
        key = "partition_size" if choice.partition_bytes is not None else "data"
        found.append(Problem(f"{prefix}{key}", message))
    return found


def default_partition_bytes(data_set_bytes: int, data_disks: int, disk_sizes: Iterable[int]) -> int:
    """Return the size of each partition for a data set.

    Args:
        data_set_bytes: of the largest configuration.
        data_disks: disks with data, not parity or copies (`app.domain.options.raid.ArrayLayout.data_disks`).
        disk_sizes: of the disks of the group.

    Returns:
        The greater of 16 GiB and four times the data set per data disk, in whole MiB, limited by the disks.
    """
    needed = -(-DATA_SET_FACTOR * data_set_bytes // max(1, data_disks))
    wanted = max(SMALLEST_DEFAULT_BYTES, needed)
    return min(-(-wanted // MIB) * MIB, whole_disk_bytes(disk_sizes))
