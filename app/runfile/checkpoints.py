"""The checkpoints of a run's measured phase, from the server's log."""

from __future__ import annotations

from collections.abc import Iterable

from app.runfile.reader import PhaseTimes, RunEvent

STARTED = "checkpoint-start"
COMPLETE = "checkpoint-complete"

Span = tuple[float, float]


def checkpoint_spans(
    events: Iterable[RunEvent], measured: PhaseTimes, duration_s: float
) -> tuple[Span, ...] | None:
    """Return (start_s, end_s) of the checkpoints that started in the measured phase, relative to its start.

    One without an end lasts to the end of the phase.

    Args:
        events: of the whole run, in order.
        measured: the phase.
        duration_s: its length.

    Returns:
        None if the run has no checkpoint at all, not even the one before the measurement: then they were not
            recorded.
    """
    found: list[Span] = []
    started: float | None = None
    is_reported = False
    for event in events:
        t_s = (event.t_ms - measured.started_ms) / 1000
        if event.kind == STARTED:
            started, is_reported = t_s, True
        elif event.kind == COMPLETE and started is not None:
            found.append((started, min(t_s, duration_s)))
            started = None
    if started is not None:
        found.append((started, duration_s))
    return tuple(span for span in found if 0 <= span[0] < duration_s) if is_reported else None
