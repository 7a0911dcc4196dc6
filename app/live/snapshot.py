"""One look at a run that is being watched: live or replayed, the page that shows it sees no difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from app.domain.campaign.configuration import Caches
from app.domain.run import Phase, PhaseName, RunState
from app.domain.text import tr
from app.domain.units import format_duration
from app.runfile.metadata.run_metadata import PhaseMetadata, RunningCommand, StorageStep
from app.runfile.metadata.typed_json import Known, NotKnown, known, or_none
from app.runfile.reader import CommandRecord
from app.runfile.series import RunData

STALE_S: Final = 3.5
"""A number older than this is not shown as the latest: pgbench and the sampler say something every second."""

QUIET_S: Final = 5.0
"""Without a new second for so long while pgbench runs, the page says that nothing comes."""

_SAMPLED: Final = frozenset({Phase.WARM_UP, Phase.PART, Phase.MEASURE})


@dataclass(frozen=True, slots=True)
class LiveNumbers:
    """The latest values; None where there is none of the last seconds.

    Attributes:
        tps: transactions per second.
        p99_ms: 99th percentile of latency of the newest complete second.
        latency_ms: mean latency.
        iops: reads and writes of the disks under the data directory.
        flushes: of these disks, per second.
        cpu_server: cores that PostgreSQL uses.
        cpu_pgbench: cores that pgbench uses.
        cpu_iowait: cores idle with I/O outstanding.
        wal_bytes: per second.
    """

    tps: float | None = None
    p99_ms: float | None = None
    latency_ms: float | None = None
    iops: float | None = None
    flushes: float | None = None
    cpu_server: float | None = None
    cpu_pgbench: float | None = None
    cpu_iowait: float | None = None
    wal_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log drawer.

    Attributes:
        t_ms: on the run's clock.
        kind: of the event; `command` for an executed program.
        text: one line or several.
    """

    t_ms: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run at one moment.

    Attributes:
        data: as far as it has come.
        phase: the one that lasts, else the last one.
        phase_elapsed_s: since it began.
        phase_planned_s: its length where the campaign states it.
        state: as it is: a run that says running without a runner is incomplete.
        numbers: the latest.
        command: the command line that is executed, else what is being done, in words.
        finished: nothing more will come.
        log: everything that happened, in order.
        quiet_s: how long nothing new has come although pgbench runs; 0 where all is well.
        problem: why it failed, or why nothing more can be read.
        phase_label: what people call the phase, of a workload that has several; else empty.
    """

    data: RunData
    phase: Phase
    phase_elapsed_s: float
    phase_planned_s: float | None
    state: RunState
    numbers: LiveNumbers
    command: str
    finished: bool
    log: tuple[LogLine, ...] = ()
    quiet_s: float = 0.0
    problem: str = ""
    phase_label: str = ""


class RunSource(Protocol):
    """Where the live page gets its run from."""

    def poll(self) -> RunSnapshot:
        """Return the run as it is now; may read files, so not for the GUI thread.

        Raises:
            FootingError: there is no run yet, or it could never be read.
        """


@dataclass(frozen=True, slots=True)
class SnapshotContext:
    """What `take_snapshot` cannot see in the run itself.

    Attributes:
        now_ms: time on the run's clock.
        state: as it is, see `RunSnapshot.state`.
        quiet_s: see there.
        problem: see there; empty for what the run file says.
        replayed: the commands that last are known; of a live run only those that have ended are stored.
    """

    now_ms: float
    state: RunState
    quiet_s: float = 0.0
    problem: str = ""
    replayed: bool = False


def take_snapshot(data: RunData, moment: SnapshotContext, commands: Sequence[CommandRecord]) -> RunSnapshot:
    """Return the snapshot of a run; reads no file where the series of `numbers` are in memory."""
    newest, started_ms, ended_ms = _phase(data)
    phase, part = newest.phase, _part_of(data, newest)
    now_ms = moment.now_ms if ended_ms is None else float(ended_ms)
    finished = moment.state is not RunState.RUNNING
    running = next((line for line in commands if moment.replayed and _lasts(line, now_ms)), None)
    return RunSnapshot(
        data=data,
        phase=phase,
        phase_elapsed_s=max(0.0, (now_ms - started_ms) / 1000),
        phase_planned_s=planned_seconds_of(data, phase) if part is None else _planned_seconds(part),
        state=moment.state,
        numbers=latest_numbers(data),
        command="" if finished else _command_text(data, newest, running),
        phase_label="" if part is None else part.label,
        finished=finished,
        log=_log_lines(data, commands, moment.now_ms),
        quiet_s=moment.quiet_s if phase in _SAMPLED and not finished else 0.0,
        problem=moment.problem or _told_error(data),
    )


def planned_seconds_of(data: RunData, phase: Phase) -> float | None:
    """Return the length of a phase where the campaign states it."""
    if phase is Phase.MEASURE:
        return data.planned_s
    if phase is Phase.WARM_UP:
        return or_none(data.metadata.workload.warmup_s)
    return None


def _planned_seconds(part: PhaseMetadata) -> float | None:
    return or_none(part.workload.duration_s) or None


def _part_of(data: RunData, name: PhaseName) -> PhaseMetadata | None:
    """Return what the run says of a phase of a workload with several; None for any other phase."""
    if name.phase not in {Phase.PART, Phase.MEASURE}:
        return None
    told = known(data.metadata.phases, ())
    return next(
        (each for each in told if (each.number == name.number) or (each.is_own and not name.number)), None
    )


def latest_numbers(data: RunData) -> LiveNumbers:
    """Return the latest values of the last seconds of a run.

    Raises:
        RunFileError: the file cannot be read any more.
    """
    reads, writes = _latest(data, "storage.reads"), _latest(data, "storage.writes")
    return LiveNumbers(
        tps=_latest(data, "pgbench.tps"),
        p99_ms=_latest_p99(data),
        latency_ms=_latest(data, "pgbench.latency_mean"),
        iops=_sum(reads, writes),
        flushes=_latest(data, "storage.flushes"),
        cpu_server=_process(data, "postgres"),
        cpu_pgbench=_process(data, "pgbench"),
        cpu_iowait=_latest(data, "cpu.iowait"),
        wal_bytes=_latest(data, "wal.bytes"),
    )


def _now_s(data: RunData) -> float:
    return (data.last_ms - data.origin_ms) / 1000


def _latest(data: RunData, metric: str, instance: str = "") -> float | None:
    t_s, values = data.series(metric, instance)
    if not len(t_s) or _now_s(data) - t_s[-1] > STALE_S or not np.isfinite(values[-1]):
        return None
    return float(values[-1])


def _latest_p99(data: RunData) -> float | None:
    """Return the newest second's percentile, of which no line is missing but what pgbench still buffers."""
    t_s, values = data.percentile(99.0)
    if len(t_s) > 1 and t_s[-1] in data.partial_seconds():
        t_s, values = t_s[:-1], values[:-1]  # the newest second is half a second
    if not len(t_s) or _now_s(data) - t_s[-1] > STALE_S:
        return None
    return float(values[-1])


def _process(data: RunData, program: str) -> float | None:
    return _sum(_latest(data, "process.cpu_user", program), _latest(data, "process.cpu_system", program))


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _phase(data: RunData) -> tuple[PhaseName, float, int | None]:
    """Return the newest phase with its begin and end in ms."""
    if not data.phases:
        return PhaseName(Phase.PREPARE), 0.0, None
    newest = data.phases[-1]
    return newest.name, float(newest.started_ms), newest.ended_ms


def _lasts(command: CommandRecord, now_ms: float) -> bool:
    return command.started_ms <= now_ms < command.started_ms + command.duration_ms


def _command_text(data: RunData, newest: PhaseName, running: CommandRecord | None) -> str:
    if running is not None:
        return " ".join(running.argv)
    started = data.metadata.running_command
    if not isinstance(started, NotKnown) and started.phase == newest.text:
        return _with_progress(started, data.metadata.storage_step)
    return what_happens(data, newest.phase)


def _with_progress(running: RunningCommand, step: Known[StorageStep]) -> str:
    """Return a command, and how far it is where it is root's step that was told last."""
    text = " ".join(running.argv)
    if not running.step or isinstance(step, NotKnown) or step.number != running.step:
        return text
    shown = f"{step.number}/{step.count} {text}"
    if step.fraction is None:
        return shown
    shown = f"{shown}  {100 * step.fraction:.0f} %"
    if step.left_s is None:
        return shown
    return tr("{shown}, about {left} left").format(shown=shown, left=format_duration(step.left_s))


def what_happens(data: RunData, phase: Phase) -> str:
    """Return what a phase does with this run, in words for people."""
    told = data.metadata
    workload = told.workload
    if phase is Phase.BASELINE:
        return tr("fio and pg_test_fsync ask the storage what it can do")
    if phase is Phase.PREPARE:
        return tr("checking the machine and preparing {path}").format(path=known(told.target.path, ""))
    if phase is Phase.INITDB:
        return tr("initdb of PostgreSQL {version}").format(version=known(told.installation.version, ""))
    if phase is Phase.LOAD:
        return tr("pgbench --initialize --scale={scale}").format(scale=or_none(told.scale) or "?")
    if phase in _SAMPLED:
        return tr("pgbench: {scripts}, clients {clients}, threads {threads}, protocol {protocol}").format(
            scripts=known(workload.label, ""),
            clients=or_none(workload.clients) or "",
            threads=or_none(workload.threads) or "",
            protocol=known(workload.protocol, ""),
        )
    settling = tr("checkpoint, so that nothing is dirty when measuring begins")
    if workload.caches == Caches.COLD:
        settling = tr("checkpoint, stopping the server, emptying the caches, starting it again")
    return {
        Phase.SETTLE: settling,
        Phase.MAINTENANCE: tr("maintenance before the next phase"),
        Phase.COLLECT: tr("collecting facts and figures"),
    }.get(phase, tr("stopping the server and removing its data"))


def _log_lines(data: RunData, commands: Sequence[CommandRecord], now_ms: float) -> tuple[LogLine, ...]:
    lines = [LogLine(event.t_ms, event.kind, event.message) for event in data.events]
    lines += [
        LogLine(command.started_ms, "command", _command_line(command, now_ms))
        for command in commands
        if command.started_ms <= now_ms
    ]
    return tuple(sorted(lines, key=lambda line: line.t_ms))


def _command_line(command: CommandRecord, now_ms: float) -> str:
    text = " ".join(command.argv)
    if _lasts(command, now_ms) or command.exit_code == 0:
        return text
    return tr("{command} (exit status {status})").format(command=text, status=command.exit_code)


def _told_error(data: RunData) -> str:
    error = data.metadata.error
    return "" if isinstance(error, NotKnown) or data.state is RunState.RUNNING else error.text
