"""Collect the data of the sampler, pgbench and the server, and write it into the run file once a second.

The sampler's thread only appends to a queue; everything else happens in the runner's main thread, so a slow
disk under the run file delays rows, never samples. Sources are read outside of the transaction that stores
their data, so that their errors are not mistaken for errors of the run file. A failing source is given up and
noted; the run continues. A run file that cannot be written ends the run: the first error is raised, later
writes do nothing, so that cleanup is not disturbed.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from app.domain.errors import PgbenchError, RunFileError, TargetLostError
from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.run import Phase, PhaseName
from app.domain.text import tr, trn
from app.hosts.folders.private_folder import PrivateFolder, open_private
from app.postgres.facts import ServerFacts
from app.postgres.pgbench.argv import TransactionLog
from app.postgres.pgbench.histogram import SecondLatencies
from app.postgres.pgbench.summary import PgbenchSummary
from app.postgres.pgbench.transaction_log import LogFormat
from app.probes.base.probe import ProbeUnavailable
from app.probes.sampling.sampler import SourceState, Tick
from app.probes.sources.server_log import OpenLog, ServerEvent, ServerLogTail
from app.process.starter import CommandOutcome
from app.recording.events import ProgressReport
from app.recording.pgbench_streams import BenchmarkStreams, StreamUpdate, progress_samples, reports_aborted
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import values_of
from app.runfile.writer import SERVER_DEFAULTS, WHOLE_PHASE, LatencySecond, RunFileWriter

# Detect suspends and clock changes, and convert between wall clock and monotonic time.
#
# CLOCK_MONOTONIC stops while the machine is suspended, CLOCK_BOOTTIME does not (clock_gettime(2)): their
# distance grows by the length of each suspend. pgbench and the server write wall clock times, so steps of the
# wall clock are reported.


SHORTEST_SUSPEND_S: Final = 0.1
SHORTEST_STEP_S: Final = 0.05
"""NTP slews by at most 0.5 ms a second (adjtimex(2)); faster changes are steps."""

ReadClock = Callable[[int], float]


class ClockEventKind(StrEnum):
    """Kinds of clock events."""

    SUSPEND = "suspend"
    STEP = "clock-step"


@dataclass(frozen=True, slots=True)
class ClockEvent:
    """An event since the last check.

    Attributes:
        kind: of event.
        monotonic_s: when it was noticed.
        seconds: length of the suspend, or how far the wall clock was set (negative: back).
    """

    kind: ClockEventKind
    monotonic_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Reading:
    monotonic_s: float
    boot_s: float
    epoch_s: float


class ClockWatch:
    """Notices suspends and steps of the wall clock, and converts wall clock to monotonic time.

    The conversion follows steps: it uses the clocks' difference at the last `check`.
    """

    def __init__(self, read: ReadClock = time.clock_gettime) -> None:
        self._read_clock = read
        self._last = self._read()

    def _read(self) -> _Reading:
        """Read the three clocks close together."""
        before = self._read_clock(time.CLOCK_MONOTONIC)
        boot = self._read_clock(time.CLOCK_BOOTTIME)
        epoch = self._read_clock(time.CLOCK_REALTIME)
        after = self._read_clock(time.CLOCK_MONOTONIC)
        return _Reading((before + after) / 2, boot, epoch)

    def check(self) -> tuple[ClockEvent, ...]:
        """Return the events since the last call; call it about once a second."""
        last, now = self._last, self._read()
        self._last = now
        events: list[ClockEvent] = []
        slept_s = (now.boot_s - last.boot_s) - (now.monotonic_s - last.monotonic_s)
        if slept_s >= SHORTEST_SUSPEND_S:
            events.append(ClockEvent(ClockEventKind.SUSPEND, now.monotonic_s, slept_s))
        step_s = (now.epoch_s - last.epoch_s) - (now.boot_s - last.boot_s)
        if abs(step_s) >= SHORTEST_STEP_S:
            events.append(ClockEvent(ClockEventKind.STEP, now.monotonic_s, step_s))
        return tuple(events)

    def monotonic_of(self, epoch_s: float) -> float:
        """Return the monotonic time of a wall clock time near the last check."""
        return epoch_s - self._last.epoch_s + self._last.monotonic_s

    def epoch_of(self, monotonic_s: float) -> float:
        """Return the wall clock time of a monotonic time near the last check."""
        return monotonic_s - self._last.monotonic_s + self._last.epoch_s


FLUSH_S: Final = 1.0
SERVER_LOG_LIMIT: Final = 256 * 1024
OUTPUT_LIMIT: Final = 1024 * 1024
_MOST_LINES: Final = 3
_LONGEST_LINE: Final = 100


class Recorder:
    """The main thread's side of a run file; only `tick` and `command` may be called from other threads.

    Attributes:
        writer: of the run file.
        clock: converts pgbench's and the server's wall clock times.
        failure: why the run file cannot be written any more.
        client_aborted: a client of the running pgbench gave up, so its figures are lost.
    """

    def __init__(self, writer: RunFileWriter) -> None:
        self.writer = writer
        self.clock = ClockWatch()
        self._owner = threading.get_ident()
        self._ticks: deque[Tick] = deque()
        self._commands: deque[CommandOutcome] = deque()
        self._progress: list[tuple[int, Sample]] = []
        self._unshown: ProgressReport | None = None
        self._streams: BenchmarkStreams | None = None
        self._server_log: ServerLogTail | None = None
        self._phase = PhaseName(Phase.PREPARE)
        self._benchmark_started_s = 0.0
        self._p99_ms: float | None = None
        self._left_over_rows = 0
        self._lost: list[tuple[str, str]] = []
        self._is_failure_reported = False
        self.failure: RunFileError | None = None
        self.client_aborted = False
        self.next_flush_s = time.monotonic() + FLUSH_S

    def _write(self, work: Callable[[RunFileWriter], None]) -> None:
        """Write in one transaction; do nothing after a failure.

        Raises:
            RunFileError: the file cannot be written; raised once.
        """
        if self.failure is None:
            try:
                with self.writer.transaction():
                    self._write_commands()
                    work(self.writer)
            except RunFileError as error:
                self.failure = error
        if self.failure is not None and not self._is_failure_reported:
            self._is_failure_reported = True
            raise self.failure

    # --- input from other parts

    def tick(self, tick: Tick) -> None:
        """Queue a tick of the sampler; called in its thread."""
        self._ticks.append(tick)

    def command(self, outcome: CommandOutcome) -> None:
        """Record a program that has ended; from any thread.

        Never raises: code that has just removed a folder must not fail because the run file is full. The next
        call of another method raises.
        """
        self._commands.append(outcome)
        if self.failure is not None or threading.get_ident() != self._owner:
            return
        try:
            with self.writer.transaction():
                self._write_commands()
        except RunFileError as error:
            self.failure = error

    def _write_commands(self) -> None:
        while self._commands:
            self.writer.add_command(self._commands.popleft())

    @property
    def phase(self) -> Phase:
        """The phase that was started last."""
        return self._phase.phase

    @property
    def phase_name(self) -> PhaseName:
        """The same with its number."""
        return self._phase

    def begin_phase(self, phase: Phase, number: int = 0) -> None:
        """End the current phase and start the next; `number` as in `PhaseName`."""
        self._phase = PhaseName(phase, number)
        self._write(lambda writer: writer.begin_phase(phase, writer.t_ms(), number))

    def event(self, kind: str, message: str, data: Mapping[str, Json] | None = None) -> None:
        """Record an event that happened now."""
        self._write(lambda writer: writer.add_event(writer.t_ms(), kind, message, data))

    def mark(self, kind: str, reason: str) -> None:
        """Label the run."""
        self._write(lambda writer: writer.add_mark(kind, reason))

    def set_run(self, metadata: RunMetadata) -> None:
        """Store the known fields of the run; other fields in the file stay."""
        values = values_of(metadata)
        self._write(lambda writer: writer.set_run(values))

    def facts(self, moment: str, facts: Mapping[str, Json]) -> None:
        """Store facts of the environment."""
        self._write(lambda writer: writer.add_facts(moment, facts))

    def whole_phase(self, seconds: float, means: Mapping[str, float]) -> None:
        """Store the kernel's counters over the whole measured phase."""
        values: dict[str, Json] = {"seconds": round(seconds, 3), "cpus": os.cpu_count(), "means": dict(means)}
        self.facts(WHOLE_PHASE, values)

    def server_facts(self, facts: ServerFacts) -> None:
        """Store the running server's facts."""
        settings: Json = {item.name: {"value": item.value, "source": item.source} for item in facts.settings}
        value: Json = {"version": facts.version_text, "configure": facts.configure, "settings": settings}
        self.facts("before", {"server": value, SERVER_DEFAULTS: dict(facts.defaults)})

    def pgbench_summary(self, summary: PgbenchSummary) -> None:
        """Store pgbench's own figures of the measured run."""
        self.set_run(RunMetadata(pgbench=printed_values(summary)))
        self.unknown_lines(summary)

    def unknown_lines(self, summary: PgbenchSummary) -> None:
        """Label the run if pgbench printed unknown lines."""
        if summary.other_lines:
            lines = " · ".join(line.strip()[:_LONGEST_LINE] for line in summary.other_lines[:_MOST_LINES])
            sentence = trn(
                "pgFooting cannot parse {count} line of pgbench's output, which is kept: {lines}",
                "pgFooting cannot parse {count} lines of pgbench's output, which are kept: {lines}",
                len(summary.other_lines),
            )
            self.mark("unknown-lines", sentence.format(count=len(summary.other_lines), lines=lines))

    # --- pgbench and the server

    def follow_server_log(self, open_log: OpenLog) -> None:
        """Read events from the server's log from now on."""
        self._server_log = ServerLogTail(open_log)

    def begin_pgbench(
        self, phase: Phase, folder: PrivateFolder, started_s: float, *, number: int = 0
    ) -> None:
        """Follow a pgbench that was started at this monotonic time; `number` as in `PhaseName`.

        Raises:
            PgbenchError: its output cannot be read.
        """
        self.client_aborted = False
        name = PhaseName(phase, number)
        self._streams = BenchmarkStreams(folder, name.stem)
        self._benchmark_started_s = started_s
        self._p99_ms = None
        self._unshown = None
        self._write(lambda writer: writer.set_phase(name, writer.t_ms(started_s), None))

    def follow_transactions(self, log: TransactionLog, pid: int, log_format: LogFormat) -> None:
        """Follow its transaction log as well."""
        origin_us = round(self.clock.epoch_of(self._benchmark_started_s) * 1e6)
        if self._phase.phase is Phase.MEASURE:
            self.set_run(RunMetadata(transaction_log_one_in=log.sample_one_in))
        if self._streams is not None:
            reason = self._streams.follow_log(log, pid, log_format, origin_us=origin_us)
            if reason:
                self._write(lambda _writer: self._write_lost_log(reason))

    def end_pgbench(self, phase: Phase, ended_s: float, *, complete: bool, number: int = 0) -> str:
        """Read the rest of an ended pgbench's output; return its stderr.

        Args:
            phase: in which it ran.
            ended_s: monotonic time.
            complete: it ended by itself, so its logs are complete.
            number: as in `PhaseName`.

        Raises:
            PgbenchError: its output cannot be read.
        """
        name = PhaseName(phase, number)
        streams, self._streams = self._streams, None
        if streams is None:
            return ""
        news = streams.finish()

        def store(writer: RunFileWriter) -> None:
            writer.set_phase(name, writer.t_ms(self._benchmark_started_s), writer.t_ms(ended_s))
            self._write_news(news, name)
            writer.set_output(f"{name.stem}.stderr", streams.text)
            if complete and streams.log_is_whole:
                writer.complete_latency_seconds(None)
            self._write_ticks()

        self._write(store)
        return streams.text

    def output(self, folder: PrivateFolder, name: str, stored_as: str) -> str:
        """Return and store a program's output in a file of the private folder, at most 1 MiB of it.

        Raises:
            PgbenchError: it cannot be read.
        """
        try:
            with open_private(folder, name) as file:
                text = file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
        except OSError as error:
            message = tr("{path} cannot be read: {reason}.")
            path = f"{folder.path}/{name}"
            raise PgbenchError(message.format(path=path, reason=error.strerror)) from error
        self._write(lambda writer: writer.set_output(stored_as, text))
        return text

    def keep_server_log(self, open_log: OpenLog) -> None:
        """Store the end of the server's log, or the reason why there is none.

        Raises:
            RunFileError: the run file cannot be written.
            TargetLostError: something else has replaced the log.
        """
        events = self._poll_server_log(ended=True)
        text = ""
        try:
            with open_log() as file:
                file.seek(max(0, file.seek(0, 2) - SERVER_LOG_LIMIT))
                text = file.read().decode("utf-8", "replace")
        except (
            FileNotFoundError,
            ProbeUnavailable,
        ):  # not started; or nobody knows, as was told at its start
            return
        except OSError as error:
            self._lose("server.log", error)

        def store(writer: RunFileWriter) -> None:
            self._write_lost_sources()
            for event in events:
                self._write_server_event(event)
            writer.set_output("server.log", text)

        self._write(store)

    # --- once a second

    def flush(self) -> ProgressReport | None:
        """Write all news in one transaction; return the newest second while pgbench runs.

        A second is only returned once it is in the file: a listener that saw it finds it there, even after
        the end of this process. It waits for one tick of the sampler.

        Raises:
            RunFileError: the run file cannot be written.
            PgbenchError: pgbench's progress cannot be read.
        """
        now = time.monotonic()
        # On the grid of whole seconds; missed ones are not made up for.
        self.next_flush_s += FLUSH_S * max(1, int((now - self.next_flush_s) / FLUSH_S) + 1)
        changes = self.clock.check()
        events = self._poll_server_log(ended=False)
        news = self._streams.poll() if self._streams is not None else StreamUpdate()
        may_wait = self._streams is not None and not self._progress

        def store(writer: RunFileWriter) -> None:
            self._write_lost_sources()
            for change in changes:
                write_clock_event(writer, change)
            for event in events:
                self._write_server_event(event)
            self._write_news(news, self._phase)
            self._write_ticks(may_wait=may_wait)

        self._write(store)
        second = self._newest_second(news) or self._unshown
        self._unshown = second if self._progress else None
        return None if self._progress else second

    def close(self) -> None:
        """Write the rest and close the file in any case.

        Raises:
            RunFileError: the rest could not be written.
        """

        def store(writer: RunFileWriter) -> None:
            self._write_lost_sources()
            self._write_ticks()
            writer.end_phase(writer.t_ms())

        try:
            self._write(store)
        finally:
            self.writer.close()

    def _poll_server_log(self, *, ended: bool) -> list[ServerEvent]:
        """Return new events of the server's log; give up an unreadable one."""
        tail = self._server_log
        if tail is None:
            return []
        if ended:
            self._server_log = None
        try:
            return tail.finish() if ended else tail.poll()
        except (OSError, TargetLostError, ProbeUnavailable) as error:
            self._lose("server.log", error)
            self._server_log = None
            tail.close()
            return []

    def _lose(self, source: str, error: OSError | TargetLostError | ProbeUnavailable) -> None:
        if isinstance(error, ProbeUnavailable):
            reason = error.reason
        else:
            words = (error.strerror or error) if isinstance(error, OSError) else error.message
            reason = tr("it cannot be read: {reason}").format(reason=words)
        self._lost.append((source, reason))

    def _write_lost_sources(self) -> None:
        lost, self._lost = self._lost, []
        for source, reason in lost:
            self.writer.add_unavailable(self.writer.t_ms(), source, reason)

    def _write_lost_log(self, reason: str) -> None:
        message = tr("The latencies of individual transactions are unknown from here on: {reason}")
        sentence = message.format(reason=reason)
        self.writer.add_event(self.writer.t_ms(), "latency-log", sentence)
        self.writer.add_unavailable(self.writer.t_ms(), "transaction-log", reason)
        self.writer.add_mark("partial-latencies", sentence)

    def _write_news(self, news: StreamUpdate, phase: PhaseName) -> None:
        # Complaints are stored at once; progress lines, which are samples already, when pgbench has ended:
        # to rewrite an hour of them every second would cost the library's device 200 KB a second.
        if news.others:
            self.writer.append_output(f"{phase.stem}.stderr", news.others)
            self.client_aborted = self.client_aborted or reports_aborted(news.others)
        for line in news.lines:
            t_ms = self._t_ms_of(line.time_s)
            self._progress.extend((t_ms, sample) for sample in progress_samples(line))
        for second in news.seconds:
            self.writer.put_latency_second(self._latency_second(second))
        if news.complete_before is not None:
            self.writer.complete_latency_seconds(self._second_t_ms(news.complete_before))
        if news.lost_log:
            self._write_lost_log(news.lost_log)

    def _newest_second(self, news: StreamUpdate) -> ProgressReport | None:
        whole = [item for item in news.seconds if item.transactions][:-1]
        if whole:
            self._p99_ms = whole[-1].histogram.percentile(99) / 1000
        if not news.lines:
            return None
        last = news.lines[-1]
        elapsed_s = self.clock.monotonic_of(last.time_s) - self._benchmark_started_s
        return ProgressReport(self._phase.phase, elapsed_s, last.tps, last.latency_ms, self._p99_ms)

    def _second_t_ms(self, number: int) -> int:
        return self.writer.t_ms(self._benchmark_started_s) + 1000 * number

    def _latency_second(self, second: SecondLatencies) -> LatencySecond:
        return LatencySecond(
            t_ms=self._second_t_ms(second.number),
            transactions=second.transactions,
            latency_sum_us=second.latency_sum_us,
            skipped=second.skipped,
            failed=second.failed,
            partial=True,
            buckets=second.histogram.encode(),
        )

    def _t_ms_of(self, epoch_s: float) -> int:
        return self.writer.t_ms(self.clock.monotonic_of(epoch_s))

    def _write_ticks(self, *, may_wait: bool = False) -> None:
        progress, self._progress = self._progress, []
        while self._ticks:
            tick = self._ticks.popleft()
            t_ms = self.writer.t_ms(tick.monotonic_s)
            samples = [(t_ms, sample) for sample in tick.samples]
            for reading in tick.delayed:
                read_ms = self.writer.t_ms(reading.monotonic_s)
                samples.extend((read_ms, sample) for sample in reading.samples)
            write_tick(self.writer, tick, t_ms, samples + progress)
            progress = []
        if may_wait:
            self._progress = progress
        elif progress:  # pgbench has ended, or no tick came: the next one may be far away
            self._write_left_over(progress)

    def _write_left_over(self, samples: list[tuple[int, Sample]]) -> None:
        """Store progress without a tick in its own row, with a negative number."""
        self._left_over_rows += 1
        t_ms = samples[-1][0]
        self.writer.add_tick(-self._left_over_rows, t_ms, lateness_us=0, missed=0, samples=samples)

    def _write_server_event(self, event: ServerEvent) -> None:
        data: dict[str, Json] = {**event.values, "pid": event.pid}
        self.writer.add_event(self._t_ms_of(event.epoch_s), event.kind.value, event.text, data)


def printed_values(summary: PgbenchSummary) -> dict[str, Json]:
    """Return pgbench's printed values as a run file stores them."""
    return {key: value for key, value in asdict(summary).items() if isinstance(value, int | float | str)}


# --- Rows of a run file for ticks and clock events.


def write_tick(writer: RunFileWriter, tick: Tick, t_ms: int, samples: Sequence[tuple[int, Sample]]) -> None:
    """Store a tick with its (t_ms, sample) pairs, missed seconds, and changes of sources."""
    lateness_us = round(tick.lateness_s * 1e6)
    missed = len(tick.missed)
    writer.add_tick(tick.number, t_ms, lateness_us=lateness_us, missed=missed, samples=samples)
    if missed:
        message = tr("{count} seconds without samples: the sampler was not scheduled")
        writer.add_event(t_ms, "missed", message.format(count=missed), {"count": missed})
    for miss in tick.missed_readings:
        message = tr("{probe}: no answer within a second").format(probe=miss.probe)
        writer.add_event(t_ms, "missed-reading", message, {"probe": miss.probe, "tick": miss.number})
    for change in tick.changes:
        if change.state is SourceState.UNAVAILABLE:
            writer.add_unavailable(t_ms, change.probe, change.reason)
        for omission in change.omissions:
            source = " ".join(part for part in (omission.metric, omission.instance) if part)
            writer.add_unavailable(t_ms, source, omission.reason)


def write_clock_event(writer: RunFileWriter, change: ClockEvent) -> None:
    """Store a suspend or a step of the wall clock, and label the run."""
    if change.kind is ClockEventKind.SUSPEND:
        message = tr("The machine slept for {seconds:.1f} s.").format(seconds=change.seconds)
        kind = "suspended"
    else:
        message = tr("The wall clock was stepped by {seconds:+.3f} s.").format(seconds=change.seconds)
        kind = "clock-step"
    writer.add_event(writer.t_ms(change.monotonic_s), kind, message, {"seconds": change.seconds})
    writer.add_mark(kind, message)
