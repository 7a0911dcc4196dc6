"""The phases of a run, if its workload has several: their order, and pgbench's workload in each. Pure.

The figures of a run as a whole, in every table with one line per run, are those of one of its phases: the
last repeat of the last one that counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from app.domain.campaign.configuration import DiskTarget, RateShare, Script, Target, Workload, WorkloadPhase
from app.domain.maintenance import PG_BASEBACKUP
from app.domain.text import tr

_AS_IN_WORKLOAD: Final = frozenset(each.name for each in fields(WorkloadPhase)) & frozenset(
    each.name for each in fields(Workload)
)
"""Fields of a phase that override the workload's."""


@dataclass(frozen=True, slots=True)
class PhaseTurn:
    """One time of one phase.

    Attributes:
        number: position among all turns of the run, from 1.
        phase: as in the campaign.
        time: repeat of this phase, from 1.
        is_own: the figures of the run as a whole are those of this turn.
    """

    number: int
    phase: WorkloadPhase
    time: int
    is_own: bool

    @property
    def label(self) -> str:
        """Name of the phase for users, with the repeat if there are several."""
        if self.phase.times == 1:
            return self.phase.name
        words = tr("{name} ({time} of {times})")
        return words.format(name=self.phase.name, time=self.time, times=self.phase.times)


def turns_of(workload: Workload) -> tuple[PhaseTurn, ...]:
    """Return every time of every phase in the order of a run; empty for a workload without phases."""
    pairs = [(phase, time) for phase in workload.phases for time in range(1, phase.times + 1)]
    own = max((place for place, (phase, _) in enumerate(pairs) if phase.counts), default=len(pairs) - 1)
    return tuple(PhaseTurn(place + 1, phase, time, place == own) for place, (phase, time) in enumerate(pairs))


def workload_of(
    workload: Workload, phase: WorkloadPhase, reached: Mapping[str, float] | None = None
) -> Workload:
    """Return pgbench's workload in a phase: missing fields are the workload's.

    Args:
        workload: of the configuration.
        phase: one of its phases.
        reached: TPS of earlier phases, by name; without it, a relative rate is ignored.
    """
    said = {name: value for name in _AS_IN_WORKLOAD if (value := getattr(phase, name)) is not None}
    if phase.transactions is not None:
        said["duration_s"] = None
    elif phase.duration_s is not None:
        said["transactions"] = None
    rate = phase.rate
    if isinstance(rate, RateShare):
        tps = (reached or {}).get(rate.of)
        said["rate_tps"] = None if tps is None else tps * rate.percent / 100
    elif rate is not None:
        said["rate_tps"] = rate
    if "clients" in said and "threads" not in said and workload.threads is not None:
        said["threads"] = min(workload.threads, phase.clients or workload.clients)
    return replace(workload, phases=(), **said)


def own_workload(workload: Workload) -> Workload:
    """Return the workload behind the figures of a run as a whole."""
    own = next((turn for turn in turns_of(workload) if turn.is_own), None)
    return workload if own is None else workload_of(workload, own.phase)


def warmed_workload(workload: Workload) -> Workload:
    """Return the workload of a warm-up: the first phase's."""
    return workload_of(workload, workload.phases[0]) if workload.phases else workload


def all_workloads(workload: Workload) -> tuple[Workload, ...]:
    """Return the workload of each phase; only the workload itself without phases."""
    return tuple(workload_of(workload, phase) for phase in workload.phases) or (workload,)


def all_scripts(workload: Workload) -> tuple[Script, ...]:
    """Return every script of this workload, each once, including one that phases replace."""
    parts = (workload, *all_workloads(workload))
    return tuple(dict.fromkeys(script for part in parts for script in part.scripts))


def script_files(workload: Workload) -> dict[Script, str]:
    """Return the user's own scripts with their file names during a run."""
    own = (script for script in all_scripts(workload) if script.builtin is None)
    return {script: f"script{number}.sql" for number, script in enumerate(own, start=1)}


def filesystems_of(target: Target) -> list[str]:
    """Return the ids of the filesystems that root creates for a target, that of the data first."""
    return [group.filesystem for _, group in target.groups] if isinstance(target, DiskTarget) else []


def wants_backup(workload: Workload) -> bool:
    """Return whether base backups are made during a measurement."""
    return any(phase.background == PG_BASEBACKUP.name for phase in workload.phases)


def most_clients(workload: Workload) -> int:
    """Return the clients of the phase with the most."""
    return max(part.clients for part in all_workloads(workload))


def measured_seconds(workload: Workload) -> int | None:
    """Return the duration of all phases together; None if one ends after a number of transactions."""
    parts = [(workload_of(workload, phase).duration_s, phase.times) for phase in workload.phases] or [
        (workload.duration_s, 1)
    ]
    total = 0
    for seconds, times in parts:
        if seconds is None:
            return None
        total += seconds * times
    return total
