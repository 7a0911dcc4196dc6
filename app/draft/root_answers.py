"""What a draft asks the root helper: its answer about disks, and the commands in its own words.

Both only look. Nobody is asked for a password here, except where this machine's rules want it for looking at
the content of disks, as they do of a person without a local session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.dbus.helper_client import HelperClient
from app.domain.disk import Disk, RootAnswer, SpareAnswer
from app.domain.inspection_report import ReadProgress
from app.domain.storage_plan.kept_disk import KeptDisk, ReleaseOutcome
from app.domain.storage_plan.plan import StoragePlan
from app.draft.disks.table import InspectionResult


def inspect_disks(disks: Sequence[Disk], progress: Callable[[float], None]) -> Mapping[str, InspectionResult]:
    """Return root's answers about disks, by kernel name.

    Args:
        disks: as they were listed.
        progress: told which share of all disks is looked at, 0 to 1; disks that rotate take a while.

    Raises:
        FootingError: there is no helper, or it does not answer; nothing was touched.
    """
    client = HelperClient.open()
    try:
        told = client.inspect([disk.identity for disk in disks], progress=progress)
    finally:
        client.close()
    found: dict[str, InspectionResult] = {}
    for disk in disks:
        if disk.identity.device_number in told:
            found[disk.name] = _inspected(disk, told[disk.identity.device_number])
    return found


def _inspected(disk: Disk, told: RootAnswer) -> InspectionResult:
    answer = SpareAnswer.SPARE if told.is_spare else SpareAnswer.NOT_SPARE
    return InspectionResult(disk, answer, () if told.is_spare else told.refusals, told.looked)


def read_disk(
    disk: Disk, progress: Callable[[ReadProgress], None], watch: Callable[[], None] = lambda: None
) -> InspectionResult:
    """Have root read every byte of a disk and return what it says of it then; may take hours.

    Args:
        disk: as it was listed.
        progress: told how far it is.
        watch: called often; what it raises ends the reading.

    Raises:
        FootingError: there is no helper, or it does not answer; nothing was touched.
    """
    client = HelperClient.open()
    try:
        return _inspected(disk, client.read(disk.identity, progress, watch))
    finally:
        client.close()


def inspect_kept(disk: Disk) -> tuple[KeptDisk, str]:
    """Return what is on a disk that the helper's journal keeps, and the digest by which it is released.

    Raises:
        FootingError: there is no helper, it does not answer, or it does not keep the disk.
    """
    client = HelperClient.open()
    try:
        return client.inspect_kept(disk.identity)
    finally:
        client.close()


def release_kept(disk: Disk, digest: str, watch: Callable[[], None] = lambda: None) -> ReleaseOutcome:
    """Have root release a disk that its journal keeps, and return how; a person is asked for a password.

    Args:
        disk: as it was listed.
        digest: of `inspect_kept`.
        watch: called often while the person is asked; what it raises calls the question off.

    Raises:
        FootingError: it is not released, with the reason.
    """
    client = HelperClient.open()
    try:
        return client.release_kept(disk.identity, digest, watch)
    finally:
        client.close()


def describe_plans(plans: Sequence[StoragePlan]) -> tuple[tuple[str, ...], ...]:
    """Return what the helper would execute for each plan, a line for each step.

    Raises:
        FootingError: there is no helper, it does not answer, or refuses a plan; nothing was touched.
    """
    client = HelperClient.open()
    try:
        return client.describe(plans).texts
    finally:
        client.close()
