"""Plans that were described and wait for their execution: for one caller, once, and for a limited time.

A plan becomes the steps for a whole session: its folder, the private folder in memory, the storage.
"""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.dbus.service import MethodError, has_room
from app.domain.disk import DiskIdentity
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import MIB, format_size
from app.helper.base.audit import PRIVATE, PRIVATE_BYTES, session_folder
from app.storage.layout.commands import build_steps
from app.storage.layout.conditions import MountIs, NotMounted
from app.storage.layout.partitions import Names, PlannedDevice, members_of
from app.storage.layout.steps import Command, MakeFolder, RemoveFolder, Step, describe

_MEMORY: Final = "pgfooting-private"


def layout_steps(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names, folder: str
) -> tuple[Step, ...]:
    """Return the steps that make a session, each with its undo steps.

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


_START_BYTES: Final = MIB
"""Start of the partition (`app.storage.layout.commands_filesystem`)."""
LIFETIME_S: Final = 900.0
MOST_FOR_ONE: Final = 8
MOST: Final = 32


@dataclass(frozen=True, slots=True)
class PlannedLayout:
    """One plan as it would be made here.

    Attributes:
        id: source of all names and UUIDs; not secret.
        plan: the request.
        devices: disks of the plan on this machine, by `DiskIdentity.key`.
    """

    id: uuid.UUID
    plan: StoragePlan
    devices: Mapping[str, PlannedDevice]

    @property
    def folder(self) -> str:
        """Folder of the mount points."""
        return session_folder(self.id.hex)

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that make it; the same on each call."""
        return layout_steps(self.plan, self.devices, Names(self.id), self.folder)

    def text(self) -> tuple[str, ...]:
        """Return every step as a line."""
        return tuple(describe(step) for step in self.steps())

    def disks(self) -> dict[str, DiskIdentity]:
        """Return the identity of each disk by its node."""
        return {self.devices[disk.key()].node: disk for _, disk in self.plan.members()}

    def written_ends(self) -> dict[str, int]:
        """Return, by node, the byte after the last one of each disk that it may write."""
        members = members_of(self.plan, self.devices, Names(self.id))
        return {member.disk: _START_BYTES + member.partition_bytes for member in members}


@dataclass(frozen=True, slots=True)
class DescribedPlans:
    """Plans as they were described to a caller.

    Attributes:
        id: its name on the bus; unguessable.
        owner: unique bus name of the caller.
        user: the caller's uid.
        layouts: the plans, in the caller's order.
        digest: SHA-256 of all their lines.
        expires_s: on the monotonic clock.
    """

    id: str
    owner: str
    user: int
    layouts: tuple[PlannedLayout, ...]
    digest: str
    expires_s: float

    def disks(self) -> dict[str, DiskIdentity]:
        """Return the identity of each disk of any plan, by its node."""
        return {node: disk for layout in self.layouts for node, disk in layout.disks().items()}

    def disk_names(self) -> str:
        """Return the names of the disks in polkit's message."""
        return ", ".join(map(name_of, self.disks().values()))


def name_of(disk: DiskIdentity) -> str:
    """Return the name of a disk in polkit's message."""
    words = (disk.model, disk.serial or disk.wwn or disk.device_number, f"({format_size(disk.size_bytes)})")
    return " ".join("".join(filter(str.isprintable, word)) for word in words if word)


def digest_of(texts: Sequence[Sequence[str]]) -> str:
    """Return the digest of Describe and Execute."""
    return hashlib.sha256("\n".join(line for text in texts for line in text).encode()).hexdigest()


def describe_plans(
    owner: str, user: int, plans: Sequence[tuple[StoragePlan, Mapping[str, PlannedDevice]]]
) -> tuple[DescribedPlans, list[tuple[str, ...]]]:
    """Describe plans, each with its devices, to a caller; return that and the lines of each plan."""
    layouts = tuple(
        PlannedLayout(uuid.UUID(bytes=secrets.token_bytes(16), version=4), plan, dict(devices))
        for plan, devices in plans
    )
    texts = [layout.text() for layout in layouts]
    expires_s = time.monotonic() + LIFETIME_S
    return DescribedPlans(secrets.token_hex(16), owner, user, layouts, digest_of(texts), expires_s), texts


@dataclass(slots=True)
class PendingPlans:
    """All waiting descriptions."""

    _plans: dict[str, DescribedPlans] = field(default_factory=dict)

    def check(self, owner: str, user: int) -> None:
        """Make sure that there is room for one more of a caller.

        Raises:
            MethodError: TooMany: of this connection, of all connections of its user (who is not root), or of
                all users except root together; root has as many of its own.
        """
        self._forget_expired()
        users = [plan.user for plan in self._plans.values()]
        if len(self._of(owner)) >= MOST_FOR_ONE or not has_room(
            users, user, each=MOST_FOR_ONE, together=MOST
        ):
            raise MethodError("TooMany")

    def keep(self, described: DescribedPlans) -> None:
        """Keep a description for its execution.

        Raises:
            MethodError: TooMany, as `check`.
        """
        self.check(described.owner, described.user)
        self._plans[described.id] = described

    def take(self, owner: str, plan_id: str, digest: str) -> DescribedPlans:
        """Return a description for its one execution and forget it.

        Raises:
            MethodError: Unknown: there is none with that name, it is another caller's, or its text was
                different.
        """
        self._forget_expired()
        described = self._plans.get(plan_id)
        if (
            described is None
            or described.owner != owner
            or not secrets.compare_digest(described.digest.encode(), digest.encode())
        ):
            raise MethodError("Unknown")
        del self._plans[plan_id]
        return described

    def forget(self, owner: str) -> None:
        """Forget the plans of a caller that has left."""
        for plan_id in self._of(owner):
            del self._plans[plan_id]

    @property
    def is_empty(self) -> bool:
        """Return whether no plan waits."""
        self._forget_expired()
        return not self._plans

    def _of(self, owner: str) -> Sequence[str]:
        return [plan_id for plan_id, plan in self._plans.items() if plan.owner == owner]

    def _forget_expired(self) -> None:
        now_s = time.monotonic()
        self._plans = {key: plan for key, plan in self._plans.items() if plan.expires_s > now_s}
