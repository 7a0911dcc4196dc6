"""Everything that a session makes, as steps: its folder, the private folder in memory, the storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.storage_plan.plan import StoragePlan
from app.helper.base.folders import PRIVATE, PRIVATE_BYTES
from app.storage.layout.commands import build_steps
from app.storage.layout.names import Names, PlannedDevice
from app.storage.layout.steps import Command, MakeFolder, MountIs, NotMounted, RemoveFolder, Step

_MEMORY: Final = "pgfooting-private"


def layout_steps(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names, folder: str
) -> tuple[Step, ...]:
    """Return what makes a session, each step with what undoes it.

    Raises:
        KeyError: a disk of the plan is not among the devices.
    """
    storage = build_steps(plan, devices, names, folder)
    session = MakeFolder(
        folder, "the session's folder", undo=(RemoveFolder(folder, "the session's folder is removed"),)
    )
    return (session, *_private(f"{folder}/{PRIVATE}"), *storage)


def _private(place: str) -> tuple[Step, ...]:
    options = f"nodev,nosuid,noexec,size={PRIVATE_BYTES},nr_inodes=10000,mode=0755"
    return (
        MakeFolder(
            place, "the folder for logs and the socket", undo=(RemoveFolder(place, "that folder is removed"),)
        ),
        Command(
            (
                *("mount", "--internal-only", "--types", "tmpfs", "--options", options),
                *("--source", _MEMORY, "--target", place),
            ),
            "logs and the socket lie in memory",
            before=(NotMounted(place),),
            after=(MountIs(place, (_MEMORY,)),),
            undo=(
                Command(
                    ("umount", "--internal-only", place),
                    "the memory for logs is given back",
                    when=(MountIs(place, (_MEMORY,)),),
                    after=(NotMounted(place),),
                ),
            ),
        ),
    )
