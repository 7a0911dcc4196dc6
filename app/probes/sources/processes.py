"""CPU of server, pgbench, pgFooting and kernel threads, in cores, and how many wait to run.

Times come from /proc/PID/stat (proc(5)) in ticks of 10 ms; they are cumulative, so nothing is lost between
two reads. The server's CPU is the sum over the postmaster, its living children and its ended children (the
postmaster's cutime and cstime), which includes short-lived connections.
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.filesystems import FILESYSTEMS
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
            reason = tr("this kernel was built without {option}").format(option="CONFIG_PROC_CHILDREN")
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
    label = tr("PostgreSQL and pgbench CPU")
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
            raise ProbeUnavailable(tr("/proc is not mounted here"))
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


# CPU of kernel threads for filesystems, arrays and memory, by family, in cores.
#
# Kernel threads do part of the work of PostgreSQL's writes: jbd2 for ext4, txg_sync for ZFS, md0_raid5 for an
# array, kworker for write-back and much else. They are the children of kthreadd (pid 2).


KTHREADD_PID: Final = 2
RESCAN_S: Final = 10.0
KEPT_FILES: Final = 256
WORKERS: Final = "kworker"

_FAMILIES: Final = (
    (WORKERS, re.compile(r"kworker/")),
    *(
        (spec.kernel_threads.family, re.compile(spec.kernel_threads.pattern))
        for spec in FILESYSTEMS
        if spec.kernel_threads
    ),
    ("md", re.compile(r"md\d|md_|mdX|raid5wq")),
    ("bcachefs", re.compile(r"bch-|bcachefs")),
    ("dm", re.compile(r"dmcrypt|kdmflush|kcryptd|dm-")),
    ("loop", re.compile(r"loop\d")),
    ("nvme", re.compile(r"nvme")),
    ("kswapd", re.compile(r"kswapd")),
    ("kcompactd", re.compile(r"kcompactd")),
    ("khugepaged", re.compile(r"khugepaged")),
    ("ksoftirqd", re.compile(r"ksoftirqd")),
    ("irq", re.compile(r"irq/")),
)
"""Names from the sources of the kernel and of OpenZFS; the first match counts."""


def family_of(name: str) -> str | None:
    """Return the family of a kernel thread by its name; None if it has nothing to do with storage."""
    return next((family for family, pattern in _FAMILIES if pattern.match(name)), None)


class KernelThreadsProbe(Probe):
    """CPU of each family, without families that used none in the interval.

    The list is renewed every 10 s; a new thread counts from then on. CPU is read from /proc/PID/schedstat in
    nanoseconds (Documentation/scheduler/sched-stats.rst). With too many workers to read cheaply the family
    kworker is omitted.
    """

    id = "kernel-threads"
    label = tr("kernel CPU")

    def __init__(self, proc: str = "/proc", clock: Clock = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._children: Children | None = None
        self._threads: dict[int, _Thread] = {}
        self._ignored: set[int] = set()
        self._scanned_s = 0.0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            name = _read_name(f"{self._proc}/{KTHREADD_PID}")
        except OSError:
            name = ""
        if name != "kthreadd":
            raise ProbeUnavailable(
                tr("kernel threads are not visible here: this is a container, or /proc hides them (hidepid)")
            )
        file = RawFile(f"{self._proc}/{KTHREADD_PID}/schedstat")
        used_ns = int(file.read().split()[0])
        file.close()
        if not used_ns:
            raise ProbeUnavailable(tr("not counted by this kernel"))
        self._children = Children(KTHREADD_PID, self._proc)
        self._scan()

    def _scan(self) -> None:
        assert self._children is not None  # noqa: S101 - open() made it
        present = self._children.pids()
        self._scanned_s = self._clock()
        self._ignored &= present
        for pid in self._threads.keys() - present:
            self._threads.pop(pid).close()
        workers = 0
        for pid in sorted(present - self._ignored):
            thread = self._threads.get(pid) or self._meet(pid)
            workers += thread is not None and thread.family == WORKERS
        self._leave_out_workers(workers)

    def _meet(self, pid: int) -> _Thread | None:
        """Start to watch a new thread; remember one without a family as ignored."""
        folder = f"{self._proc}/{pid}"
        keep = len(self._threads) < KEPT_FILES
        try:
            family = family_of(_read_name(folder))
            if family is None:
                self._ignored.add(pid)
                return None
            thread = _Thread(folder, family, self._clock, keep=keep)
        except OSError:  # it ended meanwhile
            return None
        self._threads[pid] = thread
        return thread

    def _leave_out_workers(self, count: int) -> None:
        if count <= KEPT_FILES:
            self.omissions = ()
            return
        for pid in [pid for pid, thread in self._threads.items() if thread.family == WORKERS]:
            self._threads.pop(pid).close()
        reason = tr("{count} kernel workers are too many to read every second").format(count=count)
        self.omissions = (MissingMetric("kernel.cpu", reason, WORKERS),)

    @override
    def read(self) -> list[Sample]:
        if self._children is None:
            return []
        if self._clock() - self._scanned_s >= RESCAN_S:
            self._scan()
        cores: dict[str, float] = {}
        for pid, thread in list(self._threads.items()):
            try:
                cores[thread.family] = cores.get(thread.family, 0.0) + thread.read()
            except OSError:  # it ended
                self._threads.pop(pid).close()
        return [
            Sample("kernel.cpu", round(used, 4), family) for family, used in cores.items() if used >= 0.00005
        ]

    @override
    def close(self) -> None:
        for thread in self._threads.values():
            thread.close()
        self._threads.clear()
        self._ignored.clear()
        if self._children is not None:
            self._children.close()
            self._children = None


class _Thread:
    """One kernel thread: its family, its file and its counter."""

    __slots__ = ("_counters", "_file", "_path", "family")

    def __init__(self, folder: str, family: str, clock: Clock, *, keep: bool) -> None:
        self.family = family
        self._path = f"{folder}/schedstat"
        self._file = RawFile(self._path) if keep else None
        self._counters = Counters(clock)
        try:
            self.read()
        except OSError:
            self.close()
            raise

    def read(self) -> float:
        """Return the cores used since the last read; 0 at the first."""
        file = self._file or RawFile(self._path)
        try:
            used_s = int(file.read().split(None, 1)[0]) / 1e9
        finally:
            if file is not self._file:
                file.close()
        difference = self._counters.step((used_s,))
        return 0.0 if difference is None else difference.deltas[0] / difference.interval_s

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _read_name(folder: str) -> str:
    """Return the full name of a process from its stat file, which for kworkers includes their task."""
    file = RawFile(f"{folder}/stat")
    try:
        text = file.read()
    finally:
        file.close()
    return text[text.index(b"(") + 1 : text.rindex(b")")].decode(errors="replace")


# How many processes of the server and threads of pgbench are ready to run but wait for a CPU.
#
# From the time that each spent on a run queue, the second number of /proc/PID/schedstat, in nanoseconds
# (Documentation/scheduler/sched-stats.rst). It shows whether CPUs limit a run in cases that utilisation
# hides: programs bound to some of the CPUs, or others that use the idle ones. A session that received a
# statement and has not run yet still looks idle in pg_stat_activity.


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
    label = tr("Processes waiting for a CPU")
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
            raise ProbeUnavailable(tr("not counted by this kernel")) from err
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
