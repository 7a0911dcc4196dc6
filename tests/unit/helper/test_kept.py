"""What is told of a kept disk, and which outcome of its release: root's own code over stand-ins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.dbus.service import load_gio, variant_of
from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.messages.message import MESSAGE, message_from_wire
from app.domain.storage_plan.plan import KEPT, KeptDisk, kept_from_wire
from app.domain.storage_plan.reader import identity_to_wire
from app.domain.storage_plan.words import kept_words, obstacle_words
from app.helper.session import inspection as kept_module
from app.helper.session.inspection import inspect_kept, release_kept
from app.storage.checks.disk_checks import User
from app.storage.layout.partitions import PlannedDevice
from app.storage.wiping.found import FilesystemUse, FoundSignature, OfferedDisk
from tests.unit.storage.plans import disk

DISK = disk(1)
ENTRY = SimpleNamespace(session="session", began_s=1.0, kept={})
MEMBER = FoundSignature("linux_raid_member", 4096, "8-9", "pgfooting:x")
VDEV = FoundSignature("zfs_member", 0, "17", "pgfooting-data-1")
EXT4 = FoundSignature("ext4", 0, "1-2", "CUSTOMERS")
USE = FilesystemUse(1 << 30, 1 << 20, "/srv", 7)


def offered(
    *inside: FoundSignature, held: tuple[FoundSignature, ...] = (), use: FilesystemUse | None = None
) -> OfferedDisk:
    return OfferedDisk(
        is_our_table=True,
        is_our_content=True,
        is_as_left=True,
        on_disk=(FoundSignature("gpt", 512),),
        inside=inside,
        held=held,
        use=use,
        digest="digest",
    )


@dataclass
class Leftovers:
    """Stands for what the journal keeps."""

    seen: OfferedDisk
    is_wiped: bool = False
    users: tuple[User, ...] = ()

    @property
    def disks(self) -> object:
        return SimpleNamespace(users=lambda *_: self.users)

    def retry(self, _disks: object) -> None: ...

    def under_way(self, _session: object) -> str:
        return ""

    def left_on(self, _disk: DiskIdentity) -> object:
        return ENTRY

    def offered(self, _disk: DiskIdentity) -> OfferedDisk:
        return self.seen

    def release(self, agreed: Mapping[DiskIdentity, str]) -> frozenset[DiskIdentity]:
        assert agreed == {DISK: "digest"}
        return frozenset(agreed) if self.is_wiped else frozenset()


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "find_device", lambda *_: PlannedDevice("/dev/sdb"))


def crossed(signature: str, values: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Return what a client gets of values."""
    pytest.importorskip("gi")
    return variant_of(load_gio()[1], signature, values).unpack()


def shown(leftovers: Leftovers) -> KeptDisk:
    wire, digest = inspect_kept(identity_to_wire(DISK), cast("Any", leftovers))
    assert digest == "digest"
    return kept_from_wire(crossed(f"({KEPT})", (wire,))[0])


def released(leftovers: Leftovers) -> tuple[str, str]:
    answer = release_kept(identity_to_wire(DISK), "digest", 1000, cast("Any", leftovers))
    outcome, message, _ = crossed(f"(s{MESSAGE}{MESSAGE})", answer)
    return outcome, message_from_wire(message)


def test_member_that_shows_what_its_array_holds() -> None:
    found = shown(Leftovers(offered(MEMBER, held=(EXT4,), use=USE)))
    assert [(each.node, each.type) for each in found.contents] == [
        ("/dev/sdb", "gpt"),
        ("/dev/sdb1", "linux_raid_member"),
        ("/dev/sdb1 (md)", "ext4"),
    ]
    assert [each.used_bytes for each in found.contents] == [0, 0, 1 << 20]
    assert (found.contents[2].label, found.unseen, found.is_as_left) == ("CUSTOMERS", "", True)


@pytest.mark.parametrize(
    ("member", "command"),
    [
        (MEMBER, "mdadm --assemble --readonly /dev/md/look --uuid=8-9"),
        (VDEV, "zpool import -N -o readonly=on pgfooting-data-1"),
    ],
)
def test_member_that_shows_nothing(member: FoundSignature, command: str) -> None:
    found = shown(Leftovers(offered(member)))
    assert command in found.unseen
    assert command in "\n".join(kept_words(found))
    assert shown(Leftovers(offered(EXT4, use=USE))).unseen == ""


def test_array_that_runs_is_an_obstacle() -> None:
    user = User("Another kernel device uses it.", "md127", "Stop the array: mdadm --stop /dev/md127")
    found = shown(Leftovers(offered(MEMBER), users=(user,)))
    assert found.obstacles == (DiskRefusal("D18", user.message, user.evidence, user.remedy),)
    assert "Stop the array: mdadm --stop /dev/md127" in obstacle_words(found)


@pytest.mark.parametrize(("is_wiped", "outcome"), [(True, "wiped"), (False, "dropped")])
def test_outcome_is_what_was_done(is_wiped: bool, outcome: str) -> None:  # noqa: FBT001
    """Not what was expected of what lay there before."""
    leftovers = Leftovers(offered(EXT4), is_wiped)
    assert released(leftovers) == (outcome, "")
    leftovers.seen = replace(leftovers.seen, digest="another")
    assert released(leftovers)[0] == "kept"
    assert "has changed since it was shown" in released(leftovers)[1]
