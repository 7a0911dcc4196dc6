"""A machine elsewhere as it is asked: its facts once, what it does every second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from app.domain.metrics import Sample
from app.probes.base.ssh import RemoteMachine
from app.probes.remote.clocks import ClockOffset
from app.probes.remote.connection import ANSWER_TIMEOUT_S, RemoteAnswer, RemoteConnection
from app.probes.remote.facts import RemoteFacts, sort_facts
from app.probes.remote.lines import LineKind, RemoteLine
from app.probes.remote.linux import USUAL_PAGE_BYTES, USUAL_TICKS_PER_S, LinuxSamples, LinuxUnits
from app.probes.remote.tables import TableSamples

SECOND_TIMEOUT_S: Final = 5.0
"""After which a machine that does not answer a tick is given up; the next attempt begins anew."""

_NOWHERE: Final = "-"
_FACTS_TIMEOUT_S: Final = 30.0


class Asked(Protocol):
    """What is asked: `RemoteConnection`, or another one in tests."""

    def open(self) -> None:
        """Connect."""

    def ask(
        self, request: str, until: LineKind, argument: str, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> RemoteAnswer:
        """Ask and return the answer."""

    def clock(self) -> ClockOffset | None:
        """Compare the clocks."""

    def take_live(self) -> list[RemoteLine]:
        """Return what programs there printed since the last call."""

    def interrupt(self) -> None:
        """End it from another thread."""

    def close(self) -> None:
        """End it."""


Connect = Callable[[RemoteMachine], Asked]


def connect_by_ssh(machine: RemoteMachine) -> Asked:
    """Return a connection that is not open yet."""
    return RemoteConnection(machine.destination)


def ask_facts(connection: Asked, machine: RemoteMachine) -> RemoteFacts:
    """Return what a machine tells of itself.

    Raises:
        ProbeUnavailable: it does not answer.
    """
    return sort_facts(
        connection.ask("facts", LineKind.END, machine.folder or _NOWHERE, _FACTS_TIMEOUT_S).lines
    )


class RemoteWatch:
    """A connection that is asked once a second. Used by one thread but for `interrupt`.

    Attributes:
        told: what the machine told of itself.
        clock: its clock; None where it does not tell the time.
    """

    def __init__(self, machine: RemoteMachine, connect: Connect = connect_by_ssh) -> None:
        self.told = RemoteFacts()
        self.clock: ClockOffset | None = None
        self._machine = machine
        self._connection = connect(machine)
        self._number = 0
        self._linux: LinuxSamples | None = None
        self._tables: TableSamples | None = None

    def open(self) -> None:
        """Connect, ask for facts, and let its programs begin.

        Raises:
            ProbeUnavailable: it cannot be reached; says why.
        """
        connection = self._connection
        connection.open()
        self.told = told = ask_facts(connection, self._machine)
        self.clock = connection.clock()
        connection.ask("watch", LineKind.END, self._machine.folder or _NOWHERE, _FACTS_TIMEOUT_S)
        if told.system == "Linux":
            ticks = _count(told.named.get("kernel.ticks_per_s", ""), USUAL_TICKS_PER_S)
            page = _count(told.named.get("kernel.page_size_bytes", ""), USUAL_PAGE_BYTES)
            self._linux = LinuxSamples(LinuxUnits(ticks, page))
        else:
            self._tables = TableSamples(told.cpus, told.sources)

    def read(self) -> list[Sample]:
        """Ask for a second.

        Raises:
            ProbeUnavailable: there is no answer.
        """
        self._number += 1
        answer = self._connection.ask("tick", LineKind.SAMPLE, str(self._number), SECOND_TIMEOUT_S)
        if self._linux is not None:
            return self._linux.take(answer.last.fields[1:])
        newest: dict[tuple[str, str], Sample] = {}
        for line in self._connection.take_live():
            samples = self._tables.take(line.fields[0], line.fields[1]) if self._tables is not None else []
            newest.update({(sample.metric, sample.instance): sample for sample in samples})
        return list(newest.values())

    def interrupt(self) -> None:
        """End it from another thread."""
        self._connection.interrupt()

    def close(self) -> None:
        """End the program there and the connection."""
        self._connection.close()


def _count(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else otherwise
