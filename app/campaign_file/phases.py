"""The phases of a workload in a campaign file: ``[[workload.phase]]``, one table per phase."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from app.campaign_file.kinds import (
    CampaignField,
    EnumKind,
    FloatKind,
    ValueKind,
    quote,
    read_each,
    read_fields,
    table_of,
    toml,
)
from app.campaign_file.problems import InvalidValueError, printable, unfit
from app.domain.campaign.configuration import RateShare, WorkloadPhase
from app.domain.campaign.phases import BACKGROUND, PG_BASEBACKUP, background
from app.domain.problem import Problem
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
        sentence = tr('{number}, or a share of what an earlier phase reached, such as "70 % of reads"')
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
        unknown = tr("is not a known key of a phase; allowed are {known}.")
        given, faults = read_fields(value, self.fields, folder, unknown)
        if "name" not in given:
            faults.append(Problem(".name", tr("is missing: give it a name of its own.")))
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
        sentence = tr('is missing: say from one “{name}” to the next, such as every = "5 min".')
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
        sentence = tr("“{name}” is not an earlier phase; {known}.")
        known = tr("there is none") if not before else tr("there are {names}").format(names=", ".join(before))
        yield Problem(f"{place}.rate", sentence.format(name=printable(share.of), known=known))
    elif named.rate is not None:
        sentence = tr("“{name}” has a rate itself, so its TPS are not its capacity.")
        yield Problem(f"{place}.rate", sentence.format(name=share.of))
