"""Check whether the conditions of steps hold now, with evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.messages.message import joined, say
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
    SignatureIs,
)
from app.storage.layout.steps import mount_fact, pool_fact, table_fact
from app.storage.system import state
from app.storage.system.device import reading
from app.storage.system.digests import table_digest
from app.storage.system.programs import CompletedProgram, run_program

PROBE_S: Final = 120.0

_CONTENT_TAGS: Final = frozenset({"TYPE", "UUID", "LABEL", "PTTYPE", "PTUUID", "USAGE"})
"""Tags about the content; blkid's other tags describe the device itself and its partition."""

Run = Callable[[Sequence[str]], CompletedProgram]


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Result of checking a condition.

    Attributes:
        holds: whether it is true.
        evidence: observed state, for the user.
        renamed: the device's current name, if it differs from the plan's.
    """

    holds: bool
    evidence: str
    renamed: str = ""


def probe(node: str, run: Run) -> Mapping[str, str]:
    """Return what libblkid finds on a device (blkid(8), low-level probing); empty if it finds nothing."""
    ended = run(("blkid", "--probe", "--output", "export", node))
    if ended.exit_code == 2:
        return {}
    if ended.exit_code != 0:
        # SECURITY: ambivalent or unreadable: something is there, of unknown kind.
        return {"TYPE": "unknown", "COMPLAINT": ended.complaint()}
    pairs = (line.partition("=") for line in ended.stdout.splitlines())
    return {name: value for name, _, value in pairs if name in _CONTENT_TAGS}


def probe_with_program(argv: Sequence[str]) -> CompletedProgram:
    """Run a program that only reads."""
    return run_program(argv, timeout_s=PROBE_S)


def pool_guid(pool: str, run: Run) -> str:
    """Return the GUID of an imported pool; empty if zpool does not report it."""
    ended = run(("zpool", "get", "-H", "-p", "-o", "value", "guid", pool))
    return ended.stdout.strip() if ended.exit_code == 0 else ""


def check(condition: Condition, facts: Mapping[str, str], run: Run = probe_with_program) -> ConditionResult:  # noqa: C901, PLR0911, PLR0912
    """Return whether a condition holds now.

    Args:
        condition: to check.
        facts: from the journal, such as a pool's GUID under `pool_fact`.
        run: runs programs that only read.

    Raises:
        OSError: the deciding source cannot be read.
        ProgramError: blkid is missing.
    """
    match condition:
        case OwnTable(disk, table_uuid):
            found = probe(disk, run) if state.size_bytes(disk) else {}
            seen = say("seen-gpt", disk=disk, uuid=found.get("PTUUID", ""))
            is_made = (found.get("PTTYPE"), found.get("PTUUID")) == ("gpt", table_uuid)
            return ConditionResult(is_made, seen)
        case OwnPartition():
            return _owned(condition, facts)
        case OwnMember():
            return _owned_member(condition, facts, run)
        case SignatureIs():
            return _signed(condition, facts, run)
        case NoSignature(node):
            if not state.size_bytes(node):
                return ConditionResult(holds=True, evidence=say("seen-gone", node=node))
            found = probe(node, run)
            kind = found.get("TYPE") or found.get("PTTYPE", "")
            return ConditionResult(not found, _has(node, kind))
        case MountIs(folder, sources):
            entries = state.mounts_on(folder)
            known = bool(entries) and any(state.same_device(entries[-1].source, name) for name in sources)
            ours = known and facts.get(mount_fact(folder)) in {None, state.mount_of(folder)}
            return ConditionResult(ours, _mounted(folder, entries))
        case NotMounted(folder):
            entries = state.mounts_on(folder)
            return ConditionResult(not entries, _mounted(folder, entries))
        case DeviceGone(node) | NodeThere(node):
            size_bytes = state.size_bytes(node)
            wanted = isinstance(condition, NodeThere)
            return ConditionResult(bool(size_bytes) is wanted, say("seen-bytes", node=node, size=size_bytes))
        case DeviceFree(node):
            return _unheld(node)
        case ArrayRuns(node, uuid, members):
            array = state.array_on(members)
            ours = array is not None and state.is_array_of(array, uuid, members)
            # SECURITY: another array with this name is not ours, whatever holds our partitions.
            ours = ours and (not state.size_bytes(node) or state.same_device(node, array or ""))
            seen = say("seen-array", node=node, array=array) if array else say("seen-no-array", node=node)
            return ConditionResult(ours, seen, (array or "") if ours else "")
        case NoArray(members):
            array = state.array_on(members)
            return ConditionResult(array is None, _held(array, members[0]))
        case MemberOf(node, uuid):
            found_uuid = state.array_uuid(node)
            return ConditionResult(found_uuid == uuid, _member(node, found_uuid))
        case PoolImported(pool):
            imported = state.pool_is_imported(pool)
            return ConditionResult(imported, _imported(pool, imported=imported))
        case OwnPool(pool):
            guid = pool_guid(pool, run) if state.pool_is_imported(pool) else ""
            seen = say("seen-guid", pool=pool, guid=guid) if guid else say("seen-no-guid", pool=pool)
            return ConditionResult(bool(guid) and guid == facts.get(pool_fact(pool)), seen)
        case NoPool(pool):
            imported = state.pool_is_imported(pool)
            return ConditionResult(not imported, _imported(pool, imported=imported))
        case PoolNotMounted(pool):
            return _pool_unused(pool, run)
        case NoBtrfs(uuid):
            mounted = state.btrfs_is_mounted(uuid)
            seen = say("seen-btrfs", uuid=uuid) if mounted else say("seen-no-btrfs", uuid=uuid)
            return ConditionResult(not mounted, seen)
        case FactIs(name, text):
            found_text = facts.get(name, "")
            return ConditionResult(found_text == text, say("seen-fact", name=name, text=found_text))


def _owned(condition: OwnPartition, facts: Mapping[str, str]) -> ConditionResult:
    if not state.size_bytes(condition.disk):
        return ConditionResult(holds=False, evidence=say("seen-gone", node=condition.disk))
    with reading(condition.disk) as disk:
        now = table_digest(disk)
    is_same = now == facts.get(table_fact(condition.table_place))
    node = condition.disk
    sentence = say("seen-own-table", disk=node) if is_same else say("seen-other-table", disk=node)
    return ConditionResult(is_same, sentence)


def _owned_member(condition: OwnMember, facts: Mapping[str, str], run: Run) -> ConditionResult:
    partition = condition.partition
    by_table = _owned(partition.own, facts)
    if by_table.holds or not state.size_bytes(partition.node):
        return by_table
    if state.partition_place(partition.node) != (partition.start_bytes, partition.size_bytes):
        return by_table
    signed = _signed(condition.signature, facts, run)
    return ConditionResult(signed.holds, joined("; ", (by_table.evidence, signed.evidence)))


def _signed(condition: SignatureIs, facts: Mapping[str, str], run: Run) -> ConditionResult:
    if not state.size_bytes(condition.node):
        return ConditionResult(holds=False, evidence=say("seen-gone", node=condition.node))
    found = probe(condition.node, run)
    wanted = facts.get(pool_fact(condition.label), "") if condition.uuid == POOL_GUID else condition.uuid
    if condition.uuid and not wanted:
        return ConditionResult(holds=False, evidence=say("seen-no-journal-guid"))
    holds = (
        found.get("TYPE") == condition.type
        and (not wanted or found.get("UUID", "").lower() == wanted.lower())
        and (not condition.label or found.get("LABEL") == condition.label)
    )
    words = " ".join(f"{name}={found[name]}" for name in ("TYPE", "UUID", "LABEL") if name in found)
    return ConditionResult(holds, _has(condition.node, words))


def _pool_unused(pool: str, run: Run) -> ConditionResult:
    if mounted_at := state.pool_mounts(pool):
        return ConditionResult(holds=False, evidence=_mounted(mounted_at[0].folder, mounted_at))
    ended = run(("zfs", "list", "-H", "-r", "-t", "filesystem,volume", "-o", "name", pool))
    names = ended.stdout.split("\n")[:-1]
    text = " ".join(names) if ended.exit_code == 0 else ended.complaint()
    return ConditionResult(ended.exit_code == 0 and names == [pool], _has(pool, text))


def _unheld(node: str) -> ConditionResult:
    if not state.size_bytes(node):
        return ConditionResult(holds=True, evidence=say("seen-gone", node=node))
    held_by = state.holders(node)
    if held_by:
        return ConditionResult(holds=False, evidence=say("seen-part", node=node, holders=", ".join(held_by)))
    claimed = state.is_claimed(node)
    return ConditionResult(
        not claimed, say("seen-claimed", node=node) if claimed else say("seen-free", node=node)
    )


# --- evidence in words


def _has(node: str, what: str) -> str:
    return say("seen-content", node=node, what=what) if what else say("seen-nothing", node=node)


def _mounted(folder: str, entries: Sequence[state.MountEntry]) -> str:
    if not entries:
        return say("seen-not-mounted", folder=folder)
    return say("seen-content", node=folder, what=entries[-1].source)


def _held(array: str | None, member: str) -> str:
    return say("seen-holder", array=array, node=member) if array else say("seen-no-holder", node=member)


def _member(node: str, uuid: str | None) -> str:
    return say("seen-member", node=node, uuid=uuid) if uuid else say("seen-no-member", node=node)


def _imported(pool: str, *, imported: bool) -> str:
    return say("seen-imported", pool=pool) if imported else say("seen-not-imported", pool=pool)
