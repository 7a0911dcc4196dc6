"""The library: a folder of campaign folders with their run files, and nothing else.

A campaign folder contains `campaign.toml`, `lock` (a flock, held while its runner lives), `control` while it
runs, and one `*.footing` file per run. Single run files may also be anywhere below.

In addition to their names, runs are searched by keys of campaign files and fields of the plan, spelled as in
a campaign file without quotes and blanks: ``chunk_size=64KiB``, ``wal.options.noatime=true``.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from app import TOP
from app.campaign_file.disks import DISK_FIELDS, GROUP_FIELDS
from app.campaign_file.fields import POSTGRESQL_FIELDS, WORKLOAD_FIELDS
from app.campaign_file.kinds import CampaignField, toml
from app.domain.errors import BusyError, FootingError, UsageError
from app.domain.run import RunState
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.text import tr
from app.preferences import read_preferences
from app.runfile.disturbance import marks_of
from app.runfile.metadata.environment import EnvironmentFacts, machine_label
from app.runfile.metadata.run_metadata import RunMetadata, completed
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import SUFFIX

_PLAIN: Final = frozenset({"rw"})
"""Mount options that every mount under test has."""

_DERIVED: Final = frozenset({"pgfooting", "preset"})
"""Origins of the server settings that were not chosen."""

_KEYS: Final = {each.attribute: each for each in GROUP_FIELDS} | {
    "partition_bytes": next(each for each in GROUP_FIELDS if each.attribute == "partition")
}
"""Keys of a campaign file by field of a group."""


def option_words(run: RunMetadata, environment: EnvironmentFacts) -> tuple[str, ...]:
    """Return mount options, the whole storage plan, and the chosen settings, each once."""
    found = list(environment.mount_options)
    plan = run.target.plan
    if isinstance(plan, StoragePlan):
        found += _plan_words(plan)
    for field in DISK_FIELDS:
        value = getattr(run.target, field.attribute, None)
        if not isinstance(value, NotKnown | None) and field.name != "preset":
            found.append(_word(field, value))
    presets = {"filesystem_preset": run.target.preset, "wal.filesystem_preset": run.target.wal_preset}
    found += [f"{name}={value}" for name, value in presets.items() if isinstance(value, str)]
    for field in POSTGRESQL_FIELDS:
        value = getattr(run.postgresql, field.attribute, None)
        if isinstance(value, bool):
            found.append(f"{field.name}={'on' if value else 'off'}")
        elif not isinstance(value, NotKnown | None):
            found.append(f"{field.name}={value}")
    found += [f"{each.name}={each.value}" for each in known(run.settings, ()) if each.origin not in _DERIVED]
    return tuple(option for option in dict.fromkeys(found) if option not in _PLAIN)


def workload_words(run: RunMetadata) -> tuple[str, ...]:
    """Return the known keys of the workload, with scale and scripts."""
    found = []
    for field in WORKLOAD_FIELDS:
        if field.name == "script":
            scripts = known(run.workload.scripts, ())
            found += [
                f"script={each.label}{'' if each.weight == 1 else f'@{each.weight}'}" for each in scripts
            ]
            continue
        value = run.scale if field.name == "scale" else getattr(run.workload, field.attribute, None)
        if not isinstance(value, NotKnown | None):
            found.append(_word(field, value))
    return tuple(found)


def _word(field: CampaignField, value: object) -> str:
    try:
        written = toml(field.kind.plain(value))
    except (TypeError, ValueError, AttributeError):  # of a later version
        written = str(value)
    return f"{field.name}={written.replace(' ', '').strip(chr(34))}"


def _plan_words(plan: StoragePlan) -> Iterator[str]:
    for part in fields(plan):
        held = getattr(plan, part.name)
        if isinstance(held, Group):
            yield from _group_words(held, "" if part.name == "data" else f"{part.name}.")
        elif held:
            yield from (f"{part.name}={disk.serial or disk.wwn}" for disk in held)


def _group_words(group: Group, prefix: str) -> Iterator[str]:
    for each in fields(group):
        value = getattr(group, each.name)
        if each.name == "disks":
            yield from (f"{prefix}disk={disk.serial or disk.wwn}" for disk in value)
        elif each.name == "options":
            yield from (f"{prefix}{name}={_option_text(item)}" for name, item in value)
        elif value is not None:
            field = _KEYS.get(each.name)
            yield f"{prefix}{_word(field, value) if field is not None else f'{each.name}={value}'}"


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


UNREADABLE: Final = "unreadable"
LOCK_NAME: Final = "lock"
CAMPAIGN_NAME: Final = "campaign.toml"
DISKS_NAME: Final = "disks.json"
"""State of its spare disks (`app.execution.disks.session`)."""
END_NAME: Final = "ended.json"
"""How the campaign ended (`app.library.campaign_end`)."""

_log = logging.getLogger(__name__)


def default_library() -> Path:
    """Return the user's library: from the preferences, else `standard_library`.

    Raises:
        UsageError: the preferences have none, and this user has no home.
    """
    preferred = read_preferences()[0].library
    return Path(preferred) if preferred else standard_library()


def standard_library() -> Path:
    """Return $XDG_DATA_HOME/pgfooting/runs (XDG Base Directory Specification).

    Raises:
        UsageError: this user has no home.
    """
    base = os.environ.get("XDG_DATA_HOME", "")
    if not base.startswith("/"):
        try:
            base = str(Path.home() / ".local" / "share")
        except RuntimeError as error:
            message = tr("HOME is not set, and user {uid} has no home folder, so there is no place for runs.")
            hint = tr("Choose another folder with --library.")
            raise UsageError(message.format(uid=os.getuid()), hint=hint) from error
    return Path(base) / "pgfooting" / "runs"


def why_not_writable(folder: Path) -> str:
    """Return why no campaign can be written into a library; empty if it can.

    A missing folder would be created, so its nearest existing parent is checked.
    """
    nearest = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not nearest.is_dir():
        message = tr("{path} is not a folder.")
    elif not os.access(nearest, os.W_OK | os.X_OK) or os.statvfs(nearest).f_flag & os.ST_RDONLY:
        message = tr("{path} is not writable.")
    else:
        return ""
    return message.format(path=nearest)


class CampaignLock:
    """The lock of a campaign folder, held for the runner's life; the kernel drops it when it dies."""

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            BusyError: another runner works in this folder.
            UsageError: the folder cannot be written.
        """
        self._folder = folder
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(folder / LOCK_NAME, flags, 0o600)
        except OSError as error:
            message = tr("{path} cannot be written: {reason}.") + " " + tr("Nothing was started.")
            hint = tr("Choose another folder with --library.")
            raise UsageError(message.format(path=folder, reason=error.strerror), hint=hint) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            message = tr("The campaign in {folder} is running; nothing was started.")
            hint = tr("Wait for it, or stop it with Ctrl-C where it runs.")
            raise BusyError(message.format(folder=folder), hint=hint) from error

    def release(self) -> None:
        """Release the lock; remove a folder without any run, which cannot be resumed."""
        ours = {LOCK_NAME, CAMPAIGN_NAME, DISKS_NAME, END_NAME}
        with suppress(OSError):
            if {path.name for path in self._folder.iterdir()} <= ours:
                for name in sorted(ours):
                    (self._folder / name).unlink(missing_ok=True)
                self._folder.rmdir()
        os.close(self._descriptor)


def is_live(folder: Path) -> bool:
    """Return whether a runner holds the lock of this campaign folder."""
    return is_locked(folder / LOCK_NAME)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock (flock) of a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """One run in the list of the library; None if unknown.

    Attributes:
        id: hexadecimal identity of the run.
        path: of the run file.
        name: of the run: configuration and repeat.
        campaign: name of the campaign.
        state: a `RunState`, or `unreadable`.
        configuration: its name.
        target: folder, memory ...
        filesystem: of the data directory.
        raid: level, if the target is an array created by pgFooting.
        scale: pgbench scale factor.
        workload: label of the scripts.
        clients: concurrent connections.
        tps: mean of the measured phase.
        p99_ms: 99th percentile of latency.
        jitter_cv: standard deviation over mean of the TPS per second.
        started: seconds since the epoch.
        duration_s: length of the measured phase.
        marks: kinds of labels such as unsafe.
        problem: why the file cannot be read.
        postgresql: version of the server.
        machine: processor, CPUs and memory.
        kernel: release.
        options: of mount and storage, and chosen settings.
        keys: of the workload, as in a campaign file.
        tags: of the user.
        note: of the user.
    """

    id: str | None
    path: str
    name: str | None
    state: str
    campaign: str | None = None
    configuration: str | None = None
    target: str | None = None
    filesystem: str | None = None
    raid: str | None = None
    scale: int | None = None
    workload: str | None = None
    clients: int | None = None
    tps: float | None = None
    p99_ms: float | None = None
    jitter_cv: float | None = None
    started: float | None = None
    duration_s: float | None = None
    marks: tuple[str, ...] = ()
    problem: str | None = None
    postgresql: str | None = None
    machine: str | None = None
    kernel: str | None = None
    options: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""


def effective_state(path: Path, stored: RunState) -> RunState:
    """Return the state of a file that was read as `stored`: `incomplete` if its runner is gone.

    A runner finishes its file and then releases the campaign's lock. So if the lock is free and the file was
    read as running, read it again: it may have been finished in between.
    """
    if stored is not RunState.RUNNING or is_live(path.parent):
        return stored
    try:
        with RunFile(path) as again:
            stored = again.state
    except FootingError:  # removed or damaged since
        return RunState.INCOMPLETE
    return RunState.INCOMPLETE if stored is RunState.RUNNING else stored


def read_entry(path: Path, also: Callable[[RunFile], object] | None = None) -> LibraryEntry:
    """Read one run file for the list; return an entry with the problem if it is unreadable.

    Args:
        path: of the file.
        also: called with the open file if it is readable.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a FIFO would wait for a writer
            return _unreadable(path, f"{path} " + tr("is not a regular file") + ".")
        with RunFile(path) as run:
            entry = entry_of(run)
            if also is not None:
                also(run)
            return entry
    except FootingError as error:
        return _unreadable(path, error.message)
    except OSError as error:
        message = tr("{path} cannot be read: {reason}.")
        return _unreadable(path, message.format(path=path, reason=error.strerror))
    except Exception as error:  # noqa: BLE001 - a border: one strange file does not hide the others
        _log.debug("%s", path, exc_info=error)
        message = tr("{path} is damaged: {reason}.")
        return _unreadable(path, message.format(path=path, reason=error))


def _unreadable(path: Path, problem: str) -> LibraryEntry:
    _log.debug("%s: %s", path, problem)
    return LibraryEntry(None, str(path), path.stem, UNREADABLE, problem=problem)


def entry_of(run: RunFile) -> LibraryEntry:
    """Return the entry of an open run file."""
    state = effective_state(run.path, run.state)
    metadata, summary, marks = (
        run.metadata,
        run.summary(),
        marks_of(run),
    )  # after that: a finished run has them
    if state is RunState.INCOMPLETE and not summary:
        summary = summarise(run)  # its runner did not finish it
    metadata, environment = completed(metadata), run.environment
    return LibraryEntry(
        id=or_none(metadata.id),
        path=str(run.path),
        name=or_none(metadata.name),
        state=state.value,
        campaign=or_none(metadata.campaign),
        configuration=or_none(metadata.configuration) or None,
        target=or_none(metadata.target.kind),
        filesystem=environment.filesystem or None,
        raid=or_none(metadata.target.raid),
        scale=or_none(metadata.scale),
        workload=or_none(metadata.workload.label),
        clients=or_none(metadata.workload.clients),
        tps=summary.get("tps"),
        p99_ms=summary.get("latency_p99_ms"),
        jitter_cv=summary.get("jitter_cv"),
        started=or_none(metadata.started_epoch_s),
        duration_s=summary.get("duration_s"),
        marks=tuple(sorted({kind for kind, _ in marks})),
        postgresql=or_none(metadata.installation.version) or None,
        machine=machine_label(environment) or None,
        kernel=environment.kernel or None,
        options=option_words(metadata, environment),
        keys=workload_words(metadata),
        tags=tuple(tag for tag in known(metadata.tags, ()) if tag),
        note=known(metadata.note, ""),
    )


def run_paths(library: Path) -> Iterator[Path]:
    """Yield the run files of a library, by path, including symbolic links to live files."""
    if not os.path.isdir(library):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
        return
    for folder, folders, files in os.walk(library):
        folders.sort()
        for name in sorted(files):
            if name.endswith(SUFFIX):
                yield Path(folder) / name


# --- Runs that ship with pgFooting, for “Look at an example”. Origin: resources/examples/README.md.


EXAMPLES: Final = TOP / "resources" / "examples" / "vondra-2022"
EXAMPLE_LEFT_OUT: Final = (
    tr("other series"),
    tr("this example keeps only TPS and the 99th percentile of latency; import the folder for the rest"),
)
"""Source and reason of the parts that are missing in the example's files, in English."""


def find_examples(folder: Path = EXAMPLES) -> tuple[Path, ...]:
    """Return the run files of the example, by path.

    Raises:
        UsageError: this copy of the program has none.
    """
    found = tuple(run_paths(folder))
    if not found:
        message = tr("This copy of pgFooting came without examples ({folder}).")
        raise UsageError(message.format(folder=folder))
    return found
