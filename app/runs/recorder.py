"""Gathers what the sampler, pgbench and the server say, and writes it into the run file once a second.

The sampler's thread only appends to a queue; everything else happens in the runner's main thread, so a
slow disk under the run file delays rows, never samples.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from app.domain.metrics import Sample
from app.domain.text import tr
from app.hosts.site import Site, open_private
from app.postgres.facts import read_server_facts
from app.postgres.pgbench_argv import TransactionLog
from app.postgres.pgbench_log import LogFormat
from app.postgres.pgbench_summary import PgbenchSummary
from app.postgres.second_histograms import SecondLatencies
from app.postgres.server import Server
from app.probes.clock import ClockEvent, ClockEventKind, ClockWatch
from app.probes.log_tail import ServerLogTail
from app.probes.sampler import Tick
from app.probes.server_log import ServerEvent
from app.probes.source import SourceState
from app.process import CommandOutcome
from app.runs.benchmark_streams import BenchmarkNews, BenchmarkStreams, progress_samples
from app.runs.progress import Second
from app.runs.runfile import Json, LatencySecond, Phase, RunFileWriter

FLUSH_S: Final = 1.0
SERVER_LOG_LIMIT: Final = 256 * 1024


class Recorder:
    """The main thread's side of a run file; only `tick` may be called from another thread.

    Attributes:
        writer: of the run file.
        clock: converts pgbench's and the server's wall clock times.
    """

    def __init__(self, writer: RunFileWriter) -> None:
        self.writer = writer
        self.clock = ClockWatch()
        self._ticks: deque[Tick] = deque()
        self._progress: list[tuple[int, Sample]] = []
        self._streams: BenchmarkStreams | None = None
        self._server_log: ServerLogTail | None = None
        self._phase = Phase.PREPARE
        self._benchmark_started_s = 0.0
        self._p99_ms: float | None = None
        self._left_over_rows = 0
        self.next_flush_s = time.monotonic() + FLUSH_S

    # --- what other parts tell

    def tick(self, tick: Tick) -> None:
        """Take a tick of the sampler; called in its thread."""
        self._ticks.append(tick)

    def command(self, outcome: CommandOutcome) -> None:
        """Record a program that has ended."""
        with self.writer.transaction():
            self.writer.add_command(outcome)

    def begin_phase(self, phase: Phase) -> None:
        """End the phase that lasts and begin the next."""
        self._phase = phase
        with self.writer.transaction():
            self.writer.begin_phase(phase, self.writer.t_ms())

    def event(self, kind: str, message: str, data: Mapping[str, Json] | None = None) -> None:
        """Record something that happened now."""
        with self.writer.transaction():
            self.writer.add_event(self.writer.t_ms(), kind, message, data)

    def mark(self, kind: str, reason: str) -> None:
        """Label the run."""
        with self.writer.transaction():
            self.writer.add_mark(kind, reason)

    def set_run(self, values: Mapping[str, Json]) -> None:
        """Store what the run is."""
        with self.writer.transaction():
            self.writer.set_run(values)

    def facts(self, moment: str, facts: Mapping[str, Json]) -> None:
        """Store facts of the environment."""
        with self.writer.transaction():
            self.writer.add_facts(moment, facts)

    def server_facts(self, server: Server) -> None:
        """Store what the running server says about itself."""
        told = read_server_facts(server.conninfo)
        settings: Json = {item.name: {"value": item.value, "source": item.source} for item in told.settings}
        value: Json = {"version": told.version_text, "configure": told.configure, "settings": settings}
        self.facts("before", {"server": value})

    def pgbench_summary(self, summary: PgbenchSummary) -> None:
        """Store pgbench's own figures of the measured run."""
        values: dict[str, Json] = {
            key: value for key, value in asdict(summary).items() if isinstance(value, int | float | str)
        }
        self.set_run({"pgbench": values})

    # --- pgbench and the server

    def follow_server_log(self, path: str) -> None:
        """Read events from the server's log from now on."""
        self._server_log = ServerLogTail(path)

    def begin_pgbench(self, phase: Phase, site: Site, started_s: float) -> None:
        """Follow a pgbench that was started at this monotonic time."""
        self._streams = BenchmarkStreams(site, phase.value)
        self._benchmark_started_s = started_s
        self._p99_ms = None
        with self.writer.transaction():
            self.writer.set_phase(phase, self.writer.t_ms(started_s), None)

    def follow_transactions(self, log: TransactionLog, pid: int, log_format: LogFormat) -> None:
        """Follow its transaction log as well."""
        origin_us = round(self.clock.epoch_of(self._benchmark_started_s) * 1e6)
        if self._streams is not None:
            self._streams.follow_log(log, pid, log_format, origin_us=origin_us)
        self.set_run({"transaction_log_one_in": log.sample_one_in})

    def end_pgbench(self, phase: Phase, ended_s: float, *, complete: bool) -> str:
        """Take in what an ended pgbench has left; return what it printed to stderr.

        Args:
            phase: warm-up or measure.
            ended_s: monotonic time.
            complete: it ended by itself, so its logs are whole.
        """
        streams, self._streams = self._streams, None
        text = ""
        with self.writer.transaction():
            self.writer.set_phase(
                phase, self.writer.t_ms(self._benchmark_started_s), self.writer.t_ms(ended_s)
            )
            if streams is not None:
                news = streams.finish()
                text = news.text
                self._write_news(news, phase)
                if complete:
                    self.writer.complete_latency_seconds(None)
            self._write_ticks()
        return text

    def output(self, site: Site, name: str, stored_as: str) -> str:
        """Return and store what a program wrote to a file of the private folder."""
        with open_private(site, name) as file:
            text = file.read().decode("utf-8", "replace")
        with self.writer.transaction():
            self.writer.set_output(stored_as, text)
        return text

    def keep_server_log(self, site: Site) -> None:
        """Store the end of the server's log."""
        if self._server_log is not None:
            with self.writer.transaction():
                for event in self._server_log.finish():
                    self._write_server_event(event)
            self._server_log = None
        try:
            with open_private(site, "server.log") as file:
                size_bytes = file.seek(0, 2)
                file.seek(max(0, size_bytes - SERVER_LOG_LIMIT))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return
        with self.writer.transaction():
            self.writer.set_output("server.log", text)

    # --- once a second

    def flush(self) -> Second | None:
        """Write everything new in one transaction; return the newest second where pgbench runs.

        Raises:
            RunFileError: the run file cannot be written.
        """
        now = time.monotonic()
        # On the grid of whole seconds; what was slept through is not made up for.
        self.next_flush_s += FLUSH_S * max(1, int((now - self.next_flush_s) / FLUSH_S) + 1)
        second: Second | None = None
        with self.writer.transaction():
            for change in self.clock.check():
                self._write_clock_event(change)
            if self._server_log is not None:
                for event in self._server_log.poll():
                    self._write_server_event(event)
            if self._streams is not None:
                second = self._write_news(self._streams.poll(), self._phase)
            self._write_ticks()
        return second

    def close(self) -> None:
        """Write what is left and close the file."""
        with self.writer.transaction():
            self._write_ticks()
            self.writer.end_phase(self.writer.t_ms())
        self.writer.close()

    def _write_news(self, news: BenchmarkNews, phase: Phase) -> Second | None:
        if news.text:
            self.writer.append_output(f"{phase.value}.stderr", news.text)
        for line in news.lines:
            t_ms = self._t_ms_of(line.time_s)
            self._progress.extend((t_ms, sample) for sample in progress_samples(line))
        for second in news.seconds:
            self.writer.put_latency_second(self._latency_second(second))
        if news.complete_before is not None:
            self.writer.complete_latency_seconds(self._second_t_ms(news.complete_before))
        whole = [item for item in news.seconds if item.transactions][:-1]
        if whole:
            self._p99_ms = whole[-1].histogram.percentile(99) / 1000
        if not news.lines:
            return None
        last = news.lines[-1]
        elapsed_s = self.clock.monotonic_of(last.time_s) - self._benchmark_started_s
        return Second(phase, elapsed_s, last.tps, last.latency_ms, self._p99_ms)

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

    def _write_ticks(self) -> None:
        progress, self._progress = self._progress, []
        while self._ticks:
            tick = self._ticks.popleft()
            t_ms = self.writer.t_ms(tick.monotonic_s)
            samples = [(t_ms, sample) for sample in tick.samples]
            for reading in tick.delayed:
                read_ms = self.writer.t_ms(reading.monotonic_s)
                samples.extend((read_ms, sample) for sample in reading.samples)
            self._write_tick(tick, t_ms, samples + progress)
            progress = []
        if progress and self._streams is None:  # pgbench has ended: the next tick may be far away
            self._write_left_over(progress)
        else:
            self._progress = progress + self._progress

    def _write_tick(self, tick: Tick, t_ms: int, samples: list[tuple[int, Sample]]) -> None:
        lateness_us = round(tick.lateness_s * 1e6)
        missed = len(tick.missed)
        self.writer.add_tick(tick.number, t_ms, lateness_us=lateness_us, missed=missed, samples=samples)
        if missed:
            message = tr("{count} seconds without samples: the sampler was not scheduled")
            self.writer.add_event(t_ms, "missed", message.format(count=missed), {"count": missed})
        for miss in tick.missed_readings:
            message = tr("{probe}: no answer within a second").format(probe=miss.probe)
            self.writer.add_event(t_ms, "missed-reading", message, {"probe": miss.probe, "tick": miss.number})
        for change in tick.changes:
            if change.state is SourceState.UNAVAILABLE:
                self.writer.add_unavailable(t_ms, change.probe, change.reason)
            for omission in change.omissions:
                source = " ".join(part for part in (omission.metric, omission.instance) if part)
                self.writer.add_unavailable(t_ms, source, omission.reason)

    def _write_left_over(self, samples: list[tuple[int, Sample]]) -> None:
        """Store progress without a tick in a row of its own, whose number is negative."""
        self._left_over_rows += 1
        t_ms = samples[-1][0]
        self.writer.add_tick(-self._left_over_rows, t_ms, lateness_us=0, missed=0, samples=samples)

    def _write_server_event(self, event: ServerEvent) -> None:
        data: dict[str, Json] = {**event.values, "pid": event.pid}
        self.writer.add_event(self._t_ms_of(event.epoch_s), event.kind.value, event.text, data)

    def _write_clock_event(self, change: ClockEvent) -> None:
        t_ms = self.writer.t_ms(change.monotonic_s)
        if change.kind is ClockEventKind.SUSPEND:
            message = tr("The machine slept for {seconds:.1f} s.").format(seconds=change.seconds)
            kind = "suspended"
        else:
            message = tr("The wall clock was set by {seconds:+.3f} s.").format(seconds=change.seconds)
            kind = "clock-step"
        self.writer.add_event(t_ms, kind, message, {"seconds": change.seconds})
        self.writer.add_mark(kind, message)
