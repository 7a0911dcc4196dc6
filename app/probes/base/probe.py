"""Shared by all probes: the protocol, the context, raw files, differences of counters, arguments of ssh.

A probe reads cumulative counters together with the monotonic time and yields rates over the true interval
between two of its reads. The first read yields nothing.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from typing_extensions import override

from app.domain.errors import ProgramError
from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.text import tr
from app.process.account import SEARCH_PATH
from app.process.starter import CommandOutcome, current_account, run_command

# The arguments of ssh, valid destinations, and explanations of its errors.
#
# Everything else is the user's own configuration: keys, jump hosts, shared connections (ControlMaster),
# ports.


CONNECT_TIMEOUT_S: Final = 10
SILENCE_S: Final = 15
"""After this time without an answer ssh considers a connection broken."""

_PROBE_S: Final = 5
_HOST: Final = re.compile(r"[A-Za-z0-9_%\[][A-Za-z0-9_.:@%\[\]/+-]{0,254}")
_LONGEST_WORDS: Final = 300
_STEERING: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

_OPTIONS: Final = {
    "BatchMode": "yes",
    "ConnectTimeout": str(CONNECT_TIMEOUT_S),
    "ServerAliveInterval": str(_PROBE_S),
    "ServerAliveCountMax": str(SILENCE_S // _PROBE_S),
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
}
"""Options of ssh_config(5): no questions, no forwarding, broken connections are detected."""


def strip_controls(text: str) -> str:
    """Replace characters that control terminals or change the direction of text."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def is_destination(host: str) -> bool:
    """Return whether ssh may be given this name: a host, an alias, user@host or an ssh:// address."""
    return _HOST.fullmatch(host) is not None


@dataclass(frozen=True, slots=True)
class SshDestination:
    """A machine by a name that the user's ssh knows.

    Attributes:
        host: passes `is_destination`.
        configuration: file in place of the user's own configuration; empty for that one.
    """

    host: str
    configuration: str = ""

    def __post_init__(self) -> None:
        if not is_destination(self.host):
            raise ValueError(tr("“{host}” is not a valid host name.").format(host=strip_controls(self.host)))

    def argv(self) -> tuple[str, ...]:
        """Return ssh's arguments for a remote shell that reads its program from standard input."""
        own = ("-F", self.configuration) if self.configuration else ()
        options = [word for name, value in _OPTIONS.items() for word in ("-o", f"{name}={value}")]
        return ("ssh", *own, *options, "-T", "--", self.host, "sh")


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """The machine of a server that is not on this one.

    Attributes:
        destination: for ssh.
        folder: data directory there; None if the server does not report it.
    """

    destination: SshDestination
    folder: str | None = None


_CAUSES: Final = {
    "REMOTE HOST IDENTIFICATION HAS CHANGED": tr(
        "The host key of {host} has changed: another machine, a new installation, or someone in between. "
        "Find out which one. ssh in a terminal shows the known_hosts line."
    ),
    "Host key verification failed": tr(
        "The host key of {host} is not known. Connect once yourself: ssh {host!q}"
    ),
    "Permission denied": tr(
        "{host} accepts none of the keys that ssh can use without a prompt. Add a key with a passphrase to "
        "ssh-agent. pgFooting never asks for passwords."
    ),
}
"""Sentences for messages of ssh that do not say what to do.

The first match wins: ssh's message about a changed key contains the one about an unknown key.
"""


def explain(host: str, errors: str, status: int | None) -> str:
    """Return a sentence for the failure of a connection; for most errors it quotes ssh's last message.

    Args:
        host: as the user calls it.
        errors: standard error of ssh and of the remote side.
        status: exit status of ssh; None while it runs.
    """
    for words, sentence in _CAUSES.items():
        if words in errors:
            return sentence.format(host=host)
    lines = [line for line in strip_controls(errors.replace("\n", "\t")).split("\t") if line.strip()]
    ended = tr("The connection to {host} ended").format(host=host)
    if lines:
        return f"{ended}: {lines[-1].strip()[:_LONGEST_WORDS]}"
    return f"{ended}: " + tr("exit status {status}").format(status=status) + "." if status else f"{ended}."


Clock = Callable[[], float]

_SHORTEST_INTERVAL_S: Final = 0.001
_FIRST_SIZE: Final = 4096


FROM_LINUX: Final = tr("not counted by this kernel, only by Linux {version} or newer")


class ProbeUnavailable(Exception):  # noqa: N818 - a state of the machine, not an error of the program
    """The source does not exist on this machine; the run continues without it.

    Attributes:
        reason: a sentence for users.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ReadMissed(Exception):  # noqa: N818 - nothing is wrong with the source
    """This read is useless because it took too long to know when its values were true; the next may work."""


@dataclass(frozen=True, slots=True)
class ServerSources:
    """What facts and probes may read of the server under test; None means unknown, with the reason.

    The folders determine block devices, arrays and filesystems: without them those are unknown too. Values of
    the whole machine (CPU, memory, pressure) are those of this machine, even if the server is on another.

    Attributes:
        conninfo: libpq connection string with password, of a role that may read all statistics, for an
            existing database; None while the server accepts no connections.
        postmaster_pid: process on this machine.
        data_directory: folder on this machine; may be set before the server creates it.
        wal_directory: folder of a WAL with its own filesystem; None if it shares the data's.
        reason: a sentence: why something is unknown.
        tablespaces: contents ("tables", "indexes") and folder of each tablespace with its own filesystem.
        elsewhere: the server's machine, if it is another one that may be asked.
        database: database of pgbench's sessions if other sessions are possible; None for all sessions.
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
            ProbeUnavailable: it is unknown.
        """
        if self.data_directory is None:
            raise ProbeUnavailable(self.reason)
        return self.data_directory

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of data, and of WAL and tablespaces with their own filesystem.

        Raises:
            ProbeUnavailable: they are unknown.
        """
        return (self.data_folder, *self.further.values())

    @property
    def further(self) -> Mapping[str, str]:
        """Folders with their own filesystem, by contents; empty if the folders are unknown."""
        wal = {} if self.wal_directory is None else {"wal": self.wal_directory}
        return {} if self.data_directory is None else {**wal, **dict(self.tablespaces)}


@dataclass(slots=True)
class ProbeContext:
    """State of the run that the runner changes while the sampler runs.

    The runner's thread assigns, the sampler's threads read; each assignment is atomic. Assign
    `pgbench_threads` before `pgbench_pid`.

    Attributes:
        server: readable sources of the running server.
        pgbench_pid: the running pgbench; None if there is none.
        pgbench_threads: ``--jobs`` of the running pgbench.
    """

    server: ServerSources
    pgbench_pid: int | None = None
    pgbench_threads: int = 1


@dataclass(frozen=True, slots=True)
class MissingMetric:
    """A metric that a working probe cannot provide here.

    Attributes:
        metric: `Metric.id`.
        reason: a sentence for users.
        instance: device or family; empty for all.
    """

    metric: str
    reason: str
    instance: str = ""


class Probe(ABC):
    """One source of samples.

    Attributes:
        id: stable name.
        label: name for users.
        blocking: a read may wait for another process; such a probe gets its own thread.
        of_machine: it reads this machine and assumes that the server runs here; not used if the server's own
            machine is asked.
        omissions: metrics it cannot provide although it works; complete after the first `read` that yields.
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
        """Return the values since the last read; empty at the first read.

        Raises:
            ProbeUnavailable: the source went away.
            OSError: the source went away.
            ReadMissed: this interval has no valid value.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything; may be called twice and before `open`."""

    def interrupt(self) -> None:  # noqa: B027 - only blocking probes have something to interrupt
        """Make a blocked `read` or `open` of another thread return soon; callable from any thread."""


class RawFile:
    """A file of procfs or sysfs that stays open and is read from the start with pread.

    The kernel generates the text again for a read at offset 0 (Documentation/filesystems/seq_file.rst).
    Methods raise OSError like the system calls, for instance ENODEV for an unplugged device and ESRCH for a
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


class FileProbe(Probe):
    """A probe of files that stay open from `open` to `close`."""

    def __init__(self) -> None:
        self._opened: list[RawFile] = []

    def _keep_open(self, path: Path | str) -> RawFile:
        """Open a file, and close it with the probe."""
        self._opened.append(file := RawFile(str(path)))
        return file

    @override
    def close(self) -> None:
        for file in self._opened:
            file.close()
        self._opened.clear()


class Counters:
    """Differences of cumulative counters over the true interval between two reads.

    A counter that goes backwards means that its source restarted (device re-created, statistics reset, 32-bit
    wrap): the whole set becomes a new start and yields nothing. `forget` does the same explicitly.
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

        Returns None at the first read, after a counter went backwards, when the set changed its length, and
        when hardly any time passed (the old start is kept then).
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
    """Gains of counters in an interval.

    Attributes:
        interval_s: true interval, longer than zero.
        deltas: gains in the order of the counters, none negative.
    """

    interval_s: float
    deltas: tuple[float, ...]

    def rate(self, position: int) -> float:
        """Return the gain per second of one counter, rounded for storage."""
        return rounded(self.deltas[position] / self.interval_s)


def rounded(value: float) -> float:
    """Round to significant digits: whole numbers from 100 on, else three decimals.

    Whole numbers are returned as int: SQLite stores them in fewer bytes than a real.
    """
    result = round(value, 3) if abs(value) < 100 else round(value)
    return int(result) if result == int(result) else result


# Facts about the machine as a tree that can be stored: each item is a value, or the reason for its absence.
#
# A fact that could not be read is ``{"unreadable": reason}`` under its usual key: this distinguishes "not
# there" from "not looked for", and runs can be compared key by key. Other programs are only asked read-only
# questions, as this user, with a time limit.


Facts = dict[str, Json]

MEMORY_LIMIT: Final = "memory-limit"
"""Code of the preflight finding, stored among the facts, that a control group has less memory than the
machine.
"""

LONGEST_TEXT: Final = 8192


def unreadable(reason: str) -> Facts:
    """Return the placeholder for an unknown fact."""
    return {"unreadable": reason}


def attempt(read: Callable[[], Json]) -> Json:
    """Return the result of `read`, or the reason why it failed."""
    try:
        return read()
    except ProbeUnavailable as err:
        return unreadable(err.reason)
    except ProgramError as err:
        return unreadable(err.message)
    except OSError as err:
        return unreadable(_words(err))
    except (ValueError, LookupError, UnicodeError) as err:
        return unreadable(tr("cannot parse: {error!r}").format(error=err))


def _words(err: OSError) -> str:
    if err.errno in {errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOTDIR}:
        return tr("does not exist on this machine")
    if err.errno in {errno.EACCES, errno.EPERM} and os.geteuid():
        return tr("cannot be read without root")
    return err.strerror or str(err)


def read_text(path: Path | str) -> str:
    """Return the stripped text of a small file.

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(LONGEST_TEXT).decode(errors="replace").strip()


def parse_value(text: str) -> Json:
    """Return a whole number as int, anything else as text."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else text


def file_fact(path: Path | str) -> Json:
    """Return the value in a file, or the reason why it is unreadable."""
    return attempt(lambda: parse_value(read_text(path)))


def folder_facts(folder: Path, names: Iterable[str]) -> Facts:
    """Return the values of several files of a folder, by name."""
    return {name: file_fact(folder / name) for name in names}


def selected(text: str) -> str:
    """Return the choice in brackets of texts like ``none [mq-deadline] kyber``; else the whole text."""
    begun, ended = text.find("["), text.find("]")
    return text[begun + 1 : ended] if 0 <= begun < ended else text


def selected_fact(path: Path | str) -> Json:
    """Return the choice in brackets of a file, or the reason why it is unreadable."""
    return attempt(lambda: selected(read_text(path)))


Ask = Callable[[Sequence[str]], str]
"""Runs a program and returns its standard output; raises ProgramError."""

TIMEOUT_S: Final = 2.0


def ask_program(argv: Sequence[str], timeout_s: float = TIMEOUT_S) -> str:
    """Return the standard output of a program.

    Only the system's own folders are searched, never the user's PATH: pgFooting may run as root. Exit status
    1 with output and without errors also counts as an answer: systemd-detect-virt(1) prints "none" that way.

    Raises:
        ProgramError: no such program, a failure with the program's message, or a timeout.
    """
    program = shutil.which(argv[0], path=SEARCH_PATH)
    if program is None:
        raise ProgramError(tr("{program} is not installed").format(program=argv[0]))
    outcome = run_command(
        (program, *argv[1:]), account=current_account(), timeout_s=timeout_s, record=_forget
    )
    answered = outcome.exit_code == 1 and outcome.stdout.strip() and not outcome.stderr.strip()
    if not outcome.succeeded and not answered:
        raise ProgramError(outcome.describe())
    return outcome.stdout


def _forget(_outcome: CommandOutcome) -> None:
    """Do not record: questions are no commands of a run."""
