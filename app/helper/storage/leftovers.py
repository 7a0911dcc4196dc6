"""Leftovers of sessions that did not end properly: unmade if the journal proves them ours, else named.

Recovery runs at the start of the helper and at boot, and again for a disk that is requested. It has a
separate thread for each session: if a disk hangs, only work on that disk waits. A disk in the journal is
spare for no caller (rule D18) until it was released.
"""

from __future__ import annotations

import logging
import shlex
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import FootingError, StorageError
from app.domain.messages.message import say
from app.domain.step_progress import StepProgress
from app.helper.base import audit
from app.helper.storage.control_groups import ControlGroup
from app.helper.storage.devices import find_again
from app.helper.storage.journal import SCHEMA, Journal, JournalEntry, Writer
from app.helper.storage.ownership import who_hides
from app.helper.storage.pending_plans import PlannedLayout
from app.helper.storage.provisioned import unmake
from app.helper.storage.signals import note_step
from app.storage.checks.disk_checks import probe, probe_with_program
from app.storage.execution import Execution, Hooks
from app.storage.layout.partitions import Names, members_of
from app.storage.layout.steps import Mark, Wipe, WipeTable, mark_fact, undo_of
from app.storage.spare.spare import SpareDisks
from app.storage.system import state
from app.storage.system.programs import NoAnswerError, TimeBudget, check_answers
from app.storage.wiping.found import OfferedDisk, SavedSignatures, look_at

RULE: Final = "D18"
BOOT_S: Final = 30.0
"""Total time for waiting for others during recovery: a starting machine is not kept waiting."""
ASKED_S: Final = 5.0
"""The same when a disk was requested."""
ANSWERED_S: Final = 60.0
"""How long a request about a disk waits for its whole recovery, including programs."""
_AT_WORK_S: Final = 5.0
"""How long it is repeated: a program of a killed helper may still be at work."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Recovery:
    """The recovery of one session.

    Attributes:
        session: its identifier.
        thread: that runs it; one that hangs keeps no process from ending.
        began_s: start, of the monotonic clock.
        step: current step.
        left: items that could not be unmade, in words.
        wiped: keys of disks that were wiped.
    """

    session: uuid.UUID
    thread: threading.Thread | None = None
    began_s: float = field(default_factory=time.monotonic)
    step: str = ""
    left: list[str] = field(default_factory=list)
    wiped: set[str] = field(default_factory=set)

    @property
    def is_at_work(self) -> bool:
        """Return whether it is still running."""
        return self.thread is not None and self.thread.is_alive()

    def words(self) -> str:
        """Return its current activity, for the user."""
        return say(
            "journal-being-recovered",
            id=self.session,
            seconds=time.monotonic() - self.began_s,
            step=self.step,
        )


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The journal's sessions that are over.

    Attributes:
        journal: root's.
        disks: of this machine.
        live: identifiers of the living session's layouts, which are not left over; the session adds them
            before it makes anything, so that none of its entries is ever read without them.
    """

    journal: Journal
    disks: SpareDisks
    live: set[uuid.UUID] = field(default_factory=set)
    _under_way: dict[uuid.UUID, _Recovery] = field(default_factory=dict, init=False, compare=False)
    _disk_locks: defaultdict[str, threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock), init=False, compare=False
    )
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False, compare=False)

    def begin(self) -> None:
        """Begin to unmake leftovers and return at once; their disks are refused until then."""
        for entry in self.journal.entries()[0]:
            self._start(entry.session, TimeBudget(BOOT_S))

    def recover(self, wait_s: float = BOOT_S, limit_s: float | None = None) -> list[str]:
        """Unmake leftovers; acts only if the journal's identifiers are found again on the disks.

        Args:
            wait_s: total time for waiting for others.
            limit_s: time limit of the whole recovery, even if something hangs; None for no limit.

        Returns:
            Items that could not be unmade, and those that still hang, in words; empty if nothing is left.
        """
        entries, bad = self.journal.entries()
        left = [f"{path}: not understood" for path in bad]
        patience = TimeBudget(wait_s)
        begun = [self._start(entry.session, patience) for entry in entries]
        _await(begun, limit_s)
        for each in begun:
            if each.is_at_work:
                audit.note("not unmade in time: %s", each.words())
                left.append(each.words())
            left += each.left
        return left

    def retry(self, chosen: Sequence[DiskIdentity]) -> None:
        """Unmake the leftovers of some disks before an answer about them; waits for a limited time."""
        patience = TimeBudget(ASKED_S)
        wanted = [
            entry.session for entry in self.journal.entries()[0] if any(entry.holds(disk) for disk in chosen)
        ]
        _await([self._start(session, patience) for session in wanted], ANSWERED_S)

    def wait(self, limit_s: float) -> None:
        """Wait for running recoveries, at most so long."""
        _await(list(self._under_way.values()), limit_s)

    @property
    def is_at_work(self) -> bool:
        """Return whether a recovery runs, or hangs."""
        return any(each.is_at_work for each in list(self._under_way.values()))

    def offered(self, disk: DiskIdentity) -> OfferedDisk | None:
        """Return the content of a leftover disk, for the user; None if the journal does not name it.

        Raises:
            StorageError: libblkid cannot be asked.
            OSError: it is absent, or cannot be read.
        """
        entry = self.left_on(disk)
        if entry is None:
            return None
        devices = find_again(entry, self.disks).devices
        member = next(
            each
            for each in members_of(entry.plan, devices, Names(entry.session))
            if each.disk == devices[disk.key()].node
        )
        check_answers(member.disk)
        return look_at(member.partition, member.signature, entry.facts, probe_with_program)

    def release(self, agreed: Mapping[DiskIdentity, str]) -> frozenset[DiskIdentity]:
        """Release disks of one session as agreed by a user who saw their content; return the wiped ones.

        Our signatures are wiped, saved before, and the disk is recorded as released once none of them is
        found any more. Nothing is written to a disk with anything else: the journal forgets it, and the rules
        judge it like any other. An array that another boot started is stopped only if all its disks are
        agreed to.

        Args:
            agreed: `OfferedDisk.digest` of the content seen, by disk.

        Raises:
            StorageError: a disk is not released, with the reason; nothing was written to one that was in use,
                gone, or changed since it was seen.
            OSError: the journal cannot be written.
        """
        entry = next(filter(None, map(self.left_on, agreed)), None)
        with ExitStack() as held:
            for key in _keys(entry) if entry else ():
                lock = self._lock_of(key)
                if not lock.acquire(timeout=ASKED_S):
                    raise StorageError(say("journal-session", id=entry.session if entry else ""))
                held.callback(lock.release)
            # SECURITY: the current entry: others may have released it since.
            entry = next(filter(None, map(self.left_on, agreed)), None)
            if entry is None or not all(entry.holds(disk) for disk in agreed):
                raise StorageError(say("nothing-left"))
            audit.note("releasing disks of %s as a person agreed", entry.session)
            recovery = _Recovery(entry.session)
            try:
                _unmake(entry, self.journal, self.disks, TimeBudget(ASKED_S), recovery, agreed)
            except FootingError:
                # Other disks of the session may be left: only the agreed ones matter.
                now = self.journal.entry(entry.session)
                if now is None or any(now.holds(disk) for disk in agreed):
                    raise
            return frozenset(disk for disk in agreed if disk.key() in recovery.wiped)

    def left_on(self, disk: DiskIdentity) -> JournalEntry | None:
        """Return the entry of a finished session that left something on a disk; None if there is none."""
        entries, _ = self.journal.entries()
        return next((each for each in entries if each.session not in self.live and each.holds(disk)), None)

    def under_way(self, session: uuid.UUID) -> str:
        """Return the current activity of a session's recovery, in words; empty if none runs."""
        recovery = self._under_way.get(session)
        return recovery.words() if recovery is not None and recovery.is_at_work else ""

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        """Return why disks are not spare, by node: reasons of the rules and of the journal.

        Raises:
            OSError: a disk is gone.
        """
        found = {node: tuple(refusals) for node, refusals in self.disks.refusals(chosen).items()}
        for node, disk in chosen.items():
            if refusal := self.refusal(node, disk):
                found[node] = (refusal, *found.get(node, ()))
        return found

    def refusal(self, node: str, disk: DiskIdentity) -> DiskRefusal | None:
        """Return the journal's reason against a disk, and why it could not be released; None without one."""
        _, bad = self.journal.entries()
        if (entry := self.left_on(disk)) is not None:
            evidence = self.under_way(entry.session) or entry.kept.get(disk.key(), "")
            remedy = say("release-it", serial=disk.typed_name())
            return _refusal(evidence or say("journal-session", id=entry.session), remedy)
        if bad and _has_table(node):
            remedy = say("journal-aside", path=shlex.quote(str(bad[0])))
            return _refusal(say("journal-not-understood", path=bad[0]), remedy)
        return None

    def _start(self, session: uuid.UUID, patience: TimeBudget) -> _Recovery:
        """Return the recovery of a session: a running one, else a new one."""
        with self._guard:
            before = self._under_way.get(session)
            if before is not None and before.is_at_work:
                return before
            recovery = _Recovery(session)
            recovery.thread = threading.Thread(
                target=self._recover,
                args=(recovery, patience),
                name=f"recovery-{session.hex[:8]}",
                daemon=True,
            )
            self._under_way[session] = recovery
            recovery.thread.start()
            return recovery

    def _recover(self, recovery: _Recovery, patience: TimeBudget) -> None:
        session = recovery.session
        entry = self.journal.entry(session)
        if entry is None:
            return
        with ExitStack() as held:
            for key in _keys(entry):
                held.enter_context(self._lock_of(key))
            # SECURITY: the current entry: another thread may have recovered it since it was listed, and its
            # disks may belong to others now.
            entry = self.journal.entry(session)
            if entry is None or session in self.live:
                return
            audit.note("recovering %s of user %d", entry.session, entry.user)
            try:
                _unmake(entry, self.journal, self.disks, patience, recovery, {})
            except Exception as err:  # noqa: BLE001 - one entry must not keep the others, or the service, from working
                _log.error("%s is not unmade: %r", entry.session, str(err))
                recovery.left.append(f"session {entry.session}: {err}")
            audit.note("recovery of %s has ended", session)

    def _lock_of(self, key: str) -> threading.Lock:
        with self._guard:
            return self._disk_locks[key]


def _keys(entry: JournalEntry) -> list[str]:
    return sorted(disk.key() for _, disk in entry.plan.members())


def _await(recoveries: Sequence[_Recovery], limit_s: float | None) -> None:
    """Wait until recoveries have ended, or for a while."""
    deadline_s = None if limit_s is None else time.monotonic() + limit_s
    for each in recoveries:
        if each.thread is not None:
            each.thread.join(None if deadline_s is None else max(0.0, deadline_s - time.monotonic()))


def _refusal(evidence: str, remedy: str) -> DiskRefusal:
    return DiskRefusal(RULE, say("rule-not-given-back"), evidence, remedy)


def _has_table(node: str) -> bool:
    """Return whether libblkid finds a partition table on a disk, or is ambivalent: it may be ours."""
    return not {"PTTYPE", "TYPE"}.isdisjoint(probe(node, probe_with_program))


def _unmake(
    entry: JournalEntry,
    journal: Journal,
    disks: SpareDisks,
    patience: TimeBudget,
    recovery: _Recovery,
    agreed: Mapping[DiskIdentity, str],
) -> None:
    """Unmake the leftovers of one layout.

    Args:
        entry: of it.
        journal: root's.
        disks: of this machine.
        patience: total time for waiting for others.
        recovery: gets the current step.
        agreed: digest of the content of disks that the user saw and agreed to release.

    Raises:
        FootingError, OSError: some of it still exists; the journal keeps it, with the reasons.
    """

    def at(progress: StepProgress) -> None:
        recovery.step = progress.text

    def release(given_back: Mapping[str, DiskIdentity]) -> None:
        disks.release(given_back, written_ends=layout.written_ends())
        recovery.wiped.update(disk.key() for disk in given_back.values())

    found = find_again(entry, disks)
    layout = PlannedLayout(entry.session, entry.plan, found.devices)
    other_boot = not entry.boot or entry.boot != state.boot_id()
    since = dict.fromkeys(found.since, say("since-anew"))
    if other_boot:
        since = dict.fromkeys(found.chosen, say("since-boot"))
    steps = layout.steps()
    undo = undo_of(steps[: entry.begun] if entry.schema == SCHEMA else steps)
    if not entry.boot:
        entry = replace(entry, facts={**_as_begun(undo), **entry.facts})
    writer = Writer(journal, entry)
    as_seen = {found.devices[disk.key()].node: disk for disk in agreed}
    hooks = Hooks(
        disks.identify,
        disks.refusals,
        release=release,
        facts=writer.facts,
        users=disks.users,
        save=SavedSignatures().save,
        progress=at,
        done=note_step,
        patience=patience,
        hiding=who_hides,
        other_boot=other_boot,
        since=since,
    )
    chosen = {**found.chosen, **as_seen}  # even with another size: the user has seen that
    _check_answers(chosen, writer)
    execution = Execution(chosen, hooks, dict(entry.facts), patience_s=_AT_WORK_S)
    execution.agreed = {node: agreed[disk] for node, disk in as_seen.items()}
    group = ControlGroup(entry.session.hex[:16], entry.user)
    try:
        unmake(execution, undo, layout.folder, group)
    except FootingError:
        writer.keep({found.chosen[node].key(): err.message for node, err in execution.kept.items()})
        raise
    journal.remove(entry.session)


def _check_answers(chosen: Mapping[str, DiskIdentity], writer: Writer) -> None:
    """Make sure that every disk answers; a step on one that does not would hang.

    Raises:
        NoAnswerError: one does not; the journal names it.
    """
    for node, disk in chosen.items():
        if state.size_bytes(node):
            try:
                check_answers(node)
            except NoAnswerError as err:
                writer.keep({disk.key(): err.reason})
                raise


def _as_begun(undo: Sequence[object]) -> Mapping[str, str]:
    """Return marks for an entry of an older helper: everything that it may have made counts as begun."""
    places = [each.place for each in undo if isinstance(each, Wipe)]
    places += [each.partition.table_place for each in undo if isinstance(each, WipeTable)]
    return {mark_fact(place): Mark.BEGUN.value for place in places}
