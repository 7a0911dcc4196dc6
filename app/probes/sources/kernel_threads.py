"""CPU of kernel threads for filesystems, arrays and memory, by family, in cores.

Kernel threads do part of the work of PostgreSQL's writes: jbd2 for ext4, txg_sync for ZFS, md0_raid5 for an
array, kworker for write-back and much else. They are the children of kthreadd (pid 2).
"""

from __future__ import annotations

import re
import time
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
from app.probes.sources.processes import Children

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
    label = tr("CPU of kernel threads")

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
            raise ProbeUnavailable(tr("this kernel does not count the time of threads (/proc/PID/schedstat)"))
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
