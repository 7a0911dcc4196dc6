"""Read all probes once a second without drift and deliver ticks.

Deadlines are absolute: start + number x interval on CLOCK_MONOTONIC. A late tick is delivered late, with
rates over its true interval. Deadlines that passed during a sleep are recorded as missed; nothing is
interpolated. Probes that may block have their own threads, and their readings are delivered with the next
tick under their own time. A failing probe is opened again later; its exceptions never reach the other probes
or the run.
"""

from __future__ import annotations

import logging
import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import (
    Clock,
    Counters,
    MissingMetric,
    Probe,
    ProbeContext,
    ProbeUnavailable,
    ReadMissed,
)
from app.probes.sources.cpu import CpuProbe, PressureProbe, SwapInProbe
from app.probes.sources.processes import KernelThreadsProbe, ProcessesProbe

LONGEST_PAUSE: Final = 32
"""Maximum number of reads to skip before the next attempt; it doubles from 1."""

_log = logging.getLogger(__name__)


class SourceState(StrEnum):
    """State of a source."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source changed its state, or the reason for it.

    Attributes:
        probe: `Probe.id`.
        state: the new state.
        reason: a sentence for users; empty when available.
        omissions: metrics it cannot provide although it is available.
    """

    probe: str
    state: SourceState
    reason: str = ""
    omissions: tuple[MissingMetric, ...] = ()


class ProbeSlot:
    """One probe with its state. Used by one thread, except for `take_changes` and `reason`.

    Attributes:
        probe: the probe.
        reason: why it yields nothing now; empty while it works.
        missed: the last read was useless, without an error.
    """

    def __init__(self, probe: Probe, context: ProbeContext) -> None:
        self.probe = probe
        self.reason = ""
        self.missed = False
        self._context = context
        self._is_open = False
        self._recorded: tuple[str, tuple[MissingMetric, ...]] = ("", ())
        self._changes: deque[SourceChange] = deque()
        self._pause = 1
        self._skip = 0

    def open(self) -> None:
        """Open the probe; a failure is retried later."""
        try:
            self.probe.open(self._context)
        except Exception as err:  # noqa: BLE001 - a border: one probe never stops the others
            self._fail(err)
        else:
            self._is_open = True  # whether it works, only a read can tell

    def read(self) -> list[Sample]:
        """Return the probe's samples; empty while it is unavailable."""
        self.missed = False
        if not self._is_open and not self._reopen():
            return []
        try:
            samples = self.probe.read()
        except ReadMissed:
            self.missed = True
            return []
        except Exception as err:  # noqa: BLE001 - a border: one probe never stops the others
            self._fail(err)
            return []
        self._pause = 1
        self._record("")
        return samples

    def _reopen(self) -> bool:
        if self._skip > 0:
            self._skip -= 1
            return False
        self.open()
        return self._is_open

    def _fail(self, err: Exception) -> None:
        self._is_open = False
        self._skip, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        self.probe.close()
        self._record(_reason(err))
        if not isinstance(err, ProbeUnavailable | OSError):
            _log.error("probe %s failed", self.probe.id, exc_info=err)

    def _record(self, reason: str) -> None:
        """Record a change of state; repeated states are recorded once."""
        self.reason = reason
        now = (reason, self.probe.omissions)
        if now != self._recorded:
            self._recorded = now
            state = SourceState.UNAVAILABLE if reason else SourceState.AVAILABLE
            self._changes.append(SourceChange(self.probe.id, state, reason, self.probe.omissions))

    def take_changes(self) -> list[SourceChange]:
        """Return the changes since the last call; may be called by another thread than `read`."""
        changes: list[SourceChange] = []
        while self._changes:  # append and popleft of a deque are atomic, and only one thread takes
            changes.append(self._changes.popleft())
        return changes

    def close(self) -> None:
        """Close the probe."""
        self._is_open = False
        self.probe.close()


def _reason(err: Exception) -> str:
    if isinstance(err, ProbeUnavailable):
        return err.reason
    if isinstance(err, OSError):
        return tr("it cannot be read: {reason}").format(reason=err)
    return tr("cannot parse: {error!r}").format(error=err)


STOP_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class ProbeReading:
    """Result of a blocking probe.

    Attributes:
        probe: `Probe.id`.
        number: the tick that requested it.
        monotonic_s: when it was read.
        samples: may be empty.
    """

    probe: str
    number: int
    monotonic_s: float
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class MissedReading:
    """A blocking probe yielded no value of its own for a tick.

    Attributes:
        probe: `Probe.id`.
        number: the tick that requested it.
    """

    probe: str
    number: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The readings of one deadline.

    Attributes:
        number: counts the deadlines of a run from 0, across samplers.
        monotonic_s: when reading began.
        lateness_s: how long after the deadline that was.
        interval_s: time since the previous tick; 0 at the first.
        samples: of the probes that do not block; true for the interval up to `monotonic_s`.
        delayed: readings that blocking probes finished since the previous tick.
        missed: numbers of deadlines that passed without a tick.
        missed_readings: useless readings of blocking probes.
        changes: sources that became unavailable, failed or came back, each once.
        read_s: how long reading took.
    """

    number: int
    monotonic_s: float
    lateness_s: float
    interval_s: float
    samples: tuple[Sample, ...]
    delayed: tuple[ProbeReading, ...] = ()
    missed: tuple[int, ...] = ()
    missed_readings: tuple[MissedReading, ...] = ()
    changes: tuple[SourceChange, ...] = ()
    read_s: float = 0.0


Deliver = Callable[[Tick], None]


class Sampler:
    """The thread that ticks. Used once: `start`, then `stop`.

    Args:
        probes: each used by this sampler alone.
        context: shared with the runner, which changes it while the sampler runs.
        deliver: called in the sampler's thread with every tick; must be quick.
        interval_s: distance of the deadlines.
        clock: CLOCK_MONOTONIC; replaced in tests.
        wait: waits some seconds, returns whether to stop; replaced in tests.
    """

    def __init__(
        self,
        probes: Sequence[Probe],
        context: ProbeContext,
        deliver: Deliver,
        interval_s: float = 1.0,
        *,
        clock: Clock = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._clock = clock
        self._interval_s = interval_s
        self._first = 0
        self._deliver = deliver
        self._sources = [ProbeSlot(probe, context) for probe in probes if not probe.blocking]
        self._workers = [_Worker(ProbeSlot(probe, context)) for probe in probes if probe.blocking]
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._start_s = 0.0
        self._previous: Tick | None = None
        self._failure: BaseException | None = None

    def _all_sources(self) -> list[ProbeSlot]:
        return [*self._sources, *(worker.source for worker in self._workers)]

    @property
    def next_number(self) -> int:
        """Number of the next tick."""
        return self._first if self._previous is None else self._previous.number + 1

    def start(self, first: int = 0) -> None:
        """Open all probes that do not block and start; the first tick is immediate.

        Args:
            first: its number: the next number of an earlier sampler of the same run.
        """
        self._first = first
        for source in self._sources:
            source.open()
        self._start_s = self._clock()
        for worker in self._workers:
            worker.start()
        self._thread.start()

    def stop(self) -> None:
        """End within 2 s, even if a blocking probe waits, and close all probes.

        Raises:
            BaseException: an exception of `deliver` that ended the sampler.
        """
        self._stopping.set()
        deadline_s = time.monotonic() + STOP_TIMEOUT_S
        for worker in self._workers:
            worker.interrupt()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, deadline_s - time.monotonic()))
        for worker in self._workers:
            worker.join(max(0.0, deadline_s - time.monotonic()))
        if not self._thread.is_alive():
            for source in self._sources:
                source.close()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        number = self._first
        try:
            while not self._wait(max(0.0, self._deadline_s(number) - self._clock())):
                passed = int((self._clock() - self._start_s) / self._interval_s)
                number = max(number, self._first + passed)  # served is the last deadline that has passed
                self._deliver(self._tick(number))
                number += 1
        except BaseException as err:  # noqa: BLE001 - a border: told by stop()
            self._failure = err

    def _deadline_s(self, number: int) -> float:
        return self._start_s + (number - self._first) * self._interval_s

    def _tick(self, number: int) -> Tick:
        now = self._clock()
        previous = self._previous
        samples = [sample for source in self._sources for sample in source.read()]
        delayed: list[ProbeReading] = []
        missed: list[MissedReading] = []
        for worker in self._workers:
            readings, misses = worker.collect(number)
            delayed += readings
            missed += misses
        tick = Tick(
            number=number,
            monotonic_s=now,
            lateness_s=now - self._deadline_s(number),
            interval_s=now - previous.monotonic_s if previous else 0.0,
            samples=tuple(samples),
            delayed=tuple(delayed),
            missed=tuple(range(self.next_number, number)),
            missed_readings=tuple(missed),
            changes=tuple(change for source in self._all_sources() for change in source.take_changes()),
            read_s=self._clock() - now,
        )
        self._previous = tick
        return tick


class _Worker:
    """A blocking probe in its thread: reads once when asked, at most one reading at a time."""

    def __init__(self, source: ProbeSlot) -> None:
        self.source = source
        self._condition = threading.Condition()
        self._asked: int | None = None
        self._reported_missed = False
        self._finished: list[ProbeReading] = []
        self._missed: list[MissedReading] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"probe {source.probe.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def collect(self, number: int) -> tuple[list[ProbeReading], list[MissedReading]]:
        """Return results and misses since the last call, and request the next reading.

        While a reading has not returned, further ticks are missed.
        """
        with self._condition:
            if self._asked is None:
                self._asked, self._reported_missed = number, False
                self._condition.notify()
            else:
                if not self._reported_missed:
                    self._missed.append(MissedReading(self.source.probe.id, self._asked))
                    self._reported_missed = True
                self._missed.append(MissedReading(self.source.probe.id, number))
            finished, self._finished = self._finished, []
            missed, self._missed = self._missed, []
            return finished, missed

    def _run(self) -> None:
        self.source.open()
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._stopping or self._asked is not None)
                if self._stopping or self._asked is None:
                    break
                number = self._asked
            samples = self.source.read()
            now = time.monotonic()
            with self._condition:
                self._store(number, now, samples)
                self._asked = None
                self._condition.notify_all()
        self.source.close()

    def _store(self, number: int, now: float, samples: list[Sample]) -> None:
        if self._reported_missed:  # older than an interval: what it says belongs to no tick
            return
        if self.source.missed:
            self._missed.append(MissedReading(self.source.probe.id, number))
        else:
            self._finished.append(ProbeReading(self.source.probe.id, number, now, tuple(samples)))

    def interrupt(self) -> None:
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self.source.probe.interrupt()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread; a hanging one is a daemon and is abandoned."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)


# Read the kernel's counters at the start and at the end of a phase, however short it was.
#
# The sampler has one value per whole second inside a phase: two for a phase of three seconds. Cumulative
# counters cover the whole phase with two reads.


_PROBES: Final[tuple[type[Probe], ...]] = (
    CpuProbe,
    ProcessesProbe,
    KernelThreadsProbe,
    PressureProbe,
    SwapInProbe,
)
"""The probes whose cumulative counters are needed to judge disturbances."""


class WholePhase:
    """Reads the counters twice: on creation, and in `read`. Used once.

    Args:
        context: of the probes. Nothing is read if the server is on another machine.
    """

    def __init__(self, context: ProbeContext) -> None:
        self._slots: list[ProbeSlot] = []
        self._ended = Counters()
        if context.server.elsewhere is None:
            # pgbench counts as an ended child: /proc no longer has it by then.
            own = ProbeContext(context.server)
            self._slots = [ProbeSlot(probe(), own) for probe in _PROBES]
        for slot in self._slots:
            slot.open()
            slot.read()
        self._started_s = time.monotonic()
        self._ended.step(_ended_children())

    def read(self) -> tuple[float, Mapping[str, float]]:
        """Return the seconds since the start, and means over them by metric and instance.

        A key is the metric, a blank and the instance, without the blank if there is no instance. Unreadable
        values are missing.
        """
        seconds = time.monotonic() - self._started_s
        samples = [sample for slot in self._slots for sample in slot.read()]
        if self._slots and (used := self._ended.step(_ended_children())) is not None:
            user, system = (gain / used.interval_s for gain in used.deltas)
            samples.append(Sample("process.cpu_user", round(user, 3), "pgbench"))
            samples.append(Sample("process.cpu_system", round(system, 3), "pgbench"))
        self.close()
        return seconds, {f"{each.metric} {each.instance}".strip(): each.value for each in samples}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for slot in self._slots:
            slot.close()


def _ended_children() -> tuple[float, float]:
    """Return the CPU time of this process's ended children, which include pgbench."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime, usage.ru_stime
