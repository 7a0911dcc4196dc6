"""Sentences and cells of a report that several of its pages use. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from app.analysis.facts import RunFacts
from app.analysis.labels import mark_words, one_line, state_words
from app.domain.run import RunState
from app.domain.text import tr
from app.report.report_data import ReportedRun


def moment(epoch_s: float | None) -> str:
    """Return a moment in UTC, so that a report reads the same everywhere; empty where unknown."""
    if epoch_s is None:
        return ""
    try:
        return datetime.fromtimestamp(epoch_s, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may say anything
        return ""


def days(runs: Iterable[RunFacts]) -> str:
    """Return the day, or the first and last day, on which runs began; empty where unknown."""
    found = sorted({moment(run.started_epoch_s)[:10] for run in runs} - {""})
    if not found:
        return ""
    return found[0] if len(found) == 1 else tr("{first} to {last}").format(first=found[0], last=found[-1])


def property_of(run: RunFacts, topic: str, name: str) -> str:
    """Return a property's value, empty where the run has none."""
    return next((item.value for item in run.properties if (item.topic, item.name) == (topic, name)), "")


def common(runs: Iterable[RunFacts], topic: str, name: str) -> str:
    """Return a property that all runs share; empty where they do not."""
    values = {property_of(run, topic, name) for run in runs}
    return one_line(values.pop()) if len(values) == 1 else ""


def state_cell(run: ReportedRun) -> str:
    """Return how a run ended where that is worth a word, and its marks."""
    state = run.facts.state
    words = [] if state == RunState.DONE else [state_words(state)]
    words += dict.fromkeys(mark_words(kind) for kind, _ in run.facts.marks)
    return ", ".join(words)
