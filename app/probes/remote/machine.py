"""The machine of a server that is not this one, over ssh: its facts, and the same series as of this machine.

`FactReading` reads the facts of the server's machine, local or remote.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import (
    Counters,
    Facts,
    MissingMetric,
    Probe,
    ProbeContext,
    ProbeUnavailable,
    RemoteMachine,
    ServerSources,
    unreadable,
)
from app.probes.facts.environment import FACTS_FORMAT, read_changing_facts, read_facts
from app.probes.remote.connection import ANSWER_TIMEOUT_S, LineKind, RemoteConnection, RemoteLine
from app.probes.remote.facts import TRIED_SYSTEMS, RemoteFacts, remote_fact_tree, sort_facts
from app.probes.sources.block_devices import (
    Activity,
    activity,
    device_samples,
    parse_device_stat,
    storage_samples,
)
from app.probes.sources.cpu import (
    IOWAIT,
    RESOURCES,
    cpu_counters,
    cpu_samples,
    memory_samples,
    parse_cpu_line,
    pressure_samples,
)

# Samples from the kernel counters of a remote Linux: the same arithmetic and metrics as on this machine.
#
# Intervals are measured by the remote clock since boot (/proc/uptime, in steps of 10 ms).


USUAL_TICKS_PER_S: Final = 100
USUAL_PAGE_BYTES: Final = 4096
_KIB: Final = 1024
_MOST_DEVICES: Final = 64


@dataclass(frozen=True, slots=True)
class LinuxUnits:
    """Units of a machine's counters.

    Attributes:
        ticks_per_s: of CPU times.
        page_bytes: of swapped pages.
    """

    ticks_per_s: int = USUAL_TICKS_PER_S
    page_bytes: int = USUAL_PAGE_BYTES


class LinuxSamples:
    """Makes samples from the lines of one connection."""

    def __init__(self, units: LinuxUnits) -> None:
        self._units = units
        self._counters: dict[str, Counters] = {}
        self._highest_iowait = 0

    def take(self, fields: tuple[str, ...]) -> list[Sample]:
        """Return the samples since the previous line; skip unreadable values.

        Args:
            fields: ``name=value`` each, of a `LineKind.SAMPLE` without its number.
        """
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        time_s = _float(values.get("uptime", ""))
        if time_s is None:
            return []
        return [
            *self._cpu(values.get("cpu", ""), time_s),
            *_memory(values.get("memory", "")),
            *self._swap_in(values.get("swap_in", ""), time_s),
            *self._pressure(values, time_s),
            *self._devices(values, time_s),
        ]

    def _of(self, name: str) -> Counters:
        return self._counters.setdefault(name, Counters())

    def _cpu(self, text: str, time_s: float) -> list[Sample]:
        try:
            times = parse_cpu_line(b"cpu " + text.encode())
        except ValueError:
            return []
        self._highest_iowait = max(self._highest_iowait, times[IOWAIT])
        difference = self._of("cpu").step(cpu_counters(times, self._highest_iowait), time_s)
        return [] if difference is None else cpu_samples(difference, self._units.ticks_per_s)

    def _swap_in(self, text: str, time_s: float) -> list[Sample]:
        if not _is_count(text):
            return []
        difference = self._of("swap_in").step((int(text),), time_s)
        if difference is None:
            return []
        value = round(difference.deltas[0] * self._units.page_bytes / difference.interval_s)
        return [Sample("memory.swap_in", value)]

    def _pressure(self, values: Mapping[str, str], time_s: float) -> list[Sample]:
        samples: list[Sample] = []
        for resource in RESOURCES:
            words = values.get(f"pressure.{resource}", "").split()
            pairs = zip(words[::2], words[1::2], strict=False)
            totals = {
                kind: int(total.removeprefix("total="))
                for kind, total in pairs
                if _is_count(total.removeprefix("total="))
            }
            if totals:
                samples += pressure_samples(resource, totals, self._of(f"pressure.{resource}"), time_s)
        return samples

    def _devices(self, values: Mapping[str, str], time_s: float) -> list[Sample]:
        """Return samples of each disk, and their sum if all disks are readable."""
        samples: list[Sample] = []
        counted: list[Activity] = []
        names = [name for name in values if name.startswith("device.")][:_MOST_DEVICES]
        for name in names:
            try:
                difference = self._of(name).step(parse_device_stat(values[name].encode()), time_s)
            except ValueError:
                continue
            if difference is not None:
                gained = activity(difference, counts_flushes=True)
                samples += device_samples(name.removeprefix("device."), gained)
                counted.append(gained)
        if counted and len(counted) == len(names):
            samples += storage_samples(counted)
        return samples


def _memory(text: str) -> list[Sample]:
    """Return memory from ``Name: KiB`` pairs in one line."""
    words = text.split()
    fields = {
        name.removesuffix(":"): int(value) * _KIB
        for name, value in zip(words[::2], words[1::2], strict=False)
        if _is_count(value)
    }
    return memory_samples(fields)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None


SECOND_TIMEOUT_S: Final = 5.0
"""A machine that does not answer a tick within this time is disconnected; then a new attempt starts."""

_NOWHERE: Final = "-"
_FACTS_TIMEOUT_S: Final = 30.0


class Asked(Protocol):
    """The connection: a `RemoteConnection`, or a replacement in tests."""

    def open(self) -> None:
        """Connect."""

    def ask(
        self, request: str, until: LineKind, argument: str, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> list[RemoteLine]:
        """Send a request and return the answer."""

    def interrupt(self) -> None:
        """End the connection from another thread."""

    def close(self) -> None:
        """End the connection."""


Connect = Callable[[RemoteMachine], Asked]


def connect_by_ssh(machine: RemoteMachine) -> Asked:
    """Return a connection that is not open yet."""
    return RemoteConnection(machine.destination)


def ask_facts(connection: Asked, machine: RemoteMachine) -> RemoteFacts:
    """Return the facts of a machine.

    Raises:
        ProbeUnavailable: it does not answer.
    """
    return sort_facts(connection.ask("facts", LineKind.END, machine.folder or _NOWHERE, _FACTS_TIMEOUT_S))


class RemoteWatch:
    """A connection that is read once a second; only `interrupt` may be called by other threads.

    Attributes:
        facts: facts of the machine.
    """

    def __init__(self, machine: RemoteMachine, connect: Connect = connect_by_ssh) -> None:
        self.facts = RemoteFacts()
        self._machine = machine
        self._connection = connect(machine)
        self._number = 0
        self._linux: LinuxSamples | None = None

    def open(self) -> None:
        """Connect and ask for facts; of other systems than Linux nothing else is read.

        Raises:
            ProbeUnavailable: it cannot be reached, with the reason.
        """
        connection = self._connection
        connection.open()
        self.facts = facts = ask_facts(connection, self._machine)
        if facts.system not in TRIED_SYSTEMS:
            connection.close()
            return
        ticks = _count(facts.named.get("kernel.ticks_per_s", ""), USUAL_TICKS_PER_S)
        page = _count(facts.named.get("kernel.page_size_bytes", ""), USUAL_PAGE_BYTES)
        self._linux = LinuxSamples(LinuxUnits(ticks, page))

    def read(self) -> list[Sample]:
        """Return the samples of a second.

        Raises:
            ProbeUnavailable: there is no answer.
        """
        if self._linux is None:
            return []
        self._number += 1
        answer = self._connection.ask("tick", LineKind.SAMPLE, str(self._number), SECOND_TIMEOUT_S)
        return self._linux.take(answer[-1].fields[1:])

    def interrupt(self) -> None:
        """End the connection from another thread."""
        self._connection.interrupt()

    def close(self) -> None:
        """End the remote program and the connection."""
        self._connection.close()


def _count(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else otherwise


class RemoteMachineProbe(Probe):
    """CPU, memory, pressure and disks of the server's machine.

    A broken connection leaves a gap, with its reason in the run file, and is opened again; the run continues.
    Values are true for the second before they arrived.
    """

    id = "remote-machine"
    label = tr("Server machine, over ssh")
    blocking: ClassVar[bool] = True
    of_machine: ClassVar[bool] = False

    def __init__(self, connect: Connect = connect_by_ssh) -> None:
        self._connect = connect
        self._watch: RemoteWatch | None = None
        self._lock = threading.Lock()
        self._stopping = False

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        machine = context.server.elsewhere
        if machine is None:
            raise ProbeUnavailable(tr("pgFooting does not observe the server's machine"))
        watch = RemoteWatch(machine, self._connect)
        with self._lock:  # before it is opened: that may take long, and has to be interrupted
            if self._stopping:
                raise ProbeUnavailable(tr("Cancelled."))
            self._watch = watch
        watch.open()
        self.omissions = _omissions(watch)

    @override
    def read(self) -> list[Sample]:
        return [] if self._watch is None else self._watch.read()

    @override
    def interrupt(self) -> None:
        with self._lock:
            self._stopping = True
            watch = self._watch
        if watch is not None:
            watch.interrupt()

    @override
    def close(self) -> None:
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()


def _omissions(watch: RemoteWatch) -> tuple[MissingMetric, ...]:
    """Return the metrics that this machine does not provide."""
    facts = watch.facts
    if facts.system not in TRIED_SYSTEMS:
        reason = tr("only available on Linux; this is {system}").format(system=facts.system)
        names = ("cpu.*", "memory.*", "pressure.*", "device.*", "storage.*")
        return tuple(MissingMetric(name, reason) for name in names)
    missing = []
    if facts.named.get("kernel.no_pressure"):
        reason = tr("this kernel was built without {option}").format(option="CONFIG_PSI")
        missing.append(MissingMetric("pressure.*", reason))
    if not facts.devices:
        missing.append(MissingMetric("storage.*", tr("not shown for this device")))
    return tuple(missing)


_CHANGING = ("format", "reached", "processor", "memory", "load")


class FactReading:
    """Reads facts once, in any thread; can be cancelled from another one.

    Attributes:
        facts: the result; empty before.
    """

    def __init__(self, server: ServerSources, connect: Connect = connect_by_ssh) -> None:
        self.facts: Facts = {}
        self._server = server
        self._connect = connect
        self._lock = threading.Lock()
        self._asked: Asked | None = None
        self._is_called_off = False

    def read(self) -> None:
        """Read all facts: before a run."""
        machine = self._server.elsewhere
        self.facts = read_facts(self._server) if machine is None else self._of(machine)

    def read_changing(self) -> None:
        """Read the facts that a run may change: after it."""
        machine = self._server.elsewhere
        if machine is None:
            self.facts = read_changing_facts()
        else:
            facts = self._of(machine)
            self.facts = {name: facts[name] for name in _CHANGING if name in facts}

    def interrupt(self) -> None:
        """Make `read` return soon, with the reason in place of facts."""
        with self._lock:
            self._is_called_off = True
            asked = self._asked
        if asked is not None:
            asked.interrupt()

    def _of(self, machine: RemoteMachine) -> Facts:
        """Return the facts of a remote machine, or the reason why it cannot be asked."""
        asked = self._connect(machine)
        with self._lock:
            self._asked = asked
            if self._is_called_off:
                asked.interrupt()
        try:
            asked.open()
            return remote_fact_tree(ask_facts(asked, machine))
        except ProbeUnavailable as err:
            why = unreadable(err.reason)
            return {"format": FACTS_FORMAT, "reached": {"over": "ssh", **why}, "storage": why}
        finally:
            asked.close()
