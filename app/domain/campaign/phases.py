"""The phases of a run, if its workload has several: order, background work, pgbench's workload. Pure.

The figures of a run as a whole, in every table with one line per run, are those of one of its phases: the
last repeat of the last one that counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from app.domain.campaign.configuration import DiskTarget, RateShare, Script, Target, Workload, WorkloadPhase
from app.domain.maintenance import (
    BASE_BACKUP,
    BTRFS_SCRUB,
    REMOVE_SNAPSHOTS,
    SNAPSHOT,
    ZPOOL_SCRUB,
    DoneBy,
    Maintenance,
)
from app.domain.text import tr


def obstacle_of(kind: Maintenance, filesystems: Sequence[str]) -> str:
    """Return why a maintenance is not possible, one sentence; empty if it is.

    Args:
        kind: the maintenance.
        filesystems: ids of those that root creates for a run; empty for a target without spare disks.
    """
    if kind.done_by is not DoneBy.ROOT or any(map(kind.is_on, filesystems)):
        return ""
    return _obstacle(kind.name, kind.filesystems, filesystems)


def _obstacle(name: str, those: Sequence[str], these: Sequence[str]) -> str:
    if not these:
        words = tr("“{name}” needs root and spare disks, which this target does not have.")
        return words.format(name=name)
    words = tr("“{name}” exists only on {those}; this target has {these}.")
    return words.format(name=name, those=", ".join(those), these=", ".join(dict.fromkeys(these)))


@dataclass(frozen=True, slots=True)
class Background:
    """Background work during a phase.

    Attributes:
        name: in campaign files.
        label: for users.
        kinds: alternatives for different filesystems.
        has_interval: a campaign gives its interval; else it is repeated at once.
        after: cleanup after the phase; None for none.
    """

    name: str
    label: str
    kinds: tuple[Maintenance, ...]
    has_interval: bool = False
    after: Maintenance | None = None

    def kind_on(self, filesystems: Sequence[str]) -> Maintenance | None:
        """Return the alternative for the first filesystem that supports one; None if none does."""
        return next((kind for kind in self.kinds if not obstacle_of(kind, filesystems)), None)

    def obstacle(self, filesystems: Sequence[str]) -> str:
        """Return why it is not possible, as `obstacle_of` does."""
        if self.kind_on(filesystems) is not None:
            return ""
        those = [each for kind in self.kinds for each in kind.filesystems]
        return _obstacle(self.name, those, filesystems)


PG_BASEBACKUP: Final = Background("pg_basebackup", tr("base backup (pg_basebackup)"), (BASE_BACKUP,))
SNAPSHOTS: Final = Background(
    "snapshot", tr("filesystem snapshots"), (SNAPSHOT,), has_interval=True, after=REMOVE_SNAPSHOTS
)
SCRUB: Final = Background("scrub", tr("filesystem scrub"), (BTRFS_SCRUB, ZPOOL_SCRUB))

BACKGROUND: Final = (PG_BASEBACKUP, SNAPSHOTS, SCRUB)


def background(name: str) -> Background:
    """Return a background work by name.

    Raises:
        KeyError: there is none of that name.
    """
    for each in BACKGROUND:
        if each.name == name:
            return each
    raise KeyError(name)


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
