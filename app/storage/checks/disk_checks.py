"""Check disks and conditions right before and after a step; the hooks of an execution.

Source: storage reference, section 3.3; systemd, docs/BLOCK_DEVICE_LOCKING.md.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import RefusedError
from app.domain.messages.message import error_text, joined, say
from app.domain.step_progress import StepProgress
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
from app.storage.layout.steps import Step, mount_fact, pool_fact, table_fact
from app.storage.system import programs, state
from app.storage.system.device import reading, table_digest
from app.storage.system.programs import CompletedProgram, TimeBudget, run_program

# Hooks of an execution, and the report of its steps.


@dataclass(frozen=True, slots=True)
class StepResult:
    """An executed step, for the run file and the system journal.

    Attributes:
        text: the step in words or as a command.
        exit_code: of a command; None if no program ran.
        seconds: of the whole step.
        program_seconds: part of it spent in programs and waiting for the kernel.
        output: of the program.
        skipped: why it was skipped; empty if it was not.
    """

    text: str
    exit_code: int | None
    seconds: float
    program_seconds: float
    output: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    """Report of an execution.

    Attributes:
        steps: in order.
        seconds: from start to end.
        facts: found out during the execution, such as the pool's GUID.
    """

    steps: tuple[StepResult, ...]
    seconds: float
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class User:
    """A user of a disk or an array.

    Attributes:
        message: how it uses the disk, a sentence.
        evidence: where this was seen.
        remedy: how to end the use; may be empty.
        only_reads: whether it only has the disk open for reading.
        is_claim: whether the only evidence is that the kernel does not give the disk exclusively: the
            claimant is reported separately, or is the caller.
    """

    message: str
    evidence: str
    remedy: str = ""
    only_reads: bool = False
    is_claim: bool = False


@dataclass(frozen=True, slots=True)
class Hooks:
    """Questions and reports of an execution.

    Attributes:
        identify: returns the current identity of a node's disk, freshly read; raises OSError if it is gone.
        refusals: returns why disks (identity by node) are not spare, decided now, by node; empty if all are.
        journal: called before a step changes anything, with the step and its undo steps; returns when that is
            on disk. A refused or skipped step never began.
        release: called with disks (identity by node) that are blank again; returns when that is on disk.
        facts: called with facts that only became known on the way, by name; returns when that is on disk.
        users: returns the users of a disk (its node and identity), or of an array that holds it.
        hiding: returns the processes with descriptors that cannot be identified, in words.
        save: called with a name, an offset and the bytes that are about to be zeroed there; returns when a
            copy is on disk.
        progress: called when a step begins, and during long ones.
        done: called when a step ended: after execution, after a skip, and after its program failed, while
            making, undoing and unmaking alike.
        is_cancelled: polled often; ignored while undoing.
        patience: total time for waiting for other programs.
        other_boot: whether the machine was restarted between making and unmaking.
        since: why disks, by node, may have changed since the session made something on them, though they are
            present: the machine was restarted, they reappeared, or their size changed. Nothing on them is
            undone unasked.
        held: descriptors of disks, by node, with a shared lock that is held for longer than one step.
    """

    identify: Callable[[str], DiskIdentity]
    refusals: Callable[[Mapping[str, DiskIdentity]], Mapping[str, Sequence[DiskRefusal]]]
    journal: Callable[[Step, tuple[Step, ...]], None] = lambda _step, _undo: None
    release: Callable[[Mapping[str, DiskIdentity]], None] = lambda _disks: None
    facts: Callable[[Mapping[str, str]], None] = lambda _facts: None
    users: Callable[[str, DiskIdentity], Sequence[User]] = lambda _node, _disk: ()
    hiding: Callable[[], str] = lambda: ""
    save: Callable[[str, int, bytes], None] = lambda _name, _offset, _content: None
    progress: Callable[[StepProgress], None] = lambda _progress: None
    done: Callable[[StepResult], None] = lambda _done: None
    is_cancelled: Callable[[], bool] = lambda: False
    patience: TimeBudget = field(default_factory=TimeBudget)
    other_boot: bool = False
    since: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)


LOCK_S: Final = 60.0
"""How long udevd may inspect a disk before we give up; it holds a shared lock meanwhile."""
LOOKING_S: Final = 5.0
"""How long other programs may keep a disk open without working with it."""
_OPENED: Final = frozenset({"D13", "D14"})
"""Rules about processes that have a disk open."""


def check_identity(node: str, chosen: DiskIdentity, hooks: Hooks) -> None:
    """Make sure that a node is the chosen disk.

    Raises:
        RefusedError: it is another disk, or gone.
    """
    try:
        now = hooks.identify(node)
    except OSError as err:
        raise RefusedError(
            say("disk-not-identified", node=node, reason=err.strerror or error_text(err))
        ) from err
    changed = chosen.differs_from(now)
    if changed:
        raise RefusedError(
            say("disk-other-than-chosen", node=node, fields=", ".join(changed)),
            hint=say("choose-disks-again"),
        )


def lasting_refusals(chosen: Mapping[str, DiskIdentity], hooks: Hooks) -> Mapping[str, Sequence[DiskRefusal]]:
    """Return why disks are not spare, by node; waits for programs that open them only for a moment.

    After a change udevd's programs and UDisks2 open a disk; programs that work with it keep it open for
    longer.
    """
    deadline_s = time.monotonic() + LOOKING_S
    while True:
        refused = hooks.refusals(chosen)
        rules = {refusal.rule for refusals in refused.values() for refusal in refusals}
        if not rules or rules - _OPENED or time.monotonic() >= deadline_s:
            return refused
        time.sleep(0.1)


def check_spare(nodes: Sequence[str], disks: Mapping[str, DiskIdentity], hooks: Hooks) -> None:
    """Make sure that disks are the chosen ones, spare and unclaimed.

    Raises:
        RefusedError: the first reason against one of them.
    """
    for node in nodes:
        check_identity(node, disks[node], hooks)
    refused = lasting_refusals({node: disks[node] for node in nodes}, hooks) if nodes else {}
    for node, refusals in refused.items():
        for refusal in refusals:
            raise RefusedError(
                say(
                    "disk-not-spare",
                    node=node,
                    rule=refusal.rule,
                    message=refusal.message,
                    evidence=refusal.evidence,
                ),
                hint=refusal.remedy,
            )
    for node in nodes:
        if state.is_claimed(node):
            raise RefusedError(say("disk-not-exclusive", node=node))


def open_disk(node: str, chosen: DiskIdentity) -> int:
    """Open a disk to lock it: read-only, so that closing it does not count as a change.

    Raises:
        RefusedError: it is another device.
        OSError: it cannot be opened.
    """
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _check_number(fd, node, chosen)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_number(fd: int, node: str, chosen: DiskIdentity) -> None:
    found = os.fstat(fd)
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    if not stat.S_ISBLK(found.st_mode) or number != chosen.device_number:
        raise RefusedError(say("node-other-number", node=node, number=chosen.device_number))


@contextmanager
def locked(node: str, chosen: DiskIdentity, hooks: Hooks) -> Iterator[None]:
    """Hold the lock that keeps udevd off a disk, after checking that it is the chosen disk.

    If the execution already holds a shared lock on the disk, that lock becomes exclusive for the time: a
    second descriptor would wait for the first.

    Raises:
        RefusedError: it is another disk.
        StorageError: another process holds the lock.
        OSError: it cannot be opened.
    """
    check_identity(node, chosen, hooks)
    held = hooks.held.get(node)
    fd = open_disk(node, chosen) if held is None else held
    try:
        _check_number(fd, node, chosen)
        began_s = time.monotonic()
        programs.lock(fd, node, hooks.patience.limit(LOCK_S))
        hooks.patience.spent(time.monotonic() - began_s)
        yield
    finally:
        if held is None:
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)
        else:
            with suppress(BlockingIOError):  # another process was faster: the next step waits
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)


# Check whether the conditions of steps hold now, with evidence.


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
