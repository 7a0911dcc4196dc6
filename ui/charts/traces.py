"""What a chart is asked to show: a run with its colour and name."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.runs.run_data import RunData


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A saved run on a chart.

    Attributes:
        run_id: identity, for signals and focus.
        data: its series.
        colour_index: number of its colour, the same everywhere; from 8 on the line style differs too.
        label: its name in lists and boxes.
        visible: whether it is drawn.
        pale: drawn behind, as the earlier runs of a campaign.
    """

    run_id: str
    data: RunData = field(repr=False, compare=False)
    colour_index: int
    label: str
    visible: bool = True
    pale: bool = False
