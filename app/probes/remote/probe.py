"""The machine of a server that is not this one, over ssh: the same series as of this machine."""

from __future__ import annotations

import threading
from typing import ClassVar

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import MissingMetric, Probe, ProbeContext, ProbeUnavailable
from app.probes.remote.facts import TRIED_SYSTEMS
from app.probes.remote.machine import Connect, RemoteWatch, connect_by_ssh


class RemoteMachineProbe(Probe):
    """CPU, memory, pressure and disks of the server's machine.

    A line that is cut makes a gap, which the run file tells with its reason, and is connected again; the run
    goes on. Its values are true for the second before they arrived.
    """

    id = "remote-machine"
    label = tr("Machine of the server, over ssh")
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
            raise ProbeUnavailable(tr("the server's machine is not asked"))
        watch = RemoteWatch(machine, self._connect)
        with self._lock:  # before it is opened: that may take long, and has to be interrupted
            if self._stopping:
                raise ProbeUnavailable(tr("It was called off."))
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
    """Return what this machine does not tell."""
    told = watch.told
    if told.system not in TRIED_SYSTEMS:
        reason = tr(
            "{system} does not tell it, or not as Linux does; reading it was not tried on a real system"
        )
        reason = reason.format(system=told.system)
        names = ("memory.*", "pressure.*", "cpu.iowait", "cpu.steal", "device.flushes")
        return tuple(MissingMetric(name, reason) for name in names)
    missing = []
    if told.named.get("kernel.no_pressure"):
        reason = tr("this kernel is built without pressure stall information (CONFIG_PSI)")
        missing.append(MissingMetric("pressure.*", reason))
    if not told.devices:
        missing.append(MissingMetric("storage.*", tr("no block device is shown for this filesystem")))
    return tuple(missing)
