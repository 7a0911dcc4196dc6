"""Whether ZFS scrubs or resilvers the pool of the data: the kernel does, and only ``zpool status`` tells.

The line ``scan:`` of zpool-status(8); it needs no root. Asked every ten seconds, in a thread of its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from typing_extensions import override

from app.domain.errors import ProgramError
from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, resolve_backing
from app.probes.base.probe import Clock, Probe, ProbeContext, ProbeUnavailable
from app.probes.base.programs import Ask, ask_program

EVERY_S: Final = 10.0
_SCAN: Final = re.compile(r"^\s*scan:\s+(scrub|resilver) in progress since\b", re.MULTILINE)


def parse_scan(text: str) -> str:
    """Return what ZFS does to a pool, ``scrub`` or ``resilver``; empty where it does neither now."""
    found = _SCAN.search(text)
    return found[1] if found else ""


class PoolScanProbe(Probe):
    """A scrub or resilver of the pools below data and WAL, as programs that maintain filesystems are told."""

    id = "pool-scan"
    label = tr("Scrub of ZFS pools")
    blocking = True

    def __init__(
        self,
        resolve: Callable[[str], Backing] = resolve_backing,
        ask: Ask = ask_program,
        clock: Clock = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._ask = ask
        self._clock = clock
        self._pools: list[str] = []
        self._scans: list[str] = []
        self._next_s = 0.0

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        pools = {self._resolve(folder).pool for folder in context.server.folders}
        self._pools = sorted(filter(None, pools))
        if not self._pools:
            raise ProbeUnavailable(tr("no ZFS pool lies below the data directory"))
        self._next_s = self._clock()

    @override
    def read(self) -> list[Sample]:
        if not self._pools:
            return []
        if self._clock() >= self._next_s:
            self._next_s = self._clock() + EVERY_S
            try:
                answers = [self._ask(("zpool", "status", pool)) for pool in self._pools]
            except ProgramError as err:
                raise ProbeUnavailable(err.message) from err
            self._scans = sorted({scan for answer in answers if (scan := parse_scan(answer))})
        return [Sample("others.maintaining", 1, f"zpool {scan}") for scan in self._scans]

    @override
    def close(self) -> None:
        self._pools, self._scans = [], []
