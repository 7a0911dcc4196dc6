"""What every probe shares: the protocol, the context, raw files and differences of counters.

A probe reads cumulative counters, notes its own monotonic time with them and yields rates over the
true interval between two of its reads. The first read yields nothing.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from app.domain.metrics import Sample
from app.probes.base.ssh import RemoteMachine

Clock = Callable[[], float]

_SHORTEST_INTERVAL_S: Final = 0.001
_FIRST_SIZE: Final = 4096


class ProbeUnavailable(Exception):  # noqa: N818 - a state of the machine, not an error of the program
    """The source does not exist here; the run goes on without it.

    Attributes:
        reason: a sentence for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ReadMissed(Exception):  # noqa: N818 - nothing is wrong with the source
    """This read is worth nothing (it took too long to say when its values were true); the next may be."""


@dataclass(frozen=True, slots=True)
class ServerSources:
    """What facts and probes may read of the server under test; None is what is not known, with the reason.

    Block devices, arrays and filesystems are found from the folders: where these are not known, neither are
    they. What is of the whole machine (CPU, memory, pressure) is of this one, wherever the server is.

    Attributes:
        conninfo: libpq connection string of a role that may read all statistics, for a database that exists,
            with its secret; None while the server takes no connections.
        postmaster_pid: process of this machine.
        data_directory: folder of this machine; also before the server makes it.
        wal_directory: folder of the WAL on a filesystem of its own; None also where it lies with the data.
        reason: a sentence: why something is not known.
        tablespaces: what lies there ("tables", "indexes") and its folder, on a filesystem of its own each.
        elsewhere: the machine that the server is on, where that is not this one and may be asked.
        database: whose sessions are pgbench's, where others may have sessions too; None for all sessions.
    """

    conninfo: str | None = field(default=None, repr=False)
    postmaster_pid: int | None = None
    data_directory: str | None = None
    wal_directory: str | None = None
    reason: str = ""
    tablespaces: tuple[tuple[str, str], ...] = ()
    elsewhere: RemoteMachine | None = None
    database: str | None = None

    @property
    def data_folder(self) -> str:
        """Folder of the data.

        Raises:
            ProbeUnavailable: it is not known.
        """
        if self.data_directory is None:
            raise ProbeUnavailable(self.reason)
        return self.data_directory

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of data and of what has a filesystem of its own: WAL, tablespaces.

        Raises:
            ProbeUnavailable: they are not known.
        """
        return (self.data_folder, *self.further.values())

    @property
    def further(self) -> Mapping[str, str]:
        """Folders on filesystems of their own, by what lies there; none where nothing is known."""
        wal = {} if self.wal_directory is None else {"wal": self.wal_directory}
        return {} if self.data_directory is None else {**wal, **dict(self.tablespaces)}


@dataclass(slots=True)
class ProbeContext:
    """What the runner knows and changes while the sampler runs.

    The runner's thread assigns, the sampler's threads read; each assignment is atomic. Whoever starts
    pgbench assigns `pgbench_threads` before `pgbench_pid`.

    Attributes:
        server: what may be read of the running server.
        pgbench_pid: the running pgbench; None while there is none.
        pgbench_threads: ``--jobs`` of the running pgbench.
    """

    server: ServerSources
    pgbench_pid: int | None = None
    pgbench_threads: int = 1


@dataclass(frozen=True, slots=True)
class MissingMetric:
    """A metric that a working probe cannot give here.

    Attributes:
        metric: `Metric.id`.
        reason: a sentence for people.
        instance: which device or family; empty for all.
    """

    metric: str
    reason: str
    instance: str = ""


class Probe(ABC):
    """One source of samples.

    Attributes:
        id: stable name.
        label: what people read.
        blocking: a read may wait for another process; such a probe gets a thread of its own.
        of_machine: it reads the machine that it runs on, as if the server were there: left out where the
            server's own machine is asked.
        omissions: what it cannot give although it works; complete after the first `read` that yields.
    """

    id: ClassVar[str]
    label: ClassVar[str]
    blocking: ClassVar[bool] = False
    of_machine: ClassVar[bool] = True
    omissions: tuple[MissingMetric, ...] = ()

    @abstractmethod
    def open(self, context: ProbeContext) -> None:
        """Find and open the source.

        Raises:
            ProbeUnavailable: it does not exist on this machine.
            OSError: it exists but cannot be read.
        """

    @abstractmethod
    def read(self) -> list[Sample]:
        """Return the values since the last read; nothing at the first read.

        Raises:
            ProbeUnavailable: the source went away.
            OSError: the source went away.
            ReadMissed: nothing can be said about this interval alone.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything; may be called twice and before `open`."""

    def interrupt(self) -> None:  # noqa: B027 - only blocking probes have something to interrupt
        """Make a blocked `read` or `open` of another thread return soon; called from any thread."""


class RawFile:
    """A file of procfs or sysfs that is opened once and read from the start with pread.

    The kernel makes the text anew for a read at offset 0 (Documentation/filesystems/seq_file.rst).
    Raises OSError like the system calls, for instance ENODEV for an unplugged device and ESRCH for a
    process that ended.
    """

    __slots__ = ("_fd", "_size", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._size = _FIRST_SIZE
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """Return the whole current content."""
        data = os.pread(self._fd, self._size, 0)
        while len(data) == self._size:
            self._size *= 2
            data = os.pread(self._fd, self._size, 0)
        return data

    def close(self) -> None:
        """Close; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Counters:
    """Differences of cumulative counters over the true interval between two reads.

    A counter that goes backwards means that its source began anew (device re-created, statistics
    reset, 32-bit wrap): the whole set is taken as a new start and nothing is yielded, because a rate
    could only be made up. `forget` does the same on purpose.
    """

    __slots__ = ("_clock", "_time_s", "_values")

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._time_s = 0.0
        self._values: tuple[float, ...] | None = None

    def forget(self) -> None:
        """Make the next `step` the first one."""
        self._values = None

    def step(self, values: Sequence[float], time_s: float | None = None) -> CounterDifference | None:
        """Take the counters as read now (or at `time_s`) and return the difference to the last read.

        Returns None at the first read, after a counter went backwards, when the set changed its
        length, and when hardly any time passed (the old start is kept then).
        """
        now = self._clock() if time_s is None else time_s
        before, then = self._values, self._time_s
        if before is not None and len(before) == len(values) and now - then < _SHORTEST_INTERVAL_S:
            return None
        self._values, self._time_s = tuple(values), now
        if before is None or len(before) != len(values):
            return None
        deltas = tuple(new - old for new, old in zip(values, before, strict=True))
        return None if min(deltas, default=0) < 0 else CounterDifference(now - then, deltas)


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """What counters gained in an interval.

    Attributes:
        interval_s: true interval, longer than zero.
        deltas: gains in the order of the counters, none negative.
    """

    interval_s: float
    deltas: tuple[float, ...]

    def rate(self, position: int) -> float:
        """Return the gain per second of one counter, rounded as it is stored."""
        return rounded(self.deltas[position] / self.interval_s)


def rounded(value: float) -> float:
    """Return `value` with what is meaningful of it: whole from 100 on, else three decimals.

    Whole numbers are returned as int: SQLite stores them in fewer bytes than a real.
    """
    result = round(value, 3) if abs(value) < 100 else round(value)
    return int(result) if result == int(result) else result
