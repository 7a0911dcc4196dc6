"""The spare disks of a campaign: described, confirmed by the user, authorised once, locked until its end.

The outcome for each disk is reported at the end, and kept in the campaign's folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.dbus.helper_client import HelperClient
from app.dbus.helper_errors import HelperLostError
from app.domain.campaign.configuration import PlannedRun
from app.domain.disk import DiskIdentity
from app.domain.disk_answers import Disk
from app.domain.errors import CampaignError, refuse
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import tr
from app.execution.resolve import ResolvedCampaign
from app.hosts.disk_session import DiskSession, UnmakeOutcome
from app.library.entries import DISKS_NAME
from app.process.starter import Account
from app.recording.events import CampaignListener
from app.storage.inspect.snapshot import Policy
from app.storage.spare.disks import list_disks

MOST_PLANS: Final = 16
"""Limit of one session of the helper (`app/helper/interface.xml`, Describe)."""


@dataclass(frozen=True, slots=True)
class ErasePrompt:
    """The erasure that the user must confirm.

    Attributes:
        disks: all that will be erased, each once.
        texts: the helper's own description of its actions, by the names of the configurations.
        test_devices: whether the helper accepts loop devices as disks.
    """

    disks: tuple[Disk, ...]
    texts: dict[str, tuple[str, ...]]
    test_devices: bool


Confirm = Callable[[ErasePrompt], None]
"""Returns if the user agrees; raises a `RefusedError` otherwise."""


@dataclass(frozen=True, slots=True)
class DiskConsent:
    """How the user is asked.

    Attributes:
        confirm: asks whether the disks may be erased.
        agent: lets polkit ask for the password as long as the block lasts.
    """

    confirm: Confirm = refuse
    agent: Callable[[], AbstractContextManager[None]] = nullcontext


def open_disks(
    stack: ExitStack,
    resolved: ResolvedCampaign,
    runs: Iterable[PlannedRun],
    account: Account,
    consent: DiskConsent,
    listener: CampaignListener,
) -> DiskSession | None:
    """Get the disks of the runs that are still to be done; None if they need none.

    Args:
        stack: releases the disks when it is closed.
        resolved: the campaign on this machine.
        runs: those to be done.
        account: receives the storage.
        consent: how the user is asked.
        listener: called with disks that could not be released.

    Raises:
        CampaignError: more different storage than a session of the helper supports.
        RefusedError: no helper, no consent, no authorisation, a disk that is not spare; nothing was touched.
    """
    plans: dict[StoragePlan, list[str]] = {}
    for name in dict.fromkeys(run.configuration.name for run in runs):
        plan = resolved.configurations[name].target.plan
        if plan is not None:
            plans.setdefault(plan, []).append(name)
    if not plans:
        return None
    if len(plans) > MOST_PLANS:
        message = tr(
            "{count} different uses of spare disks are too many for one campaign; at most {most} are allowed."
        )
        raise CampaignError(message.format(count=len(plans), most=MOST_PLANS), field="configuration")
    with ExitStack() as opening:
        client = HelperClient.open()
        opening.callback(client.close)
        description = client.describe(tuple(plans))
        texts = dict(zip(plans, description.texts, strict=True))
        named = {", ".join(names): texts[plan] for plan, names in plans.items()}
        consent.confirm(ErasePrompt(_disks_of(plans), named, client.version.test_devices))
        listener.reported("asking", tr("Waiting for an administrator to authorise erasing the disks."))
        with consent.agent():
            session = client.execute(description, account.uid)
        disks = DiskSession(client, session, texts, client.version.test_devices)
        stack.push(opening.pop_all())
    stack.callback(_release, disks, listener)
    return disks


def _disks_of(plans: Iterable[StoragePlan]) -> tuple[Disk, ...]:
    """Return every disk of the plans as users see it, in its present state."""
    here = {disk.identity.device_number: disk for disk in list_disks(Policy(accept_loop_devices=True)).disks}
    numbers = dict.fromkeys(disk.device_number for plan in plans for _, disk in plan.members())
    return tuple(here[number] for number in numbers if number in here)


def _release(disks: DiskSession, listener: CampaignListener) -> None:
    """Release the disks of a campaign that never reached its first run; `end_disks` handles the others."""
    if disks.has_ended:
        return
    for sentence in disks.release().sentences:
        listener.reported("left-over", sentence)


_LONGEST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class DiskEnding:
    """How the disks were released.

    Attributes:
        free: one sentence about those that are free again; empty if there are none.
        kept: a sentence for each that is not, with the reason.
    """

    free: str = ""
    kept: tuple[str, ...] = ()


def end_disks(session: DiskSession, folder: Path, listener: CampaignListener) -> None:
    """Release the disks of a campaign, report which are free again and which are not, and store that."""
    remains = session.release()
    if isinstance(remains.error, HelperLostError):
        remains = session.recover()
    ending = ending_of(session.disks, remains, list_disks(Policy(accept_loop_devices=True)).disks)
    for sentence in ending.kept:
        listener.reported("left-over", sentence)
    if ending.free:
        listener.reported("disks", ending.free)
    with suppress(OSError):  # a full library: it was reported
        _write(folder / DISKS_NAME, ending)


def ending_of(disks: Sequence[DiskIdentity], remains: UnmakeOutcome, here: Sequence[Disk]) -> DiskEnding:
    """Return the state of a session's disks at its end. Pure.

    Args:
        disks: of the session.
        remains: the helper's answer at the end.
        here: this machine's disks now: a free one shows no trace of pgFooting.
    """
    seen = {disk.identity.device_number: disk for disk in here}
    named = {kept.serial for kept in remains.left} | {kept.name for kept in remains.left}
    free: list[str] = []
    silent: list[str] = []
    for identity in disks:
        disk = seen.get(identity.device_number)
        name = f"{disk.path} ({identity.serial})" if disk and identity.serial else disk.path if disk else ""
        if disk is None or {identity.serial, disk.path, identity.device_number} & (named - {""}):
            continue
        (silent if disk.is_left_over else free).append(name)
    kept = list(remains.sentences)
    if silent and not kept:
        kept.append(tr("Storage that pgFooting created is still on: {uses}.").format(uses=", ".join(silent)))
    return DiskEnding(_free_words(free), tuple(kept))


def _free_words(names: Sequence[str]) -> str:
    if not names:
        return ""
    return tr("Released, not zeroed: {disks}.").format(disks=", ".join(names))


def _write(path: Path, ending: DiskEnding) -> None:
    part = path.with_name(f".{path.name}")
    part.write_text(json.dumps(asdict(ending), ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)  # noqa: PTH105 - whole or not at all


def read_disk_ending(folder: Path) -> DiskEnding | None:
    """Return how the disks of a campaign were released; None if that is not (yet) recorded."""
    try:
        with (folder / DISKS_NAME).open("rb") as file:
            found = json.loads(file.read(_LONGEST_BYTES))
    except (OSError, ValueError):
        return None
    match found:
        case {"free": str(free), "kept": [*kept]} if all(isinstance(each, str) for each in kept):
            return DiskEnding(free, tuple(kept))
        case _:
            return None
