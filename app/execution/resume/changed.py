"""Find changes since a campaign's start: refuse those that make another measurement, report the rest.

Compares the run files' facts about machine, disks, filesystem and server with the present ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import VERSION
from app.domain.disk import DiskIdentity
from app.domain.errors import FootingError, RefusedError
from app.domain.json_value import Json
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import tr
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.execution.resume.begun import BegunRuns
from app.postgres.existing.look import ServerLook
from app.probes.base.backing_devices import Resolver
from app.probes.base.probe import Facts
from app.probes.facts.environment import (
    FactSources,
    attempt_mount,
    identity_facts,
    kernel_facts,
    memory_facts,
    processor_facts,
)
from app.runfile.metadata.environment import EnvironmentFacts, machine_label, read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, ServerMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import RunFile

_IDENTITY: Final = ("serial", "wwn", "model", "size_bytes")
"""Properties of a disk that survive a restart of the machine."""

_OTHER_SERVER: Final = tr(
    "{name} has changed since the campaign started: {was} then, {now} now. Nothing was done there."
)
_ANEW: Final = tr("Start it again here without --resume, or continue on the original machine.")


@dataclass(frozen=True, slots=True)
class Before:
    """Environment of a configuration's newest done run.

    Attributes:
        name: of the configuration.
        metadata: metadata of the run file.
        facts: of its environment.
    """

    name: str
    metadata: RunMetadata
    facts: Mapping[str, Json]

    @property
    def server(self) -> ServerMetadata | None:
        """The existing server that it measured; None for one started by pgFooting."""
        return or_none(self.metadata.target.server)


def read_before(runs: BegunRuns) -> tuple[Before, ...]:
    """Return the environment of each configuration's newest done run; unreadable files are skipped."""
    newest = {result.planned.configuration.name: result.path for result in runs.results}
    found = []
    for name, path in newest.items():
        if path is None:
            continue
        try:
            with RunFile(Path(path)) as run:
                found.append(Before(name, run.metadata, run.facts("before")))
        except FootingError:  # reported as unreadable by `begun_runs`
            continue
    return tuple(found)


def machine_now(sources: FactSources | None = None) -> Facts:
    """Return this machine's facts, in the format of a run's facts."""
    where = sources or FactSources()
    return {
        "kernel": kernel_facts(where.proc, where.sys),
        "processor": processor_facts(where.proc, where.sys),
        "memory": memory_facts(where.proc, where.sys),
        "identity": identity_facts(),
    }


def check_changes(
    before: Sequence[Before], resolved: ResolvedCampaign, *, here: Mapping[str, Json], now_epoch_s: float
) -> tuple[str, ...]:
    """Return the accepted changes, a sentence each.

    Args:
        before: environments of the campaign's runs.
        resolved: the campaign on this machine, now.
        here: this machine's facts (`machine_now`).
        now_epoch_s: the wall clock.

    Raises:
        RefusedError: another machine, other disks, or another filesystem than at the start.
    """
    changes: list[str] = []
    now = read_environment_facts(here)
    for each in before:
        was = read_environment_facts(each.facts)
        if not was.reached.over:  # else they are facts of a server's machine: `server_changes`
            _check_machine(was, now)
            changes += _machine_changes(was, now)
        configuration = resolved.configurations.get(each.name)
        if configuration is not None and each.server is None:
            _check_disks(each, configuration)
            _check_mount(each, configuration)
            changes += _server_changes(each, configuration)
        changes += _program_changes(each)
        started = or_none(each.metadata.started_epoch_s)
        if started is not None and started > now_epoch_s:
            changes.append(
                tr(
                    "The clock was set back: a run of this campaign starts in the future. Runs are ordered "
                    "by number; their dates may be wrong."
                )
            )
    return tuple(dict.fromkeys(changes))


def server_changes(before: Before, look: ServerLook, facts: EnvironmentFacts | None) -> tuple[str, ...]:
    """Return the accepted changes of an existing server, a sentence each.

    Args:
        before: environment of a run of the campaign.
        look: the server's present answers.
        facts: of its machine now; None if that is not asked.

    Raises:
        RefusedError: another server, or one on another machine or filesystem, than when the campaign started.
    """
    was = before.server
    if was is None:
        return ()
    if was.system_identifier and look.system_identifier not in {"", was.system_identifier}:
        name = f"{before.name} (system_identifier)"
        words = _OTHER_SERVER.format(name=name, was=was.system_identifier, now=look.system_identifier)
        raise RefusedError(words, hint=_ANEW)
    changes: list[str] = []
    machine_was = read_environment_facts(before.facts)
    if facts is not None and machine_was.reached.over == facts.reached.over:
        _check_machine_there(before.name, machine_was, facts)
        changes += _machine_changes(machine_was, facts)
    if was.version and was.version != look.version:
        changes.append(_version_words(before.name, was.version, look.version))
    return tuple(changes)


def _check_machine_there(name: str, was: EnvironmentFacts, now: EnvironmentFacts) -> None:
    """Refuse a server with moved data; only facts known both times are compared."""
    if was.machine_id and now.machine_id and was.machine_id != now.machine_id:
        what = tr("machine")
        words = tuple(machine_label(each) or tr("not known") for each in (was, now))
    elif was.filesystem and now.filesystem and was.filesystem != now.filesystem:
        what = tr("filesystem")
        words = was.filesystem, now.filesystem
    else:
        return
    raise RefusedError(_OTHER_SERVER.format(name=f"{name} ({what})", was=words[0], now=words[1]), hint=_ANEW)


def _machine_changes(was: EnvironmentFacts, now: EnvironmentFacts) -> Iterator[str]:
    sentence = tr("Changed since the campaign started: {was} then, {now} now.")
    for then, here in ((machine_label(was), machine_label(now)), (was.kernel, now.kernel)):
        if then and here and then != here:
            yield sentence.format(was=then, now=here)


def _check_machine(was: EnvironmentFacts, now: EnvironmentFacts) -> None:
    both_known = bool(was.machine_id and now.machine_id)
    other = was.machine_id != now.machine_id if both_known else False
    # Files of earlier versions have no machine identity: another processor means another machine.
    other = other or (not both_known and was.processor != "" != now.processor != was.processor)
    if other:
        message = tr(
            "The campaign started on another machine ({was}; this one is {now}), and runs of two machines "
            "cannot be compared. Nothing was started."
        )
        words = (machine_label(each) or tr("not known") for each in (was, now))
        raise RefusedError(message.format(was=next(words), now=next(words)), hint=_ANEW)


def _check_disks(before: Before, now: ResolvedConfiguration) -> None:
    """Refuse disks other than those of before, in the same places."""
    was, plan = before.metadata.target.plan, now.target.plan
    if isinstance(was, NotKnown) or was is None or plan is None:
        return
    places = _members(was), _members(plan)
    for place in sorted(places[0].keys() | places[1].keys()):
        one, other = places[0].get(place), places[1].get(place)
        if one is not None and other is not None and _identity(one) == _identity(other):
            continue
        names = tuple(tr("none") if disk is None else _disk_words(disk) for disk in (one, other))
        message = tr(
            "{name}: the campaign started with {was} in place “{place}”; found now: {now}. Nothing was "
            "started, no disk was touched."
        )
        words = message.format(name=before.name, place=place, was=names[0], now=names[1])
        raise RefusedError(words, hint=_ANEW)


def _members(plan: StoragePlan) -> dict[str, DiskIdentity]:
    counts: dict[str, int] = {}
    found = {}
    for part, disk in plan.members():
        counts[part] = counts.get(part, 0) + 1
        found[f"{part} {counts[part]}"] = disk
    return found


def _identity(disk: DiskIdentity) -> tuple[object, ...]:
    return tuple(getattr(disk, name) for name in _IDENTITY)


def _disk_words(disk: DiskIdentity) -> str:
    return " ".join(part for part in (disk.model, disk.serial or disk.wwn or "") if part)


def _check_mount(before: Before, now: ResolvedConfiguration) -> None:
    """Refuse a folder on another filesystem: e.g. after a reboot one that is not mounted."""
    if now.target.plan is not None:
        return
    was = _mount(before.facts.get("storage"))
    mount = attempt_mount(now.target.path, Resolver())
    here = None if mount is None else (mount.filesystem, mount.mount_point)
    if was is None or here is None or was == here:
        return
    message = tr(
        "{name}: {path} is on {now}, but was on {was} when the campaign started. Nothing was started."
    )
    hint = tr("Mount the previous filesystem, or start the campaign again without --resume.")
    words = (tr("{kind} at {mount_point}").format(kind=each[0], mount_point=each[1]) for each in (was, here))
    raise RefusedError(
        message.format(name=before.name, path=now.target.path, was=next(words), now=next(words)), hint=hint
    )


def _mount(storage: Json) -> tuple[str, str] | None:
    """Return type and mount point of the filesystem of a run's storage; None if unknown."""
    mount = storage.get("mount") if isinstance(storage, Mapping) else None
    if not isinstance(mount, Mapping):
        return None
    kind, place = mount.get("filesystem"), mount.get("mount_point")
    return (kind, place) if isinstance(kind, str) and isinstance(place, str) else None


def _server_changes(before: Before, now: ResolvedConfiguration) -> Iterator[str]:
    was, here = known(before.metadata.installation.version, ""), now.installation.version
    if was and was != here:
        yield _version_words(before.name, was, here)


def _version_words(name: str, was: str, now: str) -> str:
    sentence = tr("Earlier runs used {was}; the remaining ones use {now}.")
    return f"{name}: {sentence.format(was=f'PostgreSQL {was}', now=now)}"


def _program_changes(before: Before) -> Iterator[str]:
    was = known(before.metadata.program_version, "")
    if was and was != VERSION:
        sentence = tr("Earlier runs used {was}; the remaining ones use {now}.")
        yield sentence.format(was=f"pgFooting {was}", now=VERSION)
