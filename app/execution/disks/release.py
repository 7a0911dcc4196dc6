"""What became of a campaign's spare disks: told at its end, and kept in its folder for later."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.dbus.helper_errors import HelperLostError
from app.domain.disk import Disk, DiskIdentity
from app.domain.text import tr
from app.hosts.disk_recovery import UnmakeOutcome
from app.hosts.disk_session import DiskSession
from app.library.entries import DISKS_NAME
from app.recording.events import CampaignListener
from app.storage.inspect.snapshot import Policy
from app.storage.spare.disks import list_disks

_LONGEST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class DiskEnding:
    """How the disks were given back.

    Attributes:
        free: one sentence about those that are free again; empty where none is.
        kept: a sentence for each that is not, with the reason.
    """

    free: str = ""
    kept: tuple[str, ...] = ()


def end_disks(session: DiskSession, folder: Path, listener: CampaignListener) -> None:
    """Give the disks of a campaign back, tell which are free again and which are not, and keep that."""
    remains = session.release()
    if isinstance(remains.error, HelperLostError):
        remains = session.recover()
    ending = ending_of(session.disks, remains, list_disks(Policy(accept_loop_devices=True)).disks)
    for sentence in ending.kept:
        listener.told("left-over", sentence)
    if ending.free:
        listener.told("disks", ending.free)
    with suppress(OSError):  # a full library: it was told
        _write(folder / DISKS_NAME, ending)


def ending_of(disks: Sequence[DiskIdentity], remains: UnmakeOutcome, here: Sequence[Disk]) -> DiskEnding:
    """Return what became of the disks of a session. Pure.

    Args:
        disks: of the session.
        remains: what the helper said of them at the end.
        here: of this machine, now: on a disk that is free nothing of pgFooting's can be seen.
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
        kept.append(tr("{disks}: what was made on it is still there.").format(disks=", ".join(silent)))
    return DiskEnding(_free_words(free), tuple(kept))


def _free_words(names: Sequence[str]) -> str:
    if not names:
        return ""
    sentence = tr("The disk {disks} is free again: released, not zeroed.")
    if len(names) > 1:
        sentence = tr("These disks are free again: released, not zeroed: {disks}.")
    return sentence.format(disks=", ".join(names))


def _write(path: Path, ending: DiskEnding) -> None:
    part = path.with_name(f".{path.name}")
    part.write_text(json.dumps(asdict(ending), ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)  # noqa: PTH105 - whole or not at all


def read_disk_ending(folder: Path) -> DiskEnding | None:
    """Return what became of the disks of a campaign; None where nothing is told (yet)."""
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
