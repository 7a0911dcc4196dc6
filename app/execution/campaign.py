"""A campaign: its folder, its locks, its runs in interleaved order, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from app.campaign_file.reader import CampaignFile, load_campaign, read_campaign_file
from app.campaign_file.trust import Ask, check_trust, foreign_programs, refuse_concerns
from app.campaign_file.writer import changed_scripts, state_campaign
from app.dbus.login import InhibitorUnavailable, inhibit_sleep
from app.domain.campaign.configuration import (
    Campaign,
    PlannedRun,
    as_begun,
    interleaved_order,
    with_drawn_order,
)
from app.domain.errors import RunFileError, UsageError
from app.domain.io_baseline import PLANNED_SECONDS
from app.domain.text import tr
from app.execution.baseline.storages import CampaignBaselines, storages_to_ask
from app.execution.control import ControlServer
from app.execution.data_set import begin_data_sets
from app.execution.disk_release import end_disks
from app.execution.disks import DiskConsent, open_disks
from app.execution.preflight import PreflightFinding, find_disturbances
from app.execution.recovery import sweep_abandoned
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration, resolve_campaign
from app.execution.run import RunContext, execute_run
from app.execution.stop import Cancellable, StopRequestedError
from app.hosts.folders.account import account_reason, server_account
from app.hosts.machine_lock import acquire_machine_lock
from app.hosts.recovery.resource_journal import ResourceJournal
from app.library.annotations import mark_ended_run
from app.library.entries import CAMPAIGN_NAME, CampaignLock, LibraryEntry, is_live, read_entry
from app.library.trusted_campaigns import is_trusted
from app.process.starter import CommandOutcome
from app.recording.events import CampaignListener, RunResult
from app.runfile.disturbance import DISTURBED, REPEATED
from app.runfile.filenames import slug
from app.runfile.writer import SUFFIX, RunState


@dataclass(frozen=True, slots=True)
class CampaignRequest:
    """What the command line or the window asks for.

    Attributes:
        source: campaign file.
        given: what counts instead of the file's text, such as a recipe with its disks put in.
        library: folder that gets the campaign's folder.
        resume: continue the newest unfinished campaign of the same content.
        consent: how a person is asked before spare disks are erased.
        trust: how a person is asked about a campaign file that may do more than measure.
    """

    source: Path
    library: Path
    resume: bool = False
    consent: DiskConsent = field(default_factory=DiskConsent)
    trust: Ask = refuse_concerns
    given: CampaignFile | None = None


@dataclass(slots=True)
class CampaignResult:
    """What became of a campaign.

    Attributes:
        campaign: as stated.
        folder: where the run files are.
        results: of the runs that were begun now, and of those found done by `resume`.
        stopped: a person ended it early.
    """

    campaign: Campaign
    folder: Path
    results: list[RunResult] = field(default_factory=list)
    stopped: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether all runs are done and no disturbed one is to be repeated."""
        done = {each.planned.number for each in self.results if each.state is RunState.DONE}
        return len(done) >= self.campaign.total_runs and not runs_to_repeat(self.campaign, self.results)

    @property
    def failed(self) -> bool:
        """Whether any run failed."""
        return any(result.state is RunState.FAILED for result in self.results)


def run_campaign(request: CampaignRequest, listener: CampaignListener, switch: Cancellable) -> CampaignResult:
    """Measure a campaign from its file to its last run.

    Args:
        request: what to measure.
        listener: watches.
        switch: how a person stops it.

    Raises:
        FootingError: it cannot begin (campaign, machine, library, another campaign running); nothing was
            measured. A run that fails does not raise: it is a result.
    """
    sweep_abandoned()
    file = request.given or read_campaign_file(request.source)
    foreign = bool(foreign_programs(file.campaign))
    if foreign:  # resolving asks its programs what they are
        check_trust(file, request.trust, is_trusted=is_trusted)
    commands: list[CommandOutcome] = []
    account = server_account(commands.append)
    resolved = resolve_campaign(file.campaign, account, commands.append)
    if not foreign:  # a mistake in the file, such as a setting that does not exist, is told before
        check_trust(file, request.trust, is_trusted=is_trusted)
    with ExitStack() as stack:
        begun = _unfinished_folder(request.library, file.campaign) if request.resume else None
        done = _finished_runs(begun) if begun is not None else {}
        before = [result for attempts in done.values() for result in attempts]
        campaign = with_drawn_order(file.campaign) if begun is None else _begun_campaign(begun)
        resolved = replace(resolved, campaign=campaign)
        runs = [run for run in interleaved_order(campaign) if run.number not in done]
        runs += runs_to_repeat(replace(campaign, repeat_disturbed=campaign.total_runs), before)
        disks = open_disks(stack, resolved, runs, account, request.consent, listener)
        folder = _new_folder(request.library, campaign) if begun is None else begun
        lock = CampaignLock(folder)
        stack.callback(lock.release)
        machine_lock = stack.enter_context(acquire_machine_lock(str(folder), campaign.name))
        resources = stack.enter_context(ResourceJournal.create(str(folder), campaign.name, account))
        deaf = _listen(stack, switch, folder)
        stack.enter_context(switch.signals())
        listener.campaign_started(str(folder), campaign.total_runs)
        if deaf:
            listener.told("note", deaf)
        listener.told("note", account_reason(account))
        if machine_lock.scope_note:
            listener.told("note", machine_lock.scope_note)
        _tell_baselines(resolved, listener)
        findings = _prepare_machine(stack, resolved, folder, listener)
        execution = RunContext(
            campaign=campaign,
            folder=folder,
            account=account,
            resources=resources,
            listener=listener,
            switch=switch,
            baselines=CampaignBaselines(campaign),
            findings=findings,
            early_commands=tuple(commands),
            disks=disks,
            data_sets=begin_data_sets(resolved, account, resources, listener),
        )
        if disks is not None:  # before the lock: who sees that the campaign has ended finds its disks told
            stack.callback(end_disks, disks, folder, listener)
        return _run_all(execution, resolved, CampaignResult(campaign, folder))


def _listen(stack: ExitStack, switch: Cancellable, folder: Path) -> str:
    """Open the control socket; return why there is none where the library's filesystem has no sockets."""
    try:
        control = ControlServer(folder)
    except OSError as err:
        message = tr("Only signals (Ctrl-C) stop this campaign: {folder} takes no control socket ({reason}).")
        return message.format(folder=folder, reason=err.strerror)
    stack.callback(control.close)
    switch.listen(control)
    return ""


def _tell_baselines(resolved: ResolvedCampaign, listener: CampaignListener) -> None:
    """Say what is done before the first run on each storage, and how long that takes."""
    count = len(storages_to_ask(resolved))
    if count:
        sentence = tr(
            "fio and pg_test_fsync ask the storage first what it can do by itself: about {seconds} s for "
            "each of {count} (io_baseline = false leaves that out)."
        )
        listener.told("note", sentence.format(seconds=PLANNED_SECONDS, count=count))


def _prepare_machine(
    stack: ExitStack, resolved: ResolvedCampaign, folder: Path, listener: CampaignListener
) -> tuple[PreflightFinding, ...]:
    """Keep the machine awake and look for what would spoil the measurement."""
    sleep_reason = ""
    try:
        why = tr("measuring {name}").format(name=resolved.campaign.name)
        stack.enter_context(inhibit_sleep(why))
    except InhibitorUnavailable as err:
        sleep_reason = err.reason
    findings = find_disturbances(resolved, str(folder), sleep_reason)
    for finding in findings:
        listener.told(
            finding.severity.value, " ".join(part for part in (finding.message, finding.hint) if part)
        )
    return findings


def _run_all(execution: RunContext, resolved: ResolvedCampaign, result: CampaignResult) -> CampaignResult:
    """Measure what is not done, round by round; after each one, what others disturbed until then."""
    done = _finished_runs(result.folder)
    for each in (attempt for attempts in done.values() for attempt in attempts):
        if each.path is not None:
            name = each.planned.configuration.name
            execution.baselines.recall(resolved.configurations[name], each.path)
    hopeless: set[str] = set()
    for _, block in groupby(interleaved_order(result.campaign), key=lambda planned: planned.repeat):
        for planned in block:
            if planned.number in done:
                result.results.extend(done[planned.number])
            elif not _attempt(execution, resolved, planned, result, hopeless):
                return result
        if not _repeat_disturbed(execution, resolved, result, hopeless):
            return result
    attempts = -1
    while attempts < len(result.results):  # as long as that measures something
        attempts = len(result.results)
        if not _repeat_disturbed(execution, resolved, result, hopeless):
            return result
    return result


def _attempt(
    execution: RunContext,
    resolved: ResolvedCampaign,
    planned: PlannedRun,
    result: CampaignResult,
    hopeless: set[str],
) -> bool:
    """Execute one run where that has a point; return whether the campaign goes on."""
    name = planned.configuration.name
    if name in hopeless or _is_without_disks(execution, resolved.configurations[name]):
        return True
    try:
        execution.switch.check()
    except StopRequestedError:
        result.stopped = True
        return False
    ended = execute_run(execution, planned, resolved.configurations[name])
    result.results.append(ended)
    execution.listener.run_finished(ended)
    if _is_without_disks(execution, resolved.configurations[name]):
        _tell_without_disks(execution, resolved.configurations[name])
    elif ended.state is RunState.FAILED and not ended.measured:
        hopeless.add(name)  # what fails before measuring fails again
        message = tr("The other runs of {name} are left out, because they would fail in the same way.")
        execution.listener.told("note", message.format(name=name))
    if execution.switch.requested is not None:
        result.stopped = True
        return False
    return True


def _repeat_disturbed(
    execution: RunContext, resolved: ResolvedCampaign, result: CampaignResult, hopeless: set[str]
) -> bool:
    """Measure again, once each, what others disturbed until now; return whether the campaign goes on."""
    for planned in runs_to_repeat(result.campaign, result.results):
        before = [each for each in result.results if each.planned.number == planned.number]
        reason = dict(before[-1].marks).get(DISTURBED, "")
        message = tr("{name}, repeat {repeat}, was disturbed and is measured again. {reason}")
        told = message.format(name=planned.configuration.name, repeat=planned.repeat + 1, reason=reason)
        execution.listener.told("note", told.strip())
        goes_on = _attempt(execution, resolved, planned, result, hopeless)
        ended = result.results[-1]
        if ended.planned == planned and ended.state is RunState.DONE and ended.path is not None:
            _mark_repeated(execution, before, Path(ended.path))
        if not goes_on:
            return False
    return True


def runs_to_repeat(campaign: Campaign, results: Sequence[RunResult]) -> list[PlannedRun]:
    """Return the next attempt at each run of which every attempt was disturbed, as far as the limit allows.

    An attempt that failed counts towards the limit, and is not made again: it would fail in the same way.
    """
    left = campaign.repeat_disturbed - sum(each.planned.attempt > 1 for each in results)
    by_number: dict[int, list[RunResult]] = {}
    for each in results:
        by_number.setdefault(each.planned.number, []).append(each)
    found = [
        replace(attempts[-1].planned, attempt=max(each.planned.attempt for each in attempts) + 1)
        for attempts in by_number.values()
        if all(each.state is RunState.DONE and DISTURBED in dict(each.marks) for each in attempts)
    ]
    return sorted(found, key=lambda planned: planned.number)[: max(0, left)]


def _mark_repeated(execution: RunContext, before: Sequence[RunResult], again: Path) -> None:
    """Say in the files of the disturbed attempts which run came after them."""
    for each in before:
        if each.path is None:
            continue
        try:
            mark_ended_run(Path(each.path), REPEATED, tr("measured again as {file}").format(file=again.name))
        except RunFileError as error:  # it was moved, say; the attempts are told apart by their numbers
            execution.listener.told("note", error.message)


def _is_without_disks(execution: RunContext, resolved: ResolvedConfiguration) -> bool:
    """Whether the disks of a configuration cannot be used any more in this campaign."""
    plan = resolved.target.plan
    return plan is not None and execution.disks is not None and bool(execution.disks.obstacle(plan))


def _tell_without_disks(execution: RunContext, resolved: ResolvedConfiguration) -> None:
    assert execution.disks is not None  # noqa: S101 - asked before
    assert resolved.target.plan is not None  # noqa: S101 - as above
    message = tr("The other runs on these disks are left out. {reason}")
    reason = execution.disks.obstacle(resolved.target.plan)
    execution.listener.told("left-out", message.format(reason=reason))


def _new_folder(library: Path, campaign: Campaign) -> Path:
    """Return a new folder for the run files, which states the campaign.

    Raises:
        UsageError: the library cannot be written.
    """
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    base = f"{stamp}-{slug(campaign.name)}"
    try:
        library.mkdir(mode=0o700, parents=True, exist_ok=True)
        for attempt in range(1, 1000):
            folder = library.resolve() / (base if attempt == 1 else f"{base}-{attempt}")
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            (folder / CAMPAIGN_NAME).write_text(state_campaign(campaign), encoding="utf-8")
            return folder
    except OSError as err:
        message = tr("The library {path} cannot be written: {reason}. Nothing was started.")
        hint = tr("Choose another folder with --output.")
        raise UsageError(message.format(path=library, reason=err.strerror), hint=hint) from err
    raise UsageError(tr("The library {path} is full of campaigns of this second.").format(path=library))


def _unfinished_folder(library: Path, campaign: Campaign) -> Path:
    """Return the newest folder of the same campaign, scripts included, that lacks a run.

    Raises:
        UsageError: there is none; says which scripts are the reason where they are.
    """
    others: tuple[str, ...] = ()
    for path in sorted(library.glob(f"*/{CAMPAIGN_NAME}"), reverse=True):
        folder = path.parent.resolve()
        try:
            changed = changed_scripts(path.read_text(encoding="utf-8"), campaign)
        except (OSError, UnicodeDecodeError):
            continue
        if changed is None or is_live(folder) or _is_complete(folder, campaign):
            continue
        if not changed:
            return folder
        others = others or changed
    if others:
        message = tr("The campaign was begun with other scripts than those of now: {paths}.")
        hint = tr("Leave --resume out to start it anew. A changed script is another campaign.")
        raise UsageError(message.format(paths=", ".join(others)), hint=hint)
    message = tr("There is no unfinished campaign in {library} that this file describes.")
    hint = tr("Leave --resume out to start it anew. A changed file is another campaign.")
    raise UsageError(message.format(library=library), hint=hint)


def _is_complete(folder: Path, campaign: Campaign) -> bool:
    """Whether `resume` has nothing to do in a folder: all runs are done, and none is to be repeated."""
    done = _finished_runs(folder)
    results = [result for attempts in done.values() for result in attempts]
    return len(done) >= campaign.total_runs and not runs_to_repeat(campaign, results)


def _finished_runs(folder: Path) -> dict[int, list[RunResult]]:
    """Return what `resume` need not repeat: by number the done attempts at a run, the first one first."""
    planned = {run.number: run for run in interleaved_order(_begun_campaign(folder))}
    found: dict[int, list[LibraryEntry]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        entry = read_entry(path)
        number = _number_of(path)
        if entry.state == RunState.DONE.value and number in planned:
            found.setdefault(number, []).append(entry)
    return {
        number: [
            _as_result(replace(planned[number], attempt=attempt), entry)
            for attempt, entry in enumerate(sorted(entries, key=lambda entry: entry.started or 0.0), 1)
        ]
        for number, entries in found.items()
    }


def _as_result(planned: PlannedRun, entry: LibraryEntry) -> RunResult:
    summary = {"tps": entry.tps, "latency_p99_ms": entry.p99_ms, "jitter_cv": entry.jitter_cv}
    marks = tuple((kind, "") for kind in entry.marks)
    return RunResult(planned, RunState.DONE, entry.path, summary, marks, measured=True)


def _begun_campaign(folder: Path) -> Campaign:
    """Return the campaign of a folder, with the order that it was begun with.

    Raises:
        CampaignError: its file, or a script that it names, cannot be read.
    """
    return as_begun(load_campaign(folder / CAMPAIGN_NAME))


def _number_of(path: Path) -> int:
    head = path.name.partition("-")[0]
    return int(head) if head.isascii() and head.isdigit() else 0
