"""What became of disks that were to be given back, and the helper that is started to give them back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.dbus.helper_client import HelperClient
from app.domain.disk import DiskIdentity, RootAnswer, UnreleasedItem, grouped_reasons
from app.domain.errors import FootingError, StorageError
from app.domain.text import tr
from app.storage.inspect.snapshot import Policy
from app.storage.spare.disks import list_disks

_SETTLE_S: Final = 5.0
"""How long udev may take to look again at disks whose partitions were removed a moment ago."""
_LOOK_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class UnmakeOutcome:
    """How unmaking ended.

    Attributes:
        error: what went wrong; None where nothing did.
        left: what could not be released; stays in the helper's journal.
    """

    error: FootingError | None
    left: tuple[UnreleasedItem, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was not released and why, a sentence each; nothing where all is free."""
        error = "" if self.error is None else f"{self.error.message} {self.error.hint}".strip()
        is_told = any(each.reason for each in self.left)
        return (*(() if is_told or not error else (error,)), *(each.sentence() for each in self.left))


def recover(disks: Sequence[DiskIdentity], *, interactive: bool = False) -> UnmakeOutcome:
    """Start the helper, which first unmakes what another one left, and return what it could not release.

    Args:
        disks: that are to be given back.
        interactive: whether a person may be asked for a password. Nobody is while a campaign ends: where
            looking at disks needs one, it is told what everybody may see.
    """
    try:
        client = HelperClient.open()
    except FootingError:
        message = tr("The helper could not be started again.")
        hint = tr(
            "An administrator sees why: journalctl -u pgfooting-helper, and sudo packaging/helper status"
        )
        still = tuple(UnreleasedItem(each.name, each.serial) for each in _still_seen(disks))
        return UnmakeOutcome(StorageError(message, hint=hint), still)
    try:
        return UnmakeOutcome(None, _settled(client, disks, interactive=interactive))
    except FootingError:
        return UnmakeOutcome(None, tuple(_still_seen(disks)))
    finally:
        client.close()


def ask_root(disks: Sequence[DiskIdentity]) -> Mapping[str, RootAnswer]:
    """Return what root says of disks, by device number; nothing where it cannot be asked without a password.

    What pgFooting left on them, root first tries to unmake.
    """
    try:
        client = HelperClient.open()
    except FootingError:
        return {}
    try:
        return client.inspect(disks, interactive=False)
    except FootingError:
        return {}
    finally:
        client.close()


def _settled(
    client: HelperClient, disks: Sequence[DiskIdentity], *, interactive: bool
) -> tuple[UnreleasedItem, ...]:
    """Return the disks that root does not call spare, once udev has seen what was unmade.

    Raises:
        FootingError: as `_not_spare`.
    """
    deadline_s = time.monotonic() + _SETTLE_S
    while (
        left := tuple(_not_spare(client, disks, interactive=interactive))
    ) and time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)
    return left


def _not_spare(
    client: HelperClient, disks: Sequence[DiskIdentity], *, interactive: bool
) -> Iterator[UnreleasedItem]:
    """Yield the disks that root does not call spare.

    Raises:
        FootingError: root does not answer, or only somebody with a password.
    """
    names = _names(disks)
    told = client.inspect(disks, interactive=interactive)
    for disk in disks:
        answer = told.get(disk.device_number)
        if answer is None or answer.is_spare:
            continue
        grouped = list(grouped_reasons(answer.refusals))
        reason = " ".join(f"{message} {evidence}".strip() for _, message, evidence, _ in grouped)
        remedy = " ".join(dict.fromkeys(each for *_, remedies in grouped for each in remedies))
        yield UnreleasedItem(names[disk.device_number], disk.serial, reason, remedy)


def _still_seen(disks: Sequence[DiskIdentity]) -> Iterator[UnreleasedItem]:
    """Yield the disks on which everybody can see something of pgFooting's."""
    wanted = {disk.device_number for disk in disks}
    for disk in list_disks(Policy(accept_loop_devices=True)).disks:
        if disk.identity.device_number in wanted and disk.is_left_over:
            reason = tr("What was made on it is still there.")
            if disk.held_by:
                reason = tr("What was made on it is still there: {uses}.").format(
                    uses=", ".join(disk.held_by)
                )
            yield UnreleasedItem(disk.path, disk.identity.serial, reason)


def _names(disks: Sequence[DiskIdentity]) -> dict[str, str]:
    """Return nodes, by device number; the number of what is not there any more."""
    here = {
        disk.identity.device_number: disk.path for disk in list_disks(Policy(accept_loop_devices=True)).disks
    }
    return {disk.device_number: here.get(disk.device_number, disk.device_number) for disk in disks}
