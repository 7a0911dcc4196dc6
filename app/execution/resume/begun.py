"""A started campaign: its folder, its done runs, its time budget, and whether it can continue.

Everything is read from the folder. The run files and their numbers alone decide which runs are done, never a
clock: setting one back between two attempts has no effect.

Expected run times come from done runs of the same configuration, else from the plan. No run starts that is
expected to exceed the time budget. The budget counts from each start of the campaign: resumed on another
night, it gets the same budget again. After one complete round, a further round starts only if all its runs
fit, because rounds are compared.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from app.analysis.stability import is_weak, read_shape
from app.campaign_file.reader import load_campaign
from app.campaign_file.writer import changed_scripts, state_campaign
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DiskTarget,
    PlannedRun,
    as_begun,
    interleaved_order,
)
from app.domain.campaign.matrix import LEFT_OUT
from app.domain.campaign.phases import measured_seconds
from app.domain.errors import BusyError, FootingError, RefusedError, UsageError
from app.domain.run import RunState
from app.domain.text import format_duration, quoted, tr, trn
from app.execution.design import to_measure
from app.library.campaign_end import CampaignEnd, read_end
from app.library.entries import CAMPAIGN_NAME, effective_state, is_live
from app.recording.events import RunResult
from app.runfile.disturbance import DISTURBED, marks_of, read_disturbances
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import or_none
from app.runfile.output_file import slug
from app.runfile.reader import RunFile
from app.runfile.writer import SUFFIX

_ATTEMPT: Final = re.compile(r"-r\d+(?:-(\d+))?\Z")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BegunRuns:
    """The run files of a folder.

    Attributes:
        done: by number of the run, its done attempts, the first one first.
        unreadable: the reason by path of the file; its run counts as not done.
    """

    done: Mapping[int, Sequence[RunResult]] = field(default_factory=dict)
    unreadable: Mapping[Path, str] = field(default_factory=dict)

    @property
    def results(self) -> list[RunResult]:
        """Every done attempt, in the order of the campaign."""
        return [result for number in sorted(self.done) for result in self.done[number]]


def begun_campaign(folder: Path) -> Campaign:
    """Return the campaign of a folder, with the order that it was started with.

    Raises:
        CampaignError: its file, or a script that it names, cannot be read.
    """
    return as_begun(load_campaign(folder / CAMPAIGN_NAME))


def begun_runs(folder: Path, campaign: Campaign) -> BegunRuns:
    """Return the done runs of a campaign in its folder.

    A file counts for the run with the number at the start of its name, if both name the same configuration;
    several attempts are ordered by the attempt numbers in their names.

    Args:
        folder: of the campaign.
        campaign: with its order known.
    """
    planned = {run.number: run for run in interleaved_order(campaign)}
    found: dict[int, list[tuple[int, RunResult]]] = {}
    unreadable: dict[Path, str] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        run = planned.get(number_of(path))
        if run is None:
            continue
        try:
            result = _done(path, run)
        except FootingError as error:
            unreadable[path] = error.message
            continue
        if result is not None:
            found.setdefault(run.number, []).append((attempt_of(path), result))
    done = {number: _in_order(attempts) for number, attempts in found.items()}
    return BegunRuns(done, unreadable)


def _in_order(attempts: Sequence[tuple[int, RunResult]]) -> list[RunResult]:
    results = [result for _, result in sorted(attempts, key=lambda each: each[0])]
    return [
        replace(result, planned=replace(result.planned, attempt=attempt))
        for attempt, result in enumerate(results, 1)
    ]


def _done(path: Path, planned: PlannedRun) -> RunResult | None:
    """Return the result of a run file if it is done and of this run; else None.

    Raises:
        FootingError: the file is damaged, or may not be read.
    """
    try:
        with RunFile(path) as run:
            metadata = run.metadata
            if effective_state(path, run.state) is not RunState.DONE:
                return None
            if or_none(metadata.configuration) != planned.configuration.name:
                return None  # an unrelated file was copied here
            judged = read_disturbances(run)
            marks = tuple(marks_of(run, judged))
            weak = is_weak(marks, judged, read_shape(run))
            figures = run.summary()
    except FootingError:
        raise
    except Exception as error:  # a border: a damaged file does not hide others
        _log.debug("%s", path, exc_info=error)
        message = tr("{path} is damaged: {reason}.")
        raise UsageError(message.format(path=path, reason=error)) from error
    return RunResult(
        *(planned, RunState.DONE, str(path), figures, marks),
        measured=True,
        length_s=length_of(metadata),
        is_weak=weak,
    )


def length_of(metadata: RunMetadata) -> float | None:
    """Return the seconds of a run from start to end; None if its clock gives none."""
    started, ended = or_none(metadata.started_epoch_s), or_none(metadata.ended_epoch_s)
    return ended - started if started is not None and ended is not None and ended > started else None


def number_of(path: Path) -> int:
    """Return the number of the run at the start of a file's name; 0 if there is none."""
    head = path.name.partition("-")[0]
    return int(head) if head.isascii() and head.isdigit() else 0


def attempt_of(path: Path) -> int:
    """Return the attempt number in a run file's name: 1 for the first one."""
    found = _ATTEMPT.search(path.name.removesuffix(SUFFIX))
    return int(found[1] or 1) if found else 1


def is_complete(folder: Path, campaign: Campaign) -> bool:
    """Whether a folder is finished: all runs are done, and none is to be repeated.

    Args:
        folder: of a started campaign.
        campaign: as requested now; its limit of repeated runs counts.
    """
    begun = begun_campaign(folder)
    runs = begun_runs(folder, begun)
    return nothing_to_do(replace(begun, repeat_disturbed=campaign.repeat_disturbed), runs.results)


def nothing_to_do(campaign: Campaign, results: Sequence[RunResult]) -> bool:
    """Whether all necessary runs are done, and none is to be repeated."""
    return not to_measure(campaign, results) and not runs_to_repeat(campaign, results)


def runs_to_repeat(campaign: Campaign, results: Sequence[RunResult]) -> list[PlannedRun]:
    """Return the next attempt at each run with only disturbed attempts, within the limit.

    A failed attempt counts towards the limit, and is not repeated: it would fail in the same way.
    """
    left = campaign.repeat_disturbed - sum(each.planned.attempt > 1 for each in results)
    gone = {each.planned.configuration.name for each in results if LEFT_OUT in dict(each.marks)}
    by_number: dict[int, list[RunResult]] = {}
    for each in results:
        by_number.setdefault(each.planned.number, []).append(each)
    found = [
        replace(attempts[-1].planned, attempt=max(each.planned.attempt for each in attempts) + 1)
        for attempts in by_number.values()
        if attempts[-1].planned.configuration.name not in gone
        and all(each.state is RunState.DONE and DISTURBED in dict(each.marks) for each in attempts)
    ]
    return sorted(found, key=lambda planned: planned.number)[: max(0, left)]


def new_folder(library: Path, campaign: Campaign) -> Path:
    """Create a folder for the run files, with the campaign file in it, and return it.

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
        message = tr("{path} cannot be written: {reason}.") + " " + tr("Nothing was started.")
        hint = tr("Choose another folder with --library.")
        raise UsageError(message.format(path=library, reason=err.strerror), hint=hint) from err
    raise UsageError(
        tr("The library {path} already has too many campaigns from this second.").format(path=library)
    )


def unfinished_folder(library: Path, campaign: Campaign) -> Path:
    """Return the newest folder of the same campaign, scripts included, that lacks a run.

    Raises:
        UsageError: there is none; names changed scripts if they are the reason.
    """
    others: tuple[str, ...] = ()
    for path in sorted(library.glob(f"*/{CAMPAIGN_NAME}"), reverse=True):
        folder = path.parent.resolve()
        try:
            changed = changed_scripts(path.read_text(encoding="utf-8"), campaign)
        except (OSError, UnicodeDecodeError):
            continue
        if changed is None or is_live(folder) or is_complete(folder, campaign):
            continue
        if not changed:
            return folder
        others = others or changed
    if others:
        raise _other_scripts(others)
    message = tr("There is no unfinished campaign in {library} that this file describes.")
    hint = tr("Start it again without --resume: a changed file makes a different campaign.")
    raise UsageError(message.format(library=library), hint=hint)


def _other_scripts(paths: Sequence[str]) -> UsageError:
    message = tr("The campaign's scripts have changed since it started: {paths}.")
    hint = tr("Start it again without --resume: a changed file makes a different campaign.")
    return UsageError(message.format(paths=", ".join(paths)), hint=hint)


def check_folder(folder: Path, text: str, campaign: Campaign) -> None:
    """Check that a campaign can continue in a folder named by the user.

    Args:
        folder: of the campaign.
        text: of the campaign file in it.
        campaign: described by that file, with the present scripts.

    Raises:
        UsageError: nothing is missing, or a script has changed since the start.
        RefusedError: the folder cannot be written.
        BusyError: it runs.
    """
    if is_live(folder):
        raise BusyError(tr("The campaign in {folder} is running; nothing was started.").format(folder=folder))
    changed = changed_scripts(text, campaign)
    if changed:
        raise _other_scripts(changed)
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        message = tr("{path} is not writable.")
        hint = tr("Copy the folder to a writable place and continue there.")
        raise RefusedError(message.format(path=folder), hint=hint)
    if is_complete(folder, campaign):
        message = tr("The campaign in {folder} is complete.")
        hint = tr("To measure it again, run {file} without --resume.")
        file = folder / CAMPAIGN_NAME
        raise UsageError(message.format(folder=folder), hint=hint.format(file=file))


def benchmark_seconds(configuration: Configuration) -> float | None:
    """Return the planned length of warm-up and measurement; None if transactions are planned."""
    workload = configuration.workload
    measured_s = measured_seconds(workload)
    return None if measured_s is None else float(measured_s + workload.warmup_s)


class RunLengths:
    """Past run times of a campaign, and the expected ones."""

    def __init__(self, campaign: Campaign, done: Iterable[tuple[str, float | None]]) -> None:
        """Collect the run times.

        Args:
            campaign: of the runs.
            done: configuration and seconds from start to end of each done run; None if unknown.
        """
        self._configurations = {each.name: each for each in campaign.configurations}
        self._lengths: dict[str, list[float]] = {}
        for name, seconds in done:
            if seconds is not None and seconds > 0 and name in self._configurations:
                self._lengths.setdefault(name, []).append(seconds)

    def expected_seconds(self, name: str) -> float | None:
        """Return how long the next run of a configuration takes, from its preparation to its teardown.

        The mean of its done runs, which includes the costs of its filesystem and server. Before there is one:
        the plan, plus the mean overhead of other runs.

        Returns:
            None without any done run, or if a number of transactions is planned and none of its runs is done.
        """
        own = self._lengths.get(name)
        if own:
            return sum(own) / len(own)
        planned_s = self.planned_seconds(name)
        return None if planned_s is None or self._besides_s is None else planned_s + self._besides_s

    def planned_seconds(self, name: str) -> float | None:
        """Return the planned length of warm-up and measurement; None if transactions are planned."""
        return benchmark_seconds(self._configurations[name])

    @cached_property
    def _besides_s(self) -> float | None:
        """Mean time of a run besides warm-up and measurement; None if unknown."""
        besides = [
            max(0.0, seconds - planned_s)
            for name, lengths in self._lengths.items()
            if (planned_s := self.planned_seconds(name)) is not None
            for seconds in lengths
        ]
        return sum(besides) / len(besides) if besides else None


@dataclass(slots=True)
class TimeBudget:
    """The rest of the budget.

    Attributes:
        campaign: has `time_budget_s`; without one everything fits.
        clock: monotonic, seconds.
        is_spent: whether it prevented a run.
    """

    campaign: Campaign
    clock: Callable[[], float] = time.monotonic
    is_spent: bool = False
    _begun_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Start counting."""
        self._begun_s = self.clock()

    def refuses(
        self, runs: Sequence[PlannedRun], results: Sequence[RunResult], *, is_round: bool = False
    ) -> str:
        """Return a sentence why the next run may not start; empty if it may.

        Args:
            runs: those of the round that are still to be done, the next one first.
            results: every run so far.
            is_round: they are a whole round, not started yet.
        """
        budget_s = self.campaign.time_budget_s
        if budget_s is None or not runs:
            return ""
        left_s = budget_s - (self.clock() - self._begun_s)
        whole = is_round and self._has_whole_round(results)
        wanted = runs if whole else runs[:1]
        needed_s = self._needed_seconds(wanted, results)
        if needed_s <= left_s:
            return ""
        self.is_spent = True
        sentence = tr(
            "Stopped by the time budget of {budget}: {what} needs about {needed}, and {left} are left. "
            "--resume continues with a new budget of the same length."
        )
        what = tr("the next round of {count} runs").format(count=len(runs)) if whole else tr("the next run")
        return sentence.format(
            budget=format_duration(budget_s),
            what=what,
            needed=format_duration(needed_s),
            left=format_duration(max(0.0, left_s)),
        )

    def _needed_seconds(self, runs: Sequence[PlannedRun], results: Sequence[RunResult]) -> float:
        """Return the least time that runs take, as far as known."""
        done = [each for each in results if each.state is RunState.DONE]
        lengths = RunLengths(
            self.campaign, ((each.planned.configuration.name, each.length_s) for each in done)
        )
        total = 0.0
        for name in (run.configuration.name for run in runs):
            expected_s = lengths.expected_seconds(name)
            total += expected_s if expected_s is not None else lengths.planned_seconds(name) or 0.0
        return total

    def _has_whole_round(self, results: Sequence[RunResult]) -> bool:
        """Whether every configuration has ended once, in any way: a round that can be compared."""
        ended = {each.planned.configuration.name for each in results}
        return len(ended) >= len(self.campaign.configurations)


OFFERED_S: Final = 30 * 86_400.0
"""Greatest age of a campaign that is offered automatically."""


@dataclass(frozen=True, slots=True)
class UnfinishedCampaign:
    """A campaign with something missing.

    Attributes:
        folder: of the campaign.
        name: for users.
        done: number of its done runs.
        total: number of its runs.
        end: how it ended; None if it was interrupted: killed, logged out, switched off.
    """

    folder: Path
    name: str
    done: int
    total: int
    end: CampaignEnd | None = None

    @property
    def sentence(self) -> str:
        """Return a sentence about its missing runs."""
        if self.done >= self.total:
            message = tr("“{name}”: all runs are done, but disturbed ones still have to be repeated.")
            return message.format(name=self.name)
        verb = tr("was interrupted") if self.end is None else tr("is not finished")
        words = trn("{done} of {total} run is done", "{done} of {total} runs are done", self.total)
        return f"{quoted(self.name)} {verb}: {words.format(done=self.done, total=self.total)}."


def look_at_campaign(folder: Path) -> UnfinishedCampaign | None:
    """Return the missing part of a campaign that is not running; None if nothing is missing, or it runs.

    Raises:
        FootingError: its campaign file, or a script that it names, cannot be read.
    """
    if is_live(folder):
        return None
    campaign = begun_campaign(folder)
    runs = begun_runs(folder, campaign)
    if nothing_to_do(campaign, runs.results):
        return None
    return UnfinishedCampaign(folder, campaign.name, len(runs.done), campaign.total_runs, read_end(folder))


def interrupted_campaigns(library: Path, now_epoch_s: float | None = None) -> tuple[UnfinishedCampaign, ...]:
    """Return the recent interrupted campaigns of a library, the newest first.

    Args:
        library: folder of the campaigns.
        now_epoch_s: None for now.
    """
    now_s = time.time() if now_epoch_s is None else now_epoch_s
    found = []
    for path in sorted(library.glob(f"*/{CAMPAIGN_NAME}"), reverse=True):
        try:
            is_recent = abs(now_s - path.stat().st_mtime) <= OFFERED_S
            waiting = look_at_campaign(path.parent) if is_recent and read_end(path.parent) is None else None
        except (FootingError, OSError) as error:
            _log.info("%s: %s", path, error)
            continue
        if waiting is not None:
            found.append(waiting)
    return tuple(found)


def disks_of(campaign: Campaign) -> tuple[str, ...]:
    """Return the serials or WWNs of a campaign's spare disks, each once."""
    targets = (each.target for each in campaign.configurations)
    named = (name for target in targets if isinstance(target, DiskTarget) for name in target.names)
    return tuple(dict.fromkeys(named))
