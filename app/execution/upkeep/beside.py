"""Work beside a measured phase for as long as it lasts: base backups, snapshots at an interval, a scrub.

One thread does one time of it after the other. What fails fails the run: figures of a phase beside which
nothing was done would be compared with others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.domain.campaign.configuration import WorkloadPhase
from app.domain.errors import FootingError, StorageError
from app.domain.maintenance import PG_BASEBACKUP, Background, Maintenance, MaintenanceEnd, WorkEnd
from app.domain.text import tr
from app.execution.failures import footing_error
from app.hosts.server_under_test import ServerUnderTest

PAUSE_S: Final = 1.0
"""Between two times of what is done again as soon as it has ended: of a small data set it ends at once."""
_CANCEL_AGAIN_S: Final = 0.2
END_S: Final = 600.0
"""How long what is ended with its phase may take to end."""


@dataclass(frozen=True, slots=True)
class BesideTurn:
    """One time of it.

    Attributes:
        started_s: `time.monotonic`.
        ended_s: likewise.
        how: a `WorkEnd`.
        reason: why it failed; else empty.
    """

    started_s: float
    ended_s: float
    how: WorkEnd
    reason: str = ""


class Beside:
    """What is done beside one phase, from `start` to `end`."""

    def __init__(
        self, work: Background, phase: WorkloadPhase, server: ServerUnderTest, filesystems: list[str]
    ) -> None:
        """Nothing is begun yet.

        Args:
            work: what is done.
            phase: beside which, with interval and rate.
            server: of which, or of whose storage.
            filesystems: of that storage.
        """
        self.work = work
        self._kind = work.kind_on(filesystems) or work.kinds[0]
        self._phase = phase
        self._server = server
        self._over = threading.Event()
        self._turns: list[BesideTurn] = []
        self._error: FootingError | None = None
        self._thread = threading.Thread(target=self._run, name="beside", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def look(self) -> None:
        """Do nothing as long as all is well.

        Raises:
            FootingError: it failed.
        """
        if self._error is not None:
            raise self._error

    @property
    def turns(self) -> tuple[BesideTurn, ...]:
        """Every time of it that has ended, in order."""
        return tuple(self._turns)

    def end(self, look: Callable[[], object] = bool) -> None:
        """End what is under way and wait for that; may be called again.

        Args:
            look: called often meanwhile.

        Raises:
            StorageError: it does not end.
            FootingError: what `look` raises; the work is told to end, and not waited for any more.
        """
        self._over.set()
        deadline_s = time.monotonic() + END_S
        while self._thread.is_alive():
            if self._work_is_of_root:
                self._server.end_maintenance()
            self._thread.join(_CANCEL_AGAIN_S)
            look()
            if time.monotonic() > deadline_s:
                raise StorageError(tr("{label}: it does not end.").format(label=self.work.label))

    @property
    def _work_is_of_root(self) -> bool:
        return self.work is not PG_BASEBACKUP

    def _run(self) -> None:
        while not self._over.is_set():
            started_s = time.monotonic()
            try:
                ended = self._do(self._kind)
            except Exception as error:  # noqa: BLE001 - the border of this thread
                self._error = footing_error(error)
                ended = MaintenanceEnd(WorkEnd.FAILED.value, self._error.message, 0.0)
            how = WorkEnd(ended.how)
            self._turns.append(BesideTurn(started_s, time.monotonic(), how, ended.message))
            if how is not WorkEnd.DONE and not (how is WorkEnd.ENDED and self._over.is_set()):
                words = tr("{label} failed: {reason}")
                reason = ended.message or tr("somebody else ended it")
                self._error = self._error or StorageError(words.format(label=self.work.label, reason=reason))
                return
            every_s = self._phase.every_s
            pause_s = PAUSE_S if every_s is None else started_s + every_s - time.monotonic()
            self._over.wait(max(pause_s, 0.0))

    def _do(self, kind: Maintenance) -> MaintenanceEnd:
        if self._work_is_of_root:
            return self._server.maintain_storage(kind.name)
        return self._server.back_up(self._phase.max_rate_bytes, self._over.is_set)
