"""Read the progress of a campaign from its folder alone, whether it runs, has ended or has crashed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.campaign_file.reader import load_campaign
from app.domain.campaign.configuration import (
    Campaign,
    DiskTarget,
    as_begun,
    interleaved_order,
)
from app.domain.errors import FootingError, RunFileError
from app.domain.run import Phase, RunState
from app.domain.text import tr
from app.execution.disks.session import DiskEnding, read_disk_ending
from app.execution.resume.begun import RunLengths, attempt_of
from app.library.entries import CAMPAIGN_NAME, is_live
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import RunFile
from app.runfile.writer import SUFFIX

_BENCHMARK: Final = (Phase.WARM_UP, Phase.PART, Phase.MEASURE)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One planned run of a campaign.

    Attributes:
        number: 1-based position in the order of the campaign.
        configuration: its name.
        repeat: 0-based repeat of the configuration.
        state: None if it has not started.
        path: of the newest run file with this number; None if there is none.
        name: as in the run file, or as it will be.
        tps: mean of the measured phase, once it has ended.
        measured: whether the phase `measure` was reached.
        left_out: whether it is skipped, because an earlier run of its configuration could not start.
        started_epoch_s: its start.
        length_s: from its start to the end of its teardown; None while it runs.
        before_benchmark_s: duration of preparation and loading; None if pgbench's clients have not started.
        problem: why it failed, or why its file cannot be read.
    """

    number: int
    configuration: str
    repeat: int
    state: RunState | None = None
    path: Path | None = None
    name: str = ""
    tps: float | None = None
    measured: bool = False
    left_out: bool = False
    started_epoch_s: float | None = None
    length_s: float | None = None
    before_benchmark_s: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """A campaign at one moment.

    Attributes:
        name: of the campaign.
        folder: in the library.
        live: whether a runner is working on it.
        runs: all planned ones, in order.
        left_s: estimated remaining time; 0 if it has ended, None if unknown.
        problem: why its campaign file cannot be read; only started runs are then listed.
        disks: outcome for its spare disks; None if it has none, or still uses them.
    """

    name: str
    folder: Path
    live: bool
    runs: tuple[RunStatus, ...]
    left_s: float | None = None
    problem: str = ""
    disks: DiskEnding | None = None

    @property
    def current(self) -> RunStatus | None:
        """The current run."""
        return next((run for run in self.runs if run.state is RunState.RUNNING), None)

    @property
    def newest(self) -> RunStatus | None:
        """The current run, else the last one started."""
        begun = [run for run in self.runs if run.state is not None]
        return self.current or (begun[-1] if begun else None)

    @property
    def total(self) -> int:
        """The number of planned runs."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """The number of runs that have ended in any way, or are skipped."""
        return sum(run.left_out or run.state not in {None, RunState.RUNNING} for run in self.runs)

    def share(self, now_s: float) -> float:
        """Return the share of its time that is over, from 0 to 1."""
        ended = sum(run.length_s or 0.0 for run in self.runs if run is not self.current)
        begun = self.current.started_epoch_s if self.current is not None else None
        over = ended + (0.0 if begun is None else max(0.0, now_s - begun))
        if not self.left_s or not over:
            return self.done / max(1, self.total)
        return over / (over + self.left_s)


class CampaignWatch:
    """Read the status of one campaign repeatedly; finished run files are opened once.

    Attributes:
        folder: of the campaign.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._campaign: Campaign | None = None
        self._problem = ""
        self._known: dict[Path, tuple[tuple[int, int, int], RunStatus]] = {}

    def read(self) -> CampaignStatus:
        """Return the status now.

        Raises:
            RunFileError: the folder is missing or cannot be read.
        """
        # Check first: a run that ends while the files are read must not look like a dead one.
        live = is_live(self.folder)
        files = _newest_by_number([self._status(path, live=live) for path in self._paths()])
        if self._campaign is None:
            self._load_campaign()
        if self._campaign is None:
            runs = tuple(files[number] for number in sorted(files))
            name = self.folder.name
        else:
            runs = tuple(_planned(self._campaign, files))
            name = self._campaign.name
        left_s = remaining_seconds(self._campaign, runs, time.time()) if live else 0.0
        disks = None if live else self._disk_ending(runs)
        return CampaignStatus(name, self.folder, live, runs, left_s, self._problem, disks)

    def _disk_ending(self, runs: Sequence[RunStatus]) -> DiskEnding | None:
        """Return the outcome for the disks of an ended campaign, or the prospect if its runner died."""
        ending = read_disk_ending(self.folder)
        targets = () if self._campaign is None else [each.target for each in self._campaign.configurations]
        died = any(run.state is RunState.INCOMPLETE for run in runs)
        if ending is not None or not died or not any(isinstance(each, DiskTarget) for each in targets):
            return ending
        return DiskEnding(
            free=tr(
                "The helper releases the disks of a dead runner by itself, without zeroing them. “pgfooting "
                "disks” and the wizard's disk page show whether they are free again."
            )
        )

    def _paths(self) -> list[Path]:
        try:
            return sorted(
                Path(entry.path) for entry in os.scandir(self.folder) if entry.name.endswith(SUFFIX)
            )
        except OSError as error:
            message = tr("The campaign folder {path} cannot be read: {reason}.")
            raise RunFileError(message.format(path=self.folder, reason=error.strerror)) from error

    def _load_campaign(self) -> None:
        try:
            self._campaign = as_begun(load_campaign(self.folder / CAMPAIGN_NAME))
            self._problem = ""
        except FootingError as error:  # also if a script of the workload is gone
            _log.debug("%s", self.folder, exc_info=error)
            self._problem = tr(
                "The campaign file cannot be read any more, so only the started runs are known."
            )

    def _status(self, path: Path, *, live: bool) -> RunStatus:
        state = RunState.RUNNING if live else RunState.INCOMPLETE
        try:
            found = path.stat()
        except OSError as error:
            return _unreadable(path, state, error.strerror or str(error))
        identity = (found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._known.get(path)
        if known is not None and known[0] == identity:
            return known[1]
        try:
            with RunFile(path) as run:
                status = _read(path, run, state)
        except FootingError as error:
            return _unreadable(path, state, error.message)
        if status.state is not RunState.RUNNING:
            self._known[path] = (identity, status)
        return status


def remaining_seconds(
    campaign: Campaign | None, runs: Sequence[RunStatus], now_epoch_s: float
) -> float | None:
    """Return the estimated seconds that a running campaign still takes; None if unknown.

    Runs take as long as earlier ones of their configuration (`app.execution.resume.begun`); during the first
    one, its own preparation is added to the planned time.
    """
    if campaign is None:
        return None
    done = [run for run in runs if run.state is RunState.DONE]
    lengths = RunLengths(campaign, ((run.configuration, run.length_s) for run in done))
    begun = [run.before_benchmark_s for run in runs if run.before_benchmark_s is not None]
    left_s = 0.0
    for run in runs:
        if run.left_out or run.state not in {None, RunState.RUNNING}:
            continue
        planned_s = lengths.planned_seconds(run.configuration)
        whole_s = lengths.expected_seconds(run.configuration)
        if whole_s is None and planned_s is not None and begun:
            whole_s = planned_s + begun[-1]
        if whole_s is None:
            return None
        if planned_s is not None and run.before_benchmark_s is not None:
            # A slow preparation does not shorten the measurement.
            whole_s = max(whole_s, run.before_benchmark_s + planned_s)
        elapsed_s = 0.0 if run.started_epoch_s is None else now_epoch_s - run.started_epoch_s
        left_s += max(0.0, whole_s - max(0.0, elapsed_s))
    return left_s


def _planned(campaign: Campaign, files: Mapping[int, RunStatus]) -> list[RunStatus]:
    """Return every planned run: from its file, or as not started."""
    hopeless = {
        run.configuration for run in files.values() if run.state is RunState.FAILED and not run.measured
    }
    runs = []
    for planned in interleaved_order(campaign):
        name = planned.configuration.name
        title = name
        if campaign.repeats > 1:
            title = tr("{name} #{number}").format(name=name, number=planned.repeat + 1)
        waiting = RunStatus(planned.number, name, planned.repeat, name=title, left_out=name in hopeless)
        found = files.get(planned.number, waiting)
        if found.configuration not in {"", name}:  # a file of another campaign was copied here
            found = waiting
        if not found.configuration:  # an unreadable file has no configuration
            found = RunStatus(
                planned.number, name, planned.repeat, found.state, found.path, title, problem=found.problem
            )
        runs.append(found)
    return runs


_REPLACES_DONE: Final = frozenset({RunState.RUNNING, RunState.DONE})


def _newest_by_number(found: Sequence[RunStatus]) -> dict[int, RunStatus]:
    """Return one run per number: failed or disturbed ones may have several attempts."""
    runs: dict[int, RunStatus] = {}
    for run in sorted(found, key=_attempt):  # not by time: the clock may have been set back
        before = runs.get(run.number)
        if before is None or before.state is not RunState.DONE or run.state in _REPLACES_DONE:
            runs[run.number] = run
    return runs


def _attempt(run: RunStatus) -> int:
    return 0 if run.path is None else attempt_of(run.path)


def _unreadable(path: Path, state: RunState, problem: str) -> RunStatus:
    """Return the status for a file that is being created, or is unreadable."""
    head = path.name.partition("-")[0]
    number = int(head) if head.isascii() and head.isdigit() else 0
    return RunStatus(number, "", 0, state, path, path.stem, problem=problem)


def _read(path: Path, run: RunFile, unfinished: RunState) -> RunStatus:
    metadata = run.metadata
    started, ended = or_none(metadata.started_epoch_s), or_none(metadata.ended_epoch_s)
    phases = run.phases()
    begun = [times.started_ms for times in phases if times.phase in _BENCHMARK]
    return RunStatus(
        number=known(metadata.number, 0),
        configuration=known(metadata.configuration, ""),
        repeat=known(metadata.repeat, 0),
        state=unfinished if known(metadata.state, RunState.RUNNING) == RunState.RUNNING else run.state,
        path=path,
        name=known(metadata.name, path.stem),
        tps=run.summary().get("tps"),
        measured=any(times.phase in {Phase.PART, Phase.MEASURE} for times in phases),
        started_epoch_s=started,
        length_s=None if started is None or ended is None else ended - started,
        before_benchmark_s=begun[0] / 1000 if begun else None,
        problem="" if isinstance(metadata.error, NotKnown) else metadata.error.sentences[0],
    )
