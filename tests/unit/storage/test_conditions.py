"""Conditions of steps hold for exactly what they name; the machine's state is a stand-in's here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.storage.checks import disk_checks
from app.storage.checks.disk_checks import ConditionResult, check, pool_guid, probe
from app.storage.layout.conditions import (
    POOL_GUID,
    ArrayRuns,
    Condition,
    DeviceFree,
    DeviceGone,
    FactIs,
    MemberOf,
    MountIs,
    NoArray,
    NoBtrfs,
    NodeThere,
    NoPool,
    NoSignature,
    NotMounted,
    OwnMember,
    OwnPartition,
    OwnPool,
    OwnTable,
    PoolImported,
    PoolNotMounted,
    SessionPartition,
    SignatureIs,
)
from app.storage.layout.steps import mount_fact, pool_fact, table_fact
from app.storage.system.programs import CompletedProgram
from app.storage.system.state import MountEntry

DISK, NODE, FOLDER, POOL = "/dev/sdb", "/dev/sdb1", "/run/x", "pgfooting-1"
UUID, OTHER = "6f1d5a52-0a0c-4c1c-9b1e-000000000001", "6f1d5a52-0a0c-4c1c-9b1e-000000000002"


class State:
    """Stands for `app.storage.system.state`."""

    def __init__(self) -> None:
        self.sizes = {DISK: 10**9, NODE: 10**9}
        self.table = "digest"
        self.place = (1048576, 10**9)
        self.mounts: tuple[MountEntry, ...] = ()
        self.held_by: tuple[str, ...] = ()
        self.array: str | None = None
        self.uuids: dict[str, str] = {}
        self.claimed = self.imported = self.btrfs = False

    def size_bytes(self, node: str) -> int:
        return self.sizes.get(node, 0)

    @contextmanager
    def reading(self, node: str) -> Iterator[None]:
        assert node in self.sizes, "there is nothing to be read"
        yield

    def mount_of(self, folder: str) -> str:
        return " ".join(f"unique {each.mount_id}" for each in self.mounts_on(folder)[-1:])

    def partition_place(self, _node: str) -> tuple[int, int]:
        return self.place

    def mounts_on(self, folder: str) -> tuple[MountEntry, ...]:
        return tuple(each for each in self.mounts if each.folder == folder)

    def same_device(self, one: str, other: str) -> bool:
        return one.removeprefix("/dev/") == other.removeprefix("/dev/")

    def holders(self, _node: str) -> tuple[str, ...]:
        assert self.sizes, "there is nothing to be read"
        return self.held_by

    def is_claimed(self, _node: str) -> bool:
        return self.claimed

    def array_on(self, _members: Sequence[str]) -> str | None:
        return self.array

    def is_array_of(self, array: str, uuid: str, members: Sequence[str]) -> bool:
        assert array == self.array
        return all(self.uuids.get(each) == uuid for each in members)

    def array_uuid(self, node: str) -> str | None:
        return self.uuids.get(node)

    def pool_mounts(self, pool: str) -> tuple[MountEntry, ...]:
        return tuple(each for each in self.mounts if each.source == pool)

    def pool_is_imported(self, _pool: str) -> bool:
        return self.imported

    def btrfs_is_mounted(self, _uuid: str) -> bool:
        return self.btrfs


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> State:
    state = State()
    monkeypatch.setattr(disk_checks, "state", state)
    monkeypatch.setattr(disk_checks, "reading", state.reading)
    monkeypatch.setattr(disk_checks, "table_digest", lambda _disk: state.table)
    return state


def ended(stdout: str = "", code: int = 0) -> CompletedProgram:
    return CompletedProgram(("blkid",), code, stdout, "", 0.0)


def seen(
    condition: Condition, said: CompletedProgram | None = None, facts: Mapping[str, str] | None = None
) -> ConditionResult:
    def run(_argv: Sequence[str]) -> CompletedProgram:
        assert said is not None, "no program is needed"
        return said

    return check(condition, facts or {}, cast("Any", run))


def holds(
    condition: Condition, said: CompletedProgram | None = None, facts: Mapping[str, str] | None = None
) -> bool:
    return seen(condition, said, facts).holds


# --- tables and partitions


def test_table_by_identifier(state: State) -> None:
    said = ended(f"PTUUID={UUID}\nPTTYPE=gpt\n")
    assert holds(OwnTable(DISK, UUID), said)
    assert not holds(OwnTable(DISK, OTHER), said)
    assert not holds(OwnTable(DISK, UUID), ended(f"PTUUID={UUID}\nPTTYPE=dos\n"))
    assert not holds(OwnTable(DISK, UUID), ended(code=2))
    assert not holds(OwnTable(DISK, UUID), ended(code=8))
    state.sizes.clear()
    assert not holds(OwnTable(DISK, UUID))


def test_table_byte_for_byte(state: State) -> None:
    own = OwnPartition(DISK, UUID, OTHER)
    facts = {table_fact(own.table_place): "digest"}
    assert holds(own, facts=facts)
    assert not holds(own)
    assert not holds(OwnPartition(DISK, UUID, UUID), facts=facts)
    state.table = "another"
    assert not holds(own, facts=facts)
    state.sizes.clear()
    assert not holds(own, facts=facts)


def test_member_by_table_or_superblock(state: State) -> None:
    partition = SessionPartition(DISK, NODE, OTHER, UUID, PARTITION_TYPE, 1048576, 10**9)
    member = OwnMember(partition, SignatureIs(NODE, "linux_raid_member", UUID))
    facts = {table_fact(partition.table_place): "digest"}
    signed, foreign = ended(f"TYPE=linux_raid_member\nUUID={UUID}\n"), ended(f"TYPE=ext4\nUUID={UUID}\n")
    assert holds(member, facts=facts), "nothing else has to be asked"
    state.table = "another"
    assert holds(member, signed, facts)
    assert not holds(member, foreign, facts)
    assert not holds(member, ended(code=2), facts)
    state.place = (1048576, 10**9 + 4096)
    assert not holds(member, facts=facts), "the kernel has another partition there"
    state.place = (1048576, 10**9)
    del state.sizes[NODE]
    assert not holds(member, facts=facts), "it is gone"


# --- signatures


def test_signature_by_type_identifier_and_label(state: State) -> None:
    said = ended(f"DEVNAME={NODE}\nTYPE=xfs\nUUID={UUID.upper()}\nLABEL=data\n")
    assert holds(SignatureIs(NODE, "xfs"), said)
    assert holds(SignatureIs(NODE, "xfs", UUID, "data"), said)
    for wanted in (
        SignatureIs(NODE, "ext4", UUID, "data"),
        SignatureIs(NODE, "xfs", OTHER, "data"),
        SignatureIs(NODE, "xfs", UUID, "other"),
    ):
        assert not holds(wanted, said)
    assert not holds(SignatureIs(NODE, "xfs"), ended(code=2))
    state.sizes.clear()
    assert not holds(SignatureIs(NODE, "xfs"))


def test_pool_by_identifier_in_journal(state: State) -> None:
    member = SignatureIs(NODE, "zfs_member", POOL_GUID, POOL)
    said = ended(f"TYPE=zfs_member\nUUID=4711\nLABEL={POOL}\n")
    assert holds(member, said, {pool_fact(POOL): "4711"})
    assert not holds(member, said, {pool_fact(POOL): "4712"})
    assert not holds(member, said), "nobody knows its identifier, so it is not ours"
    assert not holds(member, said, {pool_fact("other"): "4711"})
    assert not holds(replace(member, uuid="4712"), said, {pool_fact(POOL): "4711"})


@pytest.mark.parametrize(
    ("said", "is_blank"),
    [
        (ended(code=2), True),
        (ended("TYPE=xfs\n"), False),
        (ended("PTTYPE=gpt\n"), False),
        (ended("", code=8), False),
        (ended("PART_ENTRY_SCHEME=gpt\nDEVNAME=x\n"), True),
    ],
)
def test_unsigned_only_if_libblkid_finds_nothing(
    state: State, said: CompletedProgram, *, is_blank: bool
) -> None:
    assert state.sizes
    assert holds(NoSignature(NODE), said) is is_blank
    assert seen(NoSignature(NODE), ended("PTTYPE=gpt\n")).evidence == f"{NODE}: gpt"
    assert seen(NoSignature(NODE), ended("TYPE=xfs\nPTTYPE=dos\n")).evidence == f"{NODE}: xfs"
    assert seen(SignatureIs(NODE, "ext4"), ended("TYPE=xfs\nUUID=7\n")).evidence == f"{NODE}: TYPE=xfs UUID=7"
    state.sizes.clear()
    assert holds(NoSignature(NODE)), "what is gone has nothing"


def test_what_libblkid_cannot_tell_is_something() -> None:
    assert probe(NODE, cast("Any", lambda _argv: ended(code=2))) == {}
    assert probe(NODE, cast("Any", lambda _argv: ended(code=8)))["TYPE"] == "unknown"


# --- mounts


def mount(source: str, folder: str = FOLDER) -> MountEntry:
    return MountEntry(40, folder, "xfs", source, ())


def test_what_is_mounted_is_the_uppermost_there(state: State) -> None:
    condition = MountIs(FOLDER, (NODE, "/dev/sdc1"))
    assert not holds(condition)
    assert holds(NotMounted(FOLDER))
    state.mounts = (mount(NODE, "/elsewhere"),)
    assert not holds(condition)
    state.mounts = (mount(NODE),)
    assert holds(condition)
    assert not holds(NotMounted(FOLDER))
    state.mounts = (mount("/dev/sdc1"),)
    assert holds(condition)
    state.mounts = (mount(NODE), mount("/dev/sdz"))
    assert not holds(condition), "somebody mounted over it"


def test_mount_of_the_journal(state: State) -> None:
    state.mounts = (mount(NODE),)
    assert holds(MountIs(FOLDER, (NODE,)), facts={mount_fact(FOLDER): "unique 40"})
    assert not holds(MountIs(FOLDER, (NODE,)), facts={mount_fact(FOLDER): "unique 41"})


def test_a_node_is_there_or_not(state: State) -> None:
    assert (holds(NodeThere(NODE)), holds(DeviceGone(NODE))) == (True, False)
    state.sizes.clear()
    assert (holds(NodeThere(NODE)), holds(DeviceGone(NODE))) == (False, True)


def test_node_is_free(state: State) -> None:
    assert holds(DeviceFree(NODE))
    state.claimed = True
    assert not holds(DeviceFree(NODE))
    state.claimed, state.held_by = False, ("md127",)
    assert not holds(DeviceFree(NODE))
    state.sizes.clear()
    assert holds(DeviceFree(NODE)), "what is gone is held by nobody"


# --- arrays, pools and btrfs


def test_array_runs_that_is_ours(state: State) -> None:
    ours = ArrayRuns("/dev/md/x", UUID, (NODE, "/dev/sdc1"))
    assert seen(ours) == ConditionResult(holds=False, evidence="/dev/md/x: not running")
    state.uuids = {NODE: UUID, "/dev/sdc1": UUID}
    assert not holds(ours), "it does not run"
    state.array = "/dev/md127"
    assert seen(ours) == ConditionResult(holds=True, evidence="/dev/md/x: /dev/md127", renamed="/dev/md127")
    state.sizes["/dev/md/x"] = 10**9
    assert not holds(ours), "another array has its name"
    assert holds(replace(ours, node="/dev/md127"))
    del state.sizes["/dev/md/x"]
    for uuids in ({NODE: OTHER}, {NODE: OTHER, "/dev/sdc1": UUID}):
        state.uuids = uuids
        assert seen(ours) == ConditionResult(holds=False, evidence="/dev/md/x: /dev/md127")
    assert not holds(NoArray((NODE,)))
    state.array = None
    assert holds(NoArray((NODE,)))


def test_a_member_is_that_of_one_array(state: State) -> None:
    assert not holds(MemberOf(NODE, UUID))
    state.uuids = {NODE: UUID}
    assert holds(MemberOf(NODE, UUID))
    assert not holds(MemberOf(NODE, OTHER))


def test_own_pool_imported(state: State) -> None:
    facts = {pool_fact(POOL): "4711"}
    assert (holds(PoolImported(POOL)), holds(NoPool(POOL))) == (False, True)
    assert not holds(OwnPool(POOL), None, facts)
    state.imported = True
    assert (holds(PoolImported(POOL)), holds(NoPool(POOL))) == (True, False)
    assert holds(OwnPool(POOL), ended("4711\n"), facts)
    assert not holds(OwnPool(POOL), ended("4712\n"), facts)
    assert not holds(OwnPool(POOL), ended("4711\n", code=1), facts)
    assert not holds(OwnPool(POOL), ended("4711\n"), {})
    assert not holds(OwnPool(POOL), ended("\n"), {pool_fact(POOL): ""})
    assert pool_guid(POOL, cast("Any", lambda _argv: ended("4711\n", code=1))) == ""


def test_pool_with_a_mounted_dataset_is_kept(state: State) -> None:
    alone = ended(f"{POOL}\n")
    assert holds(PoolNotMounted(POOL), alone)
    for listed in (f"{POOL}\n{POOL}/volume\n", "", f"{POOL}/other\n", POOL):
        assert not holds(PoolNotMounted(POOL), ended(listed)), listed
    assert not holds(PoolNotMounted(POOL), ended(f"{POOL}\n", code=1))
    assert "volume" in seen(PoolNotMounted(POOL), ended(f"{POOL}\n{POOL}/volume\n")).evidence
    state.mounts = (MountEntry(40, "/srv/other", "zfs", POOL, ()),)
    found = seen(PoolNotMounted(POOL))
    assert not found.holds
    assert "/srv/other" in found.evidence
    assert holds(PoolNotMounted("tank"), ended("tank\n"))


def test_a_btrfs_is_mounted_or_not(state: State) -> None:
    assert holds(NoBtrfs(UUID))
    state.btrfs = True
    assert not holds(NoBtrfs(UUID))


def test_fact_only_from_the_journal() -> None:
    for facts, holds in (({"a": "b"}, True), ({"a": ""}, False), ({"b": "b"}, False), ({}, False)):
        assert check(FactIs("a", "b"), facts).holds is holds
