"""The tables of a campaign file: server settings, and the phases of a workload, ``[[workload.phase]]``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from app.campaign_file.kinds import (
    CampaignField,
    EnumKind,
    FloatKind,
    Key,
    TableKind,
    ValueKind,
    quote,
    read_each,
    read_fields,
    table_of,
    toml,
)
from app.campaign_file.problems import InvalidValueError, printable, refusal, unfit
from app.domain.campaign.configuration import RateShare, WorkloadPhase
from app.domain.campaign.phases import BACKGROUND, PG_BASEBACKUP, background
from app.domain.errors import Problem
from app.domain.text import tr

MOST_PHASES: Final = 20
MOST_TURNS: Final = 100
"""Most occurrences of all phases together."""

_SHARE: Final = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) ?% of (.+)")
_MOST_PERCENT: Final = 1000.0


@dataclass(frozen=True, slots=True)
class RateKind(ValueKind):
    """A rate of transactions, or a share of the rate of an earlier phase.

    Attributes:
        number: kind of a rate given as a number.
    """

    number: FloatKind

    @property
    @override
    def allowed(self) -> str:
        sentence = tr(
            '{number}, or a share of an earlier phase\'s TPS, such as "70 % of reads" for phase "reads"'
        )
        return sentence.format(number=self.number.allowed)

    @override
    def read(self, value: object, folder: Path) -> float | RateShare:
        if not isinstance(value, str):
            try:
                rate: float = self.number.read(value, folder)
            except InvalidValueError as error:
                raise unfit(value, self.allowed) from error
            return rate
        match = _SHARE.fullmatch(value.strip())
        if match is None or not 0 < float(match[1]) <= _MOST_PERCENT:
            raise unfit(value, self.allowed)
        return RateShare(float(match[1]), match[2])

    @override
    def plain(self, value: float | RateShare) -> float | str:
        if isinstance(value, RateShare):
            return f"{value.percent:.12g} % of {value.of}"
        return self.number.plain(value)


@dataclass(frozen=True, slots=True)
class WorkNames(ValueKind):
    """A list of names, each at most once.

    Attributes:
        words: the known ones.
    """

    words: tuple[str, ...]

    @property
    @override
    def allowed(self) -> str:
        return tr("a list of {words}").format(words=", ".join(map(quote, self.words)))

    @override
    def read(self, value: object, folder: Path) -> tuple[str, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= len(self.words):
            raise unfit(value, self.allowed)
        names = read_each(value, EnumKind(self.words), folder)
        if len(set(names)) < len(names):
            raise unfit(value, self.allowed)
        return names


@dataclass(frozen=True, slots=True)
class Phases(ValueKind):
    """A list of phases.

    Attributes:
        fields: keys of each; the first is its name.
    """

    fields: tuple[CampaignField, ...]

    @property
    @override
    def allowed(self) -> str:
        sentence = tr("1 to {most} tables, each beginning with {heading}")
        return sentence.format(most=MOST_PHASES, heading="[[workload.phase]]")

    @override
    def read(self, value: object, folder: Path) -> tuple[WorkloadPhase, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_PHASES:
            raise unfit(value, self.allowed)
        phases = read_each(value, _OnePhase(self.fields), folder)
        faults = tuple(_faults(phases))
        if faults:
            raise InvalidValueError(*faults)
        return phases

    @override
    def plain(self, value: tuple[WorkloadPhase, ...]) -> list[dict[str, Any]]:
        return [_OnePhase(self.fields).plain(phase) for phase in value]

    def words(self, phases: Iterable[WorkloadPhase]) -> str:
        """Return the content of phases in one line for display."""
        parts = []
        for name, *keys in (_OnePhase(self.fields).plain(phase).items() for phase in phases):
            words = ", ".join(f"{key} = {toml(value, '')}" for key, value in keys)
            parts.append(f"{name[1]}: {words}" if words else name[1])
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _OnePhase(ValueKind):
    fields: tuple[CampaignField, ...]

    @property
    @override
    def allowed(self) -> str:
        return table_of(self.fields)

    @override
    def read(self, value: object, folder: Path) -> WorkloadPhase:
        unknown = tr("is not a known key; allowed: {known}.")
        given, faults = read_fields(value, self.fields, folder, unknown)
        if "name" not in given:
            faults.append(Problem(".name", tr("is missing: give it its own name.")))
        faults += _beside_faults(given)
        if faults:
            raise InvalidValueError(*faults)
        return WorkloadPhase(**given)

    @override
    def plain(self, value: WorkloadPhase) -> dict[str, Any]:
        usual = WorkloadPhase("")
        given = ((field, getattr(value, field.attribute)) for field in self.fields)
        return {
            field.name: field.kind.plain(each)
            for field, each in given
            if each != getattr(usual, field.attribute)
        }


def _beside_faults(given: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the parallel work of a phase."""
    name = given.get("background")
    kind = None if name is None else background(name)
    has_interval = kind is not None and kind.has_interval
    if has_interval and "every_s" not in given:
        sentence = tr('is missing: set the time from one “{name}” to the next, such as every = "5 min".')
        yield Problem(".every", sentence.format(name=name))
    refused = "background" in given and name is None
    if "every_s" in given and not has_interval and not refused:
        those = ", ".join(quote(each.name) for each in BACKGROUND if each.has_interval)
        yield Problem(".every", tr("can only be used with background = {those}.").format(those=those))
    if "max_rate_bytes" in given and kind is not PG_BASEBACKUP and not refused:
        those = quote(PG_BASEBACKUP.name)
        yield Problem(".max_rate", tr("can only be used with background = {those}.").format(those=those))


def _faults(phases: Iterable[WorkloadPhase]) -> Iterator[Problem]:
    """Yield the problems between individually valid phases."""
    before: dict[str, WorkloadPhase] = {}
    turns = 0
    for number, phase in enumerate(phases, start=1):
        place = f"[{number}]"
        if phase.name in before:
            sentence = tr("“{name}” is given several times; names must differ.")
            yield Problem(f"{place}.name", sentence.format(name=phase.name))
        if isinstance(phase.rate, RateShare):
            yield from _share_faults(phase.rate, before, place)
        before[phase.name] = phase
        turns += phase.times
    if turns > MOST_TURNS:
        sentence = tr("{turns} phases with their repetitions are too many; at most {most} are allowed.")
        yield Problem("", sentence.format(turns=turns, most=MOST_TURNS))
    if not any(phase.counts for phase in before.values()):
        yield Problem("", tr("no phase is compared: set counts = true for at least one."))


def _share_faults(share: RateShare, before: dict[str, WorkloadPhase], place: str) -> Iterator[Problem]:
    named = before.get(share.of)
    if named is None:
        sentence = tr("“{name}” is not an earlier phase ({known}).")
        known = tr("there is none") if not before else tr("earlier: {names}").format(names=", ".join(before))
        yield Problem(f"{place}.rate", sentence.format(name=printable(share.of), known=known))
    elif named.rate is not None:
        sentence = tr("“{name}” has a rate itself, so its TPS are not its capacity.")
        yield Problem(f"{place}.rate", sentence.format(name=share.of))


# Server settings in a campaign file: any name with a value in the syntax of postgresql.conf.


Settings = tuple[tuple[str, str], ...]

SETTING_LIMIT: Final = 500
_VALUE_LIMIT: Final = 1000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")
"""Names as in guc-file.l of PostgreSQL 13 to 18: an identifier, or two with a dot between."""


@dataclass(frozen=True, slots=True)
class SettingsTable(TableKind):
    """A table of settings, sorted by name; in lower case, because PostgreSQL ignores case."""

    @property
    @override
    def allowed(self) -> str:
        sentence = tr(
            'a table of at most {most} server settings, such as {{ work_mem = "64MB", fsync = true }}'
        )
        return sentence.format(most=SETTING_LIMIT)

    @override
    def read(self, value: object, folder: Path) -> Settings:
        if not isinstance(value, dict):
            raise unfit(value, self.allowed)
        flat = _flatten(value)
        if len(flat) > SETTING_LIMIT:
            raise unfit(value, self.allowed)
        settings: dict[str, str] = {}
        faults: list[Problem] = []
        for name, given in flat:
            fault = _fault(name, given, settings)
            if fault:
                faults.append(Problem(f".{printable(name)}", fault))
            else:
                settings[name.lower()] = _spell(given)
        if faults:
            raise InvalidValueError(*faults)
        return tuple(sorted(settings.items()))

    @override
    def join(self, parts: Mapping[Key, str]) -> Settings:
        return tuple(sorted(TableKind.join(self, parts)))


def _flatten(table: dict[str, object]) -> list[tuple[str, object]]:
    """Return (name, value) pairs; unquoted ``auto_explain.log_nested_statements`` is a table in TOML."""
    pairs: list[tuple[str, object]] = []
    for name, value in table.items():
        if isinstance(value, dict) and value:
            pairs += [(f"{name}.{inner}", given) for inner, given in value.items()]
        else:
            pairs.append((name, value))
    return pairs


def _fault(name: str, value: object, before: dict[str, str]) -> str:
    """Return the problem of one setting, or an empty text."""
    if not _NAME.fullmatch(name) or len(name) > 127:
        return tr("is not a valid name of a server setting.")
    if name.lower() in before:
        return tr("is given twice (upper and lower case are the same).")
    allowed = tr('text without control characters, a number, or true or false, such as "64MB"')
    if isinstance(value, float) and not math.isfinite(value):
        return refusal(value, allowed)
    if not isinstance(value, str | int | float):
        return refusal(value, allowed)
    text = _spell(value)
    return "" if len(text) <= _VALUE_LIMIT and all(c.isprintable() for c in text) else refusal(value, allowed)


def _spell(value: object) -> str:
    """Return a value in the syntax of postgresql.conf: on and off instead of true and false."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) and abs(value) >= 10**_VALUE_LIMIT:  # Python refuses to print such a number
        return "0" * (_VALUE_LIMIT + 1)
    return str(value)
