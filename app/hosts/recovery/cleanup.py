"""Remove the remains of dead campaigns: exactly those in their records, as their owner; report the rest.

With this order a sweep that dies in the middle loses nothing: servers are ended, then the caller finishes the
run files (which may be in the folders that follow), then folders are removed, the record last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.domain.errors import FootingError
from app.domain.text import tr
from app.hosts.folders.descriptors import DELETE_TIMEOUT_S, Removal, remove
from app.hosts.folders.leftover_servers import end_servers
from app.hosts.recovery.resource_journal import (
    ResourceEntry,
    ResourceJournal,
    ResourceKind,
    ResourceRecord,
    UnreadableRecordError,
    finished_line,
    locked_record,
    parse_record,
    read_records,
)
from app.process.starter import Recorder, as_account, unrecorded


class CleanupAction(StrEnum):
    """Action on a remainder."""

    ENDED = "ended"
    FINISHED = "finished"
    REMOVED = "removed"
    KEPT = "kept"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class SweepEvent:
    """One action of a sweep, or its failure and the reason.

    Attributes:
        action: see `CleanupAction`.
        path: of the thing, or of the record.
        text: the whole sentence.
    """

    action: CleanupAction
    path: str
    text: str


def sweep(
    on_abandoned: Callable[[ResourceRecord], None] | None = None,
    *,
    record: Recorder = unrecorded,
    state_folder: Path | None = None,
) -> tuple[SweepEvent, ...]:
    """Remove the remains of this user's dead campaigns; safe with live campaigns and other sweeps.

    Args:
        on_abandoned: finishes a campaign's run files; called when its processes are gone and before its
            folders are removed, and again by the next sweep if this one died in between: it must be
            repeatable. If it raises a FootingError or OSError, folders and record are kept.
        record: called with the commands.
        state_folder: for tests; None for the user's own.

    Raises:
        OSError: the state folder cannot be read.
        RefusedError: others could write there.
    """
    events: list[SweepEvent] = []
    for path in read_records(state_folder):
        try:
            with locked_record(path) as content:
                if content is not None and b"\n" not in content:
                    path.unlink()  # its runner died before it had made anything
                elif content is not None:
                    events += _sweep_campaign(parse_record(path, content), on_abandoned, record)
        except (UnreadableRecordError, FootingError, OSError) as err:
            text = tr("The record {path} was not touched: {reason}.").format(path=path, reason=err)
            events.append(SweepEvent(CleanupAction.UNREADABLE, str(path), text))
    return tuple(events)


def clear(resources: ResourceJournal, paths: Sequence[str], record: Recorder) -> tuple[SweepEvent, ...]:
    """Remove some folders of a live campaign, in reverse order of creation; the rest stays recorded."""
    wanted = [entry for entry in resources.state.entries if entry.path in paths]
    events: list[SweepEvent] = []
    for entry in reversed(wanted):
        done = _remove(entry, resources.state, resources.state.entries, record)
        events += done
        if not _is_kept(done):
            with suppress(FootingError):  # the record's disk is full: a sweep finds out that it is gone
                resources.forget(entry.path)
    return tuple(events)


def _sweep_campaign(
    leaving: ResourceRecord, on_abandoned: Callable[[ResourceRecord], None] | None, record: Recorder
) -> list[SweepEvent]:
    events = [event for entry in leaving.entries for event in _end_servers(entry, leaving, record)]
    if on_abandoned is not None and not leaving.finished:
        finishing = _finish(leaving, on_abandoned)
        events.append(finishing)
        if finishing.action is CleanupAction.KEPT:
            return events
    left = list(leaving.entries)
    for entry in reversed(leaving.entries):
        done = _remove(entry, leaving, left, record)
        events += done
        if not _is_kept(done):
            left.remove(entry)
    if not left:
        leaving.record.unlink()
    return events


def _finish(leaving: ResourceRecord, on_abandoned: Callable[[ResourceRecord], None]) -> SweepEvent:
    folder = leaving.campaign_folder
    try:
        on_abandoned(leaving)
        with leaving.record.open("ab") as record:
            record.write(finished_line())
    except (FootingError, OSError) as err:
        text = tr("The campaign in {path} could not be finished and is kept: {reason}.").format(
            path=folder, reason=err
        )
        return SweepEvent(CleanupAction.KEPT, folder, text)
    text = tr("The campaign in {path} had been interrupted and was finished.").format(path=folder)
    return SweepEvent(CleanupAction.FINISHED, folder, text)


def _is_kept(events: Sequence[SweepEvent]) -> bool:
    return any(event.action is CleanupAction.KEPT for event in events)


def _end_servers(entry: ResourceEntry, leaving: ResourceRecord, record: Recorder) -> list[SweepEvent]:
    """End the processes that work in a data directory; none survive a restart."""
    if entry.kind is not ResourceKind.DATA_DIRECTORY or entry.identity is None or not leaving.same_boot:
        return []
    if not _may_act_for(entry, leaving):
        return []
    ended, left = as_account(end_servers, leaving.owner(entry), record)(entry.path, entry.identity)
    events = []
    if ended:
        text = tr("A server still running in {path} was stopped.").format(path=entry.path)
        events.append(SweepEvent(CleanupAction.ENDED, entry.path, text))
    if left:
        text = tr("{path} was kept: process {pid} uses it and cannot be killed.").format(
            path=entry.path, pid=left[0]
        )
        events.append(SweepEvent(CleanupAction.KEPT, entry.path, text))
    return events


def _may_act_for(entry: ResourceEntry, leaving: ResourceRecord) -> bool:
    return os.geteuid() in {0, leaving.owner(entry).uid}


def _remove(
    entry: ResourceEntry, leaving: ResourceRecord, others: Sequence[ResourceEntry], record: Recorder
) -> list[SweepEvent]:
    """Remove one entry; an event of the kind KEPT gives the reason if it still exists."""
    events: list[SweepEvent] = []
    reason = _obstacle(entry, leaving, others)
    if reason is None:
        events = _end_servers(entry, leaving, record)
        if _is_kept(events):
            return events
        try:
            found = as_account(remove, leaving.owner(entry), record, DELETE_TIMEOUT_S)(
                entry.path, entry.identity, same_boot=leaving.same_boot, volatile=entry.volatile
            )
        except (OSError, FootingError) as err:
            reason = str(err)
        else:
            if found is Removal.REMOVED:
                text = tr("{path} was removed.").format(path=entry.path)
                events.append(SweepEvent(CleanupAction.REMOVED, entry.path, text))
            reason = _reason(found)
    if reason is not None:
        text = tr("{path} was kept: {reason}. Its record is {record}.").format(
            path=entry.path, reason=reason, record=leaving.record
        )
        events.append(SweepEvent(CleanupAction.KEPT, entry.path, text))
    return events


def _obstacle(entry: ResourceEntry, leaving: ResourceRecord, others: Sequence[ResourceEntry]) -> str | None:
    """Return why an entry must not be removed now; None if it may."""
    if not _may_act_for(entry, leaving):
        return tr("it belongs to {name}").format(name=leaving.owner(entry).name)
    if any(other.path.startswith(f"{entry.path}/") for other in others):
        return tr("something in it was kept")
    return None


def _reason(found: Removal) -> str | None:
    """Return why something still exists; None if it is gone."""
    match found:
        case Removal.FOREIGN:
            return tr("its name is now used by something else")
        case Removal.ABSENT:
            return tr("its filesystem is not mounted")
        case Removal.REMOVED | Removal.GONE:
            return None
