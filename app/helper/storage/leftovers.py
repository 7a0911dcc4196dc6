"""What sessions left that did not end properly: unmade where the journal proves it ours, else named.

Recovery runs at the start of the helper and at boot, and again for a disk that somebody asks about. A disk
that the journal names is spare to nobody (rule D18) until it was given back.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import FootingError
from app.domain.messages.message import say
from app.domain.storage_plan.plan import PARTITION_TYPE
from app.helper.base import audit
from app.helper.storage.control_groups import ControlGroup
from app.helper.storage.devices import find_again
from app.helper.storage.journal import Journal, JournalEntry, Writer
from app.helper.storage.pending_plans import PlannedLayout
from app.helper.storage.provisioned import unmake
from app.helper.storage.signals import note_step
from app.storage.execution import Execution, Hooks
from app.storage.layout.steps import Mark, Wipe, WipeTable, mark_fact, undo_of
from app.storage.spare.spare import SpareDisks
from app.storage.system import state
from app.storage.system.time_limits import Patience
from app.storage.wiping.saved import SavedSignatures

RULE: Final = "D18"
BOOT_S: Final = 30.0
"""For how long recovery waits for others in all: a machine that starts is not kept waiting."""
ASKED_S: Final = 5.0
"""For how long it waits where somebody asked about a disk."""
_AT_WORK_S: Final = 5.0
"""For how long it is repeated: a program of a helper that was killed may still be at work."""

_one_at_a_time = threading.Lock()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What the journal holds of sessions that are over.

    Attributes:
        journal: root's.
        disks: of this machine.
        live: identifiers of the layouts of the session that is alive, which are not left over; it tells them
            before it makes anything, so that no entry of it is ever read without them.
    """

    journal: Journal
    disks: SpareDisks
    live: set[uuid.UUID] = field(default_factory=set)

    def recover(self, wait_s: float = BOOT_S) -> list[str]:
        """Unmake what is left; acts only where the journal's identifiers are found again on the disks.

        Args:
            wait_s: how long others are waited for in all.

        Returns:
            What could not be unmade, in words; empty where nothing is left.
        """
        entries, bad = self.journal.entries()
        left = [f"{path}: not understood" for path in bad]
        patience = Patience(wait_s)
        for entry in entries:
            left += self._recover(entry.session, patience)
        return left

    def retry(self, chosen: Sequence[DiskIdentity]) -> None:
        """Unmake what is left of some disks, as somebody asks about them."""
        patience = Patience(ASKED_S)
        for entry in self.journal.entries()[0]:
            if any(entry.holds(disk) for disk in chosen):
                self._recover(entry.session, patience)

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        """Return why disks are not spare, by node: the rules', and that the journal names them.

        Raises:
            OSError: a disk is gone.
        """
        found = {node: tuple(refusals) for node, refusals in self.disks.refusals(chosen).items()}
        for node, disk in chosen.items():
            if refusal := self.refusal(node, disk):
                found[node] = (refusal, *found.get(node, ()))
        return found

    def refusal(self, node: str, disk: DiskIdentity) -> DiskRefusal | None:
        """Return that the journal names a disk, with the reason why it could not be given back; None else."""
        entries, bad = self.journal.entries()
        for entry in entries:
            if entry.session not in self.live and entry.holds(disk):
                reason = entry.kept.get(disk.key(), "")
                return _refusal(reason or say("journal-session", id=entry.session))
        if bad and _has_partition_of_ours(node):
            return _refusal(say("journal-not-understood", path=bad[0]))
        return None

    def _recover(self, session: uuid.UUID, patience: Patience) -> list[str]:
        with _one_at_a_time:
            # SECURITY: as it is now: another thread may have recovered it since it was listed, and its disks
            # may be somebody else's by now.
            entry = self.journal.entry(session)
            if entry is None or session in self.live:
                return []
            audit.note("recovering %s of user %d", entry.session, entry.user)
            try:
                _unmake(entry, self.journal, self.disks, patience)
            except Exception as err:  # noqa: BLE001 - one entry must not keep the others, or the service, from working
                _log.error("%s is not unmade: %r", entry.session, str(err))
                return [f"session {entry.session}: {err}"]
        return []


def _refusal(evidence: str) -> DiskRefusal:
    return DiskRefusal(
        RULE,
        say("rule-not-given-back"),
        evidence,
        say("release-it"),
    )


def _has_partition_of_ours(node: str) -> bool:
    table = state.read_table(node)
    return table is not None and any(each.type == PARTITION_TYPE for each in table.partitions)


def _unmake(entry: JournalEntry, journal: Journal, disks: SpareDisks, patience: Patience) -> None:
    """Unmake what is left of one layout.

    Raises:
        FootingError, OSError: some of it is still there; the journal keeps it, with the reasons.
    """
    devices, chosen = find_again(entry, disks)
    layout = PlannedLayout(entry.session, entry.plan, devices)
    undo = undo_of(layout.steps()[: entry.begun])
    if not entry.boot:
        entry = replace(entry, facts={**_as_begun(undo), **entry.facts})
    writer = Writer(journal, entry)
    hooks = Hooks(
        disks.identify,
        disks.refusals,
        release=partial(disks.release, written_ends=layout.written_ends()),
        facts=writer.facts,
        users=disks.users,
        save=SavedSignatures().save,
        done=note_step,
        patience=patience,
        other_boot=entry.boot != state.boot_id(),
    )
    execution = Execution(chosen, hooks, dict(entry.facts), patience_s=_AT_WORK_S)
    group = ControlGroup(entry.session.hex[:16], entry.user)
    try:
        unmake(execution, undo, layout.folder, group)
    except FootingError:
        writer.keep({chosen[node].key(): err.message for node, err in execution.kept.items()})
        raise
    journal.remove(entry.session)


def _as_begun(undo: Sequence[object]) -> Mapping[str, str]:
    """Return marks for an entry of an older helper: whatever it may have made, it began."""
    places = [each.place for each in undo if isinstance(each, Wipe)]
    places += [each.partition.table_place for each in undo if isinstance(each, WipeTable)]
    return {mark_fact(place): Mark.BEGUN.value for place in places}
