"""CPU of the server and its backends, of pgbench, and of pgFooting itself, in cores.

Times come from /proc/PID/stat (proc(5)) in ticks of 10 ms; they are cumulative, so nothing is lost between
two reads. The server's CPU is the sum over the postmaster, its living children and its ended children (the
postmaster's cutime and cstime), which includes short-lived connections.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import (
    Clock,
    Counters,
    MissingMetric,
    Probe,
    ProbeContext,
    ProbeUnavailable,
    RawFile,
)
from app.probes.sources.cpu import TICKS_PER_S


class Children:
    """Lists the children of one process through /proc/PID/task/PID/children.

    Kernels with CONFIG_PROC_CHILDREN have that file (those of the distributions do). Children of threads
    other than the first are not found: neither the postmaster nor kthreadd has such threads.

    Raises:
        ProbeUnavailable: this kernel has no such file.
        OSError: the process is gone.
    """

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        folder = Path(proc, str(pid), "task", str(pid))
        if folder.exists() and not (folder / "children").exists():
            reason = tr("this kernel does not list the children of a process (CONFIG_PROC_CHILDREN)")
            raise ProbeUnavailable(reason)
        self._file = RawFile(str(folder / "children"))

    def pids(self) -> set[int]:
        """Return the current pids; a child that ends at this moment may or may not be included.

        Raises:
            OSError: the process itself is gone.
        """
        return {int(word) for word in self._file.read().split()}

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._file.close()


_KEPT_FILES: Final = 512
_ATTEMPTS: Final = 3
_OF_SERVER: Final = ("process.cpu_user", "process.cpu_system", "process.server_processes")


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """CPU ticks of one process.

    Attributes:
        parent: pid of the parent.
        user: own user time.
        system: own system time.
        ended_user: user time of children that ended and were waited for.
        ended_system: system time of the same.
    """

    parent: int
    user: int
    system: int
    ended_user: int
    ended_system: int


def parse_process_stat(text: bytes) -> ProcessTimes:
    """Return parent and times from /proc/PID/stat; the name in parentheses may contain anything.

    Raises:
        ValueError: not such a text.
    """
    fields = text[text.rindex(b")") + 2 :].split(None, 15)
    if len(fields) < 15:
        raise ValueError(text[:80])
    return ProcessTimes(int(fields[1]), *(int(field) for field in fields[11:15]))


def usable_threads(threads: int, cpus: int | None = None) -> int:
    """Return how many of pgbench's threads can run at once."""
    return max(1, min(threads, cpus or len(os.sched_getaffinity(0))))


class ServerTree:
    """The postmaster and its children; adds up their CPU ticks.

    A child's file stays open, which survives the reuse of its pid; children beyond the first 512 are opened
    at each read, so that the usual limit of 1024 files suffices.
    """

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        self.pid = pid
        self._proc = proc
        self._postmaster = RawFile(f"{proc}/{pid}/stat")
        self._children = Children(pid, proc)
        self._files: dict[int, RawFile] = {}

    def read(self) -> tuple[int, int, int]:
        """Return user ticks, system ticks and the number of processes.

        A child that ends during the read would be counted never or twice: the read is repeated if the
        postmaster's times of ended children have changed.

        Raises:
            OSError: the postmaster is gone.
        """
        for attempt in range(_ATTEMPTS):
            before = parse_process_stat(self._postmaster.read())
            user, system, count = self._read_children()
            after = parse_process_stat(self._postmaster.read())
            same = (before.ended_user, before.ended_system) == (after.ended_user, after.ended_system)
            if same or attempt == _ATTEMPTS - 1:
                return (
                    after.user + after.ended_user + user,
                    after.system + after.ended_system + system,
                    count + 1,
                )
        raise AssertionError

    def _read_children(self) -> tuple[int, int, int]:
        user = system = count = 0
        for pid in self._children.pids() | self._files.keys():
            times = self._read_child(pid)
            if times is not None:
                user += times.user + times.ended_user
                system += times.system + times.ended_system
                count += 1
        return user, system, count

    def _read_child(self, pid: int) -> ProcessTimes | None:
        """Return a child's times; None if it ended or its pid now belongs to another process."""
        file = self._files.get(pid)
        try:
            if file is not None:
                return parse_process_stat(file.read())
            file = RawFile(f"{self._proc}/{pid}/stat")
            times = parse_process_stat(file.read())
        except OSError:
            if file is not None:
                file.close()
            self._files.pop(pid, None)
            return None
        if times.parent == self.pid and len(self._files) < _KEPT_FILES:
            self._files[pid] = file
        else:
            file.close()
        return times if times.parent == self.pid else None

    def close(self) -> None:
        """Close all files."""
        self._postmaster.close()
        self._children.close()
        for file in self._files.values():
            file.close()
        self._files.clear()


class ProcessesProbe(Probe):
    """CPU of PostgreSQL, pgbench and pgFooting; follows the context when either is restarted."""

    id = "processes"
    label = tr("CPU of PostgreSQL and pgbench")
    of_machine = False  # pgbench's processes are here, wherever the server is

    def __init__(self, proc: str = "/proc", clock: Clock = time.monotonic) -> None:
        self._proc = proc
        self._server = _Watched("postgres", clock)
        self._pgbench = _Watched("pgbench", clock)
        self._self = _Watched("pgfooting", clock)
        self._tree: ServerTree | None = None
        self._client: RawFile | None = None
        self._context: ProbeContext | None = None
        self._threads = 1

    @override
    def open(self, context: ProbeContext) -> None:
        if not Path(self._proc, "self", "stat").exists():
            raise ProbeUnavailable(tr("/proc is not mounted, so CPU times of processes are unknown"))
        self.close()
        self._context = context
        if context.server.postmaster_pid is None and context.server.reason:
            self.omissions = tuple(
                MissingMetric(metric, context.server.reason, "postgres") for metric in _OF_SERVER
            )
        self._self.follow(os.getpid())

    @override
    def read(self) -> list[Sample]:
        if self._context is None:
            return []
        return [*self._read_server(self._context), *self._read_pgbench(self._context), *self._read_self()]

    def _read_server(self, context: ProbeContext) -> list[Sample]:
        pid = context.server.postmaster_pid
        if self._server.follow(pid):
            self._close_tree()
        if pid is None:
            return []
        try:
            self._tree = self._tree or ServerTree(pid, self._proc)
            user, system, count = self._tree.read()
        except OSError:  # it ended; the runner knows why and changes the context
            self._close_tree()
            self._server.counters.forget()
            return []
        samples, _ = self._server.step(user / TICKS_PER_S, system / TICKS_PER_S)
        return [*samples, Sample("process.server_processes", count)] if samples else []

    def _read_pgbench(self, context: ProbeContext) -> list[Sample]:
        pid = context.pgbench_pid
        if self._pgbench.follow(pid):
            self._close_client()
            self._threads = usable_threads(context.pgbench_threads)
        if pid is None:
            return []
        try:
            self._client = self._client or RawFile(f"{self._proc}/{pid}/stat")
            times = parse_process_stat(self._client.read())
        except OSError:
            self._close_client()
            self._pgbench.counters.forget()
            return []
        samples, cores = self._pgbench.step(
            (times.user + times.ended_user) / TICKS_PER_S, (times.system + times.ended_system) / TICKS_PER_S
        )
        share = [Sample("process.pgbench_share", round(100 * cores / self._threads, 1))]
        return [*samples, *share] if samples else []

    def _read_self(self) -> list[Sample]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return self._self.step(usage.ru_utime, usage.ru_stime)[0]

    @override
    def close(self) -> None:
        self._close_tree()
        self._close_client()
        self._server.follow(None)
        self._pgbench.follow(None)

    def _close_tree(self) -> None:
        if self._tree is not None:
            self._tree.close()
            self._tree = None

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class _Watched:
    """Counters of one program under its name in the run file."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._name = name
        self._pid: int | None = None
        self.counters = Counters(clock)

    def follow(self, pid: int | None) -> bool:
        """Watch `pid` from now on; return whether it has changed."""
        if pid == self._pid:
            return False
        self._pid = pid
        self.counters.forget()
        return True

    def step(self, user_s: float, system_s: float) -> tuple[list[Sample], float]:
        """Return the samples and the cores used in all."""
        difference = self.counters.step((user_s, system_s))
        if difference is None:
            return [], 0.0
        user, system = (gain / difference.interval_s for gain in difference.deltas)
        return [
            Sample("process.cpu_user", round(user, 3), self._name),
            Sample("process.cpu_system", round(system, 3), self._name),
        ], user + system
