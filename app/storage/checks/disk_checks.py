"""Check a disk right before a step writes to it: its identity, and whether it is spare.

Source: storage reference, section 3.3; systemd, docs/BLOCK_DEVICE_LOCKING.md.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import RefusedError
from app.domain.messages.message import error_text, say
from app.storage.checks.hooks import Hooks
from app.storage.system import state, waiting

LOCK_S: Final = 60.0
"""How long udevd may inspect a disk before we give up; it holds a shared lock meanwhile."""
LOOKING_S: Final = 5.0
"""How long other programs may keep a disk open without working with it."""
_OPENED: Final = frozenset({"D13", "D14"})
"""Rules about processes that have a disk open."""


def check_identity(node: str, chosen: DiskIdentity, hooks: Hooks) -> None:
    """Make sure that a node is the chosen disk.

    Raises:
        RefusedError: it is another disk, or gone.
    """
    try:
        now = hooks.identify(node)
    except OSError as err:
        raise RefusedError(
            say("disk-not-identified", node=node, reason=err.strerror or error_text(err))
        ) from err
    changed = chosen.differs_from(now)
    if changed:
        raise RefusedError(
            say("disk-other-than-chosen", node=node, fields=", ".join(changed)),
            hint=say("choose-disks-again"),
        )


def lasting_refusals(chosen: Mapping[str, DiskIdentity], hooks: Hooks) -> Mapping[str, Sequence[DiskRefusal]]:
    """Return why disks are not spare, by node; waits for programs that open them only for a moment.

    After a change udevd's programs and UDisks2 open a disk; programs that work with it keep it open for
    longer.
    """
    deadline_s = time.monotonic() + LOOKING_S
    while True:
        refused = hooks.refusals(chosen)
        rules = {refusal.rule for refusals in refused.values() for refusal in refusals}
        if not rules or rules - _OPENED or time.monotonic() >= deadline_s:
            return refused
        time.sleep(0.1)


def check_spare(nodes: Sequence[str], disks: Mapping[str, DiskIdentity], hooks: Hooks) -> None:
    """Make sure that disks are the chosen ones, spare and unclaimed.

    Raises:
        RefusedError: the first reason against one of them.
    """
    for node in nodes:
        check_identity(node, disks[node], hooks)
    refused = lasting_refusals({node: disks[node] for node in nodes}, hooks) if nodes else {}
    for node, refusals in refused.items():
        for refusal in refusals:
            raise RefusedError(
                say(
                    "disk-not-spare",
                    node=node,
                    rule=refusal.rule,
                    message=refusal.message,
                    evidence=refusal.evidence,
                ),
                hint=refusal.remedy,
            )
    for node in nodes:
        if state.is_claimed(node):
            raise RefusedError(say("disk-not-exclusive", node=node))


def open_disk(node: str, chosen: DiskIdentity) -> int:
    """Open a disk to lock it: read-only, so that closing it does not count as a change.

    Raises:
        RefusedError: it is another device.
        OSError: it cannot be opened.
    """
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _check_number(fd, node, chosen)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_number(fd: int, node: str, chosen: DiskIdentity) -> None:
    found = os.fstat(fd)
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    if not stat.S_ISBLK(found.st_mode) or number != chosen.device_number:
        raise RefusedError(say("node-other-number", node=node, number=chosen.device_number))


@contextmanager
def locked(node: str, chosen: DiskIdentity, hooks: Hooks) -> Iterator[None]:
    """Hold the lock that keeps udevd off a disk, after checking that it is the chosen disk.

    If the execution already holds a shared lock on the disk, that lock becomes exclusive for the time: a
    second descriptor would wait for the first.

    Raises:
        RefusedError: it is another disk.
        StorageError: another process holds the lock.
        OSError: it cannot be opened.
    """
    check_identity(node, chosen, hooks)
    held = hooks.held.get(node)
    fd = open_disk(node, chosen) if held is None else held
    try:
        _check_number(fd, node, chosen)
        began_s = time.monotonic()
        waiting.lock(fd, node, hooks.patience.limit(LOCK_S))
        hooks.patience.spent(time.monotonic() - began_s)
        yield
    finally:
        if held is None:
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)
        else:
            with suppress(BlockingIOError):  # another process was faster: the next step waits
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
