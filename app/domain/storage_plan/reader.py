"""Read a storage plan from plain values (TOML, JSON, the bus), and report all problems at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from app.domain.disk import DiskIdentity
from app.domain.errors import CampaignError
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.problem import Problem
from app.domain.storage_plan.plan import (
    FURTHER_ROLES,
    PLAN_SCHEMA,
    Bitmap,
    Group,
    InitialSync,
    Scheduler,
    StoragePlan,
    names_of,
)
from app.domain.storage_plan.problems import MOST_DISKS, MOST_OPTIONS, plan_problems
from app.domain.text import tr

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
            self.problem(place or "plan", tr("A table is needed here."))
            return {}
        for key in values:
            if key not in keys:
                name = f"{place}.{key}".lstrip(".")
                self.problem(name, tr("There is no such field."), ", ".join(keys))
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
            self.problem(
                place, tr("A list of disks is needed here."), tr("at most {count}").format(count=MOST_DISKS)
            )
            return ()
        return tuple(self.disk(f"{place}[{number}]", value) for number, value in enumerate(values))

    def disk(self, place: str, values: object) -> DiskIdentity:
        table = self.table(place, values, names_of(DiskIdentity))
        wwn = self.text(f"{place}.wwn", table["wwn"]) if "wwn" in table else None
        size = self.number(f"{place}.size_bytes", table.get("size_bytes"))
        if not size:
            self.problem(f"{place}.size_bytes", tr("A disk has a size."), tr("bytes"))
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
            self.problem(place, tr("A table is needed here."))
            return ()
        if len(values) > MOST_OPTIONS:
            message = tr("{count} options are too many.").format(count=len(values))
            self.problem(place, message, tr("at most {count}").format(count=MOST_OPTIONS))
            return ()
        found: list[tuple[str, OptionValue]] = []
        for key, value in values.items():
            if isinstance(key, str) and isinstance(value, bool | int | str):
                found.append((key, value))
            else:
                self.problem(f"{place}.{key}", tr("true, false, a number or a text is needed here."))
        return tuple(found)

    def text(self, place: str, value: object) -> str:
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
            self.problem(
                place,
                tr("A text of one line is needed here."),
                tr("at most {count} characters").format(count=_LONGEST_TEXT),
            )
            return ""
        return value

    def number(self, place: str, value: object) -> int | None:
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            self.problem(place, tr("A whole number is needed here."), tr("0 or more"))
            return None
        return value

    def word(self, place: str, value: object, words: type[E]) -> E | None:
        try:
            return words(str(value))
        except ValueError:
            self.problem(place, tr("There is no such word."), ", ".join(words))
            return None
