"""A campaign that was begun: its folder, the runs in it that count, and which of its folders can go on.

Everything is read from the folder. What counts as done is decided by the run files alone, by their numbers,
and never by a clock: one that is set back between two attempts changes nothing.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from app.analysis.stability import is_weak, read_shape
from app.campaign_file.reader import load_campaign
from app.campaign_file.writer import changed_scripts, state_campaign
from app.domain.campaign.configuration import Campaign, PlannedRun, as_begun, interleaved_order
from app.domain.campaign.design import LEFT_OUT
from app.domain.errors import BusyError, FootingError, RefusedError, UsageError
from app.domain.text import tr
from app.execution.design import to_measure
from app.execution.resume.known_runs import DoneRun, KnownRuns
from app.library.entries import CAMPAIGN_NAME, effective_state, is_live
from app.recording.events import RunResult
from app.runfile.disturbance import DISTURBED, marks_of, read_disturbances
from app.runfile.filenames import slug
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from app.runfile.writer import SUFFIX, RunState

_ATTEMPT: Final = re.compile(r"-r\d+(?:-(\d+))?\Z")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BegunRuns:
    """What the run files of a folder say.

    Attributes:
        done: by number of the run, the done attempts at it, the first one first.
        unreadable: why a file cannot be read, by its path; its run counts as not done.
    """

    done: Mapping[int, Sequence[RunResult]] = field(default_factory=dict)
    unreadable: Mapping[Path, str] = field(default_factory=dict)

    @property
    def results(self) -> list[RunResult]:
        """Every done attempt, in the order of the campaign."""
        return [result for number in sorted(self.done) for result in self.done[number]]


def begun_campaign(folder: Path) -> Campaign:
    """Return the campaign of a folder, with the order that it was begun with.

    Raises:
        CampaignError: its file, or a script that it names, cannot be read.
    """
    return as_begun(load_campaign(folder / CAMPAIGN_NAME))


def begun_runs(folder: Path, campaign: Campaign) -> BegunRuns:
    """Return which runs of a campaign are done in its folder.

    A file counts for the run whose number its name begins with, where it says that it is one of that
    configuration; the order of several attempts is that of their names, in which they are counted.

    Args:
        folder: of the campaign.
        campaign: with its order known.
    """
    planned = {run.number: run for run in interleaved_order(campaign)}
    found: dict[int, list[tuple[int, RunResult]]] = {}
    unreadable: dict[Path, str] = {}
    known = KnownRuns.of(folder)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        run = planned.get(number_of(path))
        if run is None:
            continue
        try:
            result = _done(path, run, known)
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


def _done(path: Path, planned: PlannedRun, known: KnownRuns) -> RunResult | None:
    """Return the result of a run file that is done and of this run; None where it is not.

    Raises:
        FootingError: the file is damaged, or may not be read.
    """
    read = known.find(path)
    if read is None:
        read = _read_done(path)
        if read is not None:
            known.keep(path, read)
    if read is None or read.configuration != planned.configuration.name:
        return None  # or a file of something else was copied here
    named = tuple((kind, "") for kind in read.marks)
    return RunResult(
        *(planned, RunState.DONE, str(path), read.figures, named),
        measured=True,
        length_s=read.length_s,
        is_weak=read.is_weak,
    )


def remember_run(folder: Path, path: Path) -> None:
    """Keep what a run file says that was just written, so that going on need not read it."""
    with suppress(FootingError):  # whoever goes on is told
        read = _read_done(path)
        if read is not None:
            KnownRuns.without_entries(folder).keep(path, read)


def _read_done(path: Path) -> DoneRun | None:
    try:
        with RunFile(path) as run:
            if effective_state(path, run.state) is not RunState.DONE:
                return None
            told, figures, judged = run.metadata, run.summary(), read_disturbances(run)
            marks = marks_of(run, judged)
            weak = is_weak(marks, judged, read_shape(run))
    except FootingError:
        raise
    except Exception as error:  # a border: one strange file does not hide the others
        _log.debug("%s", path, exc_info=error)
        message = tr("The run file {path} is damaged: {reason}.")
        raise UsageError(message.format(path=path, reason=error)) from error
    kinds = tuple(dict.fromkeys(kind for kind, _ in marks))
    return DoneRun(or_none(told.configuration) or "", figures, kinds, length_of(told), weak)


def length_of(told: RunMetadata) -> float | None:
    """Return how many seconds a run took from its begin to its end; None where its clock does not tell."""
    started, ended = or_none(told.started_epoch_s), or_none(told.ended_epoch_s)
    return ended - started if started is not None and ended is not None and ended > started else None


def number_of(path: Path) -> int:
    """Return the number of the run that a file's name begins with; 0 where it begins otherwise."""
    head = path.name.partition("-")[0]
    return int(head) if head.isascii() and head.isdigit() else 0


def attempt_of(path: Path) -> int:
    """Return which file of its run a run file is, by its name: 1 for the first one."""
    found = _ATTEMPT.search(path.name.removesuffix(SUFFIX))
    return int(found[1] or 1) if found else 1


def is_complete(folder: Path, campaign: Campaign) -> bool:
    """Whether there is nothing to do in a folder: all runs are done, and none is to be repeated.

    Args:
        folder: of a campaign that was begun.
        campaign: as it is asked for now; its limit of repeated runs counts.
    """
    begun = begun_campaign(folder)
    runs = begun_runs(folder, begun)
    return nothing_to_do(replace(begun, repeat_disturbed=campaign.repeat_disturbed), runs.results)


def nothing_to_do(campaign: Campaign, results: Sequence[RunResult]) -> bool:
    """Whether all runs are done that are needed, and none is to be repeated."""
    return not to_measure(campaign, results) and not runs_to_repeat(campaign, results)


def runs_to_repeat(campaign: Campaign, results: Sequence[RunResult]) -> list[PlannedRun]:
    """Return the next attempt at each run of which every attempt was disturbed, as far as the limit allows.

    An attempt that failed counts towards the limit, and is not made again: it would fail in the same way.
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
        hint = tr("Choose another folder with --library.")
        raise UsageError(message.format(path=library, reason=err.strerror), hint=hint) from err
    raise UsageError(tr("The library {path} is full of campaigns of this second.").format(path=library))


def unfinished_folder(library: Path, campaign: Campaign) -> Path:
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
        if changed is None or is_live(folder) or is_complete(folder, campaign):
            continue
        if not changed:
            return folder
        others = others or changed
    if others:
        raise _other_scripts(others)
    message = tr("There is no unfinished campaign in {library} that this file describes.")
    hint = tr("Leave --resume out to start it anew. A changed file is another campaign.")
    raise UsageError(message.format(library=library), hint=hint)


def _other_scripts(paths: Sequence[str]) -> UsageError:
    message = tr("The campaign was begun with other scripts than those of now: {paths}.")
    hint = tr("Leave --resume out to start it anew. A changed script is another campaign.")
    return UsageError(message.format(paths=", ".join(paths)), hint=hint)


def check_folder(folder: Path, text: str, campaign: Campaign) -> None:
    """Make sure that a campaign can go on in a folder that a person named.

    Args:
        folder: of the campaign.
        text: of the campaign file in it.
        campaign: that it describes, with the scripts of now.

    Raises:
        UsageError: nothing is missing, or a script is another one than when it began.
        RefusedError: the folder cannot be written.
        BusyError: it runs.
    """
    if is_live(folder):
        raise BusyError(tr("The campaign in {folder} runs; nothing was started.").format(folder=folder))
    changed = changed_scripts(text, campaign)
    if changed:
        raise _other_scripts(changed)
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        message = tr("The folder {folder} may not be written: its campaign cannot go on in it.")
        hint = tr("Copy the folder to where you may write, and go on there.")
        raise RefusedError(message.format(folder=folder), hint=hint)
    if is_complete(folder, campaign):
        message = tr("Nothing is missing of the campaign in {folder}: all its runs are done.")
        hint = tr("Without --resume, {file} measures it again, in a new folder.")
        file = folder / CAMPAIGN_NAME
        raise UsageError(message.format(folder=folder), hint=hint.format(file=file))
