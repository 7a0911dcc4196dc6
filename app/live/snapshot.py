"""One snapshot of a watched run; live and replayed runs look the same to the page that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from app.analysis.facts import command_line
from app.domain.campaign.configuration import Caches
from app.domain.run import Phase, PhaseName, RunState
from app.domain.step_progress import StepProgress
from app.domain.text import tr
from app.domain.units import format_duration
from app.runfile.metadata.run_metadata import PhaseMetadata, RunningCommand
from app.runfile.metadata.typed_json import Known, NotKnown, known, or_none
from app.runfile.reader import CommandRecord
from app.runfile.series import RunData

STALE_S: Final = 3.5
"""An older number is not shown as the latest: pgbench and the sampler report every second."""

QUIET_S: Final = 5.0
"""Without a new second for this long while pgbench runs, the page reports silence."""

_SAMPLED: Final = frozenset({Phase.WARM_UP, Phase.PART, Phase.MEASURE})


@dataclass(frozen=True, slots=True)
class LiveNumbers:
    """The latest values; None if there is none of the last seconds.

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
        text: one or several lines.
    """

    t_ms: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run at one moment.

    Attributes:
        data: so far.
        phase: the current one, else the last one.
        phase_elapsed_s: since its start.
        phase_planned_s: its length, if the campaign states it.
        state: actual one: a run recorded as running without a runner is incomplete.
        numbers: the latest.
        command: the current command line, else the current activity in words.
        finished: whether nothing more will come.
        log: all events, in order.
        quiet_s: time without new data while pgbench runs; 0 if all is well.
        problem: why it failed, or why it is no longer readable.
        phase_label: shown name of the phase, of a workload with several; else empty.
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
    """Source of the live page's run."""

    def poll(self) -> RunSnapshot:
        """Return the run as it is now; may read files, so do not call it in the GUI thread.

        Raises:
            FootingError: there is no run yet, or it was never readable.
        """


@dataclass(frozen=True, slots=True)
class SnapshotContext:
    """The parts of a snapshot that the run itself does not show.

    Attributes:
        now_ms: time on the run's clock.
        state: actual one, see `RunSnapshot.state`.
        quiet_s: see there.
        problem: see there; empty for that of the run file.
        replayed: whether running commands are known; a live run stores only ended ones.
    """

    now_ms: float
    state: RunState
    quiet_s: float = 0.0
    problem: str = ""
    replayed: bool = False


def take_snapshot(data: RunData, moment: SnapshotContext, commands: Sequence[CommandRecord]) -> RunSnapshot:
    """Return the snapshot of a run; reads no file if the series of `numbers` are in memory."""
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
        problem=moment.problem or _error_text(data),
    )


def planned_seconds_of(data: RunData, phase: Phase) -> float | None:
    """Return the length of a phase, if the campaign states it."""
    if phase is Phase.MEASURE:
        return data.planned_s
    if phase is Phase.WARM_UP:
        return or_none(data.metadata.workload.warmup_s)
    return None


def _planned_seconds(part: PhaseMetadata) -> float | None:
    return or_none(part.workload.duration_s) or None


def _part_of(data: RunData, name: PhaseName) -> PhaseMetadata | None:
    """Return the run's metadata of a phase, for a workload with several; None for any other phase."""
    if name.phase not in {Phase.PART, Phase.MEASURE}:
        return None
    phases = known(data.metadata.phases, ())
    return next(
        (each for each in phases if (each.number == name.number) or (each.is_own and not name.number)), None
    )


def latest_numbers(data: RunData) -> LiveNumbers:
    """Return the latest values of the last seconds of a run.

    Raises:
        RunFileError: the file is no longer readable.
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
    """Return the newest second's percentile, complete except for lines that pgbench still buffers."""
    t_s, values = data.percentile(99.0)
    if len(t_s) > 1 and t_s[-1] in data.partial_seconds():
        t_s, values = t_s[:-1], values[:-1]  # the newest second is incomplete
    if not len(t_s) or _now_s(data) - t_s[-1] > STALE_S:
        return None
    return float(values[-1])


def _process(data: RunData, program: str) -> float | None:
    return _sum(_latest(data, "process.cpu_user", program), _latest(data, "process.cpu_system", program))


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _phase(data: RunData) -> tuple[PhaseName, float, int | None]:
    """Return the newest phase with its start and end in ms."""
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


def _with_progress(running: RunningCommand, step: Known[StepProgress]) -> str:
    """Return a command, with its progress if it is root's latest step."""
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
    """Return the activity of a phase of this run, as text."""
    metadata = data.metadata
    workload = metadata.workload
    if phase is Phase.BASELINE:
        return tr("fio and pg_test_fsync benchmark the raw storage")
    if phase is Phase.PREPARE:
        return tr("checking the machine and preparing {path}").format(path=known(metadata.target.path, ""))
    if phase is Phase.INITDB:
        return tr("initdb of PostgreSQL {version}").format(version=known(metadata.installation.version, ""))
    if phase is Phase.LOAD:
        return tr("pgbench --initialize --scale={scale}").format(scale=or_none(metadata.scale) or "?")
    if phase in _SAMPLED:
        return tr("pgbench: {scripts}, clients {clients}, threads {threads}, protocol {protocol}").format(
            scripts=known(workload.label, ""),
            clients=or_none(workload.clients) or "",
            threads=or_none(workload.threads) or "",
            protocol=known(workload.protocol, ""),
        )
    settling = tr("checkpoint, so that measuring begins without dirty pages")
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
    text = command_line(command)
    if _lasts(command, now_ms) or command.exit_code == 0:
        return text
    return tr("{command} (exit status {status})").format(command=text, status=command.exit_code)


def _error_text(data: RunData) -> str:
    error = data.metadata.error
    return "" if isinstance(error, NotKnown) or data.state is RunState.RUNNING else error.text
