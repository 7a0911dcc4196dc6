"""How many processes of the server and threads of pgbench are ready to run but wait for a CPU.

From the time that each spent on a run queue, the second number of /proc/PID/schedstat, in nanoseconds
(Documentation/scheduler/sched-stats.rst). It shows whether CPUs limit a run in cases that utilisation hides:
programs bound to some of the CPUs, or others that use the idle ones. A session that received a statement and
has not run yet still looks idle in pg_stat_activity.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import Clock, MissingMetric, Probe, ProbeContext, ProbeUnavailable, RawFile
from app.probes.sources.processes import Children

MOST_PROCESSES: Final = 256
"""Maximum number of server processes that are read, which limits open files; beyond it they are a sample."""

_NS: Final = 1e9
METRIC: Final = "process.queueing"


def parse_run_delay(text: bytes) -> int:
    """Return the nanoseconds on a run queue from /proc/PID/schedstat.

    Raises:
        ValueError: not such a text.
    """
    fields = text.split()
    if len(fields) < 3:
        raise ValueError(text[:80])
    return int(fields[1])


class RunQueueProbe(Probe):
    """Processes that wait for a CPU."""

    id = "run-queue"
    label = tr("Waiting for CPUs")
    of_machine = False  # pgbench's processes are here, wherever the server is

    def __init__(self, proc: str = "/proc", clock: Clock = time.monotonic) -> None:
        self._proc = proc
        self._context: ProbeContext | None = None
        self._server = _Delays(clock)
        self._pgbench = _Delays(clock)
        self._children: Children | None = None
        self._postmaster: int | None = None

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            RawFile(f"{self._proc}/self/schedstat").close()
        except OSError as err:
            raise ProbeUnavailable(
                tr("this kernel does not report how long programs wait for a CPU (/proc/PID/schedstat)")
            ) from err
        self._context = context
        if context.server.postmaster_pid is None and context.server.reason:
            self.omissions = (MissingMetric(METRIC, context.server.reason, "postgres"),)

    @override
    def read(self) -> list[Sample]:
        if self._context is None:
            return []
        return [*self._read_server(self._context), *self._read_pgbench(self._context)]

    def _read_server(self, context: ProbeContext) -> list[Sample]:
        pid = context.server.postmaster_pid
        if pid != self._postmaster:
            self._forget_server()
            self._postmaster = pid
        if pid is None:
            return []
        try:
            self._children = self._children or Children(pid, self._proc)
            pids = sorted(self._children.pids())
        except OSError:  # it ended; the runner knows why and changes the context
            self._forget_server()
            return []
        read = pids[:MOST_PROCESSES]
        scale = len(pids) / len(read) if read else 1.0
        return self._server.step("postgres", {f"{self._proc}/{each}/schedstat" for each in read}, scale)

    def _read_pgbench(self, context: ProbeContext) -> list[Sample]:
        pid = context.pgbench_pid
        if pid is None:
            self._pgbench.close()
            return []
        try:
            paths = {f"{thread}/schedstat" for thread in Path(self._proc, str(pid), "task").iterdir()}
        except OSError:
            self._pgbench.close()
            return []
        return self._pgbench.step("pgbench", paths, 1.0)

    def _forget_server(self) -> None:
        if self._children is not None:
            self._children.close()
            self._children = None
        self._postmaster = None
        self._server.close()

    @override
    def close(self) -> None:
        self._forget_server()
        self._pgbench.close()
        self._context = None


class _Delays:
    """The run delays of a changing set of processes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, RawFile] = {}
        self._delays: dict[str, int] = {}
        self._time_s: float | None = None

    def step(self, instance: str, paths: Iterable[str], scale: float) -> list[Sample]:
        """Return how many waited since the last read; empty at the first one.

        A process that started or ended since then does not count.
        """
        now, before = self._clock(), self._delays
        self._delays = {path: delay for path in paths if (delay := self._read(path)) is not None}
        for path in self._files.keys() - self._delays.keys():
            self._files.pop(path).close()
        then, self._time_s = self._time_s, now
        if then is None or now <= then:
            return []
        gained = sum(max(0, delay - before[path]) for path, delay in self._delays.items() if path in before)
        return [Sample(METRIC, round(scale * gained / _NS / (now - then), 3), instance)]

    def _read(self, path: str) -> int | None:
        try:
            file = self._files.get(path)
            if file is None:
                file = self._files[path] = RawFile(path)
            return parse_run_delay(file.read())
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files, self._delays, self._time_s = {}, {}, None
