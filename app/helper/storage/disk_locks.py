"""Locks on the disks of a session from authorisation to end, whether something is made of them or not.

Two locks. Shared flock(2), all the time: tools that lock disks (systemd, docs/BLOCK_DEVICE_LOCKING.md) stay
away, udevd may read; each step that writes makes it exclusive. Exclusive open(2), while nothing is made: the
kernel lets no program mount, claim or format a disk or a part of it. Made storage claims the disks itself.
Neither is relied upon: every step that writes checks the rules and the identities again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final, NoReturn

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity
from app.domain.errors import FootingError
from app.helper.base import audit
from app.helper.storage.leftovers import Leftovers
from app.storage.checks.disk_checks import check_identity, lasting_refusals, open_disk
from app.storage.execution import Hooks
from app.storage.layout.steps import QUICK_S
from app.storage.system import programs
from app.storage.system.programs import NoAnswerError, check_answers, run_program

_LOCK_S: Final = 20.0


class DiskLocks:
    """Locks on all disks of a session.

    Attributes:
        held: descriptor with a shared lock by node, for `Hooks.held`.
    """

    def __init__(self, chosen: Mapping[str, DiskIdentity], leftovers: Leftovers) -> None:
        self.held: dict[str, int] = {}
        self._chosen = dict(sorted(chosen.items()))
        self._disks = leftovers.disks
        self._leftovers = leftovers
        self._all = ExitStack()
        self._idle = ExitStack()

    def take(self) -> None:
        """Lock every disk, or none.

        Raises:
            MethodError: DiskRefused: one is another disk, not spare, or in use by others.
        """
        try:
            self._take()
        except BaseException:
            self.drop()
            raise

    def _take(self) -> None:
        self._leftovers.retry(list(self._chosen.values()))
        hooks = Hooks(self._disks.identify, self._leftovers.refusals)
        for node, disk in self._chosen.items():
            if left := self._leftovers.refusal(node, disk):
                _refuse([f"{disk.device_number} {left.rule} {left.evidence}"])
            try:
                check_answers(node)
            except NoAnswerError as err:
                _refuse([f"{disk.device_number} D14 {err.reason}"])
        for node, disk in self._chosen.items():
            try:
                check_identity(node, disk, hooks)
                descriptor = open_disk(node, disk)
                self._all.callback(os.close, descriptor)
                programs.lock(descriptor, node, _LOCK_S, fcntl.LOCK_SH)
            except (FootingError, OSError) as err:
                audit.note("refused: %s: %s", node, err)
                raise MethodError("DiskRefused", f"{disk.device_number} D15 changed or locked") from None
            self.held[node] = descriptor
        self._check_spare()
        for node, disk in self._chosen.items():
            if not self._keep_idle(node):
                raise MethodError("DiskRefused", f"{disk.device_number} D14 in use")

    def _look_again(self) -> None:
        """Make udevd read all disks and wait for it.

        Its database is one of the rules' sources, and may date from before the disks were last released: it
        can miss that a file was closed while it handles an earlier change (inotify, seen with systemd 252).
        """
        ended = programs.await_udevd(self._chosen, partial(run_program, timeout_s=QUICK_S))
        if ended is not None and ended.exit_code != 0:
            audit.note("udevadm trigger: %s", ended.complaint())

    def _check_spare(self) -> None:
        try:
            self._look_again()
            found = lasting_refusals(self._chosen, Hooks(self._disks.identify, self._leftovers.refusals))
        except (FootingError, OSError) as err:
            audit.note("refused: %s", err)
            raise MethodError("DiskRefused", "- D15 gone") from None
        reasons = [
            f"{self._chosen[node].device_number} {each.rule} {each.evidence}"
            for node, refusals in found.items()
            for each in refusals
        ]
        if reasons:
            _refuse(reasons)

    def _keep_idle(self, node: str) -> bool:
        with suppress(OSError):
            flags = os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._idle.callback(os.close, os.open(node, flags))
            return True
        return False

    def keep(self) -> None:
        """Claim the disks again after everything made of them is gone."""
        self._idle.close()
        for node in self._chosen:
            if not self._keep_idle(node):
                audit.note("%s is in use although nothing is made of it", node)

    def release_for_programs(self) -> None:
        """Let programs claim the disks: something is about to be made of them."""
        self._idle.close()
        self._look_again()

    def drop(self) -> None:
        """Release all disks."""
        self._idle.close()
        self.held.clear()
        self._all.close()


def _refuse(reasons: Sequence[str]) -> NoReturn:
    """Refuse disks.

    Raises:
        MethodError: DiskRefused, always.
    """
    audit.note("refused: %s", "; ".join(reasons))
    raise MethodError("DiskRefused", "\n".join(" ".join(reason.split()) for reason in reasons))
