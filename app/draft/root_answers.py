"""Query the root helper for a draft: its answer about disks, and its commands in its own words.

Most queries only read. They need no password, unless this machine's rules require one to read the content of
disks, as they do for users without a local session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from app.dbus.helper_client import HelperClient
from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk, ReadProgress, RootAnswer
from app.domain.storage_plan.kept_disk import KeptDisk, ReleaseOutcome
from app.domain.storage_plan.plan import StoragePlan
from app.draft.disks.table import InspectionResult


def inspect_disks(disks: Sequence[Disk], progress: Callable[[float], None]) -> Mapping[str, InspectionResult]:
    """Return root's answers about disks, by kernel name.

    Args:
        disks: as listed.
        progress: called with the share of all disks that is done, 0 to 1; rotating disks take a while.

    Raises:
        FootingError: the helper is missing or does not answer; nothing was touched.
    """
    with closing(HelperClient.open()) as client:
        results = client.inspect([disk.identity for disk in disks], progress=progress)
    found: dict[str, InspectionResult] = {}
    for disk in disks:
        if disk.identity.device_number in results:
            found[disk.name] = _inspected(disk, results[disk.identity.device_number])
    return found


def _inspected(disk: Disk, root_answer: RootAnswer) -> InspectionResult:
    answer = SpareAnswer.SPARE if root_answer.is_spare else SpareAnswer.NOT_SPARE
    return InspectionResult(
        disk, answer, () if root_answer.is_spare else root_answer.refusals, root_answer.looked
    )


def read_disk(
    disk: Disk, progress: Callable[[ReadProgress], None], watch: Callable[[], None] = lambda: None
) -> InspectionResult:
    """Have root read every byte of a disk and return its answer afterwards; may take hours.

    Args:
        disk: as listed.
        progress: called with the progress.
        watch: called often; an exception from it ends the reading.

    Raises:
        FootingError: the helper is missing or does not answer; nothing was touched.
    """
    with closing(HelperClient.open()) as client:
        return _inspected(disk, client.read(disk.identity, progress, watch))


def inspect_kept(disk: Disk) -> tuple[KeptDisk, str]:
    """Return the content of a disk that the helper's journal keeps, and the digest needed to release it.

    Raises:
        FootingError: the helper is missing, does not answer, or does not keep the disk.
    """
    with closing(HelperClient.open()) as client:
        return client.inspect_kept(disk.identity)


def release_kept(disk: Disk, digest: str, watch: Callable[[], None] = lambda: None) -> ReleaseOutcome:
    """Have root release a disk that its journal keeps, and return how; the user is asked for a password.

    Args:
        disk: as listed.
        digest: of `inspect_kept`.
        watch: called often while the user is asked; an exception from it cancels the question.

    Raises:
        FootingError: it is not released; carries the reason.
    """
    with closing(HelperClient.open()) as client:
        return client.release_kept(disk.identity, digest, watch)


def describe_plans(plans: Sequence[StoragePlan]) -> tuple[tuple[str, ...], ...]:
    """Return the helper's commands for each plan, a line for each step.

    Raises:
        FootingError: the helper is missing, does not answer, or refuses a plan; nothing was touched.
    """
    with closing(HelperClient.open()) as client:
        return client.describe(plans).texts
