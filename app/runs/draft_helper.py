"""What a draft asks the root helper: its answer about disks, and the commands in its own words.

Both only look. Nobody is asked for a password here, except where this machine's rules want it for looking at
the content of disks, as they do of a person without a local session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.dbus.helper_client import HelperClient
from app.domain.disk import Answer, Disk, Refusal
from app.domain.plan import StoragePlan
from app.runs.draft_disks import Inspected


def inspect_disks(disks: Sequence[Disk]) -> Mapping[str, Inspected]:
    """Return root's answers about disks, by kernel name.

    Raises:
        FootingError: there is no helper, or it does not answer; nothing was touched.
    """
    client = HelperClient.open()
    try:
        told = client.inspect([disk.identity for disk in disks])
    finally:
        client.close()
    found: dict[str, Inspected] = {}
    for disk in disks:
        if disk.identity.device_number in told:
            is_spare, reasons = told[disk.identity.device_number]
            refusals = tuple(Refusal(*map(str, reason)) for reason in reasons)
            answer = Answer.SPARE if is_spare else Answer.NOT_SPARE
            found[disk.name] = Inspected(disk, answer, () if is_spare else refusals)
    return found


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
