"""Whether the conditions of steps hold now, with what was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.storage.layout.steps import (
    POOL_GUID,
    ArrayRuns,
    Condition,
    DeviceFree,
    DeviceGone,
    MemberOf,
    MountIs,
    NoArray,
    NoBtrfs,
    NodeThere,
    NoMember,
    NoPool,
    NoSignature,
    NotMounted,
    OwnMember,
    OwnPartition,
    OwnPool,
    OwnTable,
    PoolImported,
    SignatureIs,
    pool_fact,
)
from app.storage.system import state
from app.storage.system.programs import CompletedProgram, run_program

PROBE_S: Final = 120.0

_TOLD: Final = frozenset({"TYPE", "UUID", "LABEL", "PTTYPE", "PTUUID", "USAGE"})
"""What is about the content; the rest is about the device itself and the partition that it is."""

Run = Callable[[Sequence[str]], CompletedProgram]


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """What became of a condition.

    Attributes:
        holds: whether it is true.
        evidence: what was seen, for people.
        renamed: the name that a device has now instead of the one that the plan gave it.
    """

    holds: bool
    evidence: str
    renamed: str = ""


def probe(node: str, run: Run) -> Mapping[str, str]:
    """Return what libblkid finds on a device (blkid(8), low-level probing); empty where it finds nothing."""
    ended = run(("blkid", "--probe", "--output", "export", node))
    if ended.exit_code == 2:
        return {}
    if ended.exit_code != 0:
        # SECURITY: ambivalent or unreadable: something is there, nobody knows what.
        return {"TYPE": "unknown", "COMPLAINT": ended.complaint()}
    pairs = (line.partition("=") for line in ended.stdout.splitlines())
    return {name: value for name, _, value in pairs if name in _TOLD}


def probe_with_program(argv: Sequence[str]) -> CompletedProgram:
    """Run a program that only reads."""
    return run_program(argv, timeout_s=PROBE_S)


def pool_guid(pool: str, run: Run) -> str:
    """Return the GUID of an imported pool; empty where zpool does not tell it."""
    ended = run(("zpool", "get", "-H", "-p", "-o", "value", "guid", pool))
    return ended.stdout.strip() if ended.exit_code == 0 else ""


def check(condition: Condition, facts: Mapping[str, str], run: Run = probe_with_program) -> ConditionResult:  # noqa: C901, PLR0911, PLR0912
    """Return whether a condition holds now.

    Args:
        condition: what should be true.
        facts: what the journal holds, such as a pool's GUID under `pool_fact`.
        run: how programs that only read are run.

    Raises:
        OSError: what decides cannot be read.
        ProgramError: blkid is missing.
    """
    match condition:
        case OwnTable() | OwnPartition():
            return _owned(condition)
        case OwnMember():
            return _owned_member(condition, facts, run)
        case SignatureIs():
            return _signed(condition, facts, run)
        case NoSignature(node):
            if not state.size_bytes(node):
                return ConditionResult(holds=True, evidence=f"{node} is gone")
            found = probe(node, run)
            kind = found.get("TYPE") or found.get("PTTYPE", "")
            return ConditionResult(not found, f"{node} has {kind or 'nothing'}")
        case MountIs(folder, sources):
            entries = state.mounts_on(folder)
            known = bool(entries) and any(state.same_device(entries[-1].source, name) for name in sources)
            return ConditionResult(
                known, f"{folder} has {entries[-1].source if entries else 'nothing mounted'}"
            )
        case NotMounted(folder):
            entries = state.mounts_on(folder)
            return ConditionResult(
                not entries, f"{folder} has {entries[-1].source if entries else 'nothing mounted'}"
            )
        case DeviceGone(node) | NodeThere(node):
            size_bytes = state.size_bytes(node)
            wanted = isinstance(condition, NodeThere)
            return ConditionResult(bool(size_bytes) is wanted, f"{node} has {size_bytes} bytes")
        case DeviceFree(node):
            return _unheld(node)
        case ArrayRuns(node, uuid, members):
            array = state.array_on(members)
            ours = array is not None and any(state.array_uuid(member) == uuid for member in members)
            return ConditionResult(ours, f"{node} is {array or 'not running'}", (array or "") if ours else "")
        case NoArray(members):
            array = state.array_on(members)
            return ConditionResult(array is None, f"{array or 'no array'} holds {members[0]}")
        case MemberOf(node, uuid):
            found_uuid = state.array_uuid(node)
            return ConditionResult(found_uuid == uuid, f"{node} is a member of {found_uuid or 'nothing'}")
        case NoMember(node):
            found_uuid = state.array_uuid(node)
            return ConditionResult(found_uuid is None, f"{node} is a member of {found_uuid or 'nothing'}")
        case PoolImported(pool):
            imported = state.pool_is_imported(pool)
            return ConditionResult(imported, f"{pool} is {'imported' if imported else 'not imported'}")
        case OwnPool(pool):
            guid = pool_guid(pool, run) if state.pool_is_imported(pool) else ""
            return ConditionResult(
                bool(guid) and guid == facts.get(pool_fact(pool)), f"{pool} has GUID {guid or 'none'}"
            )
        case NoPool(pool):
            imported = state.pool_is_imported(pool)
            return ConditionResult(not imported, f"{pool} is {'imported' if imported else 'not imported'}")
        case NoBtrfs(uuid):
            mounted = state.btrfs_is_mounted(uuid)
            return ConditionResult(not mounted, f"btrfs {uuid} is {'mounted' if mounted else 'not mounted'}")


def _owned(condition: OwnTable | OwnPartition) -> ConditionResult:
    table = state.read_table(condition.disk) if state.size_bytes(condition.disk) else None
    if table is None:
        return ConditionResult(holds=False, evidence=f"{condition.disk} has no GPT")
    if isinstance(condition, OwnTable):
        return ConditionResult(table.uuid == condition.table_uuid, f"{condition.disk} has GPT {table.uuid}")
    first = table.partitions[0] if table.partitions else None
    ours = first is not None and (first.number, first.type, first.uuid) == (
        1,
        PARTITION_TYPE,
        condition.partition_uuid,
    )
    shown = first.uuid if first else "none"
    return ConditionResult(
        ours, f"{condition.disk} has {len(table.partitions)} partition(s), the first {shown}"
    )


def _owned_member(condition: OwnMember, facts: Mapping[str, str], run: Run) -> ConditionResult:
    partition = condition.partition
    by_table = _owned(OwnPartition(partition.disk, partition.partition_uuid))
    if by_table.holds or not state.size_bytes(partition.node):
        return by_table
    if state.partition_place(partition.node) != (partition.start_bytes, partition.size_bytes):
        return by_table
    signed = _signed(condition.signature, facts, run)
    return ConditionResult(signed.holds, f"{by_table.evidence}; {signed.evidence}")


def _signed(condition: SignatureIs, facts: Mapping[str, str], run: Run) -> ConditionResult:
    if not state.size_bytes(condition.node):
        return ConditionResult(holds=False, evidence=f"{condition.node} is gone")
    found = probe(condition.node, run)
    wanted = facts.get(pool_fact(condition.label), "") if condition.uuid == POOL_GUID else condition.uuid
    if condition.uuid and not wanted:
        return ConditionResult(holds=False, evidence="the journal holds no GUID of the pool")
    holds = (
        found.get("TYPE") == condition.type
        and (not wanted or found.get("UUID", "").lower() == wanted.lower())
        and (not condition.label or found.get("LABEL") == condition.label)
    )
    words = " ".join(f"{name}={found[name]}" for name in ("TYPE", "UUID", "LABEL") if name in found)
    return ConditionResult(holds, f"{condition.node} has {words or 'nothing'}")


def _unheld(node: str) -> ConditionResult:
    if not state.size_bytes(node):
        return ConditionResult(holds=True, evidence=f"{node} is gone")
    held_by = state.holders(node)
    if held_by:
        return ConditionResult(holds=False, evidence=f"{node} is part of {', '.join(held_by)}")
    claimed = state.is_claimed(node)
    return ConditionResult(not claimed, f"{node} is {'claimed' if claimed else 'free'}")
