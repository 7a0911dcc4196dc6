"""Maintenance between two phases of a run, by the server or by root; waited for, in bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from app.domain.errors import ServerError, StorageError
from app.domain.maintenance import DoneBy, Maintenance, MaintenanceEnd
from app.domain.text import tr
from app.domain.units import format_duration
from app.hosts.server_under_test import ServerUnderTest


class Waiting(Protocol):
    """How work of other programs is waited for, as `app.execution.phases.Runner` does it."""

    def __call__(
        self, work: Callable[[], None], *, look: Callable[[], object], cancel: Callable[[], object]
    ) -> None:
        """Do `work` in another thread; `look` is called often and may raise, `cancel` then ends it."""


@dataclass(frozen=True, slots=True)
class Between:
    """Does one after the other.

    Attributes:
        server: what is measured.
        wait: for it.
        look: called often while it is waited for.
    """

    server: ServerUnderTest
    wait: Waiting
    look: Callable[[], object]

    def do(self, work: Maintenance) -> None:
        """Do one to its end.

        Raises:
            ServerError: the server refuses, or had not ended in time.
            StorageError: root failed; carries its words, also that its time was up.
            TargetError: the target has nothing that root could do that to.
        """
        if work.done_by is DoneBy.ROOT:
            self._by_root(work)
        else:
            self._by_server(work)

    def _by_root(self, work: Maintenance) -> None:
        ended: list[MaintenanceEnd] = []
        self.wait(
            lambda: ended.append(self.server.maintain_storage(work.name)),
            look=self.look,
            cancel=self.server.end_maintenance,
        )
        self.server.check_target()  # hears what root ran
        check_done(work, ended[0])

    def _by_server(self, work: Maintenance) -> None:
        end_s = time.monotonic() + work.limit_s

        def look() -> None:
            self.look()
            if time.monotonic() > end_s:
                message = tr("{label} had not ended after {limit}: it was ended, and the run with it.")
                raise ServerError(message.format(label=work.label, limit=format_duration(work.limit_s)))

        self.wait(partial(self.server.maintain, (work.statement,)), look=look, cancel=self.server.stop)


def check_done(work: Maintenance, ended: MaintenanceEnd) -> None:
    """Make sure that root did it to its end.

    Raises:
        StorageError: it failed, or was called off by others.
    """
    if ended.is_done:
        return
    reason = ended.message or tr("root's helper ended it")
    raise StorageError(tr("{label} failed: {reason}").format(label=work.label, reason=reason))
