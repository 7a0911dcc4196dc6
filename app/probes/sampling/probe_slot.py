"""A probe as the sampler sees it: opened, read, and opened again after it failed.

Whatever a probe raises ends here: the other probes and the run go on.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import MissingMetric, Probe, ProbeContext, ProbeUnavailable, ReadMissed

LONGEST_PAUSE: Final = 32
"""Reads to let pass before the next attempt, at most; it doubles from 1."""

_log = logging.getLogger(__name__)


class SourceState(StrEnum):
    """What became of a source."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source changed its state, or the reason for it.

    Attributes:
        probe: `Probe.id`.
        state: the new state.
        reason: a sentence for people; empty when available.
        omissions: what it cannot give although it is available.
    """

    probe: str
    state: SourceState
    reason: str = ""
    omissions: tuple[MissingMetric, ...] = ()


class ProbeSlot:
    """One probe with its state. Used by one thread, except for `take_changes` and `reason`.

    Attributes:
        probe: the probe.
        reason: why it gives nothing now; empty while it works.
        missed: the last read came to nothing although nothing is wrong.
    """

    def __init__(self, probe: Probe, context: ProbeContext) -> None:
        self.probe = probe
        self.reason = ""
        self.missed = False
        self._context = context
        self._is_open = False
        self._told: tuple[str, tuple[MissingMetric, ...]] = ("", ())
        self._changes: deque[SourceChange] = deque()
        self._pause = 1
        self._skip = 0

    def open(self) -> None:
        """Open the probe; when that fails it is tried again later."""
        try:
            self.probe.open(self._context)
        except Exception as err:  # noqa: BLE001 - a border: one probe never stops the others
            self._fail(err)
        else:
            self._is_open = True  # whether it works, only a read can tell

    def read(self) -> list[Sample]:
        """Return the probe's samples; none while it is unavailable."""
        self.missed = False
        if not self._is_open and not self._reopen():
            return []
        try:
            samples = self.probe.read()
        except ReadMissed:
            self.missed = True
            return []
        except Exception as err:  # noqa: BLE001 - a border: one probe never stops the others
            self._fail(err)
            return []
        self._pause = 1
        self._tell("")
        return samples

    def _reopen(self) -> bool:
        if self._skip > 0:
            self._skip -= 1
            return False
        self.open()
        return self._is_open

    def _fail(self, err: Exception) -> None:
        self._is_open = False
        self._skip, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        self.probe.close()
        self._tell(_reason(err))
        if not isinstance(err, ProbeUnavailable | OSError):
            _log.error("probe %s failed", self.probe.id, exc_info=err)

    def _tell(self, reason: str) -> None:
        """Note a change of state; the same state is told once."""
        self.reason = reason
        now = (reason, self.probe.omissions)
        if now != self._told:
            self._told = now
            state = SourceState.UNAVAILABLE if reason else SourceState.AVAILABLE
            self._changes.append(SourceChange(self.probe.id, state, reason, self.probe.omissions))

    def take_changes(self) -> list[SourceChange]:
        """Return the changes since the last call; may be called by another thread than `read`."""
        changes: list[SourceChange] = []
        while self._changes:  # append and popleft of a deque are atomic, and only one thread takes
            changes.append(self._changes.popleft())
        return changes

    def close(self) -> None:
        """Close the probe."""
        self._is_open = False
        self.probe.close()


def _reason(err: Exception) -> str:
    if isinstance(err, ProbeUnavailable):
        return err.reason
    if isinstance(err, OSError):
        return tr("it cannot be read: {error}").format(error=err)
    return tr("pgFooting does not understand it: {error!r}").format(error=err)
