"""Rows of a run file for what the sampler and the clocks say."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.sampling.probe_slot import SourceState
from app.probes.sampling.sampler import Tick
from app.probes.sources.clock import ClockEvent, ClockEventKind
from app.runfile.writer import RunFileWriter


def write_tick(writer: RunFileWriter, tick: Tick, t_ms: int, samples: Sequence[tuple[int, Sample]]) -> None:
    """Store a tick with its (t_ms, sample) pairs, what was missed, and sources that came or went."""
    lateness_us = round(tick.lateness_s * 1e6)
    missed = len(tick.missed)
    writer.add_tick(tick.number, t_ms, lateness_us=lateness_us, missed=missed, samples=samples)
    if missed:
        message = tr("{count} seconds without samples: the sampler was not scheduled")
        writer.add_event(t_ms, "missed", message.format(count=missed), {"count": missed})
    for miss in tick.missed_readings:
        message = tr("{probe}: no answer within a second").format(probe=miss.probe)
        writer.add_event(t_ms, "missed-reading", message, {"probe": miss.probe, "tick": miss.number})
    for change in tick.changes:
        if change.state is SourceState.UNAVAILABLE:
            writer.add_unavailable(t_ms, change.probe, change.reason)
        for omission in change.omissions:
            source = " ".join(part for part in (omission.metric, omission.instance) if part)
            writer.add_unavailable(t_ms, source, omission.reason)


def write_clock_event(writer: RunFileWriter, change: ClockEvent) -> None:
    """Store that the machine slept or its wall clock was set, and label the run."""
    if change.kind is ClockEventKind.SUSPEND:
        message = tr("The machine slept for {seconds:.1f} s.").format(seconds=change.seconds)
        kind = "suspended"
    else:
        message = tr("The wall clock was set by {seconds:+.3f} s.").format(seconds=change.seconds)
        kind = "clock-step"
    writer.add_event(writer.t_ms(change.monotonic_s), kind, message, {"seconds": change.seconds})
    writer.add_mark(kind, message)
