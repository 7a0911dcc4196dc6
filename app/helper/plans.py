"""Plans that were described and wait to be executed: each for one caller, once, and not for long."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.dbus.service import Refusal
from app.domain.disk import DiskIdentity
from app.domain.plan import StoragePlan
from app.domain.units import format_size
from app.helper.layout import layout_steps
from app.helper.places import session_folder
from app.storage.names import Device, Names
from app.storage.steps import Step, describe

LIFETIME_S: Final = 900.0
MOST_FOR_ONE: Final = 8
MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Described:
    """A plan as it was described to a caller.

    Attributes:
        id: names it on the bus; nobody can guess it.
        owner: unique bus name of the caller.
        plan: what was asked for.
        session: identifier of the session that it would become.
        devices: disks of the plan as this machine has them, by `DiskIdentity.key`.
        steps: what Execute does.
        expires_s: on the monotonic clock.
    """

    id: str
    owner: str
    plan: StoragePlan
    session: uuid.UUID
    devices: Mapping[str, Device]
    steps: tuple[Step, ...]
    expires_s: float

    @property
    def folder(self) -> str:
        """Folder of the session."""
        return session_folder(self.session.hex)

    @property
    def text(self) -> tuple[str, ...]:
        """Every step as a line."""
        return tuple(describe(step) for step in self.steps)

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256("\n".join(self.text).encode()).hexdigest()

    def disks(self) -> dict[str, DiskIdentity]:
        """Return the identity of each disk by its node."""
        return {self.devices[disk.key()].node: disk for _, disk in self.plan.members()}

    def disk_names(self) -> str:
        """Return the disks as the message of polkit names them."""
        return ", ".join(_name(disk) for _, disk in self.plan.members())


def _name(disk: DiskIdentity) -> str:
    words = (disk.model, disk.serial or disk.wwn or disk.device_number, f"({format_size(disk.size_bytes)})")
    return " ".join("".join(filter(str.isprintable, word)) for word in words if word)


@dataclass(slots=True)
class PlanBook:
    """All plans that wait."""

    _plans: dict[str, Described] = field(default_factory=dict)

    def add(self, owner: str, plan: StoragePlan, devices: Mapping[str, Device]) -> Described:
        """Describe a plan to a caller.

        Raises:
            Refusal: TooMany.
        """
        self._forget_expired()
        if len(self._plans) >= MOST or len(self._of(owner)) >= MOST_FOR_ONE:
            raise Refusal("TooMany")
        session = uuid.UUID(bytes=secrets.token_bytes(16), version=4)
        steps = layout_steps(plan, devices, Names(session), session_folder(session.hex))
        expires_s = time.monotonic() + LIFETIME_S
        described = Described(secrets.token_hex(16), owner, plan, session, dict(devices), steps, expires_s)
        self._plans[described.id] = described
        return described

    def take(self, owner: str, plan_id: str, digest: str) -> Described:
        """Return a plan for its one execution and forget it.

        Raises:
            Refusal: Unknown: there is none of that name, it is another caller's, or its text was another.
        """
        self._forget_expired()
        described = self._plans.get(plan_id)
        if (
            described is None
            or described.owner != owner
            or not secrets.compare_digest(described.digest.encode(), digest.encode())
        ):
            raise Refusal("Unknown")
        del self._plans[plan_id]
        return described

    def forget(self, owner: str) -> None:
        """Forget the plans of a caller that has left."""
        for plan_id in self._of(owner):
            del self._plans[plan_id]

    def has(self, owner: str) -> bool:
        """Whether a caller has plans that wait."""
        return bool(self._of(owner))

    def _of(self, owner: str) -> Sequence[str]:
        return [plan_id for plan_id, plan in self._plans.items() if plan.owner == owner]

    def _forget_expired(self) -> None:
        now_s = time.monotonic()
        self._plans = {key: plan for key, plan in self._plans.items() if plan.expires_s > now_s}
