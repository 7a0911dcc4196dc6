"""Remove the remains of dead campaigns: exactly those in their records, as their owner; report the rest.

With this order a sweep that dies in the middle loses nothing: servers are ended, then the caller finishes the
run files (which may be in the folders that follow), then folders are removed, the record last.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError
from app.domain.text import tr
from app.hosts.folders.descriptors import DELETE_TIMEOUT_S, FileIdentity, Removal, remove
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

# End the processes of a server without its runner.
#
# Standard library only, see `app.hosts.folders.descriptors`: runs as the server's account, which needs no
# privilege to inspect its own processes and can signal no others.


_PROGRAM: Final = "postgres"
_DELETED: Final = " (deleted)"
"""Suffix of the target of a link in /proc to a deleted file (proc(5))."""


def end_servers(
    data_directory: str, identity: FileIdentity, *, patience_s: float = 15.0
) -> tuple[list[int], list[int]]:
    """End every process of a server that works in a recorded data directory.

    First SIGQUIT, the immediate shutdown of PostgreSQL (postgres(1)), then SIGKILL.

    Args:
        data_directory: path as recorded.
        identity: of the folder.
        patience_s: how long to wait after each of the two signals.

    Returns:
        Ids of ended processes, and of those that are still there.
    """
    ended: set[int] = set()
    for number in (signal.SIGQUIT, signal.SIGKILL):
        found = _signal_all(data_directory, identity, number, patience_s)
        ended |= found
        if not found:
            break
    left = [pid for pid in _processes() if _works_in(pid, data_directory, identity)]
    return sorted(ended - set(left)), sorted(left)


def _signal_all(
    data_directory: str, identity: FileIdentity, number: signal.Signals, patience_s: float
) -> set[int]:
    """Signal the server's processes, wait until all are gone or the time is up, and return them."""
    found: set[int] = set()
    with ExitStack() as held:
        poller = select.poll()
        waiting = 0
        for pid in _processes():
            with suppress(OSError):
                # SECURITY: the descriptor holds the process before it is checked, so that the number cannot
                # become another process's between check and signal.
                descriptor = os.pidfd_open(pid)
                held.callback(os.close, descriptor)
                if _works_in(pid, data_directory, identity):
                    signal.pidfd_send_signal(descriptor, number)
                    found.add(pid)
                    poller.register(descriptor, select.POLLIN)
                    waiting += 1
        deadline_s = time.monotonic() + patience_s
        while waiting:
            left_s = deadline_s - time.monotonic()
            gone = poller.poll(left_s * 1000) if left_s > 0 else []
            if not gone:
                break
            for descriptor, _ in gone:
                poller.unregister(descriptor)
                waiting -= 1
    return found


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _works_in(pid: int, data_directory: str, identity: FileIdentity) -> bool:
    """Return whether a process is PostgreSQL's and its working folder the recorded one, by path and inode.

    The inode alone would not do: when the recorded folder is gone its number may serve another cluster. The
    path alone would not do: another folder may have been put there.
    """
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(_DELETED)
        working = Path(f"/proc/{pid}/cwd")
        folder = str(working.readlink()).removesuffix(_DELETED)
        found = working.stat()
    except OSError:  # gone in between, or not ours
        return False
    return (
        Path(program).name == _PROGRAM
        and folder == data_directory
        and (found.st_dev, found.st_ino) == (identity.device, identity.inode)
    )


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
            text = tr("The record {path} was left alone: {reason}.").format(path=path, reason=err)
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
    text = tr("The campaign in {path} had been cut off and was finished.").format(path=folder)
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
        text = tr("A server that still ran in {path} was ended.").format(path=entry.path)
        events.append(SweepEvent(CleanupAction.ENDED, entry.path, text))
    if left:
        text = tr("{path} was kept: process {pid} works in it and cannot be ended.").format(
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
            return tr("something else has its name now")
        case Removal.ABSENT:
            return tr("its filesystem is not mounted")
        case Removal.REMOVED | Removal.GONE:
            return None
