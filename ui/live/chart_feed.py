"""Update the chart stack with new data: the current run, and the campaign's earlier ones behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.live.campaign_follower import EarlierRun, LiveState
from app.runfile.metadata.typed_json import known
from app.runfile.series import RunData
from ui.charts.data.registry import RunTrace, named_traces
from ui.charts.stack.stack import ChartStack


def colours_of(watched: LiveState) -> dict[str, int]:
    """Return the number of each configuration's colour: its position in the campaign."""
    runs = () if watched.status is None else watched.status.runs
    return {name: place for place, name in enumerate(dict.fromkeys(run.configuration for run in runs))}


def colour_of(watched: LiveState, configuration: str) -> int:
    """Return the number of a configuration's colour."""
    return colours_of(watched).get(configuration, 0)


def traces_of(
    watched: LiveState, earlier: Sequence[EarlierRun], live: RunData
) -> tuple[tuple[RunTrace, ...], RunTrace]:
    """Return the lines of earlier runs, pale in the background, and of the live one, named together."""
    runs = [
        (each.data.id or str(each.data.path), each.data, colour_of(watched, each.status.configuration))
        for each in earlier
    ]
    number = colour_of(watched, known(live.metadata.configuration, ""))
    *behind, last = named_traces([*runs, ("", live, number)])
    return tuple(replace(trace, pale=True) for trace in behind), last


class ChartFeed:
    """Pass only changes to the stack, because painting is expensive.

    Attributes:
        most_earlier: number of configurations with earlier runs shown, the newest.
        behind: the shown earlier runs.
        live: the current run, as passed last.
        colour: number of its configuration.
    """

    def __init__(self, stack: ChartStack, most_earlier: int = 24) -> None:
        self._stack = stack
        self.most_earlier = most_earlier
        self.behind: tuple[RunTrace, ...] = ()
        self.live: RunData | None = None
        self.colour = 0
        self._label = ""

    def clear(self) -> None:
        """Show nothing."""
        self.live, self.behind, self.colour, self._label = None, (), 0, ""
        self._stack.set_live(None)
        self._stack.set_runs(())

    def show(self, watched: LiveState) -> None:
        """Show the current state."""
        run = watched.run
        if run is None:
            return
        data = run.data
        another = self.live is None or self.live.path != data.path or data.last_ms < self.live.last_ms
        earlier = self._shown_of(watched)
        others = [id(each.data) for each in earlier] != [id(trace.data) for trace in self.behind]
        if another or others:
            behind, live = traces_of(watched, earlier, data)
            if others or behind != self.behind:
                self.behind = behind
                self._stack.set_runs(behind)
            if another or live.label != self._label:
                self.colour, self._label = live.colour_index, live.label
                self._stack.set_live(data, live.colour_index, live.label, live.warning)
        elif _is_newer(data, self.live):
            self._stack.update_live(data)
        else:
            return
        self.live = data

    def _shown_of(self, watched: LiveState) -> list[EarlierRun]:
        """Return the earlier runs of the newest configurations, in order."""
        names = list(dict.fromkeys(each.status.configuration for each in reversed(watched.earlier)))
        shown = set(names[: self.most_earlier])
        return [each for each in watched.earlier if each.status.configuration in shown]


def _is_newer(data: RunData, shown: RunData | None) -> bool:
    """Return whether a second has passed: a replay is polled more often than it changes."""
    if shown is None or data.state is not shown.state or len(data.events) != len(shown.events):
        return True
    return int(data.last_ms / 1000) != int(shown.last_ms / 1000)
