"""The facts of the machine that a server is on: of this one, or of one elsewhere that is asked over ssh."""

from __future__ import annotations

import threading

from app.probes.base.fact_tree import Facts, unreadable
from app.probes.base.probe import ProbeUnavailable, ServerSources
from app.probes.base.ssh import RemoteMachine
from app.probes.facts.environment import FACTS_FORMAT, read_changing_facts, read_facts
from app.probes.remote.facts import remote_fact_tree
from app.probes.remote.machine import Asked, Connect, ask_facts, connect_by_ssh

_CHANGING = ("format", "reached", "processor", "memory", "load")


class FactReading:
    """Reads facts once, in any thread; can be called off from another one.

    Attributes:
        facts: what was read; empty before.
    """

    def __init__(self, server: ServerSources, connect: Connect = connect_by_ssh) -> None:
        self.facts: Facts = {}
        self._server = server
        self._connect = connect
        self._lock = threading.Lock()
        self._asked: Asked | None = None
        self._is_called_off = False

    def read(self) -> None:
        """Read everything: before a run."""
        machine = self._server.elsewhere
        self.facts = read_facts(self._server) if machine is None else self._of(machine)

    def read_changing(self) -> None:
        """Read what a run may change: after it."""
        machine = self._server.elsewhere
        if machine is None:
            self.facts = read_changing_facts()
        else:
            told = self._of(machine)
            self.facts = {name: told[name] for name in _CHANGING if name in told}

    def interrupt(self) -> None:
        """Make `read` return soon, with the reason in place of facts."""
        with self._lock:
            self._is_called_off = True
            asked = self._asked
        if asked is not None:
            asked.interrupt()

    def _of(self, machine: RemoteMachine) -> Facts:
        """Return the facts of a machine elsewhere; where it cannot be asked, why."""
        asked = self._connect(machine)
        with self._lock:
            self._asked = asked
            if self._is_called_off:
                asked.interrupt()
        try:
            asked.open()
            return remote_fact_tree(ask_facts(asked, machine), asked.clock())
        except ProbeUnavailable as err:
            why = unreadable(err.reason)
            return {"format": FACTS_FORMAT, "reached": {"over": "ssh", **why}, "storage": why}
        finally:
            asked.close()
