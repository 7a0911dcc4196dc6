"""The checkpoints of a run's measured phase, as the server's log told them."""

from __future__ import annotations

from collections.abc import Iterable

from app.runfile.reader import PhaseTimes, RunEvent

STARTED = "checkpoint-start"
COMPLETE = "checkpoint-complete"

Span = tuple[float, float]


def checkpoint_spans(
    events: Iterable[RunEvent], measured: PhaseTimes, duration_s: float
) -> tuple[Span, ...] | None:
    """Return (start_s, end_s) of the checkpoints that began in the measured phase, from its begin on.

    One without an end lasts to the end of the phase.

    Args:
        events: of the whole run, in order.
        measured: the phase.
        duration_s: its length.

    Returns:
        None where the run tells of no checkpoint at all, not even of that before the measurement: then nobody
        listened.
    """
    found: list[Span] = []
    started: float | None = None
    told = False
    for event in events:
        t_s = (event.t_ms - measured.started_ms) / 1000
        if event.kind == STARTED:
            started, told = t_s, True
        elif event.kind == COMPLETE and started is not None:
            found.append((started, min(t_s, duration_s)))
            started = None
    if started is not None:
        found.append((started, duration_s))
    return tuple(span for span in found if 0 <= span[0] < duration_s) if told else None
