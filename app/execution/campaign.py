"""A campaign: its folder, its locks, its runs in interleaved order, and the state they share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Final

from app.campaign_file.reader import CampaignFile, read_campaign_file
from app.campaign_file.trust import (
    Ask,
    campaign_digest,
    check_trust,
    find_concerns,
    foreign_programs,
    has_own_scripts,
)
from app.dbus.desktop import InhibitorUnavailable, inhibit_sleep
from app.domain.campaign.configuration import Campaign, PlannedRun, interleaved_order, with_drawn_order
from app.domain.errors import CancelledError, RunFileError, ServerLostError, UsageError, refuse
from app.domain.io_baseline import PLANNED_SECONDS
from app.domain.run import RunState
from app.domain.text import tr
from app.execution.baseline.measurement import CampaignBaselines, storages_to_ask
from app.execution.control import Cancellable, ControlServer, StopRequestedError
from app.execution.data_set import begin_data_sets
from app.execution.design import follow, report_round, to_measure
from app.execution.disks.session import DiskConsent, end_disks, open_disks
from app.execution.recovery import sweep_abandoned
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration, resolve_campaign
from app.execution.resume.begun import (
    BegunRuns,
    TimeBudget,
    begun_campaign,
    begun_runs,
    check_folder,
    new_folder,
    nothing_to_do,
    runs_to_repeat,
    unfinished_folder,
)
from app.execution.resume.changed import Before, check_changes, machine_now, read_before
from app.execution.run import RunContext, execute_run
from app.execution.servers import LoadConsent, open_servers
from app.hosts.folders.own_folders import account_reason, server_account
from app.hosts.machine_lock import MachineLock, acquire_machine_lock
from app.hosts.recovery.resource_journal import ResourceJournal
from app.library.campaign_end import CampaignEnd, clear_end, write_end
from app.library.entries import CAMPAIGN_NAME, CampaignLock
from app.library.files import mark_ended_run
from app.library.trusted_campaigns import is_trusted, trust
from app.probes.preflight.checks import PreflightFinding, PreflightRequest, Severity, run_preflight
from app.process.starter import CommandOutcome
from app.recording.events import CampaignListener, RunResult
from app.runfile.disturbance import DISTURBED, REPEATED

# Find before the start what would spoil a campaign's measurement: the preflight over all its targets.


__all__ = ["PreflightFinding", "Severity", "find_disturbances"]


def find_disturbances(
    resolved: ResolvedCampaign, library: str | None, sleep_reason: str = ""
) -> tuple[PreflightFinding, ...]:
    """Watch the machine for less than a second per target of a campaign; return what may spoil its runs.

    Args:
        resolved: the campaign; its folders exist.
        library: existing folder of the run files; None if it will be created.
        sleep_reason: why the machine could not be kept awake; empty if it is.
    """
    questions: dict[PreflightRequest, None] = {}  # configurations on the same target need the same checks
    for item in resolved.configurations.values():
        in_memory = item.configuration.target.kind == "memory"
        question = PreflightRequest(
            folder=item.target.path,
            library=library,
            memory_target=in_memory,
            needed_bytes=item.need_bytes if in_memory else 0,
            sleep_reason=sleep_reason,
        )
        questions[question] = None
    findings: dict[str, PreflightFinding] = {}  # by code: findings about the machine appear once
    for question in questions:
        for finding in run_preflight(question):
            findings.setdefault(finding.code, finding)
    return (*findings.values(), *_overruled(resolved))


def _overruled(resolved: ResolvedCampaign) -> Iterator[PreflightFinding]:
    """Yield the server settings advised by a filesystem's preset that this campaign overrides."""
    for name, item in resolved.configurations.items():
        for option in item.server_options:
            if option.note:
                yield PreflightFinding(
                    f"server-option-{option.fate}", Severity.NOTE, f"{name}: {option.note}"
                )


_AGAIN_S: Final = 1.0
"""Interval of checks whether another campaign has ended."""


@dataclass(frozen=True, slots=True)
class CampaignRequest:
    """Request of the command line or the window.

    Attributes:
        source: campaign file; with `resume` also the folder of a started campaign.
        given: replaces the file's text, such as a recipe with its disks filled in.
        library: the campaign's folder is created in it.
        wait: wait for another campaign on this machine instead of being refused.
        resume: continue in that folder, or the newest unfinished campaign of the same content.
        consent: asks the user before spare disks are erased.
        load: asks the user before a running server is loaded.
        trust: asks the user about a campaign file that may do more than measure.
        describe: summary of a campaign in sentences, reported before anything is asked or started.
    """

    source: Path
    library: Path
    wait: bool = False
    resume: bool = False
    consent: DiskConsent = field(default_factory=DiskConsent)
    load: LoadConsent = field(default_factory=LoadConsent)
    trust: Ask = refuse
    given: CampaignFile | None = None
    describe: Callable[[ResolvedCampaign], Sequence[str]] = lambda _resolved: ()


@dataclass(slots=True)
class CampaignResult:
    """Result of a campaign.

    Attributes:
        campaign: as stated.
        folder: contains the run files.
        results: of the runs started now, and of those that `resume` found done.
        stopped: the user ended it early.
        budget: the rest of its time.
    """

    campaign: Campaign
    folder: Path
    results: list[RunResult] = field(default_factory=list)
    stopped: bool = False
    budget: TimeBudget = field(init=False)

    def __post_init__(self) -> None:
        """Start counting the time."""
        self.budget = TimeBudget(self.campaign)

    @property
    def is_complete(self) -> bool:
        """Whether all necessary runs are done, and no disturbed one is to be repeated."""
        return nothing_to_do(self.campaign, self.results)

    @property
    def failed(self) -> bool:
        """Whether any run failed."""
        return any(result.state is RunState.FAILED for result in self.results)

    @property
    def end(self) -> CampaignEnd:
        """How it ended, as stored in its folder."""
        if self.is_complete:
            return CampaignEnd.FINISHED
        if self.stopped:
            return CampaignEnd.STOPPED
        return CampaignEnd.BUDGET if self.budget.is_spent else CampaignEnd.FAILED


def run_campaign(request: CampaignRequest, listener: CampaignListener, switch: Cancellable) -> CampaignResult:
    """Measure a campaign from its file to its last run.

    Args:
        request: the campaign to measure.
        listener: receives progress and notes.
        switch: carries the user's requests to stop.

    Raises:
        FootingError: it cannot start (campaign, machine, library, another campaign running); nothing was
            measured. A run that fails does not raise: it is a result.
    """
    sweep_abandoned()
    is_folder = os.path.isdir(request.source)  # noqa: PTH112 - Path.is_dir raises where one may not be entered
    source = request.source / CAMPAIGN_NAME if is_folder else request.source
    file = request.given or read_campaign_file(source)
    foreign = bool(foreign_programs(file.campaign))
    if foreign:  # resolving runs its programs to get their versions
        check_trust(file, request.trust, is_trusted=is_trusted)
    commands: list[CommandOutcome] = []
    account = server_account(commands.append)
    with ExitStack() as stack:
        # Before the user is asked anything: a second campaign is refused at once.
        machine_lock = stack.enter_context(_machine_lock(request, file, listener, switch))
        resolved = resolve_campaign(file.campaign, account, commands.append)
        if not foreign:  # a mistake in the file, such as an unknown setting, is reported first
            check_trust(file, request.trust, is_trusted=is_trusted)
        begun = _begun_folder(request, file) if request.resume else None
        campaign = with_drawn_order(file.campaign)
        if begun is not None:  # with the current budget: a changed budget does not make another campaign
            campaign = replace(begun_campaign(begun), time_budget_s=file.campaign.time_budget_s)
        there = BegunRuns() if begun is None else begun_runs(begun, campaign)
        resolved = replace(resolved, campaign=campaign)
        before = read_before(there)
        if begun is not None:
            _report_begun(there, before, resolved, listener)
        runs = to_measure(campaign, there.results)
        runs += runs_to_repeat(replace(campaign, repeat_disturbed=campaign.total_runs), there.results)
        _report(request.describe(resolved), listener)
        servers = open_servers(stack, resolved, runs, request.load, listener, before)
        disks = open_disks(stack, resolved, runs, account, request.consent, listener)
        folder = new_folder(request.library, campaign) if begun is None else begun
        if begun is None:
            _keep_trust(file, folder, campaign)
        machine_lock.name_holder(str(folder), campaign.name)
        lock = CampaignLock(folder)
        stack.callback(lock.release)
        resources = stack.enter_context(ResourceJournal.create(str(folder), campaign.name, account))
        deaf = _listen(stack, switch, folder)
        stack.enter_context(switch.signals())
        listener.campaign_started(str(folder), campaign.total_runs)
        _report(filter(None, [deaf]), listener)
        _report((account_reason(account), *filter(None, [machine_lock.scope_note])), listener)
        _report_baselines(resolved, listener)
        findings = _prepare_machine(stack, resolved, folder, _beside(machine_lock), listener)
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
            servers=servers,
        )
        if disks is not None:  # before the lock is released: at the campaign's end its disks are reported
            stack.callback(end_disks, disks, folder, listener)
        clear_end(folder)
        result = _run_all(execution, resolved, CampaignResult(campaign, folder), there)
        _keep_end(result, switch)
        return result


def _machine_lock(
    request: CampaignRequest, file: CampaignFile, listener: CampaignListener, switch: Cancellable
) -> MachineLock:
    """Take the right to measure on this machine; on request, wait until other campaigns have ended.

    Raises:
        BusyError: another campaign is running.
        CancelledError: the user ended the waiting.
        FootingError: the state folder cannot be used.
    """
    reported = ""

    def wait(reason: str) -> None:
        nonlocal reported
        if reason != reported:
            reported = reason
            listener.reported(
                "waiting", tr("{reason} This campaign waits until it has ended.").format(reason=reason)
            )
        switch.wait(time.monotonic() + _AGAIN_S)

    folder, name = str(request.library), file.campaign.name
    if not request.wait:
        return acquire_machine_lock(folder, name)
    try:
        with switch.signals():
            return acquire_machine_lock(folder, name, wait=wait)
    except StopRequestedError as stop:
        raise CancelledError(tr("Stopped before this run started; nothing was measured.")) from stop


def _beside(machine_lock: MachineLock) -> tuple[PreflightFinding, ...]:
    """Return the finding, for every run, that another user may be measuring."""
    if not machine_lock.held_by:
        return ()
    return (PreflightFinding("measured-beside", Severity.WARNING, machine_lock.held_by),)


def _report(sentences: Iterable[str], listener: CampaignListener) -> None:
    for sentence in sentences:
        listener.reported("note", sentence)


def _begun_folder(request: CampaignRequest, file: CampaignFile) -> Path:
    """Return the folder in which a campaign continues: the named one, else the newest that matches.

    Raises:
        FootingError: there is none, or it cannot continue there.
    """
    folder = request.source.resolve()
    if not folder.is_dir():
        folder = unfinished_folder(request.library, file.campaign)
    check_folder(folder, (folder / CAMPAIGN_NAME).read_text(encoding="utf-8"), file.campaign)
    return folder


def _keep_trust(file: CampaignFile, folder: Path, campaign: Campaign) -> None:
    """Let the campaign resume from its folder without a question if the user trusted exactly this campaign.

    The folder's copy differs only in the drawn order, and its scripts are outside of that folder. Consent
    given on the command line is for that one command and is not kept.
    """
    if find_concerns(campaign):
        is_kept = is_trusted(campaign_digest(file.text, file.campaign))
    else:
        is_kept = has_own_scripts(campaign)
    if is_kept:
        with suppress(OSError, UsageError):  # the user is asked again
            trust(campaign_digest((folder / CAMPAIGN_NAME).read_text(encoding="utf-8"), campaign))


def _report_begun(
    there: BegunRuns, before: Sequence[Before], resolved: ResolvedCampaign, listener: CampaignListener
) -> None:
    """Report the ignored parts of a started campaign, and the changes since.

    Raises:
        RefusedError: a change makes its runs another measurement.
    """
    changes = check_changes(before, resolved, here=machine_now(), now_epoch_s=time.time())
    for reason in there.unreadable.values():
        message = tr("{reason} The run is repeated; its file is kept.")
        listener.reported("note", message.format(reason=reason))
    for change in changes:
        listener.reported("changed", change)


def _listen(stack: ExitStack, switch: Cancellable, folder: Path) -> str:
    """Open the control socket; return the reason if the library's filesystem has no sockets."""
    try:
        control = ControlServer(folder)
    except OSError as err:
        message = tr(
            "This campaign can only be stopped by signals (Ctrl-C): {folder} does not allow a control "
            "socket ({reason})."
        )
        return message.format(folder=folder, reason=err.strerror)
    stack.callback(control.close)
    switch.listen(control)
    return ""


def _report_baselines(resolved: ResolvedCampaign, listener: CampaignListener) -> None:
    """Report the measurement before the first run on each storage, and its duration."""
    count = len(storages_to_ask(resolved))
    if count:
        sentence = tr(
            "First, fio and pg_test_fsync benchmark the raw storage of {count} setups, about {seconds} s "
            "each. io_baseline = false turns this off."
        )
        listener.reported("note", sentence.format(seconds=PLANNED_SECONDS, count=count))


def _prepare_machine(
    stack: ExitStack,
    resolved: ResolvedCampaign,
    folder: Path,
    known: Sequence[PreflightFinding],
    listener: CampaignListener,
) -> tuple[PreflightFinding, ...]:
    """Keep the machine awake and find what would spoil the measurement, in addition to `known`."""
    sleep_reason = ""
    try:
        why = tr("measuring {name}").format(name=resolved.campaign.name)
        stack.enter_context(inhibit_sleep(why))
    except InhibitorUnavailable as err:
        sleep_reason = err.reason
    findings = (*known, *find_disturbances(resolved, str(folder), sleep_reason))
    for finding in findings:
        listener.reported(
            finding.severity.value, " ".join(part for part in (finding.message, finding.hint) if part)
        )
    return findings


def _keep_end(result: CampaignResult, switch: Cancellable) -> None:
    """Store how a campaign ended. Logout and shutdown do not end it: it stays unfinished, and is offered."""
    if not (switch.is_interrupted and result.end is CampaignEnd.STOPPED):
        write_end(result.folder, result.end)


def _run_all(
    execution: RunContext, resolved: ResolvedCampaign, result: CampaignResult, begun: BegunRuns
) -> CampaignResult:
    """Measure the missing runs, round by round; after each round, the runs disturbed so far."""
    done = begun.done
    _recall_baselines(execution, resolved, [attempt for attempts in done.values() for attempt in attempts])
    hopeless: set[str] = set()
    for rounds, runs in groupby(interleaved_order(result.campaign), key=lambda planned: planned.repeat):
        course = follow(result.campaign, _known(result, done), rounds)
        block = tuple(each for each in runs if each.number in done or course.holds(each))
        if not block:
            break
        missing = [each for each in block if each.number not in done]
        if len(missing) == len(block) and _is_over_time(execution, missing, result, is_round=True):
            return result
        for planned in block:
            if planned.number in done:
                result.results.extend(done[planned.number])
            elif not _attempt(execution, resolved, planned, result, hopeless):
                return result
        if not _repeat_disturbed(execution, resolved, result, hopeless):
            return result
        course = follow(result.campaign, _known(result, done), rounds + 1)
        report_round(course, rounds + 1, result.results, execution.listener)
    attempts = -1
    while attempts < len(result.results):  # as long as that measures something
        attempts = len(result.results)
        if not _repeat_disturbed(execution, resolved, result, hopeless):
            return result
    return result


def _known(result: CampaignResult, done: Mapping[int, Sequence[RunResult]]) -> list[RunResult]:
    """Return the results so far and, of later rounds, those done before a stop."""
    numbers = {each.planned.number for each in result.results}
    later = (found for number, found in done.items() if number not in numbers)
    return [*result.results, *(each for found in later for each in found)]


def _recall_baselines(execution: RunContext, resolved: ResolvedCampaign, done: Sequence[RunResult]) -> None:
    """Take the storages' baselines from the runs that are done."""
    for each in done:
        configuration = resolved.configurations[each.planned.configuration.name]
        if each.path is not None and execution.baselines.is_open(configuration):
            execution.baselines.recall(configuration, each.path)


def _is_over_time(
    execution: RunContext, runs: Sequence[PlannedRun], result: CampaignResult, *, is_round: bool = False
) -> bool:
    """Whether runs would not end within the campaign's time budget; reports it."""
    refusal = result.budget.refuses(runs, result.results, is_round=is_round)
    if refusal:
        execution.listener.reported("time-budget", refusal)
    return bool(refusal)


def _attempt(
    execution: RunContext,
    resolved: ResolvedCampaign,
    planned: PlannedRun,
    result: CampaignResult,
    hopeless: set[str],
) -> bool:
    """Execute one run unless it is pointless; return whether the campaign continues."""
    name = planned.configuration.name
    if name in hopeless or _is_without_disks(execution, resolved.configurations[name]):
        return True
    try:
        execution.switch.check()
    except StopRequestedError:
        result.stopped = True
        return False
    if _is_over_time(execution, [planned], result):
        return False
    ended = execute_run(execution, planned, resolved.configurations[name])
    result.results.append(ended)
    execution.listener.run_finished(ended)
    if _is_without_disks(execution, resolved.configurations[name]):
        _report_without_disks(execution, resolved.configurations[name])
    elif (
        ended.state is RunState.FAILED and not ended.measured and not isinstance(ended.error, ServerLostError)
    ):
        hopeless.add(name)  # a failure before measuring would recur; a lost connection may be back
        message = tr("The other runs of {name} are skipped, because they would fail in the same way.")
        execution.listener.reported("note", message.format(name=name))
    if execution.switch.requested is not None:
        result.stopped = True
        return False
    return True


def _repeat_disturbed(
    execution: RunContext, resolved: ResolvedCampaign, result: CampaignResult, hopeless: set[str]
) -> bool:
    """Measure the runs disturbed so far again, once each; return whether the campaign continues."""
    for planned in runs_to_repeat(result.campaign, result.results):
        before = [each for each in result.results if each.planned.number == planned.number]
        reason = dict(before[-1].marks).get(DISTURBED, "")
        message = tr("{name}, repeat {repeat}, was disturbed and will be repeated. {reason}")
        sentence = message.format(name=planned.configuration.name, repeat=planned.repeat + 1, reason=reason)
        execution.listener.reported("note", sentence.strip())
        goes_on = _attempt(execution, resolved, planned, result, hopeless)
        ended = result.results[-1]
        if ended.planned == planned and ended.state is RunState.DONE and ended.path is not None:
            _mark_repeated(execution, before, Path(ended.path))
        if not goes_on:
            return False
    return True


def _mark_repeated(execution: RunContext, before: Sequence[RunResult], again: Path) -> None:
    """Record in the files of the disturbed attempts which run replaces them."""
    for each in before:
        if each.path is None:
            continue
        try:
            mark_ended_run(Path(each.path), REPEATED, tr("measured again as {file}").format(file=again.name))
        except RunFileError as error:  # e.g. it was moved; the attempts' numbers still distinguish them
            execution.listener.reported("note", error.message)


def _is_without_disks(execution: RunContext, resolved: ResolvedConfiguration) -> bool:
    """Whether the disks of a configuration can no longer be used in this campaign."""
    plan = resolved.target.plan
    return plan is not None and execution.disks is not None and bool(execution.disks.obstacle(plan))


def _report_without_disks(execution: RunContext, resolved: ResolvedConfiguration) -> None:
    assert execution.disks is not None  # noqa: S101 - asked before
    assert resolved.target.plan is not None  # noqa: S101 - as above
    message = tr("The other runs on these disks are skipped. {reason}")
    reason = execution.disks.obstacle(resolved.target.plan)
    execution.listener.reported("left-out", message.format(reason=reason))
