"""Gives the chart stack what is new: the run that lasts, and the campaign's earlier ones behind it."""

from __future__ import annotations

from app.live.campaign_follower import EarlierRun, LiveState
from app.runfile.metadata.typed_json import known
from app.runfile.series import RunData
from ui.charts.data.plotted_run import RunTrace
from ui.charts.stack.stack import ChartStack


def colours_of(watched: LiveState) -> dict[str, int]:
    """Return the number of each configuration's colour: its place among those of the campaign."""
    runs = () if watched.status is None else watched.status.runs
    return {name: place for place, name in enumerate(dict.fromkeys(run.configuration for run in runs))}


def colour_of(watched: LiveState, configuration: str) -> int:
    """Return the number of a configuration's colour."""
    return colours_of(watched).get(configuration, 0)


def trace_of(watched: LiveState, earlier: EarlierRun) -> RunTrace:
    """Return the line of an earlier run, pale behind the live one."""
    status, data = earlier.status, earlier.data
    colour = colour_of(watched, status.configuration)
    return RunTrace(data.id or str(data.path), data, colour, data.name, pale=True)


class ChartFeed:
    """Tells the stack only what changed: painting is what costs.

    Attributes:
        most_earlier: at most so many earlier runs are shown, the newest.
        behind: the earlier runs that are shown.
        live: the run that lasts, as it was given last.
        colour: number of its colour.
    """

    def __init__(self, stack: ChartStack, most_earlier: int = 24) -> None:
        self._stack = stack
        self.most_earlier = most_earlier
        self.behind: tuple[RunTrace, ...] = ()
        self.live: RunData | None = None
        self.colour = 0

    def clear(self) -> None:
        """Show nothing."""
        self.live, self.behind, self.colour = None, (), 0
        self._stack.set_live(None)
        self._stack.set_runs(())

    def show(self, watched: LiveState) -> None:
        """Show what is watched."""
        run = watched.run
        if run is None:
            return
        self._show_earlier(watched)
        data = run.data
        if self.live is None or self.live.path != data.path or data.last_ms < self.live.last_ms:
            self.colour = colour_of(watched, known(data.metadata.configuration, ""))
            self._stack.set_live(data, self.colour, data.name)
        elif _says_more(data, self.live):
            self._stack.update_live(data)
        else:
            return
        self.live = data

    def _show_earlier(self, watched: LiveState) -> None:
        earlier = watched.earlier[-self.most_earlier :] if self.most_earlier else ()
        if [id(each.data) for each in earlier] != [id(trace.data) for trace in self.behind]:
            self.behind = tuple(trace_of(watched, each) for each in earlier)
            self._stack.set_runs(self.behind)


def _says_more(data: RunData, shown: RunData) -> bool:
    """Return whether a second has passed: a replay is looked at more often than it has news."""
    if data.state is not shown.state or len(data.events) != len(shown.events):
        return True
    return int(data.last_ms / 1000) != int(shown.last_ms / 1000)
