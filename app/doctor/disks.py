"""The disks of this machine, with those that pgFooting keeps, and how to release them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Final

from app.dbus.udisks import UdisksUnavailable, fetch_objects
from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.text import CALLED, tr
from app.draft.disks.table import JOURNALED
from app.helper.base.audit import read_policy
from app.hosts.disk_session import ask_root
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.udisks_objects import Objects
from app.storage.spare.disks import Listing, list_disks
from app.storage.spare.inspect import DiskProgress, ignore_progress

_UDISKS_S: Final = 0.25
"""Time limit for UDisks2, which only adds to sysfs."""


def find_disks(policy: Policy, progress: DiskProgress = ignore_progress) -> Listing:
    """Return this machine's disks, with data of UDisks2 if it runs and answers in time.

    Args:
        policy: the caller's.
        progress: called with the progress on a disk, in threads.
    """
    objects: Objects | None = None
    with ThreadPoolExecutor(1) as pool, suppress(UdisksUnavailable):
        objects = pool.submit(fetch_objects, _UDISKS_S).result()
    return list_disks(policy, objects=objects, progress=progress)


def find_disks_with_reasons(policy: Policy, progress: DiskProgress = ignore_progress) -> Listing:
    """Return this machine's disks, with root's own reasons for those with remains of pgFooting.

    Asking root removes those remains that can be removed.

    Args:
        policy: the caller's.
        progress: called with the progress on a disk, in threads.
    """
    listing = find_disks(policy, progress)
    left = [disk.identity for disk in listing.disks if disk.is_left_over]
    answers = ask_root(left) if left else {}
    if any(answer.is_spare for answer in answers.values()):
        listing = find_disks(policy, progress)

    def answered(disk: Disk) -> Disk:
        answer = answers.get(disk.identity.device_number)
        if answer is None or answer.is_spare or not disk.is_left_over:
            return disk
        return replace(disk, answer=SpareAnswer.NOT_SPARE, refusals=answer.refusals, questions=())

    return replace(listing, disks=tuple(map(answered, listing.disks)))


def release_command(disk: Disk) -> str:
    """Return the command that releases a disk."""
    return f"{CALLED} disks --release {disk.identity.typed_name()}"


def is_journaled(disk: Disk) -> bool:
    """Return whether the helper's journal has the disk."""
    return any(each.rule == JOURNALED for each in disk.refusals)


def is_kept(disk: Disk) -> bool:
    """Return whether the disk has storage or remains of pgFooting."""
    return disk.answer is not SpareAnswer.SPARE and (disk.is_left_over or is_journaled(disk))


def kept_words(disk: Disk) -> str:
    """Return how a kept disk is released."""
    sentence = tr("Used by pgFooting now, or left by it. What was left is released by: {command}")
    return sentence.format(command=release_command(disk))


def kept_disks(progress: DiskProgress) -> tuple[str, ...]:
    """Return a sentence for each disk with storage or remains of pgFooting, with its release command."""
    disks = find_disks_with_reasons(read_policy(), progress).disks
    return tuple(f"{disk.path}: {kept_words(disk)}" for disk in disks if is_kept(disk))
