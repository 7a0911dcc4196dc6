"""Read a storage plan from plain values (TOML, JSON, the bus), write it for the bus, report all problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.errors import CampaignError, Problem
from app.domain.formats import FORMATS, format_of
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import STRIPED, Assembler, Level, layout
from app.domain.options.refusals import option_problems
from app.domain.storage_plan.plan import (
    FURTHER_ROLES,
    LARGEST_CHUNK_BYTES,
    MOST_READ_AHEAD_BYTES,
    PLAN_SCHEMA,
    READ_AHEAD_UNIT_BYTES,
    SMALLEST_CHUNK_BYTES,
    TABLE_MARGIN_BYTES,
    Bitmap,
    Group,
    InitialSync,
    Scheduler,
    StoragePlan,
    names_of,
    part_as_mapping,
)
from app.domain.text import MIB, format_size, tr

# Find the problems of a storage plan before any disk is touched.
#
# Rules: storage reference, sections 1.8 (C29, C30) and 2; mdadm(8). Checks that depend on the machine
# (versions, whether a disk is spare) are elsewhere.


MOST_DISKS: Final = 64
MOST_OPTIONS: Final = 200
"""Per filesystem: none has so many, and each unknown one is compared with all known ones."""
_SOUND_WHEN_ASSUMED_CLEAN: Final = frozenset({Level.MIRROR, Level.RAID10})


OptionProblems = Callable[[FormatSpec, tuple[tuple[str, OptionValue], ...], Level], tuple[Problem, ...]]

NOT_ALLOWED: Final = tr("This value is not allowed.")
_SIZE: Final = tr("{size} bytes is not allowed.")
_MANY: Final = tr("{count} are too many.")


def plan_problems(plan: StoragePlan, of_options: OptionProblems = option_problems) -> tuple[Problem, ...]:
    """Return all problems of a plan, each with the field.

    Args:
        plan: the plan.
        of_options: finds those of options; users read more (`app.domain.filesystems.explained_problems`).
    """
    return tuple(_problems(plan, of_options))


def _problems(plan: StoragePlan, of_options: OptionProblems) -> Iterator[Problem]:
    yield from _disk_problems(plan)
    for role, group in plan.by_role.items():
        yield from _group_problems(role.value, group, of_options)
    pools = {spec.id for spec in FORMATS if spec.several is Assembler.ZFS}
    if plan.zfs_log and plan.data.filesystem not in pools:
        yield Problem(
            "zfs_log",
            tr("Log devices are supported only for ZFS, not {name}.").format(name=plan.data.filesystem),
        )


def _disk_problems(plan: StoragePlan) -> Iterator[Problem]:
    fields = {f"{role.value}.disks": group.disks for role, group in plan.by_role.items()}
    fields["zfs_log"] = plan.zfs_log
    uses = Counter(disk.key() for _, disk in plan.members())
    numbers = Counter(disk.device_number for _, disk in plan.members())
    for name, disks in fields.items():
        if len(disks) > MOST_DISKS:
            yield Problem(
                name,
                _MANY.format(count=len(disks)),
                tr("at most {size}").format(size=MOST_DISKS),
            )
        for number, disk in enumerate(disks):
            place = f"{name}[{number}]"
            if not disk.key():
                yield Problem(
                    place,
                    tr("The disk {number} has neither serial number nor WWN.").format(
                        number=disk.device_number
                    ),
                )
            elif uses[disk.key()] > 1 or numbers[disk.device_number] > 1:
                yield Problem(place, tr("The disk {key} is selected twice.").format(key=disk.key()))


def _group_problems(name: str, group: Group, of_options: OptionProblems) -> Iterator[Problem]:
    try:
        spec = format_of(group.filesystem)
    except KeyError:
        known = ", ".join(item.id for item in FORMATS if item.levels)
        yield Problem(
            f"{name}.filesystem",
            tr("There is no filesystem {name}.").format(name=repr(group.filesystem)[:40]),
            known,
        )
        return
    if group.level not in spec.levels:
        allowed = ", ".join(spec.levels) or tr("none (it is in memory)")
        yield Problem(
            f"{name}.level",
            tr("{label} has no level “{level}”.").format(label=spec.label, level=group.level),
            allowed,
        )
        return
    message = layout(group.level, spec.assembler(group.level)).problem(len(group.disks))
    if message:
        yield Problem(f"{name}.disks", message)
    for problem in of_options(spec, group.options, group.level):
        yield Problem(f"{name}.options.{problem.path}", problem.message, problem.hint)
    yield from _partition_problems(name, group, spec)
    yield from _array_problems(name, group, spec.assembler(group.level))
    yield from _read_ahead_problems(name, group, spec)


def _partition_problems(name: str, group: Group, spec: FormatSpec) -> Iterator[Problem]:
    field = f"{name}.partition_bytes"
    size = group.partition_bytes
    most = min((disk.size_bytes for disk in group.disks), default=0) - 2 * TABLE_MARGIN_BYTES
    if size is None:
        if group.disks and most < spec.minimum_bytes:
            yield Problem(
                f"{name}.disks",
                tr("The smallest disk leaves {size} for {label}.").format(
                    size=format_size(most), label=spec.label
                ),
                tr("at least {size}").format(size=format_size(spec.minimum_bytes)),
            )
        return
    allowed = tr("{minimum} to {maximum}, whole MiB").format(
        minimum=format_size(spec.minimum_bytes), maximum=format_size(max(0, most))
    )
    if not spec.minimum_bytes <= size <= most or size % MIB:
        yield Problem(field, _SIZE.format(size=size), allowed)


def _array_problems(name: str, group: Group, assembler: Assembler) -> Iterator[Problem]:
    on_md = assembler is Assembler.MD
    chunk = group.chunk_bytes
    if chunk is not None:
        if not on_md or group.level not in STRIPED:
            yield Problem(
                f"{name}.chunk_bytes", tr("Only striped md arrays have a chunk size."), tr("nothing")
            )
        elif not SMALLEST_CHUNK_BYTES <= chunk <= LARGEST_CHUNK_BYTES or chunk.bit_count() != 1:
            allowed = tr("a power of two from {minimum} to {maximum}").format(
                minimum=format_size(SMALLEST_CHUNK_BYTES), maximum=format_size(LARGEST_CHUNK_BYTES)
            )
            yield Problem(f"{name}.chunk_bytes", _SIZE.format(size=chunk), allowed)
    redundant = on_md and group.level is not Level.STRIPE
    if group.bitmap is not None and not redundant:
        yield Problem(f"{name}.bitmap", tr("Only redundant md arrays have a bitmap."), tr("nothing"))
    if group.initial_sync is None:
        return
    if not redundant:
        yield Problem(f"{name}.initial_sync", tr("Only redundant md arrays synchronise."), tr("nothing"))
    elif group.initial_sync is InitialSync.ASSUME_CLEAN and group.level not in _SOUND_WHEN_ASSUMED_CLEAN:
        yield Problem(
            f"{name}.initial_sync",
            tr("Parity of unwritten blocks would be wrong: {level} has to be synchronised.").format(
                level=group.level.label
            ),
            InitialSync.WAIT.value,
        )


def _read_ahead_problems(name: str, group: Group, spec: FormatSpec) -> Iterator[Problem]:
    size = group.read_ahead_bytes
    if size is None:
        return
    field = f"{name}.read_ahead_bytes"
    if spec.several is Assembler.ZFS:
        message = tr("{label} reads ahead by itself: the read-ahead of its disks changes nothing.")
        yield Problem(field, message.format(label=spec.label), tr("nothing"))
    elif not 0 <= size <= MOST_READ_AHEAD_BYTES or size % READ_AHEAD_UNIT_BYTES:
        allowed = tr("a multiple of {unit}, at most {maximum}").format(
            unit=format_size(READ_AHEAD_UNIT_BYTES), maximum=format_size(MOST_READ_AHEAD_BYTES)
        )
        yield Problem(field, _SIZE.format(size=size), allowed)


_LONGEST_TEXT: Final = 200

E = TypeVar("E", bound=StrEnum)


class PlanError(CampaignError):
    """A storage plan that cannot be used.

    Attributes:
        problems: all of them.
    """

    code = "plan"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        hinted = tr("{place}: {message} (allowed: {hint})")
        lines = (
            hinted.format(place=each.path, message=each.message, hint=each.hint)
            if each.hint
            else f"{each.path}: {each.message}"
            for each in self.problems
        )
        super().__init__("\n".join(lines), field=self.problems[0].path)


def parse_plan(values: object) -> StoragePlan:
    """Read the result of `app.domain.storage_plan.plan.plan_as_mapping`.

    Raises:
        PlanError: it is invalid or impossible; names every field and what is allowed.
    """
    plan = read_plan(values)
    if problems := plan_problems(plan):
        raise PlanError(problems)
    return plan


def read_plan(values: object) -> StoragePlan:
    """Read a written plan for display only, even if this version cannot create it.

    Raises:
        PlanError: it is invalid; names every field and what is allowed.
    """
    reading = _Reading()
    table = reading.table("", values, ("schema", *names_of(StoragePlan)))
    if not reading.problems and (table.get("schema") != PLAN_SCHEMA or table["schema"] is True):
        reading.problem("schema", tr("Written by another version of pgFooting."), str(PLAN_SCHEMA))
    if reading.problems:
        raise PlanError(reading.problems)
    data = reading.group("data", table.get("data"))
    further = {
        role.value: reading.group(role.value, table[role.value])
        for role in FURTHER_ROLES
        if role.value in table
    }
    plan = StoragePlan(data, zfs_log=reading.disks("zfs_log", table.get("zfs_log", [])), **further)
    if reading.problems:
        raise PlanError(reading.problems)
    return plan


@dataclass(slots=True)
class _Reading:
    """Parses values and collects problems; wrong values are replaced by harmless ones."""

    problems: list[Problem] = field(default_factory=list)

    def problem(self, place: str, message: str, allowed: str = "") -> None:
        self.problems.append(Problem(place[:_LONGEST_TEXT], message, allowed))

    def table(self, place: str, values: object, keys: Sequence[str]) -> Mapping[str, object]:
        if not isinstance(values, Mapping):
            self.problem(place or "plan", NOT_ALLOWED, tr("a table"))
            return {}
        for key in values:
            if key not in keys:
                name = f"{place}.{key}".lstrip(".")
                self.problem(name, NOT_ALLOWED, ", ".join(keys))
        return values

    def group(self, place: str, values: object) -> Group:
        table = self.table(place, values, names_of(Group))
        return Group(
            self.disks(f"{place}.disks", table.get("disks", [])),
            self.word(f"{place}.level", table.get("level"), Level) or Level.SINGLE,
            self.text(f"{place}.filesystem", table.get("filesystem")),
            self.options(f"{place}.options", table.get("options", {})),
            self.number(f"{place}.partition_bytes", table.get("partition_bytes")),
            self.number(f"{place}.chunk_bytes", table.get("chunk_bytes")),
            self.word(f"{place}.bitmap", table["bitmap"], Bitmap) if "bitmap" in table else None,
            self.word(f"{place}.initial_sync", table["initial_sync"], InitialSync)
            if "initial_sync" in table
            else None,
            self.word(f"{place}.scheduler", table["scheduler"], Scheduler) if "scheduler" in table else None,
            self.number(f"{place}.read_ahead_bytes", table.get("read_ahead_bytes")),
        )

    def disks(self, place: str, values: object) -> tuple[DiskIdentity, ...]:
        if not isinstance(values, list | tuple) or len(values) > MOST_DISKS:
            self.problem(place, NOT_ALLOWED, tr("a list of at most {count} disks").format(count=MOST_DISKS))
            return ()
        return tuple(self.disk(f"{place}[{number}]", value) for number, value in enumerate(values))

    def disk(self, place: str, values: object) -> DiskIdentity:
        table = self.table(place, values, names_of(DiskIdentity))
        wwn = self.text(f"{place}.wwn", table["wwn"]) if "wwn" in table else None
        size = self.number(f"{place}.size_bytes", table.get("size_bytes"))
        if not size:
            self.problem(f"{place}.size_bytes", NOT_ALLOWED, tr("{amount} or more").format(amount=1))
        return DiskIdentity(
            self.text(f"{place}.serial", table.get("serial", "")),
            wwn,
            self.text(f"{place}.model", table.get("model", "")),
            size or 0,
            self.text(f"{place}.device_number", table.get("device_number", "")),
            self.number(f"{place}.diskseq", table.get("diskseq")),
        )

    def options(self, place: str, values: object) -> tuple[tuple[str, OptionValue], ...]:
        if not isinstance(values, Mapping):
            self.problem(place, NOT_ALLOWED, tr("a table"))
            return ()
        if len(values) > MOST_OPTIONS:
            message = _MANY.format(count=len(values))
            self.problem(place, message, tr("at most {size}").format(size=MOST_OPTIONS))
            return ()
        found: list[tuple[str, OptionValue]] = []
        for key, value in values.items():
            if isinstance(key, str) and isinstance(value, bool | int | str):
                found.append((key, value))
            else:
                self.problem(f"{place}.{key}", NOT_ALLOWED, tr("true, false, a whole number or a word"))
        return tuple(found)

    def text(self, place: str, value: object) -> str:
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
            self.problem(
                place,
                NOT_ALLOWED,
                tr("at most {count} characters").format(count=_LONGEST_TEXT),
            )
            return ""
        return value

    def number(self, place: str, value: object) -> int | None:
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            self.problem(place, NOT_ALLOWED, tr("{amount} or more").format(amount=0))
            return None
        return value

    def word(self, place: str, value: object, words: type[E]) -> E | None:
        try:
            return words(str(value))
        except ValueError:
            self.problem(place, NOT_ALLOWED, ", ".join(words))
            return None


# A storage plan as it crosses the bus: native types in a fixed order, checked again on arrival.
#
# Both sides use this module; `app/helper/interface.xml` repeats the signatures for others.


IDENTITY: Final = "(ssstst)"
"""Serial, WWN or empty, model, size in bytes, device number ``major:minor``, disk sequence number or 0."""
GROUP: Final = f"(a{IDENTITY}ssa{{sv}}ttsssx)"
"""Disks, level, filesystem, options, bytes of each partition or 0 for the whole disk, bytes of a chunk or 0,
bitmap or empty, initial synchronisation or empty, I/O scheduler or empty, bytes of read-ahead or -1.
"""
FURTHER: Final = f"a(s{GROUP})"
"""Further groups, each with the word of its `app.domain.storage_plan.plan.FURTHER_ROLES`, once."""
PLAN: Final = f"({GROUP}{FURTHER}a{IDENTITY})"
"""Data, further groups, log devices of the pool."""
PLANS: Final = f"a{PLAN}"
"""The argument of ``Describe``: 1 to `MOST_PLANS` plans."""
MOST_PLANS: Final = 16

Wire = tuple[Any, ...]

_ABSENT: Final[dict[str, object]] = {
    "wwn": "",
    "diskseq": 0,
    "partition_bytes": 0,
    "chunk_bytes": 0,
    "bitmap": "",
    "initial_sync": "",
    "scheduler": "",
    "read_ahead_bytes": -1,
}
"""Values on the bus for fields that are None."""


def identity_to_wire(disk: DiskIdentity) -> Wire:
    """Return an identity as it crosses the bus."""
    return tuple((_ABSENT | part_as_mapping(disk))[name] for name in names_of(DiskIdentity))


def identity_from_wire(wire: Sequence[Any]) -> DiskIdentity:
    """Restore an identity from the bus."""
    values: dict[str, Any] = {"wwn": None, **_values(DiskIdentity, wire)}
    return DiskIdentity(**values)


def plan_to_wire(plan: StoragePlan) -> tuple[Wire, list[Wire], list[Wire]]:
    """Return a plan as it crosses the bus."""
    further = [(role.value, group) for role, group in plan.by_role.items() if role in FURTHER_ROLES]
    return (
        _group_to_wire(plan.data),
        [(name, _group_to_wire(group)) for name, group in further],
        [identity_to_wire(disk) for disk in plan.zfs_log],
    )


def _group_to_wire(group: Group) -> Wire:
    disks = {"disks": [identity_to_wire(disk) for disk in group.disks]}
    values = _ABSENT | part_as_mapping(group) | disks
    return tuple(values[name] for name in names_of(Group))


def plan_from_wire(
    data: Sequence[Any], further: Sequence[tuple[str, Sequence[Any]]], log: Sequence[Sequence[Any]]
) -> StoragePlan:
    """Restore a plan from the bus.

    Raises:
        PlanError: it is invalid or impossible; names every field and what is allowed.
    """
    values: dict[str, object] = {"schema": PLAN_SCHEMA, "data": _group_values(data)}
    for name, group in further:
        if name not in FURTHER_ROLES:
            known = ", ".join(role.value for role in FURTHER_ROLES)
            raise PlanError([Problem("further", NOT_ALLOWED, known)])
        # A second one is a problem like any other: parse_plan names the field.
        values[name] = [values[name], _group_values(group)] if name in values else _group_values(group)
    if log:
        values["zfs_log"] = [_values(DiskIdentity, disk) for disk in log]
    return parse_plan(values)


def _group_values(wire: Sequence[Any]) -> dict[str, object]:
    values = _values(Group, wire)
    return values | {"disks": [_values(DiskIdentity, disk) for disk in values["disks"]]}


def _values(part: type[Group | DiskIdentity], wire: Sequence[Any]) -> dict[str, Any]:
    values = zip(names_of(part), wire, strict=True)
    return {name: value for name, value in values if name not in _ABSENT or value != _ABSENT[name]}
