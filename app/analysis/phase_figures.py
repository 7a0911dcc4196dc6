"""The phases of a workload that has several, each with its own figures: rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.analysis.labels import at_least, format_tps
from app.domain.columns import CellKind, Column
from app.domain.run import Phase
from app.domain.text import number_text, tr
from app.domain.units import format_duration, format_size
from app.runfile.metadata.run_metadata import BackgroundMetadata, PhaseMetadata
from app.runfile.metadata.typed_json import known, or_none
from app.runfile.reader import RunFile
from app.runfile.summary import figures_of, is_lower_bound, summarise, summarise_phases


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """One repetition of one phase.

    Attributes:
        metadata: its metadata in the run file.
        figures: as in `app.runfile.figures`; empty if it was not reached, or there are none.
    """

    metadata: PhaseMetadata
    figures: Mapping[str, float | None] = field(default_factory=dict)


def read_phase_figures(run: RunFile) -> tuple[PhaseFigures, ...]:
    """Return the phases of a run that started, in order; empty for a run with one phase.

    Raises:
        CorruptRunFileError: the file is damaged.
    """
    phases = known(run.metadata.phases, ())
    if not phases:
        return ()
    stored, own = run.phase_figures(), figures_of(run)
    if not stored and not own:  # while it runs, or before it can be finished
        stored, own = summarise_phases(run), summarise(run)
    begun = {times.number for times in run.phases() if times.phase is Phase.PART}
    if run.phase(Phase.MEASURE) is not None:
        begun |= {each.number for each in phases if each.is_own}
    return tuple(
        PhaseFigures(each, own if each.is_own else stored.get(each.number, {}))
        for each in phases
        if each.number in begun
    )


def phase_note(phase: PhaseMetadata) -> str:
    """Return remarks about a phase, in addition to its figures; empty for none."""
    notes = [] if phase.counts else [tr("does not count")]
    rate, percent, of = or_none(phase.workload.rate_tps), or_none(phase.rate_percent), or_none(phase.rate_of)
    if rate is not None and percent is not None:
        words = tr("at {rate:,.0f} per second, {percent:g} % of {of}")
        notes.append(words.format(rate=rate, percent=percent, of=of))
    elif rate is not None:
        notes.append(tr("at {rate:,.0f} per second").format(rate=rate))
    notes += [
        tr("after {name} ({seconds})").format(name=each.name, seconds=format_duration(each.duration_s))
        for each in phase.maintenance
    ]
    notes += filter(None, [_background_note(phase.background)])
    return ", ".join(notes)


def executed_words(phase: PhaseMetadata) -> str:
    """Return a phase's script and background work: phases that differ in them are not the same."""
    executed, beside = known(phase.workload.label, ""), phase.background
    if not beside.name:
        return executed
    words = tr("{executed} beside {what}").format(executed=executed, what=_background_words(beside))
    return words.strip()


def _background_words(background: BackgroundMetadata) -> str:
    """Return a phase's background work, as stated."""
    if background.every_s is not None:
        return tr("{name} every {every}").format(
            name=background.name, every=format_duration(background.every_s)
        )
    if background.max_rate_bytes is not None:
        words = tr("{name} at most {rate} a second")
        return words.format(name=background.name, rate=format_size(background.max_rate_bytes))
    return background.name


def _background_note(background: BackgroundMetadata) -> str:
    """Return a phase's background work and its number of repetitions; empty for none."""
    if not background.name:
        return ""
    counts = []
    if background.done:
        counts.append(tr("{done} times").format(done=background.done) if background.done != 1 else tr("once"))
    if len(background.turns) > background.done:
        counts.append(tr("one cut off by its end"))
    words = tr("beside {what} ({count})")
    return words.format(what=_background_words(background), count=", ".join(counts) or tr("never"))


def _text(each: PhaseFigures, name: str, form: str) -> str:
    value = each.figures.get(name)
    if value is None:
        return ""
    return at_least(number_text(value, form), is_bound=is_lower_bound(each.figures, name))


def _seconds(each: PhaseFigures) -> str:
    seconds = each.figures.get("duration_s")
    return "" if seconds is None else format_duration(seconds)


PHASE_COLUMNS: Final[tuple[Column[PhaseFigures], ...]] = (
    Column("phase", tr("phase"), lambda each: each.metadata.label, CellKind.WORDS),
    Column(
        "workload", tr("transactions"), lambda each: known(each.metadata.workload.label, ""), CellKind.LABEL
    ),
    Column(
        "clients", tr("clients"), lambda each: str(known(each.metadata.workload.clients, 0) or ""), optional=3
    ),
    Column("tps", tr("TPS"), lambda each: format_tps(each.figures.get("tps"))),
    Column("mean", tr("mean ms"), lambda each: _text(each, "latency_mean_ms", ".3g"), optional=2),
    Column("p99", tr("p99 ms"), lambda each: _text(each, "latency_p99_ms", ".3g"), optional=1),
    Column("written", tr("written / tx"), lambda each: _text(each, "device_write_bytes", ",.0f"), optional=4),
    Column("length", tr("length"), _seconds, optional=5),
    Column("note", tr("note"), lambda each: phase_note(each.metadata), CellKind.WORDS, optional=6),
)
"""Columns of the table of a run's phases."""
