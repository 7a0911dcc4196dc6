"""A client of the helper for tests: describes plans, owns a session. Imports what every user can read."""

from __future__ import annotations

import pwd
from typing import Any

from app.dbus.service import load_gio
from app.domain.disk import DiskIdentity
from app.domain.messages.message import message_from_wire
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.storage_plan.reader import PLANS, plan_to_wire
from app.domain.text import MIB
from app.storage.inspect.snapshot import Policy
from app.storage.spare.spare import SpareDisks
from tests.bus.client import Client

NAME = "org.pgfooting.Helper1"
PATH = "/org/pgfooting/Helper1"
SPARE = SpareDisks(Policy(accept_loop_devices=True))
NOBODY = pwd.getpwnam("nobody").pw_uid


class HelperConnection(Client):
    """A connection that reads messages as the window does."""

    def call(  # type: ignore[explicit-override]  # a user without the packages of the tests runs this
        self, method: str, signature: str = "()", *values: object, interactive: bool = False
    ) -> Any:  # noqa: ANN401 - whatever crossed the bus
        found = super().call(method, signature, *values, interactive=interactive)
        return readable(found) if method in {"Inspect", "Read"} else found


def readable(value: Any) -> Any:  # noqa: ANN401 - whatever crossed the bus
    """Return values whose messages are sentences."""
    match value:
        case (str(), dict()):
            return message_from_wire(value)
        case list() | tuple():
            return type(value)(readable(each) for each in value)
        case _:
            return value


def client() -> HelperConnection:
    return HelperConnection(NAME, PATH, NAME)


def plan_of(
    *devices: str, level: Level = Level.SINGLE, filesystem: str = "ext4", **options: OptionValue
) -> StoragePlan:
    return plan_over(
        *(SPARE.identify(each) for each in devices), level=level, filesystem=filesystem, **options
    )


def plan_over(
    *disks: DiskIdentity, level: Level = Level.SINGLE, filesystem: str = "ext4", **options: OptionValue
) -> StoragePlan:
    return StoragePlan(Group(disks, level, filesystem, tuple(options.items()), partition_bytes=512 * MIB))


def wired(plan: StoragePlan) -> tuple[Any, ...]:
    """A plan with its options as variants."""
    _, glib = load_gio()
    kinds = {bool: "b", int: "x", str: "s"}

    def group(wire: tuple[Any, ...]) -> tuple[Any, ...]:
        options = {name: glib.Variant(kinds[type(value)], value) for name, value in wire[3].items()}
        return (*wire[:3], options, *wire[4:])

    data, further, log = plan_to_wire(plan)
    return group(data), [(name, group(each)) for name, each in further], log


class Owner:
    """A client that makes a session."""

    def __init__(self, connection: Client) -> None:
        self.client = connection
        self.signals = connection.signals()
        self.session = ""

    def describe(self, *plans: StoragePlan) -> tuple[str, list[list[str]], str]:
        found: tuple[str, list[list[str]], str] = self.client.call(
            "Describe", f"({PLANS})", [wired(plan) for plan in plans]
        )
        return found

    def execute(self, *plans: StoragePlan, uid: int = NOBODY) -> None:
        """Have the disks of plans claimed."""
        plan_id, _, described = self.describe(*plans)
        (self.session,) = self.client.call("Execute", "(ssu)", plan_id, described, uid)

    def make(self, number: int = 0) -> str:
        """Have a plan made; return the folder of the storage."""
        self.call("Make", "u", number)
        found = self.wait_for("Ready", "Unmade", "Ended")
        assert found[0] == "Ready", found
        return str(found[2])

    def call(self, method: str, signature: str = "", *values: object) -> Any:  # noqa: ANN401
        return self.client.call(method, f"(s{signature})", self.session, *values)

    def wait_for(self, *names: str) -> tuple[Any, ...]:
        """Wait for one of the signals; it and those before it are forgotten."""
        while True:
            for place, (name, content) in enumerate(self.signals):
                if name in names:
                    del self.signals[: place + 1]
                    return (name, *readable(content))
            self.client.context.iteration(True)  # noqa: FBT003

    def unmake(self) -> tuple[Any, ...]:
        self.call("Unmake")
        return self.wait_for("Unmade", "Ended")

    def release(self) -> tuple[Any, ...]:
        self.call("Release")
        return self.wait_for("Ended")
