"""Sentences and cells common to several pages of a report. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from app.analysis.facts import RunFacts, property_of
from app.analysis.labels import mark_words, one_line, state_words
from app.domain.run import RunState
from app.domain.text import tr
from app.report.report_data import ReportedRun


def moment(epoch_s: float | None) -> str:
    """Return a time in UTC, so that a report reads the same everywhere; empty if unknown."""
    if epoch_s is None:
        return ""
    try:
        return datetime.fromtimestamp(epoch_s, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may contain any number
        return ""


def days(runs: Iterable[RunFacts]) -> str:
    """Return the day, or the first and last day, on which runs started; empty if unknown."""
    found = sorted({moment(run.started_epoch_s)[:10] for run in runs} - {""})
    if not found:
        return ""
    return found[0] if len(found) == 1 else tr("{first} to {last}").format(first=found[0], last=found[-1])


def common(runs: Iterable[RunFacts], topic: str, name: str) -> str:
    """Return the common value of a property; empty if runs differ."""
    values = {property_of(run, topic, name) for run in runs}
    return one_line(values.pop()) if len(values) == 1 else ""


def state_cell(run: ReportedRun) -> str:
    """Return the noteworthy end states of a run, and its marks."""
    state = run.facts.state
    words = [] if state == RunState.DONE else [state_words(state)]
    words += dict.fromkeys(mark_words(kind) for kind, _ in run.facts.marks)
    return ", ".join(words)
