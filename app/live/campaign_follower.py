"""Following a whole campaign: how far it is, the run that is executed, and the runs before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from app.domain.errors import FootingError, RunFileError
from app.domain.text import tr
from app.live.campaign_status import CampaignStatus, CampaignWatch, RunStatus
from app.live.run_follower import RunFollower
from app.live.snapshot import RunSnapshot, RunSource
from app.runfile.series import RunData, load_run_data
from app.runfile.writer import RunState

PERCENTS: Final = (50.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run of the campaign that was measured before the one that is followed.

    Attributes:
        status: which one.
        data: with the series of charts loaded.
    """

    status: RunStatus
    data: RunData


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the live page shows at one moment.

    Attributes:
        run: the run that is executed or replayed, else the last one; None before the first began.
        status: of the campaign; None for a single run.
        earlier: measured runs of the campaign but that one, in their order.
        ended: nothing more will come.
        problem: what is wrong with the campaign as a whole.
    """

    run: RunSnapshot | None = None
    status: CampaignStatus | None = None
    earlier: tuple[EarlierRun, ...] = ()
    ended: bool = False
    problem: str = ""


class LiveSource(Protocol):
    """Where the live page gets everything from; polled outside of the GUI thread, one poll at a time."""

    def poll(self) -> LiveState:
        """Return what there is now.

        Raises:
            FootingError: there is nothing yet, or nothing could ever be read.
        """


class SingleRun:
    """A feed of one run without a campaign: a replay, or a run file that grows.

    Attributes:
        source: of the run.
    """

    def __init__(self, source: RunSource) -> None:
        self.source = source

    def poll(self) -> LiveState:
        """Return the run as it is now.

        Raises:
            FootingError: as the source says.
        """
        run = self.source.poll()
        return LiveState(run, ended=run.finished)


class CampaignFollower:
    """Follows a campaign folder from run to run.

    Attributes:
        folder: of the campaign.
    """

    def __init__(self, folder: Path, metrics: Iterable[str] = ()) -> None:
        """Begin to follow.

        Args:
            folder: of the campaign.
            metrics: ids of those whose series of earlier runs are loaded at once, outside of the GUI thread.
        """
        self.folder = folder
        self._metrics = frozenset(metrics)
        self._watch = CampaignWatch(folder)
        self._follower: RunFollower | None = None
        self._earlier: dict[Path, RunData] = {}
        self._last = LiveState()

    def poll(self) -> LiveState:
        """Return the campaign as it is now.

        Raises:
            RunFileError: its folder could not be read, neither now nor before.
        """
        try:
            status = self._watch.read()
        except RunFileError as error:
            return self._gone(error)
        run = self._poll_run(status.newest)
        here = run.data.path if run is not None else None
        earlier = tuple(
            EarlierRun(each, data)
            for each in status.runs
            if each.path is not None and each.path != here and (data := self._data_of(each)) is not None
        )
        self._last = LiveState(run, status, earlier, ended=not status.live, problem=status.problem)
        return self._last

    def _poll_run(self, newest: RunStatus | None) -> RunSnapshot | None:
        if newest is None or newest.path is None:
            self._follower = None
            return None
        if self._follower is None or self._follower.path != newest.path:
            self._follower = RunFollower(newest.path)
        try:
            return self._follower.poll()
        except RunFileError:
            return None  # it is being created, or damaged: the status says which

    def _data_of(self, run: RunStatus) -> RunData | None:
        """Return an ended run of which something was measured, with its series loaded."""
        if run.path is None or not run.measured or run.state in {None, RunState.RUNNING}:
            return None
        known = self._earlier.get(run.path)
        if known is not None and known.state is run.state:
            return known
        try:
            data = load_run_data(run.path)
            data.load([key for key in data.series_keys() if key[0] in self._metrics], PERCENTS)
        except FootingError:
            return None  # removed or damaged meanwhile: it is only missing behind the others
        if run.state is not None:
            data = replace(data, state=run.state)
        self._earlier[run.path] = data
        return data

    def _gone(self, error: RunFileError) -> LiveState:
        """Return the last state with what is wrong: the folder was removed.

        Raises:
            RunFileError: there was none.
        """
        if self._last.status is None:
            raise error
        run = self._last.run
        if run is not None and not run.finished:
            problem = tr("The campaign folder {path} was removed.").format(path=self.folder)
            state = RunState.INCOMPLETE
            run = replace(
                run,
                data=replace(run.data, state=state),
                state=state,
                finished=True,
                command="",
                problem=problem,
            )
        status = replace(self._last.status, live=False, left_s=0.0)
        self._last = replace(self._last, run=run, status=status, ended=True, problem=error.message)
        return self._last
